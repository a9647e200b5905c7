//! The rule of programs: their own derivative, fused with what comes before it.

use std::sync::Arc;

use allotrope_dtype::{DType, Error, GradientProblem, Problem};
use allotrope_op::Fold;
use allotrope_op::{
    Differential, Op, Program, Read, Shape, compute_dtype, differentiate, without_derivative,
};
use smallvec::SmallVec;

use super::mode::is_grad_enabled;
use super::node::{Node, zeros_of};
use super::pass::Pass;
use crate::Tensor;
use crate::elementwise::evaluate;
use crate::reduce::Plan;

/// A program and what its derivative reads.
pub(crate) struct Elementwise {
    pub(crate) program: Program,
    /// The shape that the inputs broadcast to; outputs that were summed have ones in it.
    pub(crate) shape: Shape,
    /// The inputs that are read.
    pub(crate) inputs: SmallVec<[Option<Tensor>; 2]>,
    /// The outputs, without their history, if they are read.
    pub(crate) outputs: SmallVec<[Option<Tensor>; 1]>,
}

/// What a flow grows to before it is computed.
const MOST_INPUTS: usize = 24;
const MOST_STEPS: usize = 96;

/// A gradient on its way: a tensor, or the program that will make it.
#[derive(Clone)]
pub(crate) enum Flow {
    Ready(Tensor),
    Pending(Box<Pending>),
}

#[derive(Clone)]
pub(crate) struct Pending {
    program: Program,
    inputs: SmallVec<[Tensor; 4]>,
    shape: Shape,
}

impl Flow {
    pub(crate) fn dtype(&self) -> DType {
        match self {
            Self::Ready(tensor) => tensor.dtype(),
            Self::Pending(pending) => {
                let mut dtypes = pending.program.output_dtypes();
                dtypes.next().unwrap_or(DType::Bool)
            }
        }
    }

    pub(crate) fn shape(&self) -> &Shape {
        match self {
            Self::Ready(tensor) => tensor.shape(),
            Self::Pending(pending) => &pending.shape,
        }
    }

    /// The gradient itself.
    pub(crate) fn tensor(self, op: &'static str) -> Result<Tensor, Error> {
        match self {
            Self::Ready(tensor) => Ok(tensor),
            Self::Pending(pending) => pending.run(op),
        }
    }

    /// The gradient itself, in a dtype that it has a way to.
    pub(crate) fn tensor_in(self, op: &'static str, dtype: DType) -> Result<Tensor, Error> {
        match self {
            Self::Ready(tensor) if tensor.dtype() == dtype => Ok(tensor),
            Self::Ready(tensor) if tensor.dtype().is_complex() && !dtype.is_complex() => {
                tensor.real()?.to(dtype)
            }
            Self::Ready(tensor) => tensor.to(dtype),
            Self::Pending(mut pending) => {
                let given = pending.program.output_dtypes().next();
                if given.is_some_and(|given| given.is_complex() && !dtype.is_complex()) {
                    return pending.run(op)?.real()?.to(dtype);
                }
                pending.program = pending.program.in_dtype(dtype);
                pending.run(op)
            }
        }
    }

    /// The gradient summed along dimensions, which stay, in the precision that sums have. One that
    /// is not computed yet is summed as it is: what it was repeated to is not stored.
    pub(crate) fn sum_along(self, op: &'static str, axes: &[isize]) -> Result<Tensor, Error> {
        let wide = compute_dtype(self.dtype());
        match self {
            Self::Ready(tensor) => tensor.sum(Some(axes), true, Some(wide)),
            Self::Pending(pending) => {
                let program = pending.program.in_dtype(wide);
                let inputs: SmallVec<[&Tensor; 4]> = pending.inputs.iter().collect();
                let Some(widest) = inputs.iter().max_by_key(|input| input.count()) else {
                    return pending.clone().run(op)?.sum(Some(axes), true, Some(wide));
                };
                let plan = Plan::new(op, &widest.expand(&pending.shape)?, Some(axes))?;
                let sums = plan.fold(op, Fold::Sum, &program, &inputs, &pending.shape)?;
                sums.to(wide)
            }
        }
    }

    /// The sum of two gradients, in a dtype.
    pub(crate) fn plus(self, other: Self, op: &'static str, dtype: DType) -> Result<Self, Error> {
        let shape = self.shape().clone();
        // Programs have no way from complex to real numbers.
        let fitted = |flow: Self| match flow.dtype().is_complex() && !dtype.is_complex() {
            true => flow.tensor(op)?.real().map(Self::Ready),
            false => Ok(flow),
        };
        let (first, second) = (Pending::of(fitted(self)?), Pending::of(fitted(other)?));
        let mut sum = Program::new(&[dtype, dtype]);
        let total = sum.apply(Op::Add, &[0, 1]);
        sum.output(total);
        // The second operand first, so that the places of the inputs stay what they were.
        let program = sum
            .fed(1, &second.program.in_dtype(dtype))
            .fed(second.inputs.len(), &first.program.in_dtype(dtype));
        let inputs = first.inputs.into_iter().chain(second.inputs).collect();
        Pending {
            program,
            inputs,
            shape,
        }
        .settle(op)
    }
}

