//! Tasks of `allotrope_op::task::rowwise`.

use allotrope_dtype::{Conversion, DType, Error, Level, Scratch};
use allotrope_op::Program;
use allotrope_op::task::rowwise::{ChannelNorm, ClassLoss, ClassLossKind, Norm};
use allotrope_op::task::{Results, Rowwise};
use smallvec::SmallVec;

use super::Call;
use crate::Buffer;
use crate::kernel::{
    self, ChannelStatistics, ClassLines, ClassTargets, LineInput, NormGradients, are_lines_short,
    class_indices, entropy_backward, label_counts, multilabel_margin, normalize_channels,
    normalize_channels_backward, normalize_lines, normalize_lines_backward, pick, softmax,
    softmax_backward,
};
use crate::memory::{try_collect, try_vec};

pub(super) fn perform(call: &Call<'_>, task: &Rowwise<'_>) -> Result<Option<Results>, Error> {
    match *task {
        Rowwise::Softmax {
            kind,
            program,
            sizes,
        } => {
            // Longer lines leave the caches: they are better worked on in passes over all of memory.
            if !are_lines_short(sizes[1], sizes[2]) {
                return Ok(None);
            }
            let mut buffer = call.room(0)?;
            let from = lines(call, 0, program, sizes)?;
            softmax(kind, from, call.outputs[0].dtype, &mut buffer)?;
            Ok(call.done([buffer]))
        }
        Rowwise::SoftmaxBackward {
            kind,
            programs,
            sizes,
        } if sizes[2] == 1 && are_lines_short(sizes[1], 1) => {
            let mut buffer = call.room(0)?;
            let from = [
                lines(call, 0, programs[0], sizes)?,
                lines(call, 1, programs[1], sizes)?,
            ];
            // What is decoded and encoded takes no longer in passes over all of memory.
            match softmax_backward(kind, from, call.outputs[0].dtype, &mut buffer)? {
                Some(()) => Ok(call.done([buffer])),
                None => Ok(None),
            }
        }
        Rowwise::Norm(norm) if are_lines_short(norm.length, 1) => normalize(call, norm),
        Rowwise::NormBackward {
            norm,
            gradient,
            terms,
            wanted,
        } if are_lines_short(norm.length, 1) => {
            normalize_backward(call, norm, gradient, terms, wanted)
        }
        Rowwise::ChannelNorm(norm) if call.outputs[0].count > 0 => channels(call, norm),
        Rowwise::ChannelNormBackward {
            norm,
            gradient,
            wanted,
        } => channels_backward(call, norm, gradient, wanted),
        Rowwise::ClassIndices { classes, ignored } => {
            let given = call.ordered(0)?;
            let mut buffer = call.room(0)?;
            let out = buffer.elements_mut();
            let given = bytemuck::cast_slice(&given);
            class_indices(call.op, (classes, ignored), given, out)?;
            Ok(call.done([buffer]))
        }
        Rowwise::ClassLoss(loss) => class_loss(call, loss),
        Rowwise::CrossEntropyBackward {
            program,
            sizes,
            smooth,
        } if sizes[2] == 1 && are_lines_short(sizes[1], 1) => {
            let (logs, classes) = (call.numbers(1)?, call.ordered(2)?);
            let (right, all) = (call.numbers(3)?, call.numbers(4)?);
            let even = match smooth {
                true => Some((call.numbers(5)?, call.numbers(6)?)),
                false => None,
            };
            let targets = ClassTargets {
                logs: &logs,
                classes: bytemuck::cast_slice(&classes),
                right: &right,
                all: &all,
                even: even
                    .as_ref()
                    .map(|(even, weights)| (&even[..], &weights[..])),
            };
            let mut buffer = call.room(0)?;
            let from = lines(call, 0, program, sizes)?;
            entropy_backward(targets, from, call.outputs[0].dtype, &mut buffer)?;
            Ok(call.done([buffer]))
        }
        Rowwise::LabelCounts => {
            let shape = call.inputs[0].view.layout.shape();
            let dim = shape.len() - 1;
            let given = call.ordered(0)?;
            let mut buffer = call.room(0)?;
            let given = bytemuck::cast_slice(&given);
            label_counts(call.op, (dim, shape[dim]), given, buffer.elements_mut())?;
            Ok(call.done([buffer]))
        }
        Rowwise::MultilabelMargin { classes } if are_wide(call, 0) => {
            let (values, counts) = (call.numbers(0)?, call.ordered(1)?);
            let mut buffer = call.room(0)?;
            let counts = bytemuck::cast_slice(&counts);
            multilabel_margin(classes, &values, counts, buffer.elements_mut());
            Ok(call.done([buffer]))
        }
        _ => Ok(None),
    }
}

