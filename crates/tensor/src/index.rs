//! What stands in brackets: integers, ranges, new axes, and arrays of indices or truth values.
//!
//! The rules are NumPy's. Ranges, integers and new axes give a view; arrays gather a copy.

use std::borrow::Cow;

use allotrope_dtype::{DType, Error, Kind, Problem, Scalar, Set};
use allotrope_op::{Builder, Dims, Layout, Shape, Slice};

use smallvec::smallvec;

use crate::autograd::is_recorded;
use crate::device::common_backend;
use crate::elementwise::evaluate_one;
use crate::ops::{Indices, Negative, chooser_beside, sum_slices};
use crate::{Device, Tensor};

const OP: &str = "index";

/// The layout that the items other than arrays leave; beside arrays a single index is one of them.
fn view_of(layout: &Layout, items: &[Index], gathers: bool) -> Result<Layout, Error> {
    let (mut view, mut dim) = (Cow::Borrowed(layout), 0);
    for item in items {
        match item {
            Index::At(index) if !gathers => {
                view = Cow::Owned(view.select(OP, dim, *index)?);
                continue;
            }
            Index::Range(slice) => view = Cow::Owned(view.slice(OP, dim, *slice)?),
            Index::NewAxis => view = Cow::Owned(view.unsqueeze(OP, dim)?),
            Index::At(_) | Index::Array(_) => {}
            Index::Ellipsis => continue,
        }
        dim += 1;
    }
    Ok(view.into_owned())
}

/// Whether a key has indices and ranges alone, no more of them than there are dimensions.
fn is_plain(rank: usize, key: &[Index]) -> bool {
    let is_plain = |item: &Index| matches!(item, Index::At(_) | Index::Range(_));
    key.len() <= rank && key.iter().all(is_plain)
}

/// The layout that such a key leaves.
pub(crate) fn plain_view(layout: &Layout, key: &[Index]) -> Result<Option<Layout>, Error> {
    let is_plain = is_plain(layout.rank(), key);
    is_plain.then(|| view_of(layout, key, false)).transpose()
}

/// One item between brackets.
///
/// ```
/// use allotrope_tensor::{Index, Tensor};
/// let x = Tensor::new([[1, 2], [3, 4]])?;
/// assert_eq!(x.index(&[Index::Ellipsis, Index::At(-1)])?, Tensor::new([2, 4])?);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub enum Index {
    /// One index: the dimension disappears.
    At(isize),
    /// A range with a step.
    Range(Slice),
    /// A new dimension of size one.
    NewAxis,
    /// As many whole dimensions as the other items leave.
    Ellipsis,
    /// Indices of any integer dtype and shape, or a mask of truth values over whole dimensions; a
    /// single truth value adds a dimension of size one or zero.
    Array(Tensor),
}

impl Tensor {
    /// The elements that a key in brackets means.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::{Index, Tensor};
    /// let x = Tensor::arange(0, 6, 1, DType::I64)?.reshape(&[2, 3])?;
    /// let columns = Tensor::from_slice(&[2_u8, 0, 2], &[3])?;
    /// let picked = x.index(&[Index::Ellipsis, Index::Array(columns)])?;
    /// assert_eq!(picked.to_vec::<i64>()?, [2, 0, 2, 5, 3, 5]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for an index out of range or too many items, a dtype error for an array of
    /// floats, a value error for shapes that do not fit.
    pub fn index(&self, key: &[Index]) -> Result<Self, Error> {
        if let Some(moved) = self.following_key(key)? {
            return moved.index(key);
        }
        if let Some(mask) = self.whole_mask(key) {
            return self.masked_select(mask).map_err(|error| error.in_op(OP));
        }
        let selection = self.select_by(key)?;
        if selection.arrays.is_empty() {
            return Ok(selection.view);
        }
        let gathered = selection.gather()?;
        let Selection { view, arrays, .. } = selection;
        if !is_recorded(&[&view]) {
            return Ok(gathered.inherit(&[&view]));
        }
        let shape = view.shape().clone();
        if let [(dim, array)] = &arrays[..] {
            // The usual case, of one array: whole slices are added.
            let (dim, array) = (*dim, array.ravel()?);
            let mut sizes: Vec<isize> = shape.iter().map(|size| *size as isize).collect();
            sizes[dim] = array.count() as isize;
            return gathered.with_rule(OP, &[&view], move |pass| {
                let slices = pass.gradient()?.reshape(&sizes)?;
                Ok(smallvec![Some(sum_slices(
                    OP, &shape, dim, &array, &slices
                )?)])
            });
        }
        let mut key = vec![Index::Range(Slice::ALL); view.rank()];
        for (dim, array) in arrays {
            key[dim] = Index::Array(array);
        }
        gathered.with_rule(OP, &[&view], move |pass| {
            let gradient = pass.gradient()?;
            let zeros = gradient.new_zeros(&shape, gradient.dtype())?;
            Ok(smallvec![Some(zeros.index_put(&key, &gradient, true)?)])
        })
    }

