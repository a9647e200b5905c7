//! One rounding, to the nearest code, against references that share no code with the casts.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod reference;

use allotrope_dtype::{CastOptions, DType, Level, Overflow, Rounding, bf16, f16, round_to_format};
use proptest::prelude::*;
use reference::casting::{bytes_of, cast, cast_at, code_at, interesting_bytes, is_nan};
use reference::{Walk, dense_sample, narrow_floats};

#[test]
fn narrow_codes_survive_the_way_through_wider_floats() {
    for (dtype, format) in narrow_floats() {
        let codes: Vec<u64> = (0..1 << dtype.bits()).collect();
        let src = interesting_bytes(dtype);
        for wide in [DType::F32, DType::F64] {
            for level in Level::available() {
                let up = cast_at(level, dtype, &src, wide, CastOptions::default()).unwrap();
                let down = cast_at(level, wide, &up, dtype, CastOptions::default()).unwrap();
                for code in &codes {
                    let value = wide
                        .format()
                        .unwrap()
                        .decode(code_at(&up, wide, *code as usize));
                    let want = format.decode(*code);
                    assert!(
                        value == want && value.is_sign_negative() == want.is_sign_negative()
                            || value.is_nan() && want.is_nan(),
                        "{dtype} {code:#x} as {wide} at {level}: {value} instead of {want}"
                    );
                    let back = code_at(&down, dtype, *code as usize);
                    let same = back == *code || is_nan(dtype, back) && is_nan(dtype, *code);
                    let saturates = !format.has_infinity() && value.is_infinite();
                    assert!(
                        same || saturates,
                        "{dtype} {code:#x} came back as {back:#x} at {level}"
                    );
                }
            }
        }
    }
}

#[test]
fn half_formats_decode_as_the_half_crate_does() {
    for code in 0..=u16::MAX {
        for (dtype, want) in [
            (DType::F16, f16::from_bits(code).to_f64()),
            (DType::BF16, bf16::from_bits(code).to_f64()),
        ] {
            let got = dtype.format().unwrap().decode(u64::from(code));
            assert!(
                got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
                "{dtype} {code:#x}"
            );
        }
    }
}

/// Checks ascending float32 numbers and their negatives against the walk over all codes.
fn check_ascending(values: &[f32], dtype: DType, walk: &mut Walk) {
    let format = dtype.format().unwrap();
    let beyond = if format.has_infinity() {
        format.infinity_code()
    } else {
        format.nan_code()
    };
    let (mut positive, mut negative) = (Vec::new(), Vec::new());
    for x in values {
        let code = walk.code(f64::from(*x)).unwrap_or(beyond);
        let signless = !format.has_negative_zero() && (code == 0 || code == beyond);
        let minus = if signless {
            code
        } else {
            code | format.sign_mask()
        };
        positive.extend_from_slice(&code.to_le_bytes()[..dtype.itemsize()]);
        negative.extend_from_slice(&minus.to_le_bytes()[..dtype.itemsize()]);
    }
    let negated: Vec<f32> = values.iter().map(|x| -x).collect();
    let options = CastOptions::overflow(Overflow::Ieee);
    for level in Level::available() {
        for (values, want) in [(values, &positive), (&negated, &negative)] {
            let got = cast_at(level, DType::F32, bytes_of(values), dtype, options).unwrap();
            let differs = (got != *want).then(|| got.iter().zip(want).position(|(a, b)| a != b));
            if let Some(i) = differs.flatten().map(|byte| byte / dtype.itemsize()) {
                let (got, want) = (code_at(&got, dtype, i), code_at(want, dtype, i));
                panic!(
                    "{:e} as {dtype} at {level}: {got:#x} instead of {want:#x}",
                    values[i]
                );
            }
        }
    }
}

#[test]
fn dense_float32_samples_round_to_the_nearest_code() {
    for (dtype, format) in narrow_floats() {
        check_ascending(
            &dense_sample(format.mantissa_bits),
            dtype,
            &mut Walk::new(format),
        );
    }
}

#[test]
#[ignore = "all 2^32 inputs: run by `make test-exhaustive`"]
fn every_float32_rounds_to_the_nearest_code() {
    const CHUNK: usize = 1 << 16;
    const NAN: u32 = 0x7F80_0001;
    let check = |dtype: DType| {
        let mut walk = Walk::new(dtype.format().unwrap());
        for start in (0..NAN).step_by(CHUNK) {
            let end = (start + CHUNK as u32).min(NAN);
            let values: Vec<f32> = (start..end).map(f32::from_bits).collect();
            check_ascending(&values, dtype, &mut walk);
        }
        // The rest of the inputs, of either sign, are NaN.
        for start in (NAN..1 << 31).step_by(CHUNK) {
            let end = (start + CHUNK as u32).min(1 << 31);
            let values: Vec<f32> = (start..end)
                .flat_map(|b| [b, b | 1 << 31])
                .map(f32::from_bits)
                .collect();
            for level in Level::available() {
                let options = CastOptions::default();
                let codes = cast_at(level, DType::F32, bytes_of(&values), dtype, options).unwrap();
                assert!((0..values.len()).all(|i| is_nan(dtype, code_at(&codes, dtype, i))));
            }
        }
        println!("{dtype}: all 2^32 float32 inputs are right at every level");
    };
    std::thread::scope(|scope| {
        for (dtype, _) in narrow_floats() {
            scope.spawn(move || check(dtype));
        }
    });
}