/// An input as lines.
fn lines<'a>(
    call: &Call<'a>,
    index: usize,
    program: &'a Program,
    sizes: [usize; 3],
) -> Result<LineInput<'a>, Error> {
    let input = call.input(index)?;
    Ok(LineInput {
        program,
        input,
        sizes,
    })
}

/// Whether the outputs from one on are in the dtype that the kernels form sums in.
fn are_wide(call: &Call<'_>, first: usize) -> bool {
    let mut outputs = call.outputs.iter().skip(first);
    outputs.all(|output| output.dtype == DType::F64)
}

/// Inputs from one on, those that there are, in float64.
fn terms<const N: usize>(
    call: &Call<'_>,
    first: usize,
    given: [bool; N],
) -> Result<[Option<Vec<f64>>; N], Error> {
    let mut index = first;
    let mut terms = [const { None }; N];
    for (term, given) in terms.iter_mut().zip(given) {
        if given {
            *term = Some(call.numbers(index)?);
            index += 1;
        }
    }
    Ok(terms)
}

fn normalize(call: &Call<'_>, norm: Norm<'_>) -> Result<Option<Results>, Error> {
    let [weight, bias] = terms(call, 1, norm.affine)?;
    let output = call.outputs[0];
    let sizes = [output.count / norm.length.max(1), norm.length, 1];
    let mut buffer = call.room(0)?;
    let how = kernel::Norm {
        centers: norm.centers,
        eps: norm.eps,
        weight: weight.as_deref(),
        bias: bias.as_deref(),
        period: norm.period,
    };
    let from = lines(call, 0, norm.program, sizes)?;
    normalize_lines(how, from, output.dtype, &mut buffer)?;
    Ok(call.done([buffer]))
}

fn normalize_backward(
    call: &Call<'_>,
    norm: Norm<'_>,
    gradient: &Program,
    count: usize,
    wanted: [bool; 3],
) -> Result<Option<Results>, Error> {
    if !are_wide(call, usize::from(wanted[0])) {
        return Ok(None);
    }
    let [weight] = terms(call, 2, [norm.affine[0]])?;
    let how = kernel::Norm {
        centers: norm.centers,
        eps: norm.eps,
        weight: weight.as_deref(),
        bias: None,
        period: norm.period,
    };
    let all = call.inputs[0].view.layout.shape().count();
    let sizes = [all / norm.length.max(1), norm.length, 1];
    let from = [
        lines(call, 0, norm.program, sizes)?,
        lines(call, 1, gradient, sizes)?,
    ];
    let dtype = from_dtype(call, wanted);
    write_gradients(call, wanted, |wanted| {
        normalize_lines_backward(how, count, from, dtype, wanted)
    })
}

/// The dtype of the gradient of the numbers; it does not matter if that is not wanted.
fn from_dtype(call: &Call<'_>, wanted: [bool; 3]) -> DType {
    match (wanted[0], call.outputs.first()) {
        (true, Some(output)) => output.dtype,
        _ => DType::F64,
    }
}

