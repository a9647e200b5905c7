//! How numbers are laid out for the kernels: what a dtype is decoded to while it is packed, and what
//! becomes of a sum.
//!
//! | numbers | packed as | a step is |
//! |---|---|---|
//! | float32 and narrower, float64 | themselves | a product |
//! | complex | A: `[re, -im]` over `[im, re]`, B: `re` over `im` | half of a product |
//! | integers of 8 and 16 bits, bool | pairs of int16 | two products, wrapped to 32 bits |
//! | integers of 32 bits | low and high half crosswise, then pairs of the low halves | see [`Whole32`] |
//! | integers of 64 bits | themselves | a product, wrapped |

use allotrope_dtype::{DType, Element, c64, c128};
use bytemuck::Pod;

use super::Coefficient;
use super::micro::Micro;
use crate::simd;

/// A way to pack and multiply.
pub(super) trait Arithmetic: Send + Sync {
    /// What elements are decoded to.
    type Line: Element;
    /// What is packed and summed.
    type Sum: Micro;
    /// What a sum is as a number.
    type Value: Element;
    /// Rows of sums per row of the matrix.
    const ROWS: usize;
    /// Whether panels have the elements as they are, one per step.
    const IS_PLAIN: bool = false;
    /// Elements of the summed dimension per stretch: a panel of columns fits in the first-level
    /// cache.
    const STRETCH: usize;

    /// The numbers of a panel per line of it, for so many elements along the summed dimension.
    fn depth(count: usize) -> usize;

    /// How many of the first steps of a panel for so many elements count 2^16 fold.
    fn shifted(_count: usize) -> usize {
        0
    }

    /// Whether those steps come to nothing if they do for both factors: all numbers are small.
    fn is_small<const LEFT: bool>(_panels: &[Self::Sum], _wide: usize, _count: usize) -> bool {
        false
    }

    /// The values of a row, of its rows of sums, which lie `stride` apart.
    fn collect(sums: &[Self::Sum], stride: usize, values: &mut [Self::Value]);

    /// The value times `alpha`.
    fn scale(value: Self::Value, alpha: Coefficient) -> Self::Value;

    /// The value times `alpha`, plus `beta` times another.
    fn combine(
        value: Self::Value,
        alpha: Coefficient,
        beta: Coefficient,
        former: Self::Value,
    ) -> Self::Value;

    /// Writes a stretch of a panel. Lines beyond the last are left as they are.
    fn pack<const LEFT: bool>(source: Lines<'_, Self::Line>, panel: Panel<'_, Self::Sum>);
}

/// Elements to pack: at `place + line * across + index * along` of `source`.
#[derive(Clone, Copy)]
pub(super) struct Lines<'a, L> {
    pub(super) source: &'a [L],
    pub(super) place: isize,
    /// From one line to the next.
    pub(super) across: isize,
    /// From one index of the summed dimension to the next.
    pub(super) along: isize,
    /// How many lines.
    pub(super) lines: usize,
    /// How many indices.
    pub(super) count: usize,
}

impl<L: Copy> Lines<'_, L> {
    #[inline(always)]
    fn at(&self, line: usize, index: usize) -> L {
        let place = self.place + line as isize * self.across + index as isize * self.along;
        self.source[place as usize]
    }

    /// One index of every line, where the lines are neighbours.
    #[inline(always)]
    fn step(&self, index: usize) -> Option<&[L]> {
        let place = (self.place + index as isize * self.along) as usize;
        (self.across == 1).then(|| &self.source[place..place + self.lines])
    }

    /// One line, where its indices are neighbours.
    #[inline(always)]
    fn line(&self, line: usize) -> Option<&[L]> {
        let place = (self.place + line as isize * self.across) as usize;
        (self.along == 1).then(|| &self.source[place..place + self.count])
    }
}

/// Where to pack.
pub(super) struct Panel<'a, T> {
    pub(super) numbers: &'a mut [T],
    /// Numbers per step.
    pub(super) wide: usize,
    /// The index of the summed dimension that the stretch starts at; even.
    pub(super) first: usize,
    /// All of the summed dimension that the panel holds.
    pub(super) total: usize,
}

/// Numbers that are packed as they are.
#[inline(always)]
fn pack_plain<T: Pod>(lines: Lines<'_, T>, panel: Panel<'_, T>) {
    let Panel {
        numbers,
        wide,
        first,
        ..
    } = panel;
    let numbers = &mut numbers[first * wide..(first + lines.count) * wide];
    if lines.across == 1 {
        match wide {
            _ if lines.lines < wide => copy_steps(lines, numbers, wide),
            32 => copy_whole_steps::<T, 32>(lines, numbers),
            16 => copy_whole_steps::<T, 16>(lines, numbers),
            12 => copy_whole_steps::<T, 12>(lines, numbers),
            8 => copy_whole_steps::<T, 8>(lines, numbers),
            _ => copy_steps(lines, numbers, wide),
        }
    } else if lines.along == 1 {
        transpose(lines, numbers, wide);
    } else {
        for (index, to) in numbers.chunks_exact_mut(wide).enumerate() {
            for (line, to) in to.iter_mut().enumerate().take(lines.lines) {
                *to = lines.at(line, index);
            }
        }
    }
}

