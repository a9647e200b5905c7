//! Integers, sizes and synonyms among the arguments of Python's functions.

use allotrope_dtype::{CastOptions, DType, Overflow};
use allotrope_tensor::Tensor;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyInt, PyList, PyString, PyTuple};

use smallvec::SmallVec;

use crate::error::{describe, describe_int, raise, wrong_object};
use crate::infer::DEEPEST;
use crate::tensor::as_tensor;

/// The most integers that an argument with one or two of them per dimension has: paddings have two.
const MOST_PER_DIMENSION: usize = 2 * DEEPEST;
/// The most items of any other sequence among the arguments, such as the sizes of parts. What holds
/// more is a tensor.
pub(crate) const MOST_ITEMS: usize = 1 << 20;

/// An argument that is read with the operation's name, for its messages. What it is called here is its
/// type in the stubs: `xtask` has a row for each of these names.
macro_rules! objects {
    ($($(#[doc = $doc:literal])* $name:ident;)*) => {$(
        $(#[doc = $doc])*
        pub(crate) type $name<'a, 'py> = &'a Bound<'py, PyAny>;
    )*};
}
objects! {
    /// A tensor, or what becomes one: a number, a list, an array.
    Operand;
    /// A tensor and nothing else.
    TensorObject;
    /// Tensors over whose elements results are written.
    Out;
    /// A list of tensors, or one of more dimensions.
    TensorList;
    /// Anything that a tensor is made of.
    Data;
    /// A number of any kind.
    Number;
    /// A real number.
    Real;
    /// An integer of any size.
    Integer;
    /// One integer, or several: sizes, strides.
    Ints;
    /// Dimensions, or all of them.
    Dims;
    /// Sizes, of which those that are None stay.
    OutputSize;
    /// Sizes, or the name of a rule.
    SizesOrName;
    /// One real number, or several.
    Floats;
    /// The order of a norm: a number or a name.
    NormOrder;
    /// A dtype, by any of its names.
    DTypeLike;
    /// A dtype, by any of its names, or what has one.
    DTypeOf;
    /// A dtype, or a family of them.
    DTypeOrFamily;
    /// How elements lie in memory.
    Format;
    /// A file, by its name or opened.
    FilePath;
}

/// An integer of 64 bits. A bool is none, although Python's is an int: `std(False)` means something
/// else.
#[derive(Clone, Copy)]
pub(crate) struct Int(pub(crate) isize);

/// An integer, and beyond 64 bits the nearest: for bounds that are moved to the ends of a dimension
/// anyway, and for diagonals, which beyond a matrix are all alike.
#[derive(Clone, Copy)]
pub(crate) struct Clamped(pub(crate) isize);

/// An integer of which only the remainder by `N` counts.
#[derive(Clone, Copy)]
pub(crate) struct Modulo<const N: usize>(pub(crate) isize);

/// An integer of 64 bits from zero on.
#[derive(Clone, Copy)]
pub(crate) struct Unsigned(pub(crate) u64);

/// An integer as Python has it.
enum Read<'py> {
    Word(isize),
    /// Beyond 64 bits.
    Long(Bound<'py, PyAny>),
}

impl<'py> Read<'py> {
    fn new(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = object.py();
        if object.is_instance_of::<PyBool>() {
            return Err(PyTypeError::new_err(
                "not an integer: a bool; integers are accepted",
            ));
        }
        match object.extract::<isize>() {
            Ok(integer) => Ok(Self::Word(integer)),
            Err(error) if error.is_instance_of::<PyOverflowError>(py) => {
                // Asked a second time, an object may answer something else.
                let index = object.call_method0(intern!(py, "__index__"))?;
                match index.extract::<isize>() {
                    Ok(integer) => Ok(Self::Word(integer)),
                    Err(error) if error.is_instance_of::<PyOverflowError>(py) => {
                        Ok(Self::Long(index))
                    }
                    Err(error) => Err(error),
                }
            }
            Err(error) if object.hasattr(intern!(py, "__index__"))? => Err(error),
            // A note says which argument it is.
            Err(_) => Err(PyTypeError::new_err(format!(
                "not an integer: {}; integers are accepted",
                describe(object)
            ))),
        }
    }

    fn word(self) -> PyResult<isize> {
        match self {
            Self::Word(integer) => Ok(integer),
            Self::Long(integer) => Err(beyond(None, &integer, SIGNED)),
        }
    }

    fn clamped(self) -> PyResult<isize> {
        Ok(match self {
            Self::Word(integer) => integer,
            Self::Long(integer) if integer.lt(0)? => isize::MIN,
            Self::Long(_) => isize::MAX,
        })
    }

    /// The remainder by a size, or zero by none; a word as it is.
    fn modulo(self, size: usize) -> PyResult<isize> {
        match self {
            Self::Word(integer) => Ok(integer),
            Self::Long(_) if size == 0 => Ok(0),
            Self::Long(integer) => integer.rem(size)?.extract(),
        }
    }
}

/// What a message says is accepted.
const SIGNED: &str = "integers from -2**63 to 2**63 - 1";

/// An integer that is out of range wherever it stands.
#[cold]
pub(crate) fn beyond(op: Option<&str>, integer: &Bound<'_, PyAny>, accepted: &str) -> PyErr {
    let integer = describe_int(integer);
    let op = op.map_or_else(String::new, |op| format!("{op}: "));
    PyOverflowError::new_err(format!(
        "{op}integer out of range: {integer}; {accepted} are accepted"
    ))
}

impl<'py> FromPyObject<'_, 'py> for Int {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Read::new(&object)?.word().map(Self)
    }
}

