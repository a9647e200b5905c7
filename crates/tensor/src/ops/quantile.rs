//! Elements at fractions of the order along a dimension.

use crate::host::memory::{try_collect, try_vec};
use std::str::FromStr;

use allotrope_cpu::kernel::sort::{Rank, count_numbers, nth, sort};
use allotrope_dtype::{DType, Error, Problem};
use allotrope_op::Shape;
use allotrope_op::structured::Structured;
use allotrope_op::structured::order::{NANQUANTILE, QUANTILE};

use smallvec::smallvec;

use super::axis_view::AxisView;
use crate::autograd::{is_grad_enabled, is_recorded};
use crate::call;
use crate::elementwise::room;
use crate::{Index, Tensor};

/// What stands between two neighbours in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QuantileInterpolation {
    /// The point as far between them as the fraction is.
    #[default]
    Linear,
    /// The lower one.
    Lower,
    /// The higher one.
    Higher,
    /// The point halfway.
    Midpoint,
    /// The nearer one; of both the one with the even place.
    Nearest,
}

impl FromStr for QuantileInterpolation {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Ok(match name {
            "linear" => Self::Linear,
            "lower" => Self::Lower,
            "higher" => Self::Higher,
            "midpoint" => Self::Midpoint,
            "nearest" => Self::Nearest,
            _ => {
                let problem = Problem::UnknownOption {
                    what: "interpolation",
                    given: name.to_owned(),
                    accepted: "linear, lower, higher, midpoint, nearest".to_owned(),
                };
                return Err(Error::new(QUANTILE.name, problem));
            }
        })
    }
}

impl Tensor {
    /// The elements at fractions `q` of the order along `dim`, or of everything; NaN where there is
    /// one. Several fractions are the first dimension of the result. Interpolated in float64, and
    /// rounded once to the dtype; of integers to the default float.
    ///
    /// ```
    /// use allotrope_tensor::{QuantileInterpolation, Tensor};
    /// let x = Tensor::from_slice(&[4.0_f32, 1.0, 3.0, 2.0], &[4])?;
    /// let half = Tensor::from_slice(&[0.5_f64], &[])?;
    /// let middle = x.quantile(&half, None, false, QuantileInterpolation::Linear)?;
    /// assert_eq!(middle.to_vec::<f32>()?, [2.5]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for no elements, for fractions beyond 0 and 1 or of several dimensions, a dtype
    /// error for complex numbers, an index error for a dimension out of range, a memory error.
    pub fn quantile(
        &self,
        q: &Self,
        dim: Option<isize>,
        keepdim: bool,
        interpolation: QuantileInterpolation,
    ) -> Result<Self, Error> {
        self.fractions(&QUANTILE, q, dim, keepdim, interpolation)
    }

    /// [`quantile`](Self::quantile) of the elements that are not NaN.
    ///
    /// # Errors
    /// As [`quantile`](Self::quantile).
    pub fn nanquantile(
        &self,
        q: &Self,
        dim: Option<isize>,
        keepdim: bool,
        interpolation: QuantileInterpolation,
    ) -> Result<Self, Error> {
        self.fractions(&NANQUANTILE, q, dim, keepdim, interpolation)
    }

