//! Matrices and vectors of nalgebra.

use ::nalgebra::{DMatrix, DVector, Dim, Matrix, Scalar, Storage};
use allotrope_dtype::Error;

use super::number::{Number, matrix, numbers, wrong_rank};
use crate::Tensor;

const OP: &str = "nalgebra";

/// The elements of a matrix, of a fixed size or not, or of a view of one; a type that is one row or
/// column has one dimension.
///
/// ```
/// use allotrope_tensor::Tensor;
/// use nalgebra::{DMatrix, DVector, Matrix2};
///
/// let m = DMatrix::from_row_slice(2, 2, &[1.0_f32, 2.0, 3.0, 4.0]);
/// assert_eq!(Tensor::try_from(&m)?, Tensor::new([[1.0_f32, 2.0], [3.0, 4.0]])?);
/// assert_eq!(Tensor::try_from(&Matrix2::new(1, 2, 3, 4))?, Tensor::new([[1, 2], [3, 4]])?);
/// assert_eq!(Tensor::try_from(&DVector::from(vec![1.0, 2.0]))?, Tensor::new([1.0, 2.0])?);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
impl<T: Number + Scalar, R: Dim, C: Dim, S: Storage<T, R, C>> TryFrom<&Matrix<T, R, C, S>>
    for Tensor
{
    type Error = Error;
    fn try_from(m: &Matrix<T, R, C, S>) -> Result<Self, Error> {
        let (rows, columns) = m.shape();
        let at = |row, column| m[(row, column)].clone();
        match (R::try_to_usize(), C::try_to_usize()) {
            (Some(1), _) | (_, Some(1)) => matrix(OP, (rows, columns), &[rows * columns], at),
            _ => matrix(OP, (rows, columns), &[rows, columns], at),
        }
    }
}

/// As that of a reference.
impl<T: Number + Scalar, R: Dim, C: Dim, S: Storage<T, R, C>> TryFrom<Matrix<T, R, C, S>>
    for Tensor
{
    type Error = Error;
    fn try_from(m: Matrix<T, R, C, S>) -> Result<Self, Error> {
        Self::try_from(&m)
    }
}

/// The matrix of two dimensions.
///
/// ```
/// use allotrope_tensor::Tensor;
/// use nalgebra::DMatrix;
///
/// let m: DMatrix<f64> = (&Tensor::new([[1.0, 2.0], [3.0, 4.0]])?).try_into()?;
/// assert_eq!(m, DMatrix::from_row_slice(2, 2, &[1.0, 2.0, 3.0, 4.0]));
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
impl<T: Number + Scalar> TryFrom<&Tensor> for DMatrix<T> {
    type Error = Error;
    fn try_from(x: &Tensor) -> Result<Self, Error> {
        let [rows, columns] = **x.shape() else {
            return Err(wrong_rank(OP, x, "2 are"));
        };
        Ok(Self::from_row_iterator(rows, columns, numbers::<T>(OP, x)?))
    }
}

/// The vector of one dimension.
///
/// ```
/// use allotrope_tensor::Tensor;
/// use nalgebra::DVector;
///
/// let v: DVector<u8> = (&Tensor::new([1_u8, 2])?).try_into()?;
/// assert_eq!(v.as_slice(), [1, 2]);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
impl<T: Number + Scalar> TryFrom<&Tensor> for DVector<T> {
    type Error = Error;
    fn try_from(x: &Tensor) -> Result<Self, Error> {
        match x.rank() {
            1 => Ok(Self::from_vec(numbers(OP, x)?)),
            _ => Err(wrong_rank(OP, x, "1 is")),
        }
    }
}
