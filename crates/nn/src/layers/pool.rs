//! Pooling: windows over grids, each of which becomes one number.

use allotrope_dtype::Error;
use allotrope_tensor::{AverageOptions, Tensor, Window};

use super::Sizes;
use crate::{Layer, Module};

/// Windows that slide over a grid.
///
/// ```
/// use allotrope_nn::{DType, Layer, MaxPool2d, PoolOptions, Tensor};
/// let options = PoolOptions { stride: Some([1, 1]), ..Default::default() };
/// let x = Tensor::ones((1, 3, 8, 8), DType::F32)?;
/// assert_eq!(MaxPool2d::with(2, options).forward(&x)?.shape(), [1, 3, 7, 7]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolOptions<const RANK: usize> {
    /// From the start of a window to that of the next; none is the size of the window.
    pub stride: Option<[usize; RANK]>,
    /// Places on each side of the grid.
    pub padding: [usize; RANK],
    /// From an element of a window to the next, for the greatest.
    pub dilation: [usize; RANK],
    /// Whether windows that begin within the grid may end beyond it.
    pub ceil_mode: bool,
    /// Whether padded places count for a mean, as zeros.
    pub count_include_pad: bool,
    /// A divisor for every mean, instead of the number of elements.
    pub divisor_override: Option<i64>,
}

impl<const RANK: usize> Default for PoolOptions<RANK> {
    fn default() -> Self {
        Self {
            stride: None,
            padding: [0; RANK],
            dilation: [1; RANK],
            ceil_mode: false,
            count_include_pad: true,
            divisor_override: None,
        }
    }
}

impl<const RANK: usize> PoolOptions<RANK> {
    fn window<'a>(&'a self, kernel: &'a [usize; RANK], dilation: &'a [usize]) -> Window<'a> {
        Window {
            kernel,
            stride: self.stride.as_ref().unwrap_or(kernel),
            padding: &self.padding,
            dilation,
            ceil_mode: self.ceil_mode,
        }
    }

    fn average(&self) -> AverageOptions {
        AverageOptions {
            count_include_pad: self.count_include_pad,
            divisor_override: self.divisor_override,
        }
    }
}

