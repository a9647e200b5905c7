//! Every row of the op tables in every dtype that it has a formula for.

use std::num::Wrapping;

use allotrope_dtype::DType;
use allotrope_op::table::formula::{
    self, BoolMap, ComplexMap, ComplexReal, ComplexTest, FloatMap, FloatTest, IntMap, IntTest,
};
use allotrope_op::table::{Cell, Op};
use allotrope_op::wgsl::{Function, Integer, Literal, Type, print_module, row_name};
use allotrope_op::{Complex, Number, for_each_op};

use crate::stored::are_same;
use crate::{capabilities, compute_dtypes, validate};

#[test]
fn rows_are_accepted() {
    for dtype in compute_dtypes() {
        let mut functions = Vec::new();
        for &op in Op::ALL {
            let function = Function::of_row(op, dtype);
            let has_formula = op.row().cell(dtype.kind()) == Cell::Formula;
            // Rows of truth values take nothing else.
            let is_logic = op.name().starts_with("logical_") && dtype != DType::Bool;
            assert_eq!(
                function.is_some(),
                has_formula && !is_logic,
                "{op:?} of {dtype}"
            );
            functions.extend(function.map(|function| (row_name(op, dtype), function)));
        }
        let text = print_module(functions.iter().map(|(name, function)| (&**name, function)));
        validate(&text, capabilities(dtype));
    }
}

#[test]
fn rows_are_named_after_their_dtype() {
    assert_eq!(row_name(Op::Exp, DType::F32), "exp_f32");
    assert_eq!(row_name(Op::Pow, DType::C128), "pow_c128");
    assert_eq!(row_name(Op::Where, DType::BF16), "where_bf16");
    assert_eq!(row_name(Op::Add, DType::Bool), "add_bool");
}

/// A number of the CPU as an argument or a result.
trait Plain: Copy {
    const DTYPE: DType;
    fn literals(self) -> Vec<Literal>;
    /// Ordinary and special numbers, the most telling first.
    fn points() -> Vec<Self>;
}

macro_rules! plain_floats {
    ($($float:ty, $kind:ident, $complex:ident;)*) => {$(
        impl Plain for Number<$float, false> {
            const DTYPE: DType = DType::$kind;

            fn literals(self) -> Vec<Literal> {
                vec![Literal { kind: Type::$kind, bits: self.0.to_bits().into() }]
            }

            fn points() -> Vec<Self> {
                let positive = [
                    1.0, 0.0, 0.3, <$float>::INFINITY, 2.5, <$float>::NAN, 0.5, 7.0, 1.5, 40.0, 1e3, 3e5,
                    <$float>::MAX, <$float>::MIN_POSITIVE, <$float>::from_bits(1), 1e-30,
                ];
                let sweep = (0..400).map(|i| <$float>::MIN_POSITIVE * (i as $float * 0.4).exp2());
                let points = positive.into_iter().chain(sweep.filter(|x| x.is_finite()));
                points.flat_map(|x| [x, -x]).map(Number).collect()
            }
        }

        impl Plain for Complex<Number<$float, false>> {
            const DTYPE: DType = DType::$complex;

            fn literals(self) -> Vec<Literal> {
                [self.re.literals(), self.im.literals()].concat()
            }

            fn points() -> Vec<Self> {
                let parts = [
                    1.0, 0.0, 0.3, <$float>::INFINITY, 2.5, <$float>::NAN, 40.0, 1e5, 1e30, 1e-30,
                ];
                let parts = parts.into_iter().flat_map(|x| [x, -x]);
                let parts: Vec<_> = parts.map(Number).collect();
                // Along diagonals, so that all parts are met early.
                let count = parts.len();
                let place = move |i: usize| (i % count, (i + i / count * 7) % count);
                let point = |(re, im): (usize, usize)| Self { re: parts[re], im: parts[im] };
                (0..count * count).map(place).map(point).collect()
            }
        }
    )*};
}
plain_floats! {
    f32, F32, C64;
    f64, F64, C128;
}

macro_rules! plain_integers {
    ($($integer:ident $dtype:ident)*) => {$(
        impl Plain for Wrapping<$integer> {
            const DTYPE: DType = DType::$dtype;

            fn literals(self) -> Vec<Literal> {
                vec![<$integer as Integer>::literal(self.0 as i64)]
            }

            fn points() -> Vec<Self> {
                let points = [0, 1, 3, 2, 5, 6, 7, 8, 15, 16, 31, 32, 63, 64, 100, 127, 128, 255, 1 << 31];
                let points = points.into_iter().flat_map(|x: i64| [x, -x]);
                let points = [$integer::MIN as i64, $integer::MAX as i64, -1].into_iter().chain(points);
                points.map(|x| Self(x as $integer)).collect()
            }
        }
    )*};
}
plain_integers!(i8 I8 i16 I16 i32 I32 i64 I64 u8 U8 u16 U16 u32 U32 u64 U64);

impl Plain for bool {
    const DTYPE: DType = DType::Bool;

    fn literals(self) -> Vec<Literal> {
        vec![Literal::truth(self)]
    }

    fn points() -> Vec<Self> {
        vec![false, true]
    }
}

