//! `grid_sample` and `affine_grid`: images and volumes read at the places that a grid names.
//!
//! A place is a few taps along each dimension, an index and a weight each. A result is the sum over
//! all choices of one tap per dimension, so that nothing larger than the result is ever stored.

use std::str::FromStr;

use allotrope_dtype::{DType, Error, Problem};
use allotrope_op::structured::convolution::{AFFINE_GRID, GRID_SAMPLE};
use allotrope_op::{Builder, Shape, Var};
use smallvec::smallvec;

use super::operands::{Working, signed, wrong_shape};
use crate::Tensor;
use crate::elementwise::{evaluate, evaluate_one};
use crate::transfer::gathered;

/// How a result is made of the elements near its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// The nearest element, the even one of two.
    Nearest,
    /// Both neighbours along every dimension, by distance.
    Linear,
    /// Four neighbours along every dimension.
    Cubic,
}

impl FromStr for Sampling {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        match name {
            "nearest" => Ok(Self::Nearest),
            "bilinear" => Ok(Self::Linear),
            "bicubic" => Ok(Self::Cubic),
            _ => {
                let accepted = ["bilinear", "nearest", "bicubic"];
                let op = GRID_SAMPLE.name;
                Err(Error::unknown_option(op, "mode", name, &accepted))
            }
        }
    }
}

/// What stands beyond the edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// Zeros.
    Zeros,
    /// The elements at the edges.
    Border,
    /// The elements in reverse, there and back.
    Reflection,
}

impl FromStr for Beyond {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        match name {
            "zeros" => Ok(Self::Zeros),
            "border" => Ok(Self::Border),
            "reflection" => Ok(Self::Reflection),
            _ => {
                let accepted = ["zeros", "border", "reflection"];
                let op = GRID_SAMPLE.name;
                Err(Error::unknown_option(op, "padding_mode", name, &accepted))
            }
        }
    }
}

/// Where along a dimension an element is read for each place, as int64, and its weight.
struct Tap {
    index: Tensor,
    weight: Option<Tensor>,
}

impl Tensor {
    /// Images `[batch, channels, height, width]` at the places of a grid `[batch, …, 2]`, or volumes
    /// `[batch, channels, depth, height, width]` at those of a grid `[batch, …, 3]`. The last
    /// dimension of the grid has the place along the width first; -1 and 1 are the ends: the centres
    /// of the corners with `align_corners`, else their edges. NaN counts as -1.
    ///
    /// The result has the dtype that both promote to, integers the default float; 8- and 16-bit
    /// floats are blended in float32 and rounded once.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::{Beyond, Sampling, Tensor};
    /// let x = Tensor::arange(0, 4, 1, DType::F32)?.reshape(&[1, 1, 2, 2])?;
    /// let middle = Tensor::zeros(&[1, 1, 1, 2], DType::F32)?;
    /// let y = x.grid_sample(&middle, Sampling::Linear, Beyond::Zeros, true)?;
    /// assert_eq!(y.to_vec::<f32>()?, [1.5]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error for a complex grid or where promotion refuses, a value error for shapes that do
    /// not fit or an empty image; a memory error.
    pub fn grid_sample(
        &self,
        grid: &Self,
        mode: Sampling,
        beyond: Beyond,
        align_corners: bool,
    ) -> Result<Self, Error> {
        if let Some((x, grid)) = gathered((self, grid))? {
            return x.grid_sample(&grid, mode, beyond, align_corners);
        }
        let op = GRID_SAMPLE.name;
        let working = Working::of(&GRID_SAMPLE, &[self, grid])?;
        if grid.dtype().is_complex() {
            let set = allotrope_dtype::Set::Real;
            return Err(Error::not_in_set(op, grid.dtype(), set, None));
        }
        let rank = check_shapes(self, grid)?;
        let (batch, channels) = (self.shape()[0], self.shape()[1]);
        let sizes = &self.shape()[2..];
        let plane: usize = sizes.iter().product();
        let places: usize = grid.shape()[1..=rank].iter().product();
        let flat = self.reshape(&signed(&[batch, channels, plane]))?;
        let points = grid.reshape(&signed(&[batch, 1, places, rank]))?;
        let along = Along {
            compute: Working::in_dtype(working.result.to_real()).compute,
            mode,
            beyond,
            align_corners,
        };
        let mut taps = Vec::new();
        for (dim, size) in sizes.iter().enumerate() {
            // The width comes first in the grid, and last among the sizes.
            let points = points.select(-1, (rank - 1 - dim) as isize)?;
            taps.push(along.taps(&points, *size)?);
        }
        let each = taps[0].len();
        let mut total: Option<Self> = None;
        for choice in 0..each.pow(rank as u32) {
            let mut rest = choice;
            let (mut index, mut weight): (Option<Self>, Option<Self>) = (None, None);
            for (dim, taps) in taps.iter().enumerate() {
                let tap = &taps[rest % each];
                rest /= each;
                index = Some(match index {
                    None => tap.index.clone(),
                    Some(index) => index.mul(sizes[dim] as i64)?.add(&tap.index)?,
                });
                weight = match (weight, &tap.weight) {
                    (Some(weight), Some(other)) => Some(weight.mul(other)?),
                    (None, other) => other.clone(),
                    (weight, None) => weight,
                };
            }
            let Some(index) = index else { continue };
            let taken = flat.gather(2, &index.expand(&[batch, channels, places])?)?;
            total = Some(match (total, &weight) {
                (_, None) => taken.to(working.result)?,
                (None, Some(weight)) => {
                    let program =
                        working.program(&[taken.dtype(), weight.dtype()], |v| v[0] * v[1]);
                    evaluate_one(op, &program, &[&taken, weight])?
                }
                (Some(total), Some(weight)) => {
                    let builder = Builder::new(&[taken.dtype(), weight.dtype(), working.compute]);
                    let weighted =
                        working.read(builder.input(0)) * builder.input(1).to(working.compute);
                    let program = builder.finish(&[weighted + builder.input(2)]);
                    evaluate_one(op, &program, &[&taken, weight, &total])?
                }
            });
        }
        let total = match total {
            Some(total) => total.to(working.result)?,
            None => flat.to(working.result)?,
        };
        let mut shape = vec![batch, channels];
        shape.extend(&grid.shape()[1..=rank]);
        let sampled = total.reshape(&signed(&shape))?;
        if mode != Sampling::Nearest {
            return Ok(sampled);
        }
        // The nearest element stays the same nearby: the slope along the grid is zero.
        let (zero, value) = (grid.zeros_like()?, sampled.clone());
        sampled.with_rule(op, &[&value, grid], move |pass| {
            Ok(smallvec![Some(pass.gradient()?), Some(zero.clone())])
        })
    }

