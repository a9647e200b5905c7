//! Modified Bessel functions of the first kind, and the same times `e^-|x|`.

use super::exp::{exp32, exp64};
use super::horner;
use crate::Lane;

// Coefficients: interpolation at Chebyshev nodes with 70 digits, then rounded.

/// Where the power series gives way to the one of `1/x`.
const EDGE: f64 = 7.75;

/// `(I₀(x) - 1) / t` in powers of `t = x²/4`, for `x` up to [`EDGE`].
const I0_NEAR_32: [f64; 10] = [
    0.9999999988283695,
    0.2500000155979368,
    0.02777774358191305,
    0.001736140126522157,
    6.943197588033866e-05,
    1.9320784451637515e-06,
    3.891115976781619e-08,
    6.567754228729586e-10,
    5.3393938373740574e-12,
    1.403421964921511e-13,
];

/// The same for float64.
const I0_NEAR_64: [f64; 15] = [
    1.0,
    0.24999999999999992,
    0.027777777777778193,
    0.0017361111111102966,
    6.94444444452802e-05,
    1.9290123451631045e-06,
    3.9367599099045727e-08,
    6.151186754543613e-10,
    7.594069551501153e-12,
    7.593903557238373e-14,
    6.277630532172375e-16,
    4.34736861701434e-18,
    2.6331574754978573e-20,
    1.14168242146674e-22,
    9.057101759540622e-25,
];

/// `(2 I₁(x) / x - 1) / t` in powers of `t = x²/4`, for `x` up to [`EDGE`].
const I1_NEAR_32: [f64; 9] = [
    0.5000000034042233,
    0.0833332966298549,
    0.00694450941212451,
    0.00034717808161717885,
    1.1589038362382534e-05,
    2.7273978962110085e-07,
    5.233083708650541e-09,
    4.868040721564844e-11,
    1.3963457401642061e-12,
];

/// The same for float64.
const I1_NEAR_64: [f64; 14] = [
    0.5,
    0.08333333333333365,
    0.006944444444443106,
    0.00034722222222450204,
    1.1574074072049904e-05,
    2.7557319331543815e-07,
    4.920949491579347e-09,
    6.834661205042029e-11,
    7.593918699314038e-13,
    6.90528075395949e-15,
    5.2174039997753354e-17,
    3.4213370183403706e-19,
    1.6014865941987398e-21,
    1.3562513200405507e-23,
];

/// `√x e⁻ˣ I₀(x)` in powers of `1/x`, from [`EDGE`] on.
const I0_FAR_32: [f64; 7] = [
    0.39894228095016704,
    0.04986737031606964,
    0.028100771507836887,
    0.0270035098686599,
    0.08956655432027404,
    -0.341275929257547,
    1.932723709884199,
];

/// The same for float64.
const I0_FAR_64: [f64; 27] = [
    0.3989422804014327,
    0.049867785050181815,
    0.028050629085694792,
    0.0292194089340618,
    0.044740845755043314,
    0.09091416146803195,
    0.18194487849534072,
    5.4876631933857185,
    -351.6052205942874,
    18910.49864774631,
    -721491.0737632347,
    18344447.719586182,
    -210738966.05199963,
    -5426292760.005073,
    368898485182.2399,
    -11186351527327.201,
    232247128740539.38,
    -3610860561310221.5,
    4.337860898144227e+16,
    -4.069847246121252e+17,
    2.9805354083460183e+18,
    -1.6878806786254529e+19,
    7.250121011820279e+19,
    -2.284433111108344e+20,
    4.981360611644282e+20,
    -6.718618110207268e+20,
    4.224035187202855e+20,
];

/// `√x e⁻ˣ I₁(x)` in powers of `1/x`, from [`EDGE`] on.
const I1_FAR_32: [f64; 7] = [
    0.3989422797862454,
    -0.14960289020562753,
    -0.04680725265192835,
    -0.038424034101584965,
    -0.10774301653667392,
    0.37312511763613176,
    -2.182212953669987,
];

/// The same for float64.
const I1_FAR_64: [f64; 24] = [
    0.39894228040143265,
    -0.14960335515041764,
    -0.04675104866140046,
    -0.04090706376602243,
    -0.05755783646212864,
    -0.10464290203312929,
    -1.0414658129380494,
    68.248412896509,
    -4546.045163510513,
    226109.7893344667,
    -8686440.231567131,
    261298112.6751409,
    -6215851303.200896,
    117632103660.01593,
    -1775453892862.6167,
    21354944443974.824,
    -203800758036303.62,
    1530172389731895.2,
    -8913375794374808.0,
    3.9407668418486184e+16,
    -1.2769215937240104e+17,
    2.8584874794741997e+17,
    -3.9495427766208365e+17,
    2.5379682956312074e+17,
];

