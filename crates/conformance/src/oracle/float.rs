//! Float rows as mathematics.

use allotrope_dtype::{DType, Scalar, WeakScalar};
use allotrope_op::{Op, Signature};

use super::Exact;
use crate::double::{Double, LN_2, PI};
use crate::precise::Precise;

/// The answer to floats of a dtype, which decides how many digits it has.
#[must_use]
pub fn answer(op: Op, dtype: DType, args: &[f64]) -> Option<Exact> {
    if matches!(op.row().signature, Signature::Test | Signature::Compare) {
        return test(op, args).map(Exact::Truth);
    }
    match op {
        Op::Nextafter => return Some(Exact::Real(Double::new(next(dtype, args[0], args[1])))),
        // It takes the parameters of a format, which nextafter's own tests give it.
        Op::NextafterIn => return None,
        // The quotient is rounded, then cut, as in torch.
        Op::TruncDivide => {
            let quotient = args[0] / args[1];
            let quotient = match dtype {
                DType::F64 => quotient,
                _ => f64::from(quotient as f32),
            };
            return Some(Exact::Real(Double::new(libm::trunc(quotient))));
        }
        _ => {}
    }
    if !is_defined(op, args) {
        return None;
    }
    let plain = real::<f64>(op, args);
    // Results of 16 bits and less need no more digits.
    let narrow = dtype.bits() <= 16;
    if narrow || plain.is_nan() || !args.iter().all(|x| x.is_finite()) {
        return Some(Exact::Real(Double::new(plain)));
    }
    let wide: Vec<Double> = args.iter().map(|x| Double::new(*x)).collect();
    let exact = real(op, &wide);
    // Results of zero, infinity and NaN are float64's business, which has their signs.
    let found = exact.hi.is_finite() && exact.lo.is_finite() && exact.hi != 0.0;
    Some(Exact::Real(if found { exact } else { Double::new(plain) }))
}

/// Whether there is one right answer: products of zero and infinity on the way to a limit have none.
#[must_use]
pub fn is_defined(op: Op, args: &[f64]) -> bool {
    match op {
        // The limit is 0, and torch says NaN.
        Op::Gelu | Op::GeluTanh | Op::Silu | Op::Mish | Op::Hardswish => {
            args[0] != f64::NEG_INFINITY
        }
        // As in torch it goes from the nearer end, which an infinity has none of.
        Op::Lerp => {
            let ends = &args[..2];
            let ordinary = args.iter().all(|x| x.is_finite()) && ends.iter().all(|x| *x != 0.0);
            args.iter().any(|x| x.is_nan()) || ordinary
        }
        // Between -1e5 and where all numbers are whole, whose sums take too long to form.
        Op::Zeta => args[1] > -1e5 || args[1] == args[1].floor() || args[1].is_nan(),
        // Two to an infinite power undoes a zero or an infinity, or not.
        Op::Ldexp => args[1].is_finite() || args[1].is_nan() || args[0].is_normal(),
        _ => true,
    }
}

/// Operands that are parameters of the function of the first one, for which extremes mean nothing.
#[must_use]
pub fn has_parameters(op: Op) -> bool {
    matches!(
        op,
        Op::LeakyRelu
            | Op::Elu
            | Op::Celu
            | Op::Softplus
            | Op::Softshrink
            | Op::Hardshrink
            | Op::Threshold
            | Op::IsClose
    )
}

/// The number that the error is relative to, if the result is smaller: rows that cancel say so.
#[must_use]
pub fn scale(op: Op, dtype: DType, args: &[f64]) -> f64 {
    match op {
        // A factor that may be subnormal.
        Op::Silu | Op::Mish | Op::Gelu | Op::GeluTanh => {
            let least = dtype.finfo().map_or(0.0, |limits| limits.smallest_normal);
            args[0].abs() * least
        }
        Op::Lgamma | Op::Digamma => 1.0,
        // The terms next to the poles on either side, which cancel.
        Op::Zeta if args[1] < 0.0 => {
            let off = args[1] - args[1].floor();
            libm::pow(off.min(1.0 - off), -args[0]).min(1e300)
        }
        // The larger of two terms that may cancel.
        Op::Logaddexp | Op::Logaddexp2 => {
            let larger = args[0].max(args[1]);
            let term = real::<f64>(op, args) - larger;
            if term.is_finite() {
                larger.abs().max(term)
            } else {
                0.0
            }
        }
        // Terms of one sign have no need of it.
        Op::Lerp | Op::Addcmul | Op::Addcdiv => {
            let more = real::<f64>(op, args) - args[0];
            if (more < 0.0) == (args[0] < 0.0) {
                0.0
            } else {
                more.abs().max(args[0].abs())
            }
        }
        _ => 0.0,
    }
}

