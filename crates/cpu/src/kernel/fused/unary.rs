//! Functions of one operand: of halves, which are converted on the way, and of large float32.

use std::marker::PhantomData;

use allotrope_dtype::{DType, Level};
use allotrope_op::elementary::NEAR_32;
use allotrope_op::table::formula::{self, FloatMap};
use allotrope_op::{Number, Op, for_each_activation, for_each_unary};
use bytemuck::Zeroable;

use super::Kernel;
#[cfg(target_arch = "x86_64")]
use super::block::Half;
use super::block::{Brain, Store, map};
use crate::simd::{self, BLOCK, Body};

/// The loop of a row over one operand.
struct Loop<'a, S: Store<f32>, F> {
    level: Level,
    x: &'a [S::Code],
    out: &'a mut [S::Code],
    streams: bool,
    row: PhantomData<F>,
}

impl<S: Store<f32>, F: FloatMap<1>> Body for Loop<'_, S, F> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let block = |x: &[S::Code; BLOCK]| {
            let values = S::load(x);
            let is_near = |near: bool, x: &f32| near & (x.abs() < NEAR_32 as f32);
            S::store(if F::HAS_NEAR && values.iter().fold(true, is_near) {
                map(&values, |x| F::near([Number::<f32, FUSED>(x)]).0)
            } else {
                map(&values, |x| F::call([Number::<f32, FUSED>(x)]).0)
            })
        };
        let (x, x_tail) = self.x.as_chunks();
        let (out, out_tail) = self.out.as_chunks_mut();
        for (x, out) in x.iter().zip(out) {
            simd::prefetch(x);
            let result = block(x);
            if self.streams {
                let out = bytemuck::cast_slice_mut(out);
                simd::stream(self.level, bytemuck::cast_slice(&result), out);
            } else {
                *out = result;
            }
        }
        if !out_tail.is_empty() {
            let mut x = [S::Code::zeroed(); BLOCK];
            x[..x_tail.len()].copy_from_slice(x_tail);
            out_tail.copy_from_slice(&block(&x)[..out_tail.len()]);
        }
    }
}

fn run<S: Store<f32>, F: FloatMap<1>>(
    level: Level,
    operands: &[&[u8]],
    out: &mut [u8],
    streams: bool,
) {
    let [x] = operands else { return };
    let body = Loop::<S, F> {
        level,
        x: bytemuck::cast_slice(x),
        out: bytemuck::cast_slice_mut(out),
        streams,
        row: PhantomData,
    };
    simd::run_above_scalar(level, body);
}

/// The kernel of a row for a way to store float32, where its formula is one for floats.
macro_rules! entry {
    (Map ($x:ident) { $($formula:tt)* } $row:ident $store:ty) => {
        Some(run::<$store, formula::$row>)
    };
    ($signature:ident $arguments:tt $cell:tt $row:ident $store:ty) => {
        None
    };
}

macro_rules! kernels {
    ($({ $variant:ident, $name:ident, $arguments:tt -> $out:ident, $signature:ident, $autocast:ident, $doc:literal,
         float $float:tt $($rest:tt)* })*) => {
        /// The kernel of a row for operand and result of one dtype; `None` where tiles are the way.
        pub(super) fn find(level: Level, op: Op, dtype: DType) -> Option<Kernel> {
            // The baseline converts slowly and has no stores past the caches.
            if level == Level::Scalar || cfg!(not(target_arch = "x86_64")) {
                return None;
            }
            match op {
                $(Op::$variant => match dtype {
                    DType::F32 => entry!($signature $arguments $float $variant f32),
                    DType::BF16 => entry!($signature $arguments $float $variant Brain),
                    #[cfg(target_arch = "x86_64")]
                    DType::F16 => entry!($signature $arguments $float $variant Half),
                    _ => None,
                },)*
                _ => None,
            }
        }
    };
}
for_each_unary! { (for_each_activation) (kernels) }
