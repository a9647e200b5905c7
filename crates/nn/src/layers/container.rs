//! Layers one after the other.

use allotrope_dtype::Error;
use allotrope_tensor::Tensor;

use crate::{Layer, Module};

/// Layers of any kind, one after the other; paths have their numbers.
///
/// ```
/// use allotrope_nn::{DType, Layer, Linear, Module, Relu, Sequential, Tensor};
/// let net = Sequential::new().add(Linear::new(4, 8)?).add(Relu).add(Linear::new(8, 2)?);
/// assert_eq!(net.forward(&Tensor::ones(&[3, 4], DType::F32)?)?.shape().to_vec(), [3, 2]);
/// assert_eq!(net.named_parameters()[2].0, "2.weight");
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Default, Module)]
pub struct Sequential {
    #[module(flatten)]
    layers: Vec<Box<dyn Layer + Send + Sync>>,
}

impl std::fmt::Debug for Sequential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sequential({} layers)", self.layers.len())
    }
}

impl Sequential {
    /// No layers, which hand their input on.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same layers, and another one.
    #[must_use]
    #[allow(clippy::should_implement_trait, reason = "no sum of numbers")]
    pub fn add(mut self, layer: impl Layer + Send + Sync + 'static) -> Self {
        self.layers.push(Box::new(layer));
        self
    }

    /// How many layers there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.layers.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }
}

impl Layer for Sequential {
    fn forward(&self, input: &Tensor) -> Result<Tensor, Error> {
        let mut layers = self.layers.iter();
        layers.try_fold(input.clone(), |x, layer| layer.forward(&x))
    }
}
