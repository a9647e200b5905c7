//! One step of a recurrence as programs over elements: forward, and back.
//!
//! Narrow floats are computed in float32 and rounded once per result, whatever the formula.

use allotrope_dtype::DType;
use allotrope_op::task::Recurrence;
use allotrope_op::{Builder, Program, Var};

/// What a step is computed with.
pub(super) struct Programs {
    /// Gates and states to new states: the hidden one, and the cell's if there is one.
    pub(super) forward: Program,
    /// The same, and what the way back needs.
    pub(super) forward_saving: Program,
    /// What was saved and gradients to those of gates and former states.
    pub(super) backward: Program,
    /// A gradient of a result and one of a later step, added.
    pub(super) add: Program,
    /// What gradients between steps have.
    pub(super) wide: DType,
}

impl Programs {
    pub(super) fn new(kind: Recurrence, dtype: DType) -> Self {
        let wide = dtype.compute();
        let kept = kept_dtype(dtype);
        let dtypes = Dtypes { dtype, wide, kept };
        let add = Builder::new(&[dtype, wide]);
        let sum = add.input(0).to(wide) + add.input(1);
        Self {
            forward: dtypes.forward(kind, false),
            forward_saving: dtypes.forward(kind, true),
            backward: dtypes.backward(kind),
            add: add.finish(&[sum]),
            wide,
        }
    }
}

/// What is kept for the way back, and what gradients of gates have: 8-bit floats hold too little of a
/// gradient, or of what one is made of.
pub(super) fn kept_dtype(dtype: DType) -> DType {
    match dtype.itemsize() {
        1 => dtype.compute(),
        _ => dtype,
    }
}

struct Dtypes {
    dtype: DType,
    wide: DType,
    kept: DType,
}

impl Dtypes {
    /// Inputs: the gates before their functions (those of the input first, then those of the hidden
    /// state where they are apart), then the state that is carried on. Outputs: the new hidden state, the
    /// new cell; then what is saved.
    fn forward(&self, kind: Recurrence, is_saving: bool) -> Program {
        let inputs = match kind {
            Recurrence::RnnTanh | Recurrence::RnnRelu => 1,
            Recurrence::Lstm => 5,
            Recurrence::Gru => 7,
        };
        let builder = Builder::new(&vec![self.dtype; inputs]);
        let read = |i: usize| builder.input(i).to(self.wide);
        let (results, saved): (Vec<Var<'_>>, Vec<Var<'_>>) = match kind {
            Recurrence::RnnTanh => (vec![read(0).tanh()], vec![]),
            Recurrence::RnnRelu => (vec![read(0).relu()], vec![]),
            Recurrence::Lstm => {
                let (i, f) = (read(0).sigmoid(), read(1).sigmoid());
                let (g, o) = (read(2).tanh(), read(3).sigmoid());
                let cell = f * read(4) + i * g;
                (vec![o * cell.tanh(), cell], vec![i, f, g, o])
            }
            Recurrence::Gru => {
                let reset = (read(0) + read(3)).sigmoid();
                let update = (read(1) + read(4)).sigmoid();
                let new = (read(2) + reset * read(5)).tanh();
                let hidden = (read(6) - new) * update + new;
                (vec![hidden], vec![reset, update, new, read(5)])
            }
        };
        let mut outputs: Vec<Var<'_>> = results.iter().map(|x| x.to(self.dtype)).collect();
        if is_saving {
            outputs.extend(saved.iter().map(|x| x.to(self.kept)));
        }
        builder.finish(&outputs)
    }

    /// Inputs: what was saved; the states that go with it; the gradient of the new hidden state, and of
    /// the new cell. Outputs: gradients of the gates (of the hidden state's, too, where they are apart),
    /// then that of the state that was carried on.
    fn backward(&self, kind: Recurrence) -> Program {
        let (kept, dtype, wide) = (self.kept, self.dtype, self.wide);
        let inputs = match kind {
            // The new hidden state; its gradient.
            Recurrence::RnnTanh | Recurrence::RnnRelu => vec![dtype, wide],
            // i f g o; the former cell and the new one; gradients of hidden and cell.
            Recurrence::Lstm => vec![kept, kept, kept, kept, dtype, dtype, wide, wide],
            // r z n and the hidden state's part of n; the former hidden state; the gradient.
            Recurrence::Gru => vec![kept, kept, kept, kept, dtype, wide],
        };
        let builder = Builder::new(&inputs);
        let read = |i: usize| builder.input(i).to(wide);
        let outputs = match kind {
            Recurrence::RnnTanh => {
                let (h, g) = (read(0), read(1));
                vec![(g * (1.0 - h * h)).to(kept)]
            }
            Recurrence::RnnRelu => {
                let (h, g) = (read(0), read(1));
                vec![h.gt(h.zero()).pick(g, g.zero()).to(kept)]
            }
            Recurrence::Lstm => {
                let (i, f, g, o) = (read(0), read(1), read(2), read(3));
                let (former, cell) = (read(4), read(5).tanh());
                let for_out = read(6) * cell * o * (1.0 - o);
                let for_cell = read(7) + read(6) * o * (1.0 - cell * cell);
                let gates = [
                    for_cell * g * i * (1.0 - i),
                    for_cell * former * f * (1.0 - f),
                    for_cell * i * (1.0 - g * g),
                    for_out,
                ];
                let mut outputs = gates.map(|x| x.to(kept)).to_vec();
                outputs.push(for_cell * f);
                outputs
            }
            Recurrence::Gru => {
                let (reset, update, new, part) = (read(0), read(1), read(2), read(3));
                let (former, gradient) = (read(4), read(5));
                let for_new = gradient * (1.0 - update) * (1.0 - new * new);
                let for_update = gradient * (former - new) * update * (1.0 - update);
                let for_reset = for_new * part * reset * (1.0 - reset);
                let gates = [for_reset, for_update, for_new, for_new * reset];
                let mut outputs = gates.map(|x| x.to(kept)).to_vec();
                outputs.push(gradient * update);
                outputs
            }
        };
        builder.finish(&outputs)
    }
}
