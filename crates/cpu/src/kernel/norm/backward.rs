//! The gradients of normalised lines: of the numbers, and of weights and biases, which are sums over
//! lines.
//!
//! With `n` the normalised numbers, that of the numbers is `(g w - mean(g w) - n mean(g w n)) scale`.

use std::marker::PhantomData;

use allotrope_dtype::{Conversion, DType, Error, Level, Scratch};
use allotrope_op::Lane;

#[cfg(target_arch = "x86_64")]
use super::super::fused::block::Half;
use super::super::fused::block::{Brain, Load, Store};
use super::super::rowwise::{
    Accumulator, Ahead, FEW, LANES, LineInput, OfBlocks, TOGETHER, join_few, lines_together,
    map_lines, read, sums_of_lines,
};
use super::Norm;
use super::measure::{Measured, MeasuredLines};
use crate::buffer::Buffer;
use crate::memory::{try_resize, try_vec};
use crate::parallel::{self, CHUNK};
use crate::simd::{self, Body};
use crate::tile::Source;

/// Elements that lanes add up before they are joined in float64.
const ADDED: usize = 1024;
/// Numbers that one accumulator of a weight adds up before it is widened.
const VISITS: usize = 128;
/// The most parts that sums over lines are made of, and about how many numbers all have together.
const PARTS: usize = 64;
const ROOM: usize = 4 << 20;

/// What is wanted; sums are float64, one for each weight.
#[derive(Default)]
pub(crate) struct NormGradients<'a> {
    /// Room for the gradient of the numbers.
    pub numbers: Option<&'a mut [u8]>,
    /// Room for that of the weights.
    pub weight: Option<&'a mut [f64]>,
    /// Room for that of the biases.
    pub bias: Option<&'a mut [f64]>,
}

/// The gradients of lines that were normalised as by [`normalize_lines`](super::normalize_lines), from
/// the numbers and the gradient of the results, which are read in the same order; that of the numbers
/// as `dtype`. The bias of `norm` does not matter; `terms` says how many weights and biases there are.
///
/// # Errors
/// A memory error.
pub(crate) fn normalize_lines_backward(
    norm: Norm<'_>,
    terms: usize,
    [numbers, gradient]: [LineInput<'_>; 2],
    dtype: DType,
    wanted: NormGradients<'_>,
) -> Result<(), Error> {
    let from = [numbers, gradient];
    let level = Level::current();
    let halves = |from: LineInput<'_>| {
        let source = Source::new(level, from.program, &[from.input])?;
        Ok::<_, Error>(source.halves(0, 0).map(|(dtype, _)| dtype))
    };
    // As they are in memory, if the result is such too.
    let coded = halves(numbers)?.filter(|coded| wanted.numbers.is_none() || *coded == dtype);
    let coded = match coded {
        Some(coded) => halves(gradient)?.filter(|other| *other == coded),
        None => None,
    };
    match (numbers.program.output_dtypes().next(), coded) {
        (Some(DType::F64), _) => run::<f64, f64>(norm, terms, from, dtype, wanted),
        (_, Some(DType::BF16)) => run::<f32, Brain>(norm, terms, from, dtype, wanted),
        #[cfg(target_arch = "x86_64")]
        (_, Some(DType::F16)) => run::<f32, Half>(norm, terms, from, dtype, wanted),
        _ => run::<f32, f32>(norm, terms, from, dtype, wanted),
    }
}

/// How weights belong to elements.
#[derive(Clone, Copy)]
struct Terms<'a, C> {
    /// The weight of each element of an item, or of each piece of `period` elements, and a block of
    /// zeros behind them.
    weight: &'a [C],
    /// How many weights there are.
    count: usize,
    /// Elements that share a weight; 1 where each has its own.
    period: usize,
    /// Whether sums over lines are wanted.
    sums: bool,
}

