//! The tensor type and what it says of itself.

use std::fmt;
use std::sync::Arc;

use crate::host::{Buffer, Storage, whole_elements};
use allotrope_dtype::{DType, Error};
use allotrope_op::{Backend, Layout, Memory, Shape, Shared, Target, View};

use smallvec::SmallVec;

use crate::autograd::History;

/// Elements of one dtype in any number of dimensions. Cloning shares the value.
///
/// A view shares its bytes with the tensor it was made from. Nothing is ever written behind a
/// view's back, since a tensor never changes; what is written to is a [`Variable`](crate::Variable).
///
/// ```
/// use allotrope_tensor::Tensor;
/// let x = Tensor::new([[1.0_f32, 2.0], [3.0, 4.0]])?;
/// let y = x.clone();
/// assert!(y.shares_storage_with(&x) && y == x);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
#[derive(Clone)]
pub struct Tensor {
    memory: Shared,
    layout: Layout,
    dtype: DType,
    /// Of a tensor made with a family, whose width is the device's to choose: the dtype that it has
    /// where every dtype is stored.
    width: Option<DType>,
    /// Whether an operation may move the tensor to the device of its partner.
    is_device_free: bool,
    /// How the tensor was made, if a gradient can come back to it.
    history: Option<History>,
}

impl Tensor {
    /// A tensor of row-major elements that fill a buffer.
    pub(crate) fn from_buffer(buffer: Buffer, shape: Shape, dtype: DType) -> Self {
        debug_assert_eq!(Some(buffer.len()), dtype.bytes_for(shape.count()));
        Self::from_storage(buffer, Layout::contiguous(shape), dtype)
    }

    /// A tensor of bytes that contain the layout and are aligned for the dtype.
    pub(crate) fn from_storage(storage: impl Into<Storage>, layout: Layout, dtype: DType) -> Self {
        Self::from_parts(storage.into().share(), layout, dtype)
    }

    /// A tensor of row-major elements that fill memory of any device.
    #[inline]
    pub(crate) fn from_memory_of(memory: Shared, shape: Shape, dtype: DType) -> Self {
        Self::from_parts(memory, Layout::contiguous(shape), dtype)
    }

    /// A tensor of memory that contains the layout.
    #[inline]
    pub(crate) fn from_parts(memory: Shared, layout: Layout, dtype: DType) -> Self {
        Self {
            memory,
            layout,
            dtype,
            width: None,
            is_device_free: false,
            history: None,
        }
    }

    /// The dtype that the tensor has on a device that stores every dtype, if its width is the
    /// device's to choose; see [`numeric`](Self::numeric).
    #[must_use]
    pub fn width(&self) -> Option<DType> {
        self.width
    }

    /// Whether the width of the elements is the device's to choose.
    pub(crate) fn is_bit_free(&self) -> bool {
        self.width.is_some()
    }

    /// Whether an operation moves the tensor to the device of its partner.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// assert!(!Tensor::new([1])?.is_device_free());
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    #[must_use]
    pub fn is_device_free(&self) -> bool {
        self.is_device_free
    }

    /// The same tensor, which an operation moves to the device of its partner, or not.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// assert!(Tensor::new([1])?.with_device_free(true).is_device_free());
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    #[must_use]
    pub fn with_device_free(mut self, is_device_free: bool) -> Self {
        self.is_device_free = is_device_free;
        self
    }

    /// Leaves the width of the elements to the device, or not; see `numeric`.
    pub(crate) fn set_width(&mut self, width: Option<DType>) {
        self.width = width;
    }

    /// How the tensor was made, if a gradient can come back to it.
    pub(crate) fn history(&self) -> Option<&History> {
        self.history.as_ref()
    }

