//! What left the range of its dtype: the first such element of a result, as messages tell of it.

use std::fmt;

use allotrope_dtype::{DType, Scalar, WeakScalar};
use smallvec::SmallVec;

use crate::table::Op;

/// Elements of a result that left the range of their dtype: integers beyond it, floats that became
/// infinite or NaN of finite operands.
#[derive(Clone, Debug, PartialEq)]
pub struct Lost {
    /// The first of them, in row-major order.
    pub place: usize,
    /// How many they are.
    pub count: usize,
    /// The dtype that they left.
    pub dtype: DType,
    /// The row that made the first one; nothing for a conversion.
    pub op: Option<Op>,
    /// What it was made of.
    pub operands: SmallVec<[Scalar; 4]>,
    /// What became of it.
    pub result: Scalar,
}

impl Lost {
    /// Whether it became NaN.
    #[must_use]
    pub fn is_nan(&self) -> bool {
        is_nan(self.result)
    }
}

/// Whether a number, or a part of it, is NaN.
#[must_use]
pub fn is_nan(number: Scalar) -> bool {
    match number.value() {
        WeakScalar::Float(value) => value.is_nan(),
        WeakScalar::Complex(value) => value.re.is_nan() || value.im.is_nan(),
        WeakScalar::Bool(_) | WeakScalar::Int(_) => false,
    }
}

/// The sign that stands between two operands.
fn sign(op: Op) -> Option<&'static str> {
    match op {
        Op::Add => Some("+"),
        Op::Sub => Some("-"),
        Op::Mul => Some("*"),
        Op::Div => Some("/"),
        Op::FloorDivide => Some("//"),
        Op::Remainder => Some("%"),
        Op::Pow => Some("**"),
        Op::LeftShift => Some("<<"),
        _ => None,
    }
}

impl fmt::Display for Lost {
    /// The operation on the operands, and what float became of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.op, &self.operands[..]) {
            (None, [value]) => write!(f, "{value} of {}", value.dtype())?,
            (Some(op), [x, y]) if sign(op).is_some() => {
                write!(f, "{x} {} {y}", sign(op).unwrap_or_default())?;
            }
            (op, operands) => {
                let operands: Vec<String> = operands.iter().map(Scalar::to_string).collect();
                let name = op.map_or("to", Op::name);
                write!(f, "{name}({})", operands.join(", "))?;
            }
        }
        match self.dtype.is_integer() {
            true => Ok(()),
            false if self.is_nan() => f.write_str(" is nan"),
            false => write!(f, " is {}", self.result),
        }
    }
}
