//! The gradients of normalised lines: of the numbers, and of weights and biases, which are sums over
//! lines.
//!
//! With `n` the normalised numbers, that of the numbers is `(g w - mean(g w) - n mean(g w n)) scale`.
//! A line is read once; its mean and deviation are measured again, in the cache.

use allotrope_dtype::{Conversion, DType, Error, Level, Scratch};

use super::super::rowwise::{Accumulator, Ahead, LANES, LineInput, join_few, read};
use super::Norm;
use super::measure::Measured;
use crate::buffer::Buffer;
use crate::memory::{try_resize, try_vec};
use crate::parallel::{self, CHUNK};
use crate::simd::{self, Body};
use crate::tile::Source;

/// Elements of lines that are read together.
const GROUP: usize = 2048;
/// Lanes of a sum of two slices: fewer than of others, since there are two of them.
const FEW: usize = LANES / 2;
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
    match numbers.program.output_dtypes().next() {
        Some(DType::F64) => run::<f64>(norm, terms, [numbers, gradient], dtype, wanted),
        _ => run::<f32>(norm, terms, [numbers, gradient], dtype, wanted),
    }
}

/// How weights belong to elements.
#[derive(Clone, Copy)]
struct Terms<'a, C> {
    /// The weight of each element of an item, or of each piece of `period` elements.
    weight: &'a [C],
    /// Elements that share a weight; 1 where each has its own.
    period: usize,
    /// Whether sums over lines are wanted.
    sums: bool,
}

