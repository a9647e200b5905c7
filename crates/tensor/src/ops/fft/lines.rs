//! A transform's lines laid out for the kernel: cut or padded, in the working dtype, the
//! transformed dimension last.

use crate::host::Buffer;
use crate::host::memory::try_collect;
use allotrope_cpu::kernel::copy_into;
use allotrope_cpu::kernel::fourier::{Direction, transform, transform_real, transform_to_real};
use allotrope_dtype::{DType, Error, Problem};
use allotrope_op::{Dims, Layout, Shape, Slice, normalize_axis};
use smallvec::smallvec;

use crate::Tensor;
use crate::autograd::is_recorded;
use crate::elementwise::room;

/// What is to be transformed along a dimension.
pub(super) struct Lines<'a> {
    op: &'static str,
    x: &'a Tensor,
    dim: usize,
    /// The length of the transform.
    pub(super) length: usize,
}

impl<'a> Lines<'a> {
    /// Lines of `n` elements, or of as many as there are.
    pub(super) fn new(
        op: &'static str,
        x: &'a Tensor,
        dim: isize,
        n: Option<usize>,
    ) -> Result<Self, Error> {
        let dim = normalize_axis(op, dim, x.rank())?;
        let length = n.unwrap_or(x.shape()[dim]);
        check_length(op, length)?;
        Ok(Self { op, x, dim, length })
    }

    /// Lines of half a spectrum, for a transform of length `n` or of twice their steps.
    pub(super) fn of_half(
        op: &'static str,
        x: &'a Tensor,
        dim: isize,
        n: Option<usize>,
    ) -> Result<Self, Error> {
        let dim = normalize_axis(op, dim, x.rank())?;
        let steps = x.shape()[dim].saturating_sub(1);
        let length = n.unwrap_or(steps.saturating_mul(2));
        check_length(op, length)?;
        Ok(Self { op, x, dim, length })
    }

    /// The transform of complex numbers.
    pub(super) fn complex(
        &self,
        direction: Direction,
        result: DType,
        scale: f64,
    ) -> Result<Tensor, Error> {
        let (mut buffer, shape) = self.laid_out(result, self.length)?;
        if shape.count() > 0 {
            transform(result, &mut buffer, self.length, direction, scale)
                .map_err(|error| error.in_op(self.op))?;
        }
        let spectrum = self.put_back(Tensor::from_buffer(buffer, shape, result))?;
        self.remember(spectrum, move |lines| {
            lines.complex(opposite(direction), result, scale)
        })
    }

    /// The transform of real numbers: the whole of it or the first half.
    pub(super) fn real(
        &self,
        direction: Direction,
        result: DType,
        whole: bool,
        scale: f64,
    ) -> Result<Tensor, Error> {
        let real = result.to_real();
        let (lines, shape) = self.laid_out(real, self.length)?;
        let width = if whole {
            self.length
        } else {
            self.length / 2 + 1
        };
        let shape = with_last(self.op, &shape, width)?;
        let mut buffer = room(self.op, &shape, result)?;
        if shape.count() > 0 {
            let conjugate = direction == Direction::Inverse;
            transform_real(
                real,
                &lines,
                &mut buffer,
                self.length,
                whole,
                conjugate,
                scale,
            )
            .map_err(|error| error.in_op(self.op))?;
        }
        let spectrum = self.put_back(Tensor::from_buffer(buffer, shape, result))?;
        self.remember(spectrum, move |lines| {
            let back = opposite(direction);
            if whole {
                return lines.complex(back, result, scale);
            }
            // The way back counts numbers that stand for their conjugates twice.
            let halved = lines.weighted(lines.x, 0.5)?;
            Lines {
                x: &halved,
                ..*lines
            }
            .to_real(back, real, scale)
        })
    }

    /// The transform of half a spectrum to real numbers.
    pub(super) fn to_real(
        &self,
        direction: Direction,
        result: DType,
        scale: f64,
    ) -> Result<Tensor, Error> {
        let complex = result.to_complex();
        let real = complex.to_real();
        let (lines, shape) = self.laid_out(complex, self.length / 2 + 1)?;
        let shape = with_last(self.op, &shape, self.length)?;
        let mut buffer = room(self.op, &shape, real)?;
        if shape.count() > 0 {
            let conjugate = direction == Direction::Forward;
            transform_to_real(real, &lines, &mut buffer, self.length, conjugate, scale)
                .map_err(|error| error.in_op(self.op))?;
        }
        let signal = self.put_back(Tensor::from_buffer(buffer, shape, real))?;
        let signal = self.remember(signal, move |lines| {
            let half = lines.real(opposite(direction), complex, false, scale)?;
            lines.weighted(&half, 2.0)
        })?;
        signal.to(result)
    }

