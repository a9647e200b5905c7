//! Special functions and functions of the number line, against vectors of 60 digits and the
//! standard library.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod ulps;

use allotrope_op::Number;
use allotrope_op::elementary::*;
use ulps::ulps64;

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

fn larger(x: f64, y: f64) -> f64 {
    x.max(y).abs()
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

const ROWS_64: [Row<f64>; 7] = rows! {
    f64;
    erfinv     erfinv64      ()  2.0 itself;
    lgamma     lgamma64      ()  2.0 one;
    digamma    digamma64     ()  2.0 one;
    hypot      hypot         (y) 2.0 itself;
    logaddexp  logaddexp64   (y) 2.0 larger;
    logaddexp2 logaddexp2_64 (y) 2.0 larger;
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
