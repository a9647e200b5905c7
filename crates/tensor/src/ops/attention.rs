//! `scaled_dot_product_attention`: values weighted by the softmax of queries and keys.

use allotrope_dtype::{DType, Error, Problem, WeakScalar};
use allotrope_op::Shape;
use allotrope_op::structured::matrix::ATTENTION;
use allotrope_op::task::Task;
use allotrope_op::task::contraction::{Attention, Contraction};

use super::attention_gradient::{is_attention_recorded, recorded_attention};
use super::contraction::{Dtypes, over_batch};
use crate::Tensor;
use crate::device::perform_or;
use crate::transfer::gathered;

/// What attention may be told beside its operands.
#[derive(Clone, Copy, Debug, Default)]
pub struct AttentionOptions<'a> {
    /// What counts: bool, true for what does, or floats that are added to the products.
    pub mask: Option<&'a Tensor>,
    /// Whether query `i` sees the keys up to `i` only.
    pub causal: bool,
    /// What products are multiplied by; one over the root of their length if not given.
    pub scale: Option<f64>,
    /// Whether several heads of queries share a head of keys and values.
    pub grouped: bool,
    /// The share of weights that is dropped; the others are scaled up.
    pub dropout: f64,
}

impl Tensor {
    /// `softmax(scale * self @ keysᵀ + mask) @ values` over the last two dimensions, the others
    /// broadcast. The matrix of products never exists; weights and sums are float32, or float64 for
    /// float64. A query that sees nothing gives zero. Gradients compute the weights again, block by
    /// block; only dropout and gradients of gradients form the matrix of them.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::{AttentionOptions, Tensor};
    /// let x = Tensor::ones(&[1, 4, 8], DType::BF16)?;
    /// let y = x.scaled_dot_product_attention(&x, &x, AttentionOptions::default())?;
    /// assert_eq!(y.to(DType::F32)?.to_vec::<f32>()?, [1.0; 32]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for shapes that do not fit or a mask together with `causal`, a dtype error for
    /// anything but floats, a memory error.
    pub fn scaled_dot_product_attention(
        &self,
        keys: &Self,
        values: &Self,
        options: AttentionOptions<'_>,
    ) -> Result<Self, Error> {
        let operands = (self, keys, values, options.mask);
        if let Some((queries, keys, values, mask)) = gathered(operands)? {
            let mask = mask.as_ref();
            let options = AttentionOptions { mask, ..options };
            return queries.scaled_dot_product_attention(&keys, &values, options);
        }
        let op = ATTENTION.name;
        let additive = options.mask.filter(|mask| mask.dtype() != DType::Bool);
        let operands: Vec<&Self> = [self, keys, values].into_iter().chain(additive).collect();
        let dtypes = Dtypes::new(&ATTENTION, &operands, None, None)?;
        let refuse = |accepted: &'static str| {
            let tensors = [Some(self), Some(keys), Some(values), options.mask];
            let shapes = tensors.into_iter().flatten().map(|t| t.shape().to_vec());
            let problem = Problem::ShapesDoNotFit {
                what: "queries, keys, values and mask",
                shapes: shapes.collect(),
                accepted,
            };
            Error::new(op, problem)
        };
        if [self, keys, values].iter().any(|tensor| tensor.rank() < 2) {
            return Err(refuse(
                "[..., l, e], [..., s, e], [..., s, v] and [..., l, s] are",
            ));
        }
        if options.causal && options.mask.is_some() {
            let problem = Problem::OutOfRange {
                what: "is_causal",
                index: None,
                value: "True".to_owned(),
                accepted: "a mask or is_causal",
            };
            return Err(Error::new(op, problem));
        }
        if !(0.0..=1.0).contains(&options.dropout) {
            let problem = Problem::OutOfRange {
                what: "dropout_p",
                index: None,
                value: options.dropout.to_string(),
                accepted: "numbers from 0 to 1",
            };
            return Err(Error::new(op, problem));
        }
        if options.grouped {
            return self.grouped_attention(keys, values, options, refuse);
        }
        let last = |tensor: &Self, back: usize| tensor.shape()[tensor.rank() - back];
        let (queries, depth) = (last(self, 2), last(self, 1));
        let (count, width) = (last(keys, 2), last(values, 1));
        if last(keys, 1) != depth || last(values, 2) != count {
            return Err(refuse(
                "[..., l, e], [..., s, e], [..., s, v] and [..., l, s] are",
            ));
        }
        let batch_of = |tensor: &Self| Shape::new(op, &tensor.shape()[..tensor.rank() - 2]);
        let batches = [batch_of(self)?, batch_of(keys)?, batch_of(values)?];
        let batch = Shape::broadcast(op, &[&batches[0], &batches[1], &batches[2]])?;
        let scale = options.scale.unwrap_or_else(|| 1.0 / (depth as f64).sqrt());
        if options.dropout > 0.0 {
            return self.composed_attention(keys, values, options, scale, dtypes);
        }
        if is_attention_recorded([self, keys, values], options.mask) {
            return recorded_attention([self, keys, values], options, scale, dtypes.common);
        }
        let operands = [
            over_batch(op, self, &batch)?,
            over_batch(op, keys, &batch)?,
            over_batch(op, values, &batch)?,
        ];
        let mask = options.mask.map(|mask| {
            let sizes: Vec<usize> = batch.iter().copied().chain([queries, count]).collect();
            let layout = mask.layout().broadcast_to(op, &Shape::new(op, &sizes)?)?;
            Ok(mask.with_layout(layout))
        });
        let mask = mask.transpose()?;
        let task = Task::Contraction(Contraction::Attention(Attention {
            common: dtypes.common,
            scale,
            causal: options.causal,
            mask: mask.is_some(),
        }));
        let inputs: Vec<&Self> = operands.iter().map(|x| &**x).chain(&mask).collect();
        let sizes: Vec<usize> = batch.iter().copied().chain([queries, width]).collect();
        let shape = Shape::new(op, &sizes)?;
        perform_or(op, &task, &inputs, dtypes.result, &shape, || {
            self.composed_attention(keys, values, options, scale, dtypes)
        })
    }

    /// Attention where each head of keys serves as many heads of queries.
    fn grouped_attention(
        &self,
        keys: &Self,
        values: &Self,
        options: AttentionOptions<'_>,
        refuse: impl Fn(&'static str) -> Error,
    ) -> Result<Self, Error> {
        let heads = |tensor: &Self| {
            let rank = tensor.rank();
            (rank >= 3).then(|| tensor.shape()[rank - 3])
        };
        let accepted = "with enable_gqa, numbers of heads that divide those of the queries are";
        let (Some(many), Some(few), Some(same)) = (heads(self), heads(keys), heads(values)) else {
            return Err(refuse(accepted));
        };
        if few != same || few == 0 || many % few != 0 {
            return Err(refuse(accepted));
        }
        let groups = [few as isize, (many / few) as isize];
        let queries = self.unflatten(-3, &groups)?;
        let mask = match options.mask {
            Some(mask) if heads(mask).is_some_and(|heads| heads != 1) => {
                Some(mask.unflatten(-3, &groups)?)
            }
            Some(mask) if mask.rank() >= 3 => Some(mask.unsqueeze(-3)?),
            mask => mask.cloned(),
        };
        let options = AttentionOptions {
            mask: mask.as_ref(),
            grouped: false,
            ..options
        };
        let (keys, values) = (keys.unsqueeze(-3)?, values.unsqueeze(-3)?);
        let result = queries.scaled_dot_product_attention(&keys, &values, options)?;
        result.flatten(-4, -3)
    }

    /// Attention by way of the matrix of weights, of which some may be dropped at random.
    fn composed_attention(
        &self,
        keys: &Self,
        values: &Self,
        options: AttentionOptions<'_>,
        scale: f64,
        dtypes: Dtypes,
    ) -> Result<Self, Error> {
        let float = dtypes.common.compute();
        let scores = self.matmul_in(&keys.transpose(-1, -2)?, Some(float), None)?;
        let mut scores = scores.mul(scale)?;
        let lowest = self.new_full(&[], f64::NEG_INFINITY, float)?;
        if let Some(mask) = options.mask {
            scores = if mask.dtype() == DType::Bool {
                mask.where_(&scores, &lowest)?
            } else {
                scores.add(&mask.to(float)?)?
            };
        }
        if options.causal {
            let rank = scores.rank();
            let (rows, columns) = (scores.shape()[rank - 2], scores.shape()[rank - 1]);
            let row = self
                .new_arange(0, rows as i64, 1, DType::I64)?
                .unsqueeze(1)?;
            let column = self.new_arange(0, columns as i64, 1, DType::I64)?;
            scores = column.le(&row)?.where_(&scores, &lowest)?;
        }
        // What is subtracted of all scores alike has no gradient.
        let best = scores.detach().amax(Some(&[-1]), true)?;
        let zero = self.new_zeros(&[], float)?;
        let seen = best.ne(&lowest)?;
        let weights = scores.sub(&seen.where_(&best, &zero)?)?.exp()?;
        let total = weights.sum(Some(&[-1]), true, None)?;
        let one = self.new_ones(&[], float)?;
        let weights = weights.div(&total.ne(&zero)?.where_(&total, &one)?)?;
        let weights = if options.dropout == 0.0 {
            weights
        } else if options.dropout < 1.0 {
            let kept = weights
                .detach()
                .bernoulli_like(1.0 - options.dropout, None)?;
            weights
                .mul(&kept)?
                .div(WeakScalar::Float(1.0 - options.dropout))?
        } else {
            weights.mul(&zero)?
        };
        weights
            .matmul_in(&values.to(dtypes.common)?, Some(float), None)?
            .to(dtypes.result)
    }
}
