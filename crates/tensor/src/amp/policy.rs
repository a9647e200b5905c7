//! What autocast does with each operation, from the tables.

use allotrope_op::{Autocast, Op, Reduction, Structured};

/// What autocast does with an operation by its name; `None` for an unknown name.
///
/// ```
/// use allotrope_op::Autocast;
/// use allotrope_tensor::autocast_policy;
/// assert_eq!(autocast_policy("matmul"), Some(Autocast::Lower));
/// assert_eq!(autocast_policy("exp"), Some(Autocast::Float32));
/// ```
#[must_use]
pub fn autocast_policy(name: &str) -> Option<Autocast> {
    if let Some(op) = Op::from_name(name) {
        return Some(op.row().autocast);
    }
    let reduction = Reduction::ALL.iter().find(|row| row.name() == name);
    let of_reduction = reduction.map(|reduction| reduction.autocast());
    of_reduction.or_else(|| Structured::from_name(name).map(|row| row.autocast))
}

/// Every operation with what autocast does, elementwise ones first.
///
/// ```
/// use allotrope_tensor::autocast_policies;
/// assert!(autocast_policies().any(|(name, _)| name == "exp"));
/// ```
pub fn autocast_policies() -> impl Iterator<Item = (&'static str, Autocast)> {
    let rows = Op::ALL.iter().map(|op| (op.name(), op.row().autocast));
    let reductions = Reduction::ALL
        .iter()
        .map(|row| (row.name(), row.autocast()));
    let structured = Structured::all().map(|row| (row.name, row.autocast));
    rows.chain(reductions).chain(structured)
}
