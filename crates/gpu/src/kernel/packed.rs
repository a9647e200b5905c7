//! Integers of one or two bytes, all of a word at once: where every step is a sum, a difference or a
//! matter of bits, no element is taken out of its word.
//!
//! A sum is formed without the uppermost bit of each element, so that nothing is carried into the
//! next one, and those bits are put to it without a carry.

use allotrope_dtype::DType;
use allotrope_op::{Op, Program, Slot, Step};

/// The bytes of an element, if all of a program is done in whole words.
pub(crate) fn size(program: &Program) -> Option<usize> {
    let size = program.input_dtypes().first()?.itemsize();
    let is_packed = |dtype: &DType| dtype.is_integer() && dtype.itemsize() == size && size < 4;
    let are_packed = program.dtypes().iter().all(is_packed);
    let is_done = program.steps().iter().all(|step| match step {
        Step::Apply { op, .. } => operation(*op, size, ["", ""]).is_some(),
        // Between integers of one width the bits stay.
        Step::Convert { .. } => true,
        Step::Constant(_) | Step::ConversionRest { .. } => false,
    });
    (are_packed && is_done).then_some(size)
}

/// The text of an operation on two vectors of words, or on the first of them.
fn operation(op: Op, size: usize, [a, b]: [&str; 2]) -> Option<String> {
    let top = if size == 1 {
        0x8080_8080_u32
    } else {
        0x8000_8000
    };
    let splat = |word: u32| format!("vec4<u32>({word:#x}u)");
    let (top, rest) = (splat(top), splat(!top));
    Some(match op {
        Op::Add => format!("(({a} & {rest}) + ({b} & {rest})) ^ (({a} ^ {b}) & {top})"),
        Op::Sub => format!("(({a} | {top}) - ({b} & {rest})) ^ (~({a} ^ {b}) & {top})"),
        Op::Neg => format!("({top} - ({a} & {rest})) ^ (~{a} & {top})"),
        Op::BitwiseAnd => format!("{a} & {b}"),
        Op::BitwiseOr => format!("{a} | {b}"),
        Op::BitwiseXor => format!("{a} ^ {b}"),
        Op::BitwiseNot => format!("~{a}"),
        _ => return None,
    })
}

/// The vector of words with this code, a `u32`, in every place.
pub(crate) fn splat(code: &str, size: usize) -> String {
    let ones = if size == 1 {
        0x0101_0101_u32
    } else {
        0x0001_0001
    };
    format!("vec4<u32>({code} * {ones:#x}u)")
}

/// The lines of all steps, given the names of the inputs, and the names of the outputs.
pub(crate) fn lines(
    program: &Program,
    size: usize,
    inputs: &[String],
) -> Option<(String, Vec<String>)> {
    let mut names = inputs.to_vec();
    let mut text = String::new();
    for (k, step) in program.steps().iter().enumerate() {
        let name = |slot: Slot| names.get(usize::from(slot)).cloned();
        let value = match *step {
            Step::Apply {
                op,
                args: [a, b, ..],
            } => {
                let b = if op.arity() == 1 { a } else { b };
                operation(op, size, [&name(a)?, &name(b)?])?
            }
            Step::Convert { from, .. } => name(from)?,
            _ => return None,
        };
        text += &format!("    let t{k} = {value};\n");
        names.push(format!("t{k}"));
    }
    let outputs = program.outputs().iter();
    let outputs = outputs.map(|slot| names.get(usize::from(*slot)).cloned());
    Some((text, outputs.collect::<Option<_>>()?))
}
