//! Special functions and functions of the number line, against vectors of 60 digits and the
//! standard library.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod ulps;

use allotrope_op::elementary::*;
use allotrope_op::{Lane, Number};
use ulps::{ulps32, ulps64};

/// A function with and without fused multiply-add, and how many units in the last place it may be
/// off: of its own result and, where that is larger, of the number that `scale` gives.
struct Row<T> {
    name: &'static str,
    fused: fn(T, T) -> T,
    plain: fn(T, T) -> T,
    bound: f64,
    scale: fn(f64, f64) -> f64,
}

fn itself(_: f64, _: f64) -> f64 {
    0.0
}

fn one(_: f64, _: f64) -> f64 {
    1.0
}

/// The larger of the two terms of a logarithm of a sum, which may cancel.
fn larger_term(x: f64, y: f64) -> f64 {
    x.max(y).abs().max((-(x - y).abs()).exp().ln_1p())
}

/// The same to base 2.
fn larger_term_2(x: f64, y: f64) -> f64 {
    x.max(y)
        .abs()
        .max((-(x - y).abs()).exp2().ln_1p() / std::f64::consts::LN_2)
}

macro_rules! rows {
    ($float:ty; $($name:ident $function:ident ($($second:ident)?) $bound:literal $scale:ident;)*) => {
        [$(Row::<$float> {
            name: stringify!($name),
            fused: |first, _second| {
                $(let $second = _second;)?
                $function(Number::<$float, true>(first) $(, Number($second))?).0
            },
            plain: |first, _second| {
                $(let $second = _second;)?
                $function(Number::<$float, false>(first) $(, Number($second))?).0
            },
            bound: $bound,
            scale: $scale,
        }),*]
    };
}

const ROWS_64: [Row<f64>; 10] = rows! {
    f64;
    erfinv     erfinv64      ()  2.0 itself;
    lgamma     lgamma64      ()  2.0 one;
    digamma    digamma64     ()  2.0 one;
    igamma     igamma64      (x) 8.0 itself;
    igammac    igammac64     (x) 10.0 itself;
    zeta       zeta64        (q) 6.0 itself;
    hypot      hypot         (y) 2.0 itself;
    logaddexp  logaddexp64   (y) 2.5 larger_term;
    logaddexp2 logaddexp2_64 (y) 3.5 larger_term_2;
    rsqrt      rsqrt         ()  1.5 itself;
};

/// What `row` makes of the vectors named after it, in both ways: the largest error, and where.
fn worst_of_vectors(row: &Row<f64>) -> [(f64, f64, f64); 2] {
    let mut worst = [(0.0, 0.0, 0.0); 2];
    let lines = include_str!("special_f64.csv").lines();
    let mut count = 0;
    for line in lines.filter(|line| line.split(',').next() == Some(row.name)) {
        let bits = line.split(',').skip(1);
        let v: Vec<f64> = bits
            .map(|b| f64::from_bits(u64::from_str_radix(b, 16).unwrap()))
            .collect();
        let (&residual, &exact) = (v.last().unwrap(), v.iter().nth_back(1).unwrap());
        let scale = (row.scale)(v[0], v[1]);
        for (function, worst) in [row.fused, row.plain].iter().zip(&mut worst) {
            let got = function(v[0], v[1]);
            let mut error = ulps64(got, exact, residual);
            if exact.abs() < scale && got.is_finite() {
                error = ((got - exact) - residual).abs() / (scale.next_up() - scale);
            }
            if error > worst.0 {
                *worst = (error, v[0], v[1]);
            }
        }
        count += 1;
    }
    assert!(count > 100, "{} has vectors", row.name);
    worst
}

#[test]
fn float64_within_bounds() {
    let mut report = String::new();
    let mut bad = false;
    for row in &ROWS_64 {
        for (way, (error, x, y)) in ["fused", "plain"].iter().zip(worst_of_vectors(row)) {
            bad |= error > row.bound;
            report += &format!("{} {way}: {error:.3} ulp at {x:e}, {y:e}\n", row.name);
        }
    }
    assert!(!bad, "{report}");
    println!("{report}");
}

