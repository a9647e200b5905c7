//! What every row means, said a second time and in another way: mathematics with digits to spare,
//! integers of 128 bits, truth tables.
//!
//! Each file has one exhaustive match over [`Op`], so that a new row does not compile without its
//! reference.

mod complex;
mod float;
mod int;
mod truth;

use allotrope_dtype::{DType, Kind, WeakScalar};
use allotrope_op::{Op, Signature};

pub use complex::{Pair, complex_map, scale_of_parts};
pub use float::{answer as answer_floats, conditioning, has_parameters, is_defined, real, scale};

use crate::double::Double;

/// An answer with digits to spare.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Exact {
    /// A real number.
    Real(Double),
    /// A complex number.
    Complex(Pair<Double>),
    /// An integer, already wrapped.
    Int(i128),
    /// A truth value.
    Truth(bool),
}

/// What a row makes of values of one working dtype (the values of a choice, after its condition);
/// `None` where the standards leave it open.
#[must_use]
pub fn answer(op: Op, dtype: DType, args: &[WeakScalar]) -> Option<Exact> {
    match op.row().signature {
        Signature::Logic => {
            let args: Vec<bool> = args.iter().map(|arg| is_true(*arg)).collect();
            return Some(Exact::Truth(truth::answer(op, &args)));
        }
        Signature::Select => {
            let chosen = if is_true(args[0]) { args[1] } else { args[2] };
            return Some(itself(chosen));
        }
        _ => {}
    }
    match dtype.kind() {
        Kind::Bool => {
            let args: Vec<bool> = args.iter().map(|arg| is_true(*arg)).collect();
            Some(Exact::Truth(truth::answer(op, &args)))
        }
        Kind::Signed | Kind::Unsigned => {
            let args: Vec<i128> = args.iter().map(|arg| to_int(*arg)).collect();
            Some(int::answer(op, dtype, &args))
        }
        Kind::Float => {
            let args: Vec<f64> = args.iter().map(|arg| to_float(*arg)).collect();
            float::answer(op, dtype, &args)
        }
        Kind::Complex => {
            let args: Vec<Pair<Double>> = args.iter().map(|arg| to_pair(*arg)).collect();
            complex::answer(op, &args)
        }
    }
}

/// A value as its own answer.
fn itself(value: WeakScalar) -> Exact {
    match value {
        WeakScalar::Bool(value) => Exact::Truth(value),
        WeakScalar::Int(value) => Exact::Int(value),
        WeakScalar::Float(value) => Exact::Real(Double::new(value)),
        WeakScalar::Complex(_) => Exact::Complex(to_pair(value)),
    }
}

/// Whether a value is not zero; NaN is not.
#[must_use]
pub fn is_true(value: WeakScalar) -> bool {
    match value {
        WeakScalar::Bool(value) => value,
        WeakScalar::Int(value) => value != 0,
        WeakScalar::Float(value) => value != 0.0,
        WeakScalar::Complex(value) => value.re != 0.0 || value.im != 0.0,
    }
}

fn to_int(value: WeakScalar) -> i128 {
    match value {
        WeakScalar::Bool(value) => value.into(),
        WeakScalar::Int(value) => value,
        WeakScalar::Float(value) => value as i128,
        WeakScalar::Complex(value) => value.re as i128,
    }
}

/// The real part of a value.
#[must_use]
pub fn to_float(value: WeakScalar) -> f64 {
    match value {
        WeakScalar::Bool(value) => value.into(),
        WeakScalar::Int(value) => value as f64,
        WeakScalar::Float(value) => value,
        WeakScalar::Complex(value) => value.re,
    }
}

fn to_pair(value: WeakScalar) -> Pair<Double> {
    match value {
        WeakScalar::Complex(value) => Pair {
            re: Double::new(value.re),
            im: Double::new(value.im),
        },
        other => Pair {
            re: Double::new(to_float(other)),
            im: Double::new(0.0),
        },
    }
}
