//! Which dtypes an operation computes in and gives, as the program of that one operation.
//!
//! An operand is converted to the common dtype as by `to` and then decoded; only where the common
//! dtype holds all its values is the way through it left out. So `int32 + float16` rounds the
//! integer to float16 first, as torch does.

use allotrope_dtype::{
    DType, Error, Kind, Operand, Policy, Scalar, Set, WeakScalar, default_dtype, promotion,
};
use smallvec::SmallVec;

use crate::compare::{compare, exact_scalar};
use crate::program::{Program, Slot, Step, compute_dtype};
use crate::table::{Cell, Op, Row, Signature, float_of};

/// What an operation is applied to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Argument {
    /// A tensor: an input of the program.
    Tensor {
        /// Its dtype.
        dtype: DType,
        /// Whether it has no dimensions, which only torch's promotion asks.
        is_zero_dim: bool,
    },
    /// A number without a dtype of its own: a constant of the program.
    Scalar(WeakScalar),
}

impl Argument {
    /// The argument as promotion sees it.
    #[must_use]
    pub fn operand(&self) -> Operand {
        match *self {
            Self::Tensor {
                dtype,
                is_zero_dim: false,
            } => Operand::Array(dtype),
            Self::Tensor { dtype, .. } => Operand::ZeroDim(dtype),
            Self::Scalar(value) => Operand::Scalar(value.kind()),
        }
    }
}

/// The program of one operation: its inputs are the tensors among the arguments, in order, and its
/// one output has the dtype of the result.
///
/// ```
/// use allotrope_dtype::{DType, WeakScalar};
/// use allotrope_op::{Argument, Op, infer};
/// let bytes = Argument::Tensor { dtype: DType::U8, is_zero_dim: false };
/// let half = Argument::Scalar(WeakScalar::Float(0.5));
/// let program = infer(Op::Mul, &[bytes, half])?;
/// assert_eq!(program.output_dtypes().next(), Some(DType::F32));
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
///
/// # Errors
/// A dtype error where promotion refuses or the operation has no meaning for the dtype, an overflow
/// error for a scalar that its dtype cannot hold.
pub fn infer(op: Op, arguments: &[Argument]) -> Result<Program, Error> {
    let (op, arguments) = simplify(op, arguments);
    let row = op.row();
    let tensors = arguments.iter().filter_map(|argument| match argument {
        Argument::Tensor { dtype, .. } => Some(*dtype),
        Argument::Scalar(_) => None,
    });
    let mut program = Program::new(&tensors.collect::<SmallVec<[DType; 4]>>());
    let result = match row.signature {
        Signature::Compare => compare(&mut program, op, arguments)?,
        Signature::Logic => {
            let truths = convert_all(&mut program, row, arguments, DType::Bool)?;
            program.apply(op, &truths)
        }
        Signature::Select => {
            let condition = convert_all(&mut program, row, &arguments[..1], DType::Bool)?;
            let common = common_dtype(row, &arguments[1..])?;
            let skipped = usize::from(matches!(arguments[0], Argument::Tensor { .. }));
            let numbers = convert_from(&mut program, row, &arguments[1..], common, skipped)?;
            program.apply(op, &[condition[0], numbers[0], numbers[1]])
        }
        Signature::Map | Signature::Real | Signature::Test => {
            let dtype = working_dtype(row, common_dtype(row, arguments)?)?;
            let compute = compute_dtype(dtype);
            let mut operands = convert_all(&mut program, row, arguments, dtype)?;
            for (slot, argument) in operands.iter_mut().zip(arguments) {
                *slot = decoded(&mut program, *slot, compute);
                if let Argument::Scalar(value) = argument
                    && has_parameters(op)
                    && let Ok(wide) = Scalar::new(*value, compute)
                {
                    *slot = program.replace(*slot, Step::Constant(wide));
                }
            }
            let result = if op == Op::Nextafter && dtype != compute {
                step_in_format(&mut program, dtype, &operands)
            } else {
                program.apply(op, &operands)
            };
            match row.signature {
                Signature::Map => program.convert(result, dtype),
                Signature::Real => program.convert(result, dtype.to_real()),
                _ => result,
            }
        }
    };
    program.output(result);
    Ok(program)
}

/// The number that a row of two operands is applied to beside a tensor of a compute dtype, where
/// [`infer`] makes nothing but that of them; `None` also for what it refuses.
#[must_use]
pub fn number_beside(op: Op, tensor: &Argument, number: WeakScalar) -> Option<Scalar> {
    let Argument::Tensor { dtype, .. } = *tensor else {
        return None;
    };
    let scalar = match op.row().signature {
        Signature::Compare => exact_scalar(number, Some(dtype)),
        _ if op == Op::Pow || has_parameters(op) => return None,
        _ => {
            let operands = [tensor.operand(), Operand::Scalar(number.kind())];
            let common = promotion().result_type(op.name(), &operands, default_dtype());
            common.and_then(|common| Scalar::new(number, common))
        }
    };
    scalar.ok().filter(|scalar| scalar.dtype() == dtype)
}

/// A power by a small number as what it is.
fn simplify(op: Op, arguments: &[Argument]) -> (Op, &[Argument]) {
    let [
        base @ Argument::Tensor { dtype, .. },
        Argument::Scalar(exponent),
    ] = arguments
    else {
        return (op, arguments);
    };
    let base = std::slice::from_ref(base);
    match (op, exponent) {
        (Op::Pow, WeakScalar::Int(2)) if *dtype != DType::Bool => (Op::Square, base),
        (Op::Pow, WeakScalar::Float(2.0)) if Set::Inexact.contains(*dtype) => (Op::Square, base),
        _ => (op, arguments),
    }
}

