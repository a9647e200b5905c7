//! `gather`, `index_select`, `take`, `take_along_dim`: elements read from where indices say.

use allotrope_dtype::Error;
use allotrope_op::structured::indexing::{GATHER, INDEX_SELECT, TAKE, TAKE_ALONG_DIM};
use allotrope_op::{Dims, Layout, Shape, normalize_axis};
use smallvec::smallvec;

use super::index_add::sum_slices;
use super::scatter::sum_elements;
use super::{Indices, Negative, chooser_beside, wrong_shape};
use crate::Tensor;
use crate::autograd::is_recorded;
use crate::call::Call;
use crate::device::common_backend;
use crate::transfer::{Chooser, gathered};

impl Tensor {
    /// The elements along a dimension at an index for each: `out[i][j] = x[index[i][j]][j]` for
    /// dimension 0. The result has the shape of the index, which may be smaller than the tensor in
    /// the other dimensions, and the dtype of the tensor. Negative indices count from the end.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::arange(0, 6, 1, DType::F16)?.reshape(&[2, 3])?;
    /// let index = Tensor::from_slice(&[2_u8, 0], &[2, 1])?;
    /// assert_eq!(x.gather(1, &index)?.to(DType::I8)?.to_vec::<i8>()?, [2, 3]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for a dimension or index out of range, a dtype error unless indices are
    /// integers, a value error for an index that does not fit, a memory error.
    pub fn gather(&self, dim: isize, index: &Self) -> Result<Self, Error> {
        Call::begin(&GATHER, &[self])?;
        self.gathered(GATHER.name, dim, index)
    }

    fn gathered(&self, op: &'static str, dim: isize, index: &Self) -> Result<Self, Error> {
        if let Some(moved) = gathered((self, Chooser(index)))? {
            return moved.0.gathered(op, dim, &moved.1);
        }
        let index = &*chooser_beside(index, self)?;
        let (x, wide) = (self.at_least_one_dim()?, index.at_least_one_dim()?);
        let dim = normalize_axis(op, dim, x.rank())?;
        if index.count() == 0 {
            // No index, no element: what shape the index has concerns nobody else.
            return x.ravel()?.narrow(0, 0, 0)?.in_shape(index.shape());
        }
        check_fits(op, &wide, x.shape(), dim)?;
        let indices = Indices::new(op, &wide, dim, x.shape()[dim], Negative::FromEnd)?;
        let mut strides = Dims::from_slice(x.layout().strides());
        strides[dim] = 0;
        let layout = indices.layout.clone();
        let picked = x.picked(op, dim, wide.shape().clone(), strides, &indices, &layout)?;
        if !is_recorded(&[&x]) {
            return picked.in_shape(index.shape());
        }
        let (dim, shape) = (dim as isize, x.shape().clone());
        let picked = picked.with_rule(op, &[&x], move |pass| {
            let sums = sum_elements(op, &shape, dim, &wide, &pass.gradient()?)?;
            Ok(smallvec![Some(sums)])
        })?;
        picked.in_shape(index.shape())
    }

    /// The slices along a dimension at the indices of a vector. The dtype stays, and negative
    /// indices count from the end.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::arange(0, 6, 1, DType::I64)?.reshape(&[3, 2])?;
    /// let index = Tensor::from_slice(&[-1_i8, 0], &[2])?;
    /// assert_eq!(x.index_select(0, &index)?.to_vec::<i64>()?, [4, 5, 0, 1]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`gather`](Self::gather); a value error for an index of more than one dimension.
    pub fn index_select(&self, dim: isize, index: &Self) -> Result<Self, Error> {
        let op = INDEX_SELECT.name;
        Call::begin(&INDEX_SELECT, &[self])?;
        if index.rank() > 1 {
            return Err(wrong_shape(op, "index", index.shape(), "a vector"));
        }
        let index = index.at_least_one_dim()?;
        if self.rank() > 0 {
            return self.select_along(op, dim, &index, Negative::FromEnd);
        }
        if index.count() != 1 {
            let accepted = "one index is accepted for a tensor without dimensions";
            return Err(wrong_shape(op, "index", index.shape(), accepted));
        }
        self.unsqueeze(0)?
            .select_along(op, dim, &index, Negative::FromEnd)?
            .squeeze(None)
    }

    /// The slices along a dimension at indices, whose dimensions take its place.
    pub(super) fn select_along(
        &self,
        op: &'static str,
        dim: isize,
        index: &Self,
        negative: Negative,
    ) -> Result<Self, Error> {
        if let Some(moved) = gathered((self, Chooser(index)))? {
            return moved.0.select_along(op, dim, &moved.1, negative);
        }
        let dim = normalize_axis(op, dim, self.rank())?;
        let index = &*chooser_beside(index, self)?;
        let indices = Indices::new(op, index, dim, self.shape()[dim], negative)?;
        self.slices_at(op, dim, &indices, index)
    }

    /// The slices along a dimension at contiguous indices of int64 in range, whose dimensions take its
    /// place.
    pub(in crate::ops) fn select_known(
        &self,
        op: &'static str,
        dim: usize,
        index: &Self,
    ) -> Result<Self, Error> {
        self.slices_at(op, dim, &Indices::known(index.clone()), index)
    }

