//! What the matrix kernels compute with: float32, float64 and the complex numbers of both.

use super::batch::Failure;
use super::blocked::Blocked;
use super::scratch::try_collect;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

use allotrope_dtype::{Element, c64, c128};

use crate::gemm::Micro;

/// The places of numbers in ascending order, those of equal ones as they are.
pub(super) fn ascending(numbers: &[f64]) -> Result<Vec<usize>, Failure> {
    let mut order: Vec<usize> = try_collect(0..numbers.len())?;
    order.sort_by(|i, j| numbers[*i].total_cmp(&numbers[*j]));
    Ok(order)
}

/// A real or complex number of 32 or 64 bits per part.
pub(super) trait Field:
    Element
    + Blocked
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
{
    /// The type of magnitudes.
    type Real: Real;
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// How many real numbers it is made of.
    const PARTS: usize;

    /// A real number.
    fn from_real(real: Self::Real) -> Self;
    /// A real and an imaginary part, of which a real number has only the first.
    fn from_parts(re: Self::Real, im: Self::Real) -> Self;
    /// The real part.
    fn re(self) -> Self::Real;
    /// The imaginary part.
    fn im(self) -> Self::Real;
    /// The conjugate.
    fn conj(self) -> Self;
    /// A real multiple.
    fn scale(self, by: Self::Real) -> Self;
    /// `self * b + c`, fused where the level has it.
    fn mul_add<const FUSED: bool>(self, b: Self, c: Self) -> Self;

    /// The magnitude, without overflow.
    fn abs(self) -> Self::Real {
        self.re().hypot(self.im())
    }

    /// The square of the magnitude.
    fn square_abs(self) -> Self::Real {
        self.re() * self.re() + self.im() * self.im()
    }

    /// Whether both parts are finite.
    fn is_finite(self) -> bool {
        self.re().is_finite_real() && self.im().is_finite_real()
    }
}

/// float32 or float64.
pub(super) trait Real: Field<Real = Self> + Micro + PartialOrd {
    /// The distance from one to the next number.
    const EPSILON: Self;
    /// The least normal number.
    const TINY: Self;
    /// The greatest number.
    const HUGE: Self;

    /// The root.
    fn sqrt(self) -> Self;
    /// The root of the sum of two squares, without overflow.
    fn hypot(self, other: Self) -> Self;
    /// The nearest of this type.
    fn of(value: f64) -> Self;
    /// The same number.
    fn wide(self) -> f64;
    /// Whether it is finite.
    fn is_finite_real(self) -> bool;

    /// The greater; NaN if one is.
    fn largest(self, other: Self) -> Self {
        if self > other || self.wide().is_nan() {
            self
        } else {
            other
        }
    }

    /// The magnitude with the sign of another.
    fn with_sign_of(self, other: Self) -> Self {
        let magnitude = self.abs();
        if other < Self::ZERO {
            -magnitude
        } else {
            magnitude
        }
    }
}

macro_rules! real {
    ($($real:ident)*) => {$(
        impl Field for $real {
            type Real = Self;
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const PARTS: usize = 1;

            #[inline(always)]
            fn from_parts(re: Self, _im: Self) -> Self {
                re
            }
            #[inline(always)]
            fn from_real(real: Self) -> Self {
                real
            }
            #[inline(always)]
            fn re(self) -> Self {
                self
            }
            #[inline(always)]
            fn im(self) -> Self {
                0.0
            }
            #[inline(always)]
            fn conj(self) -> Self {
                self
            }
            #[inline(always)]
            fn scale(self, by: Self) -> Self {
                self * by
            }
            #[inline(always)]
            fn mul_add<const FUSED: bool>(self, b: Self, c: Self) -> Self {
                if FUSED { $real::mul_add(self, b, c) } else { self * b + c }
            }
            #[inline(always)]
            fn abs(self) -> Self {
                $real::abs(self)
            }
        }

        impl Real for $real {
            const EPSILON: Self = $real::EPSILON;
            const TINY: Self = $real::MIN_POSITIVE;
            const HUGE: Self = $real::MAX;

            #[inline(always)]
            fn sqrt(self) -> Self {
                $real::sqrt(self)
            }
            #[inline]
            fn hypot(self, other: Self) -> Self {
                $real::hypot(self, other)
            }
            #[inline(always)]
            fn of(value: f64) -> Self {
                value as Self
            }
            #[inline(always)]
            fn wide(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn is_finite_real(self) -> bool {
                self.is_finite()
            }
        }
    )*};
}
real!(f32 f64);

macro_rules! complex {
    ($($complex:ident $real:ident)*) => {$(
        impl Field for $complex {
            type Real = $real;
            const ZERO: Self = $complex::new(0.0, 0.0);
            const ONE: Self = $complex::new(1.0, 0.0);
            const PARTS: usize = 2;

            #[inline(always)]
            fn from_parts(re: $real, im: $real) -> Self {
                $complex::new(re, im)
            }
            #[inline(always)]
            fn from_real(real: $real) -> Self {
                $complex::new(real, 0.0)
            }
            #[inline(always)]
            fn re(self) -> $real {
                self.re
            }
            #[inline(always)]
            fn im(self) -> $real {
                self.im
            }
            #[inline(always)]
            fn conj(self) -> Self {
                $complex::new(self.re, -self.im)
            }
            #[inline(always)]
            fn scale(self, by: $real) -> Self {
                $complex::new(self.re * by, self.im * by)
            }
            #[inline(always)]
            fn mul_add<const FUSED: bool>(self, b: Self, c: Self) -> Self {
                let add = <$real as Field>::mul_add::<FUSED>;
                $complex::new(
                    add(self.re, b.re, add(-self.im, b.im, c.re)),
                    add(self.re, b.im, add(self.im, b.re, c.im)),
                )
            }
        }
    )*};
}
complex!(c64 f32 c128 f64);
