//! Assignment: a tensor with some elements replaced, in its own memory where nobody else has it.

use allotrope_dtype::{Casting, DType, Error, Policy, Problem, can_cast, promotion};
use allotrope_op::{Argument, Backend, Combine, Layout, Put, Shape};

use smallvec::smallvec;

use crate::autograd::is_recorded;
use crate::device::common_backend;
use crate::elementwise::Operand;
use crate::host::CPU;
use crate::index::Selection;
use crate::ops::chooser_beside;
use crate::{Index, Tensor};

const OP: &str = "setitem";

/// The elements that a key means, and zero for those that a later one has taken the place of.
fn still_there(gradient: &Tensor, key: &[Index]) -> Result<Tensor, Error> {
    let picked = gradient.index(key)?;
    let may_repeat =
        |item: &Index| matches!(item, Index::Array(array) if array.dtype() != DType::Bool);
    if !key.iter().any(may_repeat) {
        return Ok(picked);
    }
    let numbers = gradient.new_arange(0, picked.count() as i64, 1, DType::I64)?;
    let numbers = numbers.reshape_as(&picked)?;
    let mut written = gradient.new_zeros(gradient.shape(), DType::I64)?;
    written.assign(key, &numbers)?;
    let overwritten = written.index(key)?.ne(&numbers)?;
    picked.masked_fill(&overwritten, false)
}

