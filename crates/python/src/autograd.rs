//! Gradients: what a tensor says of its own, and the walk back.

use std::cell::RefCell;

use allotrope_dtype::{Error, GradientProblem};
use allotrope_tensor::{
    BackwardOptions, Checked, GradcheckOptions, Tensor, backward, grad, gradcheck, gradgradcheck,
    is_anomaly_enabled, is_grad_enabled, is_inference_mode, lasting_name, record_function,
    set_locator,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::arguments::{MOST_ITEMS, TensorList, TensorObject, Unsigned, iterate};
use crate::error::{raise, wrong_object};
use crate::interrupt::{attach, detach};
use crate::scopes;
use crate::tensor::{PyTensor, as_tensor};

thread_local! {
    /// What a function of the user raised, until it is raised again on the other side.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// The error of a function that raised, which keeps the exception itself.
pub(crate) fn callback_failed(error: PyErr) -> Error {
    let message = error.to_string();
    RAISED.with(|raised| *raised.borrow_mut() = Some(error));
    Error::new("callback", GradientProblem::Callback { message }.into())
}

/// The exception that a function of the user raised, if that is what an error says.
pub(crate) fn raised_by_callback(error: &Error) -> Option<PyErr> {
    match error.problem() {
        allotrope_dtype::Problem::Gradient(GradientProblem::Callback { .. }) => {
            RAISED.with(|raised| raised.borrow_mut().take())
        }
        _ => None,
    }
}

/// A tensor, or a sequence of tensors, as a list.
fn tensors(op: &'static str, object: &Bound<'_, PyAny>) -> PyResult<Vec<Tensor>> {
    let found = optional_tensors(op, object)?.into_iter().collect();
    let found: Option<Vec<Tensor>> = found;
    found.ok_or_else(|| wrong_object(op, "not a tensor", object, "tensors"))
}

/// The same, with None in the place of some.
fn optional_tensors(op: &'static str, object: &Bound<'_, PyAny>) -> PyResult<Vec<Option<Tensor>>> {
    if let Some(tensor) = as_tensor(object) {
        return Ok(vec![Some(tensor)]);
    }
    let refuse = || wrong_object(op, "not a tensor", object, "tensors and sequences of them");
    if !object.hasattr("__iter__")? && !object.hasattr("__getitem__")? {
        return Err(refuse());
    }
    let items = iterate(op, object, MOST_ITEMS)?;
    let each = items.into_iter().map(|item| {
        if item.is_none() {
            return Ok(None);
        }
        as_tensor(&item).map(Some).ok_or_else(refuse)
    });
    each.collect()
}

fn gradients_for(
    op: &'static str,
    given: Option<&Bound<'_, PyAny>>,
    count: usize,
) -> PyResult<Vec<Option<Tensor>>> {
    match given {
        Some(given) => optional_tensors(op, given),
        // bounded: as many as the caller lists.
        None => Ok(vec![None; count]),
    }
}

fn options(retain_graph: Option<bool>, create_graph: bool) -> BackwardOptions {
    BackwardOptions {
        retain_graph: retain_graph.unwrap_or(create_graph),
        create_graph,
    }
}

/// Adds the gradients of tensors to the leaves that they were computed from.
///
/// >>> x = al.tensor([1.0, 2.0], requires_grad=True)
/// >>> al.autograd.backward((x * x).sum())
/// >>> x.grad
/// tensor([2., 4.])
#[pyfunction(name = "backward")]
#[pyo3(signature = (tensors, grad_tensors=None, retain_graph=None, create_graph=false, inputs=None))]
fn backward_of(
    py: Python<'_>,
    tensors: TensorList,
    grad_tensors: Option<&Bound<'_, PyAny>>,
    retain_graph: Option<bool>,
    create_graph: bool,
    inputs: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let op = "backward";
    let results = self::tensors(op, tensors)?;
    let gradients = gradients_for(op, grad_tensors, results.len())?;
    let inputs = inputs.map(|inputs| self::tensors(op, inputs)).transpose()?;
    let options = options(retain_graph, create_graph);
    detach(py, || {
        let results: Vec<&Tensor> = results.iter().collect();
        let gradients: Vec<Option<&Tensor>> = gradients.iter().map(Option::as_ref).collect();
        let inputs: Option<Vec<&Tensor>> = inputs.as_ref().map(|i| i.iter().collect());
        backward(&results, &gradients, inputs.as_deref(), options)
    })
    .map_err(raise)
}

/// The gradients of inputs: a tuple with one for each, or None for one that no output depends on,
/// if allow_unused. With materialize_grads it is zeros instead of None, and allow_unused is implied.
///
/// >>> x = al.tensor([1.0, 2.0], requires_grad=True)
/// >>> al.autograd.grad((x * x).sum(), x)
/// (tensor([2., 4.]),)
/// >>> y = al.ones(1, requires_grad=True)
/// >>> al.autograd.grad((x * x).sum(), [x, y], materialize_grads=True)
/// (tensor([2., 4.]), tensor([0.]))
#[pyfunction(name = "grad")]
#[pyo3(signature = (outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=false, allow_unused=None, *, materialize_grads=false))]
#[allow(clippy::too_many_arguments, reason = "torch's signature")]
fn grad_of<'py>(
    py: Python<'py>,
    outputs: &Bound<'_, PyAny>,
    inputs: &Bound<'_, PyAny>,
    grad_outputs: Option<&Bound<'_, PyAny>>,
    retain_graph: Option<bool>,
    create_graph: bool,
    allow_unused: Option<bool>,
    materialize_grads: bool,
) -> PyResult<Bound<'py, PyTuple>> {
    let op = "grad";
    if materialize_grads && allow_unused == Some(false) {
        return Err(PyValueError::new_err(
            "grad: allow_unused=False does not go with materialize_grads=True, which gives unused inputs zeros",
        ));
    }
    let allow_unused = allow_unused.unwrap_or(materialize_grads);
    let (results, inputs) = (tensors(op, outputs)?, tensors(op, inputs)?);
    let gradients = gradients_for(op, grad_outputs, results.len())?;
    let options = options(retain_graph, create_graph);
    let found = detach(py, || {
        let results: Vec<&Tensor> = results.iter().collect();
        let inputs: Vec<&Tensor> = inputs.iter().collect();
        let gradients: Vec<Option<&Tensor>> = gradients.iter().map(Option::as_ref).collect();
        let mut found = grad(&results, &inputs, &gradients, options, allow_unused)?;
        if materialize_grads {
            for (gradient, input) in found.iter_mut().zip(inputs) {
                if gradient.is_none() {
                    *gradient = Some(input.detach().new_zeros(input.shape(), input.dtype())?);
                }
            }
        }
        Ok(found)
    })
    .map_err(raise)?;
    PyTuple::new(py, found.into_iter().map(|found| found.map(PyTensor::from)))
}