    fn fractions(
        &self,
        row: &Structured,
        q: &Self,
        dim: Option<isize>,
        keepdim: bool,
        interpolation: QuantileInterpolation,
    ) -> Result<Self, Error> {
        let op = row.name;
        let result = call::result_dtype(row, self.dtype())?;
        let fractions = read_fractions(op, q)?;
        let Some(dim) = dim else {
            let flat = self.ravel()?;
            let found = flat.fractions(row, q, Some(0), false, interpolation)?;
            if !keepdim {
                return Ok(found);
            }
            let sizes: Vec<isize> = q.shape().iter().map(|size| *size as isize).collect();
            return found.reshape(&[sizes, vec![1; self.rank()]].concat());
        };
        let lines = AxisView::new(op, self, dim)?;
        lines.need_elements()?;
        let (length, count) = (lines.length(), lines.count());
        let is_recorded = is_recorded(&[self, q]);
        let all = fractions.len().saturating_mul(count);
        let (mut low, mut high) = (listed(op, all, 0.0)?, listed(op, all, 0.0)?);
        let mut shares = listed(op, all, (0.0, 0.0))?;
        let mut between = None;
        // A gradient asks for the order of all lines; others are sorted a few at a time.
        let selects = length >= LONG && fractions.len() <= SELECTED && !is_recorded && count > 0;
        let at_once = match is_recorded {
            true => count,
            false if selects => 1,
            false => (SORTED / length).max(1),
        };
        let mut first = 0;
        loop {
            let now = at_once.min(count - first);
            let part = Part::new(&lines, first..first + now, selects, is_recorded)?;
            let mut places = (Vec::new(), Vec::new());
            for (row_of, fraction) in fractions.iter().enumerate() {
                for (line, numbers) in part.numbers.iter().enumerate() {
                    let whole = *numbers as usize == length;
                    let rank = if *numbers > 0 && (whole || row == &NANQUANTILE) {
                        fraction * (numbers - 1) as f64
                    } else {
                        (length - 1) as f64
                    };
                    let start = line * length;
                    places.0.push((start + rank.floor() as usize) as i64);
                    places.1.push((start + rank.ceil() as usize) as i64);
                    shares[row_of * count + first + line] = (rank - rank.floor(), rank);
                }
            }
            let found = (part.pick(&places.0)?, part.pick(&places.1)?);
            for (at, (lower, upper)) in found.0.into_iter().zip(found.1).enumerate() {
                let to = at / now * count + first + at % now;
                (low[to], high[to]) = (lower, upper);
            }
            if is_recorded {
                let order = &part.order;
                let found = |place: &i64| place - place % length as i64 + order[*place as usize];
                let found = |places: &[i64]| try_collect(op, places.iter().map(found));
                let shares = shares.iter().map(|(share, rank)| match interpolation {
                    QuantileInterpolation::Linear => *share,
                    QuantileInterpolation::Midpoint if *share > 0.0 => 0.5,
                    QuantileInterpolation::Higher => 1.0,
                    QuantileInterpolation::Nearest if rank.round_ties_even() != rank.floor() => 1.0,
                    _ => 0.0,
                });
                let steps = part.numbers.iter().map(|numbers| match interpolation {
                    QuantileInterpolation::Linear => (numbers - 1) as f64,
                    _ => 0.0,
                });
                between = Some(Between {
                    low: Self::from_slice(&found(&places.0)?, &[all])?,
                    high: Self::from_slice(&found(&places.1)?, &[all])?,
                    shares: Self::from_slice(&try_collect(op, shares)?, &[all])?,
                    steps: Self::from_slice(&try_collect(op, steps)?, &[count])?,
                });
            }
            first += now;
            if first >= count {
                break;
            }
        }
        let values = low
            .iter()
            .zip(&high)
            .zip(&shares)
            .map(|((low, high), (share, rank))| {
                let is_low = match interpolation {
                    // Equal infinities have no distance.
                    QuantileInterpolation::Linear if *share > 0.0 && low != high => {
                        return point_between(*low, *high, *share);
                    }
                    QuantileInterpolation::Midpoint if *share > 0.0 && low != high => {
                        return point_between(*low, *high, 0.5);
                    }
                    QuantileInterpolation::Higher => false,
                    QuantileInterpolation::Nearest => rank.round_ties_even() == rank.floor(),
                    _ => true,
                };
                if is_low { *low } else { *high }
            });
        let values: Vec<f64> = try_collect(op, values)?;
        let mut found = Self::from_slice(&values, &[fractions.len(), count])?.to(result)?;
        if let Some(between) = between {
            found = between.remember(found, op, &lines.flat()?, q)?;
        }
        // Back to the shape without the dimension, the fractions before it.
        let mut sizes = lines.kept_sizes(keepdim);
        if q.rank() == 1 {
            sizes.insert(0, fractions.len() as isize);
        }
        found.reshape(&sizes)
    }
}

/// Elements that are sorted at once.
const SORTED: usize = 256 << 10;
/// Elements of a line that is too long to be sorted for a few fractions, and how many are few.
const LONG: usize = 1 << 20;
const SELECTED: usize = 4;

/// So many of one value.
fn listed<T: Clone>(op: &'static str, count: usize, value: T) -> Result<Vec<T>, Error> {
    try_vec(op, count, value)
}

/// Some lines whose elements are picked by their ranks: sorted, or one long line as it is.
struct Part<'a> {
    bytes: &'a [u8],
    dtype: DType,
    sorted: Option<Tensor>,
    /// Where the sorted elements were, if that is asked for.
    order: Vec<i64>,
    /// The elements of each line that are no NaN.
    numbers: Vec<i64>,
}

impl<'a> Part<'a> {
    fn new(
        lines: &'a AxisView,
        range: std::ops::Range<usize>,
        selects: bool,
        ordered: bool,
    ) -> Result<Self, Error> {
        let (op, dtype, length) = (lines.op(), lines.dtype(), lines.length());
        let (size, count) = (length * dtype.itemsize(), range.len());
        let bytes = &lines.bytes()[range.start * size..range.end * size];
        let mut part = Self {
            bytes,
            dtype,
            sorted: None,
            order: Vec::new(),
            numbers: Vec::new(),
        };
        if selects {
            part.numbers = vec![count_numbers(dtype, bytes) as i64];
            return Ok(part);
        }
        let shape = Shape::new(op, &[count, length])?;
        let mut values = room(op, &shape, dtype)?;
        if ordered {
            part.order = listed(op, length * count, 0)?;
        }
        sort(dtype, bytes, length, false, &mut values, &mut part.order)?;
        let sorted = Tensor::from_buffer(values, shape, dtype);
        let numbers = sorted.eq(&sorted)?.sum(Some(&[1]), false, None)?;
        part.numbers = numbers.to_vec()?;
        part.sorted = Some(sorted);
        Ok(part)
    }