/// The dtype that the arguments have in common.
fn common_dtype(row: &Row, arguments: &[Argument]) -> Result<DType, Error> {
    let policy = promotion();
    if let [Argument::Tensor { dtype, .. }, rest @ ..] = arguments {
        let same = |other: &Argument| match other {
            Argument::Tensor { dtype: d, .. } => d == dtype,
            Argument::Scalar(_) => false,
        };
        // The usual case, without a look at the tables.
        if *dtype != DType::Bool && rest.iter().all(same) {
            return Ok(*dtype);
        }
    }
    let operands: SmallVec<[Operand; 4]> = arguments.iter().map(Argument::operand).collect();
    policy.result_type(row.name, &operands, default_dtype())
}

/// The dtype that the row works in, given the common one.
fn working_dtype(row: &Row, common: DType) -> Result<DType, Error> {
    if common == DType::Bool && counts_truth(row) && promotion() == Policy::Strict {
        let hint = Some("x.to(int64)");
        return Err(Error::not_in_set(row.name, common, Set::Number, hint));
    }
    match row.cell(common.kind()) {
        Cell::Formula => Ok(common),
        Cell::Integer => Ok(DType::I64),
        Cell::Promote => float_of(row.name, common),
        Cell::Refuse => Err(refuse(row, common)),
    }
}

/// Whether the row takes truth values for the numbers 0 and 1.
fn counts_truth(row: &Row) -> bool {
    let is_sum_or_product = matches!(row.op, Op::Add | Op::Mul | Op::Square | Op::Addcmul);
    is_sum_or_product || row.bool == Cell::Integer
}

/// The row has no meaning for a dtype.
#[cold]
pub(crate) fn refuse(row: &Row, dtype: DType) -> Error {
    let hint = match (row.op, dtype.kind()) {
        (Op::Sub, Kind::Bool) => Some("bitwise_xor, or x.to(int64)"),
        (Op::Neg, Kind::Bool) => Some("logical_not, or x.to(int64)"),
        (_, Kind::Complex) if row.signature == Signature::Compare => Some("compare x.abs()"),
        (_, Kind::Complex) if row.float != Cell::Refuse => Some("x.real or x.abs()"),
        (_, Kind::Float) if row.int != Cell::Refuse => Some("x.to(int64)"),
        _ => None,
    };
    Error::not_in_set(row.name, dtype, row.accepted(), hint)
}

/// All arguments in one dtype: inputs are converted, scalars become constants.
fn convert_all(
    program: &mut Program,
    row: &Row,
    arguments: &[Argument],
    dtype: DType,
) -> Result<SmallVec<[Slot; 4]>, Error> {
    convert_from(program, row, arguments, dtype, 0)
}

/// The same where the first tensor among the arguments is input number `first`.
fn convert_from(
    program: &mut Program,
    row: &Row,
    arguments: &[Argument],
    dtype: DType,
    first: usize,
) -> Result<SmallVec<[Slot; 4]>, Error> {
    let mut input = first as Slot;
    let slots = arguments.iter().map(|argument| match argument {
        Argument::Tensor { .. } => {
            input += 1;
            Ok(program.convert(input - 1, dtype))
        }
        Argument::Scalar(value) if dtype == DType::Bool => {
            let truth = WeakScalar::Bool(is_true(*value));
            Ok(program.push(Step::Constant(Scalar::new(truth, dtype)?)))
        }
        Argument::Scalar(value) => {
            let scalar = Scalar::new(*value, dtype).map_err(|error| error.in_op(row.name))?;
            Ok(program.push(Step::Constant(scalar)))
        }
    });
    slots.collect()
}

/// Whether numbers among the operands are parameters of the function, which is computed with all their
/// digits: a slope of 0.01 is 0.01 in bfloat16 too, as in torch.
fn has_parameters(op: Op) -> bool {
    matches!(op, Op::LeakyRelu | Op::Elu | Op::Celu | Op::Softplus)
}

/// A value in its compute dtype. Steps that a wider one makes unnecessary are replaced.
fn decoded(program: &mut Program, slot: Slot, compute: DType) -> Slot {
    match program.step(slot) {
        // Exact in the narrow dtype, so that the way through it changes nothing.
        Some(Step::Convert { from, to }) if to != compute && program.dtype(from).fits_in(to) => {
            program.replace(slot, Step::Convert { from, to: compute })
        }
        Some(Step::Constant(scalar)) => match Scalar::new(scalar.value(), compute) {
            Ok(wide) => program.replace(slot, Step::Constant(wide)),
            Err(_) => program.convert(slot, compute),
        },
        _ => program.convert(slot, compute),
    }
}

/// The next number of a format narrower than its compute type.
fn step_in_format(program: &mut Program, dtype: DType, operands: &[Slot]) -> Slot {
    let limits = dtype.finfo();
    let (unit, smallest) = limits.map_or((1.0, 1.0), |info| (info.eps, info.smallest_subnormal));
    let compute = program.dtype(operands[0]);
    let mut constant = |value: f64| match Scalar::new(value, compute) {
        Ok(scalar) => program.push(Step::Constant(scalar)),
        Err(_) => operands[0],
    };
    let (unit, smallest) = (constant(unit), constant(smallest));
    program.apply(Op::NextafterIn, &[operands[0], operands[1], unit, smallest])
}

fn is_true(value: WeakScalar) -> bool {
    match value {
        WeakScalar::Bool(value) => value,
        WeakScalar::Int(value) => value != 0,
        WeakScalar::Float(value) => value != 0.0,
        WeakScalar::Complex(value) => value.re != 0.0 || value.im != 0.0,
    }
}