/// Whether operations on tensors that require a gradient are recorded in this thread.
///
/// >>> al.is_grad_enabled()
/// True
#[pyfunction(name = "is_grad_enabled")]
pub(crate) fn grad_enabled() -> bool {
    scopes::sync();
    is_grad_enabled()
}

/// Whether this thread is in inference mode, where nothing is recorded.
///
/// >>> al.is_inference_mode_enabled()
/// False
#[pyfunction]
pub(crate) fn is_inference_mode_enabled() -> bool {
    scopes::sync();
    is_inference_mode()
}

/// Whether this thread looks for the first number that is not finite.
///
/// >>> al.autograd.is_anomaly_enabled()
/// False
#[pyfunction(name = "is_anomaly_enabled")]
fn anomaly_enabled() -> bool {
    scopes::sync();
    is_anomaly_enabled()
}

/// Gives outputs a derivative: a function of the list of their gradients and of which inputs want
/// theirs, which gives one gradient per input, or None.
#[pyfunction]
fn record(
    name: &str,
    inputs: &Bound<'_, PyAny>,
    outputs: &Bound<'_, PyAny>,
    derivative: Py<PyAny>,
) -> PyResult<Vec<PyTensor>> {
    let op = lasting_name(name);
    let (inputs, outputs) = (tensors(op, inputs)?, tensors(op, outputs)?);
    let rule = move |gradients: &[Option<Tensor>], wanted: &[bool]| {
        attach(|py| {
            let gradients = gradients.iter().map(|g| g.clone().map(PyTensor::from));
            let gradients: Vec<Option<PyTensor>> = gradients.collect();
            let made = derivative.call1(py, (gradients, wanted.to_vec()))?;
            optional_tensors(op, made.bind(py))
        })
        .map_err(callback_failed)
    };
    let inputs: Vec<&Tensor> = inputs.iter().collect();
    let recorded = record_function(op, &inputs, outputs, rule).map_err(raise)?;
    Ok(recorded.into_iter().map(PyTensor::from).collect())
}

