//! Diagonals of matrices, and tensors with a part replaced: `diag`, `diag_embed`, `diagonal_scatter`
//! and their kin, `trace`.

use allotrope_dtype::{Error, Problem};
use allotrope_op::structured::Structured;
use allotrope_op::structured::movement::{
    DIAG, DIAG_EMBED, DIAGFLAT, DIAGONAL_SCATTER, SELECT_SCATTER, SLICE_SCATTER, TRACE,
};
use allotrope_op::{Dims, Layout, Shape, Slice, Target, normalize_axes};
use smallvec::smallvec;

use crate::Tensor;
use crate::autograd::is_recorded;
use crate::call::{self, Call};
use crate::device::common_backend;
use crate::transfer::gathered;
use crate::view::ZERO;

impl Tensor {
    /// A matrix with the elements of one dimension on a diagonal and zero elsewhere, or the diagonal
    /// of a matrix.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::arange(1, 3, 1, DType::I8)?;
    /// assert_eq!(x.diag(0)?.to_vec::<i8>()?, [1, 0, 0, 2]);
    /// assert_eq!(x.diag(0)?.diag(0)?.to_vec::<i8>()?, [1, 2]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for other numbers of dimensions than one and two, a memory error.
    pub fn diag(&self, diagonal: isize) -> Result<Self, Error> {
        let op = DIAG.name;
        match self.rank() {
            0 => Err(Error::new(
                op,
                Problem::TooFewDimensions { given: 0, least: 1 },
            )),
            1 => embed(&DIAG, self, diagonal, [0, 1]),
            2 => self.diagonal(diagonal, 0, 1),
            given => Err(Error::new(
                op,
                Problem::TooManyDimensions { given, most: 2 },
            )),
        }
    }

    /// A matrix with all elements, in row-major order, on a diagonal and zero elsewhere.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([1, 2])?.diagflat(0)?;
    /// assert_eq!(x, Tensor::new([[1, 0], [0, 2]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A memory error.
    pub fn diagflat(&self, offset: isize) -> Result<Self, Error> {
        embed(&DIAGFLAT, &self.ravel()?, offset, [0, 1])
    }

    /// Matrices in dimensions `a` and `b` of the result, with the last dimension on a diagonal and
    /// zero elsewhere.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[1, 2]])?.diag_embed(0, -2, -1)?;
    /// assert_eq!(x, Tensor::new([[[1, 0], [0, 2]]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for a tensor without dimensions or the same axis twice, an index error for an
    /// axis out of range, a memory error.
    pub fn diag_embed(&self, offset: isize, a: isize, b: isize) -> Result<Self, Error> {
        embed(&DIAG_EMBED, self, offset, [a, b])
    }

    /// The tensor with other elements on a diagonal, in the common dtype.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let x = Tensor::zeros((2, 2), DType::I32)?.diagonal_scatter(&Tensor::new([1, 2])?, 0, 0, 1)?;
    /// assert_eq!(x, Tensor::new([[1, 0], [0, 2]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error unless `source` has the shape of the diagonal, otherwise as
    /// [`diagonal`](Self::diagonal); a dtype error where promotion refuses, a memory error.
    pub fn diagonal_scatter(
        &self,
        source: &Self,
        offset: isize,
        a: isize,
        b: isize,
    ) -> Result<Self, Error> {
        if let Some((x, source)) = gathered((self, source))? {
            return x.diagonal_scatter(&source, offset, a, b);
        }
        let op = DIAGONAL_SCATTER.name;
        replace(&DIAGONAL_SCATTER, self, source, move |whole| {
            whole.diagonal(op, offset, a, b)
        })
    }

    /// The tensor with other elements at an index of a dimension, in the common dtype.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::zeros(&[2, 2], DType::I8)?;
    /// let y = x.select_scatter(&Tensor::ones(&[2], DType::I8)?, 1, -1)?;
    /// assert_eq!(y.to_vec::<i8>()?, [0, 1, 0, 1]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error unless `source` has the shape of what it replaces, an index error for an axis or
    /// index out of range, a dtype error where promotion refuses, a memory error.
    pub fn select_scatter(&self, source: &Self, axis: isize, index: isize) -> Result<Self, Error> {
        if let Some((x, source)) = gathered((self, source))? {
            return x.select_scatter(&source, axis, index);
        }
        replace(&SELECT_SCATTER, self, source, move |whole| {
            whole.select(SELECT_SCATTER.name, axis, index)
        })
    }

