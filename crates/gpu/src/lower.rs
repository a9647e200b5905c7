//! Programs in the dtypes that a device stores, with their constants as inputs.
//!
//! A constant that a shader is told serves every value of it with one pipeline, and no compiler
//! simplifies by it.

use allotrope_dtype::{Capabilities, DType, Error, Scalar, WeakScalar};
use allotrope_op::{Op, Program, Slot, Step};
use smallvec::SmallVec;

/// A program for a device.
#[derive(Debug)]
pub(crate) struct Lowered {
    /// The program; inputs beyond those of the original are constants.
    pub(crate) program: Program,
    /// The constants, in order.
    pub(crate) constants: SmallVec<[Scalar; 2]>,
}

/// A scalar in a dtype that may be narrower, rounded as a cast does.
fn narrowed(scalar: Scalar, dtype: DType) -> Result<Scalar, Error> {
    if scalar.dtype() == dtype {
        return Ok(scalar);
    }
    let bytes = scalar.to_bytes();
    let mut narrow = [0; 16];
    crate::memory::narrow(&bytes[..scalar.dtype().itemsize()], &mut narrow);
    Scalar::from_bytes(dtype, &narrow[..dtype.itemsize()])
}

/// The program as a device with these answers computes it.
pub(crate) fn lower(program: &Program, answers: &Capabilities) -> Result<Lowered, Error> {
    let stored = |dtype| answers.storage(dtype);
    let mut constants: SmallVec<[Scalar; 2]> = SmallVec::new();
    for step in program.steps() {
        if let Step::Constant(scalar) = step {
            constants.push(narrowed(*scalar, stored(scalar.dtype()))?);
        }
    }
    let extra = constants.iter().map(|scalar| scalar.dtype());
    let inputs: Vec<DType> = (program.input_dtypes().iter().map(|d| stored(*d)))
        .chain(extra)
        .collect();
    let mut lowered = Program::new(&inputs);
    let mut slots: Vec<Slot> = (0..program.input_count() as Slot).collect();
    let mut next_constant = program.input_count() as Slot;
    for step in program.steps() {
        let of = |slot: &Slot| slots.get(usize::from(*slot)).copied().unwrap_or_default();
        let slot = match step {
            Step::Constant(_) => {
                next_constant += 1;
                next_constant - 1
            }
            Step::Convert { from, to } => lowered.convert(of(from), stored(*to)),
            Step::ConversionRest { from } if stored(DType::F64) == DType::F64 => {
                lowered.push(Step::ConversionRest { from: of(from) })
            }
            Step::ConversionRest { from } => conversion_rest(&mut lowered, of(from))?,
            Step::Apply { op, args } => {
                let args: SmallVec<[Slot; 4]> = args[..op.arity()].iter().map(of).collect();
                lowered.apply(*op, &args)
            }
        };
        slots.push(slot);
    }
    for slot in program.outputs() {
        lowered.output(slots.get(usize::from(*slot)).copied().unwrap_or_default());
    }
    Ok(Lowered {
        program: lowered,
        constants,
    })
}

/// What the conversion of a 64-bit integer to float32 leaves out: nothing if and only if it is
/// exact, and else a number of the right sign.
fn conversion_rest(program: &mut Program, from: Slot) -> Result<Slot, Error> {
    let dtype = program.dtype(from);
    let float = program.convert(from, DType::F32);
    let back = program.convert(float, dtype);
    let rest = program.apply(Op::Sub, &[from, back]);
    let rest = program.convert(rest, DType::I64);
    // The float beyond the range came back as the last integer in it: one more is left out.
    let digits = if dtype == DType::U64 { 64 } else { 63 };
    let beyond = Scalar::new(WeakScalar::Float(f64::powi(2.0, digits)), DType::F32)?;
    let beyond = program.push(Step::Constant(beyond));
    let is_beyond = program.apply(Op::Ge, &[float, beyond]);
    let more = program.convert(is_beyond, DType::I64);
    let rest = program.apply(Op::Sub, &[rest, more]);
    Ok(program.convert(rest, DType::F32))
}
