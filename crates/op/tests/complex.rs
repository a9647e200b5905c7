//! Functions of complex numbers, against vectors of 60 digits.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use allotrope_op::{Complex, Number};

/// The parts of a number.
type Pair<T> = (T, T);

/// A function with and without fused multiply-add in both widths, and how many units in the last
/// place of the magnitude it may be off. The second argument is used by those that have one.
struct Row {
    name: &'static str,
    fused64: fn(Pair<f64>, Pair<f64>) -> Pair<f64>,
    plain64: fn(Pair<f64>, Pair<f64>) -> Pair<f64>,
    fused32: fn(Pair<f32>, Pair<f32>) -> Pair<f32>,
    plain32: fn(Pair<f32>, Pair<f32>) -> Pair<f32>,
    bound: f64,
}

macro_rules! way {
    ($float:ty, $fused:literal, |$z:ident, $w:ident| $body:expr) => {
        |z, _w| {
            let number = |(re, im)| Complex::<Number<$float, $fused>>::new(Number(re), Number(im));
            let ($z, $w) = (number(z), number(_w));
            let y = $body;
            (y.re.0, y.im.0)
        }
    };
}

macro_rules! rows {
    ($($name:ident $bound:literal |$z:ident, $w:ident| $body:expr;)*) => {
        [$(Row {
            name: stringify!($name),
            fused64: way!(f64, true, |$z, $w| $body),
            plain64: way!(f64, false, |$z, $w| $body),
            fused32: way!(f32, true, |$z, $w| $body),
            plain32: way!(f32, false, |$z, $w| $body),
            bound: $bound,
        }),*]
    };
}

const ROWS: [Row; 30] = rows! {
    abs        2.0 |z, _w| Complex::new(z.abs(), Number(0.0));
    angle      2.0 |z, _w| Complex::new(z.angle(), Number(0.0));
    mul        2.0 |z, w| z * w;
    div        4.0 |z, w| z / w;
    square     2.0 |z, _w| z.square();
    reciprocal 4.0 |z, _w| z.reciprocal();
    sign       2.5 |z, _w| z.sign();
    exp        4.0 |z, _w| z.exp();
    exp2       4.0 |z, _w| z.exp2();
    expm1      4.0 |z, _w| z.expm1();
    sigmoid    4.0 |z, _w| z.sigmoid();
    log        4.0 |z, _w| z.log();
    log2       4.0 |z, _w| z.log2();
    log10      4.0 |z, _w| z.log10();
    log1p      4.0 |z, _w| z.log1p();
    sqrt       4.0 |z, _w| z.sqrt();
    rsqrt      4.0 |z, _w| z.rsqrt();
    sinh       4.0 |z, _w| z.sinh();
    cosh       4.0 |z, _w| z.cosh();
    tanh       4.0 |z, _w| z.tanh();
    sin        4.0 |z, _w| z.sin();
    cos        4.0 |z, _w| z.cos();
    tan        4.0 |z, _w| z.tan();
    asin       4.0 |z, _w| z.asin();
    acos       4.0 |z, _w| z.acos();
    atan       4.0 |z, _w| z.atan();
    asinh      4.0 |z, _w| z.asinh();
    acosh      4.0 |z, _w| z.acosh();
    atanh      4.0 |z, _w| z.atanh();
    pow        4.0 |z, w| z.pow(w);
};

/// A line of the file: the arguments and the result, each part with its residual.
struct Vector {
    z: Pair<f64>,
    w: Pair<f64>,
    exact: Pair<f64>,
    residual: Pair<f64>,
}

/// The vectors of a function.
fn vectors(name: &str) -> Vec<Vector> {
    let lines = include_str!("complex_f64.csv").lines();
    let lines = lines.filter(|line| line.split(',').next() == Some(name));
    let parse = |line: &str| {
        let bits = line.split(',').skip(1);
        let v: Vec<f64> = bits
            .map(|b| f64::from_bits(u64::from_str_radix(b, 16).unwrap()))
            .collect();
        let end = v.len();
        Vector {
            z: (v[0], v[1]),
            w: if end > 6 { (v[2], v[3]) } else { (0.0, 0.0) },
            exact: (v[end - 4], v[end - 3]),
            residual: (v[end - 2], v[end - 1]),
        }
    };
    lines.map(parse).collect()
}

