//! What draws are given: numbers, or tensors that are broadcast.

use std::ops::RangeInclusive;

use allotrope_dtype::{Error, Problem, Set};
use allotrope_op::Shape;

use crate::Tensor;

/// A parameter of a distribution: the same for every element, or one for each.
#[derive(Clone, Copy, Debug)]
pub enum Parameter<'a> {
    /// A number.
    Number(f64),
    /// Real numbers, which are broadcast.
    Tensor(&'a Tensor),
}

impl<'a> Parameter<'a> {
    /// The tensor, if it is one.
    pub(super) fn tensor(&self) -> Option<&'a Tensor> {
        match self {
            Self::Number(_) => None,
            Self::Tensor(tensor) => Some(tensor),
        }
    }
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

/// Real elements in a shape that they broadcast to.
pub(super) fn real(op: &'static str, tensor: &Tensor, shape: &Shape) -> Result<Tensor, Error> {
    if !Set::Real.contains(tensor.dtype()) {
        return Err(Error::not_in_set(op, tensor.dtype(), Set::Real, None));
    }
    let expanded = tensor.detach().expand(shape);
    expanded.map_err(|error| error.in_op(op))
}

/// The size of the last dimension.
pub(super) fn last_size(op: &'static str, tensor: &Tensor) -> Result<usize, Error> {
    let problem = Problem::AxisOutOfRange { axis: -1, rank: 0 };
    let size = tensor.shape().last().copied();
    size.ok_or_else(|| Error::new(op, problem))
}

/// What an argument may be.
pub(super) struct Limits {
    what: &'static str,
    accepted: &'static str,
    range: RangeInclusive<f64>,
}

pub(super) const PROBABILITY: Limits = Limits {
    what: "probability",
    accepted: "0 to 1",
    range: 0.0..=1.0,
};

pub(super) const DEVIATION: Limits = Limits {
    what: "standard deviation",
    accepted: "0 and above",
    range: 0.0..=f64::INFINITY,
};

impl Limits {
    pub(super) fn check(&self, op: &'static str, value: f64) -> Result<(), Error> {
        if self.range.contains(&value) {
            return Ok(());
        }
        Err(self.refuse(op, value))
    }

    #[cold]
    fn refuse(&self, op: &'static str, value: f64) -> Error {
        let problem = Problem::OutOfRange {
            what: self.what,
            index: None,
            value: format!("{value:?}"),
            accepted: self.accepted,
        };
        Error::new(op, problem)
    }
}
