//! Which dtypes operations compute in and why, recorded for whoever wants to see.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use allotrope_dtype::{DType, Flow, ScopeId, ScopeStack, Set, promotion};
use allotrope_op::{Autocast, Op, Signature, compute_dtype};

use crate::amp::leaves_alone;
use crate::autograd::locate;
use crate::call::Question;
use crate::device::Device;
use crate::fork;
use crate::{Operand, Tensor};

/// One operation, as it was called.
#[derive(Clone, Debug, PartialEq)]
pub struct TracedOperation {
    /// The operation.
    pub op: &'static str,
    /// The line of the user's program, if known.
    pub line: Option<String>,
    /// The dtypes of the tensors it was given, before they met.
    pub inputs: Vec<DType>,
    /// The dtype that it computes in.
    pub compute: DType,
    /// The dtype that sums are formed in, if there are any.
    pub accumulator: Option<DType>,
    /// The dtype of the result.
    pub result: DType,
    /// Why the result has it.
    pub reason: String,
    /// The device that the CPU computed it for, if that has no kernel for it.
    pub hosted: Option<Device>,
}

/// An operation, and its result where a trace keeps results.
type Entry = (TracedOperation, Option<Tensor>);

/// A list that operations are recorded in.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    entries: Arc<Mutex<Vec<Entry>>>,
    keeps_values: bool,
}

impl Trace {
    /// A list that keeps the results of operations beside them, until they are taken out.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::{Tensor, Trace, TraceFlow};
    /// let (trace, mut flow) = (Trace::with_values(), TraceFlow::default());
    /// let id = flow.enter(trace.clone());
    /// flow.resume();
    /// let x = Tensor::zeros(&[2], DType::F32)?.exp()?;
    /// flow.leave(id);
    /// flow.resume();
    /// let taken = trace.take();
    /// assert_eq!(taken.len(), 1);
    /// let value = taken[0].1.as_ref().map(Tensor::to_vec::<f32>).transpose()?;
    /// assert_eq!(value, Some(x.to_vec::<f32>()?));
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    #[must_use]
    pub fn with_values() -> Self {
        Self {
            keeps_values: true,
            ..Self::default()
        }
    }

    /// What was recorded so far.
    #[must_use]
    pub fn operations(&self) -> Vec<TracedOperation> {
        let entries = self.lock();
        entries.iter().map(|(traced, _)| traced.clone()).collect()
    }

    /// Takes what was recorded so far out of the list, with the results that are kept and known. Those
    /// of operations that were composed of others, or wrote in place, are not.
    #[must_use]
    pub fn take(&self) -> Vec<(TracedOperation, Option<Tensor>)> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        // A panic elsewhere leaves a list of whole records.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether anybody ever traced: until then operations read this alone, which is nearer than what belongs
/// to a thread.
static IS_USED: AtomicBool = AtomicBool::new(false);

thread_local! {
    static IS_ON: Cell<bool> = const { Cell::new(false) };
    static KEEPS_VALUES: Cell<bool> = const { Cell::new(false) };
    static TRACES: RefCell<ScopeStack<Trace>> = const { RefCell::new(ScopeStack::new()) };
}

/// Changes the traces of this thread.
fn change<R>(change: impl FnOnce(&mut ScopeStack<Trace>) -> R) -> R {
    TRACES.with_borrow_mut(|traces| {
        let result = change(traces);
        if !traces.is_empty() {
            IS_USED.store(true, Ordering::Relaxed);
        }
        IS_ON.set(!traces.is_empty());
        KEEPS_VALUES.set(traces.inside_out().any(|trace| trace.keeps_values));
        result
    })
}

/// The traces that a flow of control is inside of, such as a task of an event loop; see
/// [`SettingFlow`](allotrope_dtype::SettingFlow).
#[derive(Clone, Debug, Default)]
pub struct TraceFlow(Flow<Trace>);

impl TraceFlow {
    /// Makes these the traces of this thread, beside those of its own guards.
    pub fn resume(&self) {
        change(|traces| traces.resume(self.0.clone()));
    }

    /// Whether the flow is in no trace.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Begins a trace.
    pub fn enter(&mut self, trace: Trace) -> ScopeId {
        let id;
        (self.0, id) = self.0.entered(trace);
        id
    }

