//! L-BFGS: its options and state as dicts, and a closure of Python's.

use allotrope_nn::optim::{LBFGSOptions, LBFGSState, OptionValue, Options as _, lbfgs_step};
use allotrope_tensor::{Error, Tensor, Variable};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::{parameter, to_value};
use crate::arguments::Operand;
use crate::error::{raise, wrong_object};
use crate::scopes;
use crate::tensor::PyTensor;

/// An exception of Python's, or an error of ours as one.
struct Raised(PyErr);

impl From<Error> for Raised {
    fn from(error: Error) -> Self {
        Self(raise(error))
    }
}

/// The hyper-parameters of L-BFGS in a group.
fn lbfgs_options(group: &Bound<'_, PyDict>) -> PyResult<LBFGSOptions> {
    let mut options = LBFGSOptions::default();
    for (name, _) in LBFGSOptions::default().values() {
        if let Some(value) = group.get_item(name)? {
            options.set(name, &to_value(&value)?).map_err(raise)?;
        }
    }
    options.check().map_err(raise)?;
    Ok(options)
}

/// What L-BFGS remembers, from a dict with torch's names.
fn lbfgs_state(dict: &Bound<'_, PyDict>) -> PyResult<LBFGSState> {
    let given = |name: &str| -> PyResult<Option<Bound<'_, PyAny>>> {
        Ok(dict.get_item(name)?.filter(|value| !value.is_none()))
    };
    let a_number = |name: &str| match given(name)? {
        Some(value) => match to_value(&value)? {
            OptionValue::Number(number) => Ok(number),
            _ => Err(wrong_object("LBFGS", name, &value, "numbers")),
        },
        None => Ok(0.0),
    };
    let a_tensor = |value: Operand| -> PyResult<Tensor> {
        Ok(parameter("LBFGS", value)?.get().tensor().detach())
    };
    let tensor = |name: &str| given(name)?.map(|value| a_tensor(&value)).transpose();
    let tensors = |name: &str| -> PyResult<Vec<Tensor>> {
        let Some(list) = given(name)? else {
            return Ok(Vec::new());
        };
        list.try_iter()?.map(|item| a_tensor(&item?)).collect()
    };
    let ro = match given("ro")? {
        Some(list) => match to_value(&list)? {
            OptionValue::List(list) => list
                .iter()
                .map(|value| match value {
                    OptionValue::Number(number) => *number,
                    _ => f64::NAN,
                })
                .collect(),
            _ => Vec::new(),
        },
        None => Vec::new(),
    };
    Ok(LBFGSState {
        func_evals: a_number("func_evals")? as u64,
        n_iter: a_number("n_iter")? as u64,
        d: tensor("d")?,
        t: a_number("t")?,
        old_dirs: tensors("old_dirs")?,
        old_stps: tensors("old_stps")?,
        ro,
        h_diag: a_number("H_diag")?,
        prev_flat_grad: tensor("prev_flat_grad")?,
        prev_loss: a_number("prev_loss")?,
    })
}

/// Takes a step of L-BFGS, and gives what the closure gave first.
#[pyfunction]
fn lbfgs<'py>(
    group: &Bound<'py, PyDict>,
    parameters: Vec<Py<PyTensor>>,
    dict: &Bound<'py, PyDict>,
    closure: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = group.py();
    scopes::sync();
    let options = lbfgs_options(group)?;
    let mut state = lbfgs_state(dict)?;
    let mut first = None;
    let evaluate = || {
        let loss = closure.call0().map_err(Raised)?;
        let number = match to_value(&loss).map_err(Raised)? {
            OptionValue::Number(number) => Ok(number),
            _ => Err(Raised(wrong_object(
                "LBFGS",
                "not a loss",
                &loss,
                "numbers",
            ))),
        };
        first.get_or_insert(loss);
        number
    };
    let variables: Vec<&Variable> = parameters.iter().map(|p| p.get().variable()).collect();
    lbfgs_step(&options, &variables, &mut state, evaluate).map_err(|Raised(error)| error)?;
    let tensor = |tensor: Option<Tensor>| {
        let tensor = tensor.map(|tensor| Py::new(py, PyTensor::from(tensor)));
        tensor.transpose()
    };
    let tensors = |tensors: Vec<Tensor>| {
        let tensors = tensors.into_iter();
        let tensors = tensors.map(|tensor| Py::new(py, PyTensor::from(tensor)));
        tensors.collect::<PyResult<Vec<_>>>()
    };
    dict.set_item("func_evals", state.func_evals)?;
    dict.set_item("n_iter", state.n_iter)?;
    if state.n_iter > 0 {
        dict.set_item("d", tensor(state.d)?)?;
        dict.set_item("t", state.t)?;
        dict.set_item("old_dirs", tensors(state.old_dirs)?)?;
        dict.set_item("old_stps", tensors(state.old_stps)?)?;
        dict.set_item("ro", state.ro)?;
        dict.set_item("H_diag", state.h_diag)?;
        dict.set_item("prev_flat_grad", tensor(state.prev_flat_grad)?)?;
        dict.set_item("prev_loss", state.prev_loss)?;
    }
    Ok(first.unwrap_or_else(|| py.None().into_bound(py)))
}

/// Refuses hyper-parameters of L-BFGS that have no meaning.
#[pyfunction]
fn check_lbfgs(group: &Bound<'_, PyDict>) -> PyResult<()> {
    lbfgs_options(group).map(drop)
}

/// Adds these functions to the module.
pub(super) fn register(part: &Bound<'_, PyModule>) -> PyResult<()> {
    add!(part, lbfgs check_lbfgs);
    Ok(())
}