/// Steps of which every number is there.
#[inline(always)]
fn copy_whole_steps<T: Pod, const WIDE: usize>(lines: Lines<'_, T>, numbers: &mut [T]) {
    /// Steps lie in different pages, where no prefetcher of the CPU follows.
    const AHEAD: isize = 12;
    let source = lines.source;
    for (index, to) in numbers.as_chunks_mut::<WIDE>().0.iter_mut().enumerate() {
        let place = lines.place + index as isize * lines.along;
        prefetch::<T, WIDE>(source, place + AHEAD * lines.along);
        if let Some(from) = source[place as usize..].first_chunk::<WIDE>() {
            *to = *from;
        }
    }
}

#[inline(always)]
fn copy_steps<T: Pod>(lines: Lines<'_, T>, numbers: &mut [T], wide: usize) {
    for (index, to) in numbers.chunks_exact_mut(wide).enumerate() {
        if let Some(from) = lines.step(index) {
            to[..from.len()].copy_from_slice(from);
        }
    }
}

/// Asks memory for some elements.
#[inline(always)]
fn prefetch<T, const COUNT: usize>(source: &[T], place: isize) {
    let start = source.as_ptr().wrapping_offset(place);
    for line in (0..COUNT * size_of::<T>()).step_by(64) {
        simd::prefetch_line(start.cast::<u8>().wrapping_add(line));
    }
}

/// Lines that become columns, in squares of four.
#[inline(always)]
fn transpose<T: Pod>(lines: Lines<'_, T>, numbers: &mut [T], wide: usize) {
    const SIDE: usize = 4;
    let mut line = 0;
    while line + SIDE <= lines.lines {
        let rows = [0, 1, 2, 3].map(|i| lines.line(line + i).unwrap_or_default());
        let [(a, a_rest), (b, b_rest), (c, c_rest), (d, d_rest)] =
            rows.map(|row| row.as_chunks::<SIDE>());
        let (whole, rest) = numbers.split_at_mut(a.len() * SIDE * wide);
        let squares = a.iter().zip(b).zip(c).zip(d);
        for (to, (((a, b), c), d)) in whole.chunks_exact_mut(SIDE * wide).zip(squares) {
            // All is read before anything is written, so that it becomes shuffles of vectors.
            let columns: [[T; SIDE]; SIDE] = std::array::from_fn(|i| [a[i], b[i], c[i], d[i]]);
            for (to, column) in to.chunks_exact_mut(wide).zip(columns) {
                to[line..line + SIDE].copy_from_slice(&column);
            }
        }
        let values = a_rest.iter().zip(b_rest).zip(c_rest).zip(d_rest);
        for (to, (((a, b), c), d)) in rest.chunks_exact_mut(wide).zip(values) {
            to[line..line + SIDE].copy_from_slice(&[*a, *b, *c, *d]);
        }
        line += SIDE;
    }
    for line in line..lines.lines {
        let from = lines.line(line).unwrap_or_default();
        for (to, from) in numbers.chunks_exact_mut(wide).zip(from) {
            to[line] = *from;
        }
    }
}