fn run<C, S>(
    norm: Norm<'_>,
    terms: usize,
    [numbers, gradient]: [LineInput<'_>; 2],
    dtype: DType,
    wanted: NormGradients<'_>,
) -> Result<(), Error>
where
    C: Accumulator + Store<C> + Load<C, Code = C>,
    S: Store<C>,
{
    let [outer, length, inner] = numbers.sizes;
    let NormGradients {
        numbers: mut out,
        weight: of_weight,
        bias: of_bias,
    } = wanted;
    let lines = outer * inner;
    if lines * length == 0 {
        for sums in [of_weight, of_bias].into_iter().flatten() {
            sums.fill(0.0);
        }
        return Ok(());
    }
    let sums = of_weight.is_some() || of_bias.is_some();
    let is_plain = norm.weight.is_none() && !sums;
    // Weights of few elements are spread out, so that each element of an item has its own.
    let each = if norm.period < LANES { norm.period } else { 1 };
    let mut weight: Vec<C> = match norm.weight {
        _ if is_plain => vec![C::narrow(1.0)],
        Some(weight) => weight
            .iter()
            .flat_map(|weight| std::iter::repeat_n(C::narrow(*weight), each))
            .collect(),
        None => vec![C::narrow(1.0); terms * each],
    };
    let period = match is_plain {
        true => length,
        false if norm.period < LANES => 1,
        false => norm.period,
    };
    let count = weight.len();
    weight.extend([C::ZERO; FEW]);
    let work = Work::<C, S> {
        level: Level::current(),
        norm,
        length,
        terms: Terms {
            weight: &weight,
            count,
            period,
            sums,
        },
        numbers: Source::new(Level::current(), numbers.program, &[numbers.input])?,
        gradient: Source::new(Level::current(), gradient.program, &[gradient.input])?,
        encode: Conversion::new(C::DTYPE, dtype)?,
        dtype,
        coded: PhantomData,
    };
    let most = (ROOM / count).clamp(8, PARTS);
    let together = (CHUNK / length).max(1).max(lines.div_ceil(most));
    let parts = lines.div_ceil(together);
    let held = if sums { 2 * count } else { 0 };
    let mut totals = Buffer::zeroed("norm", parts * held * size_of::<f64>())?;
    let size = dtype.itemsize();
    let mut outs = out
        .iter_mut()
        .flat_map(|out| out.chunks_mut(together * length * size));
    let mut totals_of = totals.elements_mut::<f64>().chunks_mut(held.max(1));
    let mut shares: Vec<_> = (0..parts)
        .map(|_| (outs.next(), totals_of.next().unwrap_or_default()))
        .collect();
    parallel::try_for_each_part(&mut shares, 1, |index, shares| {
        let first = index * together;
        let lines = first..lines.min(first + together);
        shares
            .iter_mut()
            .try_for_each(|(out, totals)| work.lines(lines.clone(), out.as_deref_mut(), totals))
    })?;
    drop(shares);
    let totals = totals.elements::<f64>();
    for (place, sums) in [(0, of_weight), (count, of_bias)] {
        let Some(sums) = sums else { continue };
        let mut all = vec![0.0; count];
        for totals in totals.chunks_exact(held) {
            for (all, total) in all.iter_mut().zip(&totals[place..place + count]) {
                *all += total;
            }
        }
        for (sum, all) in sums.iter_mut().zip(all.chunks_exact(each)) {
            *sum = all.iter().sum();
        }
    }
    Ok(())
}

struct Work<'a, 's, C, S> {
    level: Level,
    norm: Norm<'a>,
    length: usize,
    terms: Terms<'a, C>,
    numbers: Source<'s>,
    gradient: Source<'s>,
    encode: Conversion,
    dtype: DType,
    coded: PhantomData<fn() -> S>,
}

impl<C: Accumulator + Store<C> + Load<C, Code = C>, S: Store<C>> Work<'_, '_, C, S> {
    /// Some lines: their gradients, and the sums of those of the terms.
    fn lines(
        &self,
        lines: std::ops::Range<usize>,
        mut out: Option<&mut [u8]>,
        totals: &mut [f64],
    ) -> Result<(), Error> {
        let (length, size) = (self.length, self.dtype.itemsize());
        let together = lines_together(length);
        let is_same = self.dtype == C::DTYPE;
        let mut room = [Vec::new(), Vec::new(), Vec::new()];
        let mut scratch = Scratch::default();
        // Accumulators of single elements, which are widened before they lose digits.
        let (is_each, count) = (self.is_each(), self.terms.count);
        let held = if self.terms.sums && is_each {
            2 * count
        } else {
            0
        };
        let mut narrow = try_vec("norm", held, C::ZERO)?;
        let (mut visited, most) = (0, VISITS * (count / length).max(1));
        for first in lines.clone().step_by(together) {
            let here = together.min(lines.end - first);
            let elements = here * length;
            visited += here;
            let is_full = visited + together > most || first + here == lines.end;
            let start = (first - lines.start) * length * size;
            let bytes = out
                .as_deref_mut()
                .map(|out| &mut out[start..start + elements * size]);
            let sources = [&self.numbers, &self.gradient];
            let codes = match size_of::<S::Code>() < size_of::<C>() && is_each {
                true => sources.map(|source| source.halves(first * length, elements)),
                false => [None; 2],
            };
            if let [Some((_, x)), Some((_, g))] = codes {
                let to = bytes.map(bytemuck::cast_slice_mut);
                let codes = [x, g].map(bytemuck::cast_slice);
                self.codes(self.back::<S>(first, codes, to, totals, &mut narrow));
            } else {
                let [x_room, g_room, to_room] = &mut room;
                let x = read(&self.numbers, first * length, elements, x_room)?;
                let g = read(&self.gradient, first * length, elements, g_room)?;
                let mut back = |to: Option<&mut [C]>| {
                    let back = self.back::<C>(first, [x, g], to, totals, &mut narrow);
                    match is_each {
                        true => simd::run(self.level, Together(back)),
                        false => simd::run(self.level, Pieces(back)),
                    }
                };
                match bytes {
                    Some(bytes) if is_same => back(Some(bytemuck::cast_slice_mut(bytes))),
                    Some(bytes) => {
                        try_resize("norm", to_room, elements, C::ZERO)?;
                        back(Some(&mut to_room[..elements]));
                        let from = bytemuck::cast_slice(&to_room[..elements]);
                        self.encode.run(self.level, from, bytes, &mut scratch);
                    }
                    None => back(None),
                }
            }
            if held > 0 && is_full {
                for (total, narrow) in totals.iter_mut().zip(&mut narrow) {
                    *total += std::mem::replace(narrow, C::ZERO).widen();
                }
                visited = 0;
            }
        }
        Ok(())
    }

    /// Whether each element has a weight of its own, or none has any.
    fn is_each(&self) -> bool {
        self.terms.period == 1 || self.norm.weight.is_none() && !self.terms.sums
    }

    /// Lines of halves, as they are in memory.
    fn codes(&self, back: Back<'_, C, S>) {
        match self.level {
            Level::Avx512(proof) => proof.run(Together(back.wide())),
            Level::Avx2(proof) => proof.run(Together(back)),
            // The baseline has no such kernel.
            Level::Scalar => {}
        }
    }

    fn back<'a, T: Load<C>>(
        &'a self,
        first: usize,
        [x, g]: [&'a [T::Code]; 2],
        to: Option<&'a mut [T::Code]>,
        totals: &'a mut [f64],
        narrow: &'a mut [C],
    ) -> Back<'a, C, T> {
        Back {
            norm: self.norm,
            terms: self.terms,
            first,
            length: self.length,
            x,
            g,
            to,
            totals,
            narrow,
        }
    }
}

