//! How a product is cut: blocks of the result for threads, parts of the factors for caches.
//!
//! Few large blocks, since every block packs its factors anew.

use allotrope_dtype::Level;

use super::Product;
use super::arithmetic::Arithmetic;
use super::micro::Micro;

/// The largest block of the result, in rows of sums and in columns; half as many rows where sums
/// need room of their own.
const TALLEST: usize = 2048;
const BROADEST: usize = 1024;
/// Rows of sums that are packed at a time: they stay in the second-level cache.
const PART: usize = 384;
/// Multiplications below which threads cost more than they bring.
const SEQUENTIAL: usize = 80 * 80 * 80;
/// Multiplications that take as long as it does to begin a small product.
const LEAST: usize = 256;
/// The most ways to cut a dimension that are considered.
const WAYS: usize = 16;

/// How a product is cut into blocks.
pub(super) struct Cut {
    /// Rows and columns of a block.
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Blocks in each direction.
    pub(super) tall: usize,
    pub(super) broad: usize,
    /// Rows of a block that are packed at a time.
    pub(super) part: usize,
    /// Elements of the summed dimension per stretch, and stretches.
    pub(super) stretch: usize,
    pub(super) stretches: usize,
    /// Threads that take blocks.
    pub(super) threads: usize,
}

impl Cut {
    pub(super) fn new<A: Arithmetic>(level: Level, product: &Product<'_>, direct: bool) -> Self {
        let (tile_rows, tile_columns) = A::Sum::shape(level);
        let tile_rows = tile_rows / A::ROWS;
        let (m, k, n) = (product.rows, product.depth, product.columns);
        let count = product.offsets.len();
        let (stretch, stretches) = stretches(k, A::STRETCH);
        let each = m.saturating_mul(n).saturating_mul(k).max(LEAST);
        let work = each.saturating_mul(count);
        let threads = if work > SEQUENTIAL {
            crate::parallel::thread_count()
        } else {
            1
        };
        let tallest = if direct { TALLEST } else { TALLEST / 2 } / A::ROWS;
        let least = [m.div_ceil(tallest), n.div_ceil(BROADEST)].map(|parts| parts.max(1));
        let [mut rows, mut columns] = [
            even(m, least[0], tile_rows),
            even(n, least[1], tile_columns),
        ];
        // Time until the last thread is done: a tile's columns are multiplied per cycle, and to
        // pack a number takes about a cycle.
        let time = |rows: usize, columns: usize| {
            let blocks = m.div_ceil(rows) * n.div_ceil(columns) * count;
            let block = rows * columns / tile_columns + rows + columns;
            blocks.div_ceil(threads) * block
        };
        if threads > 1 {
            let ways = (2 * threads).min(WAYS);
            for tall in least[0]..=least[0] + ways {
                for broad in least[1]..=least[1] + ways {
                    let block = [even(m, tall, tile_rows), even(n, broad, tile_columns)];
                    if time(block[0], block[1]) < time(rows, columns) {
                        [rows, columns] = block;
                    }
                }
            }
        }
        let parts = rows.div_ceil(PART / A::ROWS);
        Self {
            rows,
            columns,
            tall: m.div_ceil(rows),
            broad: n.div_ceil(columns),
            part: even(rows, parts, tile_rows),
            stretch,
            stretches,
            threads,
        }
    }
}

/// The length of stretches of the summed dimension, and how many there are.
pub(super) fn stretches(depth: usize, most: usize) -> (usize, usize) {
    let parts = depth.div_ceil(most).max(1);
    // Even, since integers are packed in pairs.
    let stretch = depth.div_ceil(parts).next_multiple_of(8);
    (stretch, depth.div_ceil(stretch.max(1)).max(1))
}

/// The size of each of so many parts, in whole tiles.
fn even(size: usize, parts: usize, tile: usize) -> usize {
    size.div_ceil(parts.max(1)).max(1).next_multiple_of(tile)
}
