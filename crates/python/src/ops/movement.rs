//! Elements that change places.

use pyo3::prelude::*;

use crate::arguments::{Integers, either, integers};
use crate::operand::run;
use crate::tensor::PyTensor;

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

pub(super) use functions::register;

forms! {
    /// The elements moved by shifts along dims, those that leave at one end entering at the other.
    /// Without dims the elements move in row-major order.
    ///
    /// >>> al.arange(4).roll(1)
    /// tensor([3, 0, 1, 2])
    roll[shifts, dims=None, *, axis=None](
        shifts: Any<'_, '_>,
        dims: Option<Any<'_, '_>>,
        axis: Option<Any<'_, '_>>
    ) -> PyTensor |py, op, x| {
        let shifts = integers(op, shifts)?.into_vec();
        let dims = either(op, dims, axis)?.filter(|dims| !dims.is_none());
        let dims = dims.map(|dims| integers(op, dims)).transpose()?;
        let dims = dims.map_or_else(Vec::new, Integers::into_vec);
        run(py, x.count(), || x.roll(&shifts, &dims))
    };
}
