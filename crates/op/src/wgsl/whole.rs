//! Expressions as integers and truth values of formulas.
//!
//! Integers of 8 and 16 bits live in 32 and are cut back after what may leave their width.

use super::expression::Expression;
use super::scalar::{Integer, Literal};
use crate::{Mask, Whole};

impl Mask for Expression<bool> {}

impl<T: Integer> Expression<T> {
    /// The count as places to shift by, and whether it is one: below the width, not negative.
    fn places(self) -> (Expression<u32>, Expression<bool>) {
        // Cut in any case: naga hands a larger one to SPIR-V, where it is undefined.
        let most = Expression::literal(Literal::count(T::WIDTH - 1));
        let width = Expression::<T::Unsigned>::constant(i64::from(T::WIDTH));
        let is_small = self.convert::<T::Unsigned>().is_less(width);
        (self.convert::<u32>() & most, is_small)
    }
}

impl<T: Integer> Whole for Expression<T> {
    type Mask = Expression<bool>;
    const BITS: u32 = T::WIDTH;

    fn lit(value: i64) -> Self {
        Self::constant(value)
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

    fn div_trunc(self, divisor: Self) -> Self {
        // WGSL gives the dividend.
        let zero = Self::constant(0);
        Self::choose(divisor.equals(zero), zero, self / divisor)
    }

    fn rem_trunc(self, divisor: Self) -> Self {
        self % divisor
    }

    fn shl_by(self, count: Self) -> Self {
        let (places, is_small) = count.places();
        Self::choose(is_small, self.shifted_left(places), Self::constant(0))
    }

    fn shr_by(self, count: Self) -> Self {
        let (places, is_small) = count.places();
        let rest = if T::TYPE.is_signed() {
            self.shifted_right(Expression::literal(Literal::count(T::WIDTH - 1)))
        } else {
            Self::constant(0)
        };
        Self::choose(is_small, self.shifted_right(places), rest)
    }

    fn count_ones(self) -> Self {
        self.ones()
    }

    fn pow(self, exponent: Self) -> Self {
        self.raised(exponent)
    }

    fn gcd(self, other: Self) -> Self {
        self.common_divisor(other)
    }
}
