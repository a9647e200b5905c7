//! Normal numbers.

use allotrope_dtype::{DType, Element, dispatch, encode_slice};

use super::part::{Drawn, Part};
use super::{Span, Stream, TILE, for_each_tile};

/// Fills `target` with normal numbers of this mean and standard deviation. The parts of a complex
/// number have half the variance each, and the mean is real. Integers and bool have no such numbers.
///
/// Computed in the compute type, and rounded to nearest from it. Elements `2k` and `2k + 1` are the
/// two numbers of one pair of Box and Muller, and so are the parts of a complex number. The largest
/// magnitude is 6.8 deviations from 32 random bits, and 9.5 from the 64 of float64.
pub fn normal(stream: Stream, mean: f64, deviation: f64, dtype: DType, target: &mut [u8]) {
    dispatch!(dtype, |T: Inexact| fill::<T>(
        stream,
        |_| (mean, deviation),
        bytemuck::cast_slice_mut(target)
    ), else ());
}

/// [`normal`] with a mean and a deviation for each element.
pub fn normal_each(
    stream: Stream,
    means: &[f64],
    deviations: &[f64],
    dtype: DType,
    target: &mut [u8],
) {
    dispatch!(dtype, |T: Inexact| fill::<T>(
        stream,
        |i| (means[i], deviations[i]),
        bytemuck::cast_slice_mut(target)
    ), else ());
}

fn fill<T: Element<Compute: Drawn>>(
    stream: Stream,
    moments: impl Fn(usize) -> (f64, f64) + Send + Sync,
    target: &mut [T],
) {
    for_each_tile(stream, target, |span, start, tile| {
        if T::DTYPE == T::Compute::DTYPE {
            return draw::<T::Compute>(span, start, &moments, bytemuck::cast_slice_mut(tile));
        }
        let mut drawn = [0.0_f32; TILE];
        let drawn = &mut drawn[..tile.len()];
        draw::<f32>(span, start, &moments, drawn);
        let encoded = encode_slice::<T>(bytemuck::cast_slice(drawn), tile);
        debug_assert!(encoded.is_ok(), "a tile has one length");
    });
}

#[inline(always)]
fn draw<C: Drawn>(span: Span, start: usize, moments: impl Fn(usize) -> (f64, f64), tile: &mut [C]) {
    C::normal(span, tile);
    for (i, x) in tile.iter_mut().enumerate() {
        let (mean, deviation) = moments(start + i);
        *x = x.scale(C::Part::from_f64(mean), C::Part::from_f64(deviation));
    }
}
