//! Every edge of the cast table, and the edge values that other libraries disagree on.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod reference;

use allotrope_dtype::{
    Bool8, CastOptions, DType, Element, Error, Overflow, Rounding, Scalar, bf16, c64, c128,
    cast_slice, f8e4m3fn, f8e4m3fnuz, f8e5m2, f16,
};
use reference::{known, oracle};

fn with<S: Element, D: Element + Default>(value: S, options: CastOptions) -> Result<D, Error> {
    let mut out = [D::default()];
    cast_slice(&[value], &mut out, options)?;
    Ok(out[0])
}

fn to<S: Element, D: Element + Default>(value: S) -> D {
    with(value, CastOptions::default()).unwrap()
}

fn rule<S: Element, D: Element + Default>(value: S, overflow: Overflow) -> D {
    with(value, CastOptions::overflow(overflow)).unwrap()
}

fn towards_zero<S: Element, D: Element + Default>(value: S) -> D {
    with(value, CastOptions::rounding(Rounding::Zero)).unwrap()
}

fn raises<S: Element, D: Element + Default>(value: S) -> bool {
    let result = with::<S, D>(value, CastOptions::overflow(Overflow::Raise));
    result.is_err_and(|e| e.kind() == allotrope_dtype::ErrorKind::Overflow)
}

#[test]
fn float_to_integer_truncates_and_saturates_and_nan_is_zero() {
    assert_eq!(to::<_, i8>(-1.9_f32), -1);
    assert_eq!(to::<_, i8>(300.0_f32), 127);
    assert_eq!(to::<_, u8>(-1.0_f64), 0);
    assert_eq!(to::<_, i32>(f32::NAN), 0);
    assert_eq!(to::<_, u64>(f64::INFINITY), u64::MAX);
    assert_eq!(to::<_, i64>(f32::NEG_INFINITY), i64::MIN);
    assert_eq!(to::<_, i64>(f16::INFINITY), i64::MAX);
    assert_eq!(to::<_, i64>(f8e5m2::from_f32(f32::INFINITY)), i64::MAX);
    assert_eq!(to::<_, i8>(f8e4m3fn::from_f32(448.0)), 127);
    assert_eq!(to::<_, u32>(4_294_967_296.0_f32), u32::MAX);
}

#[test]
fn float_to_integer_wraps_or_raises_on_request() {
    assert_eq!(rule::<_, u8>(300.7_f32, Overflow::Wrap), 44);
    assert_eq!(rule::<_, u8>(-1.0_f32, Overflow::Wrap), 255);
    assert_eq!(rule::<_, i8>(-129.0_f64, Overflow::Wrap), 127);
    assert_eq!(rule::<_, u8>(2_f64.powi(900) * 3.0, Overflow::Wrap), 0);
    assert_eq!(
        rule::<_, u64>(2_f64.powi(64) + 2_f64.powi(13), Overflow::Wrap),
        1 << 13
    );
    assert_eq!(rule::<_, i32>(f64::NAN, Overflow::Wrap), 0);
    assert_eq!(rule::<_, i32>(f64::INFINITY, Overflow::Wrap), 0);
    assert!(raises::<_, u8>(256.0_f32));
    assert!(raises::<_, u8>(-1.0_f32));
    assert!(raises::<_, i16>(f32::NAN));
    assert!(raises::<_, i64>(f64::INFINITY));
    assert!(!raises::<_, u8>(255.9_f32));
    assert!(!raises::<_, u8>(-0.9_f32));
    assert!(!raises::<_, i64>(-9_223_372_036_854_775_808.0_f64));
}

#[test]
fn integer_to_integer_wraps_saturates_or_raises() {
    assert_eq!(to::<_, u8>(300_i32), 44);
    assert_eq!(to::<_, u64>(-1_i8), u64::MAX);
    assert_eq!(to::<_, i64>(1_u64 << 63), i64::MIN);
    assert_eq!(rule::<_, u8>(300_i32, Overflow::Saturate), 255);
    assert_eq!(rule::<_, u8>(-5_i64, Overflow::Saturate), 0);
    assert_eq!(rule::<_, i64>(u64::MAX, Overflow::Saturate), i64::MAX);
    assert_eq!(rule::<_, i8>(i64::MIN, Overflow::Saturate), -128);
    assert!(raises::<_, u8>(256_i32));
    assert!(raises::<_, u64>(-1_i8));
    assert!(raises::<_, i64>(1_u64 << 63));
    assert!(!raises::<_, i8>(-128_i64));
}

