//! Constructors of given elements, of one value, in `beside` of what operations make for themselves,
//! in `range` of numbers in a row, in `window` of windows over signals, in `frequency` of those of
//! their transforms.

mod beside;
mod frequency;
mod options;
mod range;
mod window;

use crate::host::{Buffer, CPU};
use crate::transfer::check_range;
use allotrope_dtype::{DType, Element, Error, Problem, Scalar, WeakScalar, WithDType};
use allotrope_op::{Backend, Dims, Layout, Shape, Target, View};

pub use frequency::{fftfreq, fftfreq_on, rfftfreq, rfftfreq_on};
pub use options::Options;
pub(crate) use range::arange_on;
pub use window::SignalWindow;

use crate::view::out_of_memory;
use crate::{IntoShape, Tensor};

impl Tensor {
    /// Row-major elements from a slice.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::from_slice(&[1.0_f32, 2.0, 3.0, 4.0], &[2, 2])?;
    /// assert_eq!(x.select(0, 1)?.to_vec::<f32>()?, [3.0, 4.0]);
    /// let mask = Tensor::from_slice(&[true, false], &[2])?;
    /// assert_eq!(mask.as_slice::<bool>()?, [true, false]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error if the sizes do not multiply to the length; a memory error.
    pub fn from_slice<T: WithDType>(elements: &[T], sizes: impl IntoShape) -> Result<Self, Error> {
        let shape = Shape::new("from_slice", sizes.into_shape().as_ref())?;
        if shape.count() != elements.len() {
            let problem = Problem::LengthMismatch {
                from: elements.len(),
                to: shape.count(),
            };
            return Err(Error::new("from_slice", problem));
        }
        let bytes: &[u8] = bytemuck::cast_slice(elements);
        let mut buffer = Buffer::for_overwrite("from_slice", bytes.len())?;
        buffer.copy_from_slice(bytes);
        Ok(Self::from_buffer(buffer, shape, T::Element::DTYPE))
    }

    /// Row-major elements from their bytes.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let x = Tensor::from_bytes(&[1, 0, 2, 1], 2, DType::U16)?;
    /// assert_eq!(x, Tensor::new([1_u16, 258])?);
    /// assert_eq!(
    ///     Tensor::from_bytes(&[0; 5], 1, DType::F32).unwrap_err().to_string(),
    ///     "from_bytes: wrong number of bytes: 5; 1 elements of float32 have 4"
    /// );
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error unless there are exactly the bytes of the elements; a memory error.
    pub fn from_bytes(bytes: &[u8], sizes: impl IntoShape, dtype: DType) -> Result<Self, Error> {
        let op = "from_bytes";
        let (shape, room) = room(op, sizes.into_shape().as_ref(), dtype)?;
        check_bytes(op, bytes.len(), room, shape.count(), dtype)?;
        let mut buffer = Buffer::for_overwrite(op, room)?;
        buffer.copy_from_slice(bytes);
        Ok(Self::from_buffer(buffer, shape, dtype))
    }

    /// Row-major elements whose bytes fill a buffer: it becomes the memory of the tensor.
    ///
    /// # Errors
    /// A value error if the sizes do not multiply to the number of elements.
    pub fn from_memory(buffer: Buffer, sizes: &[usize], dtype: DType) -> Result<Self, Error> {
        let op = "from_memory";
        let (shape, room) = room(op, sizes, dtype)?;
        check_bytes(op, buffer.len(), room, shape.count(), dtype)?;
        Ok(Self::from_buffer(buffer, shape, dtype))
    }

    /// All zero: of a dtype or family, on the CPU or the device that is given with it.
    ///
    /// ```
    /// use allotrope_tensor::{Device, DType, Tensor};
    /// let device: Device = "cpu".parse()?;
    /// let x = Tensor::zeros((2, 3), (DType::BF16, device))?;
    /// assert_eq!((x.dtype(), x.device()), (DType::BF16, device));
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for sizes that overflow, a memory error, a device error.
    pub fn zeros(sizes: impl IntoShape, options: impl Into<Options>) -> Result<Self, Error> {
        let (sizes, zero) = (sizes.into_shape(), WeakScalar::Bool(false));
        Self::filled_with("zeros", sizes.as_ref(), zero, options.into())
    }

