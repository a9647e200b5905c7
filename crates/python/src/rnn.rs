//! `_core._rnn`: recurrent networks and their cells as functions.

use allotrope_dtype::Error;
use allotrope_nn::rnn::{Recurrence, Recurrent, RecurrentOptions, recurrent, recurrent_cell};
use allotrope_tensor::Tensor;
use pyo3::prelude::*;
use pyo3::types::PyModule;

use crate::arguments::{Int, Ints, Operand, items, many_integers, size};
use crate::create::operand;
use crate::error::{raise, wrong_object};
use crate::generator::{PyGenerator, source};
use crate::interrupt::detach;
use crate::tensor::PyTensor;

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

/// Parameters of more layers than anyone has.
const MOST_PARAMETERS: usize = 1 << 20;

/// Adds the functions.
pub(crate) fn register(core: &Bound<'_, PyModule>) -> PyResult<()> {
    let module = PyModule::new(core.py(), "allotrope._core._rnn")?;
    add!(module, rnn lstm gru rnn_cell lstm_cell gru_cell);
    core.setattr("_rnn", module)
}

/// What the three kinds of networks are given alike.
struct Call {
    input: Tensor,
    hidden: Option<Tensor>,
    cell: Option<Tensor>,
    parameters: Vec<Tensor>,
    batch_sizes: Option<Vec<usize>>,
}

impl Call {
    fn new(
        kind: Recurrence,
        input: Operand,
        hx: Option<Operand>,
        params: Any<'_, '_>,
        batch_sizes: Option<Ints>,
    ) -> PyResult<Self> {
        let op = kind.name();
        let (hidden, cell) = states(kind, op, hx)?;
        let accepted = "sequences of tensors";
        let given = items(op, params, MOST_PARAMETERS)?;
        let given = given.ok_or_else(|| wrong_object(op, "not parameters", params, accepted))?;
        let parameters = given.iter().map(|item| operand(op, item));
        let batch_sizes = batch_sizes.filter(|sizes| !sizes.is_none());
        let batch_sizes = batch_sizes.map(|sizes| {
            let sizes = many_integers(op, sizes)?;
            let sizes = sizes.into_vec().into_iter().map(|given| size(op, given));
            sizes.collect::<PyResult<Vec<usize>>>()
        });
        Ok(Self {
            input: operand(op, input)?,
            hidden,
            cell,
            parameters: parameters.collect::<PyResult<_>>()?,
            batch_sizes: batch_sizes.transpose()?,
        })
    }

    fn run(
        &self,
        py: Python<'_>,
        kind: Recurrence,
        options: RecurrentOptions<'_>,
    ) -> PyResult<Recurrent> {
        let initial = self
            .hidden
            .as_ref()
            .map(|hidden| (hidden, self.cell.as_ref()));
        let (input, sizes) = (&self.input, self.batch_sizes.as_deref());
        let result = detach(py, || {
            recurrent(kind, input, sizes, initial, &self.parameters, options)
        });
        result.map_err(raise)
    }
}

/// Initial states: a tensor, or those of hidden state and cell.
fn states(
    kind: Recurrence,
    op: &'static str,
    hx: Option<Operand>,
) -> PyResult<(Option<Tensor>, Option<Tensor>)> {
    let Some(hx) = hx.filter(|hx| !hx.is_none()) else {
        return Ok((None, None));
    };
    if !kind.has_cell() {
        return Ok((Some(operand(op, hx)?), None));
    }
    let refuse = || wrong_object(op, "not two states", hx, "tuples of hidden state and cell");
    match items(op, hx, 2)?.as_deref() {
        Some([hidden, cell]) => Ok((Some(operand(op, hidden)?), Some(operand(op, cell)?))),
        _ => Err(refuse()),
    }
}

fn nonlinearity(op: &'static str, name: &str) -> PyResult<Recurrence> {
    match name {
        "tanh" => Ok(Recurrence::RnnTanh),
        "relu" => Ok(Recurrence::RnnRelu),
        _ => {
            let error = Error::unknown_option(op, "nonlinearity", name, &["tanh", "relu"]);
            Err(raise(error))
        }
    }
}

