//! Recorded functions, and their value for given arguments.

use super::arena::{self, Node, Statement};
use super::evaluate::apply;
use super::operation::Form;
use super::scalar::Literal;
use super::value::{Arguments, Value, ValueType};

/// What a body does to its arguments.
///
/// ```
/// use allotrope_op::elementary::Elementary;
/// use allotrope_op::wgsl::{Expression, Function};
///
/// let twice = Function::record(|[x]: [Expression<f32>; 1]| x + x);
/// assert_eq!(twice.print("twice"), "\
/// fn twice(x: f32) -> f32 {
///     let v1: f32 = x + x;
///     return v1;
/// }
/// ");
/// let exp = Function::record(|[x]: [Expression<f64>; 1]| x.exp());
/// assert!(exp.print("exp_f64").starts_with("fn exp_f64(x: f64) -> f64 {"));
/// ```
#[derive(Clone, Debug)]
pub struct Function {
    pub(super) arguments: Vec<ValueType>,
    pub(super) outputs: Vec<ValueType>,
    pub(super) statements: Vec<Statement>,
    /// The components of all outputs.
    pub(super) results: Vec<Node>,
}

impl Function {
    /// Records what the body does to its arguments.
    pub fn record<A: Arguments, R: Value>(body: impl FnOnce(A) -> R) -> Self {
        let body = || body(A::arguments()).nodes();
        Self::record_results(A::types(), ValueType::of::<R>(), body)
    }

    /// The same where the body finds the arguments itself, and gives the components of one output.
    pub(super) fn record_results(
        arguments: Vec<ValueType>,
        output: ValueType,
        body: impl FnOnce() -> Vec<Node>,
    ) -> Self {
        let (results, statements) = arena::record(body);
        Self {
            arguments,
            outputs: vec![output],
            statements,
            results,
        }
    }

    /// The same for types that are known at run time: the body makes the components of the outputs
    /// of those of the arguments, or nothing.
    pub(super) fn record_components(
        arguments: Vec<ValueType>,
        outputs: Vec<ValueType>,
        body: &mut dyn FnMut(&[Node]) -> Option<Vec<Node>>,
    ) -> Option<Self> {
        let (results, statements) = arena::record(|| {
            let kinds = arguments
                .iter()
                .flat_map(|value| std::iter::repeat_n(value.component, value.components as usize));
            let nodes: Vec<Node> = (0..)
                .zip(kinds)
                .map(|(position, kind)| arena::argument(position, kind))
                .collect();
            body(&nodes)
        });
        Some(Self {
            arguments,
            outputs,
            statements,
            results: results?,
        })
    }

    /// The number of statements that the result depends on.
    pub fn len(&self) -> usize {
        self.used().iter().filter(|&&used| used).count()
    }

    /// Whether the result depends on nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn statement(&self, node: Node) -> Option<Statement> {
        self.statements.get(node.0 as usize).copied()
    }

    /// For each statement, whether the result depends on it.
    pub(super) fn used(&self) -> Vec<bool> {
        let mut used = vec![false; self.statements.len()];
        let mark = |used: &mut [bool], nodes: &[Node]| {
            for node in nodes {
                if let Some(used) = used.get_mut(node.0 as usize) {
                    *used = true;
                }
            }
        };
        mark(&mut used, &self.results);
        // Operands come before what is made of them.
        for (position, statement) in self.statements.iter().enumerate().rev() {
            if let (Statement::Result(_, _, operands), Some(true)) = (statement, used.get(position))
            {
                mark(&mut used, operands);
            }
        }
        used
    }

    /// The components of the result, given those of the arguments: what a device computes that
    /// rounds every operation of the text to nearest, a multiply-add twice. Integers of 8 and 16
    /// bits are given in 32.
    ///
    /// Nothing where the arguments are too few or of other types.
    pub fn evaluate(&self, arguments: &[Literal]) -> Option<Vec<Literal>> {
        let mut values = Vec::<Literal>::with_capacity(self.statements.len());
        for statement in &self.statements {
            let value = |node: Node| values.get(node.0 as usize).copied();
            let next = match *statement {
                Statement::Literal(literal) => literal,
                Statement::Argument(index, kind) => {
                    let argument = arguments.get(index as usize);
                    *argument.filter(|literal| literal.kind == kind)?
                }
                Statement::Result(op, kind, [a, b, c]) => match op.form(kind) {
                    Form::Helper(routine) if routine.codec().is_some() => {
                        *routine.codec()?.evaluate(&[value(a)?])?.first()?
                    }
                    _ => apply(op, kind, [value(a)?, value(b)?, value(c)?])?,
                },
            };
            values.push(next);
        }
        let results = self.results.iter();
        results
            .map(|node| values.get(node.0 as usize).copied())
            .collect()
    }
}