macro_rules! plain {
    ($($(#[doc = $doc:literal])* $name:ident, $T:ty,
       |$value:ident, $alpha:ident| $scale:expr,
       |$beta:ident, $former:ident| $combine:expr;)*) => {$(
        $(#[doc = $doc])*
        pub(super) struct $name;

        impl Arithmetic for $name {
            type Line = $T;
            type Sum = $T;
            type Value = $T;
            const ROWS: usize = 1;
            const IS_PLAIN: bool = true;
            const STRETCH: usize = 256;

            fn collect(sums: &[$T], _: usize, values: &mut [$T]) {
                values.copy_from_slice(&sums[..values.len()]);
            }

            #[inline(always)]
            fn scale($value: $T, $alpha: Coefficient) -> $T {
                $scale
            }

            #[inline(always)]
            fn combine($value: $T, $alpha: Coefficient, $beta: Coefficient, $former: $T) -> $T {
                $combine
            }

            fn depth(count: usize) -> usize {
                count
            }

            #[inline(always)]
            fn pack<const LEFT: bool>(source: Lines<'_, $T>, panel: Panel<'_, $T>) {
                pack_plain(source, panel);
            }
        }
    )*};
}
plain! {
    /// float32 and what is decoded to it.
    Single, f32, |value, alpha| alpha.number.re as f32 * value,
        |beta, former| alpha.number.re as f32 * value + beta.number.re as f32 * former;
    /// float64.
    Double, f64, |value, alpha| alpha.number.re * value,
        |beta, former| alpha.number.re * value + beta.number.re * former;
    /// 64-bit integers.
    Whole64, i64, |value, alpha| alpha.whole.wrapping_mul(value),
        |beta, former| (alpha.whole.wrapping_mul(value)).wrapping_add(beta.whole.wrapping_mul(former));
}

macro_rules! complex {
    ($($(#[doc = $doc:literal])* $name:ident, $C:ty, $T:ty;)*) => {$(
        $(#[doc = $doc])*
        pub(super) struct $name;

        impl Arithmetic for $name {
            type Line = $C;
            type Sum = $T;
            type Value = $C;
            const ROWS: usize = 2;
            const STRETCH: usize = 128;

            fn collect(sums: &[$T], stride: usize, values: &mut [$C]) {
                let parts = sums.iter().zip(&sums[stride..]);
                for (value, (re, im)) in values.iter_mut().zip(parts) {
                    *value = <$C>::new(*re, *im);
                }
            }

            #[inline(always)]
            fn scale(value: $C, alpha: Coefficient) -> $C {
                <$C>::new(alpha.number.re as $T, alpha.number.im as $T) * value
            }

            #[inline(always)]
            fn combine(value: $C, alpha: Coefficient, beta: Coefficient, former: $C) -> $C {
                let number = |x: Coefficient| <$C>::new(x.number.re as $T, x.number.im as $T);
                number(alpha) * value + number(beta) * former
            }

            fn depth(count: usize) -> usize {
                2 * count
            }

            #[inline(always)]
            fn pack<const LEFT: bool>(source: Lines<'_, $C>, panel: Panel<'_, $T>) {
                let Panel { numbers, wide, first, .. } = panel;
                let start = 2 * first * wide;
                let numbers = &mut numbers[start..start + 2 * source.count * wide];
                for (index, to) in numbers.chunks_exact_mut(2 * wide).enumerate() {
                    let (real, imaginary) = to.split_at_mut(wide);
                    for line in 0..source.lines {
                        let value = source.at(line, index);
                        if LEFT {
                            real[2 * line] = value.re;
                            real[2 * line + 1] = value.im;
                            imaginary[2 * line] = -value.im;
                            imaginary[2 * line + 1] = value.re;
                        } else {
                            real[line] = value.re;
                            imaginary[line] = value.im;
                        }
                    }
                }
            }
        }
    )*};
}
complex! {
    /// complex64.
    ComplexSingle, c64, f32;
    /// complex128.
    ComplexDouble, c128, f64;
}

/// Integers that fit in 16 bits, or of which only as many count.
pub(super) struct Whole16;

impl Arithmetic for Whole16 {
    type Line = i16;
    type Sum = i32;
    type Value = i32;
    const ROWS: usize = 1;
    const STRETCH: usize = 512;

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

impl<'a> Lines<'a, i16> {
    /// The pairs along lines whose elements are neighbours, as they lie in memory.
    #[inline(always)]
    fn in_pairs(&self) -> Option<Lines<'a, [i16; 2]>> {
        let fits = self.along == 1 && self.across >= 0 && self.across % 2 == 0;
        (fits && cfg!(target_endian = "little")).then(|| Lines {
            source: self.source[self.place as usize..].as_chunks().0,
            place: 0,
            across: self.across / 2,
            along: 1,
            lines: self.lines,
            count: self.count / 2,
        })
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
    const STRETCH: usize = 160;

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

/// The arithmetic for sums of a dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Single,
    Double,
    ComplexSingle,
    ComplexDouble,
    Whole16,
    Whole32,
    Whole64,
}

impl Kind {
    /// How products of elements of `operands`, the dtype in which both matrices meet, are summed in
    /// `sum`.
    pub(super) fn of(operands: DType, sum: DType) -> Self {
        match sum {
            DType::F64 => Self::Double,
            DType::C64 => Self::ComplexSingle,
            DType::C128 => Self::ComplexDouble,
            DType::I64 | DType::U64 => Self::Whole64,
            // Halves of 16 bits are exact, or only their low bits count.
            DType::I8 | DType::U8 | DType::I16 | DType::U16 | DType::Bool => Self::Whole16,
            DType::I32 | DType::U32 if operands.fits_in(DType::I16) => Self::Whole16,
            DType::I32 | DType::U32 => Self::Whole32,
            _ => Self::Single,
        }
    }
}
