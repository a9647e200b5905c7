//! Numbers with so many decimals.

use allotrope_dtype::{DType, Error, Set, WeakScalar};
use allotrope_op::{Builder, Op, Var, compute_dtype};

use crate::Tensor;
use crate::elementwise::evaluate_one;
use crate::ops::unvarying;

/// Decimals beyond which rounding changes nothing, or leaves nothing.
const MOST_DECIMALS: i32 = 10_000;

impl Tensor {
    /// The nearest numbers with so many decimals, ties to even; negative ones round to tens. What has no
    /// such decimals is left alone.
    ///
    /// Floats are scaled, rounded and scaled back in what they are computed in; what the first step loses
    /// decides where it makes a tie, so that rounding is that of the number itself.
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
        (true, true) => round_finer(wide, scale),
        (true, false) => round_coarser(wide, scale),
        // Every number has fewer decimals, or none of its digits stays.
        (false, true) => wide,
        (false, false) => wide * 0.0,
    };
    let kept = rounded.isfinite().pick(rounded, wide).to(x.dtype());
    evaluate_one(op, &builder.finish(&[kept]), &[x])
}

/// To decimals: `x scale`, rounded, over the scale.
fn round_finer(x: Var<'_>, scale: f64) -> Var<'_> {
    let (product, lost) = exact_product(x, scale);
    is_fine(product).pick(nearest(product, lost) / scale, x)
}

/// To tens: `x / scale`, rounded, times the scale.
fn round_coarser(x: Var<'_>, scale: f64) -> Var<'_> {
    let quotient = x / scale;
    // What the quotient leaves of x has the sign of what it lost.
    let (product, lost) = exact_product(quotient, scale);
    is_fine(quotient).pick(nearest(quotient, (x - product) - lost) * scale, x)
}

/// Whether a number and what it lost know the nearest whole number. Beyond, numbers were farther from
/// their neighbours than the decimals asked for are from each other.
fn is_fine(x: Var<'_>) -> Var<'_> {
    let digits = if x.dtype() == DType::F32 { 24 } else { 53 };
    x.abs().lt(x.lit((1_u64 << digits) as f64))
}

/// The whole number nearest to a sum of which the second part is below the last digit of the first:
/// it only counts where the first is halfway.
fn nearest<'b>(head: Var<'b>, rest: Var<'b>) -> Var<'b> {
    let (whole, zero) = (head.round(), head.zero());
    let left = head - whole;
    let is_more = left.eq(left.lit(0.5)) & rest.gt(zero);
    let is_less = left.eq(left.lit(-0.5)) & rest.lt(zero);
    is_more.pick(whole + 1.0, is_less.pick(whole - 1.0, whole))
}

/// The product as its rounded value and what the rounding left out (Dekker 1971), with what the scale
/// has beyond the digits of the dtype.
fn exact_product(x: Var<'_>, scale: f64) -> (Var<'_>, Var<'_>) {
    let (digits, below, rounded) = match x.dtype() {
        DType::F32 => (12, 41, f64::from(scale as f32)),
        _ => (27, 27, scale),
    };
    // Halves of half the digits each, whose products are exact.
    let high = f64::from_bits(rounded.to_bits() >> below << below);
    let low = rounded - high;
    let product = x * rounded;
    let spread = x * f64::from((1_u32 << digits) + 1);
    let x_high = spread - (spread - x);
    let x_low = x - x_high;
    let lost = ((x_high * high - product) + x_high * low + x_low * high) + x_low * low;
    (product, lost + x * (scale - rounded))
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
