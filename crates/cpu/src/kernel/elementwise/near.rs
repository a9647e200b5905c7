//! A lane whose sines are those for small arguments: what complex rows are made of where all parts of a
//! block are near zero. The reduction of large arguments takes most of the time of such rows.

use std::ops::{Add, Div, Mul, Neg, Sub};

use allotrope_op::Lane;
use allotrope_op::elementary::{Elementary, NEAR_32, NEAR_64};

/// The magnitudes of parts, of float32 and float64, below which sines in a row are near: formulas
/// multiply their arguments by less than this leaves.
pub(super) const LIMITS: [f64; 2] = [NEAR_32 / 16.0, NEAR_64 / 16.0];

/// A lane with faster sines, and the bits of the other.
#[derive(Clone, Copy)]
pub(super) struct Near<L>(pub(super) L);

macro_rules! operators {
    ($($trait:ident $method:ident)*) => {$(
        impl<L: Lane> $trait for Near<L> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Self(self.0.$method(other.0))
            }
        }
    )*};
}
operators!(Add add Sub sub Mul mul Div div);

impl<L: Lane> Neg for Near<L> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

/// Functions from lanes to a lane, as the inner lane has them: `name` or `name = other`.
macro_rules! as_inside {
    ($($name:ident($($other:ident),*) $(= $inside:ident)?;)*) => {$(
        as_inside!(@ $name($($other),*) $name $($inside)?);
    )*};
    (@ $name:ident($($other:ident),*) $plain:ident) => {
        #[inline(always)]
        fn $name(self $(, $other: Self)*) -> Self {
            Self(self.0.$plain($($other.0),*))
        }
    };
    (@ $name:ident($($other:ident),*) $plain:ident $inside:ident) => {
        as_inside!(@ $name($($other),*) $inside);
    };
}

impl<L: Lane> Lane for Near<L> {
    type Mask = L::Mask;
    type Bits = L::Bits;
    const MANTISSA: u32 = L::MANTISSA;
    const BIAS: i64 = L::BIAS;

    as_inside! {
        mul_add(a, b); minus_product(a, b); abs(); sqrt(); round_small(); floor(); ceil(); trunc();
        round(); rem(other);
    }
    #[inline(always)]
    fn lit(value: f64) -> Self {
        Self(L::lit(value))
    }
    #[inline(always)]
    fn mul_exact(self, other: Self) -> (Self, Self) {
        let (product, rest) = self.0.mul_exact(other.0);
        (Self(product), Self(rest))
    }
    #[inline(always)]
    fn lt(self, other: Self) -> L::Mask {
        self.0.lt(other.0)
    }
    #[inline(always)]
    fn le(self, other: Self) -> L::Mask {
        self.0.le(other.0)
    }
    #[inline(always)]
    fn eq(self, other: Self) -> L::Mask {
        self.0.eq(other.0)
    }
    #[inline(always)]
    fn select(mask: L::Mask, yes: Self, no: Self) -> Self {
        Self(L::select(mask, yes.0, no.0))
    }
    #[inline(always)]
    fn decided(mask: L::Mask) -> Option<bool> {
        L::decided(mask)
    }
    #[inline(always)]
    fn to_bits(self) -> L::Bits {
        self.0.to_bits()
    }
    #[inline(always)]
    fn from_bits(bits: L::Bits) -> Self {
        Self(L::from_bits(bits))
    }
    #[inline(always)]
    fn to_int_small(self) -> L::Bits {
        self.0.to_int_small()
    }
    #[inline(always)]
    fn from_int_small(bits: L::Bits) -> Self {
        Self(L::from_int_small(bits))
    }
    #[inline(always)]
    fn whole_product(self, factor: Self) -> (L::Bits, Self) {
        let (whole, float) = self.0.whole_product(factor.0);
        (whole, Self(float))
    }
}

impl<L: Elementary> Elementary for Near<L> {
    as_inside! {
        sin() = sin_near; cos() = cos_near; tan() = tan_near;
        sin_near(); cos_near(); tan_near();
        exp(); exp_near(); exp_rough(); exp_rough_near(); exp_half();
        exp_half_near(); exp2(); expm1();
        log(); log2(); log10(); log1p(); asin(); acos(); atan(); atan2(x);
        sinh(); cosh(); tanh(); tanh_rough(); tanhshrink(); asinh(); acosh(); atanh();
        erf(); erfc(); erfcx(); ndtr(); log_ndtr(); i0(); i0e(); i1(); i1e();
        gelu(); gelu_slope(); cbrt(); pow(y); erfinv(); lgamma(); digamma(); hypot(y); rsqrt();
        igamma(x); igammac(x); zeta(q);
        logaddexp(y); logaddexp2(y); fmod(y); remainder(y); floor_divide(y); copysign(y); nextafter(y);
    }
}
