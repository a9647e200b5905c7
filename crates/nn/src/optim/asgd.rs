//! Averaged gradient descent.

use allotrope_tensor::Error;
use smallvec::{SmallVec, smallvec};

use super::algorithm::{Algorithm, Numbers, Slot, Update, Updated, penalised};
use super::options::{not_negative, options};

options! {
    /// How averaged gradient descent goes.
    ASGDOptions {
        /// The learning rate.
        lr: f64 = 1e-2,
        /// How fast weights and the learning rate shrink.
        lambd: f64 = 1e-4,
        /// The power by which the learning rate shrinks.
        alpha: f64 = 0.75,
        /// The step from which parameters are averaged.
        t0: f64 = 1e6,
        /// The penalty of weights.
        weight_decay: f64 = 0.0,
        /// Whether a maximum is looked for.
        maximize: bool = false,
    }
}

impl Algorithm for ASGDOptions {
    fn name(&self) -> &'static str {
        "ASGD"
    }

    fn check(&self) -> Result<(), Error> {
        not_negative("ASGD", "lr", self.lr)?;
        not_negative("ASGD", "lambd", self.lambd)?;
        not_negative("ASGD", "alpha", self.alpha)?;
        not_negative("ASGD", "weight_decay", self.weight_decay)
    }

    fn slots(&self, _: &[usize]) -> SmallVec<[Slot; 4]> {
        smallvec![Slot::zeros("ax")]
    }

    fn number_names(&self) -> &'static [&'static str] {
        &["step", "eta", "mu"]
    }

    fn first_numbers(&self) -> Numbers {
        smallvec![0.0, f64::from(self.lr as f32), 1.0]
    }

    fn advance(&self, numbers: &mut [f64]) {
        numbers[0] += 1.0;
        let step = numbers[0];
        // In float32, as they are saved: what goes on from a file is then what went on without one.
        let rounded = |x: f64| f64::from(x as f32);
        numbers[1] = rounded(self.lr / (1.0 + self.lambd * self.lr * step).powf(self.alpha));
        numbers[2] = rounded(1.0 / (step - self.t0).max(1.0));
    }

    fn update<'b>(&self, at: &Update<'_, 'b>) -> Updated<'b> {
        // The rates are those that the step before left.
        let (eta, mu) = (at.before[1], at.before[2]);
        let gradient = penalised(at, self.maximize, self.weight_decay);
        let parameter = at.parameter * (1.0 - self.lambd * eta) - gradient * eta;
        let mean = at.state[0];
        let mean = match mu == 1.0 {
            true => parameter,
            false => mean + (parameter - mean) * mu,
        };
        Updated {
            parameter,
            state: smallvec![mean],
        }
    }
}
