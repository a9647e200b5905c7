//! Reductions: the program in front, the fold, and what is done with its results.
//!
//! `plan` has the fold and its rules, `gradient` what rules of products and extremes are made of,
//! `scale` what keeps squares in range, `short` the forms without options.

mod gradient;
mod plan;
mod scale;
mod short;

use std::borrow::Cow;

use allotrope_dtype::{Conversion, DType, Error, Problem, Scalar, Set, WeakScalar, default_dtype};
use allotrope_op::task::{Order, Output, Task};
use allotrope_op::{Builder, Dims, Fold, Op, Program, Reduction, Shape, Var, compute_dtype};
use smallvec::SmallVec;

pub(crate) use plan::Plan;
use scale::{Scale, scaled_square};

use crate::Tensor;
use crate::amp::is_autocast_enabled;
use crate::autograd::is_recorded;
use crate::call::{self, Call};
use crate::device::perform_here;
use crate::elementwise::{evaluate, evaluate_one};
use crate::ops::unvarying;
use crate::overflow;
use crate::trace::is_tracing;
use crate::transfer::gathered;

/// The program that reads one tensor in a dtype.
pub(crate) fn reading(from: DType, through: DType, to: DType) -> Program {
    let mut program = Program::new(&[from]);
    let value = program.convert(0, through);
    let value = program.convert(value, to);
    program.output(value);
    program
}

/// A program of one input and one output.
pub(crate) fn map(dtype: DType, formula: impl for<'b> Fn(Var<'b>) -> Var<'b>) -> Program {
    let builder = Builder::new(&[dtype]);
    let result = formula(builder.input(0));
    builder.finish(&[result])
}

/// The root of order `p` of sums of powers. At zero, where its slope is infinite, no gradient goes
/// back: a vector of zeros has the gradient zero, as in torch.
pub(crate) fn root_of_sums(sums: &Tensor, p: f64) -> Result<Tensor, Error> {
    let root = |sums: &Tensor| {
        if p == 2.0 {
            sums.sqrt()
        } else {
            sums.pow(1.0 / p)
        }
    };
    if !is_recorded(&[sums]) {
        return root(sums);
    }
    let plain = sums.detach();
    let is_zero = plain.eq(0)?;
    let moved = Tensor::apply(Op::Where, &[(&is_zero).into(), 1.into(), sums.into()])?;
    let (at_zero, elsewhere) = (root(&plain)?, root(&moved)?);
    Tensor::apply(
        Op::Where,
        &[(&is_zero).into(), (&at_zero).into(), (&elsewhere).into()],
    )
}

