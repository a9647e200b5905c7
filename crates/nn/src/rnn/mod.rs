//! Recurrent networks: layers of them in one direction or both, over padded or packed sequences.
//!
//! | file | what is in it |
//! |---|---|
//! | `mod` | [`recurrent`] and [`recurrent_cell`]: shapes, dtypes, layers, directions |
//! | `cell` | one step of a [`Recurrence`] as programs over elements |
//! | `steps` | rows of a sequence by step, and states that rows join and leave |
//! | `scan` | one layer in one direction, and its way back |

mod cell;
mod scan;
mod steps;

use allotrope_dtype::{DType, Error, Problem, Set, promotion};
use allotrope_tensor::{
    Device, Generator, Tensor, autocast_setting, gathered, is_autocast_enabled,
};

pub use allotrope_op::task::Recurrence;
use scan::{Weights, scan};
use steps::Steps;

/// How layers of a recurrence are arranged.
#[derive(Clone, Copy, Debug)]
pub struct RecurrentOptions<'a> {
    /// Layers, each over the results of the one before.
    pub num_layers: usize,
    /// Whether there are biases among the parameters.
    pub has_biases: bool,
    /// Whether sequences are also read from their ends, and the results put side by side.
    pub bidirectional: bool,
    /// Whether the first dimension of padded sequences is the batch, not time.
    pub batch_first: bool,
    /// The share of results that is dropped between layers while training.
    pub dropout: f64,
    /// Whether this is training.
    pub train: bool,
    /// Where the choice of what is dropped comes from.
    pub generator: Option<&'a Generator>,
}

impl Default for RecurrentOptions<'_> {
    fn default() -> Self {
        Self {
            num_layers: 1,
            has_biases: true,
            bidirectional: false,
            batch_first: false,
            dropout: 0.0,
            train: false,
            generator: None,
        }
    }
}

/// What a recurrent network gives.
///
/// ```
/// use allotrope_nn::rnn::Recurrent;
/// use allotrope_nn::{DType, Lstm, Tensor};
/// let Recurrent { output, hidden, cell } = Lstm::new(3, 4)?.forward(&Tensor::ones((5, 2, 3), DType::F32)?, None)?;
/// assert!(output.shape() == [5, 2, 4] && hidden.shape() == [1, 2, 4] && cell.is_some());
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Recurrent {
    /// The hidden states of the last layer at every step.
    pub output: Tensor,
    /// The hidden states of every layer and direction after the last step.
    pub hidden: Tensor,
    /// The same of the cells, where there are any.
    pub cell: Option<Tensor>,
}

