//! Programs as functions: accepted by a shader compiler, and worth what their steps are one by one.

use allotrope_dtype::{DType, Scalar, WeakScalar};
use allotrope_op::table::{Cell, Op, Signature};
use allotrope_op::wgsl::{Function, Literal, Type, print_module, print_program};
use allotrope_op::{Argument, Builder, Program, Slot, Step, Var, gradients, infer};
use naga::valid::Capabilities;

use crate::stored::{are_same, is_nan, read};
use crate::{capabilities, validate};

/// The value of every output of a program whose steps are evaluated by themselves, and whether a
/// step made NaN.
fn run(program: &Program, inputs: &[Vec<Literal>]) -> (Vec<Vec<Literal>>, bool) {
    let mut has_nan = false;
    let mut values = inputs.to_vec();
    for step in program.steps() {
        let dtype = |slot: u16| program.dtype(slot);
        let call = |function: Option<Function>, slots: &[u16]| {
            let operands = slots
                .iter()
                .flat_map(|slot| values[usize::from(*slot)].clone());
            function
                .unwrap()
                .evaluate(&operands.collect::<Vec<_>>())
                .unwrap()
        };
        let value = match *step {
            Step::Constant(scalar) => read(
                scalar.dtype(),
                &scalar.to_bytes()[..scalar.dtype().itemsize()],
            ),
            Step::Convert { from, to } => call(Function::of_cast(dtype(from), to), &[from]),
            Step::ConversionRest { from } => {
                call(Function::of_conversion_rest(dtype(from)), &[from])
            }
            Step::Apply { op, args } => {
                let slots = &args[..op.arity()];
                call(Function::of_row(op, dtype(slots[slots.len() - 1])), slots)
            }
        };
        let dtype = program.dtypes()[values.len()];
        has_nan |= value.iter().any(|part| is_nan(dtype, part));
        values.push(value);
    }
    let outputs = program.outputs().iter();
    let outputs = outputs.map(|slot| values[usize::from(*slot)].clone());
    (outputs.collect(), has_nan)
}

/// Numbers of a dtype, special ones among them.
fn numbers(dtype: DType) -> Vec<Vec<Literal>> {
    let numbers = [
        0.3,
        -1.5,
        2.0,
        0.0,
        1e30,
        -0.0,
        f64::INFINITY,
        f64::NAN,
        0.9,
        -7.0,
    ];
    let literals = |x: f64| {
        let number = match dtype.kind().rung() {
            0 => WeakScalar::Bool(x > 0.0),
            1 => WeakScalar::Int((x as i128).clamp(-100, 100)),
            _ => WeakScalar::Float(x),
        };
        let number = Scalar::new(number, dtype)
            .or_else(|_| Scalar::new(7, dtype))
            .unwrap();
        read(dtype, &number.to_bytes()[..dtype.itemsize()])
    };
    let mut numbers: Vec<_> = numbers.into_iter().map(literals).collect();
    if dtype.is_complex() {
        // Imaginary parts too.
        let parts: Vec<Literal> = numbers.iter().map(|number| number[0]).collect();
        for (place, number) in numbers.iter_mut().enumerate() {
            number[1] = parts[(place * 3 + 1) % parts.len()];
        }
    }
    numbers
}

/// Fails unless the function of a program is worth what its steps are.
fn check(name: &str, program: &Program) -> Function {
    let function = Function::of_program(program).unwrap_or_else(|| panic!("{name}\n{program}"));
    let numbers: Vec<_> = program
        .input_dtypes()
        .iter()
        .map(|dtype| numbers(*dtype))
        .collect();
    for index in 0..40 {
        let input = |(place, numbers): (usize, &Vec<Vec<Literal>>)| {
            numbers[(index * (place + 1) + index / 10) % numbers.len()].clone()
        };
        let inputs: Vec<_> = numbers.iter().enumerate().map(input).collect();
        let got = function.evaluate(&inputs.concat()).unwrap();
        let (want, has_nan) = run(program, &inputs);
        let mut rest = &got[..];
        for (dtype, want) in program.output_dtypes().zip(&want) {
            let (got, others) = rest.split_at(want.len());
            rest = others;
            // The sign of NaN is nobody's, and a later step may make that of a number of it.
            let unsigned = |parts: &[Literal]| -> Vec<Literal> {
                let sign = dtype
                    .format()
                    .filter(|_| has_nan)
                    .map_or(0, |format| format.sign_mask());
                let part = |part: &Literal| Literal {
                    bits: part.bits & !sign,
                    ..*part
                };
                parts.iter().map(part).collect()
            };
            assert!(
                are_same(dtype, &unsigned(got), &unsigned(want)),
                "{name} of {inputs:x?}: {got:x?}, not {want:x?}\n{program}"
            );
        }
    }
    function
}

