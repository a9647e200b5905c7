//! Sums along a line, in lanes.

use super::{Accumulator, Ahead, LANES};

/// Elements that lanes add up before they are joined in float64.
pub(crate) const ADDED: usize = 2048;

/// Sums of what is made of each element, in one pass: lanes add up some, float64 joins them.
#[inline(always)]
pub(crate) fn sums<C: Accumulator, const FUSED: bool, const N: usize>(
    values: &[C],
    ahead: Ahead<'_>,
    terms: impl Fn(C::Lane<FUSED>) -> [C::Lane<FUSED>; N],
) -> [f64; N] {
    let mut totals = [0.0; N];
    for (part, values) in values.chunks(ADDED).enumerate() {
        let ahead = ahead.after(part * ADDED);
        let mut lanes = [[C::ZERO; LANES]; N];
        let (whole, rest) = values.as_chunks::<LANES>();
        // Two at a time, so that lanes wait half as often for their own last store.
        let (twos, whole) = whole.as_chunks::<2>();
        for (place, [a, b]) in twos.iter().enumerate() {
            ahead.fetch(place * 2 * LANES, 2 * LANES);
            for i in 0..LANES {
                let (a, b) = (terms(a[i].wrap()), terms(b[i].wrap()));
                for n in 0..N {
                    lanes[n][i] = C::unwrap(lanes[n][i].wrap::<FUSED>() + a[n] + b[n]);
                }
            }
        }
        for values in whole {
            for i in 0..LANES {
                let term = terms(values[i].wrap());
                for n in 0..N {
                    lanes[n][i] = C::unwrap(lanes[n][i].wrap::<FUSED>() + term[n]);
                }
            }
        }
        if rest.is_empty() {
            let add = |a: C, b: C| C::unwrap(a.wrap::<FUSED>() + b.wrap());
            for n in 0..N {
                totals[n] += fold(lanes[n], add).widen();
            }
            continue;
        }
        let mut last = [[C::ZERO; LANES]; N];
        for (i, value) in rest.iter().enumerate() {
            let term = terms(value.wrap());
            for n in 0..N {
                last[n][i % LANES] = C::unwrap(term[n]);
            }
        }
        for n in 0..N {
            totals[n] += join::<C, FUSED>(lanes[n], last[n]);
        }
    }
    totals
}

/// Lanes and what is left for each added up in pairs.
#[inline(always)]
pub(crate) fn join<C: Accumulator, const FUSED: bool>(lanes: [C; LANES], last: [C; LANES]) -> f64 {
    let add = |a: C, b: C| C::unwrap(a.wrap::<FUSED>() + b.wrap());
    let mut all = lanes;
    for (lane, last) in all.iter_mut().zip(last) {
        *lane = add(*lane, last);
    }
    fold(all, add).widen()
}

/// The same of half as many lanes.
#[inline(always)]
pub(crate) fn join_few<C: Accumulator, const FUSED: bool>(
    lanes: [C; LANES / 2],
    last: [C; LANES / 2],
) -> f64 {
    let add = |a: C, b: C| C::unwrap(a.wrap::<FUSED>() + b.wrap());
    let mut all = lanes;
    for (lane, last) in all.iter_mut().zip(last) {
        *lane = add(*lane, last);
    }
    fold_half(all, add).widen()
}

/// Lanes made one in pairs: the first half with the second, and so on.
#[inline(always)]
pub(crate) fn fold<C: Copy>(lanes: [C; LANES], join: impl Fn(C, C) -> C) -> C {
    let mut half = [lanes[0]; LANES / 2];
    for (place, lane) in half.iter_mut().enumerate() {
        *lane = join(lanes[place], lanes[place + LANES / 2]);
    }
    fold_half(half, join)
}

/// The same of half as many.
#[inline(always)]
pub(crate) fn fold_half<C: Copy>(lanes: [C; LANES / 2], join: impl Fn(C, C) -> C) -> C {
    /// One half with the other: a loop of its own, whose places are constants once unrolled.
    macro_rules! halve {
        ($lanes:ident, $half:literal) => {{
            let mut half = [$lanes[0]; $half];
            for (place, lane) in half.iter_mut().enumerate() {
                *lane = join($lanes[place], $lanes[place + $half]);
            }
            half
        }};
    }
    let lanes = halve!(lanes, 16);
    let lanes = halve!(lanes, 8);
    let [a, b, c, d] = halve!(lanes, 4);
    join(join(a, c), join(b, d))
}
