//! How many elements fall into each bin.

use allotrope_tensor::{Edges, Tensor};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::{Any, run_several, tuple};
use crate::arguments::{Int, either, size};
use crate::create;
use crate::operand::run;
use crate::tensor::PyTensor;

forms! {
    /// How often each index from 0 on occurs in a vector, or the sums of the weights that go with
    /// them: int64 or uint64 for integers.
    ///
    /// >>> al.tensor([1, 3, 1]).bincount()
    /// tensor([0, 2, 0, 1])
    bincount[weights=None, minlength=Int(0)](
        weights: Option<Any<'_, '_>>,
        minlength: Int
    ) -> PyTensor |py, op, x| {
        let weights = weights.map(|weights| create::operand(op, weights)).transpose()?;
        let minlength = size(op, minlength.0)?;
        run(py, x.count(), || x.bincount(weights.as_ref(), minlength))
    };

    /// How many elements fall into each of bins of one width between min and max, which are the least
    /// and the greatest element if they are equal. Elements outside are left out.
    ///
    /// >>> al.tensor([1., 2., 1.]).histc(bins=4, min=0, max=3)
    /// tensor([0., 2., 1., 0.])
    histc[bins=Int(100), min=0.0, max=0.0](bins: Int, min: f64, max: f64) -> PyTensor |py, op, x| {
        let bins = size(op, bins.0)?;
        run(py, x.count(), || x.histc(bins, min, max))
    };

    /// How many elements fall into each bin, or the sums of their weights, and the edges of the bins:
    /// as many as given between the bounds of range or the least and the greatest element, or those
    /// between the edges of a sorted vector. With density=True the integral over the bins is 1.
    ///
    /// >>> al.tensor([1., 2., 1.]).histogram(4, range=(0., 3.))
    /// (tensor([0., 2., 1., 0.]), tensor([0.0000, 0.7500, 1.5000, 2.2500, 3.0000]))
    histogram[bins, *, range=None, weight=None, weights=None, density=false](
        bins: Any<'_, '_>,
        range: Option<(f64, f64)>,
        weight: Option<Any<'_, '_>>,
        weights: Option<Any<'_, '_>>,
        density: bool
    ) -> Py<PyTuple> |py, op, x| {
        let weights = either(op, weight, weights)?;
        let weights = weights.map(|weights| create::operand(op, weights)).transpose()?;
        let given: Tensor;
        let edges = match bins.extract::<Int>() {
            Ok(Int(bins)) => Edges::Count(size(op, bins)?, range),
            Err(_) => {
                given = create::operand(op, bins)?;
                Edges::Given(&given)
            }
        };
        let (hist, edges) = run_several(py, x.count(), || {
            x.histogram(edges, weights.as_ref(), density)
        })?;
        tuple(py, vec![hist, edges])
    };
}
