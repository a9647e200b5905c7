//! Products with one row (BLAS: gemv), and many products of two vectors.
//!
//! Every element is summed as a tile sums it: one chain of multiply-adds along a pass, chains of passes
//! added in order. So a row has the bits that it has in any larger product. Lanes of a vector are columns
//! of the result, whose lines are read where they are: neighbours with a load of each
//! ([`Kernels::adjacent`]), lines along memory turned in registers four steps at a time
//! ([`Kernels::turned`]).
#![allow(
    unsafe_code,
    reason = "vector instructions over lines that were checked"
)]
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "a kernel is one promise: lines that were checked"
)]

use allotrope_dtype::Level;

use super::micro::Micro;
use super::vector::{self, Halves, Lanes, Plain};
use crate::simd;

/// One pass over lines of the right factor: numbers of `sums` are written, or added to.
pub(super) struct Lines<'a, T> {
    /// The lines, of numbers; those of complex elements are pairs.
    pub(super) right: &'a [T],
    /// From one line to the next where they lie along memory, from one step to the next where they are
    /// neighbours.
    pub(super) stride: usize,
    /// What every line is multiplied by, or where each line has its own, those.
    pub(super) left: &'a [T],
    /// From the left vector of a line to that of the next; zero where all have the same.
    pub(super) left_stride: usize,
    /// Elements of a line.
    pub(super) steps: usize,
    /// How many lines.
    pub(super) lines: usize,
    /// Whether elements are complex.
    pub(super) complex: bool,
    /// Whether the left factor of the product is the right one here: products of complex numbers are
    /// summed in its order.
    pub(super) exchanged: bool,
}

/// Chains of sums for a kind of number; nothing for integers, whose order is of no account.
pub(super) struct Kernels<T: 'static> {
    /// Lines along memory: chains are written, those of imaginary parts `lines` numbers after the real.
    pub(super) turned: fn(Level, &Lines<'_, T>, &mut [T]),
    /// Neighbouring lines: chains go on from what is there. Complex numbers are pairs.
    pub(super) adjacent: fn(Level, &Lines<'_, T>, &mut [T]),
    /// Lines along memory of 16-bit floats, where the level takes them apart in registers.
    pub(super) narrow: Option<Narrow<T>>,
}

/// Writes the chains of narrow lines; false where the level has no instructions for it.
type Narrow<T> = fn(Level, &NarrowLines<'_, T>, &mut [T]) -> bool;

/// [`Lines`] of real 16-bit floats that are all multiplied by one vector.
pub(super) struct NarrowLines<'a, T> {
    /// The codes.
    pub(super) right: &'a [u16],
    /// From one line to the next.
    pub(super) stride: usize,
    /// Whether they are bfloat16; else they are float16.
    pub(super) brain: bool,
    /// What every line is multiplied by.
    pub(super) left: &'a [T],
    /// How many lines.
    pub(super) lines: usize,
}

impl<T: Micro> Lines<'_, T> {
    /// Numbers along a line.
    fn numbers(&self) -> usize {
        self.steps * if self.complex { 2 } else { 1 }
    }

    /// That the memory has all that is read and written.
    fn check(&self, along: bool, sums: &[T]) {
        let parts = if self.complex { 2 } else { 1 };
        let (lines, numbers) = (self.lines, self.numbers());
        let (outer, inner) = if along {
            (lines, numbers)
        } else {
            (self.steps, lines * parts)
        };
        let last = usize::saturating_mul(outer.saturating_sub(1), self.stride);
        assert!(outer * inner == 0 || self.right.len() >= last.saturating_add(inner));
        let last = usize::saturating_mul(lines.saturating_sub(1), self.left_stride);
        assert!(lines * numbers == 0 || self.left.len() >= last.saturating_add(numbers));
        assert!(sums.len() >= parts * lines && isize::try_from(self.stride).is_ok());
    }
}

