//! Random programs over random layouts, compared with their steps run one by one.

use allotrope_conformance::cell::run_program;
use allotrope_conformance::sample::Random;
use allotrope_cpu::{Buffer, Input};
use allotrope_dtype::{DType, Level, Scalar, WeakScalar};
use allotrope_op::{
    Builder, Cell, Dims, Layout, Op, Program, Shape, Signature, Slot, Step, Var, compute_dtype,
};
use proptest::prelude::*;

/// The operations that compute in a dtype, without the two that read the sign of a NaN: which
/// of two NaNs an instruction hands on is the compiler's choice, and not the same in each loop.
fn operations(dtype: DType) -> Vec<Op> {
    let takes = |op: &Op| match op.row().signature {
        _ if matches!(op, Op::Signbit | Op::Copysign) => false,
        Signature::Select => true,
        Signature::Logic => dtype == DType::Bool,
        _ => op.row().cell(dtype.kind()) == Cell::Formula,
    };
    Op::ALL.iter().copied().filter(takes).collect()
}

/// A value in another dtype, or `other` where there is no way.
fn converted<'b>(value: Var<'b>, dtype: DType, other: Var<'b>) -> Var<'b> {
    let possible = !value.dtype().is_complex() || dtype.is_complex() || dtype == DType::Bool;
    if possible { value.to(dtype) } else { other }
}

/// A program that numbers decide: each adds a step.
fn build(inputs: &[DType], decisions: &[u64]) -> Program {
    let builder = Builder::new(inputs);
    let mut values: Vec<Var<'_>> = (0..inputs.len()).map(|i| builder.input(i)).collect();
    for decision in decisions {
        let mut random = Random::seeded(*decision);
        let first = random.pick(&values);
        let made = match random.below(8) {
            0 => converted(first, random.pick(&DType::ALL), first),
            1 => {
                let dtype = random.pick(&DType::ALL);
                let value = if random.below(2) == 0 {
                    WeakScalar::Bool(true)
                } else {
                    WeakScalar::Bool(false)
                };
                builder.constant(Scalar::new(value, dtype).unwrap())
            }
            _ => {
                let first = first.to(compute_dtype(first.dtype()));
                let op = random.pick(&operations(first.dtype()));
                let mut operands = vec![first];
                while operands.len() < op.arity() {
                    let next = random.pick(&values);
                    operands.push(converted(next, first.dtype(), first));
                }
                if op.row().signature == Signature::Select {
                    let condition = random.pick(&values).to(DType::Bool);
                    operands.rotate_right(1);
                    operands[0] = condition;
                }
                builder.apply(op, &operands)
            }
        };
        values.push(made);
    }
    let mut random = Random::seeded(decisions.len() as u64);
    let mut outputs = vec![values[values.len() - 1]];
    for _ in 0..random.below(3) {
        outputs.push(random.pick(&values));
    }
    builder.finish(&outputs)
}

/// Elements of a shape in memory in some way: permuted, with gaps, backwards, broadcast.
struct Stored {
    bytes: Buffer,
    layout: Layout,
}

fn store(dtype: DType, sizes: &[usize], seed: u64) -> Stored {
    let mut random = Random::seeded(seed);
    let rank = sizes.len();
    let plain = random.below(3) == 0;
    let mut order: Vec<usize> = (0..rank).collect();
    for place in (1..rank).rev() {
        if !plain {
            order.swap(place, random.below(place + 1));
        }
    }
    let (mut strides, mut offset, mut room) = (vec![0_isize; rank], 0, 1);
    for dim in order.into_iter().rev() {
        if !plain && random.below(4) == 0 {
            continue;
        }
        let step = if plain { 1 } else { 1 + random.below(2) };
        let stride = room * step;
        let span = sizes[dim].saturating_sub(1) * stride;
        if !plain && random.below(3) == 0 {
            strides[dim] = -(stride as isize);
            offset += span;
        } else {
            strides[dim] = stride as isize;
        }
        room = stride * sizes[dim].max(1);
    }
    let mut bytes = Buffer::for_overwrite("test", room * dtype.itemsize()).unwrap();
    let moderate = random.below(2) == 0;
    for element in bytes.chunks_mut(dtype.itemsize()) {
        let bits = [random.bits().to_le_bytes(), random.bits().to_le_bytes()].concat();
        element.copy_from_slice(&bits[..element.len()]);
        if moderate && dtype != DType::Bool {
            let value = random.below(9) as i128 - 4;
            let held = dtype
                .integer_range()
                .is_none_or(|(least, _)| value >= least);
            let value = WeakScalar::Int(if held { value } else { -value });
            let scalar = Scalar::new(value, dtype).unwrap().to_bytes();
            element.copy_from_slice(&scalar[..element.len()]);
        }
    }
    let shape = Shape::new("test", sizes).unwrap();
    Stored {
        bytes,
        layout: Layout::from_parts(shape, Dims::from_slice(&strides), offset),
    }
}

/// The elements one after the other.
fn gather(stored: &Stored, dtype: DType) -> Vec<u8> {
    let (size, sizes) = (dtype.itemsize(), stored.layout.shape());
    let mut index = vec![0; sizes.rank()];
    let mut out = Vec::with_capacity(sizes.count() * size);
    for _ in 0..sizes.count() {
        let place = stored.layout.place(&index) * size;
        out.extend_from_slice(&stored.bytes[place..place + size]);
        for dim in (0..sizes.rank()).rev() {
            index[dim] += 1;
            if index[dim] < sizes[dim] {
                break;
            }
            index[dim] = 0;
        }
    }
    out
}

