//! How a program is to be run: a reader per input, a kernel per step, room for what lies between.

mod fuse;
mod rooms;

use std::slice;

use allotrope_dtype::{Conversion, DType, Error, Level};
use allotrope_op::{MAX_ARITY, Op, Program, Slot, Step};
use smallvec::SmallVec;

use crate::checked::Test;
use crate::gather::Gather;
use crate::into::Feed;
use crate::kernel::elementwise::{self, Kernel};
use crate::kernel::fused;
use crate::kernel::ties::Ties;
use crate::tile::Input;

/// Bytes of a cache line.
pub(crate) const LINE: usize = 64;

/// How an input reaches the steps.
pub(crate) enum Reader<'a> {
    /// In place: contiguous elements.
    Direct(&'a [u8]),
    /// One element everywhere.
    Same(&'a [u8]),
    /// Element by element into the tile.
    Gathered(Box<Gather<'a>>),
    /// From what an output is written over, by its number.
    Target(usize),
}

impl<'a> Reader<'a> {
    fn new(source: &Feed<'a>, dtype: DType) -> Self {
        let input = match source {
            Feed::Input(input) => input,
            Feed::Target(number) => return Self::Target(*number),
        };
        let (size, layout) = (dtype.itemsize(), input.layout);
        if layout.shape().count() == 0 {
            Self::Direct(&[])
        } else if layout.is_contiguous() {
            let start = layout.offset() * size;
            Self::Direct(&input.bytes[start..start + layout.shape().count() * size])
        } else if layout.strides().iter().all(|stride| *stride == 0) {
            let start = layout.offset() * size;
            Self::Same(&input.bytes[start..start + size])
        } else {
            Self::Gathered(Box::new(Gather::new(dtype, input.bytes, layout)))
        }
    }
}

/// How a value comes about, with everything looked up.
#[derive(Clone, Copy)]
pub(crate) enum Action {
    Constant([u8; 16]),
    Convert(Conversion, Slot),
    Rest(Slot),
    Apply(Kernel, [Slot; MAX_ARITY], usize),
    /// A row with the conversions of its operands and its result.
    Absorbing(fused::Kernel, [Slot; 2]),
    /// The conversion of a row's result to a narrow dtype, with what is near a tie computed again: the
    /// result and the row's operands, of which parameters may be constants.
    Nearest(Conversion, (Op, Ties), [Slot; MAX_ARITY + 1], usize, bool),
    /// Another action does it along.
    Absorbed,
}

/// A program with its kernels and readers, ready to run any part of the outputs.
pub(crate) struct Plan<'a> {
    pub(crate) level: Level,
    pub(crate) program: &'a Program,
    pub(crate) readers: SmallVec<[Reader<'a>; 4]>,
    pub(crate) actions: SmallVec<[Action; 4]>,
    /// Where the tile of each value starts in the scratch memory.
    pub(crate) offsets: SmallVec<[usize; 8]>,
    pub(crate) scratch: usize,
    pub(crate) tile: usize,
    pub(crate) streams: bool,
    /// The whole program as one pass over its inputs, where there is one.
    pub(crate) fused: Option<(fused::Kernel, SmallVec<[Slot; 2]>)>,
    /// Cache lines of the next tile that memory is asked for at every step.
    pub(crate) lines_ahead: usize,
    /// The output that the last step makes, if it may write there itself.
    pub(crate) last: Option<usize>,
    /// What is looked at of a tile, each behind a step.
    pub(crate) tests: SmallVec<[(usize, Test); 2]>,
}

impl<'a> Plan<'a> {
    /// A plan for a program whose results may be wanted past the caches.
    pub(crate) fn new(
        level: Level,
        program: &'a Program,
        inputs: &[Input<'a>],
        streams: bool,
    ) -> Result<Self, Error> {
        let inputs: SmallVec<[Feed<'a>; 4]> = inputs.iter().copied().map(Feed::Input).collect();
        Self::over(level, program, &inputs, streams, SmallVec::new())
    }

    /// A plan for a program whose outputs may be written over some of its inputs, with tests of what it
    /// makes.
    pub(crate) fn over(
        level: Level,
        program: &'a Program,
        inputs: &[Feed<'a>],
        streams: bool,
        tests: SmallVec<[(usize, Test); 2]>,
    ) -> Result<Self, Error> {
        let values = program.dtypes().len();
        let last_slot = (values - 1) as Slot;
        let places = program.outputs().iter().enumerate();
        let mut places = places.filter(|(_, slot)| **slot == last_slot);
        // A value that comes out twice is stored, to be copied.
        let last = match (places.next(), places.next()) {
            (Some((output, _)), None) => Some(output),
            _ => None,
        };
        let mut plan = Self {
            level: level.min(Level::detected()),
            program,
            readers: SmallVec::new(),
            actions: SmallVec::new(),
            offsets: SmallVec::new(),
            scratch: 0,
            tile: usize::MAX,
            streams,
            fused: None,
            lines_ahead: 0,
            last: None,
            tests,
        };
        for (source, dtype) in inputs.iter().zip(program.input_dtypes()) {
            plan.readers.push(Reader::new(source, *dtype));
        }
        plan.fused = plan.find_fused().filter(|_| plan.can_test_outputs());
        if plan.fused.is_some() {
            return Ok(plan);
        }
        // Measured: with one input the stores of a tile only wait for the reads of the next (tanh of
        // float32 takes 1.3 times as long), with two they save the read of what they overwrite.
        plan.streams &= inputs.len() > 1;
        plan.last = last.filter(|_| !plan.streams && !program.steps().is_empty());
        for (step, slot) in program.steps().iter().zip(inputs.len()..) {
            plan.actions.push(match *step {
                Step::Constant(scalar) => Action::Constant(scalar.to_bytes()),
                Step::Convert { from, to } => {
                    let cast = Conversion::new(program.dtype(from), to)?;
                    plan.nearest(cast, from, to)
                        .unwrap_or(Action::Convert(cast, from))
                }
                Step::ConversionRest { from } => Action::Rest(from),
                Step::Apply { op, args } => {
                    let dtype = program.dtype(args[usize::from(op == Op::Where)]);
                    let rough = elementwise::find_rough(op);
                    let rough = rough.filter(|_| dtype == DType::F32 && plan.may_be_rough(slot));
                    match rough.or_else(|| elementwise::find(op, dtype)) {
                        Some(kernel) => Action::Apply(kernel, args, op.arity()),
                        None => {
                            let set = op.row().accepted();
                            return Err(Error::not_in_set(op.name(), dtype, set, None));
                        }
                    }
                }
            });
        }
        if plan.tests.is_empty() {
            plan.fuse_slopes();
        }
        plan.absorb_conversions();
        if plan.tests.is_empty() {
            plan.pair_rows();
        }
        plan.choose_tile();
        plan.look_ahead();
        Ok(plan)
    }

    /// The conversion of a value to a narrow dtype, if it is a row's that has to be looked at.
    fn nearest(&self, cast: Conversion, from: Slot, to: DType) -> Option<Action> {
        let Some(&Step::Apply { op, args }) = self.step(from) else {
            return None;
        };
        if self.program.dtype(from) != DType::F32 {
            return None;
        }
        let ties = Ties::of(op, to)?;
        // The product of two narrow numbers is exact.
        let is_constant = |slot: Slot| matches!(self.step(slot), Some(Step::Constant(_)));
        let has_constants =
            op.arity() > 1 && args[1..op.arity()].iter().all(|slot| is_constant(*slot));
        if op == Op::LeakyRelu && !has_constants {
            return None;
        }
        let mut slots = [from; MAX_ARITY + 1];
        slots[1..].copy_from_slice(&args);
        let count = op.arity() + 1;
        Some(Action::Nearest(
            cast,
            (op, ties),
            slots,
            count,
            has_constants,
        ))
    }

    /// The same plan for other inputs, if each of them is read in the same way.
    pub(crate) fn again(&self, inputs: &[Feed<'a>]) -> Option<Self> {
        let mut readers = SmallVec::new();
        for (source, (dtype, own)) in inputs
            .iter()
            .zip(self.program.input_dtypes().iter().zip(&self.readers))
        {
            let reader = Reader::new(source, *dtype);
            if std::mem::discriminant(&reader) != std::mem::discriminant(own) {
                return None;
            }
            readers.push(reader);
        }
        Some(Self {
            readers,
            actions: self.actions.clone(),
            offsets: self.offsets.clone(),
            fused: self.fused.clone(),
            tests: self.tests.clone(),
            ..*self
        })
    }

    /// The step that makes a value, if it is none of the inputs.
    fn step(&self, slot: Slot) -> Option<&Step> {
        let step = usize::from(slot).checked_sub(self.readers.len())?;
        self.program.steps().get(step)
    }

    /// Whether a value has a tile in the scratch memory.
    pub(crate) fn is_stored(&self, slot: usize) -> bool {
        match slot.checked_sub(self.readers.len()) {
            None => !matches!(self.readers[slot], Reader::Direct(_)),
            Some(step) if matches!(self.actions[step], Action::Absorbed) => false,
            Some(step) => step + 1 < self.actions.len() || self.last.is_none(),
        }
    }
}

impl Action {
    /// The values that are read.
    fn operands(&self) -> &[Slot] {
        match self {
            Self::Constant(_) | Self::Absorbed => &[],
            Self::Convert(_, from) | Self::Rest(from) => slice::from_ref(from),
            Self::Apply(_, operands, arity) => &operands[..*arity],
            Self::Absorbing(_, operands) => operands,
            Self::Nearest(_, _, slots, count, _) => &slots[..*count],
        }
    }
}