    /// The elements at places in order, line after line.
    fn pick(&self, places: &[i64]) -> Result<Vec<f64>, Error> {
        let picked = match &self.sorted {
            Some(sorted) => {
                let places = Tensor::from_slice(places, &[places.len()])?;
                sorted.ravel()?.index(&[Index::Array(places)])?
            }
            None => {
                let shape = Shape::new(QUANTILE.name, &[places.len()])?;
                let mut values = room(QUANTILE.name, &shape, self.dtype)?;
                let (size, length) = (self.dtype.itemsize(), self.bytes.len());
                for (place, value) in places.iter().zip(values.chunks_mut(size)) {
                    let rank = Rank::Place(*place as usize);
                    nth(self.dtype, self.bytes, length / size, rank, value, &mut [0])?;
                }
                Tensor::from_buffer(values, shape, self.dtype)
            }
        };
        let picked = picked.to(DType::F64)?;
        Tensor::to_vec(&picked)
    }
}

/// The point between two numbers that a share of the way lies behind it; an infinity if one is.
fn point_between(low: f64, high: f64, share: f64) -> f64 {
    if low.is_infinite() || high.is_infinite() {
        return low + high;
    }
    low + (high - low) * share
}

/// What quantiles lie between: the places of their neighbours among all elements, the share that the
/// upper one has, and how many places there are from a fraction of 0 to one of 1.
struct Between {
    low: Tensor,
    high: Tensor,
    shares: Tensor,
    steps: Tensor,
}

impl Between {
    fn remember(
        self,
        found: Tensor,
        op: &'static str,
        x: &Tensor,
        q: &Tensor,
    ) -> Result<Tensor, Error> {
        let saved = q.requires_grad().then(|| (x.clone(), q.clone()));
        let (count, fractions) = (x.count(), q.shape().to_vec());
        found.with_rule(op, &[x, q], move |pass| {
            let wide = pass.gradient()?.to(DType::F64)?;
            let gradient = wide.ravel()?;
            let for_x = pass.give(0, || {
                let mut shares = self.shares.clone();
                if let Some((_, q)) = saved.as_ref().filter(|_| is_grad_enabled()) {
                    // The shares move with the fractions.
                    let away = q.sub(&q.detach())?.to(DType::F64)?.reshape(&[-1, 1])?;
                    shares = shares.add(&away.mul(&self.steps)?.ravel()?)?;
                }
                let upper = gradient.mul(&shares)?;
                let zeros = Tensor::zeros(&[count], DType::F64)?;
                let sums = zeros.index_add(0, &self.low, &gradient.sub(&upper)?, 1)?;
                sums.index_add(0, &self.high, &upper, 1)
            })?;
            let for_q = match &saved {
                Some((x, _)) if pass.wants(1) => {
                    let x = x.to(DType::F64)?;
                    let slope = x.index_select(0, &self.high)?;
                    let slope = slope.sub(&x.index_select(0, &self.low)?)?;
                    let slope = slope.reshape_as(&wide)?.mul(&self.steps)?;
                    let sums = wide.mul(&slope)?.sum(Some(&[1]), false, None)?;
                    let sizes: Vec<isize> = fractions.iter().map(|size| *size as isize).collect();
                    Some(sums.reshape(&sizes)?)
                }
                _ => None,
            };
            Ok(smallvec![for_x, for_q])
        })
    }
}

fn read_fractions(op: &'static str, q: &Tensor) -> Result<Vec<f64>, Error> {
    if q.rank() > 1 {
        let (given, most) = (q.rank(), 1);
        return Err(Error::new(op, Problem::TooManyDimensions { given, most }));
    }
    let fractions: Vec<f64> = q
        .to(DType::F64)
        .map_err(|error| error.in_op(op))?
        .to_vec()?;
    if let Some(index) = fractions.iter().position(|q| !(0.0..=1.0).contains(q)) {
        let problem = Problem::OutOfRange {
            what: "q",
            index: (q.rank() > 0).then_some(index),
            value: fractions[index].to_string(),
            accepted: "fractions from 0 to 1",
        };
        return Err(Error::new(op, problem));
    }
    Ok(fractions)
}
