//! Random tensors. Every function takes a generator, or that of the process.
//!
//! | file | what is in it |
//! |---|---|
//! | `distribution` | random tensors of any [`Distribution`](crate::Distribution) |
//! | `multinomial` | indices drawn by weights |
//! | `parameters` | what draws are given: numbers or tensors |
//! | `generator` | [`Generator`]: where a sequence of random draws stands |

mod distribution;
mod generator;
mod multinomial;
mod parameters;

use allotrope_dtype::{DType, Error, Problem, Scalar, Set, WeakScalar, promotion};
use allotrope_op::task::{Output, Sampling, Task};
use allotrope_op::{Backend, Draw, Shape, Stream, Target};

use crate::device::{common_backend, perform_on};
use crate::transfer::gathered;
use crate::{IntoShape, Options, Tensor};

pub use generator::Generator;
pub use parameters::Parameter;
use parameters::{DEVIATION, PROBABILITY, real};

impl Tensor {
    /// Numbers from 0 to below 1, evenly; both parts of complex numbers.
    ///
    /// float32 has 24 random bits, float64 has 53. Narrower floats are rounded down from the
    /// float32 draw: they never reach 1, and are below any of their numbers `a` with probability
    /// `a`.
    ///
    /// ```
    /// use allotrope_dtype::{DType, bf16};
    /// use allotrope_tensor::{Generator, Tensor};
    /// let x = Tensor::rand(&[1000], DType::BF16, Some(&Generator::new(0)))?;
    /// assert!(x.to_vec::<bf16>()?.iter().all(|x| (0.0..1.0).contains(&x.to_f32())));
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error for integers and bool, a value error for sizes that overflow, a memory error.
    pub fn rand(
        sizes: impl IntoShape,
        options: impl Into<Options>,
        generator: Option<&Generator>,
    ) -> Result<Self, Error> {
        let sizes = sizes.into_shape();
        let sizes = sizes.as_ref();
        options.into().make("rand", |backend, dtype| {
            draw_uniform(backend, "rand", sizes, (0.0, 1.0), dtype, generator)
        })
    }

    /// Numbers from `low` to below `high`, evenly, or `low` if they are equal; both parts of complex
    /// numbers. The bounds are rounded to the dtype first, and narrow floats as in [`Tensor::rand`].
    ///
    /// ```
    /// use allotrope_tensor::{DType, Generator, Tensor};
    /// let x = Tensor::uniform(100, 2.0, 3.0, DType::F64, Some(&Generator::new(0)))?;
    /// assert!(x.to_vec::<f64>()?.iter().all(|x| (2.0..3.0).contains(x)));
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for bounds in the wrong order or too far apart, an overflow error for bounds
    /// that the dtype does not hold; otherwise as [`Tensor::rand`].
    pub fn uniform(
        sizes: impl IntoShape,
        low: f64,
        high: f64,
        options: impl Into<Options>,
        generator: Option<&Generator>,
    ) -> Result<Self, Error> {
        let sizes = sizes.into_shape();
        let sizes = sizes.as_ref();
        options.into().make("uniform", |backend, dtype| {
            draw_uniform(backend, "uniform", sizes, (low, high), dtype, generator)
        })
    }

    /// Normal numbers with mean 0 and variance 1; the parts of complex numbers have 1/2 each.
    /// Narrow floats are rounded from float32.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Generator, Tensor};
    /// let x = Tensor::randn((2, 3), DType::BF16, Some(&Generator::new(0)))?;
    /// assert_eq!(x, Tensor::randn((2, 3), DType::BF16, Some(&Generator::new(0)))?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::rand`].
    pub fn randn(
        sizes: impl IntoShape,
        options: impl Into<Options>,
        generator: Option<&Generator>,
    ) -> Result<Self, Error> {
        let sizes = sizes.into_shape();
        let sizes = sizes.as_ref();
        options.into().make("randn", |backend, dtype| {
            draw_normal(backend, "randn", sizes, (0.0, 1.0), dtype, generator)
        })
    }

