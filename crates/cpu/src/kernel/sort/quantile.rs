//! Numbers at fractions of the order of lines, interpolated in float64.

use allotrope_dtype::{Conversion, DType, Error, Level, Scratch};
use allotrope_op::task::order::{QuantileInterpolation, Rank};

use super::key::{Order, Way};
use super::{count_numbers, nth, sort, with_word};
use crate::Buffer;
use crate::memory::{try_vec, try_with_capacity};

/// Elements that are sorted at once.
const SORTED: usize = 256 << 10;
/// Elements of a line that is too long to be sorted for a few fractions, and how many are few.
const LONG: usize = 1 << 20;
const SELECTED: usize = 4;

/// Lines, and which fractions of their order are looked for.
#[derive(Clone, Copy)]
pub(crate) struct Quantile<'a> {
    pub(crate) op: &'static str,
    /// A real dtype.
    pub(crate) dtype: DType,
    /// The lines, one after the other, aligned for the dtype.
    pub(crate) src: &'a [u8],
    /// The elements of a line, of which there is one at least.
    pub(crate) length: usize,
    /// From 0 to 1.
    pub(crate) fractions: &'a [f64],
    /// Whether NaN are left out; else a line with one gives NaN.
    pub(crate) skips_nan: bool,
    pub(crate) interpolation: QuantileInterpolation,
}

/// What quantiles lie between, for every fraction and line.
pub(crate) struct Neighbours<'a> {
    /// The places of the lower ones among all elements.
    pub(crate) low: &'a mut [i64],
    /// Those of the upper ones.
    pub(crate) high: &'a mut [i64],
    /// The share that the upper ones have.
    pub(crate) shares: &'a mut [f64],
    /// For every line how many places there are from a fraction of 0 to one of 1.
    pub(crate) steps: &'a mut [f64],
}

impl Quantile<'_> {
    /// Writes the numbers of all lines for the first fraction, then for the second and so on.
    ///
    /// # Errors
    /// A memory error.
    pub(crate) fn run(
        self,
        values: &mut [f64],
        mut neighbours: Option<Neighbours<'_>>,
    ) -> Result<(), Error> {
        let count = self.src.len() / (self.length * self.dtype.itemsize());
        let few = self.fractions.len() <= SELECTED;
        let selects = self.length >= LONG && few && neighbours.is_none();
        // Lines are sorted a few at a time, and stay in a cache.
        let at_once = match selects {
            true => 1,
            false => (SORTED / self.length).max(1),
        };
        for first in (0..count).step_by(at_once) {
            let now = at_once.min(count - first);
            let part = Part::new(self, first, now, selects, neighbours.is_some())?;
            let ranks = part.ranks()?;
            let [low, high] = [
                part.pick(&ranks, f64::floor)?,
                part.pick(&ranks, f64::ceil)?,
            ];
            for (at, (rank, (low, high))) in ranks.iter().zip(low.iter().zip(high)).enumerate() {
                let to = at / now * count + first + at % now;
                values[to] = self.between(*low, high, *rank);
                if let Some(neighbours) = &mut neighbours {
                    let place = |rank: f64| part.place(at % now, rank as usize);
                    neighbours.low[to] = place(rank.floor());
                    neighbours.high[to] = place(rank.ceil());
                    neighbours.shares[to] = self.share(*rank);
                }
            }
            if let Some(neighbours) = &mut neighbours {
                let steps = &mut neighbours.steps[first..first + now];
                for (step, numbers) in steps.iter_mut().zip(&part.numbers) {
                    *step = match self.interpolation {
                        QuantileInterpolation::Linear => (*numbers as i64 - 1) as f64,
                        _ => 0.0,
                    };
                }
            }
        }
        Ok(())
    }

    /// What stands between two neighbours.
    fn between(self, low: f64, high: f64, rank: f64) -> f64 {
        let share = rank - rank.floor();
        let is_low = match self.interpolation {
            // Equal infinities have no distance.
            QuantileInterpolation::Linear if share > 0.0 && low != high => {
                return point_between(low, high, share);
            }
            QuantileInterpolation::Midpoint if share > 0.0 && low != high => {
                return point_between(low, high, 0.5);
            }
            QuantileInterpolation::Higher => false,
            QuantileInterpolation::Nearest => rank.round_ties_even() == rank.floor(),
            _ => true,
        };
        if is_low { low } else { high }
    }

    /// The share that the upper neighbour has.
    fn share(self, rank: f64) -> f64 {
        let share = rank - rank.floor();
        match self.interpolation {
            QuantileInterpolation::Linear => share,
            QuantileInterpolation::Midpoint if share > 0.0 => 0.5,
            QuantileInterpolation::Higher => 1.0,
            QuantileInterpolation::Nearest if rank.round_ties_even() != rank.floor() => 1.0,
            _ => 0.0,
        }
    }
}

