//! The derivative of whole programs.

use std::sync::OnceLock;

use allotrope_dtype::{DType, Scalar, Set};
use smallvec::SmallVec;

use crate::build::{Builder, Var};
use crate::derivative::gradients;
use crate::program::{MAX_ARITY, Program, Slot, Step, compute_dtype};
use crate::table::{Op, Signature};

/// The gradient of a program: what it reads, and the program that makes the gradients of inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Differential {
    /// Makes one gradient per wanted input, in the compute dtype of the input.
    pub program: Program,
    /// What the program reads, in the order of its inputs.
    pub reads: SmallVec<[Read; 4]>,
}

/// Something that the gradient of a program is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// An input of the program.
    Input(usize),
    /// An output of it.
    Output(usize),
    /// The gradient of an output.
    Gradient(usize),
}

/// The program that makes the gradients of the wanted inputs from the gradients of the outputs, of
/// which it takes those that have a dtype. What it needs of the outputs themselves it reads where
/// `offers` says so, and else computes again from the inputs.
///
/// ```
/// use allotrope_dtype::DType;
/// use allotrope_op::{Builder, Read, differentiate};
/// let builder = Builder::new(&[DType::F32]);
/// let program = builder.finish(&[builder.input(0).exp()]);
/// let back = differentiate(&program, &[true], true, &[Some(DType::F32)]);
/// assert_eq!(back.reads[..], [Read::Output(0), Read::Gradient(0)]);
/// assert_eq!(back.program.to_string(), "\
/// %0: float32, %1: float32
/// %2: float32 = mul %1 %0
/// return %2
/// ");
/// ```
#[must_use]
pub fn differentiate(
    program: &Program,
    wanted: &[bool],
    offers: bool,
    gradient_dtypes: &[Option<DType>],
) -> Differential {
    let inputs = program.input_count();
    let outputs = program.outputs();
    let mut dtypes: SmallVec<[DType; 8]> = SmallVec::from_slice(program.input_dtypes());
    dtypes.extend(program.output_dtypes());
    dtypes.extend(gradient_dtypes.iter().map(|d| d.unwrap_or(DType::Bool)));
    let builder = Builder::new(&dtypes);
    let values = replay(program, &builder, offers);
    let depends = dependent(program, wanted);
    let mut adjoint: Vec<Option<Var<'_>>> = vec![None; program.dtypes().len()];
    for (i, slot) in outputs.iter().enumerate() {
        let place = usize::from(*slot);
        if gradient_dtypes.get(i).is_some_and(Option::is_some) && depends[place] {
            let gradient = builder.input(inputs + outputs.len() + i);
            collect(&mut adjoint[place], fitted(gradient, program.dtype(*slot)));
        }
    }
    for (i, step) in program.steps().iter().enumerate().rev() {
        let Some(gradient) = adjoint[inputs + i] else {
            continue;
        };
        match step {
            Step::Constant(_) | Step::ConversionRest { .. } => {}
            Step::Convert { from, .. } => {
                let from = usize::from(*from);
                if depends[from] {
                    collect(&mut adjoint[from], fitted(gradient, program.dtypes()[from]));
                }
            }
            Step::Apply { op, args } => {
                let operands: SmallVec<[Var<'_>; MAX_ARITY]> = args[..op.arity()]
                    .iter()
                    .map(|slot| values[usize::from(*slot)])
                    .collect();
                let Some(each) = gradients(*op, &operands, values[inputs + i], gradient) else {
                    continue;
                };
                for (slot, gradient) in args.iter().zip(each) {
                    let place = usize::from(*slot);
                    if depends[place] {
                        collect(&mut adjoint[place], fitted(gradient, program.dtype(*slot)));
                    }
                }
            }
        }
    }
    let results: Vec<Var<'_>> = (0..inputs)
        .filter(|i| wanted.get(*i) == Some(&true))
        .map(|i| {
            let zero = || zero_of(&builder, compute_dtype(program.dtypes()[i]));
            adjoint[i].unwrap_or_else(zero)
        })
        .collect();
    let (program, used) = builder.finish(&results).pruned();
    let reads = used.into_iter().map(|input| {
        if input < inputs {
            Read::Input(input)
        } else if input < inputs + outputs.len() {
            Read::Output(input - inputs)
        } else {
            Read::Gradient(input - inputs - outputs.len())
        }
    });
    Differential {
        program,
        reads: reads.collect(),
    }
}

/// The first operation of a program of which a derivative is wanted that it has not.
#[must_use]
pub fn without_derivative(program: &Program, wanted: &[bool]) -> Option<Op> {
    if !program.steps().iter().any(lacks_one) {
        return None;
    }
    let depends = dependent(program, wanted);
    let lacking = program.steps().iter().filter(|step| lacks_one(step));
    lacking.into_iter().find_map(|step| match step {
        Step::Apply { op, args } if depends[usize::from(args[0])] => Some(*op),
        _ => None,
    })
}

fn lacks_one(step: &Step) -> bool {
    matches!(step, Step::Apply { op, .. } if op.row().lacks_first)
}

/// The values of a program in another that has its inputs first, then its outputs. Outputs that are
/// offered, and have the precision that was computed in, are read instead of being computed.
fn replay<'b>(program: &Program, builder: &'b Builder, offers: bool) -> Vec<Var<'b>> {
    let inputs = program.input_count();
    let mut values: Vec<Var<'b>> = (0..inputs).map(|i| builder.input(i)).collect();
    for (i, step) in program.steps().iter().enumerate() {
        let slot = (inputs + i) as Slot;
        let output = program.outputs().iter().position(|output| *output == slot);
        let value = match (output, step) {
            (Some(output), Step::Apply { .. }) if offers => builder.input(inputs + output),
            (_, Step::Constant(scalar)) => builder.constant(*scalar),
            (_, Step::Convert { from, to }) => values[usize::from(*from)].to(*to),
            (_, Step::ConversionRest { from }) => values[usize::from(*from)].conversion_rest(),
            (_, Step::Apply { op, args }) => {
                let operands: SmallVec<[Var<'b>; MAX_ARITY]> = args[..op.arity()]
                    .iter()
                    .map(|slot| values[usize::from(*slot)])
                    .collect();
                builder.apply(*op, &operands)
            }
        };
        values.push(value);
    }
    values
}

