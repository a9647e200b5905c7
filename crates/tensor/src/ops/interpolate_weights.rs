//! Which elements a result is made of along one axis, and how much of each.

use allotrope_dtype::Error;
use allotrope_op::structured::convolution::INTERPOLATE;
use allotrope_op::task::window::AxisWeights;

use crate::host::memory::{try_collect, try_vec, try_with_capacity};

const OP: &str = INTERPOLATE.name;

/// How elements near a place are weighted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weighting {
    /// The two neighbours, by distance.
    Linear,
    /// Four neighbours, by Keys' cubic with `a = -3/4`.
    Cubic,
    /// A triangle as wide as a result is, so that none is left out.
    WideLinear,
    /// A cubic with `a = -1/2` as wide as a result is.
    WideCubic,
}

/// The elements and weights of every result along an axis, equally many for each.
#[derive(Clone, Debug)]
pub(super) struct Weights {
    /// Elements per result.
    pub(super) taps: usize,
    /// Where they are; of those beyond an edge, the outermost.
    pub(super) places: Vec<usize>,
    /// How much of each.
    pub(super) weights: Vec<f64>,
}

impl Weights {
    /// One element for each result.
    ///
    /// # Errors
    /// A memory error.
    pub(super) fn of_places(places: Vec<usize>) -> Result<Self, Error> {
        Ok(Self {
            taps: 1,
            weights: try_vec(OP, places.len(), 1.0)?,
            places,
        })
    }

    /// `output` results over `input` elements, `scale` elements apart. Corners are aligned, or the
    /// edges of elements are.
    ///
    /// # Errors
    /// A memory error.
    pub(super) fn new(
        weighting: Weighting,
        input: usize,
        output: usize,
        scale: f64,
        aligns_corners: bool,
    ) -> Result<Self, Error> {
        if let Weighting::WideLinear | Weighting::WideCubic = weighting {
            return Self::wide(weighting, input, output, scale);
        }
        let taps = if weighting == Weighting::Linear { 2 } else { 4 };
        let mut made = Self {
            taps,
            places: try_with_capacity(OP, output.saturating_mul(taps))?,
            weights: try_with_capacity(OP, output.saturating_mul(taps))?,
        };
        let last = input as isize - 1;
        for index in 0..output {
            let place = if aligns_corners {
                scale * index as f64
            } else {
                scale * (index as f64 + 0.5) - 0.5
            };
            let place = match weighting {
                Weighting::Linear => place.clamp(0.0, last as f64),
                _ => place,
            };
            let (first, rest) = (place.floor(), place - place.floor());
            let weights = match weighting {
                Weighting::Linear => [1.0 - rest, rest, 0.0, 0.0],
                _ => [rest + 1.0, rest, 1.0 - rest, 2.0 - rest]
                    .map(|distance| cubic(distance, -0.75)),
            };
            let start = first as isize - if weighting == Weighting::Linear { 0 } else { 1 };
            for (tap, weight) in (start..).zip(weights).take(taps) {
                made.places.push(tap.clamp(0, last) as usize);
                made.weights.push(weight);
            }
        }
        Ok(made)
    }

    /// Filters that widen with the distance of results.
    fn wide(weighting: Weighting, input: usize, output: usize, scale: f64) -> Result<Self, Error> {
        let radius = if weighting == Weighting::WideLinear {
            1.0
        } else {
            2.0
        };
        let width = scale.max(1.0);
        let support = radius * width;
        let mut rows: Vec<(usize, Vec<f64>)> = try_with_capacity(OP, output)?;
        for index in 0..output {
            let center = scale * (index as f64 + 0.5);
            let first = (center - support + 0.5).max(0.0) as usize;
            let first = first.min(input - 1);
            let end = ((center + support + 0.5) as usize).clamp(first + 1, input);
            let weight = |place: usize| {
                let distance = ((place as f64 - center + 0.5) / width).abs();
                match weighting {
                    Weighting::WideLinear => (1.0 - distance).max(0.0),
                    _ => cubic(distance, -0.5),
                }
            };
            let mut weights: Vec<f64> = try_collect(OP, (first..end).map(weight))?;
            let total: f64 = weights.iter().sum();
            if total != 0.0 {
                weights.iter_mut().for_each(|weight| *weight /= total);
            }
            rows.push((first, weights));
        }
        let taps = rows.iter().map(|(_, weights)| weights.len()).max();
        let taps = taps.unwrap_or(1);
        let mut made = Self {
            taps,
            places: try_with_capacity(OP, output.saturating_mul(taps))?,
            weights: try_with_capacity(OP, output.saturating_mul(taps))?,
        };
        for (first, weights) in rows {
            for tap in 0..taps {
                made.places.push((first + tap).min(input - 1));
                made.weights.push(weights.get(tap).copied().unwrap_or(0.0));
            }
        }
        Ok(made)
    }

    /// How many results there are.
    pub(super) fn results(&self) -> usize {
        self.places.len() / self.taps.max(1)
    }

    /// The same, lent to a task.
    pub(super) fn lend(&self) -> AxisWeights<'_> {
        AxisWeights {
            taps: self.taps,
            places: &self.places,
            weights: &self.weights,
        }
    }
}

/// Keys' cubic at a distance.
fn cubic(distance: f64, a: f64) -> f64 {
    let x = distance;
    if x < 1.0 {
        ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    } else if x < 2.0 {
        ((x - 5.0) * x + 8.0) * x * a - 4.0 * a
    } else {
        0.0
    }
}
