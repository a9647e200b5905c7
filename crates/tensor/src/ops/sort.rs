//! Elements in order along a dimension.

use allotrope_cpu::kernel::sort::sort;
use allotrope_dtype::{DType, Error};
use allotrope_op::structured::order::{ARGSORT, MSORT, SORT};

use super::axis_view::{AxisView, remember_places};
use crate::Tensor;
use crate::autograd::is_recorded;
use crate::call;

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
        let dtype = call::result_dtype(&SORT, self.dtype())?;
        let lines = AxisView::new(SORT.name, self, dim)?;
        let length = lines.length();
        let mut values = lines.room(length, dtype)?;
        let mut places = lines.room(length, DType::I64)?;
        let (bytes, to) = (lines.bytes(), places.elements_mut());
        sort(dtype, bytes, length, descending, &mut values, to)?;
        let values = lines.finish(values, length, dtype)?;
        let places = lines.finish(places, length, DType::I64)?;
        let values = remember_places(values, SORT.name, self, dim, &places, true)?;
        Ok((values, places))
    }

    /// The places of the elements in order along `dim`, as [`sort`](Self::sort) has them.
    ///
    /// # Errors
    /// As [`sort`](Self::sort).
    pub fn argsort(&self, dim: isize, descending: bool) -> Result<Self, Error> {
        call::result_dtype(&ARGSORT, self.dtype())?;
        let lines = AxisView::new(ARGSORT.name, self, dim)?;
        let length = lines.length();
        let mut places = lines.room(length, DType::I64)?;
        let (bytes, to) = (lines.bytes(), places.elements_mut());
        sort(self.dtype(), bytes, length, descending, &mut [], to)?;
        lines.finish(places, length, DType::I64)
    }

    /// The elements in order along the first dimension.
    ///
    /// # Errors
    /// As [`sort`](Self::sort).
    pub fn msort(&self) -> Result<Self, Error> {
        let dtype = call::result_dtype(&MSORT, self.dtype())?;
        if is_recorded(&[self]) {
            return Ok(self
                .sort(0, false)
                .map_err(|error| error.in_op(MSORT.name))?
                .0);
        }
        let lines = AxisView::new(MSORT.name, self, 0)?;
        let mut values = lines.room(lines.length(), dtype)?;
        sort(
            dtype,
            lines.bytes(),
            lines.length(),
            false,
            &mut values,
            &mut [],
        )?;
        lines.finish(values, lines.length(), dtype)
    }
}
