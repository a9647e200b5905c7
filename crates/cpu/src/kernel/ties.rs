//! Functions of one number in narrow floats, correctly rounded.
//!
//! A narrow result is computed in float32 and rounded. Where float32 lies as near the middle of two
//! narrow numbers as its own error, that error decides between them, which happens to a few of the
//! 65,536 numbers of a dtype. These are computed once more, by the row's formula in float64, which is
//! rounded once. Tiles find them by their results in float32, which lie at a tie; fused loops, which
//! take less time than that, know the numbers by their codes. All of it is held by a test that goes
//! through all numbers (`conformance/tests/all/rounding.rs`). Some functions come nearer to a tie than
//! the digits of float64 tell, and say on which side they are.

use allotrope_dtype::{Conversion, DType, Level, Scratch, bf16, f16};
use allotrope_op::{MAX_ARITY, Op};

use super::{elementwise, fused};
use crate::simd::{self, BLOCK, Body};

/// Which float32 lie near the middle of two numbers of a narrow dtype.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ties {
    /// The digits that the dtype does not have.
    digits: u32,
    /// Where the ties begin among them, and how many digits are in between.
    first: u32,
    width: u32,
    /// The smallest normal number, whose digits subnormal ones have too; 0 where float32 ends there.
    least: f32,
    /// Results below are computed again in any case.
    below: f32,
}

impl Ties {
    /// Those that results of a row may be on the wrong side of; `None` where there are none.
    pub(crate) const fn of(op: Op, dtype: DType) -> Option<Self> {
        let Some(format) = dtype.format() else {
            return None;
        };
        if !matches!(dtype.compute(), DType::F32)
            || matches!(dtype, DType::F32)
            || !may_misround(op, dtype)
        {
            return None;
        }
        let cut = f32::MANTISSA_DIGITS - 1 - format.mantissa_bits;
        let least = match dtype {
            DType::BF16 => 0.0,
            _ => f32::from_bits(((format.min_exponent() + 127) as u32) << 23),
        };
        // How far results on the wrong side are from the tie, in units of float32, over all numbers.
        let guard = match op {
            Op::Ndtr => 3,
            Op::LogNdtr | Op::LeakyRelu => 2,
            Op::Sigmoid | Op::Silu | Op::Mish => 1,
            _ => 0,
        };
        let below = match op {
            // Next to its zeros the error is that of terms that cancel.
            Op::Lgamma => 0.001,
            _ => 0.0,
        };
        Some(Self {
            digits: (1 << cut) - 1,
            first: (1 << (cut - 1)) - guard,
            width: 2 * guard,
            least,
            below,
        })
    }

    /// Where a result lies among the digits, counted from where ties begin. Infinity and NaN have no
    /// digits there.
    #[inline(always)]
    fn place(self, y: f32) -> u32 {
        let size = y.abs();
        let moved = if size < self.least {
            size + self.least
        } else {
            size
        };
        moved.to_bits().wrapping_sub(self.first) & self.digits
    }

    /// Whether any of a block is to be computed again. By minima, of which the compiler makes vectors.
    #[inline(always)]
    fn any_near(self, block: &[f32; BLOCK]) -> bool {
        let least = block
            .iter()
            .fold(u32::MAX, |least, y| least.min(self.place(*y)));
        let is_small = self.below > 0.0 && block.iter().any(|y| y.abs() < self.below);
        least <= self.width || is_small
    }

    /// Which of a block are, the first one in the lowest bit.
    #[inline(always)]
    fn near(self, block: &[f32; BLOCK]) -> u64 {
        let mut near = [0; BLOCK];
        for (near, y) in near.iter_mut().zip(block) {
            *near = u8::from((self.place(*y) <= self.width) | (y.abs() < self.below));
        }
        simd::truth_bits(&near)
    }
}

/// Numbers whose results in float32, with fused steps, are rounded to the wrong side: what a row's
/// formula gives for all of them decides which they are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Hard {
    None,
    /// These codes.
    Codes(&'static [u16]),
    /// Some of those whose half is a subnormal bfloat16, or a tie of two.
    Tiny,
}

