//! Arithmetic of floats that means what it says.
//!
//! WGSL lets a compiler treat floats as real numbers without NaN, infinities and signed zeros, and
//! compilers do: Mesa takes `(a + b) - a` for `b`, which undoes every sum that is kept in two
//! values, `a * 0` for 0 and `(a + 2) < 3` for `a < 1`. There is no way to forbid it, so what may be
//! simplified is never written:
//!
//! - A number that has just been rounded passes through integers before it meets the next
//!   operation: [`Operation::Keep`], a minimum with the largest integer but one, which only touches
//!   a NaN. Polynomials need none, since a multiply-add may be a factor of the next.
//! - Sums and products whose value is known but for zeros and NaN are spelled out in comparisons.

use super::arena::{self, Node};
use super::operation::Operation;
use super::scalar::{Float, Literal, Type};

/// Whether algebra may see through the operation from a sum, a comparison.
const fn is_term(op: Operation) -> bool {
    use Operation::*;
    matches!(
        op,
        Add | Subtract | Multiply | Divide | MultiplyAdd | Floor | Ceil | Truncate | Round
    )
}

/// The same from a product.
const fn is_factor(op: Operation) -> bool {
    use Operation::*;
    matches!(op, Add | Subtract | Multiply | Divide | SquareRoot)
}

/// The float, hidden from algebra where it comes from one of these operations, perhaps with another
/// sign.
fn keep(kind: Type, node: Node, is_open: fn(Operation) -> bool) -> Node {
    let mut inner = node;
    while let Some((op, [a, ..])) = arena::operation(inner) {
        match op {
            Operation::Negate | Operation::Absolute => inner = a,
            _ if is_open(op) => return arena::unary(Operation::Keep, kind, node),
            _ => break,
        }
    }
    node
}

/// The float as a term of a sum or a side of a comparison.
pub(super) fn keep_term(kind: Type, node: Node) -> Node {
    keep(kind, node, is_term)
}

/// The value as an operand of the next row of a program, hidden if it is a float that has just been
/// rounded.
pub(super) fn keep_between(node: Node) -> Node {
    use Operation::*;
    let is_rounded = |op| is_term(op) || matches!(op, SquareRoot | Convert);
    match arena::kind(node) {
        Some(kind) if kind.is_float() => keep(kind, node, is_rounded),
        _ => node,
    }
}

fn keep_factor(kind: Type, node: Node) -> Node {
    keep(kind, node, is_factor)
}

/// A constant, rounded once to the width.
pub(super) fn constant(kind: Type, value: f64) -> Node {
    arena::literal(match kind {
        Type::F64 => f64::literal(value),
        _ => f32::literal(value),
    })
}

/// Whether it is a constant zero, and then whether that is negative.
fn zero_sign(kind: Type, node: Node) -> Option<bool> {
    let bits = arena::constant(node)?.bits;
    match bits {
        0 => Some(false),
        _ if bits == sign_bit(kind).bits => Some(true),
        _ => None,
    }
}

fn sign_bit(kind: Type) -> Literal {
    let kind = kind.unsigned();
    let bits = match kind {
        Type::U64 => 1 << 63,
        _ => 1 << 31,
    };
    Literal { kind, bits }
}

fn negate(kind: Type, node: Node) -> Node {
    arena::unary(Operation::Negate, kind, node)
}

fn is_less(a: Node, b: Node) -> Node {
    arena::binary(Operation::Less, Type::Bool, a, b)
}

fn magnitude(kind: Type, node: Node) -> Node {
    keep_term(kind, arena::unary(Operation::Absolute, kind, node))
}

/// Whether it is neither infinite nor NaN.
fn is_finite(kind: Type, node: Node) -> Node {
    is_less(magnitude(kind, node), constant(kind, f64::INFINITY))
}

/// Whether it is neither zero nor NaN.
fn is_nonzero(kind: Type, node: Node) -> Node {
    is_less(constant(kind, 0.0), magnitude(kind, node))
}

/// `yes` where the mask is true, else NaN.
fn or_nan(kind: Type, mask: Node, yes: Node) -> Node {
    let nan = constant(kind, f64::NAN);
    arena::ternary(Operation::Select, kind, mask, yes, nan)
}