/// Whole lines, from line number `first` on.
struct Back<'a, C, S: Load<C>>
where
    C: Accumulator,
{
    norm: Norm<'a>,
    terms: Terms<'a, C>,
    first: usize,
    length: usize,
    x: &'a [S::Code],
    g: &'a [S::Code],
    to: Option<&'a mut [S::Code]>,
    /// Sums for weights, then for biases.
    totals: &'a mut [f64],
    /// The same of single elements, before they are widened.
    narrow: &'a mut [C],
}

impl<'a, C: Accumulator, S: Store<C>> Back<'a, C, S> {
    /// The same, read and written in vectors of 512 bits.
    fn wide(self) -> Back<'a, C, S::WideStore> {
        let Self {
            norm,
            terms,
            first,
            length,
            x,
            g,
            to,
            totals,
            narrow,
        } = self;
        Back {
            norm,
            terms,
            first,
            length,
            x,
            g,
            to,
            totals,
            narrow,
        }
    }
}

impl<C: Accumulator, S: Load<C>> Back<'_, C, S> {
    /// The means of the weighed gradients of a line, and of their products with the normalised numbers.
    #[inline(always)]
    fn mean(&self, sum: f64, is_along: bool) -> C {
        let counts = is_along || self.norm.centers;
        C::narrow(if counts {
            sum / self.length as f64
        } else {
            0.0
        })
    }
}

