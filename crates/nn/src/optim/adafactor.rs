//! Adafactor: the mean of squares as a product of its rows and columns.

use allotrope_tensor::{Error, Problem, Tensor, linalg};
use smallvec::{SmallVec, smallvec};

use super::algorithm::{Algorithm, Slot, TensorUpdate, TensorsUpdated};
use super::options::{ensure, not_negative, options};
use super::step::number;

options! {
    /// How Adafactor goes.
    AdafactorOptions {
        /// The learning rate.
        lr: f64 = 1e-2,
        /// The power by which the share of the newest squares shrinks.
        beta2_decay: f64 = -0.8,
        /// The least mean of squares, as a root (that of the parameter's dtype if none), and the least
        /// size of a parameter.
        eps: (Option<f64>, f64) = (None, 1e-3),
        /// The size from which steps are cut.
        d: f64 = 1.0,
        /// By how much of themselves, times the learning rate, weights shrink.
        weight_decay: f64 = 0.0,
        /// Whether a maximum is looked for.
        maximize: bool = false,
    }
}

/// The root of the mean square of all elements.
fn root_mean_square(x: &Tensor) -> Result<f64, Error> {
    let norm = number(&x.norm(2.0, None, false)?)?;
    Ok(norm / (x.count() as f64).sqrt())
}

/// The mean square along a dimension from the end.
fn mean_squares(x: &Tensor, dim: isize) -> Result<Tensor, Error> {
    let rank = x.rank() as isize;
    let size = x.shape()[(rank + dim) as usize];
    let norm = linalg::vector_norm(x, 2.0, Some(&[dim]), true, None)?;
    norm.square()?.div(size as f64)
}

/// `from` on its way to `to`, by a share of it.
fn lerp(from: &Tensor, to: &Tensor, share: f64) -> Result<Tensor, Error> {
    let way = to.sub(from)?;
    if share < 0.5 {
        from.add(&way.mul(share)?)
    } else {
        to.sub(&way.mul(1.0 - share)?)
    }
}

impl Algorithm for AdafactorOptions {
    fn name(&self) -> &'static str {
        "Adafactor"
    }

    fn check(&self) -> Result<(), Error> {
        let op = "Adafactor";
        not_negative(op, "lr", self.lr)?;
        let decay = self.beta2_decay;
        ensure(op, decay <= 0.0, "beta2_decay", decay, "numbers up to 0")?;
        if let Some(eps) = self.eps.0 {
            not_negative(op, "eps[0]", eps)?;
        }
        not_negative(op, "eps[1]", self.eps.1)?;
        ensure(op, self.d >= 1.0, "d", self.d, "numbers from 1 on")?;
        not_negative(op, "weight_decay", self.weight_decay)
    }

    fn check_parameter(&self, parameter: &Tensor) -> Result<(), Error> {
        match parameter.dtype().is_complex() {
            true => Err(real_only("Adafactor", parameter)),
            false => Ok(()),
        }
    }

    fn slots(&self, shape: &[usize]) -> SmallVec<[Slot; 4]> {
        let rank = shape.len();
        if rank < 2 {
            return smallvec![Slot::zeros("variance")];
        }
        let of_one = |dim: usize| {
            let mut shape = shape.to_vec();
            shape[dim] = 1;
            Some(shape)
        };
        let slot = |name, shape| Slot {
            shape,
            ..Slot::zeros(name)
        };
        smallvec![
            slot("row_var", of_one(rank - 1)),
            slot("col_var", of_one(rank - 2)),
        ]
    }

    fn is_elementwise(&self) -> bool {
        false
    }

    fn update_tensors(&self, at: &TensorUpdate<'_>) -> Result<TensorsUpdated, Error> {
        let step = at.numbers[0];
        let gradient = match self.maximize {
            true => at.gradient.neg()?,
            false => at.gradient.clone(),
        };
        if gradient.count() == 0 {
            let (parameter, state) = (at.parameter.clone(), at.state.to_vec());
            return Ok(TensorsUpdated { parameter, state });
        }
        let least = self.eps.0.unwrap_or(at.epsilon);
        let share = step.powf(self.beta2_decay);
        let size = self.lr.min(1.0 / step.sqrt());
        let size = size * self.eps.1.max(root_mean_square(at.parameter)?);
        let mut parameter = at.parameter.clone();
        if self.weight_decay != 0.0 {
            parameter = parameter.mul(1.0 - self.lr * self.weight_decay)?;
        }
        let (estimate, state) = match at.state {
            [rows, columns] => {
                let rows = lerp(rows, &mean_squares(&gradient, -1)?, share)?;
                let columns = lerp(columns, &mean_squares(&gradient, -2)?, share)?;
                let mean = rows.mean(Some(&[-2]), true, None)?;
                let mean = mean.maximum(least)?;
                let estimate = rows.matmul(&columns)?.div(&mean)?;
                (estimate, vec![rows, columns])
            }
            state => {
                let squares = gradient.square()?;
                let variance = match state.first() {
                    Some(variance) => lerp(variance, &squares, share)?,
                    None => squares,
                };
                (variance.clone(), vec![variance])
            }
        };
        let update = estimate.maximum(least * least)?.rsqrt()?.mul(&gradient)?;
        let cut = (root_mean_square(&update)? / self.d).max(1.0);
        let parameter = parameter.sub(&update.mul(size / cut)?)?;
        Ok(TensorsUpdated { parameter, state })
    }
}

/// Refuses complex parameters.
#[cold]
pub(crate) fn real_only(op: &'static str, parameter: &Tensor) -> Error {
    let (given, set) = (parameter.dtype(), allotrope_tensor::Set::Float);
    Error::new(op, Problem::NotInSet { given, set })
}
