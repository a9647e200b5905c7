//! What a device's arithmetic is like, found out by computing with it: WGSL promises little.

mod float16;

use std::fmt::Write;

use allotrope_dtype::Error;
use allotrope_op::Lineage;

use crate::device::Gpu;
use crate::error::failed;
use crate::kernel::{GROUP, declarations, header};
use crate::pipeline::Shader;
use crate::queue::Bound;

/// What a device's arithmetic is like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numerics {
    /// Whether sums, products, quotients and square roots of float32 are rounded to nearest, and the
    /// rest of a sum can be found.
    pub exact: bool,
    /// Whether subnormal numbers of float32 are kept.
    pub subnormals: bool,
    /// Whether `fma` of float32 rounds once.
    pub fused: bool,
    /// Whether conversions between int32 and float32 round to nearest.
    pub conversions: bool,
    /// Whether there is float64, with sums, products and quotients rounded to nearest.
    pub float64: bool,
    /// Whether square roots of float64 are rounded to nearest too.
    pub exact64: bool,
    /// Whether there are integers of 64 bits.
    pub int64: bool,
    /// Whether NaN is unequal to all, and arithmetic makes and hands on NaN.
    pub nans: bool,
    /// Whether negative zero comes out of sums and products.
    pub zeros: bool,
    /// Whether the device converts between float16 and float32 by itself, with the CPU's bits.
    pub halves: bool,
    /// Whether arithmetic is done as it is written, where the text does not insist on it.
    pub plain: bool,
}

/// An answer of the probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What was asked, in a word or two.
    pub name: &'static str,
    /// Whether it holds.
    pub holds: bool,
    /// What follows: what is promised if it holds, what is done instead if it does not.
    pub meaning: &'static str,
}

impl Numerics {
    /// The answers, a line for each question.
    #[must_use]
    pub fn facts(self) -> Vec<Fact> {
        // (name, whether it holds, what is promised, what is done instead)
        [
            (
                "float32 arithmetic",
                self.exact,
                "sums, products, quotients and roots have the CPU's bits",
                "results are within a few units in the last place of the CPU's",
            ),
            (
                "float32 subnormals",
                self.subnormals,
                "numbers below 2^-126 are kept",
                "results below 2^-126 are zero",
            ),
            (
                "float32 fma",
                self.fused,
                "products are added with one rounding",
                "products are added with two roundings",
            ),
            (
                "NaN",
                self.nans,
                "NaN is unequal to all, and arithmetic hands it on",
                "NaN is found by its bits",
            ),
            (
                "negative zero",
                self.zeros,
                "sums and products keep the sign of zero",
                "zeros may lose their sign",
            ),
            (
                "as written",
                self.plain,
                "the driver's compiler changes no arithmetic",
                "arithmetic is written so that a compiler cannot change it",
            ),
            (
                "float16",
                self.halves,
                "converted by the device, with the CPU's bits",
                "converted in integers, with the same bits",
            ),
            (
                "conversions",
                self.conversions,
                "integers become the nearest float32",
                "integers become a float32 next to them",
            ),
            (
                "int64",
                self.int64,
                "native",
                "emulated by pairs of words, with the same bits",
            ),
            (
                "float64",
                self.float64,
                "native: sums, products and quotients have the CPU's bits",
                "demoted to float32",
            ),
            (
                "float64 roots",
                self.exact64,
                "square roots of float64 have the CPU's bits",
                "square roots of float64 may be off by one unit",
            ),
        ]
        .into_iter()
        .map(|(name, holds, yes, no)| Fact {
            name,
            holds,
            meaning: if holds { yes } else { no },
        })
        .collect()
    }
}

/// Pairs that tell one kind of arithmetic from another.
fn samples() -> Vec<[f32; 2]> {
    let mut samples = vec![
        [1.0, 3.0],
        [0.1, 0.2],
        [1e10, 1.0],
        [16_777_216.0, 1.5],
        [3.0, 7.0],
        [-0.0, 2.0],
        [1e-3, 1e7],
        [2.0, 1e-30],
    ];
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from_bits((state >> 9) | 0x3f80_0000) * f32::powi(2.0, (state % 20) as i32 - 10)
    };
    samples.extend((0..56).map(|_| [next(), next()]));
    samples
}

/// The results of one sample.
const RESULTS: usize = 13;