/// Writes the chains of all lines, `G` vectors of lines at a time.
///
/// # Safety
/// The lines were checked; the vector's instructions must be there.
#[inline(always)]
unsafe fn turn<V: Lanes, const G: usize>(work: &Lines<'_, V::Item>, sums: &mut [V::Item]) {
    // SAFETY: the caller's promise.
    unsafe {
        match (work.complex, work.left_stride > 0) {
            (false, false) => turn_all::<V, G, false, false>(work, sums),
            (false, true) => turn_all::<V, G, false, true>(work, sums),
            (true, false) => turn_all::<V, G, true, false>(work, sums),
            (true, true) => turn_all::<V, G, true, true>(work, sums),
        }
    }
}

#[inline(always)]
unsafe fn turn_all<V: Lanes, const G: usize, const COMPLEX: bool, const EACH: bool>(
    work: &Lines<'_, V::Item>,
    sums: &mut [V::Item],
) {
    let (mut line, lines) = (0, work.lines);
    let sums = sums.as_mut_ptr();
    // SAFETY: the caller's promise; there are so many lines, and chains for them.
    unsafe {
        while line < lines {
            let left = lines - line;
            let [chains, imaginary] = if left >= G * V::LANES {
                turn_tile::<V, G, COMPLEX, EACH>(work, line, V::LANES - 1)
            } else {
                let last = left.min(V::LANES) - 1;
                let [[real], [imaginary]] = turn_tile::<V, 1, COMPLEX, EACH>(work, line, last);
                [[real; G], [imaginary; G]]
            };
            let groups = if left >= G * V::LANES { G } else { 1 };
            for group in 0..groups {
                let count = V::LANES.min(lines - line);
                chains[group].store_some(sums.add(line), count);
                if COMPLEX {
                    imaginary[group].store_some(sums.add(lines + line), count);
                }
                line += count;
            }
        }
    }
}

/// The chains of `G` vectors of lines, real and imaginary.
#[inline(always)]
unsafe fn turn_tile<V: Lanes, const G: usize, const COMPLEX: bool, const EACH: bool>(
    work: &Lines<'_, V::Item>,
    first: usize,
    last: usize,
) -> [[V; G]; 2] {
    /// Bytes that are asked for ahead: lines lie in different pages, of which no prefetcher follows so many.
    const AHEAD: usize = 384;
    let across = (work.stride * size_of::<V::Item>()) as isize;
    let left_across = (work.left_stride * size_of::<V::Item>()) as isize;
    let count = work.numbers();
    let right = work.right.as_ptr().wrapping_add(first * work.stride);
    let left = work.left.as_ptr().wrapping_add(first * work.left_stride);
    // SAFETY: the caller's promise: the lines have so many numbers, and so have those to their left.
    unsafe {
        let mut sums = [V::zero(); G];
        let mut imaginary = [V::zero(); G];
        let add = |sum: &mut V, other: &mut V, l: [V; 4], r: [V; 4]| {
            if COMPLEX {
                let real = sum.fused(l[0], r[0]).fused_negated(l[1], r[1]);
                *sum = real.fused(l[2], r[2]).fused_negated(l[3], r[3]);
                *other = if work.exchanged {
                    let half = other.fused(l[0], r[1]).fused(l[1], r[0]);
                    half.fused(l[2], r[3]).fused(l[3], r[2])
                } else {
                    let half = other.fused(l[1], r[0]).fused(l[0], r[1]);
                    half.fused(l[3], r[2]).fused(l[2], r[3])
                };
            } else {
                *sum = sum.fused(l[0], r[0]).fused(l[1], r[1]);
                *sum = sum.fused(l[2], r[2]).fused(l[3], r[3]);
            }
        };
        let whole = count - count % 4;
        for step in (0..whole).step_by(4) {
            if (step * size_of::<V::Item>()).is_multiple_of(64) {
                for line in 0..G * V::LANES {
                    let place = right.wrapping_add(line * work.stride + step).cast::<u8>();
                    simd::prefetch_line(place.wrapping_add(AHEAD));
                }
            }
            let mut l = [V::zero(); 4];
            if !EACH {
                for (i, l) in l.iter_mut().enumerate() {
                    *l = V::splat(left.add(step + i).read());
                }
            }
            for group in 0..G {
                let lines = group * V::LANES;
                let r = V::columns(right.add(lines * work.stride + step), across, last);
                if EACH {
                    let place = left.add(lines * work.left_stride + step);
                    l = V::columns(place, left_across, last);
                }
                add(&mut sums[group], &mut imaginary[group], l, r);
            }
        }
        for group in 0..G {
            let start = group * V::LANES;
            let column = |from: *const V::Item, stride: usize, step: usize| {
                let mut numbers = [V::Item::default(); WIDEST];
                for (line, number) in numbers.iter_mut().enumerate().take(last + 1) {
                    *number = from.add((start + line) * stride + step).read();
                }
                V::load(numbers.as_ptr())
            };
            let mut step = whole;
            while step < count {
                let (l, r) = (
                    column(left, work.left_stride, step),
                    column(right, work.stride, step),
                );
                if COMPLEX {
                    let l = [l, column(left, work.left_stride, step + 1)];
                    let r = [r, column(right, work.stride, step + 1)];
                    sums[group] = sums[group].fused(l[0], r[0]).fused_negated(l[1], r[1]);
                    imaginary[group] = if work.exchanged {
                        imaginary[group].fused(l[0], r[1]).fused(l[1], r[0])
                    } else {
                        imaginary[group].fused(l[1], r[0]).fused(l[0], r[1])
                    };
                    step += 2;
                } else {
                    sums[group] = sums[group].fused(l, r);
                    step += 1;
                }
            }
        }
        [sums, imaginary]
    }
}