impl Hard {
    /// Those of a row with a fused loop.
    pub(crate) const fn of(op: Op, dtype: DType) -> Self {
        match (dtype, op) {
            (DType::F16, Op::Log) => Self::Codes(&[0x1D78]),
            (DType::F16, Op::Sin) => Self::Codes(&[0x32B3, 0x5CB0, 0xB2B3, 0xDCB0]),
            (DType::F16, Op::Cos) => Self::Codes(&[0x2B7C, 0xAB7C]),
            (DType::F16, Op::Erf) => Self::Codes(&[0x1612, 0x9612]),
            (DType::F16, Op::Sigmoid) => {
                Self::Codes(&[0x1A00, 0x1F00, 0x2180, 0x9600, 0x9B00, 0x9D80, 0xB13F])
            }
            (DType::F16, Op::LogSigmoid) => Self::Codes(&[0x0430, 0x97BC]),
            (DType::F16, Op::Gelu) => Self::Codes(&[0x0001, 0x8003]),
            (DType::F16, Op::GeluTanh) => Self::Codes(&[0x157C, 0x957C, 0xADF1, 0xB5A7]),
            (DType::F16, Op::Silu) => Self::Codes(&[0x0001, 0x9E00, 0xC173]),
            (DType::F16, Op::Mish) => Self::Codes(&[0x1100, 0x3E49, 0x8FBF, 0x9100]),
            (DType::F16, Op::Hardswish) => Self::Codes(&[0x0001, 0x3401, 0x3BFF]),
            (DType::BF16, Op::Gelu | Op::GeluTanh | Op::Silu | Op::Hardswish) => Self::Tiny,
            _ => Self::None,
        }
    }

    /// Zero where a code is one of them.
    #[inline(always)]
    fn distance(self, code: u16) -> u16 {
        match self {
            Self::None => 1,
            Self::Codes(codes) => codes
                .iter()
                .fold(u16::MAX, |least, hard| least.min(code ^ *hard)),
            Self::Tiny => (code & 0x7FFF).wrapping_sub(1).saturating_sub(0xFE),
        }
    }
}

/// Finds the hard numbers of a row among codes, and says whether there are any.
struct Find<'a, const ROW: u8, const BRAIN: bool> {
    codes: &'a [u16],
    near: &'a mut [u64],
}

impl<const ROW: u8, const BRAIN: bool> Body for Find<'_, ROW, BRAIN> {
    type Output = bool;
    #[inline(always)]
    fn run<const FUSED: bool>(self) -> bool {
        let hard = const { Hard::of(Op::ALL[ROW as usize], sixteen_bits(BRAIN)) };
        let (blocks, left) = self.codes.as_chunks();
        let mut rest = [0; BLOCK];
        rest[..left.len()].copy_from_slice(left);
        let last = std::iter::once(&rest).take(left.len());
        let mut found = false;
        for (block, near) in blocks.iter().chain(last).zip(self.near) {
            let block: &[u16; BLOCK] = block;
            // By minima, of which the compiler makes vectors.
            let least = |least: u16, code: &u16| least.min(hard.distance(*code));
            if block.iter().fold(u16::MAX, least) == 0 {
                let mut bits = [0; BLOCK];
                for (bit, code) in bits.iter_mut().zip(block) {
                    *bit = u8::from(hard.distance(*code) == 0);
                }
                *near = simd::truth_bits(&bits);
                found = true;
            }
        }
        found
    }
}

const fn sixteen_bits(brain: bool) -> DType {
    if brain { DType::BF16 } else { DType::F16 }
}

/// Runs a fused loop over bfloat16 or float16 a piece at a time, and computes hard numbers again.
pub(crate) fn in_pieces<const ROW: u8, const BRAIN: bool>(
    level: Level,
    kernel: fused::Kernel,
    x: &[u8],
    out: &mut [u8],
    streams: bool,
) {
    const PIECE: usize = BLOCKS * BLOCK * size_of::<u16>();
    let dtype = sixteen_bits(BRAIN);
    for (x, out) in x.chunks(PIECE).zip(out.chunks_mut(PIECE)) {
        kernel(level, &[x], out, streams);
        let (mut near, codes) = ([0; BLOCKS], bytemuck::cast_slice(x));
        let find = Find::<ROW, BRAIN> {
            codes,
            near: &mut near,
        };
        if simd::run(level, find) {
            if streams {
                // Results past the caches arrive before those that replace them.
                simd::finish_streams();
            }
            let op = Op::ALL[usize::from(ROW)];
            compute_again(level, op, &near, (dtype, &[x]), (dtype, out), false);
        }
    }
}