const ROWS_32: [Row<f32>; 10] = rows! {
    f32;
    erfinv     erfinv32      ()  2.0 itself;
    lgamma     lgamma32      ()  2.0 one;
    digamma    digamma32     ()  2.0 one;
    igamma     igamma32      (x) 8.0 itself;
    igammac    igammac32     (x) 10.0 itself;
    zeta       zeta32        (q) 6.0 itself;
    hypot      hypot         (y) 2.0 itself;
    logaddexp  logaddexp32   (y) 2.5 larger_term;
    logaddexp2 logaddexp2_32 (y) 3.5 larger_term_2;
    rsqrt      rsqrt         ()  1.5 itself;
};

/// Pairs over the whole range, and pairs of about the same size; the first also near the poles and
/// zeros of functions.
fn pairs32() -> impl Iterator<Item = (f32, f32)> {
    let special = [
        0.0,
        1e-45,
        0.5,
        0.6875,
        1.0,
        2.0,
        2.5,
        3.0,
        7.0,
        1e30,
        f32::MAX,
    ];
    let special = special
        .into_iter()
        .chain([1.4616321, 0.50408303, 1.5734985, 2.457_024_8]);
    let special = special.chain([f32::INFINITY]).flat_map(|p: f32| {
        let middle = p.to_bits();
        middle.saturating_sub(8)..=middle + 8
    });
    let sweep = (0..=u32::MAX / 2)
        .step_by(40_961)
        .chain((0x3a00_0000..0x4200_0000).step_by(4001));
    sweep.chain(special).enumerate().flat_map(|(i, bits)| {
        let x = f32::from_bits(bits);
        let other = f32::from_bits((bits as usize).wrapping_mul(i + 12_345) as u32);
        let ratio = (i % 2003) as f32 / 1000.0 - 1.0;
        [(x, other), (-x, x * ratio), (x, x + 20.0 * ratio)]
    })
}

#[test]
fn float32_within_bounds() {
    let mut report = String::new();
    let mut bad = false;
    for (row, judge) in ROWS_32.iter().zip(&ROWS_64) {
        assert_eq!(row.name, judge.name);
        for (way, function) in [("fused", row.fused), ("plain", row.plain)] {
            let mut worst = (0.0, 0.0, 0.0);
            for (x, y) in pairs32() {
                // Those of float64 judge, which the vectors test.
                let exact = (judge.plain)(x.into(), y.into());
                let (got, scale) = (function(x, y), (row.scale)(x.into(), y.into()) as f32);
                let mut error = ulps32(got, exact);
                if exact.abs() < scale.into() && got.is_finite() && scale.is_finite() {
                    let unit = f64::from(scale.next_up()) - f64::from(scale);
                    error = (f64::from(got) - exact).abs() / unit;
                }
                if error > worst.0 {
                    worst = (error, x, y);
                }
            }
            let (error, x, y) = worst;
            bad |= error > row.bound;
            report += &format!("{} {way}: {error:.3} ulp at {x:e}, {y:e}\n", row.name);
        }
    }
    assert!(!bad, "{report}");
    println!("{report}");
}

/// Whether two numbers have the same bits, or both are NaN.
fn same(got: f64, want: f64) -> bool {
    got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan()
}