/// A magnitude to the power `p`, without an infinite slope at zero.
pub(crate) fn power_of(size: Var<'_>, p: f64) -> Var<'_> {
    if p > 1.0 {
        return size.pow(size.lit(p));
    }
    let is_zero = size.eq(size.zero());
    let power = is_zero.pick(size.one(), size).pow(size.lit(p));
    is_zero.pick(size.lit(0_f64.powf(p)), power)
}

impl Tensor {
    /// The float, or the complex dtype, that sums of magnitudes, variances and logarithms of these
    /// elements are formed in on their device.
    pub(crate) fn working_float(&self) -> DType {
        let float = match self.dtype() {
            DType::F64 | DType::C128 => self.dtype(),
            dtype if dtype.is_complex() => DType::C64,
            _ => DType::F32,
        };
        self.backend().wide(float)
    }

    /// The sum along axes, or of everything. Integers accumulate in 64 bits, floats in pairs of
    /// blocks, and the result is rounded once.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let ones = Tensor::ones(&[4096, 2], DType::F16)?;
    /// assert_eq!(ones.sum(Some(&[0]), false, None)?.to(DType::F64)?.to_vec::<f64>()?, [4096.0; 2]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for an axis out of range, a dtype error for a cast that `dtype` has no way
    /// for, a memory error.
    pub fn sum(
        &self,
        axes: Option<&[isize]>,
        keepdim: bool,
        dtype: Option<DType>,
    ) -> Result<Self, Error> {
        self.total(Reduction::Sum, Fold::Sum, axes, keepdim, dtype)
    }

    /// The product along axes, or of everything.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[1_u8, 2], [3, 100]])?;
    /// assert_eq!(x.prod(Some(&[0]), true, None)?, Tensor::new([[3_u64, 200]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`sum`](Self::sum).
    pub fn prod(
        &self,
        axes: Option<&[isize]>,
        keepdim: bool,
        dtype: Option<DType>,
    ) -> Result<Self, Error> {
        self.total(Reduction::Prod, Fold::Prod, axes, keepdim, dtype)
    }

    fn total(
        &self,
        reduction: Reduction,
        fold: Fold,
        axes: Option<&[isize]>,
        keepdim: bool,
        dtype: Option<DType>,
    ) -> Result<Self, Error> {
        let op = reduction.name();
        let through = dtype.unwrap_or(self.dtype());
        let result = || -> Result<(DType, Program), Error> {
            self.check_cast(op, through)?;
            let result = dtype.map_or_else(|| call::result_dtype(&reduction, self.dtype()), Ok)?;
            Ok((result, reading(self.dtype(), through, fold.item(through))))
        };
        if self.folds_whole(fold, axes, keepdim) {
            let (result, program) = result()?;
            return self.fold_whole(op, fold, &program, Some(result));
        }
        let plan = Plan::new(op, self, axes)?;
        let (result, program) = result()?;
        let folded = plan.fold_to(op, fold, &program, &[self], self.shape(), result)?;
        plan.finish(folded, keepdim)
    }

    /// Whether a fold is that of all elements in order, and nothing but that: not recorded, not watched.
    fn folds_whole(&self, fold: Fold, axes: Option<&[isize]>, keepdim: bool) -> bool {
        let is_plain = !is_recorded(&[self])
            && (!overflow::is_watched() || matches!(fold, Fold::Max | Fold::Min));
        axes.is_none() && !keepdim && is_plain && self.count() > 0 && self.is_contiguous()
    }

    /// What a program makes of such elements, folded, in a dtype or unrounded: what a plan gives, which
    /// takes longer to make than few elements to fold.
    fn fold_whole(
        &self,
        op: &'static str,
        fold: Fold,
        program: &Program,
        to: Option<DType>,
    ) -> Result<Self, Error> {
        let (backend, item) = (self.backend(), program.output_dtypes().next());
        let item = item.unwrap_or(DType::Bool);
        let to = to.unwrap_or_else(|| match fold {
            Fold::Sum => backend.wide(item),
            _ => item,
        });
        let (views, sizes) = ([self.view_of()], [1, self.count(), 1]);
        let memory = backend.reduce(op, fold, program, self.shape(), &views, sizes, to)?;
        Ok(Self::from_memory_of(memory, Shape::scalar(), to).inherit(&[self]))
    }

    /// Refuses the casts that have no meaning, before anything is computed.
    pub(crate) fn check_cast(&self, op: &'static str, to: DType) -> Result<(), Error> {
        Conversion::new(self.dtype(), to)
            .map(drop)
            .map_err(|error| error.in_op(op))
    }

    /// The mean along axes, or of everything; NaN of nothing. Integers cannot overflow.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let x = Tensor::new([[1_u8, 2], [3, 100]])?;
    /// assert_eq!(x.mean(Some(&[0]), true, Some(DType::F64))?, Tensor::new([[2.0, 51.0]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`sum`](Self::sum); a dtype error if `dtype` is an integer.
    pub fn mean(
        &self,
        axes: Option<&[isize]>,
        keepdim: bool,
        dtype: Option<DType>,
    ) -> Result<Self, Error> {
        let op = Reduction::Mean.name();
        let is_whole = self.folds_whole(Fold::Sum, axes, keepdim);
        let plan = match is_whole {
            true => None,
            false => Some(Plan::new(op, self, axes)?),
        };
        let through = dtype.unwrap_or(self.dtype());
        if let Some(dtype) = dtype.filter(|d| !Set::Inexact.contains(*d)) {
            return Err(Error::not_in_set(op, dtype, Set::Inexact, None));
        }
        self.check_cast(op, through)?;
        let result =
            dtype.map_or_else(|| call::result_dtype(&Reduction::Mean, self.dtype()), Ok)?;
        let item = if Set::Inexact.contains(through) {
            Fold::Sum.item(through)
        } else {
            self.backend().wide(compute_dtype(result))
        };
        let program = reading(self.dtype(), through, item);
        let Some(plan) = plan else {
            let total = self.fold_whole(op, Fold::Sum, &program, None)?;
            let mean = total.div(self.count() as f64);
            return mean.map_err(|error| error.in_op(op))?.to_in(op, result);
        };
        let mean = self.wide_mean(op, &plan, &program)?;
        plan.finish_in(mean, keepdim, result)
    }

    /// The mean of what a program reads, in what sums are formed in, with the reduced dimensions.
    fn wide_mean(&self, op: &'static str, plan: &Plan, program: &Program) -> Result<Self, Error> {
        let total = plan.fold(op, Fold::Sum, program, &[self], self.shape())?;
        total
            .div(plan.count() as f64)
            .map_err(|error| error.in_op(op))
    }

    /// The variance along axes, or of everything: the sum of squared distances from the mean,
    /// divided by the count minus `correction`.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[1.0, 3.0]])?;
    /// assert_eq!(x.var(Some(&[1]), 1.0, false)?, Tensor::new([2.0])?);
    /// assert_eq!(x.var(Some(&[1]), 0.0, false)?, Tensor::new([1.0])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for an axis out of range, a memory error.
    pub fn var(
        &self,
        axes: Option<&[isize]>,
        correction: f64,
        keepdim: bool,
    ) -> Result<Self, Error> {
        let plan = Plan::new(Reduction::Var.name(), self, axes)?;
        let (wide, scale) = self.wide_variance(Reduction::Var, &plan, correction)?;
        let wide = match scale {
            Some(scale) => wide.mul(&scale.up)?.mul(&scale.up)?,
            None => wide,
        };
        let result = Call::begin(&Reduction::Var, &[self])?.result;
        plan.finish_in(wide, keepdim, result)
    }

    /// The standard deviation along axes, or of everything: the root of [`var`](Self::var). The
    /// gradient of elements that do not deviate is zero.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[1.0, 3.0]])?;
    /// assert_eq!(x.std(Some(&[1]), 0.0, true)?, Tensor::new([[1.0]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`var`](Self::var).
    pub fn std(
        &self,
        axes: Option<&[isize]>,
        correction: f64,
        keepdim: bool,
    ) -> Result<Self, Error> {
        let plan = Plan::new(Reduction::Std.name(), self, axes)?;
        let (wide, scale) = self.wide_variance(Reduction::Std, &plan, correction)?;
        let root = root_of_sums(&wide, 2.0)?;
        let wide = match scale {
            Some(scale) => root.mul(&scale.up)?,
            None => root,
        };
        let result = Call::begin(&Reduction::Std, &[self])?.result;
        plan.finish_in(wide, keepdim, result)
    }

    /// The variance, and by what the elements were scaled for it.
    fn wide_variance(
        &self,
        reduction: Reduction,
        plan: &Plan,
        correction: f64,
    ) -> Result<(Self, Option<Scale>), Error> {
        let op = reduction.name();
        // Summed in wide numbers, since the error of a mean beside small distances counts.
        let wide = self.working_float();
        let mean = self.wide_mean(op, plan, &reading(self.dtype(), self.dtype(), wide))?;
        let dtype = mean.dtype();
        let scale = Scale::of(op, plan, &[self, &mean], |builder| {
            builder.input(0).to(dtype) - builder.input(1)
        })?;
        let down = scale.as_ref().map(|scale| &scale.down);
        let tensors: SmallVec<[&Self; 3]> = [self, &mean].into_iter().chain(down).collect();
        let dtypes: SmallVec<[DType; 3]> = tensors.iter().map(|x| x.dtype()).collect();
        let builder = Builder::new(&dtypes);
        let away = builder.input(0).to(dtype) - builder.input(1);
        let factor = down.map(|_| builder.input(2));
        let program = builder.finish(&[scaled_square(away, factor)]);
        let total = plan.fold(op, Fold::Sum, &program, &tensors, self.shape())?;
        drop(tensors);
        let freedom = (plan.count() as f64 - correction).max(0.0);
        Ok((total.div(freedom)?, scale))
    }

    /// The greatest along axes, or of everything.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[1, 2], [4, 3]])?;
    /// assert_eq!(x.amax(Some(&[0]), true)?, Tensor::new([[4, 3]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error for complex numbers, a value error for no elements, an index error for an axis
    /// out of range, a memory error.
    pub fn amax(&self, axes: Option<&[isize]>, keepdim: bool) -> Result<Self, Error> {
        self.extreme(Reduction::Amax, Fold::Max, axes, keepdim)
    }

    /// The least along axes, or of everything.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[1, 2], [4, 3]])?;
    /// assert_eq!(x.amin(Some(&[0, 1]), false)?.to_scalar::<i32>()?, 1);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`amax`](Self::amax).
    pub fn amin(&self, axes: Option<&[isize]>, keepdim: bool) -> Result<Self, Error> {
        self.extreme(Reduction::Amin, Fold::Min, axes, keepdim)
    }

    fn extreme(
        &self,
        reduction: Reduction,
        fold: Fold,
        axes: Option<&[isize]>,
        keepdim: bool,
    ) -> Result<Self, Error> {
        let op = reduction.name();
        let result = Call::begin(&reduction, &[self])?.result;
        if self.folds_whole(fold, axes, keepdim) {
            let program = reading(self.dtype(), self.dtype(), fold.item(self.dtype()));
            return self.fold_whole(op, fold, &program, Some(result));
        }
        let plan = Plan::new(op, self, axes)?;
        if self.count() > 0 || !plan.kept.iter().any(|dim| self.shape()[*dim] == 0) {
            plan.need_elements(op, self)?;
        }
        let program = reading(self.dtype(), self.dtype(), fold.item(self.dtype()));
        let folded = plan.fold_to(op, fold, &program, &[self], self.shape(), result)?;
        plan.finish(folded, keepdim)
    }

    /// The place of the greatest along an axis, or in the flattened tensor.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[1, 2], [4, 3]])?;
    /// assert_eq!(x.argmax(Some(1), true)?, Tensor::new([[1_i64], [0]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`amax`](Self::amax).
    pub fn argmax(&self, axis: Option<isize>, keepdim: bool) -> Result<Self, Error> {
        self.detach()
            .place_of_extreme(Reduction::Argmax, Fold::Max, axis, keepdim)
    }

    /// The place of the least along an axis, or in the flattened tensor.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[1, 2], [4, 3]])?;
    /// assert_eq!(x.argmin(Some(1), false)?, Tensor::new([0_i64, 1])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`amax`](Self::amax).
    pub fn argmin(&self, axis: Option<isize>, keepdim: bool) -> Result<Self, Error> {
        self.detach()
            .place_of_extreme(Reduction::Argmin, Fold::Min, axis, keepdim)
    }

    fn place_of_extreme(
        &self,
        reduction: Reduction,
        fold: Fold,
        axis: Option<isize>,
        keepdim: bool,
    ) -> Result<Self, Error> {
        let op = reduction.name();
        let _quiet = overflow::quiet();
        Call::begin(&reduction, &[self])?;
        if let Some(found) = self.place_in_lines(op, fold, axis, keepdim)? {
            return Ok(found);
        }
        let axes = axis.map(|axis| [axis]);
        let axes = axes.as_ref().map(|axes| &axes[..]);
        let plan = Plan::new(op, self, axes)?;
        if self.count() > 0 || !plan.kept.iter().any(|dim| self.shape()[*dim] == 0) {
            plan.need_elements(op, self)?;
        }
        // The extreme first; then the least place that holds it, or NaN.
        let program = reading(self.dtype(), self.dtype(), fold.item(self.dtype()));
        let extreme = plan.fold(op, fold, &program, &[self], self.shape())?;
        let item = extreme.dtype();
        let builder = Builder::new(&[self.dtype(), item, DType::I64]);
        let (x, best) = (builder.input(0).to(item), builder.input(1));
        let found = if item == DType::Bool {
            x.eq(best)
        } else {
            x.eq(best) | x.isnan()
        };
        let nowhere = builder.constant(Scalar::new(i64::MAX, DType::I64)?);
        let program = builder.finish(&[found.pick(builder.input(2), nowhere)]);
        if plan.kept.is_empty() {
            let found = self
                .ravel()?
                .first_place(op, &program, &extreme.reshape(&[1])?)?;
            return plan.finish(found.reshape(&vec![1; self.rank()])?, keepdim);
        }
        let dim = plan.reduced.first().copied().unwrap_or_default();
        let mut sizes = vec![1; self.rank()];
        sizes[dim] = -1;
        let places = self.new_arange(0, self.shape()[dim] as i64, 1, DType::I64)?;
        let places = places.reshape(&sizes)?;
        let inputs = [self, &extreme, &places];
        let found = plan.fold(op, Fold::Min, &program, &inputs, self.shape())?;
        plan.finish(found, keepdim)
    }

    /// The places of extremes along the last axis, or in everything, where the CPU finds them in one pass
    /// over elements in order.
    fn place_in_lines(
        &self,
        op: &'static str,
        fold: Fold,
        axis: Option<isize>,
        keepdim: bool,
    ) -> Result<Option<Self>, Error> {
        let (count, rank) = (self.count(), self.rank());
        let is_last = axis.is_none_or(|axis| axis == -1 || axis == rank as isize - 1);
        if !is_last
            || rank == 0
            || count == 0
            || !self.is_contiguous()
            || self.host_address().is_none()
            || self.is_bit_free()
        {
            return Ok(None);
        }
        let (outer, length) = match axis {
            None => (&[][..], count),
            Some(_) => (&self.shape()[..rank - 1], self.shape()[rank - 1]),
        };
        let lines = count / length;
        let greatest = fold == Fold::Max;
        let flat = match axis {
            None if rank > 1 => Cow::Owned(self.ravel()?),
            _ => Cow::Borrowed(self),
        };
        let (task, dtype) = (Task::Order(Order::Extreme { greatest }), DType::I64);
        let Some(mut found) = perform_here(
            op,
            &task,
            &[&flat],
            &[Output {
                dtype,
                count: lines,
            }],
        )?
        else {
            return Ok(None);
        };
        let mut sizes: Dims<usize> = outer.into();
        if keepdim {
            sizes.resize(rank, 1);
        }
        let shape = Shape::new(op, &sizes)?;
        Ok(Some(Self::from_memory_of(
            found.remove(0).memory,
            shape,
            dtype,
        )))
    }

    /// The least place in a vector that a program of element, extreme and place finds: looked for a
    /// piece at a time, since a list of all places may be larger than the vector. Only the CPU looks at
    /// what it found before it goes on.
    fn first_place(
        &self,
        op: &'static str,
        program: &Program,
        extreme: &Self,
    ) -> Result<Self, Error> {
        const PIECE: usize = 256 << 10;
        let (count, on_host) = (self.count(), self.host_address().is_some());
        let places = self.new_arange(0, count.min(PIECE) as i64, 1, DType::I64)?;
        let mut least: Option<Self> = None;
        for start in (0..count).step_by(PIECE) {
            let now = PIECE.min(count - start);
            let (x, places) = (
                self.narrow(0, start as isize, now)?,
                places.narrow(0, 0, now)?,
            );
            let plan = Plan::new(op, &x, None)?;
            let inputs = [&x, extreme, &places];
            let found = plan.fold(op, Fold::Min, program, &inputs, x.shape())?;
            if on_host {
                match found.item()?.value() {
                    WeakScalar::Int(place) if place < i128::from(i64::MAX) => {
                        let place = start as i64 + place as i64;
                        return self.new_full(&[1], place, DType::I64);
                    }
                    _ => continue,
                }
            }
            let found = found.reshape(&[1])?;
            let later = found.add(start as i64)?;
            let found = found.eq(i64::MAX)?.where_(&found, &later)?;
            least = Some(match least {
                Some(least) => least.minimum(&found)?,
                None => found,
            });
        }
        least.map_or_else(|| self.new_full(&[1], 0, DType::I64), Ok)
    }

    /// Whether one is not zero, along axes or in everything: a bool for every dtype.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[0, 2], [0, 0]])?;
    /// assert_eq!(x.any(Some(&[1]), false)?, Tensor::new([true, false])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for an axis out of range, a memory error.
    pub fn any(&self, axes: Option<&[isize]>, keepdim: bool) -> Result<Self, Error> {
        self.truth(Reduction::Any, Fold::Max, axes, keepdim)
    }

    /// Whether none is zero, along axes or in everything: a bool for every dtype.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[1, 2], [0, 3]])?;
    /// assert_eq!(x.all(Some(&[1]), false)?, Tensor::new([true, false])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`any`](Self::any).
    pub fn all(&self, axes: Option<&[isize]>, keepdim: bool) -> Result<Self, Error> {
        self.truth(Reduction::All, Fold::Min, axes, keepdim)
    }

    fn truth(
        &self,
        reduction: Reduction,
        fold: Fold,
        axes: Option<&[isize]>,
        keepdim: bool,
    ) -> Result<Self, Error> {
        let op = reduction.name();
        let program = reading(self.dtype(), self.dtype(), DType::Bool);
        let is_plain = !is_tracing() && !is_autocast_enabled();
        if is_plain && self.host_address().is_some() && self.folds_whole(fold, axes, keepdim) {
            let mut folded = self.fold_whole(op, fold, &program, None)?;
            for byte in folded.ordered_bytes_mut(op)? {
                *byte = u8::from(*byte != 0);
            }
            folded.set_width(None);
            return Ok(folded);
        }
        let plan = Plan::new(op, self, axes)?;
        let folded = plan.fold(op, fold, &program, &[self], self.shape())?;
        // Bytes from outside may be any; those that leave are 0 and 1.
        plan.finish(folded.logical_and(true)?, keepdim)
    }

    /// How many are not zero, along axes or in everything.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[1, 2], [0, 3]])?;
    /// assert_eq!(x.count_nonzero(Some(&[1]), false)?, Tensor::new([2_i64, 1])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`any`](Self::any).
    pub fn count_nonzero(&self, axes: Option<&[isize]>, keepdim: bool) -> Result<Self, Error> {
        let op = Reduction::CountNonzero.name();
        let plan = Plan::new(op, self, axes)?;
        let program = reading(self.dtype(), DType::Bool, DType::I64);
        let to = DType::I64;
        let folded = plan.fold_to(op, Fold::Sum, &program, &[self], self.shape(), to)?;
        plan.finish(folded, keepdim)
    }

    /// The norm of order `p` along axes, or of everything: infinities give the extreme magnitude,
    /// 0 counts what is not zero. The gradient of the norm of zeros is zero.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([3.0, -4.0])?;
    /// assert_eq!(x.norm(2.0, None, false)?.to_scalar::<f64>()?, 5.0);
    /// assert_eq!(x.norm(f64::INFINITY, None, false)?.to_scalar::<f64>()?, 4.0);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for an axis out of range, a value error for an extreme of nothing, a memory
    /// error.
    pub fn norm(&self, p: f64, axes: Option<&[isize]>, keepdim: bool) -> Result<Self, Error> {
        let op = Reduction::Norm.name();
        let result = Call::begin(&Reduction::Norm, &[self])?.result;
        let plan = Plan::new(op, self, axes)?;
        let from = self.dtype();
        let wide = self.working_float();
        let folded = if p == 0.0 {
            let program = reading(from, DType::Bool, DType::I64);
            let counts = plan.fold_to(op, Fold::Sum, &program, &[self], self.shape(), result)?;
            unvarying(counts, op, &[self])?
        } else if p.is_infinite() {
            plan.need_elements(op, self)?;
            let program = map(from, |x| x.to(wide).abs());
            let fold = if p > 0.0 { Fold::Max } else { Fold::Min };
            plan.fold_to(op, fold, &program, &[self], self.shape(), result)?
        } else if p == 2.0 {
            let scale = Scale::of(op, &plan, &[self], |builder| builder.input(0).to(wide))?;
            let down = scale.as_ref().map(|scale| &scale.down);
            let tensors: SmallVec<[&Self; 2]> = [self].into_iter().chain(down).collect();
            let dtypes: SmallVec<[DType; 2]> = tensors.iter().map(|x| x.dtype()).collect();
            let builder = Builder::new(&dtypes);
            let factor = down.map(|_| builder.input(1));
            let program = builder.finish(&[scaled_square(builder.input(0).to(wide), factor)]);
            let total = plan.fold(op, Fold::Sum, &program, &tensors, self.shape())?;
            let root = root_of_sums(&total, p)?;
            match &scale {
                Some(scale) => root.mul(&scale.up)?,
                None => root,
            }
        } else {
            let program = map(from, |x| {
                let size = x.to(wide).abs();
                if p == 1.0 { size } else { power_of(size, p) }
            });
            if p == 1.0 {
                plan.fold_to(op, Fold::Sum, &program, &[self], self.shape(), result)?
            } else {
                let total = plan.fold(op, Fold::Sum, &program, &[self], self.shape())?;
                root_of_sums(&total, p)?
            }
        };
        plan.finish_in(folded, keepdim, result)
    }

    /// `log(Σ eˣ)` along axes, or of everything, without overflow; -∞ of nothing. That of complex
    /// numbers has an imaginary part from -π to π.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([1000.0, f64::NEG_INFINITY])?;
    /// assert_eq!(x.logsumexp(None, false)?.to_scalar::<f64>()?, 1000.0);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for an axis out of range, a memory error.
    pub fn logsumexp(&self, axes: Option<&[isize]>, keepdim: bool) -> Result<Self, Error> {
        let op = Reduction::Logsumexp.name();
        let result = Call::begin(&Reduction::Logsumexp, &[self])?.result;
        let plan = Plan::new(op, self, axes)?;
        let through = if Set::Inexact.contains(self.dtype()) {
            self.dtype()
        } else {
            default_dtype()
        };
        let compute = compute_dtype(through);
        let real = compute.to_real();
        // Only how far the real parts are from each other decides what overflows. Which number is
        // taken from all of them changes nothing, so that no gradient goes to it.
        let program = map(self.dtype(), |x| {
            let x = x.to(through).to(compute);
            if compute.is_complex() { x.real() } else { x }
        });
        let plain = self.detach();
        let greatest = plan.fold(op, Fold::Max, &program, &[&plain], self.shape())?;
        // An infinite greatest is its own answer; the distance from it is not a number.
        let shift = map(real, |m| m.isfinite().pick(m, m.zero()));
        let shift = evaluate(op, &shift, &[&greatest])?.remove(0);
        let builder = Builder::new(&[self.dtype(), real]);
        let x = builder.input(0).to(through).to(compute);
        let program = builder.finish(&[(x - builder.input(1)).exp()]);
        let total = plan.fold(op, Fold::Sum, &program, &[self, &shift], self.shape())?;
        // The logarithm of no exponentials is infinite as their numbers are.
        let quiet = overflow::quiet();
        let wide = total.to(self.backend().wide(compute))?.log()?;
        let shifted = Self::apply(
            Op::Add,
            &[(&wide).into(), (&shift.to(wide.dtype())?).into()],
        )?;
        drop(quiet);
        plan.finish_in(shifted, keepdim, result)
    }

    /// Whether two tensors have the same shape and equal elements.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([1, 2])?;
    /// assert!(x.equal(&Tensor::new([1.0, 2.0])?)? && !x.equal(&Tensor::new([1])?)?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A memory error.
    pub fn equal(&self, other: &Self) -> Result<bool, Error> {
        if let Some((x, other)) = gathered((self, other))? {
            return x.equal(&other);
        }
        if self.shape() != other.shape() {
            return Ok(false);
        }
        self.eq(other)?.all(None, false)?.is_true()
    }

    /// Whether all elements are within `atol + rtol |other|` of each other; NaN is close to NaN if
    /// `equal_nan`.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([1.0, 1e-9])?;
    /// assert!(x.allclose(&Tensor::new([1.0, 0.0])?, 1e-5, 1e-8, false)?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for shapes that do not broadcast, a dtype error where promotion refuses.
    pub fn allclose(
        &self,
        other: &Self,
        rtol: f64,
        atol: f64,
        equal_nan: bool,
    ) -> Result<bool, Error> {
        if let Some((x, other)) = gathered((self, other))? {
            return x.allclose(&other, rtol, atol, equal_nan);
        }
        self.is_close_to(other, rtol, atol, equal_nan)
            .map_err(|error| error.in_op("allclose"))?
            .all(None, false)?
            .is_true()
    }

    /// Where elements are within `atol + rtol |other|` of each other, in float64: integers too.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([1.0, 2.0])?;
    /// assert_eq!(x.is_close_to(&Tensor::new([1.0, 2.1])?, 1e-5, 1e-8, false)?, Tensor::new([true, false])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`allclose`](Self::allclose); a value error for a tolerance that is negative or NaN.
    pub fn is_close_to(
        &self,
        other: &Self,
        rtol: f64,
        atol: f64,
        equal_nan: bool,
    ) -> Result<Self, Error> {
        if let Some((x, other)) = gathered((self, other))? {
            return x.is_close_to(&other, rtol, atol, equal_nan);
        }
        for (what, value) in [("rtol", rtol), ("atol", atol)] {
            if value.is_nan() || value < 0.0 {
                let problem = Problem::OutOfRange {
                    what,
                    index: None,
                    value: value.to_string(),
                    accepted: "0 and above",
                };
                return Err(Error::new("isclose", problem));
            }
        }
        let wide = match self.dtype().is_complex() || other.dtype().is_complex() {
            true => DType::C128,
            false => DType::F64,
        };
        let builder = Builder::new(&[self.dtype(), other.dtype()]);
        let (x, y) = (builder.input(0).to(wide), builder.input(1).to(wide));
        let bound = |bound: f64| Scalar::new(bound, wide).map(|bound| builder.constant(bound));
        let near = x.isclose(y, bound(rtol)?, bound(atol)?);
        let near = match equal_nan {
            true => near | (x.isnan() & y.isnan()),
            false => near,
        };
        let program = builder.finish(&[near]);
        evaluate_one("isclose", &program, &[&self.detach(), &other.detach()])
    }

    /// The truth of a tensor with one element.
    pub(crate) fn is_true(&self) -> Result<bool, Error> {
        Ok(self.item()?.value() == WeakScalar::Bool(true))
    }
}
