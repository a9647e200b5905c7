//! Where statements are recorded: one list per thread, since a constant of a lane has no context.

use std::cell::RefCell;
use std::collections::HashMap;

use super::evaluate::apply;
use super::operation::Operation;
use super::scalar::{Literal, Type};

/// The position of a statement in its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Node(pub(super) u32);

/// A value, named by its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Statement {
    /// A constant.
    Literal(Literal),
    /// A scalar argument, counted over the components of all.
    Argument(u32, Type),
    /// What an operation makes of earlier values; of three, those that it does not take repeat
    /// the first.
    Result(Operation, Type, [Node; 3]),
}

impl Statement {
    /// The type of the value.
    pub const fn kind(self) -> Type {
        match self {
            Self::Literal(literal) => literal.kind,
            Self::Argument(_, kind) | Self::Result(_, kind, _) => kind,
        }
    }
}

/// A list of statements without repetitions.
#[derive(Default)]
struct Arena {
    statements: Vec<Statement>,
    known: HashMap<Statement, Node>,
}

thread_local! {
    static ARENA: RefCell<Arena> = RefCell::default();
}

impl Arena {
    fn insert(&mut self, statement: Statement) -> Node {
        let next = Node(self.statements.len() as u32);
        let node = *self.known.entry(statement).or_insert(next);
        if node == next {
            self.statements.push(statement);
        }
        node
    }

    fn get(&self, node: Node) -> Option<Statement> {
        self.statements.get(node.0 as usize).copied()
    }

    fn literal(&self, node: Node) -> Option<Literal> {
        match self.get(node)? {
            Statement::Literal(literal) => Some(literal),
            _ => None,
        }
    }

    /// The value that the operation has without being recorded.
    fn simplify(&mut self, op: Operation, kind: Type, operands: [Node; 3]) -> Option<Node> {
        let [a, b, c] = operands;
        let known = operands.map(|node| self.literal(node));
        if let [Some(a), Some(b), Some(c)] = known {
            let literal = apply(op, kind, [a, b, c])?;
            return Some(self.insert(Statement::Literal(literal)));
        }
        let truth = |literal: Option<Literal>| {
            literal
                .filter(|literal| literal.kind == Type::Bool)
                .map(|literal| literal.bits != 0)
        };
        match (op, truth(known[0]), truth(known[1])) {
            (Operation::Select, Some(true), _) => Some(b),
            (Operation::Select, Some(false), _) => Some(c),
            (Operation::Select, ..) if b == c => Some(b),
            (Operation::And, Some(true), _) | (Operation::Or, Some(false), _) => Some(b),
            (Operation::And, _, Some(true)) | (Operation::Or, _, Some(false)) => Some(a),
            (Operation::And, Some(false), _) | (Operation::Or, Some(true), _) => Some(a),
            (Operation::And, _, Some(false)) | (Operation::Or, _, Some(true)) => Some(b),
            (Operation::Reinterpret, ..) => match self.get(a)? {
                statement if statement.kind() == kind => Some(a),
                Statement::Result(Operation::Reinterpret, _, [inner, ..])
                    if self.get(inner)?.kind() == kind =>
                {
                    Some(inner)
                }
                _ => None,
            },
            _ => None,
        }
    }
}

// Never inlined into the long bodies that record: that doubled the time to compile the crate.

/// The constant.
#[inline(never)]
pub(super) fn literal(literal: Literal) -> Node {
    ARENA.with_borrow_mut(|arena| arena.insert(Statement::Literal(literal)))
}

/// The scalar argument at this position.
pub(super) fn argument(index: u32, kind: Type) -> Node {
    ARENA.with_borrow_mut(|arena| arena.insert(Statement::Argument(index, kind)))
}

/// What an operation of one operand makes of it.
#[inline(never)]
pub(super) fn unary(op: Operation, kind: Type, a: Node) -> Node {
    ternary(op, kind, a, a, a)
}

/// The same for two operands.
#[inline(never)]
pub(super) fn binary(op: Operation, kind: Type, a: Node, b: Node) -> Node {
    ternary(op, kind, a, b, a)
}

/// The same for three operands.
#[inline(never)]
pub(super) fn ternary(op: Operation, kind: Type, a: Node, b: Node, c: Node) -> Node {
    ARENA.with_borrow_mut(|arena| {
        let operands = [a, b, c];
        arena
            .simplify(op, kind, operands)
            .unwrap_or_else(|| arena.insert(Statement::Result(op, kind, operands)))
    })
}

/// The value, if it is a constant.
pub(super) fn constant(node: Node) -> Option<Literal> {
    ARENA.with_borrow(|arena| arena.literal(node))
}

/// The type of the value.
pub(super) fn kind(node: Node) -> Option<Type> {
    ARENA
        .with_borrow(|arena| arena.get(node))
        .map(Statement::kind)
}

/// What makes the value, if it is the result of an operation.
pub(super) fn operation(node: Node) -> Option<(Operation, [Node; 3])> {
    match ARENA.with_borrow(|arena| arena.get(node))? {
        Statement::Result(op, _, operands) => Some((op, operands)),
        _ => None,
    }
}

/// What the list was outside a recording; it is put back at the end, also by a panic.
struct Outside(Arena);

impl Drop for Outside {
    fn drop(&mut self) {
        ARENA.with_borrow_mut(|arena| std::mem::swap(arena, &mut self.0));
    }
}

/// What the body returns, and the statements that it records in a list of its own.
pub(super) fn record<R>(body: impl FnOnce() -> R) -> (R, Vec<Statement>) {
    let _outside = Outside(ARENA.take());
    let result = body();
    let recorded = ARENA.take();
    (result, recorded.statements)
}
