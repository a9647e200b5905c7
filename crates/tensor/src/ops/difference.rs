//! Differences of neighbours, and integrals of what lies between them.

use allotrope_dtype::{DType, Error, Problem, WeakScalar, promotion};
use allotrope_op::Fold;
use allotrope_op::structured::Structured;
use allotrope_op::structured::order::{CUMULATIVE_TRAPEZOID, DIFF, TRAPEZOID};
use allotrope_op::{Builder, Layout, Program, Shape, Slice, Target, compute_dtype, normalize_axis};

use super::join::remember_parts;
use super::scan::scan_lines;
use crate::autograd::is_recorded;
use crate::call::{self, Call};
use crate::device::common_backend;
use crate::reduce::Plan;
use crate::transfer::gathered;
use crate::{Operand, Tensor};

impl Tensor {
    /// The `n`-th differences of neighbours along `dim`, after `prepend` and `append` were put to
    /// its ends; of truth values whether they differ. Integers wrap. Without a difference, for an
    /// `n` of 0, the tensor itself.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// assert_eq!(Tensor::new([1, 4, 9])?.diff(1, 0, None, None)?, Tensor::new([3, 5])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for a dimension out of range, a value error for sizes that do not fit, a dtype
    /// error where promotion refuses, a memory error.
    pub fn diff(
        &self,
        n: usize,
        dim: isize,
        prepend: Option<&Self>,
        append: Option<&Self>,
    ) -> Result<Self, Error> {
        if let Some((x, prepend, append)) = gathered((self, prepend, append))? {
            return x.diff(n, dim, prepend.as_ref(), append.as_ref());
        }
        let op = DIFF.name;
        let dim = normalize_axis(op, dim, self.rank())?;
        let parts = prepend.into_iter().chain([self]).chain(append);
        let parts: Vec<&Self> = parts.collect();
        let mut x = if parts.len() > 1 {
            join_along(op, &parts, dim)?
        } else {
            self.clone()
        };
        Call::begin(&DIFF, &[&x])?;
        if n == 0 {
            return Ok(self.clone());
        }
        for _ in 0..n {
            let size = x.shape()[dim];
            if size == 0 {
                break;
            }
            let (lower, upper) = x.neighbours(dim)?;
            x = if x.dtype() == DType::Bool {
                upper.logical_xor(&lower)?
            } else {
                upper.sub(&lower)?
            };
        }
        Ok(x)
    }

    /// All elements but the last along a dimension, and all but the first.
    fn neighbours(&self, dim: usize) -> Result<(Self, Self), Error> {
        let (axis, size) = (dim as isize, self.shape()[dim]);
        let count = size.saturating_sub(1);
        let start = isize::from(size > 0);
        Ok((
            self.narrow(axis, 0, count)?,
            self.narrow(axis, start, count)?,
        ))
    }