/// `x + 0`, which is `x` but for the sign of a zero.
fn plus_zero(kind: Type, node: Node) -> Node {
    let word = kind.unsigned();
    let bits = arena::unary(Operation::Reinterpret, word, node);
    let sign = arena::literal(sign_bit(kind));
    let zero = arena::literal(Literal {
        kind: word,
        bits: 0,
    });
    let is_minus_zero = arena::binary(Operation::Equal, Type::Bool, bits, sign);
    let bits = arena::ternary(Operation::Select, word, is_minus_zero, zero, bits);
    arena::unary(Operation::Reinterpret, kind, bits)
}

/// A zero with the sign of `node`, or with the other.
fn signed_zero(kind: Type, node: Node, is_turned: bool) -> Node {
    let word = kind.unsigned();
    let bits = arena::unary(Operation::Reinterpret, word, node);
    let sign = arena::literal(sign_bit(kind));
    let bits = arena::binary(Operation::And, word, bits, sign);
    let zero = arena::unary(Operation::Reinterpret, kind, bits);
    if is_turned { negate(kind, zero) } else { zero }
}

fn are_opposite(a: Node, b: Node) -> bool {
    let is_negative_of =
        |a, b| matches!(arena::operation(a), Some((Operation::Negate, [x, ..])) if x == b);
    is_negative_of(a, b) || is_negative_of(b, a)
}

/// The sum.
pub(super) fn add(kind: Type, a: Node, b: Node) -> Node {
    match (zero_sign(kind, a), zero_sign(kind, b)) {
        (_, Some(false)) => plus_zero(kind, a),
        (_, Some(true)) => a,
        (Some(false), _) => plus_zero(kind, b),
        (Some(true), _) => b,
        _ if are_opposite(a, b) => or_nan(kind, is_finite(kind, a), constant(kind, 0.0)),
        _ => {
            let (a, b) = (keep_term(kind, a), keep_term(kind, b));
            arena::binary(Operation::Add, kind, a, b)
        }
    }
}

/// The difference.
pub(super) fn subtract(kind: Type, a: Node, b: Node) -> Node {
    match (zero_sign(kind, a), zero_sign(kind, b)) {
        (_, Some(false)) => a,
        (_, Some(true)) => plus_zero(kind, a),
        (Some(false), _) => plus_zero(kind, negate(kind, b)),
        (Some(true), _) => negate(kind, b),
        _ if a == b => or_nan(kind, is_finite(kind, a), constant(kind, 0.0)),
        _ => {
            let (a, b) = (keep_term(kind, a), keep_term(kind, b));
            arena::binary(Operation::Subtract, kind, a, b)
        }
    }
}

/// The product.
pub(super) fn multiply(kind: Type, a: Node, b: Node) -> Node {
    match (zero_sign(kind, a), zero_sign(kind, b)) {
        (_, Some(sign)) => or_nan(kind, is_finite(kind, a), signed_zero(kind, a, sign)),
        (Some(sign), _) => or_nan(kind, is_finite(kind, b), signed_zero(kind, b, sign)),
        _ => {
            let (a, b) = (keep_factor(kind, a), keep_factor(kind, b));
            arena::binary(Operation::Multiply, kind, a, b)
        }
    }
}

/// The quotient.
pub(super) fn divide(kind: Type, a: Node, b: Node) -> Node {
    match zero_sign(kind, a) {
        Some(sign) => or_nan(kind, is_nonzero(kind, b), signed_zero(kind, b, sign)),
        _ if a == b => {
            let (nonzero, finite) = (is_nonzero(kind, a), is_finite(kind, a));
            let is_ordinary = arena::binary(Operation::And, Type::Bool, nonzero, finite);
            or_nan(kind, is_ordinary, constant(kind, 1.0))
        }
        _ => {
            let (a, b) = (keep_factor(kind, a), keep_factor(kind, b));
            arena::binary(Operation::Divide, kind, a, b)
        }
    }
}

/// `a * b + c`, rounded once or twice.
pub(super) fn multiply_add(kind: Type, a: Node, b: Node, c: Node) -> Node {
    if [a, b, c]
        .iter()
        .any(|&node| zero_sign(kind, node).is_some())
    {
        return add(kind, multiply(kind, a, b), c);
    }
    let (a, b) = (keep_factor(kind, a), keep_factor(kind, b));
    arena::ternary(Operation::MultiplyAdd, kind, a, b, keep_term(kind, c))
}
