//! Elementwise work as a short list of steps, each of which makes one value of earlier ones.

use std::fmt;

use allotrope_dtype::{DType, Kind, Scalar};
use smallvec::SmallVec;

use crate::table::{Op, Signature};

/// The place of a value in a program: inputs first, then one per step.
pub type Slot = u16;

/// The most operands that an operation has.
pub const MAX_ARITY: usize = 4;

/// How one value comes about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// The same number everywhere.
    Constant(Scalar),
    /// A value in another dtype, as a cast with the default rounding and overflow.
    Convert {
        /// What is converted.
        from: Slot,
        /// The new dtype.
        to: DType,
    },
    /// What the conversion of a 64-bit integer to float64 leaves out, as a float64.
    ConversionRest {
        /// The integer.
        from: Slot,
    },
    /// A row of the tables over operands of one compute dtype (but for the condition of a choice).
    Apply {
        /// The operation.
        op: Op,
        /// The operands; those beyond the arity mean nothing.
        args: [Slot; MAX_ARITY],
    },
}

/// Steps with the dtype of each input and value, and the values that come out.
///
/// ```
/// use allotrope_dtype::DType;
/// use allotrope_op::Builder;
/// // tanh(a * b) as one program, of bfloat16.
/// let builder = Builder::new(&[DType::BF16, DType::BF16]);
/// let (a, b) = (builder.input(0).to(DType::F32), builder.input(1).to(DType::F32));
/// let program = builder.finish(&[(a * b).tanh().to(DType::BF16)]);
/// assert_eq!(program.to_string(), "\
/// %0: bfloat16, %1: bfloat16
/// %2: float32 = convert %0
/// %3: float32 = convert %1
/// %4: float32 = mul %2 %3
/// %5: float32 = tanh %4
/// %6: bfloat16 = convert %5
/// return %6
/// ");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    inputs: usize,
    dtypes: SmallVec<[DType; 8]>,
    steps: SmallVec<[Step; 4]>,
    outputs: SmallVec<[Slot; 2]>,
}

impl Program {
    /// A program that so far only reads inputs of these dtypes.
    #[must_use]
    pub fn new(inputs: &[DType]) -> Self {
        Self {
            inputs: inputs.len(),
            dtypes: SmallVec::from_slice(inputs),
            steps: SmallVec::new(),
            outputs: SmallVec::new(),
        }
    }

    /// The number of inputs.
    #[must_use]
    #[inline]
    pub fn input_count(&self) -> usize {
        self.inputs
    }

    /// The dtypes of the inputs.
    #[must_use]
    #[inline]
    pub fn input_dtypes(&self) -> &[DType] {
        &self.dtypes[..self.inputs]
    }

    /// The steps, in order.
    #[must_use]
    #[inline]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The values that come out.
    #[must_use]
    #[inline]
    pub fn outputs(&self) -> &[Slot] {
        &self.outputs
    }

    /// The dtypes of what comes out.
    pub fn output_dtypes(&self) -> impl Iterator<Item = DType> {
        self.outputs.iter().map(|slot| self.dtype(*slot))
    }

    /// The dtype of a value.
    #[must_use]
    #[inline]
    pub fn dtype(&self, slot: Slot) -> DType {
        self.dtypes[usize::from(slot)]
    }

    /// The dtype of every value, inputs first.
    #[must_use]
    #[inline]
    pub fn dtypes(&self) -> &[DType] {
        &self.dtypes
    }

    /// The step that makes a value; `None` for an input.
    pub(crate) fn step(&self, slot: Slot) -> Option<Step> {
        let index = usize::from(slot).checked_sub(self.inputs)?;
        self.steps.get(index).copied()
    }

    /// Another step in the place of one whose value nothing has used yet.
    pub(crate) fn replace(&mut self, slot: Slot, step: Step) -> Slot {
        let dtype = self.result_dtype(step);
        let index = usize::from(slot);
        self.steps[index - self.inputs] = step;
        self.dtypes[index] = dtype;
        slot
    }

    /// Appends a step and gives its place.
    pub fn push(&mut self, step: Step) -> Slot {
        let dtype = self.result_dtype(step);
        self.steps.push(step);
        self.dtypes.push(dtype);
        (self.dtypes.len() - 1) as Slot
    }

