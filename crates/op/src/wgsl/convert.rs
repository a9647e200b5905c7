//! Numbers in another type.

use super::arena::{self, Node};
use super::float::constant;
use super::operation::Operation;
use super::scalar::{Literal, Type};

/// The integer with this sign and as wide as that type.
const fn integer(is_signed: bool, like: Type) -> Type {
    match (is_signed, like.unsigned()) {
        (true, Type::U64) => Type::I64,
        (true, _) => Type::I32,
        (false, word) => word,
    }
}

/// The number in another type, as WGSL does it.
pub(super) fn number(node: Node, from: Type, to: Type) -> Node {
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

/// The float as an integer of so many bits: cut towards zero, the end of the range where it is
/// beyond, 0 for NaN.
pub(super) fn saturate(node: Node, from: Type, to: Type, width: u32) -> Node {
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
    let literal = |bits: u64| {
        let is_wide = to.unsigned() == Type::U64;
        let bits = if is_wide {
            bits
        } else {
            u64::from(bits as u32)
        };
        arena::literal(Literal { kind: to, bits })
    };
    let is_less = |a, b| arena::binary(Operation::Less, Type::Bool, a, b);
    let select = |mask, yes, no| arena::ternary(Operation::Select, to, mask, yes, no);
    let cut = arena::unary(Operation::Convert, to, node);
    let value = select(is_less(node, constant(from, beyond)), cut, literal(most));
    let value = select(
        is_less(node, constant(from, least)),
        literal(least_bits),
        value,
    );
    let is_number = arena::binary(Operation::Equal, Type::Bool, node, node);
    select(is_number, value, literal(0))
}
