//! Checks of values, which wait as all work does: a shader notes the first element that is refused, and
//! the next reading raises it.
//!
//! Each check has a slot of eight words in one buffer: the place of the first refused element, two
//! words of its number, and from the fifth on the least of all numbers, where an error names it. A
//! reading brings all slots down at once.

use std::fmt::Write;
use std::mem;

use allotrope_dtype::{DType, Error, Problem, Scalar};
use allotrope_op::task::indexing::Negative;
use allotrope_op::task::values::{Refusal, Refused};
use allotrope_op::task::{Input, Output, Results};
use allotrope_op::wgsl::WideIntegers;
use allotrope_op::{Askers, Builder, Faults, Fold, Layout, Memory, Program, Shape, Var, View};
use smallvec::SmallVec;

use super::rowwise::{made, same};
use super::run::{Reader, item};
use super::{GROUP, MOST_GROUPS, declarations, groups};
use crate::codec::{Cell, number};
use crate::device::{Gpu, lock};
use crate::lower::{Lowered, lower};
use crate::memory::Block;
use crate::pipeline::Shader;
use crate::transfer::widen;

/// Checks that wait at most; one more looks at those before it.
const MOST: usize = 64;
/// Words of a slot.
const SLOT: usize = 8;
/// The place where nothing was refused.
const NONE: u32 = u32::MAX;
/// Numbers that a dispatch is told before those of its program: elements, the slot's first word, and
/// threads in a row of groups.
const TOLD: usize = 3;

/// What is said of an element that a check refuses.
#[derive(Clone, Copy, Debug)]
enum Refusing {
    Indices {
        dtype: DType,
        dim: usize,
        size: usize,
        negative: Negative,
    },
    Integers {
        refused: Refused,
        /// A single integer has no index.
        has_index: bool,
    },
    Elements {
        refusal: Refusal,
        dtype: DType,
    },
}

/// A check that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    op: &'static str,
    asker: Askers,
    refusing: Refusing,
}

/// The checks of a device that nobody has heard of yet.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    slots: Option<Block>,
    waiting: Vec<Waiting>,
    /// Faults that were brought down, and the number of checks before those that wait.
    found: Faults,
    before: u64,
}

/// How a shader of a check ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Notes the first place where `item` is true.
    Find,
    /// Writes what `item` gives for that place, of a dtype.
    Tell(DType),
}

/// The shader of a check, given the text of `item` and all that it calls.
pub(crate) fn check_shader(
    step: Step,
    reads: usize,
    numbers: usize,
    functions: &str,
    integers: WideIntegers,
) -> Shader {
    let mut text = declarations(reads, 0, numbers);
    let (binding, [count, slot, row]) = (reads + 1, [0, 1, 2].map(number));
    let body = match step {
        Step::Find => format!(
            "    let i = id.x + id.y * {row};\n    if (i >= {count}) {{ return; }}\n    \
             if (item(i)) {{ atomicMin(&slots[{slot}], i); }}\n"
        ),
        Step::Tell(dtype) => {
            let code = Cell::Of(dtype).encode("v", integers);
            let words = match dtype.itemsize() {
                8 => "atomicStore(&slots[at + 1u], code.x); atomicStore(&slots[at + 2u], code.y);",
                _ => "atomicStore(&slots[at + 1u], code);",
            };
            format!(
                "    let at = {slot};\n    let i = atomicLoad(&slots[at]);\n    \
                 if (id.x > 0u || i >= {count}) {{ return; }}\n    \
                 let v = item(i);\n    let code = {code};\n    {words}\n"
            )
        }
    };
    write!(
        text,
        "@group(0) @binding({binding}) var<storage, read_write> slots: array<atomic<u32>>;\n\
         {functions}\
         @compute @workgroup_size({GROUP})\n\
         fn main(@builtin(global_invocation_id) id: vec3<u32>) {{\n{body}}}\n"
    )
    .ok();
    Shader {
        text,
        reads,
        writes: 1,
    }
}

