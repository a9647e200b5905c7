//! The functions of complex numbers.

use allotrope_op::wgsl::{Expression, Function, Literal, Scalar, print_module};
use allotrope_op::{Complex, Number};
use naga::valid::Capabilities;

use crate::validate;

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
