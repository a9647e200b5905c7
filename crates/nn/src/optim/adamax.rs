//! Adamax: Adam with the largest gradient of late in the place of the mean of squares.

use allotrope_tensor::Error;
use smallvec::{SmallVec, smallvec};

use super::algorithm::{Algorithm, Slot, Update, Updated, lerp, penalised};
use super::options::{below_one, not_negative, options};

options! {
    /// How Adamax goes.
    AdamaxOptions {
        /// The learning rate.
        lr: f64 = 2e-3,
        /// How much of the mean and of the largest is kept in a step.
        betas: (f64, f64) = (0.9, 0.999),
        /// What is added to the size of a gradient.
        eps: f64 = 1e-8,
        /// The penalty of weights.
        weight_decay: f64 = 0.0,
        /// Whether a maximum is looked for.
        maximize: bool = false,
    }
}

impl Algorithm for AdamaxOptions {
    fn name(&self) -> &'static str {
        "Adamax"
    }

    fn check(&self) -> Result<(), Error> {
        not_negative("Adamax", "lr", self.lr)?;
        not_negative("Adamax", "eps", self.eps)?;
        below_one("Adamax", "betas[0]", self.betas.0)?;
        below_one("Adamax", "betas[1]", self.betas.1)?;
        not_negative("Adamax", "weight_decay", self.weight_decay)
    }

    fn slots(&self, _: &[usize]) -> SmallVec<[Slot; 4]> {
        smallvec![Slot::zeros("exp_avg"), Slot::zeros("exp_inf")]
    }

    fn update<'b>(&self, at: &Update<'_, 'b>) -> Updated<'b> {
        let gradient = penalised(at, self.maximize, self.weight_decay);
        let mean = lerp(at.state[0], gradient, 1.0 - self.betas.0);
        let largest = (at.state[1] * self.betas.1).maximum(gradient.abs() + self.eps);
        let size = self.lr / (1.0 - self.betas.0.powf(at.numbers[0]));
        Updated {
            parameter: at.parameter - mean * size / largest,
            state: smallvec![mean, largest],
        }
    }
}
