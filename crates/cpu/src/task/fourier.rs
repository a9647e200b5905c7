//! Tasks of `allotrope_op::task::fourier`.

use allotrope_dtype::Error;
use allotrope_op::task::fourier::{Direction, Transform};
use allotrope_op::task::{Fourier, Results};

use super::Call;
use crate::Buffer;
use crate::kernel::fourier::{Lines, transform, transform_real, transform_to_real};

pub(super) fn perform(call: &Call<'_>, task: &Fourier) -> Result<Option<Results>, Error> {
    let run = |out: &mut Buffer| match *task {
        Fourier::Complex(of) => run_complex(call, of, out).map(Some),
        Fourier::FromReal {
            transform,
            is_onesided,
        } => run_from_real(call, transform, is_onesided, out).map(Some),
        Fourier::ToReal(of) => run_to_real(call, of, out).map(Some),
        _ => Ok(None),
    };
    let mut out = call.room(0)?;
    let done = run(&mut out).map_err(|error| error.in_op(call.op))?;
    Ok(done.and_then(|()| call.done([out])))
}

fn run_complex(call: &Call<'_>, of: Transform, out: &mut Buffer) -> Result<(), Error> {
    let Transform {
        direction,
        length,
        scale,
    } = of;
    let lines = Lines::new(call.op, call.dtype(0), call.input(0)?, length);
    lines.write(out)?;
    if out.is_empty() {
        return Ok(());
    }
    transform(call.dtype(0), out, length, direction, scale)
}

fn run_from_real(
    call: &Call<'_>,
    of: Transform,
    is_onesided: bool,
    out: &mut Buffer,
) -> Result<(), Error> {
    let lines = Lines::new(call.op, call.dtype(0), call.input(0)?, of.length);
    if out.is_empty() {
        return Ok(());
    }
    let conjugate = of.direction == Direction::Inverse;
    lines.with(|lines| {
        transform_real(
            call.dtype(0),
            lines,
            out,
            of.length,
            !is_onesided,
            conjugate,
            of.scale,
        )
    })
}

fn run_to_real(call: &Call<'_>, of: Transform, out: &mut Buffer) -> Result<(), Error> {
    let width = of.length / 2 + 1;
    let lines = Lines::new(call.op, call.dtype(0), call.input(0)?, width);
    if out.is_empty() {
        return Ok(());
    }
    let (dtype, conjugate) = (call.outputs[0].dtype, of.direction == Direction::Forward);
    lines.with(|lines| transform_to_real(dtype, lines, out, of.length, conjugate, of.scale))
}
