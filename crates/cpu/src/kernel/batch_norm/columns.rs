//! Rows of all channels, each with few elements of every one: sums down the columns of the rows.

use std::marker::PhantomData;
use std::ops::Range;

use allotrope_dtype::{Error, Scratch};

use super::super::norm::{Measured, back};
use super::super::rowwise::{Accumulator, read};
use super::runs::{means_of, statistics_of};
use super::{ChannelStatistics, Job, Sums};
use crate::memory::try_vec;
use crate::parallel::{self, CHUNK};
use crate::simd::{self, Body};
use crate::tile::Source;

/// Columns that are added up together, in registers.
const WIDE: usize = 32;
/// The same where fewer are left.
const NARROW: usize = 8;
/// Rows that are added up before their sums are widened, at most.
const ROWS: usize = 128;
/// The most parts that sums are made of, and about how many sums all have together.
const PARTS: usize = 64;
const ROOM: usize = 4 << 20;

pub(super) struct Columns<'a, 's, C> {
    job: &'a Job<'a, 's>,
    /// Elements of a row: all channels with what is inside each.
    width: usize,
    /// Rows of a part, and of what is read at once.
    part: usize,
    together: usize,
    compute: PhantomData<C>,
}

impl<'a, 's, C: Accumulator> Columns<'a, 's, C> {
    pub(super) fn new(job: &'a Job<'a, 's>) -> Self {
        let [outer, channels, inner] = job.sizes;
        let width = channels * inner;
        let most = (ROOM / width.max(1)).clamp(8, PARTS);
        let together = (CHUNK / width.max(1)).clamp(1, ROWS);
        let part = outer.div_ceil(most).max(together).max(1);
        Self {
            job,
            width,
            part: part.next_multiple_of(together),
            together,
            compute: PhantomData,
        }
    }

    /// The rows of a part.
    fn rows(&self, part: usize) -> Range<usize> {
        let outer = self.job.sizes[0];
        part * self.part..outer.min((part + 1) * self.part)
    }

    fn count(&self) -> f64 {
        let [outer, _, inner] = self.job.sizes;
        (outer * inner) as f64
    }

    /// What `of` makes of each channel, for every element of a row.
    fn each<T: Copy>(&self, of: impl Fn(usize) -> T) -> Vec<T> {
        let [_, channels, inner] = self.job.sizes;
        let each = (0..channels).flat_map(|channel| std::iter::repeat_n(of(channel), inner));
        each.collect()
    }

    /// Two sums for each channel, of what `add` adds to those of each column for some rows.
    fn sums(
        &self,
        add: impl Fn(Range<usize>, [&mut [f64]; 2], &mut [Vec<C>; 2]) -> Result<(), Error> + Sync + Send,
    ) -> Result<Vec<[f64; 2]>, Error> {
        let [outer, channels, inner] = self.job.sizes;
        let parts = outer.div_ceil(self.part);
        let partial = parallel::try_map(parts, |part| {
            let mut sums = try_vec("batch_norm", 2 * self.width, 0.0)?;
            let mut room = [Vec::new(), Vec::new()];
            let (first, second) = sums.split_at_mut(self.width);
            let rows = self.rows(part);
            for start in rows.clone().step_by(self.together) {
                let here = start..rows.end.min(start + self.together);
                add(here, [&mut *first, &mut *second], &mut room)?;
            }
            Ok(sums)
        })?;
        let mut columns = try_vec("batch_norm", 2 * self.width, 0.0)?;
        for partial in &partial {
            for (column, partial) in columns.iter_mut().zip(partial) {
                *column += partial;
            }
        }
        let (first, second) = columns.split_at(self.width);
        let sum = |columns: &[f64], channel: usize| -> f64 {
            columns[channel * inner..(channel + 1) * inner].iter().sum()
        };
        let of = |channel| [sum(first, channel), sum(second, channel)];
        Ok((0..channels).map(of).collect())
    }

