//! The square root.

use super::{Complex, Scale};
use crate::elementary::Elementary;

/// The root of a scaled number, the magnitude of that number, and the scale.
#[inline(always)]
fn parts<R: Elementary>(z: Complex<R>) -> (Complex<R>, R, Scale<R>) {
    let (zero, infinity) = (R::lit(0.0), R::lit(f64::INFINITY));
    let (scaled, scale) = z.scaled();
    let Complex { re: x, im: y } = scaled;
    let length = x.mul_add(x, y * y).sqrt();
    let length = R::select(z.is_inf(), infinity, length);
    // The larger part of the root comes from a sum, the other from their product.
    let larger = ((x.abs() + length) * R::lit(0.5)).sqrt();
    let smaller = R::select(length.eq(zero), y, y / (larger + larger));
    let left = x.lt(zero);
    let root = Complex::new(
        R::select(left, smaller.abs(), larger),
        R::select(left, larger.copysign(y), smaller),
    );
    let upward = y.abs().eq(infinity);
    (
        Complex::select(upward, Complex::new(infinity, y), root),
        length,
        scale,
    )
}

impl<R: Elementary> Complex<R> {
    /// The square root in the right half plane. At most 4 ulp; the cut is the negative real axis,
    /// whose side is the sign of the imaginary zero.
    #[inline(always)]
    pub fn sqrt(self) -> Self {
        let (root, _, scale) = parts(self);
        root.times(scale.to_half_power(-1))
    }

    /// One divided by the square root. At most 4 ulp; ∞ + NaN i at 0, and 0 at infinities.
    #[inline(always)]
    pub fn rsqrt(self) -> Self {
        // The conjugate of the root, divided by the magnitude.
        let (root, length, scale) = parts(self);
        let y = root.conj().times(scale.to_half_power(1));
        let y = Self::new(y.re / length, y.im / length);
        let zero = R::lit(0.0);
        let y = Self::select(length.eq(zero), Self::lit(f64::INFINITY, f64::NAN), y);
        Self::select(
            self.is_inf(),
            Self::new(zero, (-zero).copysign(-self.im)),
            y,
        )
    }
}
