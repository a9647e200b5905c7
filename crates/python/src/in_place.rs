//! Writes: assignment, and the methods with an underscore. They change the elements where they are, and
//! every view of the memory sees it; the dtype and the shape stay.

use std::convert::Infallible;
use std::marker::PhantomData;

use allotrope_dtype::{DType, Error, Problem, Scalar, WeakScalar};
use allotrope_op::{Op, Slice};
use allotrope_tensor::{Index, Options, RowOperand, Tensor, Variable, Written, lasting_name};
use pyo3::exceptions::{PyTypeError, PyUserWarning};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString, PyTuple};
use pyo3::{BoundObject, create_exception};

use crate::arguments::{DTypeOrFamily, Number, Operand, Out};
use crate::create::resolve_like;
use crate::elementwise::plain_row;
use crate::error::{raise, wrong_object};
use crate::interrupt::detach;
use crate::notice::warn_user;
use crate::operand::{self, RELEASE_FROM, Value};
use crate::tensor::{PyTensor, as_tensor};

create_exception!(
    allotrope,
    SharedMemoryWarning,
    PyUserWarning,
    "A write copied memory that another library owns and that cannot be written to: it is not seen there.\n\n\
    >>> import warnings\n\
    >>> array = numpy.zeros(2)\n\
    >>> array.flags.writeable = False\n\
    >>> with warnings.catch_warnings(record=True) as heard:\n\
    ...     warnings.simplefilter('always')\n\
    ...     x = al.from_numpy(array).add_(1)\n\
    >>> heard[0].category is al.SharedMemoryWarning, array.tolist()\n\
    (True, [0.0, 0.0])"
);

/// What a write failed with.
pub(crate) struct Failure(PyErr);

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self(raise(error))
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self(error)
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        failure.0
    }
}

const COPIED: &std::ffi::CStr = c"the memory belongs to another library and cannot be written to \
    while it is read-only or a value of it is held: it was copied, and the write is not seen there \
    (hint: x.clone() before writing)";

/// Says that a write was made in a copy, if it was, at the user's line.
pub(crate) fn report(py: Python<'_>, written: Written) -> PyResult<()> {
    match written.copied_foreign {
        true => warn_user(py, &py.get_type::<SharedMemoryWarning>(), COPIED),
        false => Ok(()),
    }
}

/// Gives tensors other values, or none of them; values are those from before, also where they lie in
/// memory that is written. Nothing is recorded.
#[pyfunction]
pub(crate) fn _write_all(
    py: Python<'_>,
    targets: Vec<Py<PyTensor>>,
    values: Vec<Py<PyTensor>>,
) -> PyResult<()> {
    let pairs = targets.iter().zip(&values).map(|(target, value)| {
        let target = target.get();
        let device = target.tensor().device();
        let value = value.get().tensor().detach().to_device(device)?;
        Ok((target.variable(), value))
    });
    // bounded: objects that are there.
    let writes: Vec<(&Variable, Tensor)> = pairs.collect::<Result<_, Error>>().map_err(raise)?;
    let written = detach(py, || Variable::write_all("write", &writes)).map_err(raise)?;
    report(py, written)
}

impl PyTensor {
    /// Writes to the memory; for large tensors other Python threads run meanwhile.
    pub(crate) fn write(
        &self,
        py: Python<'_>,
        count: usize,
        work: impl FnOnce(&Variable) -> Result<Written, Error> + Send,
    ) -> PyResult<()> {
        let variable = self.variable();
        let written = if count > RELEASE_FROM {
            detach(py, || work(variable))
        } else {
            work(variable)
        };
        report(py, written.map_err(raise)?)
    }

    /// Gives the elements what a function makes of them.
    pub(crate) fn update(
        &self,
        py: Python<'_>,
        op: &'static str,
        make: impl FnMut(&Tensor) -> Result<Tensor, Error> + Send,
    ) -> PyResult<()> {
        // The count says nothing of how long it takes.
        self.write(py, usize::MAX, |variable| variable.update(op, make))
    }

