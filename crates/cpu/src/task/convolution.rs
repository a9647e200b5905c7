//! Tasks of `allotrope_op::task::convolution`.

use allotrope_dtype::Error;
use allotrope_op::task::{Convolution, Results};

use super::Call;
use crate::kernel::{FilterGradients, Layer, Operand, Transposed};

pub(super) fn perform(call: &Call<'_>, task: &Convolution) -> Result<Option<Results>, Error> {
    let (op, dtype) = (call.op, call.outputs[0].dtype);
    let operand = |index: usize| operand(call, index);
    let bias = |has_bias: bool| has_bias.then(|| operand(2)).transpose();
    let mut out = call.room(0)?;
    match *task {
        Convolution::Forward {
            axes,
            groups,
            edge,
            has_bias,
        } => {
            let weight = operand(1)?;
            let layer = Layer {
                op,
                dtype,
                weight,
                bias: bias(has_bias)?,
                filters: weight.layout.shape()[0],
                groups,
                axes,
                edge,
            };
            layer.run(operand(0)?, &mut out)?;
        }
        Convolution::Transposed {
            axes,
            groups,
            has_bias,
        } => {
            let transposed = Transposed {
                op,
                dtype,
                image: operand(0)?,
                weight: operand(1)?,
                bias: bias(has_bias)?,
                groups,
                axes,
            };
            transposed.run(&mut out)?;
        }
        Convolution::Filters { axes, groups } => {
            let filters = FilterGradients {
                op,
                dtype,
                image: operand(0)?,
                windows: operand(1)?,
                groups,
                axes,
            };
            if !filters.run(&mut out)? {
                return Ok(None);
            }
        }
        _ => return Ok(None),
    }
    Ok(call.done([out]))
}

/// An input with its dtype.
fn operand<'a>(call: &Call<'a>, index: usize) -> Result<Operand<'a>, Error> {
    let input = call.input(index)?;
    Ok(Operand {
        dtype: call.dtype(index),
        bytes: input.bytes,
        layout: input.layout,
    })
}
