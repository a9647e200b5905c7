//! `save` and `load`: values of Python to and from files.

use pyo3::pybacked::PyBackedBytes;

use crate::objects;
use std::ffi::CString;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use allotrope_cpu::memory::probe;
use allotrope_io::{Format, Key, Value};
use pyo3::exceptions::{
    PyBlockingIOError, PyOSError, PyOverflowError, PyUserWarning, PyValueError,
};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyComplex, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::arguments::{FilePath, either, needed};
use crate::device::device_or_cpu;
use crate::error::{cut, raise, wrong_object};
use crate::mapped;
use crate::notice::warn_user;
use crate::operand;
use crate::tensor::PyTensor;

/// Containers within containers, beyond what the formats accept: a list that contains itself ends.
const DEEPEST: usize = 100;

/// Writes a tensor, or dicts, lists and tuples of tensors, to a file.
///
/// The name says the format: `.npy` (one tensor) and `.npz` (a dict of tensors) are NumPy's, anything
/// else is safetensors. Every dtype comes back exactly: complex128, which safetensors lacks, is
/// stored there as F64 with a last dimension of two parts, bfloat16 and the 8-bit floats in npy files
/// as the plain bytes that NumPy makes of them. In safetensors files containers may be nested, and
/// None, bool, int, float, complex and str may stand beside tensors; they are kept in the metadata,
/// as is `metadata`, a dict of str. A name that others read as a pickle (`.pt`, `.pth`, `.pkl`,
/// `.pickle`) is written as safetensors too, with a warning: `load` reads it, `torch.load` does not.
///
/// The file is replaced as a whole: an error, or the end of the process at any moment, leaves the old
/// one as it was. Instead of a path, a binary file object is written to, as safetensors: until it has
/// taken every byte, or an error is raised.
///
/// >>> import os, tempfile
/// >>> path = os.path.join(tempfile.mkdtemp(), "state.safetensors")
/// >>> al.save({"weight": al.ones(2, dtype="bfloat16"), "epoch": 3}, path)
/// >>> al.load(path)
/// {'weight': tensor([1., 1.], dtype=bfloat16), 'epoch': 3}
#[pyfunction]
#[pyo3(signature = (obj, path=None, metadata=None, *, f=None))]
pub(crate) fn save(
    py: Python<'_>,
    obj: &Bound<'_, PyAny>,
    path: Option<FilePath>,
    metadata: Option<&Bound<'_, PyDict>>,
    f: Option<FilePath>,
) -> PyResult<()> {
    const OP: &str = "save";
    let path = needed(OP, "path", either(OP, path, f)?)?;
    let value = to_value(OP, obj, 0)?;
    let metadata = metadata.map_or_else(|| Ok(Vec::new()), |texts| read_texts(OP, texts))?;
    if path.getattr_opt(intern!(py, "write"))?.is_some() {
        let object = path.clone().unbind();
        return py.detach(|| {
            probe(OP, PIECE).map_err(raise)?;
            let mut writer = ObjectWriter::new(object);
            let written = {
                // bounded: the room was there a moment ago.
                let mut pieces = BufWriter::with_capacity(PIECE, &mut writer);
                let written =
                    allotrope_io::write(&value, Format::Safetensors, &metadata, &mut pieces);
                let flushed = written.is_ok() && pieces.flush().is_ok();
                // What is left after an error is not written.
                drop(pieces.into_parts());
                written.map(|()| flushed)
            };
            // What the object raised says more than that it could not be written to.
            match (writer.failure.take(), written) {
                (Some(raised), _) => Err(raised),
                (None, Err(error)) => Err(raise(error)),
                (None, Ok(true)) => Ok(()),
                (None, Ok(false)) => Err(PyOSError::new_err("save: the writer failed")),
            }
        });
    }
    let path = read_path(OP, path)?;
    warn_of_pickle(py, &path)?;
    py.detach(|| allotrope_io::save(&value, &path, &metadata))
        .map_err(raise)
}

/// Endings of names by which other programs expect a pickle, which is never written: it is code.
const PICKLES: [&str; 4] = ["pt", "pth", "pkl", "pickle"];

