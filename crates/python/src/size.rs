//! The sizes of a tensor: a tuple of Python's that says how many elements there are, and whose slices
//! and sums say it too (unsafe).
//!
//! The class is Python's, `Size`; its instances are made here without a call, since `x.shape` is asked
//! for all the time, and its base takes single indices as fast as a tuple does.
#![allow(
    unsafe_code,
    reason = "a type with slots of its own, and tuples that are filled once"
)]
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "calls of the interpreter that belong together: what one makes the next takes"
)]

use std::ffi::{c_int, c_void};
use std::ptr;

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyInt, PyTuple, PyType};

use crate::tensor::PyTensor;

/// An object of the class.
pub(crate) type Sizes<'py> = Bound<'py, PyTuple>;

/// The sizes as an object of the class.
pub(crate) fn wrap<'py>(py: Python<'py>, sizes: &[usize]) -> PyResult<Sizes<'py>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let class = CLASS.get_or_try_init(py, || {
        let class = PyModule::import(py, intern!(py, "allotrope._more"))?.getattr("Size")?;
        Ok::<_, PyErr>(class.cast_into::<PyType>()?.unbind())
    })?;
    let items = sizes
        .iter()
        .map(|size| size.into_pyobject(py).map(Bound::into_any));
    let length = sizes.len() as ffi::Py_ssize_t;
    // SAFETY: a class that is derived of tuple; what is made is new, or null with an exception set.
    let made = unsafe {
        let made = ffi::PyType_GenericAlloc(class.as_ptr().cast(), length);
        Bound::from_owned_ptr_or_err(py, made)
    }?;
    for (place, item) in (0..length).zip(items) {
        // SAFETY: the place is one of a tuple that nobody else has, and the item is given away.
        unsafe { ffi::PyTuple_SetItem(made.as_ptr(), place, item?.into_ptr()) };
    }
    Ok(made.cast_into()?)
}

/// What tuple does in a slot.
fn slot(number: c_int) -> *mut c_void {
    // SAFETY: tuple is a type that lives as long as the interpreter.
    unsafe { ffi::PyType_GetSlot(&raw mut ffi::PyTuple_Type, number) }
}

/// A tuple that was just made, as an object of the class of another; null stays null.
///
/// # Safety
/// `tuple` is a new reference to a tuple, or null with an exception set; the class is derived of tuple.
unsafe fn like(this: *mut ffi::PyObject, tuple: *mut ffi::PyObject) -> *mut ffi::PyObject {
    if tuple.is_null() {
        return tuple;
    }
    // SAFETY: as promised; places are within the length, and each item is given away once.
    unsafe {
        let length = ffi::PyTuple_Size(tuple);
        let made = ffi::PyType_GenericAlloc(ffi::Py_TYPE(this), length);
        if !made.is_null() {
            for place in 0..length {
                let item = ffi::PyTuple_GetItem(tuple, place);
                ffi::Py_INCREF(item);
                ffi::PyTuple_SetItem(made, place, item);
            }
        }
        ffi::Py_DECREF(tuple);
        made
    }
}

/// `sizes[index]`, a number or sizes.
unsafe extern "C" fn subscript(
    this: *mut ffi::PyObject,
    key: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls with objects that live, and tuple has the slot.
    unsafe {
        let plain: ffi::binaryfunc = std::mem::transmute(slot(ffi::Py_mp_subscript));
        let found = plain(this, key);
        match ffi::PySlice_Check(key) {
            0 => found,
            _ => like(this, found),
        }
    }
}

/// `sizes + other`.
unsafe extern "C" fn concatenate(
    this: *mut ffi::PyObject,
    other: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls with objects that live, and tuple has the slot.
    unsafe {
        let plain: ffi::binaryfunc = std::mem::transmute(slot(ffi::Py_sq_concat));
        like(this, plain(this, other))
    }
}

