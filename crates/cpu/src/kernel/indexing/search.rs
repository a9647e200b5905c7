//! Places in sorted sequences, and membership in sets. Nothing is rounded for a comparison.
//!
//! Keys are of one of [`KEYS`]. Numbers that no other of them holds all of are pairs: a number
//! rounded to float64, which keeps the order, and what the rounding left out. NaN is the greatest.

use std::cmp::Ordering;

use allotrope_dtype::{DType, c128};
use bytemuck::Pod;
use rayon::prelude::*;

use crate::parallel;

/// The dtypes of keys; complex128 stands for pairs.
pub const KEYS: [DType; 5] = [DType::I64, DType::U64, DType::F32, DType::F64, DType::C128];

/// What can be put in order.
trait Key: Pod + Send + Sync + PartialEq {
    fn order(&self, other: &Self) -> Ordering;
}

macro_rules! impl_key {
    (integers $($int:ty)*) => {$(
        impl Key for $int {
            #[inline(always)]
            fn order(&self, other: &Self) -> Ordering {
                self.cmp(other)
            }
        }
    )*};
    (floats $($float:ty)*) => {$(
        impl Key for $float {
            #[inline(always)]
            fn order(&self, other: &Self) -> Ordering {
                match self.partial_cmp(other) {
                    Some(order) => order,
                    None => self.is_nan().cmp(&other.is_nan()),
                }
            }
        }
    )*};
}
impl_key!(integers i64 u64);
impl_key!(floats f32 f64);

impl Key for c128 {
    #[inline(always)]
    fn order(&self, other: &Self) -> Ordering {
        self.re
            .order(&other.re)
            .then_with(|| self.im.order(&other.im))
    }
}

/// Runs an expression with the type of a key.
macro_rules! with_key {
    ($dtype:expr, |$K:ident| $body:expr) => {
        match $dtype {
            DType::I64 => {
                type $K = i64;
                $body
            }
            DType::U64 => {
                type $K = u64;
                $body
            }
            DType::F32 => {
                type $K = f32;
                $body
            }
            DType::F64 => {
                type $K = f64;
                $body
            }
            _ => {
                type $K = c128;
                $body
            }
        }
    };
}

/// Integers as pairs: rounded, and what that left out.
pub fn pairs(dtype: DType, integers: &[u8], out: &mut [u8]) {
    let out: &mut [c128] = bytemuck::cast_slice_mut(out);
    let pair = |integer: i128| {
        let rounded = integer as f64;
        c128::new(rounded, (integer - rounded as i128) as f64)
    };
    match dtype {
        DType::U64 => {
            let integers: &[u64] = bytemuck::cast_slice(integers);
            parallel::for_each_chunk(out, |first, chunk| {
                for (out, integer) in chunk.iter_mut().zip(&integers[first..]) {
                    *out = pair(i128::from(*integer));
                }
            });
        }
        _ => {
            let integers: &[i64] = bytemuck::cast_slice(integers);
            parallel::for_each_chunk(out, |first, chunk| {
                for (out, integer) in chunk.iter_mut().zip(&integers[first..]) {
                    *out = pair(i128::from(*integer));
                }
            });
        }
    }
}

/// Puts keys in order.
pub fn sort_keys(dtype: DType, keys: &mut [u8]) {
    with_key!(dtype, |K| {
        let keys: &mut [K] = bytemuck::cast_slice_mut(keys);
        keys.par_sort_unstable_by(K::order);
    });
}

/// For each value, how many keys of its sorted row are less, or with `right` not greater.
///
/// There are `length` keys to a row and `values_per_row` values for it.
pub fn search(
    dtype: DType,
    sorted: &[u8],
    length: usize,
    values: &[u8],
    values_per_row: usize,
    right: bool,
    out: &mut [i64],
) {
    with_key!(dtype, |K| {
        let (sorted, values): (&[K], &[K]) =
            (bytemuck::cast_slice(sorted), bytemuck::cast_slice(values));
        parallel::for_each_chunk(out, |first, chunk| {
            for (i, (out, value)) in chunk.iter_mut().zip(&values[first..]).enumerate() {
                let row = (first + i) / values_per_row * length;
                let keys = &sorted[row..row + length];
                let place = if right {
                    keys.partition_point(|key| key.order(value).is_le())
                } else {
                    keys.partition_point(|key| key.order(value).is_lt())
                };
                *out = place as i64;
            }
        });
    });
}

/// For each value, whether it is one of the sorted keys, or with `invert` whether it is none.
pub fn which_belong(dtype: DType, sorted: &[u8], values: &[u8], invert: bool, out: &mut [u8]) {
    with_key!(dtype, |K| {
        let (sorted, values): (&[K], &[K]) =
            (bytemuck::cast_slice(sorted), bytemuck::cast_slice(values));
        parallel::for_each_chunk(out, |first, chunk| {
            for (out, value) in chunk.iter_mut().zip(&values[first..]) {
                let place = sorted.partition_point(|key| key.order(value).is_lt());
                let belongs = sorted.get(place).is_some_and(|key| key == value);
                *out = u8::from(belongs != invert);
            }
        });
    });
}
