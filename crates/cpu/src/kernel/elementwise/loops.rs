//! The loops that rows are run in, with or without a copy of the formula for what fills no vector.

use std::marker::PhantomData;

use allotrope_dtype::c64;
use allotrope_op::Complex;
use allotrope_op::table::formula::{ComplexMap, FloatMap};
use bytemuck::Pod;

use super::near::Near;
use super::{Pair, Real};

/// Slices of the same length as the result. It is called and not inlined: all it has to look at
/// would be in every loop once more.
#[inline(never)]
pub(super) fn typed<'a, T: Pod, const N: usize>(args: &[&'a [u8]], len: usize) -> [&'a [T]; N] {
    std::array::from_fn(|i| &bytemuck::cast_slice(args[i])[..len])
}

/// The result, likewise.
#[inline(never)]
pub(super) fn typed_mut<T: Pod>(out: &mut [u8]) -> &mut [T] {
    bytemuck::cast_slice_mut(out)
}

/// The slices, of which the compiler then knows the length.
#[inline(always)]
pub(super) fn of_length<T, const N: usize>(args: [&[T]; N], len: usize) -> [&[T]; N] {
    args.map(|arg| &arg[..len])
}

/// The most elements that fill a vector.
const MOST_LANES: usize = 16;

/// What a row makes of elements, as a function that is inlined into loops.
pub(super) trait Formula<T, const N: usize> {
    fn of<const FUSED: bool>(x: [T; N]) -> T;
}

/// The formula of a row over floats.
pub(super) struct OfFloats<F>(PhantomData<F>);

impl<T: Real, F: FloatMap<N>, const N: usize> Formula<T, N> for OfFloats<F> {
    #[inline(always)]
    fn of<const FUSED: bool>(x: [T; N]) -> T {
        T::unwrap(F::call(std::array::from_fn(|k| x[k].wrap::<FUSED>())))
    }
}

/// The same for numbers below the limit of the width.
pub(super) struct OfNear<F>(PhantomData<F>);

impl<T: Real, F: FloatMap<N>, const N: usize> Formula<T, N> for OfNear<F> {
    #[inline(always)]
    fn of<const FUSED: bool>(x: [T; N]) -> T {
        T::unwrap(F::near(std::array::from_fn(|k| x[k].wrap::<FUSED>())))
    }
}

/// The formula of a row over complex numbers.
pub(super) struct OfPairs<F>(PhantomData<F>);

impl<T: Pair, F: ComplexMap<N>, const N: usize> Formula<T, N> for OfPairs<F> {
    #[inline(always)]
    fn of<const FUSED: bool>(x: [T; N]) -> T {
        T::unwrap(F::call(std::array::from_fn(|k| x[k].wrap::<FUSED>())))
    }
}

/// The same for numbers whose parts are below the limits of sines.
pub(super) struct OfNearPairs<F>(PhantomData<F>);

impl<T: Pair, F: ComplexMap<N>, const N: usize> Formula<T, N> for OfNearPairs<F> {
    #[inline(always)]
    fn of<const FUSED: bool>(x: [T; N]) -> T {
        let Complex { re, im } = F::call(std::array::from_fn(|k| {
            let Complex { re, im } = x[k].wrap::<FUSED>();
            Complex::new(Near(re), Near(im))
        }));
        T::unwrap(Complex::new(re.0, im.0))
    }
}

/// Blocks of the operands and of the result; what is left over goes the same way, in memory of its own.
/// A macro, since a closure that is not inlined is compiled for the baseline.
macro_rules! in_blocks {
    ($args:expr, $out:expr, |$x:ident: [&[$T:ty; BLOCK]; $N:ident], $result:ident| $body:block) => {{
        let (args, out) = ($args, $out);
        let args = of_length(args, out.len());
        let (whole, left) = out.as_chunks_mut::<BLOCK>();
        let mut blocks = args.map(|arg| arg.as_chunks::<BLOCK>().0.iter());
        let mut rest = [[<$T>::zeroed(); BLOCK]; $N];
        let start = whole.len() * BLOCK;
        for (rest, arg) in rest.iter_mut().zip(args) {
            rest[..left.len()].copy_from_slice(&arg[start..start + left.len()]);
        }
        let mut rest_out = [<$T>::zeroed(); BLOCK];
        let last = std::iter::once(&mut rest_out).take(left.len());
        for $result in whole.iter_mut().chain(last) {
            let $x: [&[$T; BLOCK]; $N] =
                std::array::from_fn(|k| blocks[k].next().unwrap_or(&rest[k]));
            $body
        }
        left.copy_from_slice(&rest_out[..left.len()]);
    }};
}
pub(super) use in_blocks;

/// The loop of a row.
#[inline(always)]
pub(super) fn one_loop<T: Pod, F: Formula<T, N>, const N: usize, const FUSED: bool>(
    args: [&[T]; N],
    out: &mut [T],
) {
    let args = of_length(args, out.len());
    for (i, out) in out.iter_mut().enumerate() {
        *out = F::of::<FUSED>(std::array::from_fn(|k| args[k][i]));
    }
}

/// Runs the loop of a row with as many elements as fill whole vectors, and once more with the rest in
/// memory of their own: few elements are as fast as a vector of them.
#[inline(always)]
pub(super) fn in_whole_vectors<T, F, const N: usize, const FUSED: bool>(
    args: [&[T]; N],
    out: &mut [T],
) where
    T: Pod,
    F: Formula<T, N>,
{
    let lanes = MOST_LANES / (size_of::<T>() / size_of::<c64>()).max(1);
    let args = of_length(args, out.len());
    let whole = out.len() / lanes * lanes;
    let (mut out, left) = out.split_at_mut(whole);
    let mut rest = [[T::zeroed(); MOST_LANES]; N];
    for (rest, arg) in rest.iter_mut().zip(&args) {
        rest[..left.len()].copy_from_slice(&arg[whole..whole + left.len()]);
    }
    let mut rest_out = [T::zeroed(); MOST_LANES];
    let mut args: [&[T]; N] = std::array::from_fn(|k| &args[k][..whole]);
    let mut is_rest = false;
    loop {
        let count = out.len() / lanes * lanes;
        one_loop::<T, F, N, FUSED>(args.map(|arg| &arg[..count]), &mut out[..count]);
        if is_rest || left.is_empty() {
            break;
        }
        args = std::array::from_fn(|k| &rest[k][..lanes]);
        out = &mut rest_out[..lanes];
        is_rest = true;
    }
    left.copy_from_slice(&rest_out[..left.len()]);
}
