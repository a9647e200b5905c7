//! [`Expression`]: a value that is recorded instead of computed, and its operators.

use std::marker::PhantomData;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Sub};

use super::arena::{self, Node};
use super::convert::{self, Held};
use super::float;
use super::operation::Operation;
use super::scalar::{Bitwise, Integer, Literal, Numeric, Scalar};

/// A value of the Rust type `T` in a shader: what is done to it is recorded as WGSL statements.
///
/// It is a name, valid in the recording that made it. The same operation of the same operands is
/// recorded once, and operations of constants are worked out at once.
///
/// WGSL lets a compiler treat floats as real numbers, and compilers do: one that finds `(a + b) - a`
/// equal to `b` undoes every sum that is kept in two values. So a float that has just been rounded
/// passes through integers on its way into the next operation: [`Operation::Keep`], a minimum with
/// the largest integer but one, which only touches a NaN.
pub struct Expression<T> {
    node: Node,
    scalar: PhantomData<T>,
}

impl<T> Clone for Expression<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Expression<T> {}

impl<T: Scalar> Expression<T> {
    pub(super) const fn new(node: Node) -> Self {
        Self {
            node,
            scalar: PhantomData,
        }
    }

    pub(super) const fn node(self) -> Node {
        self.node
    }

    pub(super) fn literal(literal: Literal) -> Self {
        Self::new(arena::literal(literal))
    }

    pub(super) fn unary<A: Scalar>(op: Operation, a: Expression<A>) -> Self {
        Self::new(arena::unary(op, T::TYPE, a.node))
    }

    pub(super) fn binary<A: Scalar, B: Scalar>(
        op: Operation,
        a: Expression<A>,
        b: Expression<B>,
    ) -> Self {
        Self::new(arena::binary(op, T::TYPE, a.node, b.node))
    }

    /// `yes` where the mask is true, else `no`.
    pub fn choose(mask: Expression<bool>, yes: Self, no: Self) -> Self {
        let [mask, yes, no] = [mask.node, yes.node, no.node];
        Self::new(arena::ternary(Operation::Select, T::TYPE, mask, yes, no))
    }

    /// An integer cut to its width, where that is narrower than the WGSL type; others as they
    /// are.
    fn wrap(self) -> Self {
        Self::new(convert::wrap(self.node, Held::of::<T>()))
    }

    fn compare(self, op: Operation, other: Self) -> Expression<bool> {
        Expression::binary(op, self.keep(), other.keep())
    }

    /// A float as the side of a comparison; others as they are.
    fn keep(self) -> Self {
        if T::TYPE.is_float() {
            Self::new(float::keep_term(T::TYPE, self.node))
        } else {
            self
        }
    }

    /// Whether both are equal; false for NaN.
    pub fn equals(self, other: Self) -> Expression<bool> {
        self.compare(Operation::Equal, other)
    }
}

impl<T: Numeric> Expression<T> {
    /// Whether `self < other`; false for NaN.
    pub fn is_less(self, other: Self) -> Expression<bool> {
        self.compare(Operation::Less, other)
    }

    /// Whether `self <= other`; false for NaN.
    pub fn is_at_most(self, other: Self) -> Expression<bool> {
        self.compare(Operation::LessEqual, other)
    }

    /// The same number in another type: integers wrap at its width; floats are cut towards zero
    /// and stop at the ends of its range, and NaN becomes 0.
    pub fn convert<U: Numeric>(self) -> Expression<U> {
        Expression::new(convert::convert(
            self.node,
            Held::of::<T>(),
            Held::of::<U>(),
        ))
    }
}

impl<T: Integer> Expression<T> {
    /// The constant, cut to the width.
    pub fn constant(value: i64) -> Self {
        Self::literal(T::literal(value))
    }

    /// The smaller of both.
    pub fn smaller(self, other: Self) -> Self {
        Self::binary(Operation::Minimum, self, other)
    }

    /// The larger of both.
    pub fn larger(self, other: Self) -> Self {
        Self::binary(Operation::Maximum, self, other)
    }

