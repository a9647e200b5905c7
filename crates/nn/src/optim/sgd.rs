//! Gradient descent, with momentum.

use allotrope_tensor::{Error, Problem};
use smallvec::{SmallVec, smallvec};

use super::algorithm::{Algorithm, Numbers, Slot, Update, Updated, penalised};
use super::options::{not_negative, options};

options! {
    /// How gradient descent goes.
    SGDOptions {
        /// The learning rate.
        lr: f64 = 1e-3,
        /// How much of the last step is kept.
        momentum: f64 = 0.0,
        /// How much of the gradient momentum leaves out.
        dampening: f64 = 0.0,
        /// The penalty of weights.
        weight_decay: f64 = 0.0,
        /// Whether the gradient is looked at after the momentum.
        nesterov: bool = false,
        /// Whether a maximum is looked for.
        maximize: bool = false,
    }
}

impl Algorithm for SGDOptions {
    fn name(&self) -> &'static str {
        "SGD"
    }

    fn check(&self) -> Result<(), Error> {
        not_negative("SGD", "lr", self.lr)?;
        not_negative("SGD", "momentum", self.momentum)?;
        not_negative("SGD", "weight_decay", self.weight_decay)?;
        if self.nesterov && (self.momentum <= 0.0 || self.dampening != 0.0) {
            let problem = Problem::OutOfRange {
                what: "nesterov",
                index: None,
                value: format!(
                    "momentum {} with dampening {}",
                    self.momentum, self.dampening
                ),
                accepted: "a momentum above 0 and a dampening of 0",
            };
            return Err(Error::new("SGD", problem));
        }
        Ok(())
    }

    fn slots(&self, _: &[usize]) -> SmallVec<[Slot; 4]> {
        match self.momentum == 0.0 {
            true => SmallVec::new(),
            false => smallvec![Slot::zeros("momentum_buffer")],
        }
    }

    fn number_names(&self) -> &'static [&'static str] {
        &[]
    }

    fn first_numbers(&self) -> Numbers {
        Numbers::new()
    }

    fn update<'b>(&self, at: &Update<'_, 'b>) -> Updated<'b> {
        let gradient = penalised(at, self.maximize, self.weight_decay);
        let Some(buffer) = at.state.first() else {
            return Updated {
                parameter: at.parameter - gradient * self.lr,
                state: SmallVec::new(),
            };
        };
        let buffer = match at.is_first {
            true => gradient,
            false => *buffer * self.momentum + gradient * (1.0 - self.dampening),
        };
        let step = match self.nesterov {
            true => gradient + buffer * self.momentum,
            false => buffer,
        };
        Updated {
            parameter: at.parameter - step * self.lr,
            state: smallvec![buffer],
        }
    }
}