    /// Normal numbers with this mean and standard deviation; the parts of complex numbers have half
    /// the variance each, and the mean is real.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Generator, Tensor};
    /// let x = Tensor::normal(10_000, 5.0, 2.0, DType::F64, Some(&Generator::new(0)))?;
    /// assert!((x.mean_all()?.to_scalar::<f64>()? - 5.0).abs() < 0.1);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for a negative deviation; otherwise as [`Tensor::rand`].
    pub fn normal(
        sizes: impl IntoShape,
        mean: f64,
        std: f64,
        options: impl Into<Options>,
        generator: Option<&Generator>,
    ) -> Result<Self, Error> {
        let sizes = sizes.into_shape();
        let sizes = sizes.as_ref();
        options.into().make("normal", |backend, dtype| {
            draw_normal(backend, "normal", sizes, (mean, std), dtype, generator)
        })
    }

    /// A normal number for each of these means and standard deviations, which are broadcast.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let mean = Tensor::arange(0, 3, 1, DType::F32)?;
    /// let std = Tensor::zeros(&[2, 1], DType::F32)?;
    /// let x = Tensor::normal_each(&mean, &std, None)?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.0, 1.0, 2.0, 0.0, 1.0, 2.0]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error unless the common dtype is a float, a value error for a negative deviation or
    /// for shapes that do not broadcast; a memory error.
    pub fn normal_each(
        mean: &Self,
        std: &Self,
        generator: Option<&Generator>,
    ) -> Result<Self, Error> {
        if let Some((mean, std)) = gathered((mean, std))? {
            return Self::normal_each(&mean, &std, generator);
        }
        let op = "normal";
        let dtype = promotion().promote_types(op, mean.dtype(), std.dtype())?;
        if !Set::Float.contains(dtype) {
            return Err(Error::not_in_set(op, dtype, Set::Float, None));
        }
        let shape = Shape::broadcast(op, &[mean.shape(), std.shape()])?;
        let given = [&real(op, mean, &shape)?, &real(op, std, &shape)?];
        let backend = common_backend(op, &given)?;
        let place = Place::take(generator, shape.count());
        let task = Sampling::Normal {
            stream: place.stream,
        };
        draw_by_task(backend, op, place, task, &given, dtype, shape)
    }

    /// Integers from `low` to below `high`, equally probable to 2^-64, in any real dtype that holds
    /// all of them.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let dice = Tensor::randint(1, 7, &[100], DType::U8, None)?;
    /// assert!(dice.to_vec::<u8>()?.iter().all(|side| (1..=6).contains(side)));
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for bounds without an integer between, an overflow error for integers that the
    /// dtype does not hold exactly, a dtype error for complex dtypes; a memory error.
    pub fn randint(
        low: i128,
        high: i128,
        sizes: impl IntoShape,
        options: impl Into<Options>,
        generator: Option<&Generator>,
    ) -> Result<Self, Error> {
        let sizes = sizes.into_shape();
        let sizes = sizes.as_ref();
        options.into().make("randint", |backend, dtype| {
            draw_integers(backend, "randint", sizes, (low, high), dtype, generator)
        })
    }

    /// The integers from 0 to below `count` in random order.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Generator, Tensor};
    /// let (order, _) = Tensor::randperm(5, DType::I64, Some(&Generator::new(0)))?.sort(0, false)?;
    /// assert_eq!(order, Tensor::arange(0, 5, 1, DType::I64)?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// An overflow error for integers that the dtype does not hold exactly, a memory error.
    pub fn randperm(
        count: usize,
        options: impl Into<Options>,
        generator: Option<&Generator>,
    ) -> Result<Self, Error> {
        options.into().make("randperm", |backend, dtype| {
            draw_permutation(backend, count, dtype, generator)
        })
    }

