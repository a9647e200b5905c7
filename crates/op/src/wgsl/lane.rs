//! Expressions as lanes: an elementary function of an expression is the text of a shader.

use super::expression::Expression;
use super::float;
use super::operation::Operation;
use super::scalar::{Float, Literal, Word};
use crate::lane::mul_exact_by_halves;
use crate::{Lane, LaneBits};

impl<T: Float> Expression<T> {
    fn apply(self, op: Operation) -> Self {
        Self::unary(op, self)
    }

    /// The number whose last place is one, so that adding it rounds, and its bits.
    fn shift() -> (Self, Expression<T::Bits>) {
        let shift = Self::lit(1.5 * (1_u64 << T::MANTISSA) as f64);
        (shift, shift.to_bits())
    }
}

impl<T: Float> Lane for Expression<T> {
    type Mask = Expression<bool>;
    type Bits = Expression<T::Bits>;
    const MANTISSA: u32 = T::MANTISSA;
    const BIAS: i64 = T::BIAS;

    fn lit(value: f64) -> Self {
        Self::literal(T::literal(value))
    }

    fn mul_add(self, a: Self, b: Self) -> Self {
        let [x, a, b] = [self, a, b].map(Self::node);
        Self::new(float::multiply_add(T::TYPE, x, a, b))
    }

    fn mul_exact(self, other: Self) -> (Self, Self) {
        // A shader's `fma` may round twice.
        mul_exact_by_halves(self, other)
    }

    fn abs(self) -> Self {
        self.apply(Operation::Absolute)
    }

    fn sqrt(self) -> Self {
        self.apply(Operation::SquareRoot)
    }

    fn round_small(self) -> Self {
        let (shift, _) = Self::shift();
        (self + shift) - shift
    }

    fn floor(self) -> Self {
        self.apply(Operation::Floor)
    }

    fn ceil(self) -> Self {
        self.apply(Operation::Ceil)
    }

    fn trunc(self) -> Self {
        self.apply(Operation::Truncate)
    }

    fn round(self) -> Self {
        self.apply(Operation::Round)
    }

    fn rem(self, other: Self) -> Self {
        Self::binary(Operation::Remainder, self, other)
    }

    fn lt(self, other: Self) -> Self::Mask {
        self.is_less(other)
    }

    fn le(self, other: Self) -> Self::Mask {
        self.is_at_most(other)
    }

    fn eq(self, other: Self) -> Self::Mask {
        self.equals(other)
    }

    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        Self::choose(mask, yes, no)
    }

    fn decided(_: Self::Mask) -> Option<bool> {
        None
    }

    fn to_bits(self) -> Self::Bits {
        Expression::unary(Operation::Reinterpret, self)
    }

    fn from_bits(bits: Self::Bits) -> Self {
        Self::unary(Operation::Reinterpret, bits)
    }

    fn to_int_small(self) -> Self::Bits {
        let (shift, bits) = Self::shift();
        // Kept, or else a compiler would find the way back to be the identity.
        let kept = float::keep_term(T::TYPE, (self + shift).node());
        Self::new(kept).to_bits() - bits
    }

    fn from_int_small(bits: Self::Bits) -> Self {
        let (shift, shift_bits) = Self::shift();
        Self::from_bits(bits + shift_bits) - shift
    }
}

impl<T: Word> Expression<T> {
    fn to_unsigned(self) -> Expression<T::Unsigned> {
        Expression::unary(Operation::Reinterpret, self)
    }

    fn from_unsigned(bits: Expression<T::Unsigned>) -> Self {
        Self::unary(Operation::Reinterpret, bits)
    }
}

fn count(count: u32) -> Expression<u32> {
    Expression::literal(Literal::count(count))
}

impl<T: Word> LaneBits for Expression<T> {
    type Mask = Expression<bool>;

    fn lit(value: i64) -> Self {
        Self::constant(value)
    }

    fn add(self, other: Self) -> Self {
        self + other
    }

    fn sub(self, other: Self) -> Self {
        self - other
    }

    fn shl(self, by: u32) -> Self {
        self.shifted_left(count(by))
    }

    fn shr(self, by: u32) -> Self {
        self.shifted_right(count(by))
    }

    fn shr_logical(self, by: u32) -> Self {
        Self::from_unsigned(self.to_unsigned().shifted_right(count(by)))
    }

    fn mul(self, other: Self) -> Self {
        self * other
    }

    fn shl_by(self, by: Self) -> Self {
        self.shifted_left(by.convert())
    }

    fn shr_logical_by(self, by: Self) -> Self {
        Self::from_unsigned(self.to_unsigned().shifted_right(by.convert()))
    }

    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        Self::choose(mask, yes, no)
    }

    fn eq(self, other: Self) -> Self::Mask {
        self.equals(other)
    }

    fn lt(self, other: Self) -> Self::Mask {
        self.is_less(other)
    }
}
