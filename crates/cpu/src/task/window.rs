//! Tasks of `allotrope_op::task::window`.

use allotrope_dtype::{DType, Error, Level, Problem};
use allotrope_op::Program;
use allotrope_op::task::window::AxisWeights;
use allotrope_op::task::{Axis, Results, Window};

use super::Call;
use crate::Buffer;
use crate::kernel::{self, Grid, Pooled};

pub(super) fn perform(call: &Call<'_>, task: &Window<'_>) -> Result<Option<Results>, Error> {
    match *task {
        Window::MaxPool { axes, has_places } => max_pool(call, axes, has_places),
        Window::MaxUnpool { rank, plane } => max_unpool(call, rank, plane),
        Window::MaxPoolBackward { rank, plane } => max_pool_backward(call, rank, plane),
        Window::AvgPool {
            program,
            axes,
            divisor,
        } => {
            let (mut out, dtype) = (call.room(0)?, call.outputs[0].dtype);
            if !out.is_empty() {
                pool(call, program, |pooled| {
                    kernel::avg_pool(pooled, &Grid { axes }, divisor, dtype, &mut out)
                })?;
            }
            Ok(call.done([out]))
        }
        Window::Nearest { places } => {
            let (mut out, input) = (call.room(0)?, call.input(0)?);
            if !out.is_empty() {
                kernel::nearest(call.dtype(0), input.bytes, input.layout, places, &mut out);
            }
            Ok(call.done([out]))
        }
        Window::Interpolate { weights } => interpolate(call, &weights),
        Window::Fold { axes } => {
            let mut out = call.room(0)?;
            kernel::col2im(call.dtype(0), call.elements(0)?, axes, &mut out)?;
            Ok(call.done([out]))
        }
        _ => Ok(None),
    }
}

fn max_pool(call: &Call<'_>, axes: [Axis; 3], has_places: bool) -> Result<Option<Results>, Error> {
    let (dtype, grid) = (call.dtype(0), Grid { axes });
    let program = converting(dtype, compared(dtype));
    let mut out = call.room(0)?;
    if !has_places {
        if !out.is_empty() {
            pool(call, &program, |pooled| {
                kernel::max_pool(pooled, &grid, dtype, &mut out)
            })?;
        }
        return Ok(call.done([out]));
    }
    let mut places = call.room(1)?;
    if !out.is_empty() {
        pool(call, &program, |pooled| {
            kernel::max_pool_with_places(pooled, &grid, dtype, &mut out, &mut places)
        })?;
    }
    Ok(call.done([out, places]))
}

fn max_unpool(call: &Call<'_>, rank: usize, plane: usize) -> Result<Option<Results>, Error> {
    let dtype = call.dtype(0);
    let bytes = dtype.bytes_for(call.outputs[0].count);
    let bytes = bytes.ok_or_else(|| {
        let bytes = usize::MAX;
        Error::new(call.op, Problem::OutOfMemory { bytes })
    })?;
    let mut out = Buffer::zeroed(call.op, bytes)?;
    let places: &[i64] = bytemuck::cast_slice(call.elements(1)?);
    let sizes = call.input(0)?.layout.shape();
    let outer = sizes.rank() - rank;
    let inside = 0..plane as i64;
    if let Some(index) = places.iter().find(|place| !inside.contains(place)) {
        let problem = Problem::IndexOutOfRange {
            index: *index as isize,
            dim: outer,
            size: plane,
        };
        return Err(Error::new(call.op, problem));
    }
    if !places.is_empty() {
        let from = sizes[outer..].iter().product();
        kernel::max_unpool(dtype, call.elements(0)?, places, from, plane, &mut out);
    }
    Ok(call.done([out]))
}

fn max_pool_backward(call: &Call<'_>, rank: usize, plane: usize) -> Result<Option<Results>, Error> {
    let (dtype, count) = (call.dtype(0), call.outputs[0].count);
    // The others are few and rare: they are added up like any indices.
    if !dtype.is_floating_point() || count == 0 {
        return Ok(None);
    }
    let sizes = call.input(0)?.layout.shape();
    let from = sizes[sizes.rank() - rank..].iter().product();
    let places = bytemuck::cast_slice(call.elements(1)?);
    let mut out = call.room(0)?;
    let program = converting(dtype, dtype.compute());
    pool(call, &program, |numbers| {
        kernel::max_pool_backward(numbers, places, [from, plane], dtype, &mut out)
    })?;
    Ok(call.done([out]))
}

fn interpolate(call: &Call<'_>, weights: &[AxisWeights<'_>; 3]) -> Result<Option<Results>, Error> {
    let (mut out, dtype) = (call.room(0)?, call.dtype(0));
    if out.is_empty() {
        return Ok(call.done([out]));
    }
    let sizes = call.input(0)?.layout.shape();
    let mut axes = [Axis::SINGLE; 3];
    for ((axis, weights), size) in axes.iter_mut().zip(weights).zip(&sizes[2..]) {
        *axis = Axis::sliding(*size, weights.taps, 1, weights.results());
    }
    let program = converting(dtype, dtype.compute());
    pool(call, &program, |grids| {
        kernel::interpolate(grids, &Grid { axes }, weights, dtype, &mut out)
    })?;
    Ok(call.done([out]))
}

/// Calls a kernel with what a program makes of the first input.
fn pool(
    call: &Call<'_>,
    program: &Program,
    work: impl FnOnce(&Pooled<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let input = call.input(0)?;
    work(&Pooled {
        level: Level::current(),
        program,
        inputs: &[input],
    })
}

/// A program that only converts.
fn converting(from: DType, to: DType) -> Program {
    let mut program = Program::new(&[from]);
    let result = program.convert(0, to);
    program.output(result);
    program
}

/// The dtype in which a dtype is compared: integers in few, since each is a set of loops.
fn compared(dtype: DType) -> DType {
    match dtype {
        DType::Bool => DType::I32,
        _ if dtype.fits_in(DType::I32) => DType::I32,
        _ if dtype.fits_in(DType::I64) => DType::I64,
        _ => dtype.compute(),
    }
}
