//! Steps that one pass does together.
//!
//! These are conversions of halves around a row, two rows of arithmetic, and gradients of activations.

use std::sync::OnceLock;

use allotrope_dtype::DType;
use allotrope_op::table::slope::{GeluSlope, GeluTanhSlope, ReluSlope, SiluSlope};
use allotrope_op::{Builder, MAX_ARITY, Op, Program, Slot, Step, gradients};
use smallvec::{SmallVec, smallvec};

use super::{Action, Plan, Reader};
use crate::kernel::elementwise::{self, float_map};
use crate::kernel::{fused, pair};

/// Activations whose gradients have a kernel.
const ACTIVATIONS: [(Op, elementwise::Kernel); 4] = [
    (Op::Relu, float_map::<f32, ReluSlope, 2>),
    (Op::Silu, float_map::<f32, SiluSlope, 2>),
    (Op::Gelu, float_map::<f32, GeluSlope, 2>),
    (Op::GeluTanh, float_map::<f32, GeluTanhSlope, 2>),
];

/// The steps from the operand of each and the gradient of its result to that of the operand.
fn slopes() -> &'static [Program] {
    static SLOPES: OnceLock<Vec<Program>> = OnceLock::new();
    SLOPES.get_or_init(|| {
        let slope = |(op, _): &(Op, elementwise::Kernel)| {
            let builder = Builder::new(&[DType::F32; 2]);
            let (x, g) = (builder.input(0), builder.input(1));
            // None of them is made of the result.
            let made = gradients(*op, &[x], x, g).unwrap_or_default();
            builder.finish(&made)
        };
        ACTIVATIONS.iter().map(slope).collect()
    })
}

/// Whether the dtype is a float of 16 bits.
fn is_half(dtype: DType) -> bool {
    matches!(dtype, DType::BF16 | DType::F16)
}

/// Which values are used as bfloat16 alone: converted to it, at once or after products, whose digits are
/// as good as those of their factors.
pub(super) fn values_for_halves(program: &Program) -> SmallVec<[bool; 16]> {
    let inputs = program.input_dtypes().len();
    let mut for_halves = SmallVec::from_elem(true, program.dtypes().len());
    for output in program.outputs() {
        for_halves[usize::from(*output)] = false;
    }
    for (place, step) in program.steps().iter().enumerate().rev() {
        match step {
            Step::Convert { from, to } => for_halves[usize::from(*from)] &= *to == DType::BF16,
            Step::ConversionRest { from } => for_halves[usize::from(*from)] = false,
            Step::Apply { op, args } => {
                let goes_on = *op == Op::Mul && for_halves[inputs + place];
                for arg in &args[..op.arity()] {
                    for_halves[usize::from(*arg)] &= goes_on;
                }
            }
            Step::Constant(_) => {}
        }
    }
    for_halves
}

