//! The place of the greatest or least element of a line.

use allotrope_dtype::DType;

use super::key::{Order, Way, Word};
use super::with_word;

/// Elements whose keys are made at once.
const BLOCK: usize = 64;

/// The place of the greatest (or least) element of each line, of equals the first; of the first NaN.
///
/// Slices as for [`sort`](super::sort). Lines have elements, whose bytes are values of the dtype.
pub(crate) fn extreme(dtype: DType, src: &[u8], length: usize, greatest: bool, places: &mut [i64]) {
    let has_nan = Order::has_nan(dtype);
    with_word!(dtype, |W| {
        let way = Way::<W>::new(dtype, !greatest);
        // Turned round, NaN is the least key: it becomes the greatest, and all others one less.
        let down = W::narrow(u64::from(has_nan && !greatest));
        let lines = bytemuck::cast_slice::<u8, W>(src).chunks_exact(length);
        for (place, line) in places.iter_mut().zip(lines) {
            *place = first_greatest(&way, down, line) as i64;
        }
    });
}

fn first_greatest<W: Word>(way: &Way<W>, down: W, line: &[W]) -> usize {
    let mut keys = [W::MAX; BLOCK];
    let mut best: Option<(W, usize)> = None;
    for (block, words) in line.chunks(BLOCK).enumerate() {
        let keys = &mut keys[..words.len()];
        way.keys(words, keys);
        let highest = keys.iter().map(|key| key.less(down)).max();
        let Some(highest) = highest.filter(|key| best.is_none_or(|(best, _)| *key > best)) else {
            continue;
        };
        let place = keys.iter().position(|key| key.less(down) == highest);
        best = Some((highest, block * BLOCK + place.unwrap_or(0)));
    }
    best.map_or(0, |(_, place)| place)
}
