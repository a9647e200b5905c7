//! Functions of one number.

/// Hands every row of one operand to a callback macro; see [`for_each_op!`](crate::for_each_op).
#[macro_export]
macro_rules! for_each_unary {
    (($($callback:tt)+) $($args:tt)*) => {
        $($callback)+! { $($args)*
            // Sign and parts.
            { Abs, abs, (x) -> out, Real, Keep, "The magnitude, `|x|`; a real number for complex ones.",
              float { x.abs() } complex { x.abs() } int { x.abs() } bool { x },
              d { g => [g * x.sign()] }, domain [(-10.0, 10.0)], ulp 2.0 }
            { Neg, neg, (x) -> out, Map, Keep, "The number with the other sign, `-x`.",
              float { -x } complex { -x } int { -x } bool refuse,
              d { g => [-g] }, domain [(-10.0, 10.0)], ulp 0.5 }
            { Positive, positive, (x) -> out, Map, Keep, "The number itself, `+x`.",
              float { x } complex { x } int { x } bool refuse,
              d [x.one()], domain [(-10.0, 10.0)], ulp 0.5 }
            { Sign, sign, (x) -> out, Map, Keep, "-1, 0 or 1 by the sign; `x / |x|` for complex numbers.",
              float { sign(x) } complex { x.sign() } int { x.sign() } bool { x },
              d { g => [x.sign_gradient(g, out)] }, domain [(-10.0, 10.0)], ulp 2.0 }
            { Conj, conj, (x) -> out, Map, Keep, "The complex conjugate.",
              float { x } complex { x.conj() } int { x } bool { x },
              d { g => [g.conj()] }, domain [(-10.0, 10.0)], ulp 0.5 }
            { RealPart, real, (x) -> out, Real, Keep, "The real part.",
              float { x } complex { x.re } int { x } bool { x },
              d { g => [g] }, domain [(-10.0, 10.0)], ulp 0.5 }
            { ImagPart, imag, (x) -> out, Real, Keep, "The imaginary part; 0 for real numbers.",
              float { L::select(x.eq(x), L::lit(0.0), L::lit(0.0)) } complex { x.im } int { x - x } bool { x & !x },
              d { g => [x.imag_gradient(g)] }, domain [(-10.0, 10.0)], ulp 0.5 }
            { Angle, angle, (x) -> out, Real, Keep, "The angle in the complex plane: 0 or π for real numbers.",
              float { L::select(x.eq(x), L::select(x.lt(L::lit(0.0)), L::lit(std::f64::consts::PI), L::lit(0.0)), x) }
              complex { x.angle() } int promote bool promote,
              d { g => [x.angle_gradient(g)] }, domain [(-10.0, 10.0)], ulp 2.0 }

            // Powers and roots.
            { Square, square, (x) -> out, Map, Float32, "The square, `x²`.",
              float { x * x } complex { x * x } int { x * x } bool { x },
              d [x + x], domain [(-10.0, 10.0)], ulp 0.5 }
            { Reciprocal, reciprocal, (x) -> out, Map, Float32, "One divided by the number, `1 / x`.",
              float { L::lit(1.0) / x } complex { x.reciprocal() } int promote bool promote,
              d [-out * out], domain [(0.1, 10.0)], ulp 0.5 }
            { Sqrt, sqrt, (x) -> out, Map, Keep, "The square root.",
              float { x.sqrt() } complex { x.sqrt() } int promote bool promote,
              d [0.5 / out], domain [(0.01, 100.0)], ulp 0.5 }
            { Rsqrt, rsqrt, (x) -> out, Map, Float32, "One divided by the square root.",
              float { x.rsqrt() } complex { x.rsqrt() } int promote bool promote,
              d [-0.5 * out / x], domain [(0.01, 100.0)], ulp 2.0 }
            { Cbrt, cbrt, (x) -> out, Map, Keep, "The cube root.",
              float { x.cbrt() } complex refuse int promote bool promote,
              d [1.0 / (3.0 * out * out)], domain [(0.1, 100.0)], ulp 2.0 }

            // Exponentials and logarithms.
            { Exp, exp, (x) -> out, Map, Float32, "The exponential, `eˣ`.",
              float { x.exp() } complex { x.exp() } int promote bool promote,
              d [out], domain [(-10.0, 10.0)], ulp 2.0,
              near [EXP_NEAR_32, EXP_NEAR_64] { x.exp_near() },
              rough { x.exp_rough() } near { x.exp_rough_near() }
              half { x.exp_half() } near { x.exp_half_near() } }
            { Exp2, exp2, (x) -> out, Map, Float32, "Two to the power of the number.",
              float { x.exp2() } complex { x.exp2() } int promote bool promote,
              d [out * std::f64::consts::LN_2], domain [(-10.0, 10.0)], ulp 2.0 }
            { Expm1, expm1, (x) -> out, Map, Float32, "`eˣ - 1`, precise near 0.",
              float { x.expm1() } complex { x.expm1() } int promote bool promote,
              d [out + 1.0], domain [(-10.0, 10.0)], ulp 2.0 }
            { Log, log, (x) -> out, Map, Float32, "The natural logarithm.",
              float { x.log() } complex { x.log() } int promote bool promote,
              d [1.0 / x], domain [(0.01, 100.0)], ulp 2.0 }
            { Log2, log2, (x) -> out, Map, Float32, "The logarithm to base 2.",
              float { x.log2() } complex { x.log2() } int promote bool promote,
              d [std::f64::consts::LOG2_E / x], domain [(0.01, 100.0)], ulp 2.0 }
            { Log10, log10, (x) -> out, Map, Float32, "The logarithm to base 10.",
              float { x.log10() } complex { x.log10() } int promote bool promote,
              d [std::f64::consts::LOG10_E / x], domain [(0.01, 100.0)], ulp 2.0 }
            { Log1p, log1p, (x) -> out, Map, Float32, "The logarithm of `1 + x`, precise near 0.",
              float { x.log1p() } complex { x.log1p() } int promote bool promote,
              d [1.0 / (x + 1.0)], domain [(-0.9, 100.0)], ulp 2.0 }

            // Trigonometric and hyperbolic.
            { Sin, sin, (x) -> out, Map, Keep, "The sine.",
              float { x.sin() } complex { x.sin() } int promote bool promote,
              d [x.cos()], domain [(-30.0, 30.0)], ulp 2.0, near [NEAR_32, NEAR_64] { x.sin_near() } }
            { Cos, cos, (x) -> out, Map, Keep, "The cosine.",
              float { x.cos() } complex { x.cos() } int promote bool promote,
              d [-x.sin()], domain [(-30.0, 30.0)], ulp 2.0, near [NEAR_32, NEAR_64] { x.cos_near() } }
            { Tan, tan, (x) -> out, Map, Float32, "The tangent.",
              float { x.tan() } complex { x.tan() } int promote bool promote,
              d [out * out + 1.0], domain [(-1.4, 1.4)], ulp 2.0, near [NEAR_32, NEAR_64] { x.tan_near() } }
            { Asin, asin, (x) -> out, Map, Float32, "The inverse sine.",
              float { x.asin() } complex { x.asin() } int promote bool promote,
              d [(1.0 - x * x).rsqrt()], domain [(-0.9, 0.9)], ulp 2.0 }
            { Acos, acos, (x) -> out, Map, Float32, "The inverse cosine.",
              float { x.acos() } complex { x.acos() } int promote bool promote,
              d [-(1.0 - x * x).rsqrt()], domain [(-0.9, 0.9)], ulp 2.0 }
            { Atan, atan, (x) -> out, Map, Keep, "The inverse tangent.",
              float { x.atan() } complex { x.atan() } int promote bool promote,
              d [1.0 / (x * x + 1.0)], domain [(-10.0, 10.0)], ulp 2.0 }
            { Sinh, sinh, (x) -> out, Map, Float32, "The hyperbolic sine.",
              float { x.sinh() } complex { x.sinh() } int promote bool promote,
              d [x.cosh()], domain [(-10.0, 10.0)], ulp 2.0 }
            { Cosh, cosh, (x) -> out, Map, Float32, "The hyperbolic cosine.",
              float { x.cosh() } complex { x.cosh() } int promote bool promote,
              d [x.sinh()], domain [(-10.0, 10.0)], ulp 2.0 }
            { Tanh, tanh, (x) -> out, Map, Keep, "The hyperbolic tangent.",
              float { x.tanh() } complex { x.tanh() } int promote bool promote,
              d [1.0 - out * out], domain [(-5.0, 5.0)], ulp 2.0, rough { x.tanh_rough() } }
            { Asinh, asinh, (x) -> out, Map, Keep, "The inverse hyperbolic sine.",
              float { x.asinh() } complex { x.asinh() } int promote bool promote,
              d [(x * x + 1.0).rsqrt()], domain [(-10.0, 10.0)], ulp 2.0 }
            { Acosh, acosh, (x) -> out, Map, Keep, "The inverse hyperbolic cosine.",
              float { x.acosh() } complex { x.acosh() } int promote bool promote,
              d [((x - 1.0).sqrt() * (x + 1.0).sqrt()).reciprocal()], domain [(1.1, 100.0)], ulp 2.0 }
            { Atanh, atanh, (x) -> out, Map, Keep, "The inverse hyperbolic tangent.",
              float { x.atanh() } complex { x.atanh() } int promote bool promote,
              d [1.0 / (1.0 - x * x)], domain [(-0.9, 0.9)], ulp 2.0 }
            { Sinc, sinc, (x) -> out, Map, Keep, "`sin(πx) / (πx)`, and 1 at 0.",
              float { sinc(x) } complex { x.sinc() } int promote bool promote,
              d [sinc_slope(x, out)], domain [(-0.9, 0.9)], ulp 6.0 }
            { Deg2rad, deg2rad, (x) -> out, Map, Keep, "Degrees as radians.",
              float { x * L::lit(std::f64::consts::PI / 180.0) } complex refuse int promote bool promote,
              d [x.lit(std::f64::consts::PI / 180.0)], domain [(-360.0, 360.0)], ulp 1.5 }
            { Rad2deg, rad2deg, (x) -> out, Map, Keep, "Radians as degrees.",
              float { x * L::lit(180.0 / std::f64::consts::PI) } complex refuse int promote bool promote,
              d [x.lit(180.0 / std::f64::consts::PI)], domain [(-10.0, 10.0)], ulp 1.5 }

            // Special functions.
            { Erf, erf, (x) -> out, Map, Keep, "The error function.",
              float { x.erf() } complex refuse int promote bool promote,
              d [(-x * x).exp() * std::f64::consts::FRAC_2_SQRT_PI], domain [(-3.0, 3.0)], ulp 2.0 }
            { Erfc, erfc, (x) -> out, Map, Keep, "One minus the error function, precise where that is small.",
              float { x.erfc() } complex refuse int promote bool promote,
              d [(-x * x).exp() * -std::f64::consts::FRAC_2_SQRT_PI], domain [(-3.0, 3.0)], ulp 2.0 }
            { Erfinv, erfinv, (x) -> out, Map, Keep, "The inverse of the error function.",
              float { x.erfinv() } complex refuse int promote bool promote,
              d [(out * out).exp() * (1.0 / std::f64::consts::FRAC_2_SQRT_PI)], domain [(-0.95, 0.95)], ulp 2.0 }
            { Erfcx, erfcx, (x) -> out, Map, Float32, "One minus the error function times `e^(x²)`.",
              float { x.erfcx() } complex refuse int promote bool promote,
              d [x * out * 2.0 - std::f64::consts::FRAC_2_SQRT_PI], domain [(-2.0, 3.0)], ulp 6.0 }
            { Ndtr, ndtr, (x) -> out, Map, Keep, "The distribution function of normal numbers.",
              float { x.ndtr() } complex refuse int promote bool promote,
              d [(x * x * -0.5).exp() * (std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2 * 0.5)],
              domain [(-3.0, 3.0)], ulp 6.0 }
            { LogNdtr, log_ndtr, (x) -> out, Map, Float32, "The logarithm of `ndtr`, precise where that is small.",
              float { x.log_ndtr() } complex refuse int promote bool promote,
              d [(x * -std::f64::consts::FRAC_1_SQRT_2).erfcx().reciprocal()
                 * (std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2)],
              domain [(-20.0, 3.0)], ulp 6.0 }
            { Entr, entr, (x) -> out, Map, Float32, "`-x log(x)`, 0 at 0, and minus infinity below.",
              float { entr(x) } complex refuse int promote bool promote,
              d [-x.log() - 1.0], domain [(0.05, 10.0)], ulp 4.0 }
            { I0, i0, (x) -> out, Map, Float32, "The modified Bessel function of the first kind and order 0.",
              float { x.i0() } complex refuse int promote bool promote,
              d [x.i1()], domain [(-10.0, 10.0)], ulp 10.0 }
            { I0e, i0e, (x) -> out, Map, Keep, "`i0` times `e^-|x|`.",
              float { x.i0e() } complex refuse int promote bool promote,
              d [x.i1e() - x.sign() * out], domain [(-20.0, 20.0)], ulp 8.0 }
            { I1, i1, (x) -> out, Map, Float32, "The modified Bessel function of the first kind and order 1.",
              float { x.i1() } complex refuse int promote bool promote,
              d [i1_slope(x, x.i0(), out)], domain [(-10.0, 10.0)], ulp 10.0 }
            { I1e, i1e, (x) -> out, Map, Keep, "`i1` times `e^-|x|`.",
              float { x.i1e() } complex refuse int promote bool promote,
              d [i1_slope(x, x.i0e(), out) - x.sign() * out], domain [(-20.0, 20.0)], ulp 8.0 }
            { Lgamma, lgamma, (x) -> out, Map, Keep, "The logarithm of the magnitude of the gamma function.",
              float { x.lgamma() } complex refuse int promote bool promote,
              d [x.digamma()], domain [(2.5, 50.0)], ulp 4.0 }
            { Digamma, digamma, (x) -> out, Map, Keep, "The slope of `lgamma`.",
              float { x.digamma() } complex refuse int promote bool promote,
              d [trigamma(x)], domain [(2.0, 50.0)], ulp 4.0 }
            { Sigmoid, sigmoid, (x) -> out, Map, Keep, "The logistic function, `1 / (1 + e⁻ˣ)`.",
              float { sigmoid(x) } complex { x.sigmoid() } int promote bool promote,
              d [out * (1.0 - out)], domain [(-10.0, 10.0)], ulp 4.0 }
            { LogSigmoid, log_sigmoid, (x) -> out, Map, Float32, "The logarithm of the logistic function.",
              float { log_sigmoid(x) } complex refuse int promote bool promote,
              d [(-x).sigmoid()], domain [(-10.0, 10.0)], ulp 4.0 }
            { Logit, logit, (x) -> out, Map, Float32, "The inverse of the logistic function, `log(x / (1 - x))`.",
              float { logit(x) } complex refuse int promote bool promote,
              d [1.0 / (x * (1.0 - x))], domain [(0.02, 0.98)], ulp 4.0 }

            // Rounding.
            { Floor, floor, (x) -> out, Map, Keep, "The greatest whole number not above.",
              float { x.floor() } complex refuse int { x } bool integer,
              d [x.zero()], domain [(-10.0, 10.0)], ulp 0.5 }
            { Ceil, ceil, (x) -> out, Map, Keep, "The least whole number not below.",
              float { x.ceil() } complex refuse int { x } bool integer,
              d [x.zero()], domain [(-10.0, 10.0)], ulp 0.5 }
            { Trunc, trunc, (x) -> out, Map, Keep, "The whole number towards zero.",
              float { x.trunc() } complex refuse int { x } bool integer,
              d [x.zero()], domain [(-10.0, 10.0)], ulp 0.5 }
            { Round, round, (x) -> out, Map, Keep, "The nearest whole number, ties to even.",
              float { x.round() } complex { $crate::Complex { re: x.re.round(), im: x.im.round() } }
              int { x } bool integer,
              d { g => [g.zero()] }, domain [(-10.0, 10.0)], ulp 0.5 }
            { Frac, frac, (x) -> out, Map, Keep, "What truncation leaves out.",
              float { x - x.trunc() } complex refuse
              int { x - x } bool integer,
              d [x.one()], domain [(-10.0, 10.0)], ulp 0.5 }

            // Bits.
            { BitwiseNot, bitwise_not, (x) -> out, Map, Keep, "Every bit the other way; the logical not of bool.",
              float refuse complex refuse int { !x } bool { !x },
              d none, domain [(-10.0, 10.0)], ulp 0.5 }
            { BitwiseCount, bitwise_count, (x) -> out, Map, Keep, "How many bits of the magnitude are set.",
              float refuse complex refuse int { x.abs().count_ones() } bool integer,
              d none, domain [(-10.0, 10.0)], ulp 0.5 }

            // Questions.
            { IsNan, isnan, (x) -> out, Test, Keep, "Whether the number is not a number.",
              float { !x.eq(x) } complex { x.is_nan() } int { x.lt(x) } bool { x & !x },
              d none, domain [(-10.0, 10.0)], ulp 0.5 }
            { IsInf, isinf, (x) -> out, Test, Keep, "Whether the number is an infinity.",
              float { x.abs().eq(L::lit(f64::INFINITY)) } complex { x.is_inf() } int { x.lt(x) } bool { x & !x },
              d none, domain [(-10.0, 10.0)], ulp 0.5 }
            { IsFinite, isfinite, (x) -> out, Test, Keep, "Whether the number is neither an infinity nor NaN.",
              float { x.abs().lt(L::lit(f64::INFINITY)) } complex { x.is_finite() } int { x.eq(x) } bool { x | !x },
              d none, domain [(-10.0, 10.0)], ulp 0.5 }
            { IsPosInf, isposinf, (x) -> out, Test, Keep, "Whether the number is plus infinity.",
              float { x.eq(L::lit(f64::INFINITY)) } complex refuse int { x.lt(x) } bool { x & !x },
              d none, domain [(-10.0, 10.0)], ulp 0.5 }
            { IsNegInf, isneginf, (x) -> out, Test, Keep, "Whether the number is minus infinity.",
              float { x.eq(L::lit(f64::NEG_INFINITY)) } complex refuse int { x.lt(x) } bool { x & !x },
              d none, domain [(-10.0, 10.0)], ulp 0.5 }
            { IsReal, isreal, (x) -> out, Test, Keep, "Whether the imaginary part is zero.",
              float { x.eq(x) | !x.eq(x) } complex { x.im.eq(R::lit(0.0)) } int { x.eq(x) } bool { x | !x },
              d none, domain [(-10.0, 10.0)], ulp 0.5 }
            { Signbit, signbit, (x) -> out, Test, Keep, "Whether the sign bit is set: -0.0 has one.",
              float { is_negative(x) } complex refuse int { x.lt(I::lit(0)) } bool { x & !x },
              d none, domain [(-10.0, 10.0)], ulp 0.5 }
            { LogicalNot, logical_not, (x) -> out, Logic, Keep, "Whether the number is zero.",
              float refuse complex refuse int refuse bool { !x },
              d none, domain [(-10.0, 10.0)], ulp 0.5 }
        }
    };
}
