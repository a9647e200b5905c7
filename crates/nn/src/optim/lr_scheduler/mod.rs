//! Learning rates over time.
//!
//! | file | what is in it |
//! |---|---|
//! | `schedule` | [`Schedule`]: the formulas, each a function of time, the rate now and the first one |
//! | `cycle` | formulas of cycles, which momentum goes through too |
//! | `plateau` | rates that shrink when nothing gets better |
//! | `scheduler` | schedulers of an optimizer: one formula, one after the other, all at once |

mod cycle;
mod plateau;
mod schedule;
mod scheduler;

pub use cycle::{CyclicLR, CyclicMode, OneCycleLR, restart_after, restart_at, swa_rate};
pub use plateau::{Plateau, PlateauMode, ReduceLROnPlateau, ThresholdMode};
pub use schedule::{
    ConstantLR, CosineAnnealingLR, ExponentialLR, LambdaLR, LinearLR, Moment, MultiStepLR,
    MultiplicativeLR, NamedSchedule, PolynomialLR, Schedule, StepLR, schedule,
};
pub use scheduler::{
    ChainedScheduler, CosineAnnealingWarmRestarts, Cycle, CycleScheduler, Rates, Scheduler,
    SequentialLR, Steps,
};
