//! The formulas of learning rates: how the next rate follows from the last one, so that schedulers can
//! be chained, and what it is at any time if nothing else changes it.

use std::f64::consts::PI;
use std::fmt;
use std::sync::Arc;

use allotrope_tensor::{Error, Problem};

use crate::optim::Options;
use crate::optim::options::{ensure, options};

/// When a rate is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// Steps of the scheduler since the beginning.
    pub epoch: f64,
    /// Whether the scheduler is just being made.
    pub is_initial: bool,
    /// Whether it has been stepped once, by being made.
    pub is_first: bool,
}

/// A learning rate over time.
pub trait Schedule: fmt::Debug + Send + Sync {
    /// Refuses options without a meaning.
    ///
    /// # Errors
    /// A value error.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    /// The next rate of a group, from the last one and the one it began with.
    fn next(&self, at: Moment, group: usize, last: f64, base: f64) -> f64;

    /// The rate at a time, if only this schedule changes it; nothing if that cannot be said.
    fn closed(&self, epoch: f64, group: usize, base: f64) -> Option<f64>;
}

options! {
    /// Times `gamma` every `step_size` steps.
    StepLR {
        /// The steps between two changes.
        step_size: f64 = 1.0,
        /// The factor.
        gamma: f64 = 0.1,
    }
}

impl Schedule for StepLR {
    fn check(&self) -> Result<(), Error> {
        let is_accepted = self.step_size >= 1.0;
        ensure(
            "StepLR",
            is_accepted,
            "step_size",
            self.step_size,
            "numbers from 1 on",
        )
    }

    fn next(&self, at: Moment, _: usize, last: f64, _: f64) -> f64 {
        match at.epoch == 0.0 || at.epoch.rem_euclid(self.step_size) != 0.0 {
            true => last,
            false => last * self.gamma,
        }
    }

    fn closed(&self, epoch: f64, _: usize, base: f64) -> Option<f64> {
        Some(base * self.gamma.powf((epoch / self.step_size).floor()))
    }
}

options! {
    /// Times `gamma` at each of some steps; twice where one is named twice.
    MultiStepLR {
        /// The steps.
        milestones: Vec<f64> = Vec::new(),
        /// The factor.
        gamma: f64 = 0.1,
    }
}

impl MultiStepLR {
    fn count(&self, is_counted: impl Fn(f64) -> bool) -> f64 {
        let milestones = self.milestones.iter();
        milestones
            .filter(|milestone| is_counted(**milestone))
            .count() as f64
    }
}

impl Schedule for MultiStepLR {
    fn next(&self, at: Moment, _: usize, last: f64, _: f64) -> f64 {
        match self.count(|milestone| milestone == at.epoch) {
            0.0 => last,
            count => last * self.gamma.powf(count),
        }
    }

    fn closed(&self, epoch: f64, _: usize, base: f64) -> Option<f64> {
        Some(base * self.gamma.powf(self.count(|milestone| milestone <= epoch)))
    }
}

options! {
    /// Times `factor` until `total_iters`.
    ConstantLR {
        /// The factor.
        factor: f64 = 1.0 / 3.0,
        /// The step from which it no longer holds.
        total_iters: f64 = 5.0,
    }
}

impl Schedule for ConstantLR {
    fn check(&self) -> Result<(), Error> {
        let is_accepted = (0.0..=1.0).contains(&self.factor);
        ensure(
            "ConstantLR",
            is_accepted,
            "factor",
            self.factor,
            "numbers from 0 to 1",
        )
    }

    fn next(&self, at: Moment, _: usize, last: f64, _: f64) -> f64 {
        if at.epoch == 0.0 {
            last * self.factor
        } else if at.epoch != self.total_iters {
            last
        } else {
            last * (1.0 / self.factor)
        }
    }

    fn closed(&self, epoch: f64, _: usize, base: f64) -> Option<f64> {
        let is_over = f64::from(u8::from(epoch >= self.total_iters));
        Some(base * (self.factor + is_over * (1.0 - self.factor)))
    }
}

options! {
    /// Times a factor that goes from one number to another in `total_iters` steps.
    LinearLR {
        /// The factor at first.
        start_factor: f64 = 1.0 / 3.0,
        /// The factor at last.
        end_factor: f64 = 1.0,
        /// The steps between.
        total_iters: f64 = 5.0,
    }
}

