//! What is left where an inverse does not exist: pseudo-inverses, least squares, rank, condition.

use allotrope_dtype::{DType, Error};
use allotrope_op::structured::linalg::{COND, LSTSQ, MATRIX_NORM, MATRIX_RANK, PINV, SVD};
use allotrope_op::task::Factorization;
use allotrope_op::{Op, compute_dtype};

use super::super::operands::is_any;
use super::batch::{Batch, Begun, Out, begin, misfit, order, sizes};
use super::eig_svd::{Triangle, hermitian_values, number_of, singular_values};
use super::eig_svd_gradient::remember_singular_values;
use super::gradient::{remember_least_squares, remember_pseudo_inverse};
use super::norm::{Order, matrix_norm_of};
use crate::autograd::is_recorded;
use crate::call::Call;
use crate::transfer::gathered;
use crate::{Operand, Tensor};

/// Which singular values count as zero: those up to `max(absolute, relative × the greatest)`.
///
/// Either may have one number or one for each matrix. Without both the relative one is the greater
/// size of a matrix times the epsilon of the dtype that it is computed in; beside a positive absolute
/// one it is zero. (That of bfloat16 times a size of 128 would leave no singular value at all.)
#[derive(Clone, Debug, Default)]
pub struct Tolerance {
    /// The absolute tolerance.
    pub absolute: Option<Tensor>,
    /// The tolerance relative to the greatest singular value.
    pub relative: Option<Tensor>,
}

impl Tolerance {
    /// A relative tolerance.
    ///
    /// # Errors
    /// A memory error.
    pub fn relative(value: f64) -> Result<Self, Error> {
        Ok(Self {
            absolute: None,
            relative: Some(Tensor::new(value)?),
        })
    }

    /// The matrices and tolerances, if some of them were free to follow the others.
    fn follow(&self, a: &Tensor) -> Result<Option<(Tensor, Self)>, Error> {
        let operands = (a, self.absolute.as_ref(), self.relative.as_ref());
        let together = |(a, absolute, relative)| (a, Self { absolute, relative });
        Ok(gathered(operands)?.map(together))
    }