/// The outputs of gradients that are wanted, filled by a kernel.
fn write_gradients(
    call: &Call<'_>,
    wanted: [bool; 3],
    work: impl FnOnce(NormGradients<'_>) -> Result<(), Error>,
) -> Result<Option<Results>, Error> {
    let mut buffers: SmallVec<[Buffer; 3]> = (0..call.outputs.len())
        .map(|index| call.room(index))
        .collect::<Result<_, Error>>()?;
    let mut rooms = buffers.iter_mut();
    let mut next = |wanted: bool| if wanted { rooms.next() } else { None };
    let numbers = next(wanted[0]).map(|buffer| &mut buffer[..]);
    let mut sums = |wanted: bool| {
        next(wanted).map(|buffer| {
            let sums = buffer.elements_mut::<f64>();
            sums.fill(0.0);
            sums
        })
    };
    let (weight, bias) = (sums(wanted[1]), sums(wanted[2]));
    work(NormGradients {
        numbers,
        weight,
        bias,
    })?;
    Ok(call.done(buffers))
}

fn channels(call: &Call<'_>, norm: ChannelNorm<'_>) -> Result<Option<Results>, Error> {
    if !are_wide(call, 1) {
        return Ok(None);
    }
    let [weight, bias] = terms(call, 1, norm.affine)?;
    let after = 1 + norm.affine.iter().filter(|given| **given).count();
    let given = match norm.given {
        true => Some(statistics(call, after)?),
        false => None,
    };
    let how = kernel::ChannelNorm {
        eps: norm.eps,
        weight: weight.as_deref(),
        bias: bias.as_deref(),
        given: given.as_ref(),
    };
    let (mut buffer, mut mean, mut variance) = (call.room(0)?, call.room(1)?, call.room(2)?);
    let from = lines(call, 0, norm.program, norm.sizes)?;
    let taken = normalize_channels(how, from, call.outputs[0].dtype, &mut buffer)?;
    mean.elements_mut().copy_from_slice(&taken.mean);
    variance.elements_mut().copy_from_slice(&taken.variance);
    Ok(call.done([buffer, mean, variance]))
}

fn statistics(call: &Call<'_>, first: usize) -> Result<ChannelStatistics, Error> {
    Ok(ChannelStatistics {
        mean: call.numbers(first)?,
        variance: call.numbers(first + 1)?,
    })
}

fn channels_backward(
    call: &Call<'_>,
    norm: ChannelNorm<'_>,
    gradient: &Program,
    wanted: [bool; 3],
) -> Result<Option<Results>, Error> {
    if !are_wide(call, usize::from(wanted[0])) {
        return Ok(None);
    }
    let taken = statistics(call, 2)?;
    let [weight] = terms(call, 4, [norm.affine[0]])?;
    let how = kernel::ChannelNorm {
        eps: norm.eps,
        weight: weight.as_deref(),
        bias: None,
        given: norm.given.then_some(&taken),
    };
    let from = [
        lines(call, 0, norm.program, norm.sizes)?,
        lines(call, 1, gradient, norm.sizes)?,
    ];
    let dtype = from_dtype(call, wanted);
    write_gradients(call, wanted, |wanted| {
        normalize_channels_backward(how, &taken, from, dtype, wanted)
    })
}

fn class_loss(call: &Call<'_>, loss: ClassLoss) -> Result<Option<Results>, Error> {
    if !are_wide(call, 0) {
        return Ok(None);
    }
    let (classes, weights) = (call.ordered(1)?, call.numbers(2)?);
    let classes: &[i64] = bytemuck::cast_slice(&classes);
    let (logs, sums) = match loss.kind {
        ClassLossKind::NegativeLogLikelihood => (Vec::new(), Vec::new()),
        ClassLossKind::CrossEntropy { smoothing: 0.0 } => (call.numbers(3)?, Vec::new()),
        ClassLossKind::CrossEntropy { .. } => (call.numbers(3)?, call.numbers(4)?),
    };
    let chosen = chosen(call, loss.common, classes, weights.len())?;
    let lines = ClassLines {
        kind: loss.kind,
        classes,
        chosen: &chosen,
        logs: &logs,
        sums: &sums,
        weights: &weights,
    };
    let (mut losses, mut totals) = (call.room(0)?, call.room(1)?);
    lines.losses(losses.elements_mut(), totals.elements_mut());
    if call.outputs.len() == 2 {
        return Ok(call.done([losses, totals]));
    }
    let mut factors = call.room(2)?;
    lines.factors(factors.elements_mut());
    Ok(call.done([losses, totals, factors]))
}

/// The number at the class of each line, rounded to a dtype; anything where it is ignored.
fn chosen(call: &Call<'_>, common: DType, classes: &[i64], size: usize) -> Result<Vec<f64>, Error> {
    let (op, dtype, input) = (call.op, call.dtype(0), call.input(0)?);
    let count = classes.len();
    let mut numbers = try_vec(op, count, 0.0)?;
    if size == 0 {
        return Ok(numbers);
    }
    let places: Vec<i64> = try_collect(op, classes.iter().map(|class| (*class).max(0)))?;
    let mut found = Buffer::for_elements(op, dtype, count)?;
    pick(dtype, input.bytes, input.layout, 1, &places, &mut found);
    let (level, mut scratch) = (Level::current(), Scratch::default());
    if !dtype.fits_in(common) {
        let mut rounded = Buffer::for_elements(op, common, count)?;
        Conversion::new(dtype, common)?.run(level, &found, &mut rounded, &mut scratch);
        let widen = Conversion::new(common, DType::F64)?;
        widen.run(
            level,
            &rounded,
            bytemuck::cast_slice_mut(&mut numbers),
            &mut scratch,
        );
        return Ok(numbers);
    }
    let widen = Conversion::new(dtype, DType::F64)?;
    widen.run(
        level,
        &found,
        bytemuck::cast_slice_mut(&mut numbers),
        &mut scratch,
    );
    Ok(numbers)
}
