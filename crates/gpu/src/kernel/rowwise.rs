//! Tasks of `allotrope_op::task::rowwise`: numbers about lines, and a program behind that reads them.

use std::sync::Arc;

use allotrope_dtype::{DType, Error};
use allotrope_op::task::rowwise::Softmax;
use allotrope_op::task::{Input, Made, Output, Results, Rowwise};
use allotrope_op::{Backend, Builder, Layout, Program, Shape};
use smallvec::smallvec;

use super::lines::{Lines, Measure, strided};
use super::run::Part;
use crate::device::Gpu;
use crate::memory::Block;

/// Where the elements of an input lie one after the other: where they are, or copied.
pub(crate) struct Ordered<'a> {
    place: Place<'a>,
    offset: usize,
}

enum Place<'a> {
    Own(&'a Block),
    Copied(Block),
}

impl Ordered<'_> {
    /// The memory.
    pub(crate) fn block(&self) -> &Block {
        match &self.place {
            Place::Own(block) => block,
            Place::Copied(block) => block,
        }
    }

    /// All elements, in a shape.
    pub(crate) fn part(&self, shape: &Shape) -> Part<'_> {
        let strides = shape.contiguous_strides();
        let layout = Layout::from_parts(shape.clone(), strides, self.offset);
        (self.block(), layout)
    }

    /// Elements by strides.
    pub(crate) fn strided(&self, shape: &Shape, strides: &[usize]) -> Part<'_> {
        (self.block(), strided(shape, strides, self.offset))
    }
}

/// One output.
pub(crate) fn made(block: Block, count: usize) -> Results {
    let memory = Arc::new(block);
    smallvec![Made { memory, count }]
}

/// The dtype that a program computes in.
pub(crate) fn computed(program: &Program) -> DType {
    program.output_dtypes().next().unwrap_or(DType::F32)
}

/// Numbers of lines as parts of a shape: as many as are asked for, by strides.
pub(crate) fn numbers<'a>(
    stats: &'a Block,
    lines: usize,
    which: &[usize],
    shape: &Shape,
    strides: &[usize],
) -> Vec<Part<'a>> {
    let part = |k: &usize| (stats, strided(shape, strides, k * lines));
    which.iter().map(part).collect()
}

impl Gpu {
    /// The elements of an input one after the other.
    pub(crate) fn ordered<'a>(
        &'static self,
        op: &'static str,
        input: &Input<'a>,
    ) -> Result<Ordered<'a>, Error> {
        let layout = input.view.layout;
        if layout.is_contiguous() {
            return Ok(Ordered {
                place: Place::Own(self.own(op, input.view.memory)?),
                offset: layout.offset(),
            });
        }
        Ok(Ordered {
            place: Place::Copied(self.copy_view(op, input.dtype, input.view)?),
            offset: 0,
        })
    }

    /// Work on lines; nothing where there is no shader.
    pub(crate) fn work_on_lines(
        &'static self,
        op: &'static str,
        task: &Rowwise<'_>,
        inputs: &[Input<'_>],
        outputs: &[Output],
    ) -> Result<Option<Results>, Error> {
        if outputs.iter().any(|output| output.count == 0) {
            return Ok(None);
        }
        match *task {
            Rowwise::Softmax {
                kind,
                program,
                sizes,
            } => self.softmax(op, kind, program, sizes, inputs, outputs),
            Rowwise::Norm(norm) => self.normalize(op, norm, inputs, outputs),
            Rowwise::NormBackward {
                norm,
                gradient,
                terms,
                wanted,
            } => self.normalize_backward(op, (norm, gradient), terms, wanted, inputs, outputs),
            Rowwise::ChannelNorm(norm) => self.normalize_channels(op, norm, inputs, outputs),
            Rowwise::ChannelNormBackward {
                norm,
                gradient,
                wanted,
            } => self.normalize_channels_backward(op, (norm, gradient), wanted, inputs, outputs),
            Rowwise::ClassIndices { classes, ignored } => {
                self.check_classes(op, classes, ignored, inputs, outputs)
            }
            _ => Ok(None),
        }
    }

    fn softmax(
        &'static self,
        op: &'static str,
        kind: Softmax,
        program: &Program,
        sizes: [usize; 3],
        inputs: &[Input<'_>],
        outputs: &[Output],
    ) -> Result<Option<Results>, Error> {
        let ([input], [output]) = (inputs, outputs) else {
            return Ok(None);
        };
        let x = self.ordered(op, input)?;
        let (shape, lines) = (Shape::new(op, &sizes)?, Lines::along(sizes));
        let part = x.part(&shape);
        let compute = computed(program);
        let wide = Backend::wide(self, compute);
        let measure = Measure::Exponentials {
            logarithm: kind == Softmax::LogSoftmax,
        };
        let dtypes = [compute, wide];
        let parts = [part.clone()];
        let stats = self.measure_lines(op, measure, lines, program, &shape, &parts, dtypes)?;
        let Some(stats) = stats else {
            return Ok(None);
        };
        let builder = Builder::new(&[compute, wide, wide]);
        let [x, most, total] = [0, 1, 2].map(|k| builder.input(k));
        let below = x - most.to(compute);
        let value = match kind {
            Softmax::Softmax => below.exp() * total.to(compute),
            Softmax::LogSoftmax => below - total.to(compute),
        };
        let behind = builder.finish(&[value.to(output.dtype)]);
        let behind = behind.fed(0, program);
        let mut parts: Vec<Part<'_>> = vec![part];
        let strides = [sizes[2], 0, 1];
        parts.extend(numbers(&stats, lines.count, &[0, 1], &shape, &strides));
        let block = self.run_behind(op, &behind, &shape, &parts)?;
        Ok(Some(made(block, output.count)))
    }

    /// A part as memory of its own.
    pub(crate) fn take_out(
        &'static self,
        op: &'static str,
        dtype: DType,
        (block, layout): &Part<'_>,
    ) -> Result<Block, Error> {
        let target = self.block(op, dtype, layout.shape().count())?;
        let size = self.capabilities.storage(dtype).itemsize();
        self.move_part(op, size, block, layout, &target, 0)?;
        Ok(target)
    }

    /// A cast to a dtype that holds all numbers of the other, whatever the rules; nothing where it
    /// does not.
    pub(crate) fn cast_exactly(
        &'static self,
        op: &'static str,
        inputs: &[Input<'_>],
        outputs: &[Output],
    ) -> Result<Option<Results>, Error> {
        let ([input], [output]) = (inputs, outputs) else {
            return Ok(None);
        };
        let is_held = self.capabilities.storage(output.dtype) == output.dtype;
        if !input.dtype.fits_in(output.dtype) || !is_held || output.count == 0 {
            return Ok(None);
        }
        let mut program = Program::new(&[input.dtype]);
        let slot = program.convert(0, output.dtype);
        program.output(slot);
        let parts = self.parts(op, &[input.view])?;
        let shape = input.view.layout.shape();
        let block = self.run_behind(op, &program, shape, &parts)?;
        Ok(Some(made(block, output.count)))
    }
}

/// A program that gives what it reads.
pub(crate) fn same(dtype: DType) -> Program {
    let mut program = Program::new(&[dtype]);
    program.output(0);
    program
}
