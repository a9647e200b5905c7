//! Numbers divided by a norm of others: along dimensions, or of neighbouring channels.

use allotrope_dtype::Error;
use allotrope_op::structured::neural::{LOCAL_RESPONSE_NORM, NORMALIZE};
use allotrope_op::{Builder, normalize_axes_or_none};

use super::operands::{Working, out_of_range, wrong_shape};
use crate::elementwise::evaluate_one;
use crate::{Index, Tensor};

impl Tensor {
    /// The numbers divided by their norm of order `p` along dimensions, or by `eps` if that is
    /// greater. The norm is formed in float64, of complex numbers from their magnitudes.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([3.0, 4.0])?;
    /// assert!(x.normalize(2.0, &[0], 1e-12)?.allclose(&Tensor::new([0.6, 0.8])?, 1e-15, 0.0, false)?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for a dimension out of range, a value error
    /// for one named twice, a memory error.
    pub fn normalize(&self, p: f64, dims: &[isize], eps: f64) -> Result<Self, Error> {
        let op = NORMALIZE.name;
        let working = Working::of(&NORMALIZE, &[self])?;
        normalize_axes_or_none(op, dims, self.rank())?;
        // A norm has the dtype of its operand: a wide one overflows nothing.
        let norm = if self.count() == 0 {
            return self.to(working.result);
        } else if working.compute == self.dtype() {
            self.norm(p, Some(dims), true)?
        } else {
            self.to(working.result)?
                .to(working.compute)?
                .norm(p, Some(dims), true)?
        };
        let builder = Builder::new(&[self.dtype(), norm.dtype()]);
        let norm_var = builder.input(1);
        let value = working.read(builder.input(0)) / norm_var.maximum(norm_var.lit(eps));
        let program = builder.finish(&[value.to(working.result)]);
        evaluate_one(op, &program, &[self, &norm])
    }

    /// The numbers divided by `(k + alpha s)^beta`, where `s` is the mean of the squares of `size`
    /// neighbouring channels (dimension 1), those beyond the ends being zero.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let x = Tensor::ones((1, 3, 4), DType::F32)?;
    /// assert_eq!(x.local_response_norm(2, 1e-4, 0.75, 1.0)?.shape(), [1, 3, 4]);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error for complex numbers, a value error for less than three dimensions or no
    /// neighbours, a memory error.
    pub fn local_response_norm(
        &self,
        size: usize,
        alpha: f64,
        beta: f64,
        k: f64,
    ) -> Result<Self, Error> {
        let op = LOCAL_RESPONSE_NORM.name;
        let working = Working::of(&LOCAL_RESPONSE_NORM, &[self])?;
        if self.rank() < 3 {
            return Err(wrong_shape(
                op,
                "input",
                self,
                "one of three or more dimensions",
            ));
        }
        if size == 0 || size > isize::MAX as usize / 2 {
            return Err(out_of_range(op, "size", size, "1 and above"));
        }
        if self.count() == 0 {
            return self.to(working.result);
        }
        let squares = working.program(&[self.dtype()], |x| x[0].square());
        let squares = evaluate_one(op, &squares, &[self])?;
        let mut sizes = self.shape().to_vec();
        sizes[1] = sizes[1].saturating_add(size - 1);
        let mut padded = self.new_zeros(&sizes, working.compute)?;
        let start = (size / 2) as isize;
        let inside = allotrope_op::Slice {
            start: Some(start),
            stop: Some(start + self.shape()[1] as isize),
            step: 1,
        };
        let all = allotrope_op::Slice {
            start: None,
            stop: None,
            step: 1,
        };
        padded.assign(&[Index::Range(all), Index::Range(inside)], &squares)?;
        let mean = padded.unfold(1, size, 1)?.mean(Some(&[-1]), false, None)?;
        let builder = Builder::new(&[self.dtype(), working.compute]);
        let around = builder.input(1) * alpha + k;
        let value = working.read(builder.input(0)) / around.pow(around.lit(beta));
        let program = builder.finish(&[value.to(working.result)]);
        evaluate_one(op, &program, &[self, &mean])
    }
}
