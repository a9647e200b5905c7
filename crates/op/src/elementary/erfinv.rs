//! The inverse of the error function.

use super::log::{log_parts32, log_parts64};
use super::{flip, horner, sign};
use crate::Lane;

// Coefficients: interpolation at Chebyshev nodes with 70 digits, then rounded.

/// `(erfinv(x) / x - √π/2) / x²` in powers of `15/32 - x²`, which has coefficients of one sign, for
/// `|x| ≤ 11/16`: a numerator.
const NEAR_32: [f64; 3] = [0.3216383503548312, 0.5388995166967895, 0.15346563338904975];

/// Its denominator.
const NEAR_BELOW_32: [f64; 4] = [1.0, 2.5851372690616, 1.742531844658565, 0.2498488380723546];

/// The same for float64.
const NEAR_64: [f64; 7] = [
    0.32163835403188545,
    1.4962099990455666,
    2.5164991306122815,
    1.8532050823746942,
    0.5695784079618363,
    0.054446111823541234,
    0.0001941052404286382,
];

/// Its denominator.
const NEAR_BELOW_64: [f64; 7] = [
    1.0,
    5.561497139132654,
    11.79677030271184,
    11.925453359008165,
    5.850297709686296,
    1.2502734978981211,
    0.08279092305802863,
];

/// `erfinv(x) / s` with `s = √-ln(1 - x)`, in powers of `t = (s - 2) / (s + 2)`, without the
/// constant, for `x` from 11/16 to 1.
const TAIL_32: [f64; 9] = [
    0.4309177246494438,
    -0.42376297345414343,
    0.20194110710270755,
    0.006692444161901121,
    -0.1282248055729798,
    0.1389515200429886,
    -0.07090184780045228,
    -0.03005139932877338,
    0.06602952273143346,
];

/// The same for float64.
const TAIL_64: [f64; 21] = [
    0.43091773028359814,
    -0.4237632183630624,
    0.2019390574845452,
    0.006724927246581814,
    -0.1281141306011618,
    0.1377653736529878,
    -0.0726441210484784,
    -0.013667030174078233,
    0.0711988941444525,
    -0.07798870688963054,
    0.04099782483828068,
    0.011316005351396466,
    -0.048611017492696536,
    0.05319594393884877,
    -0.027584350379485006,
    -0.010327300899980647,
    0.036479351498504196,
    -0.03517607653891686,
    0.013763936547853373,
    0.0025089669984389856,
    -0.0030846186622144676,
];

/// The constant of these.
const TAIL_CONSTANT: f64 = 0.8340941580292482;
/// `√π/2`, the slope at 0.
const SLOPE: f64 = 0.886226925452758;

/// A rational function up to 11/16.
#[inline(always)]
fn center<L: Lane, const P: usize, const Q: usize>(a: L, above: [f64; P], below: [f64; Q]) -> L {
    let z = a * a;
    let t = L::lit(0.46875) - z;
    let bent = horner(t, above) * z / horner(t, below);
    let (product, lost) = a.mul_exact(L::lit(SLOPE));
    product + a.mul_add(bent, lost)
}

/// A polynomial beyond it, given `ln(1 - a)` as a rounded value and the rest.
#[inline(always)]
fn tail<L: Lane, const N: usize>((log, log_rest): (L, L), p: [f64; N]) -> L {
    let s = (-log).sqrt();
    let (square, lost) = s.mul_exact(s);
    let s_rest = -((((log + square) + lost) + log_rest) / (s + s));
    let t = (s - L::lit(2.0)) / (s + L::lit(2.0));
    let (product, lost) = s.mul_exact(L::lit(TAIL_CONSTANT));
    // The slope of the result in s is about one.
    product + s.mul_add(horner(t, p) * t, lost + s_rest)
}

/// One of the two by `x`, with its sign and its ends.
#[inline(always)]
fn join<L: Lane>(x: L, center: L, tail: L) -> L {
    let (a, one) = (x.abs(), L::lit(1.0));
    let y = L::select(L::lit(0.6875).lt(a), tail, center);
    let y = L::select(a.eq(one), L::lit(f64::INFINITY), y);
    // Beyond one there is nothing, and NaN stays.
    flip(L::select(one.lt(a), L::lit(f64::NAN), y), sign(x))
}

/// The number of which `x` is the error function. At most 2 ulp; ±∞ at ±1, NaN outside; a zero
/// keeps its sign.
#[inline(always)]
pub fn erfinv32<L: Lane>(x: L) -> L {
    let a = x.abs();
    let tail = tail(log_parts32(L::lit(1.0) - a), TAIL_32);
    join(x, center(a, NEAR_32, NEAR_BELOW_32), tail)
}

/// The number of which `x` is the error function. At most 2 ulp; ±∞ at ±1, NaN outside; a zero
/// keeps its sign.
#[inline(always)]
pub fn erfinv64<L: Lane>(x: L) -> L {
    let a = x.abs();
    let tail = tail(log_parts64(L::lit(1.0) - a), TAIL_64);
    join(x, center(a, NEAR_64, NEAR_BELOW_64), tail)
}
