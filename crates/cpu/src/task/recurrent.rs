//! Tasks of `allotrope_op::task::recurrent`: the bytes of states and gates.

use allotrope_dtype::{DType, Error};
use allotrope_op::task::recurrent::Sequence;
use allotrope_op::task::{Recurrent, Results};

use super::{Call, Ordered};
use crate::Buffer;
use crate::gemm::recurrent::{
    BackwardInputs, BackwardOutputs, ForwardInputs, ForwardOutputs, Layer, backward, forward,
};
use crate::parallel::thread_count;

/// Elements of a weight from which the products of a single row are worth several threads.
const LARGE: usize = 1 << 18;

/// Whether a layer is better taken step by step: threads share rows here, and there the columns of products.
/// Only of floats whose bits are the same both ways.
fn is_one_long_row(call: &Call<'_>, task: &Recurrent<'_>) -> bool {
    let Recurrent::Forward(sequence) = task else {
        return false;
    };
    sequence.sizes.first() == Some(&1)
        && matches!(call.dtype(2), DType::F32 | DType::F64)
        && call.inputs[2].view.layout.shape().count() >= LARGE
        && thread_count() > 1
}

pub(super) fn perform(call: &Call<'_>, task: &Recurrent<'_>) -> Result<Option<Results>, Error> {
    if is_one_long_row(call, task) {
        return Ok(None);
    }
    // bounded: the inputs and outputs of a task.
    let inputs = (0..call.inputs.len()).map(|index| call.ordered(index));
    let inputs: Vec<Ordered<'_>> = inputs.collect::<Result<_, _>>()?;
    let rooms = (0..call.outputs.len()).map(|index| call.room(index));
    let mut rooms: Vec<Buffer> = rooms.collect::<Result<_, _>>()?;
    // What a recurrence does not have is nothing to read.
    let read = |index: Option<usize>| index.and_then(|index| inputs.get(index));
    let read = |index: Option<usize>| read(index).map_or(&[][..], |input| &**input);
    match task {
        Recurrent::Forward(sequence) => {
            let has_cell = sequence.kind.has_cell();
            let bias = (!has_cell && inputs.len() > 3).then(|| read(Some(3)));
            let reads = ForwardInputs {
                products: read(Some(0)),
                hidden: read(Some(1)),
                weight: read(Some(2)),
                cell: read(has_cell.then_some(3)),
                bias,
            };
            let layer = layer(call, *sequence, 2 + usize::from(has_cell));
            let mut rest = rooms.iter_mut();
            let mut next = || rest.next().map_or(&mut [][..], |room| &mut room[..]);
            let outputs = ForwardOutputs {
                states: next(),
                hidden: next(),
                cell: if has_cell { next() } else { &mut [] },
                gates: next(),
                cells: next(),
            };
            forward(layer, &reads, outputs)?;
        }
        Recurrent::Backward(sequence) => {
            let has_cell = sequence.kind.has_cell();
            let reads = BackwardInputs {
                for_states: read(Some(0)),
                for_hidden: read(Some(1)),
                weight: read(Some(2)),
                hidden: read(Some(3)),
                states: read(Some(4)),
                gates: read(Some(5)),
                cell: read(Some(6)),
                cells: read(Some(7)),
                for_cell: read(Some(8)),
            };
            let layer = layer(call, *sequence, 0);
            let mut rest = rooms.iter_mut();
            let mut next = || rest.next().map_or(&mut [][..], |room| &mut room[..]);
            let (products, formers, hidden) = (next(), next(), next());
            let last = next();
            let (through, cell): (&mut [u8], &mut [u8]) = match has_cell {
                true => (&mut [], last),
                false => (last, &mut []),
            };
            let outputs = BackwardOutputs {
                products,
                formers,
                hidden,
                through,
                cell,
            };
            backward(layer, &reads, outputs)?;
        }
        _ => return Ok(None),
    }
    Ok(call.done(rooms))
}

/// A layer whose gates are kept in the dtype of an output, if there is that one.
fn layer<'a>(call: &Call<'_>, sequence: Sequence<'a>, kept: usize) -> Layer<'a> {
    let dtype = call.dtype(2);
    Layer {
        op: call.op,
        sequence,
        dtype,
        kept: call.outputs.get(kept).map_or(dtype, |output| output.dtype),
        hidden: call.inputs[1].view.layout.shape()[1],
    }
}
