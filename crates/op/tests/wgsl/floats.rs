//! The elementary functions.

use allotrope_op::Number;
use allotrope_op::elementary::{Elementary, Signature, functions};
use allotrope_op::wgsl::{Expression, Float, Function, Literal, Scalar, print_module};
use naga::valid::Capabilities;

use crate::validate;

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
