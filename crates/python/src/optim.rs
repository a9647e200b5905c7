//! The core of `allotrope.optim`: groups and state are dicts there, and a step is one call here. L-BFGS
//! and learning rates are in `lbfgs` and `schedule`.

mod lbfgs;
mod schedule;

use allotrope_nn::optim::{
    Algorithm, Group, Item, MASTER, Numbers, OptionValue, Precision, Slot, algorithm,
    algorithm_names, check_names, check_number, initial_state, number, step as step_all, widened,
};
use allotrope_tensor::{DType, Tensor, Variable};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::convert;
use crate::error::{raise, wrong_object};
use crate::generator::PyGenerator;
use crate::in_place::report;
use crate::interrupt::detach;
use crate::scopes;
use crate::tensor::PyTensor;

/// A hyper-parameter as Rust has it.
fn to_value(object: &Bound<'_, PyAny>) -> PyResult<OptionValue> {
    if object.is_none() {
        return Ok(OptionValue::None);
    }
    if let Ok(truth) = object.cast::<PyBool>() {
        return Ok(OptionValue::Bool(truth.is_true()));
    }
    if object.is_instance_of::<PyFloat>() || object.is_instance_of::<PyInt>() {
        let number = object.extract();
        let accepted = "numbers that float64 holds";
        let refuse = |_| wrong_object("optimizer", "not a hyper-parameter", object, accepted);
        return number.map(OptionValue::Number).map_err(refuse);
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(OptionValue::Text(text.extract()?));
    }
    if let Ok(tensor) = object.cast::<PyTensor>() {
        let number = number(&tensor.get().tensor()).map_err(raise)?;
        return Ok(OptionValue::Number(number));
    }
    if object.is_instance_of::<PyTuple>() || object.is_instance_of::<PyList>() {
        let items = object.try_iter()?.map(|item| to_value(&item?));
        return Ok(OptionValue::List(items.collect::<PyResult<_>>()?));
    }
    match object.extract::<f64>() {
        Ok(number) => Ok(OptionValue::Number(number)),
        Err(_) => Err(wrong_object(
            "optimizer",
            "not a hyper-parameter",
            object,
            "numbers, truths, names and tuples of them",
        )),
    }
}

/// A hyper-parameter as Python has it.
fn from_value<'py>(py: Python<'py>, value: &OptionValue) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        OptionValue::None => py.None().into_bound(py),
        OptionValue::Bool(truth) => PyBool::new(py, *truth).to_owned().into_any(),
        OptionValue::Number(number) => number.into_pyobject(py)?.into_any(),
        OptionValue::Text(text) => text.into_pyobject(py)?.into_any(),
        OptionValue::List(list) => {
            let items = list.iter().map(|item| from_value(py, item));
            // bounded: a list of hyper-parameters.
            PyTuple::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
    })
}

/// The rule with the hyper-parameters of a group.
fn rule(name: &str, group: &Bound<'_, PyDict>) -> PyResult<Box<dyn Algorithm>> {
    let mut rule = algorithm(name).map_err(raise)?;
    for (name, _) in rule.values() {
        if let Some(value) = group.get_item(name)? {
            rule.set(name, &to_value(&value)?).map_err(raise)?;
        }
    }
    rule.check().map_err(raise)?;
    Ok(rule)
}

/// What a group says of dtypes and rounding.
fn precision(op: &'static str, group: &Bound<'_, PyDict>) -> PyResult<Precision> {
    let py = group.py();
    let given = |name| -> PyResult<Option<Bound<'_, PyAny>>> {
        Ok(group.get_item(name)?.filter(|value| !value.is_none()))
    };
    let truth = |name| given(name)?.map_or(Ok(false), |value| value.is_truthy());
    let state_dtype = given(intern!(py, "state_dtype"))?;
    let state_dtype = state_dtype.map(|dtype| convert::to_numeric(op, &dtype));
    let precision = Precision {
        state_dtype: state_dtype.transpose()?,
        master_weights: truth(intern!(py, "master_weights"))?,
        stochastic_rounding: truth(intern!(py, "stochastic_rounding"))?,
    };
    precision.check(op).map_err(raise)?;
    Ok(precision)
}

fn parameter<'py>(op: &str, object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTensor>> {
    object
        .cast::<PyTensor>()
        .cloned()
        .map_err(|_| wrong_object(op, "not a parameter", object, "tensors"))
}

/// The names of all algorithms.
#[pyfunction]
fn names() -> Vec<&'static str> {
    algorithm_names().collect()
}

/// The hyper-parameters of an algorithm, as they are if nothing is said.
#[pyfunction]
fn defaults<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    for (name, value) in algorithm(name).map_err(raise)?.values() {
        all.set_item(name, from_value(py, &value)?)?;
    }
    Ok(all)
}

