//! Elements at fractions of the order along a dimension.

use allotrope_dtype::{DType, Error, Problem};
use allotrope_op::structured::Structured;
use allotrope_op::structured::order::{NANQUANTILE, QUANTILE};
use allotrope_op::task::values::Refusal;
use allotrope_op::task::{Made, Order, Output, Task};
use allotrope_op::{Shape, compute_dtype};
use smallvec::smallvec;

pub use allotrope_op::task::order::QuantileInterpolation;

use super::axis_view::AxisView;
use super::operands::refuse;
use crate::Tensor;
use crate::autograd::{is_grad_enabled, is_recorded};
use crate::call::Call;
use crate::device::perform;
use crate::transfer::gathered;
use crate::view::out_of_memory;

impl Tensor {
    /// The elements at fractions `q` of the order along `dim`, or of everything; NaN where there is
    /// one. Several fractions are the first dimension of the result. Interpolated in float64, and
    /// rounded once to the dtype; of integers to the default float.
    ///
    /// ```
    /// use allotrope_tensor::{QuantileInterpolation, Tensor};
    /// let x = Tensor::from_slice(&[4.0_f32, 1.0, 3.0, 2.0], &[4])?;
    /// let half = Tensor::from_slice(&[0.5_f64], &[])?;
    /// let middle = x.quantile(&half, None, false, QuantileInterpolation::Linear)?;
    /// assert_eq!(middle.to_vec::<f32>()?, [2.5]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for no elements, for fractions beyond 0 and 1 or of several dimensions, a dtype
    /// error for complex numbers, an index error for a dimension out of range, a memory error.
    pub fn quantile(
        &self,
        q: &Self,
        dim: Option<isize>,
        keepdim: bool,
        interpolation: QuantileInterpolation,
    ) -> Result<Self, Error> {
        if let Some((x, q)) = gathered((self, q))? {
            return x.quantile(&q, dim, keepdim, interpolation);
        }
        self.fractions(&QUANTILE, q, dim, keepdim, interpolation)
    }

    /// [`quantile`](Self::quantile) of the elements that are not NaN.
    ///
    /// ```
    /// use allotrope_tensor::{QuantileInterpolation, Tensor};
    /// let x = Tensor::new([1.0, f64::NAN, 3.0])?;
    /// let q = x.nanquantile(&Tensor::new(0.5)?, None, false, QuantileInterpolation::Linear)?;
    /// assert_eq!(q.to_scalar::<f64>()?, 2.0);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`quantile`](Self::quantile).
    pub fn nanquantile(
        &self,
        q: &Self,
        dim: Option<isize>,
        keepdim: bool,
        interpolation: QuantileInterpolation,
    ) -> Result<Self, Error> {
        if let Some((x, q)) = gathered((self, q))? {
            return x.nanquantile(&q, dim, keepdim, interpolation);
        }
        self.fractions(&NANQUANTILE, q, dim, keepdim, interpolation)
    }

    fn fractions(
        &self,
        row: &Structured,
        q: &Self,
        dim: Option<isize>,
        keepdim: bool,
        interpolation: QuantileInterpolation,
    ) -> Result<Self, Error> {
        let op = row.name;
        let result = Call::begin(row, &[self])?.result;
        // Where they are: those of the CPU are refused at the call.
        let fractions = checked_fractions(op, q)?.beside(self)?;
        let q = q.clone().beside(self)?;
        let task = Order::Quantile {
            skips_nan: row == &NANQUANTILE,
            interpolation,
            neighbours: is_recorded(&[self, &q]),
        };
        let Some(dim) = dim else {
            let lines = AxisView::new(op, &self.ravel()?, 0)?;
            let found = at_fractions(&lines, task, &q, &fractions, result)?;
            let sizes: Vec<isize> = q.shape().iter().map(|size| *size as isize).collect();
            let ones = vec![1; if keepdim { self.rank() } else { 0 }];
            return found.reshape(&[sizes, ones].concat());
        };
        let lines = AxisView::new(op, self, dim)?;
        let found = at_fractions(&lines, task, &q, &fractions, result)?;
        // Back to the shape without the dimension, the fractions before it.
        let mut sizes = lines.kept_sizes(keepdim);
        if q.rank() == 1 {
            sizes.insert(0, fractions.count() as isize);
        }
        found.reshape(&sizes)
    }
}

