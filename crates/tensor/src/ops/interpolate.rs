//! `interpolate`: grids of another size.

use allotrope_dtype::{DType, Error, Problem, Set};
use allotrope_op::structured::convolution::INTERPOLATE;
use allotrope_op::{Dims, float_of};

use super::interpolate_gradient::Resizing;
use super::interpolate_weights::{Weighting, Weights};
use super::window::does_not_fit;
use crate::Tensor;
use crate::call::Call;
use crate::host::memory::{probe, try_collect};

/// How a result is made of the elements near it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpolation {
    /// The element whose share of the grid the result begins in.
    Nearest,
    /// The element whose share of the grid the middle of the result lies in.
    NearestExact,
    /// Neighbours along every dimension, by distance: linear, bilinear or trilinear.
    Linear,
    /// Four neighbours along both dimensions.
    Cubic,
    /// The mean of all elements that the result covers.
    Area,
}

/// The sizes that a grid is to have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Resized<'a> {
    /// So many elements; one number stands for all dimensions.
    Sizes(&'a [usize]),
    /// Times as many, rounded down. `recompute` measures distances by the sizes that come out,
    /// instead of by the factors.
    Factors {
        /// One number stands for all dimensions.
        factors: &'a [f64],
        /// Whether distances follow the sizes.
        recompute: bool,
    },
}

/// The options of [`Tensor::interpolate`] beside mode and sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct InterpolationOptions {
    /// Whether the centres of the corners stay where they are, instead of their edges.
    pub align_corners: bool,
    /// Whether linear and cubic results that are further apart than elements blend all they cover.
    pub antialias: bool,
}

impl Tensor {
    /// The grids `[batch, channels, grid]` in another size.
    ///
    /// The nearest modes choose elements, and the dtype stays. The others blend them: floats and
    /// complex numbers keep their dtype, and 8- and 16-bit floats are blended in float32 and rounded
    /// once; integers and bool give the default float, as means and average pooling do.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::{Interpolation, Resized, Tensor};
    /// let x = Tensor::arange(0, 3, 1, DType::U8)?.reshape(&[1, 1, 3])?;
    /// let sizes = Resized::Sizes(&[6]);
    /// let y = x.interpolate(Interpolation::Nearest, sizes, Default::default())?;
    /// assert_eq!(y.to_vec::<u8>()?, [0, 0, 1, 1, 2, 2]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for a grid that the mode does not know, sizes of zero or factors that are not
    /// positive; a memory error.
    pub fn interpolate(
        &self,
        mode: Interpolation,
        resized: Resized<'_>,
        options: InterpolationOptions,
    ) -> Result<Self, Error> {
        let dtype = Call::begin(&INTERPOLATE, &[self])?.result;
        check_grid(self, mode)?;
        let (sizes, scales) = resized.resolve(&self.shape()[2..])?;
        let chooses = matches!(mode, Interpolation::Nearest | Interpolation::NearestExact);
        if chooses || Set::Inexact.contains(dtype) {
            return self.resize(mode, &sizes, &scales, options);
        }
        // Wide enough for what the dtype holds.
        let wide = match dtype.itemsize() {
            4.. => self.backend().wide(DType::F32),
            _ => DType::F32,
        };
        let float = float_of(INTERPOLATE.name, dtype)?;
        let blended = self.to(wide)?.resize(mode, &sizes, &scales, options)?;
        blended.to(float)
    }

    /// The grids in another size, whose dtype the mode knows.
    fn resize(
        &self,
        mode: Interpolation,
        sizes: &[usize],
        scales: &[Scale],
        options: InterpolationOptions,
    ) -> Result<Self, Error> {
        let grid = &self.shape()[2..];
        self.check_room(mode, sizes, options)?;
        if mode == Interpolation::Area {
            return self.average_areas(sizes, grid.len());
        }
        let weighting = match (mode, options.antialias) {
            (Interpolation::Cubic, false) => Weighting::Cubic,
            (Interpolation::Cubic, true) => Weighting::WideCubic,
            (_, false) => Weighting::Linear,
            (_, true) => Weighting::WideLinear,
        };
        let middle = match mode {
            Interpolation::Nearest => Some(0.0),
            Interpolation::NearestExact => Some(0.5),
            _ => None,
        };
        let mut axes = Vec::new();
        for ((input, output), scale) in grid.iter().zip(sizes).zip(scales) {
            let (input, output, aligns) = (*input, *output, options.align_corners);
            let weights = match middle {
                Some(middle) => Weights::of_places(nearest(input, output, *scale, middle)?)?,
                None => {
                    let distance = scale.distance(input, output, aligns);
                    Weights::new(weighting, input, output, distance, aligns)?
                }
            };
            axes.push((input, weights));
        }
        Resizing::new(middle.is_some(), axes).forward(self)
    }