    /// The slices along a dimension at indices, which are those of a tensor.
    fn slices_at(
        &self,
        op: &'static str,
        dim: usize,
        indices: &Indices,
        index: &Self,
    ) -> Result<Self, Error> {
        let (before, after) = (&self.shape()[..dim], &self.shape()[dim + 1..]);
        let layout = indices.layout_between(op, before, after)?;
        let own = self.layout().strides();
        let still = vec![0; index.rank()];
        let strides = Dims::from_vec([&own[..dim], &still, &own[dim + 1..]].concat());
        let picked = self.picked(op, dim, layout.shape().clone(), strides, indices, &layout)?;
        if !is_recorded(&[self]) {
            return Ok(picked.inherit(&[self]));
        }
        let (shape, index) = (self.shape().clone(), index.ravel()?);
        picked.with_rule(op, &[self], move |pass| {
            let gradient = pass.gradient()?;
            let mut sizes = shape.to_vec();
            sizes[dim] = index.count();
            let slices = gradient.in_shape(&Shape::new(op, &sizes)?)?;
            Ok(smallvec![Some(sum_slices(
                op, &shape, dim, &index, &slices
            )?)])
        })
    }

    /// The elements `index * stride` behind the places that strides give each.
    fn picked(
        &self,
        op: &'static str,
        dim: usize,
        shape: Shape,
        strides: Dims<isize>,
        indices: &Indices,
        layout: &Layout,
    ) -> Result<Self, Error> {
        let backend = common_backend(op, &[self, &indices.compact])?;
        let base = Layout::from_parts(shape.clone(), strides, self.layout().offset());
        let (step, places) = (self.layout().strides()[dim], indices.places(layout));
        let memory = backend.pick(op, self.dtype(), self.seen_as(&base), step, places)?;
        Ok(Self::from_memory_of(memory, shape, self.dtype()))
    }

    /// The elements at indices into the flattened tensor, in the shape of the indices; with a
    /// dimension the slices along it, whose place the dimensions of the indices take. The dtype
    /// stays, and negative indices count from the end.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::arange(0, 6, 1, DType::U16)?.reshape(&[2, 3])?;
    /// let index = Tensor::from_slice(&[4_i64, -1], &[2])?;
    /// assert_eq!(x.take(&index, None)?.to_vec::<u16>()?, [4, 5]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`gather`](Self::gather).
    pub fn take(&self, index: &Self, dim: Option<isize>) -> Result<Self, Error> {
        let op = TAKE.name;
        Call::begin(&TAKE, &[self])?;
        match dim {
            Some(dim) => self.select_along(op, dim, index, Negative::FromEnd),
            None => self.ravel()?.select_along(op, 0, index, Negative::FromEnd),
        }
    }

    /// The elements along a dimension at an index for each; tensor and index are broadcast in the
    /// other dimensions. Without a dimension both are flattened.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[30, 10, 20]])?;
    /// assert_eq!(x.take_along_dim(&x.argsort(1, false)?, Some(1))?, Tensor::new([[10, 20, 30]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`gather`](Self::gather); a value error unless both have as many dimensions and broadcast.
    pub fn take_along_dim(&self, index: &Self, dim: Option<isize>) -> Result<Self, Error> {
        let op = TAKE_ALONG_DIM.name;
        Call::begin(&TAKE_ALONG_DIM, &[self])?;
        let Some(axis) = dim else {
            return self.ravel()?.gathered(op, 0, &index.ravel()?);
        };
        let dim = normalize_axis(op, axis, self.rank())?;
        if index.rank() != self.rank() {
            let accepted = format!("as many dimensions as the tensor has, {}", self.rank());
            return Err(wrong_shape(op, "index", index.shape(), accepted));
        }
        let with = |shape: &Shape, size: usize| {
            let mut sizes = shape.to_vec();
            sizes[dim] = size;
            Shape::new(op, &sizes)
        };
        let others = [with(self.shape(), 1)?, with(index.shape(), 1)?];
        let common = Shape::broadcast(op, &[&others[0], &others[1]])?;
        let x = self.expand(&with(&common, self.shape()[dim])?)?;
        let index = index.expand(&with(&common, index.shape()[dim])?)?;
        x.gathered(op, axis, &index)
    }
}

/// Refuses an index of another number of dimensions, or larger than a shape but for one dimension.
pub(super) fn check_fits(
    op: &'static str,
    index: &Tensor,
    shape: &Shape,
    dim: usize,
) -> Result<(), Error> {
    if index.rank() != shape.rank() {
        let accepted = format!("as many dimensions as the tensor has, {}", shape.rank());
        return Err(wrong_shape(op, "index", index.shape(), accepted));
    }
    let mut sizes = index.shape().iter().zip(&shape[..]).enumerate();
    if sizes.any(|(d, (given, size))| d != dim && given > size) {
        let accepted = format!("sizes of at most {shape} but for dimension {dim}");
        return Err(wrong_shape(op, "index", index.shape(), accepted));
    }
    Ok(())
}
