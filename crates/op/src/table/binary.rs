//! Functions of two numbers.

/// Hands every row of two operands to a callback macro; see [`for_each_op!`](crate::for_each_op).
#[macro_export]
macro_rules! for_each_binary {
    (($($callback:tt)+) $($args:tt)*) => {
        $($callback)+! { $($args)*
            // Arithmetic.
            { Add, add, (x, y) -> out, Map, Widest, "The sum, `x + y`; the logical or of bool.",
              float { x + y } complex { x + y } int { x + y } bool { x | y },
              d [x.one(), y.one()], domain [(-10.0, 10.0), (-10.0, 10.0)], ulp 0.5 }
            { Sub, sub, (x, y) -> out, Map, Widest, "The difference, `x - y`.",
              float { x - y } complex { x - y } int { x - y } bool refuse,
              d { g => [g, -g] }, domain [(-10.0, 10.0), (-10.0, 10.0)], ulp 0.5 }
            { Mul, mul, (x, y) -> out, Map, Widest, "The product, `x y`; the logical and of bool.",
              float { x * y } complex { x * y } int { x * y } bool { x & y },
              d [y, x], domain [(-10.0, 10.0), (-10.0, 10.0)], ulp 0.5 }
            { Div, div, (x, y) -> out, Map, Widest, "The quotient, `x / y`; of integers a float.",
              float { x / y } complex { x / y } int promote bool promote,
              d [y.reciprocal(), -out / y], domain [(-10.0, 10.0), (0.5, 10.0)], ulp 0.5 }
            { FloorDivide, floor_divide, (x, y) -> out, Map, Widest, "The quotient rounded down.",
              float { x.floor_divide(y) } complex refuse int { x.div_floor(y) } bool integer,
              d [x.zero(), y.zero()], domain [(-10.0, 10.0), (0.5, 10.0)], ulp 0.5 }
            { TruncDivide, trunc_divide, (x, y) -> out, Map, Widest, "The quotient cut towards zero.",
              float { (x / y).trunc() } complex refuse int { x.div_trunc(y) } bool integer,
              d [x.zero(), y.zero()], domain [(-10.0, 10.0), (0.5, 10.0)], ulp 0.5 }
            { Remainder, remainder, (x, y) -> out, Map, Widest, "What `floor_divide` leaves: it has the divisor's sign.",
              float { x.remainder(y) } complex refuse int { x.rem_floor(y) } bool integer,
              d [x.one(), -x.floor_divide(y)], domain [(-10.0, 10.0), (0.5, 10.0)], ulp 0.5 }
            { Fmod, fmod, (x, y) -> out, Map, Widest, "What division cut towards zero leaves: it has the dividend's sign.",
              float { x.fmod(y) } complex refuse int { x.rem_trunc(y) } bool integer,
              d [x.one(), -x.trunc_divide(y)], domain [(-10.0, 10.0), (0.5, 10.0)], ulp 0.5 }
            { Pow, pow, (x, y) -> out, Map, Float32, "The power, `x` to the exponent `y`.",
              float { x.pow(y) } complex { x.pow(y) } int { x.pow(y) } bool integer,
              d [y.eq(y.zero()).pick(x.zero(), y * x.pow(y - 1.0)), x.eq(x.zero()).pick(x.zero(), out * x.log())],
              domain [(0.1, 5.0), (-3.0, 3.0)], ulp 2.0 }

            // Greater and lesser.
            { Maximum, maximum, (x, y) -> out, Map, Widest, "The greater of two; NaN if one is NaN.",
              float { max(x, y) } complex refuse int { x.max(y) } bool { x | y },
              d [x.gt(y).pick(x.one(), x.eq(y).pick(x.lit(0.5), x.zero())), y.gt(x).pick(x.one(), x.eq(y).pick(x.lit(0.5), x.zero()))],
              domain [(-10.0, 10.0), (-10.0, 10.0)], ulp 0.5 }
            { Minimum, minimum, (x, y) -> out, Map, Widest, "The lesser of two; NaN if one is NaN.",
              float { min(x, y) } complex refuse int { x.min(y) } bool { x & y },
              d [x.lt(y).pick(x.one(), x.eq(y).pick(x.lit(0.5), x.zero())), y.lt(x).pick(x.one(), x.eq(y).pick(x.lit(0.5), x.zero()))],
              domain [(-10.0, 10.0), (-10.0, 10.0)], ulp 0.5 }
            { Fmax, fmax, (x, y) -> out, Map, Widest, "The greater of two; of a number and NaN, the number.",
              float { L::select(x.eq(x), L::select(y.eq(y), max(x, y), x), y) } complex refuse int { x.max(y) } bool { x | y },
              d [(x.gt(y) | y.isnan()).pick(x.one(), x.eq(y).pick(x.lit(0.5), x.zero())), (y.gt(x) | x.isnan()).pick(x.one(), x.eq(y).pick(x.lit(0.5), x.zero()))],
              domain [(-10.0, 10.0), (-10.0, 10.0)], ulp 0.5 }
            { Fmin, fmin, (x, y) -> out, Map, Widest, "The lesser of two; of a number and NaN, the number.",
              float { L::select(x.eq(x), L::select(y.eq(y), min(x, y), x), y) } complex refuse int { x.min(y) } bool { x & y },
              d [(x.lt(y) | y.isnan()).pick(x.one(), x.eq(y).pick(x.lit(0.5), x.zero())), (y.lt(x) | x.isnan()).pick(x.one(), x.eq(y).pick(x.lit(0.5), x.zero()))],
              domain [(-10.0, 10.0), (-10.0, 10.0)], ulp 0.5 }

            // Functions.
            { Atan2, atan2, (y, x) -> out, Map, Widest, "The angle of the point `(x, y)`.",
              float { y.atan2(x) } complex refuse int promote bool promote,
              d [atan2_slopes(y, x)[0], atan2_slopes(y, x)[1]], domain [(-10.0, 10.0), (0.5, 10.0)], ulp 2.0 }
            { Hypot, hypot, (x, y) -> out, Map, Widest, "The length of the vector `(x, y)`.",
              float { x.hypot(y) } complex refuse int promote bool promote,
              d [x / out, y / out], domain [(0.1, 10.0), (0.1, 10.0)], ulp 2.0 }
            { Copysign, copysign, (x, y) -> out, Map, Widest, "The magnitude of `x` with the sign of `y`.",
              float { x.copysign(y) } complex refuse int promote bool promote,
              d [x.sign() * x.one().copysign(y), y.zero()], domain [(-10.0, 10.0), (-10.0, 10.0)], ulp 0.5 }
            { Nextafter, nextafter, (x, y) -> out, Map, Widest, "The next number after `x` towards `y`.",
              float { x.nextafter(y) } complex refuse int promote bool promote,
              d [x.one(), y.zero()], domain [(-10.0, 10.0), (-10.0, 10.0)], ulp 0.5 }
            { Logaddexp, logaddexp, (x, y) -> out, Map, Widest, "`log(eˣ + eʸ)`.",
              float { x.logaddexp(y) } complex { x.logaddexp(y) } int promote bool promote,
              d [share_of(x, y, 1.0), share_of(y, x, 1.0)], domain [(0.1, 10.0), (0.1, 10.0)], ulp 2.0 }
            { Logaddexp2, logaddexp2, (x, y) -> out, Map, Widest, "`log2(2ˣ + 2ʸ)`.",
              float { x.logaddexp2(y) } complex refuse int promote bool promote,
              d [share_of(x, y, std::f64::consts::LN_2), share_of(y, x, std::f64::consts::LN_2)], domain [(0.1, 10.0), (0.1, 10.0)], ulp 2.5 }
            { Xlogy, xlogy, (x, y) -> out, Map, Widest, "`x log(y)`, and 0 where `x` is 0.",
              float { L::select(x.eq(L::lit(0.0)) & y.eq(y), L::lit(0.0), x * y.log()) } complex refuse int promote bool promote,
              d [x.eq(x.zero()).pick(x.zero(), y.log()), x / y], domain [(0.1, 10.0), (0.1, 10.0)], ulp 4.0 }
            { Xlog1py, xlog1py, (x, y) -> out, Map, Widest, "`x log(1 + y)`, and 0 where `x` is 0.",
              float { L::select(x.eq(L::lit(0.0)) & y.eq(y), L::lit(0.0), x * y.log1p()) } complex refuse int promote bool promote,
              d [x.eq(x.zero()).pick(x.zero(), y.log1p()), x / (y + 1.0)], domain [(0.1, 10.0), (0.1, 10.0)], ulp 4.0 }
            { Heaviside, heaviside, (x, value) -> out, Map, Widest, "0 below zero, 1 above, `value` at zero.",
              float { heaviside(x, value) } complex refuse
              int { I::select(x.lt(I::lit(0)), I::lit(0), I::select(x.eq(I::lit(0)), value, I::lit(1))) } bool { x | value },
              d [x.zero(), x.eq(x.zero()).pick(x.one(), x.zero())], domain [(-10.0, 10.0), (0.0, 1.0)], ulp 0.5 }
            { Ldexp, ldexp, (x, exponent) -> out, Map, Widest, "`x` times two to the exponent.",
              float { ldexp(x, exponent) } complex { ldexp_complex(x, exponent) } int promote bool promote,
              d [exponent.exp2(), out * std::f64::consts::LN_2], domain [(-10.0, 10.0), (-5.0, 5.0)], ulp 4.0 }
            { Igamma, igamma, (a, x) -> out, Map, Widest, "The share of the gamma function of `a` that lies below `x`.",
              float { a.igamma(x) } complex refuse int promote bool promote,
              d [none, gamma_density(a, x)], domain [(0.1, 50.0), (0.1, 50.0)], ulp 8.0 }
            { Igammac, igammac, (a, x) -> out, Map, Widest, "The share of the gamma function of `a` that lies above `x`.",
              float { a.igammac(x) } complex refuse int promote bool promote,
              d [none, -gamma_density(a, x)], domain [(0.1, 50.0), (0.1, 50.0)], ulp 8.0 }
            { Zeta, zeta, (x, q) -> out, Map, Widest, "Hurwitz' zeta function, the sum of `(k + q)⁻ˣ` over all `k` from 0.",
              float { x.zeta(q) } complex refuse int promote bool promote,
              d [none, -x * (x + 1.0).zeta(q)], domain [(1.25, 20.0), (0.25, 50.0)], ulp 6.0 }
            { Gcd, gcd, (x, y) -> out, Map, Keep, "The greatest common divisor.",
              float refuse complex refuse int { x.gcd(y) } bool integer,
              d none, domain [(-10.0, 10.0), (-10.0, 10.0)], ulp 0.5 }
            { Lcm, lcm, (x, y) -> out, Map, Keep, "The least common multiple.",
              float refuse complex refuse int { (x.div_trunc(x.gcd(y)) * y).abs() } bool integer,
              d none, domain [(-10.0, 10.0), (-10.0, 10.0)], ulp 0.5 }

            // Bits and truth.
            { BitwiseAnd, bitwise_and, (x, y) -> out, Map, Keep, "The bits that are set in both.",
              float refuse complex refuse int { x & y } bool { x & y },
              d none, domain [(-10.0, 10.0), (-10.0, 10.0)], ulp 0.5 }
            { BitwiseOr, bitwise_or, (x, y) -> out, Map, Keep, "The bits that are set in either.",
              float refuse complex refuse int { x | y } bool { x | y },
              d none, domain [(-10.0, 10.0), (-10.0, 10.0)], ulp 0.5 }
            { BitwiseXor, bitwise_xor, (x, y) -> out, Map, Keep, "The bits that are set in one of two.",
              float refuse complex refuse int { x ^ y } bool { x ^ y },
              d none, domain [(-10.0, 10.0), (-10.0, 10.0)], ulp 0.5 }
            { LeftShift, bitwise_left_shift, (x, count) -> out, Map, Keep, "The bits moved up; 0 for counts beyond the width.",
              float refuse complex refuse int { x.shl_by(count) } bool integer,
              d none, domain [(-10.0, 10.0), (0.0, 4.0)], ulp 0.5 }
            { RightShift, bitwise_right_shift, (x, count) -> out, Map, Keep, "The bits moved down, keeping the sign.",
              float refuse complex refuse int { x.shr_by(count) } bool integer,
              d none, domain [(-10.0, 10.0), (0.0, 4.0)], ulp 0.5 }
            { LogicalAnd, logical_and, (x, y) -> out, Logic, Keep, "Whether both are not zero.",
              float refuse complex refuse int refuse bool { x & y },
              d none, domain [(-10.0, 10.0), (-10.0, 10.0)], ulp 0.5 }
            { LogicalOr, logical_or, (x, y) -> out, Logic, Keep, "Whether one is not zero.",
              float refuse complex refuse int refuse bool { x | y },
              d none, domain [(-10.0, 10.0), (-10.0, 10.0)], ulp 0.5 }
            { LogicalXor, logical_xor, (x, y) -> out, Logic, Keep, "Whether exactly one is not zero.",
              float refuse complex refuse int refuse bool { x ^ y },
              d none, domain [(-10.0, 10.0), (-10.0, 10.0)], ulp 0.5 }
        }
    };
}
