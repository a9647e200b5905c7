//! Contiguous operands take one pass; it gives what the tiles give, bit for bit.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use allotrope_cpu::{Buffer, Input, run_at};
use allotrope_dtype::DType::{self, BF16, C64, F8E4M3Fn, F8E5M2, F16, F32, F64, I8, I32, I64, U8};
use allotrope_dtype::Level;
use allotrope_op::{Argument, Builder, Layout, Op, Program, Shape, Slice, infer};

const SAME: [DType; 4] = [BF16, F16, F8E4M3Fn, F8E5M2];
const MIXED: [(DType, DType); 9] = [
    (F32, BF16),
    (F32, F16),
    (F32, U8),
    (F32, I8),
    (F64, F32),
    (I64, I8),
    (I64, U8),
    (I64, I32),
    (C64, F32),
];
const LENGTHS: [usize; 11] = [
    0,
    1,
    15,
    16,
    17,
    63,
    64,
    65,
    1000,
    40_000,
    (40 << 20) / 6 + 7,
];

/// Every pair in both orders.
fn pairs() -> impl Iterator<Item = (DType, DType)> {
    let mixed = MIXED.into_iter().flat_map(|(a, b)| [(a, b), (b, a)]);
    SAME.into_iter().map(|dtype| (dtype, dtype)).chain(mixed)
}

fn program(op: Op, a: DType, b: DType) -> Program {
    let argument = |dtype| Argument::Tensor {
        dtype,
        is_zero_dim: false,
    };
    infer(op, &[argument(a), argument(b)]).unwrap()
}

/// Codes of numbers that arithmetic treats apart: zeros, subnormals, the largest, infinity, NaN.
fn specials(dtype: DType) -> Vec<u64> {
    let (sign, codes): (u64, &[u64]) = match dtype {
        BF16 => (
            1 << 15,
            &[
                0, 1, 0x7F, 0x80, 0x3F80, 0x3F81, 0x7F7F, 0x7F80, 0x7F81, 0x7FC1,
            ],
        ),
        F16 => (
            1 << 15,
            &[
                0, 1, 0x3FF, 0x400, 0x3C00, 0x3C01, 0x7BFF, 0x7C00, 0x7C01, 0x7E01,
            ],
        ),
        F32 | C64 => (
            1 << 31,
            &[
                0,
                1,
                0x7F_FFFF,
                0x80_0000,
                0x3F80_0000,
                0x3F80_8000,
                0x3F81_8000,
                0x477F_F000,
                0x7F7F_FFFF,
                0x7F80_0000,
                0x7F80_0001,
                0x7FC0_1234,
            ],
        ),
        F64 => (
            1 << 63,
            &[
                0,
                1,
                1 << 52,
                0x3FF0_0000_0000_0000,
                0x7FEF_FFFF_FFFF_FFFF,
                0x7FF0_0000_0000_0000,
                0x7FF0_0000_0000_0001,
                0x7FF8_0000_0000_1234,
            ],
        ),
        _ => (
            u64::MAX << (dtype.itemsize() * 8 - 1),
            &[0, 1, 2, 0x7F, u64::MAX >> 1, u64::MAX],
        ),
    };
    codes.iter().flat_map(|code| [*code, code ^ sign]).collect()
}

fn is_nan(dtype: DType, code: u64) -> bool {
    match dtype {
        BF16 => code & 0x7FFF > 0x7F80,
        F16 => code & 0x7FFF > 0x7C00,
        F32 | C64 => f32::from_bits(code as u32).is_nan(),
        F64 => f64::from_bits(code).is_nan(),
        F8E4M3Fn => code & 0x7F == 0x7F,
        F8E5M2 => code & 0x7F > 0x7C,
        _ => false,
    }
}

/// The parts of two operands: every pair of special codes first, then any codes. Which of two NaN
/// operands an instruction keeps is the compiler's choice, so never are both NaN.
fn operands(a: DType, b: DType, len: usize) -> [Buffer; 2] {
    let (special_a, special_b) = (specials(a), specials(b));
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let width = |dtype: DType| dtype.itemsize() / if dtype.is_complex() { 2 } else { 1 };
    let mut buffers = [a, b].map(|dtype| Buffer::zeroed("zeros", len * dtype.itemsize()).unwrap());
    for i in 0..len {
        let (mut x, mut y) = (random(), random());
        if i % 2 == 0 {
            x = special_a[i / 2 % special_a.len()];
            y = special_b[i / 2 / special_a.len() % special_b.len()];
        }
        let codes = [(a, x), (b, y)].map(|(dtype, code)| {
            let size = width(dtype);
            code & (u64::MAX >> (64 - 8 * size))
        });
        let both = is_nan(a, codes[0]) && is_nan(b, codes[1]);
        let codes = if both { [codes[0], 0] } else { codes };
        for ((buffer, dtype), code) in buffers.iter_mut().zip([a, b]).zip(codes) {
            let size = width(dtype);
            let start = i * dtype.itemsize();
            buffer[start..start + size].copy_from_slice(&code.to_le_bytes()[..size]);
            if dtype.is_complex() {
                let part = (i as f32 - 500.0) / 8.0;
                let im = if is_nan(dtype, code) { 0.0 } else { part };
                buffer[start + size..start + 2 * size].copy_from_slice(&im.to_le_bytes());
            }
        }
    }
    buffers
}

