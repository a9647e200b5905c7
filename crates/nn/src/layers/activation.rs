//! Activation functions: elementwise ones, and softmax and its kin along a dimension.

use allotrope_dtype::{Error, default_dtype};
use allotrope_tensor::{Options, Tensor};

use crate::{Layer, Module, Parameter, Training};

macro_rules! plain {
    ($($doc:literal $name:ident $method:ident;)*) => {$(
        #[doc = $doc]
        #[doc = concat!("\n```\nuse allotrope_nn::{Layer, Tensor, ", stringify!($name), "};\nlet x = Tensor::new([-1.0, 0.0, 2.0])?;\nassert_eq!(", stringify!($name), ".forward(&x)?.shape(), [3]);\n# Ok::<(), allotrope_nn::Error>(())\n```")]
        #[derive(Clone, Copy, Debug, Default, Module)]
        pub struct $name;

        impl Layer for $name {
            fn forward(&self, input: &Tensor) -> Result<Tensor, Error> {
                input.$method()
            }
        }
    )*};
}
plain! {
    "The rectified linear unit: `max(x, 0)`." Relu relu;
    "The rectified linear unit up to 6: `min(max(x, 0), 6)`." Relu6 relu6;
    "The scaled exponential linear unit: `scale * x`, and `scale * α (exp x - 1)` below zero." Selu selu;
    "Softsign: `x / (1 + |x|)`." Softsign softsign;
    "The Gaussian error linear unit: `x Φ(x)`, with the normal distribution function `Φ`." Gelu gelu;
    "The Gaussian error linear unit, approximated by a hyperbolic tangent." GeluTanh gelu_tanh;
    "The sigmoid linear unit, or swish: `x / (1 + exp(-x))`." Silu silu;
    "Mish: `x tanh(log(1 + exp x))`." Mish mish;
    "The hard swish: `x relu6(x + 3) / 6`." Hardswish hardswish;
    "The hard sigmoid: `relu6(x + 3) / 6`." Hardsigmoid hardsigmoid;
    "Tanhshrink: `x - tanh x`." Tanhshrink tanhshrink;
    "The hyperbolic tangent." Tanh tanh;
    "The sigmoid, or logistic function: `1 / (1 + exp(-x))`." Sigmoid sigmoid;
    "The logarithm of the sigmoid: `-log(1 + exp(-x))`." LogSigmoid log_sigmoid;
}

macro_rules! with_numbers {
    ($($doc:literal $name:ident $method:ident ($($field:ident $field_doc:literal $default:literal),*);)*) => {$(
        #[doc = $doc]
        #[doc = concat!("\n```\nuse allotrope_nn::{Layer, Tensor, ", stringify!($name), "};\nlet layer = ", stringify!($name), "::default();\nassert_eq!(layer.forward(&Tensor::new([-1.0, 2.0])?)?.shape(), [2]);\n# Ok::<(), allotrope_nn::Error>(())\n```")]
        #[derive(Clone, Copy, Debug, Module)]
        pub struct $name {
            $(
                #[doc = $field_doc]
                pub $field: f64,
            )*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default),* }
            }
        }

        impl Layer for $name {
            fn forward(&self, input: &Tensor) -> Result<Tensor, Error> {
                input.$method($(self.$field),*)
            }
        }
    )*};
}
with_numbers! {
    "The leaky rectified linear unit: `x`, and `negative_slope * x` below zero." LeakyRelu leaky_relu (negative_slope "The slope." 0.01);
    "The exponential linear unit: `x`, and `α (exp x - 1)` below zero." Elu elu (alpha "What they go to." 1.0);
    "The continuously differentiable exponential linear unit: `x`, and `α (exp(x / α) - 1)` below zero." Celu celu (alpha "What they go to." 1.0);
    "Softplus: `log(1 + exp(β x)) / β`, and `x` beyond a threshold." Softplus softplus
        (beta "The factor." 1.0, threshold "From where on it is the number itself." 20.0);
    "Soft shrinkage: numbers come nearer to zero by λ." Softshrink softshrink (lambda "By how much." 0.5);
    "Hard shrinkage: numbers within λ of zero become zero." Hardshrink hardshrink (lambda "How near." 0.5);
    "The hard hyperbolic tangent: numbers are clamped to two bounds." Hardtanh hardtanh (min_val "The lower." -1.0, max_val "The upper." 1.0);
}

