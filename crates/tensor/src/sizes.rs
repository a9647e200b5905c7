//! Sizes as they are written down: `(2, 3)`, `[2, 3]`, `&[2, 3]`, `6`, and `(2, -1)` where one is inferred.

use allotrope_op::{Dims, Shape};
use smallvec::smallvec;

/// The sizes of a new tensor: a number, a tuple of up to eight, an array, a slice, a vector, or the shape
/// of another tensor.
///
/// ```
/// use allotrope_tensor::{DType, Tensor};
/// let x = Tensor::zeros((2, 3), DType::F32)?;
/// assert_eq!(x.shape(), [2, 3]);
/// for y in [
///     Tensor::zeros([2, 3], DType::F32)?,
///     Tensor::zeros(&[2, 3], DType::F32)?,
///     Tensor::zeros(vec![2, 3], DType::F32)?,
///     Tensor::zeros(x.shape(), DType::F32)?,
/// ] {
///     assert_eq!(x, y);
/// }
/// assert_eq!(Tensor::ones(4, DType::F32)?.shape(), [4]);
/// assert_eq!(Tensor::ones((), DType::F32)?.rank(), 0);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
pub trait IntoShape {
    /// The sizes.
    fn into_shape(self) -> impl AsRef<[usize]>;
}

/// The sizes of the same elements: as [`IntoShape`], and of signed numbers, of which one may be -1 and is
/// inferred. In a tuple numbers are of any type, and a hole is `()`, too.
///
/// ```
/// use allotrope_tensor::{DType, Tensor};
/// let x = Tensor::arange(0, 12, 1, DType::F32)?;
/// let rows = x.shape()[0] / 4;
/// assert_eq!(x.reshape((rows, 4))?.shape(), [3, 4]);
/// assert_eq!(x.reshape((rows, -1))?.shape(), [3, 4]);
/// assert_eq!(x.reshape(((), 2, 2))?.shape(), [3, 2, 2]);
/// assert_eq!(x.reshape(&[-1, 6])?.reshape(x.shape())?, x);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
pub trait IntoSizes {
    /// The sizes, -1 for the one to be inferred.
    fn into_sizes(self) -> impl AsRef<[isize]>;
}

/// A size among those of the same elements: a number, or `()` for the one to be inferred.
///
/// ```
/// use allotrope_tensor::{DType, Tensor};
/// let x = Tensor::zeros((2, 3), DType::F32)?;
/// assert_eq!(x.reshape((3_u32, -1))?.shape(), x.reshape((3_i64, ()))?.shape());
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
pub trait Extent {
    /// The size, or -1. What no address has is a size that no elements have.
    fn extent(self) -> isize;
}

impl Extent for () {
    fn extent(self) -> isize {
        -1
    }
}

macro_rules! extents {
    ($($integer:ident)*) => {$(
        impl Extent for $integer {
            fn extent(self) -> isize {
                let beyond = if self > 0 { isize::MAX } else { isize::MIN };
                isize::try_from(self).unwrap_or(beyond)
            }
        }
    )*};
}
extents!(i32 i64 isize u32 u64 usize);

/// Lists of numbers of one type, as they are.
macro_rules! lists {
    ($trait:ident $method:ident $number:ident: $([$($generics:tt)*] $list:ty;)*) => {$(
        impl<$($generics)*> $trait for $list {
            fn $method(self) -> impl AsRef<[$number]> {
                self
            }
        }
    )*};
    ($trait:ident $method:ident $number:ident) => {
        lists! { $trait $method $number:
            ['a] &'a [$number];
            [const RANK: usize] [$number; RANK];
            ['a, const RANK: usize] &'a [$number; RANK];
            [] Vec<$number>;
            ['a] &'a Vec<$number>;
            [] Dims<$number>;
            ['a] &'a Dims<$number>;
        }
    };
}
lists!(IntoShape into_shape usize);
lists!(IntoSizes into_sizes isize);

impl IntoShape for usize {
    fn into_shape(self) -> impl AsRef<[usize]> {
        [self]
    }
}

impl IntoShape for &Shape {
    fn into_shape(self) -> impl AsRef<[usize]> {
        &**self
    }
}

impl IntoShape for Shape {
    fn into_shape(self) -> impl AsRef<[usize]> {
        Dims::from_slice(&self)
    }
}

impl IntoSizes for &Shape {
    fn into_sizes(self) -> impl AsRef<[isize]> {
        self.iter()
            .map(|size| size.extent())
            .collect::<Dims<isize>>()
    }
}

impl IntoSizes for Shape {
    fn into_sizes(self) -> impl AsRef<[isize]> {
        self.iter()
            .map(|size| size.extent())
            .collect::<Dims<isize>>()
    }
}

macro_rules! tuples {
    ($(($($item:ident $number:ident)*))*) => {$(
        impl IntoShape for ($($number,)*) {
            #[allow(non_snake_case, reason = "an item is named as its type")]
            fn into_shape(self) -> impl AsRef<[usize]> {
                let ($($item,)*) = self;
                [$($item),*] as [usize; _]
            }
        }

        impl<$($item: Extent),*> IntoSizes for ($($item,)*) {
            #[allow(non_snake_case, reason = "an item is named as its type")]
            fn into_sizes(self) -> impl AsRef<[isize]> {
                let ($($item,)*) = self;
                let sizes: Dims<isize> = smallvec![$($item.extent()),*];
                sizes
            }
        }
    )*};
}
tuples! {
    ()
    (A usize)
    (A usize B usize)
    (A usize B usize C usize)
    (A usize B usize C usize D usize)
    (A usize B usize C usize D usize E usize)
    (A usize B usize C usize D usize E usize F usize)
    (A usize B usize C usize D usize E usize F usize G usize)
    (A usize B usize C usize D usize E usize F usize G usize H usize)
}
