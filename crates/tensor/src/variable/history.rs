//! What writes remember for gradients: a write through a view is a write to the tensor that it is a
//! view of, and a view of a tensor that was rewritten is a view of its new value.
//!
//! All of it is geometry of one memory. A gradient of the base is laid out like the base, as an image of
//! the memory; a view's part of the image is where the view's layout has it.

use allotrope_dtype::{DType, Error, Set};
use allotrope_op::{Layout, Shape};
use smallvec::{SmallVec, smallvec};

use super::storage::Base;
use crate::Tensor;
use crate::autograd::{History, Outline, node_of};

/// Where a view lies in the memory of its base.
#[derive(Clone, Debug)]
struct Place {
    base: Layout,
    view: Layout,
    parts: Parts,
    /// The elements of the memory, in the dtype of the base.
    len: usize,
}

/// How the dtypes of a base and a view of it go together.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Parts {
    Same,
    /// The view sees real and imaginary parts.
    RealOfComplex,
    /// The view sees pairs as complex numbers.
    ComplexOfReal,
}

impl Place {
    /// Nothing where no gradient goes through: a view of the bits as another dtype.
    fn new(base: &Base, view: &Layout, dtype: DType, len: usize) -> Option<Self> {
        let parts = match (base.dtype, dtype) {
            (base, view) if base == view => Parts::Same,
            (base, view) if base.is_complex() && base.to_real() == view => Parts::RealOfComplex,
            (base, view) if view.is_complex() && view.to_real() == base => Parts::ComplexOfReal,
            _ => return None,
        };
        if !Set::Inexact.contains(base.dtype) {
            return None;
        }
        Some(Self {
            base: base.layout.clone(),
            view: view.clone(),
            parts,
            len,
        })
    }

    /// An image of the memory with a gradient of the base in it.
    fn image(&self, op: &'static str, gradient: &Tensor) -> Result<Tensor, Error> {
        let image = image_of(op, gradient, &self.base, self.len)?;
        match self.parts {
            Parts::Same | Parts::ComplexOfReal => Ok(image),
            Parts::RealOfComplex => image.view_as_real()?.reshape(&[-1]),
        }
    }

    /// The view's layout in the image.
    fn layout(&self, op: &'static str) -> Result<Layout, Error> {
        if self.parts != Parts::ComplexOfReal {
            return Ok(self.view.clone());
        }
        let sizes: Vec<usize> = self.view.shape().iter().copied().chain([2]).collect();
        let strides = self.view.strides().iter().map(|stride| stride * 2);
        let strides = strides.chain([1]).collect();
        let offset = self.view.offset() * 2;
        Ok(Layout::from_parts(Shape::new(op, &sizes)?, strides, offset))
    }

    /// The base's part of an image.
    fn base_of(&self, op: &'static str, image: &Tensor) -> Result<Tensor, Error> {
        let image = match self.parts {
            Parts::Same | Parts::ComplexOfReal => image.clone(),
            Parts::RealOfComplex => image.reshape(&[-1, 2])?.view_as_complex()?,
        };
        part_of(op, &image, &self.base)
    }

    /// The view's part of a gradient of the base.
    fn take(&self, op: &'static str, gradient: &Tensor) -> Result<Tensor, Error> {
        let part = part_of(op, &self.image(op, gradient)?, &self.layout(op)?)?;
        match self.parts {
            Parts::Same | Parts::RealOfComplex => Ok(part),
            Parts::ComplexOfReal => part.view_as_complex(),
        }
    }

    /// A gradient of the base with zeros where the view is.
    fn clear(&self, op: &'static str, gradient: &Tensor) -> Result<Tensor, Error> {
        let (image, layout) = (self.image(op, gradient)?, self.layout(op)?);
        self.base_of(op, &cleared(op, &image, &layout)?)
    }

