//! Printed functions: accepted by a shader compiler, and worth what the CPU computes.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use allotrope_op::elementary::{Elementary, Signature, functions};
use allotrope_op::wgsl::{
    Expression, Float, Function, Integer, Literal, Scalar, Type, print_module,
};
use allotrope_op::{Complex, Lane, Number};
use naga::valid::{Capabilities, ValidationFlags, Validator};

/// Fails unless the compiler accepts the text on a device that has these capabilities.
fn validate(text: &str, capabilities: Capabilities) {
    let module = naga::front::wgsl::parse_str(text)
        .unwrap_or_else(|error| panic!("{}\n{text}", error.emit_to_string(text)));
    let result = Validator::new(ValidationFlags::all(), capabilities).validate(&module);
    result.unwrap_or_else(|error| panic!("{}\n{text}", error.emit_to_string(text)));
}

fn record<T: Float>(function: Signature<Expression<T>>) -> Function
where
    Expression<T>: Elementary,
{
    match function {
        Signature::Unary(f) => Function::record(|[x]: [Expression<T>; 1]| f(x)),
        Signature::Binary(f) => Function::record(|[x, y]: [Expression<T>; 2]| f(x, y)),
    }
}

#[test]
fn elementary_functions_are_accepted() {
    for (name, function) in functions::<Expression<f32>>() {
        let text = print_module([(&*format!("{name}_f32"), &record(function))]);
        validate(&text, Capabilities::empty());
    }
    for (name, function) in functions::<Expression<f64>>() {
        let text = print_module([(&*format!("{name}_f64"), &record(function))]);
        validate(&text, Capabilities::FLOAT64 | Capabilities::SHADER_INT64);
    }
}

/// A test of one width: what is printed is worth what the CPU computes without fused multiply-add.
macro_rules! same_bits {
    ($test:ident, $float:ty, $unsigned:ty, $step:literal) => {
        #[test]
        fn $test() {
            type Plain = Number<$float, false>;
            let points = || {
                let ordinary = [
                    0.0, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 2.5, 3.0, 10.0, 50.0, 1e3, 3e5,
                ];
                let ends = [
                    <$float>::MIN_POSITIVE,
                    <$float>::MAX,
                    <$float>::INFINITY,
                    <$float>::NAN,
                    <$float>::from_bits(1),
                ];
                let points = ordinary.into_iter().chain(ends);
                points.flat_map(|x| [x, -x])
            };
            let sweep = || {
                (0..=<$unsigned>::MAX)
                    .step_by($step)
                    .map(<$float>::from_bits)
            };
            let both = functions::<Expression<$float>>()
                .into_iter()
                .zip(functions::<Plain>());
            for ((name, printed), (_, computed)) in both {
                let printed = record(printed);
                let check = |arguments: &[$float], want: $float| {
                    let literals = arguments.iter().map(|x| Literal {
                        kind: <$float>::TYPE,
                        bits: x.to_bits().into(),
                    });
                    let got = printed.evaluate(&literals.collect::<Vec<_>>()).unwrap();
                    let got = <$float>::from_bits(got[0].bits as $unsigned);
                    assert!(
                        got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
                        "{name} of {arguments:?}: {got:e}, not {want:e}"
                    );
                };
                match computed {
                    Signature::Unary(f) => {
                        for x in points().chain(sweep()) {
                            check(&[x], f(Number(x)).0);
                        }
                    }
                    Signature::Binary(f) => {
                        for x in points().chain(sweep().step_by(9)) {
                            for y in points() {
                                check(&[x, y], f(Number(x), Number(y)).0);
                            }
                        }
                    }
                }
            }
        }
    };
}
same_bits!(float32_has_the_same_bits, f32, u32, 1_000_003);
same_bits!(float64_has_the_same_bits, f64, u64, 4_000_000_000_000_037);