    /// Both tolerances for matrices of some size, computed in a dtype, beside them and in the dtype
    /// that sums are formed in there. One number for all follows the matrices.
    fn resolve(&self, a: &Tensor, dtype: DType) -> Result<[Tensor; 2], Error> {
        let real = compute_dtype(dtype).to_real();
        let wide = a.backend().wide(real);
        let largest = a.shape().iter().rev().take(2).max().copied().unwrap_or(0);
        let usual = largest as f64 * real.finfo()?.eps;
        let given = |tolerance: &Tensor| match tolerance.rank() {
            0 => tolerance.detach().to(wide)?.beside(a),
            _ => tolerance.to(wide),
        };
        let absolute = match &self.absolute {
            Some(absolute) => given(absolute)?,
            None => a.new_zeros(&[], wide)?,
        };
        let relative = match &self.relative {
            Some(relative) => given(relative)?,
            None => {
                let given = absolute.gt(0.0)?;
                let operands: [Operand<'_>; 3] = [(&given).into(), 0.0.into(), usual.into()];
                Tensor::apply(Op::Where, &operands)?.to(wide)?
            }
        };
        Ok([absolute, relative])
    }
}

/// Moore and Penrose's inverse: `V S⁺ Uᴴ`. Hermitian matrices may be said to be so, and then only
/// their lower triangle is read.
///
/// ```
/// use allotrope_tensor::{Tensor, linalg};
/// let a = Tensor::new([[2.0, 0.0], [0.0, 0.0]])?;
/// let inverse = linalg::pinv(&a, &linalg::Tolerance::default(), false)?;
/// assert!(inverse.allclose(&Tensor::new([[0.5, 0.0], [0.0, 0.0]])?, 0.0, 1e-12, false)?);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// A value error for less than two dimensions, or unless Hermitian matrices are square, an error of
/// linear algebra for a matrix with infinities or NaN, a memory error.
pub fn pinv(a: &Tensor, tolerance: &Tolerance, hermitian: bool) -> Result<Tensor, Error> {
    if let Some((a, tolerance)) = tolerance.follow(a)? {
        return pinv(&a, &tolerance, hermitian);
    }
    let op = PINV.name;
    let (rows, columns) = sizes(op, a)?;
    if hermitian {
        order(op, a)?;
    }
    let Begun {
        operands: [a],
        made,
        result,
    } = begin(&PINV, [a])?;
    let [absolute, relative] = tolerance.resolve(&a, made)?;
    let batch = Batch::new(op, made, &[(&a, 2), (&absolute, 0), (&relative, 0)])?;
    let inputs = [
        &batch.prepare(&a, 2)?,
        &batch.prepare(&absolute, 0)?,
        &batch.prepare(&relative, 0)?,
    ];
    let task = Factorization::Pinv { hermitian };
    let inverse = batch.run_one(task, &inputs, Out::Number(&[columns, rows]))?;
    remember_pseudo_inverse(inverse, op, &a)?.to(result)
}

/// How many singular values of matrices are above a tolerance.
///
/// ```
/// use allotrope_tensor::{Tensor, linalg};
/// let a = Tensor::new([[1.0, 2.0], [2.0, 4.0]])?;
/// let rank = linalg::matrix_rank(&a, &linalg::Tolerance::default(), false)?;
/// assert_eq!(rank.to_scalar::<i64>()?, 1);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// As [`pinv`].
pub fn matrix_rank(a: &Tensor, tolerance: &Tolerance, hermitian: bool) -> Result<Tensor, Error> {
    if let Some((a, tolerance)) = tolerance.follow(a)? {
        return matrix_rank(&a, &tolerance, hermitian);
    }
    let op = MATRIX_RANK.name;
    let (rows, columns) = sizes(op, a)?;
    Call::begin(&MATRIX_RANK, &[a])?;
    let result = SVD.result_dtype(a.dtype())?;
    let [absolute, relative] = tolerance.resolve(a, result)?;
    let working = a.to(result.compute())?;
    let real = working.dtype().to_real();
    let values = if hermitian {
        order(op, a)?;
        hermitian_values(op, real, &working, Triangle::Lower)?.abs()?
    } else {
        singular_values(op, real, &working)?
    };
    let values = values.to(absolute.dtype())?;
    if rows.min(columns) == 0 {
        let batch = Batch::new(op, result, &[(a, 2)])?;
        return a.new_zeros(&batch.sizes, DType::I64);
    }
    let greatest = values.amax(Some(&[-1]), true)?;
    let relative = greatest.mul(&relative.unsqueeze(-1)?)?;
    let least = relative.maximum(&absolute.unsqueeze(-1)?)?;
    values.gt(&least)?.count_nonzero(Some(&[-1]), false)
}

/// The norm of matrices times the norm of their inverses, ∞ for those without one. Without an order
/// it is the greatest singular value over the least.
///
/// ```
/// use allotrope_tensor::{Tensor, linalg};
/// let a = Tensor::new([[4.0, 0.0], [0.0, 2.0]])?;
/// assert!((linalg::cond(&a, None)?.to_scalar::<f64>()? - 2.0).abs() < 1e-12);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// A value error for less than two dimensions, for an order that matrices do not have, or unless
/// matrices are square where the order is not 2 or -2; an error of linear algebra for a matrix with
/// infinities or NaN; a memory error.
pub fn cond(a: &Tensor, order_of_norm: Option<Order>) -> Result<Tensor, Error> {
    let op = COND.name;
    let (rows, columns) = sizes(op, a)?;
    let real = Call::begin(&COND, &[a])?.result;
    let result = number_of(real, a);
    let working = a.to(result.compute())?;
    let kind = order_of_norm.unwrap_or(Order::Number(2.0));
    if let Order::Number(number) = kind
        && number.abs() == 2.0
    {
        let values = singular_values(op, working.dtype().to_real(), &working)?;
        if rows.min(columns) == 0 {
            let batch = Batch::new(op, result, &[(a, 2)])?;
            return a.new_zeros(&batch.sizes, real);
        }
        let (greatest, least) = (values.select(-1, 0)?, values.select(-1, -1)?);
        let ratio = if number > 0.0 {
            greatest.div(&least)?
        } else {
            least.div(&greatest)?
        };
        return ratio.to(real);
    }
    order(op, a)?;
    let (inverse, info) = super::inv_ex(&working).map_err(|error| error.in_op(op))?;
    let norm = |x: &Tensor| {
        let real = MATRIX_NORM.result_dtype(x.dtype())?;
        matrix_norm_of(op, real, x, kind, &[-2, -1], false)
    };
    let norms = [norm(&working)?, norm(&inverse.nan_to_zero(&info)?)?];
    let product = norms[0].mul(&norms[1])?;
    let singular = info.ne(0)?;
    let operands: [Operand<'_>; 3] = [(&singular).into(), f64::INFINITY.into(), (&product).into()];
    Tensor::apply(Op::Where, &operands)?.to(real)
}

impl Tensor {
    /// Zeros in place of the matrices that have no inverse.
    fn nan_to_zero(&self, info: &Self) -> Result<Self, Error> {
        let singular = info.ne(0)?.unsqueeze(-1)?.unsqueeze(-1)?;
        let operands: [Operand<'_>; 3] = [(&singular).into(), 0.0.into(), self.into()];
        Self::apply(Op::Where, &operands)
    }
}

/// What least squares give.
///
/// ```
/// use allotrope_tensor::{Tensor, linalg};
/// let (a, b) = (Tensor::new([[1.0], [1.0]])?, Tensor::new([[1.0], [3.0]])?);
/// let found = linalg::lstsq(&a, &b, None)?;
/// assert!(found.solution.allclose(&Tensor::new([[2.0]])?, 1e-12, 0.0, false)?);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct LeastSquares {
    /// The `X` for which `A X - B` is least, of least norm if there are several.
    pub solution: Tensor,
    /// The sums of squares of `A X - B` along columns; empty unless `A` has more rows than columns
    /// and all of them are independent.
    pub residuals: Tensor,
    /// The number of singular values that count.
    pub rank: Tensor,
    /// The singular values of `A`.
    pub singular_values: Tensor,
}

/// The `X` for which `A X - B` is least. `B` may be a vector for each matrix. Singular values up to
/// `rcond` times the greatest count as zero: the greater size times epsilon, if it is not said.
///
/// ```
/// use allotrope_tensor::{Tensor, linalg};
/// let (a, b) = (Tensor::new([[1.0], [1.0]])?, Tensor::new([[1.0], [3.0]])?);
/// let found = linalg::lstsq(&a, &b, None)?;
/// assert!(found.solution.allclose(&Tensor::new([[2.0]])?, 1e-12, 0.0, false)?);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// A value error unless the sizes fit, a dtype error where promotion refuses, an error of linear
/// algebra for a matrix with infinities or NaN, a memory error.
pub fn lstsq(a: &Tensor, b: &Tensor, rcond: Option<f64>) -> Result<LeastSquares, Error> {
    if let Some((a, b)) = gathered((a, b))? {
        return lstsq(&a, &b, rcond);
    }
    let op = LSTSQ.name;
    let (rows, columns) = sizes(op, a)?;
    let vector = b.rank() == 1 || b.rank() + 1 == a.rank();
    let right = if vector { b.unsqueeze(-1)? } else { b.clone() };
    let (fitting, width) = sizes(op, &right)?;
    if fitting != rows {
        return Err(misfit(op, a, b));
    }
    let Begun {
        operands: [a, right],
        made,
        result,
    } = begin(&LSTSQ, [a, &right])?;
    let batch = Batch::new(op, made, &[(&a, 2), (&right, 2)])?;
    let wide = a.backend().wide(batch.working.to_real());
    let tolerance = Tolerance {
        absolute: None,
        relative: rcond
            .map(|value| a.new_full(&[], value, wide))
            .transpose()?,
    };
    let [absolute, relative] = tolerance.resolve(&a, made)?;
    let inputs = [
        &batch.prepare(&a, 2)?,
        &batch.prepare(&right, 2)?,
        &batch.prepare(&absolute, 0)?,
        &batch.prepare(&relative, 0)?,
    ];
    let (own, sums, values) = ([columns, width], [width], [rows.min(columns)]);
    let outputs = [
        Out::Number(&own),
        Out::Real(&sums),
        Out::Exact(DType::I64, &[]),
        Out::Real(&values),
    ];
    let [solution, residuals, rank, singular_values] =
        batch.run(Factorization::Lstsq, &inputs, outputs)?;
    let solution = remember_least_squares(solution, op, &a, &right, tolerance)?;
    let singular_values = remember_singular_values(singular_values, op, &a)?;
    let residuals = if is_recorded(&[&a, &right]) {
        let away = a.matmul(&solution)?.sub(&right)?.abs()?;
        away.square()?.sum(Some(&[-2]), false, None)?
    } else {
        residuals
    };
    // Their shape depends on the rank, which is read where it can be full.
    let is_full = rows > columns && !is_any(&rank.ne(columns as i64)?)?;
    let residuals = match (is_full, vector) {
        (false, _) => residuals.new_zeros(&[0], residuals.dtype())?,
        (true, true) => residuals.squeeze(Some(&[-1]))?,
        (true, false) => residuals,
    };
    let solution = if vector {
        solution.squeeze(Some(&[-1]))?
    } else {
        solution
    };
    Ok(LeastSquares {
        solution: solution.to(result)?,
        residuals: residuals.to(result.to_real())?,
        rank,
        singular_values: singular_values.to(result.to_real())?,
    })
}
