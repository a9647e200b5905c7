//! Layers of attention, and stacks of them.

use allotrope_dtype::{DType, Error, default_dtype};
use allotrope_tensor::{Device, Tensor};

use super::{
    AttentionArguments, Dropout, LayerNorm, Linear, LinearOptions, MultiheadAttention,
    MultiheadAttentionOptions, NormOptions,
};
use crate::{Layer, Module, init};

/// The activation between the two products of a layer's feed-forward network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Between {
    /// The rectified linear unit.
    #[default]
    Relu,
    /// The Gaussian error linear unit.
    Gelu,
}

/// How a layer of attention is made.
///
/// ```
/// use allotrope_nn::{DType, Layer, Tensor, TransformerEncoderLayer, TransformerOptions};
/// let options = TransformerOptions { norm_first: true, ..Default::default() };
/// let layer = TransformerEncoderLayer::with(8, 2, options)?;
/// assert_eq!(layer.forward(&Tensor::ones((5, 3, 8), DType::F32)?)?.shape(), [5, 3, 8]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TransformerOptions {
    /// The size between the two products.
    pub dim_feedforward: usize,
    /// The share that is dropped in training.
    pub dropout: f64,
    /// What stands between the two products.
    pub activation: Between,
    /// What is added to variances.
    pub layer_norm_eps: f64,
    /// Whether the first dimension is the batch, not the sequence.
    pub batch_first: bool,
    /// Whether each part is normalised before it, not behind.
    pub norm_first: bool,
    /// Whether there are biases.
    pub bias: bool,
    /// The dtype of the parameters.
    pub dtype: DType,
    /// The device of the same.
    pub device: Device,
}

impl Default for TransformerOptions {
    fn default() -> Self {
        Self {
            dim_feedforward: 2048,
            dropout: 0.1,
            activation: Between::Relu,
            layer_norm_eps: 1e-5,
            batch_first: false,
            norm_first: false,
            bias: true,
            dtype: default_dtype(),
            device: Device::cpu(),
        }
    }
}

impl TransformerOptions {
    fn attention(&self, size: usize, heads: usize) -> Result<MultiheadAttention, Error> {
        let options = MultiheadAttentionOptions {
            dropout: self.dropout,
            bias: self.bias,
            batch_first: self.batch_first,
            dtype: self.dtype,
            device: self.device,
            ..MultiheadAttentionOptions::default()
        };
        MultiheadAttention::with(size, heads, options)
    }

    fn linear(&self, inputs: usize, outputs: usize) -> Result<Linear, Error> {
        let options = LinearOptions {
            bias: self.bias,
            dtype: self.dtype,
            device: self.device,
        };
        Linear::with(inputs, outputs, options)
    }

    fn norm(&self, size: usize) -> Result<LayerNorm, Error> {
        let options = NormOptions {
            eps: self.layer_norm_eps,
            affine: true,
            bias: self.bias,
            dtype: self.dtype,
            device: self.device,
        };
        LayerNorm::with(&[size], options)
    }

    fn between(&self, x: &Tensor) -> Result<Tensor, Error> {
        match self.activation {
            Between::Relu => x.relu(),
            Between::Gelu => x.gelu(),
        }
    }
}

/// What a part adds to its input, normalised before or behind.
fn residual(
    x: &Tensor,
    norm: &LayerNorm,
    norm_first: bool,
    part: impl FnOnce(&Tensor) -> Result<Tensor, Error>,
) -> Result<Tensor, Error> {
    match norm_first {
        true => x.add(&part(&norm.forward(x)?)?),
        false => norm.forward(&x.add(&part(x)?)?),
    }
}

/// A layer of a transformer's encoder: self-attention, then a feed-forward network.
///
/// ```
/// use allotrope_nn::{DType, Layer, Tensor, TransformerEncoderLayer};
/// let layer = TransformerEncoderLayer::new(8, 2)?;
/// assert_eq!(layer.forward(&Tensor::ones((5, 3, 8), DType::F32)?)?.shape(), [5, 3, 8]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct TransformerEncoderLayer {
    /// Attention to itself.
    pub self_attn: MultiheadAttention,
    /// The first product.
    pub linear1: Linear,
    /// The second.
    pub linear2: Linear,
    /// The norm of attention.
    pub norm1: LayerNorm,
    /// The norm of the products.
    pub norm2: LayerNorm,
    dropout: Dropout,
    #[module(skip)]
    options: TransformerOptions,
}

impl TransformerEncoderLayer {
    /// A layer of a size and so many heads.
    ///
    /// # Errors
    /// A value error for a size that the heads do not divide, a memory error.
    pub fn new(size: usize, heads: usize) -> Result<Self, Error> {
        Self::with(size, heads, TransformerOptions::default())
    }

