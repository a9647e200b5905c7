//! The loops of running totals: along lines, and over rows of accumulators.

use allotrope_dtype::Level;

use super::{BLOCK, Digits};
use crate::kernel::prefix::{Exact, Prefix};
use crate::simd::{self, Body};

/// Prefixes of lines one after the other; the first has seen `place` items.
pub(super) struct Lines<'a, P: Prefix> {
    pub(super) carry: P::Wide,
    /// What is known of items with few digits.
    pub(super) digits: Option<Digits>,
    pub(super) place: usize,
    pub(super) length: usize,
    pub(super) items: &'a [P::Item],
    pub(super) out: &'a mut [P::Out],
}

impl<P: Prefix> Lines<'_, P> {
    /// The prefixes at a level, and the last accumulator.
    pub(super) fn scan(self, level: Level) -> P::Wide {
        // Others work so long on an item that nothing waits.
        let is_light = const { size_of::<P::Wide>() == 8 };
        if is_light && self.length <= SHORT {
            return self.scan_short(level);
        }
        let (mut items, mut out) = (self.items, &mut *self.out);
        let (mut carry, mut place) = (self.carry, self.place);
        loop {
            let now = (self.length - place).min(items.len());
            let (line, later) = items.split_at(now);
            let (results, rest) = out.split_at_mut(now);
            let whole = now - now % BLOCK;
            let (to, to_tail) = results.split_at_mut(whole);
            let Some(last) = P::blocks::<false>(level, self.digits, carry, &line[..whole], to)
            else {
                return simd::run(level, self);
            };
            carry = one_by_one::<P>(last, &line[whole..], to_tail);
            if later.is_empty() {
                return carry;
            }
            (items, out, carry, place) = (later, rest, P::start(), 0);
        }
    }
}

impl<P: Prefix> Lines<'_, P> {
    /// Short lines: in float32 where that loses nothing.
    fn scan_short(self, level: Level) -> P::Wide {
        if let Some(exact) = self.digits.and_then(Digits::exact_of_bytes)
            && self.place == 0
        {
            let items: &[f32] = bytemuck::cast_slice(self.items);
            let most = simd::run(level, Greatest(items));
            // False for NaN.
            if f64::from(f32::from_bits(most)) * (self.length as f64) < exact {
                let lines = Lines::<Exact<f32>> {
                    carry: Exact::start(),
                    digits: None,
                    place: 0,
                    length: self.length,
                    items,
                    out: bytemuck::cast_slice_mut(self.out),
                };
                let last = simd::run(level, Short(lines));
                return P::widen(bytemuck::cast(last));
            }
        }
        simd::run(level, Short(self))
    }
}

/// The bits of the greatest magnitude, above which are those of NaN.
struct Greatest<'a>(&'a [f32]);

impl Body for Greatest<'_> {
    type Output = u32;
    #[inline(always)]
    fn run<const FUSED: bool>(self) -> u32 {
        let magnitudes = self.0.iter().map(|item| item.to_bits() & 0x7FFF_FFFF);
        magnitudes.fold(0, u32::max)
    }
}

/// Prefixes of lines that are so short that several fill the room for their accumulators: those of four
/// lines at a time, since steps of one line wait for each other, and then all results at once.
struct Short<'a, P: Prefix>(Lines<'a, P>);

impl<P: Prefix> Body for Short<'_, P> {
    type Output = P::Wide;
    #[inline(always)]
    fn run<const FUSED: bool>(self) -> P::Wide {
        let Lines {
            carry,
            place,
            length,
            items,
            out,
            ..
        } = self.0;
        // The rest of a line that has begun.
        let (begun, items) = items.split_at((length - place).min(items.len()) % length);
        let (results, out) = out.split_at_mut(begun.len());
        let mut carry = one_by_one::<P>(carry, begun, results);
        let mut room = [P::start(); ROOM];
        let together = ROOM / (ABREAST * length) * ABREAST * length;
        for (items, out) in items.chunks(together).zip(out.chunks_mut(together)) {
            // An accumulator that is no wider than the result is the result.
            let wide = if size_of::<P::Wide>() == size_of::<P::Out>() {
                bytemuck::cast_slice_mut(out)
            } else {
                &mut room[..items.len()]
            };
            for (wide, item) in wide.iter_mut().zip(items) {
                *wide = P::widen(*item);
            }
            let mut lines = wide.chunks_exact_mut(ABREAST * length);
            for lines in &mut lines {
                carry = abreast::<P>(length, lines);
            }
            for line in lines.into_remainder().chunks_mut(length) {
                carry = P::start();
                for wide in line {
                    carry = P::merge(carry, *wide);
                    *wide = carry;
                }
            }
            if size_of::<P::Wide>() != size_of::<P::Out>() {
                for (out, wide) in out.iter_mut().zip(&room) {
                    *out = P::finish(*wide);
                }
            }
        }
        carry
    }
}