    /// Ones and zeros of the same shape and dtype: a one with the probability that stands there.
    ///
    /// ```
    /// use allotrope_tensor::{Generator, Tensor};
    /// let x = Tensor::new([0.0, 1.0])?.bernoulli(Some(&Generator::new(0)))?;
    /// assert_eq!(x, Tensor::new([0.0, 1.0])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error unless the probabilities are floats, a value error for one outside 0 to 1; a
    /// memory error.
    pub fn bernoulli(&self, generator: Option<&Generator>) -> Result<Self, Error> {
        if !Set::Float.contains(self.dtype()) {
            return Err(Error::not_in_set(
                "bernoulli",
                self.dtype(),
                Set::Float,
                None,
            ));
        }
        self.bernoulli_like_each(self, generator)
    }

    /// Numbers evenly between two bounds, in the shape and dtype of this tensor: what `uniform_`
    /// gives it.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Generator, Tensor};
    /// let x = Tensor::zeros((2, 3), DType::F16)?.uniform_like(-1.0, 1.0, Some(&Generator::new(0)))?;
    /// assert_eq!((x.dtype(), x.shape().to_vec()), (DType::F16, vec![2, 3]));
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::uniform`].
    pub fn uniform_like(
        &self,
        low: f64,
        high: f64,
        generator: Option<&Generator>,
    ) -> Result<Self, Error> {
        let (sizes, dtype, backend) = (self.shape(), self.dtype(), self.backend());
        draw_uniform(backend, "uniform", sizes, (low, high), dtype, generator)
    }

    /// Normal numbers in the shape and dtype of this tensor: what `normal_` gives it.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Generator, Tensor};
    /// let x = Tensor::zeros((2, 3), DType::F16)?.normal_like(0.0, 1.0, Some(&Generator::new(0)))?;
    /// assert_eq!((x.dtype(), x.shape().to_vec()), (DType::F16, vec![2, 3]));
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::normal`].
    pub fn normal_like(
        &self,
        mean: f64,
        std: f64,
        generator: Option<&Generator>,
    ) -> Result<Self, Error> {
        let (sizes, dtype, backend) = (self.shape(), self.dtype(), self.backend());
        draw_normal(backend, "normal", sizes, (mean, std), dtype, generator)
    }

    /// Integers in the shape and dtype of this tensor: what `random_` gives it. Without a lower
    /// bound they begin at 0, without an upper one they end with the last that the dtype holds: its
    /// largest integer, or the last before the gaps of a float.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Generator, Tensor};
    /// let x = Tensor::zeros(100, DType::U8)?.random_like(Some(1), Some(7), Some(&Generator::new(0)))?;
    /// assert!(x.to_vec::<u8>()?.iter().all(|side| (1..7).contains(side)));
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::randint`].
    pub fn random_like(
        &self,
        low: Option<i128>,
        high: Option<i128>,
        generator: Option<&Generator>,
    ) -> Result<Self, Error> {
        let dtype = self.dtype();
        let last = dtype
            .integer_range()
            .map_or_else(|| dtype.exact_integers(), |(_, last)| last);
        let bounds = (low.unwrap_or(0), high.unwrap_or(last + 1));
        let (sizes, backend) = (self.shape(), self.backend());
        draw_integers(backend, "random", sizes, bounds, dtype, generator)
    }

    /// Ones with probability `p` and zeros, in the shape and dtype of this tensor: what
    /// `bernoulli_` gives it.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Generator, Tensor};
    /// let x = Tensor::zeros(3, DType::U8)?.bernoulli_like(1.0, Some(&Generator::new(0)))?;
    /// assert_eq!(x, Tensor::new([1_u8, 1, 1])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for a probability outside 0 to 1, a memory error.
    pub fn bernoulli_like(&self, p: f64, generator: Option<&Generator>) -> Result<Self, Error> {
        let (sizes, dtype, backend) = (self.shape(), self.dtype(), self.backend());
        Self::bernoulli_of("bernoulli", sizes, p, dtype, generator, backend)
    }

    /// Ones with probability `p` and zeros.
    pub(crate) fn bernoulli_of(
        op: &'static str,
        sizes: &[usize],
        p: f64,
        dtype: DType,
        generator: Option<&Generator>,
        backend: &dyn Backend,
    ) -> Result<Self, Error> {
        PROBABILITY.check(op, p)?;
        draw_on(backend, op, sizes, dtype, generator, Draw::Bernoulli(p))
    }

    /// Ones with probabilities that broadcast to this shape and zeros, in the shape and dtype of
    /// this tensor: what `bernoulli_` gives it.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Generator, Tensor};
    /// let x = Tensor::zeros((2, 2), DType::U8)?;
    /// let drawn = x.bernoulli_like_each(&Tensor::new([0.0, 1.0])?, Some(&Generator::new(0)))?;
    /// assert_eq!(drawn, Tensor::new([[0_u8, 1], [0, 1]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::bernoulli`]; a value error for shapes that do not broadcast.
    pub fn bernoulli_like_each(
        &self,
        probabilities: &Self,
        generator: Option<&Generator>,
    ) -> Result<Self, Error> {
        if let Some((x, probabilities)) = gathered((self, probabilities))? {
            return x.bernoulli_like_each(&probabilities, generator);
        }
        let (op, dtype) = ("bernoulli", self.dtype());
        let chances = real(op, probabilities, self.shape())?;
        let backend = common_backend(op, &[self, &chances])?;
        let place = Place::take(generator, self.count());
        let task = Sampling::Bernoulli {
            stream: place.stream,
        };
        let shape = self.shape().clone();
        draw_by_task(backend, op, place, task, &[&chances], dtype, shape)
    }
}

