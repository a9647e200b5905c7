//! RMSprop: steps by the root of the mean square.

use allotrope_tensor::Error;
use smallvec::{SmallVec, smallvec};

use super::algorithm::{Algorithm, Slot, Update, Updated, lerp, mean_square, penalised};
use super::options::{not_negative, options};

options! {
    /// How RMSprop goes.
    RMSpropOptions {
        /// The learning rate.
        lr: f64 = 1e-2,
        /// How much of the mean is kept in a step.
        alpha: f64 = 0.99,
        /// What is added to the divisor.
        eps: f64 = 1e-8,
        /// The penalty of weights.
        weight_decay: f64 = 0.0,
        /// How much of the last step is kept.
        momentum: f64 = 0.0,
        /// Whether the divisor is the deviation from the mean.
        centered: bool = false,
        /// Whether a maximum is looked for.
        maximize: bool = false,
    }
}

impl Algorithm for RMSpropOptions {
    fn name(&self) -> &'static str {
        "RMSprop"
    }

    fn check(&self) -> Result<(), Error> {
        not_negative("RMSprop", "lr", self.lr)?;
        not_negative("RMSprop", "eps", self.eps)?;
        not_negative("RMSprop", "momentum", self.momentum)?;
        not_negative("RMSprop", "weight_decay", self.weight_decay)?;
        not_negative("RMSprop", "alpha", self.alpha)
    }

    fn slots(&self, _: &[usize]) -> SmallVec<[Slot; 4]> {
        let mut slots = smallvec![Slot::zeros("square_avg")];
        if self.momentum > 0.0 {
            slots.push(Slot::zeros("momentum_buffer"));
        }
        if self.centered {
            slots.push(Slot::zeros("grad_avg"));
        }
        slots
    }

    fn update<'b>(&self, at: &Update<'_, 'b>) -> Updated<'b> {
        let gradient = penalised(at, self.maximize, self.weight_decay);
        let square = mean_square(at.state[0], gradient, self.alpha);
        let mean = self
            .centered
            .then(|| at.state[at.state.len() - 1])
            .map(|mean| lerp(mean, gradient, 1.0 - self.alpha));
        let variance = mean.map_or(square, |mean| square - mean * mean);
        let step = gradient / (variance.sqrt() + self.eps);
        let mut state = smallvec![square];
        let step = if self.momentum > 0.0 {
            let buffer = at.state[1] * self.momentum + step;
            state.push(buffer);
            buffer
        } else {
            step
        };
        state.extend(mean);
        Updated {
            parameter: at.parameter - step * self.lr,
            state,
        }
    }
}
