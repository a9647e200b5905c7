//! Numbers in a row: `arange`, `linspace`, `logspace`. Devices count integers themselves; other numbers
//! are computed in float64 by the host, rounded once, and brought to their device: the same bits
//! everywhere.

use allotrope_dtype::{
    CastOptions, DType, Element, Error, Overflow, Problem, Scalar, WeakScalar, c128, cast_bytes,
};
use allotrope_op::elementary::pow64;
use allotrope_op::{Backend, Builder, Layout, Number, Scan, Shape, View};

use super::room;
use crate::host::{Buffer, CPU, parallel};
use crate::reduce::reading;
use crate::transfer::upload;
use crate::view::out_of_memory;
use crate::{Options, Tensor};

impl Tensor {
    /// The numbers from `start`, `step` apart, before `end`. Integer steps are exact; float steps
    /// are multiplied out, not added up, and an integer dtype takes each number without its fraction:
    /// neither the step nor how many there are is cut first.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::arange(0, 3, 0.5, DType::I8)?;
    /// assert_eq!(x.to_vec::<i8>()?, [0, 0, 1, 1, 2, 2]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for a step of zero or bounds without an end, an overflow error for a number
    /// that the dtype does not hold, a memory error.
    pub fn arange(
        start: impl Into<WeakScalar>,
        end: impl Into<WeakScalar>,
        step: impl Into<WeakScalar>,
        options: impl Into<Options>,
    ) -> Result<Self, Error> {
        let (start, end, step) = (start.into(), end.into(), step.into());
        options.into().make("arange", |backend, dtype| {
            arange_on(backend, start, end, step, dtype)
        })
    }

    /// So many numbers from `start` to `end`, both included, evenly spaced; complex numbers along
    /// the line between them.
    ///
    /// Both ends are exact, and the numbers between are rounded once from float64. Integers are
    /// truncated, the bounds first, as in torch, but from exact fractions.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::linspace(-10, 10, 4, DType::I8)?;
    /// assert_eq!(x.to_vec::<i8>()?, [-10, -3, 3, 10]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// An overflow error for bounds that an integer dtype does not hold, a dtype error for complex
    /// bounds of real numbers, a memory error.
    pub fn linspace(
        start: impl Into<WeakScalar>,
        end: impl Into<WeakScalar>,
        steps: usize,
        options: impl Into<Options>,
    ) -> Result<Self, Error> {
        let (start, end) = (start.into(), end.into());
        options.into().make("linspace", |backend, dtype| {
            linspace_on(backend, start, end, steps, dtype)
        })
    }

    /// `base` to the power of each number of [`Tensor::linspace`]. Integers are truncated.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::logspace(0, 3, 4, 10.0, DType::F32)?;
    /// assert_eq!(x.to_vec::<f32>()?, [1.0, 10.0, 100.0, 1000.0]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// An overflow error for a power that an integer dtype does not hold, a dtype error for complex
    /// exponents of real numbers, a memory error.
    pub fn logspace(
        start: impl Into<WeakScalar>,
        end: impl Into<WeakScalar>,
        steps: usize,
        base: f64,
        options: impl Into<Options>,
    ) -> Result<Self, Error> {
        let (start, end) = (start.into(), end.into());
        options.into().make("logspace", |backend, dtype| {
            logspace_on(backend, start, end, steps, base, dtype)
        })
    }
}

/// [`Tensor::linspace`] on a device.
pub(crate) fn linspace_on(
    backend: &'static dyn Backend,
    start: WeakScalar,
    end: WeakScalar,
    steps: usize,
    dtype: DType,
) -> Result<Tensor, Error> {
    let op = "linspace";
    if dtype.is_complex() {
        let (start, end) = (to_complex(start), to_complex(end));
        let (real, imaginary) = (
            Spacing::new(start.re, end.re, steps),
            Spacing::new(start.im, end.im, steps),
        );
        return tabulate(backend, op, steps, dtype, |i| {
            c128::new(real.at(i), imaginary.at(i))
        });
    }
    if dtype.integer_range().is_some() {
        let (start, end) = (to_integer(op, start, dtype)?, to_integer(op, end, dtype)?);
        let last = steps.saturating_sub(1).max(1) as i128;
        // Far below 127 bits, since so many steps have found room in memory.
        return tabulate(backend, op, steps, dtype, |i| {
            ((start * last + (end - start) * i as i128) / last) as i64
        });
    }
    let spacing = Spacing::new(to_float(op, start)?, to_float(op, end)?, steps);
    tabulate(backend, op, steps, dtype, |i| spacing.at(i))
}

/// [`Tensor::logspace`] on a device.
pub(crate) fn logspace_on(
    backend: &'static dyn Backend,
    start: WeakScalar,
    end: WeakScalar,
    steps: usize,
    base: f64,
    dtype: DType,
) -> Result<Tensor, Error> {
    let op = "logspace";
    if dtype.is_complex() {
        let (start, end) = (to_complex(start), to_complex(end));
        let (real, imaginary) = (
            Spacing::new(start.re, end.re, steps),
            Spacing::new(start.im, end.im, steps),
        );
        return tabulate(backend, op, steps, dtype, |i| {
            match c128::new(real.at(i), imaginary.at(i)) {
                exponent if exponent.im == 0.0 && base >= 0.0 => {
                    c128::new(power(base, exponent.re), 0.0)
                }
                exponent => c128::new(base, 0.0).powc(exponent),
            }
        });
    }
    let spacing = Spacing::new(to_float(op, start)?, to_float(op, end)?, steps);
    tabulate(backend, op, steps, dtype, |i| power(base, spacing.at(i)))
}

