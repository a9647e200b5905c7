//! Tasks of `allotrope_op::task::sampling`.

use allotrope_dtype::{CastOptions, DType, Error, Level, cast_bytes};
use allotrope_op::task::Results;
use allotrope_op::task::sampling::{MAX_PARAMETERS, Sampling};
use allotrope_op::{Distribution, Stream};
use smallvec::SmallVec;

use super::Call;
use crate::kernel::random::{
    self, Chances, Given, Moments, Numbers, Source, check_bounds, check_weights, draw_pieces,
};
use crate::memory::try_resize;

pub(super) fn perform(call: &Call<'_>, task: Sampling) -> Result<Option<Results>, Error> {
    match task {
        Sampling::Distribution {
            distribution,
            parameters,
            stream,
        } => sample(call, distribution, parameters, stream),
        Sampling::Normal { stream } => normal(call, stream),
        Sampling::Bernoulli { stream } => bernoulli(call, stream),
        Sampling::Dirichlet { stream } => dirichlet(call, stream),
        Sampling::Multinomial {
            samples,
            replacement,
            stream,
        } => multinomial(call, samples, replacement, stream),
        Sampling::Permutation { stream } => {
            let mut numbers = call.room(0)?;
            random::permutation(Level::current(), stream, numbers.elements_mut());
            Ok(call.done([numbers]))
        }
        _ => Ok(None),
    }
}

impl Call<'_> {
    /// An input as float64.
    fn given(&self, index: usize) -> Result<Given<'_>, Error> {
        let input = self.input(index)?;
        let (level, dtype) = (Level::current(), self.dtype(index));
        Ok(Given::new(level, dtype, input.bytes, input.layout))
    }
}

// Room is asked for before parameters are read: no work is done for a result that no memory holds.

fn sample(
    call: &Call<'_>,
    distribution: Distribution,
    parameters: [Option<f64>; MAX_PARAMETERS],
    stream: Stream,
) -> Result<Option<Results>, Error> {
    let (op, dtype, level) = (call.op, call.outputs[0].dtype, Level::current());
    let mut buffer = call.room(0)?;
    let mut sources: SmallVec<[Source<'_>; MAX_PARAMETERS]> = SmallVec::new();
    let mut tensors = 0;
    for (parameter, number) in distribution.parameters().iter().zip(parameters) {
        sources.push(match number {
            Some(number) => Source::All(number),
            None => {
                let given = call.given(tensors)?;
                given.check(op, (parameter.name, parameter.accepted), parameter.holds)?;
                tensors += 1;
                Source::Each(given)
            }
        });
    }
    if let (Distribution::TruncatedNormal, [_, _, low, high]) = (distribution, &sources[..]) {
        check_bounds(op, low, high)?;
    }
    let mut scratch: [Vec<f64>; MAX_PARAMETERS] = Default::default();
    let mut draw = |stream, range: std::ops::Range<usize>, target: &mut [u8]| {
        let numbers: SmallVec<[Numbers<'_>; MAX_PARAMETERS]> = sources
            .iter()
            .zip(&mut scratch)
            .map(|(source, scratch)| source.numbers(op, range.clone(), scratch))
            .collect::<Result<_, Error>>()?;
        random::sample(level, stream, distribution, &numbers, dtype, target);
        Ok(())
    };
    if tensors == 0 {
        draw(stream, 0..call.outputs[0].count, &mut buffer)?;
    } else {
        draw_pieces(dtype, stream, 1, &mut buffer, &mut draw)?;
    }
    Ok(call.done([buffer]))
}

fn normal(call: &Call<'_>, stream: Stream) -> Result<Option<Results>, Error> {
    let (op, dtype, level) = (call.op, call.outputs[0].dtype, Level::current());
    let mut buffer = call.room(0)?;
    let (means, deviations) = (call.given(0)?, call.given(1)?);
    deviations.check(op, ("standard deviation", "0 and above"), |x| x >= 0.0)?;
    let [mut first, mut second] = [Vec::new(), Vec::new()];
    draw_pieces(
        dtype,
        stream,
        1,
        &mut buffer,
        &mut |stream, range, target| {
            let means = means.piece(op, range.clone(), &mut first)?;
            let moments = Moments::Each(means, deviations.piece(op, range, &mut second)?);
            random::normal(level, stream, moments, dtype, target);
            Ok(())
        },
    )?;
    Ok(call.done([buffer]))
}

fn bernoulli(call: &Call<'_>, stream: Stream) -> Result<Option<Results>, Error> {
    let (op, dtype, level) = (call.op, call.outputs[0].dtype, Level::current());
    let mut buffer = call.room(0)?;
    let chances = call.given(0)?;
    chances.check(op, ("probability", "0 to 1"), |p| (0.0..=1.0).contains(&p))?;
    let mut scratch = Vec::new();
    draw_pieces(
        dtype,
        stream,
        1,
        &mut buffer,
        &mut |stream, range, target| {
            let chances = Chances::Each(chances.piece(op, range, &mut scratch)?);
            random::bernoulli(level, stream, chances, dtype, target);
            Ok(())
        },
    )?;
    Ok(call.done([buffer]))
}

fn dirichlet(call: &Call<'_>, stream: Stream) -> Result<Option<Results>, Error> {
    let (op, dtype, level) = (call.op, call.outputs[0].dtype, Level::current());
    let mut buffer = call.room(0)?;
    let shape = call.inputs[0].view.layout.shape();
    let size = shape.last().copied().unwrap_or(1);
    let given = call.given(0)?;
    let is_positive = |x: f64| x > 0.0 && x.is_finite();
    given.check(op, ("concentration", "numbers above 0"), is_positive)?;
    let [mut scratch, mut drawn] = [Vec::new(), Vec::new()];
    draw_pieces(
        dtype,
        stream,
        size,
        &mut buffer,
        &mut |stream, range, target| {
            let count = range.len();
            let shapes = given.piece(op, range, &mut scratch)?;
            if dtype == DType::F64 {
                let target = bytemuck::cast_slice_mut(target);
                random::dirichlet(level, stream, shapes, size, target);
                return Ok(());
            }
            drawn.clear();
            try_resize(op, &mut drawn, count, 0.0)?;
            random::dirichlet(level, stream, shapes, size, &mut drawn);
            let (from, drawn) = (DType::F64, bytemuck::cast_slice(&drawn));
            cast_bytes(from, drawn, dtype, target, CastOptions::default())
        },
    )?;
    Ok(call.done([buffer]))
}

fn multinomial(
    call: &Call<'_>,
    samples: usize,
    replacement: bool,
    stream: Stream,
) -> Result<Option<Results>, Error> {
    let shape = call.inputs[0].view.layout.shape();
    let size = shape.last().copied().unwrap_or(0);
    let weights = call.given(0)?;
    check_weights(call.op, &weights, size, samples, replacement)?;
    let mut indices = call.room(0)?;
    if call.outputs[0].count > 0 {
        let (level, target) = (Level::current(), indices.elements_mut());
        if replacement {
            random::choose(level, stream, &weights, size, target, samples)?;
        } else {
            random::choose_different(level, stream, &weights, size, target, samples)?;
        }
    }
    Ok(call.done([indices]))
}
