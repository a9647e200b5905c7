//! A few elements of a line without sorting the rest, and the most frequent one.
//!
//! A line is compared with the worst candidate so far, and few are kept. Beyond 1 M elements digits
//! of keys are counted instead (`rank`).

use crate::memory::try_with_capacity;
use allotrope_dtype::{DType, Error, Problem};
use allotrope_op::task::order::Rank;

use crate::interrupt::Watch;
use crate::parallel;

use super::key::{Order, Pair, Way, Word};
use super::nth::{self, LongLine};
use super::{Room, for_each_line, is_long, radix, with_sorted, with_word, words_mut};

/// Elements that are compared with the worst candidate at once.
const BLOCK: usize = 256;
/// Elements of a part of a long line.
const PART: usize = 64 << 10;

/// The first `count` of each line in order, the greatest first or the least; in any order of their
/// own unless `sorted`.
///
/// Slices as for [`sort`](super::sort); `count` must be at most the length.
///
/// # Errors
/// A memory error.
#[allow(clippy::too_many_arguments, reason = "a line, what of it, where to")]
pub(crate) fn topk(
    dtype: DType,
    src: &[u8],
    length: usize,
    count: usize,
    largest: bool,
    sorted: bool,
    values: &mut [u8],
    places: &mut [i64],
) -> Result<(), Error> {
    with_word!(dtype, |W| {
        let way = Way::<W>::new(dtype, largest);
        let (src, values) = (bytemuck::cast_slice(src), words_mut(values));
        let sizes = [length, count];
        if W::BITS == 64 || is_long(length) {
            for_each_line(src, sizes, values, places, |room, line, values, places| {
                top_of_line::<W, u128>(&way, room, line, sorted, values, places)
            })
        } else {
            for_each_line(src, sizes, values, places, |room, line, values, places| {
                top_of_line::<W, u64>(&way, room, line, sorted, values, places)
            })
        }
    })
}

fn top_of_line<W: Word, P: Pair>(
    way: &Way<W>,
    room: &mut Room,
    line: &[W],
    sorted: bool,
    values: &mut [W],
    places: &mut [i64],
) -> Result<(), Error> {
    let count = values.len().max(places.len());
    if count > line.len() / 4 {
        if sorted {
            return with_sorted::<W, P>(way, room, line, |sorted| {
                radix::write(way, line, &sorted[..count], values, places);
            });
        }
        let pairs = room.take::<P>(line.len())?;
        way.pair(line, 0, pairs);
        pairs.select_nth_unstable(count - 1);
        radix::write(way, line, &pairs[..count], values, places);
        return Ok(());
    }
    let mut best = if line.len() >= 2 * PART && count <= PART / 8 {
        let parts = parallel::try_map(line.len().div_ceil(PART), |part| {
            let start = part * PART;
            let words = &line[start..line.len().min(start + PART)];
            best_of::<W, P>(way, words, start, count)
        });
        let parts = parts?;
        let mut best = try_with_capacity("topk", parts.iter().map(Vec::len).sum())?;
        parts.iter().for_each(|part| best.extend_from_slice(part));
        cut(&mut best, count);
        best
    } else {
        best_of(way, line, 0, count)?
    };
    if sorted {
        best.sort_unstable();
    }
    radix::write(way, line, &best, values, places);
    Ok(())
}

/// The best `count` of the words, the first of place `start`. Most words are only compared with the
/// worst of the best so far; those that are better wait until there are too many of them.
fn best_of<W: Word, P: Pair>(
    way: &Way<W>,
    words: &[W],
    start: usize,
    count: usize,
) -> Result<Vec<P>, Error> {
    let most = (2 * count).max(count + 4 * BLOCK);
    let mut best = Vec::new();
    let room = (most + BLOCK).min(words.len());
    best.try_reserve_exact(room).map_err(|_| {
        let bytes = room.saturating_mul(size_of::<P>());
        Error::new("topk", Problem::OutOfMemory { bytes })
    })?;
    let mut worst = None;
    let (mut keys, mut watch) = ([W::MAX; BLOCK], Watch::new());
    for (block, words) in words.chunks(BLOCK).enumerate() {
        watch.check();
        way.keys(words, &mut keys[..words.len()]);
        let keys = &keys[..words.len()];
        // Equal keys at a later place are no better.
        let has_better = |worst| keys.iter().fold(false, |any, key| any | (*key < worst));
        if !worst.is_none_or(has_better) {
            continue;
        }
        let place = start + block * BLOCK;
        for (offset, key) in keys.iter().enumerate() {
            if worst.is_none_or(|worst| *key < worst) {
                best.push(P::new(key.wide(), place + offset));
            }
        }
        if best.len() >= most {
            worst = cut(&mut best, count).map(W::narrow);
        }
    }
    cut(&mut best, count);
    Ok(best)
}

/// The first `count` in order, in any order of their own, and the last one's key.
fn cut<P: Pair>(pairs: &mut Vec<P>, count: usize) -> Option<u64> {
    let last = count.checked_sub(1)?;
    if pairs.len() <= count {
        return None;
    }
    let worst = pairs.select_nth_unstable(last).1.key();
    pairs.truncate(count);
    Some(worst)
}

/// How many elements precede that of a rank in a line of so many, of which some are numbers.
fn index_of(rank: Rank, numbers: usize, count: usize) -> usize {
    match rank {
        Rank::Place(index) => index.min(count - 1),
        // NaN follow the numbers in order of place.
        Rank::Median if numbers < count => numbers,
        _ => numbers.saturating_sub(1) / 2,
    }
}

