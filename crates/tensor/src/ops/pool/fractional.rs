//! The greatest of windows that begin at random places, as many as asked for.

use allotrope_dtype::{DType, Error};
use allotrope_op::structured::{Structured, convolution as row};

use super::super::operands::{signed, wrong_shape};
use super::super::window::{check_rank, does_not_fit, per_axis};
use super::gradient::take_from_places;
use crate::call::Call;
use crate::device::common_backend;
use crate::transfer::gathered;
use crate::{Generator, Operand, Tensor};

macro_rules! fractional_pools {
    ($($rank:literal, $what:literal, $pool:ident, $row:ident;)*) => {
        impl Tensor {$(
            #[doc = concat!("The greatest of each of `output` windows over ", $what, ", and its place in the plane, int64:")]
            /// the first of equals, the first NaN. Windows have one size and begin where sequences
            /// of random steps lead, one sequence per plane and dimension. Each is made of a number
            /// from 0 to 1: those of `samples`, `[batch, channels, dimensions]`, or random ones.
            ///
            #[doc = concat!("\n\n```\nuse allotrope_tensor::{DType, Generator, Tensor};\nlet x = Tensor::ones(vec![4; 2 + ", $rank, "], DType::F32)?;\nlet (y, _) = x.", stringify!($pool), "(&[2; ", $rank, "], &[3; ", $rank, "], None, Some(&Generator::new(0)))?;\nassert_eq!(y.shape()[2], 3);\n# Ok::<(), allotrope_tensor::Error>(())\n```")]
            ///
            /// # Errors
            /// A dtype error for complex numbers, a value error for windows that do not fit or
            /// samples of another shape, a memory error.
            pub fn $pool(
                &self,
                kernel: &[usize],
                output: &[usize],
                samples: Option<&Self>,
                generator: Option<&Generator>,
            ) -> Result<(Self, Self), Error> {
                let draw = Draw { kernel, output, samples, generator };
                draw.pool(row::$row, self, $rank)
            }
        )*}
    };
}
fractional_pools! {
    2, "images", fractional_max_pool2d, FRACTIONAL_MAX_POOL2D;
    3, "volumes", fractional_max_pool3d, FRACTIONAL_MAX_POOL3D;
}

/// The windows that are asked for, and where their places come from.
struct Draw<'a> {
    kernel: &'a [usize],
    output: &'a [usize],
    samples: Option<&'a Tensor>,
    generator: Option<&'a Generator>,
}

