//! How many elements fall into each bin.

use allotrope_tensor::{Edges, Tensor};
use pyo3::prelude::*;

use super::{Any, run_several};
use crate::arguments::{Int, Operand, either, integer_of, size};
use crate::create;
use crate::named::named;
use crate::operand::run;
use crate::tensor::{PyTensor, as_tensor};

forms! {
    /// How often each index from 0 on occurs in a vector, or the sums of the weights that go with
    /// them: int64 or uint64 for integers.
    ///
    /// >>> al.tensor([1, 3, 1]).bincount()
    /// tensor([0, 2, 0, 1])
    bincount[weights=None, minlength=Int(0)](
        weights: Option<Operand>,
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
    /// as many as given, or 100, between the bounds of range or the least and the greatest element, or
    /// those between the edges of a sorted vector. With density=True the integral over the bins is 1.
    ///
    /// >>> al.tensor([1., 2., 1.]).histogram(4, range=(0., 3.)).hist
    /// tensor([0., 2., 1., 0.])
    histogram[bins=None, *, range=None, weight=None, weights=None, density=false](
        bins: Option<Any<'_, '_>>,
        range: Option<(f64, f64)>,
        weight: Option<Operand>,
        weights: Option<Operand>,
        density: bool
    ) -> Py<PyAny> |py, op, x| {
        let weights = either(op, weight, weights)?;
        let weights = weights.map(|weights| create::operand(op, weights)).transpose()?;
        let given: Tensor;
        let count = match bins {
            None => Some(100),
            // A tensor of one dimension is edges, also if it has a single element.
            Some(bins) if as_tensor(bins).is_some_and(|bins| bins.rank() > 0) => None,
            Some(bins) => integer_of(op, bins)?,
        };
        let edges = match (bins, count) {
            (Some(bins), None) => {
                given = create::operand(op, bins)?;
                Edges::Given(&given)
            }
            (_, count) => Edges::Count(size(op, count.unwrap_or(100))?, range),
        };
        let (hist, edges) = run_several(py, x.count(), || {
            x.histogram(edges, weights.as_ref(), density)
        })?;
        named(py, op, [hist, edges])
    };
}