#[test]
fn special_values() {
    const INF: f64 = f64::INFINITY;
    const NAN: f64 = f64::NAN;
    let rows: [(&str, f64, f64, f64); 57] = [
        ("erfinv", 0.0, 0.0, 0.0),
        ("erfinv", -0.0, 0.0, -0.0),
        ("erfinv", 1.0, 0.0, INF),
        ("erfinv", -1.0, 0.0, -INF),
        ("erfinv", 1.0 + f64::EPSILON, 0.0, NAN),
        ("erfinv", -INF, 0.0, NAN),
        ("erfinv", NAN, 0.0, NAN),
        ("lgamma", 0.0, 0.0, INF),
        ("lgamma", -0.0, 0.0, INF),
        ("lgamma", -3.0, 0.0, INF),
        ("lgamma", -1e300, 0.0, INF),
        ("lgamma", 1.0, 0.0, 0.0),
        ("lgamma", 2.0, 0.0, 0.0),
        ("lgamma", INF, 0.0, INF),
        ("lgamma", -INF, 0.0, INF),
        ("lgamma", 1e308, 0.0, INF),
        ("lgamma", NAN, 0.0, NAN),
        ("digamma", 0.0, 0.0, -INF),
        ("digamma", -0.0, 0.0, INF),
        ("digamma", 5e-324, 0.0, -INF),
        ("digamma", -5e-324, 0.0, INF),
        ("digamma", -2.0, 0.0, NAN),
        ("digamma", INF, 0.0, INF),
        ("digamma", -INF, 0.0, NAN),
        ("digamma", NAN, 0.0, NAN),
        ("hypot", -INF, NAN, INF),
        ("hypot", NAN, -INF, INF),
        ("hypot", NAN, 1.0, NAN),
        ("hypot", 3e-324, -0.0, 5e-324),
        ("logaddexp", -INF, -INF, -INF),
        ("logaddexp", INF, INF, INF),
        ("logaddexp", -INF, INF, INF),
        ("logaddexp", NAN, INF, NAN),
        ("logaddexp2", 3.0, 3.0, 4.0),
        ("igamma", 0.0, 1.0, 1.0),
        ("igamma", 1.0, 0.0, 0.0),
        ("igamma", 1.0, INF, 1.0),
        ("igamma", INF, 1.0, 0.0),
        ("igamma", INF, INF, NAN),
        ("igamma", 0.0, 0.0, NAN),
        ("igamma", -1.0, 1.0, NAN),
        ("igamma", 1.0, -1.0, NAN),
        ("igamma", NAN, 1.0, NAN),
        ("igamma", 1.0, NAN, NAN),
        ("igamma", INF, -1.0, NAN),
        ("igammac", 0.0, 1.0, 0.0),
        ("igammac", 1.0, 0.0, 1.0),
        ("igammac", 1.0, INF, 0.0),
        ("igammac", INF, 1.0, 1.0),
        ("igammac", 1e300, 1e300, 0.5),
        ("zeta", 1.0, 2.0, INF),
        ("zeta", 0.5, 2.0, NAN),
        ("zeta", 2.0, -3.0, INF),
        ("zeta", 2.5, -0.5, NAN),
        ("zeta", 2.0, INF, 0.0),
        ("zeta", INF, 1.0, 1.0),
        ("zeta", NAN, -1.0, NAN),
    ];
    for (name, x, y, want) in rows {
        let row = ROWS_64.iter().find(|row| row.name == name).unwrap();
        for got in [(row.fused)(x, y), (row.plain)(x, y)] {
            assert!(
                same(got, want),
                "{name}({x:e}, {y:e}) = {got:e}, not {want:e}"
            );
        }
        let row = ROWS_32.iter().find(|row| row.name == name).unwrap();
        if f64::from(x as f32).to_bits() == x.to_bits()
            && f64::from(y as f32).to_bits() == y.to_bits()
        {
            let got = (row.plain)(x as f32, y as f32).into();
            assert!(
                same(got, want),
                "{name}({x:e}, {y:e}) = {got:e}, not {want:e}"
            );
        }
    }
}

#[test]
fn rounding_is_that_of_the_standard_library() {
    let halves = (-20..20).map(|k| (k as f32 * 0.5).to_bits());
    for bits in (0..=u32::MAX).step_by(16_411).chain(halves) {
        let x = f32::from_bits(bits);
        let wide = f64::from_bits(u64::from(bits) << 32 | u64::from(bits.rotate_left(7)));
        let (plain, fused) = (Number::<f32, false>(x), Number::<f32, true>(x));
        let (plain64, fused64) = (Number::<f64, false>(wide), Number::<f64, true>(wide));
        let cases = [
            (
                plain.floor().0,
                fused.floor().0,
                x.floor(),
                plain64.floor().0,
                fused64.floor().0,
                wide.floor(),
            ),
            (
                plain.ceil().0,
                fused.ceil().0,
                x.ceil(),
                plain64.ceil().0,
                fused64.ceil().0,
                wide.ceil(),
            ),
            (
                plain.trunc().0,
                fused.trunc().0,
                x.trunc(),
                plain64.trunc().0,
                fused64.trunc().0,
                wide.trunc(),
            ),
            (
                plain.round().0,
                fused.round().0,
                x.round_ties_even(),
                plain64.round().0,
                fused64.round().0,
                wide.round_ties_even(),
            ),
        ];
        for (a, b, want, a64, b64, want64) in cases {
            assert!(
                same(a.into(), want.into()) && same(b.into(), want.into()),
                "{x:e}: {a:e}, {b:e}, not {want:e}"
            );
            assert!(
                same(a64, want64) && same(b64, want64),
                "{wide:e}: {a64:e}, {b64:e}, not {want64:e}"
            );
        }
    }
}

