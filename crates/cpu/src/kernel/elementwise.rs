//! Rows of the op tables as loops over slices, one per row and compute type.

mod loops;
mod near;
#[cfg(test)]
mod tests;

use std::marker::PhantomData;
use std::num::Wrapping;

use allotrope_dtype::{Bool8, DType, Level, c64, c128, dispatch_width};
use allotrope_op::elementary::Elementary;
use allotrope_op::table::formula::{
    self, BoolMap, ComplexMap, ComplexReal, ComplexTest, FloatMap, FloatTest, IntMap, IntTest,
};
use allotrope_op::{Checked, Complex, Number, Op, for_each_op};
use bytemuck::Pod;

use self::loops::{
    Formula, OfFloats, OfNear, OfNearPairs, OfPairs, in_blocks, in_whole_vectors, of_length,
    one_loop, typed, typed_mut,
};
use crate::simd::{self, BLOCK, Body};

/// A row over slices of bytes: operands, result. All have as many elements.
pub(crate) type Kernel = fn(Level, &[&[u8]], &mut [u8]);

/// Whether a row over integers loses one, over slices of operands of one length.
pub(crate) type Check = fn(Level, &[&[u8]]) -> bool;

/// A float as a lane, with or without fused multiply-add.
pub(crate) trait Real: Pod {
    /// The lane.
    type Lane<const FUSED: bool>: Elementary<Mask = bool>;
    fn wrap<const FUSED: bool>(self) -> Self::Lane<FUSED>;
    fn unwrap<const FUSED: bool>(lane: Self::Lane<FUSED>) -> Self;
    /// Whether the magnitude is below the limit of the width.
    fn is_near(self, limits: [f64; 2]) -> bool;
}

macro_rules! impl_real {
    ($($float:ty, $place:literal;)*) => {$(
        impl Real for $float {
            type Lane<const FUSED: bool> = Number<$float, FUSED>;
            #[inline(always)]
            fn wrap<const FUSED: bool>(self) -> Number<$float, FUSED> {
                Number(self)
            }
            #[inline(always)]
            fn unwrap<const FUSED: bool>(lane: Number<$float, FUSED>) -> Self {
                lane.0
            }
            #[inline(always)]
            fn is_near(self, limits: [f64; 2]) -> bool {
                self.abs() < limits[$place] as $float
            }
        }
    )*};
}
impl_real!(f32, 0; f64, 1;);

/// A complex number as two lanes.
trait Pair: Pod {
    type Part: Real;
    fn wrap<const FUSED: bool>(self) -> Complex<<Self::Part as Real>::Lane<FUSED>>;
    fn unwrap<const FUSED: bool>(value: Complex<<Self::Part as Real>::Lane<FUSED>>) -> Self;
    /// Whether both parts are.
    fn is_near(self, limits: [f64; 2]) -> bool;
}

macro_rules! impl_pair {
    ($($complex:ty, $float:ty;)*) => {$(
        impl Pair for $complex {
            type Part = $float;
            #[inline(always)]
            fn wrap<const FUSED: bool>(self) -> Complex<Number<$float, FUSED>> {
                Complex { re: Number(self.re), im: Number(self.im) }
            }
            #[inline(always)]
            fn unwrap<const FUSED: bool>(value: Complex<Number<$float, FUSED>>) -> Self {
                Self::new(value.re.0, value.im.0)
            }
            #[inline(always)]
            fn is_near(self, limits: [f64; 2]) -> bool {
                self.re.is_near(limits) & self.im.is_near(limits)
            }
        }
    )*};
}
impl_pair!(c64, f32; c128, f64;);