/// The numbers of all lines at fractions, which are checked, a row for each fraction.
fn at_fractions(
    lines: &AxisView,
    task: Order,
    q: &Tensor,
    fractions: &Tensor,
    result: DType,
) -> Result<Tensor, Error> {
    lines.need_elements()?;
    let (op, matrix) = (lines.op(), lines.matrix()?);
    let (number, count) = (fractions.count(), lines.count());
    let all = number.checked_mul(count).ok_or_else(|| out_of_memory(op))?;
    let wide = matrix.backend().wide(compute_dtype(result));
    let has_neighbours = matches!(
        task,
        Order::Quantile {
            neighbours: true,
            ..
        }
    );
    let outputs = [
        (result, all),
        (DType::I64, all),
        (DType::I64, all),
        (wide, all),
        (wide, count),
    ]
    .map(|(dtype, count)| Output { dtype, count });
    let outputs = &outputs[..if has_neighbours { 5 } else { 1 }];
    let made = perform(op, &Task::Order(task), &[&matrix, fractions], outputs)?;
    let mut made = made.into_iter().zip(outputs);
    let mut next = |sizes: &[usize]| match made.next() {
        Some((Made { memory, .. }, output)) => {
            let shape = Shape::new(op, sizes)?;
            Ok(Tensor::from_memory_of(memory, shape, output.dtype))
        }
        None => Err(Error::new(op, Problem::LengthMismatch { from: 0, to: 1 })),
    };
    let found = next(&[number, count])?;
    if !has_neighbours {
        return Ok(found);
    }
    let between = Between {
        low: next(&[all])?,
        high: next(&[all])?,
        shares: next(&[all])?,
        steps: next(&[count])?,
    };
    between.remember(found, op, &lines.flat()?, q)
}

/// What quantiles lie between: the places of their neighbours among all elements, the share that the
/// upper one has, and how many places there are from a fraction of 0 to one of 1.
struct Between {
    low: Tensor,
    high: Tensor,
    shares: Tensor,
    steps: Tensor,
}

impl Between {
    fn remember(
        self,
        found: Tensor,
        op: &'static str,
        x: &Tensor,
        q: &Tensor,
    ) -> Result<Tensor, Error> {
        let saved = q.requires_grad().then(|| (x.clone(), q.clone()));
        let (count, fractions) = (x.count(), q.shape().to_vec());
        found.with_rule(op, &[x, q], move |pass| {
            let dtype = self.shares.dtype();
            let wide = pass.gradient()?.to(dtype)?;
            let gradient = wide.ravel()?;
            let for_x = pass.give(0, || {
                let mut shares = self.shares.clone();
                if let Some((_, q)) = saved.as_ref().filter(|_| is_grad_enabled()) {
                    // The shares move with the fractions.
                    let away = q.sub(&q.detach())?.to(dtype)?.reshape(&[-1, 1])?;
                    shares = shares.add(&away.mul(&self.steps)?.ravel()?)?;
                }
                let upper = gradient.mul(&shares)?;
                let zeros = gradient.new_zeros(&[count], dtype)?;
                let sums = zeros.index_add(0, &self.low, &gradient.sub(&upper)?, 1)?;
                sums.index_add(0, &self.high, &upper, 1)
            })?;
            let for_q = match &saved {
                Some((x, _)) if pass.wants(1) => {
                    let x = x.to(dtype)?;
                    let slope = x.index_select(0, &self.high)?;
                    let slope = slope.sub(&x.index_select(0, &self.low)?)?;
                    let slope = slope.reshape_as(&wide)?.mul(&self.steps)?;
                    let sums = wide.mul(&slope)?.sum(Some(&[1]), false, None)?;
                    let sizes: Vec<isize> = fractions.iter().map(|size| *size as isize).collect();
                    Some(sums.reshape(&sizes)?)
                }
                _ => None,
            };
            Ok(smallvec![for_x, for_q])
        })
    }
}

/// Fractions of at most one dimension, from 0 to 1.
fn checked_fractions(op: &'static str, q: &Tensor) -> Result<Tensor, Error> {
    if q.rank() > 1 {
        let (given, most) = (q.rank(), 1);
        return Err(Error::new(op, Problem::TooManyDimensions { given, most }));
    }
    let wide = q.to(DType::F64).map_err(|error| error.in_op(op))?;
    let refusal = Refusal {
        what: "q",
        value: None,
        first: (q.rank() > 0).then_some(0),
        accepted: "fractions from 0 to 1",
    };
    let plain = wide.detach();
    let right = plain.ge(0.0)?.logical_and(&plain.le(1.0)?)?;
    refuse(op, refusal, &right.logical_not()?, Some(&plain))?;
    if q.host_address().is_some() {
        return Ok(plain);
    }
    // In range whatever they are: a device does not wait for the check.
    right.where_(&plain, 0.0)
}
