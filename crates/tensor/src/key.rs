//! Numbers, ranges and tuples of them between brackets: `x.i((.., 1..3))`.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use allotrope_dtype::Error;
use allotrope_op::Slice;

use crate::elementwise::Operand;
use crate::{Index, Tensor};

impl From<Slice> for Index {
    fn from(slice: Slice) -> Self {
        Self::Range(slice)
    }
}

/// A whole dimension.
impl From<RangeFull> for Index {
    fn from(range: RangeFull) -> Self {
        Self::Range(range.into())
    }
}

/// An array of indices, or a mask.
impl From<Tensor> for Index {
    fn from(array: Tensor) -> Self {
        Self::Array(array)
    }
}

/// An array of indices, or a mask.
impl From<&Tensor> for Index {
    fn from(array: &Tensor) -> Self {
        Self::Array(array.clone())
    }
}

macro_rules! index_from {
    ($($integer:ident)*) => {$(
        /// One index. What no address has is out of range of every tensor.
        impl From<$integer> for Index {
            fn from(index: $integer) -> Self {
                let beyond = if index > 0 { isize::MAX } else { isize::MIN };
                Self::At(isize::try_from(index).unwrap_or(beyond))
            }
        }

        index_from! { $integer: Range RangeFrom RangeTo RangeInclusive RangeToInclusive }
    )*};
    ($integer:ident: $($range:ident)*) => {$(
        impl From<$range<$integer>> for Index {
            fn from(range: $range<$integer>) -> Self {
                Self::Range(range.into())
            }
        }
    )*};
}
index_from!(i32 i64 isize u32 u64 usize);

/// What stands between brackets: one item, or a tuple of up to eight.
///
/// | item | what it means |
/// |---|---|
/// | an integer | that index, from the end if negative; the dimension disappears |
/// | a range, `..`, `1..3`, `..-1`, `2..=4` | those indices, as Python slices them |
/// | a [`Slice`] | a range with a step, `Slice::from(1..).step_by(2)`, or with bounds from both ends, `Slice::new(1, -1, 1)` |
/// | [`NewAxis`](Index::NewAxis) | a new dimension of size one |
/// | [`Ellipsis`](Index::Ellipsis) | the dimensions that other items leave |
/// | a tensor | indices of an integer dtype, or a mask of truth values |
///
/// ```
/// use allotrope_tensor::{Index, Slice, Tensor};
/// let x = Tensor::new([[1, 2], [3, 4]])?;
/// assert_eq!(x.i((1, ..))?, x.i(&[Index::At(1), Index::Range(Slice::ALL)][..])?);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
pub trait IntoKey {
    /// The items.
    fn into_key(self) -> impl AsRef<[Index]>;
}

impl<A: Into<Index>> IntoKey for A {
    fn into_key(self) -> impl AsRef<[Index]> {
        [self.into()]
    }
}

impl IntoKey for &[Index] {
    fn into_key(self) -> impl AsRef<[Index]> {
        self
    }
}

impl IntoKey for Vec<Index> {
    fn into_key(self) -> impl AsRef<[Index]> {
        self
    }
}

macro_rules! key_from_tuples {
    ($(($($item:ident)*))*) => {$(
        impl<$($item: Into<Index>),*> IntoKey for ($($item,)*) {
            #[allow(non_snake_case, reason = "an item is named as its type")]
            fn into_key(self) -> impl AsRef<[Index]> {
                let ($($item,)*) = self;
                [$($item.into()),*] as [Index; _]
            }
        }
    )*};
}
key_from_tuples! {
    ()
    (A)
    (A B)
    (A B C)
    (A B C D)
    (A B C D E)
    (A B C D E F)
    (A B C D E F G)
    (A B C D E F G H)
}

impl Tensor {
    /// The elements that numbers, ranges and index tensors between brackets mean, by NumPy's rules: a
    /// view, or a copy where there is a tensor among them. The short form of [`index`](Self::index).
    ///
    /// ```
    /// use allotrope_tensor::{Ellipsis, NewAxis, Slice, Tensor};
    /// let x = Tensor::new([[0, 1, 2], [3, 4, 5]])?;
    /// assert_eq!(x.i(0)?, Tensor::new([0, 1, 2])?);
    /// assert_eq!(x.i((.., 1..))?, Tensor::new([[1, 2], [4, 5]])?);
    /// assert_eq!(x.i((Ellipsis, -1))?, Tensor::new([2, 5])?);
    /// assert_eq!(x.i((NewAxis, 1, ..2))?, Tensor::new([[3, 4]])?);
    /// assert_eq!(x.i((1, Slice::from(..).step_by(-1)))?, Tensor::new([5, 4, 3])?);
    /// assert_eq!(x.i(&x.gt(2)?)?, Tensor::new([3, 4, 5])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`index`](Self::index).
    pub fn i(&self, key: impl IntoKey) -> Result<Self, Error> {
        self.index(key.into_key().as_ref())
    }

    /// Gives this tensor a new value, with the elements between brackets replaced by others, which are
    /// broadcast to them. The short form of [`assign`](Self::assign).
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let mut x = Tensor::new([[0, 1, 2], [3, 4, 5]])?;
    /// let row = x.i(0)?;
    /// x.set((.., 0), 7)?;
    /// assert_eq!(x, Tensor::new([[7, 1, 2], [7, 4, 5]])?);
    /// assert_eq!(row, Tensor::new([0, 1, 2])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`assign`](Self::assign).
    pub fn set<'a>(
        &mut self,
        key: impl IntoKey,
        value: impl Into<Operand<'a>>,
    ) -> Result<(), Error> {
        self.assign(key.into_key().as_ref(), value)
    }
}
