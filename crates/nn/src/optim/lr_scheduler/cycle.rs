//! Cycles, which learning rates and momenta go through in opposite directions.

use std::f64::consts::PI;

use allotrope_tensor::Error;

use crate::optim::options::ensure;

/// How high the cycles of [`CyclicLR`] are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum CyclicMode {
    /// All alike.
    #[default]
    Triangular,
    /// Each half as high as the one before.
    Triangular2,
    /// By a power of the steps so far.
    ExpRange(f64),
}

impl CyclicMode {
    /// The mode of a name.
    #[must_use]
    pub fn parse(name: &str, gamma: f64) -> Option<Self> {
        match name {
            "triangular" => Some(Self::Triangular),
            "triangular2" => Some(Self::Triangular2),
            "exp_range" => Some(Self::ExpRange(gamma)),
            _ => None,
        }
    }

    /// The height of a cycle, or at a step.
    #[must_use]
    pub fn height(self, cycle: f64, epoch: f64) -> f64 {
        match self {
            Self::Triangular => 1.0,
            Self::Triangular2 => 1.0 / 2.0_f64.powf(cycle - 1.0),
            Self::ExpRange(gamma) => gamma.powf(epoch),
        }
    }
}

/// Up from one rate to another and down again.
///
/// ```
/// use allotrope_nn::optim::lr_scheduler::{CyclicLR, CyclicMode};
/// let cycle = CyclicLR { step_size_up: 4.0, step_size_down: 4.0, mode: CyclicMode::Triangular };
/// assert_eq!((cycle.share(0.0), cycle.share(2.0), cycle.share(4.0)), (0.0, 0.5, 1.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CyclicLR {
    /// The steps up.
    pub step_size_up: f64,
    /// The steps down.
    pub step_size_down: f64,
    /// How high the cycles are.
    pub mode: CyclicMode,
}

impl CyclicLR {
    /// The number of the cycle at a step, from one, and how far up it is, from 0 to 1.
    #[must_use]
    pub fn place(&self, epoch: f64) -> (f64, f64) {
        let total = self.step_size_up + self.step_size_down;
        let ratio = self.step_size_up / total;
        let cycle = (1.0 + epoch / total).floor();
        let x = 1.0 + epoch / total - cycle;
        let share = match x <= ratio {
            true => x / ratio,
            false => (x - 1.0) / (ratio - 1.0),
        };
        (cycle, share)
    }

    /// How far from the base to the peak a rate is at a step.
    #[must_use]
    pub fn share(&self, epoch: f64) -> f64 {
        let (cycle, share) = self.place(epoch);
        share * self.mode.height(cycle, epoch)
    }
}

/// Up to a rate and down to almost nothing, once.
///
/// ```
/// use allotrope_nn::optim::lr_scheduler::OneCycleLR;
/// let cycle = OneCycleLR { total_steps: 10.0, pct_start: 0.3, three_phase: false, is_linear: true };
/// assert!(cycle.check().is_ok());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OneCycleLR {
    /// All steps.
    pub total_steps: f64,
    /// The share of them in which the rate goes up.
    pub pct_start: f64,
    /// Whether it comes back to the first rate before it goes to the last one.
    pub three_phase: bool,
    /// Whether it goes along a straight line instead of a cosine.
    pub is_linear: bool,
}

impl OneCycleLR {
    /// Refuses options without a meaning.
    ///
    /// # Errors
    /// A value error.
    pub fn check(&self) -> Result<(), Error> {
        let is_accepted = (0.0..=1.0).contains(&self.pct_start);
        let (what, accepted) = ("pct_start", "numbers from 0 to 1");
        ensure("OneCycleLR", is_accepted, what, self.pct_start, accepted)?;
        let total = self.total_steps;
        ensure(
            "OneCycleLR",
            total >= 1.0,
            "total_steps",
            total,
            "numbers from 1 on",
        )
    }

    /// What goes through levels at a step: the first, the highest, and the last one. Momentum goes
    /// from its highest down to its base and back to the highest.
    ///
    /// # Errors
    /// A value error for a step after the last.
    pub fn at(&self, step: f64, [first, peak, last]: [f64; 3]) -> Result<f64, Error> {
        let total = self.total_steps;
        let accepted = "steps up to total_steps";
        ensure("OneCycleLR", step <= total, "step", step, accepted)?;
        let start = self.pct_start * total - 1.0;
        let (mut phases, two, three);
        if self.three_phase {
            let middle = 2.0 * self.pct_start * total - 2.0;
            three = [
                (start, first, peak),
                (middle, peak, first),
                (total - 1.0, first, last),
            ];
            phases = three.iter();
        } else {
            two = [(start, first, peak), (total - 1.0, peak, last)];
            phases = two.iter();
        }
        let mut begin = 0.0;
        let mut result = last;
        while let Some((end, from, to)) = phases.next() {
            if step <= *end || phases.len() == 0 {
                let share = (step - begin) / (end - begin);
                result = match self.is_linear {
                    true => (to - from) * share + from,
                    false => to + (from - to) / 2.0 * ((PI * share).cos() + 1.0),
                };
                break;
            }
            begin = *end;
        }
        Ok(result)
    }
}

/// Where a rate with restarts is one step later: steps since the last restart, and until the next.
#[must_use]
pub fn restart_after(since: f64, length: f64, factor: f64) -> (f64, f64) {
    let since = since + 1.0;
    match since >= length {
        true => (since % length, length * factor),
        false => (since, length),
    }
}

/// Where a rate with restarts is at a time.
#[must_use]
pub fn restart_at(epoch: f64, first: f64, factor: f64) -> (f64, f64) {
    if epoch < first {
        return (epoch, first);
    }
    if factor == 1.0 {
        return (epoch % first, first);
    }
    let restarts = (epoch / first * (factor - 1.0) + 1.0).ln() / factor.ln();
    let restarts = restarts.trunc();
    let since = epoch - first * (factor.powf(restarts) - 1.0) / (factor - 1.0);
    (since, first * factor.powf(restarts))
}

/// The next rate on the way to one for averaging, which is reached after some steps and then kept.
#[must_use]
pub fn swa_rate(step: f64, anneal_epochs: f64, is_linear: bool, last: f64, swa: f64) -> f64 {
    let share = |step: f64| {
        let share = (step / anneal_epochs.max(1.0)).clamp(0.0, 1.0);
        match is_linear {
            true => share,
            false => (1.0 - (PI * share).cos()) / 2.0,
        }
    };
    let step = if anneal_epochs == 0.0 {
        step.max(1.0)
    } else {
        step
    };
    let (before, now) = (share(step - 1.0), share(step));
    let first = match before == 1.0 {
        true => swa,
        false => (last - before * swa) / (1.0 - before),
    };
    swa * now + first * (1.0 - now)
}
