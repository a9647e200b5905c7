//! Parts of a shape, which a large tensor is changed by.

use allotrope_dtype::Error;
use allotrope_op::{Layout, Shape, Slice};
use smallvec::SmallVec;

/// Elements that are computed and written at a time where a large tensor is changed in place: enough
/// for threads to be worth their while.
pub(super) const PIECE: usize = 1 << 20;

/// Part of a shape: a range of each dimension.
pub(super) struct Piece(SmallVec<[(usize, usize); 6]>);

impl Piece {
    /// Pieces that make up a shape, in row-major order.
    pub(super) fn all(shape: &Shape) -> impl Iterator<Item = Self> {
        let sizes: SmallVec<[usize; 6]> = shape.iter().copied().collect();
        // Dimensions before this one are taken index by index, those behind it whole.
        let inner = |dim: usize| sizes[dim + 1..].iter().product::<usize>().max(1);
        let split = (0..sizes.len())
            .find(|dim| inner(*dim) <= PIECE)
            .unwrap_or(0);
        let rows = sizes.get(split).copied().unwrap_or(1);
        let at_once = (PIECE
            / sizes
                .get(split + 1..)
                .map_or(1, |s| s.iter().product::<usize>().max(1)))
        .max(1);
        let chunks = rows.div_ceil(at_once);
        let outer: usize = sizes[..split.min(sizes.len())].iter().product();
        (0..outer * chunks).map(move |number| {
            let (mut rest, chunk) = (number / chunks, number % chunks);
            let mut ranges: SmallVec<[(usize, usize); 6]> =
                sizes.iter().map(|size| (0, *size)).collect();
            if let Some(range) = ranges.get_mut(split) {
                *range = (chunk * at_once, ((chunk + 1) * at_once).min(rows));
            }
            for dim in (0..split).rev() {
                ranges[dim] = (rest % sizes[dim], rest % sizes[dim] + 1);
                rest /= sizes[dim];
            }
            Self(ranges)
        })
    }

    /// This part of a layout.
    pub(super) fn of(&self, op: &'static str, layout: &Layout) -> Result<Layout, Error> {
        let mut ranges = self.0.iter().enumerate();
        ranges.try_fold(layout.clone(), |layout, (dim, (start, stop))| {
            let slice = Slice {
                start: Some(*start as isize),
                stop: Some(*stop as isize),
                step: 1,
            };
            layout.slice(op, dim as isize, slice)
        })
    }
}
