//! Tensors of iterators, and of nothing.
#![allow(
    clippy::panic,
    reason = "what traits do that have no way to return an error"
)]

use allotrope_dtype::{Error, Nested};

use crate::view::out_of_memory;
use crate::{Options, Tensor};

impl Tensor {
    /// The items of an iterator along the first dimension: numbers, or arrays and vectors of them. It is
    /// what `collect` does, without its panic.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let squares = Tensor::from_iter((0..4).map(|i| i * i))?;
    /// assert_eq!(squares, Tensor::new([0, 1, 4, 9])?);
    /// let rows = Tensor::from_iter((0..2).map(|i| [i as f32, 0.5]))?;
    /// assert_eq!(rows, Tensor::new([[0.0_f32, 0.5], [1.0, 0.5]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for vectors of different lengths, a memory error.
    #[allow(clippy::should_implement_trait, reason = "it is, for `collect`")]
    pub fn from_iter<N: Nested>(items: impl IntoIterator<Item = N>) -> Result<Self, Error> {
        let op = "from_iter";
        let items = items.into_iter();
        let mut collected = Vec::new();
        let room = |list: &mut Vec<N>, more| list.try_reserve(more).map_err(|_| out_of_memory(op));
        room(&mut collected, items.size_hint().0)?;
        for item in items {
            room(&mut collected, 1)?;
            collected.push(item);
        }
        Self::new(collected).map_err(|error| error.in_op(op))
    }
}

/// As [`Tensor::from_iter`].
///
/// ```
/// use allotrope_tensor::{DType, Tensor};
/// let x: Tensor = [1.0_f32, 2.5].iter().map(|x| x * 2.0).collect();
/// assert_eq!(x, Tensor::new([2.0_f32, 5.0])?);
/// let words: Result<Tensor, _> = "3 1 4".split(' ').map(str::parse::<i64>).collect();
/// assert_eq!(words.unwrap().dtype(), DType::I64);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Panics
/// Where the function fails, with its text.
impl<N: Nested> FromIterator<N> for Tensor {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = N>>(items: I) -> Self {
        match Self::from_iter(items) {
            Ok(tensor) => tensor,
            Err(error) => panic!("{error}"),
        }
    }
}

/// No elements of the default dtype, in one dimension: what `std::mem::take` leaves.
///
/// ```
/// use allotrope_tensor::Tensor;
/// assert_eq!(Tensor::default().shape(), [0]);
/// ```
///
/// # Panics
/// If there is no memory for the object itself.
impl Default for Tensor {
    fn default() -> Self {
        match Self::zeros(0, Options::default()) {
            Ok(tensor) => tensor,
            Err(error) => panic!("{error}"),
        }
    }
}