impl Tensor {
    /// Gives this tensor a new value: the old one with the elements that a key means replaced by
    /// others, which are broadcast to them. Where several indices name one element, the last stays.
    ///
    /// The dtype stays: what is assigned is converted to it, and must not be of a higher kind. A number
    /// must be one that the dtype holds. Other tensors keep their values: the memory is reused only if
    /// nobody else has it. After an error nothing has changed.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::{Index, Tensor};
    /// let mut x = Tensor::zeros(&[2, 3], DType::I64)?;
    /// x.assign(&[Index::At(1)], 7)?;
    /// assert_eq!(x.to_vec::<i64>()?, [0, 0, 0, 7, 7, 7]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`index`](Self::index) for the key; a dtype error for what is of a higher kind or where the
    /// promotion policy refuses, an overflow error for a number that the dtype cannot hold, a value
    /// error if the shapes do not broadcast.
    pub fn assign<'a>(
        &mut self,
        key: &[Index],
        value: impl Into<Operand<'a>>,
    ) -> Result<(), Error> {
        let value = value.into();
        let dtype = self.dtype();
        self.check_policy(&value)?;
        let value = match value {
            Operand::Tensor(tensor) if tensor.is_device_free() => {
                tensor.to_device(self.device())?.for_writing(OP, dtype)?
            }
            Operand::Tensor(tensor) => tensor.for_writing(OP, dtype)?,
            Operand::Scalar(scalar) => {
                let value = self.new_full(&[], scalar.lowered_to(dtype), dtype);
                value.map_err(|error| error.in_op(OP))?
            }
        };
        if !is_recorded(&[self, &value]) {
            return self.write(key, &value, dtype);
        }
        let former = self.clone();
        *self = former.detach();
        let written = self.write(key, &value.detach(), dtype);
        if written.is_err() {
            *self = former;
            return written;
        }
        let key = key.to_vec();
        let new = self.detach();
        *self = new.with_rule(OP, &[&former, &value], move |pass| {
            let gradient = pass.gradient()?;
            let for_former = pass.give(0, || {
                let mut gradient = gradient.clone();
                gradient.assign(&key, false).map(|()| gradient)
            })?;
            let rank = pass.operand_rank(1);
            let for_value = pass.give(1, || {
                let mut picked = still_there(&gradient, &key)?;
                // The value may have had leading ones that the place does not have.
                while picked.rank() < rank {
                    picked = picked.unsqueeze(0)?;
                }
                Ok(picked)
            })?;
            Ok(smallvec![for_former, for_value])
        })?;
        Ok(())
    }

    /// Writes a value of a dtype to the elements that a key means.
    fn write(&mut self, key: &[Index], value: &Self, dtype: DType) -> Result<(), Error> {
        // Memory that both have would be copied as a whole, since others read it.
        let copy = value.shares_storage_with(self).then(|| value.copied());
        let copy = copy.transpose()?;
        let value = copy.as_ref().unwrap_or(value);
        if let Some(mask) = self.whole_mask(key) {
            return self.write_where(mask, value, dtype);
        }
        let in_place = self.has_own_memory();
        let is_view = |item: &Index| !matches!(item, Index::Array(_));
        let selection = if in_place && key.iter().all(is_view) {
            self.select_by(key)?
        } else {
            self.row_major().select_by(key)?
        };
        if !selection.arrays.is_empty() {
            return self.combine(OP, dtype, Combine::Replace, selection, value);
        }
        let layout = selection.view.layout().clone();
        drop(selection);
        let backend = common_backend(OP, &[self, value])?;
        let value = value.fitted(layout.shape())?;
        if in_place && let Some(target) = self.own_target() {
            return backend.place(OP, dtype, value.view_of(), target, &layout);
        }
        self.rewrite(OP, dtype, |target| {
            backend.place(OP, dtype, value.view_of(), target, &layout)
        })
    }

    /// Writes a value of a dtype to the elements where a mask of all of them is true.
    fn write_where(&mut self, mask: &Self, value: &Self, dtype: DType) -> Result<(), Error> {
        let mask = &*chooser_beside(mask, self)?;
        let backend = common_backend(OP, &[self, mask, value])?;
        let used = match value.count() {
            1 => value.clone(),
            _ => value.fitted(&Shape::new(OP, &[mask.true_count(OP)?])?)?,
        };
        let (used, mask) = (used.contiguous()?, mask.settled()?);
        self.rewrite(OP, dtype, |target| {
            backend.expand(OP, dtype, used.view_of(), mask.view_of(), target)
        })
    }

    /// The tensor with its elements in row-major order, whose memory may have another one: what keys
    /// mean for [`rewrite`](Self::rewrite).
    pub(crate) fn row_major(&self) -> Self {
        self.with_layout(Layout::contiguous(self.shape().clone()))
    }

    /// Combines a value of a dtype, broadcast, with the elements that arrays select from
    /// [`row_major`](Self::row_major), which become of that dtype, too.
    pub(crate) fn combine(
        &mut self,
        op: &'static str,
        dtype: DType,
        how: Combine,
        selection: Selection,
        value: &Self,
    ) -> Result<(), Error> {
        let arrays = selection.arrays.iter().map(|(_, array)| array);
        let operands: Vec<&Self> = [&*self, value].into_iter().chain(arrays).collect();
        let backend = common_backend(op, &operands)?;
        let located = selection.locate()?;
        // The memory is then nobody else's.
        drop(selection);
        let base = &located.base;
        let value = value.fitted(base.shape())?;
        // Leading dimensions that are whole keep elements apart.
        let rows = Layout::contiguous(self.shape().clone());
        let whole = |dim: &usize| {
            base.shape()[*dim] == rows.shape()[*dim] && base.strides()[*dim] == rows.strides()[*dim]
        };
        let rank = rows.shape().rank().min(base.shape().rank());
        let leading = (0..rank).take_while(|dim| whole(dim)).count();
        let blocks = base.shape()[..leading].iter().product();
        let job = Put {
            source: value.view_of(),
            indices: located.starts.seen_as(&located.places),
            base,
            step: located.step as usize,
            blocks,
            used: blocks,
        };
        self.rewrite_by(
            op,
            dtype,
            how,
            &value,
            |target| backend.put(op, dtype, how, &job, target),
            |truth, source| {
                let starts = located.starts.on_cpu(op)?;
                let job = Put {
                    source: source.view_of(),
                    indices: starts.seen_as(&located.places),
                    ..job
                };
                truth.rewrite(op, DType::F64, |target| {
                    CPU.put(op, DType::F64, how, &job, target)
                })
            },
        )
    }

    /// Refuses a value of another dtype where the policy in force never converts.
    fn check_policy(&self, value: &Operand<'_>) -> Result<(), Error> {
        let policy = promotion();
        if !matches!(policy, Policy::Strict | Policy::Exact) {
            return Ok(());
        }
        let of = |tensor: &Self| Argument::Tensor {
            dtype: tensor.dtype(),
            is_zero_dim: tensor.rank() == 0,
        };
        let (lhs, other) = match value {
            Operand::Tensor(tensor) => (tensor.dtype(), of(tensor)),
            Operand::Scalar(scalar) => (self.dtype(), Argument::Scalar(*scalar)),
        };
        let operands = [of(self).operand(), other.operand()];
        let common = policy.result_type(OP, &operands, allotrope_dtype::default_dtype())?;
        if common == self.dtype() {
            return Ok(());
        }
        let rhs = self.dtype();
        Err(Error::new(OP, Problem::NoPromotion { policy, lhs, rhs }).hint(format!("x.to({rhs})")))
    }

    /// The values as they are written to a tensor of a dtype, which must not be of a lower kind.
    ///
    /// # Errors
    /// A dtype error.
    pub(crate) fn for_writing(&self, op: &'static str, dtype: DType) -> Result<Self, Error> {
        let hint = match self.dtype().is_complex() {
            true => "value.real".to_owned(),
            false => format!("value.to({dtype})"),
        };
        self.check_kind(op, dtype, hint)?;
        self.to(dtype)
    }

    /// Refuses to write these values to a tensor of a dtype of a lower kind.
    pub(crate) fn check_kind(
        &self,
        op: &'static str,
        dtype: DType,
        hint: String,
    ) -> Result<(), Error> {
        if can_cast(self.dtype(), dtype, Casting::SameKind) {
            return Ok(());
        }
        let (given, target) = (self.dtype(), dtype);
        Err(Error::new(op, Problem::HigherKind { given, target }).hint(hint))
    }

    /// This value, broadcast to the shape of what it replaces. Leading dimensions of size one are
    /// dropped, as NumPy does.
    fn fitted(&self, shape: &Shape) -> Result<Self, Error> {
        let mut value = self.clone();
        while value.rank() > shape.rank() && value.shape()[0] == 1 {
            value = value.select(0, 0)?;
        }
        let view = value.layout().broadcast_to(OP, shape)?;
        Ok(value.with_layout(view))
    }
}
