//! What functions take and return.

use allotrope_dtype::{DType, Kind};

use super::arena::{self, Node};
use super::expression::Expression;
use super::scalar::{Float, Scalar, Type};
use super::wide::WideIntegers;
use crate::Complex;

/// What a function takes and returns: a scalar, or a complex number as a vector of two.
pub trait Value: Copy {
    /// The type of a component.
    const TYPE: Type;
    /// The number of components: 1 or 2.
    const COMPONENTS: u32;
    /// The argument whose first component is at this position, counted over those of all; moves
    /// the position on to the next.
    fn argument(position: &mut u32) -> Self;
    /// The components.
    fn nodes(self) -> Vec<Node>;
}

// Never inlined, as all that rows record with.
#[inline(never)]
fn listed(nodes: &[Node]) -> Vec<Node> {
    nodes.to_vec()
}

impl<T: Scalar> Value for Expression<T> {
    const TYPE: Type = T::TYPE;
    const COMPONENTS: u32 = 1;

    fn argument(position: &mut u32) -> Self {
        let argument = arena::argument(*position, T::TYPE);
        *position += 1;
        Self::new(argument)
    }

    fn nodes(self) -> Vec<Node> {
        listed(&[self.node()])
    }
}

impl<T: Float> Value for Complex<Expression<T>> {
    const TYPE: Type = T::TYPE;
    const COMPONENTS: u32 = 2;

    fn argument(position: &mut u32) -> Self {
        let (re, im) = (Value::argument(position), Value::argument(position));
        Self { re, im }
    }

    fn nodes(self) -> Vec<Node> {
        listed(&[self.re.node(), self.im.node()])
    }
}

/// The type of an argument or a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueType {
    /// The type of a component.
    pub component: Type,
    /// The number of components: 1 or 2.
    pub components: u32,
}

impl ValueType {
    pub(super) const fn of<V: Value>() -> Self {
        Self {
            component: V::TYPE,
            components: V::COMPONENTS,
        }
    }

    /// What a value of a dtype is held in: integers of 8 and 16 bits in one of 32, a float narrower
    /// than float32 as its code in a `u32`.
    pub const fn of_dtype(dtype: DType) -> Self {
        let is_wide = dtype.to_real().bits() > 32;
        let component = match (dtype.kind(), is_wide) {
            (Kind::Bool, _) => Type::Bool,
            (Kind::Signed, false) => Type::I32,
            (Kind::Signed, true) => Type::I64,
            (Kind::Unsigned, false) => Type::U32,
            (Kind::Unsigned, true) => Type::U64,
            (Kind::Float | Kind::Complex, true) => Type::F64,
            (Kind::Float, false) if dtype.bits() < 32 => Type::U32,
            (Kind::Float | Kind::Complex, false) => Type::F32,
        };
        let components = if dtype.is_complex() { 2 } else { 1 };
        Self {
            component,
            components,
        }
    }

    /// The name in WGSL.
    pub fn name(self) -> String {
        match self.components {
            1 => self.component.name().to_owned(),
            n => format!("vec{n}<{}>", self.component),
        }
    }

    /// The name where integers of 64 bits are had in this way.
    pub fn name_with(self, integers: WideIntegers) -> String {
        match self.components {
            1 => integers.type_name(self.component).to_owned(),
            _ => self.name(),
        }
    }
}

/// The arguments of a function: an array of values, or a tuple of up to four.
pub trait Arguments {
    /// Their types.
    fn types() -> Vec<ValueType>;
    /// All arguments.
    fn arguments() -> Self;
}

impl<V: Value, const N: usize> Arguments for [V; N] {
    fn types() -> Vec<ValueType> {
        vec![ValueType::of::<V>(); N]
    }

    fn arguments() -> Self {
        let mut position = 0;
        std::array::from_fn(|_| V::argument(&mut position))
    }
}

macro_rules! tuple_arguments {
    ($($($V:ident)+;)*) => {$(
        impl<$($V: Value),+> Arguments for ($($V,)+) {
            fn types() -> Vec<ValueType> {
                vec![$(ValueType::of::<$V>()),+]
            }

            fn arguments() -> Self {
                let mut position = 0;
                ($($V::argument(&mut position),)+)
            }
        }
    )*};
}
tuple_arguments! {
    A;
    A B;
    A B C;
    A B C D;
}
