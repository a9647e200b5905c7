//! Norms of lines and their gradients.

use allotrope_dtype::{DType, Error};
use allotrope_op::task::rowwise::Norm;
use allotrope_op::task::{Input, Made, Output, Results};
use allotrope_op::{Backend, Builder, Fold, Layout, Program, Shape, Var, View};
use smallvec::{SmallVec, smallvec};

use super::lines::{Lines, Measure};
use super::rowwise::{Ordered, computed, made, numbers, same};
use super::run::Part;
use crate::device::Gpu;
use crate::memory::Block;

/// How lines, weights and elements lie to each other, as four sizes: all lines of a set of weights,
/// sets of lines, weights of a line, neighbours that share one.
struct Affine {
    shape: Shape,
    lines: usize,
    of_line: [usize; 4],
    of_term: [usize; 4],
}

impl Affine {
    /// Nothing where lines and weights do not fit into each other.
    fn new(
        op: &'static str,
        count: usize,
        length: usize,
        terms: usize,
        period: usize,
    ) -> Result<Option<Self>, Error> {
        if length == 0 || period == 0 || terms == 0 || count == 0 {
            return Ok(None);
        }
        let (lines, each) = (count / length, length / period);
        // Weights of all elements: as many periods as a line has, or several lines.
        let fits = length.is_multiple_of(period) && each > 0 && terms.is_multiple_of(each);
        let several = terms / each.max(1);
        if !fits || !lines.is_multiple_of(several.max(1)) || several == 0 {
            return Ok(None);
        }
        let shape = Shape::new(op, &[lines / several, several, each, period])?;
        Ok(Some(Self {
            shape,
            lines,
            of_line: [several, 1, 0, 0],
            of_term: [0, each, 1, 0],
        }))
    }
}