    /// Gives the elements the result of a row on them and other operands.
    pub(crate) fn update_row(
        &self,
        py: Python<'_>,
        name: &'static str,
        op: Op,
        rest: Vec<Value>,
    ) -> PyResult<()> {
        operand::check_ints(name, &rest)?;
        let count = self.variable().count();
        let rest = rest.into_iter().map(|value| match value {
            Value::Tensor(tensor) => RowOperand::Tensor(tensor),
            Value::Number(number) => RowOperand::Number(number),
        });
        // bounded: arguments of a call.
        let rest = rest.collect();
        self.write(py, count, |variable| variable.update_row(name, op, rest))
    }

    /// Gives the elements that a key means other values.
    pub(crate) fn assign(
        &self,
        py: Python<'_>,
        op: &'static str,
        key: &[Index],
        value: Value,
    ) -> PyResult<()> {
        let own = self.tensor();
        operand::check_ints(op, &[Value::Tensor(own.detach())])?;
        let count = own.count();
        // What lies in the same memory is read beforehand.
        let value = match value {
            Value::Tensor(value) if value.shares_storage_with(&own) => {
                Value::Tensor(value.copied().map_err(raise)?)
            }
            // What is assigned comes from any device, as torch's does.
            Value::Tensor(value) if value.device() != own.device() => {
                Value::Tensor(value.to_device(own.device()).map_err(raise)?)
            }
            value => value,
        };
        drop(own);
        self.write(py, count, |variable| {
            let written = variable.assign(op, key, value.as_operand());
            written.map_err(|error| error.in_op(op))
        })
    }

    /// `tensor[key] = value`.
    pub(crate) fn set_item(&self, key: &[Index], value: Operand) -> PyResult<()> {
        let py = value.py();
        let value = match operand::read_other("setitem", value)? {
            Value::Number(number) => {
                let dtype = self.tensor().dtype();
                Value::Number(crate::create::widen("setitem", number, value, dtype)?)
            }
            value => value,
        };
        self.assign(py, "setitem", key, value)
    }
}

/// What [`deliver`] gives: a result of type `R`, or the tensors given as `out` in its place.
pub(crate) struct Delivered<'py, R>(Bound<'py, PyAny>, PhantomData<fn() -> R>);

impl<'py, R> IntoPyObject<'py> for Delivered<'py, R> {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = Infallible;

    fn into_pyobject(self, _py: Python<'py>) -> Result<Bound<'py, PyAny>, Infallible> {
        Ok(self.0)
    }
}

/// A result; or the tensors given as `out`, over whose elements it is written, converted to their dtype.
pub(crate) fn deliver<'py, R>(
    py: Python<'py>,
    op: &'static str,
    result: R,
    out: Option<Out<'_, 'py>>,
) -> PyResult<Delivered<'py, R>>
where
    R: IntoPyObject<'py>,
    PyErr: From<R::Error>,
{
    let result = result.into_pyobject(py)?.into_any().into_bound();
    let object = match out {
        None => result,
        Some(out) => {
            write_out(op, &result, out)?;
            out.clone()
        }
    };
    Ok(Delivered(object, PhantomData))
}

/// Writes a result to the tensor, or each of several to its own.
#[cold]
fn write_out(op: &'static str, result: &Bound<'_, PyAny>, out: Out) -> PyResult<()> {
    if let (Ok(result), Ok(target)) = (result.cast::<PyTensor>(), out.cast::<PyTensor>()) {
        let value = result.get().tensor();
        return target.get().update(out.py(), op, |_| Ok(value.clone()));
    }
    if let (Ok(results), Ok(targets)) = (result.cast::<PyTuple>(), out.cast::<PyTuple>())
        && results.len() == targets.len()
    {
        let mut pairs = results.iter().zip(targets.iter());
        return pairs.try_for_each(|(result, target)| write_out(op, &result, &target));
    }
    let accepted = "a tensor for each result";
    Err(wrong_object(
        op,
        "out does not fit the results",
        out,
        accepted,
    ))
}

