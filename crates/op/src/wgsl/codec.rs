//! Floats narrower than float32 as their codes, in integer arithmetic alone: shaders may flush
//! subnormal numbers, and need not round to nearest.
//!
//! float64 and wide integers are rounded to them once.

use allotrope_dtype::{FloatFormat, Specials};

use super::expression::Expression;
use super::operation::Operation;
use super::scalar::{Float, Integer, Literal};

/// The unsigned integer with the bits of a float.
type Code<T> = <<T as Float>::Bits as Integer>::Unsigned;

fn word<T: Integer>(value: u64) -> Expression<T> {
    Expression::constant(value as i64)
}

fn count(places: u32) -> Expression<u32> {
    Expression::literal(Literal::count(places))
}

/// The number with this code.
pub(super) fn decode(format: FloatFormat, code: Expression<u32>) -> Expression<f32> {
    let magnitude = code & word(format.sign_mask() - 1);
    let sign = (code & word(format.sign_mask())).shifted_left(count(32 - format.bits()));
    let widened = magnitude.shifted_left(count(f32::MANTISSA - format.mantissa_bits));
    let infinity = word(0x7f80_0000);
    let mut bits = widened;
    let is_rebiased = i64::from(format.bias) != f32::BIAS;
    if is_rebiased {
        let exponents = (f32::BIAS - i64::from(format.bias)) as u64;
        bits = widened + word(exponents << f32::MANTISSA);
        // Without its first digit a subnormal number is one with it, less that digit: exact, and both
        // are normal numbers of float32.
        let first = f64::powi(2.0, 1 - format.bias);
        let first = Expression::<f32>::literal(<f32 as Float>::literal(first));
        let with_first = bits + word(1 << f32::MANTISSA);
        let with_first = Expression::<f32>::unary(Operation::Reinterpret, with_first);
        let subnormal = Expression::<u32>::unary(Operation::Reinterpret, with_first - first);
        let is_normal = word(1 << format.mantissa_bits).is_at_most(magnitude);
        bits = Expression::choose(is_normal, bits, subnormal);
    }
    let nan = word(0x7fc0_0000);
    let bits = match format.specials {
        Specials::Ieee if is_rebiased => {
            let is_special = word(format.infinity_code()).is_at_most(magnitude);
            Expression::choose(is_special, widened | infinity, bits) | sign
        }
        Specials::Ieee => bits | sign,
        Specials::NanOnly => {
            let is_nan = magnitude.equals(word(format.nan_code()));
            Expression::choose(is_nan, nan, bits) | sign
        }
        Specials::NanOnlyUnsignedZero => {
            // The one NaN is the sign alone.
            let is_nan = code.equals(word(format.nan_code()));
            Expression::choose(is_nan, nan, bits | sign)
        }
    };
    Expression::unary(Operation::Reinterpret, bits)
}

/// The code of the nearest number, ties to even; beyond the range as casts have it.
pub(super) fn encode<T: Float>(format: FloatFormat, x: Expression<T>) -> Expression<u32> {
    let bits = Expression::<Code<T>>::unary(Operation::Reinterpret, x);
    let sign = word(1 << (T::WIDTH - 1));
    let magnitude = bits & !sign;
    let dropped = T::MANTISSA - format.mantissa_bits;
    let rebias = (T::BIAS - i64::from(format.bias)) as u64;
    let mut code: Expression<u32>;
    if rebias > 0 {
        // The digits from the first on; a subnormal number has fewer places for them, and the exponent
        // of the least normal one. Two places beyond the last digit nothing is left.
        let implicit = word(1 << T::MANTISSA);
        let significand = (magnitude & (implicit - word(1))) | implicit;
        let exponent = magnitude.shifted_right(count(T::MANTISSA)).convert::<u32>();
        let least = exponent.smaller(word(rebias + 1));
        let places = word(u64::from(dropped) + rebias + 1) - least;
        let places = places.smaller(count(T::MANTISSA + 2));
        code = drop_digits(significand, places).convert();
        code = code + (exponent - least).shifted_left(count(format.mantissa_bits));
    } else {
        code = drop_digits(magnitude, count(dropped)).convert();
    }
    let beyond = word(match format.specials {
        Specials::Ieee => format.infinity_code(),
        Specials::NanOnly => format.max_code(),
        Specials::NanOnlyUnsignedZero => format.nan_code(),
    });
    let most = word(format.max_code());
    code = Expression::choose(most.is_less(code), beyond, code);
    let infinity = word(((1 << (T::WIDTH - 1 - T::MANTISSA)) - 1) << T::MANTISSA);
    let is_nan = infinity.is_less(magnitude);
    code = Expression::choose(is_nan, word(format.nan_code()), code);
    let signed = code | word(format.sign_mask());
    let is_positive = bits.equals(magnitude);
    if format.has_negative_zero() {
        Expression::choose(is_positive, code, signed)
    } else {
        Expression::choose(is_positive | code.equals(word(0)), code, signed)
    }
}

/// The integer without so many of its last digits, which are not none, rounded to nearest even.
fn drop_digits<T: Integer>(x: Expression<T>, places: Expression<u32>) -> Expression<T> {
    let one = word::<T>(1);
    let is_odd = x.shifted_right(places) & one;
    let half = one.shifted_left(places - word(1));
    (x + (half - one) + is_odd).shifted_right(places)
}

/// The integer as a float32 that is rounded to odd, so that rounding it once more to at most eleven
/// digits is rounding once: what is dropped leaves its trace in the last digit.
pub(super) fn to_odd_float<T: Integer>(magnitude: Expression<T>) -> Expression<f32> {
    let narrow = |places: u32| {
        let kept = magnitude.shifted_right(count(places));
        let is_exact = kept.shifted_left(count(places)).equals(magnitude);
        let kept = Expression::choose(is_exact, kept, kept | word(1));
        (
            word(1 << (places + 16)).is_at_most(magnitude),
            kept.convert::<u32>(),
            (1_u64 << places) as f64,
        )
    };
    if T::WIDTH < 64 {
        return to_odd_float_32(magnitude.convert());
    }
    // At least 16 digits are kept, and at most 32.
    let mut digits = magnitude.convert::<u32>();
    let mut scale = Expression::<f32>::literal(<f32 as Float>::literal(1.0));
    for places in [16, 32] {
        let (is_large, kept, factor) = narrow(places);
        digits = Expression::choose(is_large, kept, digits);
        let factor = Expression::literal(<f32 as Float>::literal(factor));
        scale = Expression::choose(is_large, factor, scale);
    }
    to_odd_float_32(digits) * scale
}

/// The same for 32 bits.
fn to_odd_float_32(digits: Expression<u32>) -> Expression<f32> {
    let high = digits & !word(0xff);
    let odd = Expression::choose(high.equals(digits), high, high | word(0x100));
    let is_exact = digits.is_less(word(1 << 24));
    Expression::choose(is_exact, digits, odd).convert()
}
