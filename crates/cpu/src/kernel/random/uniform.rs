//! Numbers evenly between two bounds.

use allotrope_dtype::{DType, Element, FloatFormat, dispatch, encode_slice};

use super::part::{Drawn, Part};
use super::{Span, Stream, TILE, for_each_tile};

/// Fills `target` with numbers from `low` to below `high`, or with `low` if they are equal. Both
/// parts of a complex number are drawn so. Integers and bool have no such numbers.
///
/// A number is `low + u (high - low)` in the compute type, where `u` has 24 bits (53 for float64);
/// where that rounds up to `high`, it is the number before. The 8- and 16-bit floats are rounded
/// *down* from it: never to `high`, and below any of their numbers with exactly the probability
/// that the float32 draw is. Bounds must be numbers of the dtype, and their distance finite.
pub fn uniform(stream: Stream, (low, high): (f64, f64), dtype: DType, target: &mut [u8]) {
    dispatch!(dtype, |T: Inexact| fill::<T>(
        stream,
        (low, high),
        bytemuck::cast_slice_mut(target)
    ), else ());
}

fn fill<T: Element<Compute: Drawn>>(stream: Stream, bounds: (f64, f64), target: &mut [T]) {
    let grid = T::DTYPE.format().map(Grid::of);
    for_each_tile(stream, target, |span, _, tile| {
        if T::DTYPE == T::Compute::DTYPE {
            return draw::<T::Compute>(span, bounds, bytemuck::cast_slice_mut(tile));
        }
        let mut drawn = [0.0_f32; TILE];
        let drawn = &mut drawn[..tile.len()];
        draw::<f32>(span, bounds, drawn);
        if let Some(grid) = grid {
            drawn.iter_mut().for_each(|x| *x = grid.floor(*x));
        }
        let encoded = encode_slice::<T>(bytemuck::cast_slice(drawn), tile);
        debug_assert!(encoded.is_ok(), "a tile has one length");
    });
}

#[inline(always)]
fn draw<C: Drawn>(span: Span, bounds: (f64, f64), tile: &mut [C]) {
    let (low, high) = (C::Part::from_f64(bounds.0), C::Part::from_f64(bounds.1));
    let width = high - low;
    let last = if low < high { high.before() } else { high };
    let place = |bits| {
        let x = C::Part::fraction(bits) * width + low;
        if x > last { last } else { x }
    };
    C::each_part(span, place, tile);
}

/// The numbers of a format among those of float32.
#[derive(Clone, Copy)]
struct Grid {
    /// Digits that float32 has and the format has not.
    dropped: u32,
    /// Below this the format's numbers are a quantum apart.
    least_normal: f32,
    quantum: f32,
    /// One by the quantum.
    per_quantum: f32,
}

impl Grid {
    fn of(format: FloatFormat) -> Self {
        let dropped = (f32::MANTISSA_DIGITS - 1).saturating_sub(format.mantissa_bits);
        // With the exponents of float32, subnormals drop the same digits as all others.
        if format.exponent_bits >= 8 {
            return Self {
                dropped,
                least_normal: 0.0,
                quantum: 1.0,
                per_quantum: 1.0,
            };
        }
        Self {
            dropped,
            least_normal: f32::powi(2.0, format.min_exponent()),
            quantum: f32::powi(2.0, format.quantum_exponent()),
            per_quantum: f32::powi(2.0, -format.quantum_exponent()),
        }
    }

    /// The largest number of the format that is not above `x`, which is in its range.
    #[inline(always)]
    fn floor(self, x: f32) -> f32 {
        let dropped = (1_u32 << self.dropped) - 1;
        let bits = x.to_bits();
        // Below zero the floor is the number of the larger magnitude.
        let up = (bits as i32 >> 31) as u32 & dropped;
        let normal = f32::from_bits(bits.wrapping_add(up) & !dropped);
        let steps = x * self.per_quantum;
        let whole = steps as i32 as f32;
        let whole = if whole > steps { whole - 1.0 } else { whole };
        if x.abs() < self.least_normal {
            whole * self.quantum
        } else {
            normal
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floors_are_the_largest_number_not_above() {
        for dtype in DType::ALL
            .into_iter()
            .filter(|d| d.is_floating_point() && d.bits() <= 16)
        {
            let Some(format) = dtype.format() else {
                continue;
            };
            let grid = Grid::of(format);
            let numbers: Vec<f32> = (0..=format.max_code())
                .map(|code| format.decode(code) as f32)
                .collect();
            for pair in numbers.windows(2) {
                let (low, high) = (pair[0], pair[1]);
                for x in [
                    low,
                    low.next_up(),
                    low + (high - low) / 2.0,
                    high.next_down(),
                ] {
                    assert_eq!(grid.floor(x), low, "{dtype}: {x}");
                    if x > low {
                        assert_eq!(grid.floor(-x), -high, "{dtype}: {}", -x);
                    }
                }
            }
        }
    }
}