/// The shaders of a check that reads contiguous elements, for a check of them without a device.
pub(crate) fn check_shaders(dtype: DType, integers: WideIntegers) -> Option<[Shader; 2]> {
    let shader = |step: Step, program: Program| {
        let lowered = Lowered {
            program,
            constants: SmallVec::new(),
        };
        let reader = Reader::of_contiguous(1);
        let (text, numbers) = item("item", &lowered, &reader, integers, TOLD, &[])?;
        Some(check_shader(step, 1, numbers, &text, integers))
    };
    let builder = Builder::new(&[dtype]);
    let is_wrong = builder.input(0).to(DType::Bool);
    Some([
        shader(Step::Find, builder.finish(&[is_wrong]))?,
        shader(Step::Tell(dtype), same(dtype))?,
    ])
}

impl Refusing {
    /// What is wrong, by the words of its slot; nothing where nothing was refused.
    fn fault(self, words: &[u32], stored: DType) -> Result<Option<Problem>, Error> {
        let (place, bytes): (u32, &[u8]) = (words[0], bytemuck::cast_slice(&words[1..]));
        if place == NONE {
            return Ok(None);
        }
        let long = |first: usize| i64::from(words[first]) | i64::from(words[first + 1]) << 32;
        let place = place as usize;
        Ok(Some(match self {
            Self::Indices {
                dtype,
                dim,
                size,
                negative,
            } => negative.fault(dtype, long(1), long(4), dim, size),
            Self::Integers { refused, has_index } => refused.fault(has_index.then_some(place)),
            Self::Elements { refusal, dtype } => {
                let mut wide = [0; 8];
                let number = match refusal.value {
                    Some(_) => None,
                    None if stored == dtype => {
                        Some(Scalar::from_bytes(dtype, &bytes[..dtype.itemsize()])?)
                    }
                    None => {
                        widen(&bytes[..4], &mut wide);
                        Some(Scalar::from_bytes(dtype, &wide)?)
                    }
                };
                refusal.fault(place, number)
            }
        }))
    }
}

/// A number of a dtype within a program.
fn constant(builder: &Builder, value: i64) -> Result<Var<'_>, Error> {
    Ok(builder.constant(Scalar::new(value, DType::I64)?))
}

impl Gpu {
    /// Raises the first fault that concerns the calling thread, or others who had a part in elements.
    pub(crate) fn raise_faults(&self, op: &'static str, others: Askers) -> Result<(), Error> {
        let mut checks = lock(&self.checks);
        self.look_at(op, &mut checks)?;
        checks.found.raise(others.and(Askers::this_thread()))
    }

    /// Raises the first fault that concerns who reads these memories.
    pub(crate) fn raise_faults_of(
        &self,
        op: &'static str,
        memories: &[&dyn Memory],
    ) -> Result<(), Error> {
        let mut others = Askers::NONE;
        for memory in memories {
            others = others.and(self.own(op, *memory)?.lineage.askers());
        }
        self.raise_faults(op, others)
    }

    /// Waits for the checks, and notes what they refuse.
    fn look_at(&self, op: &'static str, checks: &mut Checks) -> Result<(), Error> {
        let waiting = mem::take(&mut checks.waiting);
        let Some(slots) = checks.slots.as_ref().filter(|_| !waiting.is_empty()) else {
            return Ok(());
        };
        let mut words = [0; MOST * SLOT];
        let words = &mut words[..waiting.len() * SLOT];
        self.bring_down(op, DType::U32, slots, 0, bytemuck::cast_slice_mut(words))?;
        for (order, (check, words)) in waiting.iter().zip(words.chunks(SLOT)).enumerate() {
            let Waiting {
                op,
                asker,
                refusing,
            } = *check;
            let stored = match refusing {
                Refusing::Elements { dtype, .. } => self.capabilities.storage(dtype),
                _ => DType::I64,
            };
            if let Some(problem) = refusing.fault(words, stored)? {
                let order = checks.before + order as u64;
                checks.found.note(order, asker, Error::new(op, problem));
            }
        }
        checks.before += waiting.len() as u64;
        Ok(())
    }

