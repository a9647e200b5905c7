//! Which operations work on which dtypes, from the rows.

use allotrope_dtype::DType;

use crate::structured::Structured;
use crate::table::{Cell, Op, Reduction, Signature};

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
        (Some(reduction), _) => reduction.result(dtype),
        (None, Some(row)) => row.result(dtype),
        (None, None) => return None,
    };
    Some(match result {
        Err(_) => Support::Undefined,
        Ok(result) if result.kind().rung() > dtype.kind().rung() => Support::Promotes,
        Ok(_) => Support::Computes,
    })
}
