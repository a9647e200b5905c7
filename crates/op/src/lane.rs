//! The primitives that elementary functions are written in, and the Rust numbers as such.
//!
//! A function generic over [`Lane`] is an ordinary loop body when the lane is a Rust number, and
//! the text of a shader when it is an expression. Nothing branches: a choice is a [`Lane::select`]
//! of two values that are both computed, so that loops vectorise.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

/// A float of one width.
pub trait Lane:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// The answer of a comparison.
    type Mask: Copy
        + BitAnd<Output = Self::Mask>
        + BitOr<Output = Self::Mask>
        + Not<Output = Self::Mask>;
    /// The signed integer of the same width.
    type Bits: LaneBits<Mask = Self::Mask>;
    /// Width of the mantissa field: 23 or 52.
    const MANTISSA: u32;
    /// The exponent bias: 127 or 1023.
    const BIAS: i64;

    /// A constant, rounded once to the width.
    fn lit(value: f64) -> Self;
    /// `self * a + b`, with one rounding where the target has an instruction for it and two
    /// elsewhere: a function must be right either way.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// The product as its rounded value and what the rounding left out. Exact where neither
    /// part leaves the normal numbers; this also holds without an instruction for `mul_add`.
    fn mul_exact(self, other: Self) -> (Self, Self);
    /// `self - a b`, in which the product is not rounded.
    #[inline(always)]
    #[must_use]
    fn minus_product(self, a: Self, b: Self) -> Self {
        minus_parts_of_product(self, a, b)
    }
    /// The magnitude.
    fn abs(self) -> Self;
    /// The square root, correctly rounded.
    fn sqrt(self) -> Self;
    /// The nearest integer, ties to even, for magnitudes below two to the mantissa width minus two.
    fn round_small(self) -> Self;
    /// The nearest integer that is not above, for any magnitude; zeros keep their sign, infinities
    /// and NaN stay.
    fn floor(self) -> Self;
    /// The nearest integer that is not below, likewise; what is rounded to zero keeps its sign.
    fn ceil(self) -> Self;
    /// The integer part, likewise.
    fn trunc(self) -> Self;
    /// The nearest integer, ties to even, likewise.
    fn round(self) -> Self;
    /// The remainder of the division whose quotient is rounded toward zero: exact, with the sign of
    /// `self`, as `fmod` of C.
    fn rem(self, other: Self) -> Self;
    /// Whether `self < other`; false for NaN.
    fn lt(self, other: Self) -> Self::Mask;
    /// Whether `self <= other`; false for NaN.
    fn le(self, other: Self) -> Self::Mask;
    /// Whether `self == other`; false for NaN.
    fn eq(self, other: Self) -> Self::Mask;
    /// `yes` where the mask is true, else `no`.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// What a mask is, where that is known while the formula is followed: work whose result would not
    /// be chosen, or would change nothing, can be left out there.
    fn decided(mask: Self::Mask) -> Option<bool>;
    /// The bits of the float.
    fn to_bits(self) -> Self::Bits;
    /// The float with these bits.
    fn from_bits(bits: Self::Bits) -> Self;
    /// The integer that a whole number is, for magnitudes below two to the mantissa width minus two.
    fn to_int_small(self) -> Self::Bits;
    /// The whole number that an integer of such a magnitude is.
    fn from_int_small(bits: Self::Bits) -> Self;
    /// A whole number next to `self * factor`, the nearest unless two are about as near, as an
    /// integer and as a float, for products of such a magnitude.
    #[inline(always)]
    #[must_use]
    fn whole_product(self, factor: Self) -> (Self::Bits, Self) {
        let n = (self * factor).to_int_small();
        (n, Self::from_int_small(n))
    }
}

