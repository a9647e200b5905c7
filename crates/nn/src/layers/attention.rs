//! Attention of several heads.

use allotrope_dtype::{DType, Error, Problem, default_dtype};
use allotrope_tensor::{AttentionOptions, Device, Tensor};

use super::{Linear, LinearOptions, value, zeros};
use crate::{Layer, Module, Parameter, Training, init};

/// How attention of several heads is made.
///
/// ```
/// use allotrope_nn::{DType, Layer, MultiheadAttention, MultiheadAttentionOptions, Tensor};
/// let options = MultiheadAttentionOptions { batch_first: true, ..Default::default() };
/// let attention = MultiheadAttention::with(8, 2, options)?;
/// let x = Tensor::ones((3, 5, 8), DType::F32)?;
/// assert_eq!(attention.forward(&x, &x, &x, Default::default())?.output.shape(), [3, 5, 8]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct MultiheadAttentionOptions {
    /// The share of weights that is dropped in training.
    pub dropout: f64,
    /// Whether products have biases.
    pub bias: bool,
    /// The size of keys, if not that of queries.
    pub kdim: Option<usize>,
    /// The size of values, if not that of queries.
    pub vdim: Option<usize>,
    /// Whether the first dimension is the batch, not the sequence.
    pub batch_first: bool,
    /// The dtype of the parameters.
    pub dtype: DType,
    /// The device of the same.
    pub device: Device,
}

impl Default for MultiheadAttentionOptions {
    fn default() -> Self {
        Self {
            dropout: 0.0,
            bias: true,
            kdim: None,
            vdim: None,
            batch_first: false,
            dtype: default_dtype(),
            device: Device::cpu(),
        }
    }
}

/// What attention may be told beside its operands. Masks are torch's: true is for what does not count,
/// floats are added.
///
/// ```
/// use allotrope_nn::{AttentionArguments, DType, Layer, MultiheadAttention, Tensor};
/// let arguments = AttentionArguments { need_weights: true, ..Default::default() };
/// let x = Tensor::ones((5, 3, 8), DType::F32)?;
/// let attended = MultiheadAttention::new(8, 2)?.forward(&x, &x, &x, arguments)?;
/// assert_eq!(attended.weights.map(|weights| weights.shape().to_vec()), Some(vec![3, 5, 5]));
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct AttentionArguments<'a> {
    /// Keys that do not count, `[batch, keys]`.
    pub key_padding_mask: Option<&'a Tensor>,
    /// Pairs that do not count, `[queries, keys]` or `[batch * heads, queries, keys]`.
    pub attn_mask: Option<&'a Tensor>,
    /// Whether query `i` sees the keys up to `i` only.
    pub is_causal: bool,
    /// Whether the weights are wanted, as means over heads.
    pub need_weights: bool,
}

/// What attention gives.
///
/// ```
/// use allotrope_nn::{DType, Layer, MultiheadAttention, Tensor};
/// let x = Tensor::ones((5, 3, 8), DType::F32)?;
/// let attended = MultiheadAttention::new(8, 2)?.forward(&x, &x, &x, Default::default())?;
/// assert!(attended.output.shape() == [5, 3, 8] && attended.weights.is_none());
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Attended {
    /// Values, weighted and brought together.
    pub output: Tensor,
    /// The weights, if they were wanted.
    pub weights: Option<Tensor>,
}

/// Multi-head attention: values weighted by how queries and keys fit each other,
/// `softmax(q kᵀ / √d) v`, in several heads side by side.
///
/// ```
/// use allotrope_nn::{DType, Layer, MultiheadAttention, Tensor};
/// let attention = MultiheadAttention::new(8, 2)?;
/// let x = Tensor::ones((5, 3, 8), DType::F32)?;
/// assert_eq!(attention.forward(&x, &x, &x, Default::default())?.output.shape(), [5, 3, 8]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct MultiheadAttention {
    /// The weights of queries, keys and values, one below the other, where all have one size.
    pub in_proj_weight: Option<Parameter>,
    /// The weight of queries, where they have not.
    pub q_proj_weight: Option<Parameter>,
    /// The weight of keys.
    pub k_proj_weight: Option<Parameter>,
    /// The weight of values.
    pub v_proj_weight: Option<Parameter>,
    /// The biases of all three.
    pub in_proj_bias: Option<Parameter>,
    /// What brings the heads together.
    pub out_proj: Linear,
    training: Training,
    heads: usize,
    #[module(skip)]
    options: MultiheadAttentionOptions,
}

