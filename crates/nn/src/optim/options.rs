//! Hyper-parameters by name: a struct in Rust, an entry of a group in Python. They are float64 whatever
//! the parameters are: 0.999 is 1 in bfloat16.

use allotrope_tensor::{Error, Problem};

/// A hyper-parameter as a group holds it.
#[derive(Clone, Debug, PartialEq)]
pub enum OptionValue {
    /// Nothing.
    None,
    /// A switch.
    Bool(bool),
    /// A number.
    Number(f64),
    /// A name.
    Text(String),
    /// Several.
    List(Vec<OptionValue>),
}

/// A type that hyper-parameters have.
pub trait OptionKind: Sized {
    /// What is accepted, in words.
    const ACCEPTED: &'static str;
    /// The value as a group holds it.
    fn to_value(&self) -> OptionValue;
    /// The value that a group holds; nothing for one of another type.
    fn from_value(value: &OptionValue) -> Option<Self>;
}

impl OptionKind for f64 {
    const ACCEPTED: &'static str = "numbers";
    fn to_value(&self) -> OptionValue {
        OptionValue::Number(*self)
    }
    fn from_value(value: &OptionValue) -> Option<Self> {
        match value {
            OptionValue::Number(number) => Some(*number),
            OptionValue::Bool(truth) => Some(f64::from(u8::from(*truth))),
            _ => None,
        }
    }
}

impl OptionKind for usize {
    const ACCEPTED: &'static str = "whole numbers from 0";
    fn to_value(&self) -> OptionValue {
        OptionValue::Number(*self as f64)
    }
    fn from_value(value: &OptionValue) -> Option<Self> {
        match value {
            OptionValue::Number(number) if *number >= 0.0 && number.fract() == 0.0 => {
                Some(*number as usize)
            }
            _ => None,
        }
    }
}

impl OptionKind for bool {
    const ACCEPTED: &'static str = "True and False";
    fn to_value(&self) -> OptionValue {
        OptionValue::Bool(*self)
    }
    fn from_value(value: &OptionValue) -> Option<Self> {
        match value {
            OptionValue::Bool(truth) => Some(*truth),
            OptionValue::Number(number) => Some(*number != 0.0),
            OptionValue::None => Some(false),
            _ => None,
        }
    }
}

impl<T: OptionKind> OptionKind for Option<T> {
    const ACCEPTED: &'static str = T::ACCEPTED;
    fn to_value(&self) -> OptionValue {
        self.as_ref().map_or(OptionValue::None, T::to_value)
    }
    fn from_value(value: &OptionValue) -> Option<Self> {
        match value {
            OptionValue::None => Some(None),
            value => T::from_value(value).map(Some),
        }
    }
}

impl<T: OptionKind> OptionKind for Vec<T> {
    const ACCEPTED: &'static str = "lists of numbers";
    fn to_value(&self) -> OptionValue {
        OptionValue::List(self.iter().map(T::to_value).collect())
    }
    fn from_value(value: &OptionValue) -> Option<Self> {
        match value {
            OptionValue::List(list) => list.iter().map(T::from_value).collect(),
            _ => None,
        }
    }
}

impl<A: OptionKind, B: OptionKind> OptionKind for (A, B) {
    const ACCEPTED: &'static str = "pairs of numbers";
    fn to_value(&self) -> OptionValue {
        OptionValue::List(vec![self.0.to_value(), self.1.to_value()])
    }
    fn from_value(value: &OptionValue) -> Option<Self> {
        match value {
            OptionValue::List(list) => match &list[..] {
                [a, b] => Some((A::from_value(a)?, B::from_value(b)?)),
                _ => None,
            },
            _ => None,
        }
    }
}

impl<A: OptionKind, B: OptionKind, C: OptionKind> OptionKind for (A, B, C) {
    const ACCEPTED: &'static str = "three numbers";
    fn to_value(&self) -> OptionValue {
        OptionValue::List(vec![
            self.0.to_value(),
            self.1.to_value(),
            self.2.to_value(),
        ])
    }
    fn from_value(value: &OptionValue) -> Option<Self> {
        match value {
            OptionValue::List(list) => match &list[..] {
                [a, b, c] => Some((A::from_value(a)?, B::from_value(b)?, C::from_value(c)?)),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Hyper-parameters that can be asked for and set by name.
pub trait Options {
    /// All of them, in the order of the arguments.
    fn values(&self) -> Vec<(&'static str, OptionValue)>;

    /// Sets one; whether there is one of this name.
    ///
    /// # Errors
    /// A value error for a value of another type.
    fn set(&mut self, name: &str, value: &OptionValue) -> Result<bool, Error>;
}

/// The value of one hyper-parameter.
pub(crate) fn read<T: OptionKind>(what: &'static str, value: &OptionValue) -> Result<T, Error> {
    T::from_value(value).ok_or_else(|| {
        let value = format!("{value:?}");
        let (index, accepted) = (None, T::ACCEPTED);
        Error::new(
            "optimizer",
            Problem::OutOfRange {
                what,
                index,
                value,
                accepted,
            },
        )
    })
}

/// Refuses a hyper-parameter outside of its range.
pub(crate) fn ensure(
    op: &'static str,
    is_accepted: bool,
    what: &'static str,
    value: f64,
    accepted: &'static str,
) -> Result<(), Error> {
    if is_accepted {
        return Ok(());
    }
    let (index, value) = (None, value.to_string());
    Err(Error::new(
        op,
        Problem::OutOfRange {
            what,
            index,
            value,
            accepted,
        },
    ))
}

/// Refuses a negative number, and NaN.
pub(crate) fn not_negative(op: &'static str, what: &'static str, value: f64) -> Result<(), Error> {
    ensure(op, value >= 0.0, what, value, "numbers from 0 on")
}

/// Refuses what is no rate of decay.
pub(crate) fn below_one(op: &'static str, what: &'static str, value: f64) -> Result<(), Error> {
    let is_accepted = (0.0..1.0).contains(&value);
    ensure(op, is_accepted, what, value, "numbers from 0 to below 1")
}

/// Declares hyper-parameters with their defaults: a struct, and its fields by name.
macro_rules! options {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $kind:ty = $default:expr,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $kind,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl $crate::optim::Options for $name {
            fn values(&self) -> Vec<(&'static str, $crate::optim::OptionValue)> {
                vec![$((stringify!($field), $crate::optim::OptionKind::to_value(&self.$field)),)*]
            }

            fn set(
                &mut self,
                name: &str,
                value: &$crate::optim::OptionValue,
            ) -> Result<bool, $crate::Error> {
                match name {
                    $(stringify!($field) => {
                        self.$field = $crate::optim::options::read(stringify!($field), value)?;
                    })*
                    _ => return Ok(false),
                }
                Ok(true)
            }
        }
    };
}
pub(crate) use options;
