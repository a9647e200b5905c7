//! Functions with loops, which no recording can have: written by hand, and called. Beside them those
//! that a device may have: recorded, and called so that it can choose.

use std::sync::LazyLock;

use allotrope_dtype::DType;

use super::codec::{decode, encode};
use super::expression::Expression;
use super::function::Function;
use super::print::NATIVE_FLOAT16;
use super::scalar::Type;

/// A function that printed functions may call: its text must stand beside theirs, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Helper {
    /// What it does.
    pub routine: Routine,
    /// The type of its arguments and its result.
    pub kind: Type,
}

/// What a helper does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Routine {
    /// The exact remainder of a truncated division of floats.
    Remainder,
    /// The wrapping power of unsigned integers.
    Power,
    /// The greatest common divisor of unsigned integers.
    CommonDivisor,
    /// The number with a code of float16.
    DecodeFloat16,
    /// The code of the nearest float16.
    EncodeFloat16,
}

impl Routine {
    /// What a codec does, in integers; nothing for other routines.
    pub(super) fn codec(self) -> Option<&'static Function> {
        static DECODE: LazyLock<Option<Function>> = LazyLock::new(|| {
            let format = DType::F16.format()?;
            Some(Function::record(|[x]: [Expression<u32>; 1]| {
                decode(format, x)
            }))
        });
        static ENCODE: LazyLock<Option<Function>> = LazyLock::new(|| {
            let format = DType::F16.format()?;
            Some(Function::record(|[x]: [Expression<f32>; 1]| {
                encode(format, x)
            }))
        });
        match self {
            Self::DecodeFloat16 => DECODE.as_ref(),
            Self::EncodeFloat16 => ENCODE.as_ref(),
            _ => None,
        }
    }
}

/// The remainder in integers: that of the mantissas, shifted by as many places at a time as a word
/// has room for.
const REMAINDER: &str = "\
fn NAME(x: FLOAT, y: FLOAT) -> FLOAT {
    let sign = bitcast<WORD>(x) & SIGN;
    let a = bitcast<WORD>(x) ^ sign;
    let b = bitcast<WORD>(y) & ~SIGN;
    if (b == ZERO || a >= INFINITY || b > INFINITY) {
        return bitcast<FLOAT>(b | QUIET);
    }
    if (a < b) {
        return x;
    }
    let exponent = max(u32(b >> MANTISSA), 1u);
    var places = max(u32(a >> MANTISSA), 1u) - exponent;
    let divisor = select((b & FRACTION) | IMPLICIT, b, b < IMPLICIT);
    var r = select((a & FRACTION) | IMPLICIT, a, a < IMPLICIT) % divisor;
    while (places > 0u && r != ZERO) {
        let step = min(places, ROOM);
        r = (r << step) % divisor;
        places -= step;
    }
    if (r == ZERO) {
        return bitcast<FLOAT>(sign);
    }
    let up = min(ZEROS - ROOM, exponent - 1u);
    let magnitude = (r << up) + (WORD(exponent - 1u - up) << MANTISSA);
    return bitcast<FLOAT>(magnitude | sign);
}
";

const POWER: &str = "\
fn NAME(x: WORD, y: WORD) -> WORD {
    var base = x;
    var left = y;
    var power = ONE;
    while (left != ZERO) {
        power = select(power, power * base, (left & ONE) == ONE);
        base *= base;
        left >>= 1u;
    }
    return power;
}
";

const COMMON_DIVISOR: &str = "\
fn NAME(x: WORD, y: WORD) -> WORD {
    var a = x;
    var b = y;
    while (b != ZERO) {
        let rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}
";

/// What stands for the words in capitals.
const WORDS_32: [(&str, &str); 12] = [
    ("ZEROS", "countLeadingZeros(r)"),
    ("FLOAT", "f32"),
    ("WORD", "u32"),
    ("SIGN", "0x80000000u"),
    ("INFINITY", "0x7f800000u"),
    ("QUIET", "0x7fc00000u"),
    ("FRACTION", "0x7fffffu"),
    ("IMPLICIT", "0x800000u"),
    ("MANTISSA", "23u"),
    ("ROOM", "8u"),
    ("ZERO", "0u"),
    ("ONE", "1u"),
];

/// The same for float64; WGSL counts zeros in words of 32 bits.
const WORDS_64: [(&str, &str); 12] = [
    (
        "ZEROS",
        "select(countLeadingZeros(u32(r >> 32u)), 32u + countLeadingZeros(u32(r)), \
         r < 0x100000000lu)",
    ),
    ("FLOAT", "f64"),
    ("WORD", "u64"),
    ("SIGN", "0x8000000000000000lu"),
    ("INFINITY", "0x7ff0000000000000lu"),
    ("QUIET", "0x7ff8000000000000lu"),
    ("FRACTION", "0xffffffffffffflu"),
    ("IMPLICIT", "0x10000000000000lu"),
    ("MANTISSA", "52u"),
    ("ROOM", "11u"),
    ("ZERO", "0lu"),
    ("ONE", "1lu"),
];

impl Helper {
    /// Its name in WGSL.
    pub fn name(self) -> String {
        let routine = match self.routine {
            Routine::Remainder => "exact_remainder",
            Routine::Power => "wrapping_power",
            Routine::CommonDivisor => "common_divisor",
            Routine::DecodeFloat16 => "decode_float16",
            Routine::EncodeFloat16 => "encode_float16",
        };
        format!("{routine}_{}", self.kind)
    }

    /// Its text in WGSL.
    pub fn text(self) -> String {
        let template = match self.routine {
            Routine::Remainder => REMAINDER,
            Routine::Power => POWER,
            Routine::CommonDivisor => COMMON_DIVISOR,
            Routine::DecodeFloat16 => return self.choice("unpack2x16float(x).x"),
            Routine::EncodeFloat16 => return self.choice("pack2x16float(vec2<f32>(x, 0.0f))"),
        };
        let words = match self.kind.unsigned() {
            Type::U64 => WORDS_64,
            _ => WORDS_32,
        };
        let named = template.replace("NAME", &self.name());
        let fill = |text: String, (word, value): (&str, &str)| text.replace(word, value);
        words.into_iter().fold(named, fill)
    }

    /// The text of a codec: what the device makes of `x` itself, where it does so exactly, else its
    /// integers.
    fn choice(self, native: &str) -> String {
        let name = self.name();
        let text = self.routine.codec().map(|codec| codec.print(&name));
        let choice = format!("{{\n    if ({NATIVE_FLOAT16}) {{ return {native}; }}\n");
        text.map(|text| text.replacen("{\n", &choice, 1))
            .unwrap_or_default()
    }
}