/// A number a little above, at and a little below each midpoint of two neighbouring codes.
fn around_midpoints(dtype: DType) -> Vec<(f64, u64)> {
    let format = dtype.format().unwrap();
    let codes: Vec<u64> = match dtype.bits() {
        8 => (0..format.max_code()).collect(),
        _ => (0..format.max_code()).step_by(97).collect(),
    };
    codes
        .into_iter()
        .flat_map(|code| {
            let midpoint = (format.decode(code) + format.decode(code + 1)) / 2.0;
            [
                (midpoint.next_down(), code),
                (midpoint, code + code % 2),
                (midpoint.next_up(), code + 1),
            ]
        })
        .collect()
}

#[test]
fn float64_is_rounded_once() {
    for (dtype, _) in narrow_floats() {
        let cases = around_midpoints(dtype);
        let values: Vec<f64> = cases.iter().map(|c| c.0).collect();
        for level in Level::available() {
            let options = CastOptions::default();
            let codes = cast_at(
                level,
                DType::F64,
                bytemuck::cast_slice(&values),
                dtype,
                options,
            );
            let codes = codes.unwrap();
            for (i, (value, want)) in cases.iter().enumerate() {
                assert_eq!(
                    code_at(&codes, dtype, i),
                    *want,
                    "{value:e} as {dtype} at {level}"
                );
            }
        }
    }
}

#[test]
fn integers_are_rounded_once() {
    // Around the midpoint of two neighbours of each narrow float, as far up as int64 goes.
    for (dtype, format) in narrow_floats() {
        let significant = format.mantissa_bits + 1;
        for shift in significant..62 {
            let top = (1_i64 << significant) | 1;
            let midpoint = (2 * top + 1) << (shift - significant);
            for value in [
                midpoint - 1,
                midpoint,
                midpoint + 1,
                -midpoint - 1,
                -midpoint,
                1 - midpoint,
            ] {
                let want = exact_integer_code(value, dtype);
                for level in Level::available() {
                    let options = CastOptions::default();
                    let signed = cast_at(level, DType::I64, &value.to_le_bytes(), dtype, options);
                    assert_eq!(
                        code_at(&signed.unwrap(), dtype, 0),
                        want,
                        "{value} as {dtype}"
                    );
                    if value > 0 {
                        let word = value.to_le_bytes();
                        let unsigned = cast_at(level, DType::U64, &word, dtype, options).unwrap();
                        assert_eq!(code_at(&unsigned, dtype, 0), want, "{value} as {dtype}");
                    }
                    if let Ok(small) = i32::try_from(value) {
                        let word = small.to_le_bytes();
                        let got = cast_at(level, DType::I32, &word, dtype, options).unwrap();
                        assert_eq!(code_at(&got, dtype, 0), want, "{value} as {dtype}");
                    }
                    if let Ok(small) = u32::try_from(value) {
                        let word = small.to_le_bytes();
                        let got = cast_at(level, DType::U32, &word, dtype, options).unwrap();
                        assert_eq!(code_at(&got, dtype, 0), want, "{value} as {dtype}");
                    }
                }
            }
        }
    }
}

/// The nearest code by exact comparison in 128-bit integers.
fn exact_integer_code(value: i64, dtype: DType) -> u64 {
    let format = dtype.format().unwrap();
    let magnitude = i128::from(value.unsigned_abs());
    let max = format.decode(format.max_code());
    let sign = if value < 0 { format.sign_mask() } else { 0 };
    let mut best = (i128::MAX, 0);
    for code in 0..=format.max_code() {
        // Twice the value is an integer wherever it could be nearest to one.
        let distance = ((format.decode(code) * 2.0) as i128 - 2 * magnitude).abs();
        if distance < best.0 || distance == best.0 && code % 2 == 0 {
            best = (distance, code);
        }
    }
    let last_gap = max - format.decode(format.max_code() - 1);
    let limit = (2.0 * max + last_gap) as i128;
    let beyond = 2 * magnitude > limit || 2 * magnitude == limit && format.max_code() % 2 == 1;
    match (beyond, format.has_infinity(), dtype) {
        (false, ..) => best.1 | sign,
        (true, true, _) => format.infinity_code() | sign,
        (true, false, d) if d.format().is_some_and(|f| f.has_negative_zero()) => {
            format.max_code() | sign
        }
        (true, false, _) => format.nan_code(),
    }
}