/// The shader: for each pair its results, in a float of this type.
fn shader(float: &str, word: &str, most: &str, tiny: &str) -> Shader {
    let mut text = declarations(1, 1, header(1));
    let load = match float {
        "f32" => "bitcast<f32>(in0[i * 2u])".to_owned(),
        _ => "f64(bitcast<f32>(in0[i * 2u]))".to_owned(),
    };
    let other = load.replace("i * 2u", "i * 2u + 1u");
    let store = |k: usize, value: &str| match float {
        "f32" => format!("    out0[i * {RESULTS}u + {k}u] = bitcast<u32>({value});\n"),
        // The difference of both halves is as telling.
        _ => format!(
            "    let r{k} = bitcast<u64>({value});\n    \
             out0[i * {RESULTS}u + {k}u] = u32(r{k}) ^ u32(r{k} >> 32u);\n"
        ),
    };
    write!(
        text,
        "fn keep(x: {float}) -> {float} {{ return bitcast<{float}>(min(bitcast<{word}>(x), {most})); }}\n\
         @compute @workgroup_size({GROUP})\n\
         fn main(@builtin(global_invocation_id) id: vec3<u32>) {{\n    \
         let i = id.x;\n    if (i >= P[0].x) {{ return; }}\n    \
         let a = {load};\n    let b = {other};\n    \
         let sum = keep(a + b);\n    let back = keep(sum - a);\n    \
         let lost = keep(a - keep(sum - back)) + keep(b - back);\n"
    )
    .ok();
    text += &store(0, "sum");
    text += &store(1, "lost");
    text += &store(2, "a * b");
    text += &store(3, "a / b");
    text += &store(4, "sqrt(abs(a))");
    text += &store(5, "fma(a, b, -keep(a * b))");
    text += &store(
        6,
        &format!("bitcast<{float}>({tiny} + {word}(i)) * keep(b / b)"),
    );
    if float == "f32" {
        text += &store(7, "f32(in0[i * 2u]) + 0.0f");
        // A zero that no compiler knows, and what is not a number.
        text += "    let zero = P[0].y;\n    let nan = bitcast<f32>(0x7fc00000u | zero);\n    \
                 let infinity = bitcast<f32>(0x7f800000u | zero);\n    \
                 let minus = bitcast<f32>(0x80000000u | zero);\n    \
                 let product = bitcast<u32>(nan * minus) & 0x7fffffffu;\n    \
                 let difference = bitcast<u32>(infinity - infinity) & 0x7fffffffu;\n    \
                 var flags = 0u;\n    \
                 if (nan == nan) { flags |= 1u; }\n    \
                 if (nan < a || nan > a) { flags |= 2u; }\n    \
                 if (product > 0x7f800000u) { flags |= 4u; }\n    \
                 if (difference > 0x7f800000u) { flags |= 8u; }\n    \
                 if (nan != nan) { flags |= 16u; }\n";
        text += &store(8, "(a + b) - a");
        text += &store(9, "a * b + a");
        text += &store(10, "minus + minus");
        text += &store(11, "minus * b");
        writeln!(text, "    out0[i * {RESULTS}u + 12u] = flags;").ok();
    } else {
        text +=
            "    let wide = (i64(u64(in0[i * 2u])) * i64(bitcast<i32>(in0[i * 2u + 1u]))) >> 7u;\n";
        text += &store(7, "wide");
    }
    text += "}\n";
    Shader {
        text,
        reads: 1,
        writes: 1,
    }
}

/// What the device computes: so many words for each of so many samples.
fn compute(
    gpu: &Gpu,
    key: &str,
    bytes: &[u8],
    count: usize,
    results: usize,
    shader: impl FnOnce() -> Option<Shader>,
) -> Result<Vec<u32>, Error> {
    let usage =
        wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
    let buffer = |size: usize, usage| {
        gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: size as u64,
            usage,
            mapped_at_creation: false,
        })
    };
    let size = count * results * 4;
    let given = buffer(bytes.len(), usage);
    let made = buffer(size, usage);
    let read = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
    let staging = buffer(size, read);
    gpu.queue.write_buffer(&given, 0, bytes);
    let pipeline = gpu.pipeline("device", key, shader)?;
    let lineage = Lineage::new();
    let bound = |buffer, size: usize| Bound {
        buffer,
        range: [0, size as u64],
        lineage: &lineage,
    };
    let bounds = [bound(&given, bytes.len()), bound(&made, size)];
    let numbers = [count as u32, 0, 0, 0];
    let grid = [count.div_ceil(GROUP) as u32, 1];
    gpu.dispatch("device", &pipeline, &bounds, &numbers, grid)?;
    gpu.record("device", |encoder| {
        encoder.copy_buffer_to_buffer(&made, 0, &staging, 0, size as u64);
    })?;
    gpu.submit("device")?;
    staging.map_async(wgpu::MapMode::Read, .., |_| ());
    gpu.wait_for_device("device")?;
    let view = staging.get_mapped_range(..);
    let view = view.map_err(|error| failed("device", gpu.name, error.to_string()))?;
    let words = view
        .as_chunks::<4>()
        .0
        .iter()
        .map(|word| u32::from_ne_bytes(*word));
    // bounded: a few for each sample.
    Ok(words.collect())
}

