//! Programs as one function: its rows are written one after the other, not called.
//!
//! A compiler would see through calls, and simplify what the rows of both sides keep from it:
//! `x - x`, `x * 0`, `(x + y) - x`. So the statements of a row are recorded once more among those of
//! the program, by the rules of `float`, and rounded numbers are kept between rows.

use allotrope_dtype::Scalar;

use super::arena::{self, Node, Statement};
use super::float;
use super::function::Function;
use super::operation::Operation;
use super::print::print_module;
use super::scalar::{Literal, Type};
use super::value::ValueType;
use crate::program::{Program, Slot, Step};

/// The text of a program in WGSL: a function `program` with what it calls, given its inputs in
/// order; several outputs are the members `r0`, `r1` … of a structure. Nothing where the program is
/// not [valid](Program::is_valid).
///
/// Values are held as [`ValueType::of_dtype`] has it.
///
/// ```
/// use allotrope_dtype::DType;
/// use allotrope_op::{Builder, wgsl::print_program};
///
/// let builder = Builder::new(&[DType::F32, DType::F32]);
/// let (a, b) = (builder.input(0), builder.input(1));
/// let program = builder.finish(&[(a + b) - a]);
/// assert_eq!(print_program(&program).as_deref(), Some("\
/// fn program(x: f32, y: f32) -> f32 {
///     let v2: f32 = x + y;
///     let v3: f32 = bitcast<f32>(min(bitcast<u32>(v2), 0xfffffffeu));
///     let v4: f32 = v3 - x;
///     return v4;
/// }
/// "));
/// ```
pub fn print_program(program: &Program) -> Option<String> {
    let function = Function::of_program(program)?;
    Some(print_module([("program", &function)]))
}

impl Function {
    /// What a program makes of its inputs; nothing where it is not valid.
    pub fn of_program(program: &Program) -> Option<Self> {
        if !program.is_valid() {
            return None;
        }
        let inputs = program.input_dtypes().iter();
        let inputs = inputs.map(|dtype| ValueType::of_dtype(*dtype)).collect();
        let outputs = program.output_dtypes().map(ValueType::of_dtype).collect();
        Self::record_components(inputs, outputs, &mut |arguments| {
            record_steps(program, arguments)
        })
    }

    /// The same function with every multiply-add rounded twice, as a CPU computes that has none:
    /// what must give the same bits everywhere.
    pub fn unfused(&self) -> Option<Self> {
        let outputs = self.outputs.clone();
        Self::record_components(self.arguments.clone(), outputs, &mut |arguments| {
            self.replay_with(arguments, &mut |op, kind, [a, b, c]| match op {
                Operation::MultiplyAdd => float::add(kind, float::multiply(kind, a, b), c),
                _ => operate(op, kind, [a, b, c]),
            })
        })
    }

    /// The results for these arguments, recorded once more.
    fn replay(&self, arguments: &[Node]) -> Option<Vec<Node>> {
        self.replay_with(arguments, &mut operate)
    }

    fn replay_with(
        &self,
        arguments: &[Node],
        operate: &mut dyn FnMut(Operation, Type, [Node; 3]) -> Node,
    ) -> Option<Vec<Node>> {
        let mut nodes = Vec::with_capacity(self.statements.len());
        for (statement, is_used) in self.statements.iter().zip(self.used()) {
            let node = |operand: Node| nodes.get(operand.0 as usize).copied().flatten();
            nodes.push(match *statement {
                _ if !is_used => None,
                Statement::Literal(literal) => Some(arena::literal(literal)),
                Statement::Argument(index, _) => Some(*arguments.get(index as usize)?),
                Statement::Result(op, kind, [a, b, c]) => {
                    Some(operate(op, kind, [node(a)?, node(b)?, node(c)?]))
                }
            });
        }
        let result = |node: &Node| nodes.get(node.0 as usize).copied().flatten();
        self.results.iter().map(result).collect()
    }
}

/// What the operation makes of its operands, by the rules for floats.
fn operate(op: Operation, kind: Type, [a, b, c]: [Node; 3]) -> Node {
    match op {
        Operation::Add if kind.is_float() => float::add(kind, a, b),
        Operation::Subtract if kind.is_float() => float::subtract(kind, a, b),
        Operation::Multiply if kind.is_float() => float::multiply(kind, a, b),
        Operation::Divide if kind.is_float() => float::divide(kind, a, b),
        Operation::MultiplyAdd => float::multiply_add(kind, a, b, c),
        _ => arena::ternary(op, kind, a, b, c),
    }
}

/// The components of the outputs, given those of the inputs.
fn record_steps(program: &Program, arguments: &[Node]) -> Option<Vec<Node>> {
    let mut rest = arguments;
    let mut values: Vec<Vec<Node>> = Vec::with_capacity(program.dtypes().len());
    for &dtype in program.input_dtypes() {
        let count = ValueType::of_dtype(dtype).components as usize;
        let (components, others) = rest.split_at_checked(count)?;
        values.push(components.to_vec());
        rest = others;
    }
    for step in program.steps() {
        let function = |slots: &[Slot], function: Option<Function>| {
            let operands = slots.iter().map(|slot| values.get(usize::from(*slot)));
            let operands = operands.collect::<Option<Vec<_>>>()?.into_iter().flatten();
            let kept: Vec<Node> = operands.map(|&node| float::keep_between(node)).collect();
            function?.replay(&kept)
        };
        let value = match *step {
            Step::Constant(scalar) => literals(scalar).into_iter().map(arena::literal).collect(),
            Step::Convert { from, to } => {
                function(&[from], Function::of_cast(program.dtype(from), to))?
            }
            Step::ConversionRest { from } => {
                function(&[from], Function::of_conversion_rest(program.dtype(from)))?
            }
            Step::Apply { op, args } => {
                let slots = args.get(..op.arity())?;
                let dtype = program.dtype(*slots.last()?);
                function(slots, Function::of_row(op, dtype))?
            }
        };
        values.push(value);
    }
    let outputs = program.outputs().iter();
    let outputs = outputs.map(|slot| values.get(usize::from(*slot)));
    let outputs = outputs.collect::<Option<Vec<_>>>()?;
    Some(outputs.into_iter().flatten().copied().collect())
}

/// The components of a constant.
fn literals(scalar: Scalar) -> Vec<Literal> {
    let dtype = scalar.dtype();
    let ValueType {
        component: kind,
        components,
    } = ValueType::of_dtype(dtype);
    let bytes = scalar.to_bytes();
    let width = dtype.to_real().itemsize();
    let parts = bytes.chunks_exact(width).take(components as usize);
    let literal = |part: &[u8]| {
        let bits = part
            .iter()
            .rev()
            .fold(0, |bits, &byte| bits << 8 | u64::from(byte));
        // Narrow integers are held with their sign.
        let unused = 64 - dtype.to_real().bits();
        let bits = match kind {
            Type::I32 => u64::from(((bits << unused) as i64 >> unused) as u32),
            _ => bits,
        };
        Literal { kind, bits }
    };
    parts.map(literal).collect()
}
