//! Views: other layouts of the same bytes. Only `contiguous` and `reshape` ever copy.

use allotrope_dtype::{Error, Problem};
use allotrope_op::{
    Dims, Layout, Shape, Slice, Target, normalize_axes, normalize_axes_or_none, normalize_axis,
};
use smallvec::smallvec;

use crate::autograd::is_recorded;
use crate::{IntoShape, IntoSizes, Tensor};

/// The bytes of zero in any dtype.
pub(crate) const ZERO: [u8; 16] = [0; 16];

impl Tensor {
    /// The same elements in row-major order: the tensor itself if they already are, else a copy.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[1, 2], [3, 4]])?.t()?;
    /// assert_eq!(x.contiguous()?.as_slice::<i32>()?, [1, 3, 2, 4]);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A memory error.
    pub fn contiguous(&self) -> Result<Self, Error> {
        if self.is_contiguous() {
            Ok(self.clone())
        } else {
            self.copied()
        }
    }

    /// The same elements in row-major order, in memory that nobody else writes to: what is checked before
    /// it is used must not change between.
    ///
    /// # Errors
    /// A memory error.
    pub(crate) fn settled(&self) -> Result<Self, Error> {
        if self.is_foreign() {
            self.copied()
        } else {
            self.contiguous()
        }
    }

    /// A copy in row-major order.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([1, 2])?;
    /// assert!(x.copied()? == x && !x.copied()?.shares_storage_with(&x));
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A memory error.
    pub fn copied(&self) -> Result<Self, Error> {
        let (op, dtype) = ("copy", self.dtype());
        let memory = self.backend().copy(op, dtype, self.view_of())?;
        let copy = Self::from_memory_of(memory, self.shape().clone(), dtype);
        copy.with_rule(op, &[self], |pass| Ok(smallvec![Some(pass.gradient()?)]))
    }

    /// The same elements in the same order with other sizes; one size may be -1, or `()` in a tuple, and
    /// is inferred. A view where the layout allows it, else a copy.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::zeros(&[4, 6], DType::F8E5M2)?;
    /// assert_eq!(x.reshape((3, -1))?.shape().to_string(), "[3, 8]");
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error if the number of elements differs; a memory error.
    pub fn reshape(&self, sizes: impl IntoSizes) -> Result<Self, Error> {
        let sizes = sizes.into_sizes();
        self.reshape_to(infer_sizes("reshape", self.shape(), sizes.as_ref())?)
    }

    /// The same elements with other sizes, which multiply to the same.
    fn reshape_to(&self, shape: Shape) -> Result<Self, Error> {
        let reshaped = match self.layout().reshape(&shape) {
            Some(layout) => self.with_layout(layout),
            None => self
                .detach()
                .copied()?
                .with_layout(Layout::contiguous(shape)),
        };
        self.remember_reshape("reshape", reshaped)
    }

    /// A tensor of the same elements with the reshape back as its rule.
    fn remember_reshape(&self, op: &'static str, reshaped: Self) -> Result<Self, Error> {
        if !is_recorded(&[self]) {
            return Ok(reshaped.inherit(&[self]));
        }
        let shape = self.shape().clone();
        reshaped.with_rule(op, &[self], move |pass| {
            Ok(smallvec![Some(pass.gradient()?.reshape_to(shape.clone())?)])
        })
    }

    /// The dimensions in the order of a permuted layout.
    fn permuted(&self, op: &'static str, axes: &[isize]) -> Result<Self, Error> {
        let permuted = self.with_layout(self.layout().permute(op, axes)?);
        if !is_recorded(&[self]) {
            return Ok(permuted.inherit(&[self]));
        }
        let dims = normalize_axes(op, axes, self.rank())?;
        let mut back: Dims<isize> = axes.into();
        for (place, dim) in dims.iter().enumerate() {
            back[*dim] = place as isize;
        }
        permuted.with_rule(op, &[self], move |pass| {
            Ok(smallvec![Some(pass.gradient()?.permute(&back)?)])
        })
    }

    /// Repeated to a shape that the tensor broadcasts to. Gradients are summed by the engine.
    fn repeated_to(&self, op: &'static str, shape: &Shape) -> Result<Self, Error> {
        let expanded = self.with_layout(self.layout().broadcast_to(op, shape)?);
        expanded.with_rule(op, &[self], |pass| Ok(smallvec![Some(pass.gradient()?)]))
    }

