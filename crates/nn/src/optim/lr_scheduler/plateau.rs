//! Rates that shrink when nothing gets better.

use allotrope_tensor::Error;

use super::scheduler::Rates;
use crate::optim::options::ensure;

/// Whether less is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlateauMode {
    /// Less is better.
    #[default]
    Min,
    /// More is better.
    Max,
}

/// How a threshold is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThresholdMode {
    /// As a share of the best.
    #[default]
    Rel,
    /// As a distance from it.
    Abs,
}

/// What counts as better, and for how long nothing may.
///
/// ```
/// use allotrope_nn::optim::lr_scheduler::Plateau;
/// let plateau = Plateau { factor: 0.5, ..Default::default() };
/// assert_eq!(plateau.reduced(0.1, 0.0), 0.05);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plateau {
    /// Whether less is better.
    pub mode: PlateauMode,
    /// What rates are multiplied by.
    pub factor: f64,
    /// Steps without progress that are let pass.
    pub patience: f64,
    /// How much better is better.
    pub threshold: f64,
    /// How the threshold is meant.
    pub threshold_mode: ThresholdMode,
    /// Steps after a change that are let pass.
    pub cooldown: f64,
    /// The least change of a rate.
    pub eps: f64,
}

impl Default for Plateau {
    fn default() -> Self {
        Self {
            mode: PlateauMode::Min,
            factor: 0.1,
            patience: 10.0,
            threshold: 1e-4,
            threshold_mode: ThresholdMode::Rel,
            cooldown: 0.0,
            eps: 1e-8,
        }
    }
}

impl Plateau {
    /// Refuses options without a meaning.
    ///
    /// # Errors
    /// A value error.
    pub fn check(&self) -> Result<(), Error> {
        let is_accepted = self.factor < 1.0;
        ensure(
            "ReduceLROnPlateau",
            is_accepted,
            "factor",
            self.factor,
            "numbers below 1",
        )
    }

    /// Whether a number is better than the best so far.
    #[must_use]
    pub fn is_better(&self, given: f64, best: f64) -> bool {
        match (self.mode, self.threshold_mode) {
            (PlateauMode::Min, ThresholdMode::Rel) => given < best * (1.0 - self.threshold),
            (PlateauMode::Min, ThresholdMode::Abs) => given < best - self.threshold,
            (PlateauMode::Max, ThresholdMode::Rel) => given > best * (self.threshold + 1.0),
            (PlateauMode::Max, ThresholdMode::Abs) => given > best + self.threshold,
        }
    }

    /// The worst number there is.
    #[must_use]
    pub fn worst(&self) -> f64 {
        match self.mode {
            PlateauMode::Min => f64::INFINITY,
            PlateauMode::Max => f64::NEG_INFINITY,
        }
    }

    /// Takes note of a number: the best so far, steps without progress, steps that are still let pass,
    /// and whether rates are to shrink now.
    #[must_use]
    pub fn note(&self, given: f64, best: f64, bad: f64, cooldown: f64) -> (f64, f64, f64, bool) {
        let (mut best, mut bad, mut cooldown) = (best, bad, cooldown);
        if self.is_better(given, best) {
            (best, bad) = (given, 0.0);
        } else {
            bad += 1.0;
        }
        if cooldown > 0.0 {
            (cooldown, bad) = (cooldown - 1.0, 0.0);
        }
        if bad > self.patience {
            return (best, 0.0, self.cooldown, true);
        }
        (best, bad, cooldown, false)
    }

    /// A rate after it shrank.
    #[must_use]
    pub fn reduced(&self, lr: f64, least: f64) -> f64 {
        let reduced = (lr * self.factor).max(least);
        match lr - reduced > self.eps {
            true => reduced,
            false => lr,
        }
    }
}

/// Shrinks the rates of an optimizer when a number does not get better.
///
/// ```
/// use allotrope_nn::optim::lr_scheduler::{Plateau, ReduceLROnPlateau};
/// use allotrope_nn::optim::{SGD, SGDOptions};
/// use allotrope_nn::{DType, Parameter, Tensor};
/// let weight = Parameter::new(Tensor::ones(&[1], DType::F32)?)?;
/// let mut optimizer = SGD::new([weight], SGDOptions { lr: 0.1, ..Default::default() })?;
/// let mut scheduler = ReduceLROnPlateau::new(Plateau { patience: 1.0, ..Default::default() })?;
/// for loss in [1.0, 1.0, 1.0] {
///     scheduler.step(loss, &mut optimizer)?;
/// }
/// assert!((optimizer.lrs()[0] - 0.01).abs() < 1e-12);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ReduceLROnPlateau {
    plateau: Plateau,
    /// The least rates; the last one for groups that follow.
    pub min_lrs: Vec<f64>,
    best: f64,
    bad: f64,
    cooldown: f64,
}

impl ReduceLROnPlateau {
    /// A scheduler that has seen nothing.
    ///
    /// # Errors
    /// A value error for a factor of one or more.
    pub fn new(plateau: Plateau) -> Result<Self, Error> {
        plateau.check()?;
        Ok(Self {
            plateau,
            min_lrs: Vec::new(),
            best: plateau.worst(),
            bad: 0.0,
            cooldown: 0.0,
        })
    }

    /// The best number so far.
    #[must_use]
    pub fn best(&self) -> f64 {
        self.best
    }

    /// Takes note of a number, and shrinks the rates if it is time.
    ///
    /// # Errors
    /// As [`Rates::set_lrs`].
    pub fn step(&mut self, metric: f64, rates: &mut dyn Rates) -> Result<(), Error> {
        let noted = self
            .plateau
            .note(metric, self.best, self.bad, self.cooldown);
        let reduces;
        (self.best, self.bad, self.cooldown, reduces) = noted;
        if !reduces {
            return Ok(());
        }
        let least = |group: usize| {
            let least = self.min_lrs.get(group).or(self.min_lrs.last());
            least.copied().unwrap_or(0.0)
        };
        let lrs = rates.lrs();
        let lrs = lrs.iter().enumerate();
        let lrs = lrs.map(|(group, lr)| self.plateau.reduced(*lr, least(group)));
        let lrs: Vec<f64> = lrs.collect();
        rates.set_lrs(&lrs)
    }
}
