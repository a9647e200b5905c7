//! Tasks of `allotrope_op::task::rowwise`.

use allotrope_dtype::Error;
use allotrope_op::task::{Results, Rowwise};

use super::Call;
use crate::kernel::{LineInput, are_lines_short, softmax};

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
            let from = LineInput {
                program,
                input: call.input(0)?,
                sizes,
            };
            let mut buffer = call.room(0)?;
            softmax(kind, from, call.outputs[0].dtype, &mut buffer)?;
            Ok(call.done([buffer]))
        }
        _ => Ok(None),
    }
}