/// Warns that a file is not what its name says.
fn warn_of_pickle(py: Python<'_>, path: &Path) -> PyResult<()> {
    let end = path.extension().and_then(|end| end.to_str());
    if !end.is_some_and(|end| PICKLES.contains(&end)) {
        return Ok(());
    }
    let text = cut(format!(
        "save: not a pickle: {} is written as safetensors, which al.load and \
         safetensors.torch.load_file read and torch.load does not; .safetensors, .npy and .npz are \
         what they say (hint: {})",
        path.display(),
        path.with_extension("safetensors").display()
    ));
    let text = CString::new(text).unwrap_or_default();
    warn_user(py, &py.get_type::<PyUserWarning>(), &text)
}

/// Bytes that a file object is given at once: more than 2 GiB would be cut by the system.
const PIECE: usize = 256 << 10;
/// And at most.
const LARGEST_PIECE: usize = 16 << 20;

/// A file object of Python as a writer.
///
/// Objects tell how much they took, and are given the rest again. Raw ones that would block take
/// nothing and say None; None of an object that never counts, such as a class with a method `write`,
/// means everything.
struct ObjectWriter {
    object: Py<PyAny>,
    counts: Option<bool>,
    written: usize,
    /// What the object has raised.
    failure: Option<PyErr>,
}

impl ObjectWriter {
    fn new(object: Py<PyAny>) -> Self {
        Self {
            object,
            counts: None,
            written: 0,
            failure: None,
        }
    }

    fn give(&mut self, py: Python<'_>, bytes: &[u8]) -> PyResult<usize> {
        let piece = PyBytes::new_with(py, bytes.len(), |piece| {
            piece.copy_from_slice(bytes);
            Ok(())
        })?;
        let object = self.object.bind(py);
        let answer = object.call_method1(intern!(py, "write"), (piece,))?;
        if answer.is_none() {
            if self.counts.is_none() {
                let raw = py.import("io")?.getattr("RawIOBase")?;
                self.counts = Some(object.is_instance(&raw)?);
            }
            if self.counts == Some(false) {
                return Ok(bytes.len());
            }
            let written = self.written;
            return Err(PyBlockingIOError::new_err((
                py.import("errno")?.getattr("EAGAIN")?.unbind(),
                format!(
                    "save: the writer would block: {written} bytes were taken; \
                     writers that wait are accepted"
                ),
                written,
            )));
        }
        self.counts = Some(true);
        let accepted = "numbers from 0 to that of the bytes given";
        let count = answer.extract::<usize>().ok();
        match count.filter(|count| *count <= bytes.len()) {
            Some(0) => Err(PyOSError::new_err(format!(
                "save: the writer takes no more: {} bytes were taken",
                self.written
            ))),
            Some(count) => Ok(count),
            None => {
                let what = "the writer's answer is not a count of its bytes";
                Err(wrong_object("save", what, &answer, accepted))
            }
        }
    }

    /// Does what may raise, and remembers what was raised.
    fn attempt<T>(
        &mut self,
        act: impl FnOnce(&mut Self, Python<'_>) -> PyResult<T>,
    ) -> io::Result<T> {
        Python::attach(|py| act(self, py)).map_err(|raised| {
            self.failure = Some(raised);
            io::Error::other("the file object raised an error")
        })
    }
}

impl Write for ObjectWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = &bytes[..bytes.len().min(LARGEST_PIECE)];
        if bytes.is_empty() {
            return Ok(0);
        }
        let count = self.attempt(|writer, py| writer.give(py, bytes))?;
        self.written += count;
        Ok(count)
    }

    /// Full disks are told when buffers are emptied.
    fn flush(&mut self) -> io::Result<()> {
        self.attempt(|writer, py| {
            let object = writer.object.bind(py);
            match object.getattr_opt(intern!(py, "flush"))? {
                Some(flush) => flush.call0().map(drop),
                None => Ok(()),
            }
        })
    }
}

