//! The same elements in memory in many ways. Gaps hold bytes that would be noticed.

use allotrope_cpu::{Buffer, Input};
use allotrope_dtype::{DType, Error};
use allotrope_op::{Dims, Layout, Shape};

use crate::column::Column;

/// How the elements of a matrix lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// Row by row.
    Contiguous,
    /// Row by row, not from the start of the buffer.
    Shifted,
    /// Column by column.
    Transposed,
    /// Every other element of rows with a gap between them.
    Sliced,
    /// Backwards.
    Reversed,
    /// Rows forwards, each of them backwards.
    Mirrored,
    /// Column by column, backwards, with gaps.
    Tangled,
}

impl Arrangement {
    /// Every arrangement.
    pub const ALL: [Self; 7] = [
        Self::Contiguous,
        Self::Shifted,
        Self::Transposed,
        Self::Sliced,
        Self::Reversed,
        Self::Mirrored,
        Self::Tangled,
    ];

    /// Strides, offset and the number of elements in the buffer.
    fn strides(self, [rows, columns]: [usize; 2]) -> ([isize; 2], usize, usize) {
        let (r, c) = (rows as isize, columns as isize);
        let count = rows * columns;
        match self {
            Self::Contiguous => ([c, 1], 0, count),
            Self::Shifted => ([c, 1], 3, count + 5),
            Self::Transposed => ([1, r], 0, count),
            Self::Sliced => ([2 * c + 3, 2], 1, rows * (2 * columns + 3) + 1),
            Self::Reversed => ([-c, -1], count.saturating_sub(1), count),
            Self::Mirrored => ([c, -1], columns.saturating_sub(1), count),
            Self::Tangled => ([-3, 3 * r], (3 * rows).saturating_sub(3) + 2, 3 * count + 2),
        }
    }
}

/// Elements in memory, and where they are.
pub struct Arranged {
    bytes: Buffer,
    layout: Layout,
}

impl Arranged {
    /// The elements of a column, again and again, as a matrix.
    ///
    /// # Errors
    /// A memory error.
    pub fn matrix(
        arrangement: Arrangement,
        column: &Column,
        sizes: [usize; 2],
    ) -> Result<Self, Error> {
        let (strides, offset, room) = arrangement.strides(sizes);
        let layout = Layout::from_parts(
            Shape::new("arrange", &sizes)?,
            Dims::from_slice(&strides),
            offset,
        );
        let size = column.dtype.itemsize();
        let mut bytes = noticed(room * size)?;
        let target = &mut bytes[..];
        let mut elements = column.bytes.chunks_exact(size).cycle();
        for row in 0..sizes[0] as isize {
            let start = offset as isize + row * strides[0];
            for (place, element) in (0..sizes[1] as isize).zip(&mut elements) {
                let to = (start + place * strides[1]) as usize * size;
                target[to..to + size].copy_from_slice(element);
            }
        }
        Ok(Self { bytes, layout })
    }

    /// A column along one dimension of a matrix, the same along the other.
    ///
    /// # Errors
    /// A memory error.
    pub fn broadcast(column: &Column, sizes: [usize; 2], axis: usize) -> Result<Self, Error> {
        let size = column.dtype.itemsize();
        let mut bytes = noticed((sizes[axis] + 1) * size)?;
        for place in 0..sizes[axis] {
            let to = (place + 1) * size;
            bytes[to..to + size].copy_from_slice(column.element(place % column.len()));
        }
        let mut strides = [0; 2];
        strides[axis] = 1;
        let shape = Shape::new("arrange", &sizes)?;
        let layout = Layout::from_parts(shape, Dims::from_slice(&strides), 1);
        Ok(Self { bytes, layout })
    }

    /// One element in a shape of any sizes: everywhere, or nowhere.
    ///
    /// # Errors
    /// A memory error.
    pub fn everywhere(column: &Column, sizes: &[usize]) -> Result<Self, Error> {
        let size = column.dtype.itemsize();
        let mut bytes = noticed(size)?;
        bytes.copy_from_slice(&column.bytes[..size]);
        let shape = Shape::new("arrange", sizes)?;
        let strides = sizes.iter().map(|_| 0).collect();
        Ok(Self {
            bytes,
            layout: Layout::from_parts(shape, strides, 0),
        })
    }

    /// What a program reads.
    #[must_use]
    pub fn input(&self) -> Input<'_> {
        Input {
            bytes: &self.bytes,
            layout: &self.layout,
        }
    }

    /// The shape.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        self.layout.shape()
    }

    /// The elements in order, as a column.
    ///
    /// # Errors
    /// A value error for an incomplete element.
    pub fn column(&self, dtype: DType) -> Result<Column, Error> {
        let (size, sizes) = (dtype.itemsize(), self.shape());
        let mut bytes = Vec::with_capacity(sizes.count() * size);
        for row in 0..sizes[0] {
            for place in 0..sizes[1] {
                let from = self.layout.place(&[row, place]) * size;
                bytes.extend_from_slice(&self.bytes[from..from + size]);
            }
        }
        Column::from_bytes(dtype, bytes)
    }
}

/// Memory full of NaN.
fn noticed(bytes: usize) -> Result<Buffer, Error> {
    let mut buffer = Buffer::for_overwrite("arrange", bytes)?;
    buffer.fill(0xFF);
    Ok(buffer)
}