/// The states of a recurrent network over sequences: `[time, batch, features]`, without the batch for a
/// single one, or `[rows, features]` with the `batch_sizes` of packed ones.
///
/// `initial` holds hidden states `[layers * directions, batch, hidden]`, and cells for
/// [`Recurrence::Lstm`]; zeros if none are given. `parameters` are those of layer after layer, in each
/// first the direction of time: the weights of input and hidden state, their biases if there are any, and
/// the weight of a projection if the hidden state is smaller than the cell. Operands are promoted to
/// their common dtype, which is that of the results; under autocast it is the lower one.
///
/// ```
/// use allotrope_nn::rnn::{Recurrence, RecurrentOptions, recurrent};
/// use allotrope_nn::{DType, Tensor};
/// let weights = [[8, 3], [8, 2]].map(|sizes| Tensor::ones(&sizes, DType::F32));
/// let [input, hidden] = weights;
/// let options = RecurrentOptions { has_biases: false, ..RecurrentOptions::default() };
/// let x = Tensor::ones(&[5, 1, 3], DType::F32)?;
/// let result = recurrent(Recurrence::Lstm, &x, None, None, &[input?, hidden?], options)?;
/// assert_eq!(result.output.shape().to_vec(), [5, 1, 2]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
///
/// # Errors
/// A value error for shapes or a number of parameters that do not fit, a dtype error for anything but
/// floats or where promotion refuses, a memory error.
pub fn recurrent(
    kind: Recurrence,
    input: &Tensor,
    batch_sizes: Option<&[usize]>,
    initial: Option<(&Tensor, Option<&Tensor>)>,
    parameters: &[Tensor],
    options: RecurrentOptions<'_>,
) -> Result<Recurrent, Error> {
    let op = kind.name();
    let (hidden, cell) = initial.unzip();
    let given = (input, hidden, cell.flatten(), parameters);
    if let Some((input, hidden, cell, parameters)) = gathered(given)? {
        let initial = hidden.as_ref().map(|hidden| (hidden, cell.as_ref()));
        return recurrent(kind, &input, batch_sizes, initial, &parameters, options);
    }
    let operands = [Some(input), hidden, cell.flatten()];
    let dtype = common_dtype(op, operands.into_iter().flatten().chain(parameters))?;
    let is_single = batch_sizes.is_none() && input.rank() == 2;
    if !is_single && input.rank() != if batch_sizes.is_some() { 2 } else { 3 } {
        let accepted = match batch_sizes {
            Some(_) => "2 are",
            None => "2 and 3 are",
        };
        return Err(wrong_rank(op, "the input", input, accepted));
    }
    // Time, then the batch, then features.
    let timed = match (is_single, options.batch_first) {
        (true, _) => input.unsqueeze(1)?,
        (false, true) if batch_sizes.is_none() => input.transpose(0, 1)?,
        (false, _) => input.clone(),
    };
    let features = timed.shape().last().copied().unwrap_or(0);
    let (rows, sizes) = match batch_sizes {
        Some(sizes) => (timed.shape()[0], sizes.to_vec()),
        None => padded_steps(op, timed.shape()[0], timed.shape()[1])?,
    };
    Steps::check(op, &sizes, rows)?;
    let data = timed
        .to(dtype)?
        .reshape(&[rows as isize, features as isize])?;
    let weights = read_parameters(kind, parameters, dtype, features, &options)?;
    let states = States::new(
        kind,
        &sizes,
        (hidden, cell.flatten()),
        is_single,
        (dtype, timed.device()),
        &weights,
    )?;
    let (data, hidden, cell) = layers(kind, data, &sizes, &states, &weights, &options)?;
    let output = match batch_sizes {
        Some(_) => data,
        None => {
            let sizes = [timed.shape()[0], timed.shape()[1], data.shape()[1]];
            let output = data.reshape(&sizes.map(|size| size as isize))?;
            match (is_single, options.batch_first) {
                (true, _) => output.squeeze(Some(&[1]))?,
                (false, true) => output.transpose(0, 1)?,
                (false, false) => output,
            }
        }
    };
    let unbatched = |state: Tensor| match is_single {
        true => state.squeeze(Some(&[1])),
        false => Ok(state),
    };
    Ok(Recurrent {
        output,
        hidden: unbatched(hidden)?,
        cell: cell.map(unbatched).transpose()?,
    })
}

/// The rows of padded sequences, and how many belong to each step. A batch of none is one step of none,
/// however long.
fn padded_steps(op: &'static str, time: usize, batch: usize) -> Result<(usize, Vec<usize>), Error> {
    let rows = time.checked_mul(batch);
    let rows = rows.ok_or_else(|| {
        let shape = vec![time, batch];
        Error::new(op, Problem::TooManyElements { shape })
    })?;
    let steps = if batch == 0 { time.min(1) } else { time };
    // Sequences without features may be longer than there is memory for their states.
    if steps > 1 << 20 {
        drop(Tensor::empty(&[rows], DType::F64)?);
    }
    let mut sizes = Vec::new();
    let reserved = sizes.try_reserve_exact(steps);
    reserved.map_err(|_| {
        let bytes = steps.saturating_mul(size_of::<usize>());
        Error::new(op, Problem::OutOfMemory { bytes })
    })?;
    sizes.resize(steps, batch);
    Ok((rows, sizes))
}

