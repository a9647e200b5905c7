//! Elementwise functions, and shares along a dimension.

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
    "Negative numbers become zero." Relu relu;
    "Numbers are kept within 0 and 6." Relu6 relu6;
    "The scaled exponential unit." Selu selu;
    "`x / (1 + |x|)`." Softsign softsign;
    "The number times the chance that a normal number is below it." Gelu gelu;
    "The same by a hyperbolic tangent." GeluTanh gelu_tanh;
    "The number times its logistic function." Silu silu;
    "`x tanh(log(1 + exp x))`." Mish mish;
    "`x relu6(x + 3) / 6`." Hardswish hardswish;
    "`relu6(x + 3) / 6`." Hardsigmoid hardsigmoid;
    "`x - tanh x`." Tanhshrink tanhshrink;
    "The hyperbolic tangent." Tanh tanh;
    "The logistic function." Sigmoid sigmoid;
    "The logarithm of the logistic function." LogSigmoid log_sigmoid;
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
    "Negative numbers are multiplied by a slope." LeakyRelu leaky_relu (negative_slope "The slope." 0.01);
    "Negative numbers become `α (exp x - 1)`." Elu elu (alpha "What they go to." 1.0);
    "Negative numbers become `α (exp(x / α) - 1)`." Celu celu (alpha "What they go to." 1.0);
    "`log(1 + exp(β x)) / β`; the number itself beyond a threshold." Softplus softplus
        (beta "The factor." 1.0, threshold "From where on it is the number itself." 20.0);
    "Numbers come nearer to zero by λ." Softshrink softshrink (lambda "By how much." 0.5);
    "Numbers within λ of zero become zero." Hardshrink hardshrink (lambda "How near." 0.5);
    "Numbers are kept within two bounds." Hardtanh hardtanh (min_val "The lower." -1.0, max_val "The upper." 1.0);
}

/// What is not above a limit becomes a value.
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

/// Negative numbers are multiplied by a slope that is learned, of all or of each channel.
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

/// Negative numbers are multiplied by a slope that is drawn in training.
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
    "Exponentials as shares of their sum." Softmax |x, dim| x.softmax(dim, None);
    "Exponentials of the negated numbers as shares of their sum." Softmin |x, dim| x.softmin(dim, None);
    "Logarithms of the shares." LogSoftmax |x, dim| x.log_softmax(dim, None);
    "One half times the logistic function of the other." Glu |x, dim| x.glu(dim);
}