/// Elements from which a line is counted: below, a list of pairs is made, which takes half the time on
/// one thread and a few megabytes.
const LONG: usize = (1 << 20) + 1;

/// How many elements are no NaN.
#[must_use]
pub(crate) fn count_numbers(dtype: DType, src: &[u8]) -> usize {
    let count = src.len() / dtype.itemsize();
    if !Order::has_nan(dtype) {
        return count;
    }
    with_word!(dtype, |W| {
        let way = Way::<W>::new(dtype, false);
        let words: &[W] = bytemuck::cast_slice(src);
        with_keys(&way, words, |keys| keys.below(W::MAX.wide()))
    })
}

/// Calls `work` with the keys of a line, as they are read.
fn with_keys<W: Word, R>(way: &Way<W>, line: &[W], work: impl FnOnce(&LongLine<'_>) -> R) -> R {
    let read = |start: usize, out: &mut [u64]| {
        let mut keys = [W::MAX; nth::BLOCK];
        let keys = &mut keys[..out.len()];
        way.keys(&line[start..start + out.len()], keys);
        for (out, key) in out.iter_mut().zip(keys) {
            *out = key.wide();
        }
    };
    work(&LongLine {
        count: line.len(),
        bits: W::BITS,
        read: &read,
    })
}

/// One element of each line by its rank.
///
/// Slices as for [`sort`](super::sort), with one result per line.
///
/// # Errors
/// A memory error.
pub(crate) fn nth(
    dtype: DType,
    src: &[u8],
    length: usize,
    rank: Rank,
    values: &mut [u8],
    places: &mut [i64],
) -> Result<(), Error> {
    let has_nan = Order::has_nan(dtype);
    with_word!(dtype, |W| {
        let way = Way::<W>::new(dtype, false);
        let (src, values) = (bytemuck::cast_slice(src), words_mut(values));
        if W::BITS == 64 || is_long(length) {
            for_each_line(
                src,
                [length, 1],
                values,
                places,
                |room, line, value, place| {
                    select_of_line::<W, u128>(&way, room, line, rank, has_nan, value, place)
                },
            )
        } else {
            for_each_line(
                src,
                [length, 1],
                values,
                places,
                |room, line, value, place| {
                    select_of_line::<W, u64>(&way, room, line, rank, has_nan, value, place)
                },
            )
        }
    })
}

fn select_of_line<W: Word, P: Pair>(
    way: &Way<W>,
    room: &mut Room,
    line: &[W],
    rank: Rank,
    has_nan: bool,
    value: &mut [W],
    place: &mut [i64],
) -> Result<(), Error> {
    let counts_numbers = has_nan && !matches!(rank, Rank::Place(_));
    if line.len() >= LONG {
        let found = with_keys(way, line, |keys| {
            let numbers = match counts_numbers {
                true => keys.below(W::MAX.wide()),
                false => line.len(),
            };
            keys.at(index_of(rank, numbers, line.len()))
        });
        if let Some((key, at)) = found {
            radix::write(way, line, &[u128::new(key, at)], value, place);
        }
        return Ok(());
    }
    let room = room.take::<P>(line.len())?;
    way.pair(line, 0, room);
    let is_nan = |pair: &P| pair.key() == W::MAX.wide();
    let numbers = if counts_numbers {
        line.len() - room.iter().filter(|pair| is_nan(pair)).count()
    } else {
        line.len()
    };
    let index = index_of(rank, numbers, line.len());
    let found = *room.select_nth_unstable(index).1;
    radix::write(way, line, &[found], value, place);
    Ok(())
}

/// The most frequent element of each line, the least of several, and its last place. Each NaN is
/// unlike any other.
///
/// Slices as for [`sort`](super::sort), with one result per line.
///
/// # Errors
/// A memory error.
pub(crate) fn mode(
    dtype: DType,
    src: &[u8],
    length: usize,
    values: &mut [u8],
    places: &mut [i64],
) -> Result<(), Error> {
    let has_nan = Order::has_nan(dtype);
    with_word!(dtype, |W| {
        let way = Way::<W>::new(dtype, false);
        let (src, values) = (bytemuck::cast_slice(src), words_mut(values));
        if W::BITS == 64 || is_long(length) {
            for_each_line(
                src,
                [length, 1],
                values,
                places,
                |room, line, value, place| {
                    with_sorted::<W, u128>(&way, room, line, |sorted| {
                        let found = most_frequent(sorted, has_nan.then_some(W::MAX.wide()));
                        radix::write(&way, line, found.as_slice(), value, place);
                    })
                },
            )
        } else {
            for_each_line(
                src,
                [length, 1],
                values,
                places,
                |room, line, value, place| {
                    with_sorted::<W, u64>(&way, room, line, |sorted| {
                        let found = most_frequent(sorted, has_nan.then_some(W::MAX.wide()));
                        radix::write(&way, line, found.as_slice(), value, place);
                    })
                },
            )
        }
    })
}

/// The last pair of the longest run of equal keys.
fn most_frequent<P: Pair>(sorted: &[P], nan: Option<u64>) -> Option<P> {
    let mut best = None;
    let mut longest = 0;
    for run in sorted.chunk_by(|a, b| a.key() == b.key() && Some(a.key()) != nan) {
        if run.len() > longest {
            (best, longest) = (run.last().copied(), run.len());
        }
    }
    best
}