impl Schedule for LinearLR {
    fn check(&self) -> Result<(), Error> {
        let (start, end) = (self.start_factor, self.end_factor);
        let is_accepted = start > 0.0 && start <= 1.0;
        let accepted = "numbers above 0 and up to 1";
        ensure("LinearLR", is_accepted, "start_factor", start, accepted)?;
        let is_accepted = (0.0..=1.0).contains(&end);
        ensure(
            "LinearLR",
            is_accepted,
            "end_factor",
            end,
            "numbers from 0 to 1",
        )
    }

    fn next(&self, at: Moment, _: usize, last: f64, _: f64) -> f64 {
        if at.epoch == 0.0 {
            return last * self.start_factor;
        }
        if at.is_initial || at.epoch > self.total_iters {
            return last;
        }
        let way = self.end_factor - self.start_factor;
        last * (1.0 + way / (self.total_iters * self.start_factor + (at.epoch - 1.0) * way))
    }

    fn closed(&self, epoch: f64, _: usize, base: f64) -> Option<f64> {
        let way = self.end_factor - self.start_factor;
        let done = epoch.min(self.total_iters);
        Some(base * (self.start_factor + way * done / self.total_iters))
    }
}

options! {
    /// Times `gamma` every step.
    ExponentialLR {
        /// The factor.
        gamma: f64 = 1.0,
    }
}

impl Schedule for ExponentialLR {
    fn next(&self, at: Moment, _: usize, last: f64, _: f64) -> f64 {
        if at.is_initial {
            last
        } else {
            last * self.gamma
        }
    }

    fn closed(&self, epoch: f64, _: usize, base: f64) -> Option<f64> {
        Some(base * self.gamma.powf(epoch))
    }
}

options! {
    /// To zero in `total_iters` steps, by a power of what is left of them.
    PolynomialLR {
        /// The steps.
        total_iters: f64 = 5.0,
        /// The power.
        power: f64 = 1.0,
    }
}

impl Schedule for PolynomialLR {
    fn next(&self, at: Moment, _: usize, last: f64, _: f64) -> f64 {
        if at.is_initial || at.epoch > self.total_iters {
            return last;
        }
        let left = |epoch: f64| 1.0 - epoch / self.total_iters;
        last * (left(at.epoch) / left(at.epoch - 1.0)).powf(self.power)
    }

    fn closed(&self, epoch: f64, _: usize, base: f64) -> Option<f64> {
        let done = epoch.min(self.total_iters);
        Some(base * (1.0 - done / self.total_iters).powf(self.power))
    }
}

options! {
    /// Down to `eta_min` and up again along a cosine, `T_max` steps each way.
    #[allow(non_snake_case, reason = "torch's names")]
    CosineAnnealingLR {
        /// The steps of one way.
        T_max: f64 = 1.0,
        /// The least rate.
        eta_min: f64 = 0.0,
    }
}

impl Schedule for CosineAnnealingLR {
    fn check(&self) -> Result<(), Error> {
        let is_accepted = self.T_max > 0.0;
        ensure(
            "CosineAnnealingLR",
            is_accepted,
            "T_max",
            self.T_max,
            "numbers above 0",
        )
    }

    fn next(&self, at: Moment, group: usize, last: f64, base: f64) -> f64 {
        let (most, least) = (self.T_max, self.eta_min);
        if at.is_initial {
            return last;
        }
        if at.is_first && at.epoch > 0.0 {
            return self.closed(at.epoch, group, base).unwrap_or(last);
        }
        if (at.epoch - 1.0 - most).rem_euclid(2.0 * most) == 0.0 {
            return last + (base - least) * (1.0 - (PI / most).cos()) / 2.0;
        }
        let height = |epoch: f64| 1.0 + (PI * epoch / most).cos();
        height(at.epoch) / height(at.epoch - 1.0) * (last - least) + least
    }

    fn closed(&self, epoch: f64, _: usize, base: f64) -> Option<f64> {
        let least = self.eta_min;
        Some(least + (base - least) * (1.0 + (PI * epoch / self.T_max).cos()) / 2.0)
    }
}

/// A factor for each step.
type Factor = Arc<dyn Fn(u64) -> f64 + Send + Sync>;

