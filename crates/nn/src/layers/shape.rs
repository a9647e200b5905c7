//! Padding, resizing, shuffling, flattening.

use allotrope_dtype::{Error, WeakScalar};
use allotrope_tensor::{Interpolation, InterpolationOptions, PadMode, Resized, Tensor};

use crate::{Layer, Module};

/// Flattening: the dimensions from one to another as one.
///
/// ```
/// use allotrope_nn::{DType, Flatten, Layer, Tensor};
/// let x = Tensor::ones((2, 3, 4), DType::F32)?;
/// assert_eq!(Flatten::default().forward(&x)?.shape(), [2, 12]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Module)]
pub struct Flatten {
    /// The first of them.
    pub start_dim: isize,
    /// The last of them.
    pub end_dim: isize,
}

impl Default for Flatten {
    /// All but the batch.
    fn default() -> Self {
        Self {
            start_dim: 1,
            end_dim: -1,
        }
    }
}

impl Layer for Flatten {
    fn forward(&self, input: &Tensor) -> Result<Tensor, Error> {
        input.flatten(self.start_dim, self.end_dim)
    }
}

/// Unflattening: a dimension as several.
///
/// ```
/// use allotrope_nn::{DType, Layer, Tensor, Unflatten};
/// let layer = Unflatten { dim: 1, sizes: vec![3, -1] };
/// assert_eq!(layer.forward(&Tensor::ones((2, 12), DType::F32)?)?.shape(), [2, 3, 4]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct Unflatten {
    /// The dimension.
    pub dim: isize,
    /// Their sizes, of which one may be -1.
    pub sizes: Vec<isize>,
}

impl Layer for Unflatten {
    fn forward(&self, input: &Tensor) -> Result<Tensor, Error> {
        input.unflatten(self.dim, &self.sizes)
    }
}

/// Padding: elements added at the ends of dimensions, two sizes for each, the last dimension first.
///
/// ```
/// use allotrope_nn::{Layer, Pad, Tensor};
/// let x = Tensor::new([1, 2])?;
/// assert_eq!(Pad::zeros(&[1, 0]).forward(&x)?, Tensor::new([0, 1, 2])?);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct Pad {
    /// How many.
    pub padding: Vec<isize>,
    /// What stands there.
    #[module(skip)]
    pub mode: PadMode,
}

impl Pad {
    /// Zeros.
    #[must_use]
    pub fn zeros(padding: &[isize]) -> Self {
        Self::with(padding, PadMode::Constant(WeakScalar::Int(0)))
    }

    /// Anything else.
    #[must_use]
    pub fn with(padding: &[isize], mode: PadMode) -> Self {
        let padding = padding.to_vec();
        Self { padding, mode }
    }
}

impl Layer for Pad {
    fn forward(&self, input: &Tensor) -> Result<Tensor, Error> {
        input.pad(&self.padding, self.mode)
    }
}

/// Upsampling by interpolation: grids of another size.
///
/// ```
/// use allotrope_nn::{DType, Layer, Tensor, Upsample};
/// let x = Tensor::ones((1, 3, 4, 4), DType::F32)?;
/// assert_eq!(Upsample::by_factors(&[2.0]).forward(&x)?.shape(), [1, 3, 8, 8]);
/// assert_eq!(Upsample::to_sizes(&[5, 6]).forward(&x)?.shape(), [1, 3, 5, 6]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct Upsample {
    /// How results are made of the elements near them.
    pub mode: Interpolation,
    /// The sizes, or none for factors; one number stands for all dimensions.
    pub sizes: Option<Vec<usize>>,
    /// The factors.
    pub factors: Vec<f64>,
    /// Whether the centres of the corners stay where they are.
    pub align_corners: bool,
}

impl Upsample {
    /// Grids of these sizes, of the nearest elements.
    #[must_use]
    pub fn to_sizes(sizes: &[usize]) -> Self {
        Self {
            mode: Interpolation::Nearest,
            sizes: Some(sizes.to_vec()),
            factors: vec![],
            align_corners: false,
        }
    }

    /// Grids of so many times the sizes, of the nearest elements.
    #[must_use]
    pub fn by_factors(factors: &[f64]) -> Self {
        Self {
            mode: Interpolation::Nearest,
            sizes: None,
            factors: factors.to_vec(),
            align_corners: false,
        }
    }
}

impl Layer for Upsample {
    fn forward(&self, input: &Tensor) -> Result<Tensor, Error> {
        let options = InterpolationOptions {
            align_corners: self.align_corners,
            antialias: false,
        };
        let resized = match &self.sizes {
            Some(sizes) => Resized::Sizes(sizes),
            None => Resized::Factors {
                factors: &self.factors,
                recompute: false,
            },
        };
        input.interpolate(self.mode, resized, options)
    }
}

macro_rules! shuffles {
    ($($doc:literal $name:ident $method:ident;)*) => {$(
        #[doc = $doc]
        #[doc = concat!("\n```\nuse allotrope_nn::{DType, Layer, Tensor, ", stringify!($name), "};\nlet x = Tensor::ones((1, 4, 2, 2), DType::F32)?;\nassert_eq!(", stringify!($name), "::new(2).forward(&x)?.count(), 16);\n# Ok::<(), allotrope_nn::Error>(())\n```")]
        #[derive(Clone, Copy, Debug, Module)]
        pub struct $name {
            /// The factor, or the number of groups.
            pub factor: usize,
        }

        impl $name {
            /// By a factor.
            #[must_use]
            pub fn new(factor: usize) -> Self {
                Self { factor }
            }
        }

        impl Layer for $name {
            fn forward(&self, input: &Tensor) -> Result<Tensor, Error> {
                input.$method(self.factor)
            }
        }
    )*};
}
shuffles! {
    "Pixel shuffle: channels become places of a finer image." PixelShuffle pixel_shuffle;
    "Pixel unshuffle: places of an image become channels of a coarser one." PixelUnshuffle pixel_unshuffle;
    "Channel shuffle: channels of groups are interleaved." ChannelShuffle channel_shuffle;
}
