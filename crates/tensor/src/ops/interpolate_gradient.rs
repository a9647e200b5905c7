//! Grids of another size as the weights of their neighbours, forward and back: what a result took of
//! an element goes back to it, and adds up there.

use std::sync::Arc;

use allotrope_dtype::Error;
use allotrope_op::structured::convolution::INTERPOLATE;
use allotrope_op::task::Task;
use allotrope_op::task::window::{AxisWeights, Window};
use allotrope_op::{Dims, Shape};
use smallvec::smallvec;

use super::conv::as_volumes;
use super::interpolate_weights::Weights;
use super::window_backward::{Tap, spread_along};
use crate::Tensor;
use crate::autograd::{Pass, differentiable};
use crate::device::{perform_one, perform_or};
use crate::host::memory::try_collect;

const OP: &str = INTERPOLATE.name;

/// How the grids of a tensor are resized.
pub(super) struct Resizing {
    /// Whether results are elements, of which each has one.
    chooses: bool,
    /// For each dimension of the grid its size and what results are made of.
    axes: Vec<(usize, Weights)>,
}

impl Resizing {
    pub(super) fn new(chooses: bool, axes: Vec<(usize, Weights)>) -> Arc<Self> {
        Arc::new(Self { chooses, axes })
    }

    /// The resized grids.
    pub(super) fn forward(self: &Arc<Self>, x: &Tensor) -> Result<Tensor, Error> {
        differentiable(
            OP,
            [x],
            |inputs| self.resize(inputs[0]),
            |_| {
                let resizing = Arc::clone(self);
                move |pass: &Pass<'_>| {
                    let gradient = resizing.backward(&pass.gradient()?)?;
                    Ok(smallvec![Some(gradient)])
                }
            },
        )
    }

    /// The gradient of the grids from that of the resized ones.
    fn backward(self: &Arc<Self>, gradient: &Tensor) -> Result<Tensor, Error> {
        differentiable(
            OP,
            [gradient],
            |[gradient]| self.spread(gradient),
            |_| {
                let resizing = Arc::clone(self);
                move |pass: &Pass<'_>| {
                    let gradient = resizing.forward(&pass.gradient()?)?;
                    Ok(smallvec![Some(gradient)])
                }
            },
        )
    }

    fn resize(&self, x: &Tensor) -> Result<Tensor, Error> {
        const ONE: AxisWeights<'static> = AxisWeights {
            taps: 1,
            places: &[0],
            weights: &[1.0],
        };
        let rank = self.axes.len();
        let sizes = self.axes.iter().map(|(_, weights)| weights.results());
        let sizes: Dims<usize> = x.shape()[..2].iter().copied().chain(sizes).collect();
        let shape = Shape::new(OP, &sizes)?;
        let mut weights = [ONE; 3];
        for (lent, (_, weights)) in weights[3 - rank..].iter_mut().zip(&self.axes) {
            *lent = weights.lend();
        }
        let volumes = as_volumes(x, rank)?;
        if self.chooses {
            let places = weights.map(|axis| axis.places);
            let task = Task::Window(Window::Nearest { places });
            return perform_or(OP, &task, &[&volumes], x.dtype(), &shape, || self.choose(x));
        }
        let task = Task::Window(Window::Interpolate { weights });
        perform_one(OP, &task, &[&volumes], x.dtype(), &shape)
    }

    /// The elements of every result, one dimension after the other.
    fn choose(&self, x: &Tensor) -> Result<Tensor, Error> {
        let mut chosen = x.clone();
        for (dim, (_, weights)) in (2..).zip(&self.axes) {
            let places = weights.places.iter().map(|place| *place as i64);
            let places: Vec<i64> = try_collect(OP, places)?;
            let places = x.new_from_slice(&places, &[places.len()])?;
            chosen = chosen.index_select(dim, &places)?;
        }
        Ok(chosen)
    }

    fn spread(&self, gradient: &Tensor) -> Result<Tensor, Error> {
        let dtype = gradient.dtype();
        let mut made = gradient.to(dtype.compute())?;
        // The dimensions that shrink most come first: less is left for the others.
        let mut order: Vec<usize> = (0..self.axes.len()).collect();
        let growth = |place: &usize| self.axes[*place].0 as f64 / made.shape()[2 + place] as f64;
        order.sort_by(|a, b| growth(a).total_cmp(&growth(b)));
        for place in order {
            let (size, weights) = &self.axes[place];
            made = spread_along(&made, 2 + place, *size, &taps_of(weights)?)?;
        }
        made.to(dtype)
    }
}

fn taps_of(of: &Weights) -> Result<Vec<Tap>, Error> {
    let tap = |tap: usize| {
        let results = (tap..of.places.len()).step_by(of.taps);
        let weights: Vec<f64> = try_collect(OP, results.clone().map(|i| of.weights[i]))?;
        Ok(Tap {
            results: None,
            places: try_collect(OP, results.map(|i| of.places[i] as i64))?,
            weights: weights.iter().any(|w| *w != 1.0).then_some(weights),
        })
    };
    (0..of.taps).map(tap).collect()
}