    /// A view of some elements, each at most once, by a change of layout. Gradients go back to
    /// where the elements were, among zeros.
    pub(crate) fn viewed(
        &self,
        op: &'static str,
        change: impl Fn(&Layout) -> Result<Layout, Error>,
    ) -> Result<Self, Error> {
        let view = self.with_layout(change(self.layout())?);
        if !is_recorded(&[self]) {
            return Ok(view.inherit(&[self]));
        }
        let shape = self.shape().clone();
        let layout = change(&Layout::contiguous(shape.clone()))?;
        view.with_rule(op, &[self], move |pass| {
            Ok(smallvec![Some(
                pass.gradient()?.placed(op, &shape, &layout)?
            )])
        })
    }

    /// Zeros with the tensor's elements at the places of a layout, none of which is there twice.
    pub(crate) fn placed(
        &self,
        op: &'static str,
        shape: &Shape,
        layout: &Layout,
    ) -> Result<Self, Error> {
        let (backend, dtype) = (self.backend(), self.dtype());
        let mut memory = backend.fill(op, dtype, &ZERO, shape.count())?;
        let target = Target::new(op, &mut memory, shape.count())?;
        backend.place(op, dtype, self.view_of(), target, layout)?;
        let placed = Self::from_memory_of(memory, shape.clone(), dtype);
        if !is_recorded(&[self]) {
            return Ok(placed.inherit(&[self]));
        }
        let layout = layout.clone();
        placed.with_rule(op, &[self], move |pass| {
            let gradient = pass.gradient()?.contiguous()?;
            let change = |base: &Layout| -> Result<Layout, Error> {
                let offset = base.offset() + layout.offset();
                let (shape, strides) = (layout.shape().clone(), layout.strides().into());
                Ok(Layout::from_parts(shape, strides, offset))
            };
            Ok(smallvec![Some(gradient.viewed(op, change)?)])
        })
    }

    /// The dimensions from `start` to `end`, both included, as one.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let x = Tensor::zeros((2, 3, 4), DType::F32)?;
    /// assert_eq!(x.flatten(1, -1)?.shape(), [2, 12]);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for an axis out of range, a value error if `end` is before `start`.
    pub fn flatten(&self, start: isize, end: isize) -> Result<Self, Error> {
        if self.rank() == 0 {
            return self.reshape(&[1]);
        }
        let first = normalize_axis("flatten", start, self.rank())?;
        let last = normalize_axis("flatten", end, self.rank())?;
        if last < first {
            return Err(Error::new("flatten", Problem::AxesReversed { start, end }));
        }
        let shape = self.shape();
        let joined: usize = shape[first..=last].iter().product();
        let sizes: Dims<isize> = shape[..first]
            .iter()
            .chain([&joined])
            .chain(&shape[last + 1..])
            .map(|size| *size as isize)
            .collect();
        self.reshape(&sizes)
    }

    /// All elements in row-major order as one dimension.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// assert_eq!(Tensor::new([[1, 2], [3, 4]])?.ravel()?, Tensor::new([1, 2, 3, 4])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A memory error.
    pub fn ravel(&self) -> Result<Self, Error> {
        self.reshape(&[-1])
    }

    /// One dimension as several, one of whose sizes may be -1 and is inferred.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::zeros(&[2, 6], DType::F32)?;
    /// assert_eq!(x.unflatten(1, &[3, -1])?.shape().to_string(), "[2, 3, 2]");
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for an axis out of range, a value error if the sizes do not multiply to that
    /// of the dimension.
    pub fn unflatten(&self, axis: isize, sizes: &[isize]) -> Result<Self, Error> {
        let op = "unflatten";
        let dim = normalize_axis(op, axis, self.rank())?;
        let shape = self.shape();
        let parts = infer_sizes(op, &shape[dim..=dim], sizes)?;
        let before = shape[..dim].iter();
        let sizes: Dims<usize> = before
            .chain(parts.iter())
            .chain(&shape[dim + 1..])
            .copied()
            .collect();
        self.reshape_to(Shape::new(op, &sizes)?)
    }

    /// With the sizes of another tensor, in the same order.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let (x, y) = (Tensor::new([1, 2])?, Tensor::zeros((2, 1), DType::F32)?);
    /// assert_eq!(x.reshape_as(&y)?, Tensor::new([[1], [2]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error if the number of elements differs; a memory error.
    pub fn reshape_as(&self, other: &Self) -> Result<Self, Error> {
        let sizes: Dims<isize> = other.shape().iter().map(|size| *size as isize).collect();
        self.reshape(&sizes)
            .map_err(|error| error.in_op("reshape_as"))
    }

