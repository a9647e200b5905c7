//! The innermost loops of matrix products: a tile of the result in registers, fed by packed panels.
//!
//! A kernel is written once over a vector type. What differs between numbers is the vector, and its
//! `fused`: a multiply-add of floats or of 64-bit integers, or the sum of two products of 16-bit
//! integers in each 32-bit lane.
#![allow(
    unsafe_code,
    reason = "vector instructions, and stores to a tile of a shared matrix"
)]
#![allow(
    clippy::multiple_unsafe_ops_per_block,
    reason = "a kernel is one promise: panels that were checked, a tile that is the caller's"
)]

use allotrope_dtype::{DType, Element, Level};

use crate::simd;

/// The numbers that tiles are made of.
pub(super) trait Micro: Element + Default {
    /// The sum, which wraps for integers.
    fn plus(self, other: Self) -> Self;

    /// Rows and columns of a tile.
    fn shape(level: Level) -> (usize, usize);

    /// Adds the product of two panels to a tile of the result, or writes it.
    ///
    /// # Safety
    /// `c` must be writable for `rows` rows of `columns` elements, `c_stride` elements apart, and
    /// nothing else may access them. The CPU must have the level.
    unsafe fn run(level: Level, tile: Tile<'_, Self>);
}

/// What a kernel works on.
#[derive(Clone, Copy)]
pub(super) struct Tile<'a, T> {
    /// How many steps the panels have.
    pub(super) steps: usize,
    /// The rows: the number of row `r` at step `s` is number `r * a_row + s * a_step`.
    pub(super) a: &'a [T],
    /// From one row of `a` to the next; in a panel 1.
    pub(super) a_row: usize,
    /// From one step of `a` to the next; in a panel as many as a tile has rows.
    pub(super) a_step: usize,
    /// The columns: for each step as many numbers as a tile has columns.
    pub(super) b: &'a [T],
    /// From one step of `b` to the next.
    pub(super) b_step: usize,
    /// The first element of the tile.
    pub(super) c: *mut T,
    /// From one row of it to the next.
    pub(super) c_stride: usize,
    /// How many rows are wanted.
    pub(super) rows: usize,
    /// How many columns are wanted.
    pub(super) columns: usize,
    /// Whether to add to what is there.
    pub(super) accumulate: bool,
    /// The first steps whose sums of 32-bit integers count 2^16 fold.
    pub(super) shifted: usize,
}

/// Adds the product of packed panels to a row-major matrix, or writes it: `rows` rows from panels
/// of `a`, and as many columns as a tile has from one panel of `b`.
pub(super) fn multiply_panels<T: Micro>(
    level: Level,
    steps: usize,
    a: &[T],
    b: &[T],
    c: &mut [T],
    rows: usize,
    accumulate: bool,
) {
    let level = level.min(Level::detected());
    let (tile_rows, columns) = T::shape(level);
    assert!(c.len() >= rows * columns);
    for row in (0..rows).step_by(tile_rows) {
        let tile = Tile {
            steps,
            a: &a[row * steps..],
            a_row: 1,
            a_step: tile_rows,
            b,
            b_step: columns,
            c: c[row * columns..].as_mut_ptr(),
            c_stride: columns,
            rows: tile_rows.min(rows - row),
            columns,
            accumulate,
            shifted: 0,
        };
        // SAFETY: the matrix is borrowed exclusively and holds the tile; the level was detected.
        unsafe { T::run(level, tile) };
    }
}

/// Several numbers of one type.
///
/// # Safety
/// Every method needs the instructions that the vector is made of.
trait Vector: Copy {
    /// One number.
    type Item: Micro;
    /// How many.
    const LANES: usize;
    unsafe fn zero() -> Self;
    unsafe fn splat(value: Self::Item) -> Self;
    unsafe fn load(from: *const Self::Item) -> Self;
    unsafe fn store(self, to: *mut Self::Item);
    unsafe fn add(self, other: Self) -> Self;
    /// `self + a * b`
    unsafe fn fused(self, a: Self, b: Self) -> Self;
    /// Whether [`shifted`](Self::shifted) does anything.
    const SHIFTS: bool = Self::Item::DTYPE as u8 == DType::I32 as u8;
    /// Times 2^16, for 32-bit integers.
    unsafe fn shifted(self) -> Self {
        self
    }
}