/// Which values change with the wanted inputs and have a gradient at all.
fn dependent(program: &Program, wanted: &[bool]) -> Vec<bool> {
    let inexact = |slot: usize| Set::Inexact.contains(program.dtypes()[slot]);
    let mut depends: Vec<bool> = (0..program.input_count())
        .map(|i| wanted.get(i) == Some(&true) && inexact(i))
        .collect();
    for step in program.steps() {
        let moves = match step {
            Step::Constant(_) | Step::ConversionRest { .. } => false,
            Step::Convert { from, .. } => depends[usize::from(*from)],
            Step::Apply { op, args } => args[..op.arity()]
                .iter()
                .any(|slot| depends[usize::from(*slot)]),
        };
        depends.push(moves && inexact(depends.len()));
    }
    depends
}

/// Adds a gradient to what has come before.
fn collect<'b>(sum: &mut Option<Var<'b>>, gradient: Var<'b>) {
    *sum = Some(sum.map_or(gradient, |sum| sum + gradient));
}

/// A gradient in the dtype that values of a dtype are computed in; of a real value its real part.
fn fitted(gradient: Var<'_>, dtype: DType) -> Var<'_> {
    let compute = compute_dtype(dtype);
    if gradient.dtype().is_complex() && !compute.is_complex() {
        gradient.real().to(compute)
    } else {
        gradient.to(compute)
    }
}

fn zero_of(builder: &Builder, dtype: DType) -> Var<'_> {
    builder.constant(Scalar::zero(dtype))
}

/// What the gradient of an operand of a row is made of, besides the gradient of the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// The operands that are read, a bit for each.
    pub operands: u8,
    /// Whether the result is read.
    pub result: bool,
}

impl Needs {
    /// What two gradients together are made of.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            operands: self.operands | other.operands,
            result: self.result || other.result,
        }
    }
}

impl Op {
    /// What the gradient of an operand is made of, for real or for complex numbers.
    #[must_use]
    pub fn needs(self, operand: usize, is_complex: bool) -> Needs {
        type Rows = [[Needs; MAX_ARITY]; 2];
        static ROWS: [OnceLock<Rows>; Op::ALL.len()] = [const { OnceLock::new() }; Op::ALL.len()];
        let rows = ROWS[self as usize].get_or_init(|| {
            [DType::F32, DType::C64].map(|dtype| {
                let mut row = [Needs::default(); MAX_ARITY];
                for (operand, needs) in row.iter_mut().enumerate().take(self.arity()) {
                    *needs = self.find_needs(operand, dtype);
                }
                row
            })
        });
        rows[usize::from(is_complex)][operand]
    }

    fn find_needs(self, operand: usize, dtype: DType) -> Needs {
        let mut dtypes = [dtype; MAX_ARITY];
        if self.row().signature == Signature::Select {
            dtypes[0] = DType::Bool;
        }
        let mut program = Program::new(&dtypes[..self.arity()]);
        let operands: SmallVec<[Slot; MAX_ARITY]> = (0..self.arity() as Slot).collect();
        let result = program.apply(self, &operands);
        let gradient = program.dtype(result);
        program.output(result);
        let mut wanted = [false; MAX_ARITY];
        wanted[operand] = true;
        let back = differentiate(&program, &wanted, true, &[Some(gradient)]);
        let mut needs = Needs::default();
        for read in back.reads {
            match read {
                Read::Input(i) => needs.operands |= 1 << i,
                Read::Output(_) => needs.result = true,
                Read::Gradient(_) => {}
            }
        }
        needs
    }
}