/// The rest of a sum, and what the CPU makes of a pair.
macro_rules! expected {
    ($float:ty, $a:expr, $b:expr) => {{
        let (a, b): ($float, $float) = ($a, $b);
        let sum = a + b;
        let back = sum - a;
        let lost = (a - (sum - back)) + (b - back);
        [
            sum,
            lost,
            a * b,
            a / b,
            a.abs().sqrt(),
            a.mul_add(b, -(a * b)),
        ]
    }};
}

/// Whether the results of a sample, given by its number, are as they should be.
type Test<'a> = &'a dyn Fn(usize, &[f32; 2], &[u32]) -> bool;

/// Finds out what the device's arithmetic is like, of what its features offer.
pub(crate) fn probe(gpu: &Gpu) -> Result<Numerics, Error> {
    let offered = gpu.numerics;
    let samples = samples();
    let bytes: &[u8] = bytemuck::cast_slice(&samples);
    let made = compute(gpu, "probe", bytes, samples.len(), RESULTS, || {
        Some(shader("f32", "u32", "0xfffffffeu", "0x00100000u"))
    })?;
    let rows = |made: Vec<u32>| {
        let rows: Vec<Vec<u32>> = made.chunks_exact(RESULTS).map(<[u32]>::to_vec).collect();
        rows
    };
    let rows32 = rows(made);
    let all = |rows: &[Vec<u32>], test: Test<'_>| {
        let mut pairs = samples.iter().zip(rows).enumerate();
        pairs.all(|(i, (pair, row))| test(i, pair, row))
    };
    let is32 = |k: usize| {
        all(&rows32, &|_, [a, b], row| {
            expected!(f32, *a, *b)[k].to_bits() == row[k]
                || (k == 1 && row[k] << 1 == 0) && expected!(f32, *a, *b)[k] == 0.0
        })
    };
    let subnormals = all(&rows32, &|i, _, row| row[6] == 0x0010_0000 + i as u32);
    let conversions = all(&rows32, &|_, [a, _], row| {
        (a.to_bits() as f32).to_bits() == row[7]
    });
    // Bits of each sample from 1 on: equal, ordered, NaN of a product and a difference, unequal.
    let flags = |mask: u32, wanted: u32| all(&rows32, &|_, _, row| row[12] & mask == wanted);
    let zeros = all(&rows32, &|_, [_, b], row| {
        row[10] == 0x8000_0000 && row[11] == (-0.0_f32 * b).to_bits()
    });
    let is_plain = all(&rows32, &|_, [a, b], row| {
        let sum = (a + b) - a;
        let product = a * b + a;
        let is_zero = sum == 0.0 && row[8] << 1 == 0;
        (row[8] == sum.to_bits() || is_zero) && row[9] == product.to_bits()
    });
    let mut numerics = Numerics {
        nans: flags(15, 12),
        zeros,
        halves: offered.halves && float16::probe(gpu)?,
        plain: is_plain && flags(31, 28),
        exact: (0..5).all(is32),
        subnormals,
        fused: is32(5),
        conversions,
        ..Numerics::default()
    };
    if !offered.int64 {
        return Ok(numerics);
    }
    if !offered.float64 {
        numerics.int64 = true;
        return Ok(numerics);
    }
    let made = compute(gpu, "probe64", bytes, samples.len(), RESULTS, || {
        let (most, tiny) = ("0xfffffffffffffffelu", "0x0001000000000000lu");
        Some(shader("f64", "u64", most, tiny))
    })?;
    let rows64 = rows(made);
    let folded = |bits: u64| bits as u32 ^ (bits >> 32) as u32;
    let is64 = |k: usize| {
        all(&rows64, &|_, [a, b], row| {
            let expected = expected!(f64, f64::from(*a), f64::from(*b))[k];
            folded(expected.to_bits()) == row[k]
        })
    };
    numerics.int64 = all(&rows64, &|_, [a, b], row| {
        let product = i64::from(a.to_bits()) * i64::from(b.to_bits() as i32);
        folded((product >> 7) as u64) == row[7]
    });
    numerics.float64 = numerics.int64 && [0, 1, 2, 3].into_iter().all(is64);
    numerics.exact64 = numerics.float64 && is64(4);
    Ok(numerics)
}
