//! What every cast by the default rules means: nearest even, once, of floats; truncated and saturated
//! from floats to integers; wrapped between integers; unlike zero as a truth value.

use allotrope_dtype::{DType, Error, FloatFormat, Kind, Specials, WeakScalar, c128};

use crate::column::Column;
use crate::oracle::{is_true, to_float};
use crate::report::Report;
use crate::sample::{Random, specials};

/// Whether there is such a cast: complex numbers are no real ones.
#[must_use]
pub fn is_defined(from: DType, to: DType) -> bool {
    !from.is_complex() || to.is_complex() || to == DType::Bool
}

/// What a value of a dtype is in another.
#[must_use]
pub fn answer(value: WeakScalar, to: DType) -> WeakScalar {
    match to.kind() {
        Kind::Bool => WeakScalar::Bool(is_true(value)),
        Kind::Signed | Kind::Unsigned => WeakScalar::Int(integer(value, to)),
        Kind::Float => WeakScalar::Float(float(value, to)),
        Kind::Complex => {
            let part = to.to_real();
            let (re, im) = match value {
                WeakScalar::Complex(z) => (
                    float(WeakScalar::Float(z.re), part),
                    float(WeakScalar::Float(z.im), part),
                ),
                other => (float(other, part), 0.0),
            };
            WeakScalar::Complex(c128::new(re, im))
        }
    }
}

fn integer(value: WeakScalar, to: DType) -> i128 {
    let (least, most) = to.integer_range().unwrap_or((0, 1));
    match value {
        WeakScalar::Bool(value) => value.into(),
        WeakScalar::Int(value) => least + (value - least).rem_euclid(most - least + 1),
        other => {
            let x = to_float(other);
            if x.is_nan() {
                0
            } else if x >= most as f64 {
                most
            } else if x <= least as f64 {
                least
            } else {
                libm::trunc(x) as i128
            }
        }
    }
}

fn float(value: WeakScalar, to: DType) -> f64 {
    let Some(format) = to.format() else {
        return f64::NAN;
    };
    match value {
        WeakScalar::Bool(value) => f64::from(value),
        WeakScalar::Int(value) => beyond(nearest_to_integer(value, format), format),
        other => {
            let x = to_float(other);
            let rounded = if x.is_finite() && x != 0.0 {
                nearest(x, format)
            } else {
                x
            };
            beyond(rounded, format)
        }
    }
}

/// The nearest multiple of the last place that an integer has in a format, of two the even one.
fn nearest_to_integer(value: i128, format: FloatFormat) -> f64 {
    let size = value.unsigned_abs();
    let digits = 128 - size.leading_zeros();
    let cut = digits.saturating_sub(format.mantissa_bits + 1);
    let (kept, rest) = (size >> cut, size & ((1 << cut) - 1));
    let half = if cut == 0 { 1 } else { 1 << (cut - 1) };
    let up = rest > half || rest == half && cut > 0 && kept % 2 == 1;
    let rounded = libm::ldexp((kept + u128::from(up)) as f64, cut as i32);
    if value < 0 { -rounded } else { rounded }
}

/// The same of a float64.
fn nearest(x: f64, format: FloatFormat) -> f64 {
    let exponent = libm::ilogb(x).max(format.min_exponent());
    let place = exponent - format.mantissa_bits as i32;
    // Scaled by a power of two in two steps, neither of which leaves the range.
    let half = place / 2;
    let scaled = libm::ldexp(libm::ldexp(x, -half), half - place);
    libm::ldexp(libm::rint(scaled), place)
}

/// A rounded number in a format, beyond whose greatest there is infinity, NaN, or nothing.
fn beyond(x: f64, format: FloatFormat) -> f64 {
    let max = format.decode(format.max_code());
    if x == 0.0 && !format.has_negative_zero() {
        return 0.0;
    }
    if x.is_nan() || x.abs() <= max {
        return x;
    }
    match format.specials {
        Specials::Ieee => f64::INFINITY.copysign(x),
        Specials::NanOnly => max.copysign(x),
        Specials::NanOnlyUnsignedZero => f64::NAN,
    }
}

/// Values of a dtype that are cast: all of 8 bits; else special ones, ties, where dtypes end, and any.
///
/// # Errors
/// None but those of a column.
pub fn operands(dtype: DType, count: usize) -> Result<Column, Error> {
    let mut random = Random::seeded(0xCA57 ^ dtype as u64);
    if dtype == DType::Bool {
        return Column::new(dtype, [true, false].map(WeakScalar::Bool));
    }
    if dtype.bits() == 8 {
        return Column::from_bytes(dtype, (0..=255).collect());
    }
    let ends = [7, 8, 11, 12, 15, 16, 24, 25, 31, 32, 53, 54, 63, 64].map(|bits| 1_i128 << bits);
    let near = ends.iter().flat_map(|end| [end - 1, *end, end + 1]);
    let near: Vec<i128> = near.chain(-3..=3).flat_map(|x| [x, -x]).collect();
    if let Some((least, most)) = dtype.integer_range() {
        let held = near.into_iter().filter(|x| (least..=most).contains(x));
        let mut values: Vec<WeakScalar> = held.map(WeakScalar::Int).collect();
        values.extend([least, least + 1, most - 1, most].map(WeakScalar::Int));
        while values.len() < count {
            // Of any magnitude.
            let any = (random.bits() >> random.below(64)) as i128;
            let value = if random.below(2) == 0 { any } else { -any };
            values.extend(
                (least..=most)
                    .contains(&value)
                    .then_some(WeakScalar::Int(value)),
            );
        }
        return Column::new(dtype, values);
    }
    let mut reals: Vec<f64> = near.iter().map(|x| *x as f64).collect();
    reals.extend(near.iter().map(|x| *x as f64 + 0.5));
    for narrow in DType::ALL.into_iter().filter(|d| d.is_floating_point()) {
        reals.extend(specials(narrow));
        // Ties of its numbers, and what is next to them.
        let Some(format) = narrow.format() else {
            continue;
        };
        for _ in 0..12 {
            let code = random.bits() % format.max_code();
            let (low, high) = (format.decode(code), format.decode(code + 1));
            let tie = low / 2.0 + high / 2.0;
            reals.extend([tie, tie * (1.0 + 1e-12), -tie * (1.0 - 1e-12), low, -high]);
        }
    }
    while reals.len() < count {
        reals.push(f64::from_bits(random.bits()));
    }
    let values = reals.iter().enumerate().map(|(place, re)| match dtype {
        dtype if dtype.is_complex() => {
            let im = reals[(place * 7 + 3) % reals.len()];
            WeakScalar::Complex(c128::new(*re, im))
        }
        _ => WeakScalar::Float(*re),
    });
    Column::new(dtype, values)
}

/// Compares what operands became, given as values of the dtype that they are stored in.
#[must_use]
pub fn check(what: String, operands: &Column, results: &Column) -> Report {
    let mut report = Report::new(what);
    if results.len() != operands.len() {
        report.fail(format!("{} results for {}", results.len(), operands.len()));
    }
    for (place, (value, got)) in operands.values.iter().zip(&results.values).enumerate() {
        let want = answer(*value, results.dtype);
        report.compare_values(place, *value, *got, want);
    }
    report
}
