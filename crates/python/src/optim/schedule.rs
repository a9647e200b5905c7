//! Learning rates: the formulas that the schedulers of Python are made of.

use allotrope_nn::optim::lr_scheduler;
use allotrope_tensor::Error;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::to_value;
use crate::error::raise;

/// The next rate of each group by a schedule, from the last ones and the first ones; the closed form if
/// it is asked for and there is one.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "one call from Python")]
fn schedule(
    name: &str,
    options: &Bound<'_, PyDict>,
    epoch: f64,
    is_initial: bool,
    is_first: bool,
    last: Vec<f64>,
    base: Vec<f64>,
    is_closed: bool,
) -> PyResult<Vec<f64>> {
    let schedule = schedule_of(name, options)?;
    let at = lr_scheduler::Moment {
        epoch,
        is_initial,
        is_first,
    };
    let next = |(group, (last, base)): (usize, (&f64, &f64))| {
        let closed = is_closed
            .then(|| schedule.closed(epoch, group, *base))
            .flatten();
        closed.unwrap_or_else(|| schedule.next(at, group, *last, *base))
    };
    Ok(last.iter().zip(&base).enumerate().map(next).collect())
}

fn schedule_of(
    name: &str,
    options: &Bound<'_, PyDict>,
) -> PyResult<Box<dyn lr_scheduler::NamedSchedule>> {
    let mut schedule = lr_scheduler::schedule(name).map_err(raise)?;
    for (name, value) in options.iter() {
        let name: String = name.extract()?;
        schedule.set(&name, &to_value(&value)?).map_err(raise)?;
    }
    schedule.check().map_err(raise)?;
    Ok(schedule)
}

/// Refuses options of a schedule that have no meaning.
#[pyfunction]
fn check_schedule(name: &str, options: &Bound<'_, PyDict>) -> PyResult<()> {
    schedule_of(name, options).map(drop)
}

/// The number of a cycle, how far up it is, and how high it is in a mode.
#[pyfunction]
fn cyclic(epoch: f64, up: f64, down: f64, mode: &str, gamma: f64) -> (f64, f64, Option<f64>) {
    let mode = lr_scheduler::CyclicMode::parse(mode, gamma);
    let cycle = lr_scheduler::CyclicLR {
        step_size_up: up,
        step_size_down: down,
        mode: mode.unwrap_or_default(),
    };
    let (number, share) = cycle.place(epoch);
    (number, share, mode.map(|mode| mode.height(number, epoch)))
}

/// What goes through three levels once, at a step.
#[pyfunction]
fn one_cycle(
    step: f64,
    total_steps: f64,
    pct_start: f64,
    three_phase: bool,
    is_linear: bool,
    levels: [f64; 3],
) -> PyResult<f64> {
    let cycle = lr_scheduler::OneCycleLR {
        total_steps,
        pct_start,
        three_phase,
        is_linear,
    };
    cycle.check().map_err(raise)?;
    cycle.at(step, levels).map_err(raise)
}

/// Steps since the last restart and until the next, one step later.
#[pyfunction]
fn restart_after(since: f64, length: f64, factor: f64) -> (f64, f64) {
    lr_scheduler::restart_after(since, length, factor)
}

/// The same at a time.
#[pyfunction]
fn restart_at(epoch: f64, first: f64, factor: f64) -> (f64, f64) {
    lr_scheduler::restart_at(epoch, first, factor)
}

/// The next rate on the way to one for averaging.
#[pyfunction]
fn swa_rate(step: f64, anneal_epochs: f64, is_linear: bool, last: f64, swa: f64) -> f64 {
    lr_scheduler::swa_rate(step, anneal_epochs, is_linear, last, swa)
}

/// What counts as better for `ReduceLROnPlateau`.
#[pyclass(module = "allotrope.optim", frozen)]
struct Plateau(lr_scheduler::Plateau);

#[pymethods]
impl Plateau {
    #[new]
    #[allow(clippy::too_many_arguments, reason = "torch's")]
    fn new(
        mode: &str,
        factor: f64,
        patience: f64,
        threshold: f64,
        threshold_mode: &str,
        cooldown: f64,
        eps: f64,
    ) -> PyResult<Self> {
        let unknown = |what, given, accepted: &[&str]| {
            raise(Error::unknown_option(
                "ReduceLROnPlateau",
                what,
                given,
                accepted,
            ))
        };
        let mode = match mode {
            "min" => lr_scheduler::PlateauMode::Min,
            "max" => lr_scheduler::PlateauMode::Max,
            other => return Err(unknown("mode", other, &["min", "max"])),
        };
        let threshold_mode = match threshold_mode {
            "rel" => lr_scheduler::ThresholdMode::Rel,
            "abs" => lr_scheduler::ThresholdMode::Abs,
            other => return Err(unknown("threshold_mode", other, &["rel", "abs"])),
        };
        let plateau = lr_scheduler::Plateau {
            mode,
            factor,
            patience,
            threshold,
            threshold_mode,
            cooldown,
            eps,
        };
        plateau.check().map_err(raise)?;
        Ok(Self(plateau))
    }

    fn is_better(&self, given: f64, best: f64) -> bool {
        self.0.is_better(given, best)
    }

    fn worst(&self) -> f64 {
        self.0.worst()
    }

    fn note(&self, given: f64, best: f64, bad: f64, cooldown: f64) -> (f64, f64, f64, bool) {
        self.0.note(given, best, bad, cooldown)
    }

    fn reduced(&self, lr: f64, least: f64) -> f64 {
        self.0.reduced(lr, least)
    }
}

/// Adds these functions to the module.
pub(super) fn register(part: &Bound<'_, PyModule>) -> PyResult<()> {
    add!(part, schedule check_schedule cyclic one_cycle restart_after restart_at swa_rate);
    part.add_class::<Plateau>()?;
    Ok(())
}
