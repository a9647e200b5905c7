//! Tensors of one value, of numbers in a row, and of the shape of another.

use allotrope_dtype::{DType, ScalarKind, WeakScalar};
use allotrope_tensor::{Options, Tensor};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arguments::{
    DTypeOrFamily, Format, Int, Ints, Number, Operand, needed, plain_sizes, size,
    sizes as read_sizes,
};
use crate::create::{as_leaf, number, number_of, operand, placed, resolve, resolve_like};
use crate::error::raise;
use crate::infer::infer;
use crate::memory_format::arrange;
use crate::scopes::default_dtype;
use crate::tensor::{PyTensor, wrap};

/// A constructor of sizes and a dtype per row.
macro_rules! of_sizes {
    ($($(#[doc = $doc:literal])* $name:ident;)*) => {$(
        $(#[doc = $doc])*
        #[pyfunction]
        #[pyo3(signature = (*sizes, size=None, dtype=None, device=None, requires_grad=false, memory_format=None))]
        pub(crate) fn $name(
            sizes: &Bound<'_, PyTuple>,
            size: Option<Ints>,
            dtype: Option<DTypeOrFamily>,
            device: Option<&str>,
            requires_grad: bool,
            memory_format: Option<Format>,
        ) -> PyResult<PyTensor> {
            const OP: &str = stringify!($name);
            let options = resolve(OP, dtype, device, || Ok(None))?;
            let made = match plain_sizes(sizes, size) {
                Some(sizes) => Tensor::$name(&sizes, options),
                None => Tensor::$name(&read_sizes(OP, sizes, size)?, options),
            };
            let made = made.map_err(raise)?;
            if memory_format.is_none() && !requires_grad {
                return Ok(made.into());
            }
            as_leaf(wrap(Ok(arrange(OP, made, memory_format)?)), requires_grad)
        }
    )*};
}
of_sizes! {
    /// All zero.
    ///
    /// >>> al.zeros(2, 3, dtype="bfloat16").dtype
    /// allotrope.bfloat16
    zeros;
    /// All one.
    ///
    /// >>> al.ones(2, dtype=al.Int)
    /// tensor([1, 1])
    ones;
    /// Elements of unknown values, to be overwritten.
    ///
    /// >>> al.empty(2, 3).shape
    /// (2, 3)
    empty;
}

/// A constructor of the shape of another tensor, and of its dtype if none is given, per row.
macro_rules! of_likes {
    ($($(#[doc = $doc:literal])* $name:ident $plain:ident;)*) => {$(
        $(#[doc = $doc])*
        #[pyfunction]
        #[pyo3(signature = (input, dtype=None, device=None, requires_grad=false, memory_format=None))]
        pub(crate) fn $name(
            input: Operand,
            dtype: Option<DTypeOrFamily>,
            device: Option<&str>,
            requires_grad: bool,
            memory_format: Option<Format>,
        ) -> PyResult<PyTensor> {
            const OP: &str = stringify!($name);
            let like = operand(OP, input)?;
            let options = resolve_like(OP, dtype, device, &like)?;
            let made = Tensor::$plain(like.shape(), options).map_err(|error| raise(error.in_op(OP)))?;
            as_leaf(wrap(Ok(arrange(OP, made, memory_format)?)), requires_grad)
        }
    )*};
}
of_likes! {
    /// All zero, in the shape of another tensor, and in its dtype if none is given.
    ///
    /// >>> al.zeros_like(al.ones(2))
    /// tensor([0., 0.])
    zeros_like zeros;
    /// All one, in the shape of another tensor, and in its dtype if none is given.
    ///
    /// >>> al.ones_like(al.zeros(2), dtype="int64")
    /// tensor([1, 1])
    ones_like ones;
    /// Elements of unknown values, in the shape of another tensor, and in its dtype if none is given.
    ///
    /// >>> al.empty_like(al.zeros(2, 3, dtype="uint8")).dtype
    /// allotrope.uint8
    empty_like empty;
}

/// All of one value, which the dtype must hold; without a dtype, the value's own.
///
/// >>> al.full((2,), 7)
/// tensor([7, 7])
#[pyfunction]
#[pyo3(signature = (size, fill_value, dtype=None, device=None, requires_grad=false))]
pub(crate) fn full(
    size: Ints,
    fill_value: Number,
    dtype: Option<DTypeOrFamily>,
    device: Option<&str>,
    requires_grad: bool,
) -> PyResult<PyTensor> {
    const OP: &str = "full";
    let options = resolve(OP, dtype, device, || infer(OP, fill_value, None).map(Some))?;
    let sizes = read_sizes(OP, &PyTuple::empty(size.py()), Some(size))?;
    as_leaf(
        wrap(Tensor::full(
            &sizes,
            number_of(OP, fill_value, options.dtype)?,
            options,
        )),
        requires_grad,
    )
}

/// All of one value, in the shape of another tensor, and in its dtype if none is given.
///
/// >>> al.full_like(al.zeros(2), 7)
/// tensor([7., 7.])
#[pyfunction]
#[pyo3(signature = (input, fill_value, dtype=None, device=None, requires_grad=false, memory_format=None))]
pub(crate) fn full_like(
    input: Operand,
    fill_value: Number,
    dtype: Option<DTypeOrFamily>,
    device: Option<&str>,
    requires_grad: bool,
    memory_format: Option<Format>,
) -> PyResult<PyTensor> {
    const OP: &str = "full_like";
    let like = operand(OP, input)?;
    let options = resolve_like(OP, dtype, device, &like)?;
    let value = number_of(OP, fill_value, options.dtype)?;
    let filled = Tensor::full(like.shape(), value, options);
    let filled = filled.map_err(|error| raise(error.in_op(OP)))?;
    as_leaf(wrap(Ok(arrange(OP, filled, memory_format)?)), requires_grad)
}

/// One on the diagonal, zero elsewhere: n rows and m columns, or as many as rows.
///
/// >>> al.eye(2, dtype="int64")
/// tensor([[1, 0],
///         [0, 1]])
#[pyfunction]
#[pyo3(signature = (n, m=None, dtype=None, device=None, requires_grad=false))]
pub(crate) fn eye(
    n: Int,
    m: Option<Int>,
    dtype: Option<DTypeOrFamily>,
    device: Option<&str>,
    requires_grad: bool,
) -> PyResult<PyTensor> {
    const OP: &str = "eye";
    let options = resolve(OP, dtype, device, || Ok(None))?;
    let (rows, columns) = (size(OP, n.0)?, size(OP, m.unwrap_or(n).0)?);
    as_leaf(wrap(Tensor::eye(rows, columns, options)), requires_grad)
}

/// The numbers from start, step apart, before end. Each is start plus so many steps; an integer dtype
/// takes those of a float step without their fractions, and as many as there are in float.
///
/// >>> al.arange(2, 8, 3)
/// tensor([2, 5])
/// >>> al.arange(0, 3, 0.5, dtype="int64")
/// tensor([0, 0, 1, 1, 2, 2])
#[pyfunction]
#[pyo3(signature = (start=None, end=None, step=None, dtype=None, device=None, requires_grad=false))]
pub(crate) fn arange(
    start: Option<Number>,
    end: Option<Number>,
    step: Option<Number>,
    dtype: Option<DTypeOrFamily>,
    device: Option<&str>,
    requires_grad: bool,
) -> PyResult<PyTensor> {
    const OP: &str = "arange";
    let step = step.map_or(Ok(WeakScalar::Int(1)), |step| number(OP, step))?;
    let (start, end) = match (start, end) {
        (Some(start), Some(end)) => (number(OP, start)?, number(OP, end)?),
        (one, other) => {
            let end = needed(OP, "end", one.or(other))?;
            (WeakScalar::Int(0), number(OP, end)?)
        }
    };
    let options = resolve_numbers(OP, dtype, device, &[start, end, step], ScalarKind::Int)?;
    let made = Tensor::arange(start, end, step, options);
    as_leaf(Ok(placed(OP, made, options)?.into()), requires_grad)
}

/// So many numbers from start to end, both included, evenly spaced. Integers are truncated.
///
/// >>> al.linspace(0, 1, 5)
/// tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
#[pyfunction]
#[pyo3(signature = (start, end, steps, dtype=None, device=None, requires_grad=false))]
pub(crate) fn linspace(
    start: Number,
    end: Number,
    steps: Int,
    dtype: Option<DTypeOrFamily>,
    device: Option<&str>,
    requires_grad: bool,
) -> PyResult<PyTensor> {
    const OP: &str = "linspace";
    let read = |value| number_of(OP, value, DType::F64);
    let (start, end) = (read(start)?, read(end)?);
    let options = resolve_numbers(OP, dtype, device, &[start, end], ScalarKind::Float)?;
    let made = Tensor::linspace(start, end, size(OP, steps.0)?, options);
    as_leaf(Ok(placed(OP, made, options)?.into()), requires_grad)
}

/// base to the power of each number of `linspace`. Integers are truncated.
///
/// >>> al.logspace(0, 3, 4, dtype="int64")
/// tensor([   1,   10,  100, 1000])
#[pyfunction]
#[pyo3(signature = (start, end, steps, base=10.0, dtype=None, device=None, requires_grad=false))]
pub(crate) fn logspace(
    start: Number,
    end: Number,
    steps: Int,
    base: f64,
    dtype: Option<DTypeOrFamily>,
    device: Option<&str>,
    requires_grad: bool,
) -> PyResult<PyTensor> {
    const OP: &str = "logspace";
    let read = |value| number_of(OP, value, DType::F64);
    let (start, end) = (read(start)?, read(end)?);
    let options = resolve_numbers(OP, dtype, device, &[start, end], ScalarKind::Float)?;
    let made = Tensor::logspace(start, end, size(OP, steps.0)?, base, options);
    as_leaf(Ok(placed(OP, made, options)?.into()), requires_grad)
}

/// The dtype that was asked for; else that of the highest kind among numbers, which is at least
/// `least`.
fn resolve_numbers(
    op: &'static str,
    dtype: Option<DTypeOrFamily>,
    device: Option<&str>,
    numbers: &[WeakScalar],
    least: ScalarKind,
) -> PyResult<Options> {
    let kind = numbers
        .iter()
        .map(|number| number.kind())
        .fold(least, Ord::max);
    resolve(op, dtype, device, || {
        Ok(Some(kind.default_dtype(default_dtype())))
    })
}
