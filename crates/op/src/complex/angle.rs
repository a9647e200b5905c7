//! The angle of a number to some seven bits more than it can be rounded to, for powers.

use super::{Complex, constant};
use crate::LaneBits;
use crate::elementary::{Elementary, flip, horner, sign, sum, sum_ordered};

// Coefficients: interpolation at Chebyshev nodes with 60 digits, then rounded.

/// `(arctan t - t) / t³` in powers of `t²`, for `|t| ≤ 1/8`.
const ATAN_32: [f64; 4] = [
    -0.3333333332865557,
    0.1999999071533902,
    -0.1428282941009506,
    0.108232701088232,
];

/// The same for float64.
const ATAN_64: [f64; 8] = [
    -0.3333333333333333,
    0.19999999999999996,
    -0.14285714285707107,
    0.11111111107547096,
    -0.09090908221172983,
    0.07692192294755251,
    -0.06658164427996535,
    0.055542515774047556,
];

/// The arc tangents of 1/4, 1/2, 3/4 and 1, each as the nearest number and the rest.
const QUARTERS: [(f64, f64); 4] = [
    (0.24497866312686414, 1.0698755618734451e-17),
    (0.4636476090008061, 2.2698777452961687e-17),
    (0.6435011087932844, 1.5834785051444286e-17),
    (std::f64::consts::FRAC_PI_4, 3.061616997868383e-17),
];

/// `a + b` of two values each, as such.
#[inline(always)]
fn sum_of_two<R: Elementary>(a: (R, R), b: (R, R)) -> (R, R) {
    let (head, lost) = sum(a.0, b.0);
    sum_ordered(head, lost + (a.1 + b.1))
}

/// `a / b` of two values each, as such.
#[inline(always)]
fn quotient_of_two<R: Elementary>(a: (R, R), b: (R, R)) -> (R, R) {
    let ratio = a.0 / b.0;
    let (product, lost) = ratio.mul_exact(b.0);
    let remainder = ((a.0 - product) - lost) + (a.1 - ratio * b.1);
    (ratio, remainder / b.0)
}

/// The angle of a finite number other than zero, as a rounded value and the rest.
#[inline(always)]
pub(super) fn angle_in_two<R: Elementary>(z: Complex<R>) -> (R, R) {
    let (zero, one) = (R::lit(0.0), R::lit(1.0));
    let (x, y) = (z.re.abs(), z.im.abs());
    let steep = x.lt(y);
    let (below, above) = (R::select(steep, y, x), R::select(steep, x, y));
    let s = quotient_of_two((above, zero), (below, zero));

    // The nearest quarter c, and t = (s - c) / (1 + s c), so that arctan s = arctan c + arctan t.
    let quarter = (s.0 * R::lit(4.0)).round_small();
    let c = quarter * R::lit(0.25);
    let (product, lost) = s.0.mul_exact(c);
    let (divisor, lost_too) = sum_ordered(one, product);
    let divisor = (divisor, s.1.mul_add(c, lost + lost_too));
    let t = quotient_of_two(sum(s.0 - c, s.1), divisor);
    let z2 = t.0 * t.0;
    let bent = z2 * t.0;
    let bent = if R::MANTISSA == 52 {
        bent * horner(z2, ATAN_64)
    } else {
        bent * horner(z2, ATAN_32)
    };
    let mut base = (zero, zero);
    for (k, (head, rest)) in QUARTERS.into_iter().enumerate() {
        let here = quarter.eq(R::lit(k as f64 + 1.0));
        let (head, rest) = constant::<R>(head, rest);
        base = (R::select(here, head, base.0), R::select(here, rest, base.1));
    }
    let r = sum_of_two(base, (t.0, t.1 + bent));

    // Turned around beyond the diagonal and on the left: one of the two, not both.
    let back = flip(one, sign(z.re)).lt(zero);
    let (half_pi, half_pi_rest) = constant::<R>(std::f64::consts::FRAC_PI_2, 6.123233995736766e-17);
    let by = |part: R| R::select(steep, part, R::select(back, part + part, zero));
    let around = (steep & !back) | (!steep & back);
    let turn = R::Bits::select(around, R::lit(-0.0).to_bits(), R::Bits::lit(0));
    let r = sum_of_two(
        (by(half_pi), by(half_pi_rest)),
        (flip(r.0, turn), flip(r.1, turn)),
    );
    (flip(r.0, sign(z.im)), flip(r.1, sign(z.im)))
}
