//! Products of vectors.

use allotrope_dtype::Error;
use allotrope_op::normalize_axis;
use allotrope_op::structured::linalg::{CROSS, VECDOT};

use super::batch::misfit;
use crate::call::Call;
use crate::transfer::gathered;
use crate::{Tensor, broadcast_tensors};

/// The vector product of the vectors of three elements along a dimension.
///
/// ```
/// use allotrope_tensor::{Tensor, linalg};
/// let x = Tensor::from_slice(&[1_i32, 0, 0], &[3])?;
/// let y = Tensor::from_slice(&[0_i32, 1, 0], &[3])?;
/// assert_eq!(linalg::cross(&x, &y, -1)?.to_vec::<i32>()?, [0, 0, 1]);
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
///
/// # Errors
/// A value error unless both have three elements there and the shapes broadcast, a dtype error for
/// bool or where promotion refuses, a memory error.
pub fn cross(x: &Tensor, y: &Tensor, dim: isize) -> Result<Tensor, Error> {
    if let Some((x, y)) = gathered((x, y))? {
        return cross(&x, &y, dim);
    }
    let op = CROSS.name;
    let Call { result, .. } = Call::begin(&CROSS, &[x, y])?;
    let working = result.compute();
    let both = broadcast_tensors(&[&x.to(working)?, &y.to(working)?]);
    let both = both.map_err(|error| error.in_op(op))?;
    let (a, b) = (&both[0], &both[1]);
    let place = normalize_axis(op, dim, a.rank())?;
    let size = |tensor: &Tensor| {
        let before = a.rank() - tensor.rank();
        place.checked_sub(before).map(|dim| tensor.shape()[dim])
    };
    if size(x) != Some(3) || size(y) != Some(3) {
        return Err(misfit(op, x, y).hint("vectors of three elements"));
    }
    let dims = [place as isize];
    let ahead = a.roll(&[-1], &dims)?.mul(&b.roll(&[-2], &dims)?)?;
    let behind = a.roll(&[-2], &dims)?.mul(&b.roll(&[-1], &dims)?)?;
    ahead.sub(&behind)?.to(result)
}

/// `Σ conj(x) y` along a dimension.
///
/// ```
/// use allotrope_tensor::{Tensor, linalg};
/// let x = Tensor::new([[1.0, 2.0], [3.0, 4.0]])?;
/// assert_eq!(linalg::vecdot(&x, &x, -1)?, Tensor::new([5.0, 25.0])?);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// A value error for shapes that do not broadcast, an index error for a dimension out of range, a
/// dtype error for bool or where promotion refuses, a memory error.
pub fn vecdot(x: &Tensor, y: &Tensor, dim: isize) -> Result<Tensor, Error> {
    if let Some((x, y)) = gathered((x, y))? {
        return vecdot(&x, &y, dim);
    }
    let op = VECDOT.name;
    let Call { result, .. } = Call::begin(&VECDOT, &[x, y])?;
    let working = result.compute();
    let (x, y) = (x.to(working)?, y.to(working)?);
    let x = if working.is_complex() { x.conj()? } else { x };
    let products = x.mul(&y).map_err(|error| error.in_op(op))?;
    let place = normalize_axis(op, dim, products.rank())?;
    let sum = products.sum(Some(&[place as isize]), false, Some(working))?;
    sum.to(result)
}