    /// Two dimensions exchanged. A single element has none, and takes 0 and -1 for itself.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let x = Tensor::zeros((2, 3, 4), DType::F32)?;
    /// assert_eq!(x.transpose(0, -1)?.shape(), [4, 3, 2]);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for an axis out of range.
    pub fn transpose(&self, a: isize, b: isize) -> Result<Self, Error> {
        let op = "transpose";
        let rank = self.rank().max(1);
        let (a, b) = (normalize_axis(op, a, rank)?, normalize_axis(op, b, rank)?);
        let mut axes: Dims<isize> = (0..self.rank() as isize).collect();
        if a != b {
            axes.swap(a, b);
        }
        self.permuted(op, &axes)
    }

    /// The dimensions in another order.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let x = Tensor::zeros((2, 3, 4), DType::F32)?;
    /// assert_eq!(x.permute(&[2, 0, 1])?.shape(), [4, 2, 3]);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index or value error unless every dimension is named exactly once.
    pub fn permute(&self, axes: &[isize]) -> Result<Self, Error> {
        self.permuted("permute", axes)
    }

    /// The dimensions at `source` moved to `destination`, the others in the order they were.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::zeros(&[2, 3, 4], DType::F32)?;
    /// assert_eq!(x.movedim(&[0], &[-1])?.shape().to_string(), "[3, 4, 2]");
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for an axis out of range, a value error for one named twice or for unequally
    /// many of them.
    pub fn movedim(&self, source: &[isize], destination: &[isize]) -> Result<Self, Error> {
        let op = "movedim";
        // A single element takes 0 and -1 for itself, as everywhere.
        let from = normalize_axes(op, source, self.rank().max(1))?;
        let to = normalize_axes(op, destination, self.rank().max(1))?;
        if from.len() != to.len() {
            let problem = Problem::WrongAxisCount {
                given: to.len(),
                rank: from.len(),
            };
            return Err(Error::new(op, problem));
        }
        let mut others = (0..self.rank()).filter(|dim| !from.contains(dim));
        let order = (0..self.rank()).map(|place| {
            let moved = to.iter().position(|dim| *dim == place);
            moved.map_or_else(|| others.next().unwrap_or(place), |i| from[i]) as isize
        });
        let order: Dims<isize> = order.collect();
        self.permuted(op, &order)
    }

    /// A matrix with its dimensions exchanged; fewer dimensions stay as they are.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// assert_eq!(Tensor::new([[1, 2]])?.t()?, Tensor::new([[1], [2]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for more than two dimensions.
    pub fn t(&self) -> Result<Self, Error> {
        match self.rank() {
            0 | 1 => Ok(self.clone()),
            2 => self.transpose(0, 1),
            given => {
                let problem = Problem::TooManyDimensions { given, most: 2 };
                Err(Error::new("t", problem).hint("x.mT"))
            }
        }
    }

    /// The elements whose indices in two dimensions are `offset` apart, as a new last dimension.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::arange(0, 6, 1, DType::I8)?.reshape(&[2, 3])?;
    /// assert_eq!(x.diagonal(1, 0, 1)?.to_vec::<i8>()?, [1, 5]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for an axis out of range, a value error for the same axis twice.
    pub fn diagonal(&self, offset: isize, a: isize, b: isize) -> Result<Self, Error> {
        self.viewed("diagonal", |layout| {
            layout.diagonal("diagonal", offset, a, b)
        })
    }

    /// Repeated along dimensions of size one and new leading dimensions, without a copy.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// assert_eq!(Tensor::new([[1], [2]])?.expand((2, 2))?, Tensor::new([[1, 1], [2, 2]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error if a size is neither equal nor one.
    pub fn expand(&self, sizes: impl IntoShape) -> Result<Self, Error> {
        let shape = Shape::new("expand", sizes.into_shape().as_ref())?;
        self.repeated_to("expand", &shape)
    }

    /// Repeated to the sizes of another tensor, without a copy.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let (x, y) = (Tensor::new([1, 2])?, Tensor::zeros((2, 2), DType::F32)?);
    /// assert_eq!(x.expand_as(&y)?, Tensor::new([[1, 2], [1, 2]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error if a size is neither equal nor one.
    pub fn expand_as(&self, other: &Self) -> Result<Self, Error> {
        self.repeated_to("expand_as", other.shape())
    }

    /// A new dimension of size one before `axis`.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// assert_eq!(Tensor::new([1, 2])?.unsqueeze(-1)?.shape(), [2, 1]);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for an axis out of range.
    pub fn unsqueeze(&self, axis: isize) -> Result<Self, Error> {
        let view = self.with_layout(self.layout().unsqueeze("unsqueeze", axis)?);
        self.remember_reshape("unsqueeze", view)
    }

