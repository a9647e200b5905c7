//! The gradient of `interpolate`: what each result took of its neighbours goes back to them, and
//! adds up there.

use crate::host::memory::try_collect;
use allotrope_cpu::kernel::Stencil;
use allotrope_dtype::Error;
use allotrope_op::structured::convolution::INTERPOLATE;
use smallvec::smallvec;

use super::interpolate::{Interpolation, InterpolationOptions, Resized};
use super::spread::{Tap, spread_along};
use crate::Tensor;
use crate::autograd::is_recorded;

/// How a grid was resized.
#[derive(Clone)]
pub(super) struct Resizing {
    mode: Interpolation,
    sizes: Vec<usize>,
    /// Factors and whether they were recomputed, if they were given instead of sizes.
    factors: Option<(Vec<f64>, bool)>,
    options: InterpolationOptions,
    /// For each dimension of the grid its size and what the results blend.
    stencils: Vec<(usize, Stencil)>,
}

impl Resizing {
    pub(super) fn new(
        mode: Interpolation,
        resized: Resized<'_>,
        options: InterpolationOptions,
        stencils: Vec<(usize, Stencil)>,
    ) -> Self {
        let (sizes, factors) = match resized {
            Resized::Sizes(sizes) => (sizes.to_vec(), None),
            Resized::Factors { factors, recompute } => {
                // bounded: one per dimension.
                (Vec::new(), Some((factors.to_vec(), recompute)))
            }
        };
        Self {
            mode,
            sizes,
            factors,
            options,
            stencils,
        }
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor, Error> {
        let resized = match &self.factors {
            None => Resized::Sizes(&self.sizes),
            Some((factors, recompute)) => Resized::Factors {
                factors,
                recompute: *recompute,
            },
        };
        x.interpolate(self.mode, resized, self.options)
    }

    /// The resized grid of a tensor, which remembers it.
    pub(super) fn recorded(self, x: &Tensor) -> Result<Tensor, Error> {
        let result = self.forward(&x.detach())?;
        result.with_rule(INTERPOLATE.name, &[x], move |pass| {
            Ok(smallvec![Some(self.back(&pass.gradient()?)?)])
        })
    }

    /// The gradient of the grid from that of the resized one.
    fn back(&self, gradient: &Tensor) -> Result<Tensor, Error> {
        let dtype = gradient.dtype();
        let mut made = gradient.detach().to(dtype.compute())?;
        // The dimensions that shrink most come first: less is left for the others.
        let mut order: Vec<usize> = (0..self.stencils.len()).collect();
        let growth =
            |place: &usize| self.stencils[*place].0 as f64 / made.shape()[2 + place] as f64;
        order.sort_by(|a, b| growth(a).total_cmp(&growth(b)));
        for place in order {
            let (size, stencil) = &self.stencils[place];
            made = spread_along(&made, 2 + place, *size, &taps_of(stencil)?)?;
        }
        let made = made.to(dtype)?;
        if !is_recorded(&[gradient]) {
            return Ok(made);
        }
        let resizing = self.clone();
        made.with_rule(INTERPOLATE.name, &[gradient], move |pass| {
            Ok(smallvec![Some(resizing.forward(&pass.gradient()?)?)])
        })
    }
}

fn taps_of(stencil: &Stencil) -> Result<Vec<Tap>, Error> {
    let op = INTERPOLATE.name;
    let tap = |tap: usize| {
        let results = (tap..stencil.places.len()).step_by(stencil.taps);
        let weights: Vec<f64> = try_collect(op, results.clone().map(|i| stencil.weights[i]))?;
        Ok(Tap {
            results: None,
            places: try_collect(op, results.map(|i| stencil.places[i] as i64))?,
            weights: weights.iter().any(|w| *w != 1.0).then_some(weights),
        })
    };
    (0..stencil.taps).map(tap).collect()
}
