//! Integers of 64 bits on devices that have none: pairs of words, the lower first.

use super::operation::Operation;
use super::scalar::{Literal, Type};

/// How a text has integers of 64 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WideIntegers {
    /// As the types `i64` and `u64`, which a device may have.
    #[default]
    Native,
    /// As `vec2<u32>`, with the functions of [`PAIRS`]. There must be no float64 beside them.
    Pairs,
}

impl WideIntegers {
    /// Whether values of this type are pairs.
    pub(super) const fn are_pairs(self, kind: Type) -> bool {
        matches!(
            (self, kind),
            (Self::Pairs, Type::I64) | (Self::Pairs, Type::U64)
        )
    }

    /// The name of a type.
    pub const fn type_name(self, kind: Type) -> &'static str {
        if self.are_pairs(kind) {
            "vec2<u32>"
        } else {
            kind.name()
        }
    }

    /// The text of a plain constant.
    pub(super) fn literal(self, literal: Literal) -> String {
        if self.are_pairs(literal.kind) {
            let (low, high) = (literal.bits as u32, (literal.bits >> 32) as u32);
            format!("vec2<u32>({low}u, {high}u)")
        } else {
            literal.to_string()
        }
    }

    /// The text of an operation on pairs, or with one as its result; nothing where that is written
    /// as for any other type.
    pub(super) fn operation(
        self,
        op: Operation,
        kind: Type,
        operand: Type,
        [a, b, _]: [&str; 3],
    ) -> Option<String> {
        use Operation::*;
        if !self.are_pairs(kind) && !self.are_pairs(operand) {
            return None;
        }
        let sign = if operand.is_signed() { "i" } else { "u" };
        Some(match op {
            Add => format!("pair_add({a}, {b})"),
            Subtract => format!("pair_subtract({a}, {b})"),
            Multiply => format!("pair_multiply({a}, {b})"),
            Divide => format!("pair_divide_{sign}({a}, {b})"),
            Remainder => format!("pair_remainder_{sign}({a}, {b})"),
            Negate => format!("pair_negate({a})"),
            Absolute => format!("pair_absolute({a})"),
            Minimum => format!("select({a}, {b}, pair_less_{sign}({b}, {a}))"),
            Maximum => format!("select({a}, {b}, pair_less_{sign}({a}, {b}))"),
            Power => format!("pair_power({a}, {b})"),
            CommonDivisor => format!("pair_common_divisor({a}, {b})"),
            ShiftLeft => format!("pair_shift_left({a}, {b})"),
            ShiftRight => format!("pair_shift_right_{sign}({a}, {b})"),
            Equal => format!("all({a} == {b})"),
            Less => format!("pair_less_{sign}({a}, {b})"),
            LessEqual => format!("!pair_less_{sign}({b}, {a})"),
            Reinterpret => a.to_owned(),
            Convert => self.conversion(kind, operand, a),
            _ => return None,
        })
    }

    /// The text of a conversion from or to a pair.
    fn conversion(self, to: Type, from: Type, a: &str) -> String {
        match (from, to) {
            (Type::Bool, _) => format!("vec2<u32>(u32({a}), 0u)"),
            (Type::I32, _) => format!("vec2<u32>(bitcast<u32>({a}), bitcast<u32>({a} >> 31u))"),
            (Type::U32, _) => format!("vec2<u32>({a}, 0u)"),
            (Type::F32 | Type::F64, Type::I64) => format!("pair_from_float_i({a})"),
            (Type::F32 | Type::F64, _) => format!("pair_from_float_u({a})"),
            (_, Type::Bool) => format!("any({a} != vec2<u32>())"),
            (_, Type::I32) => format!("bitcast<i32>({a}.x)"),
            (_, Type::U32) => format!("{a}.x"),
            (Type::I64, Type::F32) => format!("pair_to_float_i({a})"),
            (_, Type::F32) => format!("pair_to_float_u({a})"),
            _ => a.to_owned(),
        }
    }
}

