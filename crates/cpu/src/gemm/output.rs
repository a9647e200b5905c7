//! The matrix that a product is written to: threads write to blocks of it that do not overlap.
#![allow(unsafe_code, reason = "disjoint parts of one matrix, one per thread")]

use allotrope_dtype::DType;

use super::Output;

/// Memory that several threads write to, each to its own rows and columns.
pub(super) struct Target<'a> {
    start: *mut u8,
    pub(super) dtype: DType,
    size: usize,
    row_stride: usize,
    batch_stride: usize,
    _borrow: std::marker::PhantomData<&'a mut [u8]>,
}

// SAFETY: the memory is borrowed exclusively, and whoever writes to it promises to write alone.
unsafe impl Send for Target<'_> {}
// SAFETY: as above.
unsafe impl Sync for Target<'_> {}

impl<'a> Target<'a> {
    /// The memory of `batches` matrices of `rows` rows and `columns` columns.
    ///
    /// # Panics
    /// If matrices or rows overlap or do not fit.
    pub(super) fn new(output: Output<'a>, [batches, rows, columns]: [usize; 3]) -> Self {
        let Output {
            dtype,
            bytes,
            offset,
            row_stride,
            batch_stride,
        } = output;
        let size = dtype.itemsize();
        if batches > 0 && rows > 0 && columns > 0 {
            // Strides are anyone's: what leaves the numbers is beyond every memory.
            let times = usize::saturating_mul;
            let matrix = times(rows - 1, row_stride).saturating_add(columns);
            assert!(rows == 1 || row_stride >= columns, "rows overlap");
            assert!(batches == 1 || batch_stride >= matrix, "matrices overlap");
            let before = times(batches - 1, batch_stride).saturating_add(offset);
            let last = before.saturating_add(matrix);
            assert!(times(last, size) <= bytes.len(), "the result does not fit");
            assert!(bytes.as_ptr().addr().is_multiple_of(dtype.alignment()));
        }
        Self {
            start: bytes.as_mut_ptr().wrapping_add(offset.wrapping_mul(size)),
            dtype,
            size,
            // A single row is as far from the next as it is long.
            row_stride: if rows == 1 { columns } else { row_stride },
            batch_stride,
            _borrow: std::marker::PhantomData,
        }
    }

    /// The address of an element, and from there to the next row in elements.
    pub(super) fn place(&self, batch: usize, row: usize, column: usize) -> (*mut u8, usize) {
        let place = batch * self.batch_stride + row * self.row_stride + column;
        (self.start.wrapping_add(place * self.size), self.row_stride)
    }

    /// A part of a row.
    ///
    /// # Safety
    /// The part must lie within the matrix, and no other reference to any of it may exist.
    #[allow(
        clippy::mut_from_ref,
        reason = "the caller promises to be the only one"
    )]
    pub(super) unsafe fn row(
        &self,
        batch: usize,
        row: usize,
        column: usize,
        columns: usize,
    ) -> &mut [u8] {
        let (start, _) = self.place(batch, row, column);
        // SAFETY: `new` checked that the matrix is there; the caller promises the rest.
        unsafe { std::slice::from_raw_parts_mut(start, columns * self.size) }
    }

    /// Several whole rows, if they lie one after the other without room between.
    ///
    /// # Safety
    /// As for [`row`](Self::row).
    #[allow(
        clippy::mut_from_ref,
        reason = "the caller promises to be the only one"
    )]
    pub(super) unsafe fn rows(
        &self,
        batch: usize,
        first: usize,
        rows: usize,
        columns: usize,
    ) -> Option<&mut [u8]> {
        // SAFETY: rows of `columns` elements that are as far apart are one long row.
        (self.row_stride == columns).then(|| unsafe { self.row(batch, first, 0, rows * columns) })
    }
}
