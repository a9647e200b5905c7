//! What a rule sees when gradients come back.

use std::sync::Arc;

use allotrope_dtype::Error;
use smallvec::SmallVec;

use super::node::{History, Node};
use crate::Tensor;

/// One gradient per operand, or none where there is nothing to say.
pub(crate) type Gradients = SmallVec<[Option<Tensor>; 2]>;

/// Gradients on their way back through one operation.
pub(crate) struct Pass<'a> {
    pub(crate) node: &'a Arc<Node>,
    /// The gradient of each output, in its dtype and shape, where one has come.
    pub(crate) gradients: &'a [Option<Tensor>],
    /// Which operands want theirs.
    pub(crate) wanted: &'a [bool],
}

impl Pass<'_> {
    /// The gradient of the first output; zeros if none has come.
    pub(crate) fn gradient(&self) -> Result<Tensor, Error> {
        self.gradient_of(0)
    }

    /// The gradient of an output; zeros if none has come.
    pub(crate) fn gradient_of(&self, output: usize) -> Result<Tensor, Error> {
        match self.gradients.get(output) {
            Some(Some(gradient)) => Ok(gradient.clone()),
            _ => self.node.outputs[output].zeros(),
        }
    }

    /// Whether an operand wants its gradient.
    pub(crate) fn wants(&self, operand: usize) -> bool {
        self.wanted.get(operand) == Some(&true)
    }

    /// How many dimensions an operand has; none if it does not require a gradient.
    pub(crate) fn operand_rank(&self, operand: usize) -> usize {
        let edge = self.node.edges.get(operand).and_then(Option::as_ref);
        edge.map_or(0, |history| {
            history.node.outputs[history.output].shape.rank()
        })
    }

    /// What `make` gives, if the operand wants it.
    pub(crate) fn give(
        &self,
        operand: usize,
        make: impl FnOnce() -> Result<Tensor, Error>,
    ) -> Result<Option<Tensor>, Error> {
        if self.wants(operand) {
            make().map(Some)
        } else {
            Ok(None)
        }
    }

    /// An output that was saved without its history, with it.
    pub(crate) fn output(&self, saved: &Tensor, output: usize) -> Tensor {
        let history = History {
            node: Arc::clone(self.node),
            output,
        };
        saved.detach().with_history(Some(history))
    }
}
