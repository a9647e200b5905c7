//! Numbers evenly between two bounds.

use allotrope_dtype::{DType, FloatFormat, Level, c64, c128};

use super::uniform_bits::{Drawn, Part};
use super::{Span, Stream, TILE, encode, for_each_tile_of};
use crate::simd::{self, Body};

/// Fills `target` with numbers from `low` to below `high`, or with `low` if they are equal. Both
/// parts of a complex number are drawn so. Integers and bool have no such numbers.
///
/// A number is `low + u (high - low)` in the compute type, where `u` has 24 bits (53 for float64);
/// where that rounds up to `high`, it is the number before. The 8- and 16-bit floats are rounded
/// *down* from it: never to `high`, and below any of their numbers with exactly the probability
/// that the float32 draw is. Bounds must be numbers of the dtype, and their distance finite.
pub fn uniform(level: Level, stream: Stream, bounds: (f64, f64), dtype: DType, target: &mut [u8]) {
    let fill = match dtype.compute() {
        DType::F32 if dtype != DType::F32 => {
            return fill_narrow(level, stream, bounds, dtype, target);
        }
        DType::F32 => fill::<f32>,
        DType::F64 => fill::<f64>,
        DType::C64 => fill::<c64>,
        DType::C128 => fill::<c128>,
        _ => return,
    };
    fill(level, stream, bounds, target);
}

fn fill<C: Drawn>(level: Level, stream: Stream, bounds: (f64, f64), target: &mut [u8]) {
    for_each_tile_of(level, C::DTYPE, stream, target, &|span, _, tile| {
        let tile: &mut [C] = bytemuck::cast_slice_mut(tile);
        simd::run(level, Tile { span, bounds, tile });
    });
}

fn fill_narrow(level: Level, stream: Stream, bounds: (f64, f64), dtype: DType, target: &mut [u8]) {
    let grid = dtype.format().map(Grid::of);
    for_each_tile_of(level, dtype, stream, target, &|span, _, tile| {
        let mut drawn = [0.0_f32; TILE];
        let drawn = &mut drawn[..tile.len() / dtype.itemsize()];
        let between = Tile {
            span,
            bounds,
            tile: &mut *drawn,
        };
        simd::run(level, between);
        if let Some(grid) = grid {
            let tile = &mut *drawn;
            simd::run(level, Floor { grid, tile });
        }
        encode(level, DType::F32, bytemuck::cast_slice(drawn), dtype, tile);
    });
}

/// Fills a tile of a compute type.
struct Tile<'a, C> {
    span: Span,
    bounds: (f64, f64),
    tile: &'a mut [C],
}

impl<C: Drawn> Body for Tile<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let (low, high) = self.bounds;
        let (low, high) = (C::Part::from_f64(low), C::Part::from_f64(high));
        let width = high - low;
        let last = if low < high { high.before() } else { high };
        let place = |bits| {
            let x = C::Part::fraction(bits) * width + low;
            if x > last { last } else { x }
        };
        C::each_part(self.span, place, self.tile);
    }
}

/// Rounds a tile down to a format.
struct Floor<'a> {
    grid: Grid,
    tile: &'a mut [f32],
}

impl Body for Floor<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        for x in self.tile {
            *x = self.grid.floor(*x);
        }
    }
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
        const SHIFT: f32 = 1.5 * (1 << 23) as f32;
        let dropped = (1_u32 << self.dropped) - 1;
        let bits = x.to_bits();
        // Below zero the floor is the number of the larger magnitude.
        let up = (bits as i32 >> 31) as u32 & dropped;
        let normal = f32::from_bits(bits.wrapping_add(up) & !dropped);
        let steps = x * self.per_quantum;
        // The last place of the sum is one, so that adding rounds; there are few steps.
        let whole = (steps + SHIFT) - SHIFT;
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
