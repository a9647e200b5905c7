//! Operations that are declared once, as a method of `Tensor` and as a function of the module.

/// A method of `Tensor` and a function of the module from one row: documentation, name in Rust (and
/// in Python, where Rust has no such name), Python's signature, Rust's arguments, and what becomes of
/// the tensor. The body knows the interpreter, the name of the operation and the tensor. The module
/// `functions` that it makes has a `register`.
macro_rules! forms {
    ($(
        $(#[doc = $doc:literal])*
        $name:ident $(as $python:literal)? [$($signature:tt)*]($($argument:ident: $type:ty),*) -> $result:ty
            |$py:ident, $op:ident, $x:ident| $body:expr;
    )*) => {
        #[pymethods]
        impl PyTensor {$(
            $(#[doc = $doc])*
            #[allow(clippy::too_many_arguments, reason = "the names of two libraries")]
            #[pyo3(signature = ($($signature)*))]
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
                #[pyo3(signature = (input, $($signature)*))]
                $(#[pyo3(name = $python)])?
                pub(crate) fn $name(
                    py: Python<'_>,
                    input: &Bound<'_, PyAny>
                    $(, $argument: $type)*
                ) -> PyResult<$result> {
                    let $op = [$($python,)? stringify!($name)][0];
                    let ($py, $x) = (py, &crate::create::operand($op, input)?);
                    let _ = $py;
                    $body
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