/// Lines whose steps go side by side.
const ABREAST: usize = 4;
/// Accumulators of short lines: all of them, and the items, stay in the first-level cache.
const ROOM: usize = ABREAST * SHORT;
/// The longest of short lines: beyond, blocks of one line are as fast.
const SHORT: usize = 48;

/// Items of four lines become what they and those before them add up to; gives the last one.
#[inline(always)]
fn abreast<P: Prefix>(length: usize, lines: &mut [P::Wide]) -> P::Wide {
    let (first, second) = lines.split_at_mut(2 * length);
    let ((a, b), (c, d)) = (first.split_at_mut(length), second.split_at_mut(length));
    let mut carries = [P::start(); ABREAST];
    for ((a, b), (c, d)) in a.iter_mut().zip(b).zip(c.iter_mut().zip(d)) {
        for (carry, wide) in carries.iter_mut().zip([a, b, c, d]) {
            *carry = P::merge(*carry, *wide);
            *wide = *carry;
        }
    }
    carries[ABREAST - 1]
}

impl<P: Prefix> Body for Lines<'_, P> {
    type Output = P::Wide;
    #[inline(always)]
    fn run<const FUSED: bool>(self) -> P::Wide {
        let (mut items, mut out) = (self.items, self.out);
        let (mut carry, mut place) = (self.carry, self.place);
        loop {
            let now = (self.length - place).min(items.len());
            let (line, later) = items.split_at(now);
            let (results, rest) = out.split_at_mut(now);
            if P::TREE {
                let (blocks, tail) = line.as_chunks::<BLOCK>();
                let (to, to_tail) = results.as_chunks_mut::<BLOCK>();
                for (block, to) in blocks.iter().zip(to) {
                    let block = prefixes::<P>(block);
                    for (to, prefix) in to.iter_mut().zip(block) {
                        *to = P::finish(P::merge(carry, prefix));
                    }
                    carry = P::merge(carry, block[BLOCK - 1]);
                }
                carry = one_by_one::<P>(carry, tail, to_tail);
            } else {
                carry = one_by_one::<P>(carry, line, results);
            }
            if later.is_empty() {
                return carry;
            }
            (items, out, carry, place) = (later, rest, P::start(), 0);
        }
    }
}

#[inline(always)]
fn one_by_one<P: Prefix>(mut carry: P::Wide, items: &[P::Item], out: &mut [P::Out]) -> P::Wide {
    // Results are finished so many at a time, which the steps between accumulators hide.
    const TOGETHER: usize = 32;
    let (blocks, tail) = items.as_chunks::<TOGETHER>();
    let (to, to_tail) = out.as_chunks_mut::<TOGETHER>();
    for (block, to) in blocks.iter().zip(to) {
        let mut wide = [carry; TOGETHER];
        for (wide, item) in wide.iter_mut().zip(block) {
            carry = P::merge(carry, P::widen(*item));
            *wide = carry;
        }
        for (out, wide) in to.iter_mut().zip(wide) {
            *out = P::finish(wide);
        }
    }
    for (item, out) in tail.iter().zip(to_tail) {
        carry = P::merge(carry, P::widen(*item));
        *out = P::finish(carry);
    }
    carry
}

/// The prefixes of a block: each step joins windows of twice the length.
#[inline(always)]
fn prefixes<P: Prefix>(block: &[P::Item; BLOCK]) -> [P::Wide; BLOCK] {
    let x = block.map(P::widen);
    let mut y = x;
    for i in 1..BLOCK {
        y[i] = P::merge(x[i - 1], x[i]);
    }
    let mut z = y;
    for i in 2..BLOCK {
        z[i] = P::merge(y[i - 2], y[i]);
    }
    let mut all = z;
    for i in 4..BLOCK {
        all[i] = P::merge(z[i - 4], z[i]);
    }
    all
}

