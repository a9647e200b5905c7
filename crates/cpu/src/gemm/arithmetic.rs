//! How numbers are laid out for the kernels: what a dtype is decoded to while it is packed, and what
//! becomes of a sum.
//!
//! | numbers | packed as | a step is |
//! |---|---|---|
//! | float32 and narrower, float64 | themselves | a product |
//! | complex | A: `[re, -im]` over `[im, re]`, B: `re` over `im` | half of a product |
//! | bfloat16, by units of the processor | pairs of bfloat16 | two products, each rounded |
//! | integers of 8 and 16 bits, bool | pairs of int16 | two products, wrapped to 32 bits |
//! | integers of 32 bits | low and high half crosswise, then pairs of the low halves | see [`Whole32`](super::int::Whole32) |
//! | integers of 64 bits | themselves | a product, wrapped |
#![allow(unsafe_code, reason = "hands tiles to kernels")]

use allotrope_dtype::{DType, Element, Level, c64, c128};

use super::Coefficient;
use super::gemv::{self, Kernels};
use super::micro::{Micro, Tile};
use super::strip::{Lines, Panel, pack_plain};

/// A way to pack and multiply.
pub(super) trait Arithmetic: Send + Sync {
    /// What elements are decoded to.
    type Line: Element;
    /// What is packed and summed.
    type Sum: Micro;
    /// What a sum is as a number.
    type Value: Element;
    /// Rows of sums per row of the matrix.
    const ROWS: usize;
    /// Whether panels have the elements as they are, one per step.
    const IS_PLAIN: bool = false;
    /// Elements of the summed dimension in a pass (BLIS: KC): a panel of columns fits in the first-level
    /// cache.
    const KC: usize;
    /// What sums a single row without packing; integers have none, since their order is of no account.
    const CHAINS: Option<Kernels<Self::Sum>> = None;

    /// The numbers of a panel per line of it, for so many elements along the summed dimension.
    fn depth(count: usize) -> usize;

    /// How many of the first steps of a panel for so many elements count 2^16 fold.
    fn shifted(_count: usize) -> usize {
        0
    }

    /// Whether those steps come to nothing if they do for both factors: all numbers are small.
    fn is_small<const LEFT: bool>(_panels: &[Self::Sum], _wide: usize, _count: usize) -> bool {
        false
    }

    /// The values of a row, of its rows of sums, which lie `stride` apart.
    fn collect(sums: &[Self::Sum], stride: usize, values: &mut [Self::Value]);

    /// The value times `alpha`.
    fn scale(value: Self::Value, alpha: Coefficient) -> Self::Value;

    /// The value times `alpha`, plus `beta` times another.
    fn combine(
        value: Self::Value,
        alpha: Coefficient,
        beta: Coefficient,
        former: Self::Value,
    ) -> Self::Value;

    /// [`Micro::run`], which the numbers decide for most.
    ///
    /// # Safety
    /// As [`Micro::run`].
    unsafe fn multiply(level: Level, tile: Tile<'_, Self::Sum>) {
        // SAFETY: the caller's promise.
        unsafe { Self::Sum::run(level, tile) }
    }

    /// Writes a stretch of a panel. Lines beyond the last are left as they are.
    fn pack<const LEFT: bool>(source: Lines<'_, Self::Line>, panel: Panel<'_, Self::Sum>);
}

