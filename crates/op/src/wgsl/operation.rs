//! The operations of WGSL that lanes are recorded in.
//!
//! Of floats only `!(x == y)` is written, since naga makes `x != y` false for NaN.

use super::helper::Routine;
use super::scalar::Type;

/// What a statement does to its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// The sum; integers wrap at the width of the WGSL type.
    Add,
    /// The difference.
    Subtract,
    /// The product.
    Multiply,
    /// The quotient. That of integers is truncated, and the dividend itself where the divisor is
    /// zero or the quotient out of range.
    Divide,
    /// What a truncated division leaves, exact, with the sign of the dividend; 0 where an integer
    /// divisor is zero.
    Remainder,
    /// The number with its sign flipped.
    Negate,
    /// `a * b + c`, rounded once or twice.
    MultiplyAdd,
    /// The magnitude.
    Absolute,
    /// The square root.
    SquareRoot,
    /// The nearest integer that is not above.
    Floor,
    /// The nearest integer that is not below.
    Ceil,
    /// The integer part.
    Truncate,
    /// The nearest integer, ties to even.
    Round,
    /// The smaller of two integers.
    Minimum,
    /// The larger of two integers.
    Maximum,
    /// The wrapping power of two unsigned integers.
    Power,
    /// The greatest common divisor of two unsigned integers.
    CommonDivisor,
    /// How many bits of a `u32` are set.
    CountOnes,
    /// The float as it is, hidden from the algebra of a compiler: see
    /// [`Expression`](super::Expression).
    Keep,
    /// The float32 of a float16's code, in a `u32` of which the upper half counts for nothing.
    DecodeFloat16,
    /// The code of the float16 nearest to a float32, ties to even, in a `u32`.
    EncodeFloat16,
    /// Bits set in both; both true.
    And,
    /// Bits set in one or both; one or both true.
    Or,
    /// Bits set in one alone; one alone true.
    Xor,
    /// Every bit flipped; whether it is false.
    Not,
    /// Shifted left by a `u32`, modulo the width.
    ShiftLeft,
    /// Shifted right by a `u32`, modulo the width, keeping the sign of signed integers.
    ShiftRight,
    /// Whether both are equal; false for NaN.
    Equal,
    /// Whether the first is smaller; false for NaN.
    Less,
    /// Whether the first is smaller or equal; false for NaN.
    LessEqual,
    /// The second where the first, a truth value, is true, else the third.
    Select,
    /// The same bits as another type of the same width.
    Reinterpret,
    /// The same number in another type: integers wrap, floats are cut towards zero, truth values
    /// become 0 and 1.
    Convert,
}

/// How an operation is written, `T` being the type of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `a + b`
    Infix(&'static str),
    /// `-a`
    Prefix(&'static str),
    /// `name(a)`
    Call1(&'static str),
    /// `name(a, b)`
    Call2(&'static str),
    /// `name(a, b, c)`
    Call3(&'static str),
    /// `helper(a, b)`, or `helper(a)`
    Helper(Routine),
    /// `select(c, b, a)`
    Select,
    /// `bitcast<T>(a)`
    Bitcast,
    /// `T(a)`
    Constructor,
    /// `bitcast<T>(min(bitcast<u32>(a), 0xfffffffeu))`
    Keep,
}

impl Operation {
    /// How it is written for operands of this type.
    pub(super) const fn form(self, kind: Type) -> Form {
        let of_truth = matches!(kind, Type::Bool);
        match self {
            Self::Add => Form::Infix("+"),
            Self::Subtract => Form::Infix("-"),
            Self::Multiply => Form::Infix("*"),
            Self::Divide => Form::Infix("/"),
            Self::Remainder if kind.is_float() => Form::Helper(Routine::Remainder),
            Self::Remainder => Form::Infix("%"),
            Self::Negate => Form::Prefix("-"),
            Self::MultiplyAdd => Form::Call3("fma"),
            Self::Absolute => Form::Call1("abs"),
            Self::SquareRoot => Form::Call1("sqrt"),
            Self::Floor => Form::Call1("floor"),
            Self::Ceil => Form::Call1("ceil"),
            Self::Truncate => Form::Call1("trunc"),
            Self::Round => Form::Call1("round"),
            Self::Minimum => Form::Call2("min"),
            Self::Maximum => Form::Call2("max"),
            Self::Power => Form::Helper(Routine::Power),
            Self::CommonDivisor => Form::Helper(Routine::CommonDivisor),
            Self::CountOnes => Form::Call1("countOneBits"),
            Self::Keep => Form::Keep,
            Self::DecodeFloat16 => Form::Helper(Routine::DecodeFloat16),
            Self::EncodeFloat16 => Form::Helper(Routine::EncodeFloat16),
            Self::And => Form::Infix("&"),
            Self::Or => Form::Infix("|"),
            Self::Xor if of_truth => Form::Infix("!="),
            Self::Xor => Form::Infix("^"),
            Self::Not if of_truth => Form::Prefix("!"),
            Self::Not => Form::Prefix("~"),
            Self::ShiftLeft => Form::Infix("<<"),
            Self::ShiftRight => Form::Infix(">>"),
            Self::Equal => Form::Infix("=="),
            Self::Less => Form::Infix("<"),
            Self::LessEqual => Form::Infix("<="),
            Self::Select => Form::Select,
            Self::Reinterpret => Form::Bitcast,
            Self::Convert => Form::Constructor,
        }
    }
}
