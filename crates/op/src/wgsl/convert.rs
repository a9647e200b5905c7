//! Numbers in another type.

use allotrope_dtype::DType;

use super::arena::{self, Node};
use super::float::constant;
use super::operation::Operation;
use super::scalar::{Literal, Scalar, Type};
use super::value::ValueType;

/// How a number is held: its type in WGSL, and its own width in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) kind: Type,
    pub(super) width: u32,
}

impl Held {
    pub(super) const fn of<T: Scalar>() -> Self {
        Self {
            kind: T::TYPE,
            width: T::WIDTH,
        }
    }

    /// How a dtype is held, or a part of a complex one.
    pub(super) const fn of_dtype(dtype: DType) -> Self {
        Self {
            kind: ValueType::of_dtype(dtype).component,
            width: dtype.to_real().bits(),
        }
    }

    /// Whether every integer of `other` is one of these.
    fn holds(self, other: Self) -> bool {
        let is_wider = self.width > other.width;
        self == other || is_wider && (self.kind.is_signed() || !other.kind.is_signed())
    }
}

/// The literal with these low bits.
fn literal(kind: Type, bits: u64) -> Node {
    let bits = match kind.unsigned() {
        Type::U64 => bits,
        _ => u64::from(bits as u32),
    };
    arena::literal(Literal { kind, bits })
}

/// An integer cut to its width, where that is narrower than the WGSL type; others as they are.
#[inline(never)]
pub(super) fn wrap(node: Node, held: Held) -> Node {
    let Held { kind, width } = held;
    if width >= 32 || kind == Type::Bool {
        return node;
    }
    if kind.is_signed() {
        let count = arena::literal(Literal::count(32 - width));
        let high = arena::binary(Operation::ShiftLeft, kind, node, count);
        return arena::binary(Operation::ShiftRight, kind, high, count);
    }
    arena::binary(Operation::And, kind, node, literal(kind, (1 << width) - 1))
}

/// The same number in another type: integers wrap at its width; floats are cut towards zero and stop
/// at the ends of its range, and NaN becomes 0.
#[inline(never)]
pub(super) fn convert(node: Node, from: Held, to: Held) -> Node {
    if from.kind.is_float() && !to.kind.is_float() {
        return saturate(node, from.kind, to);
    }
    let converted = convert_number(node, from.kind, to.kind);
    if to.holds(from) {
        converted
    } else {
        wrap(converted, to)
    }
}

/// The integer with this sign and as wide as that type.
const fn integer(is_signed: bool, like: Type) -> Type {
    match (is_signed, like.unsigned()) {
        (true, Type::U64) => Type::I64,
        (true, _) => Type::I32,
        (false, word) => word,
    }
}

/// The number in another type, as WGSL does it.
fn convert_number(node: Node, from: Type, to: Type) -> Node {
    if from == to {
        return node;
    }
    // Width before sign: in one step, naga widens by the sign of the result.
    let is_integer = !from.is_float() && !to.is_float();
    let middle = integer(from.is_signed(), to);
    if is_integer && middle != to && middle != from {
        let wide = arena::unary(Operation::Convert, middle, node);
        return arena::unary(Operation::Convert, to, wide);
    }
    arena::unary(Operation::Convert, to, node)
}

/// The float as an integer: cut towards zero, the end of the range where it is beyond, 0 for NaN.
fn saturate(node: Node, from: Type, Held { kind: to, width }: Held) -> Node {
    let digits = width - u32::from(to.is_signed());
    // The first number beyond the range is a float; the last in it may not be, so that the clamp
    // of WGSL would stop short of it.
    let beyond = (1_u128 << digits) as f64;
    let most = u64::MAX >> (64 - digits);
    let (least, least_bits) = if to.is_signed() {
        (-beyond, !most)
    } else {
        (0.0, 0)
    };
    let is_less = |a, b| arena::binary(Operation::Less, Type::Bool, a, b);
    let select = |mask, yes, no| arena::ternary(Operation::Select, to, mask, yes, no);
    let cut = arena::unary(Operation::Convert, to, node);
    let is_within = is_less(node, constant(from, beyond));
    let value = select(is_within, cut, literal(to, most));
    let is_below = is_less(node, constant(from, least));
    let value = select(is_below, literal(to, least_bits), value);
    let is_number = arena::binary(Operation::Equal, Type::Bool, node, node);
    select(is_number, value, literal(to, 0))
}