    /// The tensor with other elements in a range of a dimension, in the common dtype.
    ///
    /// ```
    /// use allotrope_tensor::{Slice, Tensor};
    /// let x = Tensor::new([0, 0, 0, 0])?;
    /// let y = x.slice_scatter(&Tensor::new([1, 2])?, 0, Slice::from(1..3))?;
    /// assert_eq!(y, Tensor::new([0, 1, 2, 0])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error unless `source` has the shape of what it replaces or for a step of zero, an
    /// index error for an axis out of range, a dtype error where promotion refuses, a memory error.
    pub fn slice_scatter(&self, source: &Self, axis: isize, slice: Slice) -> Result<Self, Error> {
        if let Some((x, source)) = gathered((self, source))? {
            return x.slice_scatter(&source, axis, slice);
        }
        replace(&SLICE_SCATTER, self, source, move |whole| {
            whole.slice(SLICE_SCATTER.name, axis, slice)
        })
    }

    /// The sum of the diagonal of a matrix; int64 or uint64 of integers and bool.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// assert_eq!(Tensor::new([[1, 2], [3, 4]])?.trace()?.to_scalar::<i64>()?, 5);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for other numbers of dimensions than two, a memory error.
    pub fn trace(&self) -> Result<Self, Error> {
        let op = TRACE.name;
        let dtype = Call::begin(&TRACE, &[self])?.result;
        let given = self.rank();
        match given {
            2 => self.diagonal(0, 0, 1)?.sum(None, false, Some(dtype)),
            0 | 1 => Err(Error::new(
                op,
                Problem::TooFewDimensions { given, least: 2 },
            )),
            _ => Err(Error::new(
                op,
                Problem::TooManyDimensions { given, most: 2 },
            )),
        }
    }
}

/// The tensor with the elements of a view of it replaced.
fn replace<V>(
    row: &'static Structured,
    x: &Tensor,
    source: &Tensor,
    view: V,
) -> Result<Tensor, Error>
where
    V: Fn(&Layout) -> Result<Layout, Error> + Copy + Send + Sync + 'static,
{
    let op = row.name;
    let place = view(&Layout::contiguous(x.shape().clone()))?;
    let dtype = call::result_of(row, [x, source])?;
    if source.shape() != place.shape() {
        let problem = Problem::ShapesDiffer {
            lhs: source.shape().to_vec(),
            rhs: place.shape().to_vec(),
            dim: None,
        };
        return Err(Error::new(op, problem));
    }
    if is_recorded(&[x, source]) {
        let replaced = replace(row, &x.detach(), &source.detach(), view)?;
        return replaced.with_rule(op, &[x, source], move |pass| {
            let gradient = pass.gradient()?;
            let for_rest = pass.give(0, || {
                let nothing = gradient.new_full(&[], false, gradient.dtype())?;
                let nothing = nothing.expand(place.shape())?;
                replace(row, &gradient, &nothing, view)
            })?;
            let for_source = pass.give(1, || gradient.viewed(op, view))?;
            Ok(smallvec![for_rest, for_source])
        });
    }
    let backend = common_backend(op, &[x, source])?;
    let source = source.to(dtype)?;
    let mut result = x.clone();
    result.rewrite(op, dtype, |target| {
        backend.place(op, dtype, source.view_of(), target, &place)
    })?;
    Ok(result)
}

/// Matrices with the last dimension on a diagonal.
fn embed(row: &Structured, x: &Tensor, offset: isize, axes: [isize; 2]) -> Result<Tensor, Error> {
    let op = row.name;
    let dtype = Call::begin(row, &[x])?.result;
    let Some((last, others)) = x.shape().split_last() else {
        return Err(Error::new(
            op,
            Problem::TooFewDimensions { given: 0, least: 1 },
        ));
    };
    let mut dims = normalize_axes(op, &axes, x.rank() + 1)?;
    let [a, b] = [dims[0] as isize, dims[1] as isize];
    dims.sort_unstable();
    let side = last.saturating_add(offset.unsigned_abs());
    let mut sizes: Dims<usize> = others.iter().copied().collect();
    for dim in dims {
        sizes.insert(dim, side);
    }
    let shape = Shape::new(op, &sizes)?;
    let backend = x.backend();
    let mut memory = backend.fill(op, dtype, &ZERO, shape.count())?;
    let place = Layout::contiguous(shape.clone()).diagonal(op, offset, a, b)?;
    let target = Target::new(op, &mut memory, shape.count())?;
    backend.place(op, dtype, x.view_of(), target, &place)?;
    let embedded = Tensor::from_memory_of(memory, shape, dtype);
    embedded.with_rule(op, &[x], move |pass| {
        Ok(smallvec![Some(pass.gradient()?.diagonal(offset, a, b)?)])
    })
}
