//! Signals in the middle of long work: Ctrl-C, and whatever else a handler of the user raises.
//!
//! Long work asks on the thread that called it, a few times a second, whether a handler has raised
//! (`allotrope_cpu::interrupt`); handlers run there and then. The exception comes out of the call, whose
//! result nobody has seen.

use std::cell::{Cell, RefCell};

use allotrope_cpu::interrupt;
use allotrope_dtype::Error;
use pyo3::intern;
use pyo3::prelude::*;

use crate::autograd::callback_failed;

thread_local! {
    /// What a handler raised, until the work is left.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
    /// Whether this thread runs handlers, as found in a process of this number.
    static IS_MAIN: Cell<Option<(u32, bool)>> = const { Cell::new(None) };
}

/// Runs work while other Python threads run, until it is done or a handler of a signal raises.
pub(crate) fn detach<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> Result<T, Error> {
    let outcome = py.detach(|| interrupt::catch(work));
    outcome.unwrap_or_else(|interrupt::Interrupted| Err(interrupted(py)))
}

/// Runs Python code in the middle of work: what it calls is given up by itself, and never through the
/// frames of the interpreter.
pub(crate) fn attach<T>(code: impl FnOnce(Python<'_>) -> T) -> T {
    let _hold = interrupt::hold();
    Python::attach(code)
}

/// What work that was given up fails with.
#[cold]
fn interrupted(py: Python<'_>) -> Error {
    let raised = RAISED.take();
    callback_failed(raised.unwrap_or_else(|| PyErr::fetch(py)))
}

/// Runs the handlers of signals that have come: whether one has raised.
pub(crate) fn probe() -> bool {
    let process = std::process::id();
    if IS_MAIN.get() == Some((process, false)) {
        return false;
    }
    let looked = Python::try_attach(|py| {
        let is_main = match IS_MAIN.get() {
            Some((found_in, is_main)) if found_in == process => Ok(is_main),
            // The question is code of Python's: a signal that has come is handled in it.
            _ => is_main_thread(py),
        };
        let looked = is_main.and_then(|is_main| {
            IS_MAIN.set(Some((process, is_main)));
            if is_main { py.check_signals() } else { Ok(()) }
        });
        match looked {
            Ok(()) => false,
            Err(raised) => {
                RAISED.set(Some(raised));
                true
            }
        }
    });
    looked.unwrap_or(false)
}

/// Whether this is the thread that runs handlers.
fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import(intern!(py, "threading"))?;
    let main = threading.call_method0(intern!(py, "main_thread"))?;
    let here = threading.call_method0(intern!(py, "get_ident"))?;
    main.getattr(intern!(py, "ident"))?.eq(here)
}