/// Whether an operation on integers may fail for the sake of one element.
fn may_fail(op: &str, dtype: DType) -> bool {
    let divides = matches!(
        op,
        "div"
            | "divide"
            | "true_divide"
            | "floor_divide"
            | "trunc_divide"
            | "remainder"
            | "fmod"
            | "pow"
            | "power"
    );
    divides && dtype.is_integer()
}

/// Whether an argument is the same for every part of a tensor.
fn is_plain(argument: &Bound<'_, PyAny>) -> bool {
    argument.is_none()
        || argument.is_exact_instance_of::<PyFloat>()
        || argument.is_exact_instance_of::<PyInt>()
        || argument.is_exact_instance_of::<PyBool>()
        || argument.is_exact_instance_of::<PyString>()
}

/// The arguments of a method: tensors among them are given anew for every part.
struct Arguments<'py> {
    args: Vec<Bound<'py, PyAny>>,
    options: Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>,
}

impl<'py> Arguments<'py> {
    /// Nothing if something else than tensors and plain values is among them.
    fn new(
        args: &Bound<'py, PyTuple>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> Option<(Self, Vec<Tensor>)> {
        let args: Vec<_> = args.iter().collect();
        // bounded: arguments of a call.
        let options: Vec<_> = options.map_or_else(Vec::new, |options| options.iter().collect());
        let mut tensors = Vec::new();
        for argument in args.iter().chain(options.iter().map(|(_, value)| value)) {
            match as_tensor(argument) {
                Some(tensor) => tensors.push(tensor),
                None if is_plain(argument) => {}
                None => return None,
            }
        }
        Some((Self { args, options }, tensors))
    }

    /// What a method gives for a tensor and other operands in the place of those among the arguments.
    fn call(
        &self,
        method: &Bound<'py, PyAny>,
        own: &Tensor,
        operands: &[Tensor],
    ) -> PyResult<Tensor> {
        let py = method.py();
        let mut operands = operands.iter();
        let mut fill = |argument: &Bound<'py, PyAny>| -> PyResult<Bound<'py, PyAny>> {
            match argument.is_instance_of::<PyTensor>() {
                true => {
                    let operand = operands
                        .next()
                        .cloned()
                        .map(Variable::new)
                        .map(PyTensor::from);
                    operand.map_or_else(
                        || Ok(argument.clone()),
                        |x| Ok(Bound::new(py, x)?.into_any()),
                    )
                }
                false => Ok(argument.clone()),
            }
        };
        let own = Bound::new(py, PyTensor::from(Variable::new(own.clone())))?.into_any();
        let args = self.args.iter().map(&mut fill);
        let args = [Ok(own)]
            .into_iter()
            .chain(args)
            // bounded: arguments of a call.
            .collect::<PyResult<Vec<_>>>()?;
        let options = PyDict::new(py);
        for (name, value) in &self.options {
            options.set_item(name, fill(value)?)?;
        }
        result_of(method.call(PyTuple::new(py, args)?, Some(&options))?)
    }
}

/// The tensor that a method gave, which nothing else has.
fn result_of(made: Bound<'_, PyAny>) -> PyResult<Tensor> {
    let tensor = as_tensor(&made);
    drop(made);
    tensor.ok_or_else(|| PyTypeError::new_err("in place: the operation gives no tensor"))
}

#[pymethods]
impl PyTensor {
    fn __setitem__(&self, key: &Bound<'_, PyAny>, value: Operand) -> PyResult<()> {
        let mut key = crate::index::read_key(key)?;
        crate::index::follow(&mut key, &self.tensor())?;
        self.set_item(&key, value)
    }

