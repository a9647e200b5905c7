//! What all matrix products share: the dtypes, broadcasting, and the way to the kernels.

use crate::host::memory::try_with_capacity;
use allotrope_cpu::gemm::{Coefficient, Factor, Matrix, Output, Product, multiply};
use allotrope_cpu::kernel::{Fold, copy};
use allotrope_dtype::{Conversion, DType, Error, Policy, Problem, WeakScalar};
use allotrope_op::structured::Structured;
use allotrope_op::{Builder, Dims, Program, Shape, Var};
use smallvec::SmallVec;

use super::product_gradient::{is_product_recorded, recorded_product};
use crate::Tensor;
use crate::call;
use crate::elementwise::room;
use crate::reduce::Plan;

/// Elements along the summed dimension from which a vector is worth a pass without packing.
const LONG: usize = 32;

/// Products of two vectors from which one pass over all is faster.
const MANY: usize = 16;

/// The dtypes of a product.
#[derive(Clone, Copy)]
pub(crate) struct Dtypes {
    /// What the operands are converted to.
    pub(crate) common: DType,
    /// What products are summed in.
    pub(crate) sum: DType,
    /// What comes out.
    pub(crate) result: DType,
}

impl Dtypes {
    /// The dtypes for operands: the result has `dtype`, or else that of the sums, or else the common
    /// one; sums are formed in `acc_dtype`, or else in what holds both the operands and `dtype`.
    pub(crate) fn new(
        row: &Structured,
        operands: &[&Tensor],
        dtype: Option<DType>,
        acc_dtype: Option<DType>,
    ) -> Result<Self, Error> {
        let op = row.name;
        let common = call::result_dtype(row, call::common_number(op, operands.iter().copied())?)?;
        let wider = |dtype| Policy::Standard.promote(common, dtype).unwrap_or(dtype);
        let sum = acc_dtype.or(dtype.map(wider)).unwrap_or(common);
        let result = dtype.or(acc_dtype).unwrap_or(common);
        for (from, to) in [(common, sum), (sum, result)] {
            Conversion::new(from, to).map_err(|error| error.in_op(op))?;
        }
        Ok(Self {
            common,
            sum,
            result,
        })
    }

    /// The same for operands that are in the common dtype, or sums already.
    pub(crate) fn of_converted(self) -> Self {
        Self {
            common: self.sum.compute(),
            ..self
        }
    }

    /// The same, with sums that are not rounded yet.
    pub(crate) fn unrounded(self) -> Self {
        Self {
            result: self.sum.compute(),
            ..self
        }
    }
}

/// Operands in their common dtype, for products of which some are factors of others.
pub(crate) fn in_common(tensors: &[&Tensor], dtypes: Dtypes) -> Result<Vec<Tensor>, Error> {
    tensors
        .iter()
        .map(|tensor| tensor.to(dtypes.common))
        .collect()
}

/// What is added to a product: `beta * former + alpha * product`.
pub(crate) struct Addend<'a> {
    pub(crate) former: &'a Tensor,
    pub(crate) beta: WeakScalar,
    pub(crate) alpha: WeakScalar,
}

/// The error for sizes that should be equal.
#[cold]
pub(crate) fn inner_mismatch(
    op: &'static str,
    a: &Tensor,
    b: &Tensor,
    inner: (usize, usize),
) -> Error {
    let (lhs, rhs) = (a.shape().to_vec(), b.shape().to_vec());
    Error::new(op, Problem::InnerMismatch { lhs, rhs, inner })
}

/// Refuses another number of dimensions.
pub(crate) fn check_rank(
    op: &'static str,
    what: &'static str,
    tensor: &Tensor,
    rank: usize,
) -> Result<(), Error> {
    if tensor.rank() == rank {
        return Ok(());
    }
    let accepted = ["0 are", "1 is", "2 are", "3 are", "4 are"][rank.min(4)];
    let shape = tensor.shape().to_vec();
    Err(Error::new(
        op,
        Problem::WrongRank {
            what,
            shape,
            accepted,
        },
    ))
}

