//! Integers as pairs of 16 bits, of which kernels multiply two at a time.

use super::Coefficient;
use super::arithmetic::Arithmetic;
use super::strip::{Lines, Panel, pack_plain};

/// Integers that fit in 16 bits, or of which only as many count.
pub(super) struct Whole16;

impl Arithmetic for Whole16 {
    type Line = i16;
    type Sum = i32;
    type Value = i32;
    const ROWS: usize = 1;
    const KC: usize = 512;

    fn collect(sums: &[i32], _: usize, values: &mut [i32]) {
        values.copy_from_slice(&sums[..values.len()]);
    }

    fn scale(value: i32, alpha: Coefficient) -> i32 {
        (alpha.whole as i32).wrapping_mul(value)
    }

    fn combine(value: i32, alpha: Coefficient, beta: Coefficient, former: i32) -> i32 {
        combine_whole(value, alpha, beta, former)
    }

    fn depth(count: usize) -> usize {
        count.div_ceil(2)
    }

    #[inline(always)]
    fn pack<const LEFT: bool>(source: Lines<'_, i16>, panel: Panel<'_, i32>) {
        let Panel {
            numbers,
            wide,
            first,
            ..
        } = panel;
        let start = first / 2 * wide;
        let numbers = &mut numbers[start..start + source.count.div_ceil(2) * wide];
        let pairs = source.count / 2;
        let mut rest = source;
        if let Some(lines) = source.in_pairs() {
            let (numbers, total) = (&mut numbers[..pairs * wide], pairs);
            let panel = Panel {
                numbers: bytemuck::cast_slice_mut(numbers),
                wide,
                first: 0,
                total,
            };
            pack_plain(lines, panel);
            rest.place += 2 * pairs as isize;
            rest.count -= 2 * pairs;
        }
        let done = (source.count - rest.count) / 2 * wide;
        pack_pairs(rest, &mut numbers[done..], wide);
    }
}

/// Two neighbours along the summed dimension in one number.
#[inline(always)]
fn pack_pairs(source: Lines<'_, i16>, numbers: &mut [i32], wide: usize) {
    for (pair, to) in numbers.chunks_exact_mut(wide).enumerate() {
        let index = 2 * pair;
        let has_second = index + 1 < source.count;
        if let (Some(low), Some(high), true) = (
            source.step(index),
            source.step(if has_second { index + 1 } else { index }),
            has_second,
        ) {
            for ((to, low), high) in to.iter_mut().zip(low).zip(high) {
                *to = join(*low, *high);
            }
        } else {
            for (line, to) in to.iter_mut().enumerate().take(source.lines) {
                let low = source.at(line, index);
                let high = if has_second {
                    source.at(line, index + 1)
                } else {
                    0
                };
                *to = join(low, high);
            }
        }
    }
}

/// Integers of 32 bits: with `a = 2^16 a1 + a0` and `b` likewise, where the low halves are signed,
/// `a b = a0 b0 + 2^16 (a0 b1 + a1 b0)` modulo 2^32. The panel has the halves of each number first,
/// those of the right matrix exchanged, then pairs of the low halves of two neighbours.
pub(super) struct Whole32;

impl Arithmetic for Whole32 {
    type Line = i32;
    type Sum = i32;
    type Value = i32;
    const ROWS: usize = 1;
    const KC: usize = 160;

    fn collect(sums: &[i32], _: usize, values: &mut [i32]) {
        values.copy_from_slice(&sums[..values.len()]);
    }

    fn scale(value: i32, alpha: Coefficient) -> i32 {
        (alpha.whole as i32).wrapping_mul(value)
    }

    fn combine(value: i32, alpha: Coefficient, beta: Coefficient, former: i32) -> i32 {
        combine_whole(value, alpha, beta, former)
    }

    fn depth(count: usize) -> usize {
        count.div_ceil(2) + count
    }

    fn shifted(count: usize) -> usize {
        count
    }

    fn is_small<const LEFT: bool>(panels: &[i32], wide: usize, count: usize) -> bool {
        let high = if LEFT { !0xFFFF } else { 0xFFFF };
        panels
            .chunks_exact((Self::depth(count) * wide).max(1))
            .all(|panel| panel[..count * wide].iter().fold(0, |all, x| all | x) & high == 0)
    }

    #[inline(always)]
    fn pack<const LEFT: bool>(source: Lines<'_, i32>, panel: Panel<'_, i32>) {
        let Panel {
            numbers,
            wide,
            first,
            total,
        } = panel;
        let (cross, low) = numbers.split_at_mut(total * wide);
        let cross = &mut cross[first * wide..(first + source.count) * wide];
        let whole = Panel {
            numbers: &mut *cross,
            wide,
            first: 0,
            total: source.count,
        };
        pack_plain(source, whole);
        let low = low[first / 2 * wide..].chunks_exact_mut(wide);
        for (to, pair) in low.zip(cross.chunks(2 * wide)) {
            let (first, second) = pair.split_at(wide);
            for (to, first) in to.iter_mut().zip(first) {
                *to = first & 0xFFFF;
            }
            for (to, second) in to.iter_mut().zip(second) {
                *to |= second << 16;
            }
        }
        for number in cross {
            let low = *number as i16;
            let high = (number.wrapping_sub(i32::from(low)) >> 16) as i16;
            *number = if LEFT {
                join(low, high)
            } else {
                join(high, low)
            };
        }
    }
}

#[inline(always)]
fn combine_whole(value: i32, alpha: Coefficient, beta: Coefficient, former: i32) -> i32 {
    let product = (alpha.whole as i32).wrapping_mul(value);
    product.wrapping_add((beta.whole as i32).wrapping_mul(former))
}

#[inline(always)]
fn join(low: i16, high: i16) -> i32 {
    i32::from(low) & 0xFFFF | i32::from(high) << 16
}
