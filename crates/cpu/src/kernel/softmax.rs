//! Lines of exponentials that add up to one.
//!
//! Exponentials have 18 bits where results have at most 16. `log_softmax` takes full ones for all
//! but 8-bit results: their errors are not small beside logarithms near zero.

use crate::memory::try_vec;
use std::marker::PhantomData;

use allotrope_dtype::{DType, Error, Level};
use allotrope_op::elementary::Elementary;
use allotrope_op::task::rowwise::Softmax;
use bytemuck::Zeroable;

use super::fused::block::{Itself, Load, Store};
use super::rowwise::{
    ADDED, Accumulator, Ahead, HalfLines, LANES, LineInput, Lines, TOGETHER, fill_up, fold,
    for_each_line, for_each_line_or_half, join, lines_together,
};
use crate::simd::{self, Body};

/// The softmax of every line, as `dtype`.
///
/// # Errors
/// A memory error.
pub(crate) fn softmax(
    kind: Softmax,
    from: LineInput<'_>,
    dtype: DType,
    out: &mut [u8],
) -> Result<(), Error> {
    let lines = Exponentials {
        kind,
        // Beside logarithms near zero their errors are small in 8 bits only.
        is_rough: dtype.bits()
            <= match kind {
                Softmax::Softmax => 16,
                Softmax::LogSoftmax => 8,
            },
    };
    match from.program.output_dtypes().next() {
        Some(DType::F64) => for_each_line::<f64>(from, &lines, dtype, out),
        _ => for_each_line_or_half(from, &lines, dtype, out),
    }
}

/// How lines are worked on.
#[derive(Clone, Copy)]
struct Exponentials {
    kind: Softmax,
    /// Whether exponentials may be those for results of 16 bits.
    is_rough: bool,
}

impl Exponentials {
    /// The same, known to be false where there are no others, or none that are worth their room.
    #[inline(always)]
    fn is_rough<C: Accumulator, const FUSED: bool>(self) -> bool {
        C::DTYPE == DType::F32 && FUSED && self.is_rough
    }
}

impl<C: Accumulator> Lines<C> for Exponentials {
    fn lines(
        &self,
        level: Level,
        _first: usize,
        length: usize,
        from: &[C],
        to: &mut [C],
        ahead: Ahead<'_>,
    ) {
        let exponentials = *self;
        simd::run(
            level,
            Whole {
                exponentials,
                length,
                from,
                to,
                ahead,
            },
        );
    }

    fn block(&self, level: Level, width: usize, values: &mut [C]) -> Result<(), Error> {
        let exponentials = *self;
        simd::run(
            level,
            Block {
                exponentials,
                width,
                values,
            },
        );
        Ok(())
    }
}

impl HalfLines for Exponentials {
    fn halves<S: Store<f32, Code = u16>>(
        &self,
        level: Level,
        _first: usize,
        length: usize,
        from: &[u16],
        to: &mut [u16],
    ) -> Result<(), Error> {
        let kind = self.kind;
        let blocks = lines_together(length) * length.div_ceil(LANES);
        let mut values = try_vec("softmax", blocks, [0.0; LANES])?;
        let values = &mut values[..];
        match level {
            Level::Avx512(proof) => {
                proof.run(Halves::<S::WideStore>::new(kind, length, from, to, values))
            }
            Level::Avx2(proof) => proof.run(Halves::<S>::new(kind, length, from, to, values)),
            // The baseline has no such kernel.
            Level::Scalar => {}
        }
        Ok(())
    }
}

/// Whole lines of halves.
struct Halves<'a, S> {
    kind: Softmax,
    length: usize,
    from: &'a [u16],
    to: &'a mut [u16],
    /// Room for the lines that are worked on together.
    values: &'a mut [[f32; LANES]],
    coded: PhantomData<S>,
}

impl<'a, S> Halves<'a, S> {
    fn new(
        kind: Softmax,
        length: usize,
        from: &'a [u16],
        to: &'a mut [u16],
        values: &'a mut [[f32; LANES]],
    ) -> Self {
        Self {
            kind,
            length,
            from,
            to,
            values,
            coded: PhantomData,
        }
    }
}

