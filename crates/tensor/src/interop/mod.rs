//! Arrays and matrices of other crates, each with the feature of its name: copies both ways, in row-major
//! order, of all element types that both have, and of `bool`.
//!
//! | file | what is in it |
//! |---|---|
//! | `ndarray` | arrays of any number of dimensions, and views of tensors as such |
//! | `nalgebra` | matrices and vectors |
//! | `faer` | matrices |
//! | `serde` | tensors in all formats that serde has |

#[cfg(feature = "faer")]
mod faer;
#[cfg(feature = "nalgebra")]
mod nalgebra;
#[cfg(feature = "ndarray")]
mod ndarray;
#[cfg(feature = "serde")]
mod serde;

#[cfg(any(feature = "faer", feature = "nalgebra", feature = "ndarray"))]
mod number {
    use allotrope_dtype::{Element, Error, Nested, Problem};

    use crate::Tensor;
    use crate::host::memory::try_with_capacity;

    /// An item of an array elsewhere: an element of a tensor as it is, or a `bool`.
    pub(super) trait Number: Nested + Clone + From<<Self as Nested>::Element> {}
    impl<T: Nested + Clone + From<T::Element>> Number for T {}

    /// The elements in row-major order as another library has them.
    pub(super) fn numbers<T: Number>(op: &'static str, x: &Tensor) -> Result<Vec<T>, Error> {
        x.check_element(op, T::Element::DTYPE)?;
        let elements = x.to_vec::<T::Element>()?;
        let mut numbers = try_with_capacity(op, elements.len())?;
        numbers.extend(elements.into_iter().map(T::from));
        Ok(numbers)
    }

    /// A tensor that has another number of dimensions than the array it should become.
    #[cold]
    pub(super) fn wrong_rank(op: &'static str, x: &Tensor, accepted: &'static str) -> Error {
        let (what, shape) = ("the tensor", x.shape().to_vec());
        let problem = Problem::WrongRank {
            what,
            shape,
            accepted,
        };
        Error::new(op, problem)
    }

    /// A tensor of the numbers of a matrix, which are read row by row.
    #[cfg(any(feature = "faer", feature = "nalgebra"))]
    pub(super) fn matrix<T: Number>(
        op: &'static str,
        (rows, columns): (usize, usize),
        sizes: &[usize],
        at: impl Fn(usize, usize) -> T,
    ) -> Result<Tensor, Error> {
        let mut numbers = try_with_capacity(op, rows * columns)?;
        for row in 0..rows {
            numbers.extend((0..columns).map(|column| at(row, column)));
        }
        Tensor::from_items(op, &numbers, sizes)
    }
}
