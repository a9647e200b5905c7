//! Pairs put in order of their keys, digit by digit; long lines in buckets on all threads.
//!
//! Lines of bytes are counted, up to 160 pairs compared, longer lines sorted digit by digit, and
//! from 64 K elements in buckets of neighbouring keys, each sorted in the cache. Pairs of 64 bits
//! lie in the memory of the places that are to come.

use crate::memory::{try_vec, try_with_capacity};
use allotrope_dtype::Error;

use super::Room;
use super::key::{Pair, Way, Word};
use crate::parallel;

/// Pairs up to which comparing is faster than counting.
const FEW: usize = 160;
/// Pairs from which a line is cut into buckets.
pub(super) const MANY: usize = 64 << 10;
/// Bits of a digit.
const DIGIT: u32 = 8;
/// Bits that tell buckets apart.
const TOP: u32 = 12;
/// Buckets at most, about.
const BUCKETS: usize = 128;

/// Pairs in order of key and place, given in order of place. `room` is as long as `pairs`, and the
/// result is in one of the two.
pub(super) fn sort_pairs<'a, W: Word, P: Pair>(
    mut pairs: &'a mut [P],
    mut room: &'a mut [P],
) -> &'a mut [P] {
    if pairs.len() <= FEW || u32::try_from(pairs.len()).is_err() {
        P::sort(pairs);
        return pairs;
    }
    let digits = (W::BITS / DIGIT) as usize;
    let mut counts = [[0_u32; 1 << DIGIT]; 8];
    for pair in pairs.iter() {
        let key = pair.key();
        for (digit, counts) in counts[..digits].iter_mut().enumerate() {
            counts[(key >> (digit as u32 * DIGIT)) as usize & 0xFF] += 1;
        }
    }
    let count = pairs.len() as u32;
    for (digit, counts) in counts[..digits].iter_mut().enumerate() {
        if counts.contains(&count) {
            continue;
        }
        let mut start = 0;
        for count in counts.iter_mut() {
            start += std::mem::replace(count, start);
        }
        let shift = digit as u32 * DIGIT;
        for pair in pairs.iter() {
            let place = &mut counts[(pair.key() >> shift) as usize & 0xFF];
            room[*place as usize] = *pair;
            *place += 1;
        }
        std::mem::swap(&mut pairs, &mut room);
    }
    pairs
}

