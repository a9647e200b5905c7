//! Which operations work on which dtypes, from the rows.

use allotrope_dtype::DType;

use crate::structured::Structured;
use crate::table::{Cell, Op, Outcome, Reduction, Signature};

/// What an operation does with a dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Support {
    /// It computes in it, or in its compute type.
    Computes,
    /// It promotes it to another dtype first: the default float, or int64.
    Promotes,
    /// The mathematics has no answer: a dtype error.
    Undefined,
}

impl Support {
    /// One word, for tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Computes => "computes",
            Self::Promotes => "promotes",
            Self::Undefined => "undefined",
        }
    }
}

/// Every operation by name, elementwise ones first.
pub fn supported_names() -> impl Iterator<Item = &'static str> {
    let rows = Op::ALL.iter().map(|op| op.name());
    let reductions = Reduction::ALL.iter().map(|reduction| reduction.name());
    let structured = Structured::all().map(|row| row.name);
    rows.chain(reductions).chain(structured)
}

/// What the operation of a name does with a dtype; `None` for an unknown name.
///
/// ```
/// use allotrope_dtype::DType;
/// use allotrope_op::{Support, support};
/// assert_eq!(support("exp", DType::BF16), Some(Support::Computes));
/// assert_eq!(support("exp", DType::I32), Some(Support::Promotes));
/// assert_eq!(support("bitwise_and", DType::F32), Some(Support::Undefined));
/// ```
#[must_use]
pub fn support(name: &str, dtype: DType) -> Option<Support> {
    if let Some(op) = Op::from_name(name) {
        let row = op.row();
        let cell = match row.signature {
            Signature::Logic | Signature::Select => Cell::Formula,
            _ => row.cell(dtype.kind()),
        };
        return Some(match cell {
            Cell::Formula => Support::Computes,
            Cell::Promote | Cell::Integer => Support::Promotes,
            Cell::Refuse => Support::Undefined,
        });
    }
    let reduction = Reduction::ALL.iter().find(|row| row.name() == name);
    let result = match (reduction, Structured::from_name(name)) {
        (Some(reduction), _) => reduction.result_dtype(dtype),
        (None, Some(row)) => row.result_dtype(dtype),
        (None, None) => return None,
    };
    Some(match result {
        Err(_) => Support::Undefined,
        Ok(result) if result.kind().rung() > dtype.kind().rung() => Support::Promotes,
        Ok(_) => Support::Computes,
    })
}

/// Why the operation of a name has no gradient; `None` if it has one, or for an unknown name.
///
/// ```
/// use allotrope_op::without_gradient;
/// assert_eq!(without_gradient("exp"), None);
/// assert_eq!(without_gradient("argmax"), Some("places and counts do not vary"));
/// ```
#[must_use]
pub fn without_gradient(name: &str) -> Option<&'static str> {
    const TRUTH: &str = "a truth value does not vary";
    if let Some(op) = Op::from_name(name) {
        let row = op.row();
        return match row.signature {
            _ if row.is_differentiable => None,
            Signature::Test | Signature::Compare | Signature::Logic => Some(TRUTH),
            _ if row.float == Cell::Refuse => Some("integers do not vary"),
            _ => Some("a step to a neighbour has no slope"),
        };
    }
    if let Some(reduction) = Reduction::ALL.iter().find(|row| row.name() == name) {
        return match reduction.outcome() {
            Outcome::Index => Some("places and counts do not vary"),
            Outcome::Truth => Some(TRUTH),
            _ => None,
        };
    }
    Structured::from_name(name).and_then(Structured::without_gradient)
}
