//! How many numbers become one: the steps of each reduction, per compute type.
//!
//! Lanes take turns over a block of elements, so that the loop vectorises and no lane adds many
//! numbers; blocks are joined in a wider accumulator, in an order that only the shape decides.

use allotrope_dtype::{DType, Level, c64, c128};
use bytemuck::Pod;

use super::reduce;
use crate::tile::is_half;

/// A reduction of items.
pub(crate) trait Folding: 'static {
    /// What is read.
    type Item: Pod + Send + Sync;
    /// What one lane of a loop holds.
    type Lane: Copy;
    /// What joins the results of loops.
    type Wide: Copy + Send + Sync;
    /// What comes out.
    type Out: Pod + Send + Sync;

    /// A lane that has seen nothing.
    fn start() -> Self::Lane;
    /// A lane after one more item.
    fn step(lane: Self::Lane, item: Self::Item) -> Self::Lane;
    /// Two lanes as one.
    fn join(a: Self::Lane, b: Self::Lane) -> Self::Lane;
    /// A lane as a wide accumulator.
    fn widen(lane: Self::Lane) -> Self::Wide;
    /// Two wide accumulators as one, the earlier first.
    fn merge(a: Self::Wide, b: Self::Wide) -> Self::Wide;
    /// The result.
    fn finish(wide: Self::Wide) -> Self::Out;

    /// How items are folded that are still codes of 16 bits, at levels above Scalar.
    const NARROW: Option<Narrow<Self>> = None;
}

/// Folds that convert narrower items on the way: of which dtypes, a run, and rows into a row of lanes.
pub(crate) struct Narrow<F: Folding + ?Sized> {
    pub(crate) reads: fn(Level, DType) -> bool,
    pub(crate) run: fn(Level, DType, &[u8]) -> F::Wide,
    pub(crate) rows: fn(Level, DType, &mut [F::Lane], &[u8]),
}

/// A sum of float64 with what its rounding left out.
#[derive(Clone, Copy, Default)]
pub(crate) struct Compensated {
    sum: f64,
    rest: f64,
}

impl Compensated {
    fn new(sum: f64) -> Self {
        Self { sum, rest: 0.0 }
    }

    fn add(self, other: Self) -> Self {
        let sum = self.sum + other.sum;
        let back = sum - self.sum;
        let lost = (self.sum - (sum - back)) + (other.sum - back);
        // Infinities and NaN have no rest.
        let lost = if lost.is_finite() { lost } else { 0.0 };
        Self {
            sum,
            rest: self.rest + other.rest + lost,
        }
    }

    fn get(self) -> f64 {
        self.sum + self.rest
    }
}

/// The sum.
pub(crate) struct Sum<T>(std::marker::PhantomData<T>);
/// The product.
pub(crate) struct Prod<T>(std::marker::PhantomData<T>);
/// The greatest; NaN if there is one.
pub(crate) struct Max<T>(std::marker::PhantomData<T>);
/// The least; NaN if there is one.
pub(crate) struct Min<T>(std::marker::PhantomData<T>);

macro_rules! impl_folding {
    ($fold:ty, $item:ty, $lane:ty, $wide:ty, $out:ty, $start:expr,
     |$a:ident, $x:ident| $step:expr, |$l:ident, $r:ident| $join:expr,
     |$lane_in:ident| $widen:expr, |$w:ident, $v:ident| $merge:expr, |$f:ident| $finish:expr $(, $extra:item)?) => {
        impl Folding for $fold {
            type Item = $item;
            type Lane = $lane;
            type Wide = $wide;
            type Out = $out;
            #[inline(always)]
            fn start() -> $lane {
                $start
            }
            #[inline(always)]
            fn step($a: $lane, $x: $item) -> $lane {
                $step
            }
            #[inline(always)]
            fn join($l: $lane, $r: $lane) -> $lane {
                $join
            }
            #[inline(always)]
            fn widen($lane_in: $lane) -> $wide {
                $widen
            }
            #[inline(always)]
            fn merge($w: $wide, $v: $wide) -> $wide {
                $merge
            }
            #[inline(always)]
            fn finish($f: $wide) -> $out {
                $finish
            }
            $($extra)?
        }
    };
}

