//! Operations that are declared once, as a method of `Tensor` and as a function of the module.

/// Adds functions to a module.
macro_rules! add {
    ($module:ident, $($name:ident)*) => {
        let to: &Bound<'_, PyModule> = &$module;
        $(to.add_function(wrap_pyfunction!($name, to)?)?;)*
    };
}

/// A method of `Tensor` and a function of the module from one row: documentation, name in Rust (and
/// in Python, where Rust has no such name), Python's signature, Rust's arguments, and what becomes of
/// the tensor. The body knows the interpreter, the name of the operation and the tensor. The functions
/// also write to tensors given as `out`. The module `functions` that it makes has a `register`.
macro_rules! forms {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident $(as $python:literal)? [$($($signature:tt)+)?]($($argument:ident: $type:ty),*) -> $result:ty
            |$py:ident, $op:ident, $x:ident| $body:expr;
    )*) => {
        #[pymethods]
        impl PyTensor {$(
            $(#[doc = $doc])*
            #[allow(clippy::too_many_arguments, reason = "the names of two libraries")]
            #[pyo3(signature = ($($($signature)+)?))]
            $(#[pyo3(name = $python)])?
            fn $name(&self, py: Python<'_> $(, $argument: $type)*) -> PyResult<$result> {
                let ($py, $op, $x) = (py, [$($python,)? stringify!($name)][0], &self.tensor());
                let _ = ($py, $op);
                $body
            }
        )*}

        /// The functions of the module.
        pub(crate) mod functions {
            use super::*;
            $(
                $(#[doc = $doc])*
                #[pyfunction]
                #[allow(clippy::too_many_arguments, reason = "the names of two libraries")]
                #[pyo3(signature = (input $(, $($signature)+)?, out=None))]
                $(#[pyo3(name = $python)])?
                pub(crate) fn $name<'py>(
                    py: Python<'py>,
                    input: $crate::arguments::Operand<'_, 'py>
                    $(, $argument: $type)*,
                    out: Option<$crate::arguments::Out<'_, 'py>>,
                ) -> PyResult<$crate::in_place::Delivered<'py, $result>> {
                    let $op = [$($python,)? stringify!($name)][0];
                    let ($py, $x) = (py, &crate::create::operand($op, input)?);
                    let _ = $py;
                    let make = || -> PyResult<$result> { $body };
                    $crate::in_place::deliver(py, $op, make()?, out)
                }
            )*

            /// Adds them all.
            pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
                $(module.add_function(wrap_pyfunction!($name, module)?)?;)*
                Ok(())
            }
        }
    };
}

/// As `forms!` for views: the body gives a tensor, or several, that share the memory of the one they
/// are made of where they can, and Python sees variables over that memory.
macro_rules! views {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident[$($signature:tt)*]($($argument:ident: $type:ty),*) -> $result:ty
            |$op:ident, $x:ident| $body:expr;
    )*) => {
        #[pymethods]
        impl PyTensor {$(
            $(#[doc = $doc])*
            #[allow(clippy::too_many_arguments, reason = "the names of two libraries")]
            #[pyo3(signature = ($($signature)*))]
            fn $name(&self $(, $argument: $type)*) -> PyResult<<$result as $crate::tensor::Seen>::Object> {
                let $op = stringify!($name);
                let _ = $op;
                self.see(|$x| -> PyResult<$result> { $body })
            }
        )*}

        /// The functions of the module.
        pub(crate) mod functions {
            use super::*;
            $(
                $(#[doc = $doc])*
                #[pyfunction]
                #[allow(clippy::too_many_arguments, reason = "the names of two libraries")]
                #[pyo3(signature = (input, $($signature)*))]
                pub(crate) fn $name(
                    input: $crate::arguments::Operand<'_, '_>
                    $(, $argument: $type)*
                ) -> PyResult<<$result as $crate::tensor::Seen>::Object> {
                    let $op = stringify!($name);
                    $crate::tensor::view($op, input, |$x| -> PyResult<$result> { $body })
                }
            )*

            /// Adds them all.
            pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
                $(module.add_function(wrap_pyfunction!($name, module)?)?;)*
                Ok(())
            }
        }
    };
}
