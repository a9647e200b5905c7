//! Whoever has a say in the dtype of results: autocast, and those who want to see it.

use std::sync::OnceLock;

use allotrope_dtype::DType;

use crate::table::Autocast;

/// A reduction or structured operation that asks for the dtype of its result.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// The name of the operation.
    pub name: &'static str,
    /// What its row says of autocast.
    pub autocast: Autocast,
    /// The common dtype of the operands.
    pub common: DType,
    /// The dtype that its row gives the result.
    pub result: DType,
}

/// Answers with the dtype that the result gets.
pub type Chooser = fn(Question) -> DType;

static CHOOSER: OnceLock<Chooser> = OnceLock::new();

/// Sets who is asked by all operations from now on; the first one stays.
pub fn ask_for_results(chooser: Chooser) {
    // A second one is ignored: there is one that knows of all who want a say.
    let _ = CHOOSER.set(chooser);
}

/// The dtype of a result.
pub(crate) fn chosen(question: Question) -> DType {
    match CHOOSER.get() {
        Some(chooser) => chooser(question),
        None => question.result,
    }
}
