//! What folds hold while they are at it: how an item becomes a state, how two become one, and how the
//! last is rounded, once.
//!
//! Sums and products of float32 are held in float64. A device without it holds sums in two float32, of
//! which the second is what the first has lost by rounding; so are sums of float64 everywhere.

use allotrope_dtype::DType;
use allotrope_op::wgsl::{Function, WideIntegers};
use allotrope_op::{Fold, Op, Scan};

use crate::codec::Cell;

/// How a fold is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Held {
    /// As a number of this dtype.
    Number(DType),
    /// As a sum of this dtype and what it lost, both parts of a pair.
    Sum(DType),
    /// As two such sums of float32.
    ComplexSum,
}

/// What folds hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    op: Op,
    item: DType,
    held: Held,
}

/// The functions `keep`, `join_sums` and `last` of sums in two parts.
const SUMS: &str = "\
fn keep(x: FLOAT) -> FLOAT {
    return bitcast<FLOAT>(min(bitcast<WORD>(x), MOST));
}
fn is_number(x: FLOAT) -> bool {
    return (bitcast<WORD>(x) & INFINITY) != INFINITY;
}
fn join_sums(a: vec2<FLOAT>, b: vec2<FLOAT>) -> vec2<FLOAT> {
    let sum = keep(a.x + b.x);
    let back = keep(sum - a.x);
    let lost = keep(keep(a.x - keep(sum - back)) + keep(b.x - back));
    let rest = keep(a.y + b.y);
    return vec2<FLOAT>(sum, select(rest, rest + lost, is_number(lost)));
}
fn to_odd(s: vec2<FLOAT>) -> FLOAT {
    let sum = keep(s.x + s.y);
    let lost = keep(s.y - keep(sum - s.x));
    let word = bitcast<WORD>(sum);
    if (lost == ZEROF || !is_number(lost) || !is_number(sum)) {
        return sum;
    }
    let is_over = ((word ^ bitcast<WORD>(lost)) & SIGN) != ZERO;
    return bitcast<FLOAT>((word - select(ZERO, ONE, is_over)) | ONE);
}
";

const WORDS_32: [(&str, &str); 8] = [
    ("ZEROF", "0.0f"),
    ("FLOAT", "f32"),
    ("WORD", "u32"),
    ("MOST", "0xfffffffeu"),
    ("INFINITY", "0x7f800000u"),
    ("SIGN", "0x80000000u"),
    ("ZERO", "0u"),
    ("ONE", "1u"),
];

const WORDS_64: [(&str, &str); 8] = [
    ("ZEROF", "0.0lf"),
    ("FLOAT", "f64"),
    ("WORD", "u64"),
    ("MOST", "0xfffffffffffffffelu"),
    ("INFINITY", "0x7ff0000000000000lu"),
    ("SIGN", "0x8000000000000000lu"),
    ("ZERO", "0lu"),
    ("ONE", "1lu"),
];

impl State {
    /// What a reduction of items of a stored dtype holds.
    pub(crate) fn of_fold(fold: Fold, item: DType, float64: bool) -> Self {
        let op = match fold {
            Fold::Sum => Op::Add,
            Fold::Prod => Op::Mul,
            Fold::Max => Op::Maximum,
            Fold::Min => Op::Minimum,
        };
        Self::new(op, item, float64)
    }

    /// The same for prefixes.
    pub(crate) fn of_scan(scan: Scan, item: DType, float64: bool) -> Self {
        let op = match scan {
            Scan::Sum => Op::Add,
            Scan::Prod => Op::Mul,
            Scan::LogSumExp => Op::Logaddexp,
        };
        Self::new(op, item, float64)
    }

    fn new(op: Op, item: DType, float64: bool) -> Self {
        let held = match (op, item) {
            (Op::Add | Op::Mul, DType::F32) if float64 => Held::Number(DType::F64),
            (Op::Add | Op::Mul, DType::C64) if float64 => Held::Number(DType::C128),
            (Op::Add, DType::F32 | DType::F64) => Held::Sum(item),
            (Op::Add, DType::C64) => Held::ComplexSum,
            _ => Held::Number(item),
        };
        Self { op, item, held }
    }

    /// What the texts depend on.
    pub(crate) fn key(&self) -> String {
        format!("{:?} {} {:?}", self.op, self.item.name(), self.held)
    }

    /// How a state is stored.
    pub(crate) fn cell(&self) -> Cell {
        match self.held {
            Held::Number(dtype) => Cell::Of(dtype),
            Held::Sum(DType::F32) => Cell::Of(DType::C64),
            Held::Sum(_) => Cell::Of(DType::C128),
            Held::ComplexSum => Cell::Raw(16),
        }
    }

    /// The functions that the text calls: `lifted`, `join` and `rounded`, where they are rows or casts.
    pub(crate) fn functions(&self, to: DType) -> Option<Vec<(&'static str, Function)>> {
        let mut functions = Vec::new();
        let from = match self.held {
            Held::Number(dtype) => {
                functions.push(("join", Function::of_row(self.op, dtype)?));
                functions.push(("lifted", Function::of_cast(self.item, dtype)?));
                dtype
            }
            Held::Sum(dtype) => dtype,
            Held::ComplexSum => DType::C64,
        };
        functions.push(("rounded", Function::of_cast(from, to)?));
        Some(functions)
    }

    /// The functions `lift`, `join` and `finish`, beside those of [`Self::functions`].
    pub(crate) fn text(&self, to: DType, integers: WideIntegers) -> String {
        let item = Cell::Of(self.item).type_name(integers);
        let state = self.cell().type_name(integers);
        let result = Cell::Of(to).type_name(integers);
        let fill = |words: [(&str, &str); 8]| {
            let fill = |text: String, (word, value): (&str, &str)| text.replace(word, value);
            words.into_iter().fold(SUMS.to_owned(), fill)
        };
        match self.held {
            Held::Number(_) => format!(
                "fn lift(x: {item}) -> {state} {{ return lifted(x); }}\n\
                 fn finish(s: {state}) -> {result} {{ return rounded(s); }}\n"
            ),
            Held::Sum(dtype) => {
                let (sums, zero) = match dtype {
                    DType::F32 => (fill(WORDS_32), "0.0f"),
                    _ => (fill(WORDS_64), "0.0lf"),
                };
                let last = if to == dtype {
                    "s.x + s.y"
                } else {
                    "to_odd(s)"
                };
                format!(
                    "{sums}fn lift(x: {item}) -> {state} {{ return {state}(x, {zero}); }}\n\
                     fn join(a: {state}, b: {state}) -> {state} {{ return join_sums(a, b); }}\n\
                     fn finish(s: {state}) -> {result} {{ return rounded({last}); }}\n"
                )
            }
            Held::ComplexSum => format!(
                "{}fn lift(x: {item}) -> {state} {{ \
                 return vec4<u32>(bitcast<vec2<u32>>(x), 0u, 0u); }}\n\
                 fn join(x: {state}, y: {state}) -> {state} {{\n    \
                 let a = bitcast<vec4<f32>>(x);\n    let b = bitcast<vec4<f32>>(y);\n    \
                 let re = join_sums(a.xz, b.xz);\n    let im = join_sums(a.yw, b.yw);\n    \
                 return bitcast<vec4<u32>>(vec4<f32>(re.x, im.x, re.y, im.y));\n}}\n\
                 fn finish(x: {state}) -> {result} {{\n    \
                 let s = bitcast<vec4<f32>>(x);\n    \
                 return rounded(s.xy + s.zw);\n}}\n",
                fill(WORDS_32)
            ),
        }
    }
}
