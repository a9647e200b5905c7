//! Windows of images as columns, and columns added up to images: `unfold` and `fold` of
//! `nn.functional`.

use allotrope_cpu::kernel::{Windows, add_windows};
use allotrope_dtype::{Error, Problem};
use allotrope_op::structured::movement::{FOLD, UNFOLD};
use allotrope_op::{Dims, Layout, Piece, Shape};
use smallvec::smallvec;

use super::pieces::put_together;
use crate::Tensor;
use crate::autograd::is_recorded;
use crate::call;
use crate::elementwise::room;

/// How windows move over an image; each pair is for rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// The size of a window.
    pub kernel: [usize; 2],
    /// The distance between elements of a window.
    pub dilation: [usize; 2],
    /// Zeros around the image.
    pub padding: [usize; 2],
    /// The distance between windows.
    pub stride: [usize; 2],
}

/// Windows of one element, side by side.
impl Default for Blocks {
    fn default() -> Self {
        Self {
            kernel: [1; 2],
            dilation: [1; 2],
            padding: [0; 2],
            stride: [1; 2],
        }
    }
}

impl Blocks {
    /// The windows along both dimensions of an image.
    fn over(&self, op: &'static str, sizes: [usize; 2]) -> Result<[Windows; 2], Error> {
        let along = |i: usize| {
            let (kernel, dilation, stride) = (self.kernel[i], self.dilation[i], self.stride[i]);
            let padding = self.padding[i];
            let reach = kernel
                .checked_sub(1)
                .and_then(|last| last.checked_mul(dilation));
            let available = padding
                .checked_mul(2)
                .and_then(|pad| pad.checked_add(sizes[i]));
            let (size, available) = (
                reach.map_or(usize::MAX, |r| r.saturating_add(1)),
                available.unwrap_or(0),
            );
            if kernel == 0
                || dilation == 0
                || stride == 0
                || size > available
                || available > isize::MAX as usize
            {
                let (size, step) = (if kernel == 0 { 0 } else { size }, stride.min(dilation));
                return Err(Error::new(
                    op,
                    Problem::BadWindow {
                        size,
                        step,
                        available,
                    },
                ));
            }
            let count = (available - size) / stride + 1;
            Ok(Windows {
                size: sizes[i],
                kernel,
                dilation,
                padding,
                stride,
                count,
            })
        };
        Ok([along(0)?, along(1)?])
    }
}

impl Tensor {
    /// The windows of images `[N, C, H, W]` or `[C, H, W]` as columns: `[N, C * kernel, windows]`,
    /// both in row-major order.
    ///
    /// # Errors
    /// A value error for other numbers of dimensions and for windows that do not fit, a memory error.
    pub fn unfold_windows(&self, blocks: Blocks) -> Result<Self, Error> {
        let op = "unfold";
        let dtype = call::result_dtype(&UNFOLD, self.dtype())?;
        if is_recorded(&[self]) {
            let columns = self.detach().unfold_windows(blocks)?;
            let sizes =
                [-2, -1].map(|dim: isize| self.shape()[(self.rank() as isize + dim) as usize]);
            return columns.with_rule(op, &[self], move |pass| {
                Ok(smallvec![Some(
                    pass.gradient()?.fold_windows(sizes, blocks)?
                )])
            });
        }
        let images = with_batch(op, self, 3)?;
        let (shape, strides) = (images.shape(), images.layout().strides());
        let [rows, columns] = blocks.over(op, [shape[2], shape[3]])?;
        let sizes = [
            shape[0],
            shape[1],
            rows.kernel,
            columns.kernel,
            rows.count,
            columns.count,
        ];
        let whole = Shape::new(op, &sizes)?;
        let zero = Self::zeros(&[], dtype)?.beside(self)?;
        let mut pieces = Vec::new();
        for k in 0..rows.kernel {
            for l in 0..columns.kernel {
                let (down, right) = (rows.inside(k), columns.inside(l));
                let mut add =
                    |memory, strides: [isize; 6], offset, [r, c]: [std::ops::Range<usize>; 2]| {
                        if r.is_empty() || c.is_empty() {
                            return Ok(());
                        }
                        let sizes = [shape[0], shape[1], 1, 1, r.len(), c.len()];
                        pieces.push(Piece {
                            memory,
                            dtype,
                            layout: Layout::from_parts(
                                Shape::new(op, &sizes)?,
                                Dims::from_slice(&strides),
                                offset,
                            ),
                            start: Dims::from_slice(&[0, 0, k, l, r.start, c.start]),
                        });
                        Ok::<(), Error>(())
                    };
                let nothing = |r, c| [r, c];
                if !down.is_empty() && !right.is_empty() {
                    let row = down.start * rows.stride + k * rows.dilation - rows.padding;
                    let column =
                        right.start * columns.stride + l * columns.dilation - columns.padding;
                    let offset = images.layout().offset() as isize
                        + row as isize * strides[2]
                        + column as isize * strides[3];
                    let steps = [
                        strides[0],
                        strides[1],
                        0,
                        0,
                        rows.stride as isize * strides[2],
                        columns.stride as isize * strides[3],
                    ];
                    add(
                        images.view_of().memory,
                        steps,
                        offset as usize,
                        [down.clone(), right.clone()],
                    )?;
                }
                // What is beyond the image: above, below, and on both sides.
                for part in [
                    nothing(0..down.start, 0..columns.count),
                    nothing(down.end..rows.count, 0..columns.count),
                    nothing(down.clone(), 0..right.start),
                    nothing(down.clone(), right.end..columns.count),
                ] {
                    add(zero.view_of().memory, [0; 6], 0, part)?;
                }
            }
        }
        let result = put_together(op, whole, &images, &pieces)?;
        let sizes = [
            shape[0],
            shape[1] * rows.kernel * columns.kernel,
            rows.count * columns.count,
        ];
        let result = result.with_layout(Layout::contiguous(Shape::new(op, &sizes)?));
        if self.rank() == 3 {
            result.select(0, 0)
        } else {
            Ok(result)
        }
    }

