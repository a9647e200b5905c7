//! Schedulers of an optimizer: one formula, several one after the other, all at once.

use std::f64::consts::PI;
use std::fmt;

use allotrope_tensor::Error;

use super::cycle::{CyclicLR, OneCycleLR, restart_after};
use super::schedule::{Moment, Schedule};
use crate::optim::{Algorithm, OptimizerOf, OptionValue};

/// What has learning rates, and perhaps momenta, to be scheduled.
///
/// ```
/// use allotrope_nn::optim::lr_scheduler::Rates;
/// use allotrope_nn::optim::{SGD, SGDOptions};
/// use allotrope_nn::{DType, Parameter, Tensor};
/// let weight = Parameter::new(Tensor::ones(1, DType::F32)?)?;
/// let rates: &mut dyn Rates = &mut SGD::new([weight], SGDOptions::default())?;
/// rates.set_lrs(&[0.5])?;
/// assert_eq!(rates.lrs(), [0.5]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
pub trait Rates {
    /// The rate of each group.
    fn lrs(&self) -> Vec<f64>;

    /// Sets the rate of each group.
    ///
    /// # Errors
    /// A value error for a rate without a meaning.
    fn set_lrs(&mut self, lrs: &[f64]) -> Result<(), Error>;

    /// Sets the momentum of each group, if there is one.
    ///
    /// # Errors
    /// A value error for a momentum without a meaning.
    fn set_momenta(&mut self, momenta: &[f64]) -> Result<(), Error>;
}

impl<A: Algorithm + Clone> Rates for OptimizerOf<A> {
    fn lrs(&self) -> Vec<f64> {
        OptimizerOf::lrs(self)
    }

    fn set_lrs(&mut self, lrs: &[f64]) -> Result<(), Error> {
        OptimizerOf::set_lrs(self, lrs)
    }

    fn set_momenta(&mut self, momenta: &[f64]) -> Result<(), Error> {
        for (group, momentum) in self.groups_mut().zip(momenta) {
            let momentum = OptionValue::Number(*momentum);
            let betas = group
                .values()
                .into_iter()
                .find(|(name, _)| *name == "betas");
            match betas {
                Some((_, OptionValue::List(mut betas))) => {
                    if let Some(first) = betas.first_mut() {
                        *first = momentum;
                    }
                    group.set("betas", &OptionValue::List(betas))?;
                }
                _ => {
                    group.set("momentum", &momentum)?;
                }
            }
        }
        Ok(())
    }
}

/// What changes the rates of an optimizer step by step.
pub trait Steps: fmt::Debug {
    /// Goes one step on.
    ///
    /// # Errors
    /// As [`Rates::set_lrs`], and a value error after the last step of a cycle.
    fn step(&mut self, rates: &mut dyn Rates) -> Result<(), Error>;

    /// Goes to the beginning, from the rates that groups have now.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    fn restart(&mut self, rates: &mut dyn Rates) -> Result<(), Error>;

    /// Goes to the first step as if nothing had been before it, whatever rates were left.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    fn take_over(&mut self, rates: &mut dyn Rates) -> Result<(), Error> {
        self.restart(rates)
    }

    /// The rates that the last step gave.
    fn last_lr(&self) -> &[f64];

    /// How many steps were taken.
    fn last_epoch(&self) -> u64;
}

/// A scheduler with one formula.
///
/// ```
/// use allotrope_nn::optim::lr_scheduler::{Scheduler, StepLR, Steps};
/// use allotrope_nn::optim::{SGD, SGDOptions};
/// use allotrope_nn::{DType, Parameter, Tensor};
/// let weight = Parameter::new(Tensor::ones(&[1], DType::F32)?)?;
/// let mut optimizer = SGD::new([weight], SGDOptions { lr: 1.0, ..Default::default() })?;
/// let schedule = StepLR { step_size: 2.0, gamma: 0.5 };
/// let mut scheduler = Scheduler::new(schedule, &mut optimizer)?;
/// for _ in 0..4 {
///     scheduler.step(&mut optimizer)?;
/// }
/// assert_eq!(scheduler.last_lr(), [0.25]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Scheduler<S> {
    schedule: S,
    base: Vec<f64>,
    last: Vec<f64>,
    epoch: u64,
    count: u64,
}