fn evaluate(level: Level, program: &Program, inputs: &[Input<'_>], len: usize) -> Buffer {
    let shape = Shape::new("eval", &[len]).unwrap();
    let size = program.output_dtypes().next().unwrap().itemsize();
    let mut out = Buffer::zeroed("eval", len * size).unwrap();
    run_at(level, program, &shape, inputs, &mut [&mut out]).unwrap();
    out
}

/// The same elements, two apart: not to be read in place.
fn two_apart(elements: &[u8], size: usize) -> (Buffer, Layout) {
    let len = elements.len() / size;
    let mut apart = Buffer::zeroed("zeros", 2 * elements.len()).unwrap();
    for i in 0..len {
        apart[2 * i * size..][..size].copy_from_slice(&elements[i * size..][..size]);
    }
    let twice = Layout::contiguous(Shape::new("eval", &[2 * len]).unwrap());
    let step = Slice {
        start: None,
        stop: None,
        step: 2,
    };
    (apart, twice.slice("eval", 0, step).unwrap())
}

#[test]
fn every_pair_of_8_bit_floats() {
    let layout = Layout::contiguous(Shape::new("eval", &[1 << 16]).unwrap());
    for dtype in [F8E4M3Fn, F8E5M2] {
        let pairs = [8, 0].map(|shift| -> Vec<u8> {
            let all = 0..=u16::MAX;
            all.map(|pair| (pair >> shift) as u8).collect()
        });
        // Blocks of nothing but numbers go another way.
        let numbers = pairs.clone().map(|codes| -> Vec<u8> {
            let number = |code: u8| {
                if code & 0x7F > 0x7B {
                    code & 0x80
                } else {
                    code
                }
            };
            codes.into_iter().map(number).collect()
        });
        for pairs in [pairs, numbers] {
            let [x, y] = pairs.each_ref().map(|bytes| Input {
                bytes,
                layout: &layout,
            });
            let (apart, strided) = two_apart(&pairs[1], 1);
            let y_apart = Input {
                bytes: &apart,
                layout: &strided,
            };
            for op in [Op::Add, Op::Sub, Op::Mul] {
                let program = program(op, dtype, dtype);
                for level in Level::available() {
                    let one = evaluate(level, &program, &[x, y], 1 << 16);
                    let tiles = evaluate(level, &program, &[x, y_apart], 1 << 16);
                    for pair in 0..1 << 16 {
                        let codes = [pairs[0][pair], pairs[1][pair], one[pair], tiles[pair]];
                        // Which of two NaN is kept is the compiler's choice.
                        let nan = codes.map(|code| is_nan(dtype, u64::from(code)));
                        let same = codes[2] == codes[3] || (nan[0] && nan[1] && nan[2] && nan[3]);
                        assert!(same, "{op:?} {dtype} {codes:02x?} at {level}");
                    }
                }
            }
        }
    }
}

#[test]
fn sums_of_8_bit_floats_as_integers() {
    let one_and_a_half = [0x3C; 100];
    let layout = Layout::contiguous(Shape::new("eval", &[100]).unwrap());
    let input = Input {
        bytes: &one_and_a_half,
        layout: &layout,
    };
    let builder = Builder::new(&[F8E4M3Fn; 2]);
    let [x, y] = [0, 1].map(|i| builder.input(i).to(DType::I32));
    let program = builder.finish(&[(x + y).to(F8E4M3Fn)]);
    for level in Level::available() {
        let sums = evaluate(level, &program, &[input, input], 100);
        assert_eq!(sums[..], [0x40; 100], "1 + 1 at {level}");
    }
}

#[test]
fn every_function_of_halves() {
    let codes: Vec<u16> = (0..=u16::MAX).collect();
    let bytes: &[u8] = bytemuck::cast_slice(&codes);
    let wide: Vec<u32> = codes.iter().map(|code| u32::from(*code) << 16).collect();
    for (dtype, bytes) in [
        (BF16, bytes),
        (F16, bytes),
        (F32, bytemuck::cast_slice(&wide)),
    ] {
        let layout = Layout::contiguous(Shape::new("eval", &[1 << 16]).unwrap());
        let (apart, strided) = two_apart(bytes, dtype.itemsize());
        let input = |bytes, layout| [Input { bytes, layout }];
        let rows = Op::ALL.iter().filter(|op| op.arity() == 1);
        // These take another formula where all of a block are small, and blocks differ.
        let near = [Op::Sin, Op::Cos, Op::Tan];
        for op in rows.filter(|op| !near.contains(op)) {
            let argument = Argument::Tensor {
                dtype,
                is_zero_dim: false,
            };
            let Ok(program) = infer(*op, &[argument]) else {
                continue;
            };
            for level in Level::available() {
                let one = evaluate(level, &program, &input(bytes, &layout), 1 << 16);
                let tiles = evaluate(level, &program, &input(&apart, &strided), 1 << 16);
                let size = one.len() >> 16;
                let out = program.output_dtypes().next().unwrap();
                let code = |bytes: &[u8], i: usize| {
                    let mut code = [0; 8];
                    code[..size].copy_from_slice(&bytes[i * size..][..size]);
                    u64::from_le_bytes(code)
                };
                let differs = |i: &usize| {
                    let (p, q) = (code(&one, *i), code(&tiles, *i));
                    // The sign of a NaN is the compiler's choice.
                    p != q && !(is_nan(out, p) && is_nan(out, q))
                };
                let bad = (0..1 << 16).find(differs);
                assert_eq!(bad, None, "{op:?} {dtype} at {level}");
                let signals = |i: &usize| {
                    let code = code(&one, *i);
                    out == BF16 && is_nan(out, code) && code & 0x40 == 0
                };
                let bad = (0..1 << 16).find(signals);
                assert_eq!(bad, None, "a NaN of {op:?} signals at {level}");
            }
        }
    }
}

#[test]
fn one_pass_gives_what_tiles_give() {
    for (a, b) in pairs() {
        for len in LENGTHS {
            // The longest is there for results past the caches: one small pair is enough.
            if len > 1 << 20 && (a, b) != (BF16, BF16) && (a, b) != (U8, F32) {
                continue;
            }
            let [x, y] = operands(a, b, len);
            let shape = Shape::new("eval", &[len]).unwrap();
            let contiguous = Layout::contiguous(shape);
            let (apart, strided) = two_apart(&y, b.itemsize());
            for op in [Op::Add, Op::Sub, Op::Mul] {
                let program = program(op, a, b);
                for level in Level::available() {
                    let left = Input {
                        bytes: &x,
                        layout: &contiguous,
                    };
                    let right = Input {
                        bytes: &y,
                        layout: &contiguous,
                    };
                    let right_apart = Input {
                        bytes: &apart,
                        layout: &strided,
                    };
                    let one = evaluate(level, &program, &[left, right], len);
                    let tiles = evaluate(level, &program, &[left, right_apart], len);
                    if one[..] != tiles[..] {
                        let size = one.len() / len;
                        let i = one
                            .iter()
                            .zip(&tiles[..])
                            .position(|(p, q)| p != q)
                            .unwrap()
                            / size;
                        let code =
                            |bytes: &[u8], size| format!("{:02x?}", &bytes[i * size..][..size]);
                        panic!(
                            "{op:?} {a} {b} at {level}, element {i} of {len}: {} and {} give {}, not {}",
                            code(&x, a.itemsize()),
                            code(&y, b.itemsize()),
                            code(&one, size),
                            code(&tiles, size),
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn an_operand_may_be_both() {
    let mut program = Program::new(&[BF16]);
    let wide = program.convert(0, F32);
    let sum = program.apply(Op::Sub, &[wide, wide]);
    let out = program.convert(sum, BF16);
    program.output(out);
    let layout = Layout::contiguous(Shape::new("eval", &[100]).unwrap());
    let x = Buffer::zeroed("zeros", 200).unwrap();
    let mut out = Buffer::zeroed("zeros", 200).unwrap();
    out.fill(1);
    let input = Input {
        bytes: &x,
        layout: &layout,
    };
    run_at(
        Level::current(),
        &program,
        layout.shape(),
        &[input],
        &mut [&mut out],
    )
    .unwrap();
    assert!(out.iter().all(|byte| *byte == 0));
}