/// The widest tile of any kernel, in columns.
const WIDEST: usize = 32;

/// One tile with `R` rows of `W` vectors in registers.
///
/// # Safety
/// As [`Micro::run`]; the vector's instructions must be there.
#[inline(always)]
unsafe fn kernel<V: Vector, const R: usize, const W: usize>(tile: Tile<'_, V::Item>) {
    let wide = W * V::LANES;
    let steps = tile.steps;
    assert!(steps == 0 || tile.a.len() > (steps - 1) * tile.a_step + (R - 1) * tile.a_row);
    assert!(!V::SHIFTS || tile.a_row == 1);
    assert!(steps == 0 || tile.b.len() >= (steps - 1) * tile.b_step + wide);
    // SAFETY: the numbers of all steps are there, which was asserted; the tile is the caller's
    // promise.
    unsafe {
        let mut sums = [[V::zero(); W]; R];
        // Rows of the result lie in different pages; they are needed only at the end.
        for r in 0..R {
            let row = tile.c.wrapping_add(r * tile.c_stride).cast::<u8>();
            simd::prefetch_line(row);
            simd::prefetch_line(row.wrapping_add(W * V::LANES * size_of::<V::Item>() - 1));
        }
        let shifted = if V::SHIFTS {
            tile.shifted.min(steps)
        } else {
            0
        };
        if V::SHIFTS && shifted > 0 {
            sums = add_steps(&tile, sums, 0, shifted);
            for sum in sums.as_flattened_mut() {
                *sum = sum.shifted();
            }
        }
        sums = add_steps(&tile, sums, shifted, steps - shifted);
        for (r, row) in sums.iter().enumerate().take(tile.rows) {
            let c = tile.c.add(r * tile.c_stride);
            if tile.columns == wide {
                for (w, sum) in row.iter().enumerate() {
                    let place = c.add(w * V::LANES);
                    let sum = if tile.accumulate {
                        V::load(place).add(*sum)
                    } else {
                        *sum
                    };
                    sum.store(place);
                }
            } else {
                let mut whole = [V::Item::default(); WIDEST];
                for (w, sum) in row.iter().enumerate() {
                    sum.store(whole.as_mut_ptr().add(w * V::LANES));
                }
                for (j, sum) in whole.iter().enumerate().take(tile.columns) {
                    let place = c.add(j);
                    *place = if tile.accumulate {
                        place.read().plus(*sum)
                    } else {
                        *sum
                    };
                }
            }
        }
    }
}

/// A statement for every row of a tile, written out: a loop that the compiler does not unroll keeps
/// sums in memory.
macro_rules! each_row {
    ($R:ident, |$r:ident| $body:block) => {
        each_row!($R, $r, $body, 0 1 2 3 4 5 6 7 8 9 10 11)
    };
    ($R:ident, $r:ident, $body:block, $($number:literal)*) => {$(
        if $number < $R {
            let $r = $number;
            $body
        }
    )*};
}

/// The sums of a tile with the products of some steps.
///
/// # Safety
/// As [`kernel`]; the tile must have so many steps from `first` on.
#[inline(always)]
unsafe fn add_steps<V: Vector, const R: usize, const W: usize>(
    tile: &Tile<'_, V::Item>,
    mut sums: [[V; W]; R],
    first: usize,
    steps: usize,
) -> [[V; W]; R] {
    // Integers are packed always, with addresses that are known.
    let a_row = if V::SHIFTS { 1 } else { tile.a_row };
    let (a_step, b_step) = (tile.a_step, tile.b_step);
    let mut a = tile.a.as_ptr().wrapping_add(first * a_step);
    let mut b = tile.b.as_ptr().wrapping_add(first * b_step);
    // SAFETY: the caller promises so many steps.
    unsafe {
        for _ in 0..steps {
            let mut columns = [V::zero(); W];
            for (w, column) in columns.iter_mut().enumerate() {
                *column = V::load(b.add(w * V::LANES));
            }
            each_row!(R, |r| {
                let value = V::splat(*a.add(r * a_row));
                for (sum, column) in sums[r].iter_mut().zip(columns) {
                    *sum = sum.fused(value, column);
                }
            });
            a = a.wrapping_add(a_step);
            b = b.wrapping_add(b_step);
        }
    }
    sums
}

