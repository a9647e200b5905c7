//! The range of indices, and negative ones counted from the end.

use allotrope_dtype::Level;
use allotrope_op::Layout;

use crate::parallel::{self, CHUNK};
use crate::simd::{self, Body};

/// An index for every element of a shape: all are at least zero and below the size they index.
#[derive(Clone, Copy)]
pub(crate) struct Places<'a> {
    /// The indices.
    pub(crate) indices: &'a [i64],
    /// Which of them each element has.
    pub(crate) layout: &'a Layout,
}

/// As many parts at the most: what is found in each is listed.
const PARTS: usize = 1024;

/// The least and the greatest index; `None` if there are none.
#[must_use]
pub(crate) fn index_range(indices: &[i64]) -> Option<(i64, i64)> {
    let level = Level::current();
    let range = |indices: &[i64]| simd::run(level, Range { indices });
    let join = |a: (i64, i64), b: (i64, i64)| (a.0.min(b.0), a.1.max(b.1));
    if indices.is_empty() {
        None
    } else if indices.len() <= CHUNK {
        Some(range(indices))
    } else {
        let part = indices.len().div_ceil(PARTS).max(CHUNK);
        let ranges = parallel::map(indices.len().div_ceil(part), |number| {
            range(&indices[number * part..indices.len().min((number + 1) * part)])
        });
        ranges.into_iter().reduce(join)
    }
}

/// The least and the greatest: the baseline does not compare int64 in vectors.
struct Range<'a> {
    indices: &'a [i64],
}

impl Body for Range<'_> {
    type Output = (i64, i64);
    #[inline(always)]
    fn run<const FUSED: bool>(self) -> (i64, i64) {
        let (mut low, mut high) = (i64::MAX, i64::MIN);
        for index in self.indices {
            low = low.min(*index);
            high = high.max(*index);
        }
        (low, high)
    }
}

/// The indices with `size` added to those below zero.
pub(crate) fn wrap_negative(indices: &[i64], size: i64, out: &mut [i64]) {
    parallel::for_each_chunk(out, |first, chunk| {
        for (out, index) in chunk.iter_mut().zip(&indices[first..]) {
            *out = if *index < 0 { *index + size } else { *index };
        }
    });
}

/// Adds `size` to the indices below zero.
pub(crate) fn wrap_in_place(indices: &mut [i64], size: i64) {
    parallel::for_each_chunk(indices, |_, chunk| {
        for index in chunk {
            *index += if *index < 0 { size } else { 0 };
        }
    });
}