    /// Calls `make` with the rows that are read at once and room for what becomes of them.
    fn for_each_rows(
        &self,
        out: &mut [u8],
        make: impl Fn(Range<usize>, &mut [C], &mut [Vec<C>; 2]) -> Result<(), Error> + Sync + Send,
    ) -> Result<(), Error> {
        let (size, is_same) = (self.job.dtype.itemsize(), self.job.dtype == C::DTYPE);
        let row = self.width * size;
        parallel::try_for_each_part(out, self.part * row, |part, out| {
            let (mut to, mut scratch) = (Vec::new(), Scratch::default());
            let mut room = [Vec::new(), Vec::new()];
            let first = part * self.part;
            for (index, out) in out.chunks_mut(self.together * row).enumerate() {
                let start = first + index * self.together;
                let rows = start..start + out.len() / row;
                if is_same {
                    make(rows, bytemuck::cast_slice_mut(out), &mut room)?;
                    continue;
                }
                to.resize(out.len() / size, C::ZERO);
                make(rows, &mut to, &mut room)?;
                let bytes = bytemuck::cast_slice(&to);
                self.job
                    .encode
                    .run(self.job.level, bytes, out, &mut scratch);
            }
            Ok(())
        })
    }

    fn read<'r>(
        &self,
        source: &'r Source<'_>,
        rows: &Range<usize>,
        room: &'r mut Vec<C>,
    ) -> Result<&'r [C], Error> {
        read(
            source,
            rows.start * self.width,
            rows.len() * self.width,
            room,
        )
    }

    pub(super) fn forward(&self, out: &mut [u8]) -> Result<ChannelStatistics, Error> {
        if self.width == 0 {
            return Ok(self.job.norm.given.cloned().unwrap_or(ChannelStatistics {
                mean: vec![f64::NAN; self.job.sizes[1]],
                variance: vec![f64::NAN; self.job.sizes[1]],
            }));
        }
        let (norm, level) = (self.job.norm, self.job.level);
        let statistics = match norm.given {
            Some(given) => given.clone(),
            None => self.measure()?,
        };
        let measured = self.each(|channel| statistics.measured::<C>(channel, norm.eps));
        let scaling = Scaling::of(&measured);
        let weight = self.each(|channel| norm.weight::<C>(channel));
        let bias = self.each(|channel| norm.bias::<C>(channel));
        self.for_each_rows(out, |rows, to, [room, _]| {
            let scale = Scale {
                scaling: &scaling,
                weight: &weight,
                bias: &bias,
                x: self.read(&self.job.numbers, &rows, room)?,
                to,
            };
            simd::run(level, scale);
            Ok(())
        })?;
        Ok(statistics)
    }

    fn measure(&self) -> Result<ChannelStatistics, Error> {
        let level = self.job.level;
        let totals = self.sums(|rows, [sums, _], [room, _]| {
            let x = self.read(&self.job.numbers, &rows, room)?;
            simd::run(level, Total { x, sums });
            Ok(())
        })?;
        let count = self.count();
        let means: Vec<C> = totals
            .iter()
            .map(|[sum, _]| C::narrow(sum / count))
            .collect();
        let centers = self.each(|channel| means[channel]);
        let spread = self.sums(|rows, sums, [room, _]| {
            let x = self.read(&self.job.numbers, &rows, room)?;
            let spread = Spread {
                x,
                centers: &centers,
                sums,
            };
            simd::run(level, spread);
            Ok(())
        })?;
        let each = means.iter().zip(spread);
        let each = each.map(|(mean, sums)| statistics_of(*mean, sums.map(|sum| sum / count)));
        let (mean, variance) = each.unzip();
        Ok(ChannelStatistics { mean, variance })
    }

    pub(super) fn backward(
        &self,
        gradient: &Source<'_>,
        statistics: &ChannelStatistics,
        out: Option<&mut [u8]>,
    ) -> Result<Vec<Sums>, Error> {
        if self.width == 0 {
            return Ok(vec![[0.0; 2]; self.job.sizes[1]]);
        }
        let (norm, level) = (self.job.norm, self.job.level);
        let measured = self.each(|channel| statistics.measured::<C>(channel, norm.eps));
        let scaling = Scaling::of(&measured);
        let sums = self.sums(|rows, sums, [x, g]| {
            let two = Two {
                x: self.read(&self.job.numbers, &rows, x)?,
                g: self.read(gradient, &rows, g)?,
                scaling: &scaling,
                sums,
            };
            simd::run(level, two);
            Ok(())
        })?;
        let Some(out) = out else { return Ok(sums) };
        let weight = self.each(|channel| norm.weight::<C>(channel));
        let mean =
            |channel: usize| means_of::<C>(sums[channel], norm.weight(channel), self.count());
        let means = [0, 1].map(|place: usize| self.each(|channel| mean(channel)[place]));
        self.for_each_rows(out, |rows, to, [x, g]| {
            let slope = Slope {
                scaling: &scaling,
                weight: &weight,
                means: norm.given.is_none().then_some([&means[0], &means[1]]),
                x: self.read(&self.job.numbers, &rows, x)?,
                g: self.read(gradient, &rows, g)?,
                to,
            };
            simd::run(level, slope);
            Ok(())
        })?;
        Ok(sums)
    }
}

