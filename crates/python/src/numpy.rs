//! NumPy arrays as tensors of the same memory, which the array keeps alive.
#![allow(unsafe_code, reason = "an address from NumPy")]

use std::ptr;

use allotrope_cpu::Foreign;
use allotrope_dtype::{Error, Problem};
use allotrope_tensor::{ForeignLayout, Tensor};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyModule;

use crate::convert;
use crate::error::{raise, wrong_object};
use crate::interrupt::detach;

/// NumPy, if anybody imported it: before that there are no arrays.
pub(crate) fn loaded(py: Python<'_>) -> PyResult<Option<Bound<'_, PyAny>>> {
    let modules = PyModule::import(py, intern!(py, "sys"))?.getattr(intern!(py, "modules"))?;
    Ok(modules.get_item(intern!(py, "numpy")).ok())
}

/// An array that is kept alive, and released at once wherever its last view ends: left to PyO3, it
/// would wait for the next call into this module if that is on a thread Python does not know.
struct Owner(Option<Py<PyAny>>);

impl Owner {
    fn new(array: &Bound<'_, PyAny>) -> Self {
        Self(Some(array.clone().unbind()))
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let array = self.0.take();
        let _hold = allotrope_cpu::interrupt::hold();
        Python::try_attach(|_| drop(array));
    }
}

/// The tensor of a NumPy array or scalar, by whose dtype's name and never by its letters: these
/// are `<V1` for every float8. None for any other object.
pub(crate) fn read(
    op: &'static str,
    object: &Bound<'_, PyAny>,
    copy: Option<bool>,
) -> PyResult<Option<Tensor>> {
    let py = object.py();
    let Some(numpy) = loaded(py)? else {
        return Ok(None);
    };
    // A half-imported NumPy has no such attributes yet.
    let (Some(class), Some(generic)) = (
        numpy.getattr_opt(intern!(py, "ndarray"))?,
        numpy.getattr_opt(intern!(py, "generic"))?,
    ) else {
        return Ok(None);
    };
    if object.get_type().is(&class) {
        return share(op, object, copy).map(Some);
    }
    if object.is_instance(&generic)? {
        // The array of one element is new.
        if copy == Some(false) {
            let reason = "a scalar is not memory".to_owned();
            return Err(raise(Error::new(op, Problem::CopyNeeded { reason })));
        }
        let array = numpy.call_method1(intern!(py, "asarray"), (object,))?;
        return share(op, &array, copy).map(Some);
    }
    if !object.is_instance(&class)? {
        return Ok(None);
    }
    // The elements of a masked array hold what its mask hides.
    if object.getattr_opt(intern!(py, "mask"))?.is_some() {
        let accepted = "NumPy arrays without a mask";
        return Err(wrong_object(op, "a masked array", object, accepted));
    }
    // Seen as a plain array, since a subclass may say anything of itself.
    let array = numpy.call_method1(intern!(py, "asarray"), (object,))?;
    share(op, &array, copy).map(Some)
}

/// The tensor of an object of exactly the class `numpy.ndarray`.
fn share(op: &'static str, array: &Bound<'_, PyAny>, copy: Option<bool>) -> PyResult<Tensor> {
    let py = array.py();
    let dtype = convert::to_dtype(op, &array.getattr(intern!(py, "dtype"))?)?;
    let sizes: Vec<usize> = array.getattr(intern!(py, "shape"))?.extract()?;
    let strides: Vec<isize> = array.getattr(intern!(py, "strides"))?.extract()?;
    let interface = array.getattr(intern!(py, "__array_interface__"))?;
    let (first, is_read_only): (usize, bool) =
        interface.get_item(intern!(py, "data"))?.extract()?;
    let layout = ForeignLayout::new(op, &sizes, &strides, dtype).map_err(raise)?;
    let start = ptr::with_exposed_provenance_mut::<u8>(first).wrapping_sub(layout.bytes_before());
    let (bytes, owner) = (layout.bytes(), Owner::new(array));
    let memory = if is_read_only {
        // SAFETY: NumPy's own class says where its elements are, and they stay there while the array
        // exists. Its owner may also write to them, as with everyone who shares NumPy's memory.
        unsafe { Foreign::new(start, bytes, owner) }
    } else {
        // SAFETY: as above; and NumPy says that they may be written to.
        unsafe { Foreign::new_writable(start, bytes, owner) }
    };
    detach(py, || Tensor::from_foreign(memory, &layout, copy)).map_err(raise)
}
