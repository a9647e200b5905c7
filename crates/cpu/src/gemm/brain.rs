//! bfloat16 as pairs, of which units of the processor (AVX512-BF16) multiply two at a time.
//!
//! What they compute is not what other products are, so that they are used only where that is asked for,
//! and only if they do what [`add_pair`] says: processors of other makers may round otherwise.
#![allow(
    unsafe_code,
    reason = "hands tiles to a kernel whose instructions were tried"
)]

use std::sync::OnceLock;

use allotrope_dtype::{DType, Kind, Level, bf16};

use super::arithmetic::{Arithmetic, Single};
use super::int::Whole16;
use super::micro::Tile;
use super::strip::{Lines, Panel};
use super::{Coefficient, Product};

/// Pairs of bfloat16 with sums in float32.
pub(super) struct BrainPairs;

/// Whether a product is one for the processor's own units.
pub(super) fn serves(level: Level, product: &Product<'_>) -> bool {
    let fits = product.common.kind() == Kind::Float && product.common.fits_in(DType::BF16);
    product.fast && fits && matches!(level, Level::Avx512(_)) && has_brain_units()
}

/// Two neighbours of a row and two of a column.
type Pair = ([bf16; 2], [bf16; 2]);

/// Chains of sums that are tried, and steps of each.
const CHAINS: u64 = 192;
const STEPS: usize = 8;

/// Whether this processor has units for bfloat16, and they compute what the model says; tried once.
#[must_use]
pub fn has_brain_units() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| {
        #[cfg(target_arch = "x86_64")]
        return is_x86_feature_detected!("avx512bf16")
            && matches!(Level::detected(), Level::Avx512(_))
            && (0..CHAINS).all(|number| {
                let pairs = chain(number);
                by_the_processor(&pairs).to_bits() == add_pairs(&pairs).to_bits()
            });
        #[cfg(not(target_arch = "x86_64"))]
        false
    })
}

/// `sum + x[1] y[1] + x[0] y[0]`, each addition rounded once to the nearest; numbers that are subnormal are
/// zero, before and after.
fn add_pair(sum: f32, (x, y): Pair) -> f32 {
    let flush = |x: f32| match x.is_subnormal() {
        true => 0.0_f32.copysign(x),
        false => x,
    };
    let [x, y] = [x, y].map(|pair| pair.map(|x| flush(x.to_f32())));
    let sum = flush(x[1].mul_add(y[1], flush(sum)));
    flush(x[0].mul_add(y[0], sum))
}

/// The sum of a chain, from zero on.
fn add_pairs(pairs: &[Pair]) -> f32 {
    pairs.iter().fold(0.0, |sum, pair| add_pair(sum, *pair))
}