/// Refuses a group whose hyper-parameters have no meaning, or that has parameters which the rule is not
/// for.
#[pyfunction]
fn check(name: &str, group: &Bound<'_, PyDict>) -> PyResult<()> {
    let rule = rule(name, group)?;
    precision(rule.name(), group)?;
    let Some(parameters) = group.get_item(intern!(group.py(), "params"))? else {
        return Ok(());
    };
    for object in parameters.try_iter()? {
        let object = parameter(rule.name(), &object?)?;
        rule.check_parameter(&object.get().tensor())
            .map_err(raise)?;
    }
    Ok(())
}

/// A name, its tensor, and whether that is new.
type Remembered = (&'static str, Py<PyTensor>, bool);

/// A parameter with what is remembered of it, by name.
type Seen<'a> = (&'a Variable, Vec<(&'static str, &'a Variable)>);

/// What is remembered of one parameter, on its way through a step.
struct Known<'py> {
    parameter: Bound<'py, PyTensor>,
    dict: Option<Bound<'py, PyDict>>,
    slots: Vec<Remembered>,
}

/// What is remembered, which follows a parameter that was moved to another device.
fn beside(known: &Bound<'_, PyTensor>, value: &Tensor) -> PyResult<Tensor> {
    let state = known.get().tensor();
    if state.device() == value.device() {
        return Ok(state);
    }
    let moved = state.to_device(value.device()).map_err(raise)?;
    known.get().variable().rebind(moved.clone());
    Ok(moved)
}

/// The tensor of a slot: the one there is, widened if it must be, or a new one.
fn slot_tensor<'py>(
    py: Python<'py>,
    slot: &Slot,
    known: Option<Bound<'py, PyAny>>,
    value: &Tensor,
    precision: &Precision,
) -> PyResult<(Py<PyTensor>, bool)> {
    let known = known.filter(|known| !known.is_none());
    let Some(known) = known else {
        let first = initial_state(slot, value, precision).map_err(raise)?;
        return Ok((Py::new(py, PyTensor::from(first))?, true));
    };
    let known = parameter("step", &known)?;
    let state = beside(&known, value)?;
    if let Some(wide) = widened(slot, &state, value, precision).map_err(raise)? {
        known.get().variable().rebind(wide);
    }
    Ok((known.unbind(), false))
}

/// Everything that a parameter remembers, with what is missing made.
fn remember<'py>(
    object: &Bound<'py, PyTensor>,
    dict: Option<&Bound<'py, PyDict>>,
    rule: &dyn Algorithm,
    precision: &Precision,
) -> PyResult<(Vec<Remembered>, bool)> {
    let py = object.py();
    let value = object.get().tensor().detach();
    let get = |name: &str| dict.map_or(Ok(None), |dict| dict.get_item(name));
    let mut slots = Vec::new();
    for slot in rule.slots(value.shape()) {
        let (tensor, is_new) = slot_tensor(py, &slot, get(slot.name)?, &value, precision)?;
        slots.push((slot.name, tensor, is_new));
    }
    let is_first = slots.first().is_some_and(|(_, _, is_new)| *is_new);
    let known = get(MASTER)?.filter(|known| !known.is_none());
    if let Some(known) = known {
        let known = parameter("step", &known)?;
        let like = Slot::zeros(MASTER);
        widened(&like, &beside(&known, &value)?, &value, precision).map_err(raise)?;
        slots.push((MASTER, known.unbind(), false));
    } else if let Some(dtype) = precision.master_of(value.dtype()) {
        let master = value.to(dtype).map_err(raise)?;
        slots.push((MASTER, Py::new(py, PyTensor::from(master))?, true));
    }
    Ok((slots, is_first))
}

/// The numbers that a parameter remembers.
fn numbers_of(rule: &dyn Algorithm, dict: Option<&Bound<'_, PyDict>>) -> PyResult<Numbers> {
    let mut numbers = rule.first_numbers();
    for (number, name) in numbers.iter_mut().zip(rule.number_names()) {
        let known = dict.map_or(Ok(None), |dict| dict.get_item(name))?;
        if let Some(known) = known {
            *number = match to_value(&known)? {
                OptionValue::Number(known) => known,
                _ => return Err(wrong_object("step", name, &known, "numbers")),
            };
        }
    }
    Ok(numbers)
}

/// Writes a number that is remembered: a count as an integer.
fn set_number(dict: &Bound<'_, PyDict>, name: &str, number: f64) -> PyResult<()> {
    match name == "step" && number.fract() == 0.0 {
        true => dict.set_item(name, number as i64),
        false => dict.set_item(name, number),
    }
}

