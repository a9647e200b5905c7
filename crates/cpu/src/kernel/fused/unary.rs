//! Functions of one operand: of halves, which are converted on the way, and of large float32.

use std::marker::PhantomData;

use allotrope_dtype::{DType, Level};
use allotrope_op::table::formula::{self, FloatMap, ForHalf, Rough};
use allotrope_op::{Number, Op};
use bytemuck::Zeroable;

use super::Kernel;
use super::block::Store;
#[cfg(target_arch = "x86_64")]
use super::block::{Half, Wide};
use super::pairs;
use crate::kernel::ties::{self, Hard};
use crate::simd::{self, BLOCK, Body};

/// The loop of a row over one operand.
struct Loop<'a, S: Store<f32>, F> {
    level: Level,
    x: &'a [S::Code],
    out: &'a mut [S::Code],
    streams: bool,
    row: PhantomData<F>,
}

impl<S: Store<f32>, F: FloatMap<1>> Loop<'_, S, F> {
    /// The results of a block. A function and not a closure: those are shared by the levels, and
    /// what is not inlined is compiled for the baseline.
    #[inline(always)]
    fn block<const FUSED: bool>(x: &[S::Code; BLOCK]) -> [f32; BLOCK] {
        let values = if F::NEAR.is_some() {
            S::load(x)
        } else {
            S::load_in_vectors(x)
        };
        let mut results = [0.0; BLOCK];
        if F::NEAR.is_some_and(|[limit, _]| Self::are_near(x, limit)) {
            for (result, x) in results.iter_mut().zip(values) {
                *result = F::near([Number::<f32, FUSED>(x)]).0;
            }
        } else {
            for (result, x) in results.iter_mut().zip(values) {
                *result = F::call([Number::<f32, FUSED>(x)]).0;
            }
        }
        results
    }

    /// Whether all magnitudes are below a limit.
    #[inline(always)]
    fn are_near(x: &[S::Code; BLOCK], limit: f64) -> bool {
        let mut near = true;
        for code in x {
            near &= S::is_near(*code, limit);
        }
        near
    }
}

impl<S: Store<f32>, F: FloatMap<1>> Body for Loop<'_, S, F> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let (x, x_tail) = self.x.as_chunks();
        let (out, out_tail) = self.out.as_chunks_mut();
        // What is left goes the same way, so that the formula is there once.
        let (mut rest, mut rest_out) = ([S::Code::zeroed(); BLOCK], [S::Code::zeroed(); BLOCK]);
        rest[..x_tail.len()].copy_from_slice(x_tail);
        let last = std::iter::once(((&rest, &mut rest_out), false)).take(x_tail.len());
        let whole = x.iter().zip(out).map(|block| (block, self.streams));
        for ((x, out), streams) in whole.chain(last) {
            simd::prefetch(x);
            let results = Self::block::<FUSED>(x);
            // Stored twice, so that what is not streamed goes from registers to its place.
            if streams {
                let codes = S::store(results);
                let out = bytemuck::cast_slice_mut(out);
                simd::stream(self.level, bytemuck::cast_slice(&codes), out);
            } else {
                *out = S::store(results);
            }
        }
        out_tail.copy_from_slice(&rest_out[..out_tail.len()]);
    }
}

impl<'a, S: Store<f32>, F> Loop<'a, S, F> {
    fn new(level: Level, x: &'a [u8], out: &'a mut [u8], streams: bool) -> Self {
        Self {
            level,
            x: bytemuck::cast_slice(x),
            out: bytemuck::cast_slice_mut(out),
            streams,
            row: PhantomData,
        }
    }
}

/// A row over float32.
fn run<F: FloatMap<1>>(level: Level, operands: &[&[u8]], out: &mut [u8], streams: bool) {
    let [x] = operands else { return };
    simd::run(level, Loop::<f32, F>::new(level, x, out, streams));
}

/// A row over float16.
#[cfg(target_arch = "x86_64")]
fn run_halves<F: FloatMap<1>>(level: Level, operands: &[&[u8]], out: &mut [u8], streams: bool) {
    let [x] = operands else { return };
    match level {
        Level::Avx512(proof) => proof.run(Loop::<Wide<Half>, F>::new(level, x, out, streams)),
        Level::Avx2(proof) => proof.run(Loop::<Half, F>::new(level, x, out, streams)),
        // The baseline has no such kernel.
        Level::Scalar => {}
    }
}

/// A row over float16 with numbers that are computed again.
#[cfg(target_arch = "x86_64")]
fn run_hard_halves<F: FloatMap<1>, const ROW: u8>(
    level: Level,
    operands: &[&[u8]],
    out: &mut [u8],
    streams: bool,
) {
    let [x] = operands else { return };
    ties::in_pieces::<ROW, false>(level, run_halves::<F>, x, out, streams);
}

/// The same over bfloat16.
fn run_hard_pairs<F: FloatMap<1>, const ROW: u8, const ROUNDING: u8>(
    level: Level,
    operands: &[&[u8]],
    out: &mut [u8],
    streams: bool,
) {
    let [x] = operands else { return };
    ties::in_pieces::<ROW, true>(level, pairs::run::<F, 1, ROUNDING>, x, out, streams);
}

macro_rules! kernels {
    ($($row:ident)*) => {
        /// The kernel of a row for operand and result of one dtype; `None` where tiles are the way.
        pub(super) fn find(level: Level, op: Op, dtype: DType) -> Option<Kernel> {
            // The baseline converts slowly and has no stores past the caches.
            if level == Level::Scalar || cfg!(not(target_arch = "x86_64")) {
                return None;
            }
            match op {
                $(Op::$row => match dtype {
                    DType::F32 => Some(run::<formula::$row>),
                    DType::BF16 => {
                        const ROUNDING: u8 = pairs::rounding(Op::$row);
                        match const { Hard::of(Op::$row, DType::BF16) } {
                            Hard::None => Some(pairs::run::<Rough<formula::$row>, 1, ROUNDING>),
                            _ => Some(run_hard_pairs::<Rough<formula::$row>, { Op::$row as u8 }, ROUNDING>),
                        }
                    }
                    #[cfg(target_arch = "x86_64")]
                    DType::F16 => match const { Hard::of(Op::$row, DType::F16) } {
                        Hard::None => Some(run_halves::<ForHalf<formula::$row>>),
                        _ => Some(run_hard_halves::<ForHalf<formula::$row>, { Op::$row as u8 }>),
                    },
                    _ => None,
                },)*
                _ => None,
            }
        }
    };
}
// Functions that take about as long as memory does. Those that take longer gain nothing here, and
// what is seldom used is not worth its six loops.
kernels! {
    Neg Square Reciprocal Sqrt Rsqrt Sign Floor Ceil Round Trunc
    Exp Log Sin Cos Tanh Erf
    Relu Relu6 Hardsigmoid Hardswish Softsign Sigmoid Silu Gelu GeluTanh Mish Selu LogSigmoid
}
