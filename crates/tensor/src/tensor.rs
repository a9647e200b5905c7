//! The tensor type and what it says of itself.

use std::fmt;
use std::sync::Arc;

use allotrope_cpu::{Buffer, Input, Storage};
use allotrope_dtype::{DType, Error};
use allotrope_op::{Layout, Shape};

use crate::autograd::History;

/// Elements of one dtype in any number of dimensions. Cloning shares the value.
///
/// A view shares its bytes with the tensor it was made from. Nothing is ever written behind a
/// view's back, since a tensor never changes.
#[derive(Clone)]
pub struct Tensor {
    storage: Arc<Storage>,
    layout: Layout,
    dtype: DType,
    /// How the tensor was made, if a gradient can come back to it.
    history: Option<History>,
}

impl Tensor {
    /// A tensor of row-major elements that fill a buffer.
    pub(crate) fn from_buffer(buffer: Buffer, shape: Shape, dtype: DType) -> Self {
        debug_assert_eq!(buffer.len(), shape.count() * dtype.itemsize());
        Self::from_storage(buffer, Layout::contiguous(shape), dtype)
    }

    /// A tensor of bytes that contain the layout and are aligned for the dtype.
    pub(crate) fn from_storage(storage: impl Into<Storage>, layout: Layout, dtype: DType) -> Self {
        Self {
            storage: Arc::new(storage.into()),
            layout,
            dtype,
            history: None,
        }
    }

    /// How the tensor was made, if a gradient can come back to it.
    pub(crate) fn history(&self) -> Option<&History> {
        self.history.as_ref()
    }

    /// Gives the tensor another history.
    pub(crate) fn set_history(&mut self, history: Option<History>) {
        self.history = history;
    }

    /// The same value with another history.
    pub(crate) fn with_history(mut self, history: Option<History>) -> Self {
        self.history = history;
        self
    }

    /// The same bytes in another layout, without a history.
    pub(crate) fn with_layout(&self, layout: Layout) -> Self {
        self.reinterpret(layout, self.dtype)
    }

    /// The same bytes in another layout of another dtype, without a history.
    pub(crate) fn reinterpret(&self, layout: Layout, dtype: DType) -> Self {
        Self {
            storage: Arc::clone(&self.storage),
            layout,
            dtype,
            history: None,
        }
    }

    /// The bytes that the layout points into: whole elements, aligned for the dtype.
    pub(crate) fn storage(&self) -> &[u8] {
        let size = self.dtype.itemsize();
        // Under another dtype the storage may end within an element.
        &self.storage[..self.storage.len() / size * size]
    }

    /// The tensor as kernels read it.
    pub(crate) fn as_input(&self) -> Input<'_> {
        Input {
            bytes: self.storage(),
            layout: &self.layout,
        }
    }

    /// Sizes, strides and offset.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The element type.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The sizes of the dimensions.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        self.layout.shape()
    }

    /// The number of dimensions.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.layout.rank()
    }

    /// The number of elements.
    #[must_use]
    pub fn count(&self) -> usize {
        self.shape().count()
    }

    /// Whether the elements lie in row-major order without gaps.
    #[must_use]
    pub fn is_contiguous(&self) -> bool {
        self.layout.is_contiguous()
    }

    /// Where the first element lies in memory, for libraries that read it from there.
    ///
    /// The address is valid while this tensor or a view of it exists.
    #[must_use]
    pub fn address(&self) -> usize {
        self.storage().as_ptr().expose_provenance() + self.layout.offset() * self.dtype.itemsize()
    }

    /// The bytes of the elements to write to, if they lie in row-major order from the start of
    /// memory that nothing else has.
    pub(crate) fn own_bytes(&mut self) -> Option<&mut [u8]> {
        let len = self.count() * self.dtype.itemsize();
        let in_order = self.is_contiguous() && self.layout.offset() == 0;
        let own = Arc::get_mut(&mut self.storage).and_then(Storage::owned_mut);
        own.filter(|_| in_order).map(|buffer| &mut buffer[..len])
    }

    /// Changes the bytes of the value in a dtype, in row-major order from the start of the memory;
    /// if anyone else has it, a copy of them.
    pub(crate) fn rewrite(
        &mut self,
        dtype: DType,
        change: impl FnOnce(&mut [u8]),
    ) -> Result<(), Error> {
        if dtype == self.dtype
            && let Some(bytes) = self.own_bytes()
        {
            change(bytes);
            return Ok(());
        }
        let mut copy = if dtype == self.dtype {
            self.copied()?
        } else {
            self.to(dtype)?
        };
        // A cast of something contiguous is a new buffer, a copy always is.
        if let Some(buffer) = Arc::get_mut(&mut copy.storage).and_then(Storage::owned_mut) {
            change(buffer);
        }
        *self = copy;
        Ok(())
    }

    /// Whether the bytes are in memory that someone else owns, who may be able to write to it.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        matches!(*self.storage, Storage::Foreign(_))
    }

    /// Whether two tensors are the same value: one memory, read in one way.
    pub(crate) fn is_same_value(&self, other: &Self) -> bool {
        self.shares_storage_with(other) && self.dtype == other.dtype && self.layout == other.layout
    }

    /// Whether two tensors share their bytes.
    #[must_use]
    pub fn shares_storage_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.storage, &other.storage)
    }

    /// The bytes of the elements, if they lie in row-major order.
    #[must_use]
    pub fn contiguous_bytes(&self) -> Option<&[u8]> {
        let size = self.dtype.itemsize();
        let start = self.layout.offset() * size;
        self.is_contiguous()
            .then(|| &self.storage()[start..start + self.count() * size])
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