impl<S: Store<f32, Code = u16>> Body for Halves<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let (length, kind) = (self.length, self.kind);
        let together = lines_together(length);
        // Lines of whole blocks, since the last one is written as such.
        let room = length.next_multiple_of(LANES);
        let groups = self.from.chunks(together * length);
        for (from, to) in groups.zip(self.to.chunks_mut(together * length)) {
            let (mut most, mut totals) = ([0.0; TOGETHER], [1.0; TOGETHER]);
            let rooms = self.values.as_flattened_mut().chunks_exact_mut(room);
            for (line, (from, values)) in from.chunks_exact(length).zip(rooms).enumerate() {
                let values = &mut values[..length];
                most[line] = greatest::<f32, S>(from);
                totals[line] = match kind {
                    Softmax::Softmax => {
                        exponentials::<f32, S, FUSED, true>(most[line], from, values, None)
                    }
                    Softmax::LogSoftmax => {
                        exponentials::<f32, S, FUSED, false>(most[line], from, values, None)
                    }
                };
            }
            let lasts = lasts::<f32, FUSED>(kind, totals, false);
            let lines = from.chunks_exact(length).zip(to.chunks_exact_mut(length));
            for (line, (from, to)) in lines.enumerate() {
                let ((to, to_rest), (from, rest)) = (to.as_chunks_mut(), from.as_chunks());
                let mut end = [0; LANES];
                let to = to.iter_mut().chain(std::iter::once(&mut end));
                let last = lasts[line];
                match kind {
                    Softmax::Softmax => {
                        let values = &self.values[line * room / LANES..];
                        for (values, to) in values.iter().zip(to).take(room / LANES) {
                            let mut shares = *values;
                            shares.iter_mut().for_each(|x| *x *= last);
                            *to = S::store(shares);
                        }
                    }
                    Softmax::LogSoftmax => {
                        let (rest, most) = (fill_up(rest, 0), most[line]);
                        let from = from.iter().chain(std::iter::once(&rest));
                        for (from, to) in from.zip(to) {
                            let mut values = S::load_in_vectors(from);
                            values.iter_mut().for_each(|x| *x = *x - most - last);
                            *to = S::store(values);
                        }
                    }
                }
                to_rest.copy_from_slice(&end[..to_rest.len()]);
            }
        }
    }
}

/// Whole lines.
struct Whole<'a, C> {
    exponentials: Exponentials,
    length: usize,
    from: &'a [C],
    to: &'a mut [C],
    ahead: Ahead<'a>,
}

impl<C: Accumulator> Body for Whole<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let (length, kind) = (self.length, self.exponentials.kind);
        let is_rough = self.exponentials.is_rough::<C, FUSED>();
        let together = lines_together(length) * length;
        let groups = self.from.chunks(together);
        for (group, (from, to)) in groups.zip(self.to.chunks_mut(together)).enumerate() {
            let (mut most, mut totals) = ([C::ZERO; TOGETHER], [1.0; TOGETHER]);
            let lines = from.chunks_exact(length).zip(to.chunks_exact_mut(length));
            for (line, (from, to)) in lines.enumerate() {
                let ahead = Some(self.ahead.after(group * together + line * length));
                most[line] = greatest::<C, Itself>(from);
                totals[line] = if is_rough {
                    exponentials::<C, Itself, FUSED, true>(most[line], from, to, ahead)
                } else {
                    exponentials::<C, Itself, FUSED, false>(most[line], from, to, ahead)
                };
            }
            let lasts = lasts::<C, FUSED>(kind, totals, is_rough);
            let lines = from.chunks_exact(length).zip(to.chunks_exact_mut(length));
            for (line, (from, to)) in lines.enumerate() {
                let last = lasts[line].wrap::<FUSED>();
                match kind {
                    Softmax::Softmax => {
                        for to in to {
                            *to = C::unwrap(to.wrap::<FUSED>() * last);
                        }
                    }
                    Softmax::LogSoftmax => {
                        let shift = most[line].wrap::<FUSED>();
                        for (to, from) in to.iter_mut().zip(from) {
                            *to = C::unwrap(from.wrap::<FUSED>() - shift - last);
                        }
                    }
                }
            }
        }
    }
}

