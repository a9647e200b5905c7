//! How far a result is from the answer, in units in the last place of its dtype.

use allotrope_dtype::{DType, FloatFormat, Specials, WeakScalar};

use crate::double::Double;
use crate::oracle::Exact;
use crate::precise::Precise;

/// The error that results of a dtype may have if `ulp` units are allowed in the compute dtype: as
/// many, or half a unit for the rounding to a narrower one and that error in its smaller units.
#[must_use]
pub fn tolerance(ulp: f64, dtype: DType) -> f64 {
    let mantissa = |dtype: DType| dtype.format().map_or(0, |format| format.mantissa_bits);
    let (narrow, wide) = (mantissa(dtype), mantissa(dtype.compute()));
    // What the references themselves leave out.
    let slack = f64::EPSILON.sqrt() * ulp;
    if narrow == wide {
        ulp + slack
    } else {
        0.5 + ulp * libm::ldexp(1.0, narrow as i32 - wide as i32) + slack
    }
}

/// One unit in the last place at a magnitude.
fn unit(magnitude: f64, format: FloatFormat) -> f64 {
    let exponent = if magnitude == 0.0 {
        format.min_exponent()
    } else {
        libm::ilogb(magnitude).max(format.min_exponent())
    };
    libm::ldexp(1.0, exponent - format.mantissa_bits as i32)
}

/// The distance of a result from the answer; infinite where no number of units says it.
///
/// `scale` is a magnitude that the unit is taken at if the answer is smaller.
#[must_use]
pub fn ulps(got: WeakScalar, want: Exact, dtype: DType, scale: f64) -> f64 {
    let agrees = |same: bool| if same { 0.0 } else { f64::INFINITY };
    let Some(format) = dtype.format() else {
        return match (got, want) {
            (WeakScalar::Bool(got), Exact::Truth(want)) => agrees(got == want),
            (WeakScalar::Int(got), Exact::Int(want)) => agrees(got == want),
            _ => f64::INFINITY,
        };
    };
    match (got, want) {
        (WeakScalar::Float(got), Exact::Real(want)) => real_ulps(got, want, format, scale),
        (WeakScalar::Complex(got), Exact::Complex(want)) => {
            let parts = [(got.re, want.re), (got.im, want.im)];
            let special = |x: f64| !x.is_finite();
            if parts
                .iter()
                .any(|(got, want)| special(*got) || special(want.hi))
            {
                let part = |(got, want): &(f64, Double)| real_ulps(*got, *want, format, 0.0);
                return parts.iter().map(part).fold(0.0, f64::max);
            }
            let away = parts.map(|(got, want)| (Double::new(got) - want).hi);
            libm::hypot(away[0], away[1]) / unit(want.abs().get().max(scale), format)
        }
        _ => f64::INFINITY,
    }
}

/// The same for real numbers of a format.
#[must_use]
pub fn real_ulps(got: f64, want: Double, format: FloatFormat, scale: f64) -> f64 {
    let max = format.decode(format.max_code());
    let step = unit(max, format);
    let agrees = |same: bool| if same { 0.0 } else { f64::INFINITY };
    if want.hi.is_nan() {
        return agrees(got.is_nan());
    }
    let keeps_sign = |got: f64| {
        !format.has_negative_zero() || got.is_sign_negative() == want.hi.is_sign_negative()
    };
    if want.hi == 0.0 {
        return match got == 0.0 {
            true => agrees(keeps_sign(got)),
            false => got.abs() / unit(scale, format),
        };
    }
    // What overflows: to infinity, to NaN where there is none, or to the greatest number.
    let saturates = matches!(format.specials, Specials::NanOnly);
    if saturates && want.hi.abs() > max {
        return if got.is_nan() {
            f64::INFINITY
        } else {
            (got - max.copysign(want.hi)).abs() / step
        };
    }
    let beyond = if format.has_infinity() {
        got.is_infinite() && (got < 0.0) == (want.hi < 0.0)
    } else {
        got.is_nan()
    };
    if beyond {
        // One step after the greatest number.
        return ((max - want.hi.abs()) / step + 1.0).max(0.0);
    }
    if got.is_nan() || got.is_infinite() || want.hi.is_infinite() {
        return f64::INFINITY;
    }
    if got == 0.0 && !keeps_sign(got) {
        return f64::INFINITY;
    }
    let away = (Double::new(got) - want).hi.abs();
    away / unit(want.hi.abs().max(scale), format)
}
