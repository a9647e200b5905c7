//! `bincount`, `histc`, `histogram`: how many elements fall into each bin.

use allotrope_dtype::{DType, Error, Problem, Set, WeakScalar};
use allotrope_op::Combine;
use allotrope_op::structured::indexing::{BINCOUNT, HISTC, HISTOGRAM};
use allotrope_op::task::values::Refusal;
use allotrope_op::task::{Indexing, Task};
use allotrope_op::{Outcome, Shape};
use smallvec::smallvec;

use super::super::operands::refuse;
use super::scatter_core::Target;
use super::{Indices, Negative, wrong_shape};
use crate::Tensor;
use crate::call::Call;
use crate::device::{perform_one, perform_or};
use crate::transfer::gathered;

/// The bins of a histogram.
#[derive(Clone, Copy, Debug)]
pub enum Edges<'a> {
    /// As many of one width, between two bounds or the least and the greatest element.
    Count(usize, Option<(f64, f64)>),
    /// Between neighbours of a sorted vector.
    Given(&'a Tensor),
}

impl Tensor {
    /// How often each index from zero on occurs in a vector, or the sums of the weights that go
    /// with them, which have their dtype: int64 or uint64 for integers. There are at least
    /// `minlength` results.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::from_slice(&[1_u8, 3, 1], &[3])?;
    /// assert_eq!(x.bincount(None, 0)?.to_vec::<i64>()?, [0, 2, 0, 1]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error unless these are integers, a value error for a negative one, weights of another
    /// shape or anything but a vector, a memory error.
    pub fn bincount(&self, weights: Option<&Self>, minlength: usize) -> Result<Self, Error> {
        if let Some((x, weights)) = gathered((self, weights))? {
            return x.bincount(weights.as_ref(), minlength);
        }
        let op = BINCOUNT.name;
        Call::begin(&BINCOUNT, &[self])?;
        if self.rank() != 1 {
            return Err(wrong_shape(op, "input", self.shape(), "a vector"));
        }
        let greatest = if self.count() == 0 {
            None
        } else {
            match self.amax(None, false)?.item()?.value() {
                WeakScalar::Int(greatest) => Some(greatest),
                _ => None,
            }
        };
        let bins = greatest.map_or(0, |greatest| (greatest + 1).max(0));
        let bins = usize::try_from(bins).unwrap_or(usize::MAX).max(minlength);
        let shape = Shape::new(op, &[bins])?;
        let indices = Indices::new(op, self, 0, bins, Negative::Invalid)?;
        if let Some(weights) = weights {
            if weights.shape() != self.shape() {
                let accepted = format!("that of the input, {}", self.shape());
                return Err(wrong_shape(op, "weights", weights.shape(), accepted));
            }
            let dtype = Outcome::Total.of(weights.dtype());
            let zeros = weights.new_zeros(&shape, dtype);
            let zeros = zeros.map_err(|error| error.in_op(op))?;
            let places = indices.layout.clone();
            let mut target = Target::new(op, &zeros, dtype, 0, &indices, places)?;
            target.combine(Combine::Add, &weights.detach())?;
            let index = self.clone();
            return target.finish()?.with_rule(op, &[weights], move |pass| {
                Ok(smallvec![Some(pass.gradient()?.index_select(0, &index)?)])
            });
        }
        let ordered = indices.compact.expand(self.shape())?.contiguous()?;
        ordered.occurrences(op, bins)
    }

    /// How often each of so many indices occurs in a contiguous vector of them, in int64.
    pub(super) fn occurrences(&self, op: &'static str, bins: usize) -> Result<Self, Error> {
        let (task, shape) = (
            Task::Indexing(Indexing::CountIndices),
            Shape::new(op, &[bins])?,
        );
        perform_or(op, &task, &[self], DType::I64, &shape, || {
            let zeros = self.new_zeros(&shape, DType::I64)?;
            let indices = Indices::known(self.clone());
            let places = indices.layout.clone();
            let mut target = Target::new(op, &zeros, DType::I64, 0, &indices, places)?;
            drop(zeros);
            target.combine(Combine::Add, &self.new_full(&[], 1, DType::I64)?)?;
            target.finish()
        })
    }

    /// How many elements fall into each of `bins` of one width between two bounds, which are the
    /// least and the greatest element if they are equal. Elements outside are left out.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([1.0, 2.0, 2.5, 9.0])?;
    /// assert_eq!(x.histc(2, 0.0, 4.0)?, Tensor::new([1.0, 2.0])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error for complex numbers, a value error for no bins or bounds that are not finite or
    /// not in order, a memory error.
    pub fn histc(&self, bins: usize, low: f64, high: f64) -> Result<Self, Error> {
        let op = HISTC.name;
        let dtype = Call::begin(&HISTC, &[self])?.result;
        check_bins(op, bins)?;
        let bounds = if low == high {
            self.bounds(op, 1.0)?
        } else {
            (low, high)
        };
        let (low, high) = check_bounds(op, bounds)?;
        let shape = Shape::new(op, &[bins])?;
        let task = Task::Indexing(Indexing::CountBins { low, high });
        perform_one(op, &task, &[self], DType::I64, &shape)?.to(dtype)
    }