/// The hidden states of a recurrent network at every step, and after the last one of each layer and
/// direction: `(output, h_n)`.
///
/// input is [time, batch, features], [batch, time, features] with batch_first, [time, features] for a
/// single sequence, or the data of a packed sequence with its batch_sizes. hx is None for zeros, or
/// [layers * directions, batch, hidden]. params is a flat list, layer after layer, the direction of
/// time first: weight_ih, weight_hh, and bias_ih, bias_hh if has_biases.
///
/// >>> weights = [al.ones(2, 3), al.zeros(2, 2)]
/// >>> al._core._rnn.rnn(al.ones(4, 1, 3), None, weights, False)[0].shape
/// (4, 1, 2)
#[pyfunction]
#[allow(
    clippy::too_many_arguments,
    reason = "the arguments of Python's function"
)]
#[pyo3(signature = (
    input, hx, params, has_biases=true, num_layers=Int(1), dropout=0.0, train=false,
    bidirectional=false, batch_first=false, batch_sizes=None, nonlinearity="tanh", *, generator=None
))]
fn rnn(
    py: Python<'_>,
    input: Operand,
    hx: Option<Operand>,
    params: Any<'_, '_>,
    has_biases: bool,
    num_layers: Int,
    dropout: f64,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
    batch_sizes: Option<Ints>,
    nonlinearity: &str,
    generator: Option<&Bound<'_, PyGenerator>>,
) -> PyResult<(PyTensor, PyTensor)> {
    let kind = self::nonlinearity("rnn", nonlinearity)?;
    let call = Call::new(kind, input, hx, params, batch_sizes)?;
    let options = RecurrentOptions {
        num_layers: size("rnn", num_layers.0)?,
        has_biases,
        bidirectional,
        batch_first,
        dropout,
        train,
        generator: source(generator),
    };
    let result = call.run(py, kind, options)?;
    Ok((result.output.into(), result.hidden.into()))
}

/// The hidden states of a long short-term memory at every step, and hidden states and cells after the
/// last one of each layer and direction: `(output, h_n, c_n)`.
///
/// As `rnn`, but for hx, which is None or a tuple of hidden states and cells, and for params: with a
/// projection each layer and direction ends with weight_hr, which is told by their number. Gates are in
/// torch's order: in, forget, cell, out.
///
/// >>> weights = [al.ones(8, 3), al.zeros(8, 2)]
/// >>> [x.shape for x in al._core._rnn.lstm(al.ones(4, 1, 3), None, weights, False)]
/// [(4, 1, 2), (1, 1, 2), (1, 1, 2)]
#[pyfunction]
#[allow(
    clippy::too_many_arguments,
    reason = "the arguments of Python's function"
)]
#[pyo3(signature = (
    input, hx, params, has_biases=true, num_layers=Int(1), dropout=0.0, train=false,
    bidirectional=false, batch_first=false, batch_sizes=None, *, generator=None
))]
fn lstm(
    py: Python<'_>,
    input: Operand,
    hx: Option<Operand>,
    params: Any<'_, '_>,
    has_biases: bool,
    num_layers: Int,
    dropout: f64,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
    batch_sizes: Option<Ints>,
    generator: Option<&Bound<'_, PyGenerator>>,
) -> PyResult<(PyTensor, PyTensor, Option<PyTensor>)> {
    let kind = Recurrence::Lstm;
    let call = Call::new(kind, input, hx, params, batch_sizes)?;
    let options = RecurrentOptions {
        num_layers: size("lstm", num_layers.0)?,
        has_biases,
        bidirectional,
        batch_first,
        dropout,
        train,
        generator: source(generator),
    };
    let result = call.run(py, kind, options)?;
    let cell = result.cell.map(PyTensor::from);
    Ok((result.output.into(), result.hidden.into(), cell))
}

/// The hidden states of gated recurrent units at every step, and after the last one of each layer and
/// direction: `(output, h_n)`.
///
/// As `rnn`; gates are in torch's order: reset, update, new.
///
/// >>> weights = [al.ones(6, 3), al.zeros(6, 2)]
/// >>> [x.shape for x in al._core._rnn.gru(al.ones(4, 1, 3), None, weights, False)]
/// [(4, 1, 2), (1, 1, 2)]
#[pyfunction]
#[allow(
    clippy::too_many_arguments,
    reason = "the arguments of Python's function"
)]
#[pyo3(signature = (
    input, hx, params, has_biases=true, num_layers=Int(1), dropout=0.0, train=false,
    bidirectional=false, batch_first=false, batch_sizes=None, *, generator=None
))]
fn gru(
    py: Python<'_>,
    input: Operand,
    hx: Option<Operand>,
    params: Any<'_, '_>,
    has_biases: bool,
    num_layers: Int,
    dropout: f64,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
    batch_sizes: Option<Ints>,
    generator: Option<&Bound<'_, PyGenerator>>,
) -> PyResult<(PyTensor, PyTensor)> {
    let kind = Recurrence::Gru;
    let call = Call::new(kind, input, hx, params, batch_sizes)?;
    let options = RecurrentOptions {
        num_layers: size("gru", num_layers.0)?,
        has_biases,
        bidirectional,
        batch_first,
        dropout,
        train,
        generator: source(generator),
    };
    let result = call.run(py, kind, options)?;
    Ok((result.output.into(), result.hidden.into()))
}

