//! Several lines at a time, one look at all of them after the other: what a sum waits for is hidden
//! behind the lines that follow. Sums are those of 32 lanes over 1024 elements, joined in float64.

use bytemuck::Pod;

use super::super::fused::block::{Load, Store};
use super::{Accumulator, LANES};

/// Lanes of sums: half as many as elsewhere, since two slices are read and two sums formed.
pub(crate) const FEW: usize = LANES / 2;
/// Elements that lanes add up before they are joined in float64.
const ADDED: usize = 1024;
/// The most lines that are worked on together.
pub(crate) const TOGETHER: usize = 32;
/// Lines whose lanes are added up together.
const BATCH: usize = 8;
/// Elements of such lines: those of two slices stay in the first-level cache.
const GROUP: usize = 2048;

/// How many lines of a length are worked on together.
pub(crate) fn lines_together(length: usize) -> usize {
    (GROUP / length).clamp(1, TOGETHER)
}

/// What is made of blocks of two slices. A trait and no closure: those are shared by the levels, and what
/// is not inlined is compiled for the baseline.
pub(crate) trait OfBlocks<C: Accumulator, S: Load<C>, const N: usize> {
    /// What is made of a block of some line, from a place in it on.
    fn make<const FUSED: bool>(
        &self,
        at: [usize; 2],
        x: &[S::Code; FEW],
        y: &[S::Code; FEW],
    ) -> [[C; FEW]; N];
}

/// Sums over each of some lines. What is made of filling does not count.
#[inline(always)]
pub(crate) fn sums_of_lines<C, S, const FUSED: bool, const N: usize>(
    length: usize,
    [x, y]: [&[S::Code]; 2],
    terms: &impl OfBlocks<C, S, N>,
) -> [[f64; TOGETHER]; N]
where
    C: Accumulator,
    S: Load<C>,
{
    let mut totals = [[0.0; TOGETHER]; N];
    let mut lanes = [[[C::ZERO; FEW]; N]; BATCH];
    for start in (0..length).step_by(ADDED) {
        let end = length.min(start + ADDED);
        let batches = x.chunks(BATCH * length).zip(y.chunks(BATCH * length));
        for (batch, (x, y)) in batches.enumerate() {
            let first = batch * BATCH;
            let lines = x.chunks_exact(length).zip(y.chunks_exact(length));
            for ((line, (x, y)), lanes) in lines.enumerate().zip(&mut lanes) {
                let ((x, x_rest), (y, y_rest)) =
                    (x[start..end].as_chunks(), y[start..end].as_chunks());
                let (line, mut place) = (first + line, start);
                let mut sums = [[C::ZERO; FEW]; N];
                for (x, y) in x.iter().zip(y) {
                    let terms = terms.make::<FUSED>([line, place], x, y);
                    add::<C, FUSED, N>(&mut sums, &terms);
                    place += FEW;
                }
                if !x_rest.is_empty() {
                    let (x, y) = (filled(x_rest), filled(y_rest));
                    let mut terms = terms.make::<FUSED>([line, place], &x, &y);
                    for terms in &mut terms {
                        for (i, term) in terms.iter_mut().enumerate() {
                            *term = if i < x_rest.len() { *term } else { C::ZERO };
                        }
                    }
                    add::<C, FUSED, N>(&mut sums, &terms);
                }
                // Through memory: the compiler takes a sum within vectors apart into single numbers.
                *lanes = sums;
            }
            let count = x.len() / length;
            for n in 0..N {
                let totals = totals[n][first..].iter_mut().take(count);
                for (total, lanes) in totals.zip(&lanes) {
                    *total += C::sum_of_lanes(&lanes[n]).widen();
                }
            }
        }
    }
    totals
}

#[inline(always)]
fn add<C: Accumulator, const FUSED: bool, const N: usize>(
    sums: &mut [[C; FEW]; N],
    terms: &[[C; FEW]; N],
) {
    for (sums, terms) in sums.iter_mut().zip(terms) {
        for (sum, term) in sums.iter_mut().zip(terms) {
            *sum = C::unwrap(sum.wrap::<FUSED>() + term.wrap());
        }
    }
}

/// Writes what is made of each block of some lines.
#[inline(always)]
pub(crate) fn map_lines<C, S, const FUSED: bool>(
    length: usize,
    [x, y]: [&[S::Code]; 2],
    to: &mut [S::Code],
    made: &impl OfBlocks<C, S, 1>,
) where
    C: Accumulator,
    S: Store<C>,
{
    let lines = x.chunks_exact(length).zip(y.chunks_exact(length));
    for (line, ((x, y), to)) in lines.zip(to.chunks_exact_mut(length)).enumerate() {
        let ((x, x_rest), (y, y_rest)) = (x.as_chunks(), y.as_chunks());
        let (to, to_rest) = to.as_chunks_mut::<FEW>();
        let mut place = 0;
        for ((x, y), to) in x.iter().zip(y).zip(to) {
            let [values] = made.make::<FUSED>([line, place], x, y);
            *to = S::store(values);
            place += FEW;
        }
        if !x_rest.is_empty() {
            let (x, y) = (filled(x_rest), filled(y_rest));
            let [values] = made.make::<FUSED>([line, place], &x, &y);
            to_rest.copy_from_slice(&S::store(values)[..to_rest.len()]);
        }
    }
}

/// The end of a line, and after it zeros.
#[inline(always)]
fn filled<T: Pod>(rest: &[T]) -> [T; FEW] {
    let mut block = [T::zeroed(); FEW];
    block[..rest.len()].copy_from_slice(rest);
    block
}
