//! Programs whose outputs are written over memory, as optimizers do.
//!
//! A shader may not read a buffer that it writes, so results are new buffers, which then take the
//! place of the old ones: no byte is moved twice.

use std::any::Any;

use allotrope_dtype::Error;
use allotrope_op::{Layout, Origin, Program, Rewrite, Target};

use super::run::Part;
use crate::device::Gpu;
use crate::error::failed;
use crate::lower::lower;
use crate::memory::Block;

impl Gpu {
    /// Writes the outputs of a program over targets, for as many sets of them as are given.
    pub(crate) fn rewrite(
        &'static self,
        op: &'static str,
        program: &Program,
        rewrites: Vec<Rewrite<'_>>,
    ) -> Result<(), Error> {
        let lowered = lower(program, &self.capabilities)?;
        for rewrite in rewrites {
            let Rewrite {
                shape,
                inputs,
                targets,
            } = rewrite;
            if shape.count() == 0 {
                continue;
            }
            let mut made: Vec<Block> = Vec::new();
            for dtype in program.output_dtypes() {
                made.push(self.block(op, dtype, shape.count())?);
            }
            let mut parts: Vec<Part<'_>> = Vec::new();
            for input in &inputs {
                parts.push(match input {
                    Origin::View(view) => (self.own(op, view.memory)?, view.layout.clone()),
                    Origin::Target(number) => {
                        let target = targets
                            .get(*number)
                            .ok_or_else(|| failed(op, self.name, "there is no such target"))?;
                        let strides = shape.contiguous_strides();
                        let layout = Layout::from_parts(shape.clone(), strides, target.start);
                        (self.own(op, &*target.memory)?, layout)
                    }
                });
            }
            let into: Vec<&Block> = made.iter().collect();
            self.run_parts(op, &lowered, shape, &parts, &into, 0)?;
            drop((into, parts));
            for ((mut new, target), dtype) in
                made.into_iter().zip(targets).zip(program.output_dtypes())
            {
                let Target { memory, start, .. } = target;
                let old = (memory as &mut dyn Any).downcast_mut::<Block>();
                let old =
                    old.ok_or_else(|| failed(op, self.name, "the memory is of another device"))?;
                if start == 0 && old.stored == new.stored {
                    std::mem::swap(&mut old.buffer, &mut new.buffer);
                    continue;
                }
                let size = self.capabilities.storage(dtype).itemsize();
                let layout = Layout::contiguous(shape.clone());
                self.move_part(op, size, &new, &layout, old, start)?;
            }
        }
        Ok(())
    }
}