impl MultiheadAttention {
    /// Attention of so many heads.
    ///
    /// # Errors
    /// A value error for a size that the heads do not divide, a memory error.
    pub fn new(size: usize, heads: usize) -> Result<Self, Error> {
        Self::with(size, heads, MultiheadAttentionOptions::default())
    }

    /// Attention with options.
    ///
    /// # Errors
    /// As [`new`](Self::new); a dtype error for a dtype without gradients.
    pub fn with(
        size: usize,
        heads: usize,
        options: MultiheadAttentionOptions,
    ) -> Result<Self, Error> {
        if heads == 0 || !size.is_multiple_of(heads) {
            let problem = Problem::NotMultiple {
                what: "the size",
                given: size,
                of: heads,
            };
            return Err(Error::new("multi_head_attention", problem));
        }
        let (dtype, device) = (options.dtype, options.device);
        let weight = |sizes: [usize; 2]| {
            let weight = zeros(&sizes, (dtype, device))?;
            init::xavier_uniform_(&weight, 1.0, None)?;
            Ok::<_, Error>(Some(weight))
        };
        let (kdim, vdim) = (options.kdim.unwrap_or(size), options.vdim.unwrap_or(size));
        let is_one = kdim == size && vdim == size;
        let apart = |columns: usize| match is_one {
            true => Ok(None),
            false => weight([size, columns]),
        };
        let bias = options.bias;
        let linear = LinearOptions {
            bias,
            dtype,
            device,
        };
        let out_proj = Linear::with(size, size, linear)?;
        if let Some(bias) = &out_proj.bias {
            init::zeros_(bias)?;
        }
        Ok(Self {
            in_proj_weight: if is_one {
                weight([3 * size, size])?
            } else {
                None
            },
            q_proj_weight: apart(size)?,
            k_proj_weight: apart(kdim)?,
            v_proj_weight: apart(vdim)?,
            in_proj_bias: bias
                .then(|| zeros(&[3 * size], (dtype, device)))
                .transpose()?,
            out_proj,
            training: Training::default(),
            heads,
            options,
        })
    }

    /// The products of queries, keys and values.
    fn products(&self, operands: [&Tensor; 3]) -> Result<[Tensor; 3], Error> {
        let [query, key, values] = operands;
        let bias = value(self.in_proj_bias.as_ref());
        let biases = match &bias {
            Some(bias) => bias.chunk(3, 0)?,
            None => vec![],
        };
        if let Some(weight) = value(self.in_proj_weight.as_ref()) {
            if query.is_same_value(key) && query.is_same_value(values) {
                let products = query.linear(&weight, bias.as_ref())?.chunk(3, -1)?;
                if let Ok(products) = products.try_into() {
                    return Ok(products);
                }
            }
            let weights = weight.chunk(3, 0)?;
            let product = |i: usize| operands[i].linear(&weights[i], biases.get(i));
            return Ok([product(0)?, product(1)?, product(2)?]);
        }
        let weights = [
            &self.q_proj_weight,
            &self.k_proj_weight,
            &self.v_proj_weight,
        ];
        let product = |i: usize| match value(weights[i].as_ref()) {
            Some(weight) => operands[i].linear(&weight, biases.get(i)),
            None => Ok(operands[i].clone()),
        };
        Ok([product(0)?, product(1)?, product(2)?])
    }