    /// The dtype of what a step makes.
    fn result_dtype(&self, step: Step) -> DType {
        match step {
            Step::Constant(scalar) => scalar.dtype(),
            Step::Convert { to, .. } => to,
            Step::ConversionRest { .. } => DType::F64,
            Step::Apply { op, args } => match op.row().signature {
                Signature::Map => self.dtype(args[0]),
                Signature::Real => self.dtype(args[0]).to_real(),
                Signature::Test | Signature::Compare | Signature::Logic => DType::Bool,
                Signature::Select => self.dtype(args[1]),
            },
        }
    }

    /// A value in another dtype; itself if it already has it.
    pub fn convert(&mut self, from: Slot, to: DType) -> Slot {
        if self.dtype(from) == to {
            from
        } else {
            self.push(Step::Convert { from, to })
        }
    }

    /// A row over operands.
    pub fn apply(&mut self, op: Op, operands: &[Slot]) -> Slot {
        let mut args = [0; MAX_ARITY];
        args[..operands.len()].copy_from_slice(operands);
        self.push(Step::Apply { op, args })
    }

    /// Names a value that comes out.
    pub fn output(&mut self, slot: Slot) {
        self.outputs.push(slot);
    }

    /// Whether the steps fit together: every operand exists before it is used, rows read compute
    /// dtypes that they have a formula for, and something comes out.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let fits = |(i, step): (usize, &Step)| {
            let here = self.inputs + i;
            let exists = |slot: &Slot| usize::from(*slot) < here;
            match step {
                Step::Constant(_) => true,
                Step::Convert { from, to } => {
                    exists(from)
                        && (!self.dtype(*from).is_complex()
                            || to.is_complex()
                            || *to == DType::Bool)
                }
                Step::ConversionRest { from } => {
                    exists(from) && matches!(self.dtype(*from), DType::I64 | DType::U64)
                }
                Step::Apply { op, args } => {
                    let args = &args[..op.arity()];
                    args.iter().all(exists) && self.takes(*op, args)
                }
            }
        };
        let total = self.dtypes.len();
        self.steps.iter().enumerate().all(fits)
            && !self.outputs.is_empty()
            && self.outputs.iter().all(|slot| usize::from(*slot) < total)
    }

    /// Whether the operands have dtypes that a row computes in.
    fn takes(&self, op: Op, args: &[Slot]) -> bool {
        let row = op.row();
        let dtype = |i: usize| self.dtype(args[i]);
        match row.signature {
            Signature::Select => dtype(0) == DType::Bool && dtype(1) == dtype(2),
            Signature::Logic => args.iter().all(|slot| self.dtype(*slot) == DType::Bool),
            _ => {
                dtype(0).compute() == dtype(0)
                    && row.cell(dtype(0).kind()) == crate::table::Cell::Formula
                    && args.iter().all(|slot| self.dtype(*slot) == dtype(0))
            }
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inputs = self.input_dtypes().iter().enumerate();
        let inputs: Vec<String> = inputs.map(|(i, dtype)| format!("%{i}: {dtype}")).collect();
        writeln!(f, "{}", inputs.join(", "))?;
        for (i, step) in self.steps.iter().enumerate() {
            let slot = self.inputs + i;
            write!(f, "%{slot}: {} = ", self.dtypes[slot])?;
            match step {
                Step::Constant(scalar) => writeln!(f, "{scalar}")?,
                Step::Convert { from, .. } => writeln!(f, "convert %{from}")?,
                Step::ConversionRest { from } => writeln!(f, "conversion_rest %{from}")?,
                Step::Apply { op, args } => {
                    write!(f, "{}", op.name())?;
                    for arg in &args[..op.arity()] {
                        write!(f, " %{arg}")?;
                    }
                    writeln!(f)?;
                }
            }
        }
        let outputs: Vec<String> = self.outputs.iter().map(|slot| format!("%{slot}")).collect();
        writeln!(f, "return {}", outputs.join(", "))
    }
}

/// The compute dtype that a value of `dtype` is calculated in; bool stays what it is.
#[must_use]
pub fn compute_dtype(dtype: DType) -> DType {
    match dtype.kind() {
        Kind::Bool => DType::Bool,
        _ => dtype.compute(),
    }
}
