//! Where tensors are: which device an operation takes, and the way from one to another.

use std::ops::Deref;

use allotrope_cpu::{Buffer, CPU};
use allotrope_dtype::{Error, Problem};
use allotrope_op::{Backend, Layout};
use smallvec::smallvec;

use crate::Tensor;
use crate::elementwise::room;

/// The device of all tensors; without any, the CPU.
pub(crate) fn common_backend(
    op: &'static str,
    tensors: &[&Tensor],
) -> Result<&'static dyn Backend, Error> {
    let Some((first, rest)) = tensors.split_first() else {
        return Ok(&CPU);
    };
    let backend = first.backend();
    match rest.iter().find(|other| !first.is_beside(other)) {
        Some(other) => {
            let (lhs, rhs) = (backend.name(), other.backend().name());
            Err(Error::new(op, Problem::DevicesDiffer { lhs, rhs }))
        }
        None => Ok(backend),
    }
}

/// Bytes of elements, aligned for their dtype: where a tensor has them, or copied.
pub(crate) enum Bytes<'a> {
    InPlace(&'a [u8]),
    Copied(Buffer),
}

impl Deref for Bytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::InPlace(bytes) => bytes,
            Self::Copied(buffer) => buffer,
        }
    }
}

impl Tensor {
    /// Whether another tensor is on the same device.
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        self.shares_storage_with(other) || self.backend().name() == other.backend().name()
    }

    /// The same elements on another device, in row-major order; the tensor itself if it is there.
    ///
    /// ```
    /// use allotrope_cpu::CPU;
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::arange(0, 3, 1, DType::I64)?;
    /// assert!(x.to_backend(&CPU)?.shares_storage_with(&x));
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A memory error of either device, a device error if one fails.
    pub fn to_backend(&self, backend: &'static dyn Backend) -> Result<Self, Error> {
        let (op, from) = ("to", self.backend());
        if from.name() == backend.name() {
            return Ok(self.clone());
        }
        let memory = backend.upload(op, self.dtype(), &self.read(op)?)?;
        let layout = Layout::contiguous(self.shape().clone());
        let moved = Self::from_parts(memory, layout, self.dtype());
        moved.with_rule(op, &[self], move |pass| {
            Ok(smallvec![Some(pass.gradient()?.to_backend(from)?)])
        })
    }

    /// The same elements on the device of another tensor: for what an operation makes for itself.
    pub(crate) fn beside(self, other: &Self) -> Result<Self, Error> {
        if self.is_beside(other) {
            Ok(self)
        } else {
            self.to_backend(other.backend())
        }
    }

    /// The bytes of the elements in row-major order: where they are, or copied to the CPU.
    pub(crate) fn read(&self, op: &'static str) -> Result<Bytes<'_>, Error> {
        match self.contiguous_bytes() {
            Some(bytes) => Ok(Bytes::InPlace(bytes)),
            None => {
                let mut buffer = room(op, self.shape(), self.dtype())?;
                let backend = self.backend();
                backend.download(op, self.dtype(), self.view_of(), &mut buffer)?;
                Ok(Bytes::Copied(buffer))
            }
        }
    }
}
