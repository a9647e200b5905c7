//! Rows that convert their operands and their result, in one pass.
//!
//! A tile reads, computes and writes one after the other; beyond the caches only a loop that does
//! all at once takes the bandwidth of memory. Results are those of the tiles, bit for bit.
//!
//! 64 elements at a time, with memory asked for 16 blocks ahead and results written past the
//! caches. With AVX-512 operands are decoded in vectors of 512 bits: a vector that was stored in
//! two halves waits until both are in the cache.
//!
//! | file | what is in it |
//! |---|---|
//! | `block` | elements as numbers and back |
//! | `unary` | functions of halves and of large float32 |
//! | `binary` | sums, differences and products of two dtypes |
//! | `pairs` | both of bfloat16, a word of two at a time |

mod binary;
pub(super) mod block;
mod pairs;
mod unary;

use allotrope_dtype::{DType, Level};
use allotrope_op::Op;

/// A row over slices of bytes, and the result. The last argument asks for a result past the caches.
/// All have as many elements.
pub(crate) type Kernel = fn(Level, &[&[u8]], &mut [u8], bool);

/// The kernel of a row for operands of these dtypes, computed in another and stored in a third;
/// `None` where tiles are the way.
pub(crate) fn find(
    level: Level,
    op: Op,
    operands: &[DType],
    compute: DType,
    out: DType,
) -> Option<Kernel> {
    match *operands {
        [x] if x == out && compute == DType::F32 => unary::find(level, op, out),
        [a, b] => binary::find(level, op, [a, b], compute, out),
        _ => None,
    }
}