/// What makes each element of a row normal.
struct Scaling<C> {
    center: Vec<C>,
    rest: Vec<C>,
    scale: Vec<C>,
}

impl<C: Accumulator> Scaling<C> {
    fn of(measured: &[Measured<C>]) -> Self {
        let part = |of: fn(&Measured<C>) -> C| measured.iter().map(of).collect();
        Self {
            center: part(|measured| measured.center),
            rest: part(|measured| measured.rest),
            scale: part(|measured| measured.scale),
        }
    }

    #[inline(always)]
    fn at(&self, columns: Range<usize>) -> impl Iterator<Item = Measured<C>> + '_ {
        let parts = self.center[columns.clone()]
            .iter()
            .zip(&self.rest[columns.clone()]);
        let parts = parts.zip(&self.scale[columns]);
        parts.map(|((center, rest), scale)| Measured {
            center: *center,
            rest: *rest,
            scale: *scale,
        })
    }
}

/// Adds up `N` terms of the elements of `WIDTH` neighbouring columns, over all rows: of `K` tensors, with
/// `P` numbers for each column.
#[inline(always)]
fn fold_columns<
    C: Accumulator,
    const FUSED: bool,
    const WIDTH: usize,
    const K: usize,
    const P: usize,
    const N: usize,
>(
    rows: [&[C]; K],
    numbers: [&[C]; P],
    column: usize,
    sums: &mut [&mut [f64]; N],
    terms: &impl Fn([C; K], [C; P]) -> [C::Lane<FUSED>; N],
) {
    let width = numbers
        .first()
        .map_or(sums[0].len(), |numbers| numbers.len());
    // Arrays by reference: vectors are not made of what is copied element by element.
    let nothing = [C::ZERO; WIDTH];
    let mut of_columns = [&nothing; P];
    for (block, numbers) in of_columns.iter_mut().zip(numbers) {
        *block = numbers[column..].first_chunk::<WIDTH>().unwrap_or(&nothing);
    }
    let mut lanes = [[C::ZERO; WIDTH]; N];
    for row in 0..rows[0].len() / width {
        let start = row * width + column;
        let mut blocks = [&nothing; K];
        for (block, rows) in blocks.iter_mut().zip(rows) {
            *block = rows[start..].first_chunk::<WIDTH>().unwrap_or(&nothing);
        }
        for i in 0..WIDTH {
            let mut items = [C::ZERO; K];
            for k in 0..K {
                items[k] = blocks[k][i];
            }
            let mut constants = [C::ZERO; P];
            for p in 0..P {
                constants[p] = of_columns[p][i];
            }
            let terms = terms(items, constants);
            for n in 0..N {
                lanes[n][i] = C::unwrap(lanes[n][i].wrap::<FUSED>() + terms[n]);
            }
        }
    }
    for (sums, lanes) in sums.iter_mut().zip(lanes) {
        for (sum, lane) in sums[column..column + WIDTH].iter_mut().zip(lanes) {
            *sum += lane.widen();
        }
    }
}

