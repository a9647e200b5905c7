//! Recurrent networks: all steps of one layer in one direction, and the way back.
//!
//! Rows are those of all steps, step after step as the sequences have them: `sizes` says how many each
//! step has, never more than the one before, and the rows of a step are the first of the batch.

/// All steps of a layer.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Recurrent<'a> {
    /// Reads the products of all inputs with their weight `[rows, gates * hidden]`, the first hidden
    /// states `[batch, hidden]` and the weight of the hidden state `[gates * hidden, hidden]`; then the
    /// first cells `[batch, hidden]`, if there are any, and the bias of the hidden state, if it stands
    /// apart. Writes the hidden states `[rows, hidden]` and the last of them `[batch, hidden]`, then the
    /// last cells, if there are any; where the gates are asked for, what they became
    /// `[rows, saved * hidden]` and the cells `[rows, hidden]`, as far as there are any.
    Forward(Sequence<'a>),
    /// Reads the gradients of the hidden states `[rows, hidden]` and of the last ones `[batch, hidden]`,
    /// the weight and the first hidden states, the hidden states; then what the gates became, if they
    /// were saved; the first cells, the cells and the gradients of the last ones, if there are any.
    /// Writes the gradients of the products, the hidden states that each step began with
    /// `[rows, hidden]`, the gradients of the first hidden states; then those of the products with the
    /// hidden state, where they are others, or those of the first cells.
    Backward(Sequence<'a>),
}

/// The steps of sequences.
#[derive(Clone, Copy, Debug)]
pub struct Sequence<'a> {
    /// Which recurrence.
    pub kind: Recurrence,
    /// How many rows each step has.
    pub sizes: &'a [usize],
    /// Whether the last step is the first to be taken.
    pub is_reverse: bool,
}

/// Which recurrence.
///
/// ```
/// use allotrope_op::task::Recurrence;
/// assert_eq!((Recurrence::Lstm.gates(), Recurrence::Gru.gates()), (4, 3));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recurrence {
    /// `h' = tanh(x + h)`, of products with weights.
    RnnTanh,
    /// `h' = relu(x + h)`.
    RnnRelu,
    /// Long short-term memory.
    Lstm,
    /// Gated recurrent units.
    Gru,
}

impl Recurrence {
    /// The name that messages begin with.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::RnnTanh | Self::RnnRelu => "rnn",
            Self::Lstm => "lstm",
            Self::Gru => "gru",
        }
    }

    /// The name that messages of a single step begin with.
    #[must_use]
    pub fn cell_name(self) -> &'static str {
        match self {
            Self::RnnTanh | Self::RnnRelu => "rnn_cell",
            Self::Lstm => "lstm_cell",
            Self::Gru => "gru_cell",
        }
    }

    /// How many gates there are, of the hidden size each: torch's order is in, forget, cell, out for
    /// [`Lstm`](Self::Lstm), and reset, update, new for [`Gru`](Self::Gru).
    #[must_use]
    pub fn gates(self) -> usize {
        match self {
            Self::RnnTanh | Self::RnnRelu => 1,
            Self::Lstm => 4,
            Self::Gru => 3,
        }
    }

    /// How many numbers per hidden one the way back needs beside the states: the gates after their
    /// functions, and for [`Gru`](Self::Gru) the hidden state's part of the last.
    #[must_use]
    pub fn saved(self) -> usize {
        match self {
            Self::RnnTanh | Self::RnnRelu => 0,
            Self::Lstm | Self::Gru => 4,
        }
    }

    /// Whether there is a cell state beside the hidden one.
    #[must_use]
    pub fn has_cell(self) -> bool {
        self == Self::Lstm
    }

    /// Whether the products of input and hidden state meet in more than a sum.
    #[must_use]
    pub fn keeps_products_apart(self) -> bool {
        self == Self::Gru
    }
}
