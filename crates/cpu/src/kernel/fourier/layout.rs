//! Lines of any layout laid out for transforms: cut or padded with zeros, one after the other.

use allotrope_dtype::{DType, Error, Problem};
use allotrope_op::{Dims, Layout, Shape, Slice};

use crate::kernel::movement::copy_view;
use crate::{Buffer, Input};

/// The last dimension of elements, as lines of another width.
pub(crate) struct Lines<'a> {
    op: &'static str,
    dtype: DType,
    input: Input<'a>,
    width: usize,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(op: &'static str, dtype: DType, input: Input<'a>, width: usize) -> Self {
        Self {
            op,
            dtype,
            input,
            width,
        }
    }

    /// How many elements of a line there are, before they are cut.
    fn length(&self) -> usize {
        self.input.layout.shape().last().copied().unwrap_or(0)
    }

    /// Writes the lines.
    ///
    /// # Errors
    /// A value error for more elements than can be counted.
    pub(crate) fn write(&self, out: &mut [u8]) -> Result<(), Error> {
        let present = self.length().min(self.width);
        if present < self.width {
            out.fill(0);
        }
        let kept = Slice {
            start: Some(0),
            stop: Some(present as isize),
            step: 1,
        };
        let from = self.input.layout.slice(self.op, -1, kept)?;
        let to = Layout::contiguous(self.shape()?).slice(self.op, -1, kept)?;
        copy_view(self.dtype, self.input.bytes, &from, out, &to);
        Ok(())
    }

    /// Calls `work` with the lines, where they are if they lie there like that.
    ///
    /// # Errors
    /// A memory error, and what `work` raises.
    pub(crate) fn with(&self, work: impl FnOnce(&[u8]) -> Result<(), Error>) -> Result<(), Error> {
        let layout = self.input.layout;
        if self.length() == self.width && layout.is_contiguous() {
            let size = self.dtype.itemsize();
            let (start, count) = (layout.offset(), layout.shape().count());
            return work(&self.input.bytes[start * size..(start + count) * size]);
        }
        let count = self.shape()?.count();
        let mut lines = Buffer::for_elements(self.op, self.dtype, count)?;
        self.write(&mut lines)?;
        work(&lines)
    }

    /// The sizes with the width as the last one.
    fn shape(&self) -> Result<Shape, Error> {
        let mut sizes: Dims<usize> = self.input.layout.shape().iter().copied().collect();
        match sizes.last_mut() {
            Some(size) => *size = self.width,
            None => {
                let (given, least) = (0, 1);
                return Err(Error::new(
                    self.op,
                    Problem::TooFewDimensions { given, least },
                ));
            }
        }
        Shape::new(self.op, &sizes)
    }
}
