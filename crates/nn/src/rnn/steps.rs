//! Rows of a sequence by step: how many sequences are still going, and what becomes of their states.

use allotrope_dtype::{Error, Problem};
use allotrope_op::task::Recurrence;
use allotrope_op::task::recurrent::Sequence;
use allotrope_tensor::{Tensor, record_function};

/// The steps of sequences that lie behind each other, longest first: step by step, so many rows each.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    /// In the order of the rows.
    sizes: Vec<usize>,
    /// Whether the last step is the first to be taken.
    is_reverse: bool,
}

impl Steps {
    pub(super) fn new(sizes: &[usize], is_reverse: bool) -> Self {
        let sizes = sizes.to_vec();
        Self { sizes, is_reverse }
    }

    /// The same for a device.
    pub(super) fn sequence(&self, kind: Recurrence) -> Sequence<'_> {
        Sequence {
            kind,
            sizes: &self.sizes,
            is_reverse: self.is_reverse,
        }
    }

    /// Numbers of rows that never grow, and are those of the data.
    pub(super) fn check(op: &'static str, sizes: &[usize], rows: usize) -> Result<(), Error> {
        let refuse = |index: Option<usize>, value: String, accepted| {
            let problem = Problem::OutOfRange {
                what: "batch size",
                index,
                value,
                accepted,
            };
            Err(Error::new(op, problem))
        };
        if sizes.is_empty() {
            return refuse(None, "none".to_owned(), "those of one step and more");
        }
        for (index, pair) in sizes.windows(2).enumerate() {
            if pair[1] > pair[0] {
                let accepted = "sizes that are not above those before them";
                return refuse(Some(index + 1), pair[1].to_string(), accepted);
            }
        }
        let total = sizes
            .iter()
            .try_fold(0_usize, |sum, size| sum.checked_add(*size));
        if total != Some(rows) {
            return Err(Error::new(
                op,
                Problem::SplitMismatch {
                    sizes: sizes.to_vec(),
                    dim: 0,
                    size: rows,
                },
            ));
        }
        Ok(())
    }

    /// The sizes in the order in which steps are taken.
    pub(super) fn taken(&self) -> Vec<usize> {
        self.in_turn(self.sizes.clone())
    }

    /// What belongs to steps in the order of rows in the order in which they are taken, or back.
    fn in_turn<T>(&self, mut items: Vec<T>) -> Vec<T> {
        if self.is_reverse {
            items.reverse();
        }
        items
    }

    /// The rows of each step, in the order in which they are taken. On the way back they are put
    /// together once.
    pub(super) fn cut(&self, data: &Tensor) -> Result<Vec<Tensor>, Error> {
        let plain = data.detach().split_sizes(&self.sizes, 0)?;
        let shapes: Vec<(Vec<usize>, _)> = plain
            .iter()
            .map(|part| (part.shape().to_vec(), part.dtype()))
            .collect();
        let device = data.device();
        let parts = record_function("split", &[data], plain, move |gradients, _| {
            let parts = gradients.iter().zip(&shapes).map(|(part, (shape, dtype))| {
                part.clone()
                    .map_or_else(|| Tensor::zeros(shape, (*dtype, device)), Ok)
            });
            let parts = parts.collect::<Result<Vec<_>, Error>>()?;
            let parts: Vec<&Tensor> = parts.iter().collect();
            Ok(vec![Some(Tensor::cat(&parts, 0)?)])
        })?;
        Ok(self.in_turn(parts))
    }

    /// Rows that were made step by step, one behind the other as the data are.
    pub(super) fn join(&self, parts: Vec<Tensor>) -> Result<Tensor, Error> {
        let parts = self.in_turn(parts);
        Tensor::cat(&parts.iter().collect::<Vec<_>>(), 0)
    }
}

/// A state that rows leave when their sequences end, and join when they begin.
pub(super) struct Carried {
    now: Tensor,
    /// What rows begin with.
    first: Tensor,
    /// What rows ended with, the later ones of the batch first.
    ended: Vec<Tensor>,
}

impl Carried {
    pub(super) fn new(first: &Tensor) -> Result<Self, Error> {
        let now = first.narrow(0, 0, 0)?;
        let (first, ended) = (first.clone(), Vec::new());
        Ok(Self { now, first, ended })
    }

    /// The state of the rows that take a step.
    pub(super) fn rows(&mut self, size: usize) -> Result<Tensor, Error> {
        let had = self.now.shape()[0];
        if size < had {
            self.ended
                .push(self.now.narrow(0, size as isize, had - size)?);
            self.now = self.now.narrow(0, 0, size)?;
        } else if had == 0 {
            self.now = take(&self.first, 0, size)?;
        } else if size > had {
            let joining = self.first.narrow(0, had as isize, size - had)?;
            self.now = Tensor::cat(&[&self.now, &joining], 0)?;
        }
        Ok(self.now.clone())
    }

    /// The state after a step.
    pub(super) fn set(&mut self, now: Tensor) {
        self.now = now;
    }

    /// What all rows ended with.
    pub(super) fn last(self) -> Result<Tensor, Error> {
        if self.ended.is_empty() {
            return Ok(self.now);
        }
        let ended = self.ended.iter().rev();
        Tensor::cat(&[&self.now].into_iter().chain(ended).collect::<Vec<_>>(), 0)
    }
}

/// Rows of a tensor; itself if those are all.
fn take(x: &Tensor, start: usize, length: usize) -> Result<Tensor, Error> {
    if start == 0 && length == x.shape()[0] {
        return Ok(x.clone());
    }
    x.narrow(0, start as isize, length)
}
