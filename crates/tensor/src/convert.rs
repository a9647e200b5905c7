//! Casts, and values out of a tensor.

use crate::host::CPU;
use crate::host::memory::try_to_vec;
use allotrope_dtype::{
    CastOptions, Casting, DType, Element, Error, Policy, Problem, Scalar, WeakScalar, WithDType,
    can_cast, scoped_promotion,
};
use allotrope_op::task::{Task, Values};
use allotrope_op::{Dims, Layout, Program, Shape};
use smallvec::smallvec;

use crate::Tensor;
use crate::device::perform_one;
use crate::elementwise::evaluate_one;

impl Tensor {
    /// The values in another dtype, rounded once, with the default overflow; the tensor itself if
    /// the dtype is the same.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let x = Tensor::new([1.7, -300.0])?;
    /// assert_eq!(x.to(DType::I8)?, Tensor::new([1_i8, -128])?);
    /// assert_eq!(x.to(DType::BF16)?.to(DType::F32)?, Tensor::new([1.703125_f32, -300.0])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error for complex to real, a memory error.
    pub fn to(&self, dtype: DType) -> Result<Self, Error> {
        self.to_with(dtype, CastOptions::default())
    }

    /// The values in another dtype, with rounding and overflow as given.
    ///
    /// ```
    /// use allotrope_tensor::{CastOptions, DType, Overflow, Tensor};
    /// let x = Tensor::new([1.0, 300.0])?;
    /// assert!(x.to_with(DType::U8, CastOptions::overflow(Overflow::Raise)).is_err());
    /// let wrapped = x.to_with(DType::U8, CastOptions::overflow(Overflow::Wrap))?;
    /// assert_eq!(wrapped, Tensor::new([1_u8, 44])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`cast_bytes`](allotrope_dtype::cast_bytes): an overflow error if it is to be raised, a dtype error for complex to
    /// real, a value error for an option without a meaning; a memory error.
    pub fn to_with(&self, dtype: DType, options: CastOptions) -> Result<Self, Error> {
        if dtype == self.dtype() {
            return Ok(self.clone());
        }
        if options == CastOptions::default() && can_cast(self.dtype(), dtype, Casting::Any) {
            return self.converted(dtype);
        }
        let task = Task::Values(Values::Cast(options));
        let cast = perform_one("to", &task, &[self], dtype, self.shape())?;
        cast.with_rule("to", &[self], |pass| Ok(smallvec![Some(pass.gradient()?)]))
    }

    /// The values in another dtype that holds them: floats may round, but integers must fit, fractions
    /// are no integers, and what is finite stays finite. Bool is value ≠ 0.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let x = Tensor::new([1.0, 300.0])?;
    /// assert_eq!(x.to_holding("tensor", DType::I64)?.to_vec::<i64>()?, [1, 300]);
    /// let error = x.to_holding("tensor", DType::U8).unwrap_err();
    /// assert!(error.to_string().contains("out of range at index 1: 300"));
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// An overflow error or a dtype error that names the first value that the dtype does not hold, and
    /// its index; as [`to`](Self::to).
    pub fn to_holding(&self, op: &'static str, dtype: DType) -> Result<Self, Error> {
        let from = self.dtype();
        let converted = self.to(dtype).map_err(|error| error.in_op(op))?;
        if dtype == DType::Bool || from.fits_in(dtype) {
            return Ok(converted);
        }
        // What was made is looked at, and only where that may have lost something, what it was made of.
        let _standard = scoped_promotion(Policy::Standard);
        let (x, made) = (self.detach(), converted.detach());
        let is_finite = || made.isfinite()?.all(None, false)?.is_true();
        let lost = match dtype.is_integer() {
            true if x.equal(&made)? => return Ok(converted),
            true => x.ne(&made)?,
            false if is_finite()? => return Ok(converted),
            false => x
                .isfinite()?
                .bitwise_and(&made.isfinite()?.logical_not()?)?,
        };
        if !lost.any(None, false)?.is_true()? {
            return Ok(converted);
        }
        let index = lost.to(DType::U8)?.argmax(None, false)?.item()?.value();
        let WeakScalar::Int(index) = index else {
            return Ok(converted);
        };
        let index = index as usize;
        let value = x.ravel()?.select(0, index as isize)?.item()?.value();
        let is_fraction =
            dtype.is_integer() && matches!(value, WeakScalar::Float(value) if value.fract() != 0.0);
        let value = value.to_string();
        let to = dtype;
        let problem = match is_fraction {
            true => Problem::Fraction {
                index,
                value,
                from,
                to,
            },
            false => Problem::CastOverflow {
                index,
                value,
                from,
                to,
            },
        };
        Err(Error::new(op, problem).hint(format!("a cast: .to({to})")))
    }

    /// The values in another dtype by the default rules, in tiles on all threads.
    fn converted(&self, dtype: DType) -> Result<Self, Error> {
        let mut program = Program::new(&[self.dtype()]);
        let result = program.convert(0, dtype);
        program.output(result);
        evaluate_one("to", &program, &[self])
    }

