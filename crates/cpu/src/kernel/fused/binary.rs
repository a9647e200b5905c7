//! Sums, differences and products of two operands that are converted on the way.

use std::marker::PhantomData;
use std::num::Wrapping;

use allotrope_dtype::{DType, Level, c64};
use allotrope_op::table::formula::{self, ComplexMap, FloatMap, IntMap};
use allotrope_op::{Complex, Number, Op};
use bytemuck::{Pod, Zeroable};

use super::Kernel;
#[cfg(target_arch = "x86_64")]
use super::block::Half;
use super::block::{Brain, Load, Store};
use super::pairs;
use crate::simd::{self, BLOCK, Body};

/// What a row makes of two numbers.
trait Apply<V> {
    fn apply<const FUSED: bool>(x: V, y: V) -> V;
}

/// How rows are applied to numbers.
macro_rules! apply {
    ($($value:ty, $map:ident, |$x:ident| $wrap:expr, |$y:ident| $unwrap:expr;)*) => {$(
        impl<F: $map<2>> Apply<$value> for F {
            #[inline(always)]
            fn apply<const FUSED: bool>(x: $value, y: $value) -> $value {
                let wrap = |$x: $value| $wrap;
                let $y = F::call([wrap(x), wrap(y)]);
                $unwrap
            }
        }
    )*};
}
apply! {
    f32, FloatMap, |x| Number::<f32, FUSED>(x), |y| y.0;
    f64, FloatMap, |x| Number::<f64, FUSED>(x), |y| y.0;
    i64, IntMap, |x| Wrapping(x), |y| y.0;
    c64, ComplexMap,
        |x| Complex::new(Number::<f32, FUSED>(x.re), Number::<f32, FUSED>(x.im)),
        |y| c64::new(y.re.0, y.im.0);
}

/// The loop of a row over two operands.
struct Loop<'a, V: Pod, A: Load<V>, B: Load<V>, O: Store<V>, F> {
    level: Level,
    a: &'a [A::Code],
    b: &'a [B::Code],
    out: &'a mut [O::Code],
    streams: bool,
    row: PhantomData<(V, F)>,
}

impl<'a, V: Pod, A: Load<V>, B: Load<V>, O: Store<V>, F> Loop<'a, V, A, B, O, F> {
    fn new(level: Level, a: &'a [u8], b: &'a [u8], out: &'a mut [u8], streams: bool) -> Self {
        Self {
            level,
            a: bytemuck::cast_slice(a),
            b: bytemuck::cast_slice(b),
            out: bytemuck::cast_slice_mut(out),
            streams,
            row: PhantomData,
        }
    }
}

impl<V: Pod, A: Load<V>, B: Load<V>, O: Store<V>, F: Apply<V>> Loop<'_, V, A, B, O, F> {
    #[inline(always)]
    fn step<const FUSED: bool, const N: usize>(
        a: &[A::Code; N],
        b: &[B::Code; N],
        out: &mut [O::Code; N],
    ) {
        let (x, y) = (A::load_in_vectors(a), B::load_in_vectors(b));
        let mut result = [V::zeroed(); N];
        for (i, result) in result.iter_mut().enumerate() {
            *result = F::apply::<FUSED>(x[i], y[i]);
        }
        *out = O::store(result);
    }

    #[inline(always)]
    fn block<const FUSED: bool>(
        a: &[A::Code; BLOCK],
        b: &[B::Code; BLOCK],
        out: &mut [O::Code; BLOCK],
    ) {
        /// As many complex numbers as stay in registers.
        const FEW: usize = 16;
        if size_of::<V>() <= 4 {
            Self::step::<FUSED, BLOCK>(a, b, out);
        } else if align_of::<V>() == size_of::<V>() {
            // Nothing between: blocks of 8 bytes do not stay in registers.
            for (out, (a, b)) in out.iter_mut().zip(a.iter().zip(b)) {
                *out = O::code(F::apply::<FUSED>(A::one(*a), B::one(*b)));
            }
        } else {
            let (a, b) = (a.as_chunks::<FEW>().0, b.as_chunks::<FEW>().0);
            for ((a, b), out) in a.iter().zip(b).zip(out.as_chunks_mut::<FEW>().0) {
                Self::step::<FUSED, FEW>(a, b, out);
            }
        }
    }
}

impl<V: Pod, A: Load<V>, B: Load<V>, O: Store<V>, F: Apply<V>> Body for Loop<'_, V, A, B, O, F> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let ((a, a_tail), (b, b_tail)) = (self.a.as_chunks(), self.b.as_chunks());
        let (out, out_tail) = self.out.as_chunks_mut();
        // What is left goes the same way, so that the loop exists once.
        let (mut a_rest, mut b_rest) = ([A::Code::zeroed(); BLOCK], [B::Code::zeroed(); BLOCK]);
        let mut rest = [O::Code::zeroed(); BLOCK];
        a_rest[..a_tail.len()].copy_from_slice(a_tail);
        b_rest[..b_tail.len()].copy_from_slice(b_tail);
        let last = std::iter::once((((&a_rest, &b_rest), &mut rest), false)).take(out_tail.len());
        let whole = a.iter().zip(b).zip(out).map(|block| (block, self.streams));
        for (((a, b), out), streams) in whole.chain(last) {
            // Twice, so that what is not streamed goes from registers to its place: twice as fast.
            if streams {
                simd::prefetch(a);
                simd::prefetch(b);
                let mut result = [O::Code::zeroed(); BLOCK];
                Self::block::<FUSED>(a, b, &mut result);
                let out = bytemuck::cast_slice_mut(out);
                simd::stream(self.level, bytemuck::cast_slice(&result), out);
            } else {
                Self::block::<FUSED>(a, b, out);
            }
        }
        out_tail.copy_from_slice(&rest[..out_tail.len()]);
    }
}

