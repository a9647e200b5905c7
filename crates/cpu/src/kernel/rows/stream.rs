//! Results on their way to memory.

use std::marker::PhantomData;

use allotrope_dtype::{DType, Level};

#[cfg(target_arch = "x86_64")]
use super::super::fused::block::Half;
use super::super::fused::block::{Brain, Store};
use super::{Accumulator, LANES};
use crate::simd::{self, Body};

/// Encodes float32 as float16 or bfloat16 past the caches, in one pass; how many, in whole blocks.
pub(super) fn stream_halves<C: Accumulator>(
    level: Level,
    dtype: DType,
    values: &[C],
    out: &mut [u8],
) -> usize {
    struct Encode<'a, S> {
        level: Level,
        values: &'a [[f32; LANES]],
        out: &'a mut [u8],
        store: PhantomData<S>,
    }
    impl<S: Store<f32>> Body for Encode<'_, S> {
        type Output = ();
        #[inline(always)]
        fn run<const FUSED: bool>(self) {
            let blocks = self.out.chunks_exact_mut(LANES * size_of::<S::Code>());
            for (values, out) in self.values.iter().zip(blocks) {
                let codes = S::store(*values);
                simd::stream(self.level, bytemuck::cast_slice(&codes), out);
            }
        }
    }
    fn run<S: Store<f32>>(level: Level, values: &[[f32; LANES]], out: &mut [u8]) -> usize {
        let store = PhantomData::<S>;
        simd::run_above_scalar(
            level,
            Encode {
                level,
                values,
                out,
                store,
            },
        );
        values.as_flattened().len()
    }
    let is_aligned = out.as_ptr().addr().is_multiple_of(64);
    if C::DTYPE != DType::F32 || level == Level::Scalar || !is_aligned {
        return 0;
    }
    let values = bytemuck::cast_slice::<C, f32>(values).as_chunks().0;
    match dtype {
        DType::BF16 => run::<Brain>(level, values, out),
        #[cfg(target_arch = "x86_64")]
        DType::F16 => run::<Half>(level, values, out),
        _ => 0,
    }
}