/// Some lines together, of which each element has a weight of its own, or none.
struct Together<'a, C: Accumulator, S: Load<C>>(Back<'a, C, S>);

impl<C: Accumulator, S: Store<C>> Body for Together<'_, C, S> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Self(back) = self;
        let Back {
            norm, terms, x, g, ..
        } = back;
        let (length, lines) = (back.length, x.len() / back.length);
        let measured = MeasuredLines::of::<S, FUSED>(norm.centers, norm.eps, length, x);
        let mut starts = [0; TOGETHER];
        for (line, start) in starts.iter_mut().enumerate().take(lines) {
            *start = (back.first + line) * length % terms.count;
        }
        let weight = norm.weight.map(|_| terms.weight);
        let weighed = Weighed {
            measured: &measured,
            weight,
            starts: &starts,
        };
        let [plain, along] = sums_of_lines::<C, S, FUSED, 2>(length, [x, g], &weighed);
        let mut means = [[C::ZERO; 2]; TOGETHER];
        for (line, means) in means.iter_mut().enumerate() {
            *means = [back.mean(plain[line], false), back.mean(along[line], true)];
        }
        if let Some(to) = back.to {
            let made = Slopes {
                weighed: &weighed,
                means,
            };
            map_lines::<C, S, FUSED>(length, [x, g], to, &made);
        }
        if terms.sums {
            let (of_weight, of_bias) = back.narrow.split_at_mut(terms.count);
            let lines = x.chunks_exact(length).zip(g.chunks_exact(length));
            for ((line, from), start) in lines.enumerate().zip(starts) {
                let range = start..start + length;
                let sums = [&mut of_weight[range.clone()], &mut of_bias[range]];
                add_terms::<C, S, FUSED>(measured.at(line), from, sums);
            }
        }
    }
}