    /// Attention of queries to keys, and of their values: `[sequence, batch, size]`, without the batch,
    /// or as the options say.
    ///
    /// # Errors
    /// A value error for shapes that do not fit, a dtype error where promotion refuses.
    pub fn forward(
        &self,
        query: &Tensor,
        key: &Tensor,
        values: &Tensor,
        arguments: AttentionArguments<'_>,
    ) -> Result<Attended, Error> {
        let op = "multi_head_attention";
        let is_single = query.rank() == 2;
        for (what, x) in [
            ("the query", query),
            ("the key", key),
            ("the value", values),
        ] {
            if x.rank() != query.rank() || !matches!(x.rank(), 2 | 3) {
                let problem = Problem::WrongRank {
                    what,
                    shape: x.shape().to_vec(),
                    accepted: "2 or 3, the same for all, are",
                };
                return Err(Error::new(op, problem));
            }
        }
        let is_first = self.options.batch_first || is_single;
        let batched = |x: &Tensor| match (is_single, is_first) {
            (true, _) => x.unsqueeze(0),
            (false, true) => Ok(x.clone()),
            (false, false) => x.transpose(0, 1),
        };
        // One tensor for three is one product.
        let is_self = query.is_same_value(key) && query.is_same_value(values);
        let first = batched(query)?;
        let [q, k, v] = match is_self {
            true => self.products([&first; 3])?,
            false => self.products([&first, &batched(key)?, &batched(values)?])?,
        };
        let split = |x: &Tensor| {
            let (batch, length) = (x.shape()[0] as isize, x.shape()[1] as isize);
            x.reshape(&[batch, length, self.heads as isize, -1])?
                .transpose(1, 2)
        };
        let (q, k, v) = (split(&q)?, split(&k)?, split(&v)?);
        let mask = self.mask(&q, &k, &arguments)?;
        let dropout = match self.training.is_on() {
            true => self.options.dropout,
            false => 0.0,
        };
        let (heads, weights) = match arguments.need_weights {
            false => {
                let options = AttentionOptions {
                    mask: mask.as_ref(),
                    causal: arguments.is_causal && mask.is_none(),
                    dropout,
                    ..AttentionOptions::default()
                };
                (q.scaled_dot_product_attention(&k, &v, options)?, None)
            }
            true => {
                let (heads, weights) = weigh(&q, &k, &v, mask.as_ref(), dropout)?;
                (heads, Some(weights.mean(Some(&[1]), false, None)?))
            }
        };
        let joined = heads.transpose(1, 2)?.flatten(2, 3)?;
        let output = self.out_proj.forward(&joined)?;
        let output = match (is_single, is_first) {
            (true, _) => output.squeeze(Some(&[0]))?,
            (false, true) => output,
            (false, false) => output.transpose(0, 1)?,
        };
        let weights = match (weights, is_single) {
            (Some(weights), true) => Some(weights.squeeze(Some(&[0]))?),
            (weights, _) => weights,
        };
        Ok(Attended { output, weights })
    }

    /// All masks as one: true for what counts, or what is added to products.
    fn mask(
        &self,
        q: &Tensor,
        k: &Tensor,
        arguments: &AttentionArguments<'_>,
    ) -> Result<Option<Tensor>, Error> {
        let (batch, queries, keys) = (q.shape()[0], q.shape()[2], k.shape()[2]);
        let mut all: Vec<Tensor> = Vec::new();
        if let Some(mask) = arguments.attn_mask {
            all.push(match mask.rank() {
                3 => mask.unflatten(0, &[batch as isize, -1])?,
                _ => mask.clone(),
            });
        }
        if let Some(mask) = arguments.key_padding_mask {
            let mask = if mask.rank() == 1 {
                mask.unsqueeze(0)?
            } else {
                mask.clone()
            };
            all.push(mask.unsqueeze(1)?.unsqueeze(1)?);
        }
        if arguments.is_causal && (!all.is_empty() || arguments.need_weights) {
            let ones = q.new_ones(&[queries, keys], DType::Bool)?;
            all.push(ones.triu(1)?);
        }
        if all.iter().all(|mask| mask.dtype() == DType::Bool) {
            let mut any: Option<Tensor> = None;
            for mask in all {
                any = Some(match any {
                    Some(any) => any.logical_or(&mask)?,
                    None => mask,
                });
            }
            return any.map(|any| any.logical_not()).transpose();
        }
        let mut sum: Option<Tensor> = None;
        for mask in all {
            let added = match mask.dtype() {
                DType::Bool => {
                    let zero = q.new_zeros(&[], q.dtype())?;
                    zero.expand(mask.shape())?
                        .masked_fill(&mask, f64::NEG_INFINITY)?
                }
                _ => mask,
            };
            sum = Some(match sum {
                Some(sum) => sum.add(&added)?,
                None => added,
            });
        }
        Ok(sum)
    }
}

/// Heads and their weights, which are formed.
fn weigh(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    mask: Option<&Tensor>,
    dropout: f64,
) -> Result<(Tensor, Tensor), Error> {
    let size = q.shape().last().copied().unwrap_or(1);
    let scaled = q.mul(super::root_share(size))?;
    let mut products = scaled.matmul(&k.transpose(-2, -1)?)?;
    products = match mask {
        Some(mask) if mask.dtype() == DType::Bool => {
            products.masked_fill(&mask.logical_not()?, f64::NEG_INFINITY)?
        }
        Some(mask) => products.add(mask)?,
        None => products,
    };
    let mut weights = products.softmax(-1, None)?;
    if dropout > 0.0 {
        weights = weights.dropout(dropout, None)?;
    }
    Ok((weights.matmul(v)?, weights))
}