    /// A gradient of the view among zeros, as one of the base.
    fn spread(&self, op: &'static str, gradient: &Tensor) -> Result<Tensor, Error> {
        let (gradient, len) = match self.parts {
            Parts::Same => (gradient.clone(), self.len),
            Parts::RealOfComplex => (gradient.clone(), self.len * 2),
            Parts::ComplexOfReal => (gradient.view_as_real()?, self.len),
        };
        let image = image_of(op, &gradient, &self.layout(op)?, len)?;
        self.base_of(op, &image)
    }
}

/// Zeros of a memory's length with elements at the places of a layout; where places repeat, their sum.
fn image_of(
    op: &'static str,
    elements: &Tensor,
    layout: &Layout,
    len: usize,
) -> Result<Tensor, Error> {
    if layout.is_contiguous() && layout.offset() == 0 && elements.count() == len {
        return elements.contiguous()?.reshape(&[-1]);
    }
    let shape = Shape::new(op, &[len])?;
    if !layout.may_repeat() {
        return elements.placed(op, &shape, layout);
    }
    let places = elements.new_arange(0, len as i64, 1, DType::I64)?;
    let places = places.with_layout(layout.clone()).ravel()?;
    let zeros = elements.new_zeros(&shape, elements.dtype())?;
    zeros.index_add(0, &places, &elements.ravel()?, 1)
}

/// The part of an image at the places of a layout.
fn part_of(op: &'static str, image: &Tensor, layout: &Layout) -> Result<Tensor, Error> {
    let image = image.contiguous()?;
    if layout.may_repeat() {
        let len = image.count();
        let is_all = image.layout().offset() == 0 && image.memory_len() == len;
        let image = if is_all { image } else { image.copied()? };
        return image.of_memory(layout.clone(), len);
    }
    image.viewed(op, |base| {
        let offset = base.offset() + layout.offset();
        let (shape, strides) = (layout.shape().clone(), layout.strides().into());
        Ok(Layout::from_parts(shape, strides, offset))
    })
}

/// An image with zeros at the places of a layout.
fn cleared(op: &'static str, image: &Tensor, layout: &Layout) -> Result<Tensor, Error> {
    let mut copy = image.detach().copied()?;
    let zero = image.new_zeros(&[], image.dtype())?;
    copy.place_at(op, layout, &zero.expand(layout.shape())?)?;
    let layout = layout.clone();
    copy.with_rule(op, &[image], move |pass| {
        Ok(smallvec![Some(cleared(op, &pass.gradient()?, &layout)?)])
    })
}

/// The history of a view of a base that has one; none where no gradient goes through.
pub(super) fn of_view(
    base: &Base,
    history: History,
    view: &Layout,
    dtype: DType,
    len: usize,
) -> Option<History> {
    let op = "view";
    let place = Place::new(base, view, dtype, len)?;
    let outline = Outline {
        shape: view.shape().clone(),
        dtype,
        backend: history.node.outputs[history.output].backend,
    };
    Some(node_of(
        op,
        smallvec![Some(history)],
        outline,
        move |pass| Ok(smallvec![Some(place.spread(op, &pass.gradient()?)?)]),
    ))
}

/// The history of a base after a write of a value to a view of it; `former` is what the base had.
pub(super) fn of_write(
    op: &'static str,
    base: &Base,
    former: Option<History>,
    view: &Layout,
    value: &Tensor,
    len: usize,
) -> Option<History> {
    let place = Place::new(base, view, value.dtype(), len)?;
    let edges: SmallVec<[Option<History>; 2]> = smallvec![former, value.history().cloned()];
    if edges.iter().all(Option::is_none) {
        return None;
    }
    let outline = Outline {
        shape: base.layout.shape().clone(),
        dtype: base.dtype,
        backend: value.backend(),
    };
    Some(node_of(op, edges, outline, move |pass| {
        let gradient = pass.gradient()?;
        let for_former = pass.give(0, || place.clear(op, &gradient))?;
        let for_value = pass.give(1, || place.take(op, &gradient))?;
        Ok(smallvec![for_former, for_value])
    }))
}
