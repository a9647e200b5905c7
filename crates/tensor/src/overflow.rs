//! What becomes of results that leave the range of their dtype, by the policy in force: integers beyond
//! it, floats that are infinite or NaN of finite operands.
//!
//! Elementwise work is watched where it is run ([`run`]). Folds, running totals and products of integers
//! are compared with the same sums in float64 ([`Shadow`]): what wraps is a multiple of the range away
//! from the truth, float64 is off by far less. Of operations on floats that mix elements, finite operands
//! with a result that is not finite are what counts.

use allotrope_dtype::{
    DType, Error, Kind, OverflowPolicy, Problem, Scalar, Scope, Set, overflow, scoped_overflow,
};
use allotrope_op::task::contraction::{Contraction, MatrixProduct};
use allotrope_op::task::{Output, Results, Task, Window};
use allotrope_op::{
    Backend, Builder, Combine, Fold, Hosting, Layout, Op, Program, Shape, Shared, Slot, Step,
    Target, View, Watched, is_nan,
};
use smallvec::SmallVec;

use crate::Tensor;
use crate::device::{Device, perform_here};
use crate::elementwise::evaluate_one;
use crate::host::{Buffer, CPU, Storage};
use crate::notice;
use crate::reduce::Plan;
use crate::transfer::{download, upload};

/// Whether results are watched.
#[inline]
pub(crate) fn is_watched() -> bool {
    overflow() != OverflowPolicy::Wrap
}

/// Lets results wrap until it is dropped: for what an operation computes on its way, whose results are
/// watched as a whole or are its own matter.
#[must_use]
pub(crate) fn quiet() -> Option<Scope> {
    is_watched().then(|| scoped_overflow(OverflowPolicy::Wrap))
}

