//! What a file holds.

use std::collections::BTreeMap;

use allotrope_tensor::{Device, Error, Problem, Tensor};

/// A tensor, a container of values, or a number, text or nothing beside them.
///
/// ```
/// use allotrope_io::{Tensor, Value};
/// let weights = Value::from([("w", Tensor::new([1.0, 2.0])?), ("b", Tensor::new([0.5])?)]);
/// assert_eq!(weights.get("b").cloned().map(Tensor::try_from), Some(Tensor::new([0.5])));
/// # Ok::<(), allotrope_io::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A tensor.
    Tensor(Tensor),
    /// Values by keys, in order.
    Dict(Vec<(Key, Value)>),
    /// Values in a row: Python's `list`.
    List(Vec<Value>),
    /// Values in a row: Python's `tuple`.
    Tuple(Vec<Value>),
    /// Python's `None`.
    None,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i128),
    /// A float.
    Float(f64),
    /// A complex number: its parts.
    Complex(f64, f64),
    /// Text.
    Text(String),
}

/// What a value in a [`Value::Dict`] is found by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// Text.
    Text(String),
    /// An integer.
    Int(i128),
}

impl Value {
    /// The same with all of its tensors on a device.
    ///
    /// # Errors
    /// As [`Tensor::to_device`].
    pub fn to_device(self, device: impl Into<Device>) -> Result<Self, Error> {
        let device = device.into();
        let move_all = |values: Vec<Self>| values.into_iter().map(|value| value.to_device(device));
        Ok(match self {
            Self::Tensor(tensor) => Self::Tensor(tensor.to_device(device)?),
            Self::List(values) => Self::List(move_all(values).collect::<Result<_, _>>()?),
            Self::Tuple(values) => Self::Tuple(move_all(values).collect::<Result<_, _>>()?),
            Self::Dict(items) => {
                let moved = items
                    .into_iter()
                    .map(|(key, value)| Ok((key, value.to_device(device)?)));
                Self::Dict(moved.collect::<Result<_, Error>>()?)
            }
            plain => plain,
        })
    }

    /// The value in a dict that is found by text, if there is one.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Self::Dict(items) = self else {
            return None;
        };
        let found = |(name, _): &&(Key, Self)| matches!(name, Key::Text(name) if name == key);
        items.iter().find(found).map(|(_, value)| value)
    }

    /// What kind of value it is, in words.
    const fn described(&self) -> &'static str {
        match self {
            Self::Tensor(_) => "a tensor",
            Self::Dict(_) => "a dict",
            Self::List(_) => "a list",
            Self::Tuple(_) => "a tuple",
            Self::None => "none",
            Self::Bool(_) => "a truth value",
            Self::Int(_) => "an integer",
            Self::Float(_) => "a float",
            Self::Complex(..) => "a complex number",
            Self::Text(_) => "text",
        }
    }
}

impl From<Tensor> for Value {
    fn from(tensor: Tensor) -> Self {
        Self::Tensor(tensor)
    }
}

/// A dict of tensors by names.
impl<N: Into<String>, const COUNT: usize> From<[(N, Tensor); COUNT]> for Value {
    fn from(tensors: [(N, Tensor); COUNT]) -> Self {
        tensors.into_iter().collect()
    }
}

/// A dict of tensors by names.
impl<N: Into<String>> FromIterator<(N, Tensor)> for Value {
    fn from_iter<I: IntoIterator<Item = (N, Tensor)>>(tensors: I) -> Self {
        let item = |(name, tensor): (N, Tensor)| (Key::Text(name.into()), Self::Tensor(tensor));
        Self::Dict(tensors.into_iter().map(item).collect())
    }
}

/// A dict of tensors by names, such as the state dict of a network.
impl From<BTreeMap<String, Tensor>> for Value {
    fn from(tensors: BTreeMap<String, Tensor>) -> Self {
        tensors.into_iter().collect()
    }
}

/// The tensor, if the value is one.
///
/// # Errors
/// A value error for anything else.
impl TryFrom<Value> for Tensor {
    type Error = Error;
    fn try_from(value: Value) -> Result<Self, Error> {
        match value {
            Value::Tensor(tensor) => Ok(tensor),
            other => {
                let problem = Problem::NotATensor {
                    given: other.described(),
                };
                let error = Error::new("load", problem);
                Err(match other {
                    Value::Dict(_) => error.hint("value.get(name)"),
                    _ => error,
                })
            }
        }
    }
}

/// Containers within containers that are saved and loaded.
pub(crate) const DEEPEST: usize = 64;
/// Dimensions of a tensor that are saved and loaded; NumPy's limit.
pub(crate) const MOST_DIMENSIONS: usize = 64;
