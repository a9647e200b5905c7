//! Channels and pixels that change places: `pixel_shuffle`, `pixel_unshuffle`, `channel_shuffle`.

use allotrope_dtype::{Error, Problem};
use allotrope_op::structured::movement::{CHANNEL_SHUFFLE, PIXEL_SHUFFLE, PIXEL_UNSHUFFLE};

use crate::Tensor;
use crate::call::Call;

impl Tensor {
    /// Channels spread over squares of pixels: from `[…, C * r * r, H, W]` to `[…, C, H * r, W * r]`.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let x = Tensor::zeros((1, 8, 3, 5), DType::F32)?;
    /// assert_eq!(x.pixel_shuffle(2)?.shape(), [1, 2, 6, 10]);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for fewer than three dimensions, for a factor of zero, and for channels that are
    /// not a multiple of its square; a memory error.
    pub fn pixel_shuffle(&self, factor: usize) -> Result<Self, Error> {
        let op = "pixel_shuffle";
        Call::begin(&PIXEL_SHUFFLE, &[self])?;
        self.need_rank(op, 3)?;
        let first = self.rank() - 3;
        let [channels, height, width] = [0, 1, 2].map(|i| self.shape()[first + i]);
        let square = factor.saturating_mul(factor);
        need_multiple(op, "the number of channels", channels, square)?;
        let [height, width, side] = [height, width, factor].map(|size| size as isize);
        let left = (channels / square) as isize;
        let split = self.resized(op, first, &[left, side, side, height, width])?;
        let order = [0, 3, 1, 4, 2].map(|dim| dim + first as isize);
        let order: Vec<isize> = (0..first as isize).chain(order).collect();
        split
            .permute(&order)?
            .resized(op, first, &[left, height * side, width * side])
    }

    /// Squares of pixels gathered into channels: from `[…, C, H * r, W * r]` to
    /// `[…, C * r * r, H, W]`.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let x = Tensor::zeros((1, 2, 6, 10), DType::F32)?;
    /// assert_eq!(x.pixel_unshuffle(2)?.shape(), [1, 8, 3, 5]);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for fewer than three dimensions, for a factor of zero, and for sizes that are not
    /// multiples of it; a memory error.
    pub fn pixel_unshuffle(&self, factor: usize) -> Result<Self, Error> {
        let op = "pixel_unshuffle";
        Call::begin(&PIXEL_UNSHUFFLE, &[self])?;
        self.need_rank(op, 3)?;
        let first = self.rank() - 3;
        let [channels, height, width] = [0, 1, 2].map(|i| self.shape()[first + i]);
        need_multiple(op, "the height", height, factor)?;
        need_multiple(op, "the width", width, factor)?;
        let [height, width] = [height / factor, width / factor].map(|size| size as isize);
        let [channels, side] = [channels, factor].map(|size| size as isize);
        let split = self.resized(op, first, &[channels, height, side, width, side])?;
        let order = [0, 2, 4, 1, 3].map(|dim| dim + first as isize);
        let order: Vec<isize> = (0..first as isize).chain(order).collect();
        let channels = channels.saturating_mul(side).saturating_mul(side);
        split
            .permute(&order)?
            .resized(op, first, &[channels, height, width])
    }

    /// The channels of groups in turns: the first of each group, then the second of each.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let x = Tensor::arange(0, 4, 1, DType::I32)?.reshape((1, 4, 1))?;
    /// assert_eq!(x.channel_shuffle(2)?.to_vec::<i32>()?, [0, 2, 1, 3]);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for fewer than three dimensions, for no groups, and for channels that are not a
    /// multiple of them; a memory error.
    pub fn channel_shuffle(&self, groups: usize) -> Result<Self, Error> {
        let op = "channel_shuffle";
        Call::begin(&CHANNEL_SHUFFLE, &[self])?;
        self.need_rank(op, 3)?;
        let channels = self.shape()[1];
        need_multiple(op, "the number of channels", channels, groups)?;
        let split = self.unflatten(1, &[groups as isize, (channels / groups) as isize]);
        let split = split.map_err(|error| error.in_op(op))?.transpose(1, 2)?;
        split.reshape_as(self).map_err(|error| error.in_op(op))
    }

    /// The dimensions from one on with other sizes.
    fn resized(&self, op: &'static str, first: usize, sizes: &[isize]) -> Result<Self, Error> {
        let kept = self.shape()[..first].iter().map(|size| *size as isize);
        let sizes: Vec<isize> = kept.chain(sizes.iter().copied()).collect();
        self.reshape(&sizes).map_err(|error| error.in_op(op))
    }
}

/// Refuses sizes that a number does not divide.
fn need_multiple(
    op: &'static str,
    what: &'static str,
    given: usize,
    of: usize,
) -> Result<(), Error> {
    if of == 0 || !given.is_multiple_of(of) {
        return Err(Error::new(op, Problem::NotMultiple { what, given, of }));
    }
    Ok(())
}
