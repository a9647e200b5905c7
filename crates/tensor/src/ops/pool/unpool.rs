//! The elements back to where max pooling took them from, zero elsewhere.

use allotrope_dtype::{DType, Error, Problem};
use allotrope_op::Shape;
use allotrope_op::structured::{Structured, convolution as row};
use allotrope_op::task::{self, Task};
use smallvec::smallvec;

use super::super::window::{Window, check_rank, per_axis};
use super::gradient::{stayed, take_from_places};
use crate::Tensor;
use crate::call::Call;
use crate::device::perform_one;
use crate::transfer::{Chooser, gathered};

macro_rules! unpools {
    ($($rank:literal, $what:literal, $pool:ident, $row:ident;)*) => {
        impl Tensor {$(
            #[doc = concat!("The elements at the places in each plane of ", $what, " that `indices` name, zero elsewhere.")]
            /// The size is what pooling with the same windows has come from, or as given. Of several
            /// elements with one place the last stays.
            ///
            #[doc = concat!("\n\n```\nuse allotrope_tensor::{DType, Tensor, Window};\nlet window = Window { kernel: &[2; ", $rank, "], stride: &[2; ", $rank, "], padding: &[0; ", $rank, "], dilation: &[1; ", $rank, "], ceil_mode: false };\nlet x = Tensor::ones(vec![2; 2 + ", $rank, "], DType::F32)?;\nlet places = Tensor::zeros(x.shape(), DType::I64)?;\nassert_eq!(x.", stringify!($pool), "(&places, &window, None)?.shape()[2], 4);\n# Ok::<(), allotrope_tensor::Error>(())\n```")]
            ///
            /// # Errors
            /// A dtype error for indices that are not integers, an index error for one outside its
            /// plane, a value error for indices of another shape, a memory error.
            pub fn $pool(
                &self,
                indices: &Self,
                window: &Window<'_>,
                output: Option<&[usize]>,
            ) -> Result<Self, Error> {
                put_back(row::$row, self, indices, window, output, $rank)
            }
        )*}
    };
}
unpools! {
    1, "rows", max_unpool1d, MAX_UNPOOL1D;
    2, "images", max_unpool2d, MAX_UNPOOL2D;
    3, "volumes", max_unpool3d, MAX_UNPOOL3D;
}

fn put_back(
    row: Structured,
    x: &Tensor,
    indices: &Tensor,
    window: &Window<'_>,
    output: Option<&[usize]>,
    rank: usize,
) -> Result<Tensor, Error> {
    if let Some((x, indices)) = gathered((x, Chooser(indices)))? {
        return put_back(row, &x, &indices, window, output, rank);
    }
    let op = row.name;
    let dtype = Call::begin(&row, &[x])?.result;
    check_rank(op, x, rank)?;
    if !indices.dtype().is_integer() {
        return Err(Error::not_in_set(
            op,
            indices.dtype(),
            allotrope_dtype::Set::Integer,
            None,
        ));
    }
    if indices.shape() != x.shape() {
        let problem = Problem::NotBroadcastable {
            lhs: x.shape().to_vec(),
            rhs: indices.shape().to_vec(),
        };
        return Err(Error::new(op, problem).hint("indices of the input's shape"));
    }
    let (outer, grid) = x.shape().split_at(x.rank() - rank);
    let sizes = match output {
        // The whole shape, or the sizes of the grid alone.
        Some(sizes) if sizes.len() == x.rank() => sizes[x.rank() - rank..].to_vec(),
        Some(sizes) => per_axis(op, "output size", sizes, rank, 0, 1)?.to_vec(),
        None => {
            let kernel = per_axis(op, "kernel size", window.kernel, rank, 0, 1)?;
            let stride = if window.stride.is_empty() {
                kernel.clone()
            } else {
                per_axis(op, "stride", window.stride, rank, 1, 1)?
            };
            let padding = per_axis(op, "padding", window.padding, rank, 0, 0)?;
            let size = |place: usize| {
                let steps = grid[place].checked_sub(1)?.checked_mul(stride[place])?;
                steps
                    .checked_add(kernel[place])?
                    .checked_sub(2 * padding[place])
            };
            let sizes: Option<Vec<usize>> = (0..rank).map(size).collect();
            sizes.ok_or_else(|| {
                let shape = x.shape().to_vec();
                Error::new(op, Problem::TooManyElements { shape })
            })?
        }
    };
    let shape: Vec<usize> = outer.iter().chain(&sizes).copied().collect();
    let shape = Shape::new(op, &shape)?;
    let (numbers, places) = (x.detach().contiguous()?, indices.to(DType::I64)?);
    let (places, plane) = (places.contiguous()?, sizes.iter().product());
    let task = Task::Window(task::Window::MaxUnpool { rank, plane });
    let result = perform_one(op, &task, &[&numbers, &places], dtype, &shape)?;
    result.with_rule(op, &[x], move |pass| {
        let taken = take_from_places(op, &pass.gradient()?, &places, rank)?;
        let stayed = stayed(&places, plane, rank)?.to(taken.dtype())?;
        Ok(smallvec![Some(taken.mul(&stayed)?)])
    })
}