/// What ends some lines, by the sums of their exponentials: the factor of shares, or what is taken from
/// logarithms.
#[inline(always)]
fn lasts<C: Accumulator, const FUSED: bool>(
    kind: Softmax,
    totals: [f64; TOGETHER],
    is_rough: bool,
) -> [C; TOGETHER] {
    let mut lasts = [C::ZERO; TOGETHER];
    match kind {
        Softmax::Softmax => {
            for (last, total) in lasts.iter_mut().zip(totals) {
                *last = C::narrow(1.0 / total);
            }
        }
        Softmax::LogSoftmax => {
            for (last, total) in lasts.iter_mut().zip(totals) {
                *last = C::narrow(log_of_total::<C, FUSED>(total, is_rough));
            }
        }
    }
    lasts
}

/// The logarithm of a sum of exponentials, the greatest of which is that of zero. The rough one of zero
/// is not quite one, which a logarithm near zero would show.
#[inline(always)]
fn log_of_total<C: Accumulator, const FUSED: bool>(total: f64, is_rough: bool) -> f64 {
    let greatest = if is_rough {
        C::unwrap(exp::<_, true>(C::ZERO.wrap::<FUSED>())).widen()
    } else {
        1.0
    };
    f64::unwrap((total / greatest).wrap::<FUSED>().log())
}

/// The greatest number. NaN is left out: it comes out of the exponentials.
#[inline(always)]
fn greatest<C: Accumulator, S: Load<C>>(codes: &[S::Code]) -> C {
    let greater = |a: C, b: C| if b > a { b } else { a };
    let mut lanes = [C::LEAST; LANES];
    let (whole, rest) = codes.as_chunks::<LANES>();
    // Four at a time: lanes that wait for their own last store take three times as long.
    let (fours, whole) = whole.as_chunks::<4>();
    for [a, b, c, d] in fours {
        let (a, b, c, d) = (
            S::load_in_vectors(a),
            S::load_in_vectors(b),
            S::load_in_vectors(c),
            S::load_in_vectors(d),
        );
        for (i, lane) in lanes.iter_mut().enumerate() {
            *lane = greater(greater(*lane, a[i]), greater(greater(b[i], c[i]), d[i]));
        }
    }
    for codes in whole {
        for (lane, value) in lanes.iter_mut().zip(S::load_in_vectors(codes)) {
            *lane = greater(*lane, value);
        }
    }
    let rest = load_rest::<C, S>(rest).into_iter().take(rest.len());
    greater(fold::<C>(lanes, greater), rest.fold(C::LEAST, greater))
}

/// What is left at the end of a line, and after it zeros.
#[inline(always)]
fn load_rest<C: Accumulator, S: Load<C>>(rest: &[S::Code]) -> [C; LANES] {
    S::load_in_vectors(&fill_up(rest, S::Code::zeroed()))
}

/// The exponential, or the one for results of 16 bits.
#[inline(always)]
pub(super) fn exp<L: Elementary, const ROUGH: bool>(x: L) -> L {
    if ROUGH { x.exp_rough() } else { x.exp() }
}

/// The same where it is a normal number.
#[inline(always)]
pub(super) fn exp_near<L: Elementary, const ROUGH: bool>(x: L) -> L {
    if ROUGH {
        x.exp_rough_near()
    } else {
        x.exp_near()
    }
}

