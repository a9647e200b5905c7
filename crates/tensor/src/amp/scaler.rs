//! Losses scaled up so that gradients of half precision do not vanish, and gradients scaled back.

use allotrope_dtype::{DType, Error, GradientProblem, WeakScalar};
use allotrope_op::{Builder, Program};

use crate::Tensor;
use crate::autograd::no_grad;
use crate::variable::{CheckedRewrite, Rewriting, Rewritten, Variable};

/// How a scale grows and shrinks.
///
/// ```
/// use allotrope_tensor::ScalerOptions;
/// let options = ScalerOptions { init_scale: 8.0, ..Default::default() };
/// assert_eq!(options.init_scale, 8.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScalerOptions {
    /// The first scale.
    pub init_scale: f64,
    /// What it is multiplied with after an interval without overflow.
    pub growth_factor: f64,
    /// What it is multiplied with after an overflow.
    pub backoff_factor: f64,
    /// How many steps without overflow an interval is.
    pub growth_interval: u64,
    /// Whether anything is scaled at all.
    pub enabled: bool,
}

impl Default for ScalerOptions {
    fn default() -> Self {
        Self {
            init_scale: 65536.0,
            growth_factor: 2.0,
            backoff_factor: 0.5,
            growth_interval: 2000,
            enabled: true,
        }
    }
}

/// What a scaler remembers between runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScalerState {
    /// The scale.
    pub scale: f64,
    /// Steps without overflow since it last changed.
    pub growth_tracker: u64,
}

/// What became of a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScalerReport {
    /// How many steps were taken.
    pub steps: u64,
    /// How many were skipped.
    pub skipped: u64,
    /// Which parameter overflowed when a step was last skipped, of those given to `unscale`.
    pub overflowed: Option<usize>,
}

/// Where an optimizer stands between two updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Ready,
    Unscaled,
    Stepped,
}

/// One optimizer, named by a number of the caller's.
#[derive(Clone, Debug)]
struct Seen {
    optimizer: u64,
    stage: Stage,
    overflowed: Option<usize>,
}

/// Scales losses up and gradients back, and skips steps whose gradients overflowed.
///
/// ```
/// use allotrope_dtype::DType;
/// use allotrope_tensor::{GradScaler, ScalerOptions, Tensor};
/// let mut scaler = GradScaler::new(ScalerOptions::default());
/// let x = Tensor::ones(&[2], DType::F32)?.requires_grad_(true)?;
/// scaler.scale(&x.sum(None, false, None)?)?.backward()?;
/// let stepped = scaler.step(0, &[&x], || Ok(()))?.is_some();
/// scaler.update(None)?;
/// assert!(stepped);
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct GradScaler {
    options: ScalerOptions,
    state: ScalerState,
    seen: Vec<Seen>,
    report: ScalerReport,
}

impl GradScaler {
    /// A scaler at its first scale.
    #[must_use]
    pub fn new(options: ScalerOptions) -> Self {
        Self {
            options,
            state: ScalerState {
                scale: options.init_scale,
                growth_tracker: 0,
            },
            seen: Vec::new(),
            report: ScalerReport::default(),
        }
    }

    /// How the scale grows and shrinks.
    #[must_use]
    pub fn options(&self) -> ScalerOptions {
        self.options
    }

    /// Changes how the scale grows and shrinks.
    pub fn set_options(&mut self, options: ScalerOptions) {
        self.options = options;
    }

    /// The scale; one if nothing is scaled.
    #[must_use]
    pub fn get_scale(&self) -> f64 {
        if self.options.enabled {
            self.state.scale
        } else {
            1.0
        }
    }

    /// What to remember.
    #[must_use]
    pub fn state(&self) -> ScalerState {
        self.state
    }

    /// Goes on from what was remembered.
    pub fn set_state(&mut self, state: ScalerState) {
        self.state = state;
    }

    /// What became of the steps so far.
    #[must_use]
    pub fn report(&self) -> &ScalerReport {
        &self.report
    }

    /// A loss times the scale.
    ///
    /// # Errors
    /// A memory error.
    pub fn scale(&self, loss: &Tensor) -> Result<Tensor, Error> {
        if !self.options.enabled {
            return Ok(loss.clone());
        }
        // In float32 at least, where the scale is exact and products do not overflow early.
        if loss.dtype().is_floating_point() && loss.dtype().compute() == DType::F32 {
            return loss.to(DType::F32)?.mul(self.state.scale);
        }
        loss.mul(self.state.scale)
    }

    fn seen(&mut self, optimizer: u64) -> &mut Seen {
        let place = self
            .seen
            .iter()
            .position(|seen| seen.optimizer == optimizer);
        let place = place.unwrap_or_else(|| {
            self.seen.push(Seen {
                optimizer,
                stage: Stage::Ready,
                overflowed: None,
            });
            self.seen.len() - 1
        });
        &mut self.seen[place]
    }

