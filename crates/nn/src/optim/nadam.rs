//! NAdam: Adam with Nesterov's momentum.

use allotrope_tensor::Error;
use smallvec::{SmallVec, smallvec};

use super::algorithm::{Algorithm, Numbers, Slot, Update, Updated, lerp, mean_square, penalised};
use super::options::{below_one, not_negative, options};

options! {
    /// How NAdam goes.
    NAdamOptions {
        /// The learning rate.
        lr: f64 = 2e-3,
        /// How much of the means is kept in a step.
        betas: (f64, f64) = (0.9, 0.999),
        /// What is added to the divisor.
        eps: f64 = 1e-8,
        /// The penalty of weights.
        weight_decay: f64 = 0.0,
        /// How fast the momentum grows to its limit.
        momentum_decay: f64 = 4e-3,
        /// Whether weights shrink beside the step instead of in the gradient.
        decoupled_weight_decay: bool = false,
        /// Whether a maximum is looked for.
        maximize: bool = false,
    }
}

impl NAdamOptions {
    /// The momentum of a step.
    fn momentum(&self, step: f64) -> f64 {
        self.betas.0 * (1.0 - 0.5 * 0.96_f64.powf(step * self.momentum_decay))
    }
}

impl Algorithm for NAdamOptions {
    fn name(&self) -> &'static str {
        "NAdam"
    }

    fn check(&self) -> Result<(), Error> {
        not_negative("NAdam", "lr", self.lr)?;
        not_negative("NAdam", "eps", self.eps)?;
        below_one("NAdam", "betas[0]", self.betas.0)?;
        below_one("NAdam", "betas[1]", self.betas.1)?;
        not_negative("NAdam", "weight_decay", self.weight_decay)?;
        not_negative("NAdam", "momentum_decay", self.momentum_decay)
    }

    fn slots(&self, _: &[usize]) -> SmallVec<[Slot; 4]> {
        smallvec![Slot::zeros("exp_avg"), Slot::zeros("exp_avg_sq")]
    }

    fn number_names(&self) -> &'static [&'static str] {
        &["step", "mu_product"]
    }

    fn first_numbers(&self) -> Numbers {
        smallvec![0.0, 1.0]
    }

    fn advance(&self, numbers: &mut [f64]) {
        numbers[0] += 1.0;
        // In float32, as it is saved: what goes on from a file is then what went on without one.
        numbers[1] = f64::from(numbers[1] as f32 * self.momentum(numbers[0]) as f32);
    }

    fn update<'b>(&self, at: &Update<'_, 'b>) -> Updated<'b> {
        let (step, product, beta2) = (at.numbers[0], at.numbers[1], self.betas.1);
        let mut parameter = at.parameter;
        let decay = match self.decoupled_weight_decay {
            true => 0.0,
            false => self.weight_decay,
        };
        let gradient = penalised(at, self.maximize, decay);
        if self.decoupled_weight_decay && self.weight_decay != 0.0 {
            parameter = parameter * (1.0 - self.lr * self.weight_decay);
        }
        let mean = lerp(at.state[0], gradient, 1.0 - self.betas.0);
        let square = mean_square(at.state[1], gradient, beta2);
        let divisor = (square * (1.0 / (1.0 - beta2.powf(step)))).sqrt() + self.eps;
        let (now, next) = (self.momentum(step), self.momentum(step + 1.0));
        let for_gradient = self.lr * (1.0 - now) / (1.0 - product);
        let for_mean = self.lr * next / (1.0 - product * next);
        let step = gradient * for_gradient + mean * for_mean;
        Updated {
            parameter: parameter - step / divisor,
            state: smallvec![mean, square],
        }
    }
}