/// The same for all columns.
#[inline(always)]
fn fold_all<C: Accumulator, const FUSED: bool, const K: usize, const P: usize, const N: usize>(
    rows: [&[C]; K],
    numbers: [&[C]; P],
    mut sums: [&mut [f64]; N],
    terms: impl Fn([C; K], [C; P]) -> [C::Lane<FUSED>; N],
) {
    let width = sums[0].len();
    let mut column = 0;
    while column + WIDE <= width {
        fold_columns::<C, FUSED, WIDE, K, P, N>(rows, numbers, column, &mut sums, &terms);
        column += WIDE;
    }
    while column + NARROW <= width {
        fold_columns::<C, FUSED, NARROW, K, P, N>(rows, numbers, column, &mut sums, &terms);
        column += NARROW;
    }
    while column < width {
        fold_columns::<C, FUSED, 1, K, P, N>(rows, numbers, column, &mut sums, &terms);
        column += 1;
    }
}

struct Total<'a, C> {
    x: &'a [C],
    sums: &'a mut [f64],
}

impl<C: Accumulator> Body for Total<'_, C> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        fold_all::<C, FUSED, 1, 0, 1>([self.x], [], [self.sums], |[x], []| [x.wrap()]);
    }
}

struct Spread<'a, C> {
    x: &'a [C],
    centers: &'a [C],
    sums: [&'a mut [f64]; 2],
}

impl<C: Accumulator> Body for Spread<'_, C> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        fold_all::<C, FUSED, 1, 1, 2>([self.x], [self.centers], self.sums, |[x], [center]| {
            let below = x.wrap() - center.wrap();
            [below * below, below]
        });
    }
}

struct Two<'a, C> {
    x: &'a [C],
    g: &'a [C],
    scaling: &'a Scaling<C>,
    sums: [&'a mut [f64]; 2],
}

impl<C: Accumulator> Body for Two<'_, C> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Scaling {
            center,
            rest,
            scale,
        } = self.scaling;
        let numbers: [&[C]; 3] = [center, rest, scale];
        let rows = [self.x, self.g];
        fold_all::<C, FUSED, 2, 3, 2>(rows, numbers, self.sums, |[x, g], [center, rest, scale]| {
            let measured = Measured {
                center,
                rest,
                scale,
            };
            [g.wrap(), g.wrap::<FUSED>() * measured.normal(x)]
        });
    }
}

struct Scale<'a, C> {
    scaling: &'a Scaling<C>,
    weight: &'a [C],
    bias: &'a [C],
    x: &'a [C],
    to: &'a mut [C],
}

impl<C: Accumulator> Body for Scale<'_, C> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let width = self.weight.len();
        for (x, to) in self
            .x
            .chunks_exact(width)
            .zip(self.to.chunks_exact_mut(width))
        {
            let terms = self.weight.iter().zip(self.bias);
            let each = x.iter().zip(self.scaling.at(0..width)).zip(terms);
            for (to, ((x, measured), (weight, bias))) in to.iter_mut().zip(each) {
                *to = C::unwrap(measured.normal::<FUSED>(*x) * weight.wrap() + bias.wrap());
            }
        }
    }
}

struct Slope<'a, C> {
    scaling: &'a Scaling<C>,
    weight: &'a [C],
    /// None where mean and deviation do not depend on the numbers.
    means: Option<[&'a [C]; 2]>,
    x: &'a [C],
    g: &'a [C],
    to: &'a mut [C],
}

impl<C: Accumulator> Body for Slope<'_, C> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let width = self.weight.len();
        let rows = self.x.chunks_exact(width).zip(self.g.chunks_exact(width));
        for ((x, g), to) in rows.zip(self.to.chunks_exact_mut(width)) {
            let each = g.iter().zip(self.weight).zip(self.scaling.at(0..width));
            match self.means {
                Some([plain, along]) => {
                    let each = each.zip(x).zip(plain.iter().zip(along));
                    for (to, ((((g, weight), measured), x), (plain, along))) in
                        to.iter_mut().zip(each)
                    {
                        let weighed = g.wrap::<FUSED>() * weight.wrap();
                        *to = back(measured, *x, weighed, [*plain, *along]);
                    }
                }
                None => {
                    for (to, ((g, weight), measured)) in to.iter_mut().zip(each) {
                        let weighed = g.wrap::<FUSED>() * weight.wrap();
                        *to = C::unwrap(weighed * measured.scale.wrap());
                    }
                }
            }
        }
    }
}
