//! Adagrad: steps by the root of the sum of all squares so far.

use allotrope_tensor::Error;
use smallvec::{SmallVec, smallvec};

use super::algorithm::{Algorithm, Slot, Update, Updated, penalised};
use super::options::{not_negative, options};

options! {
    /// How Adagrad goes.
    AdagradOptions {
        /// The learning rate.
        lr: f64 = 1e-2,
        /// How fast the learning rate shrinks.
        lr_decay: f64 = 0.0,
        /// The penalty of weights.
        weight_decay: f64 = 0.0,
        /// What the sums begin with.
        initial_accumulator_value: f64 = 0.0,
        /// What is added to the divisor.
        eps: f64 = 1e-10,
        /// Whether a maximum is looked for.
        maximize: bool = false,
    }
}

impl Algorithm for AdagradOptions {
    fn name(&self) -> &'static str {
        "Adagrad"
    }

    fn check(&self) -> Result<(), Error> {
        not_negative("Adagrad", "lr", self.lr)?;
        not_negative("Adagrad", "lr_decay", self.lr_decay)?;
        not_negative("Adagrad", "weight_decay", self.weight_decay)?;
        let first = self.initial_accumulator_value;
        not_negative("Adagrad", "initial_accumulator_value", first)?;
        not_negative("Adagrad", "eps", self.eps)
    }

    fn slots(&self, _: &[usize]) -> SmallVec<[Slot; 4]> {
        smallvec![Slot::full("sum", self.initial_accumulator_value)]
    }

    fn starts_with_state(&self) -> bool {
        true
    }

    fn update<'b>(&self, at: &Update<'_, 'b>) -> Updated<'b> {
        let gradient = penalised(at, self.maximize, self.weight_decay);
        let sum = at.state[0] + gradient * gradient;
        let size = self.lr / (1.0 + (at.numbers[0] - 1.0) * self.lr_decay);
        Updated {
            parameter: at.parameter - gradient * size / (sum.sqrt() + self.eps),
            state: smallvec![sum],
        }
    }
}