/// What a file holds: a file of `save`, any safetensors, npy or npz file, or one of `torch.save`, told by
/// its first bytes.
///
/// A file of torch's is read as data: tensors, dicts, lists, tuples, numbers and text. What its pickle would
/// call beside that is refused by its name, and nothing in it is run. Safetensors and npz files of others are dicts of their tensors by names, npy files tensors. With
/// mmap=True tensors are views of the file, which is read as they are used: nothing may write to it
/// as long as they exist (`save` does not, it makes a new file). Damaged files are an OSError.
/// Instead of a path, a binary file object is read. torch's f, map_location and weights_only are
/// accepted: path, device, and what always holds, since no such file holds code.
///
/// >>> import os, tempfile
/// >>> path = os.path.join(tempfile.mkdtemp(), "array.npy")
/// >>> numpy.save(path, numpy.arange(3, dtype="int16"))
/// >>> al.load(path, mmap=True)
/// tensor([0, 1, 2], dtype=int16)
#[pyfunction]
#[pyo3(signature = (path=None, map_location=None, *, mmap=None, device=None, weights_only=None, f=None))]
pub(crate) fn load<'py>(
    py: Python<'py>,
    path: Option<FilePath<'_, 'py>>,
    map_location: Option<&str>,
    mmap: Option<bool>,
    device: Option<&str>,
    weights_only: Option<bool>,
    f: Option<FilePath<'_, 'py>>,
) -> PyResult<Bound<'py, PyAny>> {
    const OP: &str = "load";
    // No file that is read here holds code.
    let _ = weights_only;
    let (path, mmap) = (
        needed(OP, "path", either(OP, path, f)?)?,
        mmap.unwrap_or(false),
    );
    let device = device_or_cpu(OP, either(OP, device, map_location)?)?;
    let value = match read_object(path)? {
        Some(_) if mmap => {
            return Err(PyValueError::new_err(
                "load: mmap=True with a file object; paths are accepted",
            ));
        }
        Some(bytes) => py.detach(|| allotrope_io::load_bytes(&bytes)),
        None => {
            let path = read_path(OP, path)?;
            py.detach(|| match mmap {
                true => mapped::load(&path),
                false => allotrope_io::load(&path),
            })
        }
    };
    let value = value.and_then(|value| value.to_device(device));
    from_value(py, value.map_err(raise)?)
}

/// The metadata of a safetensors file, a dict of str; npy and npz files have none.
///
/// >>> import io
/// >>> file = io.BytesIO()
/// >>> al.save(al.zeros(2), file, metadata={"author": "me"})
/// >>> file = io.BytesIO(file.getvalue())
/// >>> al.load_metadata(file)
/// {'author': 'me'}
#[pyfunction]
pub(crate) fn load_metadata<'py>(
    py: Python<'py>,
    path: FilePath<'_, 'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let texts = match read_object(path)? {
        Some(bytes) => allotrope_io::load_metadata_bytes(&bytes),
        None => {
            let path = read_path("load_metadata", path)?;
            py.detach(|| allotrope_io::load_metadata(&path))
        }
    };
    let metadata = PyDict::new(py);
    for (key, text) in texts.map_err(raise)? {
        metadata.set_item(key, text)?;
    }
    Ok(metadata)
}

/// All bytes of a file object; `None` for anything that cannot be read from.
fn read_object(object: &Bound<'_, PyAny>) -> PyResult<Option<PyBackedBytes>> {
    let Some(read) = object.getattr_opt(intern!(object.py(), "read"))? else {
        return Ok(None);
    };
    let content = read.call0()?;
    if content.is_exact_instance_of::<PyBytes>() {
        return Ok(Some(content.extract()?));
    }
    // Whatever else is a row of bytes; an int would be a number of them.
    if content.is_instance_of::<PyInt>() || content.is_instance_of::<PyString>() {
        return Ok(Some(content.extract()?));
    }
    let bytes = object.py().get_type::<PyBytes>().call1((content,))?;
    Ok(Some(bytes.extract()?))
}

fn read_path(op: &str, object: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    let accepted = "str, os.PathLike and binary file objects";
    object
        .extract::<PathBuf>()
        .map_err(|_| wrong_object(op, "not a path", object, accepted))
}

fn read_texts(op: &str, texts: &Bound<'_, PyDict>) -> PyResult<Vec<(String, String)>> {
    let read = |object: &Bound<'_, PyAny>| {
        let text = object.cast::<PyString>();
        let text = text.map_err(|_| wrong_object(op, "not metadata", object, "str"))?;
        text.extract::<String>()
    };
    let pairs = texts
        .iter()
        .map(|(key, text)| Ok((read(&key)?, read(&text)?)));
    pairs.collect()
}