/// Rows of items added to a row of accumulators, whose values go out after each. After every `line`
/// of items the accumulators begin anew.
pub(super) struct Rows<'a, P: Prefix> {
    pub(super) lanes: &'a mut [P::Wide],
    pub(super) line: usize,
    pub(super) items: &'a [P::Item],
    pub(super) out: &'a mut [P::Out],
}

impl<P: Prefix> Body for Rows<'_, P> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let width = self.lanes.len();
        let lines = self.items.chunks(self.line);
        for (place, (line, out)) in lines.zip(self.out.chunks_mut(self.line)).enumerate() {
            if place > 0 {
                self.lanes.fill(P::start());
            }
            let rows = line.chunks_exact(width);
            for (items, out) in rows.zip(out.chunks_exact_mut(width)) {
                for ((lane, item), out) in self.lanes.iter_mut().zip(items).zip(out) {
                    *lane = P::merge(*lane, P::widen(*item));
                    *out = P::finish(*lane);
                }
            }
        }
    }
}

/// Rows of items added to two rows of accumulators: that of the prefixes, whose values go out after
/// each, and that of the items alone.
pub(super) struct Columns<'a, P: Prefix> {
    pub(super) lanes: &'a mut [P::Wide],
    pub(super) totals: &'a mut [P::Wide],
    pub(super) items: &'a [P::Item],
    pub(super) out: &'a mut [P::Out],
}

impl<P: Prefix> Body for Columns<'_, P> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let accumulators = self.lanes.iter_mut().zip(self.totals);
        for (((lane, total), item), out) in accumulators.zip(self.items).zip(self.out) {
            let item = P::widen(*item);
            *total = P::merge(*total, item);
            *lane = P::merge(*lane, item);
            *out = P::finish(*lane);
        }
    }
}

/// A row of items added to a row of float32, whose values go out; gives the bits of the greatest
/// magnitude, above which are those of NaN.
pub(super) struct Singles<'a> {
    pub(super) lanes: &'a mut [f32],
    pub(super) items: &'a [f32],
    pub(super) out: &'a mut [f32],
}

impl Body for Singles<'_> {
    type Output = u32;
    #[inline(always)]
    fn run<const FUSED: bool>(self) -> u32 {
        let mut most = 0;
        for ((lane, item), out) in self.lanes.iter_mut().zip(self.items).zip(self.out) {
            *lane += item;
            *out = *lane;
            most = most.max(lane.to_bits() & 0x7FFF_FFFF);
        }
        most
    }
}

/// Rows of items folded into a row of accumulators; the last row may be short.
pub(super) struct Fold<'a, P: Prefix> {
    pub(super) lanes: &'a mut [P::Wide],
    pub(super) items: &'a [P::Item],
}