impl<S: Schedule> Scheduler<S> {
    /// A scheduler at its beginning: the rates of the optimizer are the first ones.
    ///
    /// # Errors
    /// A value error for options without a meaning.
    pub fn new(schedule: S, rates: &mut dyn Rates) -> Result<Self, Error> {
        schedule.check()?;
        let mut scheduler = Self {
            schedule,
            base: rates.lrs(),
            last: Vec::new(),
            epoch: 0,
            count: 0,
        };
        scheduler.restart(rates)?;
        Ok(scheduler)
    }

    fn update(&mut self, is_initial: bool, rates: &mut dyn Rates) -> Result<(), Error> {
        let at = Moment {
            epoch: self.epoch as f64,
            is_initial,
            is_first: self.count == 1,
        };
        let lrs = rates.lrs();
        let lrs = lrs.iter().zip(&self.base).enumerate();
        let lrs = lrs.map(|(group, (last, base))| self.schedule.next(at, group, *last, *base));
        self.last = lrs.collect();
        rates.set_lrs(&self.last)
    }
}

impl<S: Schedule> Steps for Scheduler<S> {
    fn step(&mut self, rates: &mut dyn Rates) -> Result<(), Error> {
        self.count += 1;
        self.epoch += 1;
        self.update(false, rates)
    }

    fn restart(&mut self, rates: &mut dyn Rates) -> Result<(), Error> {
        (self.epoch, self.count) = (0, 1);
        self.update(true, rates)
    }

    fn take_over(&mut self, rates: &mut dyn Rates) -> Result<(), Error> {
        self.epoch = 0;
        let base = self.base.iter().enumerate();
        let closed: Option<Vec<f64>> = base
            .map(|(group, base)| self.schedule.closed(0.0, group, *base))
            .collect();
        match closed {
            Some(lrs) => {
                self.last = lrs;
                rates.set_lrs(&self.last)
            }
            None => self.update(false, rates),
        }
    }

    fn last_lr(&self) -> &[f64] {
        &self.last
    }

    fn last_epoch(&self) -> u64 {
        self.epoch
    }
}

/// Down along a cosine, and back to the first rate after `T_0` steps, then after `T_mult` times as many.
///
/// ```
/// use allotrope_nn::optim::lr_scheduler::{CosineAnnealingWarmRestarts, Steps};
/// use allotrope_nn::optim::{SGD, SGDOptions};
/// use allotrope_nn::{DType, Parameter, Tensor};
/// let weight = Parameter::new(Tensor::ones(1, DType::F32)?)?;
/// let mut optimizer = SGD::new([weight], SGDOptions { lr: 1.0, ..Default::default() })?;
/// let mut scheduler = CosineAnnealingWarmRestarts::new(4, 1, 0.0, &mut optimizer)?;
/// scheduler.step(&mut optimizer)?;
/// scheduler.step(&mut optimizer)?;
/// assert!((optimizer.lrs()[0] - 0.5).abs() < 1e-12);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CosineAnnealingWarmRestarts {
    first: f64,
    factor: f64,
    least: f64,
    place: (f64, f64),
    base: Vec<f64>,
    last: Vec<f64>,
    epoch: u64,
}

impl CosineAnnealingWarmRestarts {
    /// A scheduler at its beginning.
    ///
    /// # Errors
    /// As [`Rates::set_lrs`].
    pub fn new(t_0: u32, t_mult: u32, eta_min: f64, rates: &mut dyn Rates) -> Result<Self, Error> {
        let first = f64::from(t_0.max(1));
        let mut scheduler = Self {
            first,
            factor: f64::from(t_mult.max(1)),
            least: eta_min,
            place: (0.0, first),
            base: rates.lrs(),
            last: Vec::new(),
            epoch: 0,
        };
        scheduler.restart(rates)?;
        Ok(scheduler)
    }

    fn update(&mut self, rates: &mut dyn Rates) -> Result<(), Error> {
        let (since, length) = self.place;
        let height = (1.0 + (PI * since / length).cos()) / 2.0;
        let least = self.least;
        let lrs = self.base.iter().map(|base| least + (base - least) * height);
        self.last = lrs.collect();
        rates.set_lrs(&self.last)
    }
}

