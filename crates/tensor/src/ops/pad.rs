//! `pad`: elements added at the ends of dimensions, or taken away.

use allotrope_dtype::{DType, Error, Operand, Problem, WeakScalar, default_dtype, promotion};
use allotrope_op::structured::movement::PAD;
use allotrope_op::{Dims, Piece, Shape, compute_dtype};
use smallvec::smallvec;

use super::pieces::{Segment, Segments, cut, gathered_back, put_together};
use crate::Tensor;
use crate::autograd::is_recorded;
use crate::call::Call;

const OP: &str = "pad";

/// What stands in the places that padding adds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PadMode {
    /// One value.
    Constant(WeakScalar),
    /// The elements in reverse, without the one at the end.
    Reflect,
    /// The element at the end.
    Replicate,
    /// The elements from the other end.
    Circular,
}

impl Tensor {
    /// The tensor with elements added before and after dimensions. `pad` has two sizes for each, the
    /// last dimension first, as in torch; negative ones take elements away.
    ///
    /// A constant is promoted with the tensor: integers padded with 0.5 are floats. Truth values stay
    /// such beside 0 and 1, which are false and true.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::{PadMode, Tensor};
    /// let x = Tensor::arange(0, 4, 1, DType::I8)?;
    /// assert_eq!(x.pad(&[2, -1], PadMode::Reflect)?.to_vec::<i8>()?, [2, 1, 0, 1, 2]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for an odd number of sizes or too many, for taking away more than there is, and
    /// for more than one turn of reflected or circular padding; a dtype or overflow error for a
    /// constant that no promotion holds; a memory error.
    pub fn pad(&self, pad: &[isize], padding: PadMode) -> Result<Self, Error> {
        Call::begin(&PAD, &[self])?;
        if !pad.len().is_multiple_of(2) || pad.len() / 2 > self.rank() {
            return Err(refuse(
                "number of sizes",
                pad.len() as isize,
                "two for each of the last dimensions",
            ));
        }
        let mut ends: Dims<(isize, isize)> = self.shape().iter().map(|_| (0, 0)).collect();
        for (end, pair) in ends.iter_mut().rev().zip(pad.chunks_exact(2)) {
            *end = (pair[0], pair[1]);
        }
        let mut sizes: Dims<usize> = Dims::new();
        for (size, (low, high)) in self.shape().iter().zip(&ends) {
            sizes.push(padded(*size, *low, *high)?);
        }
        let shape = Shape::new(OP, &sizes)?;
        match padding {
            PadMode::Constant(value) => {
                let padded = pad_constant(&self.detach(), shape, &ends, value)?;
                if !is_recorded(&[self]) {
                    return Ok(padded.inherit(&[self]));
                }
                let back: Dims<isize> = pad.iter().map(|size| -size).collect();
                padded.with_rule(OP, &[self], move |pass| {
                    let zero = PadMode::Constant(WeakScalar::Bool(false));
                    Ok(smallvec![Some(pass.gradient()?.pad(&back, zero)?)])
                })
            }
            _ => {
                let sides = self.shape().iter().zip(&ends);
                // bounded: one per dimension.
                let parts = sides.map(|(size, ends)| segments(*size, *ends, padding));
                // bounded: one per dimension.
                let parts = parts.collect::<Result<Vec<Segments>, Error>>()?;
                let padded = put_together(OP, shape, self, &cut(OP, self, &parts)?)?;
                let sizes = self.shape().clone();
                padded.with_rule(OP, &[self], move |pass| {
                    // Added up in float32 where the dtype is narrower.
                    let gradient = pass.gradient()?;
                    let gradient = gradient.to(compute_dtype(gradient.dtype()))?;
                    Ok(smallvec![Some(gathered_back(gradient, &parts, &sizes)?)])
                })
            }
        }
    }
}

/// A size with elements added or taken away at both ends.
fn padded(size: usize, low: isize, high: isize) -> Result<usize, Error> {
    let taken = low
        .min(0)
        .unsigned_abs()
        .checked_add(high.min(0).unsigned_abs());
    let left = taken.and_then(|taken| size.checked_sub(taken));
    let left = left.ok_or_else(|| {
        let value = low.min(0).saturating_add(high.min(0));
        refuse(
            "negative padding",
            value,
            "at most as many as the dimension has",
        )
    })?;
    let added = left.checked_add(low.max(0) as usize);
    let added = added.and_then(|size| size.checked_add(high.max(0) as usize));
    added.ok_or_else(|| refuse("padding", low.max(high), "sizes that fit memory"))
}