impl<P: Prefix> Body for Fold<'_, P> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let width = self.lanes.len();
        if let Ok(lanes) = <&mut [P::Wide; BLOCK]>::try_from(&mut *self.lanes) {
            let (blocks, rest) = self.items.as_chunks::<BLOCK>();
            let mut sums = *lanes;
            for block in blocks {
                for (lane, item) in sums.iter_mut().zip(block) {
                    *lane = P::merge(*lane, P::widen(*item));
                }
            }
            for (lane, item) in sums.iter_mut().zip(rest) {
                *lane = P::merge(*lane, P::widen(*item));
            }
            *lanes = sums;
            return;
        }
        for row in self.items.chunks(width) {
            for (lane, item) in self.lanes.iter_mut().zip(row) {
                *lane = P::merge(*lane, P::widen(*item));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use allotrope_dtype::{Conversion, DType, FloatFormat, Scratch};

    use super::*;
    use crate::kernel::prefix::{Narrow, Total};

    /// Numbers of all magnitudes, some of them special.
    fn numbers(count: u32) -> Vec<f32> {
        let number = |i: u32| match i % 97 {
            3 => -0.0,
            4 if i > 600 => f32::INFINITY,
            _ => {
                let bits = i.wrapping_mul(0x9E37_79B9);
                bits.cast_signed() as f32 * (bits % 41) as f32 * 1e-9
            }
        };
        (0..count).map(number).collect()
    }

    fn check<P: Prefix<Item = f32, Wide = f64, Out = f32>>() {
        for (place, length) in [(0, 1), (0, 3), (3, 8), (47, 48), (0, 61), (5, 1000)] {
            let items = numbers(900);
            let scanned = |level| {
                let mut out = vec![0.0; items.len()];
                let lines = Lines::<P> {
                    carry: -0.0,
                    digits: None,
                    place,
                    length,
                    items: &items,
                    out: &mut out,
                };
                let last = lines.scan(level);
                (last.to_bits(), out.into_iter().map(f32::to_bits).collect())
            };
            let expected: (u64, Vec<u32>) = scanned(Level::Scalar);
            for level in Level::available() {
                assert_eq!(scanned(level), expected, "lines of {length} at {level}");
            }
        }
    }

    #[test]
    fn all_levels_add_up_alike() {
        check::<Total<f32>>();
        check::<Narrow<Total<f32>>>();
    }

    /// Lines of numbers of a format: around zero, of many sizes, huge, subnormal, with zeros between,
    /// some of them special.
    fn lines_of(format: FloatFormat, mut seed: u32) -> Vec<f32> {
        let mut random = move || {
            seed = seed.wrapping_mul(0x9E37_79B9).wrapping_add(0x7F4A_7C15);
            seed ^ seed >> 15
        };
        let (codes, signs) = (format.max_code() as u32 + 1, format.sign_mask() as u32);
        let fields = codes >> format.mantissa_bits;
        let mut items = Vec::new();
        for part in 0..24 {
            // Exponent fields from some place on, more of them in later parts.
            let kind = random() % 8;
            let first = random() % fields;
            let some = 1 + random() % (part / 2 + 2);
            for _ in 0..8 * (1 + random() % 80) {
                let field = (first + random() % some).min(fields - 1);
                let digits = random() % (1 << format.mantissa_bits);
                let code = (field << format.mantissa_bits | digits) % codes;
                let sign = if kind == 3 { signs } else { random() & signs };
                items.push(match (kind, random() % 4000) {
                    (0, _) => 0.0,
                    (1, _) => -0.0,
                    (2, 0..3000) => 0.0,
                    (_, 3999) if part > 16 => f32::NAN,
                    (_, 3998) if part > 16 => f32::NEG_INFINITY,
                    _ => format.decode(u64::from(code | sign)) as f32,
                });
            }
        }
        items
    }

    /// Shorter ways for items with few digits lead to the same results, once rounded.
    #[test]
    fn few_digits_add_up_alike() {
        for dtype in DType::ALL.into_iter().filter(|d| d.bits() <= 16) {
            let Some(format) = dtype.format() else {
                continue;
            };
            let encode = Conversion::new(DType::F32, dtype).expect("a cast");
            for seed in 0..400 {
                let items = lines_of(format, seed);
                let length = match seed % 4 {
                    0 => 1 + seed as usize % SHORT,
                    _ => items.len(),
                };
                let scanned = |level, digits| {
                    let mut out = vec![0.0; items.len()];
                    let lines = Lines::<Narrow<Total<f32>>> {
                        carry: -0.0,
                        digits,
                        place: 0,
                        length,
                        items: &items,
                        out: &mut out,
                    };
                    let last = lines.scan(level);
                    let mut codes = vec![0_u8; items.len() * dtype.itemsize()];
                    let bytes = bytemuck::cast_slice(&out);
                    encode.run(Level::Scalar, bytes, &mut codes, &mut Scratch::default());
                    let last = if last.is_nan() { f64::NAN } else { last };
                    (last.to_bits(), codes)
                };
                let expected = scanned(Level::Scalar, None);
                for level in Level::available() {
                    let got = scanned(level, Some(Digits::of(format)));
                    assert!(got == expected, "{dtype}, seed {seed} at {level}");
                }
            }
        }
    }

    #[test]
    fn integers_add_up_in_order() {
        let item = |i: i64| (i64::MAX / 3).wrapping_mul(i % 11 - 4).wrapping_sub(i);
        let items: Vec<i64> = (0..900).map(item).collect();
        for level in Level::available() {
            let mut out = vec![0; items.len()];
            let (carry, place, length) = (5, 3, 61);
            let lines = Lines::<Total<i64>> {
                carry,
                digits: None,
                place,
                length,
                items: &items,
                out: &mut out,
            };
            let last = lines.scan(level);
            let mut sum = carry;
            for (i, item) in items.iter().enumerate() {
                sum = if (i + place) % length == 0 { 0 } else { sum };
                sum = sum.wrapping_add(*item);
                assert_eq!(out[i], sum, "at {i}, {level}");
            }
            assert_eq!(last, sum);
        }
    }
}