const ARANGE: &str = "arange";

/// [`Tensor::arange`] on a device.
pub(crate) fn arange_on(
    backend: &'static dyn Backend,
    start: WeakScalar,
    end: WeakScalar,
    step: WeakScalar,
    dtype: DType,
) -> Result<Tensor, Error> {
    match (start, end, step) {
        (WeakScalar::Int(start), WeakScalar::Int(end), WeakScalar::Int(step)) => {
            integer_range(backend, start, end, step, dtype)
        }
        (start, end, step) => {
            let float = |value| to_float(ARANGE, value);
            float_range(backend, float(start)?, float(end)?, float(step)?, dtype)
        }
    }
}

fn power(base: f64, exponent: f64) -> f64 {
    // Unfused, so that every CPU gives the same bits.
    pow64(Number::<_, false>(base), Number(exponent)).0
}

/// Evenly spaced numbers, computed from the nearer end so that both ends are exact.
struct Spacing {
    start: f64,
    end: f64,
    step: f64,
    count: usize,
}

impl Spacing {
    fn new(start: f64, end: f64, count: usize) -> Self {
        let last = count.saturating_sub(1) as f64;
        let step = (end - start) / last;
        // The distance of two finite numbers may be infinite.
        let step = if step.is_finite() {
            step
        } else {
            end / last - start / last
        };
        Self {
            start,
            end,
            step,
            count,
        }
    }

    fn at(&self, i: usize) -> f64 {
        let left = self.count - 1 - i;
        if i == 0 {
            self.start
        } else if left == 0 {
            self.end
        } else if i <= left {
            self.start + self.step * i as f64
        } else {
            self.end - self.step * left as f64
        }
    }
}

/// A vector of numbers that are computed from their indices, in the dtype that was asked for, on a
/// device.
pub(super) fn tabulate<T: Element>(
    backend: &'static dyn Backend,
    op: &'static str,
    count: usize,
    dtype: DType,
    number: impl Fn(usize) -> T + Send + Sync,
) -> Result<Tensor, Error> {
    tabulate_bytes(backend, op, count, T::DTYPE, dtype, &|first, bytes| {
        let places: &mut [T] = bytemuck::cast_slice_mut(bytes);
        for (i, place) in places.iter_mut().enumerate() {
            *place = number(first + i);
        }
    })
}

/// Numbers that `fill` writes from an index on, some at a time, in the dtype that was asked for, which
/// must hold them if it is an integer one.
fn tabulate_bytes(
    backend: &'static dyn Backend,
    op: &'static str,
    count: usize,
    from: DType,
    to: DType,
    fill: &(dyn Fn(usize, &mut [u8]) + Sync),
) -> Result<Tensor, Error> {
    /// Numbers that are converted at once.
    const TILE: usize = 512;
    let (shape, bytes) = room(op, &[count], to)?;
    let mut buffer = Buffer::for_overwrite(op, bytes)?;
    let size = to.itemsize();
    let may_fail = from.is_floating_point() && to.is_integer();
    let options = match may_fail {
        true => CastOptions::overflow(Overflow::Raise),
        false => CastOptions::default(),
    };
    let work = |chunk: usize, bytes: &mut [u8]| {
        let start = chunk * parallel::CHUNK;
        if from == to {
            fill(start, bytes);
            return Ok(());
        }
        let mut tile = [0_u128; TILE];
        let tile: &mut [u8] = bytemuck::cast_slice_mut(&mut tile);
        let mut parts = bytes.chunks_mut(TILE * size).enumerate();
        parts.try_for_each(|(i, part)| {
            let numbers = &mut tile[..part.len() / size * from.itemsize()];
            fill(start + i * TILE, numbers);
            cast_bytes(from, numbers, to, part, options)
        })
    };
    let done = if may_fail {
        // The first number that does not fit is the one that is named.
        let mut chunks = buffer.chunks_mut(parallel::CHUNK * size).enumerate();
        chunks.try_for_each(|(chunk, bytes)| work(chunk, bytes))
    } else {
        parallel::try_for_each_part(&mut buffer, parallel::CHUNK * size, work)
    };
    done.map_err(|error| match error.problem() {
        // Nobody has asked for a cast.
        Problem::CastOverflow { value, .. } => {
            let (value, dtype) = (value.clone(), to);
            Error::new(op, Problem::ScalarOverflow { value, dtype })
        }
        _ => error.in_op(op),
    })?;
    if backend.id() == CPU.id() {
        return Ok(Tensor::from_buffer(buffer, shape, to));
    }
    let memory = upload(backend, op, to, &buffer)?;
    Ok(Tensor::from_memory_of(memory, shape, to))
}