#[test]
fn float_to_float_rounds_once_and_overflows_to_infinity() {
    assert_eq!(to::<_, f16>(65519.9_f64), f16::MAX);
    assert_eq!(to::<_, f16>(65520.0_f64), f16::INFINITY);
    assert_eq!(to::<_, f16>(f64::from(65520.0_f32).next_down()), f16::MAX);
    assert_eq!(to::<_, f32>(1e300_f64), f32::INFINITY);
    assert_eq!(to::<_, bf16>(3.4e38_f32), bf16::INFINITY);
    assert_eq!(
        to::<_, bf16>(1.0 + 2_f64.powi(-8) + 2_f64.powi(-30)).to_f32(),
        1.007_812_5
    );
    assert_eq!(to::<_, f8e5m2>(1e9_f32).to_f32(), f32::INFINITY);
    assert_eq!(to::<_, f16>(100_000_i32), f16::INFINITY);
    assert_eq!(to::<_, f16>(-0.0_f64).to_bits(), 0x8000);
    assert_eq!(to::<_, f16>(2_f64.powi(-25)).to_bits(), 0);
    assert_eq!(to::<_, f16>(2_f64.powi(-25).next_up()).to_bits(), 1);
    assert_eq!(to::<_, f32>(f64::from_bits(1)).to_bits(), 0);
    assert_eq!(to::<_, bf16>(f32::from_bits(0x0001_8001)).to_bits(), 2);
}

#[test]
fn float_to_float_saturates_or_raises_on_request() {
    assert_eq!(rule::<_, f16>(1e9_f32, Overflow::Saturate), f16::MAX);
    assert_eq!(
        rule::<_, f16>(f32::NEG_INFINITY, Overflow::Saturate),
        f16::MIN
    );
    assert_eq!(rule::<_, bf16>(f64::MAX, Overflow::Saturate), bf16::MAX);
    assert_eq!(rule::<_, f32>(1e300_f64, Overflow::Saturate), f32::MAX);
    assert!(rule::<_, f16>(f32::NAN, Overflow::Saturate).is_nan());
    assert!(raises::<_, f16>(1e9_f32));
    assert!(raises::<_, f32>(1e300_f64));
    assert!(raises::<_, f8e4m3fn>(f32::INFINITY));
    assert!(!raises::<_, f16>(f32::INFINITY));
    assert!(!raises::<_, f16>(f32::NAN));
    assert!(!raises::<_, f16>(65519.0_f32));
}

#[test]
fn towards_zero_never_rounds_up_and_never_reaches_infinity() {
    assert_eq!(towards_zero::<_, f16>(1.999_9_f32).to_f32(), 1.999_023_4);
    assert_eq!(towards_zero::<_, f16>(-1.999_9_f32).to_f32(), -1.999_023_4);
    assert_eq!(towards_zero::<_, f16>(1e9_f32), f16::MAX);
    assert_eq!(towards_zero::<_, f16>(f32::INFINITY), f16::INFINITY);
    assert_eq!(towards_zero::<_, f32>(1e300_f64), f32::MAX);
    assert_eq!(towards_zero::<_, f32>(16_777_217_i64), 16_777_216.0);
    assert_eq!(towards_zero::<_, f32>(-16_777_219_i64), -16_777_218.0);
    assert_eq!(towards_zero::<_, f8e4m3fnuz>(1e9_f32).to_f32(), 240.0);
    assert_eq!(towards_zero::<_, i8>(-1.9_f32), -1);
}