/// The outputs of a program, by the policy in force.
///
/// # Errors
/// An overflow error if the policy raises one, a memory error.
#[inline]
pub(crate) fn run(
    op: &'static str,
    backend: &'static dyn Backend,
    program: &Program,
    shape: &Shape,
    views: &[View<'_>],
) -> Result<SmallVec<[Shared; 2]>, Error> {
    if is_watched() {
        watched(op, backend, program, shape, views)
    } else {
        backend.run(op, program, shape, views)
    }
}

#[cold]
fn watched(
    op: &'static str,
    backend: &'static dyn Backend,
    program: &Program,
    shape: &Shape,
    views: &[View<'_>],
) -> Result<SmallVec<[Shared; 2]>, Error> {
    let saturates = overflow() == OverflowPolicy::Saturate;
    let (outputs, lost) = match backend.run_checked(op, program, shape, views, saturates)? {
        Some(made) => made,
        None => watched_on_host(op, backend, program, shape, views, saturates)?,
    };
    if let Some(lost) = lost {
        let index = place_in(shape, lost.place);
        settle(
            op,
            lost.dtype,
            lost.is_nan(),
            index,
            lost.to_string(),
            lost.count,
        )?;
    }
    Ok(outputs)
}

/// The outputs of a device that does not look at them, and what the CPU says of the same program.
fn watched_on_host(
    op: &'static str,
    backend: &'static dyn Backend,
    program: &Program,
    shape: &Shape,
    views: &[View<'_>],
    saturates: bool,
) -> Result<Watched, Error> {
    let outputs = backend.run(op, program, shape, views)?;
    if shape.count() == 0 || are_finite(op, backend, program, shape, views)? {
        return Ok((outputs, None));
    }
    notice::hosted(op, Device::from(backend), program.input_dtypes())?;
    let _hosting = Hosting::begin();
    let mut copies: SmallVec<[Shared; 4]> = SmallVec::new();
    for (view, dtype) in views.iter().zip(program.input_dtypes()) {
        let mut buffer = Buffer::for_elements(op, *dtype, shape.count())?;
        download("check", op, *dtype, *view, &mut buffer)?;
        copies.push(Storage::from(buffer).share());
    }
    let layout = Layout::contiguous(shape.clone());
    let views: SmallVec<[View<'_>; 4]> = copies
        .iter()
        .map(|memory| View {
            memory: &**memory,
            layout: &layout,
        })
        .collect();
    let Some((made, lost)) = CPU.run_checked(op, program, shape, &views, saturates)? else {
        return Ok((outputs, None));
    };
    if !saturates {
        return Ok((outputs, lost));
    }
    let made = made.iter().zip(program.output_dtypes());
    let made = made.map(|(memory, dtype)| {
        let (bytes, len) = (memory.on_host(op)?, dtype.bytes_for(shape.count()));
        let bytes = len.and_then(|len| bytes.get(..len)).unwrap_or(bytes);
        upload(backend, op, dtype, bytes)
    });
    Ok((made.collect::<Result<_, Error>>()?, lost))
}

/// Whether a program of floats has finite outputs alone, as its own device says: one truth value comes
/// back. False where that would not settle it.
fn are_finite(
    op: &'static str,
    backend: &dyn Backend,
    program: &Program,
    shape: &Shape,
    views: &[View<'_>],
) -> Result<bool, Error> {
    // Of formats without an infinity finite numbers do not tell.
    let tells = |dtype: DType| match dtype.kind() {
        Kind::Bool => true,
        Kind::Float | Kind::Complex => dtype.finfo().is_ok_and(|info| info.has_inf),
        _ => false,
    };
    if !program.dtypes().iter().all(|dtype| tells(*dtype)) {
        return Ok(false);
    }
    let inputs = program.input_count();
    let narrows = |step: &Step| match step {
        Step::Convert { from, to } => {
            usize::from(*from) < inputs && !to.holds_range_of(program.dtype(*from))
        }
        _ => false,
    };
    if program.steps().iter().any(narrows) {
        return Ok(false);
    }
    let mut look = Program::new(program.input_dtypes());
    for step in program.steps() {
        look.push(*step);
    }
    let mut all: Option<Slot> = None;
    for slot in program.outputs() {
        if program.dtype(*slot) == DType::Bool {
            continue;
        }
        let number = look.convert(*slot, program.dtype(*slot).compute());
        let is_finite = look.apply(Op::IsFinite, &[number]);
        all = Some(match all {
            Some(all) => look.apply(Op::LogicalAnd, &[all, is_finite]),
            None => is_finite,
        });
    }
    let Some(all) = all else {
        return Ok(true);
    };
    look.output(all);
    let sizes = [1, shape.count(), 1];
    let memory = backend.reduce(op, Fold::Min, &look, shape, views, sizes, DType::Bool)?;
    let answer = Tensor::from_memory_of(memory, Shape::new(op, &[])?, DType::Bool);
    is_true(op, &answer)
}

fn is_true(op: &'static str, truth: &Tensor) -> Result<bool, Error> {
    Ok(truth.read(op)?.iter().any(|byte| *byte != 0))
}

/// The index of an element by its place in row-major order.
fn place_in(shape: &[usize], mut place: usize) -> Vec<usize> {
    // bounded: one for each dimension.
    let mut index = vec![0; shape.len()];
    for (index, size) in index.iter_mut().zip(shape).rev() {
        let size = (*size).max(1);
        (*index, place) = (place % size, place / size);
    }
    index
}

/// What the policy says to elements that are lost.
fn settle(
    op: &'static str,
    dtype: DType,
    is_nan: bool,
    index: Vec<usize>,
    given: String,
    count: usize,
) -> Result<(), Error> {
    let problem = Problem::Overflowed {
        dtype,
        is_nan,
        index,
        given,
    };
    match overflow() {
        OverflowPolicy::Wrap => Ok(()),
        // What is left is NaN, which no number is near to.
        OverflowPolicy::Saturate if !is_nan => Ok(()),
        OverflowPolicy::Raise => {
            let hint = "overflow(\"saturate\"), or a wider dtype";
            let error = Error::new(op, problem);
            Err(if is_nan { error } else { error.hint(hint) })
        }
        OverflowPolicy::Saturate | OverflowPolicy::Report => {
            notice::overflowed(op, dtype, &problem, count)
        }
    }
}

/// What was made on the way to a result: elements that are lost, and what stands in their places.
pub(crate) struct Found<'a> {
    /// The operation.
    pub(crate) op: &'static str,
    /// True for what is lost.
    pub(crate) lost: &'a Tensor,
    /// What the elements should be, if that is known better than by the sign of what they are.
    pub(crate) about: Option<&'a Tensor>,
    /// Dimensions that the user does not see.
    pub(crate) hidden: &'a [usize],
}

impl Found<'_> {
    /// The result by the policy in force.
    fn settle(&self, result: Tensor) -> Result<Tensor, Error> {
        let quiet_so_far = quiet();
        // The range is that of what the device stores.
        let (op, dtype) = (self.op, result.storage_dtype());
        let is_lost = self.lost.read(op)?;
        let Some(place) = is_lost.iter().position(|byte| *byte != 0) else {
            return Ok(result);
        };
        let count = is_lost.iter().filter(|byte| **byte != 0).count();
        let of = |tensor: &Tensor| -> Result<Scalar, Error> {
            let size = tensor.dtype().itemsize();
            let bytes = tensor.read(op)?;
            Scalar::from_bytes(tensor.dtype(), &bytes[place * size..(place + 1) * size])
        };
        let made = of(&result)?;
        let given = match self.about {
            Some(about) => format!("the result is about {}", of(about)?),
            None if is_nan(made) => "finite operands give nan".to_owned(),
            None => format!("finite operands give {made}"),
        };
        let index = place_in(result.shape(), place);
        let seen = index.iter().enumerate();
        let seen = seen.filter(|(dim, _)| !self.hidden.contains(dim));
        let index = seen.map(|(_, index)| *index).collect();
        drop(quiet_so_far);
        settle(op, dtype, is_nan(made), index, given, count)?;
        if overflow() != OverflowPolicy::Saturate {
            return Ok(result);
        }
        let _quiet = quiet();
        self.nearest(&result)
    }

    /// The result with the nearest numbers in the places of what is lost.
    fn nearest(&self, result: &Tensor) -> Result<Tensor, Error> {
        let dtype = result.dtype();
        if dtype.is_complex() {
            return Ok(result.clone());
        }
        let about = self.about.unwrap_or(result);
        let (least, most) = match dtype.integer_range() {
            Some((least, most)) => (Scalar::new(least, dtype)?, Scalar::new(most, dtype)?),
            None => {
                let info = result.storage_dtype().finfo()?;
                (Scalar::new(info.min, dtype)?, Scalar::new(info.max, dtype)?)
            }
        };
        let builder = Builder::new(&[dtype, about.dtype(), DType::Bool]);
        let (result_var, about_var) = (builder.input(0), builder.input(1));
        let wide = about_var.to(about.dtype().compute());
        let nearest = wide
            .gt(wide.zero())
            .pick(builder.constant(most), builder.constant(least));
        let stays = wide.isnan().pick(result_var, nearest);
        let program = builder.finish(&[builder.input(2).pick(stays, result_var)]);
        evaluate_one(self.op, &program, &[result, about, self.lost])
    }
}

/// What integers should be, in float64.
pub(crate) struct Shadow<'a> {
    /// The operation.
    pub(crate) op: &'static str,
    /// The same in float64.
    pub(crate) truth: &'a Tensor,
    /// The bits that sums keep.
    pub(crate) bits: u32,
    /// Dimensions that the user does not see.
    pub(crate) hidden: &'a [usize],
}

impl Shadow<'_> {
    /// Integers by the policy in force.
    pub(crate) fn settle(&self, result: Tensor) -> Result<Tensor, Error> {
        let lost = {
            let _quiet = quiet();
            let builder = Builder::new(&[result.dtype(), DType::F64]);
            let (made, truth) = (builder.input(0).to(DType::F64), builder.input(1));
            let half = 2_f64.powi(self.bits.min(result.dtype().bits()) as i32 - 1);
            // Zero times what is infinite by now is zero: NaN is never away.
            let is_away = (truth - made).abs().ge(truth.lit(half));
            let program = builder.finish(&[is_away]);
            let result = result.on_cpu(self.op)?;
            evaluate_one(self.op, &program, &[&result, &self.truth.on_cpu(self.op)?])?
        };
        let truth = self.truth.on_cpu(self.op)?;
        let found = Found {
            op: self.op,
            lost: &lost,
            about: Some(&truth),
            hidden: self.hidden,
        };
        let settled = found.settle(result.on_cpu(self.op)?)?;
        settled.beside(&result)
    }
}

/// A program of integers with its output in float64, where sums and products of integers are formed in
/// float64 too.
pub(crate) fn in_float64(program: &Program) -> Program {
    fn wide(program: &Program, out: &mut Program, slot: Slot) -> Slot {
        let step = usize::from(slot)
            .checked_sub(program.input_count())
            .and_then(|place| program.steps().get(place));
        match step {
            Some(Step::Apply { op, args })
                if program.dtype(slot).is_integer()
                    && matches!(op, Op::Add | Op::Sub | Op::Mul | Op::Neg | Op::Square) =>
            {
                let args = args[..op.arity()].iter();
                let args: SmallVec<[Slot; 4]> = args.map(|arg| wide(program, out, *arg)).collect();
                out.apply(*op, &args)
            }
            Some(Step::Convert { from, to }) if to.is_integer() => {
                match to.holds_range_of(program.dtype(*from)) {
                    true => wide(program, out, *from),
                    false => out.convert(slot, DType::F64),
                }
            }
            _ => out.convert(slot, DType::F64),
        }
    }
    let mut out = Program::new(program.input_dtypes());
    for step in program.steps() {
        out.push(*step);
    }
    for slot in program.outputs() {
        let made = wide(program, &mut out, *slot);
        out.output(made);
    }
    out
}

/// Whether a program converts numbers to a dtype that does not hold them all.
pub(crate) fn narrows(program: &Program) -> bool {
    let narrows = |step: &Step| match step {
        Step::Convert { from, to } => !to.holds_range_of(program.dtype(*from)),
        _ => false,
    };
    program.steps().iter().any(narrows)
}

/// Whether each element of a float tensor is finite, as a program of it.
pub(crate) fn finite_program(dtype: DType) -> Program {
    let builder = Builder::new(&[dtype]);
    let x = builder.input(0);
    let is_finite = match Set::Inexact.contains(dtype) {
        true => x.to(dtype.compute()).isfinite(),
        false => x.to(DType::Bool).eq(x.to(DType::Bool)),
    };
    builder.finish(&[is_finite])
}

/// Whether all elements are finite.
pub(crate) fn is_finite(op: &'static str, tensor: &Tensor) -> Result<bool, Error> {
    if !Set::Inexact.contains(tensor.dtype()) || tensor.count() == 0 {
        return Ok(true);
    }
    let x = tensor.detach();
    let plan = Plan::new(op, &x, None)?;
    let all = plan.fold(op, Fold::Min, &finite_program(x.dtype()), &[&x], x.shape())?;
    is_true(op, &all)
}

/// A result of floats that are not finite although what they are made of is, by the policy in force.
/// `made_of_finite` is true for the elements of which that is known; all of them without it.
pub(crate) fn settle_floats(
    op: &'static str,
    result: Tensor,
    made_of_finite: Option<&Tensor>,
    hidden: &[usize],
) -> Result<Tensor, Error> {
    let lost = {
        let _quiet = quiet();
        if is_finite(op, &result)? {
            return Ok(result);
        }
        let plain = result.detach();
        let is_finite = evaluate_one(op, &finite_program(plain.dtype()), &[&plain])?;
        let is_lost = is_finite.logical_not()?;
        match made_of_finite {
            Some(known) => is_lost.logical_and(known)?,
            None => is_lost,
        }
    };
    let found = Found {
        op,
        lost: &lost,
        about: None,
        hidden,
    };
    found.settle(result)
}

/// The results of a task by the policy in force; the shape is that of the only one, if it is known.
pub(crate) fn settle_task(
    op: &'static str,
    task: &Task<'_>,
    tensors: &[&Tensor],
    outputs: &[Output],
    shape: Option<&Shape>,
    mut results: Results,
) -> Result<Results, Error> {
    if tensors.is_empty() || matches!(task, Task::Values(_) | Task::Sampling(_) | Task::Order(_)) {
        return Ok(results);
    }
    let mut operands_are_finite = None;
    for (made, output) in results.iter_mut().zip(outputs) {
        let shape = match shape.filter(|shape| shape.count() == made.count) {
            Some(shape) => shape.clone(),
            None => Shape::new(op, &[made.count])?,
        };
        let result = Tensor::from_memory_of(made.memory.clone(), shape.clone(), output.dtype);
        let settled = if Set::Inexact.contains(output.dtype) {
            let quiet_so_far = quiet();
            if is_finite(op, &result)? {
                continue;
            }
            let all = match operands_are_finite {
                Some(known) => known,
                None => {
                    let mut all = true;
                    for tensor in tensors {
                        all &= is_finite(op, tensor)?;
                    }
                    all
                }
            };
            operands_are_finite = Some(all);
            drop(quiet_so_far);
            if !all {
                continue;
            }
            settle_floats(op, result, None, &[])?
        } else {
            let Some(truth) = task_in_float64(op, task, tensors, &shape)? else {
                continue;
            };
            let bits = match task {
                Task::Contraction(Contraction::MatrixProduct(product)) => product.sum.bits(),
                _ => output.dtype.bits(),
            };
            let shadow = Shadow {
                op,
                truth: &truth,
                bits,
                hidden: &[],
            };
            shadow.settle(result)?
        };
        made.memory = settled.contiguous()?.shared_memory();
    }
    Ok(results)
}

/// What a task that sums products of integers makes of them in float64; nothing of other tasks.
fn task_in_float64(
    op: &'static str,
    task: &Task<'_>,
    tensors: &[&Tensor],
    shape: &Shape,
) -> Result<Option<Tensor>, Error> {
    let task = match task {
        Task::Contraction(Contraction::MatrixProduct(product)) if product.sum.is_integer() => {
            Task::Contraction(Contraction::MatrixProduct(MatrixProduct {
                common: DType::F64,
                sum: DType::F64,
                ..*product
            }))
        }
        Task::Convolution(_) | Task::Window(Window::Fold { .. }) => task.clone(),
        _ => return Ok(None),
    };
    let _quiet = quiet();
    let wide = tensors.iter().map(|tensor| {
        let wide = tensor.detach().on_cpu(op)?.to(DType::F64)?;
        Ok(wide)
    });
    let wide = wide.collect::<Result<SmallVec<[Tensor; 4]>, Error>>()?;
    let wide: SmallVec<[&Tensor; 4]> = wide.iter().collect();
    let (dtype, count) = (DType::F64, shape.count());
    let made = perform_here(op, &task, &wide, &[Output { dtype, count }])?;
    let memory = made.and_then(|mut made| made.pop()).map(|made| made.memory);
    Ok(memory.map(|memory| Tensor::from_memory_of(memory, shape.clone(), dtype)))
}

impl Tensor {
    /// [`rewrite`](Self::rewrite) by what combines a source with the elements, by the policy in force.
    /// `repeat` does the same to these elements in float64, with the source in it, on the CPU.
    pub(crate) fn rewrite_by(
        &mut self,
        op: &'static str,
        dtype: DType,
        how: Combine,
        source: &Self,
        change: impl FnOnce(Target<'_>) -> Result<(), Error>,
        repeat: impl FnOnce(&mut Self, &Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if !is_watched() || !matches!(how, Combine::Add | Combine::Multiply) {
            return self.rewrite(op, dtype, change);
        }
        // A value that someone has is not written over.
        let former = self.clone();
        self.rewrite(op, dtype, change)?;
        let settled = self.combined(op, &former, source, repeat);
        *self = match settled {
            Ok(settled) => settled,
            Err(error) => {
                *self = former;
                return Err(error);
            }
        };
        Ok(())
    }

    /// What was combined with former elements, by the policy in force.
    fn combined(
        &self,
        op: &'static str,
        former: &Self,
        source: &Self,
        repeat: impl FnOnce(&mut Self, &Self) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let quiet_so_far = quiet();
        if self.dtype().is_integer() {
            let wide = |x: &Self| x.detach().contiguous()?.on_cpu(op)?.to(DType::F64);
            let (mut truth, source) = (wide(former)?, wide(source)?);
            repeat(&mut truth, &source)?;
            drop(quiet_so_far);
            let shadow = Shadow {
                op,
                truth: &truth,
                bits: self.dtype().bits(),
                hidden: &[],
            };
            return shadow.settle(self.clone());
        }
        let are_finite = is_finite(op, former)? && is_finite(op, source)?;
        drop(quiet_so_far);
        match are_finite {
            true => settle_floats(op, self.clone(), None, &[]),
            false => Ok(self.clone()),
        }
    }

    /// The elements on the CPU, where float64 is: hosted work for any other device.
    pub(crate) fn on_cpu(&self, op: &'static str) -> Result<Self, Error> {
        if self.host_address().is_some() {
            return Ok(self.clone());
        }
        notice::hosted(op, self.device(), &[self.dtype()])?;
        let _hosting = Hosting::begin();
        self.to_backend(&CPU).map_err(|error| error.in_op(op))
    }

    /// [`to`](Self::to), as a part of an operation.
    pub(crate) fn to_in(&self, op: &'static str, dtype: DType) -> Result<Self, Error> {
        self.to(dtype).map_err(|error| error.in_op(op))
    }
}