    /// Records a shader of a check over a view.
    fn record_check(
        &'static self,
        op: &'static str,
        step: Step,
        program: &Program,
        view: View<'_>,
        slots: &Block,
        first: usize,
    ) -> Result<bool, Error> {
        let (shape, lowered) = (view.layout.shape(), lower(program, &self.capabilities)?);
        let parts = self.parts(op, &[view])?;
        let Some(reader) = self.reader(lowered.program.input_dtypes(), shape, &parts) else {
            return Ok(false);
        };
        let count = shape.count();
        let (threads, integers) = (if step == Step::Find { count } else { 1 }, self.integers);
        let [groups, row] = groups(threads);
        let mut numbers = vec![count as u32, first as u32, row];
        numbers.extend(reader.numbers(&lowered));
        let mut bounds = reader.bounds().to_vec();
        let Some((bound, _)) = self.bind(slots, 4, [0, MOST * SLOT]) else {
            return Ok(false);
        };
        bounds.push(bound);
        let key = format!("check {step:?}|{}", reader.key(&lowered));
        let reads = reader.bounds().len();
        let pipeline = self.pipeline(op, &key, || {
            let (text, numbers) = item("item", &lowered, &reader, integers, TOLD, &[])?;
            Some(check_shader(step, reads, numbers, &text, integers))
        })?;
        let grid = [groups.min(MOST_GROUPS), groups.div_ceil(MOST_GROUPS)];
        self.dispatch(op, &pipeline, &bounds, &numbers, grid)?;
        Ok(true)
    }

