//! What stands in the text: constants, sums, nothing in vain.

use allotrope_op::Lane;
use allotrope_op::wgsl::{Expression, Float, Function, Integer, Literal, Scalar, Type};
use naga::valid::Capabilities;

use crate::validate;

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
fn rounded_numbers_are_kept() {
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
    // A product behind a sign, and that of products; the addend of a multiply-add, but not its
    // factor; the side of a comparison; the way to an integer and back.
    let kept = |function: Function| {
        function
            .print("kept")
            .matches("0xfffffffffffffffelu")
            .count()
    };
    type Two = [Expression<f64>; 2];
    assert_eq!(kept(Function::record(|[a, b]: Two| a + -(a * b))), 1);
    assert_eq!(kept(Function::record(|[a, b]: Two| a * b * a)), 1);
    assert_eq!(kept(Function::record(|[a, b]: Two| a.mul_add(b, a / b))), 1);
    assert_eq!(
        kept(Function::record(|[a, b]: Two| a
            .mul_add(b, a)
            .mul_add(b, a))),
        0
    );
    assert_eq!(kept(Function::record(|[a, b]: Two| (a + b).lt(a))), 1);
    let way = |[a, _]: Two| Expression::<f64>::from_int_small(a.to_int_small());
    assert_eq!(kept(Function::record(way)), 1);
}

#[test]
fn nothing_is_recorded_twice_or_in_vain() {
    let function = Function::record(|[x, y]: [Expression<f32>; 2]| {
        let _unused = (x * y).sqrt();
        let constant = Expression::lit(2.0) * Expression::lit(3.0);
        let always = x.lt(y) | !Expression::<f32>::lit(2.0).lt(Expression::lit(1.0));
        Expression::select(always, x.abs().mul_add(x.abs(), constant), y)
    });
    let want = "\
fn f(x: f32, y: f32) -> f32 {
    let v11: f32 = abs(x);
    let v12: f32 = fma(v11, v11, 6.0f);
    return v12;
}
";
    assert_eq!(function.print("f"), want);
}

#[test]
fn integers_are_widened_before_they_change_their_sign() {
    let function = Function::record(|[x]: [Expression<u32>; 1]| x.convert::<i64>());
    let want = "\
fn widen(x: u32) -> i64 {
    let v1: u64 = u64(x);
    let v2: i64 = i64(v1);
    return v2;
}
";
    assert_eq!(function.print("widen"), want);
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

/// Sums and products that a compiler might work out without regard to zeros and NaN.
macro_rules! special_arithmetic {
    ($test:ident, $float:ty, $unsigned:ty; $($name:literal |$x:ident| $printed:expr, $computed:expr;)*) => {
        #[test]
        fn $test() {
            type Row = (&'static str, fn(Expression<$float>) -> Expression<$float>, fn($float) -> $float);
            #[allow(clippy::eq_op, clippy::identity_op, clippy::erasing_op, reason = "they are tested")]
            let rows: &[Row] = &[$(($name, |$x| $printed, |$x| $computed)),*];
            let points = [0.0, 1.0, 2.5, <$float>::from_bits(1), <$float>::MAX, <$float>::INFINITY];
            let points = points.into_iter().flat_map(|x| [x, -x]).chain([<$float>::NAN]);
            for (name, printed, computed) in rows {
                let printed = Function::record(|[x]: [Expression<$float>; 1]| printed(x));
                for x in points.clone() {
                    let literal = Literal { kind: <$float>::TYPE, bits: x.to_bits().into() };
                    let got = printed.evaluate(&[literal]).unwrap();
                    let got = <$float>::from_bits(got[0].bits as $unsigned);
                    let want = computed(x);
                    assert!(
                        got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
                        "{name} of {x:e}: {got:e}, not {want:e}"
                    );
                }
                let text = printed.print("special");
                for sign in [" + ", " - ", " * ", " / ", "fma"] {
                    assert!(!text.contains(sign), "{name} is written\n{text}");
                }
            }
        }
    };
    ($($test:ident $float:ty, $unsigned:ty;)*) => {$(
        special_arithmetic! { $test, $float, $unsigned;
            "x + 0" |x| x + Expression::lit(0.0), x + 0.0;
            "0 + x" |x| Expression::lit(0.0) + x, 0.0 + x;
            "x + -0" |x| x + Expression::lit(-0.0), x + -0.0;
            "-0 + x" |x| Expression::lit(-0.0) + x, -0.0 + x;
            "x - 0" |x| x - Expression::lit(0.0), x - 0.0;
            "x - -0" |x| x - Expression::lit(-0.0), x - -0.0;
            "0 - x" |x| Expression::lit(0.0) - x, 0.0 - x;
            "-0 - x" |x| Expression::lit(-0.0) - x, -0.0 - x;
            "x - x" |x| x - x, x - x;
            "x + -x" |x| x + -x, x + -x;
            "-x + x" |x| -x + x, -x + x;
            "x * 0" |x| x * Expression::lit(0.0), x * 0.0;
            "-0 * x" |x| Expression::lit(-0.0) * x, -0.0 * x;
            "0 / x" |x| Expression::lit(0.0) / x, 0.0 / x;
            "-0 / x" |x| Expression::lit(-0.0) / x, -0.0 / x;
            "x / x" |x| x / x, x / x;
            "x * 0 + 0" |x| x.mul_add(Expression::lit(0.0), Expression::lit(0.0)), x * 0.0 + 0.0;
        }
    )*};
}
special_arithmetic! {
    zeros_and_nan_of_float32 f32, u32;
    zeros_and_nan_of_float64 f64, u64;
}