/// The rows of the last layer, and the last states of all of them.
fn layers(
    kind: Recurrence,
    mut data: Tensor,
    sizes: &[usize],
    states: &States,
    weights: &[Weights],
    options: &RecurrentOptions<'_>,
) -> Result<(Tensor, Tensor, Option<Tensor>), Error> {
    let directions = directions(options);
    let (mut hidden, mut cells) = (Vec::new(), Vec::new());
    for layer in 0..options.num_layers {
        let mut outputs = Vec::new();
        for direction in 0..directions {
            let place = layer * directions + direction;
            let Some(own) = weights.get(place) else {
                continue;
            };
            let steps = Steps::new(sizes, direction == 1);
            let first = states.hidden.select(0, place as isize)?;
            let cell = match &states.cell {
                Some(cell) => Some(cell.select(0, place as isize)?),
                None => None,
            };
            let scanned = scan(kind, &data, &steps, &first, cell.as_ref(), own)?;
            outputs.push(scanned.output);
            hidden.push(scanned.hidden);
            cells.extend(scanned.cell);
        }
        data = match &outputs[..] {
            [one] => one.clone(),
            several => Tensor::cat(&several.iter().collect::<Vec<_>>(), -1)?,
        };
        if options.train && options.dropout > 0.0 && layer + 1 < options.num_layers {
            data = data.dropout(options.dropout, options.generator)?;
        }
    }
    let stack = |states: &[Tensor]| Tensor::stack(&states.iter().collect::<Vec<_>>(), 0);
    let cell = (!cells.is_empty()).then(|| stack(&cells)).transpose()?;
    Ok((data, stack(&hidden)?, cell))
}

fn directions(options: &RecurrentOptions<'_>) -> usize {
    1 + usize::from(options.bidirectional)
}

/// The first states of every layer and direction.
struct States {
    hidden: Tensor,
    cell: Option<Tensor>,
}

impl States {
    fn new(
        kind: Recurrence,
        sizes: &[usize],
        given: (Option<&Tensor>, Option<&Tensor>),
        is_single: bool,
        (dtype, device): (DType, Device),
        weights: &[Weights],
    ) -> Result<Self, Error> {
        let op = kind.name();
        let batch = sizes.first().copied().unwrap_or(0);
        let places = weights.len();
        // The projection, or the hidden state itself, and what is before it.
        let (out, size) = weights.first().map_or((0, 0), |first| {
            (
                first.hidden.shape()[1],
                first.hidden.shape()[0] / kind.gates(),
            )
        });
        let read = |what: &'static str, given: Option<&Tensor>, size: usize| {
            let Some(given) = given else {
                return Tensor::zeros(&[places, batch, size], (dtype, device));
            };
            let state = match is_single && given.rank() == 2 {
                true => given.unsqueeze(1)?,
                false => given.clone(),
            };
            if state.shape().to_vec() != [places, batch, size] {
                let accepted = match is_single {
                    true => vec![places, size],
                    false => vec![places, batch, size],
                };
                return Err(wrong_shape(op, what, given, &accepted));
            }
            state.to(dtype)
        };
        let cell = match kind.has_cell() {
            true => Some(read("the initial cell", given.1, size)?),
            false => None,
        };
        let hidden = read("the initial hidden state", given.0, out)?;
        Ok(Self { hidden, cell })
    }
}

/// The parameters of each layer and direction, in one dtype, if their shapes fit.
fn read_parameters(
    kind: Recurrence,
    parameters: &[Tensor],
    dtype: DType,
    features: usize,
    options: &RecurrentOptions<'_>,
) -> Result<Vec<Weights>, Error> {
    let op = kind.name();
    if !(0.0..=1.0).contains(&options.dropout) {
        let problem = Problem::OutOfRange {
            what: "dropout",
            index: None,
            value: format!("{:?}", options.dropout),
            accepted: "0 to 1",
        };
        return Err(Error::new(op, problem));
    }
    let places = options.num_layers.saturating_mul(directions(options));
    let each = if options.has_biases { 4 } else { 2 };
    let is_projected = kind.has_cell() && parameters.len() == places.saturating_mul(each + 1);
    let each = each + usize::from(is_projected);
    if places == 0 || parameters.len() != places.saturating_mul(each) {
        let problem = Problem::OutOfRange {
            what: "number of parameters",
            index: None,
            value: parameters.len().to_string(),
            accepted: match (options.has_biases, kind.has_cell()) {
                (true, true) => "4 per layer and direction, 5 with a projection,",
                (false, true) => "2 per layer and direction, 3 with a projection,",
                (true, false) => "4 per layer and direction",
                (false, false) => "2 per layer and direction",
            },
        };
        return Err(Error::new(op, problem));
    }
    let mut inputs = features;
    let mut weights = Vec::with_capacity(places);
    for (place, own) in parameters.chunks(each).enumerate() {
        let [input, hidden, rest @ ..] = own else {
            continue;
        };
        let rows = input.shape().first().copied().unwrap_or(0);
        let size = rows / kind.gates();
        let projection = rest.last().filter(|_| is_projected);
        let out = match projection {
            Some(projection) => projection.shape().first().copied().unwrap_or(0),
            None => size,
        };
        check(
            "the weight of the input",
            op,
            input,
            &[size * kind.gates(), inputs],
        )?;
        check("the weight of the hidden state", op, hidden, &[rows, out])?;
        if let Some(projection) = projection {
            check("the weight of the projection", op, projection, &[out, size])?;
        }
        let biases = match rest {
            [one, other, ..] if options.has_biases => {
                check("the bias of the input", op, one, &[rows])?;
                check("the bias of the hidden state", op, other, &[rows])?;
                Some((one.to(dtype)?, other.to(dtype)?))
            }
            _ => None,
        };
        weights.push(Weights {
            input: input.to(dtype)?,
            hidden: hidden.to(dtype)?,
            biases,
            projection: projection.map(|x| x.to(dtype)).transpose()?,
        });
        if (place + 1) % directions(options) == 0 {
            inputs = out * directions(options);
        }
    }
    Ok(weights)
}

