//! Rows of the op tables, run into the memory that they read.

use allotrope_dtype::{Error, WeakScalar};
use allotrope_op::{MAX_ARITY, Op};
use smallvec::SmallVec;

use super::Variable;
use super::write::{Written, apart};
use crate::Tensor;
use crate::autograd::is_recorded;
use crate::elementwise::{Operand, needs_guard, record_into};

/// Elements from which a row is run into the memory it reads: below a result of its own is faster.
const IN_ONE_PASS_FROM: usize = 8 << 10;

/// An operand of a row beside the tensor that is written to.
#[derive(Clone, Debug)]
pub enum RowOperand {
    /// A tensor.
    Tensor(Tensor),
    /// A number, which takes the dtype of the tensors if its kind fits.
    Number(WeakScalar),
}

impl RowOperand {
    fn tensor(&self) -> Option<&Tensor> {
        match self {
            Self::Tensor(tensor) => Some(tensor),
            Self::Number(_) => None,
        }
    }

    fn as_operand(&self) -> Operand<'_> {
        match self {
            Self::Tensor(tensor) => Operand::Tensor(tensor),
            Self::Number(number) => Operand::Scalar(*number),
        }
    }

    /// The operand in memory of its own; nothing if it is the value itself.
    fn apart(self, value: &Tensor) -> Result<Option<Self>, Error> {
        match self {
            Self::Tensor(tensor) => Ok(apart(&tensor, value)?.map(Self::Tensor)),
            Self::Number(number) => Ok(Some(Self::Number(number))),
        }
    }
}

impl Variable {
    /// Gives the elements the result of a row of the op tables on them and other operands, converted to
    /// their dtype: in one pass over the memory where that can be.
    ///
    /// # Errors
    /// As [`Tensor::apply`] and [`update`](Self::update).
    pub fn update_row(
        &self,
        op: &'static str,
        row: Op,
        rest: Vec<RowOperand>,
    ) -> Result<Written, Error> {
        let former = self.begin(op)?;
        let tensors = rest.iter().filter_map(RowOperand::tensor);
        let all: SmallVec<[&Tensor; MAX_ARITY]> = tensors.chain([&former]).collect();
        let is_large = former.count() >= IN_ONE_PASS_FROM && rest.len() + 1 == row.arity();
        let mut others = rest.iter().filter_map(RowOperand::tensor);
        let are_apart = others.all(|tensor| !tensor.shares_storage_with(&former));
        let is_recorded = is_recorded(&all);
        drop(all);
        if former.count() < IN_ONE_PASS_FROM && !is_recorded && are_apart {
            let operands = rest.iter().map(RowOperand::as_operand);
            let operands: SmallVec<[Operand<'_>; MAX_ARITY]> = [Operand::Tensor(&former)]
                .into_iter()
                .chain(operands)
                .collect();
            let result = Tensor::apply(row, &operands).map_err(|error| error.in_op(op))?;
            drop(operands);
            return match self.commit(op, former, result)? {
                Some(written) => Ok(written),
                // Another thread has written meanwhile: its value is the one to go on from.
                None => self.update_by_row(op, row, rest),
            };
        }
        if !is_large || is_recorded {
            drop(former);
            return self.update_by_row(op, row, rest);
        }
        // bounded: one per operand.
        let rest = rest.into_iter().map(|operand| operand.apart(&former));
        // bounded: one per operand.
        let rest = rest.collect::<Result<Vec<_>, Error>>()?;
        drop(former);
        let mut is_done = false;
        let written = self.change(op, false, &mut |own| {
            let operands = rest.iter().map(|operand| operand.as_ref());
            let operands = operands.map(|operand| operand.map(RowOperand::as_operand));
            let operands: Vec<_> = [None].into_iter().chain(operands).collect();
            is_done = record_into(row, &operands, own).map_err(|error| error.in_op(op))?;
            Ok(())
        })?;
        if is_done {
            return Ok(written);
        }
        let or_own = |operand: Option<RowOperand>| {
            operand.unwrap_or_else(|| RowOperand::Tensor(self.value()))
        };
        self.update_by_row(op, row, rest.into_iter().map(or_own).collect())
    }

    /// The same, by a result that is written over the elements.
    fn update_by_row(
        &self,
        op: &'static str,
        row: Op,
        rest: Vec<RowOperand>,
    ) -> Result<Written, Error> {
        let (mut tensors, mut numbers) = (Vec::new(), Vec::new());
        for operand in rest {
            match operand {
                RowOperand::Tensor(tensor) => {
                    tensors.push(tensor);
                    numbers.push(None);
                }
                RowOperand::Number(number) => numbers.push(Some(number)),
            }
        }
        let can_fail = needs_guard(row, self.value().dtype());
        self.update_with(op, tensors, !can_fail, |own, tensors| {
            let mut tensors = tensors.iter();
            let rest = numbers.iter().filter_map(|number| match number {
                Some(number) => Some(Operand::Scalar(*number)),
                None => tensors.next().map(Operand::Tensor),
            });
            let operands: Vec<Operand<'_>> =
                [Operand::Tensor(own)].into_iter().chain(rest).collect();
            Tensor::apply(row, &operands).map_err(|error| error.in_op(op))
        })
    }
}
