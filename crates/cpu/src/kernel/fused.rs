//! Sums, differences and products of two operands that are converted on the way, in one pass.
//!
//! A tile reads its operands one after the other; beyond the caches only a loop that reads them
//! side by side takes all the bandwidth of memory. Results are those of the tiles, bit for bit.

use std::marker::PhantomData;
use std::num::Wrapping;

use allotrope_dtype::{DType, Level, c64};
use allotrope_op::table::formula::{self, ComplexMap, FloatMap, IntMap};
use allotrope_op::{Complex, Number, Op};
use bytemuck::{Pod, Zeroable};

use crate::simd::{self, BLOCK, Body};

/// A row over two slices of bytes, and the result. The last argument asks for a result past the
/// caches. All have as many elements.
pub(crate) type Kernel = fn(Level, &[u8], &[u8], &mut [u8], bool);

/// How a block of elements becomes numbers of the compute dtype.
trait Load<V> {
    type Code: Pod;
    fn load(codes: &[Self::Code; BLOCK]) -> [V; BLOCK];
}

/// How a block of numbers becomes elements.
trait Store<V>: Load<V> {
    fn store(values: [V; BLOCK]) -> [Self::Code; BLOCK];
}

/// What a row makes of two numbers.
trait Apply<V> {
    fn apply<const FUSED: bool>(x: V, y: V) -> V;
}

/// A function of each element of a block.
#[inline(always)]
fn map<A: Copy, B: Pod>(from: &[A; BLOCK], f: impl Fn(A) -> B) -> [B; BLOCK] {
    let mut to = [B::zeroed(); BLOCK];
    for (to, from) in to.iter_mut().zip(from) {
        *to = f(*from);
    }
    to
}

/// Elements that a cast by `as` or less makes numbers.
macro_rules! plain {
    ($($code:ty => $value:ty, |$x:ident| $number:expr;)*) => {$(
        impl Load<$value> for $code {
            type Code = $code;
            #[inline(always)]
            fn load(codes: &[$code; BLOCK]) -> [$value; BLOCK] {
                map(codes, |$x| $number)
            }
        }
    )*};
}
plain! {
    u8 => f32, |x| f32::from(x);
    i8 => f32, |x| f32::from(x);
    f32 => f64, |x| f64::from(x);
    u8 => i64, |x| i64::from(x);
    i8 => i64, |x| i64::from(x);
    i32 => i64, |x| i64::from(x);
    f32 => c64, |x| c64::new(x, 0.0);
}