/// A signed integer of a lane's width. Arithmetic wraps.
pub trait LaneBits:
    Copy + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + Not<Output = Self>
{
    /// The answer of a comparison.
    type Mask: Copy;
    /// A constant, cut to the width.
    fn lit(value: i64) -> Self;
    /// The wrapping sum.
    fn add(self, other: Self) -> Self;
    /// The wrapping difference.
    fn sub(self, other: Self) -> Self;
    /// Shifted left.
    fn shl(self, count: u32) -> Self;
    /// Shifted right, keeping the sign.
    fn shr(self, count: u32) -> Self;
    /// Shifted right, filling with zeros.
    fn shr_logical(self, count: u32) -> Self;
    /// The wrapping product.
    fn mul(self, other: Self) -> Self;
    /// Shifted left by a count of its own, which is below the width.
    fn shl_by(self, count: Self) -> Self;
    /// Shifted right by a count of its own, which is below the width, filling with zeros.
    fn shr_logical_by(self, count: Self) -> Self;
    /// `yes` where the mask is true, else `no`.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// Whether the integers are equal.
    fn eq(self, other: Self) -> Self::Mask;
    /// Whether `self < other`, as signed integers.
    fn lt(self, other: Self) -> Self::Mask;
}

/// [`Lane::mul_exact`] without an instruction for `mul_add`.
#[inline(always)]
pub(crate) fn mul_exact_by_halves<L: Lane>(x: L, y: L) -> (L, L) {
    // Halves of half the digits each: their four products are exact (Dekker 1971).
    let halves = |x: L| {
        let cut = L::MANTISSA / 2 + 1;
        let bits = x.to_bits().add(L::Bits::lit(1 << (cut - 1)));
        let high = L::from_bits(bits & L::Bits::lit(-1 << cut));
        (high, x - high)
    };
    let product = x * y;
    let ((a, b), (c, d)) = (halves(x), halves(y));
    (product, (((a * c - product) + a * d) + b * c) + b * d)
}

/// [`Lane::minus_product`] without an instruction for it.
#[inline(always)]
fn minus_parts_of_product<L: Lane>(x: L, a: L, b: L) -> L {
    let (product, lost) = a.mul_exact(b);
    (x - product) - lost
}

/// [`Lane::round`] without an instruction for it.
#[inline(always)]
fn round_by_shift<L: Lane>(x: L) -> L {
    // The last place of the sum is one, so that adding rounds; numbers from there on are whole.
    let shift = L::lit((1_u64 << L::MANTISSA) as f64);
    let magnitude = x.abs();
    let rounded = (magnitude + shift) - shift;
    let sign = x.to_bits() & L::lit(-0.0).to_bits();
    let rounded = L::from_bits(rounded.to_bits() | sign);
    L::select(magnitude.lt(shift), rounded, x)
}

/// [`Lane::floor`] without an instruction for it.
#[inline(always)]
fn floor_by_shift<L: Lane>(x: L) -> L {
    let rounded = round_by_shift(x);
    rounded - L::select(x.lt(rounded), L::lit(1.0), L::lit(0.0))
}

/// A Rust float as a lane; `FUSED` says that the code is compiled for a CPU with fused
/// multiply-add and instructions that round. Without them, Rust's `mul_add` and `floor` would be
/// calls into a library.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
pub struct Number<T, const FUSED: bool>(pub T);

