//! Softmax and its kin: exponentials along a dimension as shares of their sum.

use allotrope_dtype::{DType, Error, Set};
use allotrope_op::structured::neural::{GUMBEL_SOFTMAX, LOG_SOFTMAX, SOFTMAX, SOFTMIN};
use allotrope_op::task::Task;
use allotrope_op::task::rowwise::{Rowwise, Softmax};
use allotrope_op::{Builder, Fold, Structured, Var, normalize_axis, sizes_around};
use smallvec::smallvec;

use super::operands::{Working, out_of_range};
use crate::autograd::{Pass, differentiable, is_recorded};
use crate::call::Call;
use crate::device::perform_or;
use crate::elementwise::evaluate_one;
use crate::reduce::Plan;
use crate::{Generator, Tensor};

impl Tensor {
    /// The exponentials along a dimension as shares of their sum. Integers and bool give the default
    /// float; `dtype` converts the operand first. A line of -∞ alone gives NaN.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::from_slice(&[1_u8, 1, 1, 1], &[4])?;
    /// assert_eq!(x.softmax(0, None)?.to_vec::<f32>()?, [0.25; 4]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error for complex numbers or a `dtype` that is not a float, an index error for a
    /// dimension out of range, a memory error.
    pub fn softmax(&self, dim: isize, dtype: Option<DType>) -> Result<Self, Error> {
        self.softmax_of(&SOFTMAX, Softmax::Softmax, dim, dtype)
    }

    /// The logarithms of [`softmax`](Self::softmax), without its loss of digits.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([0.0, 0.0])?.log_softmax(0, None)?;
    /// assert!(x.allclose(&Tensor::new([0.5, 0.5])?.log()?, 1e-15, 0.0, false)?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`softmax`](Self::softmax).
    pub fn log_softmax(&self, dim: isize, dtype: Option<DType>) -> Result<Self, Error> {
        self.softmax_of(&LOG_SOFTMAX, Softmax::LogSoftmax, dim, dtype)
    }

    /// The [`softmax`](Self::softmax) of the negated numbers.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([1.0, 2.0])?;
    /// assert_eq!(x.softmin(0, None)?, (-&x).softmax(0, None)?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`softmax`](Self::softmax).
    pub fn softmin(&self, dim: isize, dtype: Option<DType>) -> Result<Self, Error> {
        self.softmax_of(&SOFTMIN, Softmax::Softmax, dim, dtype)
    }

    /// Random shares along a dimension: the softmax of the numbers plus Gumbel noise, divided by
    /// `tau`. If `hard`, the greatest share is one and the others are zero: a choice with the
    /// probabilities of the softmax, whose gradient is that of the shares.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Generator, Tensor};
    /// let x = Tensor::zeros((4, 3), DType::F32)?;
    /// let drawn = x.gumbel_softmax(1.0, true, -1, Some(&Generator::new(0)))?;
    /// assert_eq!(drawn.sum_axis(-1)?, Tensor::ones(4, DType::F32)?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`softmax`](Self::softmax); a value error unless `tau` is positive.
    pub fn gumbel_softmax(
        &self,
        tau: f64,
        hard: bool,
        dim: isize,
        generator: Option<&Generator>,
    ) -> Result<Self, Error> {
        let op = GUMBEL_SOFTMAX.name;
        let working = Working::of(&GUMBEL_SOFTMAX, &[self])?;
        if tau.is_nan() || tau <= 0.0 {
            return Err(out_of_range(op, "tau", tau, "numbers above 0"));
        }
        let like = self.new_zeros(&[], working.compute)?.expand(self.shape())?;
        let drawn = like.uniform_like(0.0, 1.0, generator)?;
        // Between two multiples of the draw's unit: neither 0 nor 1.
        let half = if working.compute == DType::F64 {
            2_f64.powi(-54)
        } else {
            2_f64.powi(-25)
        };
        let builder = Builder::new(&[self.dtype(), working.compute]);
        let noise = -(-(builder.input(1) + half).log()).log();
        let noisy = (working.read(builder.input(0)) + noise) / tau;
        let noisy = evaluate_one(op, &builder.finish(&[noisy]), &[self, &drawn])?;
        let soft = noisy.softmax_in(op, Softmax::Softmax, dim, working, false)?;
        if !hard || self.rank() == 0 {
            return Ok(soft);
        }
        let chosen = noisy.detach().argmax(Some(dim), true)?;
        let axis = normalize_axis(op, dim, self.rank())?;
        let mut sizes = vec![1; self.rank()];
        sizes[axis] = -1;
        let places = self.new_arange(0, self.shape()[axis] as i64, 1, DType::I64)?;
        let places = places.reshape(&sizes)?;
        let choice = places.eq(&chosen)?.to(working.result)?;
        choice.with_rule(op, &[&soft], |pass| Ok(smallvec![Some(pass.gradient()?)]))
    }

