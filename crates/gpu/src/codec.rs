//! Elements of all dtypes in words of 32 bits: how a shader reads and writes them.
//!
//! Every buffer is an array of `u32`, whatever it holds. An element of one or two bytes is a part of
//! a word, one of eight or sixteen bytes is two or four words.

use allotrope_dtype::{DType, Kind, Scalar};
use allotrope_op::wgsl::{ValueType, WideIntegers};

/// What lies in a buffer: elements of a dtype that is stored as it is, or bytes without a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Cell {
    /// A number.
    Of(DType),
    /// So many bytes, which are moved and never computed with: NaN keeps its bits.
    Raw(usize),
}

impl Cell {
    /// The bytes of an element.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::Of(dtype) => dtype.itemsize(),
            Self::Raw(size) => size,
        }
    }

    /// The name within a key.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Of(dtype) => dtype.name().to_owned(),
            Self::Raw(size) => format!("raw{size}"),
        }
    }

    /// The type of a value in WGSL.
    pub(crate) fn type_name(self, integers: WideIntegers) -> String {
        match self {
            Self::Of(dtype) => ValueType::of_dtype(dtype).name_with(integers),
            Self::Raw(8) => "vec2<u32>".to_owned(),
            Self::Raw(16) => "vec4<u32>".to_owned(),
            Self::Raw(_) => "u32".to_owned(),
        }
    }

    /// The value of element `place`, a name, of a buffer.
    pub(crate) fn load(self, buffer: &str, place: &str, integers: WideIntegers) -> String {
        let word = |k: usize| format!("{buffer}[{place} * {}u + {k}u]", self.size() / 4);
        let words = match self.size() {
            1 => format!("(({buffer}[{place} >> 2u] >> (({place} & 3u) << 3u)) & 0xffu)"),
            2 => format!("(({buffer}[{place} >> 1u] >> (({place} & 1u) << 4u)) & 0xffffu)"),
            4 => format!("{buffer}[{place}]"),
            8 => format!("vec2<u32>({}, {})", word(0), word(1)),
            _ => format!(
                "vec4<u32>({}, {}, {}, {})",
                word(0),
                word(1),
                word(2),
                word(3)
            ),
        };
        self.decode(&words, integers)
    }

    /// The value whose bits these are: a `u32`, or a vector of them.
    pub(crate) fn decode(self, words: &str, integers: WideIntegers) -> String {
        let Self::Of(dtype) = self else {
            return words.to_owned();
        };
        let join = |words: &str| format!("(u64({words}.x) | (u64({words}.y) << 32u))");
        match (dtype.kind(), dtype.itemsize()) {
            (Kind::Bool, _) => format!("({words} != 0u)"),
            (Kind::Signed, 8) | (Kind::Unsigned, 8) if integers == WideIntegers::Pairs => {
                words.to_owned()
            }
            (Kind::Signed, 8) => format!("bitcast<i64>({})", join(words)),
            (Kind::Unsigned, 8) => join(words),
            (Kind::Signed, size) => {
                let unused = 32 - 8 * size;
                format!("(bitcast<i32>({words} << {unused}u) >> {unused}u)")
            }
            (Kind::Unsigned, _) => words.to_owned(),
            (Kind::Float, 8) => format!("bitcast<f64>({})", join(words)),
            (Kind::Float, 4) => format!("bitcast<f32>({words})"),
            (Kind::Float, _) => words.to_owned(),
            (Kind::Complex, 8) => format!("bitcast<vec2<f32>>({words})"),
            (Kind::Complex, _) => {
                let part =
                    |part: &str| format!("bitcast<f64>({})", join(&format!("{words}.{part}")));
                format!("vec2<f64>({}, {})", part("xy"), part("zw"))
            }
        }
    }

    /// The bits of a value, a name: a `u32`, or a vector of them.
    pub(crate) fn encode(self, value: &str, integers: WideIntegers) -> String {
        let Self::Of(dtype) = self else {
            return value.to_owned();
        };
        let split = |bits: String| format!("u32({bits}), u32({bits} >> 32u)");
        match (dtype.kind(), dtype.itemsize()) {
            (Kind::Bool, _) => format!("u32({value})"),
            (Kind::Signed, 8) | (Kind::Unsigned, 8) if integers == WideIntegers::Pairs => {
                value.to_owned()
            }
            (Kind::Signed, 8) | (Kind::Float, 8) => {
                format!("vec2<u32>({})", split(format!("bitcast<u64>({value})")))
            }
            (Kind::Unsigned, 8) => format!("vec2<u32>({})", split(value.to_owned())),
            (Kind::Signed, 4) | (Kind::Float, 4) => format!("bitcast<u32>({value})"),
            (Kind::Signed, size) => {
                format!(
                    "(bitcast<u32>({value}) & {:#x}u)",
                    (1_u32 << (8 * size)) - 1
                )
            }
            (Kind::Unsigned, _) | (Kind::Float, _) => value.to_owned(),
            (Kind::Complex, 8) => format!("bitcast<vec2<u32>>({value})"),
            (Kind::Complex, _) => {
                let part = |part: &str| split(format!("bitcast<u64>({value}.{part})"));
                format!("vec4<u32>({}, {})", part("x"), part("y"))
            }
        }
    }
}

/// The words of a number that a dispatch is told, as [`constant`] reads them.
pub(crate) fn constant_words(scalar: Scalar) -> Vec<u32> {
    let bytes = scalar.to_bytes();
    let size = scalar.dtype().itemsize();
    let words = bytes[..size.next_multiple_of(4)].chunks_exact(4);
    let word = |word: &[u8]| {
        word.iter()
            .rev()
            .fold(0, |bits, byte| bits << 8 | u32::from(*byte))
    };
    words.map(word).collect()
}

/// How many words a number has that a dispatch is told.
pub(crate) fn constant_len(dtype: DType) -> usize {
    dtype.itemsize().div_ceil(4)
}

/// The value of a number that a dispatch is told, from word `first` on.
pub(crate) fn constant(dtype: DType, first: usize, integers: WideIntegers) -> String {
    let words: Vec<String> = (first..first + constant_len(dtype)).map(number).collect();
    let words = match words.len() {
        1 => words.concat(),
        n => format!("vec{n}<u32>({})", words.join(", ")),
    };
    Cell::Of(dtype).decode(&words, integers)
}

/// A word that a dispatch is told.
pub(crate) fn number(index: usize) -> String {
    format!("P[{}].{}", index / 4, ["x", "y", "z", "w"][index % 4])
}
