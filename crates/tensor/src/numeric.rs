//! Bit-free tensors: those made with a family, whose width is the device's to choose.
//!
//! Results of bit-free operands are bit-free, and one exact operand makes them exact; numbers, truth
//! values and indices have no say. Where operations attach a rule or record a program, their results
//! ask their operands; as long as no tensor was made with a family, that is one byte to look at.
//!
//! A bit-free tensor knows the width that its data had, so that one that a device stores narrower has
//! it again on the next that stores it. Of what is computed from such, it is the widest dtype that
//! the device stores as the result's.

use std::sync::atomic::{AtomicBool, Ordering};

use allotrope_dtype::{DType, Family, Numeric};

use crate::{Operand, Tensor};

/// Whether any tensor was made with a family.
static ANY: AtomicBool = AtomicBool::new(false);

/// Whether there ever was a tensor whose width is its device's to choose.
#[inline]
pub(crate) fn is_any_bit_free() -> bool {
    ANY.load(Ordering::Relaxed)
}

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
    ///
    /// ```
    /// use allotrope_tensor::{Family, Tensor};
    /// let x = Tensor::new([1.0])?.with_bit_free(true);
    /// assert_eq!(x.numeric(), Family::Float.into());
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    #[must_use]
    pub fn with_bit_free(self, is_bit_free: bool) -> Self {
        let width = self.width().unwrap_or(self.dtype());
        self.with_width(is_bit_free.then_some(width))
    }

    /// The same tensor with a width that is the device's to choose: this dtype where it is stored.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let x = Tensor::ones(&[2], DType::F32)?.with_width(Some(DType::F64));
    /// assert_eq!((x.dtype(), x.width()), (DType::F32, Some(DType::F64)));
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    #[must_use]
    pub fn with_width(mut self, width: Option<DType>) -> Self {
        if width.is_some() {
            ANY.store(true, Ordering::Relaxed);
        }
        self.set_width(width);
        self
    }

    /// A result that is bit-free if what it was computed from is.
    #[inline]
    pub(crate) fn inherit(self, inputs: &[&Self]) -> Self {
        if ANY.load(Ordering::Relaxed) {
            let width = self.width_of(inputs.iter().copied());
            return self.with_width(width);
        }
        self
    }

    /// [`inherit`](Self::inherit) from inputs of its own kind: others are indices and lengths.
    #[inline]
    pub(crate) fn inherit_alike(self, inputs: &[&Self]) -> Self {
        if ANY.load(Ordering::Relaxed) {
            let kind = self.dtype().kind();
            let alike = inputs.iter().copied().filter(|x| x.dtype().kind() == kind);
            let width = self.width_of(alike);
            return self.with_width(width);
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
            let width = self.width_of(tensors);
            return self.with_width(width);
        }
        self
    }

    /// A constant of an operation, which follows the operand that it was made beside.
    pub(crate) fn following(self, other: &Self) -> Self {
        let is_alike = self.dtype().kind() == other.dtype().kind();
        if is_alike && other.is_bit_free() {
            let width = self.width_of(std::iter::once(other));
            return self.with_width(width);
        }
        self.with_width(None)
    }

    /// The width of what was computed from tensors, if it is the device's to choose.
    #[cold]
    fn width_of<'a>(&self, inputs: impl Iterator<Item = &'a Self>) -> Option<DType> {
        let (mut any, mut is_narrowed) = (false, false);
        for input in inputs.filter(|input| input.dtype() != DType::Bool) {
            is_narrowed |= input.width()? != input.dtype();
            any = true;
        }
        let width = || match is_narrowed {
            true => self.widest(),
            false => self.dtype(),
        };
        any.then(width)
    }

    /// The widest dtype of this kind that the device stores as this one.
    fn widest(&self) -> DType {
        let (dtype, capabilities) = (self.dtype(), self.backend().capabilities());
        let alike = DType::ALL
            .into_iter()
            .filter(|wide| wide.kind() == dtype.kind() && capabilities.storage(*wide) == dtype);
        alike.max_by_key(|wide| wide.bits()).unwrap_or(dtype)
    }
}