/// The product of `[…, m, k]` and `[…, k, n]`, whose dimensions before the last two are broadcast.
/// The inner sizes must be equal.
pub(crate) fn multiply_matrices(
    op: &'static str,
    a: &Tensor,
    b: &Tensor,
    dtypes: Dtypes,
    addend: Option<Addend<'_>>,
) -> Result<Tensor, Error> {
    if is_product_recorded(a, b, addend.as_ref()) {
        return recorded_product(op, a, b, dtypes, addend);
    }
    let (rank_a, rank_b) = (a.rank(), b.rank());
    let (m, k, n) = (
        a.shape()[rank_a - 2],
        a.shape()[rank_a - 1],
        b.shape()[rank_b - 1],
    );
    let batch = Shape::broadcast(
        op,
        &[
            &Shape::new(op, &a.shape()[..rank_a - 2])?,
            &Shape::new(op, &b.shape()[..rank_b - 2])?,
        ],
    )?;
    let sizes: Vec<usize> = batch.iter().copied().chain([m, n]).collect();
    let shape = Shape::new(op, &sizes)?;
    // Of many short vectors a call for each would take longer than the products do.
    let are_dots = m == 1 && n == 1 && batch.count() >= MANY;
    if addend.is_none() && (are_dots || (m == 1 || n == 1) && k >= LONG) {
        return fold_products(op, a, b, dtypes, &batch);
    }
    let spread = |tensor: &Tensor| {
        let rank = tensor.rank();
        let sizes = batch.iter().chain(&tensor.shape()[rank - 2..]);
        let sizes: Vec<usize> = sizes.copied().collect();
        let layout = tensor.layout();
        layout.broadcast_to(op, &Shape::new(op, &sizes)?)
    };
    let (layout_a, layout_b) = (spread(a)?, spread(b)?);
    let (strides_a, strides_b) = (layout_a.strides(), layout_b.strides());
    let outer = batch.rank();
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
    let (rows, mut offsets) = if shape.count() == 0 {
        (m, Vec::new())
    } else if folds {
        if let Some(innermost) = rows_of_all.last() {
            matrix_a[0] = strides_a[*innermost];
        }
        let rows = batch.count() * m;
        (rows, vec![(layout_a.offset(), layout_b.offset())])
    } else {
        let mut offsets = try_with_capacity(op, batch.count())?;
        walk(&batch, [strides_a, strides_b], |[x, y]| {
            let place = |offset: usize, away: isize| offset.wrapping_add_signed(away);
            offsets.push((place(layout_a.offset(), x), place(layout_b.offset(), y)));
        });
        (m, offsets)
    };
    if k == 0 {
        // Nothing is read, and an empty matrix may begin beyond its memory.
        offsets.fill((0, 0));
    }
    let mut product = Product {
        common: dtypes.common,
        sum: dtypes.sum,
        ..Product::new(
            [rows, k, n],
            factor(op, a, &matrix_a)?,
            factor(op, b, &strides_b[outer..])?,
            &offsets,
            dtypes.common,
        )
    };
    let mut buffer = room(op, &shape, dtypes.result)?;
    if let Some(addend) = addend {
        product.alpha = addend.alpha.into();
        product.beta = addend.beta.into();
        let former = addend.former.layout().broadcast_to(op, &shape)?;
        if product.beta != Coefficient::ZERO {
            let former = addend
                .former
                .with_layout(former)
                .to(dtypes.common)?
                .to(dtypes.result)?;
            copy(
                dtypes.result,
                former.storage(op)?,
                former.layout(),
                &mut buffer,
            );
        }
    }
    let output = Output::contiguous(dtypes.result, &mut buffer, rows, n);
    multiply(op, &product, output)?;
    Ok(Tensor::from_buffer(buffer, shape, dtypes.result))
}

fn factor<'a>(
    op: &'static str,
    tensor: &'a Tensor,
    strides: &[isize],
) -> Result<Factor<'a>, Error> {
    Ok(Factor::Stored(Matrix {
        dtype: tensor.dtype(),
        bytes: tensor.storage(op)?,
        row_stride: strides[0],
        column_stride: strides[1],
    }))
}

/// Calls `visit` with how far each index of a shape is from the first, in several strides.
pub(crate) fn walk<const N: usize>(
    shape: &[usize],
    strides: [&[isize]; N],
    mut visit: impl FnMut([isize; N]),
) {
    let mut index: Dims<usize> = SmallVec::from_elem(0, shape.len());
    let mut away = [0_isize; N];
    if shape.contains(&0) {
        return;
    }
    loop {
        visit(away);
        let mut dim = shape.len();
        loop {
            if dim == 0 {
                return;
            }
            dim -= 1;
            index[dim] += 1;
            for (away, strides) in away.iter_mut().zip(strides) {
                *away += strides[dim];
            }
            if index[dim] < shape[dim] {
                break;
            }
            for (away, strides) in away.iter_mut().zip(strides) {
                *away -= strides[dim] * shape[dim] as isize;
            }
            index[dim] = 0;
        }
    }
}

/// A product with a vector, as a sum of products: reads its operands once, in place.
fn fold_products(
    op: &'static str,
    a: &Tensor,
    b: &Tensor,
    dtypes: Dtypes,
    batch: &Shape,
) -> Result<Tensor, Error> {
    let (m, n) = (a.shape()[a.rank() - 2], b.shape()[b.rank() - 1]);
    let k = a.shape()[a.rank() - 1];
    // [..., m, 1, k] and [..., 1, n, k]
    let a = a.unsqueeze(-2)?;
    let b = b.transpose(-1, -2)?.unsqueeze(-3)?;
    let sizes: Vec<usize> = batch.iter().copied().chain([m, n, k]).collect();
    let shape = Shape::new(op, &sizes)?;
    sum_of_products(op, &a, &b, &shape, &[-1], dtypes)?.squeeze(Some(&[-1]))
}

/// The products of two tensors in a shape that both broadcast to, summed along axes, which stay with
/// size one: no product is stored.
pub(crate) fn sum_of_products(
    op: &'static str,
    a: &Tensor,
    b: &Tensor,
    shape: &Shape,
    axes: &[isize],
    dtypes: Dtypes,
) -> Result<Tensor, Error> {
    // Which operand decides the order of memory: the larger one.
    let leading = if a.count() >= b.count() { a } else { b };
    let leading = leading.with_layout(leading.layout().broadcast_to(op, shape)?);
    let plan = Plan::new(op, &leading, Some(axes))?;
    let (fold, program) = product_program(a.dtype(), b.dtype(), dtypes);
    let folded = plan.fold(op, fold, &program, &[a, b], shape)?;
    if dtypes.sum == DType::Bool || dtypes.sum.is_integer() {
        folded.to(dtypes.sum)?.to(dtypes.result)
    } else {
        folded.to(dtypes.result)
    }
}

/// How products of elements are formed and folded.
fn product_program(a: DType, b: DType, dtypes: Dtypes) -> (Fold, Program) {
    let (fold, item) = match dtypes.sum {
        DType::Bool => (Fold::Max, DType::Bool),
        sum => (Fold::Sum, Fold::Sum.item(sum)),
    };
    let builder = Builder::new(&[a, b]);
    let read = |input: usize| -> Var<'_> {
        let value = builder.input(input).to(dtypes.common);
        value.to(dtypes.sum.compute()).to(item)
    };
    let product = read(0) * read(1);
    (fold, builder.finish(&[product]))
}
