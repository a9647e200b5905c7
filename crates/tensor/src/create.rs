//! Constructors.

use allotrope_cpu::{Buffer, kernel};
use allotrope_dtype::{
    CastOptions, DType, Element, Error, Problem, Scalar, WeakScalar, cast_bytes,
};
use allotrope_op::Shape;

use crate::Tensor;
use crate::view::out_of_memory;

impl Tensor {
    /// Row-major elements from a slice.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::from_slice(&[1.0_f32, 2.0, 3.0, 4.0], &[2, 2])?;
    /// assert_eq!(x.select(0, 1)?.to_vec::<f32>()?, [3.0, 4.0]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error if the sizes do not multiply to the length; a memory error.
    pub fn from_slice<T: Element>(elements: &[T], sizes: &[usize]) -> Result<Self, Error> {
        let shape = Shape::new("from_slice", sizes)?;
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
        Ok(Self::from_buffer(buffer, shape, T::DTYPE))
    }

    /// Row-major elements from their bytes.
    ///
    /// # Errors
    /// A value error if the sizes do not multiply to the number of elements; a memory error.
    pub fn from_bytes(bytes: &[u8], sizes: &[usize], dtype: DType) -> Result<Self, Error> {
        let (shape, room) = room("from_bytes", sizes, dtype)?;
        if bytes.len() != room {
            let problem = Problem::LengthMismatch {
                from: bytes.len() / dtype.itemsize(),
                to: shape.count(),
            };
            return Err(Error::new("from_bytes", problem));
        }
        let mut buffer = Buffer::for_overwrite("from_bytes", room)?;
        buffer.copy_from_slice(bytes);
        Ok(Self::from_buffer(buffer, shape, dtype))
    }

    /// All zero.
    ///
    /// # Errors
    /// A value error for sizes that overflow, a memory error.
    pub fn zeros(sizes: &[usize], dtype: DType) -> Result<Self, Error> {
        let (shape, bytes) = room("zeros", sizes, dtype)?;
        Ok(Self::from_buffer(
            Buffer::zeroed("zeros", bytes)?,
            shape,
            dtype,
        ))
    }

    /// All one.
    ///
    /// # Errors
    /// As [`Tensor::zeros`].
    pub fn ones(sizes: &[usize], dtype: DType) -> Result<Self, Error> {
        Self::filled("ones", sizes, WeakScalar::Bool(true), dtype)
    }

    /// All of one value, which the dtype must hold.
    ///
    /// # Errors
    /// An overflow error for an integer out of range, a dtype error for a value of a higher kind;
    /// otherwise as [`Tensor::zeros`].
    pub fn full(
        sizes: &[usize],
        value: impl Into<WeakScalar>,
        dtype: DType,
    ) -> Result<Self, Error> {
        Self::filled("full", sizes, value.into(), dtype)
    }

    fn filled(
        op: &'static str,
        sizes: &[usize],
        value: WeakScalar,
        dtype: DType,
    ) -> Result<Self, Error> {
        let element = Scalar::new(value, dtype)
            .map_err(|error| error.in_op(op))?
            .to_bytes();
        let (shape, bytes) = room(op, sizes, dtype)?;
        let mut buffer = Buffer::for_overwrite(op, bytes)?;
        kernel::fill(dtype, &element, &mut buffer);
        Ok(Self::from_buffer(buffer, shape, dtype))
    }

    /// The numbers from `start`, `step` apart, before `end`. Integer steps are exact; float steps
    /// are multiplied out, not added up.
    ///
    /// # Errors
    /// A value error for a step of zero or bounds without an end, an overflow error for a number
    /// that the dtype does not hold, a memory error.
    pub fn arange(
        start: impl Into<WeakScalar>,
        end: impl Into<WeakScalar>,
        step: impl Into<WeakScalar>,
        dtype: DType,
    ) -> Result<Self, Error> {
        match (start.into(), end.into(), step.into()) {
            (WeakScalar::Int(start), WeakScalar::Int(end), WeakScalar::Int(step)) => {
                integer_range(start, end, step, dtype)
            }
            (start, end, step) => {
                float_range(to_float(start)?, to_float(end)?, to_float(step)?, dtype)
            }
        }
    }
}

