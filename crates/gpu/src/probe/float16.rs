//! Whether a device's own conversions between float16 and float32 have the CPU's bits: every code is
//! read, and every place where rounding turns over is written.

use allotrope_dtype::{CastOptions, DType, Error, cast_bytes};
use allotrope_op::wgsl::{Function, print_module};

use super::compute;
use crate::device::Gpu;
use crate::kernel::{GROUP, declarations, header};
use crate::pipeline::Shader;

/// Of each code: its number; the codes of that number, of the tie above it, and of both neighbours
/// of the tie.
const RESULTS: usize = 5;

const SIGN: u32 = 0x8000;
const INFINITY: u32 = 0x7c00;

/// The shader: what the functions of casts make of each code, and of the samples.
fn shader() -> Option<Shader> {
    let decode = Function::of_cast(DType::F16, DType::F32)?;
    let encode = Function::of_cast(DType::F32, DType::F16)?;
    let mut text = declarations(1, 1, header(1));
    text += &print_module([("decode", &decode), ("encode", &encode)]);
    text += &format!(
        "@compute @workgroup_size({GROUP})\n\
         fn main(@builtin(global_invocation_id) id: vec3<u32>) {{\n    \
         let i = id.x;\n    if (i >= P[0].x) {{ return; }}\n    \
         let at = i * {RESULTS}u;\n    let tie = in0[i * 2u + 1u];\n    \
         out0[at] = bitcast<u32>(decode(i));\n    \
         out0[at + 1u] = encode(bitcast<f32>(in0[i * 2u]));\n    \
         out0[at + 2u] = encode(bitcast<f32>(tie));\n    \
         out0[at + 3u] = encode(bitcast<f32>(tie - 1u));\n    \
         out0[at + 4u] = encode(bitcast<f32>(tie + 1u));\n}}\n"
    );
    Some(Shader {
        text,
        reads: 1,
        writes: 1,
    })
}

/// The elements in another dtype.
fn cast<A: bytemuck::NoUninit, B: bytemuck::AnyBitPattern + bytemuck::NoUninit>(
    from: DType,
    elements: &[A],
    to: DType,
) -> Result<Vec<B>, Error> {
    // bounded: a few for each code.
    let mut made = vec![B::zeroed(); elements.len()];
    let (source, target) = (
        bytemuck::cast_slice(elements),
        bytemuck::cast_slice_mut(&mut made),
    );
    cast_bytes(from, source, to, target, CastOptions::default())?;
    Ok(made)
}

/// The bits of the float32 halfway from a number to the next of greater magnitude. Codes without
/// such a one sweep all exponents, those of NaN among them.
fn tie(code: u32, bits: &[u32]) -> u32 {
    let magnitude = code & (SIGN - 1);
    let sign = (code & SIGN) << 16;
    if magnitude >= INFINITY {
        // Four fractions of each exponent, each off its end.
        return sign | (magnitude & 0x3ff) << 21 | 0x10_1001;
    }
    let number = |code: u32| bits.get(code as usize).map(|bits| f32::from_bits(*bits));
    // Infinity is where the next number would be.
    let next = match magnitude + 1 {
        INFINITY => Some(65536.0),
        next => number(next),
    };
    let halfway = number(magnitude).zip(next).map(|(a, b)| (a + b) * 0.5);
    sign | halfway.unwrap_or_default().to_bits()
}

/// Whether both are the same code, or NaN of the same sign.
fn are_same(a: u32, b: u32, infinity: u32, sign: u32) -> bool {
    let is_nan = |x: u32| x & (sign - 1) > infinity && x >> 1 < sign;
    a == b || is_nan(a) && is_nan(b) && (a ^ b) & sign == 0
}