/// The exponentials of the distances from the greatest, and their sum.
#[inline(always)]
fn exponentials<C: Accumulator, S: Load<C>, const FUSED: bool, const ROUGH: bool>(
    most: C,
    from: &[S::Code],
    to: &mut [C],
    ahead: Option<Ahead<'_>>,
) -> f64 {
    let shift = most.wrap::<FUSED>();
    let mut total = 0.0;
    let parts = from.chunks(ADDED).zip(to.chunks_mut(ADDED));
    for (part, (from, to)) in parts.enumerate() {
        let ahead = ahead.map(|ahead| ahead.after(part * ADDED));
        let mut lanes = [C::ZERO; LANES];
        let ((whole, rest), (to_whole, to_rest)) =
            (from.as_chunks::<LANES>(), to.as_chunks_mut::<LANES>());
        for (place, (from, to)) in whole.iter().zip(to_whole).enumerate() {
            match ahead {
                Some(ahead) => ahead.fetch(place * LANES, LANES),
                None => simd::prefetch(from),
            }
            let mut below = S::load_in_vectors(from);
            for below in &mut below {
                *below = C::unwrap(below.wrap::<FUSED>() - shift);
            }
            // False for NaN.
            let is_near = |near: bool, below: &C| near & (*below > C::EXP_LEAST);
            if below.iter().fold(true, is_near) {
                for (to, below) in to.iter_mut().zip(below) {
                    *to = C::unwrap(exp_near::<_, ROUGH>(below.wrap::<FUSED>()));
                }
            } else {
                for (to, below) in to.iter_mut().zip(below) {
                    *to = C::unwrap(exp::<_, ROUGH>(below.wrap::<FUSED>()));
                }
            }
            for (lane, to) in lanes.iter_mut().zip(to) {
                *lane = C::unwrap(lane.wrap::<FUSED>() + to.wrap());
            }
        }
        // Apart from the lanes, which stay in registers as long as no loop counts through them.
        let mut last = [C::ZERO; LANES];
        let rest = load_rest::<C, S>(rest);
        for ((from, to), last) in rest.iter().zip(to_rest).zip(&mut last) {
            let exponential = exp::<_, ROUGH>(from.wrap::<FUSED>() - shift);
            *to = C::unwrap(exponential);
            *last = C::unwrap(exponential);
        }
        total += join::<C, FUSED>(lanes, last);
    }
    total
}

/// Neighbouring lines, row by row.
struct Block<'a, C> {
    exponentials: Exponentials,
    width: usize,
    values: &'a mut [C],
}

impl<C: Accumulator> Body for Block<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        if self.exponentials.is_rough::<C, FUSED>() {
            self.work::<FUSED, true>();
        } else {
            self.work::<FUSED, false>();
        }
    }
}

impl<C: Accumulator> Block<'_, C> {
    #[inline(always)]
    fn work<const FUSED: bool, const ROUGH: bool>(self) {
        /// Rows that lanes add up before they are widened.
        const ROWS: usize = 128;
        let kind = self.exponentials.kind;
        let width = self.width;
        // bounded: blocks are `rows::WIDEST` lines wide at the most, here and below.
        let mut most = vec![C::LEAST; width];
        for row in self.values.chunks_exact(width) {
            for (most, value) in most.iter_mut().zip(row) {
                *most = if *value > *most { *value } else { *most };
            }
        }
        // bounded: as above.
        let mut totals = vec![0.0; width];
        let mut lanes = vec![C::ZERO; width];
        for rows in self.values.chunks_mut(width * ROWS) {
            for row in rows.chunks_exact_mut(width) {
                for ((value, most), lane) in row.iter_mut().zip(&most).zip(&mut lanes) {
                    let below = value.wrap::<FUSED>() - most.wrap();
                    let exponential = exp::<_, ROUGH>(below);
                    *lane = C::unwrap(lane.wrap::<FUSED>() + exponential);
                    *value = C::unwrap(match kind {
                        Softmax::Softmax => exponential,
                        Softmax::LogSoftmax => below,
                    });
                }
            }
            for (total, lane) in totals.iter_mut().zip(&mut lanes) {
                *total += std::mem::replace(lane, C::ZERO).widen();
            }
        }
        for (lane, total) in lanes.iter_mut().zip(&totals) {
            *lane = C::narrow(match kind {
                Softmax::Softmax => 1.0 / total,
                Softmax::LogSoftmax => log_of_total::<C, FUSED>(*total, ROUGH),
            });
        }
        for row in self.values.chunks_exact_mut(width) {
            for (value, last) in row.iter_mut().zip(&lanes) {
                let (value_lane, last) = (value.wrap::<FUSED>(), last.wrap());
                *value = C::unwrap(match kind {
                    Softmax::Softmax => value_lane * last,
                    Softmax::LogSoftmax => value_lane - last,
                });
            }
        }
    }
}