/// The distance from the exact value in units of the last place of its magnitude.
fn ulps(got: Pair<f64>, v: &Vector, mantissa: i32, least_exponent: i32) -> f64 {
    let re = (got.0 - v.exact.0) - v.residual.0;
    let im = (got.1 - v.exact.1) - v.residual.1;
    let magnitude = v.exact.0.hypot(v.exact.1);
    let exponent = (magnitude.to_bits() >> 52) as i32 - 1023;
    let unit = 2_f64.powi(exponent.max(least_exponent) - mantissa);
    let error = (re / unit).hypot(im / unit);
    if error.is_nan() { f64::INFINITY } else { error }
}

#[test]
fn within_bounds() {
    let mut report = String::new();
    let mut bad = false;
    for row in &ROWS {
        let vectors = vectors(row.name);
        assert!(vectors.len() > 50, "{} has vectors", row.name);
        let mut worst = [(0.0, (0.0, 0.0)); 4];
        for v in &vectors {
            let mut note = |way: usize, error: f64| {
                if error > worst[way].0 {
                    worst[way] = (error, v.z);
                }
            };
            note(0, ulps((row.fused64)(v.z, v.w), v, 52, -1022));
            note(1, ulps((row.plain64)(v.z, v.w), v, 52, -1022));
            let narrow = |(re, im): Pair<f64>| (re as f32, im as f32);
            let wide = |(re, im): Pair<f32>| (f64::from(re), f64::from(im));
            let fits = |x: Pair<f64>| wide(narrow(x)) == x;
            let limit = f64::from(f32::MAX);
            if fits(v.z) && fits(v.w) && v.exact.0.abs() < limit && v.exact.1.abs() < limit {
                let (z, w) = (narrow(v.z), narrow(v.w));
                note(2, ulps(wide((row.fused32)(z, w)), v, 23, -126));
                note(3, ulps(wide((row.plain32)(z, w)), v, 23, -126));
            }
        }
        let ways = ["fused c128", "plain c128", "fused c64", "plain c64"];
        for (way, (error, (re, im))) in ways.iter().zip(worst) {
            bad |= error > row.bound;
            report += &format!("{} {way}: {error:.3} ulp at {re:e} {im:+e}i\n", row.name);
        }
    }
    assert!(!bad, "{report}");
    println!("{report}");
}

/// Points of several kinds: in a square, at all sizes, near ±1 and ±i, on the unit circle, and in
/// strips; `unit` gives numbers from -1 to 1.
fn point(kind: usize, mut unit: impl FnMut() -> f64) -> Pair<f32> {
    let small = (unit() - 1.0) * 12.0;
    let mut around = |size: f64| {
        let angle = unit() * 3.2;
        (size * angle.cos(), size * angle.sin())
    };
    let (re, im) = match kind % 8 {
        0 => (unit() * 4.0, unit() * 4.0),
        1 => around((6.0 * small + 72.0).exp2()),
        2 => around(-small),
        3 => (1.0 + around(small.exp2()).0, around(small.exp2()).1),
        4 => (around(small.exp2()).0, around(small.exp2()).1 - 1.0),
        5 => around(1.0),
        6 => (unit() * 80.0, unit() * 80.0),
        _ => (unit() * 2.0, unit() * 1e5),
    };
    (re as f32, im as f32)
}

#[test]
fn complex64_by_complex128() {
    let mut state = 88_172_645_463_325_252_u64;
    let mut unit = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as f64 / (1_u64 << 63) as f64 - 1.0
    };
    let mut report = String::new();
    for row in &ROWS {
        for kind in 0..8000 {
            let (z, mut w) = (point(kind, &mut unit), point(kind, &mut unit));
            if row.name == "pow" {
                w = (w.0 % 8.0, w.1 % 4.0);
            }
            let wide = |(re, im): Pair<f32>| (f64::from(re), f64::from(im));
            let exact = (row.plain64)(wide(z), wide(w));
            let limit = f64::from(f32::MAX);
            if exact.0.abs() < limit && exact.1.abs() < limit {
                let (z, w, residual) = (wide(z), wide(w), (0.0, 0.0));
                let v = Vector {
                    z,
                    w,
                    exact,
                    residual,
                };
                for function in [row.fused32, row.plain32] {
                    let got = function((z.0 as f32, z.1 as f32), (w.0 as f32, w.1 as f32));
                    let error = ulps(wide(got), &v, 23, -126);
                    if error > row.bound {
                        report += &format!("{} {z:?} {w:?}: {error} ulp\n", row.name);
                    }
                }
            }
        }
    }
    assert!(report.is_empty(), "{report}");
}