/// Defines a kernel: how an element becomes a value, what the row makes of it, and the way back.
macro_rules! define_kernel {
    ($name:ident<$T:ident: $bound:ident>, $trait:ident, $out:ty,
     |$x:ident| $wrap:expr, |$y:ident| $unwrap:expr) => {
        fn $name<$T: $bound, F: $trait<N>, const N: usize>(
            level: Level,
            args: &[&[u8]],
            out: &mut [u8],
        ) {
            struct Loop<'a, T: $bound, F, const N: usize> {
                args: [&'a [T]; N],
                out: &'a mut [$out],
                row: PhantomData<F>,
            }
            impl<$T: $bound, F: $trait<N>, const N: usize> Body for Loop<'_, $T, F, N> {
                type Output = ();
                #[inline(always)]
                fn run<const FUSED: bool>(self) {
                    let args = of_length(self.args, self.out.len());
                    for (i, out) in self.out.iter_mut().enumerate() {
                        let $y = F::call(std::array::from_fn(|k| {
                            let $x: $T = args[k][i];
                            $wrap
                        }));
                        *out = $unwrap;
                    }
                }
            }
            let out = typed_mut(out);
            simd::run(
                level,
                Loop::<$T, F, N> {
                    args: typed(args, out.len()),
                    out,
                    row: PhantomData,
                },
            );
        }
    };
}
define_kernel!(float_test<T: Real>, FloatTest, Bool8, |x| x.wrap::<FUSED>(), |y| Bool8::from(y));
define_kernel!(complex_real<T: Pair>, ComplexReal, T::Part, |x| x.wrap::<FUSED>(), |y| T::Part::unwrap(y));
define_kernel!(complex_test<T: Pair>, ComplexTest, Bool8, |x| x.wrap::<FUSED>(), |y| Bool8::from(y));

/// The loop of a row over floats; it looks ahead where there is a faster formula for most numbers.
struct FloatLoop<'a, T: Real, F, const N: usize> {
    args: [&'a [T]; N],
    out: &'a mut [T],
    row: PhantomData<F>,
}

impl<T: Real, F: FloatMap<N>, const N: usize> Body for FloatLoop<'_, T, F, N> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Some(limits) = F::NEAR else {
            return one_loop::<T, OfFloats<F>, N, FUSED>(self.args, self.out);
        };
        in_blocks!(self.args, self.out, |x: [&[T; BLOCK]; N], out| {
            let is_near = |near: bool, x: &T| near & x.is_near(limits);
            // Over arrays: through slices, which lose their length, these are no vectors.
            if x[0].iter().fold(true, is_near) {
                for (i, out) in out.iter_mut().enumerate() {
                    *out = OfNear::<F>::of::<FUSED>(std::array::from_fn(|k| x[k][i]));
                }
            } else {
                for (i, out) in out.iter_mut().enumerate() {
                    *out = OfFloats::<F>::of::<FUSED>(std::array::from_fn(|k| x[k][i]));
                }
            }
        });
    }
}

pub(crate) fn float_map<T: Real, F: FloatMap<N>, const N: usize>(
    level: Level,
    args: &[&[u8]],
    out: &mut [u8],
) {
    let out = typed_mut(out);
    simd::run(
        level,
        FloatLoop::<T, F, N> {
            args: typed(args, out.len()),
            out,
            row: PhantomData,
        },
    );
}

/// The loop of a row over complex numbers; one with sines looks ahead whether they are near.
struct ComplexLoop<'a, T: Pair, F, const N: usize, const SINES: bool> {
    args: [&'a [T]; N],
    out: &'a mut [T],
    row: PhantomData<F>,
}

impl<T: Pair, F: ComplexMap<N>, const N: usize, const SINES: bool> Body
    for ComplexLoop<'_, T, F, N, SINES>
{
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        if !SINES {
            return in_whole_vectors::<T, OfPairs<F>, N, FUSED>(self.args, self.out);
        }
        in_blocks!(self.args, self.out, |x: [&[T; BLOCK]; N], out| {
            let mut near = true;
            for x in x {
                near = x
                    .iter()
                    .fold(near, |near, x| near & x.is_near(near::LIMITS));
            }
            if near {
                for (i, out) in out.iter_mut().enumerate() {
                    *out = OfNearPairs::<F>::of::<FUSED>(std::array::from_fn(|k| x[k][i]));
                }
            } else {
                for (i, out) in out.iter_mut().enumerate() {
                    *out = OfPairs::<F>::of::<FUSED>(std::array::from_fn(|k| x[k][i]));
                }
            }
        });
    }
}

