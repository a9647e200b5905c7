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

use super::panel_walk::{Even, Listed, PanelWalk, Places};
use super::vector::{self, Plain, Vector};
use crate::simd;

/// The numbers that tiles are made of.
pub(crate) trait Micro: Element + Default {
    /// The sum, which wraps for integers.
    fn plus(self, other: Self) -> Self;

    /// `self + x * y`, of floats rounded once if it is `FUSED`.
    fn plus_product<const FUSED: bool>(self, x: Self, y: Self) -> Self;

    /// Rows and columns of a tile.
    fn shape(level: Level) -> (usize, usize);

    /// Adds the product of two panels to a tile of the result, or writes it.
    ///
    /// # Safety
    /// `c` must be writable for `rows` rows of `columns` elements, `c_stride` elements apart, and
    /// nothing else may access them. The CPU must have the level.
    unsafe fn run(level: Level, tile: Tile<'_, Self>);
}

/// Numbers whose tiles may find their columns anywhere.
pub(super) trait Sliding: Micro {
    /// [`Micro::run`] with columns of each step at a place of its own, its second half so far from the first.
    ///
    /// # Safety
    /// As [`Micro::run`].
    unsafe fn slide(level: Level, tile: Tile<'_, Self>, places: &Places, apart: usize);

    /// The same of one row of [`LONG`] times as many columns, one after the other.
    ///
    /// # Safety
    /// As [`Micro::run`].
    unsafe fn slide_row(level: Level, tile: Tile<'_, Self>, places: &Places);
}

/// Tiles that a long row is as wide as: one sum waits for the one before it, and four hide that.
pub(super) const LONG: usize = 4;

/// What a kernel works on.
#[derive(Clone, Copy)]
pub(crate) struct Tile<'a, T> {
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
/// of `a`, and as many columns as a tile has from one panel of `b`. Panels of `a` may have more steps
/// than are taken.
pub(super) fn multiply_panels<T: Micro>(
    level: Level,
    [steps, packed]: [usize; 2],
    a: &[T],
    b: &[T],
    c: &mut [T],
    rows: usize,
    accumulate: bool,
) {
    let (tile_rows, columns) = T::shape(level);
    assert!(c.len() >= rows.saturating_mul(columns));
    for row in (0..rows).step_by(tile_rows) {
        let tile = Tile {
            steps,
            a: &a[row * packed..],
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

/// Adds the product of rows of `a`, which begin `a_row` elements apart, and one panel of `b` to rows of
/// `columns` elements of `c`, no more than a tile has.
#[inline(never)]
pub(crate) fn add_rows<T: Micro>(
    level: Level,
    (a, a_row): (&[T], usize),
    (b, steps): (&[T], usize),
    (c, c_stride): (&mut [T], usize),
    [rows, columns]: [usize; 2],
) {
    let (tile_rows, tile_columns) = T::shape(level);
    let last = rows.saturating_sub(1).saturating_mul(c_stride);
    assert!(rows == 0 || c.len() >= last.saturating_add(columns));
    assert!(columns <= tile_columns && (rows == 1 || columns <= c_stride));
    let mut row = 0;
    while row < rows {
        // A kernel reads as many rows as it is made for.
        let rest = tile_rows.min(rows - row);
        let count = [tile_rows, 8, 4, 2]
            .into_iter()
            .find(|count| *count <= rest);
        let count = count.unwrap_or(1);
        let tile = Tile {
            steps,
            a: &a[row * a_row..],
            a_row,
            a_step: 1,
            b,
            b_step: tile_columns,
            c: c[row * c_stride..].as_mut_ptr(),
            c_stride,
            rows: count,
            columns,
            accumulate: true,
            shifted: 0,
        };
        // SAFETY: the matrix is borrowed exclusively and holds the tile; the level was detected.
        unsafe { T::run(level, tile) };
        row += count;
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

/// The widest tile that may have fewer columns.
const WIDEST: usize = 32;

/// One tile with `R` rows of `W` vectors in registers.
///
/// # Safety
/// As [`Micro::run`]; the vector's instructions must be there.
#[inline(always)]
unsafe fn kernel<V: Vector, C: PanelWalk, const R: usize, const W: usize>(
    tile: Tile<'_, V::Item>,
    course: C,
) {
    let wide = W * V::LANES;
    let steps = tile.steps;
    // Strides are anyone's: what leaves the numbers is beyond every memory.
    let times = usize::saturating_mul;
    let last = times(steps.saturating_sub(1), tile.a_step);
    let last = last.saturating_add(times(R - 1, tile.a_row));
    assert!(steps == 0 || tile.a.len() > last);
    assert!(!V::SHIFTS || tile.a_row == 1);
    let end = times(W - 1, course.apart(V::LANES)).saturating_add(V::LANES);
    assert!(steps == 0 || tile.b.len() >= course.farthest(steps).saturating_add(end));
    assert!(wide <= WIDEST || tile.columns == wide);
    // SAFETY: the numbers of all steps are there, which was asserted; the tile is the caller's
    // promise.
    unsafe {
        let mut sums = [[V::zero(); W]; R];
        let shifted = if V::SHIFTS {
            tile.shifted.min(steps)
        } else {
            0
        };
        if V::SHIFTS && shifted > 0 {
            sums = add_steps(&tile, course, sums, 0, shifted);
            for sum in sums.as_flattened_mut() {
                *sum = sum.shifted();
            }
        }
        sums = add_steps(&tile, course, sums, shifted, steps - shifted);
        let put = |sums: [V; W], c: *mut V::Item| {
            for (w, sum) in sums.into_iter().enumerate() {
                let place = c.add(w * V::LANES);
                let sum = if tile.accumulate {
                    V::load(place).add(sum)
                } else {
                    sum
                };
                sum.store(place);
            }
        };
        if tile.columns == wide && tile.rows == R {
            each_row!(R, |r| {
                put(sums[r], tile.c.wrapping_add(r * tile.c_stride));
            });
            return;
        }
        for (r, row) in sums.iter().enumerate().take(tile.rows) {
            let c = tile.c.add(r * tile.c_stride);
            if tile.columns == wide {
                put(*row, c);
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

/// The sums of a tile with the products of some steps.
///
/// # Safety
/// As [`kernel`]; the tile must have so many steps from `first` on.
#[inline(always)]
unsafe fn add_steps<V: Vector, C: PanelWalk, const R: usize, const W: usize>(
    tile: &Tile<'_, V::Item>,
    course: C,
    mut sums: [[V; W]; R],
    first: usize,
    steps: usize,
) -> [[V; W]; R] {
    /// Steps between requests for rows of the result.
    const STEPS: usize = 16;
    // Integers are packed always, with addresses that are known.
    let a_row = if V::SHIFTS { 1 } else { tile.a_row };
    let a_step = tile.a_step;
    let mut a = tile.a.as_ptr().wrapping_add(first * a_step);
    // Rows of the result lie in different pages, and are needed only at the end: memory is asked for
    // some at a time, since requests for all of them at once keep the panels waiting.
    let mut c = tile.c.cast::<u8>().cast_const();
    let at_once = (2 * R * STEPS).div_ceil(steps.max(1));
    let (mut asked, mut step, last) = (0, first, first + steps);
    // SAFETY: the caller promises so many steps.
    unsafe {
        while step < last {
            let until = R.min(asked + at_once);
            while asked < until {
                simd::prefetch_line(c);
                simd::prefetch_line(c.wrapping_add(W * V::LANES * size_of::<V::Item>() - 1));
                c = c.wrapping_add(tile.c_stride * size_of::<V::Item>());
                asked += 1;
            }
            let end = if asked < R {
                last.min(step + STEPS)
            } else {
                last
            };
            while step < end {
                let b = tile.b.as_ptr().add(course.place(step));
                let mut columns = [V::zero(); W];
                for (w, column) in columns.iter_mut().enumerate() {
                    *column = V::load(b.add(w * course.apart(V::LANES)));
                }
                each_row!(R, |r| {
                    let value = V::splat(*a.add(r * a_row));
                    for (sum, column) in sums[r].iter_mut().zip(columns) {
                        *sum = sum.fused(value, column);
                    }
                });
                a = a.wrapping_add(a_step);
                step += 1;
            }
        }
    }
    sums
}

/// The kernel with just enough rows.
///
/// # Safety
/// As [`kernel`].
#[inline(always)]
unsafe fn choose<V: Vector, C: PanelWalk, const W: usize, const MR: usize>(
    tile: Tile<'_, V::Item>,
    course: C,
) {
    // SAFETY: the caller's promise.
    unsafe {
        match tile.rows {
            1 => kernel::<V, C, 1, W>(tile, course),
            2 => kernel::<V, C, 2, W>(tile, course),
            3 | 4 => kernel::<V, C, 4, W>(tile, course),
            5..=8 if MR > 8 => kernel::<V, C, 8, W>(tile, course),
            _ => kernel::<V, C, MR, W>(tile, course),
        }
    }
}

/// One long row.
///
/// # Safety
/// As [`kernel`].
#[inline(always)]
unsafe fn row<V: Vector>(tile: Tile<'_, V::Item>, places: &Places) {
    // SAFETY: the caller's promise.
    unsafe { kernel::<V, _, 1, { 2 * LONG }>(tile, Listed(places, V::LANES)) }
}

macro_rules! micro {
    ($($T:ty, ($rows:literal x $columns:literal, $plain:literal), ($rows2:literal x $columns2:literal, $avx2:ident),
       ($rows512:literal x $columns512:literal, $avx512:ident), |$x:ident, $y:ident| $plus:expr, $times:expr, $fused:expr;)*) => {$(
        impl Micro for $T {
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                let ($x, $y) = (self, other);
                $plus
            }

            #[inline(always)]
            fn plus_product<const FUSED: bool>(self, $x: Self, $y: Self) -> Self {
                if FUSED { $fused(self) } else { self.plus($times) }
            }

            fn shape(level: Level) -> (usize, usize) {
                match level {
                    Level::Scalar => ($rows, $columns),
                    Level::Avx2(_) => ($rows2, $columns2),
                    Level::Avx512(_) => ($rows512, $columns512),
                }
            }

            #[inline(never)]
            unsafe fn run(level: Level, tile: Tile<'_, Self>) {
                let course = Even(tile.b_step);
                // SAFETY: the caller promises the tile and the level.
                unsafe {
                    match level {
                        #[cfg(target_arch = "x86_64")]
                        Level::Avx2(_) => x86::avx2::<vector::$avx2, _, 2, $rows2>(tile, course),
                        #[cfg(target_arch = "x86_64")]
                        Level::Avx512(_) if <$T>::DTYPE == DType::I32 && x86::has_pairs() => {
                            x86::avx512_pairs(tile.cast());
                        }
                        #[cfg(target_arch = "x86_64")]
                        Level::Avx512(_) => x86::avx512::<vector::$avx512, _, 2, $rows512>(tile, course),
                        _ => choose::<Plain<$T, $plain>, _, 2, $rows>(tile, course),
                    }
                }
            }
        }
    )*};
}
micro! {
    f32, (4 x 8, 4), (6 x 16, F32x8), (12 x 32, F32x16), |x, y| x + y, x * y, |sum| x.mul_add(y, sum);
    f64, (4 x 4, 2), (6 x 8, F64x4), (12 x 16, F64x8), |x, y| x + y, x * y, |sum| x.mul_add(y, sum);
    i32, (4 x 8, 4), (6 x 16, I32x8), (12 x 32, I32x16),
        |x, y| x.wrapping_add(y), x.wrapping_mul(y), |sum: i32| sum.plus(x.wrapping_mul(y));
    i64, (4 x 4, 2), (6 x 8, I64x4), (12 x 16, I64x8),
        |x, y| x.wrapping_add(y), x.wrapping_mul(y), |sum: i64| sum.plus(x.wrapping_mul(y));
}

macro_rules! sliding {
    ($($T:ty, ($rows:literal, $plain:literal), ($rows2:literal, $avx2:ident), ($rows512:literal, $avx512:ident);)*) => {$(
        impl Sliding for $T {
            unsafe fn slide(level: Level, tile: Tile<'_, Self>, places: &Places, apart: usize) {
                let course = Listed(places, apart);
                // SAFETY: the caller promises the tile and the level.
                unsafe {
                    match level {
                        #[cfg(target_arch = "x86_64")]
                        Level::Avx2(_) => x86::avx2::<vector::$avx2, _, 2, $rows2>(tile, course),
                        #[cfg(target_arch = "x86_64")]
                        Level::Avx512(_) => x86::avx512::<vector::$avx512, _, 2, $rows512>(tile, course),
                        _ => choose::<Plain<$T, $plain>, _, 2, $rows>(tile, course),
                    }
                }
            }

            unsafe fn slide_row(level: Level, tile: Tile<'_, Self>, places: &Places) {
                // SAFETY: the caller promises the tile and the level.
                unsafe {
                    match level {
                        #[cfg(target_arch = "x86_64")]
                        Level::Avx2(_) => x86::avx2_row::<vector::$avx2>(tile, places),
                        #[cfg(target_arch = "x86_64")]
                        Level::Avx512(_) => x86::avx512_row::<vector::$avx512>(tile, places),
                        _ => row::<Plain<$T, $plain>>(tile, places),
                    }
                }
            }
        }
    )*};
}
sliding! {
    f32, (4, 4), (6, F32x8), (12, F32x16);
    f64, (4, 2), (6, F64x4), (12, F64x8);
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
pub(super) mod x86 {
    use std::sync::OnceLock;

    use super::{Tile, choose, row};
    use crate::gemm::panel_walk::{Even, PanelWalk, Places};
    use crate::gemm::vector::{BrainPairsX16, I32Pairs, Vector};

    /// Whether the CPU adds pairs of products in one instruction.
    pub(super) fn has_pairs() -> bool {
        static HAS: OnceLock<bool> = OnceLock::new();
        *HAS.get_or_init(|| is_x86_feature_detected!("avx512vnni"))
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn avx2<V: Vector, C: PanelWalk, const W: usize, const MR: usize>(
        tile: Tile<'_, V::Item>,
        course: C,
    ) {
        // SAFETY: the caller's promise.
        unsafe { choose::<V, C, W, MR>(tile, course) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    pub(super) unsafe fn avx512<V: Vector, C: PanelWalk, const W: usize, const MR: usize>(
        tile: Tile<'_, V::Item>,
        course: C,
    ) {
        // SAFETY: the caller's promise.
        unsafe { choose::<V, C, W, MR>(tile, course) }
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn avx2_row<V: Vector>(tile: Tile<'_, V::Item>, places: &Places) {
        // SAFETY: the caller's promise.
        unsafe { row::<V>(tile, places) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
    pub(super) unsafe fn avx512_row<V: Vector>(tile: Tile<'_, V::Item>, places: &Places) {
        // SAFETY: the caller's promise.
        unsafe { row::<V>(tile, places) }
    }

    /// Tiles of float32 whose panels are pairs of bfloat16.
    ///
    /// # Safety
    /// As [`Micro::run`](super::Micro::run); the processor must have AVX512-BF16.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma")]
    pub(in crate::gemm) unsafe fn avx512_brain(tile: Tile<'_, f32>) {
        // SAFETY: the caller's promise.
        unsafe { choose::<BrainPairsX16, _, 2, 12>(tile, Even(tile.b_step)) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma")]
    pub(super) unsafe fn avx512_pairs(tile: Tile<'_, i32>) {
        // SAFETY: the caller's promise.
        unsafe { choose::<I32Pairs, _, 2, 12>(tile, Even(tile.b_step)) }
    }
}
