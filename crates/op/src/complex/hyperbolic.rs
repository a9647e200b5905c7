//! Hyperbolic and trigonometric functions: the latter are the former, turned by `i`.

use super::exponential::exp_in_two;
use super::{Complex, constant, is_finite};
use crate::elementary::{Elementary, flip, sign};

/// `2n / (2n + 1)!` from the last term that float64 has a digit of within a distance of 1.8 of zero
/// down to n = 1.
const SHRINK: [f64; 12] = [
    24.0 / 15_511_210_043_330_985_984_000_000.0,
    22.0 / 25_852_016_738_884_976_640_000.0,
    20.0 / 51_090_942_171_709_440_000.0,
    18.0 / 121_645_100_408_832_000.0,
    16.0 / 355_687_428_096_000.0,
    14.0 / 1_307_674_368_000.0,
    12.0 / 6_227_020_800.0,
    1.0 / 3_991_680.0,
    1.0 / 45_360.0,
    1.0 / 840.0,
    1.0 / 30.0,
    1.0 / 3.0,
];

/// `sinh a`, `cosh a`, and a factor of both, which is not one where they may be out of range.
#[inline(always)]
fn sinh_cosh<R: Elementary>(a: R) -> (R, R, R) {
    let (e, more) = exp_in_two(a.abs());
    let half = e * R::lit(0.5);
    let big = R::lit(1.0).lt(more);
    (
        R::select(big, half.copysign(a), a.sinh()),
        R::select(big, half, a.cosh()),
        more,
    )
}

impl<R: Elementary> Complex<R> {
    /// The hyperbolic sine, `sinh a cos b + i cosh a sin b`. At most 4 ulp.
    #[inline(always)]
    pub fn sinh(self) -> Self {
        let (a, b, zero) = (self.re, self.im, R::lit(0.0));
        let (sinh, cosh, more) = sinh_cosh(a);
        let im = R::select(b.eq(zero), b, cosh * b.sin() * more);
        // At an angle that does not exist, 0 and ∞ stay what they are.
        let stays = a.eq(zero) | a.abs().eq(R::lit(f64::INFINITY));
        let re = R::select(stays & !is_finite(b), a, sinh * b.cos() * more);
        Self::new(re, im)
    }

    /// The hyperbolic cosine, `cosh a cos b + i sinh a sin b`. At most 4 ulp.
    #[inline(always)]
    pub fn cosh(self) -> Self {
        let (a, b, zero) = (self.re, self.im, R::lit(0.0));
        let (sinh, cosh, more) = sinh_cosh(a);
        let none = !is_finite(b);
        let flat = b.eq(zero) | (a.eq(zero) & none);
        let im = R::select(
            flat,
            flip(flip(zero, sign(a)), sign(b)),
            sinh * b.sin() * more,
        );
        let stays = a.abs().eq(R::lit(f64::INFINITY)) & none;
        Self::new(R::select(stays, a.abs(), cosh * b.cos() * more), im)
    }

    /// The hyperbolic tangent. At most 4 ulp.
    #[inline(always)]
    pub fn tanh(self) -> Self {
        // (sinh a cosh a + i sin b cos b) / (sinh² a + cos² b): no difference that cancels.
        let (a, b, zero, one) = (self.re, self.im, R::lit(0.0), R::lit(1.0));
        let (sin, cos) = (b.sin(), b.cos());
        let (turn, square) = (sin * cos, cos * cos);
        let sinh = a.sinh();
        let cosh = sinh.mul_add(sinh, one).sqrt();
        let below = sinh.mul_add(sinh, square);
        // From 1 on it is ±(1 + ((1 - exp(-2|a|)) / 2 - cos² b) / (sinh² a + cos² b)), and far out
        // ±1 + 4i sin b cos b exp(-2|a|).
        let e = (a.abs() * R::lit(-2.0)).exp();
        let is_far = R::lit(f64::from(R::MANTISSA) * 0.37 + 2.0).lt(a.abs());
        let more = (e.mul_add(R::lit(-0.5), R::lit(0.5)) - square) / below;
        let more = R::select(is_far, zero, more);
        let beyond = (one + more).copysign(a);
        let (infinite, none) = (a.abs().eq(R::lit(f64::INFINITY)), !is_finite(b));
        let re = R::select(one.lt(a.abs()), beyond, sinh * cosh / below);
        let re = R::select(none & !infinite, R::lit(f64::NAN), re);
        let im = R::select(is_far, turn * (e * R::lit(4.0)), turn / below);
        // The array API's zero has the sign of b, not C's of sin 2b.
        let im = R::select(infinite, zero.copysign(b), im);
        Self::new(R::select(a.eq(zero), a, re), R::select(b.eq(zero), b, im))
    }

    /// `z - tanh z`. At most 4 ulp of the larger of `z` and `tanh z`, and near 0 of the result.
    #[inline(always)]
    pub fn tanhshrink(self) -> Self {
        // (z cosh z - sinh z) / cosh z, whose numerator is z³ Σ 2n / (2n + 1)! z^(2n - 2).
        let square = self.square();
        let mut series = Self::lit(SHRINK[0], 0.0);
        for term in &SHRINK[1..] {
            series = series * square + Self::lit(*term, 0.0);
        }
        let near = self * square * series / self.cosh();
        let is_near = self.re.abs().lt(R::lit(1.5)) & self.im.abs().lt(R::lit(1.0));
        Self::select(is_near, near, self - self.tanh())
    }

    /// `sin(πz) / (πz)`, and 1 at 0. At most 6 ulp.
    #[inline(always)]
    pub fn sinc(self) -> Self {
        let (zero, half, one) = (R::lit(0.0), R::lit(0.5), R::lit(1.0));
        let turn = R::lit(std::f64::consts::PI);
        // The real part is 2n + r with |r| <= 1. The sine of πr is that of π(1 - r) near the ends, and
        // the cosine a sine too.
        let r = self.re - R::lit(2.0) * (self.re * half).round();
        let size = r.abs();
        let folded = R::select(half.lt(size), one - size, size).copysign(r);
        let (sin, cos) = ((folded * turn).sin(), ((half - size) * turn).sin());
        // What rounding takes from πb moves the exponential by as much.
        let (pi, pi_rest) = constant::<R>(std::f64::consts::PI, 1.2246467991473532e-16);
        let (b, lost) = self.im.mul_exact(pi);
        let rest = self.im.mul_add(pi_rest, lost);
        let rest = R::select(rest.abs().lt(one), rest, zero);
        let (sinh, cosh, more) = sinh_cosh(b);
        let above = Self::new(
            sin * sinh.mul_add(rest, cosh),
            cos * cosh.mul_add(rest, sinh),
        );
        let y = (above / Self::new(self.re * turn, b)).times(more);
        Self::select(self.eq(Self::lit(0.0, 0.0)), Self::lit(1.0, 0.0), y)
    }

    /// The sine. At most 4 ulp.
    #[inline(always)]
    pub fn sin(self) -> Self {
        self.turned().sinh().turned_back()
    }

    /// The cosine. At most 4 ulp.
    #[inline(always)]
    pub fn cos(self) -> Self {
        self.turned().cosh()
    }

    /// The tangent. At most 4 ulp.
    #[inline(always)]
    pub fn tan(self) -> Self {
        self.turned().tanh().turned_back()
    }
}
