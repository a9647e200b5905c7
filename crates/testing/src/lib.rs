//! A second device for tests, `apart`: memory that the CPU cannot read, primitives and checks alone, and
//! work that waits until someone reads.
//!
//! | file | what is in it |
//! |---|---|
//! | `block` | `Block`: elements, stored otherwise than the CPU would, that may be pending |
//! | `lazy` | values that are made when they are first asked for |
//! | `backend` | [`Apart`]: every primitive, done by the CPU on copies when it is needed |
//! | `check` | checks of values, whose faults the next reading raises |
//! | `calls` | how often each primitive was asked for |
//!
//! There are two of them. `apart` stores every dtype exactly; `apart:1` stores float64 as float32 and
//! complex128 as complex64, as a device without them does.
#![forbid(unsafe_code)]

mod backend;
mod block;
mod calls;
mod check;
mod lazy;

use allotrope_dtype::{Error, Problem};
use allotrope_op::Backend;

pub use backend::{APART, Apart, NARROW};
pub use calls::take_calls;

/// The kind of the devices.
pub const KIND: &str = "apart";

/// How many devices there are.
#[must_use]
pub fn count() -> u32 {
    2
}

/// The device of a number.
///
/// # Errors
/// A device error for another number.
pub fn find(index: u32) -> Result<&'static dyn Backend, Error> {
    match index {
        0 => Ok(&APART),
        1 => Ok(&NARROW),
        _ => {
            let (given, available) = (format!("{KIND}:{index}"), "cpu, apart, apart:1".to_owned());
            Err(Error::new(
                "device",
                Problem::UnknownDevice { given, available },
            ))
        }
    }
}
