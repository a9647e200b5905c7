//! Shapes: sizes per dimension, broadcasting and axis arithmetic.

use std::fmt;
use std::ops::Deref;

use smallvec::SmallVec;

use crate::per_dim::PerDim;
use crate::{Error, Problem};

/// Values per dimension; up to six without an allocation.
pub type Dims<T> = SmallVec<[T; 6]>;

/// The most dimensions that a tensor has: what walks over them does so on the stack.
pub const MAX_DIMS: usize = 128;

/// The sizes of a tensor's dimensions, [`MAX_DIMS`] at most, whose product fits `isize`.
///
/// ```
/// use allotrope_op::Shape;
/// let shape = Shape::new("zeros", &[2, 3])?;
/// assert_eq!((shape.count(), shape.rank(), shape.to_string().as_str()), (6, 2, "[2, 3]"));
/// # Ok::<(), allotrope_op::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Shape(PerDim<usize>);

impl Shape {
    /// The shape of a tensor without dimensions.
    #[must_use]
    pub fn scalar() -> Self {
        Self::default()
    }

    /// A shape from its sizes.
    ///
    /// # Errors
    /// A value error for more than [`MAX_DIMS`] sizes, or if the number of elements overflows, zero sizes
    /// aside.
    pub fn new(op: &'static str, sizes: &[usize]) -> Result<Self, Error> {
        if sizes.len() > MAX_DIMS {
            let (given, most) = (sizes.len(), MAX_DIMS);
            return Err(Error::new(op, Problem::TooManyDimensions { given, most }));
        }
        // Sizes beside a zero are bounded too: strides are products of them.
        let product = sizes
            .iter()
            .filter(|size| **size != 0)
            .try_fold(1_usize, |product, size| {
                product
                    .checked_mul(*size)
                    .filter(|product| isize::try_from(*product).is_ok())
            });
        match product {
            Some(_) => Ok(Self(PerDim::new(sizes))),
            None => Err(Error::new(
                op,
                Problem::TooManyElements {
                    shape: sizes.to_vec(),
                },
            )),
        }
    }

    /// A shape whose sizes are known to be those of an existing tensor, in another order or fewer: no more
    /// dimensions than it has.
    pub(crate) fn from_checked(sizes: &[usize]) -> Self {
        Self(PerDim::new(sizes))
    }

    /// Gives a dimension another size, that of a part of an existing tensor.
    pub(crate) fn set_size(&mut self, dim: usize, size: usize) {
        self.0[dim] = size;
    }

    /// Leaves a dimension out.
    pub(crate) fn remove(&mut self, dim: usize) {
        self.0.remove(dim);
    }

    /// Reverses the dimensions.
    pub(crate) fn reverse(&mut self) {
        self.0.reverse();
    }

    /// The number of elements.
    #[inline]
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.iter().product()
    }

    /// The number of dimensions.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// The row-major strides, in elements.
    #[must_use]
    pub fn contiguous_strides(&self) -> Dims<isize> {
        let mut stride = 1_isize;
        let mut strides: Dims<isize> = SmallVec::from_elem(0, self.rank());
        for (place, size) in strides.iter_mut().zip(self.0.iter()).rev() {
            *place = stride;
            stride *= (*size).max(1) as isize;
        }
        strides
    }

    /// The shape that several broadcast to: aligned at the last dimension, sizes equal or one.
    ///
    /// ```
    /// use allotrope_op::Shape;
    /// let (a, b) = (Shape::new("add", &[2, 1])?, Shape::new("add", &[3])?);
    /// assert_eq!(Shape::broadcast("add", &[&a, &b])?.to_string(), "[2, 3]");
    /// # Ok::<(), allotrope_op::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error that names two shapes that do not fit.
    pub fn broadcast(op: &'static str, shapes: &[&Self]) -> Result<Self, Error> {
        let rank = shapes.iter().map(|shape| shape.rank()).max().unwrap_or(0);
        let mut sizes: Dims<usize> = SmallVec::from_elem(1, rank);
        for (place, shape) in shapes.iter().enumerate() {
            let missing = rank - shape.rank();
            for (common, size) in sizes[missing..].iter_mut().zip(shape.0.iter()) {
                if *common == 1 {
                    *common = *size;
                } else if *size != 1 && *size != *common {
                    return Err(Self::refuse_broadcast(op, shapes, place));
                }
            }
        }
        Self::new(op, &sizes)
    }

    /// The error that names the first shape before `place` which does not fit the one there.
    #[cold]
    fn refuse_broadcast(op: &'static str, shapes: &[&Self], place: usize) -> Error {
        let fits = |a: &Self, b: &Self| {
            a.0.iter()
                .rev()
                .zip(b.0.iter().rev())
                .all(|(x, y)| x == y || *x == 1 || *y == 1)
        };
        let rhs = shapes[place];
        let lhs = shapes[..place]
            .iter()
            .find(|shape| !fits(shape, rhs))
            .unwrap_or(&rhs);
        Error::new(
            op,
            Problem::NotBroadcastable {
                lhs: lhs.0.to_vec(),
                rhs: rhs.0.to_vec(),
            },
        )
    }
}

