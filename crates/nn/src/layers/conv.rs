//! Convolutions and transposed ones.

use allotrope_dtype::{DType, Error, Problem, default_dtype};
use allotrope_tensor::{
    ConvolutionOptions, Device, Edge, Options, Padding, Tensor, TransposedOptions,
};

use super::{Sizes, root_share, uniform, value};
use crate::{Layer, Module, Parameter};

/// Places around the grid of a convolution.
///
/// ```
/// use allotrope_nn::{Conv2d, ConvOptions, ConvPadding, DType, Layer, Tensor};
/// let options = ConvOptions { padding: ConvPadding::Same, ..Default::default() };
/// let conv = Conv2d::with(3, 4, 3, options)?;
/// assert_eq!(conv.forward(&Tensor::ones((1, 3, 8, 8), DType::F32)?)?.shape(), [1, 4, 8, 8]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConvPadding<const RANK: usize> {
    /// So many on each side of each dimension.
    Each([usize; RANK]),
    /// As many as keep the sizes.
    Same,
}

impl<const RANK: usize> From<usize> for ConvPadding<RANK> {
    fn from(size: usize) -> Self {
        Self::Each([size; RANK])
    }
}

impl<const RANK: usize> From<[usize; RANK]> for ConvPadding<RANK> {
    fn from(sizes: [usize; RANK]) -> Self {
        Self::Each(sizes)
    }
}

/// How filters slide over a grid.
///
/// ```
/// use allotrope_nn::{Conv2d, ConvOptions, DType, Layer, Tensor};
/// let options = ConvOptions { stride: [2, 1], groups: 3, ..Default::default() };
/// let conv = Conv2d::with(3, 6, 3, options)?;
/// assert_eq!(conv.forward(&Tensor::ones((1, 3, 9, 9), DType::F32)?)?.shape(), [1, 6, 4, 7]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ConvOptions<const RANK: usize> {
    /// From a window to the next.
    pub stride: [usize; RANK],
    /// Places around the grid.
    pub padding: ConvPadding<RANK>,
    /// What is there.
    pub padding_mode: Edge,
    /// From an element of a window to the next.
    pub dilation: [usize; RANK],
    /// Groups of channels that know nothing of each other.
    pub groups: usize,
    /// Whether there is a summand per filter.
    pub bias: bool,
    /// The dtype of the parameters.
    pub dtype: DType,
    /// The device of the same.
    pub device: Device,
}

impl<const RANK: usize> Default for ConvOptions<RANK> {
    fn default() -> Self {
        Self {
            stride: [1; RANK],
            padding: ConvPadding::Each([0; RANK]),
            padding_mode: Edge::Zeros,
            dilation: [1; RANK],
            groups: 1,
            bias: true,
            dtype: default_dtype(),
            device: Device::cpu(),
        }
    }
}

/// How filters spread over a grid.
///
/// ```
/// use allotrope_nn::{ConvTranspose1d, ConvTransposeOptions, DType, Layer, Tensor};
/// let options = ConvTransposeOptions { stride: [2], ..Default::default() };
/// let conv = ConvTranspose1d::with(3, 6, 2, options)?;
/// assert_eq!(conv.forward(&Tensor::ones((1, 3, 5), DType::F32)?)?.shape(), [1, 6, 10]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ConvTransposeOptions<const RANK: usize> {
    /// From the place of an element to that of the next.
    pub stride: [usize; RANK],
    /// Places taken away on each side.
    pub padding: [usize; RANK],
    /// Places added at the end.
    pub output_padding: [usize; RANK],
    /// From an element of a filter to the next.
    pub dilation: [usize; RANK],
    /// Groups of channels that know nothing of each other.
    pub groups: usize,
    /// Whether there is a summand per filter.
    pub bias: bool,
    /// The dtype of the parameters.
    pub dtype: DType,
    /// The device of the same.
    pub device: Device,
}

impl<const RANK: usize> Default for ConvTransposeOptions<RANK> {
    fn default() -> Self {
        Self {
            stride: [1; RANK],
            padding: [0; RANK],
            output_padding: [0; RANK],
            dilation: [1; RANK],
            groups: 1,
            bias: true,
            dtype: default_dtype(),
            device: Device::cpu(),
        }
    }
}

/// Filters `[first, second / groups, window]` and a bias, with torch's first values.
fn filters(
    op: &'static str,
    (first, second, biases): (usize, usize, usize),
    kernel: &[usize],
    groups: usize,
    has_bias: bool,
    place: Options,
) -> Result<(Parameter, Option<Parameter>), Error> {
    for given in [first, second] {
        if groups == 0 || given % groups != 0 {
            let problem = Problem::NotMultiple {
                what: "the number of channels",
                given,
                of: groups,
            };
            return Err(Error::new(op, problem));
        }
    }
    let mut sizes = vec![first, second / groups];
    sizes.extend(kernel);
    let bound = root_share(sizes[1..].iter().product());
    let bias = has_bias.then(|| uniform(&[biases], bound, place));
    Ok((uniform(&sizes, bound, place)?, bias.transpose()?))
}

