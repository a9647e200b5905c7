//! Arrays of ndarray, of any number of dimensions.

use ::ndarray::{Array, ArrayBase, ArrayView, Data, Dimension, IxDyn};
use allotrope_dtype::{Element, Error};

use super::number::{Number, numbers, wrong_rank};
use crate::Tensor;

const OP: &str = "ndarray";

/// The elements of an array or a view of one, in row-major order whatever its own.
///
/// ```
/// use allotrope_tensor::Tensor;
/// use ndarray::{Array1, array};
///
/// let a = array![[1.0_f32, 2.0], [3.0, 4.0]];
/// assert_eq!(Tensor::try_from(&a)?, Tensor::new([[1.0_f32, 2.0], [3.0, 4.0]])?);
/// assert_eq!(Tensor::try_from(a.t())?, Tensor::new([[1.0_f32, 3.0], [2.0, 4.0]])?);
/// assert_eq!(Tensor::try_from(Array1::from(vec![true]))?, Tensor::new([true])?);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
impl<S: Data, D: Dimension> TryFrom<&ArrayBase<S, D>> for Tensor
where
    S::Elem: Number,
{
    type Error = Error;
    fn try_from(array: &ArrayBase<S, D>) -> Result<Self, Error> {
        let ordered = array.as_standard_layout();
        Self::from_items(OP, ordered.as_slice().unwrap_or_default(), array.shape())
    }
}

/// As that of a reference.
impl<S: Data, D: Dimension> TryFrom<ArrayBase<S, D>> for Tensor
where
    S::Elem: Number,
{
    type Error = Error;
    fn try_from(array: ArrayBase<S, D>) -> Result<Self, Error> {
        Self::try_from(&array)
    }
}

/// An array of the same elements.
///
/// ```
/// use allotrope_tensor::Tensor;
/// use ndarray::{Array2, ArrayD, array};
///
/// let x = Tensor::new([[1_u8, 2], [3, 4]])?;
/// let a: Array2<u8> = (&x).try_into()?;
/// assert_eq!(a, array![[1, 2], [3, 4]]);
/// assert!(ArrayD::<f32>::try_from(&x).is_err());
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
impl<T: Number, D: Dimension> TryFrom<&Tensor> for Array<T, D> {
    type Error = Error;
    fn try_from(x: &Tensor) -> Result<Self, Error> {
        let refuse = |_| wrong_rank(OP, x, "as many as the array has are");
        let array = Array::from_shape_vec(IxDyn(x.shape()), numbers(OP, x)?);
        array
            .and_then(Array::into_dimensionality::<D>)
            .map_err(refuse)
    }
}

/// As that of a reference.
impl<T: Number, D: Dimension> TryFrom<Tensor> for Array<T, D> {
    type Error = Error;
    fn try_from(x: Tensor) -> Result<Self, Error> {
        (&x).try_into()
    }
}

/// A view of the elements where they lie, which must be in row-major order.
///
/// ```
/// use allotrope_tensor::Tensor;
/// use ndarray::ArrayView2;
///
/// let x = Tensor::new([[1.0, 2.0], [3.0, 4.0]])?;
/// let view: ArrayView2<f64> = (&x).try_into()?;
/// assert_eq!(view.sum(), 10.0);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
impl<'a, T: Element, D: Dimension> TryFrom<&'a Tensor> for ArrayView<'a, T, D> {
    type Error = Error;
    fn try_from(x: &'a Tensor) -> Result<Self, Error> {
        let refuse = |_| wrong_rank(OP, x, "as many as the view has are");
        let view = ArrayView::from_shape(IxDyn(x.shape()), x.as_slice::<T>()?);
        view.and_then(ArrayView::into_dimensionality::<D>)
            .map_err(refuse)
    }
}
