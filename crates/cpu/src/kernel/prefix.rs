//! What the numbers of a prefix become: accumulators and their steps, per compute type.
//!
//! Every start is the neutral element, so that -0 stays: `-0 + -0` is -0, `0 + -0` is not.
//!
//! float32 and halves accumulate in float64. float64 sums and all float products go strictly one
//! after the other: a window or a total may overflow where no prefix does.

use std::marker::PhantomData;

use allotrope_dtype::{Level, c64, c128};
use allotrope_op::elementary::{exp64, log64};
use allotrope_op::{Complex, Number};
use bytemuck::Pod;

use super::scan::{Digits, add_floats, add_integers};

/// A scan of items.
pub(crate) trait Prefix: 'static {
    /// What is read.
    type Item: Pod + Send + Sync;
    /// What accumulates.
    type Wide: Pod + Send + Sync;
    /// What is written.
    type Out: Pod + Send + Sync;

    /// Whether windows of a few items may be joined before what precedes them: only where they
    /// cannot leave the range that the prefixes stay in.
    const TREE: bool;
    /// Whether the total of a long segment is worth something.
    const CHUNKED: bool;

    /// The neutral accumulator.
    fn start() -> Self::Wide;
    /// One item as an accumulator.
    fn widen(item: Self::Item) -> Self::Wide;
    /// Two accumulators as one, the earlier first.
    fn merge(a: Self::Wide, b: Self::Wide) -> Self::Wide;
    /// The result.
    fn finish(wide: Self::Wide) -> Self::Out;
    /// The result, to be rounded once more: an odd last bit tells that something was lost.
    #[inline(always)]
    fn finish_odd(wide: Self::Wide) -> Self::Out {
        Self::finish(wide)
    }
    /// The prefixes of whole blocks of eight items by instructions of their own, as `TREE` has them,
    /// and the last accumulator; nothing where there are none. `ODD` as in `finish_odd`;
    /// `digits` is what is known of items with few of them.
    #[inline(always)]
    fn blocks<const ODD: bool>(
        level: Level,
        digits: Option<Digits>,
        carry: Self::Wide,
        items: &[Self::Item],
        out: &mut [Self::Out],
    ) -> Option<Self::Wide> {
        let _ = (level, digits, carry, items, out);
        None
    }
    /// Whether a total may stand for its items: one beyond the numbers may not.
    fn is_sound(wide: Self::Wide) -> bool {
        let _ = wide;
        true
    }
}

/// The sum.
pub(crate) struct Total<T>(PhantomData<T>);
/// The sum of numbers that lose nothing in it.
pub(crate) struct Exact<T>(PhantomData<T>);
/// The product.
pub(crate) struct Product<T>(PhantomData<T>);
/// The logarithm of the sum of exponentials, in float64.
pub(crate) struct LogSum;
/// The same of complex numbers: `logaddexp` one after the other, whose imaginary part goes on from that
/// of the larger number, so that another order would give another turn.
pub(crate) struct LogSumOfPairs;
/// A scan of float32 whose results are rounded once more: they keep an odd last bit where
/// something was lost, and the next rounding is that of the exact accumulator.
pub(crate) struct Narrow<P>(PhantomData<P>);

macro_rules! impl_prefix {
    ($($scan:ident<$item:ty>, $wide:ty, tree $tree:literal, chunked $chunked:literal, $start:expr,
        |$x:ident| $widen:expr, |$a:ident, $b:ident| $merge:expr, |$w:ident| $finish:expr,
        odd $odd:expr, sound |$s:ident| $sound:expr $(, blocks $blocks:path)?;)*) => {$(
        impl Prefix for $scan<$item> {
            type Item = $item;
            type Wide = $wide;
            type Out = $item;
            const TREE: bool = $tree;
            const CHUNKED: bool = $chunked;
            #[inline(always)]
            fn start() -> $wide {
                $start
            }
            #[inline(always)]
            fn widen($x: $item) -> $wide {
                $widen
            }
            #[inline(always)]
            fn merge($a: $wide, $b: $wide) -> $wide {
                $merge
            }
            #[inline(always)]
            fn finish($w: $wide) -> $item {
                $finish
            }
            #[inline(always)]
            fn finish_odd($w: $wide) -> $item {
                $odd
            }
            fn is_sound($s: $wide) -> bool {
                $sound
            }
            $(
                #[inline(always)]
                fn blocks<const ODD: bool>(
                    level: Level,
                    digits: Option<Digits>,
                    carry: $wide,
                    items: &[$item],
                    out: &mut [$item],
                ) -> Option<$wide> {
                    $blocks(level, ODD, digits, carry, items, out)
                }
            )?
        }
    )*};
}
// A float64 sum of eight float32 is always in range; products and sums of float64 are not.
impl_prefix! {
    Total<f32>,    f64,  tree true,  chunked true,  -0.0, |x| f64::from(x), |a, b| a + b, |w| w as f32, odd cut_odd(w), sound |_s| true, blocks add_floats;
    Exact<f32>,    f32,  tree true,  chunked true,  -0.0, |x| x, |a, b| a + b, |w| w, odd w, sound |_s| true;
    Total<f64>,    f64,  tree false, chunked true,  -0.0, |x| x, |a, b| a + b, |w| w, odd w, sound |s| s.is_finite();
    Total<i64>,    i64,  tree true,  chunked true,  0, |x| x, |a, b| a.wrapping_add(b), |w| w, odd w, sound |_s| true, blocks add_integers;
    Total<c64>,    c128, tree true,  chunked true,  c128::new(-0.0, -0.0), |x| c128::new(x.re.into(), x.im.into()), |a, b| a + b, |w| c64::new(w.re as f32, w.im as f32), odd c64::new(w.re as f32, w.im as f32), sound |_s| true;
    Total<c128>,   c128, tree false, chunked true,  c128::new(-0.0, -0.0), |x| x, |a, b| a + b, |w| w, odd w, sound |s| s.re.is_finite() && s.im.is_finite();
    Product<f32>,  f64,  tree false, chunked false, 1.0, |x| f64::from(x), |a, b| a * b, |w| w as f32, odd cut_odd(w), sound |_s| true;
    Product<f64>,  f64,  tree false, chunked false, 1.0, |x| x, |a, b| a * b, |w| w, odd w, sound |_s| true;
    Product<i64>,  i64,  tree true,  chunked true,  1, |x| x, |a, b| a.wrapping_mul(b), |w| w, odd w, sound |_s| true;
    Product<c64>,  c128, tree false, chunked false, c128::new(1.0, 0.0), |x| c128::new(x.re.into(), x.im.into()), |a, b| a * b, |w| c64::new(w.re as f32, w.im as f32), odd c64::new(w.re as f32, w.im as f32), sound |_s| true;
    Product<c128>, c128, tree false, chunked false, c128::new(1.0, 0.0), |x| x, |a, b| a * b, |w| w, odd w, sound |_s| true;
}