#[test]
fn float8_e4m3fn_saturates_unless_asked_for_ieee() {
    assert_eq!(to::<_, f8e4m3fn>(500.0_f32).to_f32(), 448.0);
    assert_eq!(to::<_, f8e4m3fn>(f32::NEG_INFINITY).to_f32(), -448.0);
    assert_eq!(to::<_, f8e4m3fn>(464.0_f64).to_f32(), 448.0);
    assert_eq!(to::<_, f8e4m3fn>(500_i32).to_f32(), 448.0);
    assert!(to::<_, f8e4m3fn>(f64::NAN).is_nan());
    assert!(rule::<_, f8e4m3fn>(465.0_f32, Overflow::Ieee).is_nan());
    assert_eq!(
        rule::<_, f8e4m3fn>(464.0_f32, Overflow::Ieee).to_f32(),
        448.0
    );
    assert!(rule::<_, f8e4m3fn>(f32::INFINITY, Overflow::Ieee).is_nan());
    assert_eq!(
        rule::<_, f8e5m2>(f32::INFINITY, Overflow::Saturate).to_f32(),
        57344.0
    );
}

#[test]
fn unsigned_zero_formats_have_one_zero_and_one_nan() {
    assert_eq!(to::<_, f8e4m3fnuz>(-0.0_f32).to_bits(), 0);
    assert_eq!(to::<_, f8e4m3fnuz>(-1e-30_f64).to_bits(), 0);
    assert_eq!(to::<_, f8e4m3fnuz>(500.0_f32).to_bits(), 0x80);
    assert_eq!(to::<_, f8e4m3fnuz>(-f32::NAN).to_bits(), 0x80);
    assert_eq!(
        rule::<_, f8e4m3fnuz>(-500.0_f32, Overflow::Saturate).to_f32(),
        -240.0
    );
}

#[test]
fn anything_but_zero_is_true() {
    assert_eq!(to::<_, Bool8>(f32::NAN), Bool8::TRUE);
    assert_eq!(to::<_, Bool8>(-0.0_f64), Bool8::FALSE);
    assert_eq!(to::<_, Bool8>(f32::from_bits(1)), Bool8::TRUE);
    assert_eq!(to::<_, Bool8>(f8e4m3fnuz::from_bits(0x80)), Bool8::TRUE);
    assert_eq!(to::<_, Bool8>(f8e4m3fn::from_bits(0x80)), Bool8::FALSE);
    assert_eq!(to::<_, Bool8>(f16::NEG_ZERO), Bool8::FALSE);
    assert_eq!(to::<_, Bool8>(256_i32), Bool8::TRUE);
    assert_eq!(to::<_, Bool8>(c64::new(0.0, -0.0)), Bool8::FALSE);
    assert_eq!(to::<_, Bool8>(c64::new(0.0, 1e-40)), Bool8::TRUE);
    assert_eq!(to::<_, Bool8>(c128::new(0.0, f64::NAN)), Bool8::TRUE);
}

#[test]
fn any_byte_but_zero_is_one() {
    for byte in [1, 2, 128, 255] {
        assert_eq!(to::<_, i32>(Bool8::from_byte(byte)), 1);
        assert_eq!(to::<_, u8>(Bool8::from_byte(byte)), 1);
        assert_eq!(
            bytemuck::bytes_of(&to::<_, Bool8>(Bool8::from_byte(byte))),
            [1]
        );
        assert_eq!(to::<_, f64>(Bool8::from_byte(byte)), 1.0);
        assert_eq!(to::<_, i64>(Bool8::from_byte(byte)), 1);
        assert_eq!(to::<_, c64>(Bool8::from_byte(byte)), c64::new(1.0, 0.0));
    }
}

#[test]
fn complex_keeps_its_parts_and_never_becomes_real() {
    assert_eq!(to::<_, c128>(c64::new(1.5, -2.5)), c128::new(1.5, -2.5));
    assert_eq!(
        to::<_, c64>(c128::new(1e300, 0.1)),
        c64::new(f32::INFINITY, 0.1)
    );
    assert_eq!(to::<_, c64>(3_i8), c64::new(3.0, 0.0));
    assert_eq!(to::<_, c128>(f16::from_f32(0.5)), c128::new(0.5, 0.0));
    let options = CastOptions::overflow(Overflow::Saturate);
    let saturated: c64 = with(c128::new(-1e300, 1e300), options).unwrap();
    assert_eq!(saturated, c64::new(f32::MIN, f32::MAX));
    let saturated: c64 = with(1e300_f64, options).unwrap();
    assert_eq!(saturated, c64::new(f32::MAX, 0.0));
    for to in DType::ALL
        .into_iter()
        .filter(|d| !d.is_complex() && *d != DType::Bool)
    {
        let mut out = [0_u128; 1];
        let out = &mut bytemuck::cast_slice_mut(&mut out)[..to.itemsize()];
        let one = c64::new(1.0, 0.0);
        let source: &[u8] = bytemuck::bytes_of(&one);
        let error =
            allotrope_dtype::cast_bytes(DType::C64, source, to, out, CastOptions::default());
        assert_eq!(
            error.unwrap_err().kind(),
            allotrope_dtype::ErrorKind::Dtype,
            "{to}"
        );
    }
}

