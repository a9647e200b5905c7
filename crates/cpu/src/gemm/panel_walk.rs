//! Where a kernel finds the columns of each step, and both factors where nothing is packed.
//!
//! Nothing is packed for products of up to 64 rows and steps and one tile of columns, nor are rows
//! of a left factor that lie near each other.
#![allow(
    unsafe_code,
    reason = "reads of a list without a check in the innermost loop, a result of the caller's"
)]

use allotrope_dtype::Level;

use super::micro::{Micro, Tile};

/// Where the columns of each step are, from the first ones on.
pub(super) trait PanelWalk: Copy {
    /// The farthest of so many steps.
    fn farthest(self, steps: usize) -> usize;

    /// How far those of a step are.
    ///
    /// # Safety
    /// The course must have the step.
    unsafe fn place(self, step: usize) -> usize;

    /// How far the vectors of a step are from each other, of so many numbers.
    #[inline(always)]
    fn apart(self, lanes: usize) -> usize {
        lanes
    }
}

/// Evenly apart.
#[derive(Clone, Copy)]
pub(super) struct Even(pub(super) usize);

impl PanelWalk for Even {
    #[inline(always)]
    fn farthest(self, steps: usize) -> usize {
        steps.saturating_sub(1).saturating_mul(self.0)
    }

    #[inline(always)]
    unsafe fn place(self, step: usize) -> usize {
        step * self.0
    }
}

/// Anywhere, and vectors of a step so far apart.
#[derive(Clone, Copy)]
pub(super) struct Listed<'a>(pub(super) &'a Places, pub(super) usize);

impl PanelWalk for Listed<'_> {
    #[inline(always)]
    fn farthest(self, steps: usize) -> usize {
        assert!(steps <= self.0.list.len());
        self.0.farthest
    }

    #[inline(always)]
    unsafe fn place(self, step: usize) -> usize {
        // SAFETY: the caller has the step.
        unsafe { *self.0.list.get_unchecked(step) }
    }

    #[inline(always)]
    fn apart(self, _: usize) -> usize {
        self.1
    }
}

/// Where columns are, step by step.
pub(super) struct Places {
    list: Vec<usize>,
    farthest: usize,
}

impl Places {
    /// As listed.
    pub(super) fn new(list: Vec<usize>) -> Self {
        let farthest = list.iter().copied().max().unwrap_or(0);
        Self { list, farthest }
    }

    /// The farthest of all.
    pub(super) fn farthest(&self) -> usize {
        self.farthest
    }
}

/// The largest number of rows and of steps for which nothing is packed.
const FEW: usize = 64;

/// Factors of small products, which are read where they are: packing took most of the time.
#[derive(Clone, Copy)]
pub(super) struct InPlace<'a, T> {
    sizes: [usize; 3],
    a: &'a [T],
    a_row: usize,
    a_step: usize,
    b: &'a [T],
    b_step: usize,
}

impl<'a, T: Micro> InPlace<'a, T> {
    /// Elements with their strides across lines and along them, if the product is so small.
    pub(super) fn new(
        level: Level,
        sizes: [usize; 3],
        (a, a_row, a_step): (&'a [T], isize, isize),
        (b, b_column, b_step): (&'a [T], isize, isize),
    ) -> Option<Self> {
        let [rows, steps, columns] = sizes;
        let is_small = rows <= FEW && (1..=FEW).contains(&steps) && columns <= T::shape(level).1;
        (is_small && b_column == 1).then_some(Self {
            sizes,
            a,
            a_row: a_row.try_into().ok()?,
            a_step: a_step.try_into().ok()?,
            b,
            b_step: b_step.try_into().ok()?,
        })
    }

    /// Writes the product of the matrices at two places, or adds it. False, and nothing, where a kernel
    /// would read beyond the memory: it reads whole vectors, and as many rows as it is made for.
    ///
    /// # Safety
    /// As [`Micro::run`], for all rows and columns.
    pub(super) unsafe fn multiply(
        &self,
        level: Level,
        places: [usize; 2],
        (c, c_stride): (*mut T, usize),
        accumulate: bool,
    ) -> bool {
        let (tile_rows, tile_columns) = T::shape(level);
        let [rows, steps, columns] = self.sizes;
        let (Some(a), Some(b)) = (self.a.get(places[0]..), self.b.get(places[1]..)) else {
            return false;
        };
        let times = usize::saturating_mul;
        let (last_row, last_step) = (rows.next_multiple_of(tile_rows) - 1, steps - 1);
        let last_a = times(last_row, self.a_row).saturating_add(times(last_step, self.a_step));
        let end_b = times(last_step, self.b_step).saturating_add(tile_columns);
        if a.len() <= last_a || b.len() < end_b {
            return false;
        }
        for row in (0..rows).step_by(tile_rows) {
            let tile = Tile {
                steps,
                a: &a[row * self.a_row..],
                a_row: self.a_row,
                a_step: self.a_step,
                b,
                b_step: self.b_step,
                c: c.wrapping_add(row * c_stride),
                c_stride,
                rows: tile_rows.min(rows - row),
                columns,
                accumulate,
                shifted: 0,
            };
            // SAFETY: the tile is part of what the caller promises, as is the level.
            unsafe { T::run(level, tile) };
        }
        true
    }
}
