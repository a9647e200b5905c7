//! Which dtype several operands have in common, and questions about dtypes.

use allotrope_dtype::{Casting, Error, Kind, Numeric, Operand, Policy, Set};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use crate::arguments::{DTypeLike, DTypeOf};
use crate::convert;
use crate::dtype::{PyDType, wrap};
use crate::error::raise;
use crate::scopes::{default_dtype, promotion};

/// The kinds of the array API standard's `isdtype`.
const KINDS: [(&str, Set); 7] = [
    (Kind::Bool.name(), Set::Bool),
    (Kind::Signed.name(), Set::Signed),
    (Kind::Unsigned.name(), Set::Unsigned),
    ("integral", Set::Integer),
    (Kind::Float.name(), Set::Float),
    (Kind::Complex.name(), Set::Complex),
    ("numeric", Set::Number),
];

/// The policy with this name, or the one in force.
pub(crate) fn policy_or_current(op: &'static str, name: Option<&str>) -> PyResult<Policy> {
    match name {
        Some(name) => parse_policy(op, name),
        None => Ok(promotion()),
    }
}

/// The policy with this name.
pub(crate) fn parse_policy(op: &'static str, name: &str) -> PyResult<Policy> {
    name.parse().map_err(|error: Error| raise(error.in_op(op)))
}

/// The names of the promotion policies.
///
/// >>> al.policies()
/// ['standard', 'strict', 'exact', 'torch', 'numpy', 'jax']
#[pyfunction]
pub(crate) fn policies() -> [&'static str; Policy::ALL.len()] {
    Policy::ALL.map(Policy::name)
}

/// The common dtype of two under the policy in force.
///
/// >>> al.promote_types("int8", "uint8")
/// allotrope.int16
#[pyfunction]
pub(crate) fn promote_types(
    py: Python<'_>,
    type1: DTypeLike,
    type2: DTypeLike,
) -> PyResult<Py<PyDType>> {
    const OP: &str = "promote_types";
    let (lhs, rhs) = (convert::to_dtype(OP, type1)?, convert::to_dtype(OP, type2)?);
    wrap(py, promotion().promote_types(OP, lhs, rhs).map_err(raise)?)
}

/// The dtype of an operation on any number of arrays, dtypes and scalars, in any order.
///
/// Python numbers are weak: they take the dtype of the others if their kind fits.
///
/// >>> al.result_type("int8", 3)
/// allotrope.int8
/// >>> al.result_type("int8", 3.0)
/// allotrope.float32
#[pyfunction]
#[pyo3(signature = (*operands))]
pub(crate) fn result_type(py: Python<'_>, operands: &Bound<'_, PyTuple>) -> PyResult<Py<PyDType>> {
    const OP: &str = "result_type";
    let operands = operands
        .iter()
        .map(|object| convert::to_operand(OP, &object));
    let operands = operands.collect::<PyResult<Vec<Operand>>>()?;
    wrap(
        py,
        promotion()
            .result_type(OP, &operands, default_dtype())
            .map_err(raise)?,
    )
}

/// Whether a cast is allowed: "exact" loses no value, "same_kind" goes to the same or a higher
/// kind, "any" is every cast that is not an error.
///
/// >>> al.can_cast("float64", "float32"), al.can_cast("float64", "float32", "exact")
/// (True, False)
#[pyfunction]
#[pyo3(signature = (from_, to, casting="same_kind"))]
pub(crate) fn can_cast(from_: DTypeOf, to: DTypeLike, casting: &str) -> PyResult<bool> {
    const OP: &str = "can_cast";
    let (from, to) = (convert::to_dtype_of(OP, from_)?, convert::to_dtype(OP, to)?);
    let casting: Casting = casting.parse().map_err(raise)?;
    Ok(allotrope_dtype::can_cast(from, to, casting))
}

/// Whether a dtype is of a kind: one of the array API standard's words ('bool', 'signed integer',
/// 'unsigned integer', 'integral', 'real floating', 'complex floating', 'numeric'), a dtype, a
/// family, or a tuple of these.
///
/// >>> al.isdtype(al.float32, ("integral", al.Float))
/// True
#[pyfunction]
pub(crate) fn isdtype(dtype: DTypeLike, kind: &Bound<'_, PyAny>) -> PyResult<bool> {
    let dtype = convert::to_dtype("isdtype", dtype)?;
    let is_of = |kind: &Bound<'_, PyAny>| -> PyResult<bool> {
        Ok(match to_kind(kind)? {
            KindOrDType::Set(set) => set.contains(dtype),
            KindOrDType::Numeric(Numeric::Exact(other)) => dtype == other,
            KindOrDType::Numeric(Numeric::Family(family)) => family.contains(dtype),
        })
    };
    match kind.cast::<PyTuple>() {
        // Every member is read, so that a misspelt one is an error wherever it stands.
        Ok(kinds) => kinds
            .iter()
            .try_fold(false, |found, kind| Ok(is_of(&kind)? || found)),
        Err(_) => is_of(kind),
    }
}

enum KindOrDType {
    Set(Set),
    Numeric(Numeric),
}

fn to_kind(kind: &Bound<'_, PyAny>) -> PyResult<KindOrDType> {
    let Ok(name) = kind.cast::<PyString>() else {
        return convert::to_numeric("isdtype", kind).map(KindOrDType::Numeric);
    };
    let name = name.to_string_lossy();
    if let Some((_, set)) = KINDS.iter().find(|(kind, _)| *kind == name) {
        return Ok(KindOrDType::Set(*set));
    }
    convert::parse("isdtype", &name)
        .map(KindOrDType::Numeric)
        .map_err(|_| {
            raise(Error::unknown_option(
                "isdtype",
                "kind",
                &name,
                &KINDS.map(|(kind, _)| kind),
            ))
        })
}

/// One sentence that says what two dtypes promote to, and by which rule.
///
/// >>> al.explain_promotion("int8", "uint8")
/// 'int8 with uint8 is int16: the narrowest signed integer that holds both.'
#[pyfunction]
#[pyo3(signature = (a, b, policy=None))]
pub(crate) fn explain_promotion(
    a: DTypeLike,
    b: DTypeLike,
    policy: Option<&str>,
) -> PyResult<String> {
    const OP: &str = "explain_promotion";
    let (lhs, rhs) = (convert::to_dtype(OP, a)?, convert::to_dtype(OP, b)?);
    Ok(allotrope_dtype::explain_promotion(
        policy_or_current(OP, policy)?,
        lhs,
        rhs,
    ))
}