/// Adds each element's part in the gradients of its weight and its bias.
#[inline(always)]
fn add_terms<C: Accumulator, S: Load<C>, const FUSED: bool>(
    measured: Measured<C>,
    (x, g): (&[S::Code], &[S::Code]),
    [of_weight, of_bias]: [&mut [C]; 2],
) {
    let ((x, x_rest), (g, g_rest)) = (x.as_chunks::<FEW>(), g.as_chunks::<FEW>());
    let (of_weight, weight_rest) = of_weight.as_chunks_mut::<FEW>();
    let (of_bias, bias_rest) = of_bias.as_chunks_mut::<FEW>();
    for (((x, g), of_weight), of_bias) in x.iter().zip(g).zip(of_weight).zip(of_bias) {
        let (x, g) = (S::load_in_vectors(x), S::load_in_vectors(g));
        for i in 0..FEW {
            let (g, normal) = (g[i].wrap::<FUSED>(), measured.normal::<FUSED>(x[i]));
            of_weight[i] = C::unwrap(g.mul_add(normal, of_weight[i].wrap()));
            of_bias[i] = C::unwrap(of_bias[i].wrap::<FUSED>() + g);
        }
    }
    let rests = x_rest.iter().zip(g_rest).zip(weight_rest).zip(bias_rest);
    for (((x, g), of_weight), of_bias) in rests {
        let (x, g) = (S::one(*x), S::one(*g).wrap::<FUSED>());
        *of_weight = C::unwrap(g.mul_add(measured.normal(x), of_weight.wrap()));
        *of_bias = C::unwrap(of_bias.wrap::<FUSED>() + g);
    }
}

/// The weighed gradients, and their products with the normalised numbers.
struct Weighed<'a, C> {
    measured: &'a MeasuredLines<C>,
    weight: Option<&'a [C]>,
    /// Where the weights of each line begin.
    starts: &'a [usize; TOGETHER],
}

impl<C: Accumulator, S: Load<C>> OfBlocks<C, S, 2> for Weighed<'_, C> {
    #[inline(always)]
    fn make<const FUSED: bool>(
        &self,
        [line, place]: [usize; 2],
        x: &[S::Code; FEW],
        g: &[S::Code; FEW],
    ) -> [[C; FEW]; 2] {
        simd::prefetch(g);
        let measured = self.measured.at(line);
        let g = S::load_in_vectors(g);
        let plain = weigh::<C, FUSED>(self.weight, self.starts[line] + place, g);
        let mut along = S::load_in_vectors(x);
        for (along, plain) in along.iter_mut().zip(plain) {
            *along = C::unwrap(plain.wrap::<FUSED>() * measured.normal(*along));
        }
        [plain, along]
    }
}

/// The gradients of the numbers.
struct Slopes<'a, C> {
    weighed: &'a Weighed<'a, C>,
    means: [[C; 2]; TOGETHER],
}

impl<C: Accumulator, S: Load<C>> OfBlocks<C, S, 1> for Slopes<'_, C> {
    #[inline(always)]
    fn make<const FUSED: bool>(
        &self,
        [line, place]: [usize; 2],
        x: &[S::Code; FEW],
        g: &[S::Code; FEW],
    ) -> [[C; FEW]; 1] {
        let Weighed { weight, starts, .. } = self.weighed;
        let (measured, means) = (self.weighed.measured.at(line), self.means[line]);
        let g = weigh::<C, FUSED>(*weight, starts[line] + place, S::load_in_vectors(g));
        let mut made = S::load_in_vectors(x);
        for (made, g) in made.iter_mut().zip(g) {
            *made = back::<C, FUSED>(measured, *made, g.wrap(), means);
        }
        [made]
    }
}

/// A block of gradients times their weights.
#[inline(always)]
fn weigh<C: Accumulator, const FUSED: bool>(
    weight: Option<&[C]>,
    place: usize,
    mut g: [C; FEW],
) -> [C; FEW] {
    if let Some(weight) = weight {
        for (g, weight) in g.iter_mut().zip(&weight[place..place + FEW]) {
            *g = C::unwrap(g.wrap::<FUSED>() * weight.wrap());
        }
    }
    g
}

/// Lines of pieces that share a weight, one line after the other.
struct Pieces<'a, C: Accumulator + Load<C, Code = C>>(Back<'a, C, C>);