const ARANGE: &str = "arange";

/// A shape and the bytes of its elements.
fn room(op: &'static str, sizes: &[usize], dtype: DType) -> Result<(Shape, usize), Error> {
    let shape = Shape::new(op, sizes)?;
    let bytes = shape.count().checked_mul(dtype.itemsize());
    Ok((shape, bytes.ok_or_else(|| out_of_memory(op))?))
}

fn to_float(value: WeakScalar) -> Result<f64, Error> {
    match Scalar::new(value, DType::F64)
        .map_err(|error| error.in_op(ARANGE))?
        .value()
    {
        WeakScalar::Float(value) => Ok(value),
        _ => Ok(0.0),
    }
}

fn integer_range(start: i128, end: i128, step: i128, dtype: DType) -> Result<Tensor, Error> {
    if step == 0 {
        return Err(Error::new(ARANGE, Problem::ZeroStep));
    }
    // The distance and the step have one sign, or there is nothing between the bounds.
    let distance = end.saturating_sub(start);
    let count = match (distance > 0) == (step > 0) && distance != 0 {
        true => distance.unsigned_abs().div_ceil(step.unsigned_abs()),
        false => 0,
    };
    let count = usize::try_from(count).map_err(|_| out_of_memory(ARANGE))?;
    // Integers beyond 64 bits fit no dtype; as floats they lose nothing that matters.
    let (Ok(first), Ok(stride)) = (i64::try_from(start), i64::try_from(step)) else {
        return float_range(start as f64, end as f64, step as f64, dtype);
    };
    if let (Some((min, max)), 1..) = (dtype.integer_range(), count) {
        let last = start + step * (count as i128 - 1);
        if let Some(value) = [start, last].into_iter().find(|n| !(min..=max).contains(n)) {
            let problem = Problem::ScalarOverflow {
                value: value.to_string(),
                dtype,
            };
            return Err(Error::new(ARANGE, problem));
        }
    }
    let (_, bytes) = room(ARANGE, &[count], DType::I64)?;
    let mut numbers = Buffer::for_overwrite(ARANGE, bytes)?;
    for (i, number) in numbers.elements_mut::<i64>().iter_mut().enumerate() {
        *number = first.wrapping_add(stride.wrapping_mul(i as i64));
    }
    cast_numbers(numbers, DType::I64, count, dtype)
}

fn float_range(start: f64, end: f64, step: f64, dtype: DType) -> Result<Tensor, Error> {
    if step == 0.0 {
        return Err(Error::new(ARANGE, Problem::ZeroStep));
    }
    let count = ((end - start) / step).ceil().max(0.0);
    if !count.is_finite() {
        return Err(Error::new(
            ARANGE,
            Problem::EndlessRange { start, end, step },
        ));
    }
    if count >= isize::MAX as f64 {
        return Err(out_of_memory(ARANGE));
    }
    let count = count as usize;
    let (_, bytes) = room(ARANGE, &[count], DType::F64)?;
    let mut numbers = Buffer::for_overwrite(ARANGE, bytes)?;
    for (i, number) in numbers.elements_mut::<f64>().iter_mut().enumerate() {
        *number = start + step * i as f64;
    }
    cast_numbers(numbers, DType::F64, count, dtype)
}

/// A vector of numbers in the dtype that was asked for.
fn cast_numbers(numbers: Buffer, from: DType, count: usize, to: DType) -> Result<Tensor, Error> {
    let shape = Shape::new(ARANGE, &[count])?;
    if from == to {
        return Ok(Tensor::from_buffer(numbers, shape, to));
    }
    let (_, bytes) = room(ARANGE, &[count], to)?;
    let mut buffer = Buffer::for_overwrite(ARANGE, bytes)?;
    cast_bytes(from, &numbers, to, &mut buffer, CastOptions::default())
        .map_err(|error| error.in_op(ARANGE))?;
    Ok(Tensor::from_buffer(buffer, shape, to))
}
