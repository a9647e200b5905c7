//! The greatest or least element so far, and its place.

use std::hint::select_unpredictable;

use allotrope_dtype::{DType, Error};

use super::key::{Order, Way, Word};
use super::{for_each_line, with_word, words_mut};
use crate::interrupt::Watch;

/// Elements whose keys are made at once.
const BLOCK: usize = 512;

/// The greatest (or least) element up to each one of its line, the latest of equals; from the first
/// NaN on the latest NaN.
///
/// Slices as for [`sort`](super::sort).
///
/// # Errors
/// A memory error.
pub(crate) fn cummax(
    dtype: DType,
    src: &[u8],
    length: usize,
    greatest: bool,
    values: &mut [u8],
    places: &mut [i64],
) -> Result<(), Error> {
    let has_nan = Order::has_nan(dtype);
    with_word!(dtype, |W| {
        let way = Way::<W>::new(dtype, !greatest);
        // Turned round, NaN is the least key: it becomes the greatest, and all others one less.
        let down = W::narrow(u64::from(has_nan && !greatest));
        let (src, values) = (bytemuck::cast_slice(src), words_mut(values));
        for_each_line(src, [length; 2], values, places, |_, line, v, p| {
            scan_line::<W>(&way, down, line, v, p);
            Ok(())
        })
    })
}

fn scan_line<W: Word>(way: &Way<W>, down: W, line: &[W], values: &mut [W], places: &mut [i64]) {
    let (mut keys, mut watch) = ([W::MAX; BLOCK], Watch::new());
    let (mut best, mut word, mut place) = (W::narrow(0), W::narrow(0), 0);
    for (block, words) in line.chunks(BLOCK).enumerate() {
        watch.check();
        let start = block * BLOCK;
        way.keys(words, &mut keys[..words.len()]);
        let values = &mut values[start..start + words.len()];
        let places = &mut places[start..start + words.len()];
        for (offset, (key, new)) in keys.iter().zip(words).enumerate() {
            let key = key.less(down);
            // No branch: of few values every other one may be as great as the greatest.
            let is_new = key >= best;
            best = select_unpredictable(is_new, key, best);
            word = select_unpredictable(is_new, *new, word);
            place = select_unpredictable(is_new, (start + offset) as i64, place);
            values[offset] = word;
            places[offset] = place;
        }
    }
}