/// What the functions of a width are made of.
struct Series<const P: usize, const Q: usize> {
    near: [f64; P],
    far: [f64; Q],
}

const I0_32: Series<{ I0_NEAR_32.len() }, { I0_FAR_32.len() }> = Series {
    near: I0_NEAR_32,
    far: I0_FAR_32,
};
const I0_64: Series<{ I0_NEAR_64.len() }, { I0_FAR_64.len() }> = Series {
    near: I0_NEAR_64,
    far: I0_FAR_64,
};
const I1_32: Series<{ I1_NEAR_32.len() }, { I1_FAR_32.len() }> = Series {
    near: I1_NEAR_32,
    far: I1_FAR_32,
};
const I1_64: Series<{ I1_NEAR_64.len() }, { I1_FAR_64.len() }> = Series {
    near: I1_NEAR_64,
    far: I1_FAR_64,
};

impl<const P: usize, const Q: usize> Series<P, Q> {
    /// The function up to the edge, over its first term.
    #[inline(always)]
    fn near<L: Lane>(&self, a: L) -> L {
        let t = a * a * L::lit(0.25);
        horner(t, self.near).mul_add(t, L::lit(1.0))
    }

    /// The function times `e⁻ˣ` from the edge on; zero at infinity.
    #[inline(always)]
    fn far<L: Lane>(&self, a: L) -> L {
        let inverse = L::lit(1.0) / a;
        horner(inverse, self.far) * inverse.sqrt()
    }
}

/// Chooses by the edge; NaN takes the series.
#[inline(always)]
fn join<L: Lane>(a: L, near: L, far: L) -> L {
    L::select(L::lit(EDGE).lt(a), far, near)
}

/// The magnitude, kept from what a series beyond its range would make of it.
#[inline(always)]
fn within<L: Lane>(a: L) -> L {
    L::select(L::lit(EDGE).lt(a), L::lit(EDGE), a)
}

/// `e^a y` of a number that overflows only if the product does: half of the exponent at a time.
#[inline(always)]
fn raise<L: Lane>(half: L, y: L) -> L {
    half * y * half
}

macro_rules! functions {
    ($($i0:ident $i0e:ident $i1:ident $i1e:ident $zero:ident $one:ident $exp:ident;)*) => {$(
        /// The modified Bessel function `I₀`. At most 10 ulp; even; ∞ at infinities.
        #[inline(always)]
        pub fn $i0<L: Lane>(x: L) -> L {
            let a = x.abs();
            let far = raise($exp(a * L::lit(0.5)), $zero.far(a));
            let far = L::select(a.eq(L::lit(f64::INFINITY)), a, far);
            join(a, $zero.near(within(a)), far)
        }

        /// `e^-|x| I₀(x)`. At most 8 ulp; even; 0 at infinities.
        #[inline(always)]
        pub fn $i0e<L: Lane>(x: L) -> L {
            let a = x.abs();
            join(a, $zero.near(within(a)) * $exp(-within(a)), $zero.far(a))
        }

        /// The modified Bessel function `I₁`. At most 10 ulp; odd; a zero keeps its sign.
        #[inline(always)]
        pub fn $i1<L: Lane>(x: L) -> L {
            let a = x.abs();
            let far = raise($exp(a * L::lit(0.5)), $one.far(a));
            let far = L::select(a.eq(L::lit(f64::INFINITY)), a, far);
            let far = L::select(x.lt(L::lit(0.0)), -far, far);
            join(a, $one.near(within(a)) * (x * L::lit(0.5)), far)
        }

        /// `e^-|x| I₁(x)`. At most 8 ulp; odd; 0 at infinities.
        #[inline(always)]
        pub fn $i1e<L: Lane>(x: L) -> L {
            let (a, far) = (x.abs(), $one.far(x.abs()));
            let far = L::select(x.lt(L::lit(0.0)), -far, far);
            let near = $one.near(within(a)) * $exp(-within(a)) * (x * L::lit(0.5));
            join(a, near, far)
        }
    )*};
}
functions! {
    i0_32 i0e32 i1_32 i1e32 I0_32 I1_32 exp32;
    i0_64 i0e64 i1_64 i1e64 I0_64 I1_64 exp64;
}
