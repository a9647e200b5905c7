//! Casts from 8-bit dtypes as a table of all 256 results.
//!
//! Looked up 64 at a time where the CPU permutes bytes. Elsewhere 8-bit floats become float32 by
//! arithmetic, in `float8`.

use std::marker::PhantomData;
use std::sync::OnceLock;

use super::kernels::Truth;
use super::simd::{self, Kernel, Mode};
use crate::cast::{Exact, Overflow, Rounding, Target};
use crate::{DType, Kind};

/// The results of a cast for every 8-bit code, in results of 1, 2 or 4 bytes.
pub(super) struct Table {
    /// The results, little-endian in the low bytes.
    entries: [u32; 256],
    /// The same, one byte of each result per plane.
    planes: [[u8; 256]; 4],
    /// Bytes of a result.
    width: usize,
    /// Whether the results are those of a narrow float or truth in float32: the lower half is zero.
    is_upper: bool,
    /// Whether every code but zero has the same result, and zero has zero.
    is_truth: bool,
}

/// The value of an 8-bit code, exactly.
pub(super) fn decode_byte(dtype: DType, code: u8) -> Exact {
    match (dtype.kind(), dtype.format()) {
        (_, Some(format)) => Exact::from_f64(format.decode(u64::from(code))),
        (Kind::Bool, _) => Exact::from_u64(u64::from(code != 0)),
        (Kind::Signed, _) => Exact::from_i64(i64::from(code as i8)),
        _ => Exact::from_u64(u64::from(code)),
    }
}

impl Table {
    fn build(from: DType, to: DType, overflow: Overflow) -> Self {
        let target = Target::of(to);
        let entries = std::array::from_fn(|code| {
            let value = decode_byte(from, code as u8);
            target.round(value, Rounding::Nearest, overflow, 0).code as u32
        });
        let planes = std::array::from_fn(|byte| entries.map(|e: u32| (e >> (8 * byte)) as u8));
        Self {
            entries,
            planes,
            width: to.itemsize(),
            is_truth: entries[0] == 0 && entries[2..].iter().all(|entry| *entry == entries[1]),
            is_upper: to.itemsize() == 4 && entries.iter().all(|entry| entry & 0xFFFF == 0),
        }
    }

    /// Runs `with` on the table of a cast, which is kept or built for this once.
    pub(super) fn with(
        [from, to]: [DType; 2],
        overflow: Overflow,
        is_kept: bool,
        with: impl FnOnce(&Self),
    ) {
        type Row = [OnceLock<Box<Table>>; DType::COUNT];
        static KEPT: [Row; DType::COUNT] =
            [const { [const { OnceLock::new() }; DType::COUNT] }; DType::COUNT];
        if is_kept {
            let place = &KEPT[from as usize][to as usize];
            with(place.get_or_init(|| Box::new(Self::build(from, to, overflow))));
        } else {
            with(&Self::build(from, to, overflow));
        }
    }

    /// Looks every code up.
    pub(super) fn run(&self, mode: Mode, src: &[u8], dst: &mut [u8]) {
        let planes = &self.planes[..self.width];
        if simd::look_up(mode, planes, self.is_upper, src, dst) {
            return;
        }
        let entries = &self.entries;
        if self.is_truth {
            let one = entries[1];
            return match self.width {
                1 => simd::run(mode, &Truth { one: one as u8 }, src, dst),
                2 => {
                    let one = one as u16;
                    simd::run(mode, &Truth { one }, src, bytemuck::cast_slice_mut(dst));
                }
                _ => simd::run(mode, &Truth { one }, src, bytemuck::cast_slice_mut(dst)),
            };
        }
        match self.width {
            1 => simd::run(mode, &LookUp::<u8>(entries, PhantomData), src, dst),
            2 => simd::run(
                mode,
                &LookUp::<u16>(entries, PhantomData),
                src,
                bytemuck::cast_slice_mut(dst),
            ),
            _ => simd::run(
                mode,
                &LookUp::<u32>(entries, PhantomData),
                src,
                bytemuck::cast_slice_mut(dst),
            ),
        }
    }
}

/// One load per element.
struct LookUp<'a, W>(&'a [u32; 256], PhantomData<W>);

macro_rules! impl_look_up {
    ($($word:ty)*) => {$(
        impl Kernel for LookUp<'_, $word> {
            type From = u8;
            type To = $word;
            #[inline(always)]
            fn run(&self, src: &[u8], dst: &mut [$word]) {
                for (out, code) in dst.iter_mut().zip(src) {
                    *out = self.0[usize::from(*code)] as $word;
                }
            }
        }
    )*};
}
impl_look_up!(u8 u16 u32);
