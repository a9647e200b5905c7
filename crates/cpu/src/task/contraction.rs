//! Tasks of `allotrope_op::task::contraction`: where matrices begin, and how far their rows are apart.

use allotrope_dtype::{DType, Error};
use allotrope_op::task::contraction::{Attention, MatrixProduct};
use allotrope_op::task::{Contraction, Results};
use allotrope_op::{Dims, Layout};
use smallvec::{SmallVec, smallvec};

use super::Call;
use crate::Input;
use crate::gemm::{self, Coefficient, Factor, Mask, Matrix, Output, Product};
use crate::kernel::{copy, distances};
use crate::memory::try_with_capacity;

pub(super) fn perform(call: &Call<'_>, task: &Contraction) -> Result<Option<Results>, Error> {
    match task {
        Contraction::MatrixProduct(product) => multiply(call, product),
        Contraction::Attention(attention) => attend(call, attention),
        Contraction::Distances => all_distances(call),
        _ => Ok(None),
    }
}

fn multiply(call: &Call<'_>, task: &MatrixProduct) -> Result<Option<Results>, Error> {
    let (op, dtype) = (call.op, call.outputs[0].dtype);
    let (a, b) = (call.input(0)?, call.input(1)?);
    let (strides_a, strides_b) = (a.layout.strides(), b.layout.strides());
    let outer = a.layout.rank() - 2;
    let sizes = a.layout.shape();
    let (m, k, n) = (sizes[outer], sizes[outer + 1], b.layout.shape()[outer + 1]);
    // One right matrix for all: the rows of all left ones are the rows of one, if they lie evenly. The
    // strides of sizes of one mean nothing.
    let rows_of_all: Dims<usize> = (0..=outer).filter(|dim| sizes[*dim] != 1).collect();
    let folds = outer > 0
        && strides_b[..outer].iter().all(|stride| *stride == 0)
        && rows_of_all.windows(2).all(|pair| {
            let [dim, inner] = [pair[0], pair[1]];
            strides_a[dim] == strides_a[inner] * sizes[inner] as isize
        });
    let mut matrix_a = [strides_a[outer], strides_a[outer + 1]];
    let mut offsets: SmallVec<[(usize, usize); 1]> = SmallVec::new();
    let mut rows = m;
    if call.outputs[0].count == 0 {
        // Nothing is written.
    } else if folds || outer == 0 {
        if let Some(innermost) = rows_of_all.last().filter(|_| folds) {
            matrix_a[0] = strides_a[*innermost];
        }
        rows = sizes[..=outer].iter().product();
        offsets.push((a.layout.offset(), b.layout.offset()));
    } else {
        let batch = &sizes[..outer];
        let mut all = try_with_capacity(op, batch.iter().product())?;
        for_each_matrix(batch, [a.layout, b.layout], |[a, b]| all.push((a, b)));
        offsets = SmallVec::from_vec(all);
    }
    if k == 0 {
        // Nothing is read, and an empty matrix may begin beyond its memory.
        offsets.fill((0, 0));
    }
    let mut product = Product {
        common: task.common,
        sum: task.sum,
        alpha: task.alpha.into(),
        fast: task.fast,
        ..Product::new(
            [rows, k, n],
            factor(call.dtype(0), a, matrix_a),
            factor(call.dtype(1), b, [strides_b[outer], strides_b[outer + 1]]),
            &offsets,
            task.common,
        )
    };
    let mut buffer = call.room(0)?;
    if let Some(beta) = task.beta {
        product.beta = Coefficient::from(beta);
        let former = call.input(2)?;
        copy(dtype, former.bytes, former.layout, &mut buffer);
    }
    let output = Output::contiguous(dtype, &mut buffer, rows, n);
    gemm::multiply(op, &product, output)?;
    Ok(call.done([buffer]))
}

fn factor(dtype: DType, input: Input<'_>, strides: [isize; 2]) -> Factor<'_> {
    Factor::Stored(matrix(dtype, input, strides))
}

fn matrix(dtype: DType, input: Input<'_>, [row_stride, column_stride]: [isize; 2]) -> Matrix<'_> {
    Matrix {
        dtype,
        bytes: input.bytes,
        row_stride,
        column_stride,
    }
}

fn attend(call: &Call<'_>, task: &Attention) -> Result<Option<Results>, Error> {
    let [queries, keys, values] = [call.input(0)?, call.input(1)?, call.input(2)?];
    let mask = if task.mask { call.input(3)? } else { queries };
    let outer = queries.layout.rank() - 2;
    let size = |input: Input<'_>, dim: usize| input.layout.shape()[outer + dim];
    let layouts = [queries, keys, values, mask].map(|input| input.layout);
    let batch = &queries.layout.shape()[..outer];
    let mut offsets = try_with_capacity(call.op, batch.iter().product())?;
    for_each_matrix(batch, layouts, |places| offsets.push(places));
    let stored = |index: usize, input: Input<'_>| {
        let strides = input.layout.strides();
        (call.dtype(index), [strides[outer], strides[outer + 1]])
    };
    let [q, k, v, m] = [
        stored(0, queries),
        stored(1, keys),
        stored(2, values),
        stored(if task.mask { 3 } else { 0 }, mask),
    ];
    let attention = gemm::Attention {
        queries: matrix(q.0, queries, q.1),
        keys: matrix(k.0, keys, k.1),
        values: matrix(v.0, values, v.1),
        mask: task.mask.then(|| Mask {
            matrix: matrix(m.0, mask, m.1),
        }),
        offsets: &offsets,
        sizes: [
            size(queries, 0),
            size(keys, 0),
            size(queries, 1),
            size(values, 1),
        ],
        scale: task.scale,
        causal: task.causal,
        common: task.common,
    };
    let mut buffer = call.room(0)?;
    gemm::attend(call.op, &attention, call.outputs[0].dtype, &mut buffer)?;
    Ok(call.done([buffer]))
}

fn all_distances(call: &Call<'_>) -> Result<Option<Results>, Error> {
    let (x, y) = (call.input(0)?.layout, call.input(1)?.layout);
    let outer = x.rank() - 2;
    let batch = x.shape()[..outer].iter().product();
    let sizes = [
        batch,
        x.shape()[outer],
        y.shape()[outer],
        x.shape()[outer + 1],
    ];
    let rows = [call.ordered(0)?, call.ordered(1)?];
    let mut buffer = call.room(0)?;
    let dtype = call.outputs[0].dtype;
    distances(call.op, dtype, [&rows[0], &rows[1]], sizes, &mut buffer)?;
    Ok(call.done([buffer]))
}

/// Calls `visit` with where the matrices of each index of a batch begin.
fn for_each_matrix<const N: usize>(
    batch: &[usize],
    layouts: [&Layout; N],
    mut visit: impl FnMut([usize; N]),
) {
    let mut index: Dims<usize> = smallvec![0; batch.len()];
    let mut places = layouts.map(Layout::offset);
    if batch.contains(&0) {
        return;
    }
    let strides = layouts.map(Layout::strides);
    loop {
        visit(places);
        let mut dim = batch.len();
        loop {
            if dim == 0 {
                return;
            }
            dim -= 1;
            index[dim] += 1;
            for (place, strides) in places.iter_mut().zip(strides) {
                *place = place.wrapping_add_signed(strides[dim]);
            }
            if index[dim] < batch[dim] {
                break;
            }
            for (place, strides) in places.iter_mut().zip(strides) {
                let all = strides[dim].wrapping_mul(batch[dim] as isize);
                *place = place.wrapping_add_signed(all.wrapping_neg());
            }
            index[dim] = 0;
        }
    }
}
