//! Integer rows in 128 bits, wrapped to the dtype.

use allotrope_dtype::DType;
use allotrope_op::Op;

use super::Exact;

/// A number modulo two to the width of a dtype.
fn wrap(value: i128, dtype: DType) -> i128 {
    let free = 128 - dtype.bits();
    if dtype.is_signed() {
        value << free >> free
    } else {
        ((value as u128) << free >> free) as i128
    }
}

/// The quotient rounded down, and the rest.
fn floored(x: i128, y: i128) -> (i128, i128) {
    let (quotient, rest) = (x / y, x % y);
    if rest != 0 && (rest < 0) != (y < 0) {
        (quotient - 1, rest + y)
    } else {
        (quotient, rest)
    }
}

fn gcd(x: i128, y: i128) -> i128 {
    if y == 0 { x.abs() } else { gcd(y, x % y) }
}

/// A power modulo 2¹²⁸, of which every dtype keeps the lower bits.
fn power(base: i128, exponent: i128) -> i128 {
    let (mut power, mut base, mut left) = (1_i128, base, exponent);
    while left > 0 {
        if left % 2 == 1 {
            power = power.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        left /= 2;
    }
    power
}

/// The answer to integers of a dtype.
pub(super) fn answer(op: Op, dtype: DType, a: &[i128]) -> Exact {
    let x = a[0];
    let y = a.get(1).copied().unwrap_or(0);
    let z = a.get(2).copied().unwrap_or(0);
    let counts = (0..i128::from(dtype.bits())).contains(&y);
    let number = match op {
        Op::Abs => x.abs(),
        Op::Neg => -x,
        Op::Positive
        | Op::Conj
        | Op::RealPart
        | Op::Floor
        | Op::Ceil
        | Op::Trunc
        | Op::Round
        | Op::NanToNum => x,
        Op::ImagPart | Op::Frac => 0,
        Op::Sign => x.signum(),
        Op::Square => x.wrapping_mul(x),
        Op::BitwiseNot => !x,
        Op::BitwiseCount => x.abs().count_ones().into(),
        Op::IsNan | Op::IsInf | Op::IsPosInf | Op::IsNegInf => return Exact::Truth(false),
        Op::IsFinite | Op::IsReal => return Exact::Truth(true),
        Op::Signbit => return Exact::Truth(x < 0),
        Op::Relu => x.max(0),
        Op::Relu6 => x.clamp(0, 6),
        Op::Threshold => {
            if x <= y {
                z
            } else {
                x
            }
        }
        Op::Add => x + y,
        Op::Sub => x - y,
        Op::Mul => x.wrapping_mul(y),
        Op::FloorDivide => floored(x, y).0,
        Op::Remainder => floored(x, y).1,
        Op::TruncDivide => x / y,
        Op::Fmod => x % y,
        Op::Pow => power(x, y),
        Op::Maximum | Op::Fmax => x.max(y),
        Op::Minimum | Op::Fmin => x.min(y),
        Op::Heaviside => match x {
            0 => y,
            _ => i128::from(x > 0),
        },
        Op::Gcd => gcd(x, y),
        Op::Lcm => match gcd(x, y) {
            0 => 0,
            divisor => wrap((x / divisor).wrapping_mul(y), dtype).abs(),
        },
        Op::BitwiseAnd => x & y,
        Op::BitwiseOr => x | y,
        Op::BitwiseXor => x ^ y,
        Op::LeftShift if counts => x << y,
        Op::LeftShift => 0,
        Op::RightShift if counts => x >> y,
        Op::RightShift => x.signum().min(0),
        Op::Eq => return Exact::Truth(x == y),
        Op::Ne => return Exact::Truth(x != y),
        Op::Lt => return Exact::Truth(x < y),
        Op::Le => return Exact::Truth(x <= y),
        Op::Gt => return Exact::Truth(x > y),
        Op::Ge => return Exact::Truth(x >= y),
        Op::Clamp | Op::Hardtanh => x.max(y).min(z),
        Op::Addcmul => x.wrapping_add(a[3].wrapping_mul(y).wrapping_mul(z)),
        // Promoted to a float before, or no integers' business.
        Op::Angle
        | Op::Reciprocal
        | Op::Sqrt
        | Op::Rsqrt
        | Op::Cbrt
        | Op::Exp
        | Op::Exp2
        | Op::Expm1
        | Op::Log
        | Op::Log2
        | Op::Log10
        | Op::Log1p
        | Op::Sin
        | Op::Cos
        | Op::Tan
        | Op::Asin
        | Op::Acos
        | Op::Atan
        | Op::Sinh
        | Op::Cosh
        | Op::Tanh
        | Op::Asinh
        | Op::Acosh
        | Op::Atanh
        | Op::Sinc
        | Op::Deg2rad
        | Op::Rad2deg
        | Op::Erf
        | Op::Erfc
        | Op::Erfinv
        | Op::Erfcx
        | Op::Ndtr
        | Op::LogNdtr
        | Op::Entr
        | Op::I0
        | Op::I0e
        | Op::I1
        | Op::I1e
        | Op::Lgamma
        | Op::Digamma
        | Op::Sigmoid
        | Op::LogSigmoid
        | Op::Logit
        | Op::LogicalNot
        | Op::LeakyRelu
        | Op::Elu
        | Op::Selu
        | Op::Celu
        | Op::Softplus
        | Op::Softsign
        | Op::Gelu
        | Op::GeluTanh
        | Op::Silu
        | Op::Mish
        | Op::Hardswish
        | Op::Hardsigmoid
        | Op::Tanhshrink
        | Op::Softshrink
        | Op::Hardshrink
        | Op::Div
        | Op::Igamma
        | Op::Igammac
        | Op::Zeta
        | Op::Atan2
        | Op::Hypot
        | Op::Copysign
        | Op::Nextafter
        | Op::Logaddexp
        | Op::Logaddexp2
        | Op::Xlogy
        | Op::Xlog1py
        | Op::Ldexp
        | Op::LogicalAnd
        | Op::LogicalOr
        | Op::LogicalXor
        | Op::Where
        | Op::Lerp
        | Op::Addcdiv
        | Op::IsClose
        | Op::NextafterIn => return Exact::Truth(false),
    };
    Exact::Int(wrap(number, dtype))
}
