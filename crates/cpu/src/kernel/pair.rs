//! Two rows in one pass over a tile: the sum, difference, product or quotient of two operands, and
//! what the next row makes of it and a third.
//!
//! In a long program a pass costs as much as its loads and stores. Results are those of the two
//! passes: each row rounds.

use std::marker::PhantomData;

use allotrope_dtype::DType;
use allotrope_op::Op;
use allotrope_op::elementary::Elementary;
use allotrope_op::table::formula::{Add, Div, FloatMap, Mul, Sub};

use super::elementwise::{Kernel, float_map};

/// `(x first y) second z`.
struct Then<First, Second>(PhantomData<(First, Second)>);

impl<First: FloatMap<2>, Second: FloatMap<2>> FloatMap<3> for Then<First, Second> {
    #[inline(always)]
    fn call<L: Elementary>([x, y, z]: [L; 3]) -> L {
        Second::call([First::call([x, y]), z])
    }
}

/// `z second (x first y)`.
struct From<First, Second>(PhantomData<(First, Second)>);

impl<First: FloatMap<2>, Second: FloatMap<2>> FloatMap<3> for From<First, Second> {
    #[inline(always)]
    fn call<L: Elementary>([x, y, z]: [L; 3]) -> L {
        Second::call([z, First::call([x, y])])
    }
}

/// The kernel of `(x first y) second z`, or with the operands of the second row in the other order.
pub(crate) fn find(first: Op, second: Op, is_left: bool, dtype: DType) -> Option<Kernel> {
    match first {
        Op::Add => find_second::<Add>(second, is_left, dtype),
        Op::Sub => find_second::<Sub>(second, is_left, dtype),
        Op::Mul => find_second::<Mul>(second, is_left, dtype),
        Op::Div => find_second::<Div>(second, is_left, dtype),
        _ => None,
    }
}

fn find_second<First: FloatMap<2>>(second: Op, is_left: bool, dtype: DType) -> Option<Kernel> {
    match (second, is_left) {
        (Op::Add, _) => in_dtype::<Then<First, Add>>(dtype),
        (Op::Mul, _) => in_dtype::<Then<First, Mul>>(dtype),
        (Op::Sub, true) => in_dtype::<Then<First, Sub>>(dtype),
        (Op::Sub, false) => in_dtype::<From<First, Sub>>(dtype),
        (Op::Div, true) => in_dtype::<Then<First, Div>>(dtype),
        _ => None,
    }
}

fn in_dtype<F: FloatMap<3>>(dtype: DType) -> Option<Kernel> {
    match dtype {
        DType::F32 => Some(float_map::<f32, F, 3>),
        DType::F64 => Some(float_map::<f64, F, 3>),
        _ => None,
    }
}
