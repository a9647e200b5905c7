//! Casts of loose bytes, and the bytes that are worth casting.

use allotrope_dtype::{
    CastOptions, Casting, DType, Error, Level, can_cast, cast_bytes_at, round_to_format,
};

/// Bytes aligned for every dtype.
pub fn aligned(len: usize) -> Vec<u128> {
    vec![0; len.div_ceil(16)]
}

pub fn cast_at(
    level: Level,
    from: DType,
    src: &[u8],
    to: DType,
    options: CastOptions,
) -> Result<Vec<u8>, Error> {
    let mut source = aligned(src.len());
    let source: &mut [u8] = &mut bytemuck::cast_slice_mut(&mut source)[..src.len()];
    source.copy_from_slice(src);
    let len = src.len() / from.itemsize() * to.itemsize();
    let mut target = aligned(len);
    let target: &mut [u8] = &mut bytemuck::cast_slice_mut(&mut target)[..len];
    cast_bytes_at(level, from, source, to, target, options)?;
    Ok(target.to_vec())
}

pub fn cast(from: DType, src: &[u8], to: DType) -> Vec<u8> {
    cast_at(Level::detected(), from, src, to, CastOptions::default()).unwrap()
}

pub fn bytes_of(values: &[f32]) -> &[u8] {
    bytemuck::cast_slice(values)
}

/// The code of one element.
pub fn code_at(bytes: &[u8], dtype: DType, index: usize) -> u64 {
    let size = dtype.itemsize();
    let mut word = [0; 8];
    word[..size].copy_from_slice(&bytes[index * size..(index + 1) * size]);
    u64::from_le_bytes(word)
}

pub fn is_nan(dtype: DType, code: u64) -> bool {
    dtype.format().is_some_and(|f| f.decode(code).is_nan())
}

/// Every bit pattern that matters for a dtype: all of 8 and 16 bits; edges, powers and noise else.
pub fn interesting_bytes(dtype: DType) -> Vec<u8> {
    match dtype.bits() {
        8 => (0..=u8::MAX).collect(),
        16 => (0..=u16::MAX).flat_map(u16::to_le_bytes).collect(),
        _ => {
            let real = dtype.to_real();
            let words = interesting_words(real);
            let size = real.itemsize();
            let bytes = |w: &u64| w.to_le_bytes()[..size].to_vec();
            if dtype.is_complex() {
                let turned: Vec<u64> = words.iter().skip(7).chain(&words).copied().collect();
                words
                    .iter()
                    .zip(&turned)
                    .flat_map(|(a, b)| [bytes(a), bytes(b)].concat())
                    .collect()
            } else {
                words.iter().flat_map(bytes).collect()
            }
        }
    }
}

fn interesting_words(dtype: DType) -> Vec<u64> {
    let mut words = vec![0, 1, 2, 3, u64::MAX, u64::MAX - 1];
    for shift in 0..64 {
        for near in [-1_i64, 0, 1] {
            let power = (1_u64 << shift).wrapping_add_signed(near);
            words.extend([power, power.wrapping_neg()]);
        }
    }
    if let Some(format) = dtype.format() {
        let (sign, infinity) = (format.sign_mask(), format.infinity_code());
        for value in [
            0.0, 1.0, 0.1, 127.5, 128.0, 255.9, 65504.0, 65519.9, 65520.0, 1e9, 3e38, 1e-40,
        ] {
            let code = round_to_format(value, format, CastOptions::default()).code;
            words.extend([code, code | sign]);
        }
        // Both sides of every power of two that bounds an integer dtype.
        for power in [7, 8, 15, 16, 31, 32, 63, 64] {
            let code = round_to_format(2_f64.powi(power), format, CastOptions::default()).code;
            words.extend([
                code - 1,
                code,
                code + 1,
                (code - 1) | sign,
                code | sign,
                (code + 1) | sign,
            ]);
        }
        words.extend([
            infinity,
            infinity | sign,
            infinity + 1,
            infinity | sign | 5,
            format.nan_code(),
        ]);
    }
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    for _ in 0..4000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        words.push(state ^ state >> 29);
    }
    words
}

pub fn castable_pairs() -> impl Iterator<Item = (DType, DType)> {
    DType::ALL
        .into_iter()
        .flat_map(|from| DType::ALL.into_iter().map(move |to| (from, to)))
        .filter(|(from, to)| can_cast(*from, *to, Casting::Any))
}
