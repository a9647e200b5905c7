//! What scattering operations share: elements combined into a tensor along a dimension.

use allotrope_dtype::{DType, Error, Kind, WeakScalar};
use allotrope_op::{Backend, Combine, Dims, Layout, Put, compute_dtype};

use super::Indices;
use crate::Tensor;
use crate::device::common_backend;
use crate::host::CPU;

/// A tensor that elements are put into along a dimension, computed in a dtype that it is only
/// rounded from when all of them are there.
pub(super) struct Target<'a> {
    op: &'static str,
    value: Tensor,
    dtype: DType,
    compute: DType,
    dim: usize,
    indices: &'a Indices,
    /// An index for each element that is put.
    places: Layout,
}

impl<'a> Target<'a> {
    /// A tensor in a dtype, and where in it elements of the shape of `places` go.
    pub(super) fn new(
        op: &'static str,
        value: &Tensor,
        dtype: DType,
        dim: usize,
        indices: &'a Indices,
        places: Layout,
    ) -> Result<Self, Error> {
        Ok(Self {
            op,
            value: value.to(dtype)?,
            dtype,
            compute: dtype,
            dim,
            indices,
            places,
        })
    }

    /// Computes in the dtype of accumulators from now on.
    fn widen(&mut self) -> Result<(), Error> {
        self.compute = accumulator(self.dtype);
        self.value = self.value.to(self.compute)?;
        Ok(())
    }

    /// Combines elements of the target's dtype, of the shape of the places, with those there.
    pub(super) fn combine(&mut self, how: Combine, source: &Tensor) -> Result<(), Error> {
        if how != Combine::Replace {
            self.widen()?;
        }
        self.put(how, &source.to(self.dtype)?.to(self.compute)?)
    }

    /// Adds elements of the target's dtype, times a number.
    pub(super) fn add_scaled(&mut self, source: &Tensor, alpha: WeakScalar) -> Result<(), Error> {
        self.widen()?;
        let source = source.to(self.dtype)?.to(self.compute)?;
        self.put(Combine::Add, &source.mul(alpha)?)
    }

    /// Replaces the elements that others will be combined with by a number that changes nothing.
    pub(super) fn forget(&mut self, how: Combine) -> Result<(), Error> {
        self.widen()?;
        let start = neutral(how, self.compute);
        let start = self.value.new_full(&[], start, self.compute)?;
        let start = start.expand(self.places.shape())?;
        self.put(Combine::Replace, &start)
    }

    /// Puts elements of the dtype that is computed in.
    fn put(&mut self, how: Combine, source: &Tensor) -> Result<(), Error> {
        let shape = self.places.shape();
        if shape.count() == 0 {
            return Ok(());
        }
        // The bytes of truth values are those of the dtype they are computed in.
        let dtype = match self.dtype {
            DType::Bool => DType::Bool,
            _ => self.compute,
        };
        let source = source.expand(shape).map_err(|error| error.in_op(self.op))?;
        let sizes = self.value.shape().clone();
        let mut strides: Dims<isize> = sizes.contiguous_strides();
        let step = strides[self.dim] as usize;
        strides[self.dim] = 0;
        let base = Layout::from_parts(shape.clone(), strides, 0);
        // Dimensions before the one that is indexed keep elements apart.
        let whole = (1..self.dim).all(|dim| shape[dim] == sizes[dim]);
        let (blocks, used) = match self.dim {
            0 => (1, 1),
            dim if whole => (sizes[..dim].iter().product(), shape[..dim].iter().product()),
            _ => (sizes[0], shape[0]),
        };
        let job = Put {
            source: source.view_of(),
            indices: self.indices.places(&self.places),
            base: &base,
            step,
            blocks,
            used,
        };
        let operands = [&self.value, &source, &self.indices.compact];
        let (op, backend) = (self.op, common_backend(self.op, &operands)?);
        self.value.rewrite_by(
            op,
            self.compute,
            how,
            &source,
            |target| backend.put(op, dtype, how, &job, target),
            |truth, source| {
                let indices = self.indices.compact.on_cpu(op)?;
                let job = Put {
                    source: source.view_of(),
                    indices: indices.seen_as(&self.places),
                    ..job
                };
                truth.rewrite(op, DType::F64, |target| {
                    CPU.put(op, DType::F64, how, &job, target)
                })
            },
        )
    }

    /// The tensor with what was put into it.
    pub(super) fn finish(self) -> Result<Tensor, Error> {
        self.value.to_in(self.op, self.dtype)
    }

    /// The tensor divided by how many numbers each element is the sum of.
    pub(super) fn finish_mean(self, include_self: bool) -> Result<Tensor, Error> {
        let start = i64::from(include_self);
        let start = self.value.new_full(&[], start, DType::I64)?;
        let start = start.expand(self.value.shape())?;
        let mut counts = Self {
            value: start.copied()?,
            dtype: DType::I64,
            compute: DType::I64,
            op: self.op,
            dim: self.dim,
            indices: self.indices,
            places: self.places.clone(),
        };
        let one = self.value.new_full(&[], 1, DType::I64)?;
        counts.combine(Combine::Add, &one)?;
        // Elements that nothing was put to stay as they are.
        let counts = counts.finish()?.maximum(1)?.to(self.compute)?;
        self.value.div(&counts)?.to_in(self.op, self.dtype)
    }
}

/// The dtype that elements are combined in: truth values as bytes, narrow floats as float32.
pub(super) fn accumulator(dtype: DType) -> DType {
    match dtype {
        DType::Bool => DType::U8,
        dtype => compute_dtype(dtype),
    }
}

/// The number that leaves any other as it is.
pub(super) fn neutral(how: Combine, dtype: DType) -> WeakScalar {
    let range = dtype.integer_range();
    match (how, range) {
        (Combine::Replace | Combine::Add, _) => WeakScalar::Bool(false),
        (Combine::Multiply, _) => WeakScalar::Bool(true),
        (Combine::Max, Some((least, _))) => WeakScalar::Int(least),
        (Combine::Min, Some((_, most))) => WeakScalar::Int(most),
        (Combine::Max | Combine::Min, _) if dtype.kind() != Kind::Float => WeakScalar::Bool(false),
        (Combine::Max, None) => WeakScalar::Float(f64::NEG_INFINITY),
        (Combine::Min, None) => WeakScalar::Float(f64::INFINITY),
    }
}
