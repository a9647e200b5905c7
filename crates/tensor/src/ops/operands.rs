//! What operations over several tensors agree on: the dtype they meet in and the one they compute in.

use allotrope_dtype::{DType, Error, Problem, WeakScalar};
use allotrope_op::task::Task;
use allotrope_op::task::values::{Refusal, Values};
use allotrope_op::{Builder, Program, Structured, Var, compute_dtype};
use smallvec::SmallVec;

use crate::Tensor;
use crate::call;
use crate::device::check;

/// The dtypes of a computation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Working {
    /// What the operands are converted to, and what comes out.
    pub(super) result: DType,
    /// What is computed in.
    pub(super) compute: DType,
}

impl Working {
    /// The dtypes for some operands of a row, by promotion.
    pub(super) fn of(row: &Structured, tensors: &[&Tensor]) -> Result<Self, Error> {
        let result = call::result_of(row, tensors.iter().copied())?;
        Ok(Self::in_dtype(result))
    }

    /// [`of`](Self::of) for a call that a trace has shown already.
    pub(super) fn expected(row: &Structured, tensors: &[&Tensor]) -> Result<Self, Error> {
        let common = call::common_dtype(row.name, tensors.iter().copied())?;
        Ok(Self::in_dtype(call::expected_dtype(row, common)?))
    }

    /// The dtypes that operands are read in, and that of the result: real where they are complex and
    /// the row makes magnitudes of them.
    pub(super) fn and_result(
        row: &Structured,
        tensors: &[&Tensor],
    ) -> Result<(Self, DType), Error> {
        let (common, result) = call::meet(row, tensors.iter().copied())?;
        let read = match common.is_complex() {
            true => result.to_complex(),
            false => result,
        };
        Ok((Self::in_dtype(read), result))
    }

    /// The dtypes for a result.
    pub(super) fn in_dtype(result: DType) -> Self {
        let compute = compute_dtype(result);
        Self { result, compute }
    }

    /// The same, computed in what the device of a tensor forms sums in.
    pub(super) fn wide(self, like: &Tensor) -> Self {
        let compute = like.backend().wide(self.compute);
        Self { compute, ..self }
    }

    /// An operand as it is computed in: rounded to the common dtype first where that loses digits.
    pub(super) fn read<'b>(&self, operand: Var<'b>) -> Var<'b> {
        if operand.dtype().fits_in(self.result) {
            operand.to(self.compute)
        } else {
            operand.to(self.result).to(self.compute)
        }
    }

    /// The program that reads one tensor.
    pub(super) fn reading(&self, dtype: DType) -> Program {
        self.program(&[dtype], |operands| operands[0])
    }

    /// A formula over operands as they are computed in.
    pub(super) fn program(
        &self,
        dtypes: &[DType],
        formula: impl for<'b> Fn(&[Var<'b>]) -> Var<'b>,
    ) -> Program {
        let builder = Builder::new(dtypes);
        let operands: SmallVec<[Var<'_>; 4]> = (0..dtypes.len())
            .map(|index| self.read(builder.input(index)))
            .collect();
        let result = formula(&operands);
        builder.finish(&[result])
    }

    /// The same, as the result.
    pub(super) fn result_program(
        &self,
        dtypes: &[DType],
        formula: impl for<'b> Fn(&[Var<'b>]) -> Var<'b>,
    ) -> Program {
        self.program(dtypes, |operands| formula(operands).to(self.result))
    }
}

/// The dtypes of tensors.
pub(super) fn dtypes_of(tensors: &[&Tensor]) -> SmallVec<[DType; 4]> {
    tensors.iter().map(|tensor| tensor.dtype()).collect()
}

/// The sizes as `reshape` takes them.
pub(super) fn signed(sizes: &[usize]) -> Vec<isize> {
    sizes.iter().map(|size| *size as isize).collect()
}

/// Refuses a shape.
#[cold]
pub(super) fn wrong_shape(
    op: &'static str,
    what: &'static str,
    given: &Tensor,
    accepted: impl Into<String>,
) -> Error {
    let problem = Problem::WrongShape {
        what,
        given: given.shape().to_vec(),
        accepted: accepted.into(),
    };
    Error::new(op, problem)
}

/// Refuses a number.
#[cold]
pub(super) fn out_of_range(
    op: &'static str,
    what: &'static str,
    value: impl std::fmt::Display,
    accepted: &'static str,
) -> Error {
    let problem = Problem::OutOfRange {
        what,
        index: None,
        value: value.to_string(),
        accepted,
    };
    Error::new(op, problem)
}

/// Refuses what a mask says, with the numbers it is about if the error names one: at the call on the
/// CPU, at the next reading on a device that queues its work.
pub(super) fn refuse(
    op: &'static str,
    refusal: Refusal,
    mask: &Tensor,
    numbers: Option<&Tensor>,
) -> Result<(), Error> {
    let tensors: SmallVec<[&Tensor; 2]> = [mask].into_iter().chain(numbers).collect();
    check(op, &Task::Values(Values::Refuse(refusal)), &tensors)
}

/// Whether any element is not zero.
pub(super) fn is_any(x: &Tensor) -> Result<bool, Error> {
    let any = x.any(None, false)?.item()?;
    Ok(any.value() == WeakScalar::Bool(true))
}

/// The complex conjugate; real numbers as they are.
pub(crate) fn conjugate(x: &Tensor) -> Result<Tensor, Error> {
    if x.dtype().is_complex() {
        x.conj()
    } else {
        Ok(x.clone())
    }
}

/// The last two dimensions exchanged, and conjugated.
pub(super) fn adjoint(x: &Tensor) -> Result<Tensor, Error> {
    conjugate(&x.transpose(-2, -1)?)
}

/// A result that does not vary with the operands it was made of: their gradients are zeros.
pub(crate) fn unvarying(
    result: Tensor,
    op: &'static str,
    operands: &[&Tensor],
) -> Result<Tensor, Error> {
    let saved: Vec<Tensor> = operands.iter().map(|operand| operand.detach()).collect();
    result.with_rule(op, operands, move |pass| {
        let each = saved.iter().enumerate();
        each.map(|(place, operand)| pass.give(place, || operand.zeros_like()))
            .collect()
    })
}

/// A factor, if the other one requires a gradient, which is made of it.
pub(super) fn saved(factor: &Tensor, other: &Tensor) -> Option<Tensor> {
    other.requires_grad().then(|| factor.clone())
}
