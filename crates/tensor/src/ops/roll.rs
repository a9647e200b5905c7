//! `roll`: elements that leave at one end and enter at the other.

use allotrope_dtype::{Error, Problem};
use allotrope_op::structured::movement::ROLL;
use allotrope_op::{Dims, normalize_axis};
use smallvec::{SmallVec, smallvec};

use super::pieces::{Segment, Segments, cut, put_together};
use crate::Tensor;
use crate::call::Call;

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
        Call::begin(&ROLL, &[self])?;
        if let ([shift], []) = (shifts, dims) {
            let flat = self.ravel()?.roll(&[*shift], &[0])?;
            return flat.reshape_as(self);
        }
        if shifts.len() != dims.len() {
            let problem = Problem::LengthMismatch {
                from: shifts.len(),
                to: dims.len(),
            };
            return Err(Error::new(op, problem));
        }
        let sizes = self.shape();
        let mut moved: Dims<usize> = SmallVec::from_elem(0, self.rank());
        for (shift, dim) in shifts.iter().zip(dims) {
            let dim = normalize_axis(op, *dim, self.rank())?;
            if let Some(shift) = shift.checked_rem_euclid(sizes[dim] as isize) {
                // Both are below the size, which is at most isize::MAX.
                moved[dim] = (moved[dim] + shift as usize) % sizes[dim];
            }
        }
        if moved.iter().all(|shift| *shift == 0) {
            return Ok(self.clone());
        }
        // bounded: one per dimension.
        let parts = sizes.iter().zip(moved).map(|(size, shift)| {
            let stays = Segment {
                to: shift,
                ..Segment::whole(size - shift)
            };
            let enters = Segment {
                from: size - shift,
                ..Segment::whole(shift)
            };
            Segments::from_iter([stays, enters])
        });
        // bounded: one per dimension.
        let parts: Vec<Segments> = parts.collect();
        let rolled = put_together(op, sizes.clone(), self, &cut(op, self, &parts)?)?;
        let shifts: Dims<isize> = shifts.iter().map(|shift| shift.wrapping_neg()).collect();
        let dims: Dims<isize> = dims.into();
        rolled.with_rule(op, &[self], move |pass| {
            Ok(smallvec![Some(pass.gradient()?.roll(&shifts, &dims)?)])
        })
    }
}
