//! `glu`: one half of a dimension as the gate of the other.

use allotrope_dtype::Error;
use allotrope_op::normalize_axis;
use allotrope_op::structured::neural::GLU;

use super::operands::{Working, out_of_range};
use crate::Tensor;
use crate::elementwise::evaluate_one;

impl Tensor {
    /// The gated linear unit: the first half of a dimension times the sigmoid of the second.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([4.0, 6.0, 0.0, 0.0])?;
    /// assert_eq!(x.glu(0)?, Tensor::new([2.0, 3.0])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error for complex numbers, an index error for a dimension out of range, a value error
    /// for one of an odd size, a memory error.
    pub fn glu(&self, dim: isize) -> Result<Self, Error> {
        let op = GLU.name;
        let working = Working::of(&GLU, &[self])?;
        let axis = normalize_axis(op, dim, self.rank())?;
        let size = self.shape()[axis];
        if !size.is_multiple_of(2) {
            return Err(out_of_range(op, "size", size, "even ones"));
        }
        let half = |start: usize| self.narrow(axis as isize, start as isize, size / 2);
        let dtypes = [self.dtype(); 2];
        let program = working.result_program(&dtypes, |x| x[0] * x[1].sigmoid());
        evaluate_one(op, &program, &[&half(0)?, &half(size / 2)?])
    }
}