impl<'py> FromPyObject<'_, 'py> for Clamped {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Read::new(&object)?.clamped().map(Self)
    }
}

impl<'py, const N: usize> FromPyObject<'_, 'py> for Modulo<N> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Read::new(&object)?.modulo(N).map(Self)
    }
}

impl<'py> FromPyObject<'_, 'py> for Unsigned {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let integer = match Read::new(&object)? {
            Read::Word(integer) => u64::try_from(integer).ok(),
            Read::Long(integer) => integer.extract().ok(),
        };
        let accepted = "integers from 0 to 2**64 - 1";
        let integer = integer.ok_or_else(|| beyond(None, &object, accepted))?;
        Ok(Self(integer))
    }
}

/// An integer of 64 bits, or nothing if an object is none.
pub(crate) fn integer_of(op: &str, object: &Bound<'_, PyAny>) -> PyResult<Option<isize>> {
    match Read::new(object) {
        Ok(Read::Word(integer)) => Ok(Some(integer)),
        Ok(Read::Long(integer)) => Err(beyond(Some(op), &integer, SIGNED)),
        Err(error) if error.is_instance_of::<PyTypeError>(object.py()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// One integer, or several.
pub(crate) enum Integers {
    One(isize),
    Several(Vec<isize>),
}

impl Integers {
    pub(crate) fn into_vec(self) -> Vec<isize> {
        match self {
            Self::One(integer) => vec![integer],
            Self::Several(integers) => integers,
        }
    }
}

/// Dimensions, sizes and what else there is of one or two per dimension: an integer, a sequence of
/// them, or a tensor of them.
pub(crate) fn integers(op: &str, object: &Bound<'_, PyAny>) -> PyResult<Integers> {
    read_integers(op, object, MOST_PER_DIMENSION, |op, _, read| match read {
        Read::Word(integer) => Ok(integer),
        Read::Long(integer) => Err(beyond(Some(op), &integer, SIGNED)),
    })
}

/// As [`integers`], of which there may be many: sizes of parts, lengths of sequences.
pub(crate) fn many_integers(op: &str, object: &Bound<'_, PyAny>) -> PyResult<Integers> {
    read_integers(op, object, MOST_ITEMS, |op, _, read| match read {
        Read::Word(integer) => Ok(integer),
        Read::Long(integer) => Err(beyond(Some(op), &integer, SIGNED)),
    })
}

/// As [`many_integers`]: a number of parts, or places between them, which beyond the end are all
/// alike.
pub(crate) fn places(op: &str, object: &Bound<'_, PyAny>) -> PyResult<Integers> {
    match integer_of(op, object)? {
        Some(sections) if as_tensor(object).is_none_or(|tensor| tensor.rank() == 0) => {
            Ok(Integers::One(sections))
        }
        _ => read_integers(op, object, MOST_ITEMS, |_, _, read| read.clamped()),
    }
}

/// How far elements move along dimensions: whole turns do not count, so any integer is exact.
/// `size` is that of the dimension at a place.
pub(crate) fn shifts(
    op: &str,
    object: &Bound<'_, PyAny>,
    size: impl Fn(usize) -> usize,
) -> PyResult<Vec<isize>> {
    let shifts = read_integers(op, object, MOST_ITEMS, |_, place, read| {
        read.modulo(size(place))
    });
    shifts.map(Integers::into_vec)
}

/// An integer, a sequence of at most so many of them, or a tensor of them, each read by what is
/// said of it.
fn read_integers(
    op: &str,
    object: &Bound<'_, PyAny>,
    most: usize,
    read: impl Fn(&str, usize, Read<'_>) -> PyResult<isize>,
) -> PyResult<Integers> {
    let refuse = || {
        let accepted = "integers and sequences of them";
        wrong_object(op, "not an integer", object, accepted)
    };
    let is_wrong_type = |error: &PyErr| error.is_instance_of::<PyTypeError>(object.py());
    if !is_list(object) {
        // A tensor of one dimension is several integers, also if it has a single element.
        match as_tensor(object).filter(|tensor| tensor.rank() > 0) {
            Some(tensor) if tensor.dtype().is_integer() => {
                return read_tensor(op, &tensor, most).map(Integers::Several);
            }
            Some(_) => {}
            None => match Read::new(object) {
                Ok(integer) => return read(op, 0, integer).map(Integers::One),
                // Arrays of several have the method of one.
                Err(error) if is_wrong_type(&error) => {}
                Err(error) => return Err(error),
            },
        }
    }
    let Some(items) = items(op, object, most)? else {
        return Err(refuse());
    };
    let mut integers = Vec::new();
    for (place, item) in items.into_iter().enumerate() {
        let integer = Read::new(&item).map_err(|error| match is_wrong_type(&error) {
            true => refuse(),
            false => error,
        });
        integers.push(read(op, place, integer?)?);
    }
    Ok(Integers::Several(integers))
}

/// The integers of a tensor.
fn read_tensor(op: &str, tensor: &Tensor, most: usize) -> PyResult<Vec<isize>> {
    if tensor.count() > most {
        return Err(too_many(op, Some(tensor.count()), most));
    }
    let options = CastOptions::overflow(Overflow::Raise);
    let integers = tensor
        .to_with(DType::I64, options)
        .and_then(|tensor| tensor.to_vec::<i64>());
    let integers = integers.map_err(raise)?.into_iter();
    Ok(integers.map(|integer| integer as isize).collect())
}

/// The items of a sequence, of which there are so many at most; nothing if an object is none.
///
/// THE reader of sequences among the arguments: what a sequence says of its length reserves nothing,
/// and one without an end is refused.
pub(crate) fn items<'py>(
    op: &str,
    object: &Bound<'py, PyAny>,
    most: usize,
) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
    if !is_list(object) {
        // Of text each character is a sequence again, and keys are no items.
        let is_other = object.is_instance_of::<PyString>() || object.is_instance_of::<PyDict>();
        let getter = intern!(object.py(), "__getitem__");
        if is_other || !object.get_type().hasattr(getter)? {
            return Ok(None);
        }
    }
    iterate(op, object, most).map(Some)
}

/// Whether an object is a list or a tuple.
fn is_list(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyTuple>() || object.is_instance_of::<PyList>()
}

/// What an iterable gives, of which there is so much at most.
pub(crate) fn iterate<'py>(
    op: &str,
    object: &Bound<'py, PyAny>,
    most: usize,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    if let Ok(length) = object.len()
        && length > most
    {
        return Err(too_many(op, Some(length), most));
    }
    let mut items = Vec::new();
    for item in object.try_iter()? {
        if items.len() == most {
            return Err(too_many(op, None, most));
        }
        items.push(item?);
    }
    Ok(items)
}

/// A real number, or a sequence of them: one stands in a list of its own. Nothing if an object is
/// neither.
pub(crate) fn floats(op: &str, object: &Bound<'_, PyAny>) -> PyResult<Option<Vec<f64>>> {
    let is_wrong_type = |error: &PyErr| error.is_instance_of::<PyTypeError>(object.py());
    match object.extract::<f64>() {
        Ok(one) => return Ok(Some(vec![one])),
        Err(error) if is_wrong_type(&error) => {}
        Err(error) => return Err(error),
    }
    if object.is_instance_of::<PyBytes>() {
        return Ok(None);
    }
    let Some(items) = items(op, object, MOST_ITEMS)? else {
        return Ok(None);
    };
    let floats = items.iter().map(|item| item.extract::<f64>());
    // bounded: `MOST_ITEMS`.
    match floats.collect::<PyResult<Vec<f64>>>() {
        Ok(floats) => Ok(Some(floats)),
        Err(error) if is_wrong_type(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// More items than are read.
#[cold]
fn too_many(op: &str, given: Option<usize>, most: usize) -> PyErr {
    let given = given.map_or_else(|| format!("more than {most}"), |given| given.to_string());
    PyValueError::new_err(format!(
        "{op}: too many items: {given}; at most {most} are accepted"
    ))
}

/// Integers given as arguments, as one sequence, or as a keyword: `reshape(2, 3)`,
/// `reshape((2, 3))` or `reshape(shape=(2, 3))`.
pub(crate) fn spread(
    op: &str,
    arguments: &Bound<'_, PyTuple>,
    keyword: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<isize>> {
    if keyword.is_none() && arguments.len() <= MOST_PER_DIMENSION {
        // The usual sizes need no list of objects.
        let word = |item: Borrowed<'_, '_, PyAny>| match item.is_exact_instance_of::<PyInt>() {
            true => item.extract::<isize>().ok(),
            false => None,
        };
        // bounded: `MOST_PER_DIMENSION`.
        if let Some(sizes) = arguments.iter_borrowed().map(word).collect() {
            return Ok(sizes);
        }
    }
    match (arguments.len(), keyword) {
        (0, Some(keyword)) => integers(op, keyword).map(Integers::into_vec),
        (_, Some(_)) => Err(given_twice(op)),
        (1, None) => integers(op, &arguments.get_item(0)?).map(Integers::into_vec),
        (_, None) => integers(op, arguments).map(Integers::into_vec),
    }
}

/// One of two spellings of the same argument.
pub(crate) fn either<T>(op: &str, one: Option<T>, other: Option<T>) -> PyResult<Option<T>> {
    match (one, other) {
        (Some(_), Some(_)) => Err(given_twice(op)),
        (one, other) => Ok(one.or(other)),
    }
}

/// An argument without a default, by one of its names.
pub(crate) fn one_of<'a, 'py>(
    op: &str,
    name: &str,
    spellings: &[Option<&'a Bound<'py, PyAny>>],
) -> PyResult<&'a Bound<'py, PyAny>> {
    let mut spellings = spellings.iter().copied();
    let given = spellings.try_fold(None, |given, other| either(op, given, other))?;
    needed(op, name, given)
}

/// A dimension, by torch's name or by NumPy's.
pub(crate) fn axis(op: &str, dim: Option<Int>, axis: Option<Int>) -> PyResult<isize> {
    needed(op, "dim", either(op, dim, axis)?).map(|Int(axis)| axis)
}

/// A dimension that has a default.
pub(crate) fn axis_or(
    op: &str,
    dim: Option<Int>,
    axis: Option<Int>,
    default: isize,
) -> PyResult<isize> {
    Ok(either(op, dim, axis)?.map_or(default, |Int(axis)| axis))
}

/// An argument that has no default.
pub(crate) fn needed<T>(op: &str, name: &str, value: Option<T>) -> PyResult<T> {
    value.ok_or_else(|| PyTypeError::new_err(format!("{op}: {name} is missing")))
}

/// The same argument in two places or spellings.
#[cold]
fn given_twice(op: &str) -> PyErr {
    PyTypeError::new_err(format!(
        "{op}: an argument is given twice; one spelling of it is accepted"
    ))
}

/// A size from zero on.
pub(crate) fn size(op: &str, size: isize) -> PyResult<usize> {
    usize::try_from(size).map_err(|_| {
        PyValueError::new_err(format!("{op}: negative size: {size}; sizes start at 0"))
    })
}

/// Sizes of a new tensor that are given as arguments and are ints from zero on: they need no list.
pub(crate) fn plain_sizes(
    arguments: &Bound<'_, PyTuple>,
    keyword: Option<&Bound<'_, PyAny>>,
) -> Option<SmallVec<[usize; 6]>> {
    let size = |item: Borrowed<'_, '_, PyAny>| match item.is_exact_instance_of::<PyInt>() {
        true => item.extract::<usize>().ok(),
        false => None,
    };
    let is_plain = keyword.is_none() && arguments.len() <= MOST_PER_DIMENSION;
    let sizes = is_plain.then(|| arguments.iter_borrowed().map(size))?;
    sizes.collect()
}

/// Sizes of a new tensor, given as arguments, as one sequence, or as a keyword.
pub(crate) fn sizes(
    op: &str,
    arguments: &Bound<'_, PyTuple>,
    keyword: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<usize>> {
    let sizes = spread(op, arguments, keyword)?.into_iter();
    sizes.map(|given| size(op, given)).collect()
}