    fn softmax_of(
        &self,
        row: &Structured,
        kind: Softmax,
        dim: isize,
        dtype: Option<DType>,
    ) -> Result<Self, Error> {
        let op = row.name;
        if let Some(dtype) = dtype {
            if !Set::Float.contains(dtype) {
                return Err(Error::not_in_set(op, dtype, Set::Float, None));
            }
            if !Set::Inexact.contains(self.dtype()) {
                return self.to(dtype)?.softmax_of(row, kind, dim, Some(dtype));
            }
        }
        let result = Call::begin(row, &[self])?.result;
        let working = Working::in_dtype(dtype.unwrap_or(result));
        self.softmax_in(op, kind, dim, working, *row == SOFTMIN)
    }

    fn softmax_in(
        &self,
        op: &'static str,
        kind: Softmax,
        dim: isize,
        working: Working,
        negates: bool,
    ) -> Result<Self, Error> {
        if self.rank() == 0 {
            normalize_axis(op, dim, 1)?;
            let line = self.unsqueeze(0)?;
            return line.softmax_in(op, kind, 0, working, negates)?.select(0, 0);
        }
        let axis = normalize_axis(op, dim, self.rank())?;
        differentiable(
            op,
            [self],
            |[x]| softmax_along(op, x, kind, axis, working, negates),
            |saved| {
                move |pass: &Pass<'_>| {
                    let (y, gradient) = (pass.output(&saved, 0), pass.gradient()?);
                    let pair = [&y, &gradient];
                    let gradient = softmax_gradient(op, kind, pair, axis as isize, negates)?;
                    Ok(smallvec![Some(gradient)])
                }
            },
        )
    }
}

/// The softmax along an axis: the kernel of the device, or three passes over all lines.
fn softmax_along(
    op: &'static str,
    x: &Tensor,
    kind: Softmax,
    axis: usize,
    working: Working,
    negates: bool,
) -> Result<Tensor, Error> {
    // In the order of the dimensions, so that sums do not depend on where elements lie.
    let x = &x.contiguous()?;
    let builder = Builder::new(&[x.dtype()]);
    let program = builder.finish(&[read(&working, builder.input(0), negates)]);
    let task = Task::Rowwise(Rowwise::Softmax {
        kind,
        program: &program,
        sizes: sizes_around(x.shape(), axis, axis),
    });
    perform_or(op, &task, &[x], working.result, x.shape(), || {
        softmax_in_passes(op, x, kind, axis, working, negates)
    })
}