/// The point between two numbers that a share of the way lies behind it; an infinity if one is.
fn point_between(low: f64, high: f64, share: f64) -> f64 {
    if low.is_infinite() || high.is_infinite() {
        return low + high;
    }
    low + (high - low) * share
}

/// Some lines whose elements are picked by their ranks: sorted, or one long line as it is.
struct Part<'a> {
    of: Quantile<'a>,
    first: usize,
    bytes: &'a [u8],
    sorted: Option<Buffer>,
    /// Where in their lines the sorted elements were, if that is asked for.
    order: Vec<i64>,
    /// The elements of each line that are no NaN.
    numbers: Vec<usize>,
}

impl<'a> Part<'a> {
    fn new(
        of: Quantile<'a>,
        first: usize,
        count: usize,
        selects: bool,
        ordered: bool,
    ) -> Result<Self, Error> {
        let (op, dtype, length) = (of.op, of.dtype, of.length);
        let size = length * dtype.itemsize();
        let bytes = &of.src[first * size..(first + count) * size];
        let mut part = Self {
            of,
            first,
            bytes,
            sorted: None,
            order: Vec::new(),
            numbers: try_vec(op, count, length)?,
        };
        if selects {
            part.numbers[0] = count_numbers(dtype, bytes);
            return Ok(part);
        }
        let mut sorted = Buffer::for_elements(op, dtype, count * length)?;
        if ordered {
            part.order = try_vec(op, count * length, 0)?;
        }
        sort(dtype, bytes, length, false, &mut sorted, &mut part.order)?;
        if Order::has_nan(dtype) {
            with_word!(dtype, |W| {
                let way = Way::<W>::new(dtype, false);
                let lines = bytemuck::cast_slice::<u8, W>(&sorted).chunks(length);
                for (numbers, line) in part.numbers.iter_mut().zip(lines) {
                    // NaN are the last.
                    *numbers = line.partition_point(|word| way.key(*word) != W::MAX);
                }
            });
        }
        part.sorted = Some(sorted);
        Ok(part)
    }

    /// Which place in order each fraction of each line has.
    fn ranks(&self) -> Result<Vec<f64>, Error> {
        let (fractions, length) = (self.of.fractions, self.of.length);
        let rank = |fraction: f64, numbers: usize| {
            if numbers > 0 && (numbers == length || self.of.skips_nan) {
                fraction * (numbers - 1) as f64
            } else {
                (length - 1) as f64
            }
        };
        let mut ranks = try_with_capacity(self.of.op, fractions.len() * self.numbers.len())?;
        for fraction in fractions {
            ranks.extend(self.numbers.iter().map(|n| rank(*fraction, *n)));
        }
        Ok(ranks)
    }

    /// The elements of all lines for the first fraction, then for the second and so on.
    fn pick(&self, ranks: &[f64], whole: fn(f64) -> f64) -> Result<Vec<f64>, Error> {
        let Quantile {
            op, dtype, length, ..
        } = self.of;
        let size = dtype.itemsize();
        let mut picked = Buffer::for_elements(op, dtype, ranks.len())?;
        for (at, (rank, out)) in ranks.iter().zip(picked.chunks_mut(size)).enumerate() {
            let rank = whole(*rank) as usize;
            match &self.sorted {
                Some(sorted) => {
                    let place = at % self.numbers.len() * length + rank;
                    out.copy_from_slice(&sorted[place * size..(place + 1) * size]);
                }
                None => nth(dtype, self.bytes, length, Rank::Place(rank), out, &mut [0])?,
            }
        }
        let mut numbers = try_vec(op, ranks.len(), 0.0)?;
        let to = bytemuck::cast_slice_mut(&mut numbers);
        let convert = Conversion::new(dtype, DType::F64)?;
        convert.run(Level::current(), &picked, to, &mut Scratch::default());
        Ok(numbers)
    }

    /// The place among all elements of that of a rank in a line.
    fn place(&self, line: usize, rank: usize) -> i64 {
        let start = (self.first + line) * self.of.length;
        start as i64 + self.order[line * self.of.length + rank]
    }
}