fn run<C: Accumulator>(
    norm: Norm<'_>,
    terms: usize,
    [numbers, gradient]: [LineInput<'_>; 2],
    dtype: DType,
    wanted: NormGradients<'_>,
) -> Result<(), Error> {
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
    let weight: Vec<C> = match norm.weight {
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
    let work = Work {
        level: Level::current(),
        norm,
        length,
        terms: Terms {
            weight: &weight,
            period,
            sums,
        },
        numbers: Source::new(Level::current(), numbers.program, &[numbers.input])?,
        gradient: Source::new(Level::current(), gradient.program, &[gradient.input])?,
        encode: Conversion::new(C::DTYPE, dtype)?,
        dtype,
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

struct Work<'a, 's, C> {
    level: Level,
    norm: Norm<'a>,
    length: usize,
    terms: Terms<'a, C>,
    numbers: Source<'s>,
    gradient: Source<'s>,
    encode: Conversion,
    dtype: DType,
}

impl<C: Accumulator> Work<'_, '_, C> {
    /// Some lines: their gradients, and the sums of those of the terms.
    fn lines(
        &self,
        lines: std::ops::Range<usize>,
        mut out: Option<&mut [u8]>,
        totals: &mut [f64],
    ) -> Result<(), Error> {
        let (length, size) = (self.length, self.dtype.itemsize());
        let together = (GROUP / length).max(1);
        let is_same = self.dtype == C::DTYPE;
        let mut room = [Vec::new(), Vec::new(), Vec::new()];
        let mut scratch = Scratch::default();
        let count = self.terms.weight.len();
        // Accumulators of single elements, which are widened before they lose digits.
        let is_each = self.terms.sums && self.terms.period == 1;
        let mut narrow = try_vec("norm", if is_each { 2 * count } else { 0 }, C::ZERO)?;
        let (mut visited, most) = (0, VISITS * (count / length).max(1));
        for first in lines.clone().step_by(together) {
            let here = together.min(lines.end - first);
            let elements = here * length;
            let [x_room, g_room, to_room] = &mut room;
            let x = read(&self.numbers, first * length, elements, x_room)?;
            let g = read(&self.gradient, first * length, elements, g_room)?;
            let start = (first - lines.start) * length * size;
            let bytes = out
                .as_deref_mut()
                .map(|out| &mut out[start..start + elements * size]);
            let back = |to: Option<&mut [C]>, totals: &mut [f64], narrow: &mut [C]| {
                let back = Back {
                    norm: self.norm,
                    terms: self.terms,
                    first,
                    length,
                    x,
                    g,
                    to,
                    totals,
                    narrow,
                    ahead: [&self.numbers, &self.gradient].map(|source| {
                        let (bytes, size) = source.ahead((first + here) * length, elements);
                        Ahead::new(bytes, size)
                    }),
                };
                simd::run(self.level, back);
            };
            match bytes {
                Some(bytes) if is_same => {
                    back(Some(bytemuck::cast_slice_mut(bytes)), totals, &mut narrow);
                }
                Some(bytes) => {
                    try_resize("norm", to_room, elements, C::ZERO)?;
                    back(Some(&mut to_room[..elements]), totals, &mut narrow);
                    let from = bytemuck::cast_slice(&to_room[..elements]);
                    self.encode.run(self.level, from, bytes, &mut scratch);
                }
                None => back(None, totals, &mut narrow),
            }
            visited += here;
            if is_each && (visited + together > most || first + here == lines.end) {
                for (total, narrow) in totals.iter_mut().zip(&mut narrow) {
                    *total += std::mem::replace(narrow, C::ZERO).widen();
                }
                visited = 0;
            }
        }
        Ok(())
    }
}

/// Whole lines, from line number `first` on.
struct Back<'a, C> {
    norm: Norm<'a>,
    terms: Terms<'a, C>,
    first: usize,
    length: usize,
    x: &'a [C],
    g: &'a [C],
    to: Option<&'a mut [C]>,
    /// Sums for weights, then for biases.
    totals: &'a mut [f64],
    /// The same of single elements, before they are widened.
    narrow: &'a mut [C],
    ahead: [Ahead<'a>; 2],
}

impl<C: Accumulator> Body for Back<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Self { norm, terms, .. } = self;
        let (length, count) = (self.length, self.length as f64);
        let mut to = self.to;
        let lines = self.x.chunks_exact(length).zip(self.g.chunks_exact(length));
        for (line, (x, g)) in lines.enumerate() {
            let [x_ahead, g_ahead] = self.ahead.map(|ahead| ahead.after(line * length));
            let measured = Measured::of::<FUSED>(norm.centers, norm.eps, x, x_ahead);
            let to = to
                .as_deref_mut()
                .map(|to| &mut to[line * length..(line + 1) * length]);
            let means = |[plain, along]: [f64; 2]| {
                let plain = if norm.centers { plain } else { 0.0 };
                [plain, along].map(|sum| C::narrow(sum / count))
            };
            if terms.period == 1 {
                let start = (self.first + line) * length % terms.weight.len();
                let weight = &terms.weight[start..start + length];
                let sums = if terms.sums {
                    let (along, plain) = self.narrow.split_at_mut(terms.weight.len());
                    let narrow = [along, plain].map(|narrow| &mut narrow[start..start + length]);
                    sums_and_terms::<C, FUSED>(measured, [x, g, weight], narrow, g_ahead)
                } else {
                    let weigh = |g: C, i: usize| g.wrap::<FUSED>() * weight[i].wrap();
                    sums_of_two::<C, FUSED>(measured, [x, g], weigh, g_ahead)
                };
                if let Some(to) = to {
                    let means = means(sums);
                    for (((to, x), g), weight) in to.iter_mut().zip(x).zip(g).zip(weight) {
                        let weighed = g.wrap::<FUSED>() * weight.wrap();
                        *to = back(measured, *x, weighed, means);
                    }
                }
                continue;
            }
            let start = (self.first + line) * length / terms.period;
            let pieces = || {
                x.chunks(terms.period)
                    .zip(g.chunks(terms.period))
                    .enumerate()
            };
            let mut sums = [0.0; 2];
            for (place, (x, g)) in pieces() {
                let term = (start + place) % terms.weight.len();
                let ahead = g_ahead.after(place * terms.period);
                let of_piece =
                    sums_of_two::<C, FUSED>(measured, [x, g], |g, _| g.wrap::<FUSED>(), ahead);
                let weight = terms.weight[term].widen();
                for (sum, of_piece) in sums.iter_mut().zip(of_piece) {
                    *sum += weight * of_piece;
                }
                if terms.sums {
                    self.totals[term] += of_piece[1];
                    self.totals[terms.weight.len() + term] += of_piece[0];
                }
            }
            let Some(to) = to else { continue };
            let means = means(sums);
            for ((place, (x, g)), to) in pieces().zip(to.chunks_mut(terms.period)) {
                let weight = terms.weight[(start + place) % terms.weight.len()];
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

/// The same, and each element's part in the gradients of its weight and bias added to `narrow`.
#[inline(always)]
fn sums_and_terms<C: Accumulator, const FUSED: bool>(
    measured: Measured<C>,
    [x, g, weight]: [&[C]; 3],
    [of_weight, of_bias]: [&mut [C]; 2],
    ahead: Ahead<'_>,
) -> [f64; 2] {
    let mut totals = [0.0; 2];
    let parts = x
        .chunks(ADDED)
        .zip(g.chunks(ADDED))
        .zip(weight.chunks(ADDED));
    let sums = of_weight.chunks_mut(ADDED).zip(of_bias.chunks_mut(ADDED));
    for (part, (((x, g), weight), (of_weight, of_bias))) in parts.zip(sums).enumerate() {
        let (mut plain, mut along) = ([C::ZERO; FEW], [C::ZERO; FEW]);
        let ((xs, x_rest), (gs, g_rest)) = (x.as_chunks::<FEW>(), g.as_chunks::<FEW>());
        let (weights, weight_rest) = weight.as_chunks::<FEW>();
        let (of_weights, of_weight_rest) = of_weight.as_chunks_mut::<FEW>();
        let (of_biases, of_bias_rest) = of_bias.as_chunks_mut::<FEW>();
        let blocks = xs
            .iter()
            .zip(gs)
            .zip(weights)
            .zip(of_weights)
            .zip(of_biases);
        for (block, ((((x, g), weight), of_weight), of_bias)) in blocks.enumerate() {
            ahead.fetch(part * ADDED + block * FEW, FEW);
            for i in 0..FEW {
                let (gradient, normal) = (g[i].wrap::<FUSED>(), measured.normal::<FUSED>(x[i]));
                let weighed = gradient * weight[i].wrap();
                plain[i] = C::unwrap(plain[i].wrap::<FUSED>() + weighed);
                along[i] = C::unwrap(along[i].wrap::<FUSED>() + weighed * normal);
                of_weight[i] = C::unwrap(of_weight[i].wrap::<FUSED>() + gradient * normal);
                of_bias[i] = C::unwrap(of_bias[i].wrap::<FUSED>() + gradient);
            }
        }
        let (mut last_plain, mut last_along) = ([C::ZERO; FEW], [C::ZERO; FEW]);
        let rests = x_rest.iter().zip(g_rest).zip(weight_rest);
        let sums = of_weight_rest.iter_mut().zip(of_bias_rest);
        for (i, (((x, g), weight), (of_weight, of_bias))) in rests.zip(sums).enumerate() {
            let (gradient, normal) = (g.wrap::<FUSED>(), measured.normal::<FUSED>(*x));
            let weighed = gradient * weight.wrap();
            last_plain[i % FEW] = C::unwrap(weighed);
            last_along[i % FEW] = C::unwrap(weighed * normal);
            *of_weight = C::unwrap(of_weight.wrap::<FUSED>() + gradient * normal);
            *of_bias = C::unwrap(of_bias.wrap::<FUSED>() + gradient);
        }
        totals[0] += join_few::<C, FUSED>(plain, last_plain);
        totals[1] += join_few::<C, FUSED>(along, last_along);
    }
    totals
}