#[test]
fn remainders_and_quotients() {
    const INF: f64 = f64::INFINITY;
    const NAN: f64 = f64::NAN;
    let n = Number::<f64, false>;
    // x, y, remainder, floor_divide: the special cases of the array API, one row each.
    let rows = [
        (INF, INF, NAN, NAN),
        (-INF, INF, NAN, NAN),
        (0.0, 0.0, NAN, NAN),
        (0.0, -0.0, NAN, NAN),
        (0.0, 2.0, 0.0, 0.0),
        (-0.0, 2.0, 0.0, -0.0),
        (0.0, -2.0, -0.0, -0.0),
        (-0.0, -2.0, -0.0, 0.0),
        (2.0, 0.0, NAN, INF),
        (2.0, -0.0, NAN, -INF),
        (-2.0, 0.0, NAN, -INF),
        (-2.0, -0.0, NAN, INF),
        (INF, 2.0, NAN, INF),
        (INF, -2.0, NAN, -INF),
        (-INF, 2.0, NAN, -INF),
        (-INF, -2.0, NAN, INF),
        (2.0, INF, 2.0, 0.0),
        (2.0, -INF, -INF, -0.0),
        (-2.0, INF, INF, -0.0),
        (-2.0, -INF, -2.0, 0.0),
        (NAN, 2.0, NAN, NAN),
        (2.0, NAN, NAN, NAN),
        (6.0, -2.0, -0.0, -3.0),
        (-1e-20, 1.0, 1.0, -1.0),
        (1e300, 7.0, 1e300 % 7.0, 1.4285714285714286e299),
        (0.3, 0.1, 0.3 % 0.1, 2.0),
        (1e308, 1e-308, 1e308 % 1e-308, INF),
        (5e-324, 1e308, 5e-324, 0.0),
    ];
    for (x, y, r, q) in rows {
        let got = (n(x).remainder(n(y)).0, n(x).floor_divide(n(y)).0);
        assert!(same(got.0, r), "remainder({x:e}, {y:e}) = {:e}", got.0);
        assert!(same(got.1, q), "floor_divide({x:e}, {y:e}) = {:e}", got.1);
    }
    for (i, j) in (-300_i32..300).flat_map(|i| (-40..40).map(move |j| (i, j))) {
        let (x, y) = (f64::from(i) / 8.0, f64::from(j) / 8.0);
        assert!(same(n(x).fmod(n(y)).0, x % y));
        if j != 0 && i != 0 {
            let floor =
                f64::from(i.div_euclid(j)) - f64::from(u8::from(j < 0 && i.rem_euclid(j) != 0));
            assert_eq!(n(x).floor_divide(n(y)).0, floor, "{x} // {y}");
            assert_eq!(n(x).remainder(n(y)).0, x - floor * y, "{x} % {y}");
        }
    }
}

#[test]
fn neighbours_and_signs() {
    let points = [
        0.0_f32,
        1e-45,
        f32::MIN_POSITIVE,
        1.0,
        f32::MAX,
        f32::INFINITY,
    ];
    let points = points.into_iter().flat_map(|x| [x, -x]).chain([f32::NAN]);
    for (x, y) in points
        .clone()
        .flat_map(|x| points.clone().map(move |y| (x, y)))
    {
        let want = match x.partial_cmp(&y) {
            None => f32::NAN,
            Some(std::cmp::Ordering::Less) => x.next_up(),
            Some(std::cmp::Ordering::Equal) => y,
            Some(std::cmp::Ordering::Greater) => x.next_down(),
        };
        let (a, b) = (Number::<f32, false>(x), Number(y));
        let got = a.nextafter(b).0;
        assert!(
            same(got.into(), want.into()),
            "nextafter({x:e}, {y:e}) = {got:e}"
        );
        assert_eq!(a.copysign(b).0.to_bits(), x.copysign(y).to_bits());
    }
}