/// Takes a step of every parameter of some groups that has a gradient, and remembers in `state` what is
/// to be remembered. If it fails, nothing has changed.
#[pyfunction]
fn step(
    py: Python<'_>,
    name: &str,
    groups: &Bound<'_, PyList>,
    state: &Bound<'_, PyDict>,
    generator: Option<&Bound<'_, PyGenerator>>,
) -> PyResult<()> {
    scopes::sync();
    // bounded: groups, and below their parameters, which are objects already.
    let mut rules = Vec::with_capacity(groups.len());
    let mut all: Vec<Vec<Known<'_>>> = Vec::with_capacity(groups.len());
    let mut owned: Vec<Vec<(Tensor, Numbers, bool)>> = Vec::with_capacity(groups.len());
    for group in groups.iter() {
        let group = group.cast_into::<PyDict>()?;
        let rule = rule(name, &group)?;
        let precision = precision(rule.name(), &group)?;
        let (mut known, mut parts) = (Vec::new(), Vec::new());
        let parameters = group.get_item(intern!(py, "params"))?;
        let parameters =
            parameters.ok_or_else(|| PyValueError::new_err("step: a group without params"))?;
        for object in parameters.try_iter()? {
            let object = parameter("step", &object?)?;
            let Some(gradient) = object.get().tensor().grad() else {
                continue;
            };
            let dict = state.get_item(&object)?;
            let dict = dict.map(|dict| dict.cast_into::<PyDict>()).transpose()?;
            let (slots, is_first) = remember(&object, dict.as_ref(), &*rule, &precision)?;
            let numbers = numbers_of(&*rule, dict.as_ref())?;
            parts.push((gradient, numbers, is_first));
            known.push(Known {
                parameter: object,
                dict,
                slots,
            });
        }
        rules.push((rule, precision));
        all.push(known);
        owned.push(parts);
    }
    let counted = {
        let variables: Vec<Vec<Seen<'_>>> = all
            .iter()
            .map(|known| {
                let known = known.iter();
                let seen = known.map(|known| {
                    let slots = known.slots.iter();
                    let slots = slots.map(|(name, tensor, _)| (*name, tensor.get().variable()));
                    (known.parameter.get().variable(), slots.collect())
                });
                seen.collect()
            })
            .collect();
        let generator = generator.map(|generator| generator.get().generator());
        detach(py, || {
            // bounded: one for each group.
            let mut groups = Vec::with_capacity(rules.len());
            for ((rule, precision), (parts, variables)) in
                rules.iter().zip(owned.into_iter().zip(&variables))
            {
                let items = parts.into_iter().zip(variables);
                let items = items.map(|((gradient, numbers, is_first), (parameter, slots))| {
                    let master = slots.iter().find(|(name, _)| *name == MASTER);
                    let state = slots.iter().filter(|(name, _)| *name != MASTER);
                    Item {
                        parameter,
                        gradient,
                        state: state.map(|(_, variable)| *variable).collect(),
                        master: master.map(|(_, variable)| *variable),
                        numbers,
                        is_first,
                    }
                });
                groups.push(Group {
                    algorithm: &**rule,
                    precision: *precision,
                    items: items.collect(),
                });
            }
            step_all(&mut groups, generator)?;
            let counted = groups.into_iter();
            let counted =
                counted.map(|group| group.items.into_iter().map(|item| item.numbers).collect());
            // bounded: one for each parameter.
            Ok(counted.collect::<Vec<Vec<Numbers>>>())
        })
        .map_err(raise)?
    };
    for ((rule, _), (known, counted)) in rules.iter().zip(all.into_iter().zip(counted)) {
        for (known, numbers) in known.into_iter().zip(counted) {
            let is_empty = known.slots.is_empty() && numbers.is_empty();
            let dict = match known.dict {
                Some(dict) => dict,
                None if is_empty => continue,
                None => {
                    let dict = PyDict::new(py);
                    state.set_item(&known.parameter, &dict)?;
                    dict
                }
            };
            for (name, number) in rule.number_names().iter().zip(numbers) {
                set_number(&dict, name, number)?;
            }
            for (name, tensor, is_new) in known.slots {
                if is_new {
                    dict.set_item(name, tensor)?;
                }
            }
        }
    }
    Ok(())
}

/// What a rule remembers of a parameter before its first step, if it does.
#[pyfunction]
fn first_state<'py>(
    py: Python<'py>,
    name: &str,
    group: &Bound<'py, PyDict>,
    object: &Bound<'py, PyTensor>,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let rule = rule(name, group)?;
    if !rule.starts_with_state() {
        return Ok(None);
    }
    let precision = precision(rule.name(), group)?;
    let dict = PyDict::new(py);
    for (name, number) in rule.number_names().iter().zip(rule.first_numbers()) {
        set_number(&dict, name, number)?;
    }
    for (name, tensor, _) in remember(object, None, &*rule, &precision)?.0 {
        dict.set_item(name, tensor)?;
    }
    Ok(Some(dict))
}

