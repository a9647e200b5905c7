//! Views with strides of their own, whose elements may overlap: their gradients add up.

use allotrope_dtype::{DType, Error, Problem};
use allotrope_op::{Layout, Shape, Slice, normalize_axis};
use smallvec::smallvec;

use crate::Tensor;
use crate::autograd::is_recorded;

impl Tensor {
    /// The elements of the memory at strides of their own, from an offset on, which is where the
    /// tensor begins if none is given. Places may repeat.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::arange(0, 4, 1, DType::I64)?;
    /// let windows = x.as_strided(&[2, 2], &[2, 1], Some(0))?;
    /// assert_eq!(windows.to_vec::<i64>()?, [0, 1, 2, 3]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for another number of strides than of sizes, strides below zero, and places
    /// beyond the memory.
    pub fn as_strided(
        &self,
        sizes: &[usize],
        strides: &[isize],
        offset: Option<usize>,
    ) -> Result<Self, Error> {
        let op = "as_strided";
        let shape = Shape::new(op, sizes)?;
        if strides.len() != sizes.len() {
            let problem = Problem::WrongShape {
                what: "stride",
                given: vec![strides.len()],
                accepted: format!("one for each size, [{}]", sizes.len()),
            };
            return Err(Error::new(op, problem));
        }
        let refuse = |what, index, value, accepted| {
            let problem = Problem::OutOfRange {
                what,
                index,
                value,
                accepted,
            };
            Error::new(op, problem)
        };
        if let Some(index) = strides.iter().position(|stride| *stride < 0) {
            let value = strides[index].to_string();
            return Err(refuse("stride", Some(index), value, "strides from 0 on"));
        }
        let offset = offset.unwrap_or(self.layout().offset());
        let elements = self.memory_len();
        let steps = sizes.iter().zip(strides);
        let steps = steps.map(|(size, stride)| size.saturating_sub(1) as u128 * *stride as u128);
        let last = steps.fold(offset as u128, u128::saturating_add);
        if last >= elements as u128 && shape.count() > 0 {
            let accepted = "places in the memory of the tensor";
            return Err(refuse("last place", None, last.to_string(), accepted));
        }
        // Where nothing is read, what begins beyond the memory begins at its end.
        let offset = offset.min(elements);
        let layout = Layout::from_parts(shape, strides.into(), offset);
        self.of_memory(layout, elements)
    }

    /// The elements that a layout finds in the memory, which has so many.
    pub(crate) fn of_memory(&self, layout: Layout, elements: usize) -> Result<Self, Error> {
        let op = "as_strided";
        let view = self.with_layout(layout.clone());
        if !is_recorded(&[self]) {
            return Ok(view.inherit(&[self]));
        }
        let own = self.layout().clone();
        view.with_rule(op, &[self], move |pass| {
            let gradient = pass.gradient()?;
            let whole = Shape::new(op, &[elements])?;
            let zeros = gradient.new_zeros(&whole, gradient.dtype())?;
            let places = gradient.new_arange(0, elements as i64, 1, DType::I64)?;
            let sum = |seen: &Layout, values: &Self| {
                let places = places.with_layout(seen.clone()).ravel()?;
                zeros.index_add(0, &places, &values.ravel()?, 1)
            };
            let mut sums = sum(&layout, &gradient)?;
            if !own.is_contiguous() {
                // Elements of the tensor that lie in one place share its gradient.
                let ones = gradient.new_ones(own.shape(), gradient.dtype())?;
                sums = sums.div(&sum(&own, &ones)?.maximum(1)?)?;
            }
            Ok(smallvec![Some(sums.of_memory(own.clone(), elements)?)])
        })
    }

    /// Windows of `size` elements every `step` along a dimension, as a new last dimension.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let windows = Tensor::new([1, 2, 3])?.unfold(0, 2, 1)?;
    /// assert_eq!(windows, Tensor::new([[1, 2], [2, 3]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for an axis out of range, a value error for a window that does not fit.
    pub fn unfold(&self, axis: isize, size: usize, step: usize) -> Result<Self, Error> {
        let op = "unfold";
        if self.rank() == 0 {
            normalize_axis(op, axis, 1)?;
            return self.unsqueeze(0)?.unfold(0, size, step)?.select(0, 0);
        }
        let view = self.with_layout(self.layout().unfold(op, axis, size, step)?);
        if !is_recorded(&[self]) {
            return Ok(view.inherit(&[self]));
        }
        let shape = self.shape().clone();
        let count = view.shape()[normalize_axis(op, axis, self.rank().max(1))?];
        view.with_rule(op, &[self], move |pass| {
            // Windows may overlap: one addition for each place in them.
            let gradient = pass.gradient()?;
            let whole = Layout::contiguous(shape.clone());
            let mut total = gradient.new_zeros(&shape, gradient.dtype())?;
            for place in 0..size {
                let slice = Slice {
                    start: Some(place as isize),
                    stop: Some((place + (count - 1) * step + 1) as isize),
                    step: step as isize,
                };
                let layout = whole.slice(op, axis, slice)?;
                let part = gradient.select(-1, place as isize)?;
                total = total.add(&part.placed(op, &shape, &layout)?)?;
            }
            Ok(smallvec![Some(total)])
        })
    }
}
