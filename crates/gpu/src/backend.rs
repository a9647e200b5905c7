//! The device as a [`Backend`]: finds the blocks behind views, and hands them to the shaders, or to
//! the CPU where there is none.

use std::sync::Arc;

use allotrope_cpu::CPU;
use allotrope_dtype::{Capabilities, DType, Error};
use allotrope_op::task::{Contraction, Indexing, Input, Output, Results, Task, Values};
use allotrope_op::{
    Askers, Backend, Band, Combine, DeviceId, Draw, Fold, Layout, Op, Piece, Program, Put, Rewrite,
    Scan, Shape, Shared, Stream, Target, View,
};
use smallvec::{SmallVec, smallvec};

use crate::device::Gpu;
use crate::error::out_of_memory;

impl Backend for Gpu {
    fn id(&self) -> DeviceId {
        DeviceId {
            kind: "gpu",
            index: self.ordinal,
        }
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn finish(&self) -> Result<(), Error> {
        self.finish_work("synchronize")?;
        self.raise_faults("synchronize", Askers::NONE)
    }

    fn wide(&self, item: DType) -> DType {
        // Without float64 sums are held in two float32, and rounded to one.
        match item {
            DType::F32 if self.numerics.float64 => DType::F64,
            DType::C64 if self.numerics.float64 => DType::C128,
            item => item,
        }
    }

    fn perform(
        &self,
        op: &'static str,
        task: &Task<'_>,
        inputs: &[Input<'_>],
        outputs: &[Output],
    ) -> Result<Option<Results>, Error> {
        match task {
            Task::Contraction(Contraction::MatrixProduct(product)) => self
                .itself()?
                .multiply_matrices(op, product, inputs, outputs),
            Task::Contraction(Contraction::Attention(task)) => {
                self.itself()?.attend(op, task, inputs, outputs)
            }
            Task::Rowwise(task) => self.itself()?.work_on_lines(op, task, inputs, outputs),
            Task::Convolution(task) => self.itself()?.convolve(op, task, inputs, outputs),
            Task::Window(task) => self.itself()?.work_on_windows(op, task, inputs, outputs),
            Task::Values(Values::CheckIntegers(refused)) => {
                self.itself()?.check_integers(op, *refused, inputs)
            }
            Task::Values(Values::Refuse(refusal)) => {
                self.itself()?.check_mask(op, *refusal, inputs)
            }
            Task::Indexing(Indexing::CheckIndices {
                dim,
                size,
                negative,
            }) => {
                let sizes = [*dim, *size];
                let gpu = self.itself()?;
                gpu.check_indices(op, sizes, *negative, inputs, outputs)
            }
            Task::Values(Values::Cast(_)) => self.itself()?.cast_exactly(op, inputs, outputs),
            Task::Order(task) => self.itself()?.put_in_order(op, task, inputs, outputs),
            Task::Indexing(task) => self.itself()?.look_up(op, task, inputs, outputs),
            _ => Ok(None),
        }
    }

    fn allocate(&self, op: &'static str, dtype: DType, count: usize) -> Result<Shared, Error> {
        Ok(Arc::new(self.itself()?.block(op, dtype, count)?))
    }

    fn upload(&self, op: &'static str, dtype: DType, bytes: &[u8]) -> Result<Shared, Error> {
        self.itself()?.put_up(op, dtype, bytes)
    }

    fn download(
        &self,
        op: &'static str,
        dtype: DType,
        from: View<'_>,
        bytes: &mut [u8],
    ) -> Result<(), Error> {
        self.raise_faults_of(op, &[from.memory])?;
        if from.layout.is_contiguous() {
            let block = self.own(op, from.memory)?;
            return self.bring_down(op, dtype, block, from.layout.offset(), bytes);
        }
        let block = self.itself()?.copy_view(op, dtype, from)?;
        self.bring_down(op, dtype, &block, 0, bytes)
    }

    fn run(
        &self,
        op: &'static str,
        program: &Program,
        shape: &Shape,
        inputs: &[View<'_>],
    ) -> Result<SmallVec<[Shared; 2]>, Error> {
        self.itself()?.run_program(op, program, shape, inputs)
    }

    fn run_into(
        &self,
        op: &'static str,
        program: &Program,
        rewrites: Vec<Rewrite<'_>>,
    ) -> Result<bool, Error> {
        self.itself()?.rewrite(op, program, rewrites)?;
        Ok(true)
    }

    fn apply(
        &self,
        row: Op,
        dtype: DType,
        result: DType,
        operands: &[View<'_>],
    ) -> Result<Shared, Error> {
        // bounded: the arity of a row.
        let inputs: SmallVec<[DType; 4]> = smallvec![dtype; operands.len()];
        let mut program = Program::new(&inputs);
        let slots: SmallVec<[u16; 4]> = (0..operands.len() as u16).collect();
        let made = program.apply(row, &slots);
        let made = program.convert(made, result);
        program.output(made);
        let count = operands.first().map_or(0, |x| x.layout.shape().count());
        let shape = Shape::new(row.name(), &[count])?;
        let mut layouts: SmallVec<[Layout; 4]> = SmallVec::new();
        for operand in operands {
            let strides = shape.contiguous_strides();
            let offset = operand.layout.offset();
            layouts.push(Layout::from_parts(shape.clone(), strides, offset));
        }
        let views = operands.iter().zip(&layouts);
        let views: SmallVec<[View<'_>; 4]> = views
            .map(|(operand, layout)| View {
                memory: operand.memory,
                layout,
            })
            .collect();
        let results = self.run(row.name(), &program, &shape, &views)?;
        let result = results.into_iter().next();
        result.ok_or_else(|| out_of_memory(row.name(), 0))
    }

    fn reduce(
        &self,
        op: &'static str,
        fold: Fold,
        program: &Program,
        shape: &Shape,
        inputs: &[View<'_>],
        sizes: [usize; 3],
        to: DType,
    ) -> Result<Shared, Error> {
        let item = program.output_dtypes().next().unwrap_or(DType::Bool);
        let is_product = fold == Fold::Prod && self.capabilities.storage(item) != item;
        let is_empty = sizes.contains(&0);
        if !is_product && !is_empty {
            let made = self
                .itself()?
                .reduce_program(op, fold, program, shape, inputs, sizes, to)?;
            if let Some(made) = made {
                return Ok(made);
            }
        }
        let _hosting = match is_empty {
            true => None,
            false => Some(self.host("reduce", op, program.input_dtypes())?),
        };
        let fetched = self.fetch_all(op, program.input_dtypes(), inputs)?;
        let made = CPU.reduce(op, fold, program, shape, &fetched.views(), sizes, to)?;
        self.itself()?.settle_here(op, to, &made)
    }

    fn scan(
        &self,
        op: &'static str,
        scan: Scan,
        program: &Program,
        inputs: &[View<'_>],
        sizes: [usize; 3],
        to: DType,
    ) -> Result<Shared, Error> {
        let item = program.output_dtypes().next().unwrap_or(DType::Bool);
        // Products leave the range of float32 and come back to it.
        let is_product = scan == Scan::Prod && !item.is_integer() && !self.numerics.float64;
        if !is_product {
            let made = self
                .itself()?
                .scan_program(op, scan, program, inputs, sizes, to)?;
            if let Some(made) = made {
                return Ok(made);
            }
        }
        let _hosting = self.host("scan", op, program.input_dtypes())?;
        let fetched = self.fetch_all(op, program.input_dtypes(), inputs)?;
        let made = CPU.scan(op, scan, program, &fetched.views(), sizes, to)?;
        self.itself()?.settle_here(op, to, &made)
    }

    fn fill(
        &self,
        op: &'static str,
        dtype: DType,
        element: &[u8],
        count: usize,
    ) -> Result<Shared, Error> {
        let block = self.itself()?.block(op, dtype, count)?;
        let stored = self.capabilities.storage(dtype);
        let mut narrow = [0; 16];
        let element = &element[..dtype.itemsize()];
        let element = if stored == dtype {
            element
        } else {
            crate::memory::narrow(element, &mut narrow);
            &narrow[..stored.itemsize()]
        };
        self.itself()?.fill_block(op, &block, element, count)?;
        Ok(Arc::new(block))
    }

    fn copy(&self, op: &'static str, dtype: DType, from: View<'_>) -> Result<Shared, Error> {
        Ok(Arc::new(self.itself()?.copy_view(op, dtype, from)?))
    }

    fn place(
        &self,
        op: &'static str,
        dtype: DType,
        from: View<'_>,
        target: Target<'_>,
        to: &Layout,
    ) -> Result<(), Error> {
        let within = Layout::from_parts(
            to.shape().clone(),
            to.strides().into(),
            target.start + to.offset(),
        );
        if !to.may_repeat() {
            let size = self.capabilities.storage(dtype).itemsize();
            let part = (self.own(op, from.memory)?, from.layout);
            let into = self.own(op, &*target.memory)?;
            if self.itself()?.place_part(op, size, part, into, &within)? {
                return Ok(());
            }
        }
        let _hosting = self.host("place", op, &[dtype])?;
        let fetched = self.fetch_all(op, &[dtype], &[from])?;
        let view = fetched.views()[0];
        self.itself()?.write_hosted(op, dtype, target, |target| {
            CPU.place(op, dtype, view, target, to)
        })
    }

    fn assemble(
        &self,
        op: &'static str,
        dtype: DType,
        shape: &Shape,
        pieces: &[Piece<'_>],
    ) -> Result<Shared, Error> {
        if let Some(made) = self.itself()?.assemble_pieces(op, dtype, shape, pieces)? {
            return Ok(made);
        }
        let dtypes: Vec<DType> = pieces.iter().map(|piece| piece.dtype).collect();
        let _hosting = self.host("assemble", op, &dtypes)?;
        let views: Vec<View<'_>> = pieces
            .iter()
            .map(|piece| View {
                memory: piece.memory,
                layout: &piece.layout,
            })
            .collect();
        let fetched = self.fetch_all(op, &dtypes, &views)?;
        let views = fetched.views();
        let pieces: Vec<Piece<'_>> = pieces
            .iter()
            .zip(&views)
            .map(|(piece, view)| Piece {
                memory: view.memory,
                layout: view.layout.clone(),
                ..piece.clone()
            })
            .collect();
        let made = CPU.assemble(op, dtype, shape, &pieces)?;
        self.itself()?.settle_here(op, dtype, &made)
    }

    fn keep_band(
        &self,
        op: &'static str,
        dtype: DType,
        band: Band,
        diagonal: isize,
        from: View<'_>,
    ) -> Result<Shared, Error> {
        if let Some(made) = self
            .itself()?
            .keep_band_of(op, dtype, band, diagonal, from)?
        {
            return Ok(made);
        }
        let _hosting = self.host("keep_band", op, &[dtype])?;
        let fetched = self.fetch_all(op, &[dtype], &[from])?;
        let made = CPU.keep_band(op, dtype, band, diagonal, fetched.views()[0])?;
        self.itself()?.settle_here(op, dtype, &made)
    }

    fn pick(
        &self,
        op: &'static str,
        dtype: DType,
        from: View<'_>,
        step: isize,
        indices: View<'_>,
    ) -> Result<Shared, Error> {
        if let Some(made) = self
            .itself()?
            .pick_elements(op, dtype, from, step, indices)?
        {
            return Ok(made);
        }
        let _hosting = self.host("pick", op, &[dtype, DType::I64])?;
        let memory = self.fetch_block(op, dtype, from.memory)?;
        let fetched = self.fetch_all(op, &[DType::I64], &[indices])?;
        let from = View {
            memory: &*memory,
            layout: from.layout,
        };
        let made = CPU.pick(op, dtype, from, step, fetched.views()[0])?;
        self.itself()?.settle_here(op, dtype, &made)
    }

    fn put(
        &self,
        op: &'static str,
        dtype: DType,
        combine: Combine,
        job: &Put<'_>,
        target: Target<'_>,
    ) -> Result<(), Error> {
        if self
            .itself()?
            .put_elements(op, dtype, combine, job, &target)?
        {
            return Ok(());
        }
        let _hosting = self.host("put", op, &[dtype, DType::I64])?;
        let views = [job.source, job.indices];
        let fetched = self.fetch_all(op, &[dtype, DType::I64], &views)?;
        let views = fetched.views();
        let job = Put {
            source: views[0],
            indices: views[1],
            ..*job
        };
        self.itself()?.write_hosted(op, dtype, target, |target| {
            CPU.put(op, dtype, combine, &job, target)
        })
    }

    fn compress(
        &self,
        op: &'static str,
        dtype: DType,
        from: View<'_>,
        mask: View<'_>,
    ) -> Result<(Shared, usize), Error> {
        self.raise_faults_of(op, &[from.memory, mask.memory])?;
        if let Some(made) = self.itself()?.compress_elements(op, dtype, from, mask)? {
            return Ok(made);
        }
        let _hosting = self.host("compress", op, &[dtype, DType::Bool])?;
        let fetched = self.fetch_all(op, &[dtype, DType::Bool], &[from, mask])?;
        let views = fetched.views();
        let (made, count) = CPU.compress(op, dtype, views[0], views[1])?;
        Ok((self.itself()?.settle_here(op, dtype, &made)?, count))
    }

    fn expand(
        &self,
        op: &'static str,
        dtype: DType,
        from: View<'_>,
        mask: View<'_>,
        target: Target<'_>,
    ) -> Result<(), Error> {
        if self
            .itself()?
            .expand_elements(op, dtype, from, mask, &target)?
        {
            return Ok(());
        }
        let _hosting = self.host("expand", op, &[dtype, DType::Bool])?;
        let fetched = self.fetch_all(op, &[dtype, DType::Bool], &[from, mask])?;
        let views = fetched.views();
        self.itself()?.write_hosted(op, dtype, target, |target| {
            CPU.expand(op, dtype, views[0], views[1], target)
        })
    }

    fn coordinates(&self, op: &'static str, mask: View<'_>) -> Result<(Shared, usize), Error> {
        self.raise_faults_of(op, &[mask.memory])?;
        if let Some(made) = self.itself()?.true_coordinates(op, mask)? {
            return Ok(made);
        }
        let _hosting = self.host("coordinates", op, &[DType::Bool])?;
        let fetched = self.fetch_all(op, &[DType::Bool], &[mask])?;
        let (made, count) = CPU.coordinates(op, fetched.views()[0])?;
        Ok((self.itself()?.settle_here(op, DType::I64, &made)?, count))
    }

    fn draw(
        &self,
        op: &'static str,
        dtype: DType,
        draw: Draw,
        stream: Stream,
        target: Target<'_>,
    ) -> Result<(), Error> {
        if self
            .itself()?
            .draw_numbers(op, dtype, draw, stream, &target)?
        {
            return Ok(());
        }
        let _hosting = self.host("draw", op, &[dtype])?;
        self.itself()?.write_hosted(op, dtype, target, |target| {
            CPU.draw(op, dtype, draw, stream, target)
        })
    }
}
