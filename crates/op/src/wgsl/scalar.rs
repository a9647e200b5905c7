//! The types of values in WGSL, the Rust types that live in them, and constants.
//!
//! Infinities, NaN and -0 are no constant expressions in WGSL: they are read from the bits of a
//! `let`.

use std::fmt::{self, Display, Formatter};

/// A type of WGSL values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Type {
    /// A truth value.
    Bool,
    /// A signed integer of 32 bits.
    I32,
    /// An unsigned integer of 32 bits.
    U32,
    /// A signed integer of 64 bits.
    I64,
    /// An unsigned integer of 64 bits.
    U64,
    /// A float of 32 bits.
    F32,
    /// A float of 64 bits.
    F64,
}

impl Type {
    /// The name in WGSL.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::I64 => "i64",
            Self::U64 => "u64",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// Whether it is a float.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    /// Whether it is an integer with a sign.
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::I32 | Self::I64)
    }

    /// The unsigned integer of the same width; a truth value counts as 32 bits.
    pub const fn unsigned(self) -> Self {
        match self {
            Self::I64 | Self::U64 | Self::F64 => Self::U64,
            Self::Bool | Self::I32 | Self::U32 | Self::F32 => Self::U32,
        }
    }
}

impl Display for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A Rust type whose values can be computed in WGSL: in the type of the same name, or, for
/// integers of 8 and 16 bits, in the integer of 32 bits with the same sign.
pub trait Scalar: Copy + private::Sealed {
    /// The WGSL type.
    const TYPE: Type;
    /// The width of the Rust type in bits; that of a truth value is 1.
    const WIDTH: u32;
}

/// A number, with arithmetic.
pub trait Numeric: Scalar {}

/// A set of bits, or a truth value.
pub trait Bitwise: Scalar {}

impl Bitwise for bool {}

/// An integer; arithmetic wraps at its width.
pub trait Integer: Numeric + Bitwise {
    /// The integer of the same width without sign.
    type Unsigned: Integer;
    /// The constant, cut to the width.
    fn literal(value: i64) -> Literal;
}

/// The signed integer of a float's width.
pub trait Word: Integer {}

/// A float.
pub trait Float: Numeric {
    /// The signed integer of the same width.
    type Bits: Word;
    /// Width of the mantissa field.
    const MANTISSA: u32;
    /// The exponent bias.
    const BIAS: i64;
    /// The constant, rounded once to the width.
    fn literal(value: f64) -> Literal;
}

mod private {
    #[allow(unnameable_types, reason = "nobody else is to implement it")]
    pub trait Sealed {}
}

macro_rules! scalars {
    ($($rust:ty, $variant:ident, $width:literal;)*) => {$(
        impl private::Sealed for $rust {}

        impl Scalar for $rust {
            const TYPE: Type = Type::$variant;
            const WIDTH: u32 = $width;
        }
    )*};
}
scalars! {
    bool, Bool, 1;
    i8, I32, 8;    u8, U32, 8;
    i16, I32, 16;  u16, U32, 16;
    i32, I32, 32;  u32, U32, 32;
    i64, I64, 64;  u64, U64, 64;
    f32, F32, 32;  f64, F64, 64;
}

macro_rules! integers {
    // Cut to the width, widened to the WGSL type, as the bits of that.
    ($($rust:ty, $held:ty, $bits:ty, $unsigned:ty;)*) => {$(
        impl Numeric for $rust {}
        impl Bitwise for $rust {}

        impl Integer for $rust {
            type Unsigned = $unsigned;

            fn literal(value: i64) -> Literal {
                Literal {
                    kind: Self::TYPE,
                    bits: u64::from(value as $rust as $held as $bits),
                }
            }
        }
    )*};
}
integers! {
    i8, i32, u32, u8;    u8, u32, u32, u8;
    i16, i32, u32, u16;  u16, u32, u32, u16;
    i32, i32, u32, u32;  u32, u32, u32, u32;
    i64, i64, u64, u64;  u64, u64, u64, u64;
}

macro_rules! floats {
    ($($rust:ty, $bits:ty, $mantissa:literal, $bias:literal;)*) => {$(
        impl Numeric for $rust {}

        impl Word for $bits {}

        impl Float for $rust {
            type Bits = $bits;
            const MANTISSA: u32 = $mantissa;
            const BIAS: i64 = $bias;

            fn literal(value: f64) -> Literal {
                Literal {
                    kind: Self::TYPE,
                    bits: u64::from((value as $rust).to_bits()),
                }
            }
        }
    )*};
}
floats! {
    f32, i32, 23, 127;
    f64, i64, 52, 1023;
}

/// A constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Literal {
    /// Its type.
    pub kind: Type,
    /// Its bits, in the low end; a truth value is 0 or 1.
    pub bits: u64,
}

impl Literal {
    /// The truth value.
    pub const fn truth(value: bool) -> Self {
        Self {
            kind: Type::Bool,
            bits: value as u64,
        }
    }

    /// A number of places to shift by.
    pub const fn count(value: u32) -> Self {
        Self {
            kind: Type::U32,
            bits: value as u64,
        }
    }

    /// Whether WGSL can write it as a constant expression: it has no infinities and NaN, and need
    /// not keep the sign of a zero.
    pub const fn is_plain(self) -> bool {
        match self.kind {
            Type::F32 => {
                let value = f32::from_bits(self.bits as u32);
                value.is_finite() && self.bits != (-0.0_f32).to_bits() as u64
            }
            Type::F64 => {
                let value = f64::from_bits(self.bits);
                value.is_finite() && self.bits != (-0.0_f64).to_bits()
            }
            _ => true,
        }
    }

    /// The unsigned integer with the same bits.
    pub const fn to_unsigned(self) -> Self {
        Self {
            kind: self.kind.unsigned(),
            bits: self.bits,
        }
    }
}

/// The text in WGSL of a plain constant; an atom, so that it can stand beside any operator.
impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let word = self.bits as u32;
        let text = match self.kind {
            Type::Bool => (self.bits != 0).to_string(),
            Type::U32 if word > 0xffff => format!("0x{word:x}u"),
            Type::U64 if self.bits > 0xffff => format!("0x{:x}lu", self.bits),
            Type::U32 => format!("{word}u"),
            Type::U64 => format!("{}lu", self.bits),
            // The least integer has no literal, for its magnitude is out of range.
            Type::I32 if word == 1 << 31 => "-2147483647i - 1i".to_owned(),
            Type::I64 if self.bits == 1 << 63 => "-9223372036854775807li - 1li".to_owned(),
            Type::I32 => format!("{}i", word as i32),
            Type::I64 => format!("{}li", self.bits as i64),
            // The shortest digits that are read back as the same number.
            Type::F32 => format!("{:?}f", f32::from_bits(word)),
            Type::F64 => format!("{:?}lf", f64::from_bits(self.bits)),
        };
        if text.starts_with('-') {
            write!(f, "({text})")
        } else {
            f.write_str(&text)
        }
    }
}