/// The states after one step: the hidden one, and the cell's for [`Recurrence::Lstm`].
///
/// `input` is `[batch, features]`, or without the batch; states alike. Biases are those of input and
/// hidden state.
///
/// # Errors
/// As [`recurrent`].
pub fn recurrent_cell(
    kind: Recurrence,
    input: &Tensor,
    initial: Option<(&Tensor, Option<&Tensor>)>,
    weights: (&Tensor, &Tensor),
    biases: Option<(&Tensor, &Tensor)>,
) -> Result<(Tensor, Option<Tensor>), Error> {
    let op = kind.cell_name();
    if !matches!(input.rank(), 1 | 2) {
        return Err(wrong_rank(op, "the input", input, "1 and 2 are"));
    }
    // A sequence of one step.
    let input = input.unsqueeze(0)?;
    let grown = |state: &Tensor| state.unsqueeze(0);
    let (hidden, cell) = initial.unzip();
    let hidden = hidden.map(grown).transpose()?;
    let cell = cell.flatten().map(grown).transpose()?;
    let mut parameters = vec![weights.0.clone(), weights.1.clone()];
    parameters.extend(biases.into_iter().flat_map(|(a, b)| [a.clone(), b.clone()]));
    let options = RecurrentOptions {
        has_biases: biases.is_some(),
        ..RecurrentOptions::default()
    };
    let initial = hidden.as_ref().map(|hidden| (hidden, cell.as_ref()));
    let result = recurrent(kind, &input, None, initial, &parameters, options);
    let result = result.map_err(|error| error.in_op(op))?;
    let state = |state: Tensor| state.squeeze(Some(&[0]));
    Ok((state(result.hidden)?, result.cell.map(state).transpose()?))
}

/// The dtype that all are converted to.
fn common_dtype<'a>(
    op: &'static str,
    tensors: impl Iterator<Item = &'a Tensor>,
) -> Result<DType, Error> {
    let mut common = None;
    for tensor in tensors {
        let dtype = tensor.dtype();
        common = Some(match common {
            None => dtype,
            Some(common) => promotion().promote_types(op, common, dtype)?,
        });
    }
    let dtype = common.unwrap_or(DType::Bool);
    if !Set::Float.contains(dtype) {
        return Err(Error::not_in_set(op, dtype, Set::Float, None));
    }
    // All of it in the lower precision, as torch's autocast has it.
    if is_autocast_enabled() && dtype != DType::F64 {
        return Ok(autocast_setting().dtype);
    }
    Ok(dtype)
}

fn check(
    what: &'static str,
    op: &'static str,
    given: &Tensor,
    accepted: &[usize],
) -> Result<(), Error> {
    match given.shape().to_vec() == accepted {
        true => Ok(()),
        false => Err(wrong_shape(op, what, given, accepted)),
    }
}

#[cold]
fn wrong_shape(op: &'static str, what: &'static str, given: &Tensor, accepted: &[usize]) -> Error {
    let problem = Problem::WrongShape {
        what,
        given: given.shape().to_vec(),
        accepted: format!("{accepted:?}"),
    };
    Error::new(op, problem)
}

#[cold]
fn wrong_rank(
    op: &'static str,
    what: &'static str,
    given: &Tensor,
    accepted: &'static str,
) -> Error {
    let problem = Problem::WrongRank {
        what,
        shape: given.shape().to_vec(),
        accepted,
    };
    Error::new(op, problem)
}
