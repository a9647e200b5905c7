//! What a file holds.

use allotrope_tensor::Tensor;

/// A tensor, a container of values, or a number, text or nothing beside them.
#[derive(Clone, Debug)]
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

/// Containers within containers that are saved and loaded.
pub(crate) const DEEPEST: usize = 64;
/// Dimensions of a tensor that are saved and loaded; NumPy's limit.
pub(crate) const MOST_DIMENSIONS: usize = 64;
