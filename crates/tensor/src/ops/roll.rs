//! `roll`: elements that leave at one end and enter at the other.

use allotrope_cpu::kernel::copy_into;
use allotrope_dtype::{Error, Problem};
use allotrope_op::structured::movement::ROLL;
use allotrope_op::{Layout, Slice, normalize_axis};

use crate::Tensor;
use crate::elementwise::room;

impl Tensor {
    /// The elements moved by `shifts` along `dims`, those that leave at one end entering at the
    /// other. Without dims the elements move in row-major order. The dtype stays.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::arange(0, 4, 1, DType::I8)?;
    /// assert_eq!(x.roll(&[1], &[0])?.to_vec::<i8>()?, [3, 0, 1, 2]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error if there are not as many shifts as dims, an index error for a dim out of range,
    /// a memory error.
    pub fn roll(&self, shifts: &[isize], dims: &[isize]) -> Result<Self, Error> {
        let op = ROLL.name;
        ROLL.result(self.dtype())?;
        if let ([shift], []) = (shifts, dims) {
            let flat = self.ravel()?.roll(&[*shift], &[0])?;
            let sizes: Vec<isize> = self.shape().iter().map(|size| *size as isize).collect();
            return flat.reshape(&sizes);
        }
        if shifts.len() != dims.len() {
            let problem = Problem::LengthMismatch {
                from: shifts.len(),
                to: dims.len(),
            };
            return Err(Error::new(op, problem));
        }
        let mut result = self.clone();
        for (shift, dim) in shifts.iter().zip(dims) {
            let dim = normalize_axis(op, *dim, self.rank())?;
            result = roll_along(&result, *shift, dim)?;
        }
        Ok(result)
    }
}

/// One dimension's elements moved.
fn roll_along(x: &Tensor, shift: isize, dim: usize) -> Result<Tensor, Error> {
    let op = ROLL.name;
    let size = x.shape()[dim];
    if size == 0 {
        return Ok(x.clone());
    }
    let shift = shift.rem_euclid(size as isize) as usize;
    let mut buffer = room(op, x.shape(), x.dtype())?;
    let whole = Layout::contiguous(x.shape().clone());
    // (from, to, length) of the part that stays in order and of the part that enters again.
    for (from, to, length) in [(0, shift, size - shift), (size - shift, 0, shift)] {
        let part = x
            .narrow(dim as isize, from as isize, length)?
            .contiguous()?;
        let place = Slice {
            start: Some(to as isize),
            stop: Some((to + length) as isize),
            step: 1,
        };
        let layout = whole.slice(op, dim as isize, place)?;
        if let Some(bytes) = part.contiguous_bytes() {
            copy_into(x.dtype(), bytes, &mut buffer, &layout);
        }
    }
    Ok(Tensor::from_buffer(buffer, x.shape().clone(), x.dtype()))
}