#[test]
fn nothing_is_cast_from_any_address() {
    let bytes = [0_u8; 16];
    for offset in 0..9 {
        let empty = &bytes[offset..offset];
        let mut target = bytes;
        let out = &mut target[offset..offset];
        let options = CastOptions::overflow(Overflow::Raise);
        assert!(allotrope_dtype::cast_bytes(DType::F64, empty, DType::C64, out, options).is_ok());
    }
    let wrap = CastOptions::overflow(Overflow::Wrap);
    assert!(
        cast_slice::<f64, f32>(&[], &mut [], wrap).is_err(),
        "options are checked all the same"
    );
}

#[test]
fn raise_names_the_first_index_and_value() {
    let mut out = [0_u8; 2000];
    let mut values = [1.0_f32; 2000];
    values[1234] = 300.0;
    values[1500] = -1.0;
    let error = cast_slice(&values, &mut out, CastOptions::overflow(Overflow::Raise)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "to: value out of range at index 1234: 300.0 of float32; uint8 holds 0 to 255 \
         (hint: overflow=\"saturate\")"
    );
}

/// What the contract says of a row of the oracle: one of the libraries' answers.
fn contract(from: DType, to: DType, row: &[String]) -> String {
    let [_, _, _, _numpy, torch, jax] = row else {
        panic!("six fields")
    };
    match (from.kind(), to.kind()) {
        // Saturation and NaN to zero are XLA's rules.
        _ if to.is_integer() => jax.clone(),
        // torch saturates float8_e4m3fn; everything else is the same everywhere.
        _ => torch.clone(),
    }
}

#[test]
fn edge_values_follow_the_contract_where_libraries_differ() {
    let mut checked = 0;
    for row in oracle("casts.csv") {
        let (Some(from), Some(to)) = (known(&row[0]), known(&row[2])) else {
            continue;
        };
        let value: f64 = row[1].parse().unwrap();
        let source = match row[1].parse::<i128>() {
            Ok(integer) if from.is_integer() => Scalar::new(integer, from).unwrap(),
            _ => Scalar::new(value, from).unwrap(),
        };
        let mut aligned = [0_u128; 2];
        let (src, dst) = aligned.split_at_mut(1);
        let src: &mut [u8] = &mut bytemuck::cast_slice_mut(src)[..from.itemsize()];
        src.copy_from_slice(&source.to_bytes()[..from.itemsize()]);
        let dst: &mut [u8] = &mut bytemuck::cast_slice_mut(dst)[..to.itemsize()];
        allotrope_dtype::cast_bytes(from, src, to, dst, CastOptions::default()).unwrap();
        let mut word = [0; 8];
        word[..to.itemsize()].copy_from_slice(dst);
        let code = u64::from_le_bytes(word);
        let want = contract(from, to, &row);
        let agrees = match to.format() {
            Some(format) => {
                let (got, want) = (format.decode(code), want.parse::<f64>().unwrap());
                got == want || got.is_nan() && want.is_nan()
            }
            None if to == DType::Bool => (code != 0) == (want == "True"),
            None => {
                let (min, _) = to.integer_range().unwrap();
                let signed = i128::from(code);
                let wrapped = if min < 0 && signed > i128::from(u64::MAX >> (65 - to.bits())) {
                    signed - (1 << to.bits())
                } else {
                    signed
                };
                wrapped == want.parse::<i128>().unwrap()
            }
        };
        assert!(
            agrees,
            "{} {} -> {}: code {code:#x}, want {want}",
            row[0], row[1], row[2]
        );
        checked += 1;
    }
    assert!(checked > 120, "{checked} rows of the oracle were checked");
}