macro_rules! convolutions {
    ($($rank:literal, $what:literal, $name:ident $method:ident, $transposed:ident $transposed_method:ident;)*) => {$(
        #[doc = concat!("Convolution over ", $what, ": sums of products of windows with filters.")]
        #[doc = concat!("\n```\nuse allotrope_nn::{DType, Layer, Tensor, ", stringify!($name), "};\nlet layer = ", stringify!($name), "::new(6, 4, 3)?;\nlet y = layer.forward(&Tensor::ones(vec![6; 2 + ", $rank, "], DType::F32)?)?;\nassert_eq!((y.shape()[1], y.shape()[2]), (4, 4));\n# Ok::<(), allotrope_nn::Error>(())\n```")]
        #[derive(Clone, Debug, Module)]
        pub struct $name {
            /// `[filters, channels / groups, window]`.
            pub weight: Parameter,
            /// `[filters]`.
            pub bias: Option<Parameter>,
            /// How the filters slide.
            #[module(skip)]
            pub options: ConvOptions<$rank>,
        }

        impl $name {
            /// A layer of so many channels, filters, and a window.
            ///
            /// # Errors
            /// A memory error.
            pub fn new(channels: usize, filters: usize, kernel: impl Sizes<$rank>) -> Result<Self, Error> {
                Self::with(channels, filters, kernel, ConvOptions::default())
            }

            /// A layer with options.
            ///
            /// # Errors
            /// A value error for groups that do not divide channels and filters, a memory error.
            pub fn with(
                channels: usize,
                filters: usize,
                kernel: impl Sizes<$rank>,
                options: ConvOptions<$rank>,
            ) -> Result<Self, Error> {
                let (weight, bias) = self::filters(
                    stringify!($method),
                    (filters, channels, filters),
                    &kernel.sizes(),
                    options.groups,
                    options.bias,
                    (options.dtype, options.device).into(),
                )?;
                Ok(Self { weight, bias, options })
            }
        }

        impl Layer for $name {
            fn forward(&self, input: &Tensor) -> Result<Tensor, Error> {
                let padding = match &self.options.padding {
                    ConvPadding::Each(sizes) => Padding::Each(sizes),
                    ConvPadding::Same => Padding::Same,
                };
                let options = ConvolutionOptions {
                    stride: &self.options.stride,
                    padding,
                    padding_mode: self.options.padding_mode,
                    dilation: &self.options.dilation,
                    groups: self.options.groups,
                };
                let bias = value(self.bias.as_ref());
                input.$method(&self.weight.value(), bias.as_ref(), &options)
            }
        }

        #[doc = concat!("Transposed convolution over ", $what, ": filters times each element, summed where they overlap.")]
        #[doc = concat!("\n```\nuse allotrope_nn::{DType, Layer, Tensor, ", stringify!($transposed), "};\nlet layer = ", stringify!($transposed), "::new(6, 4, 3)?;\nlet y = layer.forward(&Tensor::ones(vec![6; 2 + ", $rank, "], DType::F32)?)?;\nassert_eq!((y.shape()[1], y.shape()[2]), (4, 8));\n# Ok::<(), allotrope_nn::Error>(())\n```")]
        #[derive(Clone, Debug, Module)]
        pub struct $transposed {
            /// `[channels, filters / groups, window]`.
            pub weight: Parameter,
            /// `[filters]`.
            pub bias: Option<Parameter>,
            /// How the filters spread.
            #[module(skip)]
            pub options: ConvTransposeOptions<$rank>,
        }

        impl $transposed {
            /// A layer of so many channels, filters, and a window.
            ///
            /// # Errors
            /// A memory error.
            pub fn new(channels: usize, filters: usize, kernel: impl Sizes<$rank>) -> Result<Self, Error> {
                Self::with(channels, filters, kernel, ConvTransposeOptions::default())
            }

            /// A layer with options.
            ///
            /// # Errors
            /// A value error for groups that do not divide channels and filters, a memory error.
            pub fn with(
                channels: usize,
                filters: usize,
                kernel: impl Sizes<$rank>,
                options: ConvTransposeOptions<$rank>,
            ) -> Result<Self, Error> {
                let (weight, bias) = self::filters(
                    stringify!($transposed_method),
                    (channels, filters, filters),
                    &kernel.sizes(),
                    options.groups,
                    options.bias,
                    (options.dtype, options.device).into(),
                )?;
                Ok(Self { weight, bias, options })
            }
        }

        impl Layer for $transposed {
            fn forward(&self, input: &Tensor) -> Result<Tensor, Error> {
                let options = TransposedOptions {
                    stride: &self.options.stride,
                    padding: &self.options.padding,
                    output_padding: &self.options.output_padding,
                    dilation: &self.options.dilation,
                    groups: self.options.groups,
                };
                let bias = value(self.bias.as_ref());
                input.$transposed_method(&self.weight.value(), bias.as_ref(), &options)
            }
        }
    )*};
}
convolutions! {
    1, "rows", Conv1d conv1d, ConvTranspose1d conv_transpose1d;
    2, "images", Conv2d conv2d, ConvTranspose2d conv_transpose2d;
    3, "volumes", Conv3d conv3d, ConvTranspose3d conv_transpose3d;
}