impl Plan<'_> {
    /// Whether a row's formula of fewer digits is good enough for a value: it is used as bfloat16 alone,
    /// and made of a bfloat16, all of which are known to be rounded to the nearest.
    pub(super) fn may_be_rough(&self, slot: usize) -> bool {
        let made_of = |slot: Slot| match self.step(slot) {
            Some(Step::Convert { from, .. }) => self.program.dtype(*from),
            _ => self.program.dtype(slot),
        };
        match self.step(slot as Slot) {
            Some(Step::Apply { args, .. }) => {
                made_of(args[0]) == DType::BF16 && values_for_halves(self.program)[slot]
            }
            _ => false,
        }
    }

    /// Lets one pass make the gradient of an activation, where nothing else reads what its steps make.
    pub(super) fn fuse_slopes(&mut self) {
        let inputs = self.readers.len();
        let mut users = None;
        for place in 0..self.actions.len() {
            let Step::Apply { op: Op::Mul, args } = self.program.steps()[place] else {
                continue;
            };
            if self.program.dtype(args[0]) != DType::F32 || self.step(args[1]).is_none() {
                continue;
            }
            let root = (inputs + place) as Slot;
            let users = users.get_or_insert_with(|| UserCounts::of(self.program));
            for (pattern, (_, kernel)) in slopes().iter().zip(ACTIVATIONS) {
                let mut bound: SmallVec<[Option<Slot>; 16]> =
                    smallvec![None; pattern.dtypes().len()];
                let &[out] = pattern.outputs() else { continue };
                if !self.is_like((pattern, out), root, &mut bound) {
                    continue;
                }
                let within = UserCounts::of(pattern);
                let is_alone = |place: usize| {
                    let slot = bound[place].unwrap_or(root);
                    slot == root || users.0[usize::from(slot)] == within.0[place]
                };
                // Numbers may be read by others too.
                let may_stay =
                    |place: usize| matches!(pattern.steps()[place - 2], Step::Constant(_));
                let mut made = 2..bound.len();
                let (&[Some(x), Some(g)], true) = (
                    &bound[..2],
                    made.all(|place| is_alone(place) || may_stay(place)),
                ) else {
                    continue;
                };
                for place in (2..bound.len()).filter(|place| is_alone(*place)) {
                    let slot = bound[place].unwrap_or(root);
                    self.actions[usize::from(slot) - inputs] = Action::Absorbed;
                }
                let mut operands = [0; MAX_ARITY];
                operands[..2].copy_from_slice(&[x, g]);
                self.actions[place] = Action::Apply(kernel, operands, 2);
                break;
            }
        }
    }

    /// Whether a value comes about as one of another program does, whose inputs may be anything.
    fn is_like(
        &self,
        (pattern, like): (&Program, Slot),
        slot: Slot,
        bound: &mut [Option<Slot>],
    ) -> bool {
        let place = usize::from(like);
        if let Some(bound) = bound[place] {
            return bound == slot;
        }
        bound[place] = Some(slot);
        let Some(step) = place.checked_sub(pattern.input_count()) else {
            return self.program.dtype(slot) == DType::F32;
        };
        match (&pattern.steps()[step], self.step(slot)) {
            (
                Step::Apply { op, args },
                Some(Step::Apply {
                    op: other,
                    args: others,
                }),
            ) => {
                let mut pairs = args.iter().zip(others).take(op.arity());
                op == other
                    && pairs.all(|(like, slot)| self.is_like((pattern, *like), *slot, bound))
            }
            (like, Some(step)) => like == step,
            (_, None) => false,
        }
    }

    /// Whether a step is a row of two operands that is still done by itself.
    fn is_plain(&self, step: usize) -> bool {
        match (&self.program.steps()[step], &self.actions[step]) {
            (Step::Apply { args, .. }, Action::Apply(_, operands, 2)) => args == operands,
            _ => false,
        }
    }

    /// Lets rows of float32 read halves and write them, so that conversions take no pass of theirs.
    ///
    /// Measured on `tanh(a * b + c) * a` of bfloat16: four passes instead of nine, 0.75 instead of
    /// 0.95 ns.
    pub(super) fn absorb_conversions(&mut self) {
        let (program, inputs) = (self.program, self.readers.len());
        let is_half = |slot: Slot| is_half(program.dtype(slot));
        let mut users = UserCounts::of(program);
        for (step, action) in program.steps().iter().enumerate() {
            let Step::Apply { op, args } = action else {
                continue;
            };
            if !self.is_plain(step) || program.dtype(args[0]) != DType::F32 {
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

    /// Lets rows of two operands make one of them along, where nothing else reads it.
    ///
    /// Measured on the way back through 20 functions of float32: 40 passes instead of 58.
    pub(super) fn pair_rows(&mut self) {
        let (program, inputs) = (self.program, self.readers.len());
        let users = UserCounts::of(program);
        for (step, action) in program.steps().iter().enumerate() {
            let Step::Apply { op, args } = action else {
                continue;
            };
            if !self.is_plain(step) {
                continue;
            }
            let pair = [(args[0], args[1], true), (args[1], args[0], false)];
            let pair = pair.into_iter().find_map(|(made, other, is_left)| {
                let before = usize::from(made).checked_sub(inputs)?;
                let Step::Apply { op: first, args } = program.steps()[before] else {
                    return None;
                };
                if !self.is_plain(before) || !users.only_one(made) {
                    return None;
                }
                let kernel = pair::find(first, *op, is_left, program.dtype(made))?;
                Some((before, kernel, [args[0], args[1], other, 0]))
            });
            if let Some((before, kernel, operands)) = pair {
                self.actions[before] = Action::Absorbed;
                self.actions[step] = Action::Apply(kernel, operands, 3);
            }
        }
    }

    /// The kernel for conversions of contiguous inputs, a row, and the conversion of its result.
    pub(super) fn find_fused(&self) -> Option<(fused::Kernel, SmallVec<[Slot; 2]>)> {
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
        // Nothing to convert: in the caches the plain loop takes 0.6 of the time.
        if !self.streams && op.arity() == 1 && dtypes[..] == [compute] && dtype(out) == compute {
            return None;
        }
        let kernel = fused::find(self.level, *op, &dtypes, compute, dtype(out))?;
        // A row of truths is stored as it is; all others give what they compute in.
        (dtype(result) == compute).then_some((kernel, operands))
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

#[cfg(test)]
mod tests {
    use allotrope_dtype::Level;
    use allotrope_op::{Layout, Shape};

    use super::*;
    use crate::tile::{Input, run_at};

    #[test]
    fn gradients_of_activations_are_those_of_their_steps() {
        let numbers = (-4096..4096).map(|i| i as f32 / 256.0);
        let special = [
            -0.0,
            f32::INFINITY,
            f32::NAN,
            1e-40,
            -1e-40,
            -90.0,
            90.0,
            1e30,
            -1e30,
        ];
        let x: Vec<f32> = numbers.chain(special).collect();
        let g: Vec<f32> = (0..x.len()).map(|i| (i % 7) as f32 - 2.5).collect();
        let layout = Layout::contiguous(Shape::new("test", &[x.len()]).unwrap());
        let bytes = [bytemuck::cast_slice(&x), bytemuck::cast_slice(&g)];
        let inputs = bytes.map(|bytes| Input {
            bytes,
            layout: &layout,
        });
        let run = |level: Level, program: &Program| {
            let sizes = program
                .output_dtypes()
                .map(|dtype| x.len() * dtype.itemsize());
            let mut outputs: Vec<Vec<u8>> = sizes.map(|size| vec![0; size]).collect();
            let mut rooms: Vec<&mut [u8]> = outputs.iter_mut().map(|out| &mut out[..]).collect();
            run_at(level, program, layout.shape(), &inputs, &mut rooms).unwrap();
            let numbers = outputs[0].as_chunks().0.iter();
            numbers
                .map(|bytes| f32::from_ne_bytes(*bytes))
                .collect::<Vec<_>>()
        };
        for level in Level::available() {
            for (program, (op, _)) in slopes().iter().zip(ACTIVATIONS) {
                let plan = Plan::new(level, program, &inputs, false).unwrap();
                let is_pass = |action: &&Action| !matches!(action, Action::Absorbed);
                assert_eq!(plan.actions.iter().filter(is_pass).count(), 1, "{op:?}");
                // What comes out is made by itself.
                let mut steps = program.clone();
                (2..program.dtypes().len()).for_each(|slot| steps.output(slot as Slot));
                for ((x, y), step) in x.iter().zip(run(level, program)).zip(run(level, &steps)) {
                    let is_same = match op {
                        Op::Gelu if x.abs() > 1e15 => y.abs() == 0.0 || y.abs() <= 3.5,
                        Op::Gelu => (y - step).abs() < 2e-6 || y.is_nan() && step.is_nan(),
                        _ => y.to_bits() == step.to_bits() || y.is_nan() && step.is_nan(),
                    };
                    assert!(is_same, "{op:?} at {x}: {y}, {step}");
                }
            }
        }
    }

    #[test]
    fn products_of_halves_may_be_rough_and_sums_not() {
        let is_rough = |bits: DType, sums: bool, comes_out: bool| {
            let builder = Builder::new(&[DType::F32; 2]);
            let (x, y) = (builder.input(0), builder.input(1));
            let tanh = x.tanh();
            let product = tanh * y * tanh;
            let result = if sums { product + y } else { product }.to(bits);
            let outputs = if comes_out {
                vec![result, tanh]
            } else {
                vec![result]
            };
            // The function is the first step after both inputs.
            values_for_halves(&builder.finish(&outputs))[2]
        };
        assert!(is_rough(DType::BF16, false, false));
        assert!(!is_rough(DType::F16, false, false));
        assert!(!is_rough(DType::BF16, true, false));
        assert!(!is_rough(DType::BF16, false, true));
        assert!(!is_rough(DType::F32, false, false));
    }
}