/// A threshold: what is not above it becomes a value.
///
/// ```
/// use allotrope_nn::{Layer, Tensor, Threshold};
/// let layer = Threshold { threshold: 0.5, value: 9.0 };
/// assert_eq!(layer.forward(&Tensor::new([0.0, 1.0])?)?, Tensor::new([9.0, 1.0])?);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Module)]
pub struct Threshold {
    /// The limit.
    pub threshold: f64,
    /// The value.
    pub value: f64,
}

impl Layer for Threshold {
    fn forward(&self, input: &Tensor) -> Result<Tensor, Error> {
        input.threshold(self.threshold, self.value)
    }
}

/// The parametric rectified linear unit: negative numbers are multiplied by a slope that is learned,
/// of all or of each channel.
///
/// ```
/// use allotrope_nn::{DType, Layer, Prelu, Tensor};
/// let layer = Prelu::with(2, 0.5, DType::F64)?;
/// let x = Tensor::new([[-2.0, 2.0]])?;
/// assert_eq!(layer.forward(&x)?, Tensor::new([[-1.0, 2.0]])?);
/// assert!(layer.forward(&Tensor::ones((1, 3), DType::F64)?).is_err());
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct Prelu {
    /// The slopes.
    pub weight: Parameter,
}

impl Prelu {
    /// One slope, or one per channel; 0.25 at first.
    ///
    /// # Errors
    /// A memory error.
    pub fn new(num_parameters: usize) -> Result<Self, Error> {
        Self::with(num_parameters, 0.25, default_dtype())
    }

    /// Slopes with another first value, of a dtype, or of one on a device.
    ///
    /// # Errors
    /// A dtype error for a dtype without gradients, a memory error.
    pub fn with(
        num_parameters: usize,
        init: f64,
        options: impl Into<Options>,
    ) -> Result<Self, Error> {
        let weight = Parameter::new(Tensor::full(&[num_parameters], init, options)?)?;
        Ok(Self { weight })
    }
}

impl Layer for Prelu {
    fn forward(&self, input: &Tensor) -> Result<Tensor, Error> {
        input.prelu(&self.weight.value())
    }
}

/// The randomized leaky rectified linear unit: negative numbers are multiplied by a slope that is
/// drawn in training.
///
/// ```
/// use allotrope_nn::{Layer, Module, Rrelu, Tensor};
/// let layer = Rrelu { lower: 0.25, upper: 0.75, ..Default::default() };
/// layer.eval();
/// assert_eq!(layer.forward(&Tensor::new([-2.0, 2.0])?)?, Tensor::new([-1.0, 2.0])?);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct Rrelu {
    /// The least slope.
    pub lower: f64,
    /// The greatest.
    pub upper: f64,
    /// Whether it is drawn, or the middle of both.
    pub training: Training,
}

impl Default for Rrelu {
    fn default() -> Self {
        Self {
            lower: 0.125,
            upper: 1.0 / 3.0,
            training: Training::default(),
        }
    }
}

impl Layer for Rrelu {
    fn forward(&self, input: &Tensor) -> Result<Tensor, Error> {
        input.rrelu(self.lower, self.upper, self.training.is_on(), None)
    }
}

macro_rules! along_a_dimension {
    ($($doc:literal $name:ident |$x:ident, $dim:ident| $body:expr;)*) => {$(
        #[doc = $doc]
        #[doc = concat!("\n```\nuse allotrope_nn::{Layer, Tensor, ", stringify!($name), "};\nlet x = Tensor::new([[1.0, 2.0], [4.0, 3.0]])?;\nassert_eq!(", stringify!($name), "::new(-1).forward(&x)?.shape()[0], 2);\n# Ok::<(), allotrope_nn::Error>(())\n```")]
        #[derive(Clone, Copy, Debug, Module)]
        pub struct $name {
            /// The dimension.
            pub dim: isize,
        }

        impl $name {
            /// Along a dimension.
            #[must_use]
            pub fn new(dim: isize) -> Self {
                Self { dim }
            }
        }

        impl Layer for $name {
            fn forward(&self, $x: &Tensor) -> Result<Tensor, Error> {
                let $dim = self.dim;
                $body
            }
        }
    )*};
}
along_a_dimension! {
    "The softmax, probabilities along a dimension: `exp(x) / Σ exp(x)`." Softmax |x, dim| x.softmax(dim, None);
    "The softmin, probabilities along a dimension: `exp(-x) / Σ exp(-x)`." Softmin |x, dim| x.softmin(dim, None);
    "The log-softmax, log-probabilities along a dimension: `x - log Σ exp(x)`." LogSoftmax |x, dim| x.log_softmax(dim, None);
    "The gated linear unit: one half of a dimension times the sigmoid of the other." Glu |x, dim| x.glu(dim);
}
