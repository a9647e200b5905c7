//! Adam and AdamW: steps by running means of the gradient and of its square.

use allotrope_tensor::Error;
use smallvec::{SmallVec, smallvec};

use super::algorithm::{Algorithm, Slot, Update, Updated, lerp, mean_square, penalised};
use super::options::{below_one, not_negative, options};

options! {
    /// How Adam goes.
    AdamOptions {
        /// The learning rate.
        lr: f64 = 1e-3,
        /// How much of the means is kept in a step.
        betas: (f64, f64) = (0.9, 0.999),
        /// What is added to the divisor.
        eps: f64 = 1e-8,
        /// The penalty of weights.
        weight_decay: f64 = 0.0,
        /// Whether the largest mean of squares so far is the divisor.
        amsgrad: bool = false,
        /// Whether a maximum is looked for.
        maximize: bool = false,
        /// Whether weights shrink beside the step, as in AdamW, instead of in the gradient.
        decoupled_weight_decay: bool = false,
    }
}

options! {
    /// How AdamW goes.
    AdamWOptions {
        /// The learning rate.
        lr: f64 = 1e-3,
        /// How much of the means is kept in a step.
        betas: (f64, f64) = (0.9, 0.999),
        /// What is added to the divisor.
        eps: f64 = 1e-8,
        /// By how much of themselves, times the learning rate, weights shrink.
        weight_decay: f64 = 1e-2,
        /// Whether the largest mean of squares so far is the divisor.
        amsgrad: bool = false,
        /// Whether a maximum is looked for.
        maximize: bool = false,
    }
}

impl AdamWOptions {
    fn as_adam(&self) -> AdamOptions {
        AdamOptions {
            lr: self.lr,
            betas: self.betas,
            eps: self.eps,
            weight_decay: self.weight_decay,
            amsgrad: self.amsgrad,
            maximize: self.maximize,
            decoupled_weight_decay: true,
        }
    }
}

fn check(op: &'static str, options: &AdamOptions) -> Result<(), Error> {
    not_negative(op, "lr", options.lr)?;
    not_negative(op, "eps", options.eps)?;
    below_one(op, "betas[0]", options.betas.0)?;
    below_one(op, "betas[1]", options.betas.1)?;
    not_negative(op, "weight_decay", options.weight_decay)
}

impl Algorithm for AdamOptions {
    fn name(&self) -> &'static str {
        "Adam"
    }

    fn check(&self) -> Result<(), Error> {
        check("Adam", self)
    }

    fn slots(&self, _: &[usize]) -> SmallVec<[Slot; 4]> {
        let mut slots = smallvec![Slot::zeros("exp_avg"), Slot::zeros("exp_avg_sq")];
        if self.amsgrad {
            slots.push(Slot::zeros("max_exp_avg_sq"));
        }
        slots
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
        let mut state = smallvec![mean, square];
        let mut divisor = square;
        if self.amsgrad {
            divisor = at.state[2].maximum(square);
            state.push(divisor);
        }
        let correction = 1.0 / (1.0 - beta2.powf(step)).sqrt();
        let divisor = divisor.sqrt() * correction + self.eps;
        let size = self.lr / (1.0 - beta1.powf(step));
        let parameter = parameter - mean * size / divisor;
        Updated { parameter, state }
    }
}

impl Algorithm for AdamWOptions {
    fn name(&self) -> &'static str {
        "AdamW"
    }

    fn check(&self) -> Result<(), Error> {
        check("AdamW", &self.as_adam())
    }

    fn slots(&self, shape: &[usize]) -> SmallVec<[Slot; 4]> {
        self.as_adam().slots(shape)
    }

    fn update<'b>(&self, at: &Update<'_, 'b>) -> Updated<'b> {
        self.as_adam().update(at)
    }
}