/// The first rate times a function of the step.
///
/// ```
/// use allotrope_nn::optim::lr_scheduler::{LambdaLR, Scheduler, Steps};
/// use allotrope_nn::optim::{SGD, SGDOptions};
/// use allotrope_nn::{DType, Parameter, Tensor};
/// let weight = Parameter::new(Tensor::ones(1, DType::F32)?)?;
/// let mut optimizer = SGD::new([weight], SGDOptions { lr: 1.0, ..Default::default() })?;
/// let mut scheduler = Scheduler::new(LambdaLR::new(|epoch| 1.0 / (1.0 + epoch as f64)), &mut optimizer)?;
/// scheduler.step(&mut optimizer)?;
/// assert_eq!(optimizer.lrs(), [0.5]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone)]
pub struct LambdaLR(Vec<Factor>);

/// The last rate times a function of the step.
///
/// ```
/// use allotrope_nn::optim::lr_scheduler::{MultiplicativeLR, Scheduler, Steps};
/// use allotrope_nn::optim::{SGD, SGDOptions};
/// use allotrope_nn::{DType, Parameter, Tensor};
/// let weight = Parameter::new(Tensor::ones(1, DType::F32)?)?;
/// let mut optimizer = SGD::new([weight], SGDOptions { lr: 1.0, ..Default::default() })?;
/// let mut scheduler = Scheduler::new(MultiplicativeLR::new(|_| 0.5), &mut optimizer)?;
/// scheduler.step(&mut optimizer)?;
/// scheduler.step(&mut optimizer)?;
/// assert_eq!(optimizer.lrs(), [0.25]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone)]
pub struct MultiplicativeLR(Vec<Factor>);

macro_rules! by_function {
    ($($name:ident)*) => {$(
        impl $name {
            /// One function for all groups.
            #[must_use]
            pub fn new(factor: impl Fn(u64) -> f64 + Send + Sync + 'static) -> Self {
                Self(vec![Arc::new(factor)])
            }

            /// A function for each group; the last one for those that follow.
            #[must_use]
            pub fn of_groups(factors: Vec<Factor>) -> Self {
                Self(factors)
            }

            fn factor(&self, epoch: f64, group: usize) -> f64 {
                let factor = self.0.get(group).or(self.0.last());
                factor.map_or(1.0, |factor| factor(epoch.max(0.0) as u64))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({} functions)"), self.0.len())
            }
        }
    )*};
}
by_function! { LambdaLR MultiplicativeLR }

impl Schedule for LambdaLR {
    fn next(&self, at: Moment, group: usize, _: f64, base: f64) -> f64 {
        base * self.factor(at.epoch, group)
    }

    fn closed(&self, epoch: f64, group: usize, base: f64) -> Option<f64> {
        Some(base * self.factor(epoch, group))
    }
}

impl Schedule for MultiplicativeLR {
    fn next(&self, at: Moment, group: usize, last: f64, _: f64) -> f64 {
        if at.is_initial {
            last
        } else {
            last * self.factor(at.epoch, group)
        }
    }

    fn closed(&self, _: f64, _: usize, _: f64) -> Option<f64> {
        None
    }
}

/// A schedule whose options can be set by name.
pub trait NamedSchedule: Schedule + Options {}
impl<T: Schedule + Options> NamedSchedule for T {}

/// How a schedule with its default options is made.
type Make = fn() -> Box<dyn NamedSchedule>;

/// THE table of schedules that are one formula.
const SCHEDULES: &[(&str, Make)] = &[
    ("StepLR", || Box::<StepLR>::default()),
    ("MultiStepLR", || Box::<MultiStepLR>::default()),
    ("ConstantLR", || Box::<ConstantLR>::default()),
    ("LinearLR", || Box::<LinearLR>::default()),
    ("ExponentialLR", || Box::<ExponentialLR>::default()),
    ("PolynomialLR", || Box::<PolynomialLR>::default()),
    ("CosineAnnealingLR", || Box::<CosineAnnealingLR>::default()),
];

/// A schedule with its default options, by name.
///
/// # Errors
/// A value error that names those there are.
pub fn schedule(name: &str) -> Result<Box<dyn NamedSchedule>, Error> {
    match SCHEDULES.iter().find(|(known, _)| *known == name) {
        Some((_, make)) => Ok(make()),
        None => {
            let accepted: Vec<&str> = SCHEDULES.iter().map(|(name, _)| *name).collect();
            let problem = Problem::UnknownOption {
                what: "schedule",
                given: name.to_owned(),
                accepted: accepted.join(", "),
            };
            Err(Error::new("lr_scheduler", problem))
        }
    }
}