    /// Without the named dimensions of size one, or without all of them.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let x = Tensor::zeros((1, 2, 1), DType::F32)?;
    /// assert_eq!(x.squeeze(None)?.shape(), [2]);
    /// assert_eq!(x.squeeze(Some(&[0]))?.shape(), [2, 1]);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for an axis out of range.
    pub fn squeeze(&self, axes: Option<&[isize]>) -> Result<Self, Error> {
        let view = self.with_layout(self.layout().squeeze("squeeze", axes)?);
        self.remember_reshape("squeeze", view)
    }

    /// One index of a dimension, which disappears.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// assert_eq!(Tensor::new([[1, 2], [3, 4]])?.select(1, -1)?, Tensor::new([2, 4])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for an axis or index out of range.
    pub fn select(&self, axis: isize, index: isize) -> Result<Self, Error> {
        self.viewed("select", |layout| layout.select("select", axis, index))
    }

    /// A range of one dimension, as Python slices it.
    ///
    /// ```
    /// use allotrope_tensor::{Slice, Tensor};
    /// let x = Tensor::new([0, 1, 2, 3, 4])?;
    /// assert_eq!(x.slice(0, Slice::from(1..).step_by(2))?, Tensor::new([1, 3])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for an axis out of range, a value error for a step of zero.
    pub fn slice(&self, axis: isize, slice: Slice) -> Result<Self, Error> {
        self.viewed("slice", |layout| layout.slice("slice", axis, slice))
    }

    /// The dimensions with their elements in reverse.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// assert_eq!(Tensor::new([[1, 2], [3, 4]])?.flip(&[0])?, Tensor::new([[3, 4], [1, 2]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for an axis out of range.
    pub fn flip(&self, axes: &[isize]) -> Result<Self, Error> {
        let reverse = Slice {
            step: -1,
            ..Slice::ALL
        };
        let dims = normalize_axes_or_none("flip", axes, self.rank())?;
        let layout = dims.iter().try_fold(self.layout().clone(), |layout, dim| {
            layout.slice("flip", *dim as isize, reverse)
        })?;
        let axes: Dims<isize> = axes.into();
        self.with_layout(layout)
            .with_rule("flip", &[self], move |pass| {
                Ok(smallvec![Some(pass.gradient()?.flip(&axes)?)])
            })
    }
}

/// Tensors repeated to the shape that they broadcast to, without a copy.
///
/// ```
/// use allotrope_dtype::DType;
/// use allotrope_tensor::{Tensor, broadcast_tensors};
/// let (x, y) = (Tensor::zeros(&[2, 1], DType::F32)?, Tensor::zeros(&[3], DType::I8)?);
/// let both = broadcast_tensors(&[&x, &y])?;
/// assert_eq!(both[1].shape().to_string(), "[2, 3]");
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
///
/// # Errors
/// A value error that names two shapes that do not fit.
pub fn broadcast_tensors(tensors: &[&Tensor]) -> Result<Vec<Tensor>, Error> {
    let op = "broadcast_tensors";
    let shapes: Vec<&Shape> = tensors.iter().map(|tensor| tensor.shape()).collect();
    let shape = Shape::broadcast(op, &shapes)?;
    let expand = |tensor: &&Tensor| tensor.repeated_to(op, &shape);
    tensors.iter().map(expand).collect()
}

/// The shape that sizes with at most one -1 mean for the elements of another.
pub(crate) fn infer_sizes(
    op: &'static str,
    from: &[usize],
    sizes: &[isize],
) -> Result<Shape, Error> {
    let refuse = || {
        let (from, to) = (from.to_vec(), sizes.to_vec());
        Error::new(op, Problem::CannotReshape { from, to })
    };
    let count: usize = from.iter().product();
    let known = sizes.iter().filter(|size| **size != -1);
    let known = known.map(|size| usize::try_from(*size).map_err(|_| refuse()));
    let known = known.collect::<Result<Dims<usize>, Error>>()?;
    let product = Shape::new(op, &known)?.count();
    let missing = match sizes.len() - known.len() {
        0 if product == count => 1,
        1 if product > 0 && count.is_multiple_of(product) => count / product,
        0 | 1 => return Err(refuse()),
        several => {
            let problem = Problem::OutOfRange {
                what: "number of sizes of -1",
                index: None,
                value: several.to_string(),
                accepted: "0 and 1",
            };
            return Err(Error::new(op, problem));
        }
    };
    let sizes: Dims<usize> = sizes
        .iter()
        .map(|size| usize::try_from(*size).unwrap_or(missing))
        .collect();
    Shape::new(op, &sizes)
}

/// More bytes than there are addresses.
#[cold]
pub(crate) fn out_of_memory(op: &'static str) -> Error {
    Error::new(op, Problem::OutOfMemory { bytes: usize::MAX })
}
