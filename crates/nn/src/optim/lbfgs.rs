//! L-BFGS: steps by an estimate of the curvature, along which the loss is evaluated again and again.

use allotrope_tensor::{
    DType, Error, Problem, Tensor, Variable, autocast, autocast_setting, no_grad,
};

use super::options::{not_negative, options};
use super::precision::computing;
use super::step::number;

options! {
    /// How L-BFGS goes.
    LBFGSOptions {
        /// The learning rate.
        lr: f64 = 1.0,
        /// The most iterations of a step.
        max_iter: usize = 20,
        /// The most evaluations of a step; a quarter more than iterations if it is not said.
        max_eval: Option<usize> = None,
        /// The largest gradient that counts as none.
        tolerance_grad: f64 = 1e-7,
        /// The least progress.
        tolerance_change: f64 = 1e-9,
        /// How many steps the curvature is estimated from.
        history_size: usize = 100,
        /// How the length of a step is found: `strong_wolfe`, or not at all.
        line_search_fn: Option<LineSearch> = None,
        /// Whether a maximum is looked for.
        maximize: bool = false,
    }
}

/// How the length of a step is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineSearch {
    /// By the strong Wolfe conditions.
    StrongWolfe,
}

impl super::OptionKind for LineSearch {
    const ACCEPTED: &'static str = "None and 'strong_wolfe'";
    fn to_value(&self) -> super::OptionValue {
        super::OptionValue::Text("strong_wolfe".to_owned())
    }
    fn from_value(value: &super::OptionValue) -> Option<Self> {
        match value {
            super::OptionValue::Text(name) if name == "strong_wolfe" => Some(Self::StrongWolfe),
            _ => None,
        }
    }
}

impl LBFGSOptions {
    /// Refuses options without a meaning.
    ///
    /// # Errors
    /// A value error.
    pub fn check(&self) -> Result<(), Error> {
        not_negative("LBFGS", "lr", self.lr)
    }
}

/// What L-BFGS remembers; the names are torch's.
#[derive(Clone, Debug, Default)]
pub struct LBFGSState {
    /// Evaluations so far.
    pub func_evals: u64,
    /// Iterations so far.
    pub n_iter: u64,
    /// The last direction.
    pub d: Option<Tensor>,
    /// How far it was gone.
    pub t: f64,
    /// Differences of gradients.
    pub old_dirs: Vec<Tensor>,
    /// Differences of parameters.
    pub old_stps: Vec<Tensor>,
    /// One over their products.
    pub ro: Vec<f64>,
    /// The scale of the curvature.
    pub h_diag: f64,
    /// The gradient before the last step.
    pub prev_flat_grad: Option<Tensor>,
    /// The loss before it.
    pub prev_loss: f64,
}

impl LBFGSState {
    /// Refuses a history whose parts are not of one length, or vectors of another one than that of all
    /// parameters.
    fn check(&self, parameters: &[&Variable]) -> Result<(), Error> {
        let parts = |x: &Tensor| x.count() * (1 + usize::from(x.dtype().is_complex()));
        let count: usize = parameters.iter().map(|p| parts(&p.value())).sum();
        let lengths = [self.old_stps.len(), self.ro.len()];
        if let Some(from) = lengths.into_iter().find(|len| *len != self.old_dirs.len()) {
            let to = self.old_dirs.len();
            return Err(Error::new("LBFGS", Problem::LengthMismatch { from, to }));
        }
        let vectors = self.old_dirs.iter().chain(&self.old_stps);
        for vector in vectors.chain(&self.d).chain(&self.prev_flat_grad) {
            if vector.shape()[..] != [count] {
                let problem = Problem::WrongShape {
                    what: "state",
                    given: vector.shape().to_vec(),
                    accepted: format!("[{count}]"),
                };
                return Err(Error::new("LBFGS", problem));
            }
        }
        Ok(())
    }
}

/// Parameters as one vector.
struct Flat<'a> {
    parameters: &'a [&'a Variable],
    dtype: DType,
    maximize: bool,
}

fn dot(a: &Tensor, b: &Tensor) -> Result<f64, Error> {
    number(&a.mul(b)?.sum(None, false, None)?)
}

