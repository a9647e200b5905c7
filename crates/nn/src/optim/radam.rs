//! RAdam: Adam without a divisor until enough squares are known.

use allotrope_tensor::Error;
use smallvec::{SmallVec, smallvec};

use super::algorithm::{Algorithm, Slot, Update, Updated, lerp, mean_square, penalised};
use super::options::{below_one, not_negative, options};

options! {
    /// How RAdam goes.
    RAdamOptions {
        /// The learning rate.
        lr: f64 = 1e-3,
        /// How much of the means is kept in a step.
        betas: (f64, f64) = (0.9, 0.999),
        /// What is added to the divisor.
        eps: f64 = 1e-8,
        /// The penalty of weights.
        weight_decay: f64 = 0.0,
        /// Whether weights shrink beside the step instead of in the gradient.
        decoupled_weight_decay: bool = false,
        /// Whether a maximum is looked for.
        maximize: bool = false,
    }
}

impl Algorithm for RAdamOptions {
    fn name(&self) -> &'static str {
        "RAdam"
    }

    fn check(&self) -> Result<(), Error> {
        not_negative("RAdam", "lr", self.lr)?;
        not_negative("RAdam", "eps", self.eps)?;
        below_one("RAdam", "betas[0]", self.betas.0)?;
        below_one("RAdam", "betas[1]", self.betas.1)?;
        not_negative("RAdam", "weight_decay", self.weight_decay)
    }

    fn slots(&self, _: &[usize]) -> SmallVec<[Slot; 4]> {
        smallvec![Slot::zeros("exp_avg"), Slot::zeros("exp_avg_sq")]
    }

    fn update<'b>(&self, at: &Update<'_, 'b>) -> Updated<'b> {
        let (step, (beta1, beta2)) = (at.numbers[0], self.betas);
        let mut parameter = at.parameter;
        let decay = match self.decoupled_weight_decay {
            true => 0.0,
            false => self.weight_decay,
        };
        let gradient = penalised(at, self.maximize, decay);
        if self.decoupled_weight_decay && self.weight_decay != 0.0 {
            parameter = parameter * (1.0 - self.lr * self.weight_decay);
        }
        let mean = lerp(at.state[0], gradient, 1.0 - beta1);
        let square = mean_square(at.state[1], gradient, beta2);
        let correction = 1.0 - beta2.powf(step);
        let size = self.lr / (1.0 - beta1.powf(step));
        // How many squares the mean is of, and at most can be.
        let most = 2.0 / (1.0 - beta2) - 1.0;
        let known = most - 2.0 * step * beta2.powf(step) / correction;
        let step = if known > 5.0 {
            let share = (known - 4.0) * (known - 2.0) * most;
            let share = (share / ((most - 4.0) * (most - 2.0) * known)).sqrt();
            mean * (size * share * correction.sqrt()) / (square.sqrt() + self.eps)
        } else {
            mean * size
        };
        Updated {
            parameter: parameter - step,
            state: smallvec![mean, square],
        }
    }
}
