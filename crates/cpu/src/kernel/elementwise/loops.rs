//! The loops that rows are run in, with or without a copy of the formula for what fills no vector.

use std::marker::PhantomData;

use allotrope_dtype::c64;
use allotrope_op::table::formula::{ComplexMap, FloatMap};
use bytemuck::Pod;

use super::{Pair, Real};
use crate::simd;

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

/// The loop of a row.
#[inline(always)]
pub(super) fn one_loop<T: Pod, F: Formula<T, N>, const N: usize, const FUSED: bool>(
    args: [&[T]; N],
    out: &mut [T],
) {
    let args = of_length(args, out.len());
    for (i, out) in out.iter_mut().enumerate() {
        let x: [T; N] = simd::one_by_one::<FUSED, _>(std::array::from_fn(|k| args[k][i]));
        *out = F::of::<FUSED>(x);
    }
}

/// Runs the loop of a row with as many elements as fill whole vectors, and once more with the rest in
/// memory of their own. So there is no second copy of the formula for what is left over, which takes
/// as much room as that for vectors.
#[inline(always)]
fn in_whole_vectors<T, F, const N: usize, const LANES: usize, const FUSED: bool>(
    args: [&[T]; N],
    out: &mut [T],
) where
    T: Pod,
    F: Formula<T, N>,
{
    const { assert!(LANES <= MOST_LANES) };
    let args = of_length(args, out.len());
    let whole = out.len() / LANES * LANES;
    let (mut out, left) = out.split_at_mut(whole);
    let mut rest = [[T::zeroed(); MOST_LANES]; N];
    for (rest, arg) in rest.iter_mut().zip(&args) {
        rest[..left.len()].copy_from_slice(&arg[whole..whole + left.len()]);
    }
    let mut rest_out = [T::zeroed(); MOST_LANES];
    let mut args: [&[T]; N] = std::array::from_fn(|k| &args[k][..whole]);
    let mut is_rest = false;
    loop {
        let count = out.len() / LANES * LANES;
        one_loop::<T, F, N, FUSED>(args.map(|arg| &arg[..count]), &mut out[..count]);
        if is_rest || left.is_empty() {
            break;
        }
        args = std::array::from_fn(|k| &rest[k][..LANES]);
        out = &mut rest_out[..LANES];
        is_rest = true;
    }
    left.copy_from_slice(&rest_out[..left.len()]);
}

/// [`in_whole_vectors`] with the lanes of a width, for rows over complex numbers; in the baseline of
/// x86-64 the plain loop, which has no vectors.
#[inline(always)]
pub(super) fn long_loop<T, F, const N: usize, const FUSED: bool>(args: [&[T]; N], out: &mut [T])
where
    T: Pod,
    F: Formula<T, N>,
{
    if cfg!(target_arch = "x86_64") && !FUSED {
        one_loop::<T, F, N, FUSED>(args, out);
    } else if size_of::<T>() == size_of::<f32>() || size_of::<T>() == size_of::<c64>() {
        in_whole_vectors::<T, F, N, 16, FUSED>(args, out);
    } else {
        in_whole_vectors::<T, F, N, 8, FUSED>(args, out);
    }
}