    /// Queues a check of the elements of a view that a program finds wrong, of which another view has
    /// the number that is told; whether a shader may see all of them.
    fn queue_check(
        &'static self,
        op: &'static str,
        refusing: Refusing,
        is_wrong: (&Program, View<'_>),
        told: Option<(&Program, View<'_>)>,
        least: Option<(&Program, View<'_>)>,
    ) -> Result<bool, Error> {
        let count = is_wrong.1.layout.shape().count();
        if count >= NONE as usize {
            return Ok(false);
        }
        if count == 0 {
            return Ok(true);
        }
        // Held until all is recorded: who reads the slots reads them behind it.
        let mut checks = lock(&self.checks);
        if checks.waiting.len() == MOST {
            self.look_at(op, &mut checks)?;
        }
        if checks.slots.is_none() {
            checks.slots = Some(self.block(op, DType::U32, MOST * SLOT)?);
        }
        let first = checks.waiting.len() * SLOT;
        let Some(slots) = &checks.slots else {
            return Ok(false);
        };
        if first == 0 {
            self.fill_block(op, slots, &NONE.to_ne_bytes(), MOST * SLOT)?;
        }
        let (program, view) = is_wrong;
        if let Some((program, view)) = least {
            let (shape, sizes) = (view.layout.shape(), [1, count, 1]);
            let found =
                self.reduce_program(op, Fold::Min, program, shape, &[view], sizes, DType::I64)?;
            let Some(found) = found else {
                return Ok(false);
            };
            let one = Layout::contiguous(Shape::new(op, &[1])?);
            self.move_part(op, 8, self.own(op, &*found)?, &one, slots, (first + 4) / 2)?;
        }
        if !self.record_check(op, Step::Find, program, view, slots, first)? {
            return Ok(false);
        }
        if let Some((program, view)) = told {
            let dtype = program.output_dtypes().next().unwrap_or(DType::I64);
            let step = Step::Tell(self.capabilities.storage(dtype));
            if !self.record_check(op, step, program, view, slots, first)? {
                return Ok(false);
            }
        }
        checks.waiting.push(Waiting {
            op,
            asker: Askers::this_thread(),
            refusing,
        });
        Ok(true)
    }

    /// Queues a check of indices, and gives those that are in range from zero on, others as zero.
    pub(crate) fn check_indices(
        &'static self,
        op: &'static str,
        [dim, size]: [usize; 2],
        negative: Negative,
        inputs: &[Input<'_>],
        outputs: &[Output],
    ) -> Result<Option<Results>, Error> {
        let ([input], [output]) = (inputs, outputs) else {
            return Ok(None);
        };
        let (dtype, view) = (input.dtype, input.view);
        let from_end = negative == Negative::FromEnd && dtype != DType::U64;
        let builder = Builder::new(&[dtype]);
        // What is beyond int64, which only uint64 has, is negative.
        let index = builder.input(0).to(DType::I64);
        let (zero, end) = (constant(&builder, 0)?, constant(&builder, size as i64)?);
        let least = if from_end { zero - end } else { zero };
        let is_wrong = index.lt(least).logical_or(index.ge(end));
        let wrapped = if from_end {
            index.lt(zero).pick(index + end, index)
        } else {
            index
        };
        let known = builder.finish(&[is_wrong.pick(zero, wrapped)]);
        let (found, told) = (builder.finish(&[is_wrong]), builder.finish(&[index]));
        let refusing = Refusing::Indices {
            dtype,
            dim,
            size,
            negative,
        };
        let all = (negative == Negative::Invalid).then_some((&told, view));
        if !self.queue_check(op, refusing, (&found, view), Some((&told, view)), all)? {
            return Ok(None);
        }
        let parts = self.parts(op, &[view])?;
        let block = self.run_behind(op, &known, view.layout.shape(), &parts)?;
        Ok(Some(made(block, output.count)))
    }

    /// Queues a check of classes, and gives them, with -1 for those that are ignored or wrong.
    pub(crate) fn check_classes(
        &'static self,
        op: &'static str,
        classes: usize,
        ignored: i64,
        inputs: &[Input<'_>],
        outputs: &[Output],
    ) -> Result<Option<Results>, Error> {
        let ([input], [output]) = (inputs, outputs) else {
            return Ok(None);
        };
        let builder = Builder::new(&[DType::I64]);
        let class = builder.input(0);
        let (zero, end) = (constant(&builder, 0)?, constant(&builder, classes as i64)?);
        let is_ignored = class.eq(constant(&builder, ignored)?);
        let is_class = class.ge(zero).logical_and(class.lt(end));
        let is_wrong = is_ignored.logical_or(is_class).logical_not();
        let counts = is_class.logical_and(is_ignored.logical_not());
        let known = builder.finish(&[counts.pick(class, constant(&builder, -1)?)]);
        let (found, told) = (builder.finish(&[is_wrong]), builder.finish(&[class]));
        let refusing = Refusing::Indices {
            dtype: DType::I64,
            dim: 1,
            size: classes,
            negative: Negative::Refuse,
        };
        let view = input.view;
        if !self.queue_check(op, refusing, (&found, view), Some((&told, view)), None)? {
            return Ok(None);
        }
        let parts = self.parts(op, &[view])?;
        let block = self.run_behind(op, &known, view.layout.shape(), &parts)?;
        Ok(Some(made(block, output.count)))
    }

    /// Queues a check of integers without an answer.
    pub(crate) fn check_integers(
        &'static self,
        op: &'static str,
        refused: Refused,
        inputs: &[Input<'_>],
    ) -> Result<Option<Results>, Error> {
        let [input] = inputs else {
            return Ok(None);
        };
        let builder = Builder::new(&[input.dtype]);
        let value = builder.input(0);
        let zero = builder.constant(Scalar::new(false, input.dtype)?);
        let is_wrong = match refused {
            Refused::Zero => value.eq(zero),
            Refused::Negative => value.lt(zero),
        };
        let refusing = Refusing::Integers {
            refused,
            has_index: input.view.layout.rank() > 0,
        };
        let found = builder.finish(&[is_wrong]);
        let is_queued = self.queue_check(op, refusing, (&found, input.view), None, None)?;
        Ok(is_queued.then(Results::new))
    }

    /// Queues a check of elements that a mask refuses.
    pub(crate) fn check_mask(
        &'static self,
        op: &'static str,
        refusal: Refusal,
        inputs: &[Input<'_>],
    ) -> Result<Option<Results>, Error> {
        let (mask, numbers) = match inputs {
            [mask] => (mask, None),
            [mask, numbers] => (mask, Some(numbers)),
            _ => return Ok(None),
        };
        let numbers = numbers.filter(|_| refusal.value.is_none());
        let dtype = numbers.map_or(DType::I64, |numbers| numbers.dtype);
        let (found, told) = (same(DType::Bool), same(dtype));
        let told = numbers.map(|numbers| (&told, numbers.view));
        let refusing = Refusing::Elements { refusal, dtype };
        let is_queued = self.queue_check(op, refusing, (&found, mask.view), told, None)?;
        Ok(is_queued.then(Results::new))
    }
}
