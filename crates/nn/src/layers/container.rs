//! Layers one after the other, and functions as layers.

use std::fmt;
use std::ops::Index;

use allotrope_dtype::Error;
use allotrope_tensor::Tensor;

use crate::{Layer, Module, Visit, Walk};

/// A layer of any kind.
type AnyLayer = Box<dyn Layer + Send + Sync>;

/// Layers of any kind, one after the other; paths have their numbers.
///
/// ```
/// use allotrope_nn::{DType, Layer, Linear, Module, Relu, Sequential, Tensor, func};
/// let mut net = Sequential::new().add(Linear::new(4, 8)?).add(Relu).add(Linear::new(8, 2)?);
/// assert_eq!(net.forward(&Tensor::ones((3, 4), DType::F32)?)?.shape(), [3, 2]);
/// assert_eq!(net.named_parameters()[2].0, "2.weight");
///
/// net.push(func(|x| x.softmax(-1, None)));
/// assert_eq!((net.len(), net[1].num_parameters(), net.iter().count()), (4, 0, 4));
///
/// let deep: Sequential = [8, 6, 4].windows(2).map(|w| Linear::new(w[0], w[1])).collect::<Result<_, _>>()?;
/// assert_eq!(deep.num_parameters(), 8 * 6 + 6 + 6 * 4 + 4);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Default, Module)]
pub struct Sequential {
    #[module(flatten)]
    layers: Vec<AnyLayer>,
}

impl fmt::Debug for Sequential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
        self.push(layer);
        self
    }

    /// Adds a layer after the others.
    pub fn push(&mut self, layer: impl Layer + Send + Sync + 'static) {
        self.layers.push(Box::new(layer));
    }

    /// The layers in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &(dyn Layer + Send + Sync)> {
        self.layers.iter().map(|layer| &**layer)
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

/// A layer by its number.
///
/// # Panics
/// For a number from [`len`](Sequential::len) on.
impl Index<usize> for Sequential {
    type Output = dyn Layer + Send + Sync;
    fn index(&self, place: usize) -> &Self::Output {
        &*self.layers[place]
    }
}

/// Layers of one type, or boxes of layers of any.
impl<L: Layer + Send + Sync + 'static> Extend<L> for Sequential {
    fn extend<I: IntoIterator<Item = L>>(&mut self, layers: I) {
        layers.into_iter().for_each(|layer| self.push(layer));
    }
}

/// Layers of one type, or boxes of layers of any.
impl<L: Layer + Send + Sync + 'static> FromIterator<L> for Sequential {
    fn from_iter<I: IntoIterator<Item = L>>(layers: I) -> Self {
        let mut sequential = Self::new();
        sequential.extend(layers);
        sequential
    }
}

/// A function as a layer; see [`func`].
#[derive(Clone, Copy)]
pub struct Func<F>(F);

/// A function or closure as a layer without parameters.
///
/// Closures are no layers by themselves: what a box of one is would be said twice, by the closure and by
/// the box.
///
/// ```
/// use allotrope_nn::{Layer, Tensor, func};
/// let scale = 3.0;
/// let layer = func(move |x| x.mul(scale));
/// let x = Tensor::new([1.0, -2.0])?;
/// assert_eq!(layer.forward(&x)?, Tensor::new([3.0, -6.0])?);
/// assert_eq!(func(Tensor::relu).forward(&x)?, Tensor::new([1.0, 0.0])?);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
pub fn func<F: Fn(&Tensor) -> Result<Tensor, Error>>(function: F) -> Func<F> {
    Func(function)
}

impl<F> fmt::Debug for Func<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "func({})", std::any::type_name::<F>())
    }
}

impl<F> Visit for Func<F> {
    fn visit(&self, _: &mut Walk<'_>) {}
}

impl<F> Module for Func<F> {}

impl<F: Fn(&Tensor) -> Result<Tensor, Error>> Layer for Func<F> {
    fn forward(&self, input: &Tensor) -> Result<Tensor, Error> {
        (self.0)(input)
    }
}