/// The value of a line of the table of special values: within 4 ulp of the magnitude where it is
/// finite, and else of the same kind and sign, but for a sign that is free.
fn is_as_wanted(got: Pair<f64>, want: Pair<f64>, free: &str, epsilon: f64) -> bool {
    let finite = |x: f64| if x.is_finite() { x.abs() } else { 0.0 };
    let margin = 4.0 * epsilon * finite(want.0).max(finite(want.1));
    let part = |got: f64, want: f64, name: char| {
        if want.is_nan() || got.is_nan() {
            want.is_nan() && got.is_nan()
        } else if want == 0.0 && got == 0.0 || want.is_infinite() && got.is_infinite() {
            free.contains(name) || want.is_sign_negative() == got.is_sign_negative()
        } else {
            (got - want).abs() <= margin
        }
    };
    part(got.0, want.0, 'r') && part(got.1, want.1, 'i')
}

#[test]
fn special_values() {
    let mut report = String::new();
    let mut count = 0;
    for line in include_str!("complex_special.csv").lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let row = ROWS.iter().find(|row| row.name == fields[0]).unwrap();
        let number = |i: usize| f64::from_bits(u64::from_str_radix(fields[i], 16).unwrap());
        let (z, want, free) = ((number(1), number(2)), (number(3), number(4)), fields[5]);
        let mut check = |got: Pair<f64>, width: &str, epsilon: f64| {
            count += 1;
            if !is_as_wanted(got, want, free, epsilon) {
                report += &format!("{} {width} {z:?} = {got:?}, not {want:?}\n", row.name);
            }
        };
        check((row.fused64)(z, z), "c128", f64::EPSILON);
        check((row.plain64)(z, z), "c128", f64::EPSILON);
        // The ends of the range are those of float64 here.
        if [z.0, z.1]
            .iter()
            .all(|x| !x.is_finite() || x.abs() < 3.0 && f64::from(*x as f32) == *x)
        {
            let (re, im) = (row.fused32)((z.0 as f32, z.1 as f32), (0.0, 0.0));
            check((re.into(), im.into()), "c64", f32::EPSILON.into());
            let (re, im) = (row.plain32)((z.0 as f32, z.1 as f32), (0.0, 0.0));
            check((re.into(), im.into()), "c64", f32::EPSILON.into());
        }
    }
    assert!(count > 9000);
    assert!(report.is_empty(), "{report}");
}

/// The row's result in both ways, which must agree but for rounding and signs of NaN.
fn call(name: &str, z: Pair<f64>, w: Pair<f64>) -> Pair<f64> {
    let row = ROWS.iter().find(|row| row.name == name).unwrap();
    let (fused, plain) = ((row.fused64)(z, w), (row.plain64)(z, w));
    assert!(is_as_wanted(plain, fused, "", f64::EPSILON), "{name}");
    fused
}

