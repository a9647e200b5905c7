//! Random tensors of any [`Law`], Dirichlet's, and indices drawn by weights.

use allotrope_cpu::Buffer;
use allotrope_cpu::kernel::random::{self, Law, Numbers};
use allotrope_dtype::{DType, Error, Level, Problem, Set, default_dtype, promotion};
use allotrope_op::Shape;

use crate::create::{cast_numbers, room};
use crate::random::draw;
use crate::{Generator, Tensor};

/// A parameter of a distribution: the same for every element, or one for each.
#[derive(Clone, Copy, Debug)]
pub enum Parameter<'a> {
    /// A number.
    Number(f64),
    /// Real numbers, which are broadcast.
    Tensor(&'a Tensor),
}

impl From<f64> for Parameter<'_> {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl<'a> From<&'a Tensor> for Parameter<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        Self::Tensor(tensor)
    }
}

impl Tensor {
    /// Numbers of a distribution, drawn in float64 and rounded to the dtype once.
    ///
    /// Parameters are those of [`Law::parameters`], in that order; tensors are broadcast, to `sizes`
    /// if there are any. Without a dtype it is the common one of the tensors, or else the default; of
    /// distributions of integers int64. Integers beyond the dtype saturate, as in casts.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::{Generator, Law, Tensor};
    /// let rates = Tensor::from_slice(&[0.0_f32, 1e6], &[2])?;
    /// let seeded = Generator::new(0);
    /// let x = Tensor::sample(Law::Poisson, &[(&rates).into()], None, Some(DType::I32), Some(&seeded))?;
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
        law: Law,
        parameters: &[Parameter<'_>],
        sizes: Option<&[usize]>,
        dtype: Option<DType>,
        generator: Option<&Generator>,
    ) -> Result<Self, Error> {
        let op = law.name();
        let expected = law.parameters();
        if parameters.len() != expected.len() {
            let (from, to) = (parameters.len(), expected.len());
            return Err(Error::new(op, Problem::LengthMismatch { from, to }));
        }
        let dtype = match dtype {
            Some(dtype) => dtype,
            None => common_dtype(law, parameters)?,
        };
        check_dtype(law, dtype)?;
        let shapes: Vec<&Shape> = parameters.iter().filter_map(shape_of).collect();
        let shape = match sizes {
            Some(sizes) => Shape::new(op, sizes)?,
            None => Shape::broadcast(op, &shapes)?,
        };
        let mut values = Vec::with_capacity(parameters.len());
        for (parameter, expected) in parameters.iter().zip(expected) {
            let each = match parameter {
                Parameter::Number(number) => Values::All(*number),
                Parameter::Tensor(tensor) => Values::Each(spread(op, tensor, &shape)?),
            };
            let (numbers, is_single) = match &each {
                Values::All(number) => (std::slice::from_ref(number), true),
                Values::Each(numbers) => (&numbers[..], false),
            };
            if let Some(index) = numbers.iter().position(|number| !(expected.holds)(*number)) {
                let problem = Problem::OutOfRange {
                    what: expected.name,
                    index: (!is_single).then_some(index),
                    value: format!("{:?}", numbers[index]),
                    accepted: expected.accepted,
                };
                return Err(Error::new(op, problem));
            }
            values.push(each);
        }
        if let (Law::TruncatedNormal, [_, _, low, high]) = (law, &values[..]) {
            check_bounds(op, low, high, shape.count())?;
        }
        let numbers: Vec<Numbers<'_>> = values.iter().map(Values::as_numbers).collect();
        draw(op, &shape, dtype, generator, |stream, target| {
            random::sample(Level::current(), stream, law, &numbers, dtype, target);
        })
    }

