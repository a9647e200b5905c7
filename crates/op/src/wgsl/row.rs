//! The rows of the op tables as functions.

use allotrope_dtype::{DType, Kind};

use super::arena::{self, Node};
use super::expression::Expression;
use super::function::Function;
use super::operation::Operation;
use super::value::{Arguments, Value, ValueType};
use crate::Complex;
use crate::table::Op;
use crate::table::formula::{
    self, BoolMap, ComplexMap, ComplexReal, ComplexTest, FloatMap, FloatTest, IntMap, IntTest,
};

impl Function {
    /// What a row computes in a dtype; nothing where it has no formula for that.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_op::{Op, wgsl::Function};
    ///
    /// let add = Function::of_row(Op::Add, DType::I8).map(|add| add.print("add_i8"));
    /// assert_eq!(add.as_deref(), Some("\
    /// fn add_i8(x: i32, y: i32) -> i32 {
    ///     let v2: i32 = x + y;
    ///     let v4: i32 = v2 << 24u;
    ///     let v5: i32 = v4 >> 24u;
    ///     return v5;
    /// }
    /// "));
    /// assert!(Function::of_row(Op::Tanh, DType::I8).is_none());
    /// ```
    pub fn of_row(op: Op, dtype: DType) -> Option<Self> {
        macro_rules! rows {
            ($({ $row:ident, $name:ident, ($($arg:ident),*) -> $out:ident, $signature:ident, $autocast:ident, $doc:literal,
                 float $float:tt complex $complex:tt int $int:tt bool $bool:tt, $($rest:tt)* })*) => {
                match op {$(
                    Op::$row => {
                        #[allow(dead_code, reason = "a choice has operands of two types")]
                        const ARITY: usize = [$(stringify!($arg)),*].len();
                        cells!(dtype $signature $row $float $complex $int $bool)
                    }
                )*}
            };
        }
        macro_rules! cells {
            ($dtype:ident Select $($rest:tt)*) => { choice($dtype) };
            ($dtype:ident $signature:ident $row:ident $float:tt $complex:tt $int:tt $bool:tt) => {
                match $dtype.kind() {
                    Kind::Float => cell!($dtype float $signature $row $float),
                    Kind::Complex => cell!($dtype complex $signature $row $complex),
                    Kind::Signed | Kind::Unsigned => cell!($dtype int $signature $row $int),
                    Kind::Bool => cell!($dtype bool Map $row $bool),
                }
            };
        }
        macro_rules! cell {
            ($dtype:ident $class:ident $signature:ident $row:ident promote) => { None };
            ($dtype:ident $class:ident $signature:ident $row:ident integer) => { None };
            ($dtype:ident $class:ident $signature:ident $row:ident refuse) => { None };
            ($dtype:ident $class:ident Compare $($rest:tt)*) => { cell!($dtype $class Test $($rest)*) };
            ($dtype:ident float Real $($rest:tt)*) => { cell!($dtype float Map $($rest)*) };
            ($dtype:ident int Real $($rest:tt)*) => { cell!($dtype int Map $($rest)*) };
            ($dtype:ident float Map $row:ident $f:tt) => { float_map::<formula::$row, ARITY>($dtype) };
            ($dtype:ident float Test $row:ident $f:tt) => { float_test::<formula::$row, ARITY>($dtype) };
            ($dtype:ident complex Map $row:ident $f:tt) => { complex_map::<formula::$row, ARITY>($dtype) };
            ($dtype:ident complex Real $row:ident $f:tt) => { complex_real::<formula::$row, ARITY>($dtype) };
            ($dtype:ident complex Test $row:ident $f:tt) => { complex_test::<formula::$row, ARITY>($dtype) };
            ($dtype:ident int Map $row:ident $f:tt) => { int_map::<formula::$row, ARITY>($dtype) };
            ($dtype:ident int Test $row:ident $f:tt) => { int_test::<formula::$row, ARITY>($dtype) };
            ($dtype:ident bool Map $row:ident $f:tt) => { bool_map::<formula::$row, ARITY>($dtype) };
        }
        for_each_op!((rows))
    }
}

/// The name that a row goes by in a dtype, such as `exp_f32`.
pub fn row_name(op: Op, dtype: DType) -> String {
    format!("{}_{}", op.name(), short_name(dtype))
}

/// The name of a dtype within that of a function, such as `f32` or `c128`.
pub(super) fn short_name(dtype: DType) -> &'static str {
    let row = dtype.descriptor();
    match dtype {
        DType::Bool => row.name,
        _ => row.aliases.first().copied().unwrap_or(row.name),
    }
}

/// What a row makes of its operands, in the dtypes of one class.
macro_rules! recorders {
    ($($name:ident $formula:ident $output:ident: $($dtype:ident $number:ty),*;)*) => {$(
        fn $name<R: $formula<N>, const N: usize>(dtype: DType) -> Option<Function> {
            // Pointers: compiled with the rest of the recording, each row took twice as long.
            let body: fn() -> Vec<Node> = match dtype {
                $(DType::$dtype => || R::call(<[$number; N]>::arguments()).nodes(),)*
                _ => return None,
            };
            Some(record_row(N, dtype, $output(dtype), body))
        }
    )*};
}
recorders! {
    float_map    FloatMap    same:  F32 Expression<f32>, F64 Expression<f64>;
    float_test   FloatTest   truth: F32 Expression<f32>, F64 Expression<f64>;
    complex_map  ComplexMap  same:  C64 Complex<Expression<f32>>, C128 Complex<Expression<f64>>;
    complex_real ComplexReal real:  C64 Complex<Expression<f32>>, C128 Complex<Expression<f64>>;
    complex_test ComplexTest truth: C64 Complex<Expression<f32>>, C128 Complex<Expression<f64>>;
    int_map      IntMap      same:  I8 Expression<i8>, I16 Expression<i16>, I32 Expression<i32>, I64 Expression<i64>,
                                    U8 Expression<u8>, U16 Expression<u16>, U32 Expression<u32>, U64 Expression<u64>;
    int_test     IntTest     truth: I8 Expression<i8>, I16 Expression<i16>, I32 Expression<i32>, I64 Expression<i64>,
                                    U8 Expression<u8>, U16 Expression<u16>, U32 Expression<u32>, U64 Expression<u64>;
    bool_map     BoolMap     truth: Bool Expression<bool>;
}

const fn same(dtype: DType) -> DType {
    dtype
}

const fn real(dtype: DType) -> DType {
    dtype.to_real()
}

const fn truth(_: DType) -> DType {
    DType::Bool
}

fn record_row(arity: usize, dtype: DType, output: DType, body: fn() -> Vec<Node>) -> Function {
    let arguments = vec![ValueType::of_dtype(dtype); arity];
    Function::record_results(arguments, ValueType::of_dtype(output), body)
}

/// The choice between two values of a dtype, stored ones among them.
fn choice(dtype: DType) -> Option<Function> {
    let value = ValueType::of_dtype(dtype);
    let arguments = vec![ValueType::of_dtype(DType::Bool), value, value];
    Function::record_components(arguments, vec![value], &mut |nodes| {
        let (mask, numbers) = nodes.split_first()?;
        let (yes, no) = numbers.split_at_checked(value.components as usize)?;
        let choose =
            |(&yes, &no)| arena::ternary(Operation::Select, value.component, *mask, yes, no);
        Some(yes.iter().zip(no).map(choose).collect())
    })
}