/// Writes the chains of lines of 16-bit floats, eight steps at a time: pairs of them are turned as one
/// number each, and taken apart.
///
/// # Safety
/// As [`turn`].
#[inline(always)]
unsafe fn turn_narrow<V: Halves, const G: usize>(work: &NarrowLines<'_, f32>, sums: &mut [f32]) {
    let (mut line, lines) = (0, work.lines);
    while line < lines {
        let left = lines - line;
        // SAFETY: the caller's promise; there are so many lines, and chains for them.
        unsafe {
            let to = sums.as_mut_ptr().add(line);
            if left >= G * V::LANES {
                let chains = narrow_tile::<V, G>(work, line, V::LANES - 1);
                for (group, chain) in chains.into_iter().enumerate() {
                    chain.store(to.add(group * V::LANES));
                }
                line += G * V::LANES;
            } else {
                let count = left.min(V::LANES);
                let [chain] = narrow_tile::<V, 1>(work, line, count - 1);
                chain.store_some(to, count);
                line += count;
            }
        }
    }
}

/// The chains of `G` vectors of lines of 16-bit floats.
#[inline(always)]
unsafe fn narrow_tile<V: Halves, const G: usize>(
    work: &NarrowLines<'_, f32>,
    first: usize,
    last: usize,
) -> [V; G] {
    /// Bytes that are asked for ahead.
    const AHEAD: usize = 384;
    let across = (work.stride * size_of::<u16>()) as isize;
    let right = work.right.as_ptr().wrapping_add(first * work.stride);
    let (left, count) = (work.left.as_ptr(), work.left.len());
    // SAFETY: the caller's promise: every line has as many numbers as the left vector.
    unsafe {
        let mut sums = [V::zero(); G];
        let whole = count - count % 8;
        for step in (0..whole).step_by(8) {
            if step % 32 == 0 {
                for line in 0..G * V::LANES {
                    let place = right.wrapping_add(line * work.stride + step).cast::<u8>();
                    simd::prefetch_line(place.wrapping_add(AHEAD));
                }
            }
            let mut l = [V::zero(); 8];
            for (i, l) in l.iter_mut().enumerate() {
                *l = V::splat(left.add(step + i).read());
            }
            for (group, sum) in sums.iter_mut().enumerate() {
                let place = right.add(group * V::LANES * work.stride + step);
                let pairs = V::columns(place.cast(), across, last);
                for (i, pair) in pairs.into_iter().enumerate() {
                    let [even, odd] = if work.brain {
                        pair.brain_floats()
                    } else {
                        pair.half_floats()
                    };
                    *sum = sum.fused(l[2 * i], even).fused(l[2 * i + 1], odd);
                }
            }
        }
        for step in whole..count {
            let l = V::splat(left.add(step).read());
            for (group, sum) in sums.iter_mut().enumerate() {
                // The low bits of each lane; the high ones stay zero.
                let mut codes = [0_u32; WIDEST];
                for (line, code) in codes.iter_mut().enumerate().take(last + 1) {
                    let line = group * V::LANES + line;
                    *code = u32::from(right.add(line * work.stride + step).read());
                }
                let pair = V::load(codes.as_ptr().cast());
                let [number, _] = if work.brain {
                    pair.brain_floats()
                } else {
                    pair.half_floats()
                };
                *sum = sum.fused(l, number);
            }
        }
        sums
    }
}

