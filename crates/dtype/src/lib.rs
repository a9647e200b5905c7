//! The dtype system of Allotrope: what numbers there are, what becomes of them when they meet, and
//! how their bytes are converted.
//!
//! | file | what is in it |
//! |---|---|
//! | `table` | THE dtype table, [`for_each_dtype!`] |
//! | `dtype` | [`DType`] and its [`Descriptor`], expanded from the table |
//! | `kind` | [`Kind`] and the named [`Set`]s |
//! | `format`, `limits` | [`FloatFormat`], and `finfo`/`iinfo` derived from it |
//! | `element`, `bool8`, `minifloat` | the Rust types behind the dtypes and their set traits |
//! | `promote` | [`Policy`]: six promotion tables made of edges, weak scalars, [`can_cast`] |
//! | `family` | [`Family`]: a kind whose width follows data and device |
//! | `capability` | [`Capability`]: native, emulated or demoted, per device |
//! | `cast` | [`CastOptions`], the meaning of every conversion, one rounding at a time |
//! | `codec` | the same conversions over slices at memory speed |
//! | `scalar` | [`Scalar`]: one value with its dtype |
//! | `number` | numbers of Rust into scalars and, where they are exact, out of them |
//! | `nested` | [`Nested`]: arrays and vectors of numbers, in any depth |
//! | `context` | default dtype, promotion policy and inference in force |
//! | `scope` | the scopes of a setting, of a thread and of a flow of control |
//! | `simd` | [`Level`]: instruction sets with their proofs, and loops compiled for each (unsafe) |
//! | `dispatch` | [`dispatch!`] and [`dispatch_width!`] |
//! | `error` | [`Error`]: the one error type |
//! | `serde` | dtypes by their names, with the feature of that name |
//!
//! ```
//! use allotrope_dtype::{CastOptions, DType, Policy, bf16, cast_slice};
//!
//! assert_eq!(Policy::Standard.promote(DType::F16, DType::BF16), Some(DType::F32));
//!
//! let mut half = [bf16::ZERO; 3];
//! cast_slice(&[1.0_f32, 2.5, -3.0], &mut half, CastOptions::default())?;
//! assert_eq!(half[1].to_f32(), 2.5);
//! # Ok::<(), allotrope_dtype::Error>(())
//! ```
#![deny(unsafe_code)]

#[cfg(target_endian = "big")]
compile_error!("stored elements are little-endian");

#[macro_use]
mod table;
#[macro_use]
mod dispatch;

mod bool8;
mod capability;
mod cast;
mod codec;
mod context;
mod dtype;
pub mod element;
mod error;
mod family;
mod format;
mod kind;
mod limits;
pub mod minifloat;
mod nested;
mod number;
pub mod promote;
mod random;
mod scalar;
mod scope;
#[cfg(feature = "serde")]
mod serde;
pub mod simd;

pub use bool8::Bool8;
pub use capability::{Capabilities, Capability};
pub use cast::{CastOptions, Overflow, Rounded, Rounding, round_to_format};
pub use codec::{
    Conversion, Scratch, cast_bytes, cast_bytes_at, cast_slice, decode_slice, encode_slice,
};
pub use context::{
    Float64Inference, MatmulPrecision, Notify, OverflowPolicy, Scope, SettingFlow, default_dtype,
    demotion, fallback, float64_inference, matmul_precision, overflow, process_default_dtype,
    promotion, scoped_default_dtype, scoped_demotion, scoped_fallback, scoped_matmul_precision,
    scoped_overflow, scoped_promotion, set_default_dtype, set_demotion, set_fallback,
    set_float64_inference, set_matmul_precision, set_overflow, set_process_default_dtype,
    set_promotion,
};
pub use dtype::{DType, Descriptor, NumpySource};
pub use element::{
    Bool, Complex, Compute, Element, Float, Inexact, Integer, Number, Real, Signed, Unsigned,
    WithDType, bf16, c64, c128, f16,
};
pub use error::{Cause, Error, ErrorKind, GradientProblem, Problem};
pub use family::{Family, Numeric};
pub use format::{Bfloat16, Binary16, Binary32, Binary64, FloatFormat, Format, Specials};
pub use kind::{Kind, Set};
pub use limits::{FloatInfo, IntInfo};
pub use minifloat::*;
pub use nested::Nested;
pub use promote::{Casting, Operand, Policy, ScalarKind, can_cast, explain_promotion};
pub use random::philox4x32;
pub use scalar::{Scalar, WeakScalar};
pub use scope::{Flow, ScopeId, ScopeStack};
pub use simd::Level;