    /// Shifted left by a count below the width.
    pub fn shifted_left(self, count: Expression<u32>) -> Self {
        Self::binary(Operation::ShiftLeft, self, count).wrap()
    }

    /// Shifted right by a count below the width, keeping the sign of signed integers.
    pub fn shifted_right(self, count: Expression<u32>) -> Self {
        Self::binary(Operation::ShiftRight, self, count)
    }

    /// How many bits are set.
    pub fn ones(self) -> Self {
        let bits = self.convert::<T::Unsigned>();
        let count = |word: Expression<u32>| Expression::unary(Operation::CountOnes, word);
        let low: Expression<u32> = count(bits.convert());
        if T::WIDTH < 64 {
            return low.convert();
        }
        let half = Expression::literal(Literal::count(32));
        let high: Expression<u32> = count(bits.shifted_right(half).convert());
        (low + high).convert()
    }

    /// The power; a negative exponent counts as a large one.
    pub fn raised(self, exponent: Self) -> Self {
        // Signs may stay where they are: only the low bits of a power count.
        self.in_words(Operation::Power, exponent)
    }

    /// The greatest common divisor, not negative unless it wraps.
    pub fn common_divisor(self, other: Self) -> Self {
        let zero = Self::constant(0);
        // Without the sign the magnitude of the least integer is what it should be.
        let magnitude = |x: Self| Self::choose(x.is_less(zero), -x, x).convert::<T::Unsigned>();
        magnitude(self)
            .in_words(Operation::CommonDivisor, magnitude(other))
            .convert()
    }

    /// An operation that exists for the unsigned WGSL integers alone.
    fn in_words(self, op: Operation, other: Self) -> Self {
        let word = T::TYPE.unsigned();
        let [a, b] = [self, other].map(|x| arena::unary(Operation::Reinterpret, word, x.node));
        let result = arena::binary(op, word, a, b);
        Self::new(arena::unary(Operation::Reinterpret, T::TYPE, result)).wrap()
    }
}

/// Operators whose result may be out of range.
macro_rules! arithmetic {
    ($($trait:ident $method:ident $operation:ident $float:ident)*) => {$(
        impl<T: Numeric> $trait for Expression<T> {
            type Output = Self;

            fn $method(self, other: Self) -> Self {
                if T::TYPE.is_float() {
                    return Self::new(float::$float(T::TYPE, self.node, other.node));
                }
                Self::binary(Operation::$operation, self, other).wrap()
            }
        }
    )*};
}
arithmetic! {
    Add add Add      add
    Sub sub Subtract subtract
    Mul mul Multiply multiply
    Div div Divide   divide
}

/// Truncated, with the sign of the dividend; 0 where the divisor is zero.
impl<T: Integer> Rem for Expression<T> {
    type Output = Self;

    fn rem(self, other: Self) -> Self {
        Self::binary(Operation::Remainder, self, other)
    }
}

impl<T: Numeric> Neg for Expression<T> {
    type Output = Self;

    fn neg(self) -> Self {
        if T::TYPE.is_float() || T::TYPE.is_signed() {
            return Self::unary(Operation::Negate, self).wrap();
        }
        let zero = Self::literal(Literal {
            kind: T::TYPE,
            bits: 0,
        });
        Self::binary(Operation::Subtract, zero, self).wrap()
    }
}

/// Operators of bits and truth values, which stay in range.
macro_rules! bitwise {
    ($($trait:ident $method:ident $operation:ident)*) => {$(
        impl<T: Bitwise> $trait for Expression<T> {
            type Output = Self;

            fn $method(self, other: Self) -> Self {
                Self::binary(Operation::$operation, self, other)
            }
        }
    )*};
}
bitwise! {
    BitAnd bitand And
    BitOr  bitor  Or
    BitXor bitxor Xor
}

impl<T: Bitwise> Not for Expression<T> {
    type Output = Self;

    fn not(self) -> Self {
        Self::unary(Operation::Not, self).wrap()
    }
}
