//! Short compositions that torch has a name for; they keep the gradients of what they are made of.

use allotrope_dtype::{DType, Error, Problem, Set, WeakScalar, default_dtype, promotion};
use allotrope_op::Reduction;

use crate::{Operand, Tensor};

impl Tensor {
    /// The power in float64, or in complex128 if one of both is complex.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::from_slice(&[2_i32, 4], &[2])?;
    /// assert_eq!(x.float_power(-1)?.to_vec::<f64>()?, [0.5, 0.25]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for shapes that do not broadcast, a memory error.
    pub fn float_power<'a>(&self, exponent: impl Into<Operand<'a>>) -> Result<Self, Error> {
        let exponent = exponent.into();
        let is_complex = self.dtype().is_complex()
            || match exponent {
                Operand::Tensor(tensor) => tensor.dtype().is_complex(),
                Operand::Scalar(number) => matches!(number, WeakScalar::Complex(_)),
            };
        let wide = if is_complex { DType::C128 } else { DType::F64 };
        let x = self.to(wide)?;
        let power = match exponent {
            Operand::Tensor(tensor) => x.pow(&tensor.to(wide)?),
            Operand::Scalar(number) => x.pow(number),
        };
        power.map_err(|error| error.in_op("float_power"))
    }

    /// The norm of order `p` of the difference; of integers and bool it is of the default float, and no
    /// difference wraps.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::from_slice(&[0.0_f32, 3.0], &[2])?;
    /// let y = Tensor::from_slice(&[4.0_f32, 0.0], &[2])?;
    /// assert_eq!(x.dist(&y, 2.0)?.to_vec::<f32>()?, [5.0]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error where promotion refuses, a value error for shapes that do not broadcast, a memory
    /// error.
    pub fn dist(&self, other: &Self, p: f64) -> Result<Self, Error> {
        let op = "dist";
        let norm = || -> Result<Self, Error> {
            let common = promotion().promote_types(op, self.dtype(), other.dtype())?;
            if Set::Inexact.contains(common) {
                return self.sub(other)?.norm(p, None, false);
            }
            let away = self.to(DType::F64)?.sub(&other.to(DType::F64)?)?;
            away.norm(p, None, false)?.to(default_dtype())
        };
        norm().map_err(|error| error.in_op(op))
    }

    /// The sums along the dimensions that `sizes` were repeated along to give this shape, in the dtype
    /// that `sum` gives, be there something to sum or not.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let x = Tensor::ones(&[2, 3], DType::F32)?;
    /// assert_eq!(x.sum_to_size(&[3])?.to_vec::<f32>()?, [2.0, 2.0, 2.0]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for sizes that do not broadcast to the shape, a memory error.
    pub fn sum_to_size(&self, sizes: &[isize]) -> Result<Self, Error> {
        let op = "sum_to_size";
        let extra = self.rank().saturating_sub(sizes.len());
        let own = self.shape().iter().skip(extra).zip(sizes);
        let has_rank = sizes.len() <= self.rank();
        let mut pairs = own.clone();
        if !(has_rank && pairs.all(|(own, asked)| *asked == 1 || *own as isize == *asked)) {
            let problem = Problem::NotBroadcastable {
                lhs: self.shape().to_vec(),
                rhs: sizes.iter().map(|size| size.unsigned_abs()).collect(),
            };
            return Err(Error::new(op, problem));
        }
        let single = own
            .enumerate()
            .filter(|(_, (own, asked))| **own != 1 && **asked == 1);
        let axes = (0..extra).chain(single.map(|(place, _)| place + extra));
        let axes: Vec<isize> = axes.map(|axis| axis as isize).collect();
        if axes.is_empty() {
            return self.to(Reduction::Sum.outcome().of(self.dtype()));
        }
        self.sum(Some(&axes), true, None)?.reshape(sizes)
    }
}