fn largest(x: &Tensor) -> Result<f64, Error> {
    number(&x.abs()?.amax(None, false)?)
}

impl Flat<'_> {
    fn gradient(&self) -> Result<Tensor, Error> {
        let mut parts = Vec::with_capacity(self.parameters.len());
        for parameter in self.parameters {
            let value = parameter.value();
            let gradient = match value.grad() {
                Some(gradient) => gradient.detach(),
                None => value.detach().zeros_like()?,
            };
            let gradient = match gradient.dtype().is_complex() {
                true => gradient.view_as_real()?,
                false => gradient,
            };
            parts.push(gradient.to(self.dtype)?.reshape(&[-1])?);
        }
        let gradient = Tensor::cat(&parts.iter().collect::<Vec<_>>(), 0)?;
        if self.maximize {
            gradient.neg()
        } else {
            Ok(gradient)
        }
    }

    /// Goes along a direction.
    fn add(&self, length: f64, direction: &Tensor) -> Result<(), Error> {
        let mut offset = 0;
        let mut values = Vec::with_capacity(self.parameters.len());
        for parameter in self.parameters {
            let value = parameter.value().detach();
            let (dtype, is_complex) = (value.dtype(), value.dtype().is_complex());
            let value = if is_complex {
                value.view_as_real()?
            } else {
                value
            };
            let count = value.count();
            let sizes: Vec<isize> = value.shape().iter().map(|size| *size as isize).collect();
            let part = direction.narrow(0, offset as isize, count)?;
            let way = part.reshape(&sizes[..])?.mul(length)?;
            let moved = value.to(self.dtype)?.add(&way)?.to(dtype.to_real())?;
            values.push(if is_complex {
                moved.view_as_complex()?
            } else {
                moved
            });
            offset += count;
        }
        self.set(&values)
    }

    fn values(&self) -> Vec<Tensor> {
        self.parameters.iter().map(|p| p.value().detach()).collect()
    }

    fn set(&self, values: &[Tensor]) -> Result<(), Error> {
        let writes = self.parameters.iter().copied().zip(values.iter().cloned());
        let writes: Vec<(&Variable, Tensor)> = writes.collect();
        Variable::write_all("step", &writes).map(drop)
    }
}

/// Takes a step: evaluates the loss, whose gradients the function leaves behind, as often as is needed.
///
/// # Errors
/// What the function fails with; a value error for options without a meaning or state of other lengths,
/// a memory error. Then parameters and state are what they were.
pub fn lbfgs_step<E: From<Error>>(
    options: &LBFGSOptions,
    parameters: &[&Variable],
    state: &mut LBFGSState,
    evaluate: impl FnMut() -> Result<f64, E>,
) -> Result<(), E> {
    options.check()?;
    state.check(parameters)?;
    let former = state.clone();
    let values: Vec<Tensor> = parameters.iter().map(|p| p.value().detach()).collect();
    let stepped = iterate(options, parameters, state, evaluate);
    if stepped.is_err() {
        *state = former;
        let writes: Vec<(&Variable, Tensor)> = parameters.iter().copied().zip(values).collect();
        Variable::write_all("step", &writes)?;
    }
    stepped
}