/// The numbers themselves, and how rows are applied to them.
macro_rules! itself {
    ($($value:ty, $map:ident, |$x:ident| $wrap:expr, |$y:ident| $unwrap:expr;)*) => {$(
        impl Load<$value> for $value {
            type Code = $value;
            #[inline(always)]
            fn load(codes: &[$value; BLOCK]) -> [$value; BLOCK] {
                *codes
            }
        }
        impl Store<$value> for $value {
            #[inline(always)]
            fn store(values: [$value; BLOCK]) -> [$value; BLOCK] {
                values
            }
        }
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
itself! {
    f32, FloatMap, |x| Number::<f32, FUSED>(x), |y| y.0;
    f64, FloatMap, |x| Number::<f64, FUSED>(x), |y| y.0;
    i64, IntMap, |x| Wrapping(x), |y| y.0;
    c64, ComplexMap,
        |x| Complex::new(Number::<f32, FUSED>(x.re), Number::<f32, FUSED>(x.im)),
        |y| c64::new(y.re.0, y.im.0);
}

/// bfloat16, as the codec has it.
struct Brain;

impl Load<f32> for Brain {
    type Code = u16;
    #[inline(always)]
    fn load(codes: &[u16; BLOCK]) -> [f32; BLOCK] {
        map(codes, |code| f32::from_bits(u32::from(code) << 16))
    }
}

impl Store<f32> for Brain {
    #[inline(always)]
    fn store(values: [f32; BLOCK]) -> [u16; BLOCK] {
        map(&values, |x| {
            let bits = x.to_bits();
            let rounded = bits.wrapping_add(0x7FFF + (bits >> 16 & 1));
            let quiet = bits | 0x0040_0000;
            ((if x.is_nan() { quiet } else { rounded }) >> 16) as u16
        })
    }
}

/// float16 by the CPU's own instructions: for levels above Scalar only.
#[cfg(target_arch = "x86_64")]
struct Half;

#[cfg(target_arch = "x86_64")]
impl Load<f32> for Half {
    type Code = u16;
    #[inline(always)]
    fn load(codes: &[u16; BLOCK]) -> [f32; BLOCK] {
        simd::decode_f16(codes)
    }
}

#[cfg(target_arch = "x86_64")]
impl Store<f32> for Half {
    #[inline(always)]
    fn store(values: [f32; BLOCK]) -> [u16; BLOCK] {
        simd::encode_f16(&values)
    }
}

/// The loop of a row over two operands.
struct Loop<'a, V, A: Load<V>, B: Load<V>, O: Store<V>, F> {
    level: Level,
    a: &'a [A::Code],
    b: &'a [B::Code],
    out: &'a mut [O::Code],
    streams: bool,
    row: PhantomData<(V, F)>,
}

impl<V: Pod, A: Load<V>, B: Load<V>, O: Store<V>, F: Apply<V>> Body for Loop<'_, V, A, B, O, F> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let block = |a: &[A::Code; BLOCK], b: &[B::Code; BLOCK]| {
            let (x, y) = (A::load(a), B::load(b));
            let mut result = [V::zeroed(); BLOCK];
            for (i, result) in result.iter_mut().enumerate() {
                *result = F::apply::<FUSED>(x[i], y[i]);
            }
            O::store(result)
        };
        let ((a, a_tail), (b, b_tail)) = (self.a.as_chunks(), self.b.as_chunks());
        let (out, out_tail) = self.out.as_chunks_mut();
        let blocks = a.iter().zip(b).zip(out);
        if self.streams {
            for ((a, b), out) in blocks {
                simd::prefetch(a);
                simd::prefetch(b);
                let result = block(a, b);
                let out = bytemuck::cast_slice_mut(out);
                simd::stream(self.level, bytemuck::cast_slice(&result), out);
            }
        } else {
            for ((a, b), out) in blocks {
                *out = block(a, b);
            }
        }
        if !out_tail.is_empty() {
            let (mut a, mut b) = ([A::Code::zeroed(); BLOCK], [B::Code::zeroed(); BLOCK]);
            a[..a_tail.len()].copy_from_slice(a_tail);
            b[..b_tail.len()].copy_from_slice(b_tail);
            out_tail.copy_from_slice(&block(&a, &b)[..out_tail.len()]);
        }
    }
}

fn run<V: Pod, A: Load<V>, B: Load<V>, O: Store<V>, F: Apply<V>>(
    level: Level,
    a: &[u8],
    b: &[u8],
    out: &mut [u8],
    streams: bool,
) {
    let body = Loop::<V, A, B, O, F> {
        level,
        a: bytemuck::cast_slice(a),
        b: bytemuck::cast_slice(b),
        out: bytemuck::cast_slice_mut(out),
        streams,
        row: PhantomData,
    };
    simd::run(level, body);
}

macro_rules! kernels {
    ($($(#[$attribute:meta])? $a:ident $x:ty, $b:ident $y:ty => $v:ident $value:ty, $o:ident $out:ty;)*) => {
        /// The kernel of a row for operands of two dtypes, computed in a third and stored in a
        /// fourth; `None` where tiles are the way.
        pub(crate) fn find(
            level: Level,
            op: Op,
            operands: [DType; 2],
            compute: DType,
            out: DType,
        ) -> Option<Kernel> {
            // The baseline has no instruction for float16.
            if level == Level::Scalar && [operands[0], operands[1], out].contains(&DType::F16) {
                return None;
            }
            match (operands, compute, out) {
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
    BF16 Brain, BF16 Brain => F32 f32, BF16 Brain;
    #[cfg(target_arch = "x86_64")] F16 Half, F16 Half => F32 f32, F16 Half;
    F32 f32, BF16 Brain => F32 f32, F32 f32;
    BF16 Brain, F32 f32 => F32 f32, F32 f32;
    #[cfg(target_arch = "x86_64")] F32 f32, F16 Half => F32 f32, F32 f32;
    #[cfg(target_arch = "x86_64")] F16 Half, F32 f32 => F32 f32, F32 f32;
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