impl<C: Accumulator + Load<C, Code = C>> Body for Pieces<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Self(mut all) = self;
        let Back { norm, terms, .. } = all;
        let length = all.length;
        let lines = all.x.chunks_exact(length).zip(all.g.chunks_exact(length));
        for (line, (x, g)) in lines.enumerate() {
            let measured = Measured::of::<FUSED>(norm.centers, norm.eps, x, Ahead::default());
            let start = (all.first + line) * length / terms.period;
            let pieces = || {
                x.chunks(terms.period)
                    .zip(g.chunks(terms.period))
                    .enumerate()
            };
            let mut sums = [0.0; 2];
            for (place, (x, g)) in pieces() {
                let term = (start + place) % terms.count;
                let of_piece = sums_of_two::<C, FUSED>(
                    measured,
                    [x, g],
                    |g, _| g.wrap::<FUSED>(),
                    Ahead::default(),
                );
                let weight = terms.weight[term].widen();
                for (sum, of_piece) in sums.iter_mut().zip(of_piece) {
                    *sum += weight * of_piece;
                }
                if terms.sums {
                    all.totals[term] += of_piece[1];
                    all.totals[terms.count + term] += of_piece[0];
                }
            }
            let means = [all.mean(sums[0], false), all.mean(sums[1], true)];
            let Some(to) = all.to.as_deref_mut() else {
                continue;
            };
            let to = &mut to[line * length..(line + 1) * length];
            for ((place, (x, g)), to) in pieces().zip(to.chunks_mut(terms.period)) {
                let weight = terms.weight[(start + place) % terms.count];
                for ((to, x), g) in to.iter_mut().zip(x).zip(g) {
                    *to = back(measured, *x, g.wrap::<FUSED>() * weight.wrap(), means);
                }
            }
        }
    }
}

/// The gradient of a number from that of its result times the weight, and two means.
#[inline(always)]
pub(crate) fn back<C: Accumulator, const FUSED: bool>(
    measured: Measured<C>,
    x: C,
    weighed: C::Lane<FUSED>,
    [plain, along]: [C; 2],
) -> C {
    let normal = measured.normal::<FUSED>(x);
    C::unwrap((weighed - plain.wrap() - normal * along.wrap()) * measured.scale.wrap())
}

/// The sums of the weighed gradients of a line, and of their products with the normalised numbers.
#[inline(always)]
pub(crate) fn sums_of_two<C: Accumulator, const FUSED: bool>(
    measured: Measured<C>,
    [x, g]: [&[C]; 2],
    weigh: impl Fn(C, usize) -> C::Lane<FUSED>,
    ahead: Ahead<'_>,
) -> [f64; 2] {
    let mut totals = [0.0; 2];
    for (part, (x, g)) in x.chunks(ADDED).zip(g.chunks(ADDED)).enumerate() {
        let (mut plain, mut along) = ([C::ZERO; FEW], [C::ZERO; FEW]);
        let ((xs, x_rest), (gs, g_rest)) = (x.as_chunks::<FEW>(), g.as_chunks::<FEW>());
        for (block, (x, g)) in xs.iter().zip(gs).enumerate() {
            let place = part * ADDED + block * FEW;
            ahead.fetch(place, FEW);
            for i in 0..FEW {
                let weighed = weigh(g[i], place + i);
                plain[i] = C::unwrap(plain[i].wrap::<FUSED>() + weighed);
                along[i] = C::unwrap(along[i].wrap::<FUSED>() + weighed * measured.normal(x[i]));
            }
        }
        let (mut last_plain, mut last_along) = ([C::ZERO; FEW], [C::ZERO; FEW]);
        let place = part * ADDED + xs.len() * FEW;
        for (i, (x, g)) in x_rest.iter().zip(g_rest).enumerate() {
            let weighed = weigh(*g, place + i);
            last_plain[i % FEW] = C::unwrap(weighed);
            last_along[i % FEW] = C::unwrap(weighed * measured.normal(*x));
        }
        totals[0] += join_few::<C, FUSED>(plain, last_plain);
        totals[1] += join_few::<C, FUSED>(along, last_along);
    }
    totals
}