    /// How many elements fall into each bin, or the sums of their weights, and the edges of the
    /// bins. A bin goes from its lower edge to below its upper one, which the last one includes.
    /// Densities are divided by their sum and the widths of the bins.
    ///
    /// ```
    /// use allotrope_tensor::{Edges, Tensor};
    /// let x = Tensor::new([1.0, 2.0, 2.5, 9.0])?;
    /// let edges = Tensor::new([0.0, 2.0, 4.0])?;
    /// let (counts, _) = x.histogram(Edges::Given(&edges), None, false)?;
    /// assert_eq!(counts, Tensor::new([1.0, 2.0])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`histc`](Self::histc); a value error for weights of another shape, or edges that are not a
    /// vector of at least two in ascending order.
    pub fn histogram(
        &self,
        bins: Edges<'_>,
        weights: Option<&Self>,
        density: bool,
    ) -> Result<(Self, Self), Error> {
        let given = match bins {
            Edges::Given(edges) => Some(edges),
            Edges::Count(..) => None,
        };
        if let Some((x, edges, weights)) = gathered((self, given, weights))? {
            let bins = edges.as_ref().map_or(bins, Edges::Given);
            return x.histogram(bins, weights.as_ref(), density);
        }
        let op = HISTOGRAM.name;
        let operands: Vec<&Self> = [self].into_iter().chain(weights).collect();
        let dtype = Call::begin(&HISTOGRAM, &operands)?.result;
        let edges = match bins {
            Edges::Count(count, bounds) => {
                check_bins(op, count)?;
                let bounds = match bounds {
                    Some((low, high)) if low < high => (low, high),
                    Some((low, high)) if low == high => (low - 0.5, high + 0.5),
                    Some(bounds) => bounds,
                    None => self.bounds(op, 0.5)?,
                };
                let (low, high) = check_bounds(op, bounds)?;
                // Integers are compared with edges that are not rounded.
                let exact = if Set::Inexact.contains(self.dtype()) {
                    dtype
                } else {
                    DType::F64
                };
                self.new_linspace(low, high, count.saturating_add(1), exact)
                    .map_err(|error| error.in_op(op))?
            }
            Edges::Given(edges) => {
                Call::begin(&HISTOGRAM, &[edges])?;
                if edges.rank() != 1 || edges.count() < 2 {
                    let accepted = "a vector of at least two";
                    return Err(wrong_shape(op, "bins", edges.shape(), accepted));
                }
                check_order(op, edges)?;
                edges.clone()
            }
        };
        let count = edges.count() - 1;
        let x = self.ravel()?;
        // One more bin has what is outside.
        let hist = match weights {
            None => {
                // Counts add up in any order: places exist for a piece of the elements at a time.
                let mut hist = x.new_zeros(&[count + 1], DType::I64)?;
                let piece = count.max(256 << 10);
                for start in (0..x.count()).step_by(piece) {
                    let now = x.narrow(0, start as isize, piece.min(x.count() - start))?;
                    let places = edges.bins_of(op, &now)?;
                    hist = hist.add(&places.occurrences(op, count + 1)?)?;
                }
                hist.to(DType::F64)?
            }
            Some(weights) => {
                if weights.shape() != self.shape() {
                    let accepted = format!("that of the input, {}", self.shape());
                    return Err(wrong_shape(op, "weights", weights.shape(), accepted));
                }
                let weights = weights.ravel()?.to(DType::F64)?;
                let places = edges.bins_of(op, &x)?;
                places.bincount(Some(&weights), count + 1)?
            }
        };
        let hist = hist.narrow(0, 0, count)?;
        let hist = if density {
            let wide = edges.to(DType::F64)?;
            let upper = wide.narrow(0, 1, count)?;
            let widths = upper.sub(&wide.narrow(0, 0, count)?)?;
            hist.div(&hist.sum(None, false, None)?)?.div(&widths)?
        } else {
            hist
        };
        Ok((hist.to(dtype)?, edges.to(dtype)?))
    }

    /// The least and the greatest element, moved apart by `widen` each if they are equal; 0 and 1
    /// if there are none.
    fn bounds(&self, op: &'static str, widen: f64) -> Result<(f64, f64), Error> {
        if self.count() == 0 {
            return Ok((0.0, 1.0));
        }
        let bound = |x: Self| match x.to(DType::F64)?.item()?.value() {
            WeakScalar::Float(bound) => Ok::<f64, Error>(bound),
            _ => Ok(0.0),
        };
        let low = bound(self.amin(None, false).map_err(|error| error.in_op(op))?)?;
        let high = bound(self.amax(None, false).map_err(|error| error.in_op(op))?)?;
        if low == high {
            Ok((low - widen, high + widen))
        } else {
            Ok((low, high))
        }
    }
}

fn check_bins(op: &'static str, bins: usize) -> Result<(), Error> {
    if bins > 0 {
        return Ok(());
    }
    let problem = Problem::OutOfRange {
        what: "bins",
        index: None,
        value: bins.to_string(),
        accepted: "1 and more",
    };
    Err(Error::new(op, problem))
}

/// Refuses edges that are below the one before, and NaN.
fn check_order(op: &'static str, edges: &Tensor) -> Result<(), Error> {
    let pairs = edges.count() - 1;
    let lower = edges.narrow(0, 0, pairs)?;
    let ordered = lower.le(&edges.narrow(0, 1, pairs)?)?;
    let refusal = Refusal {
        what: "bins",
        value: None,
        first: Some(1),
        accepted: "edges in ascending order",
    };
    let upper = edges.narrow(0, 1, pairs)?;
    refuse(op, refusal, &ordered.logical_not()?, Some(&upper))
}

fn check_bounds(op: &'static str, (low, high): (f64, f64)) -> Result<(f64, f64), Error> {
    if low.is_finite() && high.is_finite() && low < high {
        return Ok((low, high));
    }
    let (low, high) = (format!("{low:?}"), format!("{high:?}"));
    Err(Error::new(op, Problem::EmptyInterval { low, high })
        .hint("finite bounds, the lower one first"))
}