/// Units that the row says come on top of its bound: the argument of the logistic function in
/// `gelu_tanh` is rounded, and far out the result falls with it.
#[must_use]
pub fn conditioning(op: Op, args: &[f64]) -> f64 {
    match op {
        Op::GeluTanh => {
            let x = args[0].abs();
            1.5 * (1.6 * x + 0.0714 * x * x * x).min(1e4)
        }
        _ => 0.0,
    }
}

/// The next number of a dtype on the way, by its codes.
fn next(dtype: DType, x: f64, y: f64) -> f64 {
    let Some(format) = dtype.format() else {
        return f64::NAN;
    };
    if x.is_nan() || y.is_nan() {
        return f64::NAN;
    }
    if x == y {
        return y;
    }
    let code = |value: f64| {
        let bytes = Scalar::new(WeakScalar::Float(value), dtype).map(Scalar::to_bytes);
        let bytes = bytes.unwrap_or_default();
        u64::from_le_bytes(std::array::from_fn(|i| bytes[i])) & !format.sign_mask()
    };
    let magnitude = if x == 0.0 {
        format.decode(1).copysign(y)
    } else if (x < y) == (x > 0.0) {
        format.decode(code(x) + 1).copysign(x)
    } else {
        format.decode(code(x) - 1).copysign(x)
    };
    if magnitude == 0.0 && !format.has_negative_zero() {
        0.0
    } else {
        magnitude
    }
}

/// Questions and comparisons.
fn test(op: Op, a: &[f64]) -> Option<bool> {
    Some(match op {
        Op::IsNan => a[0].is_nan(),
        Op::IsInf => a[0].is_infinite(),
        Op::IsFinite => a[0].is_finite(),
        Op::IsPosInf => a[0] == f64::INFINITY,
        Op::IsNegInf => a[0] == f64::NEG_INFINITY,
        Op::IsReal => true,
        Op::Signbit => a[0].is_sign_negative(),
        Op::Eq => a[0] == a[1],
        Op::Ne => a[0] != a[1],
        Op::Lt => a[0] < a[1],
        Op::Le => a[0] <= a[1],
        Op::Gt => a[0] > a[1],
        Op::Ge => a[0] >= a[1],
        Op::IsClose => {
            let (distance, limit) = ((a[0] - a[1]).abs(), a[3] + a[2] * a[1].abs());
            // Rounding may decide a tie either way.
            if (distance - limit).abs() < 1e-6 * limit {
                return None;
            }
            a[0] == a[1] || (a[1].is_finite() && distance <= limit)
        }
        _ => return None,
    })
}

/// `x` within bounds; NaN stays.
fn within<R: Precise>(x: R, least: f64, most: f64) -> R {
    if x < R::of(least) {
        R::of(least)
    } else if x > R::of(most) {
        R::of(most)
    } else {
        x
    }
}

/// The greater; NaN if one is; of zeros the positive one.
fn greater<R: Precise>(x: R, y: R) -> R {
    let (a, b) = (x.get(), y.get());
    if a.is_nan() || (b.partial_cmp(&a).is_some_and(|o| o.is_lt())) {
        x
    } else if a == 0.0 && b == 0.0 {
        if a.is_sign_negative() { y } else { x }
    } else {
        y
    }
}

/// The whole multiple of the divisor below a number, and the rest above it.
fn floored<R: Precise>(x: R, y: R) -> (R, R) {
    let rest = R::of(libm::fmod(x.get(), y.get()));
    let quotient = (x - rest) / y;
    let turned = rest.get() != 0.0 && (rest.get() < 0.0) != (y.get() < 0.0);
    if turned {
        (quotient - R::of(1.0), rest + y)
    } else {
        (quotient, R::of(rest.get().abs().copysign(y.get())))
    }
}