    /// All one.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// assert_eq!(Tensor::ones((1, 2), DType::I8)?, Tensor::new([[1_i8, 1]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::zeros`].
    pub fn ones(sizes: impl IntoShape, options: impl Into<Options>) -> Result<Self, Error> {
        let (sizes, one) = (sizes.into_shape(), WeakScalar::Bool(true));
        Self::filled_with("ones", sizes.as_ref(), one, options.into())
    }

    /// All of one value, which the dtype must hold.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// assert_eq!(Tensor::full(2, 7, DType::U8)?, Tensor::new([7_u8, 7])?);
    /// assert!(Tensor::full(2, 300, DType::U8).is_err());
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// An overflow error for an integer out of range, a dtype error for a value of a higher kind;
    /// otherwise as [`Tensor::zeros`].
    pub fn full(
        sizes: impl IntoShape,
        value: impl Into<WeakScalar>,
        options: impl Into<Options>,
    ) -> Result<Self, Error> {
        let sizes = sizes.into_shape();
        Self::filled_with("full", sizes.as_ref(), value.into(), options.into())
    }

    /// A number that follows its partners, whatever device they are on.
    pub(crate) fn free_scalar(value: WeakScalar, dtype: DType) -> Result<Self, Error> {
        Ok(Self::full(&[], value, dtype)?.with_device_free(true))
    }

    /// Elements of unknown values, to be overwritten.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// assert_eq!(Tensor::empty((2, 3), DType::F16)?.shape(), [2, 3]);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::zeros`].
    pub fn empty(sizes: impl IntoShape, options: impl Into<Options>) -> Result<Self, Error> {
        let (op, options) = ("empty", options.into());
        let Options { dtype, device, .. } = options.check(op)?;
        let shape = Shape::new(op, sizes.into_shape().as_ref())?;
        let memory = device.backend().allocate(op, dtype, shape.count())?;
        Ok(options.finish(Self::from_memory_of(memory, shape, dtype)))
    }

    /// One on the diagonal, zero elsewhere.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::eye(2, 3, DType::I8)?;
    /// assert_eq!(x.to_vec::<i8>()?, [1, 0, 0, 0, 1, 0]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::zeros`].
    pub fn eye(rows: usize, columns: usize, options: impl Into<Options>) -> Result<Self, Error> {
        let options = options.into();
        options.make("eye", |backend, dtype| {
            eye_on(backend, rows, columns, dtype)
        })
    }

    /// All zero, in the shape and dtype of this tensor.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// assert_eq!(Tensor::new([1_u8, 2])?.zeros_like()?, Tensor::new([0_u8, 0])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A memory error.
    pub fn zeros_like(&self) -> Result<Self, Error> {
        self.filled_like("zeros_like", WeakScalar::Bool(false))
    }

    /// All one, in the shape and dtype of this tensor.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// assert_eq!(Tensor::new([3_u8, 2])?.ones_like()?, Tensor::new([1_u8, 1])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A memory error.
    pub fn ones_like(&self) -> Result<Self, Error> {
        self.filled_like("ones_like", WeakScalar::Bool(true))
    }

    /// All of one value, in the shape and dtype of this tensor.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// assert_eq!(Tensor::new([3_u8, 2])?.full_like(9)?, Tensor::new([9_u8, 9])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::full`].
    pub fn full_like(&self, value: impl Into<WeakScalar>) -> Result<Self, Error> {
        self.filled_like("full_like", value.into())
    }

    /// Elements of unknown values, in the shape and dtype of this tensor.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let x = Tensor::new([[3_u8, 2]])?.empty_like()?;
    /// assert_eq!((x.dtype(), x.shape().to_vec()), (DType::U8, vec![1, 2]));
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A memory error.
    pub fn empty_like(&self) -> Result<Self, Error> {
        let (backend, dtype) = (self.backend(), self.dtype());
        let memory = backend.allocate("empty_like", dtype, self.count())?;
        Ok(Self::from_memory_of(memory, self.shape().clone(), dtype).following(self))
    }