    /// The places that maps `[batch, 2, 3]` send the pixels of images of a shape `[batch, channels,
    /// height, width]` to, as `[batch, height, width, 2]`; maps `[batch, 3, 4]` those of volumes.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let same = Tensor::from_slice(&[1.0_f32, 0.0, 0.0, 0.0, 1.0, 0.0], &[1, 2, 3])?;
    /// let grid = same.affine_grid(&[1, 1, 1, 2], true)?;
    /// assert_eq!(grid.to_vec::<f32>()?, [-1.0, 0.0, 1.0, 0.0]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error for complex numbers, a value error for shapes that do not fit, a memory error.
    pub fn affine_grid(&self, size: &[usize], align_corners: bool) -> Result<Self, Error> {
        let op = AFFINE_GRID.name;
        let working = Working::of(&AFFINE_GRID, &[self])?;
        let rank = match size.len() {
            4 => 2,
            5 => 3,
            given => {
                let problem = Problem::OutOfRange {
                    what: "number of sizes",
                    index: None,
                    value: given.to_string(),
                    accepted: "4 (batch, channels, height, width) and 5 (with depth)",
                };
                return Err(Error::new(op, problem));
            }
        };
        if self.shape()[..] != [size[0], rank, rank + 1] {
            let accepted = format!("{:?}", [size[0], rank, rank + 1]);
            return Err(wrong_shape(op, "theta", self, accepted));
        }
        let theta = self.to(working.result)?.to(working.compute)?;
        let mut shape = vec![size[0]];
        shape.extend(&size[2..]);
        shape.push(rank);
        let shape = Shape::new(op, &shape)?;
        // Column `rank` is the shift; the others are multiplied by the place along a dimension.
        let column = |place: usize| theta.select(2, place as isize);
        let between = |column: &Self| {
            let mut sizes = vec![1; rank + 2];
            (sizes[0], sizes[rank + 1]) = (size[0], rank);
            column.reshape(&signed(&sizes))
        };
        let mut places = between(&column(rank)?)?;
        for dim in 0..rank {
            let count = size[2 + dim];
            let mut sizes = vec![1; rank + 2];
            sizes[1 + dim] = count;
            let base = self.centres(count, align_corners)?;
            let base = base.to(working.compute)?.reshape(&signed(&sizes))?;
            places = places.add(&between(&column(rank - 1 - dim)?)?.mul(&base)?)?;
        }
        places.to(working.result)?.expand(&shape)?.contiguous()
    }

    /// The centres of so many pixels between -1 and 1, wide, beside this tensor.
    fn centres(&self, count: usize, align_corners: bool) -> Result<Self, Error> {
        let shrink = match count {
            1 => 0.0,
            _ if align_corners => 1.0,
            _ => count.saturating_sub(1) as f64 / count as f64,
        };
        let last = count.saturating_sub(1).max(1) as f64;
        let wide = self.backend().wide(DType::F32);
        let places = self.new_arange(0, count as i64, 1, wide)?;
        places.mul(2.0)?.div(last)?.sub(1.0)?.mul(shrink)
    }
}

