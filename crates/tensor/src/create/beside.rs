//! What operations make for themselves: on the device of an operand, never on the CPU by default.

use allotrope_dtype::{DType, Element, Error, Problem, WeakScalar};
use allotrope_op::Shape;

use super::eye_on;
use super::range::{arange_on, linspace_on};
use crate::transfer::upload;
use crate::{IntoShape, Tensor};

impl Tensor {
    /// All zero, on the device of this tensor.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let x = Tensor::new([1.0])?;
    /// assert_eq!(x.new_zeros(2, DType::I64)?, Tensor::new([0_i64, 0])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::zeros`].
    pub fn new_zeros(&self, sizes: impl IntoShape, dtype: DType) -> Result<Self, Error> {
        let (sizes, zero) = (sizes.into_shape(), WeakScalar::Bool(false));
        Self::filled("zeros", sizes.as_ref(), zero, dtype, self.backend())
            .map(|made| made.following(self))
    }

    /// All one, on the device of this tensor.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let x = Tensor::new([1.0])?;
    /// assert_eq!(x.new_ones((1, 2), DType::U8)?, Tensor::new([[1_u8, 1]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::zeros`].
    pub fn new_ones(&self, sizes: impl IntoShape, dtype: DType) -> Result<Self, Error> {
        let (sizes, one) = (sizes.into_shape(), WeakScalar::Bool(true));
        Self::filled("ones", sizes.as_ref(), one, dtype, self.backend())
            .map(|made| made.following(self))
    }

    /// All of one value, on the device of this tensor.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let x = Tensor::new([1.0])?;
    /// assert_eq!(x.new_full(2, 0.5, DType::F64)?, Tensor::new([0.5, 0.5])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::full`].
    pub fn new_full(
        &self,
        sizes: impl IntoShape,
        value: impl Into<WeakScalar>,
        dtype: DType,
    ) -> Result<Self, Error> {
        let sizes = sizes.into_shape();
        Self::filled("full", sizes.as_ref(), value.into(), dtype, self.backend())
            .map(|made| made.following(self))
    }

    /// Elements of unknown values, on the device of this tensor.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let x = Tensor::new([1.0])?;
    /// assert_eq!(x.new_empty((2, 3), DType::F16)?.shape(), [2, 3]);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::zeros`].
    pub fn new_empty(&self, sizes: impl IntoShape, dtype: DType) -> Result<Self, Error> {
        let shape = Shape::new("empty", sizes.into_shape().as_ref())?;
        let memory = self.backend().allocate("empty", dtype, shape.count())?;
        Ok(Self::from_memory_of(memory, shape, dtype).following(self))
    }

    /// Elements of a slice, on the device of this tensor.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([1.0])?;
    /// assert_eq!(x.new_from_slice(&[1_u8, 2], (2, 1))?, Tensor::new([[1_u8], [2]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::from_slice`].
    pub fn new_from_slice<T: Element>(
        &self,
        elements: &[T],
        sizes: impl IntoShape,
    ) -> Result<Self, Error> {
        if self.host_address().is_some() {
            return Ok(Self::from_slice(elements, sizes)?.following(self));
        }
        let (op, sizes) = ("from_slice", sizes.into_shape());
        let shape = Shape::new(op, sizes.as_ref())?;
        let (from, to) = (elements.len(), shape.count());
        if from != to {
            return Err(Error::new(op, Problem::LengthMismatch { from, to }));
        }
        let bytes = bytemuck::cast_slice(elements);
        let memory = upload(self.backend(), op, T::DTYPE, bytes)?;
        Ok(Self::from_memory_of(memory, shape, T::DTYPE).following(self))
    }

    /// Numbers in a row, on the device of this tensor.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let x = Tensor::new([1.0])?;
    /// assert_eq!(x.new_arange(0, 6, 2, DType::I32)?, Tensor::new([0, 2, 4])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::arange`].
    pub fn new_arange(
        &self,
        start: impl Into<WeakScalar>,
        end: impl Into<WeakScalar>,
        step: impl Into<WeakScalar>,
        dtype: DType,
    ) -> Result<Self, Error> {
        let made = arange_on(self.backend(), start.into(), end.into(), step.into(), dtype)?;
        Ok(made.following(self))
    }

    /// Evenly spaced numbers between two, on the device of this tensor.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let x = Tensor::new([1.0])?;
    /// assert_eq!(x.new_linspace(0, 1, 3, DType::F64)?, Tensor::new([0.0, 0.5, 1.0])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::linspace`].
    pub fn new_linspace(
        &self,
        start: impl Into<WeakScalar>,
        end: impl Into<WeakScalar>,
        steps: usize,
        dtype: DType,
    ) -> Result<Self, Error> {
        let made = linspace_on(self.backend(), start.into(), end.into(), steps, dtype)?;
        Ok(made.following(self))
    }

    /// One on the diagonal, zero elsewhere, on the device of this tensor.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let x = Tensor::new([1.0])?;
    /// assert_eq!(x.new_eye(1, 2, DType::U8)?, Tensor::new([[1_u8, 0]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::eye`].
    pub fn new_eye(&self, rows: usize, columns: usize, dtype: DType) -> Result<Self, Error> {
        let made = eye_on(self.backend(), rows, columns, dtype)?;
        Ok(made.following(self))
    }
}