    /// Divides the gradients of an optimizer's parameters by the scale, in place, and looks for the
    /// first that is not finite.
    ///
    /// # Errors
    /// A gradient error if that was done since the last update; a memory error.
    pub fn unscale(&mut self, optimizer: u64, parameters: &[&Tensor]) -> Result<(), Error> {
        if !self.options.enabled {
            return Ok(());
        }
        let refuse = |what| {
            Err(Error::new(
                "unscale_",
                GradientProblem::ScalerOrder { what }.into(),
            ))
        };
        match self.seen(optimizer).stage {
            Stage::Unscaled => {
                return refuse(
                    "unscale_ was already called on this optimizer since the last update",
                );
            }
            Stage::Stepped => return refuse("unscale_ comes before step, and step before update"),
            Stage::Ready => {}
        }
        let _off = no_grad();
        let mut overflowed = None;
        let mut gradients = Vec::with_capacity(parameters.len());
        for (index, parameter) in parameters.iter().enumerate() {
            let Some(variable) = parameter.grad_variable()? else {
                continue;
            };
            if overflowed.is_none() && !is_finite(&variable.value())? {
                overflowed = Some(index);
            }
            gradients.push(match variable.value().dtype().is_complex() {
                true => variable.view(Tensor::view_as_real)?,
                false => variable,
            });
        }
        multiply_all(&gradients, 1.0 / self.state.scale)?;
        let seen = self.seen(optimizer);
        seen.stage = Stage::Unscaled;
        seen.overflowed = overflowed;
        Ok(())
    }

    /// Takes a step of an optimizer, unless a gradient overflowed; gradients are scaled back before,
    /// if they were not. What the step gives, or nothing if it was skipped.
    ///
    /// # Errors
    /// A gradient error if a step was taken since the last update, and what the step fails with.
    pub fn step<T>(
        &mut self,
        optimizer: u64,
        parameters: &[&Tensor],
        step: impl FnOnce() -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        if !self.options.enabled {
            return step().map(Some);
        }
        if self.seen(optimizer).stage == Stage::Stepped {
            let what = "step was already called on this optimizer since the last update";
            return Err(Error::new(
                "step",
                GradientProblem::ScalerOrder { what }.into(),
            ));
        }
        if self.seen(optimizer).stage == Stage::Ready {
            self.unscale(optimizer, parameters)?;
        }
        let overflowed = self.seen(optimizer).overflowed;
        let result = if overflowed.is_none() {
            self.report.steps += 1;
            Some(step()?)
        } else {
            self.report.skipped += 1;
            self.report.overflowed = overflowed;
            None
        };
        self.seen(optimizer).stage = Stage::Stepped;
        Ok(result)
    }

    /// Whether a gradient of an optimizer overflowed since the last update.
    #[must_use]
    pub fn found_inf(&self, optimizer: u64) -> bool {
        let seen = self.seen.iter().find(|seen| seen.optimizer == optimizer);
        seen.is_some_and(|seen| seen.overflowed.is_some())
    }

    /// Shrinks the scale after an overflow, and grows it after an interval without; or sets it.
    ///
    /// # Errors
    /// A gradient error if no gradients were scaled back since the last update.
    pub fn update(&mut self, new_scale: Option<f64>) -> Result<(), Error> {
        if !self.options.enabled {
            return Ok(());
        }
        if let Some(scale) = new_scale {
            self.state.scale = scale;
        } else {
            if !self.seen.iter().any(|seen| seen.stage != Stage::Ready) {
                let what = "update needs a step or unscale_ before it";
                return Err(Error::new(
                    "update",
                    GradientProblem::ScalerOrder { what }.into(),
                ));
            }
            if self.seen.iter().any(|seen| seen.overflowed.is_some()) {
                self.state.scale *= self.options.backoff_factor;
                self.state.growth_tracker = 0;
            } else {
                self.state.growth_tracker += 1;
                if self.state.growth_tracker == self.options.growth_interval {
                    let grown = self.state.scale * self.options.growth_factor;
                    // A scale that float32 cannot hold would make every gradient overflow.
                    if grown <= f64::from(f32::MAX) {
                        self.state.scale = grown;
                    }
                    self.state.growth_tracker = 0;
                }
            }
        }
        self.seen.clear();
        Ok(())
    }
}

/// Multiplies gradients in their own memory, all of them or none.
fn multiply_all(gradients: &[Variable], factor: f64) -> Result<(), Error> {
    let mut batches: Vec<(DType, Program, Vec<Rewriting<'_>>)> = Vec::new();
    for gradient in gradients {
        let dtype = gradient.value().dtype();
        let run = Rewriting {
            targets: [gradient].into_iter().collect(),
            inputs: [Rewritten::Target(0)].into_iter().collect(),
        };
        if let Some((_, _, runs)) = batches.iter_mut().find(|(known, _, _)| *known == dtype) {
            runs.push(run);
            continue;
        }
        let builder = Builder::new(&[dtype]);
        // What is narrow is multiplied in float32, and rounded once.
        let wide = if dtype == DType::F64 {
            dtype
        } else {
            DType::F32
        };
        let program = builder.finish(&[(builder.input(0).to(wide) * factor).to(dtype)]);
        batches.push((dtype, program, vec![run]));
    }
    // bounded: one for each dtype.
    let mut ready = Vec::with_capacity(batches.len());
    for (_, program, runs) in &batches {
        ready.push(Variable::check_rewrite("unscale_", program, runs)?);
    }
    Variable::prepare_rewrites(&mut ready)?;
    ready.into_iter().try_for_each(CheckedRewrite::run)
}

fn is_finite(x: &Tensor) -> Result<bool, Error> {
    let all = x.isfinite()?.all(None, false)?.item()?;
    Ok(all.value() == WeakScalar::Bool(true))
}