/// How many dimensions images have, if a grid is one for them.
fn check_shapes(x: &Tensor, grid: &Tensor) -> Result<usize, Error> {
    let op = GRID_SAMPLE.name;
    if !(4..=5).contains(&x.rank()) || x.shape()[2..].contains(&0) {
        let accepted = "one of 4 or 5 dimensions (batch, channels, and an image or a volume) with \
                        pixels";
        return Err(wrong_shape(op, "input", x, accepted));
    }
    let rank = x.rank() - 2;
    let fits = grid.rank() == x.rank()
        && grid.shape()[0] == x.shape()[0]
        && grid.shape()[rank + 1] == rank;
    if !fits {
        let accepted = format!(
            "one of {} dimensions that begins with {} and ends with {rank}",
            x.rank(),
            x.shape()[0]
        );
        return Err(wrong_shape(op, "grid", grid, accepted));
    }
    Ok(rank)
}

/// How places are looked up along one dimension.
#[derive(Clone, Copy)]
struct Along {
    /// The float that places and weights are computed in.
    compute: DType,
    mode: Sampling,
    beyond: Beyond,
    align_corners: bool,
}

impl Along {
    /// The taps of points along a dimension of so many elements.
    fn taps(&self, points: &Tensor, size: usize) -> Result<Vec<Tap>, Error> {
        let builder = Builder::new(&[points.dtype()]);
        let point = builder.input(0).to(self.compute);
        let point = point.isnan().pick(point.lit(-1.0), point);
        let place = if self.align_corners {
            (point + 1.0) * ((size - 1) as f64 / 2.0)
        } else {
            ((point + 1.0) * size as f64 - 1.0) * 0.5
        };
        let mut outputs = Vec::new();
        match self.mode {
            Sampling::Nearest => {
                let at = self.inside(place, size).round();
                outputs.push(clamped(at, size).to(DType::I64));
                outputs.extend(self.weight(at, at.one(), size));
            }
            Sampling::Linear => {
                let place = self.inside(place, size);
                let before = place.floor();
                let part = place - before;
                for (at, weight) in [(before, 1.0 - part), (before + 1.0, part)] {
                    outputs.push(clamped(at, size).to(DType::I64));
                    outputs.push(self.weight(at, weight, size).unwrap_or(weight));
                }
            }
            Sampling::Cubic => {
                let before = place.floor();
                for (tap, weight) in cubic(place - before).into_iter().enumerate() {
                    // Each of the four may lie beyond an edge.
                    let at = self.inside(before + (tap as f64 - 1.0), size);
                    outputs.push(clamped(at, size).to(DType::I64));
                    outputs.push(self.weight(at, weight, size).unwrap_or(weight));
                }
            }
        }
        let program = builder.finish(&outputs);
        let mut made = evaluate(GRID_SAMPLE.name, &program, &[points])?.into_iter();
        let has_weights = self.mode != Sampling::Nearest || self.beyond == Beyond::Zeros;
        let mut taps = Vec::new();
        while let Some(index) = made.next() {
            let weight = if has_weights { made.next() } else { None };
            taps.push(Tap { index, weight });
        }
        Ok(taps)
    }

    /// A weight that is zero beyond the edges, where zeros stand there.
    fn weight<'b>(&self, at: Var<'b>, weight: Var<'b>, size: usize) -> Option<Var<'b>> {
        (self.beyond == Beyond::Zeros).then(|| {
            let last = at.lit((size - 1) as f64);
            let is_inside = at.ge(at.zero()).logical_and(at.le(last));
            is_inside.pick(weight, weight.zero())
        })
    }

    /// The place of the elements that stand at a place.
    fn inside<'b>(&self, place: Var<'b>, size: usize) -> Var<'b> {
        let reflected = match self.beyond {
            Beyond::Zeros => return place,
            Beyond::Border => place,
            Beyond::Reflection => {
                let (least, span) = if self.align_corners {
                    (0.0, (size - 1) as f64)
                } else {
                    (-0.5, size as f64)
                };
                if span == 0.0 {
                    return place.zero();
                }
                let away = (place - least).abs();
                let turns = (away / span).floor();
                let rest = away - turns * span;
                let is_odd = turns.remainder(turns.lit(2.0)).ne(turns.zero());
                is_odd.pick(span - rest, rest) + least
            }
        };
        clamped(reflected, size)
    }
}

/// A place within a dimension.
fn clamped(place: Var<'_>, size: usize) -> Var<'_> {
    let last = place.lit((size - 1) as f64);
    place.maximum(place.zero()).minimum(last)
}

/// The weights of four neighbours at a distance behind the second, as interpolation has them.
fn cubic(part: Var<'_>) -> [Var<'_>; 4] {
    const A: f64 = -0.75;
    [
        outer(part + 1.0, A),
        within(part, A),
        within(1.0 - part, A),
        outer(2.0 - part, A),
    ]
}

/// The cubic weight at a distance of up to 1.
fn within(d: Var<'_>, a: f64) -> Var<'_> {
    (d * (a + 2.0) - (a + 3.0)) * d * d + 1.0
}

/// The cubic weight at a distance from 1 to 2.
fn outer(d: Var<'_>, a: f64) -> Var<'_> {
    ((d * a - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a
}
