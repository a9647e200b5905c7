//! Integers of every width.

use allotrope_op::wgsl::{Expression, Function, Integer, Literal, Scalar, print_module};
use naga::valid::Capabilities;

use crate::validate;

/// Checks the conversions from one integer type to others, and gives their text.
macro_rules! conversions {
    ($from:ident $literal:ident $points:ident; $($to:ident)*) => {{
        let mut text = String::new();
        $(
            let printed = Function::record(|[x]: [Expression<$from>; 1]| x.convert::<$to>());
            for &x in &$points {
                let want = <$to as Integer>::literal(x as $to as i64);
                assert_eq!(printed.evaluate(&[$literal(x)]).unwrap(), [want], "{x}");
            }
            text += &printed.print(concat!("to_", stringify!($to)));
        )*
        text
    }};
}

/// Checks the conversions from floats to one integer type, and gives their text.
macro_rules! saturation {
    ($to:ident $($from:ident)*) => {{
        let mut text = String::new();
        $(
            let printed = Function::record(|[x]: [Expression<$from>; 1]| x.convert::<$to>());
            let ends = [<$to>::MIN as $from, <$to>::MAX as $from];
            let near = ends.into_iter().flat_map(|x| [x, x.next_up(), x.next_down(), x - 1.0, x + 1.0]);
            let points = [0.0, 0.9, 1.0, 1.5, 1e3, 1e9, 1e15, 1e30, $from::INFINITY, $from::NAN];
            for x in points.into_iter().flat_map(|x| [x, -x]).chain(near) {
                let literal = Literal { kind: $from::TYPE, bits: x.to_bits().into() };
                let want = <$to as Integer>::literal(x as $to as i64);
                assert_eq!(printed.evaluate(&[literal]).unwrap(), [want], "{x}");
            }
            text += &printed.print(concat!("from_", stringify!($from)));
        )*
        text
    }};
}

/// A test of one integer type: operators wrap at its width, whatever it is held in.
macro_rules! integers_wrap {
    ($($integer:ident)*) => {$(
        #[test]
        fn $integer() {
            type Whole = Expression<$integer>;
            let points = [0, 1, 2, 3, 5, 31, 100, 127, 128, 200, 255, 256, 30_000, 65_535, 1 << 31];
            let points: Vec<$integer> = points
                .into_iter()
                .flat_map(|x: i64| [x, -x, i64::MAX - x])
                .chain([<$integer>::MIN as i64, <$integer>::MAX as i64])
                .map(|x| x as $integer)
                .collect();
            let counts = 0..<$integer>::WIDTH;
            let literal = |x: $integer| <$integer as Integer>::literal(x as i64);
            type Row = (&'static str, fn(Whole, Whole) -> Whole, fn($integer, $integer) -> $integer);
            let rows: [Row; 17] = [
                ("add", |x, y| x + y, |x, y| x.wrapping_add(y)),
                ("sub", |x, y| x - y, |x, y| x.wrapping_sub(y)),
                ("mul", |x, y| x * y, |x, y| x.wrapping_mul(y)),
                ("div", |x, y| x / y, |x, y| if y == 0 { x } else { x.wrapping_div(y) }),
                ("rem", |x, y| x % y, |x, y| if y == 0 { 0 } else { x.wrapping_rem(y) }),
                ("neg", |x, _| -x, |x, _| x.wrapping_neg()),
                ("and", |x, y| x & y, |x, y| x & y),
                ("or", |x, y| x | y, |x, y| x | y),
                ("xor", |x, y| x ^ y, |x, y| x ^ y),
                ("not", |x, _| !x, |x, _| !x),
                ("min", |x, y| x.smaller(y), |x, y| x.min(y)),
                ("max", |x, y| x.larger(y), |x, y| x.max(y)),
                ("ones", |x, _| x.ones(), |x, _| x.count_ones() as $integer),
                (
                    "pow",
                    |x, y| x.raised(y),
                    |x, y| {
                        let exponent = y as i64 as u64;
                        (0..64).rev().fold(1 as $integer, |power, bit| {
                            let square = power.wrapping_mul(power);
                            if exponent >> bit & 1 == 1 { square.wrapping_mul(x) } else { square }
                        })
                    },
                ),
                (
                    "gcd",
                    |x, y| x.common_divisor(y),
                    |x, y| {
                        let (mut a, mut b) = (x as i128, y as i128);
                        while b != 0 {
                            (a, b) = (b, a % b);
                        }
                        a.unsigned_abs() as $integer
                    },
                ),
                ("less", |x, y| Whole::choose(x.is_less(y), x, y), |x, y| if x < y { x } else { y }),
                (
                    "most",
                    |x, y| Whole::choose(x.is_at_most(y) & !x.equals(y), x, Whole::constant(-1)),
                    |x, y| if x < y { x } else { -1_i64 as $integer },
                ),
            ];
            let mut recorded = Vec::new();
            for (name, printed, computed) in rows {
                let printed = Function::record(|[x, y]: [Whole; 2]| printed(x, y));
                for (&x, &y) in points.iter().flat_map(|x| points.iter().map(move |y| (x, y))) {
                    let got = printed.evaluate(&[literal(x), literal(y)]).unwrap();
                    assert_eq!(got, [literal(computed(x, y))], "{name} of {x} and {y}");
                }
                recorded.push((format!("{name}_{}", stringify!($integer)), printed));
            }
            let functions = recorded.iter().map(|(name, function)| (name.as_str(), function));
            let mut text = print_module(functions);
            type Shift = (Whole, Expression<u32>);
            let left = Function::record(|(x, y): Shift| x.shifted_left(y));
            let right = Function::record(|(x, y): Shift| x.shifted_right(y));
            for (&x, count) in points.iter().flat_map(|x| counts.clone().map(move |y| (x, y))) {
                let arguments = [literal(x), Literal::count(count)];
                assert_eq!(left.evaluate(&arguments).unwrap(), [literal(x << count)]);
                assert_eq!(right.evaluate(&arguments).unwrap(), [literal(x >> count)]);
            }
            text += &left.print("left");
            text += &right.print("right");
            text += &conversions!($integer literal points; i8 u8 i16 u16 i32 u32 i64 u64);
            text += &saturation!($integer f32 f64);
            validate(&text, Capabilities::FLOAT64 | Capabilities::SHADER_INT64);
        }
    )*};
}

integers_wrap!(i8 u8 i16 u16 i32 u32 i64 u64);