impl Steps for CosineAnnealingWarmRestarts {
    fn step(&mut self, rates: &mut dyn Rates) -> Result<(), Error> {
        self.epoch += 1;
        self.place = restart_after(self.place.0, self.place.1, self.factor);
        self.update(rates)
    }

    fn restart(&mut self, rates: &mut dyn Rates) -> Result<(), Error> {
        (self.epoch, self.place) = (0, (0.0, self.first));
        self.update(rates)
    }

    fn last_lr(&self) -> &[f64] {
        &self.last
    }

    fn last_epoch(&self) -> u64 {
        self.epoch
    }
}

/// What goes through a cycle: rates between a base and a peak, momenta the other way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cycle {
    /// Up and down again and again: from the first rate to the second, momenta from the first to the
    /// second.
    Cyclic(CyclicLR, [f64; 2], Option<[f64; 2]>),
    /// Once: the first rate, the highest, the last; momenta likewise.
    One(OneCycleLR, [f64; 3], Option<[f64; 3]>),
}

impl Cycle {
    fn at(&self, epoch: f64) -> Result<(f64, Option<f64>), Error> {
        match self {
            Self::Cyclic(cycle, [base, peak], momenta) => {
                let share = cycle.share(epoch);
                let between = |[from, to]: [f64; 2]| from + (to - from) * share;
                Ok((between([*base, *peak]), momenta.map(between)))
            }
            Self::One(cycle, lrs, momenta) => {
                let momentum = momenta
                    .map(|momenta| cycle.at(epoch, momenta))
                    .transpose()?;
                Ok((cycle.at(epoch, *lrs)?, momentum))
            }
        }
    }
}

/// A scheduler of cycles, the same for all groups.
#[derive(Clone, Debug)]
pub struct CycleScheduler {
    cycle: Cycle,
    last: Vec<f64>,
    epoch: u64,
}

impl CycleScheduler {
    /// A scheduler at its beginning.
    ///
    /// # Errors
    /// A value error for options without a meaning.
    pub fn new(cycle: Cycle, rates: &mut dyn Rates) -> Result<Self, Error> {
        if let Cycle::One(cycle, ..) = &cycle {
            cycle.check()?;
        }
        let mut scheduler = Self {
            cycle,
            last: Vec::new(),
            epoch: 0,
        };
        scheduler.restart(rates)?;
        Ok(scheduler)
    }

    fn update(&mut self, rates: &mut dyn Rates) -> Result<(), Error> {
        let (lr, momentum) = self.cycle.at(self.epoch as f64)?;
        let groups = rates.lrs().len();
        self.last = vec![lr; groups];
        if let Some(momentum) = momentum {
            rates.set_momenta(&vec![momentum; groups])?;
        }
        rates.set_lrs(&self.last)
    }
}

impl Steps for CycleScheduler {
    fn step(&mut self, rates: &mut dyn Rates) -> Result<(), Error> {
        self.epoch += 1;
        self.update(rates)
    }

    fn restart(&mut self, rates: &mut dyn Rates) -> Result<(), Error> {
        self.epoch = 0;
        self.update(rates)
    }

    fn last_lr(&self) -> &[f64] {
        &self.last
    }

    fn last_epoch(&self) -> u64 {
        self.epoch
    }
}

/// Schedulers one after the other.
///
/// ```
/// use allotrope_nn::optim::lr_scheduler::{LambdaLR, Scheduler, SequentialLR, Steps};
/// use allotrope_nn::optim::{SGD, SGDOptions};
/// use allotrope_nn::{DType, Parameter, Tensor};
/// let weight = Parameter::new(Tensor::ones(1, DType::F32)?)?;
/// let mut optimizer = SGD::new([weight], SGDOptions { lr: 1.0, ..Default::default() })?;
/// let first = Scheduler::new(LambdaLR::new(|_| 0.25), &mut optimizer)?;
/// let then = Scheduler::new(LambdaLR::new(|_| 0.5), &mut optimizer)?;
/// let steps: Vec<Box<dyn Steps>> = vec![Box::new(first), Box::new(then)];
/// let mut sequence = SequentialLR::new(steps, vec![2], &[1.0], &mut optimizer)?;
/// for _ in 0..3 {
///     sequence.step(&mut optimizer)?;
/// }
/// assert_eq!(sequence.last_epoch(), 3);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Debug)]
pub struct SequentialLR {
    schedulers: Vec<Box<dyn Steps>>,
    milestones: Vec<u64>,
    last: Vec<f64>,
    epoch: u64,
}

