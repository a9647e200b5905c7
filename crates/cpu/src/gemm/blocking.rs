//! How a product is blocked: blocks of the result for threads, and MC, KC and NC for caches, as in BLIS.
//!
//! Few large blocks, since every block packs its factors anew.

use allotrope_dtype::Level;

use super::Product;
use super::arithmetic::Arithmetic;
use super::micro::Micro;

/// The largest block of the result, in rows of sums and in columns (BLIS: NC); half as many rows where
/// sums need room of their own.
const MOST_ROWS: usize = 2048;
const NC: usize = 1024;
/// Rows of sums that are packed at a time (BLIS: MC): they stay in the second-level cache.
const MC: usize = 384;
/// Multiplications below which threads cost more than they bring.
const SEQUENTIAL: usize = 80 * 80 * 80;
/// Multiplications that take as long as it does to begin a small product.
const LEAST: usize = 256;
/// The most ways to cut a dimension that are considered.
const WAYS: usize = 16;

/// How a product is cut into blocks.
pub(super) struct Blocking {
    /// Rows and columns of a block.
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Blocks in each direction.
    pub(super) row_blocks: usize,
    pub(super) column_blocks: usize,
    /// Rows of a block that are packed at a time.
    pub(super) mc: usize,
    /// Elements of the summed dimension in a pass, and passes.
    pub(super) kc: usize,
    pub(super) passes: usize,
    /// Threads that take blocks.
    pub(super) threads: usize,
}

impl Blocking {
    pub(super) fn new<A: Arithmetic>(level: Level, product: &Product<'_>, direct: bool) -> Self {
        let (tile_rows, tile_columns) = A::Sum::shape(level);
        let tile_rows = tile_rows / A::ROWS;
        let (m, k, n) = (product.rows, product.depth, product.columns);
        let count = product.offsets.len();
        let (kc, passes) = split_depth(k, A::KC);
        let each = m.saturating_mul(n).saturating_mul(k).max(LEAST);
        let work = each.saturating_mul(count);
        let threads = if work > SEQUENTIAL {
            crate::parallel::thread_count()
        } else {
            1
        };
        let most_rows = if direct { MOST_ROWS } else { MOST_ROWS / 2 } / A::ROWS;
        let least = [m.div_ceil(most_rows), n.div_ceil(NC)].map(|parts| parts.max(1));
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
            for row_blocks in least[0]..=least[0] + ways {
                for column_blocks in least[1]..=least[1] + ways {
                    let block = [
                        even(m, row_blocks, tile_rows),
                        even(n, column_blocks, tile_columns),
                    ];
                    if time(block[0], block[1]) < time(rows, columns) {
                        [rows, columns] = block;
                    }
                }
            }
        }
        let parts = rows.div_ceil(MC / A::ROWS);
        Self {
            rows,
            columns,
            row_blocks: m.div_ceil(rows),
            column_blocks: n.div_ceil(columns),
            mc: even(rows, parts, tile_rows),
            kc,
            passes,
            threads,
        }
    }
}

/// How much of the summed dimension a pass takes, and how many passes there are.
pub(super) fn split_depth(depth: usize, most: usize) -> (usize, usize) {
    let parts = depth.div_ceil(most).max(1);
    // Even, since integers are packed in pairs.
    let kc = depth.div_ceil(parts).next_multiple_of(8);
    (kc, depth.div_ceil(kc.max(1)).max(1))
}

/// The size of each of so many parts, in whole tiles.
fn even(size: usize, parts: usize, tile: usize) -> usize {
    size.div_ceil(parts.max(1)).max(1).next_multiple_of(tile)
}
