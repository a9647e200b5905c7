//! Dot products of one channel's windows with their gradients, all taps of a filter at once.
//!
//! Every tap has [`LANES`] sums, as many at each level, and each row of windows begins with the first of
//! them. A vector of gradients is loaded once for several taps: one tap alone would wait for its own sums.
#![allow(
    unsafe_code,
    reason = "vector instructions over rows that were checked"
)]
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "a kernel is one promise: rows that were checked"
)]
#![allow(
    clippy::needless_range_loop,
    reason = "sums stay in registers where their places are written out"
)]

use allotrope_dtype::Level;

use super::vector::{self, Lanes, Plain};

/// The sums of a dot product.
pub(super) const LANES: usize = 16;

/// Rows of windows of one channel.
pub(super) struct TapDots<'a, T> {
    /// Where each tap of the first window is in the plane, and from one row of windows to the next.
    pub(super) taps: &'a [usize],
    pub(super) plane: &'a [T],
    pub(super) pitch: usize,
    /// The gradients of the windows, `width` of each row.
    pub(super) gradients: &'a [T],
    pub(super) width: usize,
}

/// Numbers that windows are made of.
pub(super) trait Dotted: Sized {
    /// Adds the products of all windows to the sums of each tap.
    fn add(level: Level, dots: &TapDots<'_, Self>, sums: &mut [[Self; LANES]]);
}

/// [`Dotted::add`] for `N` taps at a time, whose sums are `M` vectors each.
///
/// # Safety
/// The vector's instructions must be there.
#[inline(always)]
unsafe fn add<V: Lanes, const N: usize, const M: usize>(
    dots: &TapDots<'_, V::Item>,
    sums: &mut [[V::Item; LANES]],
) {
    let TapDots {
        taps,
        plane,
        pitch,
        gradients,
        width,
    } = *dots;
    assert!(M * V::LANES == LANES && width > 0);
    let rows = gradients.len() / width;
    let farthest = taps.iter().copied().max().unwrap_or(0);
    let end = rows
        .saturating_sub(1)
        .saturating_mul(pitch)
        .saturating_add(width);
    assert!(rows == 0 || plane.len() >= end.saturating_add(farthest));
    for (taps, sums) in taps.chunks(N).zip(sums.chunks_mut(N)) {
        // What is missing of a group repeats its first tap, for nobody.
        let places: [usize; N] =
            std::array::from_fn(|tap| taps.get(tap).copied().unwrap_or(taps[0]));
        // SAFETY: rows of the plane reach as far as asserted from every tap on, those of the gradients are
        // whole, and what is beyond them is not loaded.
        unsafe {
            let mut all = [[V::zero(); M]; N];
            for row in 0..rows {
                let from = gradients.as_ptr().add(row * width);
                let seen = plane.as_ptr().add(row * pitch);
                let mut column = 0;
                while column + LANES <= width {
                    for m in 0..M {
                        let place = column + m * V::LANES;
                        let gradient = V::load(from.add(place));
                        for tap in 0..N {
                            let x = V::load(seen.add(places[tap] + place));
                            all[tap][m] = all[tap][m].fused(x, gradient);
                        }
                    }
                    column += LANES;
                }
                while column < width {
                    let m = column % LANES / V::LANES;
                    let count = V::LANES.min(width - column);
                    let gradient = V::load_some(from.add(column), count);
                    for tap in 0..N {
                        let x = V::load_some(seen.add(places[tap] + column), count);
                        for (number, sum) in all[tap].iter_mut().enumerate() {
                            if number == m {
                                *sum = sum.fused(x, gradient);
                            }
                        }
                    }
                    column += V::LANES;
                }
            }
            for (sums, all) in sums.iter_mut().zip(all) {
                for (m, sum) in all.into_iter().enumerate() {
                    let to = sums.as_mut_ptr().add(m * V::LANES);
                    V::load(to).add(sum).store(to);
                }
            }
        }
    }
}

macro_rules! dotted {
    ($($T:ty, ($plain:literal, $n:literal x $m:literal), ($avx2:ident, $n2:literal x $m2:literal),
       ($avx512:ident, $n512:literal x $m512:literal);)*) => {$(
        impl Dotted for $T {
            fn add(level: Level, dots: &TapDots<'_, Self>, sums: &mut [[Self; LANES]]) {
                // SAFETY: the level was detected.
                unsafe {
                    match level {
                        #[cfg(target_arch = "x86_64")]
                        Level::Avx2(_) => x86::avx2::<vector::$avx2, $n2, $m2>(dots, sums),
                        #[cfg(target_arch = "x86_64")]
                        Level::Avx512(_) => x86::avx512::<vector::$avx512, $n512, $m512>(dots, sums),
                        _ => add::<Plain<$T, $plain>, $n, $m>(dots, sums),
                    }
                }
            }
        }
    )*};
}
dotted! {
    f32, (4, 3 x 4), (F32x8, 5 x 2), (F32x16, 9 x 1);
    f64, (2, 1 x 8), (F64x4, 3 x 4), (F64x8, 9 x 2);
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{LANES, Lanes, TapDots, add};

    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn avx2<V: Lanes, const N: usize, const M: usize>(
        dots: &TapDots<'_, V::Item>,
        sums: &mut [[V::Item; LANES]],
    ) {
        // SAFETY: the caller's promise.
        unsafe { add::<V, N, M>(dots, sums) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    pub(super) unsafe fn avx512<V: Lanes, const N: usize, const M: usize>(
        dots: &TapDots<'_, V::Item>,
        sums: &mut [[V::Item; LANES]],
    ) {
        // SAFETY: the caller's promise.
        unsafe { add::<V, N, M>(dots, sums) }
    }
}