impl Gpu {
    pub(crate) fn normalize(
        &'static self,
        op: &'static str,
        norm: Norm<'_>,
        inputs: &[Input<'_>],
        outputs: &[Output],
    ) -> Result<Option<Results>, Error> {
        let ([input, terms @ ..], [output]) = (inputs, outputs) else {
            return Ok(None);
        };
        let (length, count) = (norm.length, output.count);
        let [weights, period] = match terms.first() {
            Some(term) => [term.view.layout.shape().count(), norm.period],
            None => [length, 1],
        };
        let Some(affine) = Affine::new(op, count, length, weights, period)? else {
            return Ok(None);
        };
        let x = self.ordered(op, input)?;
        let part = x.part(&affine.shape);
        let compute = computed(norm.program);
        let wide = Backend::wide(self, compute);
        let Some(stats) = self.moments(op, norm, &affine, &part, [compute, wide])? else {
            return Ok(None);
        };
        let mut dtypes: SmallVec<[DType; 6]> = smallvec![compute, wide, wide, wide];
        dtypes.extend(terms.iter().map(|term| term.dtype));
        let builder = Builder::new(&dtypes);
        let [x, mean, off, scale] = [0, 1, 2, 3].map(|k| builder.input(k));
        let [mean, off, scale] = [mean, off, scale].map(|number| number.to(compute));
        let mut value = ((x - mean) - off) * scale;
        let mut next = 4;
        if norm.affine[0] {
            value = value * builder.input(next).to(compute);
            next += 1;
        }
        if norm.affine[1] {
            value = value + builder.input(next).to(compute);
        }
        let behind = builder.finish(&[value.to(output.dtype)]);
        let behind = behind.fed(0, norm.program);
        let mut parts: Vec<Part<'_>> = vec![part];
        let of_lines = [0, 1, 2];
        parts.extend(numbers(
            &stats,
            affine.lines,
            &of_lines,
            &affine.shape,
            &affine.of_line,
        ));
        let terms: Vec<Ordered<'_>> = terms
            .iter()
            .map(|term| self.ordered(op, term))
            .collect::<Result<_, Error>>()?;
        parts.extend(
            terms
                .iter()
                .map(|term| term.strided(&affine.shape, &affine.of_term)),
        );
        let block = self.run_behind(op, &behind, &affine.shape, &parts)?;
        Ok(Some(made(block, count)))
    }

    /// The moments of lines.
    fn moments(
        &'static self,
        op: &'static str,
        norm: Norm<'_>,
        affine: &Affine,
        part: &Part<'_>,
        dtypes: [DType; 2],
    ) -> Result<Option<Block>, Error> {
        let (centers, eps) = (norm.centers, norm.eps);
        let measure = Measure::Moments { centers, eps };
        let lines = Lines::along([affine.lines, norm.length, 1]);
        let parts = [part.clone()];
        self.measure_lines(
            op,
            measure,
            lines,
            norm.program,
            &affine.shape,
            &parts,
            dtypes,
        )
    }

    pub(crate) fn normalize_backward(
        &'static self,
        op: &'static str,
        (norm, of_gradient): (Norm<'_>, &Program),
        terms: usize,
        wanted: [bool; 3],
        inputs: &[Input<'_>],
        outputs: &[Output],
    ) -> Result<Option<Results>, Error> {
        let [input, gradient, weight @ ..] = inputs else {
            return Ok(None);
        };
        let count = input.view.layout.shape().count();
        let Some(affine) = Affine::new(op, count, norm.length, terms, norm.period)? else {
            return Ok(None);
        };
        let (x, gradient) = (self.ordered(op, input)?, self.ordered(op, gradient)?);
        let shape = &affine.shape;
        let compute = computed(norm.program);
        let wide = Backend::wide(self, compute);
        let x_part = x.part(shape);
        let Some(stats) = self.moments(op, norm, &affine, &x_part, [compute, wide])? else {
            return Ok(None);
        };
        let weight = weight
            .first()
            .map(|weight| self.ordered(op, weight))
            .transpose()?;
        let weight_dtype = inputs.get(2).map(|weight| weight.dtype);
        let mut parts: Vec<Part<'_>> = vec![x_part, gradient.part(shape)];
        let of_lines = numbers(&stats, affine.lines, &[0, 1, 2], shape, &affine.of_line);
        parts.extend(of_lines);
        // What each program begins with: the gradient, and the numbers brought to variance 1.
        let front =
            |dtypes: &[DType], make: &dyn for<'b> Fn(&'b Builder, [Var<'b>; 2]) -> Values<'b>| {
                let mut all: SmallVec<[DType; 8]> = smallvec![compute, compute, wide, wide, wide];
                all.extend_from_slice(dtypes);
                let builder = Builder::new(&all);
                let [x, g, mean, off, scale] = [0, 1, 2, 3, 4].map(|k| builder.input(k));
                let [mean, off, scale] = [mean, off, scale].map(|number| number.to(compute));
                let normalized = ((x - mean) - off) * scale;
                let made = make(&builder, [g, normalized]);
                let program = builder.finish(&made);
                program.fed(1, of_gradient).fed(1, norm.program)
            };
        let mut results: Results = SmallVec::new();
        let mut asked = outputs.iter();
        if wanted[0] {
            let Some(output) = asked.next() else {
                return Ok(None);
            };
            let dtypes: SmallVec<[DType; 1]> = weight_dtype.into_iter().collect();
            let program = front(&dtypes, &|b, [g, n]| {
                let g = match weight_dtype {
                    Some(_) => g * b.input(5).to(compute),
                    None => g,
                };
                smallvec![g.to(wide), (g * n).to(wide)]
            });
            let mut with_weight = parts.clone();
            with_weight.extend(weight.iter().map(|w| w.strided(shape, &affine.of_term)));
            let lines = Lines::along([affine.lines, norm.length, 1]);
            let sums = self.measure_lines(
                op,
                Measure::Sums(2),
                lines,
                &program,
                shape,
                &with_weight,
                [compute, wide],
            )?;
            let Some(sums) = sums else {
                return Ok(None);
            };
            let mut dtypes: SmallVec<[DType; 4]> = smallvec![wide, wide];
            dtypes.extend(weight_dtype);
            let (centers, length) = (norm.centers, norm.length as f64);
            let to = output.dtype;
            let program = front(&dtypes, &|b, [g, n]| {
                let g = match weight_dtype {
                    Some(_) => g * b.input(7).to(compute),
                    None => g,
                };
                let scale = b.input(4).to(compute);
                let [mean, along] = [5, 6].map(|k| b.input(k));
                let [mean, along] = [mean, along].map(|sum| (sum / sum.lit(length)).to(compute));
                let rest = if centers { g - mean } else { g };
                smallvec![((rest - n * along) * scale).to(to)]
            });
            let mut all = parts.clone();
            all.extend(numbers(
                &sums,
                affine.lines,
                &[0, 1],
                shape,
                &affine.of_line,
            ));
            all.extend(weight.iter().map(|w| w.strided(shape, &affine.of_term)));
            let block = self.run_behind(op, &program, shape, &all)?;
            results.extend(made(block, output.count));
        }
        for (is_wanted, is_weight) in [(wanted[1], true), (wanted[2], false)] {
            if !is_wanted {
                continue;
            }
            let Some(output) = asked.next() else {
                return Ok(None);
            };
            let program = front(&[], &|_, [g, n]| match is_weight {
                true => smallvec![g * n],
                false => smallvec![g],
            });
            let Some(sum) = self.sum_terms(op, &program, shape, &parts, output)? else {
                return Ok(None);
            };
            results.push(sum);
        }
        Ok(Some(results))
    }

    /// The sums over all but the two sizes in the middle of four.
    fn sum_terms(
        &'static self,
        op: &'static str,
        program: &Program,
        shape: &Shape,
        parts: &[Part<'_>],
        output: &Output,
    ) -> Result<Option<Made>, Error> {
        let [rows, terms, period] = [shape[0], shape[1] * shape[2], shape[3]];
        let views: Vec<View<'_>> = parts
            .iter()
            .map(|(block, layout)| View {
                memory: *block,
                layout,
            })
            .collect();
        let (fold, to) = (Fold::Sum, output.dtype);
        let sizes = match period {
            1 => [1, rows, terms],
            _ => [rows * terms, period, 1],
        };
        let sums = self.reduce_program(op, fold, program, shape, &views, sizes, to)?;
        let Some(memory) = sums else {
            return Ok(None);
        };
        let count = output.count;
        if period == 1 {
            return Ok(Some(Made { memory, count }));
        }
        let layout = Layout::contiguous(Shape::new(op, &[rows, terms])?);
        let view = View {
            memory: &*memory,
            layout: &layout,
        };
        let program = same(to);
        let sizes = [1, rows, terms];
        let sums = self.reduce_program(op, fold, &program, layout.shape(), &[view], sizes, to)?;
        Ok(sums.map(|memory| Made { memory, count }))
    }
}

/// The outputs of a program in the making.
pub(crate) type Values<'b> = SmallVec<[Var<'b>; 2]>;
