//! Decompositions of larger matrices by the crate `faer`: reductions in blocks, then iterations that
//! divide and conquer. Each runs on one thread, so that results never depend on how many there are.
//!
//! | file | what is in it |
//! |---|---|
//! | `aside` | a thread for what cannot be interrupted, and a caller that can |
//! | `columns` | matrices as faer has them: column-major, aligned |
//! | `spectra` | eigenvalues and singular values with their vectors |
//! | `factor` | orthogonal bases, and least squares from them |

mod aside;
mod columns;
mod factor;
mod spectra;
#[cfg(test)]
mod tests;

use std::cell::Cell;

use allotrope_dtype::{c64, c128};
use faer::dyn_stack::{MemBuffer, StackReq};

use super::batch::Failure;
use super::field::{Field, Real};
use super::scratch::{check_memory, probe};
use aside::aside;
pub(super) use factor::{Factors, Solved};
pub(super) use spectra::{Singular, Spectrum, eig_complex, eig_real};

/// The size from which on faer is faster.
const FROM: usize = 64;

/// What faer allocates for each thread that multiplies, and would end the process without: twice the
/// last cache.
const PACKED: usize = 256 << 20;

/// Whether a matrix so large is faer's, on a machine with the memory that it takes for granted.
pub(super) fn is_large(rows: usize, columns: usize) -> bool {
    rows.min(columns) >= FROM && has_room(rows.max(columns))
}

/// The sum of the squares of a matrix, which is that of its singular values.
pub(super) fn energy<T: Field>(a: &[T]) -> f64 {
    let squares = a.iter().map(|x| [x.re().wide(), x.im().wide()]);
    squares.map(|[re, im]| re * re + im * im).sum()
}

/// Whether values can be those of a matrix with such a sum of squares: in order, from the greatest or
/// from the least, and none lost.
pub(super) fn is_spectrum<T: Field>(values: &[T], energy: f64, from_greatest: bool) -> bool {
    let in_order = |x: &f64, y: &f64| if from_greatest { x >= y } else { x <= y };
    let values = values.iter().map(|value| value.re().wide());
    let found: f64 = values.clone().map(|value| value * value).sum();
    let is_whole = (found - energy).abs() <= 1e-3 * energy;
    is_whole && values.is_sorted_by(in_order)
}

fn has_room(lines: usize) -> bool {
    thread_local! {
        static HAS_ROOM: Cell<bool> = const { Cell::new(false) };
    }
    // A thread aside has none yet.
    if lines >= aside::LINES || !HAS_ROOM.get() {
        HAS_ROOM.set(probe(PACKED).is_ok());
    }
    HAS_ROOM.get()
}

/// Memory for what faer does in between.
fn try_scratch(request: StackReq) -> Result<MemBuffer, Failure> {
    check_memory()?;
    let bytes = request.unaligned_bytes_required();
    MemBuffer::try_new(request).map_err(|_| Failure::OutOfMemory { bytes })
}

/// The numbers that faer computes with. Matrices are row-major and finite, and at least 64 by 64.
pub(super) trait Blocked: Copy {
    /// Eigenvalues from the least, and eigenvectors as columns, if wanted, of a full Hermitian matrix.
    fn eigh(a: Vec<Self>, n: usize, wants_vectors: bool) -> Result<Spectrum<Self>, Failure>;

    /// Singular values from the greatest, and so many columns of `U` and rows of `Vᴴ`: none, the
    /// lesser of the sizes, or all.
    fn svd(a: Vec<Self>, shape: [usize; 2], bases: [usize; 2]) -> Result<Singular<Self>, Failure>;

    /// So many columns of `Q`, and `R`; none for a matrix whose rank is seen to be less than full.
    fn qr(a: Vec<Self>, shape: [usize; 2], basis: usize) -> Result<Option<Factors<Self>>, Failure>;

    /// The singular values of `A`, which has no more columns than rows, and `R⁻¹ Qᴴ B`.
    fn lstsq(a: Vec<Self>, b: Vec<Self>, sizes: [usize; 3]) -> Result<Solved<Self>, Failure>;
}

macro_rules! blocked {
    ($($number:ty)*) => {$(
        impl Blocked for $number {
            fn eigh(
                a: Vec<Self>,
                n: usize,
                wants_vectors: bool,
            ) -> Result<Spectrum<Self>, Failure> {
                aside(n, move |stop| spectra::eigh(&a, n, wants_vectors, stop))
            }

            fn svd(
                a: Vec<Self>,
                shape: [usize; 2],
                bases: [usize; 2],
            ) -> Result<Singular<Self>, Failure> {
                aside(shape[0].max(shape[1]), move |stop| spectra::svd(&a, shape, bases, stop))
            }

            fn qr(
                a: Vec<Self>,
                shape: [usize; 2],
                basis: usize,
            ) -> Result<Option<Factors<Self>>, Failure> {
                aside(shape[0].max(shape[1]), move |stop| factor::qr(&a, shape, basis, stop))
            }

            fn lstsq(
                a: Vec<Self>,
                b: Vec<Self>,
                sizes: [usize; 3],
            ) -> Result<Solved<Self>, Failure> {
                aside(sizes[0], move |stop| factor::lstsq(&a, &b, sizes, stop))
            }
        }
    )*};
}
blocked!(f32 f64 c64 c128);