/// Checks gradients, or gradients of gradients, against differences.
#[pyfunction]
#[pyo3(signature = (function, inputs, order, eps, atol, rtol, seed))]
#[allow(clippy::too_many_arguments, reason = "torch's")]
fn check(
    py: Python<'_>,
    function: &Bound<'_, PyAny>,
    inputs: &Bound<'_, PyAny>,
    order: usize,
    eps: f64,
    atol: f64,
    rtol: f64,
    seed: Unsigned,
) -> PyResult<()> {
    let inputs = tensors("gradcheck", inputs)?;
    let function = function.clone().unbind();
    let call = |inputs: &[Tensor]| -> Result<Vec<Tensor>, Error> {
        attach(|py| {
            let inputs = inputs.iter().map(|x| PyTensor::from(x.clone()));
            let inputs = PyTuple::new(py, inputs)?;
            let made = function.call1(py, inputs)?;
            tensors("gradcheck", made.bind(py))
        })
        .map_err(callback_failed)
    };
    let options = GradcheckOptions {
        eps,
        atol,
        rtol,
        seed: seed.0,
    };
    let checked: Checked<'_> = &call;
    // The function holds the interpreter whenever it is called.
    let _ = py;
    match order {
        1 => gradcheck(checked, &inputs, options),
        _ => gradgradcheck(checked, &inputs, options),
    }
    .map_err(raise)
}

/// The operation that a tensor was computed by.
#[pyclass(module = "allotrope.autograd", frozen)]
struct GradFn {
    name: &'static str,
}

#[pymethods]
impl GradFn {
    /// The name of the operation.
    fn name(&self) -> &'static str {
        self.name
    }

    fn __repr__(&self) -> String {
        format!("<{}>", self.name)
    }
}

#[pymethods]
impl PyTensor {
    /// Whether operations on the tensor are recorded, so that a gradient can come back to it.
    ///
    /// >>> x = al.ones(2, requires_grad=True)
    /// >>> x.requires_grad, (2 * x).requires_grad, x.detach().requires_grad
    /// (True, True, False)
    #[getter]
    fn requires_grad(&self) -> bool {
        self.tensor().requires_grad()
    }

    #[setter(requires_grad)]
    fn set_requires_grad(&self, required: bool) -> PyResult<()> {
        self.variable().requires_grad_(required).map_err(raise)
    }

