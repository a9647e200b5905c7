//! What all matrix products share: the dtypes, broadcasting, and the way to the kernels.

use std::borrow::Cow;

use allotrope_dtype::{
    Conversion, DType, Error, Kind, MatmulPrecision, Policy, Problem, WeakScalar, c128,
    matmul_precision,
};
use allotrope_op::structured::Structured;
use allotrope_op::task::Task;
use allotrope_op::task::contraction::{Contraction, MatrixProduct};
use allotrope_op::{Builder, Dims, Fold, Program, Shape, Var};
use smallvec::SmallVec;

use super::contraction_gradient::{is_product_recorded, recorded_product};
use crate::call;
use crate::device::{Device, perform_one};
use crate::host::has_brain_units;
use crate::reduce::Plan;
use crate::trace::{is_tracing, trace_units};
use crate::{Operand, Tensor};

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
        let common = call::common_number(op, operands.iter().copied())?;
        let given: SmallVec<[Operand<'_>; 4]> = operands.iter().map(|x| (*x).into()).collect();
        let common = call::result_among(row, common, &given)?;
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
    let sizes: Dims<usize> = batch.iter().copied().chain([m, n]).collect();
    let shape = Shape::new(op, &sizes)?;
    // The order of whole numbers is of no account: sums that are rounded keep to that of all products.
    // Of many short vectors a call for each would take longer than the products do.
    let is_whole = dtypes.sum == DType::Bool || dtypes.sum.is_integer();
    let are_dots = m == 1 && n == 1 && batch.count() >= MANY;
    if is_whole && addend.is_none() && (are_dots || (m == 1 || n == 1) && k >= LONG) {
        return fold_products(op, a, b, dtypes, &batch);
    }
    let (a, b) = (over_batch(op, a, &batch)?, over_batch(op, b, &batch)?);
    let former = match &addend {
        Some(addend) => {
            let layout = addend.former.layout().broadcast_to(op, &shape)?;
            (!is_zero(addend.beta)).then(|| addend.former.with_layout(layout))
        }
        None => None,
    };
    let former = former.map(|former| former.to(dtypes.common)?.to(dtypes.result));
    let former = former.transpose()?;
    let (alpha, beta) = match &addend {
        Some(addend) => (addend.alpha, former.as_ref().map(|_| addend.beta)),
        None => (WeakScalar::Int(1), None),
    };
    let task = Task::Contraction(Contraction::MatrixProduct(MatrixProduct {
        common: dtypes.common,
        sum: dtypes.sum,
        alpha,
        beta,
        fast: is_fast(op, a.device(), dtypes),
    }));
    let inputs: SmallVec<[&Tensor; 3]> = [&*a, &*b].into_iter().chain(&former).collect();
    perform_one(op, &task, &inputs, dtypes.result, &shape)
}

/// Whether the processor's own units multiply, which traces tell.
fn is_fast(op: &'static str, device: Device, dtypes: Dtypes) -> bool {
    let is_asked = matmul_precision() == MatmulPrecision::Fast
        && dtypes.common.kind() == Kind::Float
        && dtypes.common.fits_in(DType::BF16)
        && dtypes.sum.compute() == DType::F32;
    let is_fast = is_asked && device == Device::cpu() && has_brain_units();
    if is_fast && is_tracing() {
        trace_units(op);
    }
    is_fast
}

/// A tensor whose dimensions before the last two are those of a batch.
pub(super) fn over_batch<'a>(
    op: &'static str,
    tensor: &'a Tensor,
    batch: &[usize],
) -> Result<Cow<'a, Tensor>, Error> {
    let (own, matrix) = tensor.shape().split_at(tensor.rank() - 2);
    if own == batch {
        return Ok(Cow::Borrowed(tensor));
    }
    let sizes: Dims<usize> = batch.iter().chain(matrix).copied().collect();
    let layout = tensor.layout().broadcast_to(op, &Shape::new(op, &sizes)?)?;
    Ok(Cow::Owned(tensor.with_layout(layout)))
}

fn is_zero(value: WeakScalar) -> bool {
    match value {
        WeakScalar::Bool(value) => !value,
        WeakScalar::Int(value) => value == 0,
        WeakScalar::Float(value) => value == 0.0,
        WeakScalar::Complex(value) => value == c128::new(0.0, 0.0),
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