/// What the shader is given: the number of each code, and its tie.
fn samples() -> Result<Vec<[u32; 2]>, Error> {
    // bounded: the codes.
    let codes: Vec<u16> = (0..=u16::MAX).collect();
    let numbers: Vec<u32> = cast(DType::F16, &codes, DType::F32)?;
    let samples = (0..).zip(&numbers);
    Ok(samples
        .map(|(code, bits)| [*bits, tie(code, &numbers)])
        .collect())
}

/// What the CPU makes of the samples, as the shader writes it.
fn wanted(samples: &[[u32; 2]]) -> Result<Vec<[u32; RESULTS]>, Error> {
    let written = samples
        .iter()
        .flat_map(|[number, tie]| [*number, *tie, tie - 1, tie + 1]);
    // bounded: a few for each code.
    let written: Vec<u32> = written.collect();
    let codes: Vec<u16> = cast(DType::F32, &written, DType::F16)?;
    let rows = samples.iter().zip(codes.as_chunks::<4>().0);
    let row = |([number, _], [a, b, c, d]): (&[u32; 2], &[u16; 4])| {
        let [a, b, c, d] = [a, b, c, d].map(|code| u32::from(*code));
        [*number, a, b, c, d]
    };
    Ok(rows.map(row).collect())
}

/// Whether the results are those that are wanted.
fn agree(made: &[u32], wanted: &[[u32; RESULTS]]) -> bool {
    let is_row_right = |(made, wanted): (&[u32; RESULTS], &[u32; RESULTS])| {
        let ([number, codes @ ..], [wanted_number, wanted_codes @ ..]) = (made, wanted);
        let mut codes = codes.iter().zip(wanted_codes);
        are_same(*number, *wanted_number, 0x7f80_0000, 0x8000_0000)
            && codes.all(|(made, wanted)| are_same(*made, *wanted, INFINITY, SIGN))
    };
    let rows = made.as_chunks::<RESULTS>().0;
    rows.len() == wanted.len() && rows.iter().zip(wanted).all(is_row_right)
}

/// Whether the device reads and writes float16 as the CPU does.
pub(super) fn probe(gpu: &Gpu) -> Result<bool, Error> {
    let samples = samples()?;
    let given = bytemuck::cast_slice(&samples);
    let made = compute(gpu, "probe16", given, samples.len(), RESULTS, shader)?;
    Ok(agree(&made, &wanted(&samples)?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_bit_is_refused_and_another_nan_is_not() {
        let samples = samples().unwrap();
        let wanted = wanted(&samples).unwrap();
        assert_eq!(wanted.len(), 1 << 16);
        let made: Vec<u32> = wanted.iter().flatten().copied().collect();
        assert!(agree(&made, &wanted));
        assert!(!agree(&made[RESULTS..], &wanted));
        for place in (0..made.len()).step_by(1009) {
            let mut wrong = made.clone();
            // The sign is part of NaN, and of zero.
            wrong[place] ^= if place % RESULTS == 0 { 1 << 31 } else { SIGN };
            assert!(!agree(&wrong, &wanted), "{place}");
        }
        let last = made.len() - RESULTS;
        let mut other = made.clone();
        other[last] ^= 1;
        assert!(agree(&other, &wanted));
        // A subnormal number that is flushed, a tie that is rounded up, an overflow that saturates.
        for (code, result, value) in [(1, 0, 0), (2, 2, 3), (0x7bff, 2, 0x7bff)] {
            let mut wrong = made.clone();
            wrong[code * RESULTS + result] = value;
            assert!(!agree(&wrong, &wanted), "{code:x}");
        }
    }

    #[test]
    fn ties_are_halfway_and_neighbours_are_not() {
        let wanted = wanted(&samples().unwrap()).unwrap();
        for (code, row) in wanted.iter().enumerate() {
            let (code, sign) = (code as u32 & (SIGN - 1), code as u32 & SIGN);
            if code < INFINITY {
                let even = code + (code & 1);
                let codes = [code, even, code, code + 1].map(|code| code | sign);
                assert_eq!(row[1..], codes, "{code:x}");
            }
        }
    }
}