/// A place in a generator's sequence that a draw has taken.
#[derive(Clone, Copy)]
struct Place<'a> {
    generator: &'a Generator,
    /// The elements that are drawn from there on.
    count: usize,
    stream: Stream,
}

impl<'a> Place<'a> {
    /// The place for so many elements in the sequence of a generator, or of that of the process.
    fn take(generator: Option<&'a Generator>, count: usize) -> Self {
        let generator = generator.unwrap_or_else(|| Generator::of_process());
        Self {
            generator,
            count,
            stream: generator.take(count),
        }
    }
}

/// What a device, which has all of the tensors, makes of a task of one output. A draw that is refused
/// advances no generator.
fn draw_by_task(
    backend: &'static dyn Backend,
    op: &'static str,
    place: Place<'_>,
    task: Sampling,
    tensors: &[&Tensor],
    dtype: DType,
    shape: Shape,
) -> Result<Tensor, Error> {
    let count = shape.count();
    let output = Output { dtype, count };
    match perform_on(backend, op, &Task::Sampling(task), tensors, &[output], None) {
        Ok(mut made) => {
            let memory = made.remove(0).memory;
            Ok(Tensor::from_memory_of(memory, shape, dtype))
        }
        Err(error) => {
            place.generator.give_back(place.stream, place.count);
            Err(error)
        }
    }
}

/// The integers from 0 to below `count` in random order, on a device.
pub(crate) fn draw_permutation(
    backend: &'static dyn Backend,
    count: usize,
    dtype: DType,
    generator: Option<&Generator>,
) -> Result<Tensor, Error> {
    let op = "randperm";
    check_integers(op, 0, count.saturating_sub(1) as i128, dtype)?;
    let shape = Shape::new(op, &[count])?;
    let place = Place::take(generator, count);
    let task = Sampling::Permutation {
        stream: place.stream,
    };
    let order = draw_by_task(backend, op, place, task, &[], DType::I64, shape)?;
    order.to(dtype).map_err(|error| error.in_op(op))
}

/// Random numbers with one set of parameters, on a device.
fn draw_on(
    backend: &dyn Backend,
    op: &'static str,
    sizes: &[usize],
    dtype: DType,
    generator: Option<&Generator>,
    numbers: Draw,
) -> Result<Tensor, Error> {
    let shape = Shape::new(op, sizes)?;
    let mut memory = backend.allocate(op, dtype, shape.count())?;
    let Place { stream, .. } = Place::take(generator, shape.count());
    let target = Target::new(op, &mut memory, shape.count())?;
    backend.draw(op, dtype, numbers, stream, target)?;
    Ok(Tensor::from_memory_of(memory, shape, dtype))
}

