//! Casts from 8-bit dtypes as a table of all 256 results.

use std::sync::OnceLock;

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
        match self.width {
            1 => simd::run(mode, &LookUp::<u8>::new(self), src, dst),
            2 => simd::run(
                mode,
                &LookUp::<u16>::new(self),
                src,
                bytemuck::cast_slice_mut(dst),
            ),
            _ => simd::run(
                mode,
                &LookUp::<u32>::new(self),
                src,
                bytemuck::cast_slice_mut(dst),
            ),
        }
    }
}

/// One load per element.
struct LookUp<W>([W; 256]);

macro_rules! impl_look_up {
    ($($word:ty)*) => {$(
        impl LookUp<$word> {
            fn new(table: &Table) -> Self {
                Self(table.entries.map(|entry| entry as $word))
            }
        }
        impl Kernel for LookUp<$word> {
            type From = u8;
            type To = $word;
            #[inline(always)]
            fn run(&self, src: &[u8], dst: &mut [$word]) {
                for (out, code) in dst.iter_mut().zip(src) {
                    *out = self.0[usize::from(*code)];
                }
            }
        }
    )*};
}
impl_look_up!(u8 u16 u32);