fn run<V: Pod, A: Load<V>, B: Load<V>, O: Store<V>, F: Apply<V>>(
    level: Level,
    operands: &[&[u8]],
    out: &mut [u8],
    streams: bool,
) {
    let [a, b] = operands else { return };
    match level {
        Level::Avx512(proof) => {
            proof.run(Loop::<V, A::Wide, B::Wide, O::WideStore, F>::new(
                level, a, b, out, streams,
            ));
        }
        Level::Avx2(proof) => proof.run(Loop::<V, A, B, O, F>::new(level, a, b, out, streams)),
        // The baseline has no such kernel.
        Level::Scalar => {}
    }
}

macro_rules! kernels {
    ($($(#[$attribute:meta])? $a:ident $x:ty, $b:ident $y:ty => $v:ident $value:ty, $o:ident $out:ty;)*) => {
        /// The kernel of a row for operands of two dtypes, computed in a third and stored in a
        /// fourth; `None` where tiles are the way.
        pub(super) fn find(
            level: Level,
            op: Op,
            operands: [DType; 2],
            compute: DType,
            out: DType,
        ) -> Option<Kernel> {
            #[cfg(target_arch = "x86_64")]
            if operands == [out; 2]
                && compute == DType::F32
                && let Some(kernel) = crate::float8::find(level, op, out)
            {
                return Some(kernel);
            }
            // The baseline converts slowly and has no stores past the caches: tiles do as well.
            if level == Level::Scalar || cfg!(not(target_arch = "x86_64")) {
                return None;
            }
            match (operands, compute, out) {
                ([DType::BF16, DType::BF16], DType::F32, DType::BF16) => match op {
                    Op::Add => Some(pairs::run::<formula::Add, 2, { pairs::rounding(Op::Add) }>),
                    Op::Sub => Some(pairs::run::<formula::Sub, 2, { pairs::rounding(Op::Sub) }>),
                    Op::Mul => Some(pairs::run::<formula::Mul, 2, { pairs::rounding(Op::Mul) }>),
                    _ => None,
                },
                $($(#[$attribute])? ([DType::$a, DType::$b], DType::$v, DType::$o) => match op {
                    Op::Add => Some(run::<$value, $x, $y, $out, formula::Add>),
                    Op::Sub => Some(run::<$value, $x, $y, $out, formula::Sub>),
                    Op::Mul => Some(run::<$value, $x, $y, $out, formula::Mul>),
                    _ => None,
                },)*
                _ => None,
            }
        }
    };
}
kernels! {
    #[cfg(target_arch = "x86_64")] F16 Half, F16 Half => F32 f32, F16 Half;
    F32 f32, BF16 Brain => F32 f32, F32 f32;
    BF16 Brain, F32 f32 => F32 f32, F32 f32;
    #[cfg(target_arch = "x86_64")] F32 f32, F16 Half => F32 f32, F32 f32;
    #[cfg(target_arch = "x86_64")] F16 Half, F32 f32 => F32 f32, F32 f32;
    BF16 Brain, BF16 Brain => F32 f32, F32 f32;
    F32 f32, F32 f32 => F32 f32, BF16 Brain;
    F32 f32, BF16 Brain => F32 f32, BF16 Brain;
    BF16 Brain, F32 f32 => F32 f32, BF16 Brain;
    #[cfg(target_arch = "x86_64")] F16 Half, F16 Half => F32 f32, F32 f32;
    #[cfg(target_arch = "x86_64")] F32 f32, F32 f32 => F32 f32, F16 Half;
    #[cfg(target_arch = "x86_64")] F32 f32, F16 Half => F32 f32, F16 Half;
    #[cfg(target_arch = "x86_64")] F16 Half, F32 f32 => F32 f32, F16 Half;
    F32 f32, U8 u8 => F32 f32, F32 f32;
    U8 u8, F32 f32 => F32 f32, F32 f32;
    F32 f32, I8 i8 => F32 f32, F32 f32;
    I8 i8, F32 f32 => F32 f32, F32 f32;
    F64 f64, F32 f32 => F64 f64, F64 f64;
    F32 f32, F64 f64 => F64 f64, F64 f64;
    I64 i64, I8 i8 => I64 i64, I64 i64;
    I8 i8, I64 i64 => I64 i64, I64 i64;
    I64 i64, U8 u8 => I64 i64, I64 i64;
    U8 u8, I64 i64 => I64 i64, I64 i64;
    I64 i64, I32 i32 => I64 i64, I64 i64;
    I32 i32, I64 i64 => I64 i64, I64 i64;
    C64 c64, F32 f32 => C64 c64, C64 c64;
    F32 f32, C64 c64 => C64 c64, C64 c64;
}
