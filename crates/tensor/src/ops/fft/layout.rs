//! A transform's lines laid out for the task: in the working dtype, the transformed dimension last.

use allotrope_dtype::{DType, Error, Problem};
use allotrope_op::task::Task;
use allotrope_op::task::fourier::{Direction, Fourier, Transform};
use allotrope_op::{Builder, Dims, Shape, normalize_axis};
use smallvec::smallvec;

use crate::Tensor;
use crate::autograd::is_recorded;
use crate::device::perform_one;
use crate::elementwise::evaluate_one;

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
        let task = Fourier::Complex(self.transform(direction, scale));
        let spectrum = self.perform(task, result, result, self.length)?;
        self.remember(spectrum, move |lines| {
            lines.complex(direction.opposite(), result, scale)
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
        let task = Fourier::FromReal {
            transform: self.transform(direction, scale),
            is_onesided: !whole,
        };
        let width = if whole {
            self.length
        } else {
            self.length / 2 + 1
        };
        let spectrum = self.perform(task, real, result, width)?;
        self.remember(spectrum, move |lines| {
            let back = direction.opposite();
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
        let task = Fourier::ToReal(self.transform(direction, scale));
        let signal = self.perform(task, complex, real, self.length)?;
        let signal = self.remember(signal, move |lines| {
            let half = lines.real(direction.opposite(), complex, false, scale)?;
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
            return Ok(result.inherit(&[self.x]));
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
        let builder = Builder::new(&[DType::I64]);
        let (k, number) = (
            builder.input(0),
            builder.input(0).to(half.dtype().to_real()),
        );
        let is_alone = k.eq(k.zero()) | (k + k).eq(k.lit(self.length as f64));
        let program = builder.finish(&[is_alone.pick(number.one(), number.lit(weight))]);
        let places = half.new_arange(0, width as i64, 1, DType::I64)?;
        let weights = evaluate_one(self.op, &program, &[&places])?;
        let mut sizes: Dims<isize> = half.shape().iter().map(|_| 1).collect();
        sizes[self.dim] = width as isize;
        half.mul(&weights.reshape(&sizes)?)
    }

    fn transform(&self, direction: Direction, scale: f64) -> Transform {
        let length = self.length;
        Transform {
            direction,
            length,
            scale,
        }
    }

    /// What a task makes of the lines in a dtype: lines of `width` elements of another.
    fn perform(
        &self,
        task: Fourier,
        from: DType,
        to: DType,
        width: usize,
    ) -> Result<Tensor, Error> {
        let dim = self.dim as isize;
        let last = self.x.detach().movedim(&[dim], &[-1])?;
        // What is cut off is not converted.
        let reads = match task {
            Fourier::ToReal(of) => of.length / 2 + 1,
            _ => self.length,
        };
        let present = last.shape()[last.rank() - 1].min(reads);
        let lines = last.narrow(-1, 0, present)?.to(from)?;
        let mut sizes: Dims<usize> = last.shape().iter().copied().collect();
        if let Some(size) = sizes.last_mut() {
            *size = width;
        }
        let shape = Shape::new(self.op, &sizes)?;
        let made = perform_one(self.op, &Task::Fourier(task), &[&lines], to, &shape)?;
        made.movedim(&[-1], &[dim])
    }
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