/// Every row that makes a float of floats.
#[must_use]
pub fn real<R: Precise>(op: Op, a: &[R]) -> R {
    let x = a[0];
    let second = || a[1];
    let one = R::of(1.0);
    let pi = || R::constant(PI);
    let of = |f: fn(f64) -> f64| R::of(f(x.get()));
    match op {
        Op::Abs => x.abs(),
        Op::Neg => -x,
        Op::Positive | Op::Conj | Op::RealPart => x,
        Op::Sign => of(|x| {
            if x == 0.0 {
                0.0
            } else if x.is_nan() {
                x
            } else {
                x.signum()
            }
        }),
        Op::ImagPart => R::of(0.0),
        Op::Angle => {
            if x.get() < 0.0 {
                pi()
            } else if x.get().is_nan() {
                x
            } else {
                R::of(0.0)
            }
        }
        Op::Square => x * x,
        Op::Reciprocal => one / x,
        Op::Sqrt => x.sqrt(),
        Op::Rsqrt => one / x.sqrt(),
        Op::Cbrt => x.cbrt(),
        Op::Exp => x.exp(),
        Op::Exp2 => x.exp2(),
        Op::Expm1 => x.expm1(),
        Op::Log => x.ln(),
        Op::Log2 => x.log2(),
        Op::Log10 => x.log10(),
        Op::Log1p => x.ln_1p(),
        Op::Sin => x.sin(),
        Op::Cos => x.cos(),
        Op::Tan => x.tan(),
        Op::Asin => x.asin(),
        Op::Acos => x.acos(),
        Op::Atan => x.atan(),
        Op::Sinh => x.sinh(),
        Op::Cosh => x.cosh(),
        Op::Tanh => x.tanh(),
        Op::Asinh => x.asinh(),
        Op::Acosh => x.acosh(),
        Op::Atanh => x.atanh(),
        Op::Sinc => {
            if x.get() == 0.0 {
                one
            } else {
                x.sin_pi() / (pi() * x)
            }
        }
        Op::Deg2rad => x / R::of(180.0) * pi(),
        Op::Rad2deg => x * (R::of(180.0) / pi()),
        Op::Erf => x.erf(),
        Op::Erfc => x.erfc(),
        Op::Erfinv => x.erfinv(),
        Op::Erfcx => x.erfcx(),
        Op::Ndtr => {
            let root = R::of(2.0).sqrt();
            R::of(0.5) * (-x / root).erfc()
        }
        Op::LogNdtr => {
            let t = -x / R::of(2.0).sqrt();
            if x.get() > -1.0 {
                (-(R::of(0.5) * (-t).erfc())).ln_1p()
            } else if x.get().is_infinite() {
                x
            } else {
                (t.erfcx() * R::of(0.5)).ln() - t * t
            }
        }
        Op::Entr => {
            if x.get() == 0.0 {
                R::of(0.0)
            } else if x.get() < 0.0 {
                R::of(f64::NEG_INFINITY)
            } else {
                -(x * x.ln())
            }
        }
        Op::I0 => bessel(0, x, false),
        Op::I0e => bessel(0, x, true),
        Op::I1 => bessel(1, x, false),
        Op::I1e => bessel(1, x, true),
        Op::Lgamma => x.lgamma(),
        Op::Digamma => x.digamma(),
        Op::Sigmoid => one / (one + (-x).exp()),
        Op::LogSigmoid => {
            if x.get() < 0.0 {
                x - x.exp().ln_1p()
            } else {
                -(-x).exp().ln_1p()
            }
        }
        Op::Logit => x.ln() - (-x).ln_1p(),
        Op::Floor => of(libm::floor),
        Op::Ceil => of(libm::ceil),
        Op::Trunc => of(libm::trunc),
        Op::Round => of(libm::rint),
        Op::Frac => R::of(x.get() - libm::trunc(x.get())),
        Op::Relu => {
            if x.get() < 0.0 {
                R::of(0.0)
            } else {
                x
            }
        }
        Op::Relu6 => within(x, 0.0, 6.0),
        Op::LeakyRelu => {
            if x.get() < 0.0 {
                x * second()
            } else {
                x
            }
        }
        Op::Elu => {
            if x.get() > 0.0 {
                x
            } else {
                x.expm1() * second()
            }
        }
        Op::Selu => {
            // The constants of the paper (Klambauer et al. 2017), appendix A1.
            let scale = R::of(1.050_700_987_355_480_5);
            let alpha = R::of(1.673_263_242_354_377_2);
            if x.get() > 0.0 {
                x * scale
            } else {
                x.expm1() * alpha * scale
            }
        }
        Op::Celu => {
            if x.get() > 0.0 {
                x
            } else {
                (x / second()).expm1() * second()
            }
        }
        Op::Softplus => {
            let z = x * a[1];
            if z > a[2] { x } else { z.exp().ln_1p() / a[1] }
        }
        Op::Softsign => x / (one + x.abs()),
        Op::Gelu => x * R::of(0.5) * (-x / R::of(2.0).sqrt()).erfc(),
        Op::GeluTanh => {
            let inner = x + x * x * x * R::of(0.044_715);
            let twice = inner * R::of(2.0) * (R::of(2.0) / pi()).sqrt();
            x / (one + (-twice).exp())
        }
        Op::Silu => x / (one + (-x).exp()),
        Op::Mish => x * x.exp().ln_1p().tanh(),
        Op::Hardswish => x * (within(x + R::of(3.0), 0.0, 6.0) / R::of(6.0)),
        Op::Hardsigmoid => within(x + R::of(3.0), 0.0, 6.0) / R::of(6.0),
        Op::Tanhshrink => {
            let square = x * x;
            if square.get() > 1e-6 {
                return x - x.tanh();
            }
            // x³/3 - 2x⁵/15 + 17x⁷/315 - …
            let series = [(62.0, 2835.0), (-17.0, 315.0), (2.0, 15.0), (-1.0, 3.0)];
            let sum = series.iter().fold(R::of(0.0), |sum, (above, below)| {
                sum * square + R::of(*above) / R::of(*below)
            });
            -x * square * sum
        }
        Op::Softshrink => {
            let lambda = second();
            if x > lambda {
                x - lambda
            } else if x < -lambda {
                x + lambda
            } else if x.get().is_nan() {
                x
            } else {
                R::of(0.0)
            }
        }
        Op::Hardshrink => {
            if x.abs() <= second() {
                R::of(0.0)
            } else {
                x
            }
        }
        Op::Threshold => {
            if x <= a[1] {
                a[2]
            } else {
                x
            }
        }
        Op::Add => x + second(),
        Op::Sub => x - second(),
        Op::Mul => x * second(),
        Op::Div => x / second(),
        Op::FloorDivide => {
            let (p, q) = (x.get(), a[1].get());
            if q == 0.0 || p.is_infinite() || q.is_infinite() || p == 0.0 {
                R::of(p / q)
            } else {
                let y = floored(x, a[1]).0;
                R::of(if y.get() == 0.0 { 0.0 } else { return y })
            }
        }
        Op::Remainder => floored(x, second()).1,
        Op::Fmod => R::of(libm::fmod(x.get(), a[1].get())),
        Op::Pow => x.pow(second()),
        Op::Maximum => greater(x, second()),
        Op::Minimum => -greater(-x, -second()),
        Op::Fmax => match (x.get().is_nan(), a[1].get().is_nan()) {
            (true, _) => a[1],
            (_, true) => x,
            _ => greater(x, a[1]),
        },
        Op::Fmin => match (x.get().is_nan(), a[1].get().is_nan()) {
            (true, _) => a[1],
            (_, true) => x,
            _ => -greater(-x, -a[1]),
        },
        Op::Igamma => x.gamma_shares(second()).0,
        Op::Igammac => x.gamma_shares(second()).1,
        Op::Zeta => x.zeta(second()),
        Op::Atan2 => x.atan2(second()),
        Op::Hypot => x.hypot(second()),
        Op::Copysign => {
            if x.get().is_sign_negative() == a[1].get().is_sign_negative() {
                x
            } else {
                -x
            }
        }
        Op::Logaddexp => x.logaddexp(second()),
        Op::Logaddexp2 => {
            let (p, q) = (x.get(), a[1].get());
            if p == q {
                return x + one;
            }
            if p.is_nan() || q.is_nan() {
                return R::of(f64::NAN);
            }
            let (large, small) = if p < q { (a[1], x) } else { (x, a[1]) };
            large + (small - large).exp2().ln_1p() / R::constant(LN_2)
        }
        Op::Xlogy | Op::Xlog1py => {
            let y = second();
            if x.get() == 0.0 && !y.get().is_nan() {
                R::of(0.0)
            } else if op == Op::Xlogy {
                x * y.ln()
            } else {
                x * y.ln_1p()
            }
        }
        Op::Heaviside => {
            if x.get() == 0.0 {
                second()
            } else {
                of(|x| if x.is_nan() { x } else { f64::from(x > 0.0) })
            }
        }
        Op::Ldexp => {
            if (x.get() == 0.0 || x.get().is_infinite()) && !a[1].get().is_nan() {
                return x;
            }
            let half = (a[1] * R::of(0.5)).exp2();
            x * half * half
        }
        Op::Clamp | Op::Hardtanh => -greater(-greater(x, a[1]), -a[2]),
        Op::Lerp => {
            // Exact at the far end, where the sum is not.
            if a[2].get() == 1.0 && !x.get().is_nan() {
                a[1]
            } else {
                x + (a[1] - x) * a[2]
            }
        }
        Op::Addcmul => x + a[3] * a[1] * a[2],
        Op::Addcdiv => x + a[3] * a[1] / a[2],
        Op::NanToNum => match x.get() {
            f if f.is_nan() => a[1],
            f64::INFINITY => a[2],
            f64::NEG_INFINITY => a[3],
            _ => x,
        },
        // Rows that make something else, or are no floats' business.
        Op::BitwiseNot
        | Op::BitwiseCount
        | Op::IsNan
        | Op::IsInf
        | Op::IsFinite
        | Op::IsPosInf
        | Op::IsNegInf
        | Op::IsReal
        | Op::Signbit
        | Op::LogicalNot
        | Op::Nextafter
        | Op::TruncDivide
        | Op::Gcd
        | Op::Lcm
        | Op::BitwiseAnd
        | Op::BitwiseOr
        | Op::BitwiseXor
        | Op::LeftShift
        | Op::RightShift
        | Op::LogicalAnd
        | Op::LogicalOr
        | Op::LogicalXor
        | Op::Eq
        | Op::Ne
        | Op::Lt
        | Op::Le
        | Op::Gt
        | Op::Ge
        | Op::Where
        | Op::IsClose
        | Op::NextafterIn => R::of(f64::NAN),
    }
}