/// Whether a row over complex numbers has sines of multiples of its parts.
const fn has_sines(op: Op) -> bool {
    use Op::{
        Cos, Cosh, Exp, Exp2, Expm1, Ldexp, Logaddexp, Sigmoid, Silu, Sin, Sinc, Sinh, Tan, Tanh,
        Tanhshrink,
    };
    matches!(
        op,
        Cos | Cosh
            | Exp
            | Exp2
            | Expm1
            | Ldexp
            | Logaddexp
            | Sigmoid
            | Silu
            | Sin
            | Sinc
            | Sinh
            | Tan
            | Tanh
            | Tanhshrink
    )
}

fn complex_map<T: Pair, F: ComplexMap<N>, const N: usize, const SINES: bool>(
    level: Level,
    args: &[&[u8]],
    out: &mut [u8],
) {
    let out = typed_mut(out);
    simd::run(
        level,
        ComplexLoop::<T, F, N, SINES> {
            args: typed(args, out.len()),
            out,
            row: PhantomData,
        },
    );
}

/// An integer that wraps.
trait Int: Pod {
    type Whole: allotrope_op::Whole<Mask = bool>;
    fn wrap(self) -> Self::Whole;
    fn unwrap(value: Self::Whole) -> Self;
}

macro_rules! impl_int {
    ($($int:ty)*) => {$(
        impl Int for $int {
            type Whole = Wrapping<$int>;
            #[inline(always)]
            fn wrap(self) -> Wrapping<$int> {
                Wrapping(self)
            }
            #[inline(always)]
            fn unwrap(value: Wrapping<$int>) -> Self {
                value.0
            }
        }
    )*};
}
impl_int!(i8 i16 i32 i64 u8 u16 u32 u64);

define_kernel!(int_map<T: Int>, IntMap, T, |x| x.wrap(), |y| T::unwrap(y));
define_kernel!(int_test<T: Int>, IntTest, Bool8, |x| x.wrap(), |y| Bool8::from(y));

/// Whether a row over integers loses any.
fn int_check<T: Pod, F: IntMap<N>, const N: usize>(level: Level, args: &[&[u8]]) -> bool
where
    Checked<T>: allotrope_op::Whole<Mask = bool>,
{
    struct Loop<'a, T, F, const N: usize> {
        args: [&'a [T]; N],
        row: PhantomData<F>,
    }
    impl<T: Pod, F: IntMap<N>, const N: usize> Body for Loop<'_, T, F, N>
    where
        Checked<T>: allotrope_op::Whole<Mask = bool>,
    {
        type Output = bool;
        #[inline(always)]
        fn run<const FUSED: bool>(self) -> bool {
            let len = self.args[0].len();
            let args = of_length(self.args, len);
            (0..len).fold(false, |any, i| {
                any | F::call(std::array::from_fn(|k| Checked::new(args[k][i]))).is_lost()
            })
        }
    }
    let len = args.first().map_or(0, |arg| arg.len() / size_of::<T>());
    let row = PhantomData::<F>;
    let args = typed::<T, N>(args, len);
    simd::run(level, Loop { args, row })
}

/// The byte of a truth value; a trait so that the macro has a bound to name.
trait Truth: Pod + Into<bool> {}
impl Truth for Bool8 {}
define_kernel!(bool_map<T: Truth>, BoolMap, Bool8, |x| { let truth: bool = x.into(); truth }, |y| Bool8::from(y));

/// Bytes of an element.
pub(crate) trait Word: Pod {
    /// The first of two if a condition is true, by masks: the compiler chooses addresses where it may,
    /// and reads elements one by one (ten times as long).
    fn choose(condition: bool, yes: Self, no: Self) -> Self;
}

macro_rules! impl_word {
    ($($word:ty)*) => {$(
        impl Word for $word {
            #[inline(always)]
            fn choose(condition: bool, yes: Self, no: Self) -> Self {
                let mask = (0 as $word).wrapping_sub(<$word>::from(condition));
                yes & mask | no & !mask
            }
        }
    )*};
}
impl_word!(u8 u16 u32 u64);

impl<W: Word> Word for [W; 2]
where
    Self: Pod,
{
    #[inline(always)]
    fn choose(condition: bool, yes: Self, no: Self) -> Self {
        [
            W::choose(condition, yes[0], no[0]),
            W::choose(condition, yes[1], no[1]),
        ]
    }
}