fn iterate<E: From<Error>>(
    options: &LBFGSOptions,
    parameters: &[&Variable],
    state: &mut LBFGSState,
    mut evaluate: impl FnMut() -> Result<f64, E>,
) -> Result<(), E> {
    let dtypes = parameters.iter().map(|p| p.value().dtype());
    let flat = Flat {
        parameters,
        dtype: computing(dtypes),
        maximize: options.maximize,
    };
    let sign = if options.maximize { -1.0 } else { 1.0 };
    let mut loss = sign * evaluate()?;
    let mut evaluate = || evaluate().map(|loss| sign * loss);
    state.func_evals += 1;
    let mut evaluations = 1;
    let max_eval = options
        .max_eval
        .unwrap_or_else(|| options.max_iter.saturating_mul(5) / 4);
    let off =
        || -> Result<_, Error> { Ok((no_grad(), autocast(autocast_setting().dtype, false)?)) };
    let mut gradient = {
        let _off = off()?;
        flat.gradient()?
    };
    if gradient.count() == 0 || largest(&gradient)? <= options.tolerance_grad {
        return Ok(());
    }
    let mut iterations = 0;
    while iterations < options.max_iter {
        iterations += 1;
        state.n_iter += 1;
        let guard = off()?;
        let direction = direction(options, state, &gradient)?;
        state.prev_flat_grad = Some(gradient.clone());
        state.prev_loss = loss;
        state.t = match state.n_iter {
            1 => (1.0 / number(&gradient.abs()?.sum(None, false, None)?)?).min(1.0) * options.lr,
            _ => options.lr,
        };
        state.d = Some(direction.clone());
        let slope = dot(&gradient, &direction)?;
        if slope > -options.tolerance_change {
            break;
        }
        let mut used = 0;
        let mut is_optimal = false;
        if options.line_search_fn.is_some() {
            let start = flat.values();
            drop(guard);
            let mut at = |length: f64| -> Result<(f64, Tensor), E> {
                {
                    let _off = off()?;
                    flat.add(length, &direction)?;
                }
                let loss = evaluate()?;
                let _off = off()?;
                let gradient = flat.gradient()?;
                flat.set(&start)?;
                Ok((loss, gradient))
            };
            let most = max_eval.saturating_sub(evaluations);
            let from = (loss, gradient, slope);
            let found = strong_wolfe(&mut at, state.t, &direction, from, most);
            (loss, gradient, state.t, used) = found?;
            let _off = off()?;
            flat.add(state.t, &direction)?;
            is_optimal = largest(&gradient)? <= options.tolerance_grad;
        } else {
            flat.add(state.t, &direction)?;
            drop(guard);
            if iterations != options.max_iter {
                loss = evaluate()?;
                let _off = off()?;
                gradient = flat.gradient()?;
                is_optimal = largest(&gradient)? <= options.tolerance_grad;
                used = 1;
            }
        }
        evaluations += used;
        state.func_evals += used as u64;
        let _off = off()?;
        let is_over = iterations == options.max_iter
            || evaluations >= max_eval
            || is_optimal
            || largest(&direction.mul(state.t)?)? <= options.tolerance_change
            || (loss - state.prev_loss).abs() < options.tolerance_change;
        if is_over {
            break;
        }
    }
    Ok(())
}

/// The direction of an iteration: the gradient times an estimate of the inverse curvature.
fn direction(
    options: &LBFGSOptions,
    state: &mut LBFGSState,
    gradient: &Tensor,
) -> Result<Tensor, Error> {
    let (Some(last), Some(former)) = (&state.d, &state.prev_flat_grad) else {
        state.h_diag = 1.0;
        return gradient.neg();
    };
    let y = gradient.sub(former)?;
    let s = last.mul(state.t)?;
    let product = dot(&y, &s)?;
    if product > 1e-10 {
        if state.old_dirs.len() >= options.history_size.max(1) {
            state.old_dirs.remove(0);
            state.old_stps.remove(0);
            state.ro.remove(0);
        }
        state.h_diag = product / dot(&y, &y)?;
        state.old_dirs.push(y);
        state.old_stps.push(s);
        state.ro.push(1.0 / product);
    }
    let history = state.old_dirs.iter().zip(&state.old_stps).zip(&state.ro);
    let history: Vec<_> = history.map(|((y, s), ro)| (y, s, *ro)).collect();
    let mut q = gradient.neg()?;
    let mut shares = Vec::with_capacity(history.len());
    for (y, s, ro) in history.iter().rev() {
        let share = dot(s, &q)? * ro;
        q = q.sub(&y.mul(share)?)?;
        shares.push(share);
    }
    let mut r = q.mul(state.h_diag)?;
    for ((y, s, ro), share) in history.iter().zip(shares.iter().rev()) {
        let rest = share - dot(y, &r)? * ro;
        r = r.add(&s.mul(rest)?)?;
    }
    Ok(r)
}

/// A point along the direction.
#[derive(Clone)]
struct Point {
    length: f64,
    loss: f64,
    gradient: Tensor,
    slope: f64,
}