/// The hidden state after one step of a recurrent network.
///
/// input is [batch, features], or without the batch, and hx alike or None for zeros.
///
/// >>> al._core._rnn.rnn_cell(al.zeros(1, 3), None, al.ones(2, 3), al.ones(2, 2))
/// tensor([[0., 0.]])
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "torch's arguments")]
#[pyo3(signature = (input, hx, w_ih, w_hh, b_ih=None, b_hh=None, nonlinearity="tanh"))]
fn rnn_cell(
    py: Python<'_>,
    input: Operand,
    hx: Option<Operand>,
    w_ih: Operand,
    w_hh: Operand,
    b_ih: Option<Operand>,
    b_hh: Option<Operand>,
    nonlinearity: &str,
) -> PyResult<PyTensor> {
    let kind = self::nonlinearity("rnn_cell", nonlinearity)?;
    Ok(take_step(py, kind, input, hx, (w_ih, w_hh), (b_ih, b_hh))?.0)
}

/// The hidden state and the cell after one step of a long short-term memory.
///
/// As `rnn_cell`; hx is None or a tuple of hidden state and cell.
///
/// >>> h, c = al._core._rnn.lstm_cell(al.zeros(1, 3), None, al.ones(8, 3), al.ones(8, 2))
/// >>> c
/// tensor([[0., 0.]])
#[pyfunction]
#[pyo3(signature = (input, hx, w_ih, w_hh, b_ih=None, b_hh=None))]
fn lstm_cell(
    py: Python<'_>,
    input: Operand,
    hx: Option<Operand>,
    w_ih: Operand,
    w_hh: Operand,
    b_ih: Option<Operand>,
    b_hh: Option<Operand>,
) -> PyResult<(PyTensor, Option<PyTensor>)> {
    take_step(py, Recurrence::Lstm, input, hx, (w_ih, w_hh), (b_ih, b_hh))
}

/// The hidden state after one step of gated recurrent units.
///
/// As `rnn_cell`.
///
/// >>> al._core._rnn.gru_cell(al.zeros(1, 3), None, al.ones(6, 3), al.ones(6, 2))
/// tensor([[0., 0.]])
#[pyfunction]
#[pyo3(signature = (input, hx, w_ih, w_hh, b_ih=None, b_hh=None))]
fn gru_cell(
    py: Python<'_>,
    input: Operand,
    hx: Option<Operand>,
    w_ih: Operand,
    w_hh: Operand,
    b_ih: Option<Operand>,
    b_hh: Option<Operand>,
) -> PyResult<PyTensor> {
    Ok(take_step(py, Recurrence::Gru, input, hx, (w_ih, w_hh), (b_ih, b_hh))?.0)
}

fn take_step(
    py: Python<'_>,
    kind: Recurrence,
    input: Operand,
    hx: Option<Operand>,
    (w_ih, w_hh): (Any<'_, '_>, Any<'_, '_>),
    (b_ih, b_hh): (Option<Any<'_, '_>>, Option<Any<'_, '_>>),
) -> PyResult<(PyTensor, Option<PyTensor>)> {
    let op = kind.cell_name();
    let input = operand(op, input)?;
    let (hidden, cell) = states(kind, op, hx)?;
    let (w_ih, w_hh) = (operand(op, w_ih)?, operand(op, w_hh)?);
    let optional = |given: Option<Any<'_, '_>>| {
        let given = given.filter(|given| !given.is_none());
        given.map(|given| operand(op, given)).transpose()
    };
    let (b_ih, b_hh) = (optional(b_ih)?, optional(b_hh)?);
    let biases = match (&b_ih, &b_hh) {
        (Some(one), Some(other)) => Some((one, other)),
        (None, None) => None,
        _ => {
            return Err(pyo3::exceptions::PyTypeError::new_err(format!(
                "{op}: one bias of two; both or none are accepted"
            )));
        }
    };
    let initial = hidden.as_ref().map(|hidden| (hidden, cell.as_ref()));
    let result = detach(py, || {
        recurrent_cell(kind, &input, initial, (&w_ih, &w_hh), biases)
    });
    let (hidden, cell) = result.map_err(raise)?;
    Ok((hidden.into(), cell.map(PyTensor::from)))
}
