//! `unravel_index`, `ravel_multi_index`: between an index per dimension and one index.

use allotrope_dtype::{DType, Error, Problem};
use allotrope_op::Shape;
use allotrope_op::structured::indexing::{RAVEL_MULTI_INDEX, UNRAVEL_INDEX};

use super::{Indices, Negative, wrong_shape};
use crate::Tensor;
use crate::call::{self, Call};
use crate::transfer::gathered;

impl Tensor {
    /// The index in every dimension of a shape of indices into its elements in row-major order.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let places = Tensor::from_slice(&[5_u8, 2], &[2])?.unravel_index(&[2, 3])?;
    /// assert_eq!(places[0].to_vec::<i64>()?, [1, 0]);
    /// assert_eq!(places[1].to_vec::<i64>()?, [2, 2]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error unless these are integers, an index error for one that is negative or beyond
    /// the last element, a memory error.
    pub fn unravel_index(&self, sizes: &[usize]) -> Result<Vec<Self>, Error> {
        let op = UNRAVEL_INDEX.name;
        Call::begin(&UNRAVEL_INDEX, &[self])?;
        let shape = Shape::new(op, sizes)?;
        let indices = Indices::new(op, self, 0, shape.count(), Negative::Refuse)?;
        let flat = indices.compact.with_layout(indices.layout.clone());
        let strides = shape.contiguous_strides();
        let along = shape.iter().zip(&strides).map(|(size, stride)| {
            let index = flat.floor_divide(*stride as i64)?;
            index.remainder((*size).max(1) as i64)
        });
        along.collect()
    }

    /// The indices into the elements of a shape in row-major order of an index in every dimension,
    /// which are broadcast together.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let (rows, columns) = (Tensor::new([0_i64, 1])?, Tensor::new([2_i64, 0])?);
    /// assert_eq!(Tensor::ravel_multi_index(&[&rows, &columns], &[2, 3])?, Tensor::new([2_i64, 3])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error unless these are integers, an index error for one out of range, a value error
    /// unless there is one for every dimension and they broadcast, a memory error.
    pub fn ravel_multi_index(indices: &[&Self], sizes: &[usize]) -> Result<Self, Error> {
        if let Some(indices) = gathered(indices)? {
            return Self::ravel_multi_index(&indices.iter().collect::<Vec<_>>(), sizes);
        }
        let op = RAVEL_MULTI_INDEX.name;
        let shape = Shape::new(op, sizes)?;
        if indices.len() != sizes.len() {
            let problem = Problem::WrongAxisCount {
                given: indices.len(),
                rank: sizes.len(),
            };
            return Err(Error::new(op, problem));
        }
        if indices.is_empty() {
            return Err(wrong_shape(op, "dims", &shape, "at least one"));
        }
        let shapes: Vec<&Shape> = indices.iter().map(|index| index.shape()).collect();
        let common = Shape::broadcast(op, &shapes)?;
        let mut flat = indices[0].new_zeros(&common, DType::I64)?;
        let strides = shape.contiguous_strides();
        for (dim, index) in indices.iter().enumerate() {
            match dim {
                0 => Call::begin(&RAVEL_MULTI_INDEX, &[index])?.result,
                _ => call::expected_dtype(&RAVEL_MULTI_INDEX, index.dtype())?,
            };
            let index = index.expand(&common)?;
            let indices = Indices::new(op, &index, dim, sizes[dim], Negative::Refuse)?;
            let along = indices.compact.with_layout(indices.layout.clone());
            flat = flat.add(&along.mul(strides[dim] as i64)?)?;
        }
        Ok(flat)
    }
}