impl SequentialLR {
    /// Schedulers, each from a milestone on but for the first; `base` are the rates before any of them
    /// was made.
    ///
    /// # Errors
    /// As [`Steps::restart`].
    pub fn new(
        schedulers: Vec<Box<dyn Steps>>,
        milestones: Vec<u64>,
        base: &[f64],
        rates: &mut dyn Rates,
    ) -> Result<Self, Error> {
        rates.set_lrs(base)?;
        let mut sequence = Self {
            schedulers,
            milestones,
            last: Vec::new(),
            epoch: 0,
        };
        sequence.restart(rates)?;
        Ok(sequence)
    }

    fn place(&self) -> usize {
        let passed = self.milestones.iter().filter(|m| **m <= self.epoch);
        passed.count().min(self.schedulers.len().saturating_sub(1))
    }
}

impl Steps for SequentialLR {
    fn step(&mut self, rates: &mut dyn Rates) -> Result<(), Error> {
        self.epoch += 1;
        let place = self.place();
        let begins = place > 0 && self.milestones.get(place - 1) == Some(&self.epoch);
        if let Some(scheduler) = self.schedulers.get_mut(place) {
            match begins {
                true => scheduler.take_over(rates)?,
                false => scheduler.step(rates)?,
            }
            self.last = scheduler.last_lr().to_vec();
        }
        Ok(())
    }

    fn restart(&mut self, rates: &mut dyn Rates) -> Result<(), Error> {
        self.epoch = 0;
        let place = self.place();
        if let Some(scheduler) = self.schedulers.get_mut(place) {
            scheduler.restart(rates)?;
            self.last = scheduler.last_lr().to_vec();
        }
        Ok(())
    }

    fn last_lr(&self) -> &[f64] {
        &self.last
    }

    fn last_epoch(&self) -> u64 {
        self.epoch
    }
}

/// Schedulers all at once.
///
/// ```
/// use allotrope_nn::optim::lr_scheduler::{ChainedScheduler, LambdaLR, Scheduler, Steps};
/// use allotrope_nn::optim::{SGD, SGDOptions};
/// use allotrope_nn::{DType, Parameter, Tensor};
/// let weight = Parameter::new(Tensor::ones(1, DType::F32)?)?;
/// let mut optimizer = SGD::new([weight], SGDOptions { lr: 1.0, ..Default::default() })?;
/// let half = LambdaLR::new(|epoch| if epoch > 0 { 0.5 } else { 1.0 });
/// let one = Scheduler::new(half, &mut optimizer)?;
/// let mut chain = ChainedScheduler::new(vec![Box::new(one)], &optimizer);
/// chain.step(&mut optimizer)?;
/// assert_eq!(optimizer.lrs(), [0.5]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Debug)]
pub struct ChainedScheduler {
    schedulers: Vec<Box<dyn Steps>>,
    last: Vec<f64>,
    epoch: u64,
}

impl ChainedScheduler {
    /// Schedulers that were made for the same optimizer.
    #[must_use]
    pub fn new(schedulers: Vec<Box<dyn Steps>>, rates: &dyn Rates) -> Self {
        let last = rates.lrs();
        Self {
            schedulers,
            last,
            epoch: 0,
        }
    }
}

impl Steps for ChainedScheduler {
    fn step(&mut self, rates: &mut dyn Rates) -> Result<(), Error> {
        self.epoch += 1;
        for scheduler in &mut self.schedulers {
            scheduler.step(rates)?;
        }
        self.last = rates.lrs();
        Ok(())
    }

    fn restart(&mut self, rates: &mut dyn Rates) -> Result<(), Error> {
        self.epoch = 0;
        for scheduler in &mut self.schedulers {
            scheduler.restart(rates)?;
        }
        self.last = rates.lrs();
        Ok(())
    }

    fn last_lr(&self) -> &[f64] {
        &self.last
    }

    fn last_epoch(&self) -> u64 {
        self.epoch
    }
}
