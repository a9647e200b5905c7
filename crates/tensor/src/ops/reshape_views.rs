//! Views for tensors of few dimensions: `atleast_1d` and its kin, flips, quarter turns, splits.

use allotrope_dtype::{Error, Problem};
use allotrope_op::normalize_axes;

use crate::Tensor;

impl Tensor {
    /// The tensor, or a single element as one dimension.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// assert_eq!(Tensor::new(1)?.atleast_1d()?.shape(), [1]);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// None.
    pub fn atleast_1d(&self) -> Result<Self, Error> {
        match self.rank() {
            0 => self.unsqueeze(0),
            _ => Ok(self.clone()),
        }
    }

    /// The tensor, or fewer than two dimensions as a row.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// assert_eq!(Tensor::new([1, 2])?.atleast_2d()?.shape(), [1, 2]);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// None.
    pub fn atleast_2d(&self) -> Result<Self, Error> {
        match self.rank() {
            0 | 1 => self.atleast_1d()?.unsqueeze(0),
            _ => Ok(self.clone()),
        }
    }

    /// The tensor, or fewer than three dimensions with new ones of size one: a matrix has its third
    /// behind, one dimension stands in the middle.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// assert_eq!(Tensor::new([1, 2])?.atleast_3d()?.shape(), [1, 2, 1]);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// None.
    pub fn atleast_3d(&self) -> Result<Self, Error> {
        match self.rank() {
            0..=2 => self.atleast_2d()?.unsqueeze(-1),
            _ => Ok(self.clone()),
        }
    }

    /// The second dimension in reverse.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// assert_eq!(Tensor::new([[1, 2]])?.fliplr()?, Tensor::new([[2, 1]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for fewer than two dimensions.
    pub fn fliplr(&self) -> Result<Self, Error> {
        self.need_rank("fliplr", 2)?;
        self.flip(&[1])
    }

    /// The first dimension in reverse.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// assert_eq!(Tensor::new([[1], [2]])?.flipud()?, Tensor::new([[2], [1]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for a tensor without dimensions.
    pub fn flipud(&self) -> Result<Self, Error> {
        self.need_rank("flipud", 1)?;
        self.flip(&[0])
    }

    /// The tensor turned `turns` times by a quarter, from the first of two dimensions to the second.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::arange(0, 4, 1, DType::U8)?.reshape(&[2, 2])?;
    /// assert_eq!(x.rot90(1, &[0, 1])?.to_vec::<u8>()?, [1, 3, 0, 2]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error unless there are two axes that differ, an index error for one out of range.
    pub fn rot90(&self, turns: isize, axes: &[isize]) -> Result<Self, Error> {
        let op = "rot90";
        let dims = normalize_axes(op, axes, self.rank())?;
        let [a, b] = dims[..] else {
            let (given, rank) = (dims.len(), 2);
            return Err(Error::new(op, Problem::WrongAxisCount { given, rank }));
        };
        let (a, b) = (a as isize, b as isize);
        match turns.rem_euclid(4) {
            0 => Ok(self.clone()),
            1 => self.flip(&[b])?.transpose(a, b),
            2 => self.flip(&[a, b]),
            _ => self.flip(&[a])?.transpose(a, b),
        }
    }

    /// Equal parts side by side: along the second dimension, or the first of those that have one.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let parts = Tensor::new([[1, 2]])?.hsplit(2)?;
    /// assert_eq!(parts, [Tensor::new([[1]])?, Tensor::new([[2]])?]);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for a tensor without dimensions, for no sections, and for a size that is not a
    /// multiple of them.
    pub fn hsplit(&self, sections: usize) -> Result<Vec<Self>, Error> {
        self.need_rank("hsplit", 1)?;
        self.split_evenly("hsplit", sections, usize::from(self.rank() > 1))
    }

    /// Equal parts one below the other: along the first of at least two dimensions.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let parts = Tensor::new([[1], [2]])?.vsplit(2)?;
    /// assert_eq!(parts, [Tensor::new([[1]])?, Tensor::new([[2]])?]);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`hsplit`](Self::hsplit).
    pub fn vsplit(&self, sections: usize) -> Result<Vec<Self>, Error> {
        self.need_rank("vsplit", 2)?;
        self.split_evenly("vsplit", sections, 0)
    }

    /// Equal parts along the third of at least three dimensions.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let parts = Tensor::new([[[1, 2]]])?.dsplit(2)?;
    /// assert_eq!(parts, [Tensor::new([[[1]]])?, Tensor::new([[[2]]])?]);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`hsplit`](Self::hsplit).
    pub fn dsplit(&self, sections: usize) -> Result<Vec<Self>, Error> {
        self.need_rank("dsplit", 3)?;
        self.split_evenly("dsplit", sections, 2)
    }

    /// The parts before, between and after indices, side by side as in [`hsplit`](Self::hsplit).
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let parts = Tensor::new([1, 2, 3])?.hsplit_at(&[1])?;
    /// assert_eq!(parts, [Tensor::new([1])?, Tensor::new([2, 3])?]);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for a tensor without dimensions.
    pub fn hsplit_at(&self, indices: &[isize]) -> Result<Vec<Self>, Error> {
        self.need_rank("hsplit", 1)?;
        self.tensor_split_at(indices, isize::from(self.rank() > 1))
    }

    /// The parts before, between and after indices of the first of at least two dimensions.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let parts = Tensor::new([[1], [2], [3]])?.vsplit_at(&[1])?;
    /// assert_eq!(parts, [Tensor::new([[1]])?, Tensor::new([[2], [3]])?]);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for fewer dimensions.
    pub fn vsplit_at(&self, indices: &[isize]) -> Result<Vec<Self>, Error> {
        self.need_rank("vsplit", 2)?;
        self.tensor_split_at(indices, 0)
    }

    /// The parts before, between and after indices of the third of at least three dimensions.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let parts = Tensor::new([[[1, 2, 3]]])?.dsplit_at(&[1])?;
    /// assert_eq!(parts, [Tensor::new([[[1]]])?, Tensor::new([[[2, 3]]])?]);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for fewer dimensions.
    pub fn dsplit_at(&self, indices: &[isize]) -> Result<Vec<Self>, Error> {
        self.need_rank("dsplit", 3)?;
        self.tensor_split_at(indices, 2)
    }

    /// Refuses fewer dimensions.
    pub(super) fn need_rank(&self, op: &'static str, least: usize) -> Result<(), Error> {
        let given = self.rank();
        if given < least {
            return Err(Error::new(op, Problem::TooFewDimensions { given, least }));
        }
        Ok(())
    }

    fn split_evenly(
        &self,
        op: &'static str,
        sections: usize,
        dim: usize,
    ) -> Result<Vec<Self>, Error> {
        let given = self.shape()[dim];
        if sections > 0 && !given.is_multiple_of(sections) {
            let (what, of) = ("the size", sections);
            return Err(
                Error::new(op, Problem::NotMultiple { what, given, of }).hint("tensor_split")
            );
        }
        let parts = self.tensor_split(sections, dim as isize);
        parts.map_err(|error| error.in_op(op))
    }
}