    /// A layer with options.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with(size: usize, heads: usize, options: TransformerOptions) -> Result<Self, Error> {
        Ok(Self {
            self_attn: options.attention(size, heads)?,
            linear1: options.linear(size, options.dim_feedforward)?,
            linear2: options.linear(options.dim_feedforward, size)?,
            norm1: options.norm(size)?,
            norm2: options.norm(size)?,
            dropout: Dropout::new(options.dropout)?,
            options,
        })
    }

    /// The result for an input, with masks.
    ///
    /// # Errors
    /// As [`MultiheadAttention::forward`].
    pub fn forward_masked(
        &self,
        input: &Tensor,
        arguments: AttentionArguments<'_>,
    ) -> Result<Tensor, Error> {
        let before = self.options.norm_first;
        let x = residual(input, &self.norm1, before, |x| {
            let attended = self.self_attn.forward(x, x, x, arguments)?;
            self.dropout.forward(&attended.output)
        })?;
        residual(&x, &self.norm2, before, |x| {
            let wide = self.options.between(&self.linear1.forward(x)?)?;
            let narrow = self.linear2.forward(&self.dropout.forward(&wide)?)?;
            self.dropout.forward(&narrow)
        })
    }
}

impl Layer for TransformerEncoderLayer {
    fn forward(&self, input: &Tensor) -> Result<Tensor, Error> {
        self.forward_masked(input, AttentionArguments::default())
    }
}

/// A layer of a transformer's decoder: self-attention, cross-attention to an encoder's results, then a
/// feed-forward network.
///
/// ```
/// use allotrope_nn::{DType, Layer, Tensor, TransformerDecoderLayer};
/// let layer = TransformerDecoderLayer::new(8, 2)?;
/// let (x, memory) = (Tensor::ones((5, 3, 8), DType::F32)?, Tensor::ones((4, 3, 8), DType::F32)?);
/// let y = layer.forward(&x, &memory, Default::default(), Default::default())?;
/// assert_eq!(y.shape(), [5, 3, 8]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct TransformerDecoderLayer {
    /// Attention to itself.
    pub self_attn: MultiheadAttention,
    /// Attention to the memory.
    pub multihead_attn: MultiheadAttention,
    /// The first product.
    pub linear1: Linear,
    /// The second.
    pub linear2: Linear,
    /// The norm of attention to itself.
    pub norm1: LayerNorm,
    /// The norm of attention to the memory.
    pub norm2: LayerNorm,
    /// The norm of the products.
    pub norm3: LayerNorm,
    dropout: Dropout,
    #[module(skip)]
    options: TransformerOptions,
}

impl TransformerDecoderLayer {
    /// A layer of a size and so many heads.
    ///
    /// # Errors
    /// A value error for a size that the heads do not divide, a memory error.
    pub fn new(size: usize, heads: usize) -> Result<Self, Error> {
        Self::with(size, heads, TransformerOptions::default())
    }

    /// A layer with options.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with(size: usize, heads: usize, options: TransformerOptions) -> Result<Self, Error> {
        Ok(Self {
            self_attn: options.attention(size, heads)?,
            multihead_attn: options.attention(size, heads)?,
            linear1: options.linear(size, options.dim_feedforward)?,
            linear2: options.linear(options.dim_feedforward, size)?,
            norm1: options.norm(size)?,
            norm2: options.norm(size)?,
            norm3: options.norm(size)?,
            dropout: Dropout::new(options.dropout)?,
            options,
        })
    }

    /// The result for an input and a memory, each with masks.
    ///
    /// # Errors
    /// As [`MultiheadAttention::forward`].
    pub fn forward(
        &self,
        input: &Tensor,
        memory: &Tensor,
        own: AttentionArguments<'_>,
        other: AttentionArguments<'_>,
    ) -> Result<Tensor, Error> {
        let before = self.options.norm_first;
        let x = residual(input, &self.norm1, before, |x| {
            self.dropout
                .forward(&self.self_attn.forward(x, x, x, own)?.output)
        })?;
        let x = residual(&x, &self.norm2, before, |x| {
            let attended = self.multihead_attn.forward(x, memory, memory, other)?;
            self.dropout.forward(&attended.output)
        })?;
        residual(&x, &self.norm3, before, |x| {
            let wide = self.options.between(&self.linear1.forward(x)?)?;
            let narrow = self.linear2.forward(&self.dropout.forward(&wide)?)?;
            self.dropout.forward(&narrow)
        })
    }
}

/// A transformer's encoder: its layers one after the other, and a norm.
///
/// ```
/// use allotrope_nn::{DType, Layer, Tensor, TransformerEncoder};
/// let encoder = TransformerEncoder::new(8, 2, 3, Default::default())?;
/// assert_eq!(encoder.forward(&Tensor::ones((5, 3, 8), DType::F32)?)?.shape(), [5, 3, 8]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct TransformerEncoder {
    /// The layers.
    pub layers: Vec<TransformerEncoderLayer>,
    /// The norm.
    pub norm: Option<LayerNorm>,
}

