//! What users are told without having asked, as Python's warnings, and the policies of that.

use std::ffi::{CStr, CString};

use allotrope_dtype::{Error, MatmulPrecision, Notify, OverflowPolicy};
use allotrope_tensor::{Notice, set_notice_sink};
use pyo3::create_exception;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::autograd::{callback_failed, frames_of_package};
use crate::error::raise;
use crate::interrupt::attach;
use crate::scopes;
use crate::settings::{Entered, decorate, enter, leave};

create_exception!(
    allotrope,
    FallbackWarning,
    PyUserWarning,
    "The CPU computes an operation for a device that has no kernel for it.\n\n\
    >>> import warnings\n\
    >>> with warnings.catch_warnings():\n\
    ...     warnings.simplefilter('error', al.FallbackWarning)\n\
    ...     al.ones(2).sort().values\n\
    tensor([1., 1.])"
);

create_exception!(
    allotrope,
    DemotionWarning,
    PyUserWarning,
    "A device stores a dtype narrower, so that something of its values is lost.\n\n\
    >>> import warnings\n\
    >>> with warnings.catch_warnings():\n\
    ...     warnings.simplefilter('error', al.DemotionWarning)\n\
    ...     al.ones(1, dtype='float64').to('cpu').storage_dtype\n\
    allotrope.float64"
);

/// Warns at the user's line, however many frames of the package are above it.
pub(crate) fn warn_user(py: Python<'_>, category: &Bound<'_, PyType>, text: &CStr) -> PyResult<()> {
    let frames = frames_of_package(py).unwrap_or(0) + 1;
    PyErr::warn(py, category, text, frames)
}

/// Warns at the user's line.
#[pyfunction]
pub(crate) fn _warn(py: Python<'_>, text: &str, category: &Bound<'_, PyType>) -> PyResult<()> {
    let text = CString::new(text.replace('\0', "")).unwrap_or_default();
    warn_user(py, category, &text)
}
create_exception!(
    allotrope,
    OverflowWarning,
    PyUserWarning,
    "Results of an operation left the range of their dtype, as `overflow` asked to be told.\n\n\
    >>> import warnings\n\
    >>> with al.overflow('report'), warnings.catch_warnings():\n\
    ...     warnings.simplefilter('ignore', al.OverflowWarning)\n\
    ...     al.tensor([100], dtype='int8') + 100\n\
    tensor([-56], dtype=int8)"
);

/// Warns at the user's line. What a filter makes an exception is raised in place of the operation.
fn warn(notice: &Notice) -> Result<(), Error> {
    attach(|py| {
        let category = match notice {
            Notice::Hosted { .. } => py.get_type::<FallbackWarning>(),
            Notice::Demoted { .. } => py.get_type::<DemotionWarning>(),
            Notice::Overflowed { .. } => py.get_type::<OverflowWarning>(),
        };
        let text = CString::new(notice.to_string()).unwrap_or_default();
        warn_user(py, &category, &text)
    })
    .map_err(callback_failed)
}