    /// One value in the shape and dtype of this tensor, beside it.
    fn filled_like(&self, op: &'static str, value: WeakScalar) -> Result<Self, Error> {
        let made = Self::filled(op, self.shape(), value, self.dtype(), self.backend())?;
        Ok(made.following(self))
    }

    fn filled_with(
        op: &'static str,
        sizes: &[usize],
        value: WeakScalar,
        options: Options,
    ) -> Result<Self, Error> {
        let Options { dtype, device, .. } = options.check(op)?;
        if let WeakScalar::Int(_) = value {
            let element = Scalar::new(value, dtype).map_err(|error| error.in_op(op))?;
            check_range(op, dtype, &element.to_bytes()[..dtype.itemsize()], device)?;
        }
        let made = Self::filled(op, sizes, value, dtype, device.backend())?;
        Ok(options.finish(made))
    }

    pub(crate) fn filled(
        op: &'static str,
        sizes: &[usize],
        value: WeakScalar,
        dtype: DType,
        backend: &dyn Backend,
    ) -> Result<Self, Error> {
        let element = Scalar::assigned(value, dtype)
            .map_err(|error| error.in_op(op))?
            .to_bytes();
        let shape = Shape::new(op, sizes)?;
        let memory = backend.fill(op, dtype, &element, shape.count())?;
        Ok(Self::from_memory_of(memory, shape, dtype))
    }
}

/// [`Tensor::eye`] on a device.
fn eye_on(
    backend: &'static dyn Backend,
    rows: usize,
    columns: usize,
    dtype: DType,
) -> Result<Tensor, Error> {
    let op = "eye";
    let one = Scalar::new(true, dtype).map_err(|error| error.in_op(op))?;
    let one = one.to_bytes();
    if backend.id() != CPU.id() {
        let (shape, count) = (Shape::new(op, &[rows, columns])?, rows.min(columns));
        let mut memory = backend.fill(op, dtype, &[0; 16], shape.count())?;
        let ones = backend.fill(op, dtype, &one, count)?;
        let diagonal = Shape::new(op, &[count])?;
        let step = Dims::from_slice(&[columns as isize + 1]);
        let (from, to) = (
            Layout::contiguous(diagonal.clone()),
            Layout::from_parts(diagonal, step, 0),
        );
        let view = View {
            memory: &*ones,
            layout: &from,
        };
        let target = Target::new(op, &mut memory, shape.count())?;
        backend.place(op, dtype, view, target, &to)?;
        return Ok(Tensor::from_memory_of(memory, shape, dtype));
    }
    let width = dtype.itemsize();
    let (shape, bytes) = room(op, &[rows, columns], dtype)?;
    let mut buffer = Buffer::zeroed(op, bytes)?;
    // Diagonal elements are a row and one element apart.
    let step = (columns + 1).saturating_mul(width);
    let places = buffer.chunks_mut(step).take(columns);
    places.for_each(|place| place[..width].copy_from_slice(&one[..width]));
    Ok(Tensor::from_buffer(buffer, shape, dtype))
}

/// Refuses bytes that are not those of so many elements.
fn check_bytes(
    op: &'static str,
    bytes: usize,
    needed: usize,
    count: usize,
    dtype: DType,
) -> Result<(), Error> {
    if bytes == needed {
        return Ok(());
    }
    let problem = Problem::InvalidBuffer {
        bytes,
        needed,
        count,
        dtype,
    };
    Err(Error::new(op, problem))
}

/// A shape and the bytes of its elements.
pub(crate) fn room(
    op: &'static str,
    sizes: &[usize],
    dtype: DType,
) -> Result<(Shape, usize), Error> {
    let shape = Shape::new(op, sizes)?;
    let bytes = dtype.bytes_for(shape.count());
    Ok((shape, bytes.ok_or_else(|| out_of_memory(op))?))
}
