//! Matrices of faer.

use ::faer::{Mat, MatRef};
use allotrope_dtype::Error;

use super::number::{Number, matrix, numbers, wrong_rank};
use crate::Tensor;

const OP: &str = "faer";

/// The elements of a matrix or a part of one.
///
/// ```
/// use allotrope_tensor::Tensor;
/// use faer::mat;
///
/// let m = mat![[1.0, 2.0], [3.0, 4.0]];
/// assert_eq!(Tensor::try_from(m.as_ref())?, Tensor::new([[1.0, 2.0], [3.0, 4.0]])?);
/// assert_eq!(Tensor::try_from(m.transpose())?, Tensor::new([[1.0, 3.0], [2.0, 4.0]])?);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
impl<T: Number> TryFrom<MatRef<'_, T>> for Tensor {
    type Error = Error;
    fn try_from(m: MatRef<'_, T>) -> Result<Self, Error> {
        let sizes = [m.nrows(), m.ncols()];
        matrix(OP, sizes.into(), &sizes, |row, column| {
            m[(row, column)].clone()
        })
    }
}

/// As that of a reference to the whole.
impl<T: Number> TryFrom<&Mat<T>> for Tensor {
    type Error = Error;
    fn try_from(m: &Mat<T>) -> Result<Self, Error> {
        m.as_ref().try_into()
    }
}

/// The matrix of two dimensions.
///
/// ```
/// use allotrope_tensor::Tensor;
/// use faer::{Mat, mat};
///
/// let m: Mat<f32> = (&Tensor::new([[1.0_f32, 2.0], [3.0, 4.0]])?).try_into()?;
/// assert_eq!(m, mat![[1.0_f32, 2.0], [3.0, 4.0]]);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
impl<T: Number> TryFrom<&Tensor> for Mat<T> {
    type Error = Error;
    fn try_from(x: &Tensor) -> Result<Self, Error> {
        let [rows, columns] = **x.shape() else {
            return Err(wrong_rank(OP, x, "2 are"));
        };
        let numbers = numbers::<T>(OP, x)?;
        Ok(Self::from_fn(rows, columns, |row, column| {
            numbers[row * columns + column].clone()
        }))
    }
}