/// The program that gives the gradients of all operands, of the operands, the result and its
/// gradient.
fn derivative(op: Op, dtype: DType) -> Option<Program> {
    let row = op.row();
    let mut dtypes = vec![dtype; op.arity()];
    let result = match row.signature {
        Signature::Select => {
            dtypes[0] = DType::Bool;
            dtype
        }
        Signature::Real => dtype.to_real(),
        _ => dtype,
    };
    dtypes.extend([result, result]);
    let builder = Builder::new(&dtypes);
    let operands: Vec<_> = (0..op.arity()).map(|index| builder.input(index)).collect();
    let (result, gradient) = (builder.input(op.arity()), builder.input(op.arity() + 1));
    let mut outputs = gradients(op, &operands, result, gradient)?;
    if row.signature == Signature::Select {
        // A condition has no gradient.
        outputs.remove(0);
    }
    Some(builder.finish(&outputs))
}

/// Fails unless the functions of all programs are worth what their steps are, and accepted.
fn check_all(programs: impl IntoIterator<Item = (String, Program)>, capabilities: Capabilities) {
    let checked = programs.into_iter().map(|(name, program)| {
        let function = check(&name, &program);
        (name, function)
    });
    let functions: Vec<(String, Function)> = checked.collect();
    assert!(!functions.is_empty());
    let text = print_module(functions.iter().map(|(name, function)| (&**name, function)));
    validate(&text, capabilities);
}

#[test]
fn derivatives_are_accepted() {
    for dtype in [DType::F32, DType::F64, DType::C64, DType::C128] {
        let rows = Op::ALL.iter().filter(|op| {
            let has_formula = op.row().cell(dtype.kind()) == Cell::Formula;
            op.row().is_differentiable && has_formula
        });
        let programs = rows.map(|&op| {
            let program = derivative(op, dtype).unwrap();
            (format!("{}_gradient", op.name()), program)
        });
        check_all(programs, capabilities(dtype));
    }
}

const WIDE: Capabilities = Capabilities::FLOAT64.union(Capabilities::SHADER_INT64);

/// The program of a row over tensors of these dtypes, if it takes them.
fn inferred(op: Op, dtypes: &[DType]) -> Option<(String, Program)> {
    let tensor = |&dtype: &DType| Argument::Tensor {
        dtype,
        is_zero_dim: false,
    };
    let arguments: Vec<Argument> = dtypes.iter().map(tensor).collect();
    let name = dtypes.iter().fold(op.name().to_owned(), |name, dtype| {
        name + "_" + dtype.name()
    });
    Some((name, infer(op, &arguments).ok()?))
}

#[test]
fn rows_of_stored_dtypes_are_accepted() {
    let of = |dtype: DType| {
        Op::ALL
            .iter()
            .filter_map(move |&op| inferred(op, &vec![dtype; op.arity()]))
    };
    check_all(of(DType::BF16), Capabilities::empty());
    check_all(of(DType::U8), WIDE);
    check_all(of(DType::Bool), WIDE);
    // Every other narrow float, in a row that reads, computes and writes.
    let narrow = DType::ALL
        .into_iter()
        .filter(|dtype| dtype.is_floating_point() && dtype.bits() < 32);
    check_all(
        narrow.filter_map(|dtype| inferred(Op::Mul, &[dtype; 2])),
        Capabilities::empty(),
    );
}

