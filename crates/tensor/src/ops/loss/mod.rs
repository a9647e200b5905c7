//! Losses: a formula over tensors, reduced in the same pass. No difference or logarithm is stored.
//!
//! | file | what is in it |
//! |---|---|
//! | `ctc` | the loss of a sequence that spells a shorter one |
//! | `elementwise` | losses of numbers one by one |
//! | `cross_entropy` | losses of classes that indices or probabilities name |
//! | `cross_entropy_gradient` | the gradients of those that indices name |
//! | `class_losses` | the losses of single lines by indices |
//! | `margin` | losses of vectors, and of several labels |

mod class_losses;
mod cross_entropy;
mod cross_entropy_gradient;
mod ctc;
mod elementwise;
mod margin;

use std::str::FromStr;

use allotrope_dtype::{DType, Error};
use allotrope_op::Fold;
use allotrope_op::{Shape, Structured, Var, compute_dtype};

use super::operands::{Working, dtypes_of};
use crate::elementwise::evaluate_one;
use crate::reduce::Plan;
use crate::transfer::gathered;
use crate::{Operand, Tensor};

/// What becomes of the losses.
///
/// ```
/// use allotrope_tensor::{LossReduction, Tensor};
/// let (x, y) = (Tensor::new([1.0, 3.0])?, Tensor::new([0.0, 0.0])?);
/// assert_eq!(x.l1_loss(&y, LossReduction::None)?, Tensor::new([1.0, 3.0])?);
/// assert_eq!(x.l1_loss(&y, LossReduction::Mean)?.to_scalar::<f64>()?, 2.0);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossReduction {
    /// All of them.
    None,
    /// Their mean; NaN of none.
    #[default]
    Mean,
    /// Their sum.
    Sum,
}

impl FromStr for LossReduction {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        match name {
            "none" => Ok(Self::None),
            "mean" => Ok(Self::Mean),
            "sum" => Ok(Self::Sum),
            _ => {
                let accepted = ["none", "mean", "sum"];
                Err(Error::unknown_option("loss", "reduction", name, &accepted))
            }
        }
    }
}

impl LossReduction {
    /// Losses that are not rounded yet, reduced; `total` is what their sum is divided by for a mean.
    fn of_wide<'a>(
        self,
        losses: &'a Tensor,
        total: impl Into<Operand<'a>>,
        result: DType,
    ) -> Result<Tensor, Error> {
        match self {
            Self::None => losses.to(result),
            Self::Sum => losses.sum(None, false, None)?.to(result),
            Self::Mean => {
                let (sum, total): (_, Operand<'a>) = (losses.sum(None, false, None)?, total.into());
                sum.div(total)?.to(result)
            }
        }
    }
}

/// A formula over tensors that are broadcast together, reduced.
fn reduce_formula(
    row: &Structured,
    tensors: &[&Tensor],
    reduction: LossReduction,
    formula: impl for<'b> Fn(&[Var<'b>]) -> Var<'b>,
) -> Result<Tensor, Error> {
    reduce_weighted(row, tensors, reduction, None, formula)
}

/// The same; a mean is over the sum of one of the tensors, if it is said which.
fn reduce_weighted(
    row: &Structured,
    tensors: &[&Tensor],
    reduction: LossReduction,
    weights: Option<usize>,
    formula: impl for<'b> Fn(&[Var<'b>]) -> Var<'b>,
) -> Result<Tensor, Error> {
    if let Some(moved) = gathered(tensors)? {
        let tensors: Vec<&Tensor> = moved.iter().collect();
        return reduce_weighted(row, &tensors, reduction, weights, formula);
    }
    let op = row.name;
    let (working, result) = Working::and_result(row, tensors)?;
    let dtypes = dtypes_of(tensors);
    if reduction == LossReduction::None {
        let program = working.program(&dtypes, |operands| formula(operands).to(result));
        return evaluate_one(op, &program, tensors);
    }
    let shapes: Vec<&Shape> = tensors.iter().map(|tensor| tensor.shape()).collect();
    let shape = Shape::broadcast(op, &shapes)?;
    let plan = Plan::new(op, &tensors[0].expand(&shape)?, None)?;
    let program = working.program(&dtypes, formula);
    let total = plan.fold(op, Fold::Sum, &program, tensors, &shape)?;
    let total = total.squeeze(None)?;
    if reduction == LossReduction::Mean {
        let Some(weights) = weights.and_then(|place| tensors.get(place)) else {
            return total.div(shape.count() as f64)?.to(result);
        };
        // Not rounded either, so that the quotient alone is.
        let weights = weights.to(result)?.to(compute_dtype(result))?;
        return total.div(&weights.sum(None, false, None)?)?.to(result);
    }
    total.to(result)
}
