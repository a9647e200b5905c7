//! Elements in order along a dimension.

use allotrope_dtype::{DType, Error};
use allotrope_op::structured::order::{ARGSORT, MSORT, SORT};
use allotrope_op::task::Order;

use super::axis_view::{AxisView, remember_places};
use crate::Tensor;
use crate::autograd::is_recorded;
use crate::call::Call;

impl Tensor {
    /// The elements in order along `dim`, and their places. NaN is the greatest, -0 and 0 are equal,
    /// and equals keep their order: sorting is always stable.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::from_slice(&[2.0_f32, f32::NAN, -1.0], &[3])?;
    /// let (values, places) = x.sort(-1, false)?;
    /// assert_eq!(values.to_vec::<f32>()?[..2], [-1.0, 2.0]);
    /// assert_eq!(places.to_vec::<i64>()?, [2, 0, 1]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error for complex numbers, an index error for a dimension out of range, a memory
    /// error.
    pub fn sort(&self, dim: isize, descending: bool) -> Result<(Self, Self), Error> {
        Call::begin(&SORT, &[self])?;
        self.sorted(SORT.name, dim, descending)
    }

    fn sorted(
        &self,
        op: &'static str,
        dim: isize,
        descending: bool,
    ) -> Result<(Self, Self), Error> {
        let lines = AxisView::new(op, self, dim)?;
        let task = Order::Sort {
            descending,
            values: true,
            indices: true,
        };
        let (values, places) = lines.choose(task, lines.length())?;
        let values = remember_places(values, op, self, dim, &places, true)?;
        Ok((values, places))
    }

    /// The places of the elements in order along `dim`, as [`sort`](Self::sort) has them.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// assert_eq!(Tensor::new([30, 10, 20])?.argsort(0, false)?, Tensor::new([1_i64, 2, 0])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`sort`](Self::sort).
    pub fn argsort(&self, dim: isize, descending: bool) -> Result<Self, Error> {
        Call::begin(&ARGSORT, &[self])?;
        let task = Order::Sort {
            descending,
            values: false,
            indices: true,
        };
        AxisView::new(ARGSORT.name, self, dim)?.rearrange(task, DType::I64)
    }

    /// The elements in order along the first dimension.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// assert_eq!(Tensor::new([30, 10, 20])?.msort()?, Tensor::new([10, 20, 30])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`sort`](Self::sort).
    pub fn msort(&self) -> Result<Self, Error> {
        let dtype = Call::begin(&MSORT, &[self])?.result;
        if is_recorded(&[self]) {
            return Ok(self.sorted(MSORT.name, 0, false)?.0);
        }
        let task = Order::Sort {
            descending: false,
            values: true,
            indices: false,
        };
        AxisView::new(MSORT.name, self, 0)?.rearrange(task, dtype)
    }
}