#[test]
fn stochastic_rounding_is_unbiased_reproducible_and_exact_on_exact_values() {
    let value = 1.0_f32 + 0.3 / 128.0;
    let values = vec![value; 40_000];
    let options = |seed, offset| CastOptions::rounding(Rounding::Stochastic { seed, offset });
    let run = |seed, offset, values: &[f32]| {
        cast_at(
            Level::detected(),
            DType::F32,
            bytes_of(values),
            DType::BF16,
            options(seed, offset),
        )
        .unwrap()
    };
    let codes = run(7, 0, &values);
    let up = (0..values.len())
        .filter(|i| code_at(&codes, DType::BF16, *i) == 0x3F81)
        .count();
    let down = (0..values.len())
        .filter(|i| code_at(&codes, DType::BF16, *i) == 0x3F80)
        .count();
    assert_eq!(up + down, values.len());
    // Five standard deviations of a binomial with p = 0.3.
    assert!((up as f64 / values.len() as f64 - 0.3).abs() < 5.0 * (0.21 / 40_000_f64).sqrt());
    assert_eq!(codes, run(7, 0, &values));
    assert_ne!(codes, run(8, 0, &values));
    assert_eq!(run(7, 100, &values[..900]), codes[200..2000]);
    let exact = vec![1.5_f32; 100];
    assert!(run(7, 0, &exact).chunks(2).all(|c| c == [0xC0, 0x3F]));
}

#[test]
fn stochastic_rounding_in_vectors_is_the_definition() {
    let (seed, offset) = (99, 6);
    for (to, format) in narrow_floats() {
        for from in [DType::F32, DType::BF16, DType::F16] {
            if from.fits_in(to) {
                continue;
            }
            let src = interesting_bytes(from);
            for overflow in [None, Some(Overflow::Ieee), Some(Overflow::Saturate)] {
                let options = |offset| CastOptions {
                    rounding: Rounding::Stochastic { seed, offset },
                    overflow,
                };
                for level in Level::available() {
                    let Ok(found) = cast_at(level, from, &src, to, options(offset)) else {
                        continue;
                    };
                    for index in 0..src.len() / from.itemsize() {
                        let value = from.format().unwrap().decode(code_at(&src, from, index));
                        let draw = options(offset + index as u64);
                        let want = round_to_format(value, format, draw).code;
                        let code = code_at(&found, to, index);
                        assert_eq!(code, want, "{value:e} as {to} at {level}, {overflow:?}");
                    }
                }
            }
        }
    }
}

proptest! {
    /// The fast path and the definition agree on any bits, for every pair and level.
    #[test]
    fn casts_agree_with_the_definition(bits in any::<u64>(), value in any::<f64>()) {
        for to in DType::ALL.into_iter().filter(|d| d.is_floating_point()) {
            let format = to.format().unwrap();
            for x in [value, f64::from_bits(bits), f64::from(f32::from_bits(bits as u32))] {
                let want = round_to_format(x, format, CastOptions::default()).code;
                for level in Level::available() {
                    let options = CastOptions::default();
                    let got = cast_at(level, DType::F64, &x.to_le_bytes(), to, options).unwrap();
                    let got = code_at(&got, to, 0);
                    prop_assert!(got == want || is_nan(to, got) && is_nan(to, want), "{x:e} as {to}");
                }
            }
        }
    }

    /// Integer casts wrap as Python's modulo does.
    #[test]
    fn integers_wrap(value in any::<i64>()) {
        for to in DType::ALL.into_iter().filter(|d| d.is_integer()) {
            let got = code_at(&cast(DType::I64, &value.to_le_bytes(), to), to, 0);
            let modulus = 1_i128 << to.bits();
            prop_assert_eq!(i128::from(got), i128::from(value).rem_euclid(modulus));
        }
    }

    /// Floats truncate and saturate as Rust's `as`.
    #[test]
    fn floats_saturate(bits in any::<u64>()) {
        let x = f64::from_bits(bits);
        let y = f32::from_bits(bits as u32);
        for to in DType::ALL.into_iter().filter(|d| d.is_integer()) {
            let (min, max) = to.integer_range().unwrap();
            let mask = u64::MAX >> (64 - to.bits());
            let want = |x: f64| (x as i128).clamp(min, max) as u64 & mask;
            prop_assert_eq!(code_at(&cast(DType::F64, &x.to_le_bytes(), to), to, 0), want(x));
            let got = code_at(&cast(DType::F32, &y.to_le_bytes(), to), to, 0);
            prop_assert_eq!(got, want(f64::from(y)));
        }
    }
}
