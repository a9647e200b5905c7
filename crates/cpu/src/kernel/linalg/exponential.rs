//! The exponential of a matrix, by scaling, Padé's approximation and squaring, in float64 and
//! complex128 whatever comes in; and powers, by squaring.

use super::scratch::{try_collect, try_to_vec, try_vec};
use allotrope_dtype::c128;

use super::batch::{Failure, FieldWork, typed_mut};
use super::field::{Field, Real};
use super::lu::solve_in_place;
use super::product::add_product;

/// Up to this norm the approximation of degree 13 is as good as float64.
const RADIUS: f64 = 5.371_920_351_148_152;

/// The coefficients of the approximation, divided by the first.
fn coefficients() -> [f64; 14] {
    let mut all = [1.0; 14];
    for k in 1..14 {
        let step = (14 - k) as f64 / (k as f64 * (27 - k) as f64);
        all[k] = all[k - 1] * step;
    }
    all
}

fn multiply<T: Field>(a: &[T], b: &[T], n: usize) -> Result<Vec<T>, Failure> {
    let mut out = try_vec(n * n, T::ZERO)?;
    add_product(&mut out, n, a, n, b, n, n)?;
    Ok(out)
}

/// A sum of matrices with factors, and a multiple of the identity.
fn combine<T: Field>(n: usize, identity: f64, terms: &[(f64, &[T])]) -> Result<Vec<T>, Failure> {
    let mut out = try_vec(n * n, T::ZERO)?;
    for (factor, matrix) in terms {
        let factor = T::Real::of(*factor);
        for (out, x) in out.iter_mut().zip(*matrix) {
            *out += x.scale(factor);
        }
    }
    for i in 0..n {
        out[i * n + i] += T::from_real(T::Real::of(identity));
    }
    Ok(out)
}

fn exponential<T: Field>(mut a: Vec<T>, n: usize) -> Result<Vec<T>, Failure> {
    let mut norm = 0.0_f64;
    for j in 0..n {
        let sum: f64 = (0..n).map(|i| a[i * n + j].abs().wide()).sum();
        norm = if sum > norm || sum.is_nan() {
            sum
        } else {
            norm
        };
    }
    if !norm.is_finite() {
        let nan = T::Real::of(f64::NAN);
        return try_vec(n * n, T::from_parts(nan, nan));
    }
    let squarings = (norm / RADIUS).log2().ceil().max(0.0) as i32;
    let scale = T::Real::of(2.0_f64.powi(-squarings));
    a.iter_mut().for_each(|x| *x = x.scale(scale));
    let b = coefficients();
    let a2 = multiply(&a, &a, n)?;
    let a4 = multiply(&a2, &a2, n)?;
    let a6 = multiply(&a4, &a2, n)?;
    let high = combine(n, 0.0, &[(b[13], &a6), (b[11], &a4), (b[9], &a2)])?;
    let high = multiply(&a6, &high, n)?;
    let odd = combine(
        n,
        b[1],
        &[(1.0, &high), (b[7], &a6), (b[5], &a4), (b[3], &a2)],
    )?;
    let odd = multiply(&a, &odd, n)?;
    let high = combine(n, 0.0, &[(b[12], &a6), (b[10], &a4), (b[8], &a2)])?;
    let high = multiply(&a6, &high, n)?;
    let even = combine(
        n,
        b[0],
        &[(1.0, &high), (b[6], &a6), (b[4], &a4), (b[2], &a2)],
    )?;
    let mut divisor = combine(n, 0.0, &[(1.0, &even), (-1.0, &odd)])?;
    let mut result = combine(n, 0.0, &[(1.0, &even), (1.0, &odd)])?;
    solve_in_place(&mut divisor, n, &mut result, n)?;
    for _ in 0..squarings {
        result = multiply(&result, &result, n)?;
    }
    Ok(result)
}

/// The exponential, in float64 or complex128.
pub(crate) struct Exponential {
    /// The number of rows and columns.
    pub order: usize,
}

impl FieldWork for Exponential {
    fn run<T: Field>(&self, inputs: &[&[T]], outputs: &mut [&mut [u8]]) -> Result<(), Failure> {
        if T::PARTS == 1 {
            let a: Vec<f64> = try_collect(inputs[0].iter().map(|x| x.re().wide()))?;
            let result = exponential(a, self.order)?;
            typed_mut::<f64>(outputs[0]).copy_from_slice(&result);
        } else {
            let wide = |x: &T| c128::new(x.re().wide(), x.im().wide());
            let a: Vec<c128> = try_collect(inputs[0].iter().map(wide))?;
            let result = exponential(a, self.order)?;
            typed_mut::<c128>(outputs[0]).copy_from_slice(&result);
        }
        Ok(())
    }
}

/// A power: the inverse to the magnitude of a negative exponent.
pub(crate) struct Power {
    /// The number of rows and columns.
    pub order: usize,
    /// The exponent.
    pub exponent: i64,
}

impl FieldWork for Power {
    fn run<T: Field>(&self, inputs: &[&[T]], outputs: &mut [&mut [u8]]) -> Result<(), Failure> {
        let n = self.order;
        let mut base = try_to_vec(inputs[0])?;
        if self.exponent < 0 {
            let mut inverse = combine(n, 1.0, &[])?;
            solve_in_place(&mut base, n, &mut inverse, n)?;
            base = inverse;
        }
        let mut result: Option<Vec<T>> = None;
        let mut left = self.exponent.unsigned_abs();
        while left > 0 {
            if left % 2 == 1 {
                result = Some(match result {
                    Some(result) => multiply(&result, &base, n)?,
                    None => try_to_vec(&base)?,
                });
            }
            left /= 2;
            if left > 0 {
                base = multiply(&base, &base, n)?;
            }
        }
        let result = match result {
            Some(result) => result,
            None => combine(n, 1.0, &[])?,
        };
        typed_mut::<T>(outputs[0]).copy_from_slice(&result);
        Ok(())
    }
}