#[test]
fn comparisons_of_all_dtypes_are_accepted() {
    let pairs = DType::ALL
        .into_iter()
        .flat_map(|a| DType::ALL.map(|b| [a, b]));
    let programs = pairs.flat_map(|pair| [Op::Lt, Op::Eq].map(|op| inferred(op, &pair)));
    check_all(programs.flatten(), WIDE);
}

#[test]
fn what_a_conversion_leaves_out_is_exact() {
    let near = |n: u32| {
        [-1025_i128, -513, -512, -1, 0, 1, 511, 512, 513, 1023].map(|step| (1 << n) + step)
    };
    let numbers = (0..=64).flat_map(near).flat_map(|x| [x, -x]);
    for (dtype, kind) in [(DType::I64, Type::I64), (DType::U64, Type::U64)] {
        let rest = Function::of_conversion_rest(dtype).unwrap();
        let (least, most) = dtype.integer_range().unwrap();
        for x in numbers.clone().filter(|x| (least..=most).contains(x)) {
            let got = rest
                .evaluate(&[Literal {
                    kind,
                    bits: x as u64,
                }])
                .unwrap();
            let want = x - x as f64 as i128;
            assert_eq!(f64::from_bits(got[0].bits), want as f64, "{x}");
        }
    }
    assert!(Function::of_conversion_rest(DType::I32).is_none());
}

#[test]
fn a_program_is_one_function() {
    // Two outputs, stored as they are computed in a wider dtype; a constant and a choice.
    let builder = Builder::new(&[DType::BF16, DType::I8]);
    let (a, b) = (builder.input(0), builder.input(1));
    let big = b.gt(b.lit(-3.0));
    let program = builder.finish(&[big.pick(a, a.lit(2.0)), b.abs()]);
    let want = "\
struct program_results {
    r0: u32,
    r1: i32,
}
fn program(x: u32, y: i32) -> program_results {
    let v3: bool = (-3i) < y;
    let v5: u32 = select(16384u, x, v3);
    let v7: bool = y < 0i;
    let v8: i32 = -y;
    let v10: i32 = v8 << 24u;
    let v11: i32 = v10 >> 24u;
    let v12: i32 = select(y, v11, v7);
    return program_results(v5, v12);
}
";
    assert_eq!(print_program(&program).unwrap(), want);
    validate(want, Capabilities::empty());
}

#[test]
fn nothing_is_simplified_between_rows() {
    let print = |build: fn(Var<'_>, Var<'_>) -> Vec<Slot>| {
        let builder = Builder::new(&[DType::F32, DType::F32]);
        let outputs = build(builder.input(0), builder.input(1));
        let mut program = builder.finish(&[]);
        outputs.into_iter().for_each(|slot| program.output(slot));
        print_program(&program).unwrap()
    };
    let kept = |text: &str| text.matches("0xfffffffeu").count();
    // A compiler would take these for 0, x and y.
    let text = print(|x, _| vec![(x - x).slot(), (x * 0.0).slot(), (x + 0.0).slot()]);
    assert!(
        !text.contains(" - ") && !text.contains(" * ") && !text.contains(" + "),
        "{text}"
    );
    let text = print(|x, y| vec![x.isclose(y, x.zero(), y.one()).slot()]);
    assert!(!text.contains("fma"), "{text}");
    assert_eq!(kept(&print(|x, y| vec![((x + y) - x).slot()])), 1);
    assert_eq!(kept(&print(|x, y| vec![((x * y) / x).slot()])), 1);
    assert_eq!(kept(&print(|x, _| vec![(x * x).sqrt().slot()])), 1);
    assert_eq!(kept(&print(|x, y| vec![(x / y).to(DType::F64).slot()])), 1);
    // What no one computes with is as it comes.
    assert_eq!(kept(&print(|x, y| vec![(x + y).slot(), (x * y).slot()])), 0);
}

#[test]
fn programs_that_are_not_valid_have_no_text() {
    let mut program = Program::new(&[DType::F16]);
    assert!(print_program(&program).is_none());
    let sum = program.apply(Op::Add, &[0, 0]);
    program.output(sum);
    assert!(print_program(&program).is_none());
}