/// The modified Bessel function of the first kind of order 0 or 1, times `e^-|x|` if it is scaled: its
/// power series, whose terms are all positive, or far out the series of Hankel.
fn bessel<R: Precise>(order: u8, x: R, is_scaled: bool) -> R {
    let (a, n) = (x.abs(), f64::from(order));
    if a.get().is_nan() {
        return a;
    }
    if a.get().is_infinite() {
        let end = if is_scaled { R::of(0.0) } else { a };
        return if order == 1 && x.get() < 0.0 {
            -end
        } else {
            end
        };
    }
    let value = if a.get() < 80.0 {
        let t = a * a / R::of(4.0);
        let mut term = if order == 0 {
            R::of(1.0)
        } else {
            a / R::of(2.0)
        };
        let (mut sum, mut k) = (term, 1.0);
        while term.get() > sum.get() * 1e-34 {
            term = term * t / R::of(k * (k + n));
            sum = sum + term;
            k += 1.0;
        }
        if is_scaled { sum * (-a).exp() } else { sum }
    } else {
        let (mut term, mut sum) = (R::of(1.0), R::of(1.0));
        for k in 1..40 {
            let odd = f64::from(2 * k - 1);
            let next = -(term * R::of(4.0 * n * n - odd * odd) / (R::of(f64::from(8 * k)) * a));
            if next.get().abs() >= term.get().abs() {
                break;
            }
            (term, sum) = (next, sum + next);
        }
        let scaled = sum / (R::constant(PI) * R::of(2.0)).sqrt() / a.sqrt();
        let half = (a / R::of(2.0)).exp();
        match is_scaled {
            true => scaled,
            false if half.get().is_finite() => half * scaled * half,
            false => half,
        }
    };
    if order == 1 && x.get().is_sign_negative() {
        -value
    } else {
        value
    }
}