    /// The integral along `dim` by the trapezoidal rule: over points `x`, or evenly spaced ones.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let area = Tensor::new([1.0, 2.0, 3.0])?.trapezoid(None, 1.0, 0)?;
    /// assert_eq!(area.to_scalar::<f64>()?, 4.0);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for a dimension out of range, a value error for points that do not fit, a
    /// memory error.
    pub fn trapezoid<'a>(
        &self,
        x: Option<&Self>,
        dx: impl Into<Operand<'a>>,
        dim: isize,
    ) -> Result<Self, Error> {
        if let Some((this, x)) = gathered((self, x))? {
            return this.trapezoid(x.as_ref(), dx, dim);
        }
        let op = TRAPEZOID.name;
        let dx = dx.into();
        let narrow = match x.is_some_and(|x| is_recorded(&[self, x])) {
            true => None,
            false => self.narrow_areas(&TRAPEZOID, x, &dx, dim)?,
        };
        let Some(areas) = narrow else {
            let (areas, result) = self.areas(&TRAPEZOID, x, dx, dim)?;
            return areas.sum(Some(&[dim]), false, None)?.to(result);
        };
        // Areas are a program in front of their sum.
        let inputs: Vec<&Self> = areas.inputs.iter().collect();
        let plan = Plan::new(op, inputs[0], Some(&[dim]))?;
        let shape = inputs[0].shape();
        let sum = plan.fold(op, Fold::Sum, &areas.program, &inputs, shape)?;
        sum.to(areas.result)?.squeeze(Some(&[dim]))
    }

    /// The integral up to each element but the first along `dim`, as
    /// [`trapezoid`](Self::trapezoid).
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let areas = Tensor::new([1.0, 2.0, 3.0])?.cumulative_trapezoid(None, 1.0, 0)?;
    /// assert_eq!(areas, Tensor::new([1.5, 4.0])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`trapezoid`](Self::trapezoid).
    pub fn cumulative_trapezoid<'a>(
        &self,
        x: Option<&Self>,
        dx: impl Into<Operand<'a>>,
        dim: isize,
    ) -> Result<Self, Error> {
        if let Some((this, x)) = gathered((self, x))? {
            return this.cumulative_trapezoid(x.as_ref(), dx, dim);
        }
        let (row, dx) = (&CUMULATIVE_TRAPEZOID, dx.into());
        let narrow = match is_recorded(&[self]) || x.is_some_and(|x| is_recorded(&[x])) {
            true => None,
            false => self.narrow_areas(row, x, &dx, dim)?,
        };
        let Some(areas) = narrow else {
            let (areas, result) = self.areas(row, x, dx, dim)?;
            return areas.cumsum(dim, None)?.to(result);
        };
        let inputs: Vec<&Self> = areas.inputs.iter().collect();
        let dim = normalize_axis(row.name, dim, self.rank())?;
        scan_lines(row.name, &areas.program, &inputs, dim, areas.result)
    }

    /// The areas between neighbours as a program over them, which no memory is needed for: of real
    /// numbers over even steps, or over points in the shape of the tensor or along it.
    fn narrow_areas(
        &self,
        row: &Structured,
        x: Option<&Self>,
        dx: &Operand<'_>,
        dim: isize,
    ) -> Result<Option<Areas>, Error> {
        let op = row.name;
        let axis = normalize_axis(op, dim, self.rank())?;
        let mut common = self.dtype();
        let points = match x {
            None => None,
            Some(x) => {
                common = promotion().promote_types(op, common, x.dtype())?;
                let along = x.rank() == 1 && x.shape()[0] == self.shape()[axis];
                if x.shape() != self.shape() && !along {
                    return Ok(None);
                }
                let mut sizes = vec![1; self.rank()];
                sizes[axis] = -1;
                let x = if along { x.reshape(&sizes)? } else { x.clone() };
                Some(x.expand(self.shape())?.neighbours(axis)?)
            }
        };
        let result = call::result_dtype(row, common)?;
        let step = real_scalar(dx);
        if result.is_complex() || (points.is_none() && step.is_none()) {
            return Ok(None);
        }
        let (lower, upper) = self.neighbours(axis)?;
        let mut inputs = vec![lower, upper];
        inputs.extend(points.into_iter().flat_map(|(lower, upper)| [lower, upper]));
        let dtypes: Vec<DType> = inputs.iter().map(Self::dtype).collect();
        let builder = Builder::new(&dtypes);
        let float = self.backend().wide(compute_dtype(result));
        let wide = |input: usize| builder.input(input).to(float);
        let mean = (wide(0) + wide(1)) * 0.5;
        let area = match (inputs.len(), step) {
            (4, _) => mean * (wide(3) - wide(2)),
            (_, Some(step)) if step != 1.0 => mean * step,
            _ => mean,
        };
        Ok(Some(Areas {
            program: builder.finish(&[area]),
            inputs,
            result,
        }))
    }

    /// The areas between neighbours in wide numbers, and the dtype of the result.
    fn areas(
        &self,
        row: &Structured,
        x: Option<&Self>,
        dx: Operand<'_>,
        dim: isize,
    ) -> Result<(Self, DType), Error> {
        let op = row.name;
        let dim = normalize_axis(op, dim, self.rank())?;
        let mut common = self.dtype();
        if let Some(x) = x {
            common = promotion().promote_types(op, common, x.dtype())?;
        }
        let result = call::result_dtype(row, common)?;
        let wide = self.backend().wide(compute_dtype(result));
        let (lower, upper) = self.to(wide)?.neighbours(dim)?;
        let sums = lower.add(&upper)?.mul(0.5)?;
        let areas = match x {
            None => Self::apply(allotrope_op::Op::Mul, &[(&sums).into(), dx])?.to(wide)?,
            Some(x) => {
                let along = match x.rank() {
                    1 => x.shape()[0],
                    rank => x.shape()[normalize_axis(op, dim as isize, rank)?],
                };
                if along != self.shape()[dim] {
                    let (lhs, rhs) = (self.shape().to_vec(), x.shape().to_vec());
                    return Err(Error::new(op, Problem::NotBroadcastable { lhs, rhs }));
                }
                // Points of one dimension lie along `dim`, whatever stands around it.
                let steps = if x.rank() == 1 && self.rank() > 1 {
                    let mut sizes = vec![1; self.rank()];
                    sizes[dim] = -1;
                    x.to(wide)?.diff(1, 0, None, None)?.reshape(&sizes)
                } else {
                    x.to(wide)?.diff(1, dim as isize, None, None)
                };
                let areas = steps.and_then(|steps| sums.mul(&steps));
                areas.map_err(|error| error.in_op(op))?
            }
        };
        Ok((areas, result))
    }
}

