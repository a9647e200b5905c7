//! Functions of three and four numbers, and the choice by a condition.

/// Hands every row of more operands to a callback macro; see [`for_each_op!`](crate::for_each_op).
#[macro_export]
macro_rules! for_each_several {
    (($($callback:tt)+) $($args:tt)*) => {
        $($callback)+! { $($args)*
            { Where, where_, (condition, x, y) -> out, Select, Widest, "`x` where the condition is true, else `y`.",
              float refuse complex refuse int refuse bool refuse,
              d { g => [g.zero(), condition.pick(g, g.zero()), condition.pick(g.zero(), g)] },
              domain [(-1.0, 1.0), (-10.0, 10.0), (-10.0, 10.0)], ulp 0.5 }
            { Clamp, clamp, (x, min, max) -> out, Map, Widest, "The number within two bounds; NaN if one is NaN.",
              float { $crate::table::math::min($crate::table::math::max(x, min), max) } complex refuse
              int { x.max(min).min(max) } bool { (x | min) & max },
              d [(x.ge(min) & x.le(max)).pick(x.one(), x.zero()), (x.lt(min) & min.lt(max)).pick(x.one(), x.zero()),
                 (x.gt(max) | min.gt(max)).pick(x.one(), x.zero())],
              domain [(-10.0, 10.0), (-5.0, -4.0), (4.0, 5.0)], ulp 0.5 }
            { Lerp, lerp, (x, y, weight) -> out, Map, Widest, "`x + weight (y - x)`, exact at both ends.",
              float { L::select(weight.abs().lt(L::lit(0.5)), x + weight * (y - x), y - (y - x) * (L::lit(1.0) - weight)) }
              complex { lerp_complex(x, y, weight) } int promote bool promote,
              d [1.0 - weight, weight, y - x], domain [(1.0, 5.0), (5.0, 10.0), (0.0, 1.0)], ulp 4.0 }
            { Addcmul, addcmul, (x, a, b, value) -> out, Map, Widest, "`x + value a b`.",
              float { x + value * a * b } complex { x + value * a * b } int { x + value * a * b } bool { x | value & a & b },
              d [x.one(), value * b, value * a, a * b],
              domain [(0.1, 10.0), (0.1, 10.0), (0.1, 10.0), (0.1, 2.0)], ulp 4.0 }
            { Addcdiv, addcdiv, (x, a, b, value) -> out, Map, Widest, "`x + value a / b`.",
              float { x + value * a / b } complex { x + value * a / b } int promote bool promote,
              d [x.one(), value / b, -value * a / (b * b), a / b],
              domain [(0.1, 10.0), (0.1, 10.0), (0.1, 10.0), (0.1, 2.0)], ulp 4.0 }
            { NanToNum, nan_to_num, (x, nan, posinf, neginf) -> out, Map, Keep, "The number, or what stands for NaN and infinities.",
              float { nan_to_num(x, nan, posinf, neginf) }
              complex { $crate::Complex { re: nan_to_num(x.re, nan.re, posinf.re, neginf.re), im: nan_to_num(x.im, nan.re, posinf.re, neginf.re) } }
              int { x } bool { x },
              d { g => [x.isfinite().pick(g, g.zero()), g.zero(), g.zero(), g.zero()] },
              domain [(-10.0, 10.0), (-1.0, 1.0), (-1.0, 1.0), (-1.0, 1.0)], ulp 0.5 }
            { IsClose, isclose, (x, y, rtol, atol) -> out, Test, Widest, "Whether `|x - y| <= atol + rtol |y|`, or both are the same infinity.",
              float { is_close(x, y, rtol, atol) } complex { is_close_complex(x, y, rtol, atol) } int promote bool promote,
              d none, domain [(-10.0, 10.0), (-10.0, 10.0), (0.0, 0.1), (0.0, 0.1)], ulp 0.5 }
            { NextafterIn, nextafter_in, (x, y, unit, smallest) -> out, Map, Widest,
              "`nextafter` in a format narrower than it is computed in, given its epsilon and smallest subnormal.",
              float { nextafter_in(x, y, unit, smallest) } complex refuse int refuse bool refuse,
              d [x.one(), y.zero(), y.zero(), y.zero()],
              domain [(-10.0, 10.0), (-10.0, 10.0), (0.0078125, 0.0078125), (0.0001, 0.0001)], ulp 0.5 }
        }
    };
}