    fn __delitem__(&self, _key: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "delitem: elements cannot be deleted; a tensor keeps its shape (hint: index what stays)",
        ))
    }

    /// Gives the elements what a method makes of them, and returns this object. A method of single
    /// elements needs no room for another tensor.
    #[pyo3(signature = (name, method, is_elementwise, args, options=None))]
    fn _write<'py>(
        this: &Bound<'py, Self>,
        name: &str,
        method: &Bound<'py, PyAny>,
        is_elementwise: bool,
        args: &Bound<'py, PyTuple>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, Self>> {
        let op = lasting_name(name);
        let object = this.get();
        // A row without options is run where the elements are.
        let has_options = options.is_some_and(|options| !options.is_empty());
        if let Some(row) = plain_row(name, args.len()).filter(|_| !has_options) {
            let rest = args.iter().map(|other| operand::read_other(op, &other));
            // bounded: arguments of a call.
            let rest = rest.collect::<PyResult<Vec<Value>>>()?;
            object.update_row(this.py(), op, row, rest)?;
            return Ok(this.clone());
        }
        let is_elementwise = is_elementwise && !may_fail(name, object.tensor().dtype());
        let written = match Arguments::new(args, options) {
            Some((arguments, tensors)) => object.variable().update_with::<Failure>(
                op,
                tensors,
                is_elementwise,
                |own, operands| Ok(arguments.call(method, own, operands)?),
            ),
            None => object.variable().update::<Failure>(op, |own| {
                let own = Bound::new(this.py(), Self::from(Variable::new(own.clone())))?.into_any();
                let args = [own].into_iter().chain(args.iter()).collect::<Vec<_>>();
                let made = method.call(PyTuple::new(this.py(), args)?, options)?;
                Ok(result_of(made)?)
            }),
        };
        report(this.py(), written?)?;
        Ok(this.clone())
    }

    /// Makes this object a view of its own memory, with the shape of what a method gives of it, and
    /// returns it.
    #[pyo3(signature = (method, args, options=None))]
    fn _turn<'py>(
        this: &Bound<'py, Self>,
        method: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, Self>> {
        let own = this.clone().into_any();
        let args = [own].into_iter().chain(args.iter()).collect::<Vec<_>>();
        let made = method.call(PyTuple::new(this.py(), args)?, options)?;
        let view = made.cast::<Self>()?.get();
        let turned = this.get().variable().rebind_to(view.variable());
        turned.map_err(raise)?;
        Ok(this.clone())
    }

    /// Writes zeros over all elements.
    ///
    /// >>> al.ones(2).zero_()
    /// tensor([0., 0.])
    fn zero_<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        let zero = Value::Number(WeakScalar::Bool(false));
        this.get().assign(this.py(), "zero_", &[], zero)?;
        Ok(this.clone())
    }

    /// Writes one number over all elements; the dtype must hold it.
    ///
    /// >>> al.zeros(2, dtype="int8").fill_(7)
    /// tensor([7, 7], dtype=int8)
    /// >>> al.zeros(2, dtype="int8").fill_(300)
    /// Traceback (most recent call last):
    ///     ...
    /// OverflowError: fill_: scalar out of range: 300; int8 holds -128 to 127
    fn fill_<'py>(this: &Bound<'py, Self>, value: Operand) -> PyResult<Bound<'py, Self>> {
        let (op, py) = ("fill_", this.py());
        if let Some(tensor) = as_tensor(value).filter(|tensor| tensor.rank() == 0) {
            this.get().assign(py, op, &[], Value::Tensor(tensor))?;
            return Ok(this.clone());
        }
        let dtype = this.get().tensor().dtype();
        let number = crate::create::number_of(op, value, dtype)?.lowered_to(dtype);
        Scalar::assigned(number, dtype).map_err(|error| raise(error.in_op(op)))?;
        this.get().assign(py, op, &[], Value::Number(number))?;
        Ok(this.clone())
    }

    /// Writes one number to the diagonal of all dimensions. With wrap=True the diagonal of a tall
    /// matrix begins again after each square.
    ///
    /// >>> al.zeros(3, 2).fill_diagonal_(5)
    /// tensor([[5., 0.],
    ///         [0., 5.],
    ///         [0., 0.]])
    #[pyo3(signature = (fill_value, wrap=false))]
    fn fill_diagonal_<'py>(
        this: &Bound<'py, Self>,
        fill_value: Number,
        wrap: bool,
    ) -> PyResult<Bound<'py, Self>> {
        let op = "fill_diagonal_";
        let dtype = this.get().tensor().dtype();
        let number = crate::create::number_of(op, fill_value, dtype)?.lowered_to(dtype);
        this.get().update(this.py(), op, |x| {
            with_diagonal(op, x, number, wrap).map_err(|error| error.in_op(op))
        })?;
        Ok(this.clone())
    }

    /// Writes the values of another tensor, broadcast and converted to this one's dtype, over all
    /// elements.
    ///
    /// >>> al.zeros(2, 2).copy_(al.tensor([1, 2]))
    /// tensor([[1., 2.],
    ///         [1., 2.]])
    #[pyo3(signature = (src, non_blocking=false))]
    fn copy_<'py>(
        this: &Bound<'py, Self>,
        src: Operand,
        non_blocking: bool,
    ) -> PyResult<Bound<'py, Self>> {
        // There is nothing to wait for on the CPU.
        let _ = non_blocking;
        let shape = this.get().tensor().shape().clone();
        // Nothing else is to hold what may be the memory that is written to.
        let source = crate::create::operand("copy_", src)?.expand(&shape);
        let source = source.map_err(|error| raise(error.in_op("copy_")))?;
        this.get()
            .assign(this.py(), "copy_", &[], Value::Tensor(source))?;
        Ok(this.clone())
    }

    /// Gives this object the values in another dtype; views made before keep the old ones.
    ///
    /// >>> x = al.tensor([1.5, 2.5])
    /// >>> x.to_(al.bfloat16) is x, x.dtype
    /// (True, allotrope.bfloat16)
    fn to_<'py>(
        this: &Bound<'py, Self>,
        py: Python<'py>,
        dtype: DTypeOrFamily,
    ) -> PyResult<Bound<'py, Self>> {
        let tensor = this.get().tensor();
        let Options { dtype, width, .. } = resolve_like("to_", Some(dtype), None, &tensor)?;
        if tensor.dtype() == dtype && tensor.width() == width {
            return Ok(this.clone());
        }
        let is_leaf = tensor.is_leaf() && tensor.requires_grad();
        if is_leaf && allotrope_tensor::is_grad_enabled() {
            let problem = allotrope_dtype::GradientProblem::LeafChanged;
            return Err(raise(
                Error::new("to_", problem.into()).hint("with no_grad()"),
            ));
        }
        let result = operand::run(py, tensor.count(), || {
            Ok(tensor.to(dtype)?.with_width(width))
        })?;
        this.get()
            .variable()
            .set_data(result.variable())
            .map_err(raise)?;
        if !is_leaf {
            this.get().variable().rebind(result.tensor());
        }
        Ok(this.clone())
    }
}