/// Areas that are computed where they are used, and the dtype of what they sum up to.
struct Areas {
    program: Program,
    inputs: Vec<Tensor>,
    result: DType,
}

/// A number that is no complex one.
fn real_scalar(operand: &Operand<'_>) -> Option<f64> {
    match operand {
        Operand::Scalar(WeakScalar::Float(number)) => Some(*number),
        Operand::Scalar(WeakScalar::Int(number)) => Some(*number as f64),
        _ => None,
    }
}

/// Tensors one after the other along a dimension, in their common dtype.
pub(super) fn join_along(op: &'static str, parts: &[&Tensor], dim: usize) -> Result<Tensor, Error> {
    let first = parts[0];
    let mut dtype = first.dtype();
    let mut sizes = first.shape().to_vec();
    for part in &parts[1..] {
        dtype = promotion().promote_types(op, dtype, part.dtype())?;
        let others = |shape: &Shape| {
            let mut sizes = shape.to_vec();
            if let Some(size) = sizes.get_mut(dim) {
                *size = 0;
            }
            sizes
        };
        if others(part.shape()) != others(first.shape()) {
            let (lhs, rhs) = (first.shape().to_vec(), part.shape().to_vec());
            return Err(Error::new(op, Problem::NotBroadcastable { lhs, rhs }));
        }
        sizes[dim] = sizes[dim].saturating_add(part.shape()[dim]);
    }
    let shape = Shape::new(op, &sizes)?;
    let backend = common_backend(op, parts)?;
    let mut memory = backend.allocate(op, dtype, shape.count())?;
    let whole = Layout::contiguous(shape.clone());
    let mut start = 0;
    for part in parts {
        let size = part.shape()[dim];
        let place = Slice {
            start: Some(start as isize),
            stop: Some((start + size) as isize),
            step: 1,
        };
        let layout = whole.slice(op, dim as isize, place)?;
        let part = part.to(dtype)?;
        let target = Target::new(op, &mut memory, shape.count())?;
        backend.place(op, dtype, part.view_of(), target, &layout)?;
        start += size;
    }
    let joined = Tensor::from_memory_of(memory, shape, dtype);
    remember_parts(joined, op, parts, dim)
}
