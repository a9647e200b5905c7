//! Tensors in memory that someone else owns: shared where it can be read in place, else copied.

use crate::host::Foreign;
use allotrope_dtype::{DType, Error, Problem};
use allotrope_op::{Dims, Layout, Shape};

use crate::Tensor;

/// Where the elements of another library's array lie, measured from its first element.
///
/// ```
/// use allotrope_dtype::DType;
/// use allotrope_tensor::ForeignLayout;
/// // Three int16 in reverse: the first element is the last in memory.
/// let layout = ForeignLayout::new("flip", &[3], &[-2], DType::I16)?;
/// assert_eq!((layout.bytes_before(), layout.bytes()), (4, 6));
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ForeignLayout {
    op: &'static str,
    shape: Shape,
    /// In bytes.
    strides: Dims<isize>,
    dtype: DType,
    bytes_before: usize,
    bytes: usize,
}

impl ForeignLayout {
    /// A layout with strides in bytes, which may be zero, negative or parts of an element.
    ///
    /// # Errors
    /// A value error unless there is a stride per size and every element has an address.
    pub fn new(
        op: &'static str,
        sizes: &[usize],
        strides: &[isize],
        dtype: DType,
    ) -> Result<Self, Error> {
        let shape = Shape::new(op, sizes)?;
        if sizes.len() != strides.len() {
            let reason = format!("{} sizes and {} strides", sizes.len(), strides.len());
            return Err(malformed(op, reason));
        }
        let width = dtype.itemsize();
        let mut layout = Self {
            op,
            shape,
            strides: strides.iter().copied().collect(),
            dtype,
            bytes_before: 0,
            bytes: 0,
        };
        if layout.shape.count() == 0 {
            return Ok(layout);
        }
        // A single index never moves, whatever its stride says.
        let row_major = layout.shape.contiguous_strides();
        for ((stride, size), own) in layout.strides.iter_mut().zip(sizes).zip(row_major) {
            if *size == 1 {
                *stride = own.saturating_mul(width as isize);
            }
        }
        let beyond = || malformed(op, "elements beyond every address".to_owned());
        let (mut before, mut after) = (0_isize, width as isize);
        for (stride, size) in layout.strides.iter().zip(sizes) {
            let reach = isize::try_from(size - 1).ok();
            let reach = reach.and_then(|steps| steps.checked_mul(*stride));
            let reach = reach.ok_or_else(beyond)?;
            let side = if reach < 0 { &mut before } else { &mut after };
            *side = side.checked_add(reach).ok_or_else(beyond)?;
        }
        let bytes = after.checked_sub(before).ok_or_else(beyond)?;
        layout.bytes_before = before.unsigned_abs();
        layout.bytes = bytes.unsigned_abs();
        Ok(layout)
    }

    /// From the lowest address of an element to the first element.
    #[must_use]
    pub fn bytes_before(&self) -> usize {
        self.bytes_before
    }

    /// From the lowest to the highest address of an element; zero without elements.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Why elements that start at an address cannot be read in place.
    fn obstacle(&self, address: usize) -> Option<String> {
        let (width, alignment) = (self.dtype.itemsize(), self.dtype.alignment());
        let is_whole = |stride: &isize| stride.unsigned_abs().is_multiple_of(width);
        if !address.is_multiple_of(alignment) {
            Some(format!(
                "the address is not a multiple of {alignment}, as {} needs it",
                self.dtype
            ))
        } else if !self.strides.iter().all(is_whole) {
            Some(format!(
                "strides of {:?} bytes are not whole elements of {}",
                self.strides, self.dtype
            ))
        } else {
            None
        }
    }

    /// The layout in elements, if it has one.
    fn in_elements(&self) -> Layout {
        let width = self.dtype.itemsize();
        let strides = self.strides.iter().map(|stride| stride / width as isize);
        let offset = self.bytes_before / width;
        Layout::from_parts(self.shape.clone(), strides.collect(), offset)
    }

    /// The layout in bytes: each element is a last dimension of its own.
    fn in_bytes(&self) -> Result<Layout, Error> {
        let sizes: Dims<usize> = self
            .shape
            .iter()
            .copied()
            .chain([self.dtype.itemsize()])
            .collect();
        let strides = self.strides.iter().copied().chain([1]).collect();
        let shape = Shape::new(self.op, &sizes)?;
        Ok(Layout::from_parts(shape, strides, self.bytes_before))
    }
}

impl Tensor {
    /// A tensor of elements in foreign memory, which holds exactly the bytes of the layout.
    ///
    /// `copy` is the array API's: `Some(true)` always copies, `Some(false)` never, and `None` only
    /// what cannot be read in place, which is an address or strides that do not fit the dtype.
    /// Memory that was copied is given back at once, shared memory with the last view of it.
    ///
    /// # Errors
    /// A value error if a copy is needed but forbidden, or the memory has another length; a memory
    /// error.
    pub fn from_foreign(
        memory: Foreign,
        layout: &ForeignLayout,
        copy: Option<bool>,
    ) -> Result<Self, Error> {
        let op = layout.op;
        if memory.len() != layout.bytes {
            let reason = format!("{} bytes instead of {}", memory.len(), layout.bytes);
            return Err(malformed(op, reason));
        }
        if layout.bytes == 0 {
            return Self::zeros(&layout.shape, layout.dtype).map_err(|error| error.in_op(op));
        }
        let Some(reason) = layout.obstacle(memory.as_ptr().addr()) else {
            let tensor = Self::from_storage(memory, layout.in_elements(), layout.dtype);
            return match copy {
                Some(true) => tensor.copied().map_err(|error| error.in_op(op)),
                _ => Ok(tensor),
            };
        };
        if copy == Some(false) {
            return Err(Error::new(op, Problem::CopyNeeded { reason }));
        }
        let bytes = Self::from_storage(memory, layout.in_bytes()?, DType::U8);
        bytes
            .copied()
            .and_then(|bytes| bytes.view_dtype(layout.dtype))
            .and_then(|elements| elements.squeeze(Some(&[-1])))
            .map_err(|error| error.in_op(op))
    }
}

#[cold]
fn malformed(op: &'static str, reason: String) -> Error {
    Error::new(op, Problem::MalformedTensor { reason })
}