    /// Refuses sizes that there is no memory for, before anything is made of them: a system may promise
    /// more than it has, and end the process when the tables of an axis are written.
    fn check_room(
        &self,
        mode: Interpolation,
        sizes: &[usize],
        options: InterpolationOptions,
    ) -> Result<(), Error> {
        /// The place of an element and its weight.
        const TAP: usize = size_of::<usize>() + size_of::<f64>();
        let taps = match mode {
            Interpolation::Area => 0,
            Interpolation::Nearest | Interpolation::NearestExact => 1,
            _ if options.antialias => 8,
            Interpolation::Linear => 2,
            Interpolation::Cubic => 4,
        };
        let tables = (sizes.iter())
            .map(|size| size.saturating_mul(taps * TAP))
            .fold(0, usize::saturating_add);
        let results = match self.host_address() {
            Some(_) => (self.shape()[..2].iter().chain(sizes))
                .fold(self.dtype().itemsize(), |bytes, size| {
                    bytes.saturating_mul(*size)
                }),
            // The device knows what it has.
            None => 0,
        };
        probe(INTERPOLATE.name, results.saturating_add(tables))
    }

    /// The mean of all elements that each result covers.
    fn average_areas(&self, sizes: &[usize], rank: usize) -> Result<Self, Error> {
        let sizes: Vec<Option<usize>> = sizes.iter().copied().map(Some).collect();
        match rank {
            1 => self.adaptive_avg_pool1d(&sizes),
            2 => self.adaptive_avg_pool2d(&sizes),
            _ => self.adaptive_avg_pool3d(&sizes),
        }
    }
}

/// Refuses grids that the mode does not know.
fn check_grid(x: &Tensor, mode: Interpolation) -> Result<(), Error> {
    let (known, accepted) = match mode {
        Interpolation::Cubic => (4..=4, "4 (batch, channels, height, width)"),
        _ => (
            3..=5,
            "3 to 5 (batch, channels, and a grid of 1 to 3 dimensions)",
        ),
    };
    if !known.contains(&x.rank()) {
        let problem = Problem::OutOfRange {
            what: "number of dimensions",
            index: None,
            value: x.rank().to_string(),
            accepted,
        };
        return Err(Error::new(INTERPOLATE.name, problem));
    }
    Ok(())
}

/// How far results are apart: by the sizes, or by a factor that was asked for.
#[derive(Clone, Copy)]
enum Scale {
    Sizes,
    Factor(f64),
}

impl Scale {
    /// The distance of results, in elements.
    fn distance(self, input: usize, output: usize, aligns_corners: bool) -> f64 {
        match self {
            _ if aligns_corners && output > 1 => (input - 1) as f64 / (output - 1) as f64,
            _ if aligns_corners => 0.0,
            Self::Sizes => input as f64 / output as f64,
            Self::Factor(factor) => 1.0 / factor,
        }
    }
}

impl Resized<'_> {
    fn resolve(self, grid: &[usize]) -> Result<(Dims<usize>, Dims<Scale>), Error> {
        let op = INTERPOLATE.name;
        let rank = grid.len();
        if let Some(size) = grid.iter().find(|size| **size == 0) {
            return Err(does_not_fit(op, 1, 1, *size));
        }
        match self {
            Self::Sizes(sizes) => {
                let sizes = super::window::per_axis(op, "size", sizes, rank, 0, 1)?;
                Ok((sizes, Dims::from_elem(Scale::Sizes, rank)))
            }
            Self::Factors { factors, recompute } => {
                let factors: Dims<f64> = match factors {
                    [one] => Dims::from_elem(*one, rank),
                    several if several.len() == rank => Dims::from_slice(several),
                    several => {
                        let problem = Problem::LengthMismatch {
                            from: several.len(),
                            to: rank,
                        };
                        return Err(Error::new(op, problem).hint("one factor per dimension"));
                    }
                };
                let (mut sizes, mut scales) = (Dims::new(), Dims::new());
                for (index, (factor, size)) in factors.iter().zip(grid).enumerate() {
                    let scaled = (*size as f64 * factor).floor();
                    if !(1.0..1e15).contains(&scaled) {
                        let problem = Problem::OutOfRange {
                            what: "scale_factor",
                            index: Some(index),
                            value: factor.to_string(),
                            accepted: "factors that leave at least one element",
                        };
                        return Err(Error::new(op, problem));
                    }
                    sizes.push(scaled as usize);
                    scales.push(if recompute {
                        Scale::Sizes
                    } else {
                        Scale::Factor(*factor)
                    });
                }
                Ok((sizes, scales))
            }
        }
    }
}

/// The place of the nearest element of each result, exactly where sizes alone decide.
fn nearest(input: usize, output: usize, scale: Scale, middle: f64) -> Result<Vec<usize>, Error> {
    let halves = if middle == 0.0 { 0 } else { 1 };
    let place = |index: usize| match scale {
        Scale::Sizes => {
            let place = (2 * index as u128 + halves) * input as u128 / (2 * output as u128);
            place as usize
        }
        Scale::Factor(factor) => ((index as f64 + middle) / factor) as usize,
    };
    let places = (0..output).map(|index| place(index).min(input - 1));
    try_collect(INTERPOLATE.name, places)
}