/// The least of the cubic through two points, within bounds.
fn cubic(a: (f64, f64, f64), b: (f64, f64, f64), bounds: Option<(f64, f64)>) -> f64 {
    let ((x1, f1, g1), (x2, f2, g2)) = (a, b);
    let (low, high) = bounds.unwrap_or((x1.min(x2), x1.max(x2)));
    let d1 = g1 + g2 - 3.0 * (f1 - f2) / (x1 - x2);
    let square = d1 * d1 - g1 * g2;
    if square < 0.0 || square.is_nan() {
        return f64::midpoint(low, high);
    }
    let d2 = square.sqrt();
    let least = if x1 <= x2 {
        x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2.0 * d2))
    } else {
        x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2.0 * d2))
    };
    least.max(low).min(high)
}

impl Point {
    fn triple(&self) -> (f64, f64, f64) {
        (self.length, self.loss, self.slope)
    }
}

/// The loss, the gradient and the length where the strong Wolfe conditions hold, and how many
/// evaluations it took.
fn strong_wolfe<E: From<Error>>(
    at: &mut impl FnMut(f64) -> Result<(f64, Tensor), E>,
    length: f64,
    direction: &Tensor,
    (loss, gradient, slope): (f64, Tensor, f64),
    most: usize,
) -> Result<(f64, Tensor, f64, usize), E> {
    const DECREASE: f64 = 1e-4;
    const CURVATURE: f64 = 0.9;
    const LEAST: f64 = 1e-9;
    let norm = largest(direction)?;
    let mut look = |length: f64| -> Result<Point, E> {
        let (loss, gradient) = at(length)?;
        let slope = dot(&gradient, direction)?;
        Ok(Point {
            length,
            loss,
            gradient,
            slope,
        })
    };
    let start = Point {
        length: 0.0,
        loss,
        gradient,
        slope,
    };
    let is_high = |point: &Point| point.loss > loss + DECREASE * point.length * slope;
    let is_flat = |point: &Point| point.slope.abs() <= -CURVATURE * slope;
    let (mut before, mut now) = (start.clone(), look(length)?);
    let mut used = 1;
    let mut iterations = 0;
    let mut bracket = None;
    while iterations < most {
        if is_high(&now) || (iterations > 1 && now.loss >= before.loss) {
            bracket = Some((before.clone(), now.clone()));
            break;
        }
        if is_flat(&now) {
            return Ok((now.loss, now.gradient, now.length, used));
        }
        if now.slope >= 0.0 {
            bracket = Some((before.clone(), now.clone()));
            break;
        }
        let bounds = (
            now.length + 0.01 * (now.length - before.length),
            now.length * 10.0,
        );
        let next = cubic(before.triple(), now.triple(), Some(bounds));
        before = now;
        now = look(next)?;
        used += 1;
        iterations += 1;
    }
    let (mut low, mut high) = bracket.unwrap_or((start, now));
    // In the order of lengths as they were found: which of them is low is told by the loss.
    let mut is_swapped = low.loss > high.loss;
    if is_swapped {
        std::mem::swap(&mut low, &mut high);
    }
    let mut was_slow = false;
    while iterations < most {
        let (first, second) = if is_swapped {
            (&high, &low)
        } else {
            (&low, &high)
        };
        if (second.length - first.length).abs() * norm < LEAST {
            break;
        }
        let mut next = cubic(first.triple(), second.triple(), None);
        let (least, largest) = (
            first.length.min(second.length),
            first.length.max(second.length),
        );
        let margin = 0.1 * (largest - least);
        if (largest - next).min(next - least) < margin {
            if was_slow || next >= largest || next <= least {
                next = match (next - largest).abs() < (next - least).abs() {
                    true => largest - margin,
                    false => least + margin,
                };
                was_slow = false;
            } else {
                was_slow = true;
            }
        } else {
            was_slow = false;
        }
        let found = look(next)?;
        used += 1;
        iterations += 1;
        if is_high(&found) || found.loss >= low.loss {
            high = found;
            if low.loss > high.loss {
                std::mem::swap(&mut low, &mut high);
                is_swapped = !is_swapped;
            }
        } else {
            let is_done = is_flat(&found);
            if !is_done && found.slope * (high.length - low.length) >= 0.0 {
                high = low;
            }
            low = found;
            if is_done {
                break;
            }
        }
    }
    Ok((low.loss, low.gradient, low.length, used))
}
