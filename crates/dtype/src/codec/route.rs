//! Which stages lead from one dtype to another, and the tiles they run in.
//!
//! At most three stages: decode, convert, encode. Kernels exist per pair of compute types, never
//! per pair of dtypes. float64 and wide integers reach the narrow floats through a float32 that is
//! rounded to odd, which makes the second rounding exact.

use super::fused;
use super::simd::{self, Mode, PLACES, Stores};
use super::stage::Stage;
use crate::DType::{self, Bool, F32, U8};
use crate::Level;
use crate::cast::Overflow;

/// Elements per tile: two stages of the widest compute type stay inside the first-level cache.
const TILE: usize = 1024;
/// Bytes of a tile of the widest compute type.
const TILE_BYTES: usize = TILE * 8;
/// Targets of at least this many bytes are written past the caches, which they would only flush.
const STREAM_FROM: usize = 8 << 20;

/// A way from one dtype to another in at most three stages.
#[derive(Clone, Copy)]
pub(super) struct Route {
    /// The stages, each with the size of an element it writes.
    stages: [(Stage, usize); 3],
    used: usize,
    from: DType,
    to: DType,
    overflow: Overflow,
}

impl Route {
    /// The route between two dtypes under a rule that `careful` does not need.
    pub(super) fn between(from: DType, to: DType, overflow: Overflow) -> Self {
        if from.is_complex() && to.is_complex() {
            // The components are twice as many real numbers.
            return Self::between(from.to_real(), to.to_real(), overflow);
        }
        let mut route = Self {
            stages: [(Stage::Copy, to.itemsize()); 3],
            used: 0,
            from,
            to,
            overflow,
        };
        if to == Bool {
            // From bool too: bytes from outside may be any, those that leave are 0 and 1.
            route.push(Stage::nonzero(from), to);
        } else if from == to {
            route.push(Stage::Copy, to);
        } else if from.bits() == 8 && to.itemsize() <= 4 && !loops_better(from, to) {
            route.push(Stage::table(from, to, overflow), to);
        } else {
            route.push_conversion(from, to, overflow);
        }
        route
    }

    fn push(&mut self, stage: Stage, writes: DType) {
        self.stages[self.used] = (stage, writes.itemsize());
        self.used += 1;
    }

    /// Decode to a compute type, convert, encode; a stage that would do nothing is left out.
    fn push_conversion(&mut self, from: DType, to: DType, overflow: Overflow) {
        let real = to.to_real();
        let carrier = if from == Bool { U8 } else { from.compute() };
        if carrier != from {
            self.push(Stage::decode(from), carrier);
        }
        match real.format() {
            _ if carrier == real => {}
            Some(format) if real != real.compute() => {
                // Through float32, which must not round what the target rounds again.
                if carrier != F32 && carrier.fits_in(F32) {
                    self.push(Stage::convert(carrier, F32), F32);
                } else if carrier != F32 {
                    self.push(Stage::round_to_odd(carrier), F32);
                }
                self.push(Stage::encode(format, overflow), real);
            }
            _ => self.push(Stage::convert(carrier, real), real),
        }
        if to != real {
            self.push(Stage::interleave(real), to);
        }
    }

    /// Converts every element of `src`.
    pub(super) fn run(&self, level: Level, src: &[u8], dst: &mut [u8]) {
        let streams = dst.len() >= STREAM_FROM;
        let mode = |places| Mode {
            level,
            stores: if streams {
                Stores::Streamed { places }
            } else {
                Stores::Cached
            },
        };
        let mut scratch;
        if self.used == 1 {
            self.stages[0].0.run(mode(PLACES), src, dst);
        } else if let (true, Some(wide)) = (streams, level.avx512()) {
            // Up to the first cache line by tiles, from there in one pass if there is one.
            let head = dst.as_ptr().addr().wrapping_neg() % 64 / self.to.itemsize();
            let (src_head, src) = src.split_at(head * self.from.itemsize());
            let (dst_head, dst) = dst.split_at_mut(head * self.to.itemsize());
            scratch = Scratch::new();
            self.run_tiles(mode(1), src_head, dst_head, &mut scratch);
            if !fused::stream(wide, self.from, self.to, self.overflow, src, dst) {
                self.run_tiles(mode(1), src, dst, &mut scratch);
            }
        } else {
            scratch = Scratch::new();
            self.run_tiles(mode(1), src, dst, &mut scratch);
        }
        if streams {
            simd::finish_streams();
        }
    }

    /// Converts what is in the caches and stays there, with scratch memory of the caller.
    pub(super) fn run_cached(
        &self,
        level: Level,
        src: &[u8],
        dst: &mut [u8],
        scratch: &mut Scratch,
    ) {
        let stores = Stores::Cached;
        let mode = Mode { level, stores };
        if self.used == 1 {
            self.stages[0].0.run(mode, src, dst);
        } else {
            self.run_tiles(mode, src, dst, scratch);
        }
    }

    /// Tile by tile, so that what stages hand on stays in the first-level cache.
    fn run_tiles(&self, mode: Mode, src: &[u8], dst: &mut [u8], scratch: &mut Scratch) {
        let (from, to) = (TILE * self.from.itemsize(), TILE * self.to.itemsize());
        for (src, dst) in src.chunks(from).zip(dst.chunks_mut(to)) {
            self.run_tile(mode, src, dst, scratch);
        }
    }

    /// One tile through two or three stages.
    fn run_tile(&self, mode: Mode, src: &[u8], dst: &mut [u8], scratch: &mut Scratch) {
        let count = src.len() / self.from.itemsize();
        let inner = Mode {
            stores: Stores::Cached,
            ..mode
        };
        let [(start, a), (next, b), (end, _)] = self.stages;
        let one = &mut scratch.one.0[..count * a];
        start.run(inner, src, one);
        if self.used == 2 {
            next.run(mode, one, dst);
        } else {
            let two = &mut scratch.two.0[..count * b];
            next.run(inner, one, two);
            end.run(mode, two, dst);
        }
    }
}

/// Bytes at the start of a cache line.
#[repr(C, align(64))]
struct Aligned([u8; TILE_BYTES]);

/// What stages before the last one write to.
pub struct Scratch {
    one: Aligned,
    two: Aligned,
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl Scratch {
    fn new() -> Self {
        Self {
            one: Aligned([0; TILE_BYTES]),
            two: Aligned([0; TILE_BYTES]),
        }
    }
}

/// Whether a loop does an 8-bit source better than a table: integers that widen.
fn loops_better(from: DType, to: DType) -> bool {
    from.is_integer() && (to.is_integer() || to == F32)
}
