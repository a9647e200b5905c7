//! Remainders and whole quotients. All are exact but for one rounding of the result.

use super::bits::copysign;
use super::sum;
use crate::Lane;

/// The remainder of the division whose quotient is rounded toward zero, as in C: exact, with the sign
/// of `x`. NaN where `x` is infinite or `y` is 0.
#[inline(always)]
pub fn fmod<L: Lane>(x: L, y: L) -> L {
    x.rem(y)
}

/// Where the remainder of C is on the other side of zero than `y`.
#[inline(always)]
fn is_across<L: Lane>(remainder: L, y: L) -> L::Mask {
    let zero = L::lit(0.0);
    !remainder.eq(zero) & ((remainder.lt(zero) & zero.lt(y)) | (zero.lt(remainder) & y.lt(zero)))
}

/// The remainder of the division whose quotient is rounded down, as in Python: it has the sign of
/// `y`, also where it is zero. NaN where `x` is infinite or `y` is 0.
#[inline(always)]
pub fn remainder<L: Lane>(x: L, y: L) -> L {
    let r = x.rem(y);
    let moved = L::select(is_across(r, y), r + y, r);
    L::select(r.eq(L::lit(0.0)), copysign(r, y), moved)
}

/// The quotient rounded down, with the special cases of the array API: a finite number by an
/// infinite one is a zero with the sign of the quotient, an infinite one by a finite one infinite,
/// and so is a number by zero. Rounded once where the quotient has more digits than the width.
#[inline(always)]
pub fn floor_divide<L: Lane>(x: L, y: L) -> L {
    let (zero, one, infinity) = (L::lit(0.0), L::lit(1.0), L::lit(f64::INFINITY));
    let quotient = x / y;
    let r = x.rem(y);
    // (x - r) / y is a whole number; what the first estimate of it leaves out is a small one.
    let (dividend, lost) = sum(x, -r);
    let whole = (dividend / y).round();
    let (product, product_lost) = whole.mul_exact(y);
    let rest = (((dividend - product) - product_lost) + lost) / y;
    let rest = L::select(rest.abs().lt(infinity), rest, zero).round();
    let rest = L::select(is_across(r, y), rest - one, rest);
    let whole = whole + rest;
    // A zero has the sign of the quotient.
    let whole = L::select(whole.eq(zero), copysign(zero, quotient), whole);
    let ordinary = x.abs().lt(infinity) & y.abs().lt(infinity) & !y.eq(zero);
    L::select(ordinary & whole.eq(whole), whole, quotient)
}
