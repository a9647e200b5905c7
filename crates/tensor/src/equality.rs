//! Equality of tensors by value.
#![allow(clippy::panic, reason = "what an operator does with an error")]

use crate::Tensor;

/// Whether two tensors have the same dtype, the same shape and equal elements, wherever they lie.
///
/// Elements are equal as numbers are: `-0.0` is `0.0`, and NaN is unlike everything, itself included,
/// so that a tensor with a NaN is not equal to itself. Elementwise comparison is the method
/// [`eq`](Tensor::eq), comparison across dtypes [`equal`](Tensor::equal), up to rounding
/// [`allclose`](Tensor::allclose).
///
/// ```
/// use allotrope_tensor::{DType, Tensor};
/// let x = Tensor::new([[1.0, 2.0], [3.0, 4.0]])?;
/// assert_eq!(x.t()?.t()?, x);
/// assert_ne!(x.to(DType::F32)?, x);
/// assert!(Tensor::new([f64::NAN])? != Tensor::new([f64::NAN])?);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Panics
/// With the text of the error if the tensors are on two devices, or if there is no memory.
impl PartialEq for Tensor {
    fn eq(&self, other: &Self) -> bool {
        if self.dtype() != other.dtype() {
            return false;
        }
        match self.equal(other) {
            Ok(equal) => equal,
            Err(error) => panic!("{error}"),
        }
    }
}