fn to_value(op: &'static str, object: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    if depth > DEEPEST {
        return Err(PyValueError::new_err(format!(
            "{op}: containers nested too deeply; fewer levels are accepted"
        )));
    }
    let items = |items: Vec<Bound<'_, PyAny>>| -> PyResult<Vec<Value>> {
        let values = items.iter().map(|item| to_value(op, item, depth + 1));
        values.collect()
    };
    if let Ok(tensor) = object.cast::<PyTensor>() {
        return Ok(Value::Tensor(tensor.get().tensor()));
    }
    if let Ok(dict) = object.cast::<PyDict>() {
        let pairs = dict.iter().map(|(key, value)| {
            let key = if key.is_exact_instance_of::<PyString>() {
                Key::Text(key.extract()?)
            } else if key.is_exact_instance_of::<PyInt>() {
                Key::Int(integer(op, &key)?)
            } else {
                return Err(wrong_object(op, "not a key", &key, "str and int"));
            };
            Ok((key, to_value(op, &value, depth + 1)?))
        });
        return pairs.collect::<PyResult<_>>().map(Value::Dict);
    }
    if let Ok(list) = object.cast::<PyList>() {
        return items(list.iter().collect()).map(Value::List);
    }
    // Exactly these types, since a subclass would come back as something else.
    if let Ok(tuple) = object.cast_exact::<PyTuple>() {
        return items(tuple.iter().collect()).map(Value::Tuple);
    }
    if object.is_none() {
        return Ok(Value::None);
    }
    if let Ok(truth) = object.cast_exact::<PyBool>() {
        return Ok(Value::Bool(truth.is_true()));
    }
    if object.is_exact_instance_of::<PyInt>() {
        return integer(op, object).map(Value::Int);
    }
    if let Ok(number) = object.cast_exact::<PyFloat>() {
        return Ok(Value::Float(number.value()));
    }
    if let Ok(number) = object.cast_exact::<PyComplex>() {
        return Ok(Value::Complex(number.real(), number.imag()));
    }
    if let Ok(text) = object.cast_exact::<PyString>() {
        return Ok(Value::Text(text.extract()?));
    }
    // NumPy's scalars come back as Python's, which hold them.
    if operand::is_scalar_of_numpy(object)? {
        let number = object.call_method0(intern!(object.py(), "item"))?;
        if !number.get_type().is(object.get_type()) {
            return to_value(op, &number, depth + 1);
        }
    }
    let accepted = "tensors, None, bool, int, float, complex and str, \
                    and dicts, lists and tuples of them";
    Err(wrong_object(op, "cannot be saved", object, accepted))
}

fn integer(op: &str, object: &Bound<'_, PyAny>) -> PyResult<i128> {
    object.extract::<i128>().map_err(|_| {
        PyOverflowError::new_err(format!(
            "{op}: an int beyond 128 bits; smaller ones are accepted"
        ))
    })
}

fn from_value(py: Python<'_>, value: Value) -> PyResult<Bound<'_, PyAny>> {
    let items = |items: Vec<Value>| items.into_iter().map(|item| from_value(py, item));
    Ok(match value {
        Value::Tensor(tensor) => Bound::new(py, PyTensor::from(tensor))?.into_any(),
        Value::Dict(pairs) => {
            let dict = PyDict::new(py);
            for (key, value) in pairs {
                let value = from_value(py, value)?;
                match key {
                    Key::Text(text) => dict.set_item(text, value)?,
                    Key::Int(integer) => dict.set_item(integer, value)?,
                }
            }
            dict.into_any()
        }
        Value::List(list) => objects::list(py, items(list))?.into_any(),
        Value::Tuple(tuple) => objects::tuple(py, items(tuple))?.into_any(),
        Value::None => py.None().into_bound(py),
        Value::Bool(truth) => PyBool::new(py, truth).to_owned().into_any(),
        Value::Int(integer) => integer.into_pyobject(py)?.into_any(),
        Value::Float(number) => objects::float(py, number)?,
        Value::Complex(re, im) => objects::complex(py, re, im)?,
        Value::Text(text) => objects::text(py, &text)?,
    })
}
