//! Comparisons that are exact whatever the dtypes: no value is rounded to meet another.

use allotrope_dtype::{DType, Error, Kind, Policy, Scalar, ScalarKind, WeakScalar, promotion};
use smallvec::SmallVec;

use crate::infer::{Argument, refuse};
use crate::program::{Program, Slot, Step, compute_dtype};
use crate::table::{Cell, Op};

/// Appends the steps that compare two arguments and gives the truth value.
pub(crate) fn compare(
    program: &mut Program,
    op: Op,
    arguments: &[Argument],
) -> Result<Slot, Error> {
    let row = op.row();
    let strict = promotion() == Policy::Strict;
    if let (
        true,
        [
            Argument::Tensor { dtype: a, .. },
            Argument::Tensor { dtype: b, .. },
        ],
    ) = (strict, arguments)
    {
        Policy::Strict.promote_types(row.name, *a, *b)?;
    }
    let partner = |place: usize| match arguments.get(1 - place) {
        Some(Argument::Tensor { dtype, .. }) => Some(*dtype),
        _ => None,
    };
    let mut input = 0;
    let mut slots: SmallVec<[Slot; 2]> = SmallVec::new();
    for (place, argument) in arguments.iter().enumerate() {
        slots.push(match argument {
            Argument::Tensor { .. } => {
                input += 1;
                input - 1
            }
            Argument::Scalar(value) => {
                let scalar = exact_scalar(*value, partner(place));
                program.push(Step::Constant(scalar.map_err(|e| e.in_op(row.name))?))
            }
        });
    }
    let [x, y] = slots[..] else {
        return Ok(0);
    };
    for slot in [x, y] {
        let dtype = program.dtype(slot);
        if row.cell(dtype.kind()) == Cell::Refuse {
            return Err(refuse(row, dtype));
        }
    }
    Ok(compare_values(program, op, x, y))
}

/// A scalar in a dtype that its comparison with a tensor of `dtype` is exact in: a float is rounded
/// to a float dtype, as in arithmetic, and an integer keeps its value.
pub(crate) fn exact_scalar(value: WeakScalar, dtype: Option<DType>) -> Result<Scalar, Error> {
    let alone = match value {
        WeakScalar::Bool(_) => DType::Bool,
        WeakScalar::Int(value) if i64::try_from(value).is_ok() => DType::I64,
        WeakScalar::Int(value) if u64::try_from(value).is_ok() => DType::U64,
        WeakScalar::Int(_) | WeakScalar::Float(_) => DType::F64,
        WeakScalar::Complex(_) => DType::C128,
    };
    let fits = |dtype: &DType| match value {
        WeakScalar::Int(value) => match dtype.integer_range() {
            Some((least, most)) => (least..=most).contains(&value),
            None => matches!(
                Scalar::new(value, dtype.to_real()).map(Scalar::value),
                Ok(WeakScalar::Float(float)) if float.abs() < 1e30 && float as i128 == value
            ),
        },
        _ => value.kind() <= ScalarKind::of(*dtype),
    };
    let chosen = dtype.filter(|d| *d != DType::Bool).filter(fits);
    Scalar::new(value, chosen.unwrap_or(alone))
}

/// Compares two values of any dtypes.
fn compare_values(program: &mut Program, op: Op, x: Slot, y: Slot) -> Slot {
    let (a, b) = (program.dtype(x), program.dtype(y));
    let wide = |d: DType| matches!(d, DType::I64 | DType::U64);
    if a.is_complex() != b.is_complex() {
        return compare_parts(program, op, x, y);
    }
    match (a.kind(), b.kind()) {
        (Kind::Float, _) if wide(b) => compare_rounded(program, reversed(op), y, x),
        (_, Kind::Float) if wide(a) => compare_rounded(program, op, x, y),
        (Kind::Signed, Kind::Unsigned) if b == DType::U64 => {
            compare_signs(program, reversed(op), y, x)
        }
        (Kind::Unsigned, Kind::Signed) if a == DType::U64 => compare_signs(program, op, x, y),
        _ => {
            let dtype = exact_common(a, b);
            let (x, y) = (program.convert(x, dtype), program.convert(y, dtype));
            program.apply(op, &[x, y])
        }
    }
}