/// Numbers evenly between two bounds, on a device.
pub(crate) fn draw_uniform(
    backend: &dyn Backend,
    op: &'static str,
    sizes: &[usize],
    (low, high): (f64, f64),
    dtype: DType,
    generator: Option<&Generator>,
) -> Result<Tensor, Error> {
    check_inexact(op, dtype)?;
    // NaN is no bound either.
    if low.is_nan() || high.is_nan() || low > high {
        let (low, high) = (format!("{low:?}"), format!("{high:?}"));
        return Err(Error::new(op, Problem::EmptyInterval { low, high }));
    }
    let bounds = (round_bound(op, low, dtype)?, round_bound(op, high, dtype)?);
    let width = match dtype.compute().to_real() {
        DType::F64 => bounds.1 - bounds.0,
        _ => f64::from(bounds.1 as f32 - bounds.0 as f32),
    };
    if width.is_infinite() {
        return Err(Error::new(op, Problem::WideInterval { low, high, dtype }));
    }
    let numbers = Draw::Uniform(bounds.0, bounds.1);
    draw_on(backend, op, sizes, dtype, generator, numbers)
}

/// Normal numbers of a mean and a deviation, on a device.
pub(crate) fn draw_normal(
    backend: &dyn Backend,
    op: &'static str,
    sizes: &[usize],
    (mean, std): (f64, f64),
    dtype: DType,
    generator: Option<&Generator>,
) -> Result<Tensor, Error> {
    check_inexact(op, dtype)?;
    DEVIATION.check(op, std)?;
    let numbers = Draw::Normal(mean, std);
    draw_on(backend, op, sizes, dtype, generator, numbers)
}

/// Integers between two bounds, on a device.
pub(crate) fn draw_integers(
    backend: &dyn Backend,
    op: &'static str,
    sizes: &[usize],
    (low, high): (i128, i128),
    dtype: DType,
    generator: Option<&Generator>,
) -> Result<Tensor, Error> {
    if !Set::Real.contains(dtype) {
        return Err(Error::not_in_set(op, dtype, Set::Real, None));
    }
    if low >= high {
        let (low, high) = (low.to_string(), high.to_string());
        return Err(Error::new(op, Problem::EmptyInterval { low, high }));
    }
    check_integers(op, low, high - 1, dtype)?;
    // Both are numbers of one dtype, so that at most 2^64 are between them.
    let count = (high - low).unsigned_abs();
    let numbers = Draw::Integers(low, count);
    draw_on(backend, op, sizes, dtype, generator, numbers)
}

/// Refuses a dtype that has no fractions.
fn check_inexact(op: &'static str, dtype: DType) -> Result<(), Error> {
    if Set::Inexact.contains(dtype) {
        Ok(())
    } else {
        Err(Error::not_in_set(op, dtype, Set::Inexact, Some("randint")))
    }
}

/// Refuses integers that the dtype does not hold without a gap.
fn check_integers(op: &'static str, first: i128, last: i128, dtype: DType) -> Result<(), Error> {
    for value in [first, last] {
        let problem = match dtype.integer_range() {
            Some((least, most)) if !(least..=most).contains(&value) => Problem::ScalarOverflow {
                value: value.to_string(),
                dtype,
            },
            None if value.unsigned_abs() > dtype.exact_integers().unsigned_abs() => {
                Problem::InexactInteger { value, dtype }
            }
            _ => continue,
        };
        return Err(Error::new(op, problem));
    }
    Ok(())
}

/// A bound as a number of the dtype, which must be in its range.
fn round_bound(op: &'static str, bound: f64, dtype: DType) -> Result<f64, Error> {
    let real = dtype.to_real();
    let most = real.finfo()?.max;
    match Scalar::new(bound, real)?.value() {
        WeakScalar::Float(rounded) if rounded.is_finite() && bound.abs() <= most => Ok(rounded),
        _ => {
            let value = format!("{bound:?}");
            Err(Error::new(op, Problem::ScalarOverflow { value, dtype }))
        }
    }
}
