//! The rows as functions: generic over what a number is, so that every interpreter shares them.
//!
//! Each row is a type; which traits it implements follows from its signature and its cells.

use super::math::*;
use crate::complex::Complex;
use crate::elementary::{EXP_NEAR_32, EXP_NEAR_64, Elementary, NEAR_32, NEAR_64};
use crate::whole::{Mask, Whole};

/// From floats to a float.
pub trait FloatMap<const N: usize> {
    /// The magnitudes below which [`near`](Self::near) holds, for float32 and float64, if it is
    /// another formula.
    const NEAR: Option<[f64; 2]> = None;
    /// Whether [`rough`](Self::rough) is another formula.
    const HAS_ROUGH: bool = false;

    /// The formula.
    fn call<L: Elementary>(args: [L; N]) -> L;

    /// A faster formula for magnitudes below a limit, with the same results.
    #[inline(always)]
    fn near<L: Elementary>(args: [L; N]) -> L {
        Self::call(args)
    }

    /// A faster formula for results that are used as bfloat16 alone, of a bfloat16: it gives the nearest.
    #[inline(always)]
    fn rough<L: Elementary>(args: [L; N]) -> L {
        Self::call(args)
    }

    /// [`rough`](Self::rough) as [`near`](Self::near) is to [`call`](Self::call).
    #[inline(always)]
    fn rough_near<L: Elementary>(args: [L; N]) -> L {
        Self::near(args)
    }

    /// A faster formula for results that are used as float16 alone, of a float16: if there is another
    /// than [`call`](Self::call), it gives the nearest with fused multiply-add.
    #[inline(always)]
    fn half<L: Elementary>(args: [L; N]) -> L {
        Self::rough(args)
    }

    /// [`half`](Self::half) as [`near`](Self::near) is to [`call`](Self::call).
    #[inline(always)]
    fn half_near<L: Elementary>(args: [L; N]) -> L {
        Self::rough_near(args)
    }
}

/// A row by its formula for results that are used as bfloat16 alone.
#[derive(Clone, Copy, Debug)]
pub struct Rough<F>(std::marker::PhantomData<F>);

impl<F: FloatMap<N>, const N: usize> FloatMap<N> for Rough<F> {
    // Where there is one for near numbers, both formulas have one.
    const NEAR: Option<[f64; 2]> = F::NEAR;

    #[inline(always)]
    fn call<L: Elementary>(args: [L; N]) -> L {
        F::rough(args)
    }

    #[inline(always)]
    fn near<L: Elementary>(args: [L; N]) -> L {
        F::rough_near(args)
    }
}

/// A row by its formula for results that are used as float16 alone.
#[derive(Clone, Copy, Debug)]
pub struct ForHalf<F>(std::marker::PhantomData<F>);

impl<F: FloatMap<N>, const N: usize> FloatMap<N> for ForHalf<F> {
    const NEAR: Option<[f64; 2]> = F::NEAR;

    #[inline(always)]
    fn call<L: Elementary>(args: [L; N]) -> L {
        F::half(args)
    }

    #[inline(always)]
    fn near<L: Elementary>(args: [L; N]) -> L {
        F::half_near(args)
    }
}

/// From floats to a truth value.
pub trait FloatTest<const N: usize> {
    /// The formula.
    fn call<L: Elementary>(args: [L; N]) -> L::Mask;
}

/// From complex numbers to a complex number.
pub trait ComplexMap<const N: usize> {
    /// The formula.
    fn call<R: Elementary>(args: [Complex<R>; N]) -> Complex<R>;
}

/// From complex numbers to a real number.
pub trait ComplexReal<const N: usize> {
    /// The formula.
    fn call<R: Elementary>(args: [Complex<R>; N]) -> R;
}

/// From complex numbers to a truth value.
pub trait ComplexTest<const N: usize> {
    /// The formula.
    fn call<R: Elementary>(args: [Complex<R>; N]) -> R::Mask;
}

/// From integers to an integer.
pub trait IntMap<const N: usize> {
    /// The formula.
    fn call<I: Whole>(args: [I; N]) -> I;
}

/// From integers to a truth value.
pub trait IntTest<const N: usize> {
    /// The formula.
    fn call<I: Whole>(args: [I; N]) -> I::Mask;
}

/// From truth values to a truth value.
pub trait BoolMap<const N: usize> {
    /// The formula.
    fn call<M: Mask>(args: [M; N]) -> M;
}

