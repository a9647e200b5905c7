//! Indices drawn by weights.

use crate::host::Buffer;
use allotrope_cpu::kernel::random;
use allotrope_dtype::{DType, Error, Level, Problem};

use super::distribution::last_size;
use super::parameters::Reals;
use crate::create::room;
use crate::{Generator, Tensor};

impl Tensor {
    /// Indices into the last dimension, drawn by the weights that stand there, which need not sum up
    /// to one: int64, `count` of them in its place. Without replacement no index is drawn twice, and
    /// they are in the order of the draws.
    ///
    /// ```
    /// use allotrope_tensor::{Generator, Tensor};
    /// let weights = Tensor::from_slice(&[0.0_f32, 1.0, 0.0, 2.0], &[2, 2])?;
    /// let x = weights.multinomial(3, true, Some(&Generator::new(0)))?;
    /// assert_eq!(x.to_vec::<i64>()?, [1; 6]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error for complex weights, an index error without dimensions, a value error for
    /// weights that are negative, infinite or NaN, and for more indices than there are positive
    /// weights; a memory error.
    pub fn multinomial(
        &self,
        count: usize,
        replacement: bool,
        generator: Option<&Generator>,
    ) -> Result<Self, Error> {
        let op = "multinomial";
        let size = last_size(op, self)?;
        let weights = Reals::new(op, self, self.shape())?;
        check_weights(op, &weights, size, count, replacement)?;
        let mut sizes = self.shape().to_vec();
        if let Some(last) = sizes.last_mut() {
            *last = count;
        }
        let (shape, bytes) = room(op, &sizes, DType::I64)?;
        let mut indices = Buffer::for_overwrite(op, bytes)?;
        let generator = generator.unwrap_or_else(|| Generator::of_process());
        if shape.count() > 0 {
            let level = Level::current();
            let (target, weights) = (indices.elements_mut(), weights.given()?);
            if replacement {
                let stream = generator.take(shape.count());
                random::choose(level, stream, &weights, size, target, count)?;
            } else {
                let stream = generator.take(self.count());
                random::choose_different(level, stream, &weights, size, target, count)?;
            }
        }
        Ok(Self::from_buffer(indices, shape, DType::I64))
    }
}

/// Refuses weights that are none, and rows that have too few.
fn check_weights(
    op: &'static str,
    weights: &Reals,
    size: usize,
    count: usize,
    replacement: bool,
) -> Result<(), Error> {
    let refuse = |what, index, value: String, accepted| {
        let index = Some(index);
        let problem = Problem::OutOfRange {
            what,
            index,
            value,
            accepted,
        };
        Error::new(op, problem)
    };
    let (mut sum, mut positive, mut left) = (0.0, 0, size);
    // What a row lacks is said after what is no weight at all, wherever that stands.
    let (mut row, mut lack) = (0, None);
    let mut finish_row = |sum: f64, positive: usize| {
        let most = if replacement {
            positive.min(1) * count
        } else {
            positive
        };
        if lack.is_none() && !sum.is_finite() {
            lack = Some(refuse(
                "sum of weights",
                row,
                format!("{sum:?}"),
                "finite sums",
            ));
        } else if lack.is_none() && count > most {
            let accepted = if replacement {
                "rows with a positive weight"
            } else {
                "as many as a row has positive weights"
            };
            let given = count.to_string();
            lack = Some(refuse("number of samples", row, given, accepted));
        }
        row += 1;
    };
    weights.for_each_piece(&mut |start, mut weights| {
        let is_weight = |x: &f64| *x >= 0.0 && x.is_finite();
        if let Some(index) = weights.iter().position(|x| !is_weight(x)) {
            let value = format!("{:?}", weights[index]);
            let accepted = "finite numbers from 0 on";
            return Err(refuse("weight", start + index, value, accepted));
        }
        while !weights.is_empty() {
            let (now, later) = weights.split_at(left.min(weights.len()));
            sum = now.iter().fold(sum, |sum, weight| sum + weight);
            positive += now.iter().filter(|weight| **weight > 0.0).count();
            (left, weights) = (left - now.len(), later);
            if left == 0 {
                finish_row(sum, positive);
                (sum, positive, left) = (0.0, 0, size);
            }
        }
        Ok(())
    })?;
    if count == 0 {
        return Ok(());
    }
    // A dimension of size zero has rows too, but no weights.
    if size == 0 {
        let given = count.to_string();
        return Err(refuse("number of samples", 0, given, "0 of no weights"));
    }
    lack.map_or(Ok(()), Err)
}
