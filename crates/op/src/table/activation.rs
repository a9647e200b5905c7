//! The functions between the layers of networks.

/// Hands every activation to a callback macro; see [`for_each_op!`](crate::for_each_op).
#[macro_export]
macro_rules! for_each_activation {
    (($($callback:tt)+) $($args:tt)*) => {
        $($callback)+! { $($args)*
            { Relu, relu, (x) -> out, Map, Keep, "The number, or 0 below it.",
              float { L::select(x.lt(L::lit(0.0)), L::lit(0.0), x) } complex refuse int { x.max(I::lit(0)) } bool { x },
              d [x.gt(x.zero()).pick(x.one(), x.zero())], domain [(-10.0, 10.0)], ulp 0.5 }
            { Relu6, relu6, (x) -> out, Map, Keep, "The number within 0 and 6.",
              float { clamp(x, L::lit(0.0), L::lit(6.0)) } complex refuse int { x.max(I::lit(0)).min(I::lit(6)) } bool { x },
              d [(x.gt(x.zero()) & x.lt(x.lit(6.0))).pick(x.one(), x.zero())], domain [(-10.0, 10.0)], ulp 0.5 }
            { Hardtanh, hardtanh, (x, min, max) -> out, Map, Keep, "The number within two bounds; no gradient at them or beyond.",
              float { $crate::table::math::min($crate::table::math::max(x, min), max) } complex refuse
              int { x.max(min).min(max) } bool { (x | min) & max },
              d [(x.le(min) | x.ge(max)).pick(x.zero(), x.one()), (x.le(min) & min.lt(max)).pick(x.one(), x.zero()),
                 (x.ge(max) | min.ge(max)).pick(x.one(), x.zero())],
              domain [(-10.0, 10.0), (-5.0, -4.0), (4.0, 5.0)], ulp 0.5 }
            { LeakyRelu, leaky_relu, (x, slope) -> out, Map, Keep, "The number, or `slope` times it below 0.",
              float { L::select(x.lt(L::lit(0.0)), x * slope, x) } complex refuse int promote bool promote,
              d [x.gt(x.zero()).pick(x.one(), slope), x.lt(x.zero()).pick(x, x.zero())],
              domain [(-10.0, 10.0), (0.01, 0.5)], ulp 0.5 }
            { Elu, elu, (x, alpha) -> out, Map, Keep, "The number, or `alpha (eˣ - 1)` below 0.",
              float { L::select(L::lit(0.0).lt(x), x, alpha * x.expm1()) } complex refuse int promote bool promote,
              d [x.gt(x.zero()).pick(x.one(), out + alpha), x.gt(x.zero()).pick(x.zero(), x.expm1())],
              domain [(-10.0, 10.0), (0.5, 2.0)], ulp 4.0 }
            { Selu, selu, (x) -> out, Map, Keep, "The self-normalising `elu`.",
              float { L::lit(SELU_SCALE) * L::select(L::lit(0.0).lt(x), x, L::lit(SELU_ALPHA) * x.expm1()) }
              complex refuse int promote bool promote,
              d [x.gt(x.zero()).pick(x.lit(SELU_SCALE), out + SELU_SCALE * SELU_ALPHA)], domain [(-10.0, 10.0)], ulp 4.0 }
            { Celu, celu, (x, alpha) -> out, Map, Keep, "The number, or `alpha (e^(x / alpha) - 1)` below 0.",
              float { L::select(L::lit(0.0).lt(x), x, alpha * (x / alpha).expm1()) } complex refuse int promote bool promote,
              d [x.gt(x.zero()).pick(x.one(), (x / alpha).exp()),
                 x.gt(x.zero()).pick(x.zero(), (x / alpha).expm1() - (x / alpha) * (x / alpha).exp())],
              domain [(-5.0, 5.0), (0.5, 2.0)], ulp 8.0 }
            { Softplus, softplus, (x, beta, threshold) -> out, Map, Float32,
              "`log(1 + e^(beta x)) / beta`, or `x` where `beta x` is above the threshold.",
              float { softplus(x, beta, threshold) } complex refuse int promote bool promote,
              d [(x * beta).gt(threshold).pick(x.one(), (x * beta).sigmoid()),
                 (x * beta).gt(threshold).pick(x.zero(), ((x * beta).sigmoid() * x - out) / beta), x.zero()],
              domain [(-10.0, 10.0), (0.5, 2.0), (30.0, 40.0)], ulp 4.0 }
            { Softsign, softsign, (x) -> out, Map, Keep, "`x / (1 + |x|)`.",
              float { x / (L::lit(1.0) + x.abs()) } complex { softsign_complex(x) } int promote bool promote,
              d { g => [x.softsign_gradient(g)] }, domain [(-10.0, 10.0)], ulp 2.0 }
            { Gelu, gelu, (x) -> out, Map, Keep, "`x` times the normal distribution function of `x`.",
              float { x.gelu() } complex refuse int promote bool promote,
              d [x.ndtr() + x * (x * x * -0.5).exp() * NORMAL_DENSITY],
              domain [(-5.0, 5.0)], ulp 8.0 }
            { GeluTanh, gelu_tanh, (x) -> out, Map, Keep, "`gelu` approximated through `tanh`.",
              float { x * sigmoid(gelu_inner(x)) } complex refuse int promote bool promote,
              d [gelu_tanh_slope(x)], domain [(-4.0, 4.0)], ulp 32.0 }
            { Silu, silu, (x) -> out, Map, Keep, "`x` times its logistic function.",
              float { x * sigmoid(x) } complex { x * x.sigmoid() } int promote bool promote,
              d [x.sigmoid() * (x * (1.0 - x.sigmoid()) + 1.0)], domain [(-10.0, 10.0)], ulp 4.0 }
            { Mish, mish, (x) -> out, Map, Keep, "`x tanh(softplus(x))`.",
              float { mish(x) } complex refuse int promote bool promote,
              d [mish_slope(x)], domain [(-10.0, 10.0)], ulp 8.0 }
            { Hardswish, hardswish, (x) -> out, Map, Keep, "`x` times its `hardsigmoid`.",
              float { x * (clamp(x + L::lit(3.0), L::lit(0.0), L::lit(6.0)) / L::lit(6.0)) } complex refuse int promote bool promote,
              d [x.lt(x.lit(-3.0)).pick(x.zero(), x.gt(x.lit(3.0)).pick(x.one(), x / 3.0 + 0.5))],
              domain [(-2.9, 10.0)], ulp 8.0 }
            { Hardsigmoid, hardsigmoid, (x) -> out, Map, Keep, "`(x + 3) / 6` within 0 and 1.",
              float { clamp(x + L::lit(3.0), L::lit(0.0), L::lit(6.0)) / L::lit(6.0) } complex refuse int promote bool promote,
              d [(x.gt(x.lit(-3.0)) & x.lt(x.lit(3.0))).pick(x.lit(1.0 / 6.0), x.zero())],
              domain [(-2.5, 10.0)], ulp 8.0 }
            { Tanhshrink, tanhshrink, (x) -> out, Map, Keep, "`x - tanh(x)`.",
              float { x.tanhshrink() } complex { x.tanhshrink() } int promote bool promote,
              d [x.tanh().square()], domain [(-10.0, 10.0)], ulp 8.0 }
            { Softshrink, softshrink, (x, lambda) -> out, Map, Keep, "The number moved towards 0 by `lambda`.",
              float { softshrink(x, lambda) } complex refuse int promote bool promote,
              d [out.ne(out.zero()).pick(x.one(), x.zero()), -out.sign()],
              domain [(-10.0, 10.0), (0.1, 1.0)], ulp 0.5 }
            { Hardshrink, hardshrink, (x, lambda) -> out, Map, Keep, "The number, or 0 within `lambda` of it.",
              float { L::select(x.abs().le(lambda), L::lit(0.0), x) } complex refuse int promote bool promote,
              d [x.abs().gt(lambda).pick(x.one(), x.zero()), x.zero()],
              domain [(-10.0, 10.0), (0.1, 1.0)], ulp 0.5 }
            { Threshold, threshold, (x, limit, value) -> out, Map, Keep, "The number where it is above `limit`, else `value`.",
              float { L::select(x.le(limit), value, x) } complex refuse int { I::select(x.le(limit), value, x) } bool integer,
              d [x.gt(limit).pick(x.one(), x.zero()), x.zero(), x.gt(limit).pick(x.zero(), x.one())],
              domain [(-10.0, 10.0), (-1.0, 1.0), (-10.0, 10.0)], ulp 0.5 }
        }
    };
}
