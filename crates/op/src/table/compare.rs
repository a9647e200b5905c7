//! Comparisons: exact across dtypes, false with NaN except `ne`.

/// Hands every comparison to a callback macro; see [`for_each_op!`](crate::for_each_op).
#[macro_export]
macro_rules! for_each_compare {
    (($($callback:tt)+) $($args:tt)*) => {
        $($callback)+! { $($args)*
            { Eq, eq, (x, y) -> out, Compare, Widest, "Whether the numbers are equal.",
              float { x.eq(y) } complex { x.eq(y) } int { x.eq(y) } bool { !(x ^ y) },
              d none, domain [(-10.0, 10.0), (-10.0, 10.0)], ulp 0.5 }
            { Ne, ne, (x, y) -> out, Compare, Widest, "Whether the numbers differ.",
              float { !x.eq(y) } complex { !x.eq(y) } int { !x.eq(y) } bool { x ^ y },
              d none, domain [(-10.0, 10.0), (-10.0, 10.0)], ulp 0.5 }
            { Lt, lt, (x, y) -> out, Compare, Widest, "Whether `x < y`.",
              float { x.lt(y) } complex refuse int { x.lt(y) } bool { !x & y },
              d none, domain [(-10.0, 10.0), (-10.0, 10.0)], ulp 0.5 }
            { Le, le, (x, y) -> out, Compare, Widest, "Whether `x <= y`.",
              float { x.le(y) } complex refuse int { x.le(y) } bool { !x | y },
              d none, domain [(-10.0, 10.0), (-10.0, 10.0)], ulp 0.5 }
            { Gt, gt, (x, y) -> out, Compare, Widest, "Whether `x > y`.",
              float { y.lt(x) } complex refuse int { y.lt(x) } bool { x & !y },
              d none, domain [(-10.0, 10.0), (-10.0, 10.0)], ulp 0.5 }
            { Ge, ge, (x, y) -> out, Compare, Widest, "Whether `x >= y`.",
              float { y.le(x) } complex refuse int { y.le(x) } bool { x | !y },
              d none, domain [(-10.0, 10.0), (-10.0, 10.0)], ulp 0.5 }
        }
    };
}
