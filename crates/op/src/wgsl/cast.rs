//! Casts between dtypes as functions, with the default rounding and overflow.

use allotrope_dtype::{DType, Kind};

use super::arena::{self, Node};
use super::codec::{decode, encode, to_odd_float};
use super::convert::{Held, convert};
use super::expression::Expression;
use super::float;
use super::function::Function;
use super::operation::Operation;
use super::row::short_name;
use super::scalar::{Integer, Literal, Type};
use super::value::ValueType;
use crate::{Lane, Whole};

impl Function {
    /// A cast; nothing where a complex number would have to be real.
    ///
    /// A float narrower than float32 is held as its code in a `u32`.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_op::wgsl::Function;
    ///
    /// let decode = Function::of_cast(DType::BF16, DType::F32).map(|f| f.print("decode_bfloat16"));
    /// assert!(decode.is_some_and(|text| text.starts_with("fn decode_bfloat16(x: u32) -> f32 {")));
    /// assert!(Function::of_cast(DType::C64, DType::F32).is_none());
    /// ```
    pub fn of_cast(from: DType, to: DType) -> Option<Self> {
        let [source, target] = [from, to].map(ValueType::of_dtype);
        Self::record_components(vec![source], vec![target], &mut |x| cast(x, from, to))
    }

    /// What the conversion of a 64-bit integer to float64 leaves out; nothing for other dtypes.
    pub fn of_conversion_rest(from: DType) -> Option<Self> {
        match from {
            DType::I64 => Some(Self::record(|[x]: [Expression<i64>; 1]| rest(x))),
            DType::U64 => Some(Self::record(|[x]: [Expression<u64>; 1]| rest(x))),
            _ => None,
        }
    }
}

/// The name that a cast goes by: `encode_bfloat16` and `decode_bfloat16` between float32 and a
/// narrower float, else such as `i64_to_f32`.
pub fn cast_name(from: DType, to: DType) -> String {
    match (from, to) {
        (DType::F32, _) if is_code(to) => format!("encode_{}", to.name()),
        (_, DType::F32) if is_code(from) => format!("decode_{}", from.name()),
        _ => format!("{}_to_{}", short_name(from), short_name(to)),
    }
}

/// Whether the dtype is a float that is held as its code.
fn is_code(dtype: DType) -> bool {
    dtype.is_floating_point() && dtype.compute() != dtype
}

/// The components of a value in another dtype.
fn cast(components: &[Node], from: DType, to: DType) -> Option<Vec<Node>> {
    let &first = components.first()?;
    if from == to {
        return Some(components.to_vec());
    }
    if let (true, Some(format)) = (is_code(from), from.format()) {
        let code = Expression::new(first);
        let number = match from {
            DType::F16 => Expression::<f32>::unary(Operation::DecodeFloat16, code),
            _ => decode(format, code),
        };
        return cast(&[number.node()], DType::F32, to);
    }
    let part = |node| convert_part(node, from, to);
    match to.kind() {
        Kind::Bool => Some(vec![is_any_nonzero(components, from)?]),
        Kind::Complex => {
            let zero = float::constant(Held::of_dtype(to).kind, 0.0);
            let imaginary = components.get(1).map_or(zero, |&node| part(node));
            Some(vec![part(first), imaginary])
        }
        _ if from.is_complex() => None,
        Kind::Float if is_code(to) => Some(vec![encode_real(first, from, to)?.node()]),
        _ => Some(vec![part(first)]),
    }
}

/// A real number, or part of a complex one, in another compute dtype that is not bool.
fn convert_part(node: Node, from: DType, to: DType) -> Node {
    let held = Held::of_dtype(to);
    if from == DType::Bool {
        let numbers = match held.kind {
            Type::F32 | Type::F64 => [1.0, 0.0].map(|x| float::constant(held.kind, x)),
            kind => [1, 0].map(|bits| arena::literal(Literal { kind, bits })),
        };
        return arena::ternary(Operation::Select, held.kind, node, numbers[0], numbers[1]);
    }
    convert(node, Held::of_dtype(from), held)
}

/// Whether a component is not zero; NaN is not.
fn is_any_nonzero(components: &[Node], from: DType) -> Option<Node> {
    let kind = Held::of_dtype(from).kind;
    let zero = arena::literal(Literal { kind, bits: 0 });
    // Not `!=`, which naga makes false for NaN.
    let is_nonzero = |&node: &Node| {
        let is_zero = arena::binary(Operation::Equal, Type::Bool, node, zero);
        arena::unary(Operation::Not, Type::Bool, is_zero)
    };
    let either = |a, b| arena::binary(Operation::Or, Type::Bool, a, b);
    components.iter().map(is_nonzero).reduce(either)
}

/// A number of a compute dtype as the code of a narrow float, rounded once.
fn encode_real(node: Node, from: DType, to: DType) -> Option<Expression<u32>> {
    let format = to.format()?;
    let number = match from {
        DType::F64 => return Some(encode(format, Expression::<f64>::new(node))),
        DType::I32 => round_to_odd(Expression::<i32>::new(node)),
        DType::U32 => round_to_odd(Expression::<u32>::new(node)),
        DType::I64 => round_to_odd(Expression::<i64>::new(node)),
        DType::U64 => round_to_odd(Expression::<u64>::new(node)),
        _ => Expression::<f32>::new(convert_part(node, from, DType::F32)),
    };
    Some(match to {
        DType::F16 => Expression::unary(Operation::EncodeFloat16, number),
        _ => encode(format, number),
    })
}

/// The integer as a float32 from which a narrower float is rounded as if from the integer.
fn round_to_odd<T: Integer>(x: Expression<T>) -> Expression<f32> {
    let magnitude = x.abs().convert::<T::Unsigned>();
    let float = to_odd_float(magnitude);
    Expression::choose(Whole::lt(x, Whole::lit(0)), -float, float)
}

/// The integer minus its float64: the sum of its halves, and what that left out.
fn rest<T: Integer>(x: Expression<T>) -> Expression<f64> {
    let half = Expression::literal(Literal::count(32));
    let high = x.shifted_right(half);
    let low = x - high.shifted_left(half);
    let high = high.convert::<f64>() * Lane::lit(4_294_967_296.0);
    let low = low.convert::<f64>();
    (high - (high + low)) + low
}