/// What was saved of a parameter, as a rule remembers it: a copy, numbers as numbers, tensors in the
/// dtype they were saved in unless that is narrower than the rule's.
#[pyfunction]
fn load_state<'py>(
    py: Python<'py>,
    name: &str,
    group: &Bound<'py, PyDict>,
    object: &Bound<'py, PyTensor>,
    saved: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyDict>> {
    const OP: &str = "load_state_dict";
    let rule = rule(name, group)?;
    let precision = precision(rule.name(), group)?;
    let value = object.get().tensor().detach();
    let slots = rule.slots(value.shape());
    let dict = PyDict::new(py);
    // bounded: names of a rule's state.
    let given: Vec<String> = saved.keys().extract()?;
    check_names(OP, &*rule, &slots, |name| {
        given.iter().any(|given| given == name)
    })
    .map_err(raise)?;
    for (key, item) in saved.iter() {
        let name: String = key.extract()?;
        if rule.number_names().contains(&&*name) {
            match to_value(&item)? {
                OptionValue::Number(number) => {
                    check_number(OP, &name, number).map_err(raise)?;
                    set_number(&dict, &name, number)?;
                }
                _ => return Err(wrong_object(OP, &name, &item, "numbers")),
            }
            continue;
        }
        if item.is_none() {
            dict.set_item(key, item)?;
            continue;
        }
        let Ok(tensor) = item.cast::<PyTensor>() else {
            return Err(wrong_object(OP, &name, &item, "tensors"));
        };
        // What is remembered is where the parameter is.
        let tensor = tensor.get().tensor().detach().to_device(value.device());
        let tensor = tensor.map_err(raise)?;
        let master = Slot::zeros(MASTER);
        let slot = slots.iter().chain([&master]).find(|slot| slot.name == name);
        let wide = match slot {
            Some(slot) => widened(slot, &tensor, &value, &precision),
            None => Ok(None),
        };
        let wide = wide.map_err(|error| raise(error.in_op(OP)))?;
        let copy = match wide {
            Some(wide) => wide,
            None => tensor.copied().map_err(raise)?,
        };
        dict.set_item(key, Py::new(py, PyTensor::from(copy))?)?;
    }
    Ok(dict)
}

/// What is remembered of a parameter as it is saved: numbers as float32 tensors of no dimension.
#[pyfunction]
fn save_state<'py>(
    py: Python<'py>,
    name: &str,
    group: &Bound<'py, PyDict>,
    dict: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyDict>> {
    let rule = rule(name, group)?;
    let saved = PyDict::new(py);
    for (key, item) in dict.iter() {
        let text: String = key.extract()?;
        if rule.number_names().contains(&&*text)
            && let OptionValue::Number(number) = to_value(&item)?
        {
            let number = Tensor::full(&[], number, DType::F32).map_err(raise)?;
            saved.set_item(key, Py::new(py, PyTensor::from(number))?)?;
        } else {
            saved.set_item(key, item)?;
        }
    }
    Ok(saved)
}

/// Forgets the gradients of tensors, or sets them to zero: all of them, or none.
#[pyfunction]
fn zero_grad(py: Python<'_>, parameters: &Bound<'_, PyAny>, set_to_none: bool) -> PyResult<()> {
    let objects = parameters
        .try_iter()?
        .map(|object| parameter("zero_grad", &object?));
    // bounded: the parameters.
    let objects = objects.collect::<PyResult<Vec<_>>>()?;
    if set_to_none {
        let mut given = objects
            .iter()
            .filter(|object| object.get().tensor().grad().is_some());
        return given.try_for_each(|object| object.get().set_gradient(None));
    }
    let gradients = objects.iter().map(|object| object.get().gradient(py));
    let gradients = gradients.collect::<PyResult<Vec<_>>>()?;
    let gradients: Vec<&Variable> = gradients
        .iter()
        .flatten()
        .map(|g| g.get().variable())
        .collect();
    for gradient in &gradients {
        gradient.detach_();
    }
    let written = detach(py, || Variable::zero_all("zero_grad", &gradients)).map_err(raise)?;
    report(py, written)
}

/// Adds the functions that `allotrope.optim` is made of.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let part = PyModule::new(module.py(), "_optim")?;
    add!(part, names defaults check step first_state load_state save_state zero_grad);
    lbfgs::register(&part)?;
    schedule::register(&part)?;
    module.add_submodule(&part)
}