/// A policy as a scope, a setter and a getter.
macro_rules! policies {
    ($($(#[doc = $doc:literal])* $class:ident $name:literal $kind:ident $enter:ident $set_in_scope:ident $option:ident
       [$(#[doc = $set_doc:literal])* $set:ident] [$(#[doc = $get_doc:literal])* $get:ident $read:ident];)*) => {$(
        $(#[doc = $doc])*
        #[pyclass(name = $name, module = "allotrope", frozen)]
        pub(crate) struct $class {
            answer: $kind,
            entered: Entered,
        }

        #[pymethods]
        impl $class {
            #[new]
            fn new($option: &str) -> PyResult<Self> {
                Ok(Self {
                    answer: $kind::parse($name, $option).map_err(raise)?,
                    entered: Entered::default(),
                })
            }

            fn __enter__(this: Py<Self>, py: Python<'_>) -> PyResult<Py<Self>> {
                let answer = this.get().answer;
                let scope = scopes::change(py, |scopes| Ok(scopes.settings.$enter(answer)))?;
                enter(&this.get().entered, scope);
                Ok(this)
            }

            #[pyo3(signature = (*_exception))]
            fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyAny>) -> PyResult<()> {
                leave(py, &self.entered, $name)
            }

            fn __call__<'py>(
                this: &Bound<'py, Self>,
                function: &Bound<'py, PyAny>,
            ) -> PyResult<Bound<'py, PyAny>> {
                decorate(this.as_any(), function)
            }

            fn __repr__(&self) -> String {
                format!("allotrope.{}('{}')", $name, self.answer.name())
            }
        }

        $(#[doc = $set_doc])*
        #[pyfunction]
        pub(crate) fn $set(py: Python<'_>, $option: &str) -> PyResult<()> {
            let answer = $kind::parse(stringify!($set), $option).map_err(raise)?;
            scopes::change(py, |scopes| {
                if !scopes.settings.$set_in_scope(answer) {
                    allotrope_dtype::$set(answer);
                }
                Ok(())
            })
        }

        $(#[doc = $get_doc])*
        #[pyfunction]
        pub(crate) fn $get() -> &'static str {
            scopes::sync();
            allotrope_dtype::$read().name()
        }
    )*};
}
policies! {
    /// A scope that says what is heard of operations that the CPU computes for a device without a kernel
    /// for them: "warn" (one `FallbackWarning` per operation and device), "silent" or "error".
    ///
    /// >>> with al.fallback("error"):
    /// ...     al.get_fallback()
    /// 'error'
    Fallback "fallback" Notify enter_fallback set_fallback policy
        [
            /// Sets what is heard of hosted operations: of the scope this thread is in, else of the process.
            ///
            /// >>> with al.fallback("warn"):
            /// ...     al.set_fallback("error")
            /// ...     al.get_fallback()
            /// 'error'
            set_fallback
        ]
        [
            /// What is heard of hosted operations.
            ///
            /// >>> al.get_fallback()
            /// 'warn'
            get_fallback fallback
        ];
    /// A scope that says what is heard of dtypes that a device stores narrower: "warn" (one
    /// `DemotionWarning` per dtype and device), "silent" or "error".
    ///
    /// >>> with al.demotion("silent"):
    /// ...     al.get_demotion()
    /// 'silent'
    Demotion "demotion" Notify enter_demotion set_demotion policy
        [
            /// Sets what is heard of demoted dtypes: of the scope this thread is in, else of the process.
            ///
            /// >>> with al.demotion("warn"):
            /// ...     al.set_demotion("error")
            /// ...     al.get_demotion()
            /// 'error'
            set_demotion
        ]
        [
            /// What is heard of demoted dtypes.
            ///
            /// >>> al.get_demotion()
            /// 'warn'
            get_demotion demotion
        ];
    /// A scope that says what becomes of results that leave the range of their dtype: integers beyond it,
    /// and floats that become infinite or NaN of finite operands.
    ///
    /// "wrap": integers wrap, floats become infinite or NaN. "raise": an OverflowError names the first.
    /// "saturate": the nearest number that the dtype holds; NaN stays, with a warning. "report": as they
    /// wrap, with one `OverflowWarning` per operation, dtype and line.
    ///
    /// >>> x = al.tensor([27, 100], dtype="int8")
    /// >>> x + 100
    /// tensor([127, -56], dtype=int8)
    /// >>> with al.overflow("saturate"):
    /// ...     x + 100
    /// tensor([127, 127], dtype=int8)
    /// >>> with al.overflow("raise"):
    /// ...     x + 100
    /// Traceback (most recent call last):
    /// OverflowError: add: int8 overflow at index (1,): 100 + 100; int8 holds -128 to 127 (hint: ...)
    Overflow "overflow" OverflowPolicy enter_overflow set_overflow policy
        [
            /// Sets what becomes of results that leave the range of their dtype: of the scope this thread is
            /// in, else of the process.
            ///
            /// >>> with al.overflow("wrap"):
            /// ...     al.set_overflow("raise")
            /// ...     al.get_overflow()
            /// 'raise'
            set_overflow
        ]
        [
            /// What becomes of results that leave the range of their dtype.
            ///
            /// >>> al.get_overflow()
            /// 'wrap'
            get_overflow overflow
        ];
    /// A scope that says how matrices of bfloat16 and float8 are multiplied by the CPU.
    ///
    /// "same": as float32 numbers, with the same bits on every processor. "fast": by the processor's own
    /// bfloat16 units where it has them, up to twice as fast; sums that are subnormal are zero, and
    /// neighbouring products are added in another order. Traces say where they were used.
    ///
    /// >>> x = al.ones(2, 3, dtype="bfloat16")
    /// >>> with al.precision(matmul="fast"):
    /// ...     x @ x.T
    /// tensor([[3., 3.],
    ///         [3., 3.]], dtype=bfloat16)
    Precision "precision" MatmulPrecision enter_matmul_precision set_matmul_precision matmul
        [
            /// Sets how matrices of bfloat16 and float8 are multiplied by the CPU: of the scope this thread is
            /// in, else of the process.
            ///
            /// >>> with al.precision(matmul="fast"):
            /// ...     al.set_matmul_precision("same")
            /// ...     al.get_matmul_precision()
            /// 'same'
            set_matmul_precision
        ]
        [
            /// How matrices of bfloat16 and float8 are multiplied by the CPU.
            ///
            /// >>> al.get_matmul_precision()
            /// 'same'
            get_matmul_precision matmul_precision
        ];
}

/// Forgets which warnings were given, so that they are given again.
#[pyfunction]
pub(crate) fn _forget_notices() {
    allotrope_tensor::forget_notices();
}

/// Adds the warnings, and gives them.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("FallbackWarning", py.get_type::<FallbackWarning>())?;
    module.add("DemotionWarning", py.get_type::<DemotionWarning>())?;
    module.add("OverflowWarning", py.get_type::<OverflowWarning>())?;
    set_notice_sink(warn);
    Ok(())
}
