//! Givens' rotations of columns, collected and applied to many rows at a time.

use super::batch::Failure;
use super::scratch::{try_vec, try_with_capacity};
use allotrope_dtype::Level;

use super::field::{Field, Real};
use crate::parallel;
use crate::simd::{Body, run};

/// Real numbers that are rotated together.
const LANES: usize = 16;
/// Rotations that are collected.
const COLLECTED: usize = 8192;

/// Cosine, sine and length: `c x + s y = r` and `c y - s x = 0`.
pub(super) fn rotation<R: Real>(x: R, y: R) -> (R, R, R) {
    if y == R::ZERO {
        (R::ONE, R::ZERO, x)
    } else {
        // Squares within the range of the type need not be scaled.
        let square = x * x + y * y;
        let is_safe = square > R::TINY / R::EPSILON && square < R::HUGE;
        let r = if is_safe { square.sqrt() } else { x.hypot(y) };
        (x / r, y / r, r)
    }
}

/// A rotation of two columns.
#[derive(Clone, Copy)]
struct Turn<R> {
    columns: [u32; 2],
    cosine: R,
    sine: R,
}

/// A matrix whose columns are rotated: strips of rows, each of which holds its columns one after the
/// other.
pub(super) struct Rotated<R> {
    strips: Vec<[R; LANES]>,
    rows: usize,
    columns: usize,
    turns: Vec<Turn<R>>,
}

impl<R: Real> Rotated<R> {
    /// A row-major matrix, ready to be rotated.
    pub(super) fn new<T: Field<Real = R>>(
        matrix: &[T],
        rows: usize,
        columns: usize,
    ) -> Result<Self, Failure> {
        let together = LANES / T::PARTS;
        let mut strips = try_vec(rows.div_ceil(together) * columns, [R::ZERO; LANES])?;
        for (row, elements) in matrix.chunks_exact(columns.max(1)).enumerate() {
            let (strip, lane) = (row / together, row % together);
            for (column, value) in elements.iter().enumerate() {
                let place = &mut strips[strip * columns + column];
                place[lane * T::PARTS] = value.re();
                if T::PARTS == 2 {
                    place[lane * 2 + 1] = value.im();
                }
            }
        }
        Ok(Self {
            strips,
            rows,
            columns,
            turns: try_with_capacity(COLLECTED)?,
        })
    }

    /// Column `i` becomes `c i + s j`, column `j` becomes `c j - s i`.
    pub(super) fn turn(&mut self, i: usize, j: usize, cosine: R, sine: R) {
        if self.turns.len() == COLLECTED {
            self.finish();
        }
        self.turns.push(Turn {
            columns: [i as u32, j as u32],
            cosine,
            sine,
        });
    }

    fn finish(&mut self) {
        let (turns, level) = (&self.turns, Level::current());
        parallel::for_each_part(&mut self.strips, self.columns, |_, strip| {
            run(level, Turns { strip, turns });
        });
        self.turns.clear();
    }

    /// The row-major matrix.
    pub(super) fn into_matrix<T: Field<Real = R>>(mut self) -> Result<Vec<T>, Failure> {
        self.finish();
        let together = LANES / T::PARTS;
        let mut matrix = try_with_capacity(self.rows * self.columns)?;
        for row in 0..self.rows {
            let (strip, lane) = (row / together, row % together);
            let strip = &self.strips[strip * self.columns..(strip + 1) * self.columns];
            matrix.extend(strip.iter().map(|place| {
                let re = place[lane * T::PARTS];
                if T::PARTS == 2 {
                    T::from_parts(re, place[lane * 2 + 1])
                } else {
                    T::from_real(re)
                }
            }));
        }
        Ok(matrix)
    }
}

struct Turns<'a, R> {
    strip: &'a mut [[R; LANES]],
    turns: &'a [Turn<R>],
}

impl<R: Real> Body for Turns<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        for turn in self.turns {
            let [i, j] = turn.columns.map(|column| column as usize);
            let (mut x, mut y) = (self.strip[i], self.strip[j]);
            for lane in 0..LANES {
                let (a, b) = (x[lane], y[lane]);
                x[lane] = turn.cosine * a + turn.sine * b;
                y[lane] = turn.cosine * b - turn.sine * a;
            }
            (self.strip[i], self.strip[j]) = (x, y);
        }
    }
}