/// The kernel with just enough rows.
///
/// # Safety
/// As [`kernel`].
#[inline(always)]
unsafe fn choose<V: Vector, const W: usize, const MR: usize>(tile: Tile<'_, V::Item>) {
    // SAFETY: the caller's promise.
    unsafe {
        match tile.rows {
            1 => kernel::<V, 1, W>(tile),
            2 => kernel::<V, 2, W>(tile),
            3 | 4 => kernel::<V, 4, W>(tile),
            5..=8 if MR > 8 => kernel::<V, 8, W>(tile),
            _ => kernel::<V, MR, W>(tile),
        }
    }
}

/// A vector without any instructions of its own, for the baseline of the architecture.
#[derive(Clone, Copy)]
struct Plain<T, const N: usize>([T; N]);

macro_rules! plain {
    ($($T:ty, $N:literal, |$sum:ident, $a:ident, $b:ident| $fused:expr, |$x:ident| $shifted:expr;)*) => {$(
        impl Vector for Plain<$T, $N> {
            type Item = $T;
            const LANES: usize = $N;
            #[inline(always)]
            unsafe fn zero() -> Self {
                Self([<$T>::default(); $N])
            }
            #[inline(always)]
            unsafe fn splat(value: $T) -> Self {
                Self([value; $N])
            }
            #[inline(always)]
            unsafe fn load(from: *const $T) -> Self {
                // SAFETY: the caller promises as many readable numbers.
                Self(unsafe { from.cast::<[$T; $N]>().read_unaligned() })
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $T) {
                // SAFETY: the caller promises as many writable numbers.
                unsafe { to.cast::<[$T; $N]>().write_unaligned(self.0) }
            }
            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                let mut sums = self.0;
                for (sum, x) in sums.iter_mut().zip(other.0) {
                    *sum = sum.plus(x);
                }
                Self(sums)
            }
            #[inline(always)]
            unsafe fn fused(self, a: Self, b: Self) -> Self {
                let mut sums = self.0;
                for ((place, $a), $b) in sums.iter_mut().zip(a.0).zip(b.0) {
                    let $sum = *place;
                    *place = $fused;
                }
                Self(sums)
            }
            #[inline(always)]
            unsafe fn shifted(self) -> Self {
                Self(self.0.map(|$x| $shifted))
            }
        }
    )*};
}
plain! {
    f32, 4, |sum, a, b| sum + a * b, |x| x;
    f64, 2, |sum, a, b| sum + a * b, |x| x;
    i32, 4, |sum, a, b| add_products(sum, a, b), |x| x << 16;
    i64, 2, |sum, a, b| sum.wrapping_add(a.wrapping_mul(b)), |x| x;
}

/// Both products of 16-bit halves and a sum.
#[inline(always)]
fn add_products(sum: i32, a: i32, b: i32) -> i32 {
    let low = i32::from(a as i16).wrapping_mul(i32::from(b as i16));
    sum.wrapping_add(low)
        .wrapping_add((a >> 16).wrapping_mul(b >> 16))
}

