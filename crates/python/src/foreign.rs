//! Dtypes of other libraries, by what they are called: `torch.float32`, `<dtype: 'float32'>`.

use std::collections::BTreeMap;
use std::sync::Mutex;

use allotrope_dtype::{DType, Family, Numeric};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};

/// Objects that were looked up, by their addresses. They are kept alive, so that an address is that of
/// one object for good.
static KNOWN: Mutex<BTreeMap<usize, (Py<PyAny>, DType)>> = Mutex::new(BTreeMap::new());

/// How many objects are kept: more than all libraries together have dtypes.
const MOST_KNOWN: usize = 512;

/// The dtype of an object that was looked up before.
pub(crate) fn known(object: &Bound<'_, PyAny>) -> Option<DType> {
    // Whoever has the lock has the interpreter too, or is looking up as well.
    let known = KNOWN.try_lock().ok()?;
    let (_, dtype) = known.get(&(object.as_ptr() as usize))?;
    Some(*dtype)
}

/// Keeps what was looked up.
pub(crate) fn remember(object: &Bound<'_, PyAny>, dtype: DType) {
    if let Ok(mut known) = KNOWN.try_lock()
        && known.len() < MOST_KNOWN
    {
        known
            .entry(object.as_ptr() as usize)
            .or_insert_with(|| (object.clone().unbind(), dtype));
    }
}

/// The dtype that an object of another library is called by: a class of that name, as JAX has them, or
/// an object of a class that is called dtype in any case.
pub(crate) fn read(object: &Bound<'_, PyAny>) -> Option<DType> {
    if let Ok(class) = object.cast::<PyType>() {
        return canonical(&class.name().ok()?.to_string_lossy());
    }
    let class = object.get_type();
    let is_dtype = class
        .name()
        .ok()?
        .to_string_lossy()
        .eq_ignore_ascii_case("dtype");
    if !is_dtype {
        return None;
    }
    match named(&object.str().ok()?.to_string_lossy())? {
        Numeric::Exact(dtype) => Some(dtype),
        Numeric::Family(_) => None,
    }
}

/// Libraries whose `half`, `float`, `double`, `short`, `int` and `long` are as wide as here; those of
/// others, such as NumPy, are not, or depend on the machine.
const ALIKE: [&str; 7] = [
    "allotrope",
    "torch",
    "tf",
    "tensorflow",
    "paddle",
    "tinygrad",
    "dtypes",
];

/// What tinygrad alone calls its dtypes.
const TINYGRAD: [(&str, DType); 7] = [
    ("char", DType::I8),
    ("uchar", DType::U8),
    ("ushort", DType::U16),
    ("uint", DType::U32),
    ("ulong", DType::U64),
    ("fp8e4m3", DType::F8E4M3Fn),
    ("fp8e5m2", DType::F8E5M2),
];

/// The dtype or family that another library's name stands for: the last part of a dotted name, or what
/// stands in quotes. A name without either is ours, and read elsewhere.
pub(crate) fn named(text: &str) -> Option<Numeric> {
    let quoted = [("<dtype: '", "'>"), ("<class '", "'>"), ("dtype('", "')")]
        .into_iter()
        .find_map(|(start, end)| text.strip_prefix(start)?.strip_suffix(end));
    let path = quoted.unwrap_or(text);
    let Some((library, name)) = path.rsplit_once('.') else {
        return canonical(quoted?).map(Numeric::Exact);
    };
    let is_word = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    if !library.split('.').all(is_word) {
        return None;
    }
    if let Some(dtype) = canonical(name) {
        return Some(Numeric::Exact(dtype));
    }
    let (first, last) = (library.split('.').next()?, library.rsplit('.').next()?);
    let of_tinygrad = || TINYGRAD.into_iter().find(|(known, _)| *known == name);
    match (ALIKE.contains(&first), last) {
        (true, "dtypes") if of_tinygrad().is_some() => of_tinygrad().map(|(_, dtype)| dtype.into()),
        (true, "allotrope") => match name.parse::<Family>() {
            Ok(family) => Some(family.into()),
            Err(_) => alias(name),
        },
        (true, _) => alias(name),
        _ => None,
    }
}

/// The dtype with an alias.
fn alias(name: &str) -> Option<Numeric> {
    let is_named = |dtype: &DType| dtype.descriptor().aliases.contains(&name);
    DType::ALL.into_iter().find(is_named).map(Numeric::Exact)
}

/// The dtype with a canonical name; NumPy and MLX add an underscore to that of bool.
fn canonical(name: &str) -> Option<DType> {
    let name = if name == "bool_" { "bool" } else { name };
    DType::ALL.into_iter().find(|dtype| dtype.name() == name)
}

/// The families that stand for one of NumPy's abstract classes, such as `numpy.floating`.
pub(crate) fn families_of(
    object: &Bound<'_, PyAny>,
    generic: &Bound<'_, PyType>,
) -> Option<&'static str> {
    let class = object.cast::<PyType>().ok()?;
    if !class.is_subclass(generic).unwrap_or(false) {
        return None;
    }
    let name = class.getattr(intern!(object.py(), "__name__")).ok()?;
    match &*name.cast::<PyString>().ok()?.to_string_lossy() {
        "floating" => Some("al.Float"),
        "complexfloating" => Some("al.Complex"),
        "signedinteger" => Some("al.Int"),
        "unsignedinteger" => Some("al.UInt"),
        "integer" => Some("al.Int or al.UInt"),
        "inexact" => Some("al.Float or al.Complex"),
        "number" => Some("al.Int, al.UInt, al.Float or al.Complex"),
        _ => None,
    }
}
