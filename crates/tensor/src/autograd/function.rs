//! Operations of the user's own, and computations that are done again on the way back.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use allotrope_dtype::{DType, Error};
use smallvec::SmallVec;

use super::engine::{BackwardOptions, backward};
use super::mode::{enable_grad, no_grad};
use super::record::with_rule_of;
use crate::Tensor;
use crate::amp::{autocast_setting, enter, is_autocast_enabled};

/// An operation with a derivative of its own.
///
/// ```
/// use allotrope_dtype::{DType, Error};
/// use allotrope_tensor::{Function, Tensor, apply_function};
/// /// A step up, whose gradient is passed through.
/// struct Step;
/// impl Function for Step {
///     fn name(&self) -> &'static str {
///         "step"
///     }
///     fn forward(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, Error> {
///         Ok(vec![inputs[0].ge(0)?.to(inputs[0].dtype())?])
///     }
///     fn backward(&self, gradients: &[Option<Tensor>], _: &[bool]) -> Result<Vec<Option<Tensor>>, Error> {
///         Ok(vec![gradients[0].clone()])
///     }
/// }
/// let x = Tensor::from_slice(&[-1.0_f32, 2.0], &[2])?.requires_grad_(true)?;
/// let y = apply_function(Step, &[&x])?.remove(0);
/// y.sum(None, false, None)?.backward()?;
/// assert_eq!(x.grad().map(|g| g.to_vec::<f32>()).transpose()?, Some(vec![1.0, 1.0]));
/// # Ok::<(), Error>(())
/// ```
pub trait Function: Send + Sync + 'static {
    /// The name, for messages.
    fn name(&self) -> &'static str;

    /// The results for inputs. Nothing in here is recorded.
    ///
    /// # Errors
    /// What the operation fails with.
    fn forward(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, Error>;

    /// One gradient per input, where it has one, from those of the results that have one;
    /// `wanted` says which inputs want theirs.
    ///
    /// # Errors
    /// What the operation fails with.
    fn backward(
        &self,
        gradients: &[Option<Tensor>],
        wanted: &[bool],
    ) -> Result<Vec<Option<Tensor>>, Error>;
}

/// The results of an operation of the user's own, with its derivative.
///
/// # Errors
/// What the operation fails with; on the way back a gradient error for gradients of another number
/// or shape than the inputs.
pub fn apply_function(function: impl Function, inputs: &[&Tensor]) -> Result<Vec<Tensor>, Error> {
    let plain: Vec<Tensor> = inputs.iter().map(|input| input.detach()).collect();
    let results = {
        let _off = no_grad();
        function.forward(&plain.iter().collect::<Vec<_>>())?
    };
    record_function(
        function.name(),
        inputs,
        results,
        move |gradients, wanted| function.backward(gradients, wanted),
    )
}

/// Gives results the derivative that a function computes: from the gradients of the results, and
/// which inputs want theirs, one gradient per input.
///
/// # Errors
/// A memory error.
pub fn record_function(
    op: &'static str,
    inputs: &[&Tensor],
    results: Vec<Tensor>,
    derivative: impl Fn(&[Option<Tensor>], &[bool]) -> Result<Vec<Option<Tensor>>, Error>
    + Send
    + Sync
    + 'static,
) -> Result<Vec<Tensor>, Error> {
    let results = results.iter().map(Tensor::detach).collect();
    let results = with_rule_of(op, inputs, results, move |pass| {
        derivative(pass.gradients, pass.wanted).map(SmallVec::from_vec)
    })?;
    Ok(results.into_vec())
}

/// A name that lives as long as the process, once for all who use it.
#[must_use]
pub fn lasting_name(name: &str) -> &'static str {
    static NAMES: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let names = names.get_or_insert_default();
    if let Some(known) = names.get(name) {
        return known;
    }
    let lasting: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(lasting);
    lasting
}

/// The results of a computation that keeps nothing but its inputs, and is done again when gradients
/// come back. What else it uses gets its gradients too, if it is a leaf and they are added up.
///
/// ```
/// use allotrope_dtype::DType;
/// use allotrope_tensor::{Tensor, checkpoint};
/// let x = Tensor::ones(&[3], DType::F32)?.requires_grad_(true)?;
/// let y = checkpoint(|x| Ok(vec![x[0].exp()?.tanh()?]), &[&x])?.remove(0);
/// y.sum(None, false, None)?.backward()?;
/// assert!(x.grad().is_some());
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
///
/// # Errors
/// What the computation fails with.
pub fn checkpoint(
    compute: impl Fn(&[Tensor]) -> Result<Vec<Tensor>, Error> + Send + Sync + 'static,
    inputs: &[&Tensor],
) -> Result<Vec<Tensor>, Error> {
    let kept: Vec<Tensor> = inputs.iter().map(|input| input.detach()).collect();
    let required: Vec<bool> = inputs.iter().map(|input| input.requires_grad()).collect();
    let results = {
        let _off = no_grad();
        compute(&kept)?
    };
    // What the computation uses besides its inputs may require a gradient when they do not.
    let like = results.first().or(kept.first());
    let anchor = match like {
        Some(like) => like.new_zeros(&[], DType::F32)?,
        None => return Ok(results),
    };
    let anchor = anchor.requires_grad_(true)?;
    let all: Vec<&Tensor> = inputs.iter().copied().chain([&anchor]).collect();
    let setting = is_autocast_enabled().then(autocast_setting);
    record_function("checkpoint", &all, results, move |gradients, _| {
        let _on = enable_grad();
        // In the precision that it was computed in the first time.
        let _cast = setting.clone().map(enter).transpose()?;
        let leaves = kept.iter().zip(&required);
        // bounded: as many as the caller lists.
        let leaves = leaves.map(|(x, required)| x.clone().requires_grad_(*required));
        // bounded: as many as the caller lists.
        let leaves = leaves.collect::<Result<Vec<Tensor>, Error>>()?;
        let results = compute(&leaves)?;
        let pairs = results.iter().zip(gradients);
        let (results, gradients): (Vec<&Tensor>, Vec<Option<&Tensor>>) = pairs
            .filter(|(result, gradient)| result.requires_grad() && gradient.is_some())
            .map(|(result, gradient)| (result, gradient.as_ref()))
            .unzip();
        if !results.is_empty() {
            backward(&results, &gradients, None, BackwardOptions::default())?;
        }
        let found = leaves.iter().map(Tensor::grad);
        Ok(found.chain([None]).collect())
    })
}
