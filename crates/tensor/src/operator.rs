//! The operators of Rust on tensors, owned or borrowed, and numbers: `2.0 * &x + 1`, `x -= &y`.
//!
//! On the right stands a tensor, or a number of any type that an [`Operand`] is made of; it is weak,
//! as everywhere. On the left a number is of one type per kind of literal, `i64` and `f64`, beside
//! `bool`, halves and complex numbers: with two of a kind, `(1.0 - &x) * &y` would not compile until
//! the literal had a suffix.
//!
//! `x += y` gives the variable a new value, of the dtype that promotion gives the two; views and
//! clones of the old one keep it.
//!
//! # Panics
//! An operator has no way to return an error: where the method of the same name fails, it panics
//! with that error's text.
#![allow(clippy::panic, reason = "what operators do with an error")]

use std::ops::{
    Add, AddAssign, BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Div, DivAssign,
    Mul, MulAssign, Neg, Not, Rem, RemAssign, Shl, ShlAssign, Shr, ShrAssign, Sub, SubAssign,
};

use allotrope_dtype::{bf16, c64, c128, f16};
use allotrope_op::Op;

use crate::Tensor;
use crate::elementwise::{Operand, record};

/// The result of a row, or a panic with the text of its error.
#[track_caller]
fn operate(op: Op, operands: &[Operand<'_>]) -> Tensor {
    match record(op, operands) {
        Ok(tensor) => tensor,
        Err(error) => panic!("{error}"),
    }
}

macro_rules! binary_operators {
    ($($trait:ident $method:ident, $assign:ident $assign_method:ident, $op:ident $name:literal;)*) => {$(
        binary_operators! { $trait $method $op $name;
            [<'a, T: Into<Operand<'a>>>] self &Tensor => self, other T => other;
            [<'a, T: Into<Operand<'a>>>] self Tensor => &self, other T => other;
            [] self &Tensor => self, other Tensor => &other;
            [] self Tensor => &self, other Tensor => &other;
            [] self bool => self, other &Tensor => other;
            [] self bool => self, other Tensor => &other;
            [] self i64 => self, other &Tensor => other;
            [] self i64 => self, other Tensor => &other;
            [] self f64 => self, other &Tensor => other;
            [] self f64 => self, other Tensor => &other;
            [] self f16 => self, other &Tensor => other;
            [] self f16 => self, other Tensor => &other;
            [] self bf16 => self, other &Tensor => other;
            [] self bf16 => self, other Tensor => &other;
            [] self c64 => self, other &Tensor => other;
            [] self c64 => self, other Tensor => &other;
            [] self c128 => self, other &Tensor => other;
            [] self c128 => self, other Tensor => &other;
        }
        assigning_operators! { $assign $assign_method $op $name;
            [<'a, T: Into<Operand<'a>>>] other T => other;
            [] other Tensor => &other;
        }
    )*};
    ($trait:ident $method:ident $op:ident $name:literal;
     $([$($generics:tt)*] $this:ident $left:ty => $lhs:expr, $other:ident $right:ty => $rhs:expr;)*) => {$(
        #[doc = concat!("The method [`", $name, "`](Tensor::", $name, ").")]
        ///
        /// # Panics
        /// Where the method fails, with its text.
        impl $($generics)* $trait<$right> for $left {
            type Output = Tensor;
            #[track_caller]
            fn $method($this, $other: $right) -> Tensor {
                operate(Op::$op, &[Operand::from($lhs), ($rhs).into()])
            }
        }
    )*};
}

macro_rules! assigning_operators {
    ($trait:ident $method:ident $op:ident $name:literal;
     $([$($generics:tt)*] $other:ident $right:ty => $rhs:expr;)*) => {$(
        #[doc = concat!("Gives the variable the value of the method [`", $name, "`](Tensor::", $name, ").")]
        ///
        /// # Panics
        /// Where the method fails, with its text.
        impl $($generics)* $trait<$right> for Tensor {
            #[track_caller]
            fn $method(&mut self, $other: $right) {
                *self = operate(Op::$op, &[Operand::from(&*self), ($rhs).into()]);
            }
        }
    )*};
}

binary_operators! {
    Add    add,    AddAssign    add_assign,    Add        "add";
    Sub    sub,    SubAssign    sub_assign,    Sub        "sub";
    Mul    mul,    MulAssign    mul_assign,    Mul        "mul";
    Div    div,    DivAssign    div_assign,    Div        "div";
    Rem    rem,    RemAssign    rem_assign,    Remainder  "remainder";
    BitAnd bitand, BitAndAssign bitand_assign, BitwiseAnd "bitwise_and";
    BitOr  bitor,  BitOrAssign  bitor_assign,  BitwiseOr  "bitwise_or";
    BitXor bitxor, BitXorAssign bitxor_assign, BitwiseXor "bitwise_xor";
    Shl    shl,    ShlAssign    shl_assign,    LeftShift  "bitwise_left_shift";
    Shr    shr,    ShrAssign    shr_assign,    RightShift "bitwise_right_shift";
}

macro_rules! unary_operators {
    ($($trait:ident $method:ident $op:ident $name:literal;)*) => {$(
        #[doc = concat!("The method [`", $name, "`](Tensor::", $name, ").")]
        ///
        /// # Panics
        /// Where the method fails, with its text.
        impl $trait for &Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $method(self) -> Tensor {
                operate(Op::$op, &[self.into()])
            }
        }

        #[doc = concat!("The method [`", $name, "`](Tensor::", $name, ").")]
        ///
        /// # Panics
        /// Where the method fails, with its text.
        impl $trait for Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $method(self) -> Tensor {
                operate(Op::$op, &[(&self).into()])
            }
        }
    )*};
}
unary_operators! {
    Neg neg Neg        "neg";
    Not not BitwiseNot "bitwise_not";
}