    /// The mask of all elements that a key consists of, if it does.
    pub(crate) fn whole_mask<'a>(&self, key: &'a [Index]) -> Option<&'a Self> {
        let mut items = key.iter().filter(|item| !matches!(item, Index::Ellipsis));
        match (items.next(), items.next()) {
            (Some(Index::Array(mask)), None)
                if mask.dtype() == DType::Bool
                    && mask.rank() > 0
                    && mask.shape() == self.shape() =>
            {
                Some(mask)
            }
            _ => None,
        }
    }

    /// What a key means: a view, and the arrays that choose from it.
    pub(crate) fn select_by(&self, key: &[Index]) -> Result<Selection, Error> {
        if is_plain(self.rank(), key) {
            let change = |layout: &Layout| view_of(layout, key, false);
            return Ok(Selection {
                view: self.viewed(OP, change)?,
                arrays: Vec::new(),
                front: 0,
            });
        }
        let (items, added) = self.spell_out(key)?;
        let whole = added.iter().try_fold(self.clone(), |tensor, dim| {
            tensor.viewed(OP, |layout| layout.unsqueeze(OP, *dim as isize))
        })?;
        let gathers = items.iter().any(|item| matches!(item, Index::Array(_)));
        let is_whole = |item: &Index| match item {
            Index::Range(slice) => *slice == Slice::ALL,
            Index::At(_) | Index::Array(_) => true,
            Index::NewAxis | Index::Ellipsis => false,
        };
        let view = if gathers && items.iter().all(is_whole) {
            whole
        } else {
            whole.viewed(OP, |layout| view_of(layout, &items, gathers))?
        };
        let (mut dim, mut arrays, mut places) = (0, Vec::new(), Vec::new());
        for (place, item) in items.into_iter().enumerate() {
            match item {
                // Beside arrays a single index is an array of one, as NumPy counts it.
                Index::At(index) if gathers => {
                    arrays.push((dim, self.new_full(&[], index as i64, DType::I64)?));
                    places.push(place);
                    dim += 1;
                }
                Index::Range(_) | Index::NewAxis => dim += 1,
                Index::Array(array) => {
                    arrays.push((dim, array));
                    places.push(place);
                    dim += 1;
                }
                Index::At(_) | Index::Ellipsis => {}
            }
        }
        // Arrays side by side leave their dimensions where they were, scattered ones in front.
        let adjacent = places.windows(2).all(|pair| pair[1] == pair[0] + 1);
        let front = match arrays.first() {
            Some((dim, _)) if adjacent => *dim,
            _ => 0,
        };
        Ok(Selection {
            view,
            arrays,
            front,
        })
    }

    /// The key with masks as indices and the ellipsis as whole ranges. A single truth value is an
    /// index of a new dimension of size one; the places of these come second.
    fn spell_out(&self, key: &[Index]) -> Result<(Vec<Index>, Vec<usize>), Error> {
        let takes = |item: &Index| match item {
            Index::At(_) | Index::Range(_) => 1,
            Index::Array(mask) if mask.dtype().kind() == Kind::Bool => mask.rank(),
            Index::Array(_) => 1,
            Index::NewAxis | Index::Ellipsis => 0,
        };
        let used: usize = key.iter().map(takes).sum();
        if key
            .iter()
            .filter(|item| matches!(item, Index::Ellipsis))
            .count()
            > 1
        {
            return Err(Error::new(OP, Problem::RepeatedEllipsis));
        }
        let Some(left) = self.rank().checked_sub(used) else {
            let problem = Problem::TooManyIndices {
                given: used,
                rank: self.rank(),
            };
            return Err(Error::new(OP, problem));
        };
        let (mut items, mut added, mut dim) = (Vec::new(), Vec::new(), 0);
        for item in key {
            match item {
                Index::Ellipsis => {
                    items.extend((0..left).map(|_| Index::Range(Slice::ALL)));
                    dim += left;
                }
                Index::Array(mask) if mask.dtype().kind() == Kind::Bool => {
                    let sizes = &self.shape()[dim..dim + mask.rank()];
                    // As in the array API, a size of zero fits any.
                    let fits = |(own, size): (&usize, &usize)| *own == *size || *own == 0;
                    if !mask.shape().iter().zip(sizes).all(fits) {
                        let (mask, sizes) = (mask.shape().to_vec(), sizes.to_vec());
                        return Err(Error::new(OP, Problem::MaskMismatch { mask, sizes }));
                    }
                    if mask.rank() == 0 {
                        added.push(dim + added.len());
                    }
                    let mask = chooser_beside(mask, self)?;
                    items.extend(mask.true_places()?.into_iter().map(Index::Array));
                    dim += mask.rank();
                }
                Index::Array(array) if !array.dtype().is_integer() => {
                    return Err(Error::not_in_set(OP, array.dtype(), Set::Integer, None));
                }
                Index::Array(array) => {
                    items.push(Index::Array(chooser_beside(array, self)?.into_owned()));
                    dim += 1;
                }
                other => {
                    items.push(other.clone());
                    dim += takes(other);
                }
            }
        }
        Ok((items, added))
    }

    /// A free tensor on the device of the first array of a key that is fixed there; nothing if it is
    /// there. Arrays of the CPU, lists among them, come to it.
    fn following_key(&self, key: &[Index]) -> Result<Option<Self>, Error> {
        if !self.is_device_free() {
            return Ok(None);
        }
        let fixed = key.iter().find_map(|item| match item {
            Index::Array(array) if !array.is_device_free() && array.device() != Device::cpu() => {
                Some(array)
            }
            _ => None,
        });
        match fixed.filter(|array| !self.is_beside(array)) {
            Some(array) => self.to_device(array.device()).map(Some),
            None => Ok(None),
        }
    }

    /// How far behind `first` the elements at indices of some dimensions begin, broadcast together.
    fn starts(&self, arrays: &[(usize, Self)], first: i64) -> Result<Self, Error> {
        let builder = Builder::new(&vec![DType::I64; arrays.len()]);
        let number = |value: i64| Ok(builder.constant(Scalar::new(value, DType::I64)?));
        let (mut starts, mut places) = (number(first)?, Vec::new());
        for (input, (dim, array)) in arrays.iter().enumerate() {
            let (size, stride) = (self.shape()[*dim], self.layout().strides()[*dim]);
            places.push(Indices::new(OP, array, *dim, size, Negative::FromEnd)?.into_tensor());
            starts = starts + builder.input(input) * number(stride as i64)?;
        }
        let places: Vec<&Self> = places.iter().collect();
        evaluate_one(OP, &builder.finish(&[starts]), &places)
    }
}

