//! What operations are worth on constants: used to fold those, and to run a recorded function
//! without a GPU.

use super::operation::Operation;
use super::scalar::{Literal, Type};

/// Numbers as the bits of a literal.
trait Machine: Copy {
    fn read(bits: u64) -> Self;
    fn write(self) -> u64;
}

macro_rules! machine {
    ($($number:ty, $bits:ty, |$x:ident| $read:expr, $write:expr;)*) => {$(
        impl Machine for $number {
            fn read(bits: u64) -> Self {
                let $x = bits as $bits;
                $read
            }

            fn write(self) -> u64 {
                let $x = self;
                u64::from($write)
            }
        }
    )*};
}
machine! {
    bool, u64, |x| x != 0, x;
    i32, u32, |x| x as Self, x as u32;
    u32, u32, |x| x, x;
    i64, u64, |x| x as Self, x as u64;
    u64, u64, |x| x, x;
    f32, u32, |x| Self::from_bits(x), x.to_bits();
    f64, u64, |x| Self::from_bits(x), x.to_bits();
}

/// An operation that maps the type to itself, or to truth values.
trait Arithmetic: Machine {
    fn apply(op: Operation, a: Self, b: Self, c: Self) -> Option<u64>;
}

impl Arithmetic for bool {
    fn apply(op: Operation, a: Self, b: Self, _: Self) -> Option<u64> {
        Some(u64::from(match op {
            Operation::And => a & b,
            Operation::Or => a | b,
            Operation::Xor => a ^ b,
            Operation::Not => !a,
            Operation::Equal => a == b,
            _ => return None,
        }))
    }
}

/// The power modulo two to the 64, so that a narrower one is its low bits.
fn power(mut base: u64, mut exponent: u64) -> u64 {
    let mut power = 1_u64;
    while exponent != 0 {
        if exponent & 1 == 1 {
            power = power.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        exponent >>= 1;
    }
    power
}

fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

macro_rules! integer_arithmetic {
    ($($number:ty)*) => {$(
        impl Arithmetic for $number {
            fn apply(op: Operation, a: Self, b: Self, _: Self) -> Option<u64> {
                Some(match op {
                    Operation::Add => a.wrapping_add(b).write(),
                    Operation::Subtract => a.wrapping_sub(b).write(),
                    Operation::Multiply => a.wrapping_mul(b).write(),
                    Operation::Divide => a.checked_div(b).unwrap_or(a).write(),
                    Operation::Remainder => a.checked_rem(b).unwrap_or(0).write(),
                    Operation::Negate => a.wrapping_neg().write(),
                    Operation::Power => Self::read(power(a.write(), b.write())).write(),
                    Operation::CommonDivisor => common_divisor(a.write(), b.write()),
                    Operation::CountOnes => u64::from(a.count_ones()),
                    Operation::Minimum => a.min(b).write(),
                    Operation::Maximum => a.max(b).write(),
                    Operation::And => (a & b).write(),
                    Operation::Or => (a | b).write(),
                    Operation::Xor => (a ^ b).write(),
                    Operation::Not => (!a).write(),
                    Operation::Equal => (a == b).write(),
                    Operation::Less => (a < b).write(),
                    Operation::LessEqual => (a <= b).write(),
                    _ => return None,
                })
            }
        }
    )*};
}
integer_arithmetic!(i32 u32 i64 u64);

macro_rules! float_arithmetic {
    ($($number:ty)*) => {$(
        impl Arithmetic for $number {
            fn apply(op: Operation, a: Self, b: Self, c: Self) -> Option<u64> {
                Some(match op {
                    Operation::Add => (a + b).write(),
                    Operation::Subtract => (a - b).write(),
                    Operation::Multiply => (a * b).write(),
                    Operation::Divide => (a / b).write(),
                    Operation::Remainder => (a % b).write(),
                    Operation::Negate => (-a).write(),
                    Operation::MultiplyAdd => (a * b + c).write(),
                    Operation::Absolute => a.abs().write(),
                    Operation::SquareRoot => a.sqrt().write(),
                    Operation::Floor => a.floor().write(),
                    Operation::Ceil => a.ceil().write(),
                    Operation::Truncate => a.trunc().write(),
                    Operation::Round => a.round_ties_even().write(),
                    Operation::Keep => a.write(),
                    Operation::Equal => (a == b).write(),
                    Operation::Less => (a < b).write(),
                    Operation::LessEqual => (a <= b).write(),
                    _ => return None,
                })
            }
        }
    )*};
}
float_arithmetic!(f32 f64);

/// Calls a macro or function with the Rust type of a [`Type`].
macro_rules! with_type {
    ($kind:expr, $T:ident => $body:expr) => {
        match $kind {
            Type::Bool => {
                type $T = bool;
                $body
            }
            Type::I32 => {
                type $T = i32;
                $body
            }
            Type::U32 => {
                type $T = u32;
                $body
            }
            Type::I64 => {
                type $T = i64;
                $body
            }
            Type::U64 => {
                type $T = u64;
                $body
            }
            Type::F32 => {
                type $T = f32;
                $body
            }
            Type::F64 => {
                type $T = f64;
                $body
            }
        }
    };
}

/// Shifts, whose count is modulo the width.
fn shift(op: Operation, value: Literal, count: u32) -> Option<u64> {
    let left = op == Operation::ShiftLeft;
    macro_rules! shift {
        ($number:ty) => {{
            let value = <$number>::read(value.bits);
            let shifted = if left {
                value.wrapping_shl(count)
            } else {
                value.wrapping_shr(count)
            };
            Some(shifted.write())
        }};
    }
    match value.kind {
        Type::I32 => shift!(i32),
        Type::U32 => shift!(u32),
        Type::I64 => shift!(i64),
        Type::U64 => shift!(u64),
        _ => None,
    }
}

/// The same number in another type.
fn convert(value: Literal, kind: Type) -> u64 {
    macro_rules! convert {
        ($value:expr, $zero:expr) => {{
            let value = $value;
            match kind {
                Type::Bool => (value != $zero).write(),
                Type::I32 => (value as i32).write(),
                Type::U32 => (value as u32).write(),
                Type::I64 => (value as i64).write(),
                Type::U64 => (value as u64).write(),
                Type::F32 => (value as f32).write(),
                Type::F64 => (value as f64).write(),
            }
        }};
    }
    match value.kind {
        Type::Bool => convert!(u32::read(value.bits), 0),
        Type::I32 => convert!(i32::read(value.bits), 0),
        Type::U32 => convert!(u32::read(value.bits), 0),
        Type::I64 => convert!(i64::read(value.bits), 0),
        Type::U64 => convert!(u64::read(value.bits), 0),
        Type::F32 => convert!(f32::read(value.bits), 0.0),
        Type::F64 => convert!(f64::read(value.bits), 0.0),
    }
}

/// What the operation is worth, `kind` being the type of the result; nothing where it is not
/// defined for the types of the operands. A multiply-add rounds twice.
pub(super) fn apply(op: Operation, kind: Type, [a, b, c]: [Literal; 3]) -> Option<Literal> {
    let bits = match op {
        Operation::Select => {
            if a.bits != 0 {
                b.bits
            } else {
                c.bits
            }
        }
        Operation::Reinterpret => a.bits,
        Operation::Convert => convert(a, kind),
        Operation::ShiftLeft | Operation::ShiftRight => shift(op, a, b.bits as u32)?,
        _ => with_type!(a.kind, T => {
            T::apply(op, T::read(a.bits), T::read(b.bits), T::read(c.bits))?
        }),
    };
    Some(Literal { kind, bits })
}
