//! Every overflow rule of every pair, against 128-bit arithmetic and the range of the target.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod reference;

use allotrope_dtype::{CastOptions, DType, Error, Level, Overflow};
use reference::casting::{cast_at, code_at, interesting_bytes, is_nan};

/// The integer that a value truncates to; `None` for NaN and infinities.
fn truncated(from: DType, code: u64) -> Option<i128> {
    match (from.format(), from.integer_range()) {
        (Some(format), _) => {
            let value = format.decode(code);
            value.is_finite().then_some(value as i128)
        }
        (_, Some((0, _))) => Some(i128::from(code)),
        _ => Some(i128::from(
            (code << (64 - from.bits())) as i64 >> (64 - from.bits()),
        )),
    }
}

/// A checked cast names the first value out of range, or gives what every other rule gives.
fn check_raise(
    raised: Result<Vec<u8>, Error>,
    unchecked: &[u8],
    first: Option<usize>,
    from: DType,
    to: DType,
) {
    match (raised, first) {
        (Ok(bytes), None) => {
            let kept_infinity = to.format().is_some_and(|f| f.has_infinity());
            assert!(kept_infinity || bytes == unchecked, "{from} -> {to}");
        }
        (Err(error), Some(i)) => {
            let message = error.to_string();
            assert!(
                message.contains(&format!("at index {i}:")),
                "{from} -> {to}: {message}"
            );
        }
        (raised, first) => panic!("{from} -> {to}: {raised:?}, but first out of range: {first:?}"),
    }
}

#[test]
fn overflow_rules_of_integer_targets_agree_with_128_bit_arithmetic() {
    let sources = DType::ALL
        .into_iter()
        .filter(|d| !d.is_complex() && *d != DType::Bool);
    for from in sources {
        let src = interesting_bytes(from);
        for to in DType::ALL.into_iter().filter(|d| d.is_integer()) {
            let (min, max) = to.integer_range().unwrap();
            let mask = u64::MAX >> (64 - to.bits());
            let cast = |overflow| {
                cast_at(
                    Level::detected(),
                    from,
                    &src,
                    to,
                    CastOptions::overflow(overflow),
                )
            };
            let (clamped, wrapped) = (
                cast(Overflow::Saturate).unwrap(),
                cast(Overflow::Wrap).unwrap(),
            );
            let mut first = None;
            for i in 0..src.len() / from.itemsize() {
                let code = code_at(&src, from, i);
                let context = format!("{from} {code:#x} -> {to}");
                match truncated(from, code) {
                    Some(value) => {
                        let want = value.clamp(min, max) as u64 & mask;
                        assert_eq!(code_at(&clamped, to, i), want, "{context}");
                        // Beyond 2^117 a float64 is a multiple of 2^64, so that nothing is left.
                        let low = if value.unsigned_abs() < 1 << 117 {
                            value as u64
                        } else {
                            0
                        };
                        assert_eq!(code_at(&wrapped, to, i), low & mask, "{context}");
                        if !(min..=max).contains(&value) {
                            first = first.or(Some(i));
                        }
                    }
                    None => {
                        assert_eq!(code_at(&wrapped, to, i), 0, "{context}");
                        first = first.or(Some(i));
                    }
                }
            }
            check_raise(cast(Overflow::Raise), &clamped, first, from, to);
        }
    }
}

#[test]
fn overflow_rules_of_float_targets_agree_with_the_range() {
    let sources = DType::ALL
        .into_iter()
        .filter(|d| !d.is_complex() && *d != DType::Bool);
    for from in sources {
        let src = interesting_bytes(from);
        for to in DType::ALL.into_iter().filter(|d| d.is_floating_point()) {
            let format = to.format().unwrap();
            let (largest, sign) = (format.max_code(), format.sign_mask());
            let cast = |overflow| {
                cast_at(
                    Level::detected(),
                    from,
                    &src,
                    to,
                    CastOptions::overflow(overflow),
                )
            };
            let (ieee, saturated) = (
                cast(Overflow::Ieee).unwrap(),
                cast(Overflow::Saturate).unwrap(),
            );
            let mut first = None;
            for i in 0..src.len() / from.itemsize() {
                let code = code_at(&src, from, i);
                let value = from.format().map_or(f64::NAN, |f| f.decode(code));
                let (got, limited) = (code_at(&ieee, to, i), code_at(&saturated, to, i));
                let context = format!("{from} {code:#x} -> {to}: {got:#x}, {limited:#x}");
                let is_special = format.decode(got).is_infinite() || is_nan(to, got);
                if value.is_nan() && from.format().is_some() {
                    assert!(is_nan(to, got) && is_nan(to, limited), "{context}");
                } else if is_special && from.fits_in(to) {
                    // Nothing is out of range where the target holds the whole source.
                    assert_eq!(got, limited, "{context}");
                } else if is_special {
                    assert_eq!(limited & !sign, largest, "{context}");
                    if !(value.is_infinite() && format.has_infinity()) {
                        first = first.or(Some(i));
                    }
                } else {
                    assert_eq!(got, limited, "{context}");
                }
            }
            check_raise(cast(Overflow::Raise), &saturated, first, from, to);
        }
    }
}