impl Draw<'_> {
    fn pool(&self, row: Structured, x: &Tensor, rank: usize) -> Result<(Tensor, Tensor), Error> {
        if let Some((x, samples)) = gathered((x, self.samples))? {
            let samples = samples.as_ref();
            return Draw { samples, ..*self }.pool(row, &x, rank);
        }
        let op = row.name;
        Call::begin(&row, &[x])?;
        check_rank(op, x, rank)?;
        let kernel = per_axis(op, "kernel size", self.kernel, rank, 0, 1)?;
        let output = per_axis(op, "output size", self.output, rank, 0, 0)?;
        let (outer, grid) = x.shape().split_at(x.rank() - rank);
        for dim in 0..rank {
            // As many windows as there are places to begin at.
            if grid[dim] < kernel[dim] || output[dim] > grid[dim] - kernel[dim] + 1 {
                let windows = kernel[dim].saturating_add(output[dim]).saturating_sub(1);
                return Err(does_not_fit(op, windows, 1, grid[dim]));
            }
        }
        let channels = outer[outer.len() - 1];
        let batch = if outer.len() > 1 { outer[0] } else { 1 };
        let planes = batch * channels;
        let samples = match self.samples {
            Some(samples) if samples.shape()[..] == [batch, channels, rank] => {
                common_backend(op, &[x, samples])?;
                samples.clone()
            }
            Some(samples) => {
                let accepted = format!("{:?}", [batch, channels, rank]);
                return Err(wrong_shape(op, "samples", samples, accepted));
            }
            None => {
                let room = x.new_empty(&[batch, channels, rank], DType::F64)?;
                room.uniform_like(0.0, 1.0, self.generator)?
            }
        };
        let samples = samples.detach().to(DType::F64)?;
        let samples = samples.reshape(&signed(&[planes, rank]))?;
        let mut starts = Vec::new();
        for dim in 0..rank {
            // Images have the sample of their width first, volumes that of their depth.
            let sample = if rank == 2 { 1 - dim } else { dim };
            let sample = samples.select(1, sample as isize)?.unsqueeze(1)?;
            let begins = begins(&sample, grid[dim], output[dim], kernel[dim])?;
            let mut sizes = vec![planes as isize];
            sizes.extend((0..rank).map(|d| if d == dim { output[dim] as isize } else { 1 }));
            starts.push(begins.reshape(&sizes)?);
        }
        let plane: usize = grid.iter().product();
        let count: usize = output.iter().product();
        let mut shape = outer.to_vec();
        shape.extend(&output);
        if planes * count == 0 {
            let places = x.new_zeros(&shape, DType::I64)?;
            return Ok((take_from_places(op, x, &places, rank)?, places));
        }
        let flat = x.detach().reshape(&signed(&[planes, plane]))?;
        let mut best: Option<[Tensor; 2]> = None;
        for tap in 0..kernel.iter().product() {
            let places = places_of(&starts, grid, &kernel, tap)?;
            let places = places.reshape(&signed(&[planes, count]))?;
            let taken = flat.gather(1, &places)?;
            best = Some(match best {
                None => [taken, places],
                Some([greatest, at]) => {
                    let both = greatest.isnan()?.logical_not()?;
                    let is_new = taken.isnan()?.logical_and(&both)?;
                    let is_greater = taken.gt(&greatest)?.logical_or(&is_new)?;
                    let pick = |yes: &Tensor, no: &Tensor| {
                        let operands: [Operand<'_>; 3] =
                            [(&is_greater).into(), yes.into(), no.into()];
                        Tensor::apply(allotrope_op::Op::Where, &operands)
                    };
                    [pick(&taken, &greatest)?, pick(&places, &at)?]
                }
            });
        }
        let places = match best {
            Some([_, places]) => places.reshape(&signed(&shape))?,
            None => x.new_zeros(&shape, DType::I64)?,
        };
        Ok((take_from_places(op, x, &places, rank)?, places))
    }
}

/// Where windows begin along a dimension, int64: steps of the mean size, rounded down from a random
/// start, and the last window at the end.
fn begins(sample: &Tensor, input: usize, output: usize, kernel: usize) -> Result<Tensor, Error> {
    let last = (input - kernel) as f64;
    let step = if output > 1 {
        last / (output - 1) as f64
    } else {
        0.0
    };
    let order = sample.new_arange(0, output as i64, 1, DType::F64)?;
    let begins = order.add(sample)?.mul(step)?.floor()?;
    let begins = begins.sub(&sample.mul(step)?.floor()?)?;
    let is_last = order.eq((output as i64) - 1)?;
    let ends = sample.new_full(&[], last, DType::F64)?;
    let operands: [Operand<'_>; 3] = [(&is_last).into(), (&ends).into(), (&begins).into()];
    let begins = Tensor::apply(allotrope_op::Op::Where, &operands)?;
    begins.clamp(0.0, last)?.to(DType::I64)
}

/// The places in the plane of one element of each window.
fn places_of(
    starts: &[Tensor],
    grid: &[usize],
    kernel: &[usize],
    tap: usize,
) -> Result<Tensor, Error> {
    let mut rest = tap;
    let mut offsets = vec![0; kernel.len()];
    for dim in (0..kernel.len()).rev() {
        offsets[dim] = rest % kernel[dim];
        rest /= kernel[dim];
    }
    let mut places = starts[0].add(offsets[0] as i64)?;
    for dim in 1..starts.len() {
        let along = starts[dim].add(offsets[dim] as i64)?;
        places = places.mul(grid[dim] as i64)?.add(&along)?;
    }
    Ok(places)
}