/// One of two elements, by their width alone.
fn select<W: Word>(level: Level, args: &[&[u8]], out: &mut [u8]) {
    struct Loop<'a, W> {
        condition: &'a [Bool8],
        yes: &'a [W],
        no: &'a [W],
        out: &'a mut [W],
    }
    impl<W: Word> Body for Loop<'_, W> {
        type Output = ();
        #[inline(always)]
        fn run<const FUSED: bool>(self) {
            let n = self.out.len();
            let (condition, yes, no) = (&self.condition[..n], &self.yes[..n], &self.no[..n]);
            for (i, out) in self.out.iter_mut().enumerate() {
                *out = W::choose(condition[i].get(), yes[i], no[i]);
            }
        }
    }
    let body = Loop::<W> {
        condition: bytemuck::cast_slice(args[0]),
        yes: bytemuck::cast_slice(args[1]),
        no: bytemuck::cast_slice(args[2]),
        out: bytemuck::cast_slice_mut(out),
    };
    simd::run(level, body);
}

/// What the conversion of 64-bit integers to float64 leaves out.
pub(crate) fn conversion_rest(dtype: DType, src: &[u8], out: &mut [u8]) {
    let out: &mut [f64] = bytemuck::cast_slice_mut(out);
    if dtype == DType::U64 {
        for (out, x) in out.iter_mut().zip(bytemuck::cast_slice::<u8, u64>(src)) {
            *out = (i128::from(*x) - (*x as f64) as i128) as f64;
        }
    } else {
        for (out, x) in out.iter_mut().zip(bytemuck::cast_slice::<u8, i64>(src)) {
            *out = (i128::from(*x) - (*x as f64) as i128) as f64;
        }
    }
}

/// The kernel of a cell, or nothing.
macro_rules! entry {
    ($class:ident $signature:ident $T:ty, $row:ident, $n:expr, promote) => {
        None
    };
    ($class:ident $signature:ident $T:ty, $row:ident, $n:expr, integer) => {
        None
    };
    ($class:ident $signature:ident $T:ty, $row:ident, $n:expr, refuse) => {
        None
    };
    (float Map $T:ty, $row:ident, $n:expr, $f:tt) => {
        Some(float_map::<$T, formula::$row, { $n }>)
    };
    (float Real $T:ty, $row:ident, $n:expr, $f:tt) => {
        Some(float_map::<$T, formula::$row, { $n }>)
    };
    (float $s:ident $T:ty, $row:ident, $n:expr, $f:tt) => {
        Some(float_test::<$T, formula::$row, { $n }>)
    };
    (complex Map $T:ty, $row:ident, $n:expr, $f:tt) => {
        Some(complex_map::<$T, formula::$row, { $n }, { has_sines(Op::$row) }>)
    };
    (complex Real $T:ty, $row:ident, $n:expr, $f:tt) => {
        Some(complex_real::<$T, formula::$row, { $n }>)
    };
    (complex $s:ident $T:ty, $row:ident, $n:expr, $f:tt) => {
        Some(complex_test::<$T, formula::$row, { $n }>)
    };
    (int Map $T:ty, $row:ident, $n:expr, $f:tt) => {
        Some(int_map::<$T, formula::$row, { $n }>)
    };
    (int Real $T:ty, $row:ident, $n:expr, $f:tt) => {
        Some(int_map::<$T, formula::$row, { $n }>)
    };
    (int $s:ident $T:ty, $row:ident, $n:expr, $f:tt) => {
        Some(int_test::<$T, formula::$row, { $n }>)
    };
    (bool $s:ident $T:ty, $row:ident, $n:expr, $f:tt) => {
        Some(bool_map::<$T, formula::$row, { $n }>)
    };
}

