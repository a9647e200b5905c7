//! Sums in the places that weights took numbers from: the way back of windows and of blends, one
//! dimension at a time.

use allotrope_dtype::Error;

use super::operands::signed;
use crate::Tensor;

/// The elements that results of a dimension have at one place of their windows.
pub(super) struct Tap {
    /// The results that have one there, if not all of them.
    pub(super) results: Option<Vec<i64>>,
    /// Where it is, for each of those.
    pub(super) places: Vec<i64>,
    /// How much of it there is, if not all.
    pub(super) weights: Option<Vec<f64>>,
}

/// A tensor of results as one of `size` elements along a dimension, each the sum of what results
/// have of it. Not recorded.
pub(super) fn spread_along(
    x: &Tensor,
    dim: usize,
    size: usize,
    taps: &[Tap],
) -> Result<Tensor, Error> {
    let mut sizes = x.shape().to_vec();
    sizes[dim] = size;
    let mut total = x.new_zeros(&sizes, x.dtype())?;
    let along = dim as isize;
    for tap in taps {
        let mut part = match &tap.results {
            Some(results) => {
                let results = x.new_from_slice(results, &[results.len()])?;
                x.index_select(along, &results)?
            }
            None => x.clone(),
        };
        if let Some(weights) = &tap.weights {
            let mut sizes = vec![1; x.rank()];
            sizes[dim] = weights.len();
            let weights = x.new_from_slice(weights, &[weights.len()])?;
            let weights = weights.reshape(&signed(&sizes))?;
            part = part.mul(&weights.to(x.dtype())?)?;
        }
        let places = x.new_from_slice(&tap.places, &[tap.places.len()])?;
        total = total.index_add(along, &places, &part, 1)?;
    }
    Ok(total)
}
