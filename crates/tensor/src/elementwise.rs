//! Elementwise operations: every one is a row, and all go through [`record`].

use crate::host::Buffer;
use allotrope_dtype::{Casting, DType, Error, Problem, Scalar, WeakScalar, can_cast};
use allotrope_op::task::values::Refused;
use allotrope_op::task::{Task, Values};
use allotrope_op::{
    Argument, Builder, Cell, Fold, Layout, MAX_ARITY, Op, Origin, Program, Rewrite, Shape, Shared,
    Signature, Step, View, compute_dtype, for_each_op, infer, number_beside,
};
use smallvec::{SmallVec, smallvec};

use crate::Tensor;
use crate::amp::{cast_operands, is_autocast_enabled};
use crate::autograd::{is_grad_enabled, is_recorded, record_program};
use crate::device::{common_backend, perform_here};
use crate::numeric::is_any_bit_free;
use crate::overflow;
use crate::reduce::Plan;
use crate::trace::{elementwise as trace_elementwise, is_tracing};
use crate::transfer::gathered;

/// What an operation is applied to: a tensor, or a number without a dtype of its own.
///
/// ```
/// use allotrope_tensor::Operand;
/// fn twice<'a>(x: impl Into<Operand<'a>>) -> Operand<'a> {
///     x.into()
/// }
/// assert!(matches!(twice(2.0), Operand::Scalar(_)));
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// A tensor.
    Tensor(&'a Tensor),
    /// A number, which takes the dtype of the tensors if its kind fits.
    Scalar(WeakScalar),
}

impl<'a> From<&'a Tensor> for Operand<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        Self::Tensor(tensor)
    }
}

impl<T: Into<WeakScalar>> From<T> for Operand<'_> {
    fn from(number: T) -> Self {
        Self::Scalar(number.into())
    }
}