/// Fails unless the function of a row is worth what the formula computes, over a grid of as many
/// points as can be for so many operands.
fn check<X: Plain, Y: Plain, const N: usize>(op: Op, formula: fn([X; N]) -> Y) {
    let mut points = X::points();
    points.truncate([1000, 30, 11, 7][N - 1]);
    let function = Function::of_row(op, X::DTYPE).unwrap();
    let count = points.len();
    for index in 0..count.pow(N as u32) {
        let places: [usize; N] = std::array::from_fn(|i| index / count.pow(i as u32) % count);
        let operands = places.map(|place| points[place]);
        let arguments = operands.map(Plain::literals).concat();
        let got = function.evaluate(&arguments).unwrap();
        let want = formula(operands).literals();
        assert!(
            are_same(Y::DTYPE, &got, &want),
            "{} of {arguments:x?}: {got:x?}, not {want:x?}",
            row_name(op, X::DTYPE)
        );
    }
}

/// Checks the cell of every row for one class of numbers.
macro_rules! check_rows {
    ([$class:ident $X:ty]
     $({ $row:ident, $name:ident, ($($arg:ident),*) -> $out:ident, $signature:ident, $autocast:ident, $doc:literal,
         float $float:tt complex $complex:tt int $int:tt bool $bool:tt, $($rest:tt)* })*) => {$({
        #[allow(dead_code, reason = "a cell may have no formula")]
        const N: usize = [$(stringify!($arg)),*].len();
        check_rows!(@$class $row $X, $signature $float $complex $int $bool);
    })*};
    (@float $row:ident $X:ty, $signature:ident $cell:tt $c:tt $i:tt $b:tt) => {
        check_rows!(@cell $row $X, $signature $cell [Map FloatMap $X] [Real FloatMap $X] [Test FloatTest bool]);
    };
    (@complex $row:ident $X:ty, $signature:ident $f:tt $cell:tt $i:tt $b:tt) => {
        check_rows!(@cell $row Complex<$X>, $signature $cell
            [Map ComplexMap Complex<$X>] [Real ComplexReal $X] [Test ComplexTest bool]);
    };
    (@int $row:ident $X:ty, $signature:ident $f:tt $c:tt $cell:tt $b:tt) => {
        check_rows!(@cell $row $X, $signature $cell [Map IntMap $X] [Real IntMap $X] [Test IntTest bool]);
    };
    (@bool $row:ident $X:ty, $signature:ident $f:tt $c:tt $i:tt $cell:tt) => {
        check_rows!(@cell $row $X, Map $cell [Map BoolMap bool] [] []);
    };
    (@cell $row:ident $X:ty, $signature:ident promote $($case:tt)*) => {};
    (@cell $row:ident $X:ty, $signature:ident integer $($case:tt)*) => {};
    (@cell $row:ident $X:ty, $signature:ident refuse $($case:tt)*) => {};
    (@cell $row:ident $X:ty, Map $f:tt [Map $formula:ident $Y:ty] $real:tt $test:tt) => {
        check_rows!(@call $row $X, $formula $Y);
    };
    (@cell $row:ident $X:ty, Real $f:tt $map:tt [Real $formula:ident $Y:ty] $test:tt) => {
        check_rows!(@call $row $X, $formula $Y);
    };
    (@cell $row:ident $X:ty, $signature:ident $f:tt $map:tt $real:tt [Test $formula:ident $Y:ty]) => {
        check_rows!(@call $row $X, $formula $Y);
    };
    (@call $row:ident $X:ty, $formula:ident $Y:ty) => {
        check::<$X, $Y, N>(Op::$row, <formula::$row as $formula<N>>::call);
    };
}

/// A test of one type of numbers: what is printed is worth what the CPU computes without fused
/// multiply-add.
macro_rules! same_bits {
    ($($test:ident $class:ident $number:ty;)*) => {$(
        #[test]
        fn $test() {
            for_each_op!((check_rows) [$class $number]);
        }
    )*};
}
same_bits! {
    float32_has_the_same_bits    float   Number<f32, false>;
    float64_has_the_same_bits    float   Number<f64, false>;
    complex64_has_the_same_bits  complex Number<f32, false>;
    complex128_has_the_same_bits complex Number<f64, false>;
    int8_has_the_same_bits       int     Wrapping<i8>;
    int16_has_the_same_bits      int     Wrapping<i16>;
    int32_has_the_same_bits      int     Wrapping<i32>;
    int64_has_the_same_bits      int     Wrapping<i64>;
    uint8_has_the_same_bits      int     Wrapping<u8>;
    uint16_has_the_same_bits     int     Wrapping<u16>;
    uint32_has_the_same_bits     int     Wrapping<u32>;
    uint64_has_the_same_bits     int     Wrapping<u64>;
    bool_has_the_same_bits       bool    bool;
}

#[test]
fn no_shift_is_by_more_than_the_width() {
    for dtype in compute_dtypes().filter(|dtype| dtype.is_integer()) {
        for op in [Op::LeftShift, Op::RightShift] {
            let text = Function::of_row(op, dtype).unwrap().print("shift");
            assert!(
                text.contains(&format!("& {}u;", dtype.bits() - 1)),
                "{text}"
            );
        }
    }
}

#[test]
fn choices_have_the_same_bits() {
    for dtype in DType::ALL {
        let function = Function::of_row(Op::Where, dtype).unwrap();
        let numbers =
            [1_u8, 2].map(|byte| crate::stored::read(dtype, &[byte; 16][..dtype.itemsize()]));
        for (place, mask) in [true, false].into_iter().enumerate() {
            let arguments = [vec![Literal::truth(mask)], numbers.concat()].concat();
            assert_eq!(function.evaluate(&arguments).unwrap(), numbers[place]);
        }
    }
}
