//! Casts between all dtypes, against the definition of `allotrope_dtype`.

use allotrope_dtype::{CastOptions, DType, Kind, cast_bytes};
use allotrope_op::wgsl::{Function, cast_name, print_module};
use naga::valid::Capabilities;

use crate::stored::{are_same, read};
use crate::validate;

/// Words whose bytes are elements of a dtype: every code of narrow ones, else its special values and
/// a sweep over all exponents.
fn elements(dtype: DType, codes: usize) -> Vec<u64> {
    let bytes: Vec<u8> = match dtype.itemsize() {
        1 => (0..=u8::MAX).collect(),
        2 => (0..=u16::MAX)
            .step_by(codes)
            .flat_map(u16::to_le_bytes)
            .collect(),
        size => words(dtype)
            .flat_map(|word| word.to_le_bytes().into_iter().take(size.min(8)))
            .collect(),
    };
    let mut bytes = bytes;
    bytes.resize(bytes.len().next_multiple_of(16), 0);
    bytes
        .chunks_exact(8)
        .map(|chunk| u64::from_le_bytes(chunk.try_into().unwrap()))
        .collect()
}

/// The low bits of elements of 32 and 64 bits, or parts of complex ones.
fn words(dtype: DType) -> impl Iterator<Item = u64> {
    let is_float = matches!(dtype.kind(), Kind::Float | Kind::Complex);
    let float = move |x: f64| match dtype.to_real().bits() {
        32 => u64::from((x as f32).to_bits()),
        _ => x.to_bits(),
    };
    // Numbers near the ends of integers, and halfway between neighbours of narrow floats.
    let powers = (0..64).flat_map(|n| {
        let power = 1_i128 << n;
        [-1, 0, 1].into_iter().map(move |step| power + step)
    });
    let ties = (8..63).flat_map(|n| {
        let places = [2, 3, 4, 8, 11, 12]
            .into_iter()
            .filter(move |places| *places <= n);
        places.flat_map(move |places| {
            let tie = (1_i128 << n) + (1 << (n - places));
            [tie - 1, tie, tie + 1, tie + (1 << (n - places + 1))]
        })
    });
    let numbers = powers.chain(ties).flat_map(|x| [x, -x]);
    let numbers = numbers.map(move |x| if is_float { float(x as f64) } else { x as u64 });
    let special = [
        0.5,
        1.5,
        0.1,
        1e-3,
        3e4,
        6.1e4,
        6.6e4,
        240.0,
        248.0,
        448.0,
        464.0,
        480.0,
        3.4e38,
        1e300,
        0.0,
        f64::INFINITY,
        f64::NAN,
    ];
    let special = special
        .into_iter()
        .flat_map(|x| [x, -x])
        .map(float)
        .filter(move |_| is_float);
    // All exponents, with fractions on both sides of the ties of every format.
    let sweep = (0..4096_u64).flat_map(|exponent| {
        let fractions = [
            0,
            1,
            1 << 51,
            (1 << 51) + 1,
            (1 << 49) - 1,
            3 << 49,
            (1 << 44) + 1,
            5 << 44,
            (1 << 41) + 1,
            3 << 41,
        ];
        fractions
            .into_iter()
            .map(move |fraction| exponent << 52 | fraction)
    });
    let shift = if dtype.to_real().bits() == 32 { 3 } else { 0 };
    let sweep = sweep
        .filter(move |_| is_float)
        .map(move |bits| match shift {
            0 => bits,
            // A float32 has three bits less of exponent.
            _ => u64::from((f64::from_bits(bits) as f32).to_bits()),
        });
    numbers.chain(special).chain(sweep)
}

/// Fails unless the function of a cast gives what the cast does.
fn check(from: DType, to: DType, codes: usize) {
    let source = elements(from, codes);
    let source: &[u8] = bytemuck::cast_slice(&source);
    let count = source.len() / from.itemsize();
    let mut target = vec![0_u64; (count * to.itemsize()).div_ceil(8)];
    let target: &mut [u8] = &mut bytemuck::cast_slice_mut(&mut target)[..count * to.itemsize()];
    cast_bytes(from, source, to, target, CastOptions::default()).unwrap();
    let function = Function::of_cast(from, to).unwrap();
    let pairs = source
        .chunks_exact(from.itemsize())
        .zip(target.chunks_exact(to.itemsize()));
    for (element, want) in pairs {
        let argument = match from {
            // Any byte but 0 is true.
            DType::Bool => read(from, &[u8::from(element[0] != 0)]),
            _ => read(from, element),
        };
        let (got, want) = (function.evaluate(&argument).unwrap(), read(to, want));
        assert!(
            are_same(to, &got, &want),
            "{from} {argument:x?} to {to}: {got:x?}, not {want:x?}"
        );
    }
}

#[test]
fn codes_of_narrow_floats_are_read_exactly() {
    for dtype in DType::ALL
        .into_iter()
        .filter(|dtype| dtype.is_floating_point())
    {
        check(dtype, DType::F32, 1);
    }
}

#[test]
fn casts_have_the_same_bits() {
    for from in DType::ALL {
        for to in DType::ALL {
            let is_possible = !from.is_complex() || to.is_complex() || to == DType::Bool;
            if is_possible {
                check(from, to, 37);
            } else {
                assert!(Function::of_cast(from, to).is_none());
            }
        }
    }
}

#[test]
fn casts_are_accepted() {
    let pairs = DType::ALL
        .into_iter()
        .flat_map(|from| DType::ALL.map(|to| (from, to)));
    let named = |(from, to)| Some((cast_name(from, to), Function::of_cast(from, to)?));
    let functions: Vec<_> = pairs.filter_map(named).collect();
    let text = print_module(functions.iter().map(|(name, function)| (&**name, function)));
    validate(&text, Capabilities::FLOAT64 | Capabilities::SHADER_INT64);
    // Nothing but what is wide itself needs a device with wide numbers.
    let is_narrow = |dtype: DType| dtype.to_real().bits() < 64;
    let pairs = DType::ALL
        .into_iter()
        .flat_map(|from| DType::ALL.map(|to| (from, to)));
    let functions: Vec<_> = pairs
        .filter(|(from, to)| is_narrow(*from) && is_narrow(*to))
        .filter_map(named)
        .collect();
    let text = print_module(functions.iter().map(|(name, function)| (&**name, function)));
    validate(&text, Capabilities::empty());
}

#[test]
fn casts_are_named_after_their_dtypes() {
    assert_eq!(cast_name(DType::F32, DType::BF16), "encode_bfloat16");
    assert_eq!(
        cast_name(DType::F8E4M3Fn, DType::F32),
        "decode_float8_e4m3fn"
    );
    assert_eq!(cast_name(DType::I64, DType::F16), "i64_to_f16");
    assert_eq!(cast_name(DType::Bool, DType::C64), "bool_to_c64");
}