/// The most lanes of any vector.
const WIDEST: usize = 16;

/// Goes on with the chains of neighbouring lines.
///
/// # Safety
/// As [`turn`].
#[inline(always)]
unsafe fn go_on<V: Lanes>(work: &Lines<'_, V::Item>, sums: &mut [V::Item]) {
    // SAFETY: the caller's promise.
    unsafe {
        match (work.complex, work.exchanged) {
            (false, _) => go_on_all::<V, false, false>(work, sums),
            (true, false) => go_on_all::<V, true, false>(work, sums),
            (true, true) => go_on_all::<V, true, true>(work, sums),
        }
    }
}

#[inline(always)]
unsafe fn go_on_all<V: Lanes, const COMPLEX: bool, const EXCHANGED: bool>(
    work: &Lines<'_, V::Item>,
    sums: &mut [V::Item],
) {
    /// Steps that a sum stays in a register.
    const STEPS: usize = 8;
    let whole = work.steps - work.steps % STEPS;
    // SAFETY: the caller's promise.
    unsafe {
        for step in (0..whole).step_by(STEPS) {
            go_on_some::<V, STEPS, COMPLEX, EXCHANGED>(work, step, sums);
        }
        for step in whole..work.steps {
            go_on_some::<V, 1, COMPLEX, EXCHANGED>(work, step, sums);
        }
    }
}

/// Some steps of all chains.
#[inline(always)]
unsafe fn go_on_some<V: Lanes, const S: usize, const COMPLEX: bool, const EXCHANGED: bool>(
    work: &Lines<'_, V::Item>,
    first: usize,
    sums: &mut [V::Item],
) {
    let count = work.lines * if COMPLEX { 2 } else { 1 };
    let right = work.right.as_ptr().wrapping_add(first * work.stride);
    let mut left = [[V::Item::default(); 2]; S];
    for (step, left) in left.iter_mut().enumerate() {
        if COMPLEX {
            left.copy_from_slice(&work.left[2 * (first + step)..][..2]);
        } else {
            left[0] = work.left[first + step];
        }
    }
    // SAFETY: the caller's promise: every step has so many numbers.
    unsafe {
        let mut by = [[V::zero(); 2]; S];
        for (by, left) in by.iter_mut().zip(left) {
            *by = if !COMPLEX {
                [V::splat(left[0]); 2]
            } else if EXCHANGED {
                [V::splat(left[0]), V::alternating(-left[1], left[1])]
            } else {
                [
                    V::alternating(left[0], left[1]),
                    V::alternating(-left[1], left[0]),
                ]
            };
        }
        let add = |sum: V, by: [V; 2], r: V| {
            if !COMPLEX {
                sum.fused(by[0], r)
            } else if EXCHANGED {
                sum.fused(by[0], r).fused(by[1], r.exchanged())
            } else {
                sum.fused(by[0], r.first_twice())
                    .fused(by[1], r.second_twice())
            }
        };
        let sums = sums.as_mut_ptr();
        let whole = count - count % V::LANES;
        for place in (0..whole).step_by(V::LANES) {
            let mut sum = V::load(sums.add(place));
            for (step, by) in by.iter().enumerate() {
                sum = add(sum, *by, V::load(right.add(step * work.stride + place)));
            }
            sum.store(sums.add(place));
        }
        let some = count - whole;
        if some > 0 {
            let mut sum = V::load_some(sums.add(whole), some);
            for (step, by) in by.iter().enumerate() {
                let from = right.add(step * work.stride + whole);
                sum = add(sum, *by, V::load_some(from, some));
            }
            sum.store_some(sums.add(whole), some);
        }
    }
}

