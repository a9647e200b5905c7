//! `x + alpha y` and `x - alpha y`, rounded once: the product is formed in what the sum is computed in.

use allotrope_dtype::{DType, Error};
use allotrope_op::{Op, compute_dtype};

use crate::call::common_dtype;
use crate::overflow::is_watched;
use crate::{Operand, Tensor};

/// The sum `x + alpha y`, in the dtype in which all three meet, rounded once; the logical or of bool.
///
/// ```
/// use allotrope_dtype::{DType, f16};
/// use allotrope_tensor::{Tensor, add_scaled};
/// let (x, y) = (Tensor::full(&[1], -60000, DType::F16)?, Tensor::full(&[1], 60000, DType::F16)?);
/// assert_eq!(add_scaled(&x, &y, 2)?.to_vec::<f16>()?, [f16::from_f32(60000.0)]);
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
///
/// # Errors
/// A dtype error where promotion refuses, a value error for shapes that do not broadcast, an overflow
/// error for a number that the dtype cannot hold, a memory error.
pub fn add_scaled<'a>(
    x: impl Into<Operand<'a>>,
    y: impl Into<Operand<'a>>,
    alpha: impl Into<Operand<'a>>,
) -> Result<Tensor, Error> {
    combine("add", Op::Add, x.into(), y.into(), alpha.into())
}

/// The difference `x - alpha y`, as [`add_scaled`].
///
/// ```
/// use allotrope_tensor::{Tensor, sub_scaled};
/// let (x, y) = (Tensor::from_slice(&[1000_i64], &[1])?, Tensor::from_slice(&[200_u8], &[1])?);
/// assert_eq!(sub_scaled(&x, &y, 2)?.to_vec::<i64>()?, [600]);
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
///
/// # Errors
/// As [`add_scaled`]; a dtype error for bool.
pub fn sub_scaled<'a>(
    x: impl Into<Operand<'a>>,
    y: impl Into<Operand<'a>>,
    alpha: impl Into<Operand<'a>>,
) -> Result<Tensor, Error> {
    combine("sub", Op::Sub, x.into(), y.into(), alpha.into())
}

fn combine(
    name: &'static str,
    op: Op,
    x: Operand<'_>,
    y: Operand<'_>,
    alpha: Operand<'_>,
) -> Result<Tensor, Error> {
    let common = common_dtype(name, [x, y, alpha])?;
    let wide = compute_dtype(common);
    let operands = [x, y, alpha];
    let read = |operand| wide_of(operand, common, wide).map_err(|error| error.in_op(name));
    let (x, y, alpha) = (read(x)?, read(y)?, read(alpha)?);
    if is_watched() && common.is_integer() && common.is_signed() {
        // What counts is the whole: the product alone may be beyond the dtype.
        let one = if op == Op::Sub { -1 } else { 1 };
        let terms = [(&x).into(), (&y).into(), (&alpha).into(), one.into()];
        let sum = Tensor::apply(Op::Addcmul, &terms).map_err(|error| error.in_op(name))?;
        return Ok(sum.to_in(name, common)?.inherit_from(&operands));
    }
    let product = Tensor::apply(Op::Mul, &[(&y).into(), (&alpha).into()]);
    let product = product.map_err(|error| error.in_op(name))?;
    let sum = Tensor::apply(op, &[(&x).into(), (&product).into()]);
    let sum = sum
        .map_err(|error| error.in_op(name))?
        .to_in(name, common)?;
    Ok(sum.inherit_from(&operands))
}

/// An operand in the common dtype, and then in that of the computation, which holds more digits.
fn wide_of(operand: Operand<'_>, common: DType, wide: DType) -> Result<Tensor, Error> {
    match operand {
        Operand::Tensor(tensor) => tensor.to(common)?.to(wide),
        Operand::Scalar(number) => Tensor::free_scalar(number, wide),
    }
}