    /// A transform with the way back as its rule: a transform of the gradient's lines, cut or padded
    /// to the size of what was transformed.
    fn remember<F>(&self, result: Tensor, back: F) -> Result<Tensor, Error>
    where
        F: Fn(&Lines<'_>) -> Result<Tensor, Error> + Send + Sync + 'static,
    {
        if !is_recorded(&[self.x]) {
            return Ok(result);
        }
        let (op, dim, length) = (self.op, self.dim, self.length);
        let size = self.x.shape()[dim];
        result.with_rule(op, &[self.x], move |pass| {
            let x = &pass.gradient()?;
            let gradient = back(&Lines { op, x, dim, length })?;
            Ok(smallvec![Some(gradient.placed_along(dim, 0, size)?)])
        })
    }

    /// Half a spectrum with the numbers that stand for their conjugates too times a weight.
    fn weighted(&self, half: &Tensor, weight: f64) -> Result<Tensor, Error> {
        let width = self.length / 2 + 1;
        let weights = (0..width).map(|k| match k == 0 || 2 * k == self.length {
            true => 1.0,
            false => weight,
        });
        let weights: Vec<f64> = try_collect(self.op, weights)?;
        let mut sizes: Dims<isize> = half.shape().iter().map(|_| 1).collect();
        sizes[self.dim] = width as isize;
        let weights = Tensor::from_slice(&weights, &[width])?.reshape(&sizes)?;
        half.mul(&weights.to(half.dtype().to_real())?)
    }

    /// Lines of `width` elements in a dtype, cut or padded with zeros, and their shape.
    fn laid_out(&self, dtype: DType, width: usize) -> Result<(Buffer, Shape), Error> {
        let op = self.op;
        let last = self.x.detach().movedim(&[self.dim as isize], &[-1])?;
        let present = last.shape().last().copied().unwrap_or(0).min(width);
        let part = last.narrow(-1, 0, present)?.to(dtype)?.contiguous()?;
        let shape = with_last(op, last.shape(), width)?;
        let mut buffer = if present < width {
            Buffer::zeroed(op, room_for(op, &shape, dtype)?)?
        } else {
            room(op, &shape, dtype)?
        };
        let place = Slice {
            start: Some(0),
            stop: Some(present as isize),
            step: 1,
        };
        let layout = Layout::contiguous(shape.clone()).slice(op, -1, place)?;
        copy_into(dtype, part.ordered_bytes(op)?, &mut buffer, &layout);
        Ok((buffer, shape))
    }

    /// The transformed dimension where it was.
    fn put_back(&self, lines: Tensor) -> Result<Tensor, Error> {
        lines.movedim(&[-1], &[self.dim as isize])
    }
}

fn opposite(direction: Direction) -> Direction {
    match direction {
        Direction::Forward => Direction::Inverse,
        Direction::Inverse => Direction::Forward,
    }
}

/// The bytes of a shape.
fn room_for(op: &'static str, shape: &Shape, dtype: DType) -> Result<usize, Error> {
    let bytes = shape.count().checked_mul(dtype.itemsize());
    bytes.ok_or_else(|| crate::view::out_of_memory(op))
}

/// The sizes with another last one.
fn with_last(op: &'static str, shape: &Shape, last: usize) -> Result<Shape, Error> {
    let mut sizes: Dims<usize> = shape.iter().copied().collect();
    if let Some(size) = sizes.last_mut() {
        *size = last;
    }
    Shape::new(op, &sizes)
}

fn check_length(op: &'static str, length: usize) -> Result<(), Error> {
    if length > 0 {
        return Ok(());
    }
    let problem = Problem::OutOfRange {
        what: "length of the transform",
        index: None,
        value: length.to_string(),
        accepted: "lengths from 1 on",
    };
    Err(Error::new(op, problem))
}
