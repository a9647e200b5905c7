//! Windows of images as columns, and columns added up to images: `unfold` and `fold` of
//! `nn.functional`.

use allotrope_dtype::{Error, Problem};
use allotrope_op::structured::movement::{FOLD, UNFOLD};
use allotrope_op::task::window::Window;
use allotrope_op::task::{Axis, Task};
use allotrope_op::{Dims, Layout, Piece, Shape};
use smallvec::smallvec;

use super::pieces::put_together;
use crate::Tensor;
use crate::autograd::{Pass, differentiable};
use crate::call::Call;
use crate::device::perform_one;

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
    fn over(&self, op: &'static str, sizes: [usize; 2]) -> Result<[Axis; 2], Error> {
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
            Ok(Axis {
                padding,
                dilation,
                ..Axis::sliding(sizes[i], kernel, stride, count)
            })
        };
        Ok([along(0)?, along(1)?])
    }
}

impl Tensor {
    /// The windows of images `[N, C, H, W]` or `[C, H, W]` as columns: `[N, C * kernel, windows]`,
    /// both in row-major order.
    ///
    /// ```
    /// use allotrope_tensor::{Blocks, DType, Tensor};
    /// let x = Tensor::ones((1, 3, 4, 4), DType::F32)?;
    /// let blocks = Blocks { kernel: [2, 2], stride: [2, 2], ..Default::default() };
    /// assert_eq!(x.unfold_windows(blocks)?.shape(), [1, 12, 4]);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for other numbers of dimensions and for windows that do not fit, a memory error.
    pub fn unfold_windows(&self, blocks: Blocks) -> Result<Self, Error> {
        let op = "unfold";
        let dtype = Call::begin(&UNFOLD, &[self])?.result;
        let columns = im2col(op, &with_batch(op, &self.to(dtype)?, 3)?, blocks)?;
        if self.rank() == 3 {
            columns.select(0, 0)
        } else {
            Ok(columns)
        }
    }

    /// Images of `sizes` of which each place is the sum of what windows have there: the reverse of
    /// [`unfold_windows`](Self::unfold_windows), from `[N, C * kernel, windows]` or
    /// `[C * kernel, windows]`. Narrow floats are added in float32, integers wrap.
    ///
    /// ```
    /// use allotrope_tensor::{Blocks, DType, Tensor};
    /// let x = Tensor::ones((1, 12, 4), DType::F32)?;
    /// let blocks = Blocks { kernel: [2, 2], stride: [2, 2], ..Default::default() };
    /// assert_eq!(x.fold_windows([4, 4], blocks)?.shape(), [1, 3, 4, 4]);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for other numbers of dimensions, for windows that do not fit, and for another
    /// number of rows or columns than they have; a memory error.
    pub fn fold_windows(&self, sizes: [usize; 2], blocks: Blocks) -> Result<Self, Error> {
        let op = "fold";
        let dtype = Call::begin(&FOLD, &[self])?.result;
        let images = col2im(op, &with_batch(op, &self.to(dtype)?, 2)?, sizes, blocks)?;
        if self.rank() == 2 {
            images.select(0, 0)
        } else {
            Ok(images)
        }
    }
}

/// The windows of images `[N, C, H, W]` as columns.
fn im2col(op: &'static str, images: &Tensor, blocks: Blocks) -> Result<Tensor, Error> {
    differentiable(
        op,
        [images],
        |[images]| gather_windows(op, images, blocks),
        |_| {
            let sizes = [images.shape()[2], images.shape()[3]];
            move |pass: &Pass<'_>| {
                let gradient = col2im(op, &pass.gradient()?, sizes, blocks)?;
                Ok(smallvec![Some(gradient)])
            }
        },
    )
}

/// Columns `[N, C * kernel, windows]` added up to images.
fn col2im(
    op: &'static str,
    columns: &Tensor,
    sizes: [usize; 2],
    blocks: Blocks,
) -> Result<Tensor, Error> {
    differentiable(
        op,
        [columns],
        |[columns]| add_windows(op, columns, sizes, blocks),
        |_| {
            move |pass: &Pass<'_>| {
                let gradient = im2col(op, &pass.gradient()?, blocks)?;
                Ok(smallvec![Some(gradient)])
            }
        },
    )
}

/// [`im2col`] without a record: each tap of all windows is a piece, and so is what lies beyond.
fn gather_windows(op: &'static str, images: &Tensor, blocks: Blocks) -> Result<Tensor, Error> {
    let (dtype, shape, strides) = (images.dtype(), images.shape(), images.layout().strides());
    let [rows, columns] = blocks.over(op, [shape[2], shape[3]])?;
    let sizes = [
        shape[0],
        shape[1],
        rows.kernel,
        columns.kernel,
        rows.output,
        columns.output,
    ];
    let whole = Shape::new(op, &sizes)?;
    let zero = images.new_zeros(&[], dtype)?;
    let mut pieces = Vec::new();
    for k in 0..rows.kernel {
        for l in 0..columns.kernel {
            let (down, right) = (rows.outputs_of(k), columns.outputs_of(l));
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
            if !down.is_empty() && !right.is_empty() {
                let row = rows.place(down.start, k) as isize;
                let column = columns.place(right.start, l) as isize;
                let offset =
                    images.layout().offset() as isize + row * strides[2] + column * strides[3];
                let steps = [
                    strides[0],
                    strides[1],
                    0,
                    0,
                    rows.stride as isize * strides[2],
                    columns.stride as isize * strides[3],
                ];
                let inside = [down.clone(), right.clone()];
                add(images.view_of().memory, steps, offset as usize, inside)?;
            }
            // What is beyond the image: above, below, and on both sides.
            for part in [
                [0..down.start, 0..columns.output],
                [down.end..rows.output, 0..columns.output],
                [down.clone(), 0..right.start],
                [down.clone(), right.end..columns.output],
            ] {
                add(zero.view_of().memory, [0; 6], 0, part)?;
            }
        }
    }
    let result = put_together(op, whole, images, &pieces)?;
    let sizes = [
        shape[0],
        shape[1] * rows.kernel * columns.kernel,
        rows.output * columns.output,
    ];
    Ok(result.with_layout(Layout::contiguous(Shape::new(op, &sizes)?)))
}

/// [`col2im`] without a record.
fn add_windows(
    op: &'static str,
    columns_of: &Tensor,
    sizes: [usize; 2],
    blocks: Blocks,
) -> Result<Tensor, Error> {
    let columns_of = columns_of.contiguous()?;
    let axes = blocks.over(op, sizes)?;
    let [rows, columns] = &axes;
    let (batch, given) = (columns_of.shape()[0], columns_of.shape()[1]);
    let of = rows.kernel.saturating_mul(columns.kernel);
    if !given.is_multiple_of(of) {
        let what = "the number of rows";
        return Err(Error::new(op, Problem::NotMultiple { what, given, of }));
    }
    let (from, to) = (
        columns_of.shape()[2],
        rows.output.saturating_mul(columns.output),
    );
    if from != to {
        return Err(Error::new(op, Problem::LengthMismatch { from, to }));
    }
    let shape = Shape::new(op, &[batch, given / of, sizes[0], sizes[1]])?;
    let task = Task::Window(Window::Fold { axes });
    perform_one(op, &task, &[&columns_of], columns_of.dtype(), &shape)
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
