//! The root of the sum of powers of each window.

use allotrope_dtype::{DType, Error, Problem};
use allotrope_op::structured::{Structured, convolution as row};
use allotrope_op::task::window::Divisor;
use allotrope_op::{Builder, Program};

use super::super::window::{Window, check_rank};
use super::gradient::Means;
use crate::Tensor;
use crate::autograd::is_recorded;
use crate::call::Call;
use crate::elementwise::evaluate_one;
use crate::reduce::root_of_sums;

macro_rules! norm_pools {
    ($($rank:literal, $what:literal, $pool:ident, $row:ident;)*) => {
        impl Tensor {$(
            #[doc = concat!("`(Σ xᵖ)^(1/p)` of each window over ", $what, ". Integers and bool give the default float.")]
            ///
            /// A window that `ceil_mode` lets end beyond the grid counts as if it had as many
            /// elements of the same mean as the others, as in torch. A sum of zero has the gradient
            /// zero.
            ///
            #[doc = concat!("\n\n```\nuse allotrope_tensor::{DType, Tensor, Window};\nlet window = Window { kernel: &[2; ", $rank, "], stride: &[2; ", $rank, "], padding: &[0; ", $rank, "], dilation: &[1; ", $rank, "], ceil_mode: false };\nlet x = Tensor::ones(vec![4; 2 + ", $rank, "], DType::F32)?;\nassert_eq!(x.", stringify!($pool), "(2.0, &window)?.shape()[2], 2);\n# Ok::<(), allotrope_tensor::Error>(())\n```")]
            ///
            /// # Errors
            /// A dtype error for complex numbers, a value error for windows that do not fit or a
            /// power of zero, a memory error.
            pub fn $pool(&self, p: f64, window: &Window<'_>) -> Result<Self, Error> {
                take_norm(row::$row, self, p, window, $rank)
            }
        )*}
    };
}
norm_pools! {
    1, "rows", lp_pool1d, LP_POOL1D;
    2, "images", lp_pool2d, LP_POOL2D;
    3, "volumes", lp_pool3d, LP_POOL3D;
}

fn take_norm(
    row: Structured,
    x: &Tensor,
    p: f64,
    window: &Window<'_>,
    rank: usize,
) -> Result<Tensor, Error> {
    let dtype = Call::begin(&row, &[x])?.result;
    check_rank(row.name, x, rank)?;
    if p == 0.0 || !p.is_finite() {
        let problem = Problem::OutOfRange {
            what: "norm_type",
            index: None,
            value: p.to_string(),
            accepted: "finite numbers other than 0",
        };
        return Err(Error::new(row.name, problem));
    }
    let axes = window.axes(row.name, x.shape(), rank)?;
    let taps: usize = axes.iter().map(|axis| axis.kernel).product();
    let means = Means {
        op: row.name,
        axes,
        divisor: Divisor::Places([0; 3]),
        rank,
    };
    // The sums stay in the dtype of computation until their roots are taken.
    let wide = dtype.compute();
    let program = raise(x.dtype(), wide, p);
    if is_recorded(&[x]) {
        let powers = evaluate_one(row.name, &program, &[x])?;
        let sums = means.forward(&powers, wide)?.mul(taps as f64)?;
        let root = if p == 1.0 {
            sums
        } else {
            root_of_sums(&sums, p)?
        };
        return root.to(dtype);
    }
    let sums = means.of(x, &program, wide)?;
    let builder = Builder::new(&[wide]);
    let sum = builder.input(0) * taps as f64;
    let root = if p == 1.0 {
        sum
    } else {
        sum.pow(sum.lit(1.0 / p))
    };
    evaluate_one(row.name, &builder.finish(&[root.to(dtype)]), &[&sums])
}

/// The power of each element, in a compute dtype.
fn raise(from: DType, wide: DType, p: f64) -> Program {
    let builder = Builder::new(&[from]);
    let x = builder.input(0).to(wide);
    let power = match p {
        1.0 => x,
        2.0 => x * x,
        _ => x.pow(x.lit(p)),
    };
    builder.finish(&[power])
}