/// A tensor with a number where the indices of all dimensions are equal.
fn with_diagonal(
    op: &'static str,
    x: &Tensor,
    number: WeakScalar,
    wrap: bool,
) -> Result<Tensor, Error> {
    let sizes: Vec<isize> = x.shape().iter().map(|size| *size as isize).collect();
    let is_square = sizes.windows(2).all(|pair| pair[0] == pair[1]);
    if sizes.len() < 2 || !(is_square || sizes.len() == 2) {
        let problem = Problem::WrongShape {
            what: "input",
            given: x.shape().to_vec(),
            accepted: "a matrix, or more dimensions of one size".to_owned(),
        };
        return Err(Error::new(op, problem));
    }
    // Neighbours on the diagonal are one apart in every dimension.
    let step = sizes.iter().rev().scan(1, |stride: &mut isize, size| {
        let own = *stride;
        *stride = stride.saturating_mul(*size);
        Some(own)
    });
    let columns = sizes[1];
    let slice = Slice {
        start: None,
        stop: (sizes.len() == 2 && !wrap).then_some(columns.saturating_mul(columns)),
        step: step.fold(0, isize::saturating_add).max(1),
    };
    let mut flat = x.ravel()?;
    let number = x.new_full(&[], number, x.dtype())?;
    flat.assign(&[Index::Range(slice)], &number)?;
    flat.reshape(&sizes)
}
