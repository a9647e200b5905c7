//! The gradients of attention. Weights are computed again, some rows of queries at a time: the
//! matrix of them never exists, unless the gradients are themselves recorded.

use allotrope_dtype::{DType, Error};
use allotrope_op::structured::matrix::ATTENTION;
use allotrope_op::task::rowwise::Softmax;
use smallvec::SmallVec;

use super::attention::AttentionOptions;
use super::softmax::softmax_gradient;
use crate::Tensor;
use crate::autograd::{Gradients, Pass, is_grad_enabled, is_recorded};

/// Weights in a block: some megabytes.
const BLOCK: usize = 1 << 20;

/// Whether attention to these is to be recorded.
pub(super) fn is_attention_recorded(operands: [&Tensor; 3], mask: Option<&Tensor>) -> bool {
    is_recorded(&operands) || mask.is_some_and(|mask| is_recorded(&[mask]))
}

/// Attention that remembers queries, keys, values and mask.
pub(super) fn recorded_attention(
    [queries, keys, values]: [&Tensor; 3],
    options: AttentionOptions<'_>,
    scale: f64,
    common: DType,
) -> Result<Tensor, Error> {
    let mask = options.mask.map(Tensor::detach);
    let plain = AttentionOptions {
        mask: mask.as_ref(),
        ..options
    };
    let result = queries.detach();
    let result = result.scaled_dot_product_attention(&keys.detach(), &values.detach(), plain)?;
    let inputs: Vec<&Tensor> = [queries, keys, values]
        .into_iter()
        .chain(options.mask)
        .collect();
    let back = Back {
        operands: [queries.clone(), keys.clone(), values.clone()],
        mask: options.mask.cloned(),
        scale,
        causal: options.causal,
        float: common.compute(),
    };
    result.with_rule(ATTENTION.name, &inputs, move |pass| back.run(pass))
}

/// What the way back needs.
struct Back {
    operands: [Tensor; 3],
    mask: Option<Tensor>,
    scale: f64,
    causal: bool,
    /// What weights and sums are computed in.
    float: DType,
}

/// The gradients of queries, keys, values and scores.
type Parts = [Option<Tensor>; 4];

impl Back {
    fn run(&self, pass: &Pass<'_>) -> Result<Gradients, Error> {
        let gradient = pass.gradient()?;
        let wanted = [0, 1, 2, 3].map(|place| pass.wants(place));
        let batch = &gradient.shape()[..gradient.rank() - 2];
        let over = |x: &Tensor| {
            // A mask may have less dimensions than a matrix.
            let x = if x.rank() < 2 {
                x.reshape(&[1, -1])?
            } else {
                x.clone()
            };
            let last = x.shape()[x.rank() - 2..].iter();
            let sizes: Vec<usize> = batch.iter().chain(last).copied().collect();
            x.expand(&sizes)
        };
        let [queries, keys, values] = &self.operands;
        let slab = Slab {
            operands: [over(queries)?, over(keys)?, over(values)?, gradient.clone()],
            mask: self.mask.as_ref().map(over).transpose()?,
        };
        let rows = gradient.shape()[gradient.rank() - 2];
        let count = slab.count();
        let parts = if is_grad_enabled() || batch.iter().product::<usize>() * rows * count == 0 {
            self.block(&slab, [0, rows], count, wanted)?
        } else {
            self.by_batches(&slab, 0, wanted)?
        };
        let inputs = 3 + usize::from(self.mask.is_some());
        let made: Gradients = parts.into_iter().take(inputs).collect::<SmallVec<_>>();
        Ok(made)
    }

