//! How a program is to be run: a reader per input, a kernel per step, room for what lies between.

use allotrope_dtype::{Conversion, DType, Error, Level};
use allotrope_op::{MAX_ARITY, Op, Program, Slot, Step};
use smallvec::SmallVec;

use crate::gather::Gather;
use crate::kernel::elementwise::{self, Kernel};
use crate::kernel::fused;
use crate::tile::Input;

/// The most elements of a tile.
const LONGEST_TILE: usize = 2048;
/// The fewest: below, calls cost more than the elements.
const SHORTEST_TILE: usize = 1024;
/// Bytes that the values of a tile may take together.
const TILE_BYTES: usize = 32 << 10;

/// How an input reaches the steps.
pub(crate) enum Reader<'a> {
    /// In place: contiguous elements.
    Direct(&'a [u8]),
    /// One element everywhere.
    Same(&'a [u8]),
    /// Element by element into the tile.
    Gathered(Box<Gather<'a>>),
}

/// How a value comes about, with everything looked up.
pub(crate) enum Action {
    Constant([u8; 16]),
    Convert(Conversion, Slot),
    Rest(Slot),
    Apply(Kernel, [Slot; MAX_ARITY], usize),
    /// A row with the conversions of its operands and its result.
    Absorbing(fused::Kernel, [Slot; 2]),
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
    /// The step during which memory is asked for the next tile: a function of one operand, which
    /// leaves memory alone. Measured on `tanh(a * b + c) * a` of float64: 2.1 instead of 2.4 ns.
    pub(crate) ahead: Option<usize>,
    /// The output that the last step makes, if it may write there itself.
    pub(crate) last: Option<usize>,
}

impl<'a> Plan<'a> {
    /// A plan for a program whose results may be wanted past the caches.
    pub(crate) fn new(
        level: Level,
        program: &'a Program,
        inputs: &[Input<'a>],
        streams: bool,
    ) -> Result<Self, Error> {
        let reader = |(input, dtype): (&Input<'a>, &DType)| {
            let (size, layout) = (dtype.itemsize(), input.layout);
            if layout.shape().count() == 0 {
                Reader::Direct(&[])
            } else if layout.is_contiguous() {
                let start = layout.offset() * size;
                Reader::Direct(&input.bytes[start..start + layout.shape().count() * size])
            } else if layout.strides().iter().all(|stride| *stride == 0) {
                let start = layout.offset() * size;
                Reader::Same(&input.bytes[start..start + size])
            } else {
                Reader::Gathered(Box::new(Gather::new(*dtype, input.bytes, layout)))
            }
        };
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
            ahead: None,
            last: None,
        };
        for input in inputs.iter().zip(program.input_dtypes()) {
            plan.readers.push(reader(input));
        }
        plan.fused = plan.find_fused();
        if plan.fused.is_some() {
            return Ok(plan);
        }
        // Measured: with one input the stores of a tile only wait for the reads of the next (tanh of
        // float32 takes 1.3 times as long), with two they save the read of what they overwrite.
        plan.streams &= inputs.len() > 1;
        plan.last = last.filter(|_| !plan.streams && !program.steps().is_empty());
        for step in program.steps() {
            plan.actions.push(match *step {
                Step::Constant(scalar) => Action::Constant(scalar.to_bytes()),
                Step::Convert { from, to } => {
                    Action::Convert(Conversion::new(program.dtype(from), to)?, from)
                }
                Step::ConversionRest { from } => Action::Rest(from),
                Step::Apply { op, args } => {
                    let dtype = program.dtype(args[usize::from(op == Op::Where)]);
                    match elementwise::find(op, dtype) {
                        Some(kernel) => Action::Apply(kernel, args, op.arity()),
                        None => {
                            let set = op.row().accepted();
                            return Err(Error::not_in_set(op.name(), dtype, set, None));
                        }
                    }
                }
            });
        }
        plan.absorb_conversions();
        let is_function = |action: &Action| matches!(action, Action::Apply(_, _, 1));
        let function = plan.actions.iter().position(is_function);
        plan.ahead = function.filter(|step| plan.streams && step + 1 < plan.actions.len());
        plan.choose_tile();
        Ok(plan)
    }

    /// The step that makes a value, if it is none of the inputs.
    fn step(&self, slot: Slot) -> Option<&Step> {
        let step = usize::from(slot).checked_sub(self.readers.len())?;
        self.program.steps().get(step)
    }

    /// Lets rows of float32 read halves and write them, so that conversions take no pass of theirs.
    ///
    /// Measured on `tanh(a * b + c) * a` of bfloat16: four passes instead of nine, 0.75 instead of
    /// 0.95 ns.
    fn absorb_conversions(&mut self) {
        let (program, inputs) = (self.program, self.readers.len());
        let is_half = |slot: Slot| matches!(program.dtype(slot), DType::BF16 | DType::F16);
        let mut users = UserCounts::of(program);
        for (step, action) in program.steps().iter().enumerate() {
            let Step::Apply { op, args } = action else {
                continue;
            };
            if op.arity() != 2 || program.dtype(args[0]) != DType::F32 {
                continue;
            }
            let slot = (inputs + step) as Slot;
            let operands = [args[0], args[1]].map(|arg| match self.step(arg) {
                Some(Step::Convert { from, .. }) if is_half(*from) => *from,
                _ => arg,
            });
            let mut later = program.steps().iter().enumerate().skip(step + 1);
            let result = later.find_map(|(place, step)| match step {
                Step::Convert { from, .. } if *from == slot => Some((inputs + place) as Slot),
                _ => None,
            });
            let result = result.filter(|result| is_half(*result) && users.only_one(slot));
            let result = result.unwrap_or(slot);
            if operands == [args[0], args[1]] && result == slot {
                continue;
            }
            let dtypes = operands.map(|operand| program.dtype(operand));
            let out = program.dtype(result);
            let Some(kernel) = fused::find(self.level, *op, &dtypes, DType::F32, out) else {
                continue;
            };
            self.actions[step] = Action::Absorbed;
            self.actions[usize::from(result) - inputs] = Action::Absorbing(kernel, operands);
            for (arg, operand) in args.iter().zip(operands) {
                if *arg != operand && users.leave(*arg) {
                    self.actions[usize::from(*arg) - inputs] = Action::Absorbed;
                }
            }
        }
    }

    /// The kernel for conversions of contiguous inputs, a row, and the conversion of its result.
    fn find_fused(&self) -> Option<(fused::Kernel, SmallVec<[Slot; 2]>)> {
        let before = |slot: Slot| match self.step(slot) {
            Some(Step::Convert { from, .. }) => *from,
            _ => slot,
        };
        let &[out] = self.program.outputs() else {
            return None;
        };
        let result = before(out);
        let Some(Step::Apply { op, args }) = self.step(result) else {
            return None;
        };
        let operands: SmallVec<[Slot; 2]> =
            args[..op.arity()].iter().map(|arg| before(*arg)).collect();
        let is_direct = |slot: &Slot| {
            matches!(
                self.readers.get(usize::from(*slot)),
                Some(Reader::Direct(_))
            )
        };
        if !operands.iter().all(is_direct) {
            return None;
        }
        let dtype = |slot| self.program.dtype(slot);
        let compute = dtype(args[0]);
        let dtypes: SmallVec<[DType; 2]> = operands.iter().map(|slot| dtype(*slot)).collect();
        let kernel = fused::find(self.level, *op, &dtypes, compute, dtype(out))?;
        // A row of truths is stored as it is; all others give what they compute in.
        (dtype(result) == compute).then_some((kernel, operands))
    }

    /// Whether a value has a tile in the scratch memory.
    pub(crate) fn is_stored(&self, slot: usize) -> bool {
        match slot.checked_sub(self.readers.len()) {
            None => !matches!(self.readers[slot], Reader::Direct(_)),
            Some(step) if matches!(self.actions[step], Action::Absorbed) => false,
            Some(step) => step + 1 < self.actions.len() || self.last.is_none(),
        }
    }

    /// As many elements as the values of a tile have room for; all of them if nothing is stored.
    fn choose_tile(&mut self) {
        let dtypes = self.program.dtypes();
        let width = |slot: usize| {
            if self.is_stored(slot) {
                dtypes[slot].itemsize()
            } else {
                0
            }
        };
        let widths: SmallVec<[usize; 8]> = (0..dtypes.len()).map(width).collect();
        let total: usize = widths.iter().sum();
        if total == 0 {
            self.offsets = widths;
            return;
        }
        let tile = (TILE_BYTES / total).next_power_of_two() / 2;
        self.tile = tile.clamp(SHORTEST_TILE, LONGEST_TILE);
        let mut next = 0;
        for width in widths {
            self.offsets.push(next);
            // Tiles start at cache lines, since their length is a multiple of one.
            next += width * self.tile;
        }
        self.scratch = next;
    }
}

/// How often each value is used.
struct UserCounts(SmallVec<[u8; 16]>);

impl UserCounts {
    fn of(program: &Program) -> Self {
        let mut counts: SmallVec<[u8; 16]> = SmallVec::from_elem(0, program.dtypes().len());
        let mut add = |slot: &Slot| {
            let count = &mut counts[usize::from(*slot)];
            *count = count.saturating_add(1);
        };
        for step in program.steps() {
            match step {
                Step::Constant(_) => {}
                Step::Convert { from, .. } | Step::ConversionRest { from } => add(from),
                Step::Apply { op, args } => args[..op.arity()].iter().for_each(&mut add),
            }
        }
        program.outputs().iter().for_each(&mut add);
        Self(counts)
    }

    fn only_one(&self, slot: Slot) -> bool {
        self.0[usize::from(slot)] == 1
    }

    /// Takes one user away; whether none is left.
    fn leave(&mut self, slot: Slot) -> bool {
        let count = &mut self.0[usize::from(slot)];
        // A count that reached its limit stays there.
        if *count < u8::MAX {
            *count -= 1;
        }
        *count == 0
    }
}