macro_rules! impl_lane {
    ($float:ty, $int:ty, $unsigned:ty, $mantissa:literal, $bias:literal) => {
        impl<const FUSED: bool> Add for Number<$float, FUSED> {
            type Output = Self;
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }

        impl<const FUSED: bool> Sub for Number<$float, FUSED> {
            type Output = Self;
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }

        impl<const FUSED: bool> Mul for Number<$float, FUSED> {
            type Output = Self;
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                Self(self.0 * other.0)
            }
        }

        impl<const FUSED: bool> Div for Number<$float, FUSED> {
            type Output = Self;
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                Self(self.0 / other.0)
            }
        }

        impl<const FUSED: bool> Neg for Number<$float, FUSED> {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                Self(-self.0)
            }
        }

        impl<const FUSED: bool> Lane for Number<$float, FUSED> {
            type Mask = bool;
            type Bits = $int;
            const MANTISSA: u32 = $mantissa;
            const BIAS: i64 = $bias;

            #[inline(always)]
            fn lit(value: f64) -> Self {
                Self(value as $float)
            }

            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                if FUSED {
                    Self(self.0.mul_add(a.0, b.0))
                } else {
                    Self(self.0 * a.0 + b.0)
                }
            }

            #[inline(always)]
            fn mul_exact(self, other: Self) -> (Self, Self) {
                if FUSED {
                    let product = self.0 * other.0;
                    (Self(product), Self(self.0.mul_add(other.0, -product)))
                } else {
                    mul_exact_by_halves(self, other)
                }
            }

            #[inline(always)]
            fn minus_product(self, a: Self, b: Self) -> Self {
                if FUSED {
                    Self((-a.0).mul_add(b.0, self.0))
                } else {
                    minus_parts_of_product(self, a, b)
                }
            }

            #[inline(always)]
            fn abs(self) -> Self {
                Self(self.0.abs())
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                Self(self.0.sqrt())
            }

            #[inline(always)]
            fn round_small(self) -> Self {
                // The last place of the sum is one, so that adding rounds.
                const SHIFT: $float = 1.5 * (1_u64 << $mantissa) as $float;
                Self((self.0 + SHIFT) - SHIFT)
            }

            #[inline(always)]
            fn floor(self) -> Self {
                if FUSED {
                    Self(self.0.floor())
                } else {
                    floor_by_shift(self)
                }
            }

            #[inline(always)]
            fn ceil(self) -> Self {
                if FUSED {
                    Self(self.0.ceil())
                } else {
                    -floor_by_shift(-self)
                }
            }

            #[inline(always)]
            fn trunc(self) -> Self {
                if FUSED {
                    Self(self.0.trunc())
                } else {
                    let magnitude = floor_by_shift(self.abs());
                    Self(magnitude.0.copysign(self.0))
                }
            }

            #[inline(always)]
            fn round(self) -> Self {
                if FUSED {
                    Self(self.0.round_ties_even())
                } else {
                    round_by_shift(self)
                }
            }

            #[inline(always)]
            fn rem(self, other: Self) -> Self {
                Self(self.0 % other.0)
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
            fn decided(mask: bool) -> Option<bool> {
                Some(mask)
            }

            #[inline(always)]
            fn to_bits(self) -> $int {
                self.0.to_bits() as $int
            }

            #[inline(always)]
            fn from_bits(bits: $int) -> Self {
                Self(<$float>::from_bits(bits as $unsigned))
            }

            #[inline(always)]
            fn to_int_small(self) -> $int {
                const SHIFT: $float = 1.5 * (1_u64 << $mantissa) as $float;
                ((self.0 + SHIFT).to_bits() as $int).wrapping_sub(SHIFT.to_bits() as $int)
            }

            #[inline(always)]
            fn from_int_small(bits: $int) -> Self {
                const SHIFT: $float = 1.5 * (1_u64 << $mantissa) as $float;
                let shifted = bits.wrapping_add(SHIFT.to_bits() as $int);
                Self(<$float>::from_bits(shifted as $unsigned) - SHIFT)
            }

            #[inline(always)]
            fn whole_product(self, factor: Self) -> ($int, Self) {
                const SHIFT: $float = 1.5 * (1_u64 << $mantissa) as $float;
                let shifted = self.mul_add(factor, Self(SHIFT)).0;
                let n = (shifted.to_bits() as $int).wrapping_sub(SHIFT.to_bits() as $int);
                (n, Self(shifted - SHIFT))
            }
        }

        impl LaneBits for $int {
            type Mask = bool;

            #[inline(always)]
            fn lit(value: i64) -> Self {
                value as Self
            }

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn shl(self, count: u32) -> Self {
                self << count
            }

            #[inline(always)]
            fn shr(self, count: u32) -> Self {
                self >> count
            }

            #[inline(always)]
            fn shr_logical(self, count: u32) -> Self {
                (self as $unsigned >> count) as Self
            }

            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            #[inline(always)]
            fn shl_by(self, count: Self) -> Self {
                self.wrapping_shl(count as u32)
            }

            #[inline(always)]
            fn shr_logical_by(self, count: Self) -> Self {
                (self as $unsigned).wrapping_shr(count as u32) as Self
            }

            #[inline(always)]
            fn select(mask: bool, yes: Self, no: Self) -> Self {
                if mask { yes } else { no }
            }

            #[inline(always)]
            fn eq(self, other: Self) -> bool {
                self == other
            }

            #[inline(always)]
            fn lt(self, other: Self) -> bool {
                self < other
            }
        }
    };
}
impl_lane!(f32, i32, u32, 23, 127);
impl_lane!(f64, i64, u64, 52, 1023);