/// Numbers whose sums cancel, whose products are far apart, or whose sums are hardly normal.
fn chain(number: u64) -> [Pair; STEPS] {
    // Weyl's sequence, mixed: any will do that is the same in every run.
    let mut state = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let (spread, least) = [(4, 125), (40, 107), (12, 58)][(number % 3) as usize];
    let mut next = || {
        state = state.wrapping_add(0xD1B5_4A32_D192_ED03);
        let mixed = (state ^ state >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = mixed ^ mixed >> 32;
        let exponent = least + (mixed >> 8) % spread;
        bf16::from_bits((mixed & 0x807F | exponent << 7) as u16)
    };
    std::array::from_fn(|_| ([next(), next()], [next(), next()]))
}

/// The sum of a chain by the kernel.
#[cfg(target_arch = "x86_64")]
fn by_the_processor(pairs: &[Pair; STEPS]) -> f32 {
    let join = |[low, high]: [bf16; 2]| {
        f32::from_bits(u32::from(low.to_bits()) | u32::from(high.to_bits()) << 16)
    };
    let a = pairs.map(|pair| join(pair.0));
    let b = pairs.map(|pair| [join(pair.1); 32]);
    let mut sums = [0.0_f32; 32];
    let tile = Tile {
        steps: pairs.len(),
        a: &a,
        a_row: 1,
        a_step: 1,
        b: b.as_flattened(),
        b_step: 32,
        c: sums.as_mut_ptr(),
        c_stride: 32,
        rows: 1,
        columns: 32,
        accumulate: false,
        shifted: 0,
    };
    // SAFETY: the instructions were detected, and the tile is a row of its own.
    unsafe { super::micro::x86::avx512_brain(tile) };
    sums[0]
}

impl Arithmetic for BrainPairs {
    type Line = bf16;
    type Sum = f32;
    type Value = f32;
    const ROWS: usize = 1;
    const KC: usize = 512;

    fn collect(sums: &[f32], stride: usize, values: &mut [f32]) {
        Single::collect(sums, stride, values);
    }

    #[inline(always)]
    fn scale(value: f32, alpha: Coefficient) -> f32 {
        Single::scale(value, alpha)
    }

    #[inline(always)]
    fn combine(value: f32, alpha: Coefficient, beta: Coefficient, former: f32) -> f32 {
        Single::combine(value, alpha, beta, former)
    }

    fn depth(count: usize) -> usize {
        Whole16::depth(count)
    }

    unsafe fn multiply(level: Level, tile: Tile<'_, f32>) {
        debug_assert!(matches!(level, Level::Avx512(_)));
        // SAFETY: the caller's promise; the units were tried before this arithmetic was chosen.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            super::micro::x86::avx512_brain(tile);
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = tile;
    }

    #[inline(always)]
    fn pack<const LEFT: bool>(source: Lines<'_, bf16>, panel: Panel<'_, f32>) {
        let Lines {
            place,
            across,
            along,
            lines,
            count,
            ..
        } = source;
        let source = bytemuck::cast_slice(source.source);
        let Panel {
            wide, first, total, ..
        } = panel;
        let numbers = bytemuck::cast_slice_mut(panel.numbers);
        let lines = Lines {
            source,
            place,
            across,
            along,
            lines,
            count,
        };
        Whole16::pack::<LEFT>(
            lines,
            Panel {
                numbers,
                wide,
                first,
                total,
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gemm::{Factor, Matrix, Output, multiply};

    /// Products of odd and even depths, over more than one stretch, against the model and its order.
    #[test]
    fn products_are_what_the_model_says() {
        if !has_brain_units() {
            return;
        }
        for [rows, depth, columns] in [[1, 1, 1], [3, 7, 5], [13, 64, 33], [2, 1031, 40]] {
            let numbers = |count: usize, seed: u64| -> Vec<bf16> {
                let pairs = (0..).flat_map(|i| chain(3 * i + seed));
                pairs
                    .flat_map(|pair| [pair.0[0], pair.1[1]])
                    .take(count)
                    .collect()
            };
            let (a, b) = (numbers(rows * depth, 0), numbers(depth * columns, 1));
            let matrix = |numbers: &'static [bf16], columns: usize| Matrix {
                dtype: DType::BF16,
                bytes: bytemuck::cast_slice(numbers),
                row_stride: columns as isize,
                column_stride: 1,
            };
            let (a, b) = (&*a.leak(), &*b.leak());
            let factors = [matrix(a, depth), matrix(b, columns)].map(Factor::Stored);
            let mut product = Product::new(
                [rows, depth, columns],
                factors[0],
                factors[1],
                &[(0, 0)],
                DType::BF16,
            );
            (product.sum, product.fast) = (DType::F32, true);
            let mut out = vec![0.0_f32; rows * columns];
            let output = Output::contiguous(
                DType::F32,
                bytemuck::cast_slice_mut(&mut out),
                rows,
                columns,
            );
            assert!(multiply("matmul", &product, output).is_ok());
            let stretches = depth.div_ceil(BrainPairs::KC);
            let stretch = depth.div_ceil(stretches).next_multiple_of(8);
            let at =
                |numbers: &[bf16], index: Option<usize>| index.map_or(bf16::ZERO, |i| numbers[i]);
            for (place, got) in out.iter().enumerate() {
                let (row, column) = (place / columns, place % columns);
                let sums = (0..depth).step_by(stretch).map(|first| {
                    let last = depth.min(first + stretch);
                    let pairs = (first..last).step_by(2).map(|k| {
                        let next = (k + 1 < last).then_some(k + 1);
                        let x = [Some(k), next].map(|k| at(a, k.map(|k| row * depth + k)));
                        let y = [Some(k), next].map(|k| at(b, k.map(|k| k * columns + column)));
                        (x, y)
                    });
                    add_pairs(&pairs.collect::<Vec<_>>())
                });
                let want = sums.reduce(|sum, next| sum + next);
                assert_eq!(Some(*got), want, "{rows} x {depth} x {columns} at {place}");
            }
        }
    }
}