    /// Numbers of a distribution in the shape and dtype of this tensor: what `exponential_` and its
    /// kin give it.
    ///
    /// # Errors
    /// As [`Tensor::sample`].
    pub fn sample_like(
        &self,
        law: Law,
        parameters: &[Parameter<'_>],
        generator: Option<&Generator>,
    ) -> Result<Self, Error> {
        let (shape, dtype) = (self.shape(), self.dtype());
        Self::sample(law, parameters, Some(shape), Some(dtype), generator)?.beside(self)
    }

    /// Shares that sum up to one along the last dimension, by Dirichlet's distribution of these
    /// concentrations. Integers and bool give the default dtype.
    ///
    /// # Errors
    /// A dtype error for complex numbers, an index error without dimensions, a value error for
    /// concentrations that are not positive; a memory error.
    pub fn dirichlet(&self, generator: Option<&Generator>) -> Result<Self, Error> {
        let op = "dirichlet";
        let size = last_size(op, self)?;
        let shapes = real_numbers(op, self)?;
        let is_positive = |x: &f64| *x > 0.0 && x.is_finite();
        if let Some(index) = shapes.iter().position(|x| !is_positive(x)) {
            let problem = Problem::OutOfRange {
                what: "concentration",
                index: Some(index),
                value: format!("{:?}", shapes[index]),
                accepted: "numbers above 0",
            };
            return Err(Error::new(op, problem));
        }
        let dtype = float_of(self.dtype());
        let drawn = draw(op, self.shape(), DType::F64, generator, |stream, target| {
            let target = bytemuck::cast_slice_mut(target);
            random::dirichlet(Level::current(), stream, &shapes, size, target);
        })?;
        let drawn = drawn.to(dtype).map_err(|error| error.in_op(op))?;
        drawn.beside(self)
    }

    /// Indices into the last dimension, drawn by the weights that stand there, which need not sum up
    /// to one: int64, `count` of them in its place. Without replacement no index is drawn twice, and
    /// they are in the order of the draws.
    ///
    /// ```
    /// use allotrope_tensor::{Generator, Tensor};
    /// let weights = Tensor::from_slice(&[0.0_f32, 1.0, 0.0, 2.0], &[2, 2])?;
    /// let x = weights.multinomial(3, true, Some(&Generator::new(0)))?;
    /// assert_eq!(x.to_vec::<i64>()?, [1; 6]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error for complex weights, an index error without dimensions, a value error for
    /// weights that are negative, infinite or NaN, and for more indices than there are positive
    /// weights; a memory error.
    pub fn multinomial(
        &self,
        count: usize,
        replacement: bool,
        generator: Option<&Generator>,
    ) -> Result<Self, Error> {
        let op = "multinomial";
        let size = last_size(op, self)?;
        let mut weights = real_numbers(op, self)?;
        check_weights(op, &weights, size, count, replacement)?;
        let mut sizes = self.shape().to_vec();
        if let Some(last) = sizes.last_mut() {
            *last = count;
        }
        let (shape, bytes) = room(op, &sizes, DType::I64)?;
        let mut indices = Buffer::for_overwrite(op, bytes)?;
        let generator = generator.unwrap_or_else(|| Generator::of_process());
        if shape.count() > 0 {
            let level = Level::current();
            let target = indices.elements_mut();
            if replacement {
                let stream = generator.take(shape.count());
                random::choose(level, stream, &mut weights, size, target, count);
            } else {
                let stream = generator.take(weights.len());
                random::choose_different(level, stream, &mut weights, size, target, count);
            }
        }
        let drawn = cast_numbers(op, indices, DType::I64, shape.count(), DType::I64)?;
        let sizes: Vec<isize> = sizes.into_iter().map(|size| size as isize).collect();
        drawn.reshape(&sizes)
    }
}

/// The values of a parameter, which are its own.
enum Values {
    All(f64),
    Each(Vec<f64>),
}

impl Values {
    fn as_numbers(&self) -> Numbers<'_> {
        match self {
            Self::All(number) => Numbers::All(*number),
            Self::Each(numbers) => Numbers::Each(numbers),
        }
    }

    fn at(&self, index: usize) -> f64 {
        match self {
            Self::All(number) => *number,
            Self::Each(numbers) => numbers[index],
        }
    }
}

