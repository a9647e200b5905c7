//! Random tensors of any [`Distribution`], and Dirichlet's.

use allotrope_dtype::{DType, Error, Problem, Set, default_dtype, promotion};
use allotrope_op::task::Sampling;
use allotrope_op::task::sampling::MAX_PARAMETERS;
use allotrope_op::{Backend, Distribution, Shape};
use smallvec::SmallVec;

use super::parameters::{Parameter, last_size, real};
use super::{Place, draw_by_task};
use crate::device::common_backend;
use crate::transfer::{Operands, gathered};
use crate::{Device, Generator, Tensor};

impl Tensor {
    /// Numbers of a distribution, drawn in float64 and rounded to the dtype once.
    ///
    /// Parameters are those of [`Distribution::parameters`], in that order; tensors are broadcast, to `sizes`
    /// if there are any. Without a dtype it is the common one of the tensors, or else the default; of
    /// distributions of integers int64. Integers beyond the dtype saturate, as in casts.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::{Generator, Distribution, Tensor};
    /// let rates = Tensor::from_slice(&[0.0_f32, 1e6], &[2])?;
    /// let seeded = Generator::new(0);
    /// let x = Tensor::sample(Distribution::Poisson, &[(&rates).into()], None, Some(DType::I32), Some(&seeded))?;
    /// let x = x.to_vec::<i32>()?;
    /// assert_eq!(x[0], 0);
    /// assert!((990_000..1_010_000).contains(&x[1]));
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for another number of parameters, a value that the distribution has no meaning
    /// for, or shapes that do not broadcast; a dtype error for a dtype that does not hold its
    /// numbers; a memory error.
    pub fn sample(
        distribution: Distribution,
        parameters: &[Parameter<'_>],
        sizes: Option<&[usize]>,
        dtype: Option<DType>,
        generator: Option<&Generator>,
    ) -> Result<Self, Error> {
        let tensors: SmallVec<[&Self; MAX_PARAMETERS]> =
            parameters.iter().filter_map(Parameter::tensor).collect();
        if let Some(moved) = gathered(&tensors[..])? {
            let parameters = together(parameters, &moved);
            return Self::sample(distribution, &parameters, sizes, dtype, generator);
        }
        let backend = common_backend(distribution.name(), &tensors)?;
        sample_on(backend, distribution, parameters, sizes, dtype, generator)
    }

    /// [`sample`](Self::sample) on a device, where all parameters that are tensors must be.
    ///
    /// # Errors
    /// As [`sample`](Self::sample); a device error for a tensor that is elsewhere.
    pub fn sample_on(
        device: impl Into<Device>,
        distribution: Distribution,
        parameters: &[Parameter<'_>],
        sizes: Option<&[usize]>,
        dtype: Option<DType>,
        generator: Option<&Generator>,
    ) -> Result<Self, Error> {
        let backend = device.into().backend();
        sample_on(backend, distribution, parameters, sizes, dtype, generator)
    }

    /// Numbers of a distribution in the shape and dtype of this tensor: what `exponential_` and its
    /// kin give it.
    ///
    /// # Errors
    /// As [`Tensor::sample`].
    pub fn sample_like(
        &self,
        distribution: Distribution,
        parameters: &[Parameter<'_>],
        generator: Option<&Generator>,
    ) -> Result<Self, Error> {
        let (sizes, dtype) = (Some(&self.shape()[..]), Some(self.dtype()));
        sample_on(
            self.backend(),
            distribution,
            parameters,
            sizes,
            dtype,
            generator,
        )
    }

    /// Shares that sum up to one along the last dimension, by Dirichlet's distribution of these
    /// concentrations. Integers and bool give the default dtype.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Generator, Tensor};
    /// let x = Tensor::ones((4, 3), DType::F64)?.dirichlet(Some(&Generator::new(0)))?;
    /// assert!(x.sum_axis(1)?.allclose(&Tensor::ones(4, DType::F64)?, 1e-12, 0.0, false)?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error for complex numbers, an index error without dimensions, a value error for
    /// concentrations that are not positive; a memory error.
    pub fn dirichlet(&self, generator: Option<&Generator>) -> Result<Self, Error> {
        let op = "dirichlet";
        last_size(op, self)?;
        let concentrations = real(op, self, self.shape())?;
        let dtype = float_of(self.dtype());
        let place = Place::take(generator, self.count());
        let task = Sampling::Dirichlet {
            stream: place.stream,
        };
        let (backend, shape) = (self.backend(), self.shape().clone());
        draw_by_task(backend, op, place, task, &[&concentrations], dtype, shape)
    }
}

/// Numbers of a distribution on a device, which has all parameters that are tensors.
pub(crate) fn sample_on(
    backend: &'static dyn Backend,
    distribution: Distribution,
    parameters: &[Parameter<'_>],
    sizes: Option<&[usize]>,
    dtype: Option<DType>,
    generator: Option<&Generator>,
) -> Result<Tensor, Error> {
    let op = distribution.name();
    let expected = distribution.parameters();
    if parameters.len() != expected.len() {
        let (from, to) = (parameters.len(), expected.len());
        return Err(Error::new(op, Problem::LengthMismatch { from, to }));
    }
    let dtype = match dtype {
        Some(dtype) => dtype,
        None => common_dtype(distribution, parameters)?,
    };
    check_dtype(distribution, dtype)?;
    let tensors = || parameters.iter().filter_map(Parameter::tensor);
    let shape = match sizes {
        Some(sizes) => Shape::new(op, sizes)?,
        None => {
            let shapes: SmallVec<[&Shape; MAX_PARAMETERS]> = tensors().map(Tensor::shape).collect();
            Shape::broadcast(op, &shapes)?
        }
    };
    let mut numbers = [None; MAX_PARAMETERS];
    for ((number, parameter), expected) in numbers.iter_mut().zip(parameters).zip(expected) {
        if let Parameter::Number(value) = *parameter {
            if !(expected.holds)(value) {
                let problem = Problem::OutOfRange {
                    what: expected.name,
                    index: None,
                    value: format!("{value:?}"),
                    accepted: expected.accepted,
                };
                return Err(Error::new(op, problem));
            }
            *number = Some(value);
        }
    }
    if let (Distribution::TruncatedNormal, [_, _, Some(low), Some(high)]) = (distribution, numbers)
        && low > high
    {
        let (low, high) = (format!("{low:?}"), format!("{high:?}"));
        return Err(Error::new(op, Problem::EmptyInterval { low, high }));
    }
    let mut given: SmallVec<[Tensor; MAX_PARAMETERS]> = SmallVec::new();
    for tensor in tensors() {
        let tensor = &tensor.follow(backend.into())?;
        if tensor.backend().id() != backend.id() {
            let [lhs, rhs] = [backend, tensor.backend()].map(|backend| backend.id().to_string());
            return Err(Error::new(op, Problem::DevicesDiffer { lhs, rhs }));
        }
        given.push(real(op, tensor, &shape)?);
    }
    let given: SmallVec<[&Tensor; MAX_PARAMETERS]> = given.iter().collect();
    let place = Place::take(generator, shape.count());
    let task = Sampling::Distribution {
        distribution,
        parameters: numbers,
        stream: place.stream,
    };
    draw_by_task(backend, op, place, task, &given, dtype, shape)
}

/// Parameters with other tensors in the places of theirs.
fn together<'a>(
    parameters: &[Parameter<'a>],
    moved: &'a [Tensor],
) -> SmallVec<[Parameter<'a>; MAX_PARAMETERS]> {
    let mut moved = moved.iter();
    let beside = |parameter: &Parameter<'a>| match parameter {
        Parameter::Tensor(tensor) => Parameter::Tensor(moved.next().unwrap_or(tensor)),
        number => *number,
    };
    parameters.iter().map(beside).collect()
}

/// A float dtype as it is, the default one for anything else.
fn float_of(dtype: DType) -> DType {
    if dtype.is_floating_point() {
        dtype
    } else {
        default_dtype()
    }
}

/// The dtype of numbers that none was asked for.
fn common_dtype(distribution: Distribution, parameters: &[Parameter<'_>]) -> Result<DType, Error> {
    let mut dtypes = parameters
        .iter()
        .filter_map(Parameter::tensor)
        .map(Tensor::dtype);
    let Some(first) = dtypes.next() else {
        return Ok(match distribution.is_integer() {
            true => DType::I64,
            false => default_dtype(),
        });
    };
    let common = dtypes.try_fold(first, |common, dtype| {
        promotion().promote_types(distribution.name(), common, dtype)
    })?;
    let is_kept = distribution.is_integer() && common.is_integer() || common.is_complex();
    Ok(if is_kept { common } else { float_of(common) })
}

/// Refuses a dtype that does not hold the numbers of a distribution.
fn check_dtype(distribution: Distribution, dtype: DType) -> Result<(), Error> {
    let is_held = dtype.is_floating_point() || distribution.is_integer() && dtype.is_integer();
    if is_held {
        return Ok(());
    }
    let set = match distribution.is_integer() && dtype != DType::Bool {
        true => Set::Real,
        false if distribution.is_integer() => Set::Number,
        false => Set::Float,
    };
    Err(Error::not_in_set(distribution.name(), dtype, set, None))
}