    /// Ends a trace wherever it stands; false if the flow is not inside it.
    pub fn leave(&mut self, id: ScopeId) -> bool {
        let left = self.0.left(id);
        let is_left = left.is_some();
        self.0 = left.unwrap_or_else(|| self.0.clone());
        is_left
    }
}

/// Records the operations of this thread until it is dropped.
#[derive(Debug)]
pub struct TraceGuard {
    trace: Trace,
    id: ScopeId,
    /// It belongs to the thread.
    here: PhantomData<*const ()>,
}

impl TraceGuard {
    /// What was recorded so far.
    #[must_use]
    pub fn operations(&self) -> Vec<TracedOperation> {
        self.trace.operations()
    }
}

impl Drop for TraceGuard {
    fn drop(&mut self) {
        change(|traces| traces.remove(self.id));
    }
}

/// Records the operations of this thread, with the dtypes that they compute in.
///
/// ```
/// use allotrope_dtype::DType;
/// use allotrope_tensor::{Tensor, trace_dtypes};
/// let trace = trace_dtypes();
/// let x = Tensor::ones(&[2], DType::F32)?.exp()?;
/// assert_eq!(trace.operations().last().map(|o| (o.op, o.result)), Some(("exp", x.dtype())));
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
#[must_use = "nothing is recorded once the guard is dropped"]
pub fn trace_dtypes() -> TraceGuard {
    let trace = Trace::default();
    let id = change(|traces| traces.push(trace.clone()));
    TraceGuard {
        trace,
        id,
        here: PhantomData,
    }
}

/// Whether operations of this thread are traced.
#[inline]
pub(crate) fn is_tracing() -> bool {
    IS_USED.load(Ordering::Relaxed) && IS_ON.get()
}

fn push(traced: TracedOperation) {
    let _gate = fork::enter_detached();
    TRACES.with_borrow(|traces| {
        for trace in traces.inside_out() {
            trace.lock().push((traced.clone(), None));
        }
    });
}

/// Gives the last operation its result, if a trace of this thread keeps results and has none for it:
/// called with whatever leaves the library as a new tensor.
#[inline]
pub fn trace_value(value: &Tensor) {
    if IS_USED.load(Ordering::Relaxed) && KEEPS_VALUES.get() {
        keep_value(value);
    }
}

#[cold]
fn keep_value(value: &Tensor) {
    let _gate = fork::enter_detached();
    TRACES.with_borrow(|traces| {
        for trace in traces.inside_out().filter(|trace| trace.keeps_values) {
            if let Some((traced, kept @ None)) = trace.lock().last_mut()
                && traced.result == value.dtype()
            {
                *kept = Some(value.detach());
            }
        }
    });
}

/// A row of the elementwise tables.
#[cold]
pub(crate) fn elementwise(
    op: Op,
    inputs: &[DType],
    cast: Option<&[DType]>,
    has_scalar: bool,
    value: &Tensor,
) {
    let result = value.dtype();
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
    let reason = match cast {
        None => with_exception(reason, op.name(), op.row().autocast, inputs),
        Some(_) => reason,
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
        hosted: None,
    });
    trace_value(value);
}

/// A reason, and that autocast has left an operand as it is, if it would have cast it otherwise.
fn with_exception(
    reason: String,
    name: &'static str,
    policy: Autocast,
    inputs: &[DType],
) -> String {
    match leaves_alone(name, policy, inputs.iter().copied()) {
        Some(wide) => format!("{reason}; autocast leaves {wide} alone"),
        None => reason,
    }
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
        hosted: None,
    });
}

/// A reduction or structured operation, at the moment that it asks for the dtype of its result.
#[cold]
pub(crate) fn result_chosen(question: Question, operands: &[Operand<'_>], result: DType) {
    let Question { name, common, .. } = question;
    let given = operands.iter().filter_map(|operand| match operand {
        Operand::Tensor(tensor) => Some(tensor.dtype()),
        Operand::Scalar(_) => None,
    });
    let mut inputs: Vec<DType> = given.collect();
    if inputs.is_empty() {
        inputs.push(common);
    }
    let first = inputs.first().copied().unwrap_or(common);
    let is_promoted = inputs.iter().any(|dtype| *dtype != first);
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
    } else if is_promoted && result == common {
        format!("promotion: {}", promotion())
    } else if result == first {
        "the operands'".to_owned()
    } else if result == common {
        // A number beside them has decided it.
        "promotion: kind of a number".to_owned()
    } else if !Set::Inexact.contains(common) && Set::Inexact.contains(result) {
        "default dtype".to_owned()
    } else {
        "the operation's".to_owned()
    };
    let reason = match result == question.result {
        true => with_exception(reason, name, question.autocast, &inputs),
        false => reason,
    };
    push(TracedOperation {
        op: name,
        line: locate(),
        inputs,
        compute,
        accumulator: Some(if common.is_integer() { result } else { compute }),
        result,
        reason,
        hosted: None,
    });
}

/// The processor's own units multiply: the call says so.
#[cold]
pub(crate) fn trace_units(op: &'static str) {
    TRACES.with_borrow(|traces| {
        let _gate = fork::enter_detached();
        for trace in traces.inside_out() {
            if let Some((last, _)) = trace.lock().last_mut().filter(|(last, _)| last.op == op) {
                last.reason
                    .push_str("; products by the processor's bfloat16 units");
            }
        }
    });
}

/// The CPU computes an operation for a device: the call is marked, or recorded by itself if it was not.
#[cold]
pub(crate) fn trace_hosted(op: &'static str, device: Device, inputs: &[DType]) {
    let is_known = TRACES.with_borrow(|traces| {
        let _gate = fork::enter_detached();
        let mut is_known = true;
        for trace in traces.inside_out() {
            match trace.lock().last_mut().filter(|(last, _)| last.op == op) {
                Some((last, _)) => last.hosted = Some(device),
                None => is_known = false,
            }
        }
        is_known
    });
    if is_known {
        return;
    }
    let first = inputs.first().copied().unwrap_or(DType::Bool);
    push(TracedOperation {
        op,
        line: locate(),
        inputs: inputs.to_vec(),
        compute: compute_dtype(first),
        accumulator: None,
        result: first,
        reason: "a task of the operation".to_owned(),
        hosted: Some(device),
    });
}