impl Deref for Shape {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        &self.0
    }
}

/// Equality with sizes as they are written down.
///
/// ```
/// use allotrope_op::Shape;
/// let shape = &Shape::new("zeros", &[2, 3])?;
/// assert_eq!(shape, [2, 3]);
/// assert!(*shape == [2, 3] && shape != vec![3, 2]);
/// # Ok::<(), allotrope_op::Error>(())
/// ```
impl<S: AsRef<[usize]>> PartialEq<S> for Shape {
    fn eq(&self, sizes: &S) -> bool {
        self.0[..] == *sizes.as_ref()
    }
}

/// Equality with sizes as they are written down.
impl<const RANK: usize> PartialEq<[usize; RANK]> for &Shape {
    fn eq(&self, sizes: &[usize; RANK]) -> bool {
        self.0[..] == *sizes
    }
}

/// Equality with sizes as they are written down.
impl PartialEq<Vec<usize>> for &Shape {
    fn eq(&self, sizes: &Vec<usize>) -> bool {
        self.0[..] == *sizes
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The dimension that a possibly negative axis means.
///
/// # Errors
/// An index error that names the accepted range.
pub fn normalize_axis(op: &'static str, axis: isize, rank: usize) -> Result<usize, Error> {
    let signed = rank as isize;
    if (-signed..signed).contains(&axis) {
        Ok(axis.rem_euclid(signed) as usize)
    } else {
        Err(Error::new(op, Problem::AxisOutOfRange { axis, rank }))
    }
}

/// The dimensions that several axes mean, each named once.
///
/// # Errors
/// An index error for an axis out of range, a value error for one named twice.
pub fn normalize_axes(op: &'static str, axes: &[isize], rank: usize) -> Result<Dims<usize>, Error> {
    let mut dims = Dims::new();
    for axis in axes {
        let dim = normalize_axis(op, *axis, rank)?;
        if dims.contains(&dim) {
            return Err(Error::new(op, Problem::RepeatedAxis { axis: *axis }));
        }
        dims.push(dim);
    }
    Ok(dims)
}

/// The dimensions that several axes mean, each named once. A single element has none: 0 and -1 mean
/// nothing to it, as in torch.
///
/// # Errors
/// As [`normalize_axes`].
pub fn normalize_axes_or_none(
    op: &'static str,
    axes: &[isize],
    rank: usize,
) -> Result<Dims<usize>, Error> {
    let mut dims = normalize_axes(op, axes, rank.max(1))?;
    dims.truncate(rank);
    Ok(dims)
}

/// Sorts a short list by a key, equal items in the order they had: one such as that of dimensions, for
/// which the sort of the standard library has 5 KB of code per type.
pub fn sort_few_by_key<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    for end in 1..items.len() {
        let mut place = end;
        while place > 0 && key(&items[place]) < key(&items[place - 1]) {
            items.swap(place, place - 1);
            place -= 1;
        }
    }
}
/// The sizes of a shape around some neighbouring dimensions: before them, of them, after them.
#[must_use]
pub fn sizes_around(shape: &Shape, first: usize, last: usize) -> [usize; 3] {
    let product = |sizes: &[usize]| sizes.iter().product();
    [
        product(&shape[..first]),
        product(&shape[first..=last]),
        product(&shape[last + 1..]),
    ]
}