/// The gradient of what shares `y` were computed from: `y (g - Σ g y)`, and of their logarithms
/// `g - e^y Σ g`.
pub(super) fn softmax_gradient(
    op: &'static str,
    kind: Softmax,
    [y, gradient]: [&Tensor; 2],
    axis: isize,
    negates: bool,
) -> Result<Tensor, Error> {
    let working = Working::in_dtype(y.dtype());
    // Passes are made of recorded operations, which have gradients of their own.
    if is_recorded(&[y, gradient]) {
        return softmax_gradient_in_passes(op, kind, [y, gradient], axis, (working, negates));
    }
    let read = |x: &Tensor, negates: bool| {
        let builder = Builder::new(&[x.dtype()]);
        builder.finish(&[read(&working, builder.input(0), negates)])
    };
    // Kernels read halves where they are, so that layouts would decide which one it is.
    let gradient = match working.result == working.compute {
        true => gradient,
        false => &gradient.contiguous()?,
    };
    // The gradient is linear in that of the results.
    let programs = [&read(y, false), &read(gradient, negates)];
    let axis = normalize_axis(op, axis, y.rank())?;
    let task = Task::Rowwise(Rowwise::SoftmaxBackward {
        kind,
        programs,
        sizes: sizes_around(y.shape(), axis, axis),
    });
    perform_or(op, &task, &[y, gradient], working.result, y.shape(), || {
        softmax_gradient_in_passes(op, kind, [y, gradient], axis as isize, (working, negates))
    })
}

/// The same in passes over all lines.
fn softmax_gradient_in_passes(
    op: &'static str,
    kind: Softmax,
    [y, gradient]: [&Tensor; 2],
    axis: isize,
    (working, negates): (Working, bool),
) -> Result<Tensor, Error> {
    let dtypes = [y.dtype(), gradient.dtype()];
    let program = working.program(&dtypes, |v| match kind {
        Softmax::Softmax => v[0] * v[1],
        Softmax::LogSoftmax => v[1],
    });
    let plan = Plan::new(op, y, Some(&[axis]))?;
    let total = plan.fold(op, Fold::Sum, &program, &[y, gradient], y.shape())?;
    let total = total.to(working.compute)?;
    let builder = Builder::new(&[dtypes[0], dtypes[1], working.compute]);
    let [y_var, gradient_var] = [0, 1].map(|i| working.read(builder.input(i)));
    let value = match kind {
        Softmax::Softmax => y_var * (gradient_var - builder.input(2)),
        Softmax::LogSoftmax => gradient_var - y_var.exp() * builder.input(2),
    };
    let value = if negates { -value } else { value };
    let program = builder.finish(&[value.to(working.result)]);
    evaluate_one(op, &program, &[y, gradient, &total])
}

/// The operand as it is computed in.
fn read<'b>(working: &Working, x: Var<'b>, negates: bool) -> Var<'b> {
    let x = working.read(x);
    if negates { -x } else { x }
}

/// Lines too long for a cache, in three passes over all of them.
fn softmax_in_passes(
    op: &'static str,
    x: &Tensor,
    kind: Softmax,
    axis: usize,
    working: Working,
    negates: bool,
) -> Result<Tensor, Error> {
    let Working { result, compute } = working;
    let plan = Plan::new(op, x, Some(&[axis as isize]))?;
    let builder = Builder::new(&[x.dtype()]);
    let program = builder.finish(&[read(&working, builder.input(0), negates)]);
    let most = plan.fold(op, Fold::Max, &program, &[x], x.shape())?;
    let builder = Builder::new(&[x.dtype(), compute]);
    let below = read(&working, builder.input(0), negates) - builder.input(1);
    let program = builder.finish(&[below.exp()]);
    let total = plan.fold(op, Fold::Sum, &program, &[x, &most], x.shape())?;
    let last = match kind {
        Softmax::Softmax => total.reciprocal()?,
        Softmax::LogSoftmax => total.log()?,
    };
    let builder = Builder::new(&[x.dtype(), compute, compute]);
    let below = read(&working, builder.input(0), negates) - builder.input(1);
    let value = match kind {
        Softmax::Softmax => below.exp() * builder.input(2),
        Softmax::LogSoftmax => below - builder.input(2),
    };
    let program = builder.finish(&[value.to(result)]);
    evaluate_one(op, &program, &[x, &most, &last.to(compute)?])
}
