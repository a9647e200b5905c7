//! `gradient`: slopes between neighbours.

use allotrope_dtype::{Error, WeakScalar};
use allotrope_op::normalize_axes;
use allotrope_op::structured::order::GRADIENT;

use super::operands::{Working, out_of_range, wrong_shape};
use crate::Tensor;
use crate::transfer::gathered;

/// How far elements are apart along a dimension.
#[derive(Clone, Debug)]
pub enum Spacing {
    /// Each this far from the next; a complex number is the direction too.
    Step(WeakScalar),
    /// At the places of a vector.
    Places(Tensor),
}

impl Spacing {
    fn is_complex(&self) -> bool {
        match self {
            Self::Step(step) => matches!(step, WeakScalar::Complex(_)),
            Self::Places(places) => places.dtype().is_complex(),
        }
    }
}

/// So many steps.
fn steps(count: f64, step: WeakScalar) -> WeakScalar {
    match step {
        WeakScalar::Complex(step) => WeakScalar::Complex(step * count),
        WeakScalar::Float(step) => WeakScalar::Float(step * count),
        WeakScalar::Int(step) => WeakScalar::Float(step as f64 * count),
        WeakScalar::Bool(step) => WeakScalar::Float(f64::from(u8::from(step)) * count),
    }
}

/// Three neighbours with a coefficient each.
struct Stencil<'a> {
    line: &'a Tensor,
    dim: isize,
    count: usize,
}

impl Stencil<'_> {
    /// The sum of coefficients times the elements from each start on.
    fn sum(&self, terms: &[(usize, &Tensor)]) -> Result<Tensor, Error> {
        let mut total: Option<Tensor> = None;
        for (start, coefficient) in terms {
            let part = self.line.narrow(self.dim, *start as isize, self.count)?;
            let part = part.mul(*coefficient)?;
            total = Some(match total {
                None => part,
                Some(total) => total.add(&part)?,
            });
        }
        match total {
            Some(total) => Ok(total),
            None => Ok(self.line.clone()),
        }
    }
}

impl Tensor {
    /// The slopes along each of `dims`, a tensor for each: differences of the neighbours of an
    /// element over their distance, exact for parabolas, and at the ends of the nearest elements, for
    /// lines (`edge_order` 1) or parabolas (2). There is a spacing for each; complex ones make the
    /// slopes complex.
    ///
    /// ```
    /// use allotrope_tensor::{Spacing, Tensor};
    /// let x = Tensor::from_slice(&[0.0_f32, 1.0, 4.0, 9.0], &[4])?;
    /// let slopes = x.gradient(&[Spacing::Step(1.into())], &[0], 1)?;
    /// assert_eq!(slopes[0].to_vec::<f32>()?, [1.0, 2.0, 4.0, 5.0]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for a dimension out of range, a value error for one named twice, an edge order
    /// other than 1 and 2, fewer elements than it needs, or spacings that do not fit; a memory error.
    pub fn gradient(
        &self,
        spacing: &[Spacing],
        dims: &[isize],
        edge_order: usize,
    ) -> Result<Vec<Self>, Error> {
        let places = spacing.iter().filter_map(|spacing| match spacing {
            Spacing::Places(places) => Some(places),
            Spacing::Step(_) => None,
        });
        let places: Vec<&Self> = places.collect();
        if let Some((x, places)) = gathered((self, &places[..]))? {
            let mut places = places.into_iter();
            let beside = |spacing: &Spacing| match spacing {
                Spacing::Places(own) => Spacing::Places(places.next().unwrap_or(own.clone())),
                step => step.clone(),
            };
            // bounded: one for each dimension.
            let spacing: Vec<Spacing> = spacing.iter().map(beside).collect();
            return x.gradient(&spacing, dims, edge_order);
        }
        let op = GRADIENT.name;
        let mut working = Working::of(&GRADIENT, &[self])?;
        if spacing.iter().any(Spacing::is_complex) {
            working = Working::in_dtype(working.result.to_complex());
        }
        if !matches!(edge_order, 1 | 2) {
            return Err(out_of_range(op, "edge_order", edge_order, "1 and 2"));
        }
        if spacing.len() != dims.len() {
            let (given, accepted) = (spacing.len(), "one for each dimension");
            return Err(out_of_range(op, "number of spacings", given, accepted));
        }
        let dims = normalize_axes(op, dims, self.rank())?;
        let x = self.to(working.result)?.to(working.compute)?;
        let mut slopes = Vec::new();
        for (dim, spacing) in dims.into_iter().zip(spacing) {
            if self.shape()[dim] <= edge_order {
                let accepted = format!("more than {edge_order} elements along dimension {dim}");
                return Err(wrong_shape(op, "input", self, accepted));
            }
            let made = match spacing {
                Spacing::Step(step) => x.even_slopes(dim, *step, edge_order)?,
                Spacing::Places(places) => {
                    if places.shape()[..] != [self.shape()[dim]] {
                        let accepted = format!("[{}]", self.shape()[dim]);
                        return Err(wrong_shape(op, "spacing", places, accepted));
                    }
                    x.uneven_slopes(dim, places, edge_order)?
                }
            };
            slopes.push(made.to(working.result)?);
        }
        Ok(slopes)
    }