fn shape_of<'a>(parameter: &Parameter<'a>) -> Option<&'a Shape> {
    match parameter {
        Parameter::Number(_) => None,
        Parameter::Tensor(tensor) => Some(tensor.shape()),
    }
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
fn common_dtype(law: Law, parameters: &[Parameter<'_>]) -> Result<DType, Error> {
    let mut tensors = parameters.iter().filter_map(|parameter| match parameter {
        Parameter::Number(_) => None,
        Parameter::Tensor(tensor) => Some(tensor.dtype()),
    });
    let Some(first) = tensors.next() else {
        return Ok(match law.is_integer() {
            true => DType::I64,
            false => default_dtype(),
        });
    };
    let common = tensors.try_fold(first, |common, dtype| {
        promotion().promote_types(law.name(), common, dtype)
    })?;
    let is_kept = law.is_integer() && common.is_integer() || common.is_complex();
    Ok(if is_kept { common } else { float_of(common) })
}

/// Refuses a dtype that does not hold the numbers of a law.
fn check_dtype(law: Law, dtype: DType) -> Result<(), Error> {
    let is_held = dtype.is_floating_point() || law.is_integer() && dtype.is_integer();
    if is_held {
        return Ok(());
    }
    let set = match law.is_integer() && dtype != DType::Bool {
        true => Set::Real,
        false if law.is_integer() => Set::Number,
        false => Set::Float,
    };
    Err(Error::not_in_set(law.name(), dtype, set, None))
}

fn check_bounds(op: &'static str, low: &Values, high: &Values, count: usize) -> Result<(), Error> {
    let count = match (low, high) {
        (Values::All(_), Values::All(_)) => 1,
        _ => count,
    };
    match (0..count).find(|i| low.at(*i) > high.at(*i)) {
        Some(i) => {
            let (low, high) = (format!("{:?}", low.at(i)), format!("{:?}", high.at(i)));
            Err(Error::new(op, Problem::EmptyInterval { low, high }))
        }
        None => Ok(()),
    }
}

/// Real elements as float64 in a shape that they broadcast to.
fn spread(op: &'static str, tensor: &Tensor, shape: &Shape) -> Result<Vec<f64>, Error> {
    if !Set::Real.contains(tensor.dtype()) {
        return Err(Error::not_in_set(op, tensor.dtype(), Set::Real, None));
    }
    let numbers = tensor
        .to(DType::F64)
        .and_then(|tensor| tensor.expand(shape))
        .and_then(|tensor| tensor.to_vec::<f64>());
    numbers.map_err(|error| error.in_op(op))
}

fn real_numbers(op: &'static str, tensor: &Tensor) -> Result<Vec<f64>, Error> {
    spread(op, tensor, tensor.shape())
}

fn last_size(op: &'static str, tensor: &Tensor) -> Result<usize, Error> {
    let problem = Problem::AxisOutOfRange { axis: -1, rank: 0 };
    let size = tensor.shape().last().copied();
    size.ok_or_else(|| Error::new(op, problem))
}

/// Refuses weights that are none, and rows that have too few.
fn check_weights(
    op: &'static str,
    weights: &[f64],
    size: usize,
    count: usize,
    replacement: bool,
) -> Result<(), Error> {
    let refuse = |what, index, value: String, accepted| {
        let index = Some(index);
        let problem = Problem::OutOfRange {
            what,
            index,
            value,
            accepted,
        };
        Err(Error::new(op, problem))
    };
    let is_weight = |x: &f64| *x >= 0.0 && x.is_finite();
    if let Some(index) = weights.iter().position(|x| !is_weight(x)) {
        let value = format!("{:?}", weights[index]);
        return refuse("weight", index, value, "finite numbers from 0 on");
    }
    if count == 0 {
        return Ok(());
    }
    for (index, row) in weights.chunks(size.max(1)).enumerate() {
        let sum: f64 = row.iter().sum();
        if !sum.is_finite() {
            return refuse("sum of weights", index, format!("{sum:?}"), "finite sums");
        }
        let positive = row.iter().filter(|weight| **weight > 0.0).count();
        let most = if replacement {
            positive.min(1) * count
        } else {
            positive
        };
        if count > most {
            let accepted = if replacement {
                "rows with a positive weight"
            } else {
                "as many as a row has positive weights"
            };
            return refuse("number of samples", index, count.to_string(), accepted);
        }
    }
    // A dimension of size zero has rows too, but no weights.
    if size == 0 {
        return refuse("number of samples", 0, count.to_string(), "0 of no weights");
    }
    Ok(())
}
