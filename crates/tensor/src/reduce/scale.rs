//! Sums of squares on devices without float64: squares of float32 leave its range long before their
//! root does, so that lines are scaled by powers of two first, which rounds nothing.

use allotrope_dtype::{DType, Error};
use allotrope_op::{Builder, Fold, Program, Var};

use super::Plan;
use crate::Tensor;
use crate::elementwise::evaluate;

/// Magnitudes from whose inverse to which squares and their sums are in range, and the factor for
/// lines beyond.
const MOST: f64 = (1_u64 << 48) as f64;
const FACTOR: f64 = MOST * MOST;

/// What lines are multiplied by, and what that is undone by: a tensor each, with the reduced
/// dimensions.
pub(super) struct Scale {
    pub(super) down: Tensor,
    pub(super) up: Tensor,
}

/// The greater part of a complex number, or the magnitude of a real one.
fn size(x: Var<'_>) -> Var<'_> {
    if x.dtype().is_complex() {
        x.real().abs().maximum(x.imag().abs())
    } else {
        x.abs()
    }
}

/// The square of a magnitude, scaled.
pub(super) fn scaled_square<'b>(x: Var<'b>, scale: Option<Var<'b>>) -> Var<'b> {
    let part = |x: Var<'b>| scale.map_or(x, |scale| x * scale).square();
    if x.dtype().is_complex() {
        part(x.real()) + part(x.imag())
    } else {
        part(x)
    }
}

impl Scale {
    /// The scale of the lines of what `formula` makes of tensors, the first of which is reduced;
    /// nothing where squares stay in the range of what they are formed in.
    pub(super) fn of(
        op: &'static str,
        plan: &Plan,
        tensors: &[&Tensor],
        formula: impl for<'b> Fn(&'b Builder) -> Var<'b>,
    ) -> Result<Option<Self>, Error> {
        let Some(x) = tensors.first().filter(|x| x.count() > 0) else {
            return Ok(None);
        };
        let is_native = x.device().capabilities().storage(DType::F64) == DType::F64;
        let is_narrow = match x.dtype().to_real().finfo() {
            Ok(limits) => limits.max < MOST && limits.smallest_subnormal > 1.0 / MOST,
            Err(_) => x.dtype().bits() < 64,
        };
        if is_native || is_narrow {
            return Ok(None);
        }
        // Without gradients: what it does is undone.
        let plain: Vec<Tensor> = tensors.iter().map(|x| x.detach()).collect();
        let plain: Vec<&Tensor> = plain.iter().collect();
        let dtypes: Vec<DType> = plain.iter().map(|x| x.dtype()).collect();
        let builder = Builder::new(&dtypes);
        let program = builder.finish(&[size(formula(&builder))]);
        let top = plan.fold(op, Fold::Max, &program, &plain, x.shape())?;
        let mut made = evaluate(op, &factors(top.dtype()), &[&top])?.into_iter();
        let pair = made.next().zip(made.next());
        Ok(pair.map(|(down, up)| Self { down, up }))
    }
}

/// The two factors for a greatest magnitude.
fn factors(dtype: DType) -> Program {
    let builder = Builder::new(&[dtype]);
    let top = builder.input(0);
    let (is_great, is_small) = (top.gt(top.lit(MOST)), top.lt(top.lit(1.0 / MOST)));
    let [down, up] = [1.0 / FACTOR, FACTOR].map(|factor| {
        let small = is_small.pick(top.lit(1.0 / factor), top.one());
        is_great.pick(top.lit(factor), small)
    });
    builder.finish(&[down, up])
}