/// The result of one operation. Every elementwise method comes through here, so that results can
/// become pending without a change to any of them.
#[inline]
pub(crate) fn record(op: Op, operands: &[Operand<'_>]) -> Result<Tensor, Error> {
    if is_autocast_enabled() || is_tracing() || is_any_bit_free() {
        return record_watched(op, operands);
    }
    record_as_is(op, operands)
}

/// [`record`] where autocast, a trace or the widths of bit-free tensors have a say.
#[inline(never)]
fn record_watched(op: Op, operands: &[Operand<'_>]) -> Result<Tensor, Error> {
    if is_autocast_enabled()
        && let Some(cast) = cast_row(op, operands)?
    {
        let (mut cast, before) = (cast.iter(), operands);
        let operands: SmallVec<[Operand<'_>; MAX_ARITY]> = operands
            .iter()
            .map(|operand| match operand {
                Operand::Tensor(tensor) => Operand::Tensor(cast.next().unwrap_or(tensor)),
                Operand::Scalar(value) => Operand::Scalar(*value),
            })
            .collect();
        let result = record_as_is(op, &operands)?;
        if is_tracing() {
            trace(op, before, Some(&operands), &result);
        }
        return Ok(result.inherit_from(&operands));
    }
    let result = record_as_is(op, operands)?;
    if is_tracing() {
        trace(op, operands, None, &result);
    }
    Ok(result.inherit_from(operands))
}

/// Records the dtypes of an operation, of the operands before a cast and after it.
#[cold]
fn trace(op: Op, operands: &[Operand<'_>], cast: Option<&[Operand<'_>]>, result: &Tensor) {
    let dtypes = |operands: &[Operand<'_>]| -> Vec<DType> {
        let tensors = operands.iter().filter_map(|operand| match operand {
            Operand::Tensor(tensor) => Some(tensor.dtype()),
            Operand::Scalar(_) => None,
        });
        tensors.collect()
    };
    let given = dtypes(operands);
    let has_scalar = given.len() < operands.len();
    let cast = cast.map(dtypes);
    trace_elementwise(op, &given, cast.as_deref(), has_scalar, result);
}

/// The tensors among operands as autocast wants them, if that is not what they are.
#[cold]
fn cast_row(op: Op, operands: &[Operand<'_>]) -> Result<Option<SmallVec<[Tensor; 4]>>, Error> {
    let tensors: SmallVec<[&Tensor; MAX_ARITY]> = operands
        .iter()
        .filter_map(|operand| match operand {
            Operand::Tensor(tensor) => Some(*tensor),
            Operand::Scalar(_) => None,
        })
        .collect();
    cast_operands(op.name(), op.row().autocast, &tensors)
}

/// The result of one operation on operands as they are.
fn record_as_is(op: Op, operands: &[Operand<'_>]) -> Result<Tensor, Error> {
    let Some((first, dtype, memory)) = run_plain(op, operands) else {
        return record_program_of(op, operands);
    };
    let memory = memory?;
    let layout = match first.layout().offset() {
        0 => first.layout().clone(),
        _ => Layout::contiguous(first.shape().clone()),
    };
    let has_history = |operand: &Operand<'_>| match operand {
        Operand::Tensor(tensor) => tensor.requires_grad(),
        Operand::Scalar(_) => false,
    };
    if !operands.iter().any(has_history) || !is_grad_enabled() {
        return Ok(Tensor::from_parts(memory, layout, dtype));
    }
    let (program, tensors) = inferred(op, operands)?;
    let result = Tensor::from_parts(memory, layout, dtype);
    remember(op.name(), &program, &tensors, result)
}

/// The result of one operation by a program.
fn record_program_of(op: Op, operands: &[Operand<'_>]) -> Result<Tensor, Error> {
    let (program, tensors) = inferred(op, operands)?;
    if let Some(moved) = gathered(&tensors[..])? {
        let mut moved = moved.iter();
        let moved: SmallVec<[Operand<'_>; MAX_ARITY]> = operands
            .iter()
            .map(|operand| match operand {
                Operand::Tensor(tensor) => Operand::Tensor(moved.next().unwrap_or(tensor)),
                Operand::Scalar(value) => Operand::Scalar(*value),
            })
            .collect();
        return record_as_is(op, &moved);
    }
    guard(op, &program, operands)?;
    evaluate_one(op.name(), &program, &tensors)
}

/// Writes the result of one operation over a tensor of its own memory, in its dtype; no operand is that
/// tensor, which takes the place of those that are not given. Whether that could be done: nothing is
/// written if the operation is recorded, cast or traced, or the elements do not lie in order.
pub(crate) fn record_into(
    op: Op,
    operands: &[Option<Operand<'_>>],
    target: &mut Tensor,
) -> Result<bool, Error> {
    let is_plain = !is_autocast_enabled() && !is_tracing() && !overflow::is_watched();
    if !is_plain || !target.is_contiguous() || !target.has_own_memory() {
        return Ok(false);
    }
    let dtype = target.dtype();
    // A value without the memory: what is inferred is its dtype and rank.
    let outline = target.outline()?;
    let filled: SmallVec<[Operand<'_>; MAX_ARITY]> = operands
        .iter()
        .map(|operand| operand.unwrap_or(Operand::Tensor(&outline)))
        .collect();
    let (program, _) = inferred(op, &filled)?;
    let divisor = operands.get(1).copied().flatten();
    let is_guarded = needs_guard(op, program.dtype(0)) || needs_guard(op, dtype);
    let result = program.output_dtypes().next();
    let keeps_kind = result.is_some_and(|result| can_cast(result, dtype, Casting::SameKind));
    if is_guarded && divisor.is_none() || !keeps_kind {
        return Ok(false);
    }
    let shape = target.shape().clone();
    let mut inputs: SmallVec<[Option<(Tensor, Layout)>; 4]> = SmallVec::new();
    for operand in operands {
        match operand {
            Some(Operand::Tensor(tensor)) => {
                if !tensor.is_beside(target) {
                    return Ok(false);
                }
                match tensor.layout().broadcast_to(op.name(), &shape) {
                    Ok(layout) => inputs.push(Some(((*tensor).clone(), layout))),
                    // The error is that of a result of another shape.
                    Err(_) => return Ok(false),
                }
            }
            Some(Operand::Scalar(_)) => {}
            None => inputs.push(None),
        }
    }
    guard(op, &program, &filled)?;
    let program = program.in_dtype(dtype);
    let origins = inputs.iter().map(|input| match input {
        Some((tensor, layout)) => Origin::View(tensor.seen_as(layout)),
        None => Origin::Target(0),
    });
    let backend = target.backend();
    match target.own_elements() {
        Some(own) => {
            let rewrite = Rewrite {
                shape: &shape,
                inputs: origins.collect(),
                targets: smallvec![own],
            };
            backend.run_into(op.name(), &program, vec![rewrite])
        }
        None => Ok(false),
    }
}

/// The program of an operation on operands, and those of them that are tensors.
fn inferred<'a>(
    op: Op,
    operands: &[Operand<'a>],
) -> Result<(Program, SmallVec<[&'a Tensor; 4]>), Error> {
    let arguments: SmallVec<[Argument; 4]> = operands
        .iter()
        .map(|operand| match operand {
            Operand::Tensor(tensor) => Argument::Tensor {
                dtype: tensor.dtype(),
                is_zero_dim: tensor.rank() == 0,
            },
            Operand::Scalar(value) => Argument::Scalar(*value),
        })
        .collect();
    let tensors = operands.iter().filter_map(|operand| match operand {
        Operand::Tensor(tensor) => Some(*tensor),
        Operand::Scalar(_) => None,
    });
    Ok((infer(op, &arguments)?, tensors.collect()))
}

/// The one output of a program with the program as its history, where that is to be recorded.
fn remember(
    op: &'static str,
    program: &Program,
    inputs: &[&Tensor],
    output: Tensor,
) -> Result<Tensor, Error> {
    if !is_recorded(inputs) {
        return Ok(output);
    }
    let spare = output.clone();
    let shape = output.shape().clone();
    let outputs = record_program(op, program, inputs, SmallVec::from_iter([output]), &shape)?;
    Ok(outputs.into_iter().next().unwrap_or(spare))
}

/// The usual operation: tensors of one compute dtype and shape, contiguous, or one and a number. It
/// needs no program, which may take longer than its elements. The tensor that has the layout of the
/// result, its dtype, and its memory.
#[inline]
fn run_plain<'a>(
    op: Op,
    operands: &[Operand<'a>],
) -> Option<(&'a Tensor, DType, Result<Shared, Error>)> {
    let first = match operands {
        [Operand::Tensor(x), Operand::Scalar(number)] => return run_number(op, x, *number, false),
        [Operand::Scalar(number), Operand::Tensor(x)] => return run_number(op, x, *number, true),
        [Operand::Tensor(first), ..] => *first,
        _ => return None,
    };
    let (dtype, shape) = (first.dtype(), first.shape());
    let result = plain_result(op, dtype)?;
    let mut views = [first.view_of(); MAX_ARITY];
    for (operand, view) in operands.iter().zip(&mut views) {
        match operand {
            Operand::Tensor(tensor)
                if tensor.dtype() == dtype
                    && tensor.shape() == shape
                    && tensor.is_contiguous()
                    && tensor.is_beside(first) =>
            {
                *view = tensor.view_of();
            }
            _ => return None,
        }
    }
    let views = &views[..operands.len()];
    Some((
        first,
        result,
        first.backend().apply(op, dtype, result, views),
    ))
}

/// [`run_plain`] of a tensor and a number.
fn run_number(
    op: Op,
    x: &Tensor,
    number: WeakScalar,
    is_first: bool,
) -> Option<(&Tensor, DType, Result<Shared, Error>)> {
    let result = plain_result(op, x.dtype())?;
    let argument = Argument::Tensor {
        dtype: x.dtype(),
        is_zero_dim: x.rank() == 0,
    };
    let number = number_beside(op, &argument, number).filter(|_| x.is_contiguous())?;
    let backend = x.backend();
    let memory = backend.apply_number(op, result, x.view_of(), number, is_first);
    Some((x, result, memory.transpose()?))
}

/// The dtype of the result, if a row is a loop over elements of a dtype as they are.
#[inline]
fn plain_result(op: Op, dtype: DType) -> Option<DType> {
    let row = op.row();
    let result = match row.signature {
        Signature::Map => dtype,
        Signature::Test | Signature::Compare => DType::Bool,
        _ => return None,
    };
    let in_place = row.cell(dtype.kind()) == Cell::Formula && compute_dtype(dtype) == dtype;
    let is_plain = in_place && dtype != DType::Bool && !needs_guard(op, dtype);
    (is_plain && !overflow::is_watched()).then_some(result)
}

/// Runs a program over tensors, which are broadcast together; one tensor per output.
///
/// ```
/// use allotrope_dtype::DType;
/// use allotrope_op::Builder;
/// use allotrope_tensor::{Tensor, evaluate};
/// let builder = Builder::new(&[DType::F32]);
/// let x = builder.input(0);
/// let program = builder.finish(&[(x * x).tanh(), x.exp()]);
/// let results = evaluate("eval", &program, &[&Tensor::zeros(&[3], DType::F32)?])?;
/// assert_eq!(results[1].to_vec::<f32>()?, [1.0; 3]);
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
///
/// # Errors
/// A value error if the shapes do not broadcast, a dtype error if the inputs have other dtypes than
/// the program or it is not valid, a memory error.
pub fn evaluate(
    op: &'static str,
    program: &Program,
    inputs: &[&Tensor],
) -> Result<Vec<Tensor>, Error> {
    let expected = program.input_dtypes();
    if inputs.len() != expected.len() || !program.is_valid() {
        let problem = Problem::LengthMismatch {
            from: inputs.len(),
            to: expected.len(),
        };
        return Err(Error::new(op, problem));
    }
    if let Some((tensor, dtype)) = inputs.iter().zip(expected).find(|(t, d)| t.dtype() != **d) {
        let problem = Problem::WrongElement {
            given: *dtype,
            dtype: tensor.dtype(),
        };
        return Err(Error::new(op, problem));
    }
    let shapes: Vec<&Shape> = inputs.iter().map(|tensor| tensor.shape()).collect();
    let shape = Shape::broadcast(op, &shapes)?;
    let backend = common_backend(op, inputs)?;
    let prepared = prepare(op, inputs, &shape)?;
    let outputs = overflow::run(op, backend, program, &shape, &views(&prepared))?;
    let tensors = outputs.into_iter().zip(program.output_dtypes());
    let tensors = tensors
        .map(|(memory, dtype)| Tensor::from_memory_of(memory, shape.clone(), dtype))
        .collect();
    Ok(record_program(op, program, inputs, tensors, &shape)?.into_vec())
}

/// The one output of a program whose inputs are known to fit.
pub(crate) fn evaluate_one(
    op: &'static str,
    program: &Program,
    inputs: &[&Tensor],
) -> Result<Tensor, Error> {
    let shape = match inputs {
        [only] => only.shape().clone(),
        [first, rest @ ..] if rest.iter().all(|t| t.shape() == first.shape()) => {
            first.shape().clone()
        }
        _ => {
            let shapes: SmallVec<[&Shape; 4]> = inputs.iter().map(|t| t.shape()).collect();
            Shape::broadcast(op, &shapes)?
        }
    };
    let dtype = program.output_dtypes().next().unwrap_or(DType::Bool);
    let backend = common_backend(op, inputs)?;
    let prepared = prepare(op, inputs, &shape)?;
    let mut outputs = overflow::run(op, backend, program, &shape, &views(&prepared))?;
    let Some(memory) = outputs.pop() else {
        return Err(Error::new(op, Problem::LengthMismatch { from: 0, to: 1 }));
    };
    let output = Tensor::from_memory_of(memory, shape, dtype).inherit(inputs);
    remember(op, program, inputs, output)
}

/// An input as it is, or with the layout that broadcasting gives it.
enum Prepared<'a> {
    AsIs(&'a Tensor),
    Viewed(&'a Tensor, Box<Layout>),
}

fn views<'a>(prepared: &'a [Prepared<'a>]) -> SmallVec<[View<'a>; 4]> {
    let view = |input: &'a Prepared<'a>| match input {
        Prepared::AsIs(tensor) => tensor.view_of(),
        Prepared::Viewed(tensor, layout) => tensor.seen_as(layout),
    };
    prepared.iter().map(view).collect()
}

/// The inputs broadcast to a shape.
fn prepare<'a>(
    op: &'static str,
    inputs: &[&'a Tensor],
    shape: &Shape,
) -> Result<SmallVec<[Prepared<'a>; 2]>, Error> {
    let mut prepared = SmallVec::new();
    for tensor in inputs {
        prepared.push(if tensor.shape() == shape {
            Prepared::AsIs(tensor)
        } else {
            let layout = tensor.layout().broadcast_to(op, shape)?;
            Prepared::Viewed(tensor, Box::new(layout))
        });
    }
    Ok(prepared)
}

/// A buffer for the elements of a shape.
pub(crate) fn room(op: &'static str, shape: &Shape, dtype: DType) -> Result<Buffer, Error> {
    Buffer::for_elements(op, dtype, shape.count())
}

/// Whether integers may have no answer.
pub(crate) fn needs_guard(op: Op, dtype: DType) -> bool {
    let divides = matches!(
        op,
        Op::FloorDivide | Op::TruncDivide | Op::Remainder | Op::Fmod | Op::Pow
    );
    divides && dtype.is_integer()
}

/// Refuses integers that have no answer: a divisor of zero, an exponent below it.
fn guard(op: Op, program: &Program, operands: &[Operand<'_>]) -> Result<(), Error> {
    let refused = match op {
        Op::FloorDivide | Op::TruncDivide | Op::Remainder | Op::Fmod => Refused::Zero,
        Op::Pow => Refused::Negative,
        _ => return Ok(()),
    };
    let in_integers = program.steps().iter().any(|step| match step {
        Step::Apply { op: applied, args } => {
            *applied == op && needs_guard(op, program.dtype(args[0]))
        }
        _ => false,
    });
    let Some(second) = operands.get(1).filter(|_| in_integers) else {
        return Ok(());
    };
    match second {
        Operand::Scalar(WeakScalar::Int(value)) => {
            let bad = if refused == Refused::Zero {
                *value == 0
            } else {
                *value < 0
            };
            if bad {
                Err(Error::new(op.name(), refused.fault(None)))
            } else {
                Ok(())
            }
        }
        Operand::Scalar(WeakScalar::Bool(false)) if refused == Refused::Zero => {
            Err(Error::new(op.name(), refused.fault(None)))
        }
        Operand::Scalar(_) => Ok(()),
        Operand::Tensor(tensor) => {
            let check = Task::Values(Values::CheckIntegers(refused));
            match perform_here(op.name(), &check, &[tensor], &[])? {
                Some(_) => Ok(()),
                None => check_integers(op.name(), tensor, refused),
            }
        }
    }
}

/// [`Values::CheckIntegers`] where there is no kernel for it.
fn check_integers(op: &'static str, integers: &Tensor, refused: Refused) -> Result<(), Error> {
    let x = integers.detach();
    let builder = Builder::new(&[x.dtype()]);
    let (value, zero) = (
        builder.input(0),
        builder.constant(Scalar::new(false, x.dtype())?),
    );
    let is_refused = match refused {
        Refused::Zero => value.eq(zero),
        Refused::Negative => value.lt(zero),
    };
    let program = builder.finish(&[is_refused]);
    // One truth value comes back; all of them only if there is an error.
    let plan = Plan::new(op, &x, None)?;
    let any = plan.fold(op, Fold::Max, &program, &[&x], x.shape())?;
    if x.count() == 0 || any.read(op)?.iter().all(|byte| *byte == 0) {
        return Ok(());
    }
    let each = evaluate_one(op, &program, &[&x])?;
    let place = each.read(op)?.iter().position(|byte| *byte != 0);
    let place = place.filter(|_| x.rank() > 0);
    Err(Error::new(op, refused.fault(place)))
}

/// How the method of a row is called, by what it takes: truth values, integers or floats.
macro_rules! example {
    (Select $name:ident [$($arg:ident)*] $float:tt) => { example!("[true, false]" $name [$($arg)*]) };
    ($signature:ident $name:ident [$($arg:ident)*] refuse) => { example!("[1, 2]" $name [$($arg)*]) };
    ($signature:ident $name:ident [$($arg:ident)*] $float:tt) => { example!("[0.5, 0.25]" $name [$($arg)*]) };
    ($data:literal $name:ident []) => { example!(@ $data $name "") };
    ($data:literal $name:ident [$a:ident]) => { example!(@ $data $name "2") };
    ($data:literal $name:ident [$a:ident $b:ident]) => { example!(@ $data $name "1, 2") };
    ($data:literal $name:ident [$a:ident $b:ident $c:ident]) => { example!(@ $data $name "1, 2, 3") };
    (@ $data:literal $name:ident $arguments:literal) => {
        concat!(
            "\n```\nuse allotrope_tensor::Tensor;\nlet x = Tensor::new(", $data, ")?;\nlet y = x.",
            stringify!($name), "(", $arguments, ")?;\nassert_eq!(y.shape(), x.shape());\n",
            "# Ok::<(), allotrope_tensor::Error>(())\n```"
        )
    };
}

macro_rules! methods {
    ($({ $variant:ident, $name:ident, ($first:ident $(, $arg:ident)*) -> $out:ident, $signature:ident, $autocast:ident, $doc:literal,
         float $float:tt $($rest:tt)* })*) => {
        /// Elementwise operations, one per row of the op tables.
        ///
        /// All broadcast their operands and promote dtypes by the policy in force. They fail with a
        /// dtype error where promotion refuses or the operation has no meaning for the dtype, a
        /// value error for shapes that do not broadcast, an overflow error for a number that its
        /// dtype cannot hold, and a memory error.
        #[allow(clippy::missing_errors_doc, reason = "said once, above")]
        #[allow(clippy::needless_lifetimes, reason = "rows of one operand have no use for it")]
        #[allow(clippy::should_implement_trait, reason = "rows are named as in torch")]
        #[allow(clippy::wrong_self_convention, reason = "rows are named as in torch")]
        impl Tensor {$(
            #[doc = $doc]
            #[doc = example!($signature $name [$($arg)*] $float)]
            pub fn $name<'a>(&'a self $(, $arg: impl Into<Operand<'a>>)*) -> Result<Self, Error> {
                record(Op::$variant, &[Operand::Tensor(self) $(, $arg.into())*])
            }
        )*}
    };
}
for_each_op!((methods));

impl Tensor {
    /// The result of a row of the op tables.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_op::Op;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::arange(0, 3, 1, DType::U8)?;
    /// let y = Tensor::apply(Op::Sub, &[(&x).into(), 1.into()])?;
    /// assert_eq!(y.to_vec::<u8>()?, [255, 0, 1]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// As the method of the row; a value error for another number of operands than it has.
    pub fn apply(op: Op, operands: &[Operand<'_>]) -> Result<Self, Error> {
        if operands.len() != op.arity() {
            let problem = Problem::LengthMismatch {
                from: operands.len(),
                to: op.arity(),
            };
            return Err(Error::new(op.name(), problem));
        }
        record(op, operands)
    }
}
