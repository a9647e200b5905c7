//! Sums of rows of a table, each of a list of places.

use std::num::Wrapping;
use std::ops::AddAssign;

use allotrope_dtype::{Conversion, DType, Error, Level, Scratch, Set};
use bytemuck::Pod;

use crate::parallel::{self, CHUNK};

/// Numbers of a table that are converted at a time, and stay in the first-level cache.
const TILE: usize = 2048;

/// Rows of a matrix, and which of them belong together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BagRows<'a> {
    /// The dtype of the matrix.
    pub(crate) dtype: DType,
    /// The matrix, row by row.
    pub(crate) table: &'a [u8],
    /// Its columns.
    pub(crate) columns: usize,
    /// The rows of all bags; all must be rows of the matrix.
    pub(crate) places: &'a [i64],
    /// Where among the places each bag ends.
    pub(crate) ends: &'a [i64],
}

/// Adds to each row of `out`, which is of dtype `sum`, the rows of its bag in order.
///
/// # Errors
/// A dtype error for sums that are not float32, float64, complex or integers of 64 bits.
pub(crate) fn add_bags(rows: BagRows<'_>, sum: DType, out: &mut [u8]) -> Result<(), Error> {
    match sum {
        DType::F32 => rows.add::<f32>(sum, out),
        DType::F64 => rows.add::<f64>(sum, out),
        // Two's complement: the bits do not depend on the sign.
        DType::I64 | DType::U64 => rows.add::<Wrapping<i64>>(sum, out),
        // Complex numbers are added up as their parts.
        DType::C64 => rows.add::<f32>(sum, out),
        DType::C128 => rows.add::<f64>(sum, out),
        _ => Err(Error::not_in_set("add_bags", sum, Set::Number, None)),
    }
}

impl BagRows<'_> {
    fn add<T: Pod + Send + Sync + AddAssign>(
        self,
        sum: DType,
        out: &mut [u8],
    ) -> Result<(), Error> {
        if out.is_empty() {
            return Ok(());
        }
        let is_same = self.dtype.itemsize() == sum.itemsize() && self.dtype.kind() == sum.kind();
        let convert = match is_same {
            true => None,
            false => Some(Conversion::new(self.dtype, sum)?),
        };
        let (ends, columns) = (self.ends, self.columns * sum.itemsize() / size_of::<T>());
        // Bags of one piece of work, by how many numbers they read.
        let per_bag = (self.places.len() / ends.len()).max(1);
        let bags = (CHUNK / per_bag.saturating_mul(columns)).max(1);
        let is_large = self.places.len().saturating_mul(columns) > CHUNK;
        let out: &mut [T] = bytemuck::cast_slice_mut(out);
        parallel::visit_blocks(out, bags * columns, is_large, |piece, out| {
            let mut room = Room::<T>::default();
            for (bag, sums) in out.chunks_exact_mut(columns).enumerate() {
                let bag = piece * bags + bag;
                let start = if bag == 0 { 0 } else { ends[bag - 1] };
                let places = &self.places[start as usize..ends[bag] as usize];
                match &convert {
                    None => self.add_as_they_are(places, sums),
                    Some(convert) => self.add_converted(convert, &mut room, places, sums),
                }
            }
        });
        Ok(())
    }

    fn add_as_they_are<T: Pod + AddAssign>(self, places: &[i64], sums: &mut [T]) {
        let table: &[T] = bytemuck::cast_slice(self.table);
        for place in places {
            add_row(sums, &table[*place as usize * sums.len()..][..sums.len()]);
        }
    }

    /// Some rows are put side by side and converted at once: a row may be short.
    fn add_converted<T: Pod + AddAssign>(
        self,
        convert: &Conversion,
        room: &mut Room<T>,
        places: &[i64],
        sums: &mut [T],
    ) {
        let size = self.dtype.itemsize();
        let parts = sums.len() / self.columns;
        for (part, sums) in sums.chunks_mut(TILE).enumerate() {
            let (width, bytes) = (sums.len(), sums.len() / parts * size);
            for places in places.chunks(TILE / width) {
                room.codes.clear();
                for place in places {
                    let first = *place as usize * self.columns + part * TILE / parts;
                    room.codes
                        .extend_from_slice(&self.table[first * size..][..bytes]);
                }
                // bounded: a tile.
                room.numbers.resize(places.len() * width, T::zeroed());
                let bytes = bytemuck::cast_slice_mut(&mut room.numbers);
                convert.run(Level::current(), &room.codes, bytes, &mut room.scratch);
                for row in room.numbers.chunks_exact(width) {
                    add_row(sums, row);
                }
            }
        }
    }
}

/// Some rows before and after their conversion.
struct Room<T> {
    codes: Vec<u8>,
    numbers: Vec<T>,
    scratch: Scratch,
}

impl<T> Default for Room<T> {
    fn default() -> Self {
        Self {
            codes: Vec::new(),
            numbers: Vec::new(),
            scratch: Scratch::default(),
        }
    }
}

#[inline]
fn add_row<T: Copy + AddAssign>(sums: &mut [T], row: &[T]) {
    for (sum, number) in sums.iter_mut().zip(row) {
        *sum += *number;
    }
}