/// One step as a program of its own.
fn run_step(
    level: Level,
    program: &Program,
    step: Step,
    values: &[Vec<u8>],
    shape: &Shape,
) -> Vec<u8> {
    let slots: Vec<Slot> = match step {
        Step::Constant(_) => Vec::new(),
        Step::Convert { from, .. } | Step::ConversionRest { from } => vec![from],
        Step::Apply { op, args } => args[..op.arity()].to_vec(),
    };
    let dtypes: Vec<DType> = slots.iter().map(|slot| program.dtype(*slot)).collect();
    let mut single = Program::new(&dtypes);
    let step = match step {
        Step::Constant(scalar) => Step::Constant(scalar),
        Step::Convert { to, .. } => Step::Convert { from: 0, to },
        Step::ConversionRest { .. } => Step::ConversionRest { from: 0 },
        Step::Apply { op, .. } => Step::Apply {
            op,
            args: [0, 1, 2, 3],
        },
    };
    let result = single.push(step);
    single.output(result);
    let buffers: Vec<Buffer> = slots
        .iter()
        .map(|slot| {
            let bytes = &values[usize::from(*slot)];
            let mut buffer = Buffer::for_overwrite("test", bytes.len()).unwrap();
            buffer.copy_from_slice(bytes);
            buffer
        })
        .collect();
    let layout = Layout::contiguous(shape.clone());
    let inputs: Vec<Input<'_>> = buffers
        .iter()
        .map(|bytes| Input {
            bytes,
            layout: &layout,
        })
        .collect();
    run_program(level, &single, shape, &inputs)
        .unwrap()
        .remove(0)
}

/// Whether two elements are the same bits, or NaN both.
fn same(dtype: DType, a: &[u8], b: &[u8]) -> bool {
    let part = dtype.to_real();
    let is_nan = |bytes: &[u8]| match Scalar::from_bytes(part, bytes).unwrap().value() {
        WeakScalar::Float(value) => value.is_nan(),
        _ => false,
    };
    let mut parts = a.chunks(part.itemsize()).zip(b.chunks(part.itemsize()));
    parts.all(|(a, b)| a == b || (is_nan(a) && is_nan(b)))
}

fn check(inputs: &[DType], decisions: &[u64], sizes: &[usize], seed: u64, level: Level) {
    let program = build(inputs, decisions);
    assert!(program.is_valid(), "{program}");
    let shape = Shape::new("test", sizes).unwrap();
    let stored: Vec<Stored> = inputs
        .iter()
        .enumerate()
        .map(|(i, dtype)| store(*dtype, sizes, seed.wrapping_add(i as u64)))
        .collect();
    let views: Vec<Input<'_>> = stored
        .iter()
        .map(|stored| Input {
            bytes: &stored.bytes,
            layout: &stored.layout,
        })
        .collect();
    let got = run_program(level, &program, &shape, &views).unwrap();
    let mut values: Vec<Vec<u8>> = stored
        .iter()
        .zip(inputs)
        .map(|(stored, dtype)| gather(stored, *dtype))
        .collect();
    for step in program.steps() {
        let value = run_step(level, &program, *step, &values, &shape);
        values.push(value);
    }
    for (output, slot) in got.iter().zip(program.outputs()) {
        let want = &values[usize::from(*slot)];
        let dtype = program.dtype(*slot);
        let size = dtype.itemsize();
        let pairs = output.chunks(size).zip(want.chunks(size)).enumerate();
        let wrong: Vec<_> = pairs
            .filter(|(_, (a, b))| !same(dtype, a, b))
            .take(5)
            .collect();
        assert!(
            wrong.is_empty(),
            "{program}%{slot} of {sizes:?} at {level}: {wrong:02x?}"
        );
        assert_eq!(output.len(), want.len());
    }
}

/// What random programs have found: the last value twice.
#[test]
fn a_value_may_come_out_twice() {
    let builder = Builder::new(&[DType::F32]);
    let x = builder.input(0).exp();
    let program = builder.finish(&[x, x, builder.input(0)]);
    let stored = store(DType::F32, &[700], 3);
    let input = Input {
        bytes: &stored.bytes,
        layout: &stored.layout,
    };
    let shape = Shape::new("test", &[700]).unwrap();
    let outputs = run_program(Level::Scalar, &program, &shape, &[input]).unwrap();
    assert_eq!(outputs[0], outputs[1]);
}

fn sizes() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![
        8 => proptest::collection::vec(0_usize..6, 0..5),
        2 => proptest::collection::vec(1_usize..40, 2..3),
        1 => (1_usize..5000).prop_map(|size| vec![size]),
        1 => (2_usize..4, 20_000_usize..30_000).prop_map(|(a, b)| vec![a, b]),
    ]
}

fn dtypes() -> impl Strategy<Value = Vec<DType>> {
    let dtype = (0..DType::COUNT).prop_map(|index| DType::ALL[index]);
    proptest::collection::vec(dtype, 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn run_as_their_steps(
        inputs in dtypes(),
        decisions in proptest::collection::vec(any::<u64>(), 0..14),
        sizes in sizes(),
        seed in any::<u64>(),
        level in 0_usize..3,
    ) {
        check(&inputs, &decisions, &sizes, seed, Level::available().take(level + 1).last().unwrap());
    }
}