    /// Makes the tensor a leaf that collects gradients, or one that does not.
    ///
    /// >>> x = al.ones(2).requires_grad_()
    /// >>> (x * x).sum().backward()
    /// >>> x.grad
    /// tensor([2., 2.])
    #[pyo3(signature = (requires_grad=true))]
    fn requires_grad_<'py>(
        this: &Bound<'py, Self>,
        requires_grad: bool,
    ) -> PyResult<Bound<'py, Self>> {
        this.get().set_requires_grad(requires_grad)?;
        Ok(this.clone())
    }

    /// The gradient that `backward` has added up, or None. A change of it in place changes what
    /// has been added up.
    ///
    /// >>> x = al.tensor([1.0, 2.0], requires_grad=True)
    /// >>> (x * x).sum().backward()
    /// >>> x.grad
    /// tensor([2., 4.])
    #[getter]
    fn grad(&self, py: Python<'_>) -> PyResult<Option<Py<Self>>> {
        self.gradient(py)
    }

    #[setter(grad)]
    fn set_grad(&self, gradient: Option<&Bound<'_, Self>>) -> PyResult<()> {
        self.set_gradient(gradient)
    }

    /// Whether the tensor was not computed from others that require a gradient.
    ///
    /// >>> x = al.ones(2, requires_grad=True)
    /// >>> x.is_leaf, (2 * x).is_leaf
    /// (True, False)
    #[getter]
    fn is_leaf(&self) -> bool {
        self.tensor().is_leaf()
    }

    /// The operation that the tensor was computed by, if a gradient can go back through it.
    ///
    /// >>> x = al.ones(2, requires_grad=True)
    /// >>> x.grad_fn, (2 * x).grad_fn is None
    /// (None, False)
    #[getter]
    fn grad_fn(&self) -> Option<GradFn> {
        self.tensor().made_by().map(|name| GradFn { name })
    }

    /// The same memory without a history: no gradient comes back through it, and what is written to
    /// it is seen here without being recorded.
    ///
    /// >>> x = al.ones(2, requires_grad=True)
    /// >>> x.detach()
    /// tensor([1., 1.])
    fn detach(&self) -> PyResult<Self> {
        self.variable().detach().map(Self::from).map_err(raise)
    }

    /// Forgets the history of the tensor.
    ///
    /// >>> x = al.ones(2, requires_grad=True)
    /// >>> (2 * x).detach_().requires_grad
    /// False
    fn detach_<'py>(this: &Bound<'py, Self>) -> Bound<'py, Self> {
        this.get().variable().detach_();
        this.clone()
    }

    /// Gives this tensor the history of another one, which has the same elements: it was changed in
    /// place by an operation of the user's own.
    fn _adopt<'py>(
        this: &Bound<'py, Self>,
        op: &str,
        recorded: &Bound<'_, Self>,
    ) -> PyResult<Bound<'py, Self>> {
        let value = recorded.get().tensor();
        this.get()
            .update(this.py(), lasting_name(op), |_| Ok(value.clone()))?;
        Ok(this.clone())
    }

    /// Another tensor object with the value of now, which later writes to this one do not change.
    fn _taken(&self) -> Self {
        self.tensor().into()
    }

    /// Adds the gradient of this tensor to the leaves that it was computed from. A tensor of several
    /// elements needs a gradient of its own.
    ///
    /// >>> x = al.tensor([1.0, 2.0], requires_grad=True)
    /// >>> x.exp().backward(al.ones(2))
    /// >>> x.grad
    /// tensor([2.7183, 7.3891])
    #[pyo3(signature = (gradient=None, retain_graph=None, create_graph=false, inputs=None))]
    fn backward(
        this: &Bound<'_, Self>,
        gradient: Option<TensorObject>,
        retain_graph: Option<bool>,
        create_graph: bool,
        inputs: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let gradients = gradient.map(|gradient| PyTuple::new(this.py(), [gradient]));
        let gradients = gradients.transpose()?.map(Bound::into_any);
        let tensor = this.as_any();
        backward_of(
            this.py(),
            tensor,
            gradients.as_ref(),
            retain_graph,
            create_graph,
            inputs,
        )
    }

    /// Keeps the gradient of a computed tensor too, when one comes back.
    ///
    /// >>> x = al.ones(2, requires_grad=True)
    /// >>> y = 2 * x
    /// >>> y.retain_grad()
    /// >>> y.sum().backward()
    /// >>> y.grad
    /// tensor([1., 1.])
    fn retain_grad(&self) -> PyResult<()> {
        self.tensor().retain_grad().map_err(raise)
    }

    /// Whether the gradient of a computed tensor is kept.
    ///
    /// >>> y = 2 * al.ones(2, requires_grad=True)
    /// >>> y.retain_grad()
    /// >>> y.retains_grad
    /// True
    #[getter]
    fn retains_grad(&self) -> bool {
        self.tensor().retains_grad()
    }
}

/// The innermost frame that is not of this package, and how many are above it.
fn user_frame(py: Python<'_>) -> PyResult<Option<(Bound<'_, PyAny>, i32)>> {
    let mut frame = py.import("sys")?.call_method0("_getframe")?;
    let mut own = 0;
    loop {
        if frame.is_none() {
            return Ok(None);
        }
        let globals = frame.getattr("f_globals")?;
        let name = globals.cast::<PyDict>()?.get_item("__name__")?;
        let name: String = name.map_or(Ok(String::new()), |name| name.extract())?;
        if name != "allotrope" && !name.starts_with("allotrope.") {
            return Ok(Some((frame, own)));
        }
        frame = frame.getattr("f_back")?;
        own += 1;
    }
}

/// How many frames of this package are above the user's.
pub(crate) fn frames_of_package(py: Python<'_>) -> PyResult<i32> {
    Ok(user_frame(py)?.map_or(0, |(_, own)| own))
}

/// The line of the user's program.
fn locate() -> Option<String> {
    Python::attach(|py| -> PyResult<Option<String>> {
        let Some((frame, _)) = user_frame(py)? else {
            return Ok(None);
        };
        let file: String = frame.getattr("f_code")?.getattr("co_filename")?.extract()?;
        let line: usize = frame.getattr("f_lineno")?.extract()?;
        Ok(Some(format!("{file}:{line}")))
    })
    .ok()
    .flatten()
}

/// Adds the functions that `allotrope.autograd` is made of.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    set_locator(locate);
    let part = PyModule::new(module.py(), "_autograd")?;
    add!(part, backward_of grad_of anomaly_enabled record check);
    part.add_class::<crate::hooks::RemovableHandle>()?;
    part.add_class::<GradFn>()?;
    module.add_submodule(&part)
}