#[test]
fn special_values_of_quotients_and_powers() {
    const INF: f64 = f64::INFINITY;
    const NAN: f64 = f64::NAN;
    const ANY: Pair<f64> = (0.0, 0.0);
    let rows = [
        // By zero as NumPy, by infinity 0.
        ("div", (1.0, 2.0), (0.0, 0.0), (INF, INF)),
        ("div", (1.0, 0.0), (-0.0, 0.0), (INF, NAN)),
        ("div", (0.0, 0.0), (0.0, 0.0), (NAN, NAN)),
        ("div", (1.0, -1.0), (INF, 0.0), (0.0, -0.0)),
        ("div", (1.0, 1.0), (INF, INF), (0.0, 0.0)),
        ("div", (INF, 1.0), (INF, 1.0), (NAN, 0.0)),
        ("div", (INF, 0.0), (1.0, 1.0), (INF, -INF)),
        ("div", (NAN, 0.0), (1.0, 1.0), (NAN, NAN)),
        ("div", (1.0, 1.0), (NAN, 1.0), (NAN, NAN)),
        ("div", (1e308, 1e308), (1e308, 1e308), (1.0, 0.0)),
        ("div", (1e-320, 1e-320), (1e-320, -1e-320), (0.0, 1.0)),
        ("div", (1e308, 1e-10), (2.0, 0.0), (5e307, 5e-11)),
        ("reciprocal", (0.0, 0.0), ANY, (INF, NAN)),
        ("reciprocal", (INF, -INF), ANY, (0.0, 0.0)),
        ("rsqrt", (0.0, 0.0), ANY, (INF, NAN)),
        ("rsqrt", (-INF, 1.0), ANY, (0.0, -0.0)),
        ("rsqrt", (4.0, 0.0), ANY, (0.5, -0.0)),
        ("rsqrt", (-4.0, -0.0), ANY, (0.0, 0.5)),
        ("sign", (0.0, -0.0), ANY, (0.0, 0.0)),
        ("sign", (3e300, -4e300), ANY, (0.6, -0.8)),
        ("sign", (3e-320, 0.0), ANY, (1.0, 0.0)),
        ("sign", (-INF, 2.0), ANY, (-1.0, 0.0)),
        ("sign", (INF, INF), ANY, (NAN, NAN)),
        ("sign", (INF, NAN), ANY, (NAN, NAN)),
        ("sigmoid", (0.0, 0.0), ANY, (0.5, 0.0)),
        ("sigmoid", (INF, NAN), ANY, (1.0, 0.0)),
        ("sigmoid", (-INF, NAN), ANY, (0.0, 0.0)),
        ("sigmoid", (800.0, 3.0), ANY, (1.0, 0.0)),
        ("sigmoid", (NAN, 1.0), ANY, (NAN, NAN)),
        ("exp2", (3.0, 0.0), ANY, (8.0, 0.0)),
        ("exp2", (-INF, NAN), ANY, (0.0, 0.0)),
        ("exp2", (INF, INF), ANY, (INF, NAN)),
        ("exp2", (1e300, INF), ANY, (NAN, NAN)),
        ("exp2", (NAN, -0.0), ANY, (NAN, -0.0)),
        ("log2", (1024.0, 0.0), ANY, (10.0, 0.0)),
        ("log2", (0.0, -0.125), ANY, (-3.0, -2.266180070913597)),
        ("pow", (1.0, 2.0), (3.0, 0.0), (-11.0, -2.0)),
        ("pow", (0.0, 1.0), (2.0, 0.0), (-1.0, 0.0)),
        ("pow", (2.0, 0.0), (-2.0, 0.0), (0.25, -0.0)),
        ("pow", (-4.0, 0.0), (0.5, 0.0), (0.0, 2.0)),
        ("pow", (0.0, 0.0), (2.0, 1.0), (0.0, 0.0)),
        ("pow", (0.0, 0.0), (-1.0, 0.0), (NAN, NAN)),
        ("pow", (0.0, 0.0), (0.0, 0.0), (1.0, 0.0)),
        ("pow", (NAN, INF), (0.0, 0.0), (1.0, 0.0)),
        ("pow", (INF, 0.0), (2.0, 0.0), (INF, 0.0)),
        ("pow", (INF, 0.0), (-1.0, 0.0), (0.0, 0.0)),
        ("pow", (1.0, NAN), (1.0, 1.0), (NAN, NAN)),
    ];
    for (name, z, w, want) in rows {
        let got = call(name, z, w);
        // The sign of a zero beside a finite part is not specified for these.
        let free = if want.0 == 0.0 || want.1 == 0.0 {
            "ri"
        } else {
            ""
        };
        let near_zero = |got: f64, want: f64| want == 0.0 && got.abs() < 3e-16;
        let got = (
            if near_zero(got.0, want.0) { 0.0 } else { got.0 },
            if near_zero(got.1, want.1) { 0.0 } else { got.1 },
        );
        assert!(
            is_as_wanted(got, want, free, f64::EPSILON),
            "{name} {z:?} {w:?} = {got:?}, not {want:?}"
        );
    }
}

#[test]
fn predicates_and_selection() {
    let number = |re: f64, im: f64| Complex::<Number<f64, false>>::lit(re, im);
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    assert!(number(nan, inf).is_nan() && number(nan, inf).is_inf());
    assert!(!number(nan, inf).is_finite() && !number(0.0, nan).is_inf());
    assert!(number(1.0, -2.0).is_finite() && !number(1.0, -2.0).is_nan());
    assert!(number(0.0, 1.0).eq(number(-0.0, 1.0)) && !number(nan, 1.0).eq(number(nan, 1.0)));
    let (a, b) = (number(1.0, 2.0), number(3.0, 4.0));
    assert_eq!(
        [Complex::select(true, a, b), Complex::select(false, a, b)],
        [a, b]
    );
    assert_eq!(
        (a + b, a - b, -a, a.conj()),
        (
            number(4.0, 6.0),
            number(-2.0, -2.0),
            number(-1.0, -2.0),
            number(1.0, -2.0),
        )
    );
}
