//! Rows in steps against their formulas, element by element.

use allotrope_dtype::Level;
use allotrope_op::table::formula::{self, ComplexMap};
use allotrope_op::{Complex, Number, Op};

use super::run;

/// Numbers of all sizes, special ones among them, as many as fill no whole tile.
fn numbers() -> Vec<f64> {
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        1e300,
        -1e-300,
        5e-324,
        1e30,
        -1e-40,
        710.5,
        88.9,
        -1e6,
    ];
    let ordinary = (0..1500).map(|i| f64::from(i * 7919 % 4001) / 250.0 - 8.0);
    let pairs = special.iter().flat_map(|x| special.map(|y| [*x, y]));
    pairs.flatten().chain(ordinary).collect()
}

macro_rules! check_width {
    ($float:ty, $row:ident) => {
        let numbers: Vec<$float> = numbers().into_iter().map(|x| x as $float).collect();
        for count in [1, 17, numbers.len() / 2] {
            let args: &[$float] = &numbers[numbers.len() - 2 * count..];
            for level in Level::available() {
                let mut out = vec![0.0 as $float; args.len()];
                let bytes: &[u8] = bytemuck::cast_slice(args);
                run::<$float, formula::$row, 1>(
                    Op::$row as usize,
                    level,
                    &[bytes],
                    bytemuck::cast_slice_mut(&mut out),
                );
                for (x, y) in args.as_chunks::<2>().0.iter().zip(out.as_chunks::<2>().0) {
                    let expected = if level > Level::Scalar {
                        let z = x.map(Number::<$float, true>);
                        let z = formula::$row::call([Complex::new(z[0], z[1])]);
                        [z.re.0, z.im.0]
                    } else {
                        let z = x.map(Number::<$float, false>);
                        let z = formula::$row::call([Complex::new(z[0], z[1])]);
                        [z.re.0, z.im.0]
                    };
                    let bits = |part: $float| if part.is_nan() { 0 } else { part.to_bits() };
                    assert_eq!(
                        y.map(bits),
                        expected.map(bits),
                        "{} of {x:?} at {level:?}: {y:?}, not {expected:?}",
                        stringify!($row)
                    );
                }
            }
        }
    };
}

macro_rules! check {
    ($($name:ident $row:ident)*) => {$(
        #[test]
        fn $name() {
            check_width!(f32, $row);
            check_width!(f64, $row);
        }
    )*};
}
check! {
    exp_has_the_bits_of_its_formula Exp
    exp2_has_the_bits_of_its_formula Exp2
    expm1_has_the_bits_of_its_formula Expm1
    sigmoid_has_the_bits_of_its_formula Sigmoid
    sin_has_the_bits_of_its_formula Sin
    cos_has_the_bits_of_its_formula Cos
    tan_has_the_bits_of_its_formula Tan
    sinh_has_the_bits_of_its_formula Sinh
    cosh_has_the_bits_of_its_formula Cosh
    tanh_has_the_bits_of_its_formula Tanh
}