impl<P: Prefix<Item = f32, Wide = f64, Out = f32>> Prefix for Narrow<P> {
    type Item = f32;
    type Wide = f64;
    type Out = f32;
    const TREE: bool = P::TREE;
    const CHUNKED: bool = P::CHUNKED;
    #[inline(always)]
    fn start() -> f64 {
        P::start()
    }
    #[inline(always)]
    fn widen(item: f32) -> f64 {
        P::widen(item)
    }
    #[inline(always)]
    fn merge(a: f64, b: f64) -> f64 {
        P::merge(a, b)
    }
    #[inline(always)]
    fn finish(wide: f64) -> f32 {
        P::finish_odd(wide)
    }
    #[inline(always)]
    fn blocks<const ODD: bool>(
        level: Level,
        digits: Option<Digits>,
        carry: f64,
        items: &[f32],
        out: &mut [f32],
    ) -> Option<f64> {
        P::blocks::<true>(level, digits, carry, items, out)
    }
}

/// Digits of a float64 behind the 15 that are kept for a float of at most 11.
pub(crate) const LEFT_OUT: u64 = (1 << 38) - 1;

/// A float64 cut to 15 digits, the last of them odd where something is left out: what float16,
/// bfloat16 and narrower make of that is what they make of all of it. Float32 has room for them, also
/// below its normal numbers as far as bfloat16 goes there.
#[inline(always)]
fn cut_odd(wide: f64) -> f32 {
    let bits = wide.to_bits();
    // A carry out of digits that are left out reaches the last one that is kept.
    let odd = ((bits & LEFT_OUT) + LEFT_OUT) | bits;
    f64::from_bits(odd & !LEFT_OUT) as f32
}

/// The greatest of the numbers and the sum of the exponentials of their distances from it.
impl Prefix for LogSum {
    type Item = f64;
    type Wide = [f64; 2];
    type Out = f64;
    const TREE: bool = true;
    const CHUNKED: bool = true;
    #[inline(always)]
    fn start() -> [f64; 2] {
        [f64::NEG_INFINITY, 0.0]
    }
    #[inline(always)]
    fn widen(item: f64) -> [f64; 2] {
        [item, 1.0]
    }
    #[inline(always)]
    fn merge([a, s]: [f64; 2], [b, t]: [f64; 2]) -> [f64; 2] {
        let most = if b > a || b.is_nan() { b } else { a };
        // Of equal infinities the distance is no number.
        let (down_a, down_b) = (
            if a == most { 0.0 } else { a - most },
            if b == most { 0.0 } else { b - most },
        );
        let exp = |x: f64| exp64(Number::<f64, false>(x)).0;
        [most, s * exp(down_a) + t * exp(down_b)]
    }
    #[inline(always)]
    fn finish([most, sum]: [f64; 2]) -> f64 {
        most + log64(Number::<f64, false>(sum)).0
    }
}

impl Prefix for LogSumOfPairs {
    type Item = c128;
    type Wide = c128;
    type Out = c128;
    const TREE: bool = false;
    const CHUNKED: bool = false;
    #[inline(always)]
    fn start() -> c128 {
        c128::new(f64::NEG_INFINITY, 0.0)
    }
    #[inline(always)]
    fn widen(item: c128) -> c128 {
        item
    }
    #[inline(always)]
    fn merge(a: c128, b: c128) -> c128 {
        log_add_exp(a, b)
    }
    #[inline(always)]
    fn finish(wide: c128) -> c128 {
        wide
    }
}

/// `logaddexp` of two numbers, in one place: a call is short beside it.
#[inline(never)]
fn log_add_exp(a: c128, b: c128) -> c128 {
    if a.re == f64::NEG_INFINITY {
        // Nothing, or nothing that the other could be seen beside.
        return b;
    }
    let pair = |z: c128| Complex::new(Number::<f64, false>(z.re), Number::<f64, false>(z.im));
    let sum = pair(a).logaddexp(pair(b));
    c128::new(sum.re.0, sum.im.0)
}
