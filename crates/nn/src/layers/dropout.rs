//! Dropout: what is dropped in training.

use allotrope_dtype::{Error, Problem};
use allotrope_tensor::Tensor;

use crate::{Layer, Module, Training};

macro_rules! dropouts {
    ($($(#[doc = $doc:literal])* $name:ident $method:ident;)*) => {$(
        $(#[doc = $doc])*
        #[doc = concat!("\n```\nuse allotrope_nn::{DType, Layer, Module, Tensor, ", stringify!($name), "};\nlet (layer, x) = (", stringify!($name), "::new(0.5)?, Tensor::ones((2, 3, 4, 4, 4), DType::F32)?);\nlayer.eval();\nassert_eq!(layer.forward(&x)?, x);\n# Ok::<(), allotrope_nn::Error>(())\n```")]
        #[derive(Clone, Debug, Module)]
        pub struct $name {
            /// The probability that an element, or a channel, is dropped.
            pub p: f64,
            /// Whether anything is.
            pub training: Training,
        }

        impl $name {
            /// Drops with a probability.
            ///
            /// # Errors
            /// A value error for a probability beyond 0 to 1.
            pub fn new(p: f64) -> Result<Self, Error> {
                if (0.0..=1.0).contains(&p) {
                    return Ok(Self { p, training: Training::default() });
                }
                let problem = Problem::OutOfRange {
                    what: "p",
                    index: None,
                    value: format!("{p:?}"),
                    accepted: "0 to 1",
                };
                Err(Error::new(stringify!($method), problem))
            }
        }

        impl Layer for $name {
            fn forward(&self, input: &Tensor) -> Result<Tensor, Error> {
                match self.training.is_on() {
                    true => input.$method(self.p, None),
                    false => Ok(input.clone()),
                }
            }
        }
    )*};
}
dropouts! {
    /// Dropout: elements become zero with probability `p`, and the others are divided by `1 - p`.
    Dropout dropout;
    /// Dropout of whole channels of rows; the others are scaled up.
    Dropout1d dropout1d;
    /// Dropout of whole channels of images; the others are scaled up.
    Dropout2d dropout2d;
    /// Dropout of whole channels of volumes; the others are scaled up.
    Dropout3d dropout3d;
    /// Alpha dropout, for networks of `Selu`: elements are dropped so that mean and variance stay.
    AlphaDropout alpha_dropout;
    /// Alpha dropout of whole channels: they are dropped so that mean and variance stay.
    FeatureAlphaDropout feature_alpha_dropout;
}