/// The middle of a dimension: what is left of it, and where it goes.
fn middle(size: usize, (low, high): (isize, isize)) -> Segment {
    let cut = low.min(0).unsigned_abs();
    Segment {
        from: cut,
        step: 1,
        count: size - cut - high.min(0).unsigned_abs(),
        to: low.max(0) as usize,
    }
}

/// The ranges of a padded dimension.
fn segments(size: usize, ends: (isize, isize), padding: PadMode) -> Result<Segments, Error> {
    let middle = middle(size, ends);
    let (low, high) = (ends.0.max(0) as usize, ends.1.max(0) as usize);
    let (most, accepted) = match padding {
        PadMode::Reflect => (size.saturating_sub(1), "sizes below that of the dimension"),
        PadMode::Circular => (middle.count, "sizes up to that of the dimension"),
        _ if size == 0 => (0, "sizes of a dimension with elements"),
        _ => (usize::MAX, ""),
    };
    if low.max(high) > most {
        return Err(refuse("padding", low.max(high) as isize, accepted));
    }
    let (before, after, step) = match padding {
        PadMode::Reflect => (low, size.wrapping_sub(2), -1),
        PadMode::Circular => (middle.from + middle.count - low, middle.from, 1),
        _ => (0, size.wrapping_sub(1), 0),
    };
    let part = |from, count, to| Segment {
        from,
        step,
        count,
        to,
    };
    let end = middle.to + middle.count;
    // bounded: one per dimension.
    let parts = [part(before, low, 0), middle, part(after, high, end)];
    Ok(parts.into_iter().filter(|part| part.count > 0).collect())
}

/// The middle with one value around it.
fn pad_constant(
    x: &Tensor,
    shape: Shape,
    ends: &[(isize, isize)],
    value: WeakScalar,
) -> Result<Tensor, Error> {
    let value = match (x.dtype(), value) {
        (DType::Bool, WeakScalar::Int(bit @ 0..=1)) => WeakScalar::Bool(bit == 1),
        _ => value,
    };
    let operands = [
        if x.rank() == 0 {
            Operand::ZeroDim(x.dtype())
        } else {
            Operand::Array(x.dtype())
        },
        Operand::Scalar(value.kind()),
    ];
    let dtype = promotion().result_type(OP, &operands, default_dtype())?;
    let x = &x.to(dtype)?;
    let value = x.new_full(&[], value, dtype);
    let value = value.map_err(|error| error.in_op(OP))?;
    let sides = x.shape().iter().zip(ends);
    let middles: Dims<Segment> = sides.map(|(size, ends)| middle(*size, *ends)).collect();
    // bounded: one per dimension.
    let parts: Vec<Segments> = middles.iter().map(|m| Segments::from_iter([*m])).collect();
    let mut pieces = cut(OP, x, &parts)?;
    // Slabs: the middle of the dimensions before, all of those behind.
    for dim in 0..x.rank() {
        let end = middles[dim].to + middles[dim].count;
        for (start, count) in [(0, middles[dim].to), (end, shape[dim] - end)] {
            let range = |i: usize| match i.cmp(&dim) {
                std::cmp::Ordering::Less => (middles[i].to, middles[i].count),
                std::cmp::Ordering::Equal => (start, count),
                std::cmp::Ordering::Greater => (0, shape[i]),
            };
            let sizes: Dims<usize> = (0..x.rank()).map(|i| range(i).1).collect();
            let sizes = Shape::new(OP, &sizes)?;
            pieces.push(Piece {
                memory: value.view_of().memory,
                dtype,
                layout: value.layout().broadcast_to(OP, &sizes)?,
                start: (0..x.rank()).map(|i| range(i).0).collect(),
            });
        }
    }
    put_together(OP, shape, x, &pieces)
}

#[cold]
fn refuse(what: &'static str, value: isize, accepted: &'static str) -> Error {
    let problem = Problem::OutOfRange {
        what,
        index: None,
        value: value.to_string(),
        accepted,
    };
    Error::new(OP, problem)
}
