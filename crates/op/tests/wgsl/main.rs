//! Printed functions: accepted by a shader compiler, and worth what the CPU computes.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod complex;
mod floats;
mod integers;
mod text;

use naga::valid::{Capabilities, ValidationFlags, Validator};

/// Fails unless the compiler accepts the text on a device that has these capabilities.
fn validate(text: &str, capabilities: Capabilities) {
    let module = naga::front::wgsl::parse_str(text)
        .unwrap_or_else(|error| panic!("{}\n{text}", error.emit_to_string(text)));
    let result = Validator::new(ValidationFlags::all(), capabilities).validate(&module);
    result.unwrap_or_else(|error| panic!("{}\n{text}", error.emit_to_string(text)));
}