/// The real number that a scalar is.
fn to_float(op: &'static str, value: WeakScalar) -> Result<f64, Error> {
    match Scalar::new(value, DType::F64)
        .map_err(|error| error.in_op(op))?
        .value()
    {
        WeakScalar::Float(value) => Ok(value),
        _ => Ok(0.0),
    }
}

/// The complex number that a scalar is.
fn to_complex(value: WeakScalar) -> c128 {
    match value {
        WeakScalar::Complex(value) => value,
        WeakScalar::Float(value) => c128::new(value, 0.0),
        WeakScalar::Int(value) => c128::new(value as f64, 0.0),
        WeakScalar::Bool(value) => c128::new(f64::from(u8::from(value)), 0.0),
    }
}

/// A scalar truncated to an integer that the dtype holds.
fn to_integer(op: &'static str, value: WeakScalar, dtype: DType) -> Result<i128, Error> {
    let integer = match value {
        WeakScalar::Bool(value) => Some(i128::from(value)),
        WeakScalar::Int(value) => Some(value),
        WeakScalar::Float(value) => value.is_finite().then_some(value as i128),
        WeakScalar::Complex(_) => {
            let value = value.to_string();
            return Err(Error::new(op, Problem::ScalarKindMismatch { value, dtype }));
        }
    };
    match (integer, dtype.integer_range()) {
        (Some(integer), Some((least, most))) if (least..=most).contains(&integer) => Ok(integer),
        _ => {
            let value = value.to_string();
            Err(Error::new(op, Problem::ScalarOverflow { value, dtype }))
        }
    }
}

fn integer_range(
    backend: &'static dyn Backend,
    start: i128,
    end: i128,
    step: i128,
    dtype: DType,
) -> Result<Tensor, Error> {
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
    let last = start + step * (count as i128 - 1).max(0);
    let beyond = |(min, max): (i128, i128)| {
        let ends = if count > 0 { &[start, last][..] } else { &[] };
        ends.iter().copied().find(|n| !(min..=max).contains(n))
    };
    if let Some(value) = dtype.integer_range().and_then(beyond) {
        let value = value.to_string();
        return Err(Error::new(ARANGE, Problem::ScalarOverflow { value, dtype }));
    }
    if dtype.integer_range().is_none() && beyond((i64::MIN.into(), i64::MAX.into())).is_some() {
        // As floats, integers beyond 64 bits lose nothing that matters.
        return float_range(backend, start as f64, end as f64, step as f64, dtype);
    }
    if backend.id() != CPU.id() && count > 0 {
        return counted_on(backend, start as i64, step as i64, count, dtype);
    }
    // Modulo 2^64 every number is right, also those of uint64.
    tabulate(backend, ARANGE, count, dtype, |i| {
        (start as i64).wrapping_add((step as i64).wrapping_mul(i as i64))
    })
}

/// `start + step i` on a device other than the CPU, which counts by a running sum.
fn counted_on(
    backend: &'static dyn Backend,
    start: i64,
    step: i64,
    count: usize,
    dtype: DType,
) -> Result<Tensor, Error> {
    let (op, whole, shape) = (ARANGE, DType::I64, Shape::new(ARANGE, &[count])?);
    let one = Scalar::new(1, whole)?.to_bytes();
    let ones = backend.fill(op, whole, &one, count)?;
    let layout = Layout::contiguous(shape.clone());
    let seen = |memory| View {
        memory,
        layout: &layout,
    };
    let (program, sizes) = (reading(whole, whole, whole), [1, count, 1]);
    let counted = backend.scan(op, Scan::Sum, &program, &[seen(&*ones)], sizes, whole)?;
    let builder = Builder::new(&[whole]);
    let literal = |value: i64| Ok::<_, Error>(builder.constant(Scalar::new(value, whole)?));
    // The running sum begins with one.
    let first = literal(start.wrapping_sub(step))?;
    let number = builder.input(0) * literal(step)? + first;
    // Modulo 2^64 every number is right, also those of uint64.
    let number = match dtype {
        DType::I64 => number,
        dtype => number.to(dtype),
    };
    let program = builder.finish(&[number]);
    let made = backend.run(op, &program, &shape, &[seen(&*counted)])?;
    let made = made.into_iter().next().ok_or_else(|| out_of_memory(op))?;
    Ok(Tensor::from_memory_of(made, shape, dtype))
}

fn float_range(
    backend: &'static dyn Backend,
    start: f64,
    end: f64,
    step: f64,
    dtype: DType,
) -> Result<Tensor, Error> {
    if step == 0.0 {
        return Err(Error::new(ARANGE, Problem::ZeroStep));
    }
    let count = ((end - start) / step).ceil();
    if !(start.is_finite() && end.is_finite() && count.is_finite()) {
        return Err(Error::new(
            ARANGE,
            Problem::EndlessRange { start, end, step },
        ));
    }
    if count >= isize::MAX as f64 {
        return Err(out_of_memory(ARANGE));
    }
    tabulate(backend, ARANGE, count.max(0.0) as usize, dtype, |i| {
        start + step * i as f64
    })
}