    /// Images of `sizes` of which each place is the sum of what windows have there: the reverse of
    /// [`unfold_windows`](Self::unfold_windows), from `[N, C * kernel, windows]` or
    /// `[C * kernel, windows]`. Narrow floats are added in float32, integers wrap.
    ///
    /// # Errors
    /// A value error for other numbers of dimensions, for windows that do not fit, and for another
    /// number of rows or columns than they have; a memory error.
    pub fn fold_windows(&self, sizes: [usize; 2], blocks: Blocks) -> Result<Self, Error> {
        let op = "fold";
        let dtype = call::result_dtype(&FOLD, self.dtype())?;
        if is_recorded(&[self]) {
            let images = self.detach().fold_windows(sizes, blocks)?;
            return images.with_rule(op, &[self], move |pass| {
                Ok(smallvec![Some(pass.gradient()?.unfold_windows(blocks)?)])
            });
        }
        let columns_of = with_batch(op, self, 2)?.contiguous()?;
        let [rows, columns] = blocks.over(op, sizes)?;
        let (batch, given) = (columns_of.shape()[0], columns_of.shape()[1]);
        let of = rows.kernel.saturating_mul(columns.kernel);
        if !given.is_multiple_of(of) {
            let what = "the number of rows";
            return Err(Error::new(op, Problem::NotMultiple { what, given, of }));
        }
        let (from, to) = (
            columns_of.shape()[2],
            rows.count.saturating_mul(columns.count),
        );
        if from != to {
            return Err(Error::new(op, Problem::LengthMismatch { from, to }));
        }
        let shape = Shape::new(op, &[batch, given / of, sizes[0], sizes[1]])?;
        let mut buffer = room(op, &shape, dtype)?;
        let bytes = columns_of.ordered_bytes(op)?;
        add_windows(dtype, bytes, rows, columns, &mut buffer)?;
        let images = Self::from_buffer(buffer, shape, dtype);
        if self.rank() == 2 {
            images.select(0, 0)
        } else {
            Ok(images)
        }
    }
}

/// A tensor of one dimension more than `rank`, of which the first may be missing.
fn with_batch(op: &'static str, x: &Tensor, rank: usize) -> Result<Tensor, Error> {
    let given = x.rank();
    match given {
        _ if given == rank => x.unsqueeze(0),
        _ if given == rank + 1 => Ok(x.clone()),
        _ if given < rank => Err(Error::new(
            op,
            Problem::TooFewDimensions { given, least: rank },
        )),
        _ => Err(Error::new(
            op,
            Problem::TooManyDimensions {
                given,
                most: rank + 1,
            },
        )),
    }
}