    /// Names the operation that the tensor was just made by, unless others have its history too.
    pub(crate) fn rename_history(&mut self, op: &'static str) {
        let node = self.history.as_mut().map(|history| &mut history.node);
        if let Some(node) = node.and_then(Arc::get_mut) {
            node.op = op;
        }
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
            memory: Arc::clone(&self.memory),
            layout,
            dtype,
            width: self.width.filter(|_| dtype == self.dtype),
            is_device_free: self.is_device_free,
            history: None,
        }
    }

    /// The device that the tensor is on.
    #[must_use]
    pub fn backend(&self) -> &'static dyn Backend {
        self.memory.backend()
    }

    /// The tensor as backends read it.
    pub(crate) fn view_of(&self) -> View<'_> {
        self.seen_as(&self.layout)
    }

    /// The tensor's memory with another layout, as backends read it.
    pub(crate) fn seen_as<'a>(&'a self, layout: &'a Layout) -> View<'a> {
        let memory = &*self.memory;
        View { memory, layout }
    }

    /// The bytes that the layout points into, for an operation that only the CPU has: whole elements,
    /// aligned for the dtype.
    pub(crate) fn storage(&self, op: &'static str) -> Result<&[u8], Error> {
        let bytes = self.memory.on_host(op)?;
        Ok(whole_elements(self.dtype, bytes))
    }

    /// The address of the memory, if the CPU can read it.
    pub(crate) fn host_address(&self) -> Option<usize> {
        self.memory.host().map(|bytes| bytes.as_ptr().addr())
    }

    /// Sizes, strides and offset.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[1, 2, 3], [4, 5, 6]])?.t()?;
    /// assert_eq!(x.layout().strides(), [1, 3]);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The element type.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// assert_eq!(Tensor::new([1.5_f32])?.dtype(), DType::F32);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The sizes of the dimensions.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let x = Tensor::zeros((2, 3), DType::F32)?;
    /// assert_eq!(x.shape(), [2, 3]);
    /// assert_eq!((x.shape()[1], x.shape().to_string().as_str()), (3, "[2, 3]"));
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    #[must_use]
    pub fn shape(&self) -> &Shape {
        self.layout.shape()
    }

    /// The number of dimensions.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// assert_eq!(Tensor::zeros((2, 3), DType::F32)?.rank(), 2);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    #[must_use]
    pub fn rank(&self) -> usize {
        self.layout.rank()
    }

    /// The number of elements.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// assert_eq!(Tensor::zeros((2, 3), DType::F32)?.count(), 6);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    #[must_use]
    pub fn count(&self) -> usize {
        self.shape().count()
    }

    /// Whether the elements lie in row-major order without gaps.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let x = Tensor::zeros((2, 3), DType::F32)?;
    /// assert!(x.is_contiguous() && !x.t()?.is_contiguous());
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    #[must_use]
    pub fn is_contiguous(&self) -> bool {
        self.layout.is_contiguous()
    }

    /// Where the first element lies in memory, for libraries that read it from there; zero if the CPU
    /// cannot.
    ///
    /// The address is valid while this tensor or a view of it exists.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([1_u16, 2])?;
    /// assert_eq!(x.i(1..)?.address(), x.address() + 2);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    #[must_use]
    pub fn address(&self) -> usize {
        let start = self.memory.host().map(|b| b.as_ptr().expose_provenance());
        start.map_or(0, |start| {
            start + self.dtype.bytes_for(self.layout.offset()).unwrap_or(0)
        })
    }

    /// The memory to write to, if nothing else has it.
    fn own_memory(&mut self) -> Option<&mut dyn Memory> {
        Arc::get_mut(&mut self.memory).filter(|memory| memory.is_writable())
    }

    /// Whether the memory can be written to where it is: nothing else has it.
    pub(crate) fn has_own_memory(&mut self) -> bool {
        self.own_memory().is_some()
    }

    /// The whole memory to write to, if nothing else has it, where the tensor's layout holds.
    pub(crate) fn own_target(&mut self) -> Option<Target<'_>> {
        let (start, count) = (0, self.memory_len());
        self.own_memory().map(|memory| Target {
            memory,
            start,
            count,
        })
    }

    /// The elements to write to, if they lie in row-major order in memory that nothing else has.
    pub(crate) fn own_elements(&mut self) -> Option<Target<'_>> {
        let (start, count) = (self.layout.offset(), self.count());
        let in_order = self.is_contiguous();
        let own = self.own_memory().filter(|_| in_order);
        own.map(|memory| Target {
            memory,
            start,
            count,
        })
    }

    /// Changes the elements of the value in a dtype, as a target in row-major order; if anyone else
    /// has the memory, those of a copy. In other orders a copy is changed and written back.
    pub(crate) fn rewrite<T>(
        &mut self,
        op: &'static str,
        dtype: DType,
        change: impl FnOnce(Target<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if dtype == self.dtype
            && let Some(own) = self.own_elements()
        {
            return change(own);
        }
        let mut copy = if dtype == self.dtype {
            self.copied()?
        } else {
            self.to(dtype)?
        };
        // A cast is a new buffer, a copy always is.
        let count = copy.count();
        let changed = change(Target::new(op, &mut copy.memory, count)?)?;
        if dtype == self.dtype && self.has_own_memory() {
            self.place(op, &copy)?;
        } else {
            *self = copy;
        }
        Ok(changed)
    }

    /// Writes elements of this dtype and shape to where the layout has them, in memory that nothing
    /// else has; where someone has, they are the new value.
    pub(crate) fn place(&mut self, op: &'static str, elements: &Self) -> Result<(), Error> {
        if self.has_own_memory() {
            let layout = self.layout.clone();
            return self.place_at(op, &layout, elements);
        }
        *self = elements.detach();
        Ok(())
    }

    /// Writes elements of this dtype to where another layout has them, in memory that nothing else has.
    pub(crate) fn place_at(
        &mut self,
        op: &'static str,
        layout: &Layout,
        elements: &Self,
    ) -> Result<(), Error> {
        let (backend, dtype, count) = (self.backend(), self.dtype, self.memory_len());
        let target = Target::new(op, &mut self.memory, count)?;
        backend.place(op, dtype, elements.view_of(), target, layout)
    }

    /// The bytes of the whole memory, of which the tensor may be a part.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory.len()
    }

    /// How many bytes the elements take, each once, whatever memory the tensor is a view of.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// assert_eq!(Tensor::zeros((2, 3), DType::BF16)?.byte_count(), 12);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    #[must_use]
    pub fn byte_count(&self) -> usize {
        // Elements that are there have found room.
        self.dtype.bytes_for(self.count()).unwrap_or(usize::MAX)
    }

    /// How many elements the whole memory has.
    pub(crate) fn memory_len(&self) -> usize {
        self.dtype.count_in(self.memory.len())
    }

    /// A tensor of the same dtype and rank without elements, in memory of its own.
    pub(crate) fn outline(&self) -> Result<Self, Error> {
        let memory = self.backend().allocate("empty", self.dtype, 0)?;
        let sizes: SmallVec<[usize; 6]> = SmallVec::from_elem(0, self.rank());
        Ok(Self::from_memory_of(
            memory,
            Shape::new("empty", &sizes)?,
            self.dtype,
        ))
    }

    /// The memory, which the tensor holds as long as it is there.
    pub(crate) fn shared_memory(&self) -> Shared {
        Arc::clone(&self.memory)
    }

    /// Whether the elements are in some memory.
    pub(crate) fn is_in(&self, memory: &Shared) -> bool {
        Arc::ptr_eq(&self.memory, memory)
    }

    /// The same value in memory that readers see what is written to: of someone else's memory a view
    /// that does not hold others up, of our own the tensor itself.
    #[must_use]
    pub fn for_readers(&self) -> Self {
        let mut tensor = self.clone();
        if let Some(memory) = self.memory.again() {
            tensor.memory = memory;
        }
        tensor
    }

    /// Whether the bytes are in memory that someone else owns, who may be able to write to it.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// assert!(!Tensor::new([1])?.is_foreign());
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        self.memory.is_foreign()
    }

    /// Whether the bytes are in memory that can be written to, which a mapped file is not.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// assert!(Tensor::new([1])?.is_writable());
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    #[must_use]
    pub fn is_writable(&self) -> bool {
        self.memory.is_writable()
    }

    /// Whether the memory is someone else's who sees writes, and another tensor has it, too.
    #[must_use]
    #[inline]
    pub fn is_written_elsewhere(&self) -> bool {
        let memory = &*self.memory;
        Arc::strong_count(&self.memory) > 1 && memory.is_foreign() && memory.is_writable()
    }

    /// Whether two tensors are the same value: one memory, read in one way.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([1, 2])?;
    /// assert!(x.is_same_value(&x.clone()) && !x.is_same_value(&Tensor::new([1, 2])?));
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    #[must_use]
    pub fn is_same_value(&self, other: &Self) -> bool {
        self.shares_storage_with(other) && self.dtype == other.dtype && self.layout == other.layout
    }

    /// Whether two tensors share their bytes.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([1, 2])?;
    /// assert!(x.shares_storage_with(&x.i(1..)?) && !x.shares_storage_with(&x.copied()?));
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    #[must_use]
    pub fn shares_storage_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.memory, &other.memory)
    }

    /// The bytes of the elements, if they lie in row-major order where the CPU can read them.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[1_u8, 2], [3, 4]])?;
    /// assert_eq!(x.contiguous_bytes(), Some(&[1, 2, 3, 4][..]));
    /// assert!(x.t()?.contiguous_bytes().is_none());
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    #[must_use]
    pub fn contiguous_bytes(&self) -> Option<&[u8]> {
        let bytes = self.memory.host().filter(|_| self.is_contiguous())?;
        let start = self.dtype.bytes_for(self.layout.offset())?;
        Some(&bytes[start..start + self.byte_count()])
    }

    /// The bytes of a contiguous tensor in memory that nothing else has, to be written by the CPU.
    pub(crate) fn ordered_bytes_mut(&mut self, op: &'static str) -> Result<&mut [u8], Error> {
        let (start, count, dtype) = (self.layout.offset(), self.count(), self.dtype);
        let mut target = Target::new(op, &mut self.memory, count)?;
        target.start = start;
        target.on_host(op, dtype)
    }

    /// The bytes of a contiguous tensor, for an operation that only the CPU has.
    pub(crate) fn ordered_bytes(&self, op: &'static str) -> Result<&[u8], Error> {
        self.storage(op)?;
        Ok(self.contiguous_bytes().unwrap_or_default())
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
