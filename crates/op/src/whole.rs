//! Integers as formulas see them: wrapping, of any width, and the truth values they compare to.

use std::num::Wrapping;
use std::ops::{Add, BitAnd, BitOr, BitXor, Mul, Neg, Not, Sub};

/// A truth value of a lane.
pub trait Mask:
    Copy + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + Not<Output = Self>
{
}

impl Mask for bool {}

/// An integer of one width. Arithmetic wraps.
pub trait Whole:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
{
    /// The answer of a comparison.
    type Mask: Mask;
    /// The width.
    const BITS: u32;

    /// A constant, cut to the width.
    fn lit(value: i64) -> Self;
    /// Whether `self < other`.
    fn lt(self, other: Self) -> Self::Mask;
    /// Whether `self <= other`.
    fn le(self, other: Self) -> Self::Mask;
    /// Whether the integers are equal.
    fn eq(self, other: Self) -> Self::Mask;
    /// `yes` where the mask is true, else `no`.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// The quotient cut towards zero; 0 for a divisor of 0, which is refused before.
    fn div_trunc(self, divisor: Self) -> Self;
    /// The rest of that division, with the sign of `self`; 0 for a divisor of 0.
    fn rem_trunc(self, divisor: Self) -> Self;
    /// Shifted left; 0 for counts that are negative or not below the width.
    fn shl_by(self, count: Self) -> Self;
    /// Shifted right, keeping the sign; for such counts nothing but the sign is left.
    fn shr_by(self, count: Self) -> Self;
    /// How many bits are set.
    fn count_ones(self) -> Self;
    /// The power; an exponent below 0 counts as a large one and is refused before.
    fn pow(self, exponent: Self) -> Self;
    /// The greatest common divisor, not negative unless it wraps.
    fn gcd(self, other: Self) -> Self;

    /// The magnitude, wrapping for the least number.
    #[inline(always)]
    fn abs(self) -> Self {
        Self::select(self.lt(Self::lit(0)), -self, self)
    }

    /// -1, 0 or 1.
    #[inline(always)]
    fn sign(self) -> Self {
        let positive = Self::select(Self::lit(0).lt(self), Self::lit(1), Self::lit(0));
        Self::select(self.lt(Self::lit(0)), Self::lit(-1), positive)
    }

    /// The greater of two.
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self::select(self.lt(other), other, self)
    }

    /// The lesser of two.
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self::select(other.lt(self), other, self)
    }

    /// The rest of the division that rounds down, with the sign of the divisor.
    #[inline(always)]
    fn rem_floor(self, divisor: Self) -> Self {
        let zero = Self::lit(0);
        let rest = self.rem_trunc(divisor);
        let turned = !rest.eq(zero) & (rest.lt(zero) ^ divisor.lt(zero));
        Self::select(turned, rest + divisor, rest)
    }

    /// The quotient rounded down.
    #[inline(always)]
    fn div_floor(self, divisor: Self) -> Self {
        let zero = Self::lit(0);
        let rest = self.rem_trunc(divisor);
        let turned = !rest.eq(zero) & (rest.lt(zero) ^ divisor.lt(zero));
        let quotient = self.div_trunc(divisor);
        Self::select(turned, quotient - Self::lit(1), quotient)
    }
}

macro_rules! impl_whole {
    ($($int:ty)*) => {$(
        impl Whole for Wrapping<$int> {
            type Mask = bool;
            const BITS: u32 = <$int>::BITS;

            #[inline(always)]
            fn lit(value: i64) -> Self {
                Self(value as $int)
            }

            #[inline(always)]
            fn lt(self, other: Self) -> bool {
                self.0 < other.0
            }

            #[inline(always)]
            fn le(self, other: Self) -> bool {
                self.0 <= other.0
            }

            #[inline(always)]
            fn eq(self, other: Self) -> bool {
                self.0 == other.0
            }

            #[inline(always)]
            fn select(mask: bool, yes: Self, no: Self) -> Self {
                if mask { yes } else { no }
            }

            #[inline(always)]
            fn div_trunc(self, divisor: Self) -> Self {
                if divisor.0 == 0 { Self(0) } else { Self(self.0.wrapping_div(divisor.0)) }
            }

            #[inline(always)]
            fn rem_trunc(self, divisor: Self) -> Self {
                if divisor.0 == 0 { Self(0) } else { Self(self.0.wrapping_rem(divisor.0)) }
            }

            #[inline(always)]
            fn shl_by(self, count: Self) -> Self {
                // A negative count is a large one.
                let small = (count.0 as u64) < u64::from(<$int>::BITS);
                Self(if small { self.0.wrapping_shl(count.0 as u32) } else { 0 })
            }

            #[inline(always)]
            fn shr_by(self, count: Self) -> Self {
                let small = (count.0 as u64) < u64::from(<$int>::BITS);
                #[allow(unused_comparisons, reason = "unsigned integers are among them")]
                let sign = if self.0 < 0 { !0 } else { 0 };
                Self(if small { self.0.wrapping_shr(count.0 as u32) } else { sign })
            }

            #[inline(always)]
            fn count_ones(self) -> Self {
                Self(self.0.count_ones() as $int)
            }

            #[inline(always)]
            fn pow(self, exponent: Self) -> Self {
                let (mut base, mut power) = (self, Self(1));
                let mut left = exponent.0 as u64;
                while left != 0 {
                    if left & 1 == 1 {
                        power *= base;
                    }
                    base *= base;
                    left >>= 1;
                }
                power
            }

            #[inline(always)]
            fn gcd(self, other: Self) -> Self {
                let (mut a, mut b) = (self, other);
                while b.0 != 0 {
                    (a, b) = (b, a.rem_trunc(b));
                }
                Whole::abs(a)
            }
        }
    )*};
}
impl_whole!(i8 i16 i32 i64 u8 u16 u32 u64);
