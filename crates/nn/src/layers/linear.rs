//! Layers of one product.

use allotrope_dtype::{DType, Error, default_dtype};
use allotrope_tensor::{Device, Tensor};

use super::{root_share, uniform, value};
use crate::{Layer, Module, Parameter};

/// How a linear layer is made.
///
/// ```
/// use allotrope_nn::{Linear, LinearOptions};
/// let layer = Linear::with(3, 2, LinearOptions { bias: false, ..Default::default() })?;
/// assert!(layer.bias.is_none());
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LinearOptions {
    /// Whether there is a summand.
    pub bias: bool,
    /// The dtype of the parameters.
    pub dtype: DType,
    /// The device of the same.
    pub device: Device,
}

impl Default for LinearOptions {
    fn default() -> Self {
        Self {
            bias: true,
            dtype: default_dtype(),
            device: Device::cpu(),
        }
    }
}

impl LinearOptions {
    fn place(&self) -> (DType, Device) {
        (self.dtype, self.device)
    }

    fn bias(&self, outputs: usize, bound: f64) -> Result<Option<Parameter>, Error> {
        let bias = self.bias.then(|| uniform(&[outputs], bound, self.place()));
        bias.transpose()
    }
}

/// A linear, or fully connected, layer: `y = x Wᵀ + b` over the last dimension.
///
/// ```
/// use allotrope_nn::{DType, Layer, Linear, Tensor};
/// let layer = Linear::new(3, 2)?;
/// let y = layer.forward(&Tensor::ones(&[5, 3], DType::F32)?)?;
/// assert_eq!(y.shape().to_vec(), [5, 2]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct Linear {
    /// `[out, in]`.
    pub weight: Parameter,
    /// `[out]`.
    pub bias: Option<Parameter>,
}

impl Linear {
    /// A layer with a bias.
    ///
    /// # Errors
    /// A memory error.
    pub fn new(inputs: usize, outputs: usize) -> Result<Self, Error> {
        Self::with(inputs, outputs, LinearOptions::default())
    }

    /// A layer with options.
    ///
    /// # Errors
    /// A dtype error for a dtype without gradients, a memory error.
    pub fn with(inputs: usize, outputs: usize, options: LinearOptions) -> Result<Self, Error> {
        let bound = root_share(inputs);
        let weight = uniform(&[outputs, inputs], bound, options.place())?;
        let bias = options.bias(outputs, bound)?;
        Ok(Self { weight, bias })
    }
}

impl Layer for Linear {
    fn forward(&self, input: &Tensor) -> Result<Tensor, Error> {
        input.linear(&self.weight.value(), value(self.bias.as_ref()).as_ref())
    }
}

/// A bilinear layer: `y = x₁ᵀ W x₂ + b` over the last dimensions.
///
/// ```
/// use allotrope_nn::{Bilinear, DType, Layer, Tensor};
/// let layer = Bilinear::new(3, 4, 2)?;
/// let (x, y) = (Tensor::ones((5, 3), DType::F32)?, Tensor::ones((5, 4), DType::F32)?);
/// assert_eq!(layer.forward(&x, &y)?.shape(), [5, 2]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct Bilinear {
    /// `[out, first, second]`.
    pub weight: Parameter,
    /// `[out]`.
    pub bias: Option<Parameter>,
}

impl Bilinear {
    /// A layer with a bias.
    ///
    /// # Errors
    /// A memory error.
    pub fn new(first: usize, second: usize, outputs: usize) -> Result<Self, Error> {
        Self::with(first, second, outputs, LinearOptions::default())
    }

    /// A layer with options.
    ///
    /// # Errors
    /// A dtype error for a dtype without gradients, a memory error.
    pub fn with(
        first: usize,
        second: usize,
        outputs: usize,
        options: LinearOptions,
    ) -> Result<Self, Error> {
        let bound = root_share(first);
        let weight = uniform(&[outputs, first, second], bound, options.place())?;
        let bias = options.bias(outputs, bound)?;
        Ok(Self { weight, bias })
    }

    /// The result for two inputs.
    ///
    /// # Errors
    /// As [`Tensor::bilinear`].
    pub fn forward(&self, first: &Tensor, second: &Tensor) -> Result<Tensor, Error> {
        let bias = value(self.bias.as_ref());
        first.bilinear(second, &self.weight.value(), bias.as_ref())
    }
}

/// The identity: hands its input on.
///
/// ```
/// use allotrope_nn::{Identity, Layer, Tensor};
/// let x = Tensor::new([1.0])?;
/// assert_eq!(Identity.forward(&x)?, x);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, Module)]
pub struct Identity;

impl Layer for Identity {
    fn forward(&self, input: &Tensor) -> Result<Tensor, Error> {
        Ok(input.clone())
    }
}