    fn even_slopes(&self, dim: usize, step: WeakScalar, edge_order: usize) -> Result<Self, Error> {
        let (axis, size) = (dim as isize, self.shape()[dim]);
        let part = |start: usize, count: usize| self.narrow(axis, start as isize, count);
        let inner = size - 2;
        let middle = part(2, inner)?
            .sub(&part(0, inner)?)?
            .div(steps(2.0, step))?;
        let edge = |a: usize, b: usize, c: usize, sign: f64| -> Result<Self, Error> {
            if edge_order == 1 {
                return part(b, 1)?.sub(&part(a, 1)?)?.div(steps(sign, step));
            }
            // 4 b - 3 a - c over two steps: the slope of the parabola at its end.
            let twice = part(b, 1)?.mul(4.0)?.sub(&part(a, 1)?.mul(3.0)?)?;
            twice.sub(&part(c, 1)?)?.div(steps(2.0 * sign, step))
        };
        let third = |place: usize| place.min(size - 1);
        let first = edge(0, 1, third(2), 1.0)?;
        let last = edge(size - 1, size - 2, size.saturating_sub(3), -1.0)?;
        Self::cat(&[&first, &middle, &last], axis)
    }

    fn uneven_slopes(&self, dim: usize, places: &Self, edge_order: usize) -> Result<Self, Error> {
        let (axis, size) = (dim as isize, self.shape()[dim]);
        // Complex places are those of complex numbers.
        let (wide, narrow) = match places.dtype().is_complex() {
            true => (places.working_float(), self.dtype()),
            false => (places.working_float(), self.dtype().to_real()),
        };
        let steps = places.to(wide)?.diff(1, 0, None, None)?;
        // A coefficient stands along the dimension, whatever is around it.
        let mut along = vec![1; self.rank()];
        along[dim] = -1;
        let shaped = |x: &Self| x.to(narrow)?.reshape(&along);
        let step = |start: usize, count: usize| steps.narrow(0, start as isize, count);
        let inner = size - 2;
        let (before, after) = (step(0, inner)?, step(1, inner)?);
        let both = before.add(&after)?;
        let stencil = |count| Stencil {
            line: self,
            dim: axis,
            count,
        };
        let middle = stencil(inner).sum(&[
            (0, &shaped(&after.div(&before.mul(&both)?)?.neg()?)?),
            (1, &shaped(&after.sub(&before)?.div(&before.mul(&after)?)?)?),
            (2, &shaped(&before.div(&after.mul(&both)?)?)?),
        ])?;
        let (first, last) = if edge_order == 1 {
            let slope = |start: usize| {
                let rise = self
                    .narrow(axis, start as isize, 2)?
                    .diff(1, axis, None, None)?;
                rise.div(&shaped(&step(start, 1)?)?)
            };
            (slope(0)?, slope(size - 2)?)
        } else {
            let (a, b) = (step(0, 1)?, step(1, 1)?);
            let both = a.add(&b)?;
            let first = stencil(1).sum(&[
                (0, &shaped(&a.add(&both)?.div(&a.mul(&both)?)?.neg()?)?),
                (1, &shaped(&both.div(&a.mul(&b)?)?)?),
                (2, &shaped(&a.div(&b.mul(&both)?)?.neg()?)?),
            ])?;
            let (a, b) = (step(size - 3, 1)?, step(size - 2, 1)?);
            let both = a.add(&b)?;
            let last = stencil(1).sum(&[
                (size - 3, &shaped(&b.div(&a.mul(&both)?)?)?),
                (size - 2, &shaped(&both.div(&a.mul(&b)?)?.neg()?)?),
                (size - 1, &shaped(&b.add(&both)?.div(&b.mul(&both)?)?)?),
            ])?;
            (first, last)
        };
        Self::cat(&[&first, &middle, &last], axis)
    }
}