impl TransformerEncoder {
    /// So many layers, each with values of its own, without a norm.
    ///
    /// # Errors
    /// As [`TransformerEncoderLayer::with`].
    pub fn new(
        size: usize,
        heads: usize,
        num_layers: usize,
        options: TransformerOptions,
    ) -> Result<Self, Error> {
        let layer = |_| TransformerEncoderLayer::with(size, heads, options);
        let layers = (0..num_layers).map(layer).collect::<Result<_, Error>>()?;
        Ok(Self { layers, norm: None })
    }

    /// The result for an input, with masks.
    ///
    /// # Errors
    /// As [`MultiheadAttention::forward`].
    pub fn forward_masked(
        &self,
        input: &Tensor,
        arguments: AttentionArguments<'_>,
    ) -> Result<Tensor, Error> {
        let mut layers = self.layers.iter();
        let x = layers.try_fold(input.clone(), |x, layer| {
            layer.forward_masked(&x, arguments)
        })?;
        self.norm.forward(&x)
    }
}

impl Layer for TransformerEncoder {
    fn forward(&self, input: &Tensor) -> Result<Tensor, Error> {
        self.forward_masked(input, AttentionArguments::default())
    }
}

/// A transformer's decoder: its layers one after the other, and a norm.
///
/// ```
/// use allotrope_nn::{DType, Layer, Tensor, TransformerDecoder};
/// let decoder = TransformerDecoder::new(8, 2, 3, Default::default())?;
/// let (x, memory) = (Tensor::ones((5, 3, 8), DType::F32)?, Tensor::ones((4, 3, 8), DType::F32)?);
/// let y = decoder.forward(&x, &memory, Default::default(), Default::default())?;
/// assert_eq!(y.shape(), [5, 3, 8]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct TransformerDecoder {
    /// The layers.
    pub layers: Vec<TransformerDecoderLayer>,
    /// The norm.
    pub norm: Option<LayerNorm>,
}

impl TransformerDecoder {
    /// So many layers, each with values of its own, without a norm.
    ///
    /// # Errors
    /// As [`TransformerDecoderLayer::with`].
    pub fn new(
        size: usize,
        heads: usize,
        num_layers: usize,
        options: TransformerOptions,
    ) -> Result<Self, Error> {
        let layer = |_| TransformerDecoderLayer::with(size, heads, options);
        let layers = (0..num_layers).map(layer).collect::<Result<_, Error>>()?;
        Ok(Self { layers, norm: None })
    }

    /// The result for an input and a memory, each with masks.
    ///
    /// # Errors
    /// As [`MultiheadAttention::forward`].
    pub fn forward(
        &self,
        input: &Tensor,
        memory: &Tensor,
        own: AttentionArguments<'_>,
        other: AttentionArguments<'_>,
    ) -> Result<Tensor, Error> {
        let mut layers = self.layers.iter();
        let x = layers.try_fold(input.clone(), |x, layer| {
            layer.forward(&x, memory, own, other)
        })?;
        self.norm.forward(&x)
    }
}

/// A transformer: an encoder, and a decoder that attends to its results.
///
/// ```
/// use allotrope_nn::{AttentionArguments, DType, Layer, Tensor, Transformer};
/// let network = Transformer::new(8, 2, (1, 1), Default::default())?;
/// let (source, target) = (Tensor::ones((4, 3, 8), DType::F32)?, Tensor::ones((5, 3, 8), DType::F32)?);
/// let none = AttentionArguments::default();
/// assert_eq!(network.forward(&source, &target, none, none, none)?.shape(), [5, 3, 8]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct Transformer {
    /// What reads the source.
    pub encoder: TransformerEncoder,
    /// What writes the target.
    pub decoder: TransformerDecoder,
}

impl Transformer {
    /// So many layers of each, with norms behind them; weights are Glorot's uniform numbers.
    ///
    /// # Errors
    /// As [`TransformerEncoderLayer::with`].
    pub fn new(
        size: usize,
        heads: usize,
        (encoder_layers, decoder_layers): (usize, usize),
        options: TransformerOptions,
    ) -> Result<Self, Error> {
        let mut encoder = TransformerEncoder::new(size, heads, encoder_layers, options)?;
        let mut decoder = TransformerDecoder::new(size, heads, decoder_layers, options)?;
        encoder.norm = Some(options.norm(size)?);
        decoder.norm = Some(options.norm(size)?);
        let transformer = Self { encoder, decoder };
        for parameter in transformer.parameters() {
            if parameter.value().rank() > 1 {
                init::xavier_uniform_(&parameter, 1.0, None)?;
            }
        }
        Ok(transformer)
    }

    /// The result for a source and a target, each with masks of its own; `memory` has those of the
    /// target's attention to the source.
    ///
    /// # Errors
    /// As [`MultiheadAttention::forward`].
    pub fn forward(
        &self,
        source: &Tensor,
        target: &Tensor,
        for_source: AttentionArguments<'_>,
        for_target: AttentionArguments<'_>,
        memory: AttentionArguments<'_>,
    ) -> Result<Tensor, Error> {
        let read = self.encoder.forward_masked(source, for_source)?;
        self.decoder.forward(target, &read, for_target, memory)
    }
}