macro_rules! kernels {
    ($($name:ident, $T:ty, $plain:literal, $avx2:ident, $avx512:ident, $narrow:expr;)*) => {$(
        /// The chains of these numbers.
        pub(super) const $name: Kernels<$T> = Kernels {
            turned: |level, work, sums| {
                work.check(true, sums);
                // SAFETY: the lines were checked; the level was detected.
                unsafe {
                    match level {
                        #[cfg(target_arch = "x86_64")]
                        Level::Avx2(_) => x86::turn_avx2::<vector::$avx2>(work, sums),
                        #[cfg(target_arch = "x86_64")]
                        Level::Avx512(_) => x86::turn_avx512::<vector::$avx512>(work, sums),
                        _ => turn::<Plain<$T, $plain>, 2>(work, sums),
                    }
                }
            },
            adjacent: |level, work, sums| {
                work.check(false, sums);
                // SAFETY: the lines were checked; the level was detected.
                unsafe {
                    match level {
                        #[cfg(target_arch = "x86_64")]
                        Level::Avx2(_) => x86::go_on_avx2::<vector::$avx2>(work, sums),
                        #[cfg(target_arch = "x86_64")]
                        Level::Avx512(_) => x86::go_on_avx512::<vector::$avx512>(work, sums),
                        _ => go_on::<Plain<$T, $plain>>(work, sums),
                    }
                }
            },
            narrow: $narrow,
        };
    )*};
}
kernels! {
    SINGLE, f32, 4, F32x8, F32x16, Some(narrow);
    DOUBLE, f64, 2, F64x4, F64x8, None;
}

/// [`turn_narrow`] at a level; false where that has no instructions for it.
fn narrow(level: Level, work: &NarrowLines<'_, f32>, sums: &mut [f32]) -> bool {
    let last = usize::saturating_mul(work.lines.saturating_sub(1), work.stride);
    let numbers = work.left.len();
    assert!(work.lines * numbers == 0 || work.right.len() >= last.saturating_add(numbers));
    assert!(sums.len() >= work.lines && isize::try_from(work.stride).is_ok());
    match level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the lines were checked; the level was detected.
        Level::Avx2(_) => unsafe { x86::narrow_avx2(work, sums) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx512(_) => unsafe { x86::narrow_avx512(work, sums) },
        _ => return false,
    }
    true
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Lanes, Lines, NarrowLines, go_on, turn, turn_narrow};
    use crate::gemm::vector::{F32x8, F32x16};

    #[target_feature(enable = "avx2,fma,f16c")]
    pub(super) unsafe fn narrow_avx2(work: &NarrowLines<'_, f32>, sums: &mut [f32]) {
        // SAFETY: the caller's promise.
        unsafe { turn_narrow::<F32x8, 4>(work, sums) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
    pub(super) unsafe fn narrow_avx512(work: &NarrowLines<'_, f32>, sums: &mut [f32]) {
        // SAFETY: the caller's promise.
        unsafe { turn_narrow::<F32x16, 2>(work, sums) }
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn turn_avx2<V: Lanes>(work: &Lines<'_, V::Item>, sums: &mut [V::Item]) {
        // SAFETY: the caller's promise.
        unsafe { turn::<V, 4>(work, sums) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    pub(super) unsafe fn turn_avx512<V: Lanes>(work: &Lines<'_, V::Item>, sums: &mut [V::Item]) {
        // SAFETY: the caller's promise.
        unsafe { turn::<V, 2>(work, sums) }
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn go_on_avx2<V: Lanes>(work: &Lines<'_, V::Item>, sums: &mut [V::Item]) {
        // SAFETY: the caller's promise.
        unsafe { go_on::<V>(work, sums) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    pub(super) unsafe fn go_on_avx512<V: Lanes>(work: &Lines<'_, V::Item>, sums: &mut [V::Item]) {
        // SAFETY: the caller's promise.
        unsafe { go_on::<V>(work, sums) }
    }
}