/// Whether rounding float32 results of a row may give another number than the nearest. Where it may not,
/// all numbers show it.
const fn may_misround(op: Op, dtype: DType) -> bool {
    match op {
        // Exact, or one product or sum of exact numbers.
        Op::Abs | Op::Sign | Op::Angle => false,
        Op::Elu | Op::Celu | Op::Softplus => matches!(dtype, DType::F16),
        // A slope with the digits of float32.
        Op::LeakyRelu => true,
        _ if op.row().operands.len() != 1 || op.row().ulp <= 0.5 => false,
        _ if dtype.bits() == 8 => matches!(op, Op::I1 | Op::Tanhshrink),
        // 16 digits more leave little room for errors.
        _ if matches!(dtype, DType::BF16) => matches!(
            op,
            Op::Ndtr
                | Op::LogNdtr
                | Op::Logit
                | Op::I0e
                | Op::I1
                | Op::I1e
                | Op::Gelu
                | Op::GeluTanh
                | Op::Silu
                | Op::Hardswish
                | Op::Tanhshrink
        ),
        _ => true,
    }
}

/// A result in float64 that is rounded as the exact one is: functions that are next to a number for
/// more digits than float64 has, which may be a tie.
fn leaning(op: Op, x: f64, parameter: f64, y: f64) -> f64 {
    let outward = |y: f64| if y < 0.0 { y.next_down() } else { y.next_up() };
    let inward = |y: f64| if y < 0.0 { y.next_up() } else { y.next_down() };
    let half = x * 0.5;
    match op {
        _ if x == 0.0 => y,
        // x/2 + c x², with a positive c.
        Op::Gelu | Op::GeluTanh | Op::Silu | Op::Hardswish if y == half => y.next_up(),
        // x/2 + x³/16, and x/2 - x |x|/2.
        Op::I1 if y == half => outward(y),
        Op::I1e if y == half => inward(y),
        // x - 1 + 2 e^(-2x), for positive numbers.
        Op::Tanhshrink if y.abs() == x.abs() - 1.0 => outward(y),
        // The rest of the product.
        Op::LeakyRelu if x < 0.0 => match x.mul_add(parameter, -y) {
            rest if rest > 0.0 => y.next_up(),
            rest if rest < 0.0 => y.next_down(),
            _ => y,
        },
        // -x²/2 - ln(|x| √(2π)).
        Op::LogNdtr if x < 0.0 && y == -(half * x) => outward(y),
        _ => y,
    }
}

/// Computes elements of a row again: those whose bits are set, 64 to a word. Operands are of float32,
/// bfloat16 or float16; parameters among them may be meant as decimals.
#[cold]
#[inline(never)]
pub(crate) fn compute_again(
    level: Level,
    op: Op,
    near: &[u64],
    (from, operands): (DType, &[&[u8]]),
    (to, out): (DType, &mut [u8]),
    has_decimals: bool,
) {
    let Some(kernel) = elementwise::find(op, DType::F64) else {
        return;
    };
    let Ok(rounding) = Conversion::new(DType::F64, to) else {
        return;
    };
    let mut scratch = Scratch::default();
    let mut places = near.iter().enumerate().flat_map(|(word, near)| {
        let first = word * BLOCK;
        let bits = std::iter::successors(Some(*near), |near| Some(near & near.wrapping_sub(1)));
        bits.take_while(|near| *near != 0)
            .map(move |near| first + near.trailing_zeros() as usize)
    });
    let mut taken = [0; BLOCK];
    loop {
        let mut count = 0;
        for (taken, place) in taken.iter_mut().zip(places.by_ref()) {
            (*taken, count) = (place, count + 1);
        }
        if count == 0 {
            return;
        }
        let mut wide = [[0.0; BLOCK]; MAX_ARITY];
        for (k, (wide, operand)) in wide.iter_mut().zip(operands).enumerate() {
            for (x, place) in wide.iter_mut().zip(&taken[..count]) {
                *x = number(from, operand, *place);
            }
            if has_decimals && k > 0 {
                let written = decimal(wide[0]);
                wide.fill(written);
            }
        }
        // Whole vectors: the rest of one goes through functions number by number.
        let whole = count.next_multiple_of(LANES);
        let slices: [&[u8]; MAX_ARITY] =
            std::array::from_fn(|k| bytemuck::cast_slice(&wide[k][..whole]));
        let mut results = [0.0; BLOCK];
        let made = &mut results[..whole];
        kernel(
            level,
            &slices[..operands.len()],
            bytemuck::cast_slice_mut(made),
        );
        let exact = &mut results[..count];
        for ((y, x), parameter) in exact.iter_mut().zip(&wide[0]).zip(&wide[1]) {
            *y = leaning(op, *x, *parameter, *y);
        }
        let mut codes = [0_u16; BLOCK];
        let size = to.itemsize();
        let codes = &mut bytemuck::cast_slice_mut(&mut codes)[..count * size];
        rounding.run(level, bytemuck::cast_slice(exact), codes, &mut scratch);
        for (code, place) in codes.chunks_exact(size).zip(&taken[..count]) {
            out[place * size..][..size].copy_from_slice(code);
        }
        if count < BLOCK {
            return;
        }
    }
}