/// A long line in order: values and places of the results, either of which may be empty.
///
/// Chunks are parted into buckets of neighbouring keys, and each bucket, gathered from all chunks,
/// is sorted in the cache. Places that are wanted lend their memory to the pairs, which are as wide,
/// so that one room of pairs is all that a sort needs beside its results.
pub(super) fn sort_long<W: Word, P: Pair>(
    way: &Way<W>,
    line: &[W],
    values: &mut [W],
    places: &mut [i64],
) -> Result<(), Error> {
    let count = line.len();
    let (mut own, mut parted) = (Room::default(), Room::default());
    let lent = places.len() == count && size_of::<P>() == size_of::<i64>();
    let (pairs, places): (&mut [P], &mut [i64]) = if lent {
        (bytemuck::cast_slice_mut(places), &mut [])
    } else {
        (own.take::<P>(count)?, places)
    };
    let parted = parted.take::<P>(count)?;
    let chunks = count.div_ceil(MANY);
    let part = |chunk: usize| chunk * MANY..count.min((chunk + 1) * MANY);
    // The first key of each chunk, and the bits in which others differ from it.
    let mut keyed: Vec<(u64, u64, &mut [P])> = try_with_capacity("sort", chunks)?;
    keyed.extend(pairs.chunks_mut(MANY).map(|pairs| (0, 0, pairs)));
    parallel::for_each_part(&mut keyed, 1, |chunk, keyed| {
        for (first, varying, pairs) in keyed {
            way.pair(&line[part(chunk)], chunk * MANY, pairs);
            let key = pairs[0].key();
            (*first, *varying) = (
                key,
                pairs.iter().fold(0, |bits, pair| bits | pair.key() ^ key),
            );
        }
    });
    let start = keyed.first().map_or(0, |(first, ..)| *first);
    let varying = keyed.iter().fold(0, |bits, (first, varying, _)| {
        bits | varying | first ^ start
    });
    let top = 64 - varying.leading_zeros();
    let shift = top.saturating_sub(TOP);
    let bin = |pair: &P| (pair.key() >> shift) as usize & ((1 << TOP) - 1);

    let counts: Vec<Vec<u32>> = parallel::try_map(chunks, |chunk| {
        let mut counts = try_vec("sort", 1 << TOP, 0)?;
        for pair in &pairs[part(chunk)] {
            counts[bin(pair)] += 1;
        }
        Ok(counts)
    })?;
    // Neighbouring bins are one bucket until it is large enough.
    // bounded: a number for each of a few thousand bins.
    let mut bucket_of = vec![0_u16; 1 << TOP];
    let mut sizes = vec![0_usize];
    for (bin, bucket) in bucket_of.iter_mut().enumerate() {
        let here: usize = counts.iter().map(|counts| counts[bin] as usize).sum();
        let last = sizes.len() - 1;
        if sizes[last] > 0 && sizes[last] + here > count / BUCKETS {
            sizes.push(0);
        }
        let last = sizes.len() - 1;
        sizes[last] += here;
        *bucket = last as u16;
    }
    let buckets = sizes.len();
    // Each chunk by bucket; `ends` has where each of its buckets ends.
    let mut ends: Vec<(Vec<u32>, &mut [P])> = try_with_capacity("sort", chunks)?;
    ends.extend(parted.chunks_mut(MANY).map(|parted| (Vec::new(), parted)));
    parallel::try_for_each_part(&mut ends, 1, |chunk, ends| {
        for (places, parted) in ends {
            *places = try_vec("sort", buckets, 0_u32)?;
            for (bucket, count) in bucket_of.iter().zip(&counts[chunk]) {
                places[usize::from(*bucket)] += count;
            }
            let mut start = 0;
            for place in &mut *places {
                start += std::mem::replace(place, start);
            }
            for pair in &pairs[part(chunk)] {
                let place = &mut places[usize::from(bucket_of[bin(pair)])];
                parted[*place as usize] = *pair;
                *place += 1;
            }
        }
        Ok(())
    })?;
    // From here on the first pairs are room: each bucket gets its part of them.
    let (mut pairs, mut values, mut places) = (pairs, values, places);
    let mut parts = Vec::new();
    for size in sizes {
        let now = |rest: usize| size.min(rest);
        let (own, later) = pairs.split_at_mut(size);
        let (value, later_values) = values.split_at_mut(now(values.len()));
        let (place, later_places) = places.split_at_mut(now(places.len()));
        parts.push((own, value, place));
        (pairs, values, places) = (later, later_values, later_places);
    }
    parallel::try_for_each_item(
        &mut parts,
        |room: &mut Room, bucket, (own, values, places)| {
            let mut rest = &mut own[..];
            for (ends, parted) in &ends {
                let start = if bucket == 0 { 0 } else { ends[bucket - 1] };
                let part = &parted[start as usize..ends[bucket] as usize];
                let (now, later) = rest.split_at_mut(part.len());
                now.copy_from_slice(part);
                rest = later;
            }
            let room = room.take(own.len())?;
            let first = own.as_ptr();
            let sorted = sort_pairs::<W, P>(own, room);
            write(way, line, sorted, values, places);
            if lent {
                let is_elsewhere = sorted.as_ptr() != first;
                for pair in sorted {
                    *pair = P::new(0, pair.place());
                }
                if is_elsewhere {
                    own.copy_from_slice(room);
                }
            }
            Ok(())
        },
    )
}

/// Values and places of sorted pairs, where they are wanted.
pub(super) fn write<W: Word, P: Pair>(
    way: &Way<W>,
    line: &[W],
    sorted: &[P],
    values: &mut [W],
    places: &mut [i64],
) {
    for (value, pair) in values.iter_mut().zip(sorted) {
        *value = way.word(*pair, line);
    }
    for (place, pair) in places.iter_mut().zip(sorted) {
        *place = pair.place() as i64;
    }
}