    /// The gradients, some items of a dimension of the batch at a time.
    fn by_batches(&self, slab: &Slab, dim: usize, wanted: [bool; 4]) -> Result<Parts, Error> {
        let sizes = slab.operands[3].shape();
        let rank = sizes.len();
        if dim == rank - 2 {
            return self.by_rows(slab, wanted);
        }
        let weights = sizes[dim + 1..rank - 1].iter().product::<usize>() * slab.count();
        let items = (BLOCK / weights).clamp(1, sizes[dim]);
        let along = dim as isize;
        let mut all: [Vec<Tensor>; 4] = Default::default();
        for first in (0..sizes[dim]).step_by(items) {
            let count = items.min(sizes[dim] - first);
            let part = slab.narrow(along, first, count)?;
            let parts = if weights > BLOCK {
                self.by_batches(&part, dim + 1, wanted)?
            } else {
                self.by_rows(&part, wanted)?
            };
            for (list, part) in all.iter_mut().zip(parts) {
                list.extend(part);
            }
        }
        let adds = self.repeats_mask(rank, dim);
        let [queries, keys, values, mask] = all;
        Ok([
            join(queries, along, false)?,
            join(keys, along, false)?,
            join(values, along, false)?,
            join(mask, along, adds)?,
        ])
    }

    /// The gradients, some rows of queries at a time.
    fn by_rows(&self, slab: &Slab, wanted: [bool; 4]) -> Result<Parts, Error> {
        let sizes = slab.operands[3].shape();
        let (rank, count) = (sizes.len(), slab.count());
        let rows = sizes[rank - 2];
        let batch: usize = sizes[..rank - 2].iter().product();
        let block = (BLOCK / (batch * count).max(1)).clamp(1, rows);
        let (mut queries, mut scores) = (Vec::new(), Vec::new());
        let (mut keys, mut values) = (None, None);
        for first in (0..rows).step_by(block) {
            let height = block.min(rows - first);
            // No query of the block sees more.
            let seen = if self.causal {
                count.min(first + height)
            } else {
                count
            };
            let part = slab.narrow(-2, first, height)?;
            let [q, k, v, s] = self.block(&part, [first, height], seen, wanted)?;
            queries.extend(q);
            scores.extend(s);
            keys = added(keys, k, count)?;
            values = added(values, v, count)?;
        }
        let adds = self.repeats_mask(rank, rank - 2);
        Ok([
            join(queries, -2, false)?,
            keys,
            values,
            join(scores, -2, adds)?,
        ])
    }

    /// Whether the mask is the same along a dimension of scores of a rank.
    fn repeats_mask(&self, rank: usize, dim: usize) -> bool {
        let place = |mask: &Tensor| (dim + mask.rank()).checked_sub(rank);
        let mask = self.mask.as_ref();
        mask.is_none_or(|mask| place(mask).is_none_or(|place| mask.shape()[place] == 1))
    }

    /// The gradients of rows from `first` on over the first `seen` keys, by formulas that are
    /// differentiable themselves.
    fn block(
        &self,
        slab: &Slab,
        [first, rows]: [usize; 2],
        seen: usize,
        wanted: [bool; 4],
    ) -> Result<Parts, Error> {
        let float = self.float;
        let [queries, keys, values, gradient] = &slab.operands;
        let (keys, values) = (keys.narrow(-2, 0, seen)?, values.narrow(-2, 0, seen)?);
        let queries = queries.to(float)?.mul(self.scale)?;
        let weights = self.weights(slab, &queries, &keys, [first, rows], seen)?;
        let product = |a: &Tensor, b: &Tensor| a.matmul_in(b, Some(float), None);
        let turned = |x: &Tensor| x.transpose(-1, -2);
        let wants_scores = wanted[0] || wanted[1] || wanted[3];
        let of_values = wanted[2]
            .then(|| product(&turned(&weights)?, gradient))
            .transpose()?;
        if !wants_scores {
            return Ok([None, None, of_values, None]);
        }
        let of_weights = product(gradient, &turned(&values)?)?;
        let pair = [&weights, &of_weights];
        let scores = softmax_gradient(ATTENTION.name, Softmax::Softmax, pair, -1, false)?;
        let of_queries = wanted[0].then(|| product(&scores, &keys)?.mul(self.scale));
        let of_keys = wanted[1].then(|| product(&turned(&scores)?, &queries));
        let of_mask = wanted[3].then(|| self.of_mask(scores.clone()));
        Ok([
            of_queries.transpose()?,
            of_keys.transpose()?,
            of_values,
            of_mask.transpose()?,
        ])
    }

    /// The gradient of the scores summed along what the mask was repeated along.
    fn of_mask(&self, scores: Tensor) -> Result<Tensor, Error> {
        let rank = scores.rank();
        let repeated = (0..rank).filter(|dim| self.repeats_mask(rank, *dim));
        let axes: Vec<isize> = repeated.map(|dim| dim as isize).collect();
        if axes.is_empty() {
            return Ok(scores);
        }
        scores.sum(Some(&axes), true, None)
    }

