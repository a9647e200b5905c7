//! Numbers with so many decimals.

use allotrope_dtype::{DType, Error, Set, WeakScalar};
use allotrope_op::{Builder, Op, compute_dtype};

use crate::Tensor;
use crate::elementwise::evaluate_one;
use crate::ops::unvarying;

/// Decimals beyond which rounding changes nothing, or leaves nothing.
const MOST_DECIMALS: i32 = 10_000;

impl Tensor {
    /// The nearest numbers with so many decimals, ties to even; negative ones round to tens. What has no
    /// such decimals is left alone.
    ///
    /// Floats are scaled, rounded and scaled back in what they are computed in, as in torch.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::from_slice(&[3.14159_f32, 1250.0], &[2])?;
    /// assert_eq!(x.round_decimals(2)?.to_vec::<f32>()?, [3.14, 1250.0]);
    /// assert_eq!(x.round_decimals(-2)?.to_vec::<f32>()?, [0.0, 1200.0]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A memory error.
    pub fn round_decimals(&self, decimals: i32) -> Result<Self, Error> {
        let decimals = decimals.clamp(-MOST_DECIMALS, MOST_DECIMALS);
        match (Set::Inexact.contains(self.dtype()), decimals) {
            (_, 0) | (false, 1..) => self.round(),
            (false, _) => round_integers(self, decimals.unsigned_abs()),
            (true, _) => {
                let rounded = round_floats(&self.detach(), decimals)?;
                match self.requires_grad() {
                    // No slope, as that of the nearest whole number has none.
                    true => unvarying(rounded, Op::Round.name(), &[self]),
                    false => Ok(rounded),
                }
            }
        }
    }
}

/// A float whose scale is no number of what it is computed in is scaled in float64.
fn working(dtype: DType, scale: f64) -> DType {
    let compute = compute_dtype(dtype.to_real());
    match compute {
        DType::F32 if scale > f64::from(f32::MAX) => DType::F64,
        _ => compute,
    }
}

fn round_floats(x: &Tensor, decimals: i32) -> Result<Tensor, Error> {
    if x.dtype().is_complex() {
        let [re, im] = [x.real()?, x.imag()?].map(|part| round_floats(&part, decimals));
        return re?.complex(&im?);
    }
    let scale = 10_f64.powi(decimals.saturating_abs());
    let (op, compute) = (Op::Round.name(), working(x.dtype(), scale));
    let builder = Builder::new(&[x.dtype()]);
    let wide = builder.input(0).to(compute);
    let rounded = match (scale.is_finite(), decimals > 0) {
        (true, true) => (wide * scale).round() / scale,
        (true, false) => (wide / scale).round() * scale,
        // Every number has fewer decimals, or none of its digits stays.
        (false, true) => wide,
        (false, false) => wide * 0.0,
    };
    let kept = rounded.isfinite().pick(rounded, wide).to(x.dtype());
    evaluate_one(op, &builder.finish(&[kept]), &[x])
}

/// Rounds integers to a power of ten, ties to even.
fn round_integers(x: &Tensor, digits: u32) -> Result<Tensor, Error> {
    let x = x.round()?;
    let most = x.dtype().integer_range().map_or(0, |(_, most)| most);
    let Some(scale) = 10_i128.checked_pow(digits).filter(|scale| *scale <= most) else {
        return x.bitwise_and(0);
    };
    let scale = WeakScalar::Int(scale);
    let down = x.floor_divide(scale)?;
    let rest = x.remainder(scale)?;
    let missing = Tensor::apply(Op::Sub, &[scale.into(), (&rest).into()])?;
    let odd = down.bitwise_and(1)?.logical_and(&rest.eq(&missing)?)?;
    let up = rest.gt(&missing)?.logical_or(&odd)?;
    down.add(&up)?.mul(scale)
}