impl_folding!(
    Sum<f32>,
    f32,
    f32,
    f64,
    f64,
    0.0,
    |a, x| a + x,
    |l, r| l + r,
    |a| f64::from(a),
    |w, v| w + v,
    |f| f,
    const NARROW: Option<Narrow<Self>> = Some(Narrow {
        reads: is_half,
        run: reduce::fold_run_of_halves::<Self>,
        rows: reduce::fold_rows_of_halves::<Self>,
    });
);
impl_folding!(
    Sum<f64>,
    f64,
    f64,
    Compensated,
    f64,
    0.0,
    |a, x| a + x,
    |l, r| l + r,
    |a| Compensated::new(a),
    |w, v| w.add(v),
    |f| f.get()
);
impl_folding!(
    Sum<c64>,
    c64,
    c64,
    c128,
    c128,
    c64::new(0.0, 0.0),
    |a, x| a + x,
    |l, r| l + r,
    |a| c128::new(a.re.into(), a.im.into()),
    |w, v| w + v,
    |f| f
);
impl_folding!(
    Sum<c128>,
    c128,
    c128,
    [Compensated; 2],
    c128,
    c128::new(0.0, 0.0),
    |a, x| a + x,
    |l, r| l + r,
    |a| [Compensated::new(a.re), Compensated::new(a.im)],
    |w, v| [w[0].add(v[0]), w[1].add(v[1])],
    |f| c128::new(f[0].get(), f[1].get())
);

impl_folding!(
    Sum<i64>,
    i64,
    i64,
    i64,
    i64,
    0,
    |a, x| a.wrapping_add(x),
    |l, r| l.wrapping_add(r),
    |a| a,
    |w, v| w.wrapping_add(v),
    |f| f,
    const NARROW: Option<Narrow<Self>> = Some(Narrow {
        reads: |_, dtype| reduce::is_small_integer(dtype),
        run: reduce::fold_run_of_integers::<Self>,
        rows: reduce::fold_rows_of_integers::<Self>,
    });
);

macro_rules! impl_plain {
    ($($fold:ident<$ty:ty>: $start:expr, |$a:ident, $x:ident| $step:expr;)*) => {$(
        impl_folding!($fold<$ty>, $ty, $ty, $ty, $ty, $start, |$a, $x| $step, |$a, $x| $step,
            |a| a, |$a, $x| $step, |f| f);
    )*};
}
impl_plain! {
    Sum<u64>: 0, |a, x| a.wrapping_add(x);
    Prod<f64>: 1.0, |a, x| a * x;
    Prod<c128>: c128::new(1.0, 0.0), |a, x| a * x;
    Prod<i64>: 1, |a, x| a.wrapping_mul(x);
    Prod<u64>: 1, |a, x| a.wrapping_mul(x);
    Max<f32>: f32::NEG_INFINITY, |a, x| if x > a || x.is_nan() { x } else { a };
    Max<f64>: f64::NEG_INFINITY, |a, x| if x > a || x.is_nan() { x } else { a };
    Min<f32>: f32::INFINITY, |a, x| if x < a || x.is_nan() { x } else { a };
    Min<f64>: f64::INFINITY, |a, x| if x < a || x.is_nan() { x } else { a };
}

macro_rules! impl_extremes {
    ($($int:ty)*) => {$(
        impl_plain! {
            Max<$int>: <$int>::MIN, |a, x| if x > a { x } else { a };
            Min<$int>: <$int>::MAX, |a, x| if x < a { x } else { a };
        }
    )*};
}
impl_extremes!(i8 i16 i32 i64 u8 u16 u32 u64);
