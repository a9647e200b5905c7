//! The mean of each window.

use allotrope_dtype::{Error, Problem};
use allotrope_op::structured::{Structured, convolution as row};
use allotrope_op::task::Axis;
use allotrope_op::task::window::Divisor;

use super::super::window::{Window, check_rank};
use super::gradient::Means;
use super::share_out;
use crate::Tensor;
use crate::call::Call;

/// What the sums of average pooling are divided by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AverageOptions {
    /// Whether padded places count, as zeros.
    pub count_include_pad: bool,
    /// A divisor for every window, instead of the number of its elements.
    pub divisor_override: Option<i64>,
}

impl Default for AverageOptions {
    /// Padded places count, as in torch.
    fn default() -> Self {
        Self {
            count_include_pad: true,
            divisor_override: None,
        }
    }
}

macro_rules! average_pools {
    ($($rank:literal, $what:literal, $pool:ident, $adaptive:ident, $row:ident, $adaptive_row:ident;)*) => {
        impl Tensor {$(
            #[doc = concat!("Average pooling: the mean of each window over ", $what, ", summed in twice the digits and rounded once.")]
            /// Integers and bool give the default float.
            ///
            #[doc = concat!("\n\n```\nuse allotrope_tensor::{AverageOptions, DType, Tensor, Window};\nlet window = Window { kernel: &[2; ", $rank, "], stride: &[2; ", $rank, "], padding: &[0; ", $rank, "], dilation: &[1; ", $rank, "], ceil_mode: false };\nlet x = Tensor::ones(vec![4; 2 + ", $rank, "], DType::F32)?;\nlet y = x.", stringify!($pool), "(&window, AverageOptions::default())?;\nassert_eq!((y.shape()[2], y.mean_all()?.to_scalar::<f32>()?), (2, 1.0));\n# Ok::<(), allotrope_tensor::Error>(())\n```")]
            ///
            /// # Errors
            /// A value error for windows that do not fit or a divisor of zero, a memory error.
            pub fn $pool(&self, window: &Window<'_>, options: AverageOptions) -> Result<Self, Error> {
                check_rank(row::$row.name, self, $rank)?;
                let axes = window.axes(row::$row.name, self.shape(), $rank)?;
                let divisor = options.divisor(row::$row.name, &axes)?;
                take_average(row::$row, self, axes, divisor, $rank)
            }

            #[doc = concat!("Adaptive average pooling: the mean of each of as many windows over ", $what, " as asked for.")]
            /// No size keeps that of the tensor. Integers and bool give the default float.
            ///
            #[doc = concat!("\n\n```\nuse allotrope_tensor::{DType, Tensor};\nlet x = Tensor::ones(vec![4; 2 + ", $rank, "], DType::F32)?;\nassert_eq!(x.", stringify!($adaptive), "(&[Some(3); ", $rank, "])?.shape()[2], 3);\n# Ok::<(), allotrope_tensor::Error>(())\n```")]
            ///
            /// # Errors
            /// A value error for a grid without elements, a memory error.
            pub fn $adaptive(&self, output: &[Option<usize>]) -> Result<Self, Error> {
                let axes = share_out(row::$adaptive_row.name, self, output, $rank)?;
                if axes.iter().all(|axis| axis.output == 1) {
                    // The whole grid is one window: a reduction, whose pieces are made in parallel.
                    let dims: Vec<isize> = (-$rank..0).collect();
                    return self.mean(Some(&dims), true, None);
                }
                take_average(row::$adaptive_row, self, axes, Divisor::Elements, $rank)
            }
        )*}
    };
}
average_pools! {
    1, "rows", avg_pool1d, adaptive_avg_pool1d, AVG_POOL1D, ADAPTIVE_AVG_POOL1D;
    2, "images", avg_pool2d, adaptive_avg_pool2d, AVG_POOL2D, ADAPTIVE_AVG_POOL2D;
    3, "volumes", avg_pool3d, adaptive_avg_pool3d, AVG_POOL3D, ADAPTIVE_AVG_POOL3D;
}

impl AverageOptions {
    fn divisor(self, op: &'static str, axes: &[Axis; 3]) -> Result<Divisor, Error> {
        match self.divisor_override {
            Some(0) => {
                let problem = Problem::OutOfRange {
                    what: "divisor_override",
                    index: None,
                    value: "0".to_owned(),
                    accepted: "numbers other than 0",
                };
                Err(Error::new(op, problem))
            }
            Some(divisor) => Ok(Divisor::Constant(divisor as f64)),
            None if self.count_include_pad => Ok(Divisor::Places(axes.map(|axis| axis.padding))),
            None => Ok(Divisor::Elements),
        }
    }
}

fn take_average(
    row: Structured,
    x: &Tensor,
    axes: [Axis; 3],
    divisor: Divisor,
    rank: usize,
) -> Result<Tensor, Error> {
    let dtype = Call::begin(&row, &[x])?.result;
    let means = Means {
        op: row.name,
        axes,
        divisor,
        rank,
    };
    means.forward(x, dtype)
}