impl Pending {
    /// A flow as a program.
    fn of(flow: Flow) -> Self {
        match flow {
            Flow::Pending(pending) => *pending,
            Flow::Ready(tensor) => {
                let mut program = Program::new(&[tensor.dtype()]);
                program.output(0);
                Self {
                    program,
                    shape: tensor.shape().clone(),
                    inputs: SmallVec::from_iter([tensor]),
                }
            }
        }
    }

    /// What one operation saved as its result and the next as its operand is read once.
    fn with_each_input_once(mut self) -> Self {
        // Tensors of one value may have different histories, which only matter if this is recorded.
        if is_grad_enabled() {
            return self;
        }
        let mut place = 1;
        while let Some(input) = self.inputs.get(place) {
            let mut before = self.inputs[..place].iter();
            match before.position(|before| before.is_same_value(input)) {
                Some(kept) => {
                    self.program = self.program.with_one_input(kept, place);
                    self.inputs.remove(place);
                }
                None => place += 1,
            }
        }
        self
    }

    fn run(self, op: &'static str) -> Result<Tensor, Error> {
        let inputs: SmallVec<[&Tensor; 4]> = self.inputs.iter().collect();
        let mut results = evaluate(op, &self.program, &inputs)?;
        results.truncate(1);
        match results.pop() {
            Some(tensor) if tensor.shape() == &self.shape => Ok(tensor),
            Some(tensor) => tensor.expand(&self.shape),
            None => {
                let (from, to) = (0, 1);
                Err(Error::new(op, Problem::LengthMismatch { from, to }))
            }
        }
    }

    /// Goes on as a program, or is computed where it has grown large.
    fn settle(self, op: &'static str) -> Result<Flow, Error> {
        if self.inputs.len() > MOST_INPUTS || self.program.steps().len() > MOST_STEPS {
            self.run(op).map(Flow::Ready)
        } else {
            Ok(Flow::Pending(Box::new(self)))
        }
    }
}

impl Elementwise {
    /// Whether any tensor was saved.
    pub(crate) fn has_saved(&self) -> bool {
        self.inputs.iter().any(Option::is_some) || self.outputs.iter().any(Option::is_some)
    }

    /// The gradients of the wanted inputs, given those of the outputs.
    pub(crate) fn backward(
        &self,
        node: &Arc<Node>,
        gradients: SmallVec<[Option<Flow>; 1]>,
        wanted: &[bool],
    ) -> Result<SmallVec<[Option<Flow>; 2]>, Error> {
        let dtypes: SmallVec<[Option<DType>; 1]> = gradients
            .iter()
            .map(|flow| flow.as_ref().map(Flow::dtype))
            .collect();
        if let Some(op) = without_derivative(&self.program, wanted) {
            let operand = op.row().operands[0];
            let problem = GradientProblem::NoDerivative { operand };
            return Err(Error::new(op.name(), problem.into()));
        }
        let offers = self.outputs.iter().any(Option::is_some);
        let back = differentiate(&self.program, wanted, offers, &dtypes);
        let shape = &self.shape;
        let count = back.program.outputs().len();
        let mut made: SmallVec<[Flow; 2]> = SmallVec::new();
        if back.reads.is_empty() {
            // Without a share of any gradient they are zero.
            for dtype in back.program.output_dtypes() {
                let zeros = zeros_of(node.outputs[0].backend, dtype, shape)?;
                made.push(Flow::Ready(zeros));
            }
        } else {
            let pending = self.assemble(node, back, gradients)?;
            if count == 1 {
                made.push(pending.settle(node.op)?);
            } else {
                let inputs: SmallVec<[&Tensor; 4]> = pending.inputs.iter().collect();
                for tensor in evaluate(node.op, &pending.program, &inputs)? {
                    made.push(Flow::Ready(tensor.expand(shape)?));
                }
            }
        }
        let mut made = made.into_iter();
        let each = wanted
            .iter()
            .map(|wanted| made.by_ref().take(usize::from(*wanted)).next());
        Ok(each.collect())
    }

    /// The derivative over what it reads; the program of a single gradient becomes a part of it.
    fn assemble(
        &self,
        node: &Arc<Node>,
        back: Differential,
        mut gradients: SmallVec<[Option<Flow>; 1]>,
    ) -> Result<Pending, Error> {
        let missing = || {
            let problem = GradientProblem::Freed { through: node.op };
            Error::new("backward", problem.into())
        };
        let pass = Pass {
            node,
            gradients: &[],
            wanted: &[],
        };
        let is_single = gradients.len() == 1;
        let mut inputs: SmallVec<[Tensor; 4]> = SmallVec::new();
        let mut source = None;
        for (place, read) in back.reads.iter().enumerate() {
            match read {
                Read::Input(i) => inputs.push(self.inputs[*i].clone().ok_or_else(missing)?),
                Read::Output(i) => {
                    let saved = self.outputs[*i].as_ref().ok_or_else(missing)?;
                    inputs.push(pass.output(saved, *i));
                }
                Read::Gradient(i) => match gradients[*i].take().ok_or_else(missing)? {
                    Flow::Pending(pending) if is_single => source = Some((place, pending)),
                    flow => inputs.push(flow.tensor(node.op)?),
                },
            }
        }
        let shape = self.shape.clone();
        Ok(match source {
            Some((place, source)) => Pending {
                program: back.program.fed(place, &source.program),
                inputs: source.inputs.into_iter().chain(inputs).collect(),
                shape,
            }
            .with_each_input_once(),
            None => Pending {
                program: back.program,
                inputs,
                shape,
            },
        })
    }
}