macro_rules! micro {
    ($($T:ty, ($rows:literal x $columns:literal, $plain:literal), ($rows2:literal x $columns2:literal, $avx2:ident),
       ($rows512:literal x $columns512:literal, $avx512:ident), |$x:ident, $y:ident| $plus:expr;)*) => {$(
        impl Micro for $T {
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                let ($x, $y) = (self, other);
                $plus
            }

            fn shape(level: Level) -> (usize, usize) {
                match level {
                    Level::Scalar => ($rows, $columns),
                    Level::Avx2 => ($rows2, $columns2),
                    Level::Avx512 => ($rows512, $columns512),
                }
            }

            unsafe fn run(level: Level, tile: Tile<'_, Self>) {
                debug_assert!(level <= Level::detected());
                // SAFETY: the caller promises the tile and the level.
                unsafe {
                    match level {
                        #[cfg(target_arch = "x86_64")]
                        Level::Avx2 => x86::avx2::<x86::$avx2, 2, $rows2>(tile),
                        #[cfg(target_arch = "x86_64")]
                        Level::Avx512 if <$T>::DTYPE == DType::I32 && x86::has_pairs() => {
                            x86::avx512_pairs(tile.cast());
                        }
                        #[cfg(target_arch = "x86_64")]
                        Level::Avx512 => x86::avx512::<x86::$avx512, 2, $rows512>(tile),
                        _ => choose::<Plain<$T, $plain>, 2, $rows>(tile),
                    }
                }
            }
        }
    )*};
}
micro! {
    f32, (4 x 8, 4), (6 x 16, F32x8), (12 x 32, F32x16), |x, y| x + y;
    f64, (4 x 4, 2), (6 x 8, F64x4), (12 x 16, F64x8), |x, y| x + y;
    i32, (4 x 8, 4), (6 x 16, I32x8), (12 x 32, I32x16), |x, y| x.wrapping_add(y);
    i64, (4 x 4, 2), (6 x 8, I64x4), (12 x 16, I64x8), |x, y| x.wrapping_add(y);
}

