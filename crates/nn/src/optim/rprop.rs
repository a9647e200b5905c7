//! Rprop: steps by the sign of the gradient, each element with a size of its own.

use allotrope_tensor::{Error, Problem};
use smallvec::{SmallVec, smallvec};

use super::algorithm::{Algorithm, Slot, Update, Updated, penalised};
use super::options::{not_negative, options};

options! {
    /// How Rprop goes.
    RpropOptions {
        /// The size of the first step.
        lr: f64 = 1e-2,
        /// What sizes are multiplied by where the sign changed, and where it stayed.
        etas: (f64, f64) = (0.5, 1.2),
        /// The least size of a step and the largest.
        step_sizes: (f64, f64) = (1e-6, 50.0),
        /// Whether a maximum is looked for.
        maximize: bool = false,
    }
}

impl Algorithm for RpropOptions {
    fn name(&self) -> &'static str {
        "Rprop"
    }

    fn check(&self) -> Result<(), Error> {
        not_negative("Rprop", "lr", self.lr)?;
        let (minus, plus) = self.etas;
        if 0.0 < minus && minus < 1.0 && 1.0 < plus {
            return Ok(());
        }
        let problem = Problem::OutOfRange {
            what: "etas",
            index: None,
            value: format!("({minus}, {plus})"),
            accepted: "a number between 0 and 1 and one above 1",
        };
        Err(Error::new("Rprop", problem))
    }

    fn slots(&self, _: &[usize]) -> SmallVec<[Slot; 4]> {
        smallvec![Slot::zeros("prev"), Slot::full("step_size", self.lr)]
    }

    fn update<'b>(&self, at: &Update<'_, 'b>) -> Updated<'b> {
        let gradient = penalised(at, self.maximize, 0.0);
        let (minus, plus) = self.etas;
        let same = gradient * at.state[0];
        let (grows, shrinks) = (same.gt(same.zero()), same.lt(same.zero()));
        let factor = grows.pick(same.lit(plus), shrinks.pick(same.lit(minus), same.one()));
        let (least, most) = self.step_sizes;
        let size = at.state[1] * factor;
        let size = size.maximum(size.lit(least)).minimum(size.lit(most));
        let gradient = shrinks.pick(gradient.zero(), gradient);
        Updated {
            parameter: at.parameter - gradient.sign() * size,
            state: smallvec![gradient, size],
        }
    }
}
