//! Bit-free tensors: those made with a family, whose width is the device's to choose.
//!
//! Results of bit-free operands are bit-free, and one exact operand makes them exact; numbers, truth
//! values and indices have no say. Where operations attach a rule or record a program, their results
//! ask their operands; as long as no tensor was made with a family, that is one byte to look at.

use std::sync::atomic::{AtomicBool, Ordering};

use allotrope_dtype::{DType, Family, Numeric};

use crate::{Operand, Tensor};

/// Whether any tensor was made with a family.
static ANY: AtomicBool = AtomicBool::new(false);

impl Tensor {
    /// What the tensor's numbers are: an exact dtype, or a family if it was made with one.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Family, Numeric, Tensor};
    /// let x = Tensor::ones(&[2], Family::Float)?;
    /// assert_eq!(x.add(1)?.numeric(), Numeric::Family(Family::Float));
    /// let y = x.add(&Tensor::ones(&[2], DType::F32)?)?;
    /// assert_eq!(y.numeric(), Numeric::Exact(DType::F32));
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    #[must_use]
    pub fn numeric(&self) -> Numeric {
        let family = Family::of(self.dtype()).filter(|_| self.is_bit_free());
        family.map_or(Numeric::Exact(self.dtype()), Numeric::Family)
    }

    /// The same tensor with a width that is the device's to choose, or exact.
    #[must_use]
    pub fn with_bit_free(mut self, is_bit_free: bool) -> Self {
        if is_bit_free {
            ANY.store(true, Ordering::Relaxed);
        }
        self.set_bit_free(is_bit_free);
        self
    }

    /// A result that is bit-free if what it was computed from is.
    #[inline]
    pub(crate) fn inherit(self, inputs: &[&Self]) -> Self {
        if ANY.load(Ordering::Relaxed) {
            let is_bit_free = are_bit_free(inputs.iter().copied());
            return self.with_bit_free(is_bit_free);
        }
        self
    }

    /// [`inherit`](Self::inherit) from inputs of its own kind: others are indices and lengths.
    #[inline]
    pub(crate) fn inherit_alike(self, inputs: &[&Self]) -> Self {
        if ANY.load(Ordering::Relaxed) {
            let kind = self.dtype().kind();
            let alike = inputs.iter().copied().filter(|x| x.dtype().kind() == kind);
            let is_bit_free = are_bit_free(alike);
            return self.with_bit_free(is_bit_free);
        }
        self
    }

    /// [`inherit`](Self::inherit) by operands.
    #[inline]
    pub(crate) fn inherit_from(self, operands: &[Operand<'_>]) -> Self {
        if ANY.load(Ordering::Relaxed) {
            let tensors = operands.iter().filter_map(|operand| match operand {
                Operand::Tensor(tensor) => Some(*tensor),
                Operand::Scalar(_) => None,
            });
            let is_bit_free = are_bit_free(tensors);
            return self.with_bit_free(is_bit_free);
        }
        self
    }

    /// A constant of an operation, which follows the operand that it was made beside.
    pub(crate) fn following(self, other: &Self) -> Self {
        let is_alike = self.dtype().kind() == other.dtype().kind();
        self.with_bit_free(is_alike && other.is_bit_free())
    }
}

#[cold]
fn are_bit_free<'a>(tensors: impl Iterator<Item = &'a Tensor>) -> bool {
    let mut numbers = tensors
        .filter(|tensor| tensor.dtype() != DType::Bool)
        .peekable();
    numbers.peek().is_some() && numbers.all(Tensor::is_bit_free)
}
