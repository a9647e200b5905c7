//! How the class `Tensor` tells Python that it has memory to read: by the method `__buffer__` from
//! 3.12 on, and before that by its slots, which the stable ABI of 3.10 has no names for.
//!
//! What is handed out, and what is refused, is decided in `memory`.
#![allow(unsafe_code, reason = "the slots and structs of a C interface")]

use std::ffi::{c_char, c_int, c_void};
use std::panic::{self, AssertUnwindSafe};
use std::ptr;

use allotrope_tensor::Tensor;
use pyo3::panic::PanicException;
use pyo3::prelude::*;
use pyo3::types::PyModule;
use pyo3::{ffi, intern};

use crate::memory;
use crate::tensor::PyTensor;

/// Where `tp_as_buffer` is in a type object of CPython 3.10 and 3.11, which will not change any
/// more: behind 20 members of a pointer's size, on machines of 32 bits too.
const AS_BUFFER: usize = 20;
/// `PyBUF_FORMAT`.
const FORMAT: c_int = 0x4;
/// `PyBUF_ND`, which is part of all flags that ask for strides.
const SHAPE: c_int = 0x8;
/// What `PyBUF_STRIDES` asks for beyond a shape.
const STRIDES: c_int = 0x10;

/// `PyBufferProcs`.
#[repr(C)]
struct Slots {
    get: unsafe extern "C" fn(*mut ffi::PyObject, *mut View, c_int) -> c_int,
    release: unsafe extern "C" fn(*mut ffi::PyObject, *mut View),
}

/// `Py_buffer`, which is the same in every Python 3, and part of the stable ABI since 3.11.
#[repr(C)]
struct View {
    data: *mut c_void,
    object: *mut ffi::PyObject,
    bytes: isize,
    item_size: isize,
    is_read_only: c_int,
    rank: c_int,
    format: *mut c_char,
    shape: *mut isize,
    strides: *mut isize,
    suboffsets: *mut isize,
    internal: *mut c_void,
}

/// What a view points to until it is released: sizes followed by strides in bytes, and the value.
/// The object that was asked may get another value meanwhile.
type Kept = (Vec<isize>, Tensor);

/// Lets Python ask tensors for buffers.
pub(crate) fn offer(py: Python<'_>) -> PyResult<()> {
    let class = py.get_type::<PyTensor>();
    if py.version_info() >= (3, 12) {
        // Python only looks for the method when the attribute is set.
        let name = intern!(py, "__buffer__");
        return class.setattr(name, class.getattr(name)?);
    }
    let implementation = PyModule::import(py, "sys")?.getattr("implementation")?;
    if !implementation.getattr("name")?.eq("cpython")? {
        return Ok(());
    }
    let members = class.as_type_ptr().cast::<*mut Slots>();
    // SAFETY: the class is a type object of one of the two versions, where the member is there.
    let slots = unsafe { members.wrapping_add(AS_BUFFER).read() };
    if !slots.is_null() {
        // SAFETY: a class made at runtime has this struct within itself, and may be changed by a
        // thread that holds the interpreter. No other class inherits from this one.
        unsafe { slots.write(Slots { get, release }) };
    }
    Ok(())
}

/// `bf_getbuffer`.
unsafe extern "C" fn get(object: *mut ffi::PyObject, view: *mut View, flags: c_int) -> c_int {
    let answer = |py: Python<'_>| {
        // SAFETY: Python hands over the object that is asked, and keeps it alive.
        let object = unsafe { Bound::from_borrowed_ptr(py, object) };
        panic::catch_unwind(AssertUnwindSafe(|| fill(&object, flags)))
            .unwrap_or_else(|_| Err(PanicException::new_err("memoryview: a panic")))
            .map_err(|error| error.restore(py))
    };
    // SAFETY: a thread that calls a slot holds the interpreter, also while that shuts down. PyO3 is
    // told, since it would put off what is released on any other thread.
    let filled = unsafe { Python::attach_unchecked(answer) };
    if let Ok(filled) = filled {
        // SAFETY: the struct is the consumer's, for us to fill.
        unsafe { view.write(filled) };
        0
    } else {
        // SAFETY: as above; this says that there is nothing to release.
        unsafe { (*view).object = ptr::null_mut() };
        -1
    }
}

/// `bf_releasebuffer`.
unsafe extern "C" fn release(_object: *mut ffi::PyObject, view: *mut View) {
    // SAFETY: Python hands back a struct that `get` filled.
    let internal = unsafe { (*view).internal };
    // SAFETY: `fill` made the box, and a view is released once.
    drop(unsafe { Box::from_raw(internal.cast::<Kept>()) });
}

/// A view of a tensor, with as much of its layout as the consumer asks for.
fn fill(object: &Bound<'_, PyAny>, flags: c_int) -> PyResult<View> {
    let (value, format) = memory::accept(object.cast::<PyTensor>()?.get(), flags)?;
    let (rank, size) = (value.rank(), value.dtype().itemsize() as isize);
    let sizes = value.shape().iter().map(|n| *n as isize);
    let strides = value.layout().strides().iter().map(|step| step * size);
    let mut extents: Vec<isize> = sizes.chain(strides).collect();
    let has_shape = flags & SHAPE != 0;
    // Without dimensions both are null. Without a shape the elements are a row of bytes.
    let (mut shape, mut strides) = (ptr::null_mut(), ptr::null_mut());
    if has_shape && rank > 0 {
        shape = extents.as_mut_ptr();
        if flags & STRIDES != 0 {
            strides = shape.wrapping_add(rank);
        }
    }
    let format = match has_shape && flags & FORMAT != 0 {
        true => format.as_ptr().cast_mut(),
        false => ptr::null_mut(),
    };
    Ok(View {
        data: ptr::with_exposed_provenance_mut(value.address()),
        object: object.clone().into_ptr(),
        bytes: value.count() as isize * size,
        item_size: size,
        is_read_only: 1,
        rank: if has_shape { rank as c_int } else { 1 },
        format,
        shape,
        strides,
        suboffsets: ptr::null_mut(),
        internal: Box::into_raw(Box::<Kept>::new((extents, value))).cast(),
    })
}