macro_rules! kernels {
    ($({ $variant:ident, $name:ident, ($($arg:ident),*) -> $out:ident, $signature:ident, $autocast:ident, $doc:literal,
         float $float:tt complex $complex:tt int $int:tt bool $bool:tt, $($rest:tt)* })*) => {
        /// The kernel of a row for operands of a compute dtype; `None` where it has no formula.
        pub(crate) fn find(op: Op, dtype: DType) -> Option<Kernel> {
            if op == Op::Where {
                return Some(dispatch_width!(dtype, |W| select::<W> as Kernel));
            }
            match op {
                $(Op::$variant => {
                    #[allow(dead_code, reason = "a row may have no kernel of its own")]
                    const N: usize = [$(stringify!($arg)),*].len();
                    let kernel: Option<Kernel> = match dtype {
                        DType::F32 => entry!(float $signature f32, $variant, N, $float),
                        DType::F64 => entry!(float $signature f64, $variant, N, $float),
                        DType::C64 => entry!(complex $signature c64, $variant, N, $complex),
                        DType::C128 => entry!(complex $signature c128, $variant, N, $complex),
                        DType::I8 => entry!(int $signature i8, $variant, N, $int),
                        DType::I16 => entry!(int $signature i16, $variant, N, $int),
                        DType::I32 => entry!(int $signature i32, $variant, N, $int),
                        DType::I64 => entry!(int $signature i64, $variant, N, $int),
                        DType::U8 => entry!(int $signature u8, $variant, N, $int),
                        DType::U16 => entry!(int $signature u16, $variant, N, $int),
                        DType::U32 => entry!(int $signature u32, $variant, N, $int),
                        DType::U64 => entry!(int $signature u64, $variant, N, $int),
                        DType::Bool => entry!(bool $signature Bool8, $variant, N, $bool),
                        _ => None,
                    };
                    kernel
                })*
            }
        }
    };
}
for_each_op!((kernels));

/// The check of a cell of integers, or nothing.
macro_rules! check {
    ($signature:ident $T:ty, $row:ident, $n:expr, promote) => {
        None
    };
    ($signature:ident $T:ty, $row:ident, $n:expr, integer) => {
        None
    };
    ($signature:ident $T:ty, $row:ident, $n:expr, refuse) => {
        None
    };
    (Map $T:ty, $row:ident, $n:expr, $f:tt) => {
        Some(int_check::<$T, formula::$row, { $n }>)
    };
    (Real $T:ty, $row:ident, $n:expr, $f:tt) => {
        Some(int_check::<$T, formula::$row, { $n }>)
    };
    ($signature:ident $T:ty, $row:ident, $n:expr, $f:tt) => {
        None
    };
}

macro_rules! checks {
    ($({ $variant:ident, $name:ident, ($($arg:ident),*) -> $out:ident, $signature:ident, $autocast:ident, $doc:literal,
         float $float:tt complex $complex:tt int $int:tt $($rest:tt)* })*) => {
        /// The check of a row over integers of a dtype; `None` where it makes none of them.
        pub(crate) fn find_check(op: Op, dtype: DType) -> Option<Check> {
            match op {
                $(Op::$variant => {
                    #[allow(dead_code, reason = "a row may make no integers")]
                    const N: usize = [$(stringify!($arg)),*].len();
                    let check: Option<Check> = match dtype {
                        DType::I8 => check!($signature i8, $variant, N, $int),
                        DType::I16 => check!($signature i16, $variant, N, $int),
                        DType::I32 => check!($signature i32, $variant, N, $int),
                        DType::I64 => check!($signature i64, $variant, N, $int),
                        DType::U8 => check!($signature u8, $variant, N, $int),
                        DType::U16 => check!($signature u16, $variant, N, $int),
                        DType::U32 => check!($signature u32, $variant, N, $int),
                        DType::U64 => check!($signature u64, $variant, N, $int),
                        _ => None,
                    };
                    check
                })*
            }
        }
    };
}
for_each_op!((checks));

/// The kernel of a row over float32 whose result is used as 16 bits alone, where it differs.
pub(crate) fn find_rough(op: Op) -> Option<Kernel> {
    macro_rules! rough {
        ($($row:ident)*) => {
            match op {
                $(Op::$row => {
                    const { assert!(<formula::$row as FloatMap<1>>::HAS_ROUGH) };
                    Some(float_map::<f32, formula::Rough<formula::$row>, 1>)
                })*
                _ => None,
            }
        };
    }
    rough!(Exp Tanh)
}