macro_rules! plain {
    ($($(#[doc = $doc:literal])* $name:ident, $T:ty, $chains:expr,
       |$value:ident, $alpha:ident| $scale:expr,
       |$beta:ident, $former:ident| $combine:expr;)*) => {$(
        $(#[doc = $doc])*
        pub(super) struct $name;

        impl Arithmetic for $name {
            type Line = $T;
            type Sum = $T;
            type Value = $T;
            const ROWS: usize = 1;
            const IS_PLAIN: bool = true;
            const KC: usize = 256;
            const CHAINS: Option<Kernels<$T>> = $chains;

            fn collect(sums: &[$T], _: usize, values: &mut [$T]) {
                values.copy_from_slice(&sums[..values.len()]);
            }

            #[inline(always)]
            fn scale($value: $T, $alpha: Coefficient) -> $T {
                $scale
            }

            #[inline(always)]
            fn combine($value: $T, $alpha: Coefficient, $beta: Coefficient, $former: $T) -> $T {
                $combine
            }

            fn depth(count: usize) -> usize {
                count
            }

            #[inline(always)]
            fn pack<const LEFT: bool>(source: Lines<'_, $T>, panel: Panel<'_, $T>) {
                pack_plain(source, panel);
            }
        }
    )*};
}
plain! {
    /// float32 and what is decoded to it.
    Single, f32, Some(gemv::SINGLE), |value, alpha| alpha.number.re as f32 * value,
        |beta, former| alpha.number.re as f32 * value + beta.number.re as f32 * former;
    /// float64.
    Double, f64, Some(gemv::DOUBLE), |value, alpha| alpha.number.re * value,
        |beta, former| alpha.number.re * value + beta.number.re * former;
    /// 64-bit integers.
    Whole64, i64, None, |value, alpha| alpha.whole.wrapping_mul(value),
        |beta, former| (alpha.whole.wrapping_mul(value)).wrapping_add(beta.whole.wrapping_mul(former));
}

macro_rules! complex {
    ($($(#[doc = $doc:literal])* $name:ident, $C:ty, $T:ty, $chains:expr;)*) => {$(
        $(#[doc = $doc])*
        pub(super) struct $name;

        impl Arithmetic for $name {
            type Line = $C;
            type Sum = $T;
            type Value = $C;
            const ROWS: usize = 2;
            const KC: usize = 128;
            const CHAINS: Option<Kernels<$T>> = Some($chains);

            fn collect(sums: &[$T], stride: usize, values: &mut [$C]) {
                let parts = sums.iter().zip(&sums[stride..]);
                for (value, (re, im)) in values.iter_mut().zip(parts) {
                    *value = <$C>::new(*re, *im);
                }
            }

            #[inline(always)]
            fn scale(value: $C, alpha: Coefficient) -> $C {
                <$C>::new(alpha.number.re as $T, alpha.number.im as $T) * value
            }

            #[inline(always)]
            fn combine(value: $C, alpha: Coefficient, beta: Coefficient, former: $C) -> $C {
                let number = |x: Coefficient| <$C>::new(x.number.re as $T, x.number.im as $T);
                number(alpha) * value + number(beta) * former
            }

            fn depth(count: usize) -> usize {
                2 * count
            }

            #[inline(always)]
            fn pack<const LEFT: bool>(source: Lines<'_, $C>, panel: Panel<'_, $T>) {
                let Panel { numbers, wide, first, .. } = panel;
                let start = 2 * first * wide;
                let numbers = &mut numbers[start..start + 2 * source.count * wide];
                let put = |to: &mut [$T], line: usize, value: $C| {
                    let (real, imaginary) = to.split_at_mut(wide);
                    if LEFT {
                        real[2 * line..2 * line + 2].copy_from_slice(&[value.re, value.im]);
                        imaginary[2 * line..2 * line + 2].copy_from_slice(&[-value.im, value.re]);
                    } else {
                        real[line] = value.re;
                        imaginary[line] = value.im;
                    }
                };
                if source.along == 1 && source.across != 1 {
                    for line in 0..source.lines {
                        let values = source.line(line).unwrap_or_default();
                        for (to, value) in numbers.chunks_exact_mut(2 * wide).zip(values) {
                            put(to, line, *value);
                        }
                    }
                    return;
                }
                for (index, to) in numbers.chunks_exact_mut(2 * wide).enumerate() {
                    if let Some(values) = source.step(index) {
                        for (line, value) in values.iter().enumerate() {
                            put(to, line, *value);
                        }
                    } else {
                        for line in 0..source.lines {
                            put(to, line, source.at(line, index));
                        }
                    }
                }
            }
        }
    )*};
}
complex! {
    /// complex64.
    ComplexSingle, c64, f32, gemv::SINGLE;
    /// complex128.
    ComplexDouble, c128, f64, gemv::DOUBLE;
}

/// The arithmetic for sums of a dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Single,
    Double,
    ComplexSingle,
    ComplexDouble,
    Whole16,
    Whole32,
    Whole64,
}

impl Kind {
    /// Whether sums are rounded, so that their order matters.
    pub(super) fn rounds(self) -> bool {
        matches!(
            self,
            Self::Single | Self::Double | Self::ComplexSingle | Self::ComplexDouble
        )
    }

    /// How products of elements of `operands`, the dtype in which both matrices meet, are summed in
    /// `sum`.
    pub(super) fn of(operands: DType, sum: DType) -> Self {
        match sum {
            DType::F64 => Self::Double,
            DType::C64 => Self::ComplexSingle,
            DType::C128 => Self::ComplexDouble,
            DType::I64 | DType::U64 => Self::Whole64,
            // Halves of 16 bits are exact, or only their low bits count.
            DType::I8 | DType::U8 | DType::I16 | DType::U16 | DType::Bool => Self::Whole16,
            DType::I32 | DType::U32 if operands.fits_in(DType::I16) => Self::Whole16,
            DType::I32 | DType::U32 => Self::Whole32,
            _ => Self::Single,
        }
    }
}