/// Implements the trait that a signature and a class of numbers ask for.
macro_rules! formula {
    ($class:ident $signature:ident $row:ident [$($arg:ident)*] promote $($faster:tt)*) => {};
    ($class:ident $signature:ident $row:ident [$($arg:ident)*] integer $($faster:tt)*) => {};
    ($class:ident $signature:ident $row:ident [$($arg:ident)*] refuse $($faster:tt)*) => {};
    (float Real $($rest:tt)*) => { formula!(float Map $($rest)*); };
    (int Real $($rest:tt)*) => { formula!(int Map $($rest)*); };
    ($class:ident Compare $($rest:tt)*) => { formula!($class Test $($rest)*); };
    (bool $signature:ident $row:ident [$($arg:ident)*] $body:tt) => {
        formula!(@impl $row [$($arg)*] BoolMap M Mask, M, M, $body);
    };
    (float Map $row:ident [$($arg:ident)*] $body:tt $($faster:tt)*) => {
        impl FloatMap<{ [$(stringify!($arg)),*].len() }> for $row {
            formula!(@method call [$($arg)*] $body);
            formula!(@faster [$($arg)*] $($faster)*);
        }
    };
    (@faster $args:tt) => {};
    (@faster $args:tt near $limits:tt $near:tt $(, $($rest:tt)+)?) => {
        const NEAR: Option<[f64; 2]> = Some($limits);
        formula!(@method near $args $near);
        $(formula!(@faster $args $($rest)+);)?
    };
    (@faster $args:tt rough $rough:tt $(near $near:tt $(half $half:tt near $half_near:tt)?)?) => {
        const HAS_ROUGH: bool = true;
        formula!(@method rough $args $rough);
        $(
            formula!(@method rough_near $args $near);
            $(
                formula!(@method half $args $half);
                formula!(@method half_near $args $half_near);
            )?
        )?
    };
    (@method $name:ident [$($arg:ident)*] $body:tt) => {
        #[inline(always)]
        #[allow(unused_variables, reason = "a formula may ignore an operand")]
        fn $name<L: Elementary>([$($arg),*]: [L; { [$(stringify!($arg)),*].len() }]) -> L $body
    };
    (float Test $row:ident [$($arg:ident)*] $body:tt) => {
        formula!(@impl $row [$($arg)*] FloatTest L Elementary, L, L::Mask, $body);
    };
    (complex Map $row:ident [$($arg:ident)*] $body:tt) => {
        formula!(@impl $row [$($arg)*] ComplexMap R Elementary, Complex<R>, Complex<R>, $body);
    };
    (complex Real $row:ident [$($arg:ident)*] $body:tt) => {
        formula!(@impl $row [$($arg)*] ComplexReal R Elementary, Complex<R>, R, $body);
    };
    (complex Test $row:ident [$($arg:ident)*] $body:tt) => {
        formula!(@impl $row [$($arg)*] ComplexTest R Elementary, Complex<R>, R::Mask, $body);
    };
    (int Map $row:ident [$($arg:ident)*] $body:tt) => {
        formula!(@impl $row [$($arg)*] IntMap I Whole, I, I, $body);
    };
    (int Test $row:ident [$($arg:ident)*] $body:tt) => {
        formula!(@impl $row [$($arg)*] IntTest I Whole, I, I::Mask, $body);
    };
    (@impl $row:ident [$($arg:ident)*] $trait:ident $T:ident $bound:ident, $from:ty, $to:ty, $body:tt) => {
        impl $trait<{ [$(stringify!($arg)),*].len() }> for $row {
            #[inline(always)]
            #[allow(unused_variables, reason = "a formula may ignore an operand")]
            fn call<$T: $bound>([$($arg),*]: [$from; { [$(stringify!($arg)),*].len() }]) -> $to $body
        }
    };
}

macro_rules! define_formulas {
    ($({ $variant:ident, $name:ident, ($($arg:ident),*) -> $out:ident, $signature:ident, $autocast:ident, $doc:literal,
         float $float:tt complex $complex:tt int $int:tt bool $bool:tt,
         d $d:tt, domain $domain:tt, ulp $ulp:literal $(, $($faster:tt)+)? })*) => {$(
        #[doc = $doc]
        #[derive(Clone, Copy, Debug)]
        pub struct $variant;
        formula!(float $signature $variant [$($arg)*] $float $($($faster)+)?);
        formula!(complex $signature $variant [$($arg)*] $complex);
        formula!(int $signature $variant [$($arg)*] $int);
        formula!(bool $signature $variant [$($arg)*] $bool);
    )*};
}
for_each_op!((define_formulas));
