//! Two contiguous operands take one pass; it gives what the tiles give, bit for bit.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use allotrope_cpu::{Buffer, Input, run_at};
use allotrope_dtype::DType::{self, BF16, C64, F16, F32, F64, I8, I32, I64, U8};
use allotrope_dtype::Level;
use allotrope_op::{Argument, Layout, Op, Program, Shape, Slice, infer};

const SAME: [DType; 2] = [BF16, F16];
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
    (8 << 20) / 2 + 7,
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

fn evaluate(level: Level, program: &Program, inputs: [Input<'_>; 2], len: usize) -> Buffer {
    let shape = Shape::new("eval", &[len]).unwrap();
    let size = program.output_dtypes().next().unwrap().itemsize();
    let mut out = Buffer::zeroed("eval", len * size).unwrap();
    run_at(level, program, &shape, &inputs, &mut [&mut out]).unwrap();
    out
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
            // The same elements, two apart: not to be read in place.
            let size = b.itemsize();
            let mut apart = Buffer::zeroed("zeros", 2 * len * size).unwrap();
            for i in 0..len {
                apart[2 * i * size..][..size].copy_from_slice(&y[i * size..][..size]);
            }
            let twice = Layout::contiguous(Shape::new("eval", &[2 * len]).unwrap());
            let strided = Slice {
                start: None,
                stop: None,
                step: 2,
            };
            let strided = twice.slice("eval", 0, strided).unwrap();
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
                    let one = evaluate(level, &program, [left, right], len);
                    let tiles = evaluate(level, &program, [left, right_apart], len);
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
