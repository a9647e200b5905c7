//! Norms of channels over all else, and their gradients.

use allotrope_dtype::{DType, Error};
use allotrope_op::task::rowwise::ChannelNorm;
use allotrope_op::task::{Input, Output, Results};
use allotrope_op::{Backend, Builder, Program, Shape, Var};
use smallvec::{SmallVec, smallvec};

use super::lines::{Lines, Measure};
use super::norm::Values;
use super::rowwise::{Ordered, computed, made, numbers};
use super::run::Part;
use crate::device::Gpu;
use crate::memory::Block;

/// A number less a mean that may have more digits, both parts of which are taken away.
fn away<'b>(x: Var<'b>, mean: Var<'b>) -> Var<'b> {
    let near = mean.to(x.dtype());
    let rest = mean - near.to(mean.dtype());
    (x - near) - rest.to(x.dtype())
}

impl Gpu {
    pub(crate) fn normalize_channels(
        &'static self,
        op: &'static str,
        norm: ChannelNorm<'_>,
        inputs: &[Input<'_>],
        outputs: &[Output],
    ) -> Result<Option<Results>, Error> {
        let ([input, others @ ..], [output, of_mean, of_variance]) = (inputs, outputs) else {
            return Ok(None);
        };
        let affine = norm.affine.iter().filter(|given| **given).count();
        let x = self.ordered(op, input)?;
        let shape = Shape::new(op, &norm.sizes)?;
        let part = x.part(&shape);
        let compute = computed(norm.program);
        let wide = Backend::wide(self, compute);
        let channels = norm.sizes[1];
        let others: Vec<Ordered<'_>> = others
            .iter()
            .map(|other| self.ordered(op, other))
            .collect::<Result<_, Error>>()?;
        let (terms, given) = others.split_at(affine.min(others.len()));
        let mut parts: Vec<Part<'_>> = vec![part.clone()];
        let strides = [0, 1, 0];
        let mut dtypes: SmallVec<[DType; 8]> = smallvec![compute];
        let stats;
        let taken: [Block; 2];
        let line = Shape::new(op, &[channels])?;
        if let ([mean, variance], true) = (given, norm.given) {
            parts.push(mean.strided(&shape, &strides));
            parts.push(variance.strided(&shape, &strides));
            dtypes.extend([wide, wide]);
            taken = [
                self.take_out(op, wide, &mean.part(&line))?,
                self.take_out(op, wide, &variance.part(&line))?,
            ];
        } else {
            let measure = Measure::Moments {
                centers: true,
                eps: norm.eps,
            };
            let lines = Lines::across(norm.sizes);
            let one = [part];
            let types = [compute, wide];
            let found =
                self.measure_lines(op, measure, lines, norm.program, &shape, &one, types)?;
            let Some(found) = found else {
                return Ok(None);
            };
            stats = found;
            parts.extend(numbers(&stats, channels, &[0, 1, 2], &shape, &strides));
            dtypes.extend([wide, wide, wide]);
            let whole = numbers(&stats, channels, &[3, 4], &line, &[1]);
            taken = [
                self.take_out(op, wide, &whole[0])?,
                self.take_out(op, wide, &whole[1])?,
            ];
        }
        let first = dtypes.len();
        for (k, term) in terms.iter().enumerate() {
            parts.push(term.strided(&shape, &strides));
            dtypes.push(inputs[1 + k].dtype);
        }
        let builder = Builder::new(&dtypes);
        let x = builder.input(0);
        let mut value = if norm.given {
            let [mean, variance] = [1, 2].map(|k| builder.input(k));
            let scale = (variance + variance.lit(norm.eps)).rsqrt();
            away(x, mean) * scale.to(compute)
        } else {
            let [mean, off, scale] = [1, 2, 3].map(|k| builder.input(k).to(compute));
            ((x - mean) - off) * scale
        };
        let mut next = first;
        if norm.affine[0] {
            value = value * builder.input(next).to(compute);
            next += 1;
        }
        if norm.affine[1] {
            value = value + builder.input(next).to(compute);
        }
        let behind = builder.finish(&[value.to(output.dtype)]);
        let behind = behind.fed(0, norm.program);
        let block = self.run_behind(op, &behind, &shape, &parts)?;
        let mut results = made(block, output.count);
        let [mean, variance] = taken;
        results.extend(made(mean, of_mean.count));
        results.extend(made(variance, of_variance.count));
        Ok(Some(results))
    }

    pub(crate) fn normalize_channels_backward(
        &'static self,
        op: &'static str,
        (norm, of_gradient): (ChannelNorm<'_>, &Program),
        wanted: [bool; 3],
        inputs: &[Input<'_>],
        outputs: &[Output],
    ) -> Result<Option<Results>, Error> {
        let [input, gradient, mean, variance, weight @ ..] = inputs else {
            return Ok(None);
        };
        let shape = Shape::new(op, &norm.sizes)?;
        let [outer, channels, inner] = norm.sizes;
        let compute = computed(norm.program);
        let wide = Backend::wide(self, compute);
        let ordered = [input, gradient, mean, variance];
        let ordered: Vec<Ordered<'_>> = ordered
            .iter()
            .map(|input| self.ordered(op, input))
            .collect::<Result<_, Error>>()?;
        let strides = [0, 1, 0];
        let mut parts: Vec<Part<'_>> = Vec::new();
        for (k, ordered) in ordered.iter().enumerate() {
            parts.push(match k {
                0 | 1 => ordered.part(&shape),
                _ => ordered.strided(&shape, &strides),
            });
        }
        let eps = norm.eps;
        let front =
            |dtypes: &[DType], make: &dyn for<'b> Fn(&'b Builder, [Var<'b>; 3]) -> Values<'b>| {
                let mut all: SmallVec<[DType; 8]> = smallvec![compute, compute, wide, wide];
                all.extend_from_slice(dtypes);
                let builder = Builder::new(&all);
                let [x, g, mean, variance] = [0, 1, 2, 3].map(|k| builder.input(k));
                let scale = (variance + variance.lit(eps)).rsqrt().to(compute);
                let normalized = away(x, mean) * scale;
                let made = make(&builder, [g, normalized, scale]);
                let program = builder.finish(&made);
                program.fed(1, of_gradient).fed(1, norm.program)
            };
        let program = front(&[], &|_, [g, n, _]| smallvec![g.to(wide), (g * n).to(wide)]);
        let (measure, lines) = (Measure::Sums(2), Lines::across(norm.sizes));
        let types = [compute, wide];
        let sums = self.measure_lines(op, measure, lines, &program, &shape, &parts, types)?;
        let Some(sums) = sums else {
            return Ok(None);
        };
        let mut results: Results = SmallVec::new();
        let mut asked = outputs.iter();
        let line = Shape::new(op, &[channels])?;
        if wanted[0] {
            let Some(output) = asked.next() else {
                return Ok(None);
            };
            let weights = weight
                .first()
                .map(|weight| self.ordered(op, weight))
                .transpose()?;
            let weight_dtype = weight.first().map(|weight| weight.dtype);
            let mut dtypes: SmallVec<[DType; 4]> = smallvec![wide, wide];
            dtypes.extend(weight_dtype);
            let (count, to) = ((outer * inner) as f64, output.dtype);
            let program = front(&dtypes, &|b, [g, n, scale]| {
                let [mean, along] = [4, 5].map(|k| b.input(k));
                let [mean, along] = [mean, along].map(|sum| (sum / sum.lit(count)).to(compute));
                let rest = match norm.given {
                    true => g,
                    false => (g - mean) - n * along,
                };
                let scale = match weight_dtype {
                    Some(_) => scale * b.input(6).to(compute),
                    None => scale,
                };
                smallvec![(rest * scale).to(to)]
            });
            let mut all = parts.clone();
            all.extend(numbers(&sums, channels, &[0, 1], &shape, &strides));
            all.extend(weights.iter().map(|w| w.strided(&shape, &strides)));
            let block = self.run_behind(op, &program, &shape, &all)?;
            results.extend(made(block, output.count));
        }
        for (is_wanted, which) in [(wanted[1], 1), (wanted[2], 0)] {
            if !is_wanted {
                continue;
            }
            let Some(output) = asked.next() else {
                return Ok(None);
            };
            let part = numbers(&sums, channels, &[which], &line, &[1]);
            let block = self.take_out(op, output.dtype, &part[0])?;
            results.extend(made(block, output.count));
        }
        Ok(Some(results))
    }
}
