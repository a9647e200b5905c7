//! Which dtypes operations compute in and why, recorded for whoever wants to see.

use std::cell::{Cell, RefCell};

use allotrope_dtype::{DType, Set, promotion};
use allotrope_op::{Op, Question, Signature, compute_dtype};

use crate::amp::ask_to_choose;
use crate::autograd::locate;

/// One operation, as it was called.
#[derive(Clone, Debug, PartialEq)]
pub struct TracedOperation {
    /// The operation.
    pub op: &'static str,
    /// The line of the user's program, if known.
    pub line: Option<String>,
    /// The dtypes of the tensors it was given; of a structured operation, the common one.
    pub inputs: Vec<DType>,
    /// The dtype that it computes in.
    pub compute: DType,
    /// The dtype that sums are formed in, if there are any.
    pub accumulator: Option<DType>,
    /// The dtype of the result.
    pub result: DType,
    /// Why the result has it.
    pub reason: String,
}

thread_local! {
    static IS_ON: Cell<bool> = const { Cell::new(false) };
    static FOUND: RefCell<Vec<TracedOperation>> = const { RefCell::new(Vec::new()) };
}

/// Whether operations of this thread are traced.
pub(crate) fn is_tracing() -> bool {
    IS_ON.get()
}

/// Begins to record the operations of this thread; says whether that was being done already.
pub fn start_trace() -> bool {
    ask_to_choose();
    IS_ON.replace(true)
}

/// Ends it, unless `keeps_on`, and gives what was recorded since the place `from`.
pub fn end_trace(from: usize, keeps_on: bool) -> Vec<TracedOperation> {
    IS_ON.set(keeps_on);
    FOUND.with_borrow_mut(|found| {
        // bounded: one per operation that was traced.
        let part = found[from.min(found.len())..].to_vec();
        if !keeps_on {
            found.clear();
        }
        part
    })
}

/// How many operations were recorded so far.
#[must_use]
pub fn trace_length() -> usize {
    FOUND.with_borrow(Vec::len)
}

fn push(traced: TracedOperation) {
    FOUND.with_borrow_mut(|found| found.push(traced));
}

/// A row of the elementwise tables.
#[cold]
pub(crate) fn elementwise(
    op: Op,
    inputs: &[DType],
    cast: Option<&[DType]>,
    has_scalar: bool,
    result: DType,
) {
    let used = cast.unwrap_or(inputs);
    let first = used.first().copied().unwrap_or(result);
    let common = used.iter().copied().find(|d| *d != first);
    let reason = if cast.is_some() {
        let policy = op.row().autocast;
        format!("autocast: {}", format!("{policy:?}").to_lowercase())
    } else if matches!(
        op.row().signature,
        Signature::Test | Signature::Compare | Signature::Logic
    ) {
        "a truth value".to_owned()
    } else if common.is_some() {
        format!("promotion: {}", promotion())
    } else if result == first && has_scalar {
        "the tensor's; a number has none".to_owned()
    } else if result == first {
        "the operands'".to_owned()
    } else if !Set::Inexact.contains(first) && Set::Inexact.contains(result) && !has_scalar {
        "default dtype".to_owned()
    } else if has_scalar {
        "promotion: kind of a number".to_owned()
    } else {
        "the operation's".to_owned()
    };
    let compute = match op.row().signature {
        Signature::Map | Signature::Select => compute_dtype(result),
        _ => compute_dtype(common.unwrap_or(first)),
    };
    push(TracedOperation {
        op: op.name(),
        line: locate(),
        inputs: inputs.to_vec(),
        compute,
        accumulator: None,
        result,
        reason,
    });
}

/// Records a cast that the user has asked for, if operations are traced.
pub fn trace_cast(from: DType, to: DType) {
    if !is_tracing() {
        return;
    }
    push(TracedOperation {
        op: "to",
        line: locate(),
        inputs: vec![from],
        compute: to,
        accumulator: None,
        result: to,
        reason: "explicit cast".to_owned(),
    });
}

/// A reduction or structured operation, at the moment that it asks for the dtype of its result.
#[cold]
pub(crate) fn result_chosen(question: Question, result: DType) {
    let Question { name, common, .. } = question;
    let compute = compute_dtype(if result == question.result {
        common
    } else {
        result
    });
    let reason = if result != question.result {
        format!(
            "autocast: {}",
            format!("{:?}", question.autocast).to_lowercase()
        )
    } else if result == common {
        "the operands'".to_owned()
    } else if !Set::Inexact.contains(common) && Set::Inexact.contains(result) {
        "default dtype".to_owned()
    } else {
        "the operation's".to_owned()
    };
    push(TracedOperation {
        op: name,
        line: locate(),
        inputs: vec![common],
        compute,
        accumulator: Some(if common.is_integer() { result } else { compute }),
        result,
        reason,
    });
}
