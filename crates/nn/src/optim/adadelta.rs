//! Adadelta: steps in the units of the steps before.

use allotrope_tensor::Error;
use smallvec::{SmallVec, smallvec};

use super::algorithm::{Algorithm, Slot, Update, Updated, mean_square, penalised};
use super::options::{ensure, not_negative, options};

options! {
    /// How Adadelta goes.
    AdadeltaOptions {
        /// The learning rate.
        lr: f64 = 1.0,
        /// How much of the means is kept in a step.
        rho: f64 = 0.9,
        /// What is added to the means.
        eps: f64 = 1e-6,
        /// The penalty of weights.
        weight_decay: f64 = 0.0,
        /// Whether a maximum is looked for.
        maximize: bool = false,
    }
}

impl Algorithm for AdadeltaOptions {
    fn name(&self) -> &'static str {
        "Adadelta"
    }

    fn check(&self) -> Result<(), Error> {
        not_negative("Adadelta", "lr", self.lr)?;
        let is_accepted = (0.0..=1.0).contains(&self.rho);
        ensure(
            "Adadelta",
            is_accepted,
            "rho",
            self.rho,
            "numbers from 0 to 1",
        )?;
        not_negative("Adadelta", "eps", self.eps)?;
        not_negative("Adadelta", "weight_decay", self.weight_decay)
    }

    fn slots(&self, _: &[usize]) -> SmallVec<[Slot; 4]> {
        smallvec![Slot::zeros("square_avg"), Slot::zeros("acc_delta")]
    }

    fn update<'b>(&self, at: &Update<'_, 'b>) -> Updated<'b> {
        let gradient = penalised(at, self.maximize, self.weight_decay);
        let square = mean_square(at.state[0], gradient, self.rho);
        let deviation = (square + self.eps).sqrt();
        let step = (at.state[1] + self.eps).sqrt() / deviation * gradient;
        let steps = mean_square(at.state[1], step, self.rho);
        Updated {
            parameter: at.parameter - step * self.lr,
            state: smallvec![square, steps],
        }
    }
}
