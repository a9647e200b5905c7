//! The operators of Rust on tensors.
//!
//! # Panics
//! An operator has no way to return an error: where the method of the same name fails, it panics
//! with that error's text.
#![allow(clippy::panic, reason = "what operators do with an error")]

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Shl, Shr, Sub};

use allotrope_dtype::{Error, c128};
use allotrope_op::Op;

use crate::Tensor;
use crate::elementwise::{Operand, record};

fn or_panic(result: Result<Tensor, Error>) -> Tensor {
    match result {
        Ok(tensor) => tensor,
        Err(error) => panic!("{error}"),
    }
}

macro_rules! binary_operators {
    ($($trait:ident $method:ident $op:ident;)*) => {$(
        impl $trait<&Tensor> for &Tensor {
            type Output = Tensor;
            fn $method(self, other: &Tensor) -> Tensor {
                or_panic(record(Op::$op, &[self.into(), other.into()]))
            }
        }

        impl $trait<Tensor> for Tensor {
            type Output = Tensor;
            fn $method(self, other: Tensor) -> Tensor {
                $trait::$method(&self, &other)
            }
        }

        operators_with_numbers!($trait $method $op: i32 i64 f32 f64 bool c128);
    )*};
}

macro_rules! operators_with_numbers {
    ($trait:ident $method:ident $op:ident: $($number:ty)*) => {$(
        impl $trait<$number> for &Tensor {
            type Output = Tensor;
            fn $method(self, other: $number) -> Tensor {
                or_panic(record(Op::$op, &[self.into(), other.into()]))
            }
        }

        impl $trait<&Tensor> for $number {
            type Output = Tensor;
            fn $method(self, other: &Tensor) -> Tensor {
                or_panic(record(Op::$op, &[Operand::from(self), other.into()]))
            }
        }
    )*};
}
binary_operators! {
    Add add Add;
    Sub sub Sub;
    Mul mul Mul;
    Div div Div;
    Rem rem Remainder;
    BitAnd bitand BitwiseAnd;
    BitOr bitor BitwiseOr;
    BitXor bitxor BitwiseXor;
    Shl shl LeftShift;
    Shr shr RightShift;
}

impl Neg for &Tensor {
    type Output = Tensor;
    fn neg(self) -> Tensor {
        or_panic(record(Op::Neg, &[self.into()]))
    }
}

impl Not for &Tensor {
    type Output = Tensor;
    fn not(self) -> Tensor {
        or_panic(record(Op::BitwiseNot, &[self.into()]))
    }
}
