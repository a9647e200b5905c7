//! Euclidean distances of all rows of one matrix from all rows of another: no difference is stored.
//!
//! The rows of the second are packed side by side, so that a vector has one number of each of them, and
//! are read once for a few rows of the first. A few terms at a time are added up in the numbers' own
//! dtype and then in float64; the order depends on the length of the rows alone.

use allotrope_dtype::{DType, Error, Level, Problem};
use bytemuck::Pod;

use crate::Buffer;
use crate::parallel;
use crate::simd::{self, Body};

/// Rows of the second matrix side by side.
const LANES: usize = 32;
/// Rows of the first that read a packed one together.
const ROWS: usize = 4;
/// Terms that are added up before they enter a float64.
const TERMS: usize = 16;
/// Rows of the first that are one piece of work.
const PIECE: usize = 32;

/// A float that distances are computed in.
trait Real: Pod + Send + Sync {
    /// The square of the difference added to a sum.
    fn add_square(self, away: [Self; 2]) -> Self;
    fn wide(self) -> f64;
    fn narrow(wide: f64) -> Self;
}

macro_rules! impl_real {
    ($($float:ty)*) => {$(
        impl Real for $float {
            #[inline(always)]
            fn add_square(self, [x, y]: [Self; 2]) -> Self {
                let away = x - y;
                self + away * away
            }
            #[inline(always)]
            fn wide(self) -> f64 {
                self.into()
            }
            #[inline(always)]
            fn narrow(wide: f64) -> Self {
                wide as $float
            }
        }
    )*};
}
impl_real!(f32 f64);

/// The distances of every row of `x` from every row of `y`, as `[batch, rows of x, rows of y]`, of
/// float32 or float64. The sizes are those two numbers of rows, after the batches and before the
/// length of a row.
///
/// # Errors
/// A memory error.
pub(crate) fn distances(
    op: &'static str,
    dtype: DType,
    [x, y]: [&[u8]; 2],
    sizes: [usize; 4],
    out: &mut [u8],
) -> Result<(), Error> {
    match dtype {
        DType::F32 => run::<f32>(op, [x, y], sizes, out),
        _ => run::<f64>(op, [x, y], sizes, out),
    }
}

fn run<T: Real>(
    op: &'static str,
    [x, y]: [&[u8]; 2],
    [batches, rows, others, length]: [usize; 4],
    out: &mut [u8],
) -> Result<(), Error> {
    if out.is_empty() {
        return Ok(());
    }
    let level = Level::current().min(Level::detected());
    let out: &mut [T] = bytemuck::cast_slice_mut(out);
    if length == 0 {
        out.fill(T::narrow(0.0));
        return Ok(());
    }
    let (x, y): (&[T], &[T]) = (bytemuck::cast_slice(x), bytemuck::cast_slice(y));
    // Panels of rows side by side; those that are missing in the last are zero.
    let (panels, panel) = (others.div_ceil(LANES), length.saturating_mul(LANES));
    let bytes = (batches * panels).checked_mul(panel);
    let bytes = bytes.and_then(|count| count.checked_mul(size_of::<T>()));
    let bytes = bytes.ok_or_else(|| Error::new(op, Problem::OutOfMemory { bytes: usize::MAX }))?;
    let mut packed = Buffer::zeroed(op, bytes)?;
    let packed: &mut [T] = bytemuck::cast_slice_mut(&mut packed);
    parallel::for_each_block(packed, panel, |place, packed| {
        let (batch, first) = (place / panels, place % panels * LANES);
        for lane in 0..LANES.min(others - first) {
            let row = &y[(batch * others + first + lane) * length..][..length];
            for (number, packed) in row.iter().zip(packed.chunks_exact_mut(LANES)) {
                packed[lane] = *number;
            }
        }
    });
    let packed = &*packed;
    let mut pieces: Vec<(usize, &mut [T])> = Vec::new();
    for (batch, out) in out.chunks_mut(rows * others).enumerate() {
        let parts = out.chunks_mut(PIECE * others).enumerate();
        pieces.extend(parts.map(|(part, out)| (batch * rows + part * PIECE, out)));
    }
    let one = |(first, out): &mut (usize, &mut [T])| {
        let batch = *first / rows;
        for place in 0..panels {
            let packed = &packed[(batch * panels + place) * panel..][..panel];
            let column = place * LANES;
            for (group, out) in out.chunks_mut(ROWS * others).enumerate() {
                let start = (*first + group * ROWS) * length;
                let rows = &x[start..start + out.len() / others * length];
                let block = Block {
                    rows,
                    length,
                    packed,
                };
                let found = simd::run(level, block);
                for (out, found) in out.chunks_mut(others).zip(&found) {
                    for (out, found) in out[column..].iter_mut().zip(found) {
                        *out = *found;
                    }
                }
            }
        }
    };
    if batches * rows * others * length <= parallel::CHUNK {
        pieces.iter_mut().for_each(one);
    } else {
        parallel::for_each_part(&mut pieces, 1, |_, pieces| pieces.iter_mut().for_each(one));
    }
    Ok(())
}

/// A few rows beside a packed panel.
struct Block<'a, T> {
    rows: &'a [T],
    length: usize,
    packed: &'a [T],
}

impl<T: Real> Body for Block<'_, T> {
    type Output = [[T; LANES]; ROWS];
    #[inline(always)]
    fn run<const FUSED: bool>(self) -> [[T; LANES]; ROWS] {
        // Rows that are missing are the first once more.
        let rows: [&[T]; ROWS] = std::array::from_fn(|row| {
            let mut rows = self.rows.chunks_exact(self.length);
            let row = rows.nth(row).unwrap_or(self.rows);
            &row[..self.length]
        });
        let mut sums = [[0.0; LANES]; ROWS];
        let packed = self.packed.as_chunks::<LANES>().0;
        for start in (0..self.length).step_by(TERMS) {
            let end = self.length.min(start + TERMS);
            let mut few = [[T::narrow(0.0); LANES]; ROWS];
            for place in start..end {
                let others = &packed[place];
                for (few, row) in few.iter_mut().zip(&rows) {
                    let number = row[place];
                    for (few, other) in few.iter_mut().zip(others) {
                        *few = few.add_square([number, *other]);
                    }
                }
            }
            for (sums, few) in sums.iter_mut().zip(&few) {
                for (sum, few) in sums.iter_mut().zip(few) {
                    *sum += few.wide();
                }
            }
        }
        sums.map(|sums| sums.map(|sum| T::narrow(sum.sqrt())))
    }
}