/// Float64 of a vector, at most.
const LANES: usize = 8;

/// The decimal that a float32 was written as, unless it is one of few digits: 0.01, which float32 has not
/// as many digits of as float64.
fn decimal(x: f64) -> f64 {
    let few = f64::from(f32::from_bits((x as f32).to_bits() & 0xFFFF_FF00));
    match few == x {
        true => x,
        false => (x as f32).to_string().parse().unwrap_or(x),
    }
}

/// An element as a float64.
fn number(dtype: DType, bytes: &[u8], place: usize) -> f64 {
    match dtype {
        DType::F32 => f64::from(bytemuck::cast_slice::<u8, f32>(bytes)[place]),
        DType::BF16 => bf16::from_bits(bytemuck::cast_slice(bytes)[place]).to_f64(),
        _ => f16::from_bits(bytemuck::cast_slice(bytes)[place]).to_f64(),
    }
}

/// Blocks that are looked at before some of them are computed again.
pub(crate) const BLOCKS: usize = 64;

/// Looks at a tile of float32 results of a row, whose roundings stand in `out`, and computes those near
/// ties again. Constants among the operands are decimals.
pub(crate) fn correct(
    level: Level,
    (op, ties): (Op, Ties),
    results: &[u8],
    (operands, has_decimals): (&[&[u8]], bool),
    (to, out): (DType, &mut [u8]),
) {
    const PIECE: usize = BLOCKS * BLOCK;
    let results: &[f32] = bytemuck::cast_slice(results);
    for (number, results) in results.chunks(PIECE).enumerate() {
        let mut near = [0; BLOCKS];
        let near = &mut near[..results.len().div_ceil(BLOCK)];
        let look = Look {
            ties,
            results,
            near,
        };
        if simd::run(level, look) {
            let (first, count) = (number * PIECE, results.len());
            let piece = |bytes: usize| first * bytes..(first + count) * bytes;
            let mut pieces: [&[u8]; MAX_ARITY] = [&[]; MAX_ARITY];
            for (piece_of, operand) in pieces.iter_mut().zip(operands) {
                *piece_of = &operand[piece(size_of::<f32>())];
            }
            let operands = (DType::F32, &pieces[..operands.len()]);
            let out = (to, &mut out[piece(to.itemsize())]);
            compute_again(level, op, near, operands, out, has_decimals);
        }
    }
}

/// Finds what is near a tie, and says whether anything is.
struct Look<'a> {
    ties: Ties,
    results: &'a [f32],
    near: &'a mut [u64],
}

impl Body for Look<'_> {
    type Output = bool;
    #[inline(always)]
    fn run<const FUSED: bool>(self) -> bool {
        let (blocks, left) = self.results.as_chunks();
        let mut rest = [f32::NAN; BLOCK];
        rest[..left.len()].copy_from_slice(left);
        let last = std::iter::once(&rest).take(left.len());
        let mut found = false;
        for (block, near) in blocks.iter().chain(last).zip(self.near) {
            if self.ties.any_near(block) {
                *near = self.ties.near(block);
                found = true;
            }
        }
        found
    }
}
