//! Different elements, and the different parts along a dimension.

use allotrope_dtype::{DType, Error, Problem};
use allotrope_op::structured::Structured;
use allotrope_op::structured::order::{UNIQUE, UNIQUE_CONSECUTIVE};
use allotrope_op::task::{Order, Output, Task};
use allotrope_op::{Layout, Shape, normalize_axis};
use smallvec::SmallVec;

pub use allotrope_op::task::order::Beside;

use crate::autograd::is_recorded;
use crate::call::Call;
use crate::device::perform;
use crate::{Index, Tensor};

/// Different elements, or parts along a dimension.
///
/// ```
/// use allotrope_tensor::{Beside, Tensor, Unique};
/// let beside = Beside { inverse: true, counts: true };
/// let Unique { values, counts, .. } = Tensor::new([3, 1, 3])?.unique_with(None, beside)?;
/// assert_eq!((values, counts), (Tensor::new([1, 3])?, Tensor::new([1_i64, 2])?));
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Unique {
    /// One of each.
    pub values: Tensor,
    /// For each element, or part, of the tensor its place among the values.
    pub inverse: Tensor,
    /// How often each value occurs.
    pub counts: Tensor,
}

impl Tensor {
    /// The different elements in order, or along `dim` the different parts, ordered by their first
    /// elements, then their second ones and so on. Complex numbers are ordered by their real parts,
    /// then by their imaginary ones. A NaN is unlike any other, -0 and 0 are equal.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let unique = Tensor::from_slice(&[3_i8, 1, 3], &[3])?.unique(None)?;
    /// assert_eq!(unique.values.to_vec::<i8>()?, [1, 3]);
    /// assert_eq!(unique.inverse.to_vec::<i64>()?, [1, 0, 1]);
    /// assert_eq!(unique.counts.to_vec::<i64>()?, [1, 2]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for a dimension out of range, a memory error.
    pub fn unique(&self, dim: Option<isize>) -> Result<Unique, Error> {
        let [inverse, counts] = [true; 2];
        self.grouped(&UNIQUE, dim, true, Beside { inverse, counts })
    }

    /// [`unique`](Self::unique) with what is asked for beside the values; the rest is empty. Without the
    /// places of the elements no element has to be followed.
    ///
    /// ```
    /// use allotrope_tensor::{Beside, Tensor};
    /// let unique = Tensor::new([3, 1, 3])?.unique_with(None, Beside::default())?;
    /// assert_eq!(unique.values, Tensor::new([1, 3])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`unique`](Self::unique).
    pub fn unique_with(&self, dim: Option<isize>, beside: Beside) -> Result<Unique, Error> {
        self.grouped(&UNIQUE, dim, true, beside)
    }

    /// The elements, or along `dim` the parts, without those that equal the one before, with what is
    /// asked for beside them; the rest is empty.
    ///
    /// ```
    /// use allotrope_tensor::{Beside, Tensor};
    /// let unique = Tensor::new([3, 3, 1, 3])?.unique_consecutive(None, Beside::default())?;
    /// assert_eq!(unique.values, Tensor::new([3, 1, 3])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`unique`](Self::unique).
    pub fn unique_consecutive(&self, dim: Option<isize>, beside: Beside) -> Result<Unique, Error> {
        self.grouped(&UNIQUE_CONSECUTIVE, dim, false, beside)
    }

    fn grouped(
        &self,
        row: &Structured,
        dim: Option<isize>,
        sorted: bool,
        beside: Beside,
    ) -> Result<Unique, Error> {
        let dtype = Call::begin(row, &[self])?.result;
        let dim = dim.map(|dim| normalize_axis(row.name, dim, self.rank()));
        let dim = dim.transpose()?.map(|dim| dim as isize);
        let rows = match dim {
            None => self.ravel()?,
            Some(dim) => self.movedim(&[dim], &[0])?,
        };
        let rows = rows.settled()?;
        let count = rows.shape()[0];
        let places = match dim {
            None => self.shape().clone(),
            Some(_) => Shape::new(row.name, &[count])?,
        };
        // A gradient goes to the element that stands for the others, which is then looked for.
        if dtype.is_complex() || rows.rank() != 1 || is_recorded(&[self]) {
            return group_parts(row.name, &rows, dim, &places, sorted);
        }
        let task = Order::Unique { sorted, beside };
        let found = found(row.name, task, &rows, [dtype, DType::I64, DType::I64])?;
        let [values, inverse, counts] = found;
        let inverse = match beside.inverse {
            true => inverse.with_layout(Layout::contiguous(places)),
            false => inverse,
        };
        Ok(Unique {
            values,
            inverse,
            counts,
        })
    }
}

/// What a task finds in rows, as vectors.
fn found(
    op: &'static str,
    task: Order,
    rows: &Tensor,
    dtypes: [DType; 3],
) -> Result<[Tensor; 3], Error> {
    let count = rows.shape()[0];
    let outputs = dtypes.map(|dtype| Output { dtype, count });
    let made = perform(op, &Task::Order(task), &[rows], &outputs)?;
    let lists = made.into_iter().zip(dtypes).map(|(made, dtype)| {
        let shape = Shape::new(op, &[made.count])?;
        Ok(Tensor::from_memory_of(made.memory, shape, dtype))
    });
    let lists: SmallVec<[Tensor; 3]> = lists.collect::<Result<_, Error>>()?;
    lists.into_inner().map_err(|lists| {
        let (from, to) = (lists.len(), 3);
        Error::new(op, Problem::LengthMismatch { from, to })
    })
}

/// The different parts along the first dimension, which goes back to `dim`; `places` is the shape of
/// the inverse.
fn group_parts(
    op: &'static str,
    rows: &Tensor,
    dim: Option<isize>,
    places: &Shape,
    sorted: bool,
) -> Result<Unique, Error> {
    let (count, width) = (rows.shape()[0], rows.shape()[1..].iter().product::<usize>());
    let matrix = rows.detach().reshape(&[count as isize, width as isize])?;
    let task = Order::UniqueRows { sorted };
    let [firsts, inverse, counts] = found(op, task, &matrix, [DType::I64; 3])?;
    let mut values = rows.index(&[Index::Array(firsts)])?;
    if let Some(dim) = dim {
        values = values.movedim(&[0], &[dim])?.contiguous()?;
    }
    Ok(Unique {
        values,
        inverse: inverse.with_layout(Layout::contiguous(places.clone())),
        counts,
    })
}
