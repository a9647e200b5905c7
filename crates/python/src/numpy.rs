//! NumPy arrays as tensors of the same memory, which the array keeps alive.
#![allow(unsafe_code, reason = "an address from NumPy")]

use std::ffi::{c_char, c_int, c_void};
use std::slice;

use allotrope_cpu::Foreign;
use allotrope_dtype::{Error, Problem};
use allotrope_tensor::{ForeignLayout, Tensor};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCapsule, PyModule, PyString, PyType};

use crate::convert;
use crate::error::{raise, wrong_object};
use crate::interrupt::detach;
use crate::operand::RELEASE_FROM;

/// What is asked of NumPy again and again.
pub(crate) struct Classes {
    array: Py<PyType>,
    dtype: Py<PyType>,
    generic: Py<PyType>,
    asarray: Py<PyAny>,
}

impl Classes {
    /// The class of arrays.
    pub(crate) fn array<'py>(&self, py: Python<'py>) -> &Bound<'py, PyType> {
        self.array.bind(py)
    }

    /// The class of dtypes.
    pub(crate) fn dtype<'py>(&self, py: Python<'py>) -> &Bound<'py, PyType> {
        self.dtype.bind(py)
    }

    /// The class of all scalars.
    pub(crate) fn generic<'py>(&self, py: Python<'py>) -> &Bound<'py, PyType> {
        self.generic.bind(py)
    }
}

/// NumPy's classes, if anybody imported it: before that there are no objects of them.
pub(crate) fn loaded<'py>(py: Python<'py>) -> PyResult<Option<&'static Classes>> {
    static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();
    if let Some(classes) = CLASSES.get(py) {
        return Ok(Some(classes));
    }
    let modules = PyModule::import(py, intern!(py, "sys"))?.getattr(intern!(py, "modules"))?;
    let Ok(numpy) = modules.get_item(intern!(py, "numpy")) else {
        return Ok(None);
    };
    // A half-imported NumPy has no such attributes yet.
    let class = |name: &Bound<'py, PyString>| -> PyResult<Option<Py<PyType>>> {
        let class = numpy.getattr_opt(name)?;
        Ok(class
            .and_then(|class| class.cast_into::<PyType>().ok())
            .map(Bound::unbind))
    };
    let (Some(array), Some(dtype), Some(generic), Some(asarray)) = (
        class(intern!(py, "ndarray"))?,
        class(intern!(py, "dtype"))?,
        class(intern!(py, "generic"))?,
        numpy.getattr_opt(intern!(py, "asarray"))?,
    ) else {
        return Ok(None);
    };
    let asarray = asarray.unbind();
    let classes = CLASSES.get_or_init(py, || Classes {
        array,
        dtype,
        generic,
        asarray,
    });
    Ok(Some(classes))
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
    if object.get_type().is(numpy.array(py)) {
        return share(op, object, copy).map(Some);
    }
    let as_array = || numpy.asarray.bind(py).call1((object,));
    if object.is_instance(numpy.generic(py))? {
        // The array of one element is new.
        if copy == Some(false) {
            let reason = "a scalar is not memory".to_owned();
            return Err(raise(Error::new(op, Problem::CopyNeeded { reason })));
        }
        return share(op, &as_array()?, copy).map(Some);
    }
    if !object.is_instance(numpy.array(py))? {
        return Ok(None);
    }
    // The elements of a masked array hold what its mask hides.
    if object.getattr_opt(intern!(py, "mask"))?.is_some() {
        let accepted = "NumPy arrays without a mask";
        return Err(wrong_object(op, "a masked array", object, accepted));
    }
    // Seen as a plain array, since a subclass may say anything of itself.
    share(op, &as_array()?, copy).map(Some)
}

/// `PyArrayInterface`: what the capsule `__array_struct__` of an array points to.
#[repr(C)]
struct Interface {
    _two: c_int,
    rank: c_int,
    _kind: c_char,
    _item_size: c_int,
    flags: c_int,
    sizes: *const isize,
    strides: *const isize,
    data: *mut c_void,
}

/// `NPY_ARRAY_WRITEABLE`.
const WRITABLE: c_int = 0x400;

/// The tensor of an object of exactly the class `numpy.ndarray`.
fn share(op: &'static str, array: &Bound<'_, PyAny>, copy: Option<bool>) -> PyResult<Tensor> {
    let py = array.py();
    let dtype = convert::to_dtype(op, &array.getattr(intern!(py, "dtype"))?)?;
    let capsule = array.getattr(intern!(py, "__array_struct__"))?;
    let interface = capsule.cast::<PyCapsule>()?.pointer_checked(None)?;
    // SAFETY: NumPy's own class points to such a struct, which lives as long as the capsule.
    let interface = unsafe { interface.cast::<Interface>().as_ref() };
    let rank = usize::try_from(interface.rank).unwrap_or(0);
    let (sizes, strides) = match rank {
        0 => (&[][..], &[][..]),
        _ => {
            // SAFETY: it has so many, none of them negative, and they live as the struct.
            let sizes = unsafe { slice::from_raw_parts(interface.sizes.cast::<usize>(), rank) };
            // SAFETY: as many, which live as long.
            let strides = unsafe { slice::from_raw_parts(interface.strides, rank) };
            (sizes, strides)
        }
    };
    let layout = ForeignLayout::new(op, sizes, strides, dtype).map_err(raise)?;
    let start = interface
        .data
        .cast::<u8>()
        .wrapping_sub(layout.bytes_before());
    let (bytes, owner) = (layout.bytes(), Owner::new(array));
    let memory = if interface.flags & WRITABLE == 0 {
        // SAFETY: NumPy's own class says where its elements are, and they stay there while the array
        // exists. Its owner may also write to them, as with everyone who shares NumPy's memory.
        unsafe { Foreign::new(start, bytes, owner) }
    } else {
        // SAFETY: as above; and NumPy says that they may be written to.
        unsafe { Foreign::new_writable(start, bytes, owner) }
    };
    let read = || Tensor::from_foreign(memory, &layout, copy);
    let read = match bytes > RELEASE_FROM {
        true => detach(py, read),
        false => read(),
    };
    read.map_err(raise)
}