/// What a key means: a view, and arrays of indices that choose from some of its dimensions.
pub(crate) struct Selection {
    pub(crate) view: Tensor,
    /// The dimensions of the view that are chosen from, with their indices.
    pub(crate) arrays: Vec<(usize, Tensor)>,
    /// Before which of the other dimensions those of the indices stand.
    front: usize,
}

/// Where the elements of a selection lie, in the shape that is selected: `starts[i] * step` behind
/// the place that `base` gives each, with a start as `places` says.
pub(crate) struct Located {
    pub(crate) starts: Tensor,
    pub(crate) step: isize,
    pub(crate) base: Layout,
    pub(crate) places: Layout,
}

impl Selection {
    /// The elements that are selected, in row-major order.
    fn gather(&self) -> Result<Tensor, Error> {
        let operands = self.arrays.iter().map(|(_, array)| array);
        let operands: Vec<&Tensor> = std::iter::once(&self.view).chain(operands).collect();
        let backend = common_backend(OP, &operands)?;
        let (view, dtype, located) = (&self.view, self.view.dtype(), self.locate()?);
        let Located { starts, step, .. } = &located;
        let indices = starts.seen_as(&located.places);
        let memory = backend.pick(OP, dtype, view.seen_as(&located.base), *step, indices)?;
        let shape = located.base.shape().clone();
        Ok(Tensor::from_memory_of(memory, shape, dtype))
    }

    /// Where the elements lie in the memory of the view; there must be arrays.
    pub(crate) fn locate(&self) -> Result<Located, Error> {
        let Self {
            view,
            arrays,
            front,
        } = self;
        let shapes: Vec<&Shape> = arrays.iter().map(|(_, array)| array.shape()).collect();
        let common = Shape::broadcast(OP, &shapes)?;
        let (strides, sizes) = (view.layout().strides(), view.shape());
        let taken = |dim: &usize| arrays.iter().any(|(d, _)| d == dim);
        let rest: Dims<usize> = (0..view.rank()).filter(|dim| !taken(dim)).collect();
        let (before, after) = rest.split_at(*front);
        let size = |dim: &usize| sizes[*dim];
        let sizes = before.iter().map(size).chain(common.iter().copied());
        let shape = Shape::new(
            OP,
            &sizes.chain(after.iter().map(size)).collect::<Dims<_>>(),
        )?;
        let mut offset = view.layout().offset();
        let (starts, step) = match &arrays[..] {
            [(dim, array)] => {
                let size = view.shape()[*dim];
                let indices = Indices::new(OP, array, *dim, size, Negative::FromEnd)?;
                (indices.into_tensor(), strides[*dim])
            }
            _ => {
                // Slices that are read backwards begin at their last place, which starts are counted from.
                let back = rest.iter().map(|dim| (view.shape()[*dim], strides[*dim]));
                let back = back.map(|(size, stride)| stride.min(0) * (size as isize - 1).max(0));
                let back = back.sum::<isize>().unsigned_abs();
                let first = offset as i64 - back as i64;
                offset = back;
                (view.starts(arrays, first)?, 1)
            }
        };
        let stride = |dim: &usize| strides[*dim];
        let still = |rank: usize| std::iter::repeat_n(0, rank);
        let base = before.iter().map(stride).chain(still(common.rank()));
        let base = base.chain(after.iter().map(stride)).collect();
        let own = starts.layout().strides().iter().copied();
        let own = still(before.len()).chain(own).chain(still(after.len()));
        Ok(Located {
            base: Layout::from_parts(shape.clone(), base, offset),
            places: Layout::from_parts(shape, own.collect(), starts.layout().offset()),
            starts,
            step,
        })
    }
}