/// What texts with [`WideIntegers::Pairs`] call; it must stand beside them, once.
///
/// A number divided by zero is itself, and leaves nothing, as in WGSL. Conversions to float32 round
/// to nearest in integers, for a device need not.
pub const PAIRS: &str = "\
fn pair_add(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = a.x + b.x;
    return vec2<u32>(low, a.y + b.y + u32(low < a.x));
}
fn pair_subtract(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(a.x - b.x, a.y - b.y - u32(a.x < b.x));
}
fn pair_negate(a: vec2<u32>) -> vec2<u32> {
    return pair_subtract(vec2<u32>(), a);
}
fn pair_absolute(a: vec2<u32>) -> vec2<u32> {
    return select(a, pair_negate(a), a.y >= 0x80000000u);
}
fn pair_product(a: u32, b: u32) -> vec2<u32> {
    let a0 = a & 0xffffu;
    let a1 = a >> 16u;
    let b0 = b & 0xffffu;
    let b1 = b >> 16u;
    let low = a0 * b0;
    let middle = a1 * b0 + (low >> 16u);
    let other = a0 * b1 + (middle & 0xffffu);
    return vec2<u32>((other << 16u) | (low & 0xffffu), a1 * b1 + (middle >> 16u) + (other >> 16u));
}
fn pair_multiply(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = pair_product(a.x, b.x);
    return vec2<u32>(low.x, low.y + a.x * b.y + a.y * b.x);
}
fn pair_shift_left(a: vec2<u32>, count: u32) -> vec2<u32> {
    let n = count & 31u;
    let carried = select(a.x >> ((32u - n) & 31u), 0u, n == 0u);
    let near = vec2<u32>(a.x << n, (a.y << n) | carried);
    return select(near, vec2<u32>(0u, a.x << n), (count & 32u) != 0u);
}
fn pair_shift_right_u(a: vec2<u32>, count: u32) -> vec2<u32> {
    let n = count & 31u;
    let carried = select(a.y << ((32u - n) & 31u), 0u, n == 0u);
    let near = vec2<u32>((a.x >> n) | carried, a.y >> n);
    return select(near, vec2<u32>(a.y >> n, 0u), (count & 32u) != 0u);
}
fn pair_shift_right_i(a: vec2<u32>, count: u32) -> vec2<u32> {
    let n = count & 31u;
    let high = bitcast<i32>(a.y);
    let carried = select(a.y << ((32u - n) & 31u), 0u, n == 0u);
    let near = vec2<u32>((a.x >> n) | carried, bitcast<u32>(high >> n));
    let far = vec2<u32>(bitcast<u32>(high >> n), bitcast<u32>(high >> 31u));
    return select(near, far, (count & 32u) != 0u);
}
fn pair_less_u(a: vec2<u32>, b: vec2<u32>) -> bool {
    return a.y < b.y || (a.y == b.y && a.x < b.x);
}
fn pair_less_i(a: vec2<u32>, b: vec2<u32>) -> bool {
    return bitcast<i32>(a.y) < bitcast<i32>(b.y) || (a.y == b.y && a.x < b.x);
}
fn pair_zeros(a: vec2<u32>) -> u32 {
    return select(countLeadingZeros(a.y), 32u + countLeadingZeros(a.x), a.y == 0u);
}
fn pair_quotient(a: vec2<u32>, b: vec2<u32>) -> vec4<u32> {
    if (all(b == vec2<u32>())) {
        return vec4<u32>(a, 0u, 0u);
    }
    if (a.y == 0u && b.y == 0u) {
        return vec4<u32>(a.x / b.x, 0u, a.x % b.x, 0u);
    }
    if (pair_less_u(a, b)) {
        return vec4<u32>(0u, 0u, a);
    }
    let places = pair_zeros(b) - pair_zeros(a);
    var divisor = pair_shift_left(b, places);
    var rest = a;
    var quotient = vec2<u32>();
    for (var i = 0u; i <= places; i++) {
        quotient = pair_shift_left(quotient, 1u);
        if (!pair_less_u(rest, divisor)) {
            rest = pair_subtract(rest, divisor);
            quotient.x |= 1u;
        }
        divisor = pair_shift_right_u(divisor, 1u);
    }
    return vec4<u32>(quotient, rest);
}
fn pair_divide_u(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return pair_quotient(a, b).xy;
}
fn pair_remainder_u(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return pair_quotient(a, b).zw;
}
fn pair_divide_i(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let quotient = pair_quotient(pair_absolute(a), pair_absolute(b)).xy;
    return select(quotient, pair_negate(quotient), ((a.y ^ b.y) & 0x80000000u) != 0u);
}
fn pair_remainder_i(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let rest = pair_quotient(pair_absolute(a), pair_absolute(b)).zw;
    return select(rest, pair_negate(rest), a.y >= 0x80000000u);
}
fn pair_power(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> {
    var base = x;
    var left = y;
    var power = vec2<u32>(1u, 0u);
    while (any(left != vec2<u32>())) {
        power = select(power, pair_multiply(power, base), (left.x & 1u) == 1u);
        base = pair_multiply(base, base);
        left = pair_shift_right_u(left, 1u);
    }
    return power;
}
fn pair_common_divisor(x: vec2<u32>, y: vec2<u32>) -> vec2<u32> {
    var a = x;
    var b = y;
    while (any(b != vec2<u32>())) {
        let rest = pair_quotient(a, b).zw;
        a = b;
        b = rest;
    }
    return a;
}
fn pair_to_float_u(a: vec2<u32>) -> f32 {
    if (all(a == vec2<u32>())) {
        return 0.0f;
    }
    let zeros = pair_zeros(a);
    let top = pair_shift_left(a, zeros);
    let dropped = (top.y & 0xffu) | u32(top.x != 0u);
    let kept = top.y >> 8u;
    let up = u32(dropped > 128u || (dropped == 128u && (kept & 1u) == 1u));
    return bitcast<f32>(kept + up + ((189u - zeros) << 23u));
}
fn pair_to_float_i(a: vec2<u32>) -> f32 {
    let sign = a.y & 0x80000000u;
    return bitcast<f32>(bitcast<u32>(pair_to_float_u(pair_absolute(a))) | sign);
}
fn pair_from_float_u(x: f32) -> vec2<u32> {
    let bits = bitcast<u32>(x);
    let exponent = (bits >> 23u) & 0xffu;
    let mantissa = vec2<u32>((bits & 0x7fffffu) | 0x800000u, 0u);
    if (exponent < 127u) {
        return vec2<u32>();
    }
    if (exponent < 150u) {
        return pair_shift_right_u(mantissa, 150u - exponent);
    }
    return pair_shift_left(mantissa, min(exponent - 150u, 63u));
}
fn pair_from_float_i(x: f32) -> vec2<u32> {
    let magnitude = pair_from_float_u(x);
    return select(magnitude, pair_negate(magnitude), bitcast<u32>(x) >= 0x80000000u);
}
";