/// A compute dtype that holds every value of both.
fn exact_common(a: DType, b: DType) -> DType {
    if a == b {
        return compute_dtype(a);
    }
    let holds = |d: &DType| a.fits_in(*d) && b.fits_in(*d) && compute_dtype(*d) == *d;
    let candidates = DType::ALL.into_iter().filter(holds);
    candidates
        .min_by_key(|d| (d.kind().rung(), d.bits()))
        .unwrap_or(DType::F64)
}

/// A real and a complex number are equal if the real parts are and there is no imaginary one.
fn compare_parts(program: &mut Program, op: Op, x: Slot, y: Slot) -> Slot {
    let (complex, real) = if program.dtype(x).is_complex() {
        (x, y)
    } else {
        (y, x)
    };
    let re = program.apply(Op::RealPart, &[complex]);
    let im = program.apply(Op::ImagPart, &[complex]);
    let same = compare_values(program, Op::Eq, re, real);
    let zero = program.apply(Op::Sub, &[im, im]);
    let flat = program.apply(Op::Eq, &[im, zero]);
    let equal = program.apply(Op::BitwiseAnd, &[same, flat]);
    if op == Op::Ne {
        program.apply(Op::BitwiseNot, &[equal])
    } else {
        equal
    }
}

/// A 64-bit integer and a float: rounding keeps the order, and what it left out breaks the tie.
fn compare_rounded(program: &mut Program, op: Op, integer: Slot, float: Slot) -> Slot {
    let y = program.convert(float, DType::F64);
    let head = program.convert(integer, DType::F64);
    let rest = program.push(Step::ConversionRest { from: integer });
    let zero = program.apply(Op::Sub, &[rest, rest]);
    let tied = program.apply(Op::Eq, &[head, y]);
    let tail = program.apply(op, &[rest, zero]);
    match op {
        Op::Eq => program.apply(Op::BitwiseAnd, &[tied, tail]),
        Op::Ne => {
            let apart = program.apply(Op::BitwiseNot, &[tied]);
            program.apply(Op::BitwiseOr, &[apart, tail])
        }
        _ => {
            let order = if matches!(op, Op::Lt | Op::Le) {
                Op::Lt
            } else {
                Op::Gt
            };
            let decided = program.apply(order, &[head, y]);
            let broken = program.apply(Op::BitwiseAnd, &[tied, tail]);
            program.apply(Op::BitwiseOr, &[decided, broken])
        }
    }
}

/// A uint64 and a signed integer: a negative one is less, others compare as uint64.
fn compare_signs(program: &mut Program, op: Op, unsigned: Slot, signed: Slot) -> Slot {
    let signed = program.convert(signed, DType::I64);
    let zero = program.apply(Op::Sub, &[signed, signed]);
    let negative = program.apply(Op::Lt, &[signed, zero]);
    let wrapped = program.convert(signed, DType::U64);
    let answer = program.apply(op, &[unsigned, wrapped]);
    if matches!(op, Op::Gt | Op::Ge | Op::Ne) {
        program.apply(Op::BitwiseOr, &[negative, answer])
    } else {
        let positive = program.apply(Op::BitwiseNot, &[negative]);
        program.apply(Op::BitwiseAnd, &[positive, answer])
    }
}

/// The comparison with its sides exchanged.
fn reversed(op: Op) -> Op {
    match op {
        Op::Lt => Op::Gt,
        Op::Gt => Op::Lt,
        Op::Le => Op::Ge,
        Op::Ge => Op::Le,
        other => other,
    }
}
