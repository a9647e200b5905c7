//! Printed functions: accepted by a shader compiler, and worth what the CPU computes.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod casts;
mod floats;
mod integers;
mod programs;
mod rows;
mod stored;
mod text;

use allotrope_dtype::{DType, Kind};
use naga::valid::{Capabilities, ValidationFlags, Validator};

/// Fails unless the compiler accepts the text on a device that has these capabilities, and those of
/// the language itself.
fn validate(text: &str, capabilities: Capabilities) {
    let capabilities = capabilities | Capabilities::SHADER_FLOAT16_IN_FLOAT32;
    let module = naga::front::wgsl::parse_str(text)
        .unwrap_or_else(|error| panic!("{}\n{text}", error.emit_to_string(text)));
    let result = Validator::new(ValidationFlags::all(), capabilities).validate(&module);
    result.unwrap_or_else(|error| panic!("{}\n{text}", error.emit_to_string(text)));
}

/// The dtypes that rows compute in.
fn compute_dtypes() -> impl Iterator<Item = DType> {
    DType::ALL
        .into_iter()
        .filter(|dtype| dtype.compute() == *dtype)
}

/// What a device must have to compute in a dtype.
fn capabilities(dtype: DType) -> Capabilities {
    let is_wide = dtype.to_real().bits() == 64;
    match dtype.kind() {
        _ if !is_wide => Capabilities::empty(),
        Kind::Bool | Kind::Signed | Kind::Unsigned => Capabilities::SHADER_INT64,
        Kind::Float | Kind::Complex => Capabilities::FLOAT64 | Capabilities::SHADER_INT64,
    }
}
