//! `linear` and `bilinear`: layers of a network as products.

use allotrope_dtype::{Error, Problem, WeakScalar};
use allotrope_op::structured::matrix::{BILINEAR, LINEAR};

use super::contraction::{Addend, Dtypes, check_rank, inner_mismatch, multiply_matrices};
use crate::Tensor;
use crate::transfer::gathered;

impl Tensor {
    /// The product of the last dimension with a transposed weight `[out, in]`, or `[in]` for a result
    /// without that dimension, plus a bias; rounded once.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let (x, weight) = (Tensor::ones(&[2, 3], DType::F32)?, Tensor::ones(&[4, 3], DType::F32)?);
    /// let bias = Tensor::arange(0, 4, 1, DType::F32)?;
    /// let y = x.linear(&weight, Some(&bias))?;
    /// assert_eq!(y.select(0, 1)?.to_vec::<f32>()?, [3.0, 4.0, 5.0, 6.0]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for shapes that do not fit, a dtype error where promotion refuses, a memory
    /// error.
    pub fn linear(&self, weight: &Self, bias: Option<&Self>) -> Result<Self, Error> {
        if let Some((x, weight, bias)) = gathered((self, weight, bias))? {
            return x.linear(&weight, bias.as_ref());
        }
        let op = LINEAR.name;
        let operands: Vec<&Self> = [self, weight].into_iter().chain(bias).collect();
        let dtypes = Dtypes::new(&LINEAR, &operands, None, None)?;
        let is_vector = weight.rank() == 1;
        let matrix = if is_vector {
            weight.unsqueeze(0)?
        } else {
            weight.clone()
        };
        check_rank(op, "the weight", &matrix, 2)?;
        let Some(last) = self.shape().last() else {
            let problem = Problem::WrongRank {
                what: "the input",
                shape: Vec::new(),
                accepted: "1 and more are",
            };
            return Err(Error::new(op, problem));
        };
        let inner = (*last, matrix.shape()[1]);
        if inner.0 != inner.1 {
            return Err(inner_mismatch(op, self, &weight.t()?, inner));
        }
        let row = self.rank() == 1;
        let x = if row {
            self.unsqueeze(0)?
        } else {
            self.clone()
        };
        let former = match bias {
            // A bias of a result without the last dimension is one number.
            Some(bias) if is_vector => Some(bias.unsqueeze(-1)?),
            bias => bias.cloned(),
        };
        let addend = former.as_ref().map(|former| Addend {
            former,
            beta: WeakScalar::Int(1),
            alpha: WeakScalar::Int(1),
        });
        let y = multiply_matrices(op, &x, &matrix.t()?, dtypes, addend)?;
        let y = if is_vector {
            y.squeeze(Some(&[-1]))?
        } else {
            y
        };
        if row { y.squeeze(Some(&[0])) } else { Ok(y) }
    }

    /// `x1[…, i] * weight[o, i, j] * x2[…, j]`, summed over `i` and `j`, plus a bias.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let (x, weight) = (Tensor::new([[1.0, 2.0]])?, Tensor::ones((1, 2, 2), DType::F64)?);
    /// assert_eq!(x.bilinear(&x, &weight, None)?, Tensor::new([[9.0]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for shapes that do not fit, a dtype error where promotion refuses, a memory
    /// error.
    pub fn bilinear(
        &self,
        other: &Self,
        weight: &Self,
        bias: Option<&Self>,
    ) -> Result<Self, Error> {
        if let Some((x, other, weight, bias)) = gathered((self, other, weight, bias))? {
            return x.bilinear(&other, &weight, bias.as_ref());
        }
        let op = BILINEAR.name;
        let operands: Vec<&Self> = [self, other, weight].into_iter().chain(bias).collect();
        let dtypes = Dtypes::new(&BILINEAR, &operands, None, None)?;
        check_rank(op, "the weight", weight, 3)?;
        let (rank, outs) = (self.rank(), weight.shape()[0]);
        let (left, right) = (weight.shape()[1], weight.shape()[2]);
        let fits = rank > 0
            && other.rank() == rank
            && self.shape()[..rank - 1] == other.shape()[..rank - 1]
            && self.shape()[rank - 1] == left
            && other.shape()[rank - 1] == right;
        if !fits {
            let shapes = [self, other, weight].map(|tensor| tensor.shape().to_vec());
            let problem = Problem::ShapesDoNotFit {
                what: "two inputs and a weight",
                shapes: shapes.to_vec(),
                accepted: "[..., i], [..., j] and [o, i, j] are",
            };
            return Err(Error::new(op, problem));
        }
        let rows: usize = self.shape()[..rank - 1].iter().product();
        let size = |size: usize| size as isize;
        let x = self.to(dtypes.common)?.reshape(&[size(rows), size(left)])?;
        let y = other.to(dtypes.common)?;
        let y = y.reshape(&[size(rows), 1, size(right)])?;
        let weight = weight.to(dtypes.common)?;
        let turned = weight.permute(&[1, 0, 2])?;
        let turned = turned.reshape(&[size(left), size(outs * right)])?;
        let inner = dtypes.of_converted();
        // [rows, left] x [left, outs * right], then each [outs, right] with its row.
        let half = multiply_matrices(op, &x, &turned, inner.unrounded(), None)?;
        let half = half.reshape(&[size(rows), size(outs), size(right)])?;
        let former = bias.map(|bias| bias.unsqueeze(-1)).transpose()?;
        let addend = former.as_ref().map(|former| Addend {
            former,
            beta: WeakScalar::Int(1),
            alpha: WeakScalar::Int(1),
        });
        let product = multiply_matrices(op, &half, &y.transpose(1, 2)?, inner, addend)?;
        let sizes = self.shape()[..rank - 1].iter().chain([&outs]);
        let sizes: Vec<isize> = sizes.map(|s| size(*s)).collect();
        product.reshape(&sizes)
    }
}
