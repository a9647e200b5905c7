//! Functions of the bits: signs and neighbours.

use super::{flip, sign};
use crate::{Lane, LaneBits};

/// The magnitude of `x` with the sign of `y`, also of zeros and NaN.
#[inline(always)]
pub fn copysign<L: Lane>(x: L, y: L) -> L {
    flip(x.abs(), sign(y))
}

/// The number next to `x` on the way to `y`, and `y` itself where they are equal; NaN beside NaN.
#[inline(always)]
pub fn nextafter<L: Lane>(x: L, y: L) -> L {
    let (zero, bits) = (L::lit(0.0), x.to_bits());
    // The bits of a magnitude count like the number, whatever the sign.
    let one = L::Bits::lit(1);
    let away = (x.lt(y) & zero.lt(x)) | (y.lt(x) & x.lt(zero));
    let next = L::from_bits(L::Bits::select(away, bits.add(one), bits.sub(one)));
    let next = L::select(x.eq(zero), flip(L::from_bits(one), sign(y)), next);
    let next = L::select(x.eq(y), y, next);
    L::select(x.eq(x) & y.eq(y), next, x + y)
}
