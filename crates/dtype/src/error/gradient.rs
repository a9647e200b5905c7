//! What can be wrong with gradients.

use super::wording::list;
use crate::DType;

/// What is wrong with a gradient, with its payload.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GradientProblem {
    /// A dtype that cannot have a gradient.
    #[error("wrong dtype: {dtype} has no gradient; float and complex have one")]
    NotDifferentiable {
        /// The dtype.
        dtype: DType,
    },
    /// An operation has no derivative by an operand of which one is wanted.
    #[error("no derivative by {operand} (hint: {operand}.detach())")]
    NoDerivative {
        /// The operand as the operation names it.
        operand: &'static str,
    },
    /// A gradient is wanted of something that was not recorded.
    #[error("nothing to go back through: the tensor does not require a gradient{}", non_differentiable(*through))]
    NotRecorded {
        /// The operation without a derivative that made the tensor.
        through: Option<&'static str>,
    },
    /// A result of several elements without a gradient of its own.
    #[error("no gradient given: a result of shape {shape:?} needs one; a single element does not")]
    NotSingle {
        /// The shape of the result.
        shape: Vec<usize>,
    },
    /// The graph was walked before, and what it had saved is gone.
    #[error("the graph is gone: what {through} had saved was freed by an earlier pass")]
    Freed {
        /// The operation whose saved tensors are gone.
        through: &'static str,
    },
    /// Gradients are wanted in inference mode, which records nothing.
    #[error("no gradients in inference mode")]
    InferenceMode,
    /// A gradient with a shape that does not belong to its tensor.
    #[error("wrong shape: a gradient of shape {given:?} for {}; {expected:?} is accepted", place(what, *index))]
    WrongShape {
        /// What it is the gradient of.
        what: &'static str,
        /// Which one of several.
        index: usize,
        /// The shape of the gradient.
        given: Vec<usize>,
        /// The shape of the tensor.
        expected: Vec<usize>,
    },
    /// A gradient with a dtype that does not belong to its tensor.
    #[error("wrong dtype: a gradient of {given} for {}; one of {expected} is accepted", place(what, *index))]
    WrongDType {
        /// What it is the gradient of.
        what: &'static str,
        /// Which one of several.
        index: usize,
        /// The dtype of the gradient.
        given: DType,
        /// The dtype of the tensor.
        expected: DType,
    },
    /// Another number of gradients than there are tensors.
    #[error("wrong number of gradients: {given} for {expected} tensors")]
    WrongCount {
        /// How many gradients there are.
        given: usize,
        /// How many tensors there are.
        expected: usize,
    },
    /// A gradient is wanted for a tensor that the results do not depend on.
    #[error("input {index} is not used: no result depends on it")]
    Unused {
        /// Which input.
        index: usize,
    },
    /// A leaf that requires a gradient would be changed while its history is recorded.
    #[error("a leaf that requires a gradient would lose it by being changed in place")]
    LeafChanged,
    /// A view that was made while nothing was recorded would change a tensor with a history.
    #[error(
        "a view that was made without recording would change a tensor that requires a gradient"
    )]
    UnrecordedView,
    /// A gradient is kept or wanted where there is none to come.
    #[error("not a leaf: {wanted} of a computed tensor")]
    NotLeaf {
        /// What was to be done.
        wanted: &'static str,
    },
    /// The first number that is not finite, in anomaly mode.
    #[error("{found} in the {what} of {through}{}", line(origin.as_deref()))]
    NotFinite {
        /// NaN or an infinity.
        found: &'static str,
        /// Result or gradient.
        what: &'static str,
        /// The operation.
        through: &'static str,
        /// The line that called the operation.
        origin: Option<String>,
    },
    /// A check of a gradient against differences found another one.
    #[error(
        "wrong gradient: input {input}, element {element}: {found}; differences say {expected}"
    )]
    Mismatch {
        /// Which input.
        input: usize,
        /// Which element of it.
        element: usize,
        /// What the derivative says.
        found: String,
        /// What differences of results say.
        expected: String,
    },
    /// A function given by the user failed; its own error is raised in its place where possible.
    #[error("a function failed: {message}")]
    Callback {
        /// What it said.
        message: String,
    },
    /// Autocast was asked for a dtype that it cannot compute in.
    #[error("autocast does not compute in {given}; {} are accepted", list(accepted.iter().copied()))]
    WrongAutocast {
        /// The dtype as given.
        given: DType,
        /// The dtypes it can compute in.
        accepted: Vec<DType>,
    },
    /// A step of a scaler in the wrong order.
    #[error("{what}")]
    ScalerOrder {
        /// What is wrong with the order.
        what: &'static str,
    },
}

fn non_differentiable(through: Option<&'static str>) -> String {
    through.map_or_else(String::new, |op| format!(", since {op} has no derivative"))
}

fn place(what: &'static str, index: usize) -> String {
    format!("{what} {index}")
}

fn line(origin: Option<&str>) -> String {
    origin.map_or_else(String::new, |origin| format!(", called at {origin}"))
}
