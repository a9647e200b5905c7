//! Distances from exact values, for the tests of functions.
#![allow(dead_code, reason = "not every test file measures both widths")]

/// The distance of a float32 from the exact value in units of the last place of the latter.
pub(crate) fn ulps32(got: f32, exact: f64) -> f64 {
    let rounded = exact as f32;
    if rounded.is_nan() || got.is_nan() {
        return if rounded.is_nan() && got.is_nan() {
            0.0
        } else {
            f64::INFINITY
        };
    }
    if rounded == 0.0 && got == 0.0 {
        return if rounded.is_sign_negative() == got.is_sign_negative() {
            0.0
        } else {
            f64::INFINITY
        };
    }
    if rounded.is_infinite() || got.is_infinite() {
        // Infinity stands one step after the greatest number.
        return got.to_bits().abs_diff(rounded.to_bits()).into();
    }
    let toward_zero =
        f32::from_bits(rounded.to_bits() - u32::from(f64::from(rounded.abs()) > exact.abs()));
    let unit = f32::from_bits(toward_zero.abs().to_bits() + 1) - toward_zero.abs();
    (f64::from(got) - exact).abs() / f64::from(unit)
}

/// The same for float64, of which the exact value is a rounded one and a residual.
pub(crate) fn ulps64(got: f64, exact: f64, residual: f64) -> f64 {
    if exact.is_nan() || got.is_nan() {
        return if exact.is_nan() && got.is_nan() {
            0.0
        } else {
            f64::INFINITY
        };
    }
    if exact == 0.0 && got == 0.0 {
        return if exact.is_sign_negative() == got.is_sign_negative() {
            0.0
        } else {
            f64::INFINITY
        };
    }
    if exact.is_infinite() || got.is_infinite() {
        return got.to_bits().abs_diff(exact.to_bits()) as f64;
    }
    let below = f64::from_bits(exact.to_bits() - u64::from(exact * residual < 0.0));
    let unit = f64::from_bits(below.abs().to_bits() + 1) - below.abs();
    ((got - exact) - residual).abs() / unit
}