    /// The same bits as another dtype, by torch's rules: the last dimension grows or shrinks by the
    /// ratio of the widths, and then its elements must lie next to each other.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::from_slice(&[1.0_f32], &[1])?.view_dtype(DType::U8)?;
    /// assert_eq!(x.to_vec::<u8>()?, [0, 0, 0x80, 0x3F]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// Foreign memory at an address that the dtype does not allow is copied.
    ///
    /// # Errors
    /// A value error where elements would be cut apart; a memory error.
    pub fn view_dtype(&self, dtype: DType) -> Result<Self, Error> {
        let (old, new) = (self.dtype().itemsize(), dtype.itemsize());
        let refuse = |reason: &str| {
            let problem = Problem::CannotReinterpret {
                from: self.dtype(),
                to: dtype,
                reason: reason.to_owned(),
            };
            Error::new("view", problem)
        };
        if old == new {
            return self.reinterpret_aligned(self.layout().clone(), dtype);
        }
        let (Some(stride), Some(size)) = (self.layout().strides().last(), self.shape().last())
        else {
            return Err(refuse("a tensor without dimensions keeps its width"));
        };
        if *stride != 1 && *size != 1 {
            return Err(refuse("the last dimension is not contiguous"));
        }
        let layout = self.layout();
        let others = &layout.strides()[..layout.rank() - 1];
        // Wide, since a size beside one of zero may be as large as it likes.
        let scaled = |elements: usize| elements as u128 * old as u128;
        let scale = |elements: usize| (scaled(elements) / new as u128) as usize;
        let whole = |elements: usize| scaled(elements).is_multiple_of(new as u128);
        if !whole(*size) {
            return Err(refuse("the last size is not a multiple of the ratio"));
        }
        if !whole(layout.offset()) || !others.iter().all(|s| whole(s.unsigned_abs())) {
            return Err(refuse("an offset or stride is not a multiple of the ratio"));
        }
        let mut sizes: Dims<usize> = self.shape().iter().copied().collect();
        if let Some(last) = sizes.last_mut() {
            *last = scale(*size);
        }
        let strides = others
            .iter()
            .map(|s| s.signum() * scale(s.unsigned_abs()) as isize);
        let strides: Dims<isize> = strides.chain([1]).collect();
        let shape = Shape::new("view", &sizes)?;
        let layout = Layout::from_parts(shape, strides, scale(layout.offset()));
        self.reinterpret_aligned(layout, dtype)
    }

    /// The same bytes in another layout of another dtype, or a copy at an address that suits it.
    fn reinterpret_aligned(&self, layout: Layout, dtype: DType) -> Result<Self, Error> {
        let is_stored = |dtype| self.backend().capabilities().storage(dtype) == dtype;
        if dtype != self.dtype() && (!is_stored(self.dtype()) || !is_stored(dtype)) {
            // The bits are those of the values, not of what the device stores.
            let here = self.detach().to_backend(&CPU)?.view_dtype(dtype)?;
            return here.beside(self);
        }
        let fits = |address: usize| address.is_multiple_of(dtype.alignment());
        // Where the CPU cannot read, alignment is the device's own matter.
        if self.host_address().is_none_or(fits) {
            Ok(self.reinterpret(layout, dtype))
        } else {
            self.copied()?.view_dtype(dtype)
        }
    }

    /// The elements in row-major order.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[1_u8, 2], [3, 4]])?;
    /// assert_eq!(x.t()?.to_vec::<u8>()?, [1, 3, 2, 4]);
    /// assert!(x.to_vec::<i8>().is_err());
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error unless `T` is the tensor's element type; a memory error.
    pub fn to_vec<T: WithDType>(&self) -> Result<Vec<T>, Error> {
        self.check_element("to_vec", T::Element::DTYPE)?;
        let elements = try_to_vec("to_vec", bytemuck::cast_slice(&self.read("to_vec")?))?;
        // bounded: in the same memory.
        Ok(elements.into_iter().map(T::from_element).collect())
    }

    /// The bytes of the elements in row-major order.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// assert_eq!(Tensor::new([1_u16, 258])?.to_bytes()?, [1, 0, 2, 1]);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A memory error.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        try_to_vec("to_bytes", &self.read("to_bytes")?)
    }

    /// The value of a tensor with one element.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor, WeakScalar};
    /// let x = Tensor::new([[1.5_f32]])?;
    /// assert_eq!((x.item()?.dtype(), x.item()?.value()), (DType::F32, WeakScalar::Float(1.5)));
    /// assert!(Tensor::new([1, 2])?.item().is_err());
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for any other number of elements.
    pub fn item(&self) -> Result<Scalar, Error> {
        if self.count() == 1 {
            Scalar::from_bytes(self.dtype(), &self.read("item")?)
        } else {
            let problem = Problem::NotSingle {
                shape: self.shape().to_vec(),
            };
            Err(Error::new("item", problem))
        }
    }
}