/// A test of one width: the same for complex numbers, which are vectors of two.
macro_rules! complex_same_bits {
    ($test:ident, $float:ty, $unsigned:ty; $($name:ident)*) => {
        #[test]
        fn $test() {
            type Printed = Complex<Expression<$float>>;
            type Plain = Complex<Number<$float, false>>;
            type Row = (&'static str, fn(Printed, Printed) -> Printed, fn(Plain, Plain) -> Plain);
            let rows: &[Row] = &[
                $((stringify!($name), |x, _| x.$name(), |x, _| x.$name()),)*
                ("mul", |x, y| x * y, |x, y| x * y),
                ("div", |x, y| x / y, |x, y| x / y),
                ("pow", |x, y| x.pow(y), |x, y| x.pow(y)),
            ];
            let parts = [0.0, 0.3, 1.0, 2.5, 40.0, 1e5, 1e30, 1e-30, <$float>::INFINITY, <$float>::NAN];
            let parts: Vec<$float> = parts.into_iter().flat_map(|x| [x, -x]).collect();
            for &(name, printed, computed) in rows {
                let printed = Function::record(|[x, y]: [Printed; 2]| printed(x, y));
                for (k, (&re, &im)) in
                    parts.iter().flat_map(|re| parts.iter().map(move |im| (re, im))).enumerate()
                {
                    let other = [parts[k % parts.len()], parts[k * 7 % 19]];
                    let arguments = [re, im, other[0], other[1]];
                    let literals = arguments.map(|x| Literal {
                        kind: <$float>::TYPE,
                        bits: x.to_bits().into(),
                    });
                    let got = printed.evaluate(&literals).unwrap();
                    let [re, im, other_re, other_im] = arguments.map(Number);
                    let want = computed(Complex { re, im }, Complex { re: other_re, im: other_im });
                    for (got, want) in got.iter().zip([want.re.0, want.im.0]) {
                        let got = <$float>::from_bits(got.bits as $unsigned);
                        assert!(
                            got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
                            "{name} of {arguments:?}: {got:e}, not {want:e}"
                        );
                    }
                }
                let text = print_module([(&*format!("{name}_{}", stringify!($test)), &printed)]);
                validate(&text, Capabilities::FLOAT64 | Capabilities::SHADER_INT64);
            }
            let real = Function::record(|[x]: [Printed; 1]| x.abs());
            let text = print_module([("magnitude", &real)]);
            validate(&text, Capabilities::FLOAT64 | Capabilities::SHADER_INT64);
        }
    };
    ($($test:ident $float:ty, $unsigned:ty;)*) => {$(
        complex_same_bits! { $test, $float, $unsigned;
            conj sign square reciprocal sqrt rsqrt exp exp2 expm1 sigmoid log log2 log10 log1p
            sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh }
    )*};
}
complex_same_bits! {
    complex64_has_the_same_bits f32, u32;
    complex128_has_the_same_bits f64, u64;
}

/// A test of one integer type: operators wrap at its width, whatever it is held in.
macro_rules! integers_wrap {
    ($($integer:ident)*) => {$(
        #[test]
        fn $integer() {
            type Whole = Expression<$integer>;
            let points = [0, 1, 2, 3, 5, 100, 127, 128, 200, 255, 256, 30_000, 65_535, 1 << 31];
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
            validate(&text, Capabilities::SHADER_INT64);
        }
    )*};
}

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

mod integers {
    use super::*;

    integers_wrap!(i8 u8 i16 u16 i32 u32 i64 u64);
}

/// The constants that the compiler reads in the text of a function, as their bits.
fn constants_in(text: &str) -> Vec<u64> {
    let module = naga::front::wgsl::parse_str(text).unwrap();
    let (_, function) = module.functions.iter().next().unwrap();
    let bits = function.expressions.iter().filter_map(|(_, expression)| {
        Some(match *expression {
            naga::Expression::Literal(naga::Literal::F32(x)) => x.to_bits().into(),
            naga::Expression::Literal(naga::Literal::F64(x)) => x.to_bits(),
            naga::Expression::Literal(naga::Literal::U32(x)) => x.into(),
            naga::Expression::Literal(naga::Literal::U64(x)) => x,
            naga::Expression::Literal(naga::Literal::I32(x)) => u64::from(x as u32),
            naga::Expression::Literal(naga::Literal::I64(x)) => x as u64,
            _ => return None,
        })
    });
    bits.collect()
}

#[test]
fn float_constants_are_read_as_they_are() {
    fn check<T: Float>(value: f64) {
        let function = Function::record(|[x]: [Expression<T>; 1]| {
            Expression::choose(x.equals(x), Expression::lit(value), x)
        });
        let text = function.print("constant");
        validate(&text, Capabilities::FLOAT64 | Capabilities::SHADER_INT64);
        assert_eq!(
            constants_in(&text),
            [<T as Float>::literal(value).bits],
            "{text}"
        );
    }
    let values = [
        0.0,
        1e-45,
        1e-40,
        0.1,
        2.5,
        1.0 / 3.0,
        16777217.0,
        1e17,
        3e38,
        f64::INFINITY,
    ];
    let values = values.into_iter().flat_map(|x| [x, -x]);
    for value in values.chain([f64::NAN]) {
        check::<f32>(value);
        check::<f64>(value);
        check::<f64>(value * 1e-280);
    }
}

#[test]
fn integer_constants_are_read_as_they_are() {
    fn check<T: Integer>(value: i64) {
        let function = Function::record(|[x]: [Expression<T>; 1]| x & Expression::constant(value));
        let text = function.print("constant");
        validate(&text, Capabilities::SHADER_INT64);
        // The compiler leaves the difference that is the least integer of 64 bits for later.
        let want = match <T as Integer>::literal(value) {
            literal if T::TYPE == Type::I64 && value == i64::MIN => literal.bits + 1,
            literal => literal.bits,
        };
        assert!(constants_in(&text).contains(&want), "{text}");
    }
    for value in [
        0,
        1,
        -1,
        0x1234_5678,
        i64::MAX,
        i64::MIN,
        i32::MAX.into(),
        i32::MIN.into(),
    ] {
        check::<i8>(value);
        check::<u16>(value);
        check::<i32>(value);
        check::<u32>(value);
        check::<i64>(value);
        check::<u64>(value);
    }
}

#[test]
fn rounded_terms_of_a_sum_are_kept() {
    // A compiler that takes floats for real numbers would find that nothing was lost.
    let lost = Function::record(|[a, b]: [Expression<f32>; 2]| {
        let sum = a + b;
        b - (sum - a)
    });
    let want = "\
fn lost(x: f32, y: f32) -> f32 {
    let v2: f32 = x + y;
    let v3: f32 = bitcast<f32>(min(bitcast<u32>(v2), 0xfffffffeu));
    let v4: f32 = v3 - x;
    let v5: f32 = bitcast<f32>(min(bitcast<u32>(v4), 0xfffffffeu));
    let v6: f32 = y - v5;
    return v6;
}
";
    assert_eq!(lost.print("lost"), want);
    // The product behind a sign, the addend of a multiply-add, the way to an integer and back.
    let kept = |function: Function| {
        function
            .print("kept")
            .matches("0xfffffffffffffffelu")
            .count()
    };
    type Two = [Expression<f64>; 2];
    assert_eq!(kept(Function::record(|[a, b]: Two| a + -(a * b))), 1);
    assert_eq!(kept(Function::record(|[a, b]: Two| a.mul_add(b, a / b))), 1);
    assert_eq!(
        kept(Function::record(|[a, b]: Two| (a * b).mul_add(b, a))),
        0
    );
    let way = |[a, _]: Two| Expression::<f64>::from_int_small(a.to_int_small());
    assert_eq!(kept(Function::record(way)), 1);
}

#[test]
fn nothing_is_recorded_twice_or_in_vain() {
    let function = Function::record(|[x, y]: [Expression<f32>; 2]| {
        let _unused = (x * y).sqrt();
        let constant = Expression::lit(2.0) * Expression::lit(3.0);
        let always = x.lt(y) | !Expression::<f32>::lit(2.0).lt(Expression::lit(1.0));
        Expression::select(always, (x * y) / (x * y), y) * constant
    });
    let want = "\
fn f(x: f32, y: f32) -> f32 {
    let v2: f32 = x * y;
    let v11: f32 = v2 / v2;
    let v12: f32 = v11 * 6.0f;
    return v12;
}
";
    assert_eq!(function.print("f"), want);
}

#[test]
fn recordings_nest() {
    let outer = Function::record(|[x]: [Expression<f32>; 1]| {
        let y = x * x;
        let inner = Function::record(|[x]: [Expression<f32>; 1]| x + x);
        assert_eq!(inner.len(), 2);
        y + x
    });
    assert_eq!(outer.len(), 4);
}