impl<'a, T: Micro> Tile<'a, T> {
    /// The same tile of the type that `T` is known to be.
    fn cast<U: Micro>(self) -> Tile<'a, U> {
        Tile {
            steps: self.steps,
            a: bytemuck::cast_slice(self.a),
            a_row: self.a_row,
            a_step: self.a_step,
            b: bytemuck::cast_slice(self.b),
            b_step: self.b_step,
            c: self.c.cast(),
            c_stride: self.c_stride,
            rows: self.rows,
            columns: self.columns,
            accumulate: self.accumulate,
            shifted: self.shifted,
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;
    use std::sync::OnceLock;

    use super::{Tile, Vector, choose};

    /// Whether the CPU adds pairs of products in one instruction.
    pub(super) fn has_pairs() -> bool {
        static HAS: OnceLock<bool> = OnceLock::new();
        *HAS.get_or_init(|| is_x86_feature_detected!("avx512vnni"))
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn avx2<V: Vector, const W: usize, const MR: usize>(tile: Tile<'_, V::Item>) {
        // SAFETY: the caller's promise.
        unsafe { choose::<V, W, MR>(tile) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    pub(super) unsafe fn avx512<V: Vector, const W: usize, const MR: usize>(
        tile: Tile<'_, V::Item>,
    ) {
        // SAFETY: the caller's promise.
        unsafe { choose::<V, W, MR>(tile) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma")]
    pub(super) unsafe fn avx512_pairs(tile: Tile<'_, i32>) {
        // SAFETY: the caller's promise.
        unsafe { choose::<I32Pairs, 2, 12>(tile) }
    }

    macro_rules! vectors {
        ($($(#[doc = $doc:literal])* $name:ident($raw:ty), $T:ty, $lanes:literal, $zero:ident, $splat:ident, $load:ident,
           $store:ident, $add:ident, |$sum:ident, $a:ident, $b:ident| $fused:expr, |$x:ident| $shifted:expr;)*) => {$(
            $(#[doc = $doc])*
            #[derive(Clone, Copy)]
            pub(super) struct $name($raw);

            impl Vector for $name {
                type Item = $T;
                const LANES: usize = $lanes;
                #[inline(always)]
                unsafe fn zero() -> Self {
                    // SAFETY: the caller has the instructions.
                    Self(unsafe { $zero() })
                }
                #[inline(always)]
                unsafe fn splat(value: $T) -> Self {
                    // SAFETY: the caller has the instructions.
                    Self(unsafe { $splat(value) })
                }
                #[inline(always)]
                unsafe fn load(from: *const $T) -> Self {
                    // SAFETY: the caller has the instructions and promises readable memory.
                    Self(unsafe { $load(from.cast()) })
                }
                #[inline(always)]
                unsafe fn store(self, to: *mut $T) {
                    // SAFETY: the caller has the instructions and promises writable memory.
                    unsafe { $store(to.cast(), self.0) }
                }
                #[inline(always)]
                unsafe fn add(self, other: Self) -> Self {
                    // SAFETY: the caller has the instructions.
                    Self(unsafe { $add(self.0, other.0) })
                }
                #[inline(always)]
                unsafe fn fused(self, a: Self, b: Self) -> Self {
                    let ($sum, $a, $b) = (self.0, a.0, b.0);
                    // SAFETY: the caller has the instructions.
                    Self(unsafe { $fused })
                }
                #[inline(always)]
                unsafe fn shifted(self) -> Self {
                    let $x = self.0;
                    // SAFETY: the caller has the instructions.
                    #[allow(unused_unsafe, reason = "floats stay as they are")]
                    Self(unsafe { $shifted })
                }
            }
        )*};
    }
    vectors! {
        /// Eight float32.
        F32x8(__m256), f32, 8, _mm256_setzero_ps, _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_add_ps,
            |sum, a, b| _mm256_fmadd_ps(a, b, sum), |x| x;
        /// Sixteen float32.
        F32x16(__m512), f32, 16, _mm512_setzero_ps, _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_add_ps,
            |sum, a, b| _mm512_fmadd_ps(a, b, sum), |x| x;
        /// Four float64.
        F64x4(__m256d), f64, 4, _mm256_setzero_pd, _mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_add_pd,
            |sum, a, b| _mm256_fmadd_pd(a, b, sum), |x| x;
        /// Eight float64.
        F64x8(__m512d), f64, 8, _mm512_setzero_pd, _mm512_set1_pd, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_add_pd,
            |sum, a, b| _mm512_fmadd_pd(a, b, sum), |x| x;
        /// Eight int32 as sums of products of int16.
        I32x8(__m256i), i32, 8, _mm256_setzero_si256, _mm256_set1_epi32, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_add_epi32,
            |sum, a, b| _mm256_add_epi32(sum, _mm256_madd_epi16(a, b)), |x| _mm256_slli_epi32::<16>(x);
        /// Sixteen int32 as sums of products of int16.
        I32x16(__m512i), i32, 16, _mm512_setzero_si512, _mm512_set1_epi32, _mm512_loadu_si512, _mm512_storeu_si512, _mm512_add_epi32,
            |sum, a, b| _mm512_add_epi32(sum, _mm512_madd_epi16(a, b)), |x| _mm512_slli_epi32::<16>(x);
        /// The same in one instruction.
        I32Pairs(__m512i), i32, 16, _mm512_setzero_si512, _mm512_set1_epi32, _mm512_loadu_si512, _mm512_storeu_si512, _mm512_add_epi32,
            |sum, a, b| _mm512_dpwssd_epi32(sum, a, b), |x| _mm512_slli_epi32::<16>(x);
        /// Four int64.
        I64x4(__m256i), i64, 4, _mm256_setzero_si256, _mm256_set1_epi64x, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_add_epi64,
            |sum, a, b| _mm256_add_epi64(sum, multiply_low(a, b)), |x| x;
        /// Eight int64.
        I64x8(__m512i), i64, 8, _mm512_setzero_si512, _mm512_set1_epi64, _mm512_loadu_si512, _mm512_storeu_si512, _mm512_add_epi64,
            |sum, a, b| _mm512_add_epi64(sum, _mm512_mullo_epi64(a, b)), |x| x;
    }

    /// The low halves of products of 64-bit integers, of three products of their halves.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn multiply_low(a: __m256i, b: __m256i) -> __m256i {
        let low = _mm256_mul_epu32(a, b);
        let cross = _mm256_mullo_epi32(a, _mm256_shuffle_epi32::<0b10_11_00_01>(b));
        let cross = _mm256_add_epi32(cross, _mm256_srli_epi64::<32>(cross));
        _mm256_add_epi64(low, _mm256_slli_epi64::<32>(cross))
    }
}