/// `tensor.size(dim)`, called with the descriptor, the tensor and what else is given. Of an index of a
/// dimension it is answered at once; all else is left to what reading the attribute gives.
unsafe extern "C" fn call_size(
    this: *mut ffi::PyObject,
    arguments: *mut ffi::PyObject,
    keywords: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls with objects that live, and attached to it; a tuple of arguments has
    // the items that it says, and what is returned is new, or null with an exception set.
    unsafe {
        let py = Python::assume_attached();
        let count = ffi::PyTuple_Size(arguments);
        if count == 2 && keywords.is_null() {
            let tensor = Borrowed::from_ptr(py, ffi::PyTuple_GetItem(arguments, 0));
            let dim = Borrowed::from_ptr(py, ffi::PyTuple_GetItem(arguments, 1));
            let is_index = dim.is_exact_instance_of::<PyInt>();
            if is_index
                && let Ok(tensor) = tensor.cast::<PyTensor>()
                && let Ok(dim) = dim.extract()
                && let Some(size) = tensor.get().variable().size(dim)
            {
                return ffi::PyLong_FromSize_t(size);
            }
        }
        let Ok(count) = usize::try_from(count) else {
            return ptr::null_mut();
        };
        if count == 0 {
            let given = Borrowed::from_ptr(py, this).get_type();
            PyTypeError::new_err(format!("{given}: a tensor is missing")).restore(py);
            return ptr::null_mut();
        }
        let get: ffi::descrgetfunc = std::mem::transmute(ffi::PyType_GetSlot(
            &raw mut ffi::PyProperty_Type,
            ffi::Py_tp_descr_get,
        ));
        let tensor = ffi::PyTuple_GetItem(arguments, 0);
        let size = get(this, tensor, ffi::Py_TYPE(tensor).cast());
        if size.is_null() {
            return size;
        }
        let rest = ffi::PyTuple_GetSlice(arguments, 1, count as ffi::Py_ssize_t);
        let answer = match rest.is_null() {
            true => rest,
            false => ffi::PyObject_Call(size, rest, keywords),
        };
        ffi::Py_XDECREF(rest);
        ffi::Py_DECREF(size);
        answer
    }
}

/// A property that is called as a method without an object in between: `tensor.size` is a number,
/// `tensor.size(0)` asks for one.
fn called_property<'py>(base: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let mut slots = [
        ffi::PyType_Slot {
            slot: ffi::Py_tp_call,
            pfunc: call_size as *mut c_void,
        },
        ffi::PyType_Slot {
            slot: 0,
            pfunc: ptr::null_mut(),
        },
    ];
    let mut spec = ffi::PyType_Spec {
        name: c"allotrope._core._SizeProperty".as_ptr(),
        basicsize: 0,
        itemsize: 0,
        flags: (ffi::Py_TPFLAGS_DEFAULT | ffi::Py_TPFLAGS_METHOD_DESCRIPTOR) as _,
        slots: slots.as_mut_ptr(),
    };
    let bases = PyTuple::new(base.py(), [base])?;
    // SAFETY: the slots end with zero, and what is made is new, or null with an exception set.
    unsafe {
        let made = ffi::PyType_FromSpecWithBases(&raw mut spec, bases.as_ptr());
        Bound::from_owned_ptr_or_err(base.py(), made)
    }
}

/// Adds the base of `Size`, and the class of the attribute `size`.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let entry = |slot, pfunc| ffi::PyType_Slot { slot, pfunc };
    let mut slots = [
        entry(ffi::Py_mp_subscript, subscript as *mut c_void),
        entry(ffi::Py_sq_concat, concatenate as *mut c_void),
        entry(0, ptr::null_mut()),
    ];
    let mut spec = ffi::PyType_Spec {
        name: c"allotrope._core._Sizes".as_ptr(),
        basicsize: 0,
        itemsize: 0,
        flags: (ffi::Py_TPFLAGS_DEFAULT | ffi::Py_TPFLAGS_BASETYPE) as _,
        slots: slots.as_mut_ptr(),
    };
    let bases = PyTuple::new(py, [py.get_type::<PyTuple>()])?;
    // SAFETY: the slots end with zero, and what is made is new, or null with an exception set.
    let made = unsafe {
        let made = ffi::PyType_FromSpecWithBases(&raw mut spec, bases.as_ptr());
        Bound::from_owned_ptr_or_err(py, made)
    }?;
    module.add("_Sizes", made)?;
    // With a dict, where the documentation of the one is: the class hides what a property has itself.
    let property = PyModule::import(py, intern!(py, "builtins"))?.getattr("property")?;
    let base = ("_Property", (property,), PyDict::new(py));
    let base = py.get_type::<PyType>().call1(base)?;
    module.add("_SizeProperty", called_property(&base)?)
}
