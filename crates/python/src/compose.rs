//! Short compositions that torch has a name for: each is a method of `Tensor` and a function of the
//! module, and keeps the gradients of what it is made of.

use allotrope_dtype::Error;
use allotrope_op::{Op, Shape};
use allotrope_tensor::{Tensor, sub_scaled};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arguments::{Format, Integers, Ints, Operand, integers, size, spread};
use crate::create::operand;
use crate::elementwise::apply_as;
use crate::error::raise;
use crate::memory_format::arrange;
use crate::operand::{self, Value, run};
use crate::options::scaled;
use crate::tensor::{PyTensor, wrap};

forms! {
    /// A copy with elements of its own, through which gradients go back; they lie in row-major order,
    /// or as memory_format says.
    ///
    /// >>> al.tensor([1, 2]).clone()
    /// tensor([1, 2])
    clone[*, memory_format=None](memory_format: Option<Format>) -> PyTensor |py, op, x| {
        let copy = run(py, x.count(), || x.copied())?;
        match memory_format {
            None => Ok(copy),
            format => wrap(Ok(arrange(op, copy.tensor(), format)?)),
        }
    };

    /// The number, or a lower bound above it; NaN stays.
    ///
    /// >>> al.tensor([-1, 3]).clamp_min(0)
    /// tensor([0, 3])
    clamp_min[min](min: Operand) -> PyTensor |py, op, x|
        apply_as(py, op, Op::Maximum, &[Value::Tensor(x.clone()), operand::read_other(op, min)?]);

    /// The number, or an upper bound below it; NaN stays.
    ///
    /// >>> al.tensor([-1, 3]).clamp_max(0)
    /// tensor([-1,  0])
    clamp_max[max](max: Operand) -> PyTensor |py, op, x|
        apply_as(py, op, Op::Minimum, &[Value::Tensor(x.clone()), operand::read_other(op, max)?]);

    /// The power in float64, or complex128 for complex numbers.
    ///
    /// >>> al.tensor([2.0, 3.0]).float_power(-1)
    /// tensor([0.5000, 0.3333], dtype=float64)
    float_power[exponent](exponent: Operand) -> PyTensor |py, op, x| {
        let exponent = operand::read_other(op, exponent)?;
        run(py, x.count(), || x.float_power(exponent.as_operand()))
    };

    /// other minus alpha times the number.
    ///
    /// >>> al.tensor([1, 2]).rsub(10)
    /// tensor([9, 8])
    rsub[other, *, alpha=None](other: Operand, alpha: Option<Operand>) -> PyTensor |py, op, x| {
        let operands = [operand::read_other(op, other)?, Value::Tensor(x.clone())];
        match alpha {
            None => apply_as(py, op, Op::Sub, &operands),
            Some(alpha) => scaled(py, op, |x, y, a| sub_scaled(x, y, a), operands, alpha),
        }
    };

    /// The norm of order p of the difference of two tensors; of integers and bool it is of the
    /// default float, and no difference wraps.
    ///
    /// >>> al.tensor([0.0, 3.0]).dist(al.tensor([4.0, 0.0]))
    /// tensor(5.)
    dist[other, p=2.0](other: Operand, p: f64) -> PyTensor |py, op, x| {
        let other = operand(op, other)?;
        run(py, x.count(), || x.dist(&other, p))
    };

    /// The sums along the dimensions that sizes were repeated along to give this shape, in the dtype
    /// that sum gives, int64 or uint64 for integers, be there something to sum or not.
    ///
    /// >>> al.ones(2, 3).sum_to_size(3)
    /// tensor([2., 2., 2.])
    /// >>> al.ones(300, dtype=al.uint8).sum_to_size(1)
    /// tensor([300], dtype=uint64)
    sum_to_size[*sizes, size=None](sizes: &Bound<'_, PyTuple>, size: Option<Ints>) -> PyTensor |py, op, x| {
        let sizes = spread(op, sizes, size)?;
        run(py, x.count(), || x.sum_to_size(&sizes))
    };

    /// The complex conjugate; real numbers as they are.
    ///
    /// >>> al.tensor([1 + 2j]).conj_physical()
    /// tensor([1.-2.j])
    conj_physical[]() -> PyTensor |py, op, x| apply_as(py, op, Op::Conj, &[Value::Tensor(x.clone())]);
}

/// Complex numbers of magnitudes and angles.
///
/// >>> al.polar(al.tensor([2.0]), al.tensor([0.0]))
/// tensor([2.+0.j])
#[pyfunction]
fn polar(py: Python<'_>, abs: Operand, angle: Operand) -> PyResult<PyTensor> {
    let (size, angle) = (operand("polar", abs)?, operand("polar", angle)?);
    run(py, size.count(), || size.polar(&angle))
}

/// The sizes that shapes broadcast to.
///
/// >>> al.broadcast_shapes((2, 1), (3,), 1)
/// (2, 3)
#[pyfunction]
#[pyo3(signature = (*shapes))]
fn broadcast_shapes<'py>(shapes: &Bound<'py, PyTuple>) -> PyResult<crate::size::Sizes<'py>> {
    let op = "broadcast_shapes";
    let mut read = Vec::new();
    for shape in shapes.iter() {
        let sizes = integers(op, &shape).map(Integers::into_vec)?.into_iter();
        let sizes = sizes
            .map(|given| size(op, given))
            // bounded: as many as the caller lists.
            .collect::<PyResult<Vec<_>>>()?;
        read.push(Shape::new(op, &sizes).map_err(raise)?);
    }
    let references: Vec<&Shape> = read.iter().collect();
    let common = Shape::broadcast(op, &references).map_err(raise)?;
    crate::size::wrap(shapes.py(), &common)
}

pub(crate) fn adjoint_of(x: &Tensor) -> Result<Tensor, Error> {
    let turned = x
        .transpose(-2, -1)
        .map_err(|error| error.in_op("adjoint"))?;
    if x.dtype().is_complex() {
        turned.conj()
    } else {
        Ok(turned)
    }
}

/// Adds them all.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    functions::register(module)?;
    add!(module, polar broadcast_shapes);
    Ok(())
}