    /// The weights of some rows; those of a query that sees nothing are zero.
    fn weights(
        &self,
        slab: &Slab,
        queries: &Tensor,
        keys: &Tensor,
        [first, rows]: [usize; 2],
        seen: usize,
    ) -> Result<Tensor, Error> {
        let float = self.float;
        let mut scores = queries.matmul_in(&keys.transpose(-1, -2)?, Some(float), None)?;
        let lowest = scores.new_full(&[], f64::NEG_INFINITY, float)?;
        if self.causal {
            let (start, end) = (first as i64, (first + rows) as i64);
            let row = scores.new_arange(start, end, 1, DType::I64)?.unsqueeze(1)?;
            let column = scores.new_arange(0, seen as i64, 1, DType::I64)?;
            scores = column.le(&row)?.where_(&scores, &lowest)?;
        }
        let Some(mask) = &slab.mask else {
            return scores.softmax(-1, None);
        };
        scores = if mask.dtype() == DType::Bool {
            mask.where_(&scores, &lowest)?
        } else {
            scores.add(&mask.to(float)?)?
        };
        if seen == 0 {
            return Ok(scores);
        }
        let zero = scores.new_zeros(&[], float)?;
        let sees = scores.detach().amax(Some(&[-1]), true)?.ne(&lowest)?;
        let weights = sees.where_(&scores, &zero)?.softmax(-1, None)?;
        sees.where_(&weights, &zero)
    }
}

/// Queries, keys, values and the gradient of the results, with a common batch; and the mask.
struct Slab {
    operands: [Tensor; 4],
    mask: Option<Tensor>,
}

impl Slab {
    /// How many keys there are.
    fn count(&self) -> usize {
        let keys = self.operands[1].shape();
        keys[keys.len() - 2]
    }

    /// A part along a dimension of the batch, or along the rows of queries.
    fn narrow(&self, dim: isize, first: usize, count: usize) -> Result<Self, Error> {
        let part = |x: &Tensor| {
            // A mask may be the same for all rows.
            if dim == -2 && x.shape()[x.rank() - 2] == 1 {
                return Ok(x.clone());
            }
            x.narrow(dim, first as isize, count)
        };
        let [queries, keys, values, gradient] = &self.operands;
        let other = |x: &Tensor| if dim == -2 { Ok(x.clone()) } else { part(x) };
        Ok(Self {
            operands: [
                part(queries)?,
                other(keys)?,
                other(values)?,
                part(gradient)?,
            ],
            mask: self.mask.as_ref().map(part).transpose()?,
        })
    }
}

/// Parts side by side along a dimension, or their sum.
fn join(parts: Vec<Tensor>, dim: isize, adds: bool) -> Result<Option<Tensor>, Error> {
    if adds {
        let mut parts = parts.into_iter();
        let first = parts.next();
        return first
            .map(|first| parts.try_fold(first, |total, part| total.add(&part)))
            .transpose();
    }
    match &parts[..] {
        [] => Ok(None),
        [only] => Ok(Some(only.clone())),
        _ => Tensor::cat(&parts.iter().collect::<Vec<_>>(), dim).map(Some),
    }
}

/// A total of `count` rows with a part added to its first ones.
fn added(
    total: Option<Tensor>,
    part: Option<Tensor>,
    count: usize,
) -> Result<Option<Tensor>, Error> {
    let Some(part) = part else {
        return Ok(total);
    };
    let rows = part.shape()[part.rank() - 2];
    let total = match total {
        None if rows == count => return Ok(Some(part)),
        None => {
            let mut sizes = part.shape().to_vec();
            sizes[part.rank() - 2] = count;
            part.new_zeros(&sizes, part.dtype())?
        }
        Some(total) => total,
    };
    if rows == count {
        return total.add(&part).map(Some);
    }
    let head = total.narrow(-2, 0, rows)?.add(&part)?;
    let tail = total.narrow(-2, rows as isize, count - rows)?;
    Tensor::cat(&[&head, &tail], -2).map(Some)
}