macro_rules! pools {
    ($($rank:literal, $what:literal, $max:ident $max_method:ident, $avg:ident $avg_method:ident,
       $lp:ident $lp_method:ident, $adaptive_max:ident $adaptive_max_method:ident,
       $adaptive_avg:ident $adaptive_avg_method:ident;)*) => {$(
        #[doc = concat!("Max pooling over ", $what, ": the greatest element of each window.")]
        #[doc = concat!("\n```\nuse allotrope_nn::{DType, Layer, Tensor, ", stringify!($max), "};\nlet y = ", stringify!($max), "::new(2).forward(&Tensor::ones(vec![6; 2 + ", $rank, "], DType::F32)?)?;\nassert_eq!((y.shape()[1], y.shape()[2]), (6, 3));\n# Ok::<(), allotrope_nn::Error>(())\n```")]
        #[derive(Clone, Copy, Debug, Module)]
        pub struct $max {
            /// The elements of a window.
            pub kernel: [usize; $rank],
            /// How it slides.
            #[module(skip)]
            pub options: PoolOptions<$rank>,
        }

        impl $max {
            /// Windows that touch each other.
            #[must_use]
            pub fn new(kernel: impl Sizes<$rank>) -> Self {
                Self::with(kernel, PoolOptions::default())
            }

            /// Windows with options.
            #[must_use]
            pub fn with(kernel: impl Sizes<$rank>, options: PoolOptions<$rank>) -> Self {
                Self { kernel: kernel.sizes(), options }
            }
        }

        impl Layer for $max {
            fn forward(&self, input: &Tensor) -> Result<Tensor, Error> {
                input.$max_method(&self.options.window(&self.kernel, &self.options.dilation))
            }
        }

        #[doc = concat!("Average pooling over ", $what, ": the mean of each window.")]
        #[doc = concat!("\n```\nuse allotrope_nn::{DType, Layer, Tensor, ", stringify!($avg), "};\nlet y = ", stringify!($avg), "::new(2).forward(&Tensor::ones(vec![6; 2 + ", $rank, "], DType::F32)?)?;\nassert_eq!((y.shape()[1], y.shape()[2]), (6, 3));\n# Ok::<(), allotrope_nn::Error>(())\n```")]
        #[derive(Clone, Copy, Debug, Module)]
        pub struct $avg {
            /// The elements of a window.
            pub kernel: [usize; $rank],
            /// How it slides.
            #[module(skip)]
            pub options: PoolOptions<$rank>,
        }

        impl $avg {
            /// Windows that touch each other.
            #[must_use]
            pub fn new(kernel: impl Sizes<$rank>) -> Self {
                Self::with(kernel, PoolOptions::default())
            }

            /// Windows with options.
            #[must_use]
            pub fn with(kernel: impl Sizes<$rank>, options: PoolOptions<$rank>) -> Self {
                Self { kernel: kernel.sizes(), options }
            }
        }

        impl Layer for $avg {
            fn forward(&self, input: &Tensor) -> Result<Tensor, Error> {
                let window = self.options.window(&self.kernel, &[]);
                input.$avg_method(&window, self.options.average())
            }
        }

        #[doc = concat!("Power-average pooling over ", $what, ": the norm `(Σ xᵖ)^(1/p)` of each window.")]
        #[doc = concat!("\n```\nuse allotrope_nn::{DType, Layer, Tensor, ", stringify!($lp), "};\nlet y = ", stringify!($lp), "::new(2.0, 2).forward(&Tensor::ones(vec![6; 2 + ", $rank, "], DType::F32)?)?;\nassert_eq!((y.shape()[1], y.shape()[2]), (6, 3));\n# Ok::<(), allotrope_nn::Error>(())\n```")]
        #[derive(Clone, Copy, Debug, Module)]
        pub struct $lp {
            /// The power.
            pub p: f64,
            /// The elements of a window.
            pub kernel: [usize; $rank],
            /// How it slides.
            #[module(skip)]
            pub options: PoolOptions<$rank>,
        }

        impl $lp {
            /// Windows that touch each other.
            #[must_use]
            pub fn new(p: f64, kernel: impl Sizes<$rank>) -> Self {
                Self { p, kernel: kernel.sizes(), options: PoolOptions::default() }
            }
        }

        impl Layer for $lp {
            fn forward(&self, input: &Tensor) -> Result<Tensor, Error> {
                input.$lp_method(self.p, &self.options.window(&self.kernel, &[]))
            }
        }

        #[doc = concat!("Adaptive max pooling over ", $what, ": the greatest element of each of as many windows as asked for.")]
        #[doc = concat!("\n```\nuse allotrope_nn::{DType, Layer, Tensor, ", stringify!($adaptive_max), "};\nlet y = ", stringify!($adaptive_max), "::new(4).forward(&Tensor::ones(vec![6; 2 + ", $rank, "], DType::F32)?)?;\nassert_eq!((y.shape()[1], y.shape()[2]), (6, 4));\n# Ok::<(), allotrope_nn::Error>(())\n```")]
        #[derive(Clone, Copy, Debug, Module)]
        pub struct $adaptive_max {
            /// How many windows along each dimension; none keeps the size.
            pub output: [Option<usize>; $rank],
        }

        impl $adaptive_max {
            /// So many windows along each dimension.
            #[must_use]
            pub fn new(output: impl Sizes<$rank>) -> Self {
                Self { output: output.sizes().map(Some) }
            }
        }

        impl Layer for $adaptive_max {
            fn forward(&self, input: &Tensor) -> Result<Tensor, Error> {
                input.$adaptive_max_method(&self.output)
            }
        }

        #[doc = concat!("Adaptive average pooling over ", $what, ": the mean of each of as many windows as asked for.")]
        #[doc = concat!("\n```\nuse allotrope_nn::{DType, Layer, Tensor, ", stringify!($adaptive_avg), "};\nlet y = ", stringify!($adaptive_avg), "::new(4).forward(&Tensor::ones(vec![6; 2 + ", $rank, "], DType::F32)?)?;\nassert_eq!((y.shape()[1], y.shape()[2]), (6, 4));\n# Ok::<(), allotrope_nn::Error>(())\n```")]
        #[derive(Clone, Copy, Debug, Module)]
        pub struct $adaptive_avg {
            /// How many windows along each dimension; none keeps the size.
            pub output: [Option<usize>; $rank],
        }

        impl $adaptive_avg {
            /// So many windows along each dimension.
            #[must_use]
            pub fn new(output: impl Sizes<$rank>) -> Self {
                Self { output: output.sizes().map(Some) }
            }
        }

        impl Layer for $adaptive_avg {
            fn forward(&self, input: &Tensor) -> Result<Tensor, Error> {
                input.$adaptive_avg_method(&self.output)
            }
        }
    )*};
}
pools! {
    1, "rows", MaxPool1d max_pool1d, AvgPool1d avg_pool1d, LpPool1d lp_pool1d,
        AdaptiveMaxPool1d adaptive_max_pool1d, AdaptiveAvgPool1d adaptive_avg_pool1d;
    2, "images", MaxPool2d max_pool2d, AvgPool2d avg_pool2d, LpPool2d lp_pool2d,
        AdaptiveMaxPool2d adaptive_max_pool2d, AdaptiveAvgPool2d adaptive_avg_pool2d;
    3, "volumes", MaxPool3d max_pool3d, AvgPool3d avg_pool3d, LpPool3d lp_pool3d,
        AdaptiveMaxPool3d adaptive_max_pool3d, AdaptiveAvgPool3d adaptive_avg_pool3d;
}
