//! Random tensors of any [`Law`], and Dirichlet's.

use crate::host::memory::try_resize;
use std::ops::Range;

use allotrope_cpu::kernel::random::{self, Law, Numbers};
use allotrope_dtype::{
    CastOptions, DType, Error, Level, Problem, Set, cast_bytes, default_dtype, promotion,
};
use allotrope_op::Shape;

use super::parameters::{Reals, Room};
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
        let room = Room::new(op, &shape, dtype)?;
        let mut values = Vec::with_capacity(parameters.len());
        for (parameter, expected) in parameters.iter().zip(expected) {
            let refuse = |index, value: f64| {
                let problem = Problem::OutOfRange {
                    what: expected.name,
                    index,
                    value: format!("{value:?}"),
                    accepted: expected.accepted,
                };
                Error::new(op, problem)
            };
            values.push(match parameter {
                Parameter::Number(number) if !(expected.holds)(*number) => {
                    return Err(refuse(None, *number));
                }
                Parameter::Number(number) => Values::All(*number),
                Parameter::Tensor(tensor) => {
                    let each = Reals::new(op, tensor, &shape)?;
                    each.check(expected.holds, |index, value| refuse(Some(index), value))?;
                    Values::Each(each)
                }
            });
        }
        // bounded: one per parameter.
        let mut rooms = vec![Vec::new(); values.len()];
        if let (Law::TruncatedNormal, [_, _, low, high]) = (law, &values[..]) {
            check_bounds(op, low, high)?;
        }
        let level = Level::current();
        if shapes.is_empty() {
            return room.draw(generator, |stream, target| {
                let numbers = numbers_at(&values, &(0..shape.count()), &mut rooms)?;
                random::sample(level, stream, law, &numbers, dtype, target);
                Ok(())
            });
        }
        room.draw_pieces(generator, 1, &mut |stream, range, target| {
            let numbers = numbers_at(&values, &range, &mut rooms)?;
            random::sample(level, stream, law, &numbers, dtype, target);
            Ok(())
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
        let shapes = Reals::new(op, self, self.shape())?;
        let (dtype, level) = (float_of(self.dtype()), Level::current());
        let room = Room::new(op, self.shape(), dtype)?;
        let is_positive = |x: f64| x > 0.0 && x.is_finite();
        shapes.check(is_positive, |index, value| {
            let problem = Problem::OutOfRange {
                what: "concentration",
                index: Some(index),
                value: format!("{value:?}"),
                accepted: "numbers above 0",
            };
            Error::new(op, problem)
        })?;
        let (mut given, mut drawn) = (Vec::new(), Vec::new());
        let shares = room.draw_pieces(generator, size, &mut |stream, range, target| {
            let count = range.len();
            let shapes = shapes.read(range, &mut given)?;
            if dtype == DType::F64 {
                let target = bytemuck::cast_slice_mut(target);
                random::dirichlet(level, stream, shapes, size, target);
                return Ok(());
            }
            drawn.clear();
            try_resize(op, &mut drawn, count, 0.0)?;
            random::dirichlet(level, stream, shapes, size, &mut drawn);
            let (from, drawn) = (DType::F64, bytemuck::cast_slice(&drawn));
            cast_bytes(from, drawn, dtype, target, CastOptions::default())
        })?;
        shares.beside(self)
    }
}

/// The values of a parameter.
enum Values {
    All(f64),
    Each(Reals),
}

/// Parameters as those of some elements.
fn numbers_at<'a>(
    values: &'a [Values],
    range: &Range<usize>,
    rooms: &'a mut [Vec<f64>],
) -> Result<Vec<Numbers<'a>>, Error> {
    let each = values.iter().zip(rooms).map(|(values, room)| {
        Ok(match values {
            Values::All(number) => Numbers::All(*number),
            Values::Each(each) => Numbers::Each(each.read(range.clone(), room)?),
        })
    });
    each.collect()
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

fn check_bounds(op: &'static str, low: &Values, high: &Values) -> Result<(), Error> {
    let refuse = |low: f64, high: f64| {
        let (low, high) = (format!("{low:?}"), format!("{high:?}"));
        Err(Error::new(op, Problem::EmptyInterval { low, high }))
    };
    let mut room = Vec::new();
    match (low, high) {
        (Values::All(low), Values::All(high)) if low > high => refuse(*low, *high),
        (Values::All(_), Values::All(_)) => Ok(()),
        (Values::All(low), Values::Each(high)) => high.for_each_piece(&mut |_, high| {
            let found = high.iter().find(|high| low > *high);
            found.map_or(Ok(()), |high| refuse(*low, *high))
        }),
        (Values::Each(low), high) => low.for_each_piece(&mut |start, low| {
            let high = match high {
                Values::All(high) => Numbers::All(*high),
                Values::Each(high) => {
                    Numbers::Each(high.read(start..start + low.len(), &mut room)?)
                }
            };
            let high_at = |i: usize| match high {
                Numbers::All(high) => high,
                Numbers::Each(high) => high[i],
            };
            let found = (0..low.len()).find(|i| low[*i] > high_at(*i));
            found.map_or(Ok(()), |i| refuse(low[i], high_at(i)))
        }),
    }
}

pub(crate) fn last_size(op: &'static str, tensor: &Tensor) -> Result<usize, Error> {
    let problem = Problem::AxisOutOfRange { axis: -1, rank: 0 };
    let size = tensor.shape().last().copied();
    size.ok_or_else(|| Error::new(op, problem))
}
