//! Different elements: one of each, how often it occurs, and which of them each element is.
//!
//! Values alone need no places: keys are sorted without them, and codes of few bits are counted.

use crate::memory::try_with_capacity;
use allotrope_dtype::{DType, Error};
use allotrope_op::task::order::Beside;
use bytemuck::Pod;

use super::key::{Order, Way, Word};
use super::keys_only::sort_keys;
use super::{sort, with_word};
use crate::Buffer;
use crate::parallel::{self, CHUNK};

/// Elements from which those of 16 bits are counted.
const COUNTED: usize = 16 << 10;

/// Different elements; what was not asked for is empty.
pub(crate) struct Uniques {
    /// One of each: the first of those that are equal.
    pub(crate) values: Buffer,
    /// The place of each element among the values, in int64.
    pub(crate) inverse: Buffer,
    /// How often each value occurs, in int64.
    pub(crate) counts: Buffer,
}

/// The different elements of a real dtype in order, or as they are, if `sorted` is not asked for, without
/// those that equal the one before. A NaN is like no other, -0 and 0 are equal.
///
/// The bytes must be aligned for the dtype.
///
/// # Errors
/// A memory error.
pub(crate) fn unique(
    op: &'static str,
    dtype: DType,
    src: &[u8],
    sorted: bool,
    beside: Beside,
) -> Result<Uniques, Error> {
    let has_nan = Order::has_nan(dtype);
    with_word!(dtype, |W| {
        let way = Way::<W>::new(dtype, false);
        let words: &[W] = if src.is_empty() {
            &[]
        } else {
            bytemuck::cast_slice(src)
        };
        let work = Work {
            op,
            way: &way,
            has_nan,
            beside,
        };
        if !sorted {
            let keys = work.keys(words)?;
            work.runs(words, elements(&keys), None)
        } else if W::BITS == 8 || W::BITS == 16 && words.len() >= COUNTED {
            work.count_codes(words)
        } else if beside.inverse {
            let mut ordered = room::<W>(op, words.len())?;
            let mut places = room::<i64>(op, words.len())?;
            let order = elements_mut(&mut places);
            sort(dtype, src, words.len(), false, &mut ordered, order)?;
            let ordered = elements(&ordered);
            let keys = work.keys(ordered)?;
            work.runs(ordered, elements(&keys), Some(order))
        } else {
            work.sort_keys(words)
        }
    })
}

/// Room for so many elements.
fn room<T>(op: &'static str, count: usize) -> Result<Buffer, Error> {
    // No more than the elements and their places, which exist.
    Buffer::for_overwrite(op, count.saturating_mul(size_of::<T>()))
}

fn elements<T: Pod>(buffer: &Buffer) -> &[T] {
    bytemuck::cast_slice(buffer)
}

fn elements_mut<T: Pod>(buffer: &mut Buffer) -> &mut [T] {
    bytemuck::cast_slice_mut(buffer)
}

/// What is looked for.
struct Work<'a, W> {
    op: &'static str,
    way: &'a Way<W>,
    has_nan: bool,
    beside: Beside,
}

/// A piece of neighbours and its parts of the results.
struct Piece<'a, W> {
    start: usize,
    /// Values before those of this piece.
    before: usize,
    values: &'a mut [W],
    starts: &'a mut [i64],
    groups: &'a mut [i64],
}

impl<W: Word> Work<'_, W> {
    /// The keys of words.
    fn keys(&self, words: &[W]) -> Result<Buffer, Error> {
        let mut keys = room::<W>(self.op, words.len())?;
        parallel::for_each_chunk(elements_mut(&mut keys), |start, keys| {
            self.way.keys(&words[start..start + keys.len()], keys);
        });
        Ok(keys)
    }

    /// Whether an element is unlike the one before.
    #[inline(always)]
    fn differ(&self, before: W, key: W) -> bool {
        // No branches: neighbours differ in no order.
        (key != before) | (self.has_nan & (key == W::MAX))
    }

    /// Calls `each` with the places of a piece and whether they are unlike the one before.
    #[inline(always)]
    fn visit(&self, keys: &[W], first: usize, mut each: impl FnMut(usize, bool)) {
        let piece = &keys[first..keys.len().min(first + CHUNK)];
        let [start, ..] = piece else {
            return;
        };
        let before = first.checked_sub(1).map(|before| keys[before]);
        each(0, before.is_none_or(|before| self.differ(before, *start)));
        for (place, pair) in piece.windows(2).enumerate() {
            each(place + 1, self.differ(pair[0], pair[1]));
        }
    }

    /// Neighbours that are equal as one; `order` has which element is at which place.
    fn runs(&self, words: &[W], keys: &[W], order: Option<&[i64]>) -> Result<Uniques, Error> {
        let count = keys.len();
        let chunks = count.div_ceil(CHUNK);
        let found = parallel::try_map(chunks, |chunk| {
            let mut found = 0_usize;
            self.visit(keys, chunk * CHUNK, |_, is_start| {
                found += usize::from(is_start)
            });
            Ok(found)
        })?;
        let total = found.iter().sum();
        let mut values = room::<W>(self.op, total)?;
        let wanted = |is_wanted: bool, count| if is_wanted { count } else { 0 };
        let mut counts = room::<i64>(self.op, wanted(self.beside.counts, total))?;
        let mut groups = room::<i64>(self.op, wanted(self.beside.inverse, count))?;
        let mut pieces = try_with_capacity(self.op, chunks)?;
        let mut later_values = elements_mut::<W>(&mut values);
        let mut later_starts = elements_mut::<i64>(&mut counts);
        let mut later_groups = elements_mut::<i64>(&mut groups);
        let mut before = 0;
        for (chunk, found) in found.into_iter().enumerate() {
            let start = chunk * CHUNK;
            let length = CHUNK.min(count - start);
            let (values, rest) = later_values.split_at_mut(found);
            later_values = rest;
            let (starts, rest) = later_starts.split_at_mut(wanted(self.beside.counts, found));
            later_starts = rest;
            let (groups, rest) = later_groups.split_at_mut(wanted(self.beside.inverse, length));
            later_groups = rest;
            pieces.push(Piece {
                start,
                before,
                values,
                starts,
                groups,
            });
            before += found;
        }
        parallel::for_each_part(&mut pieces, 1, |_, pieces| {
            for piece in pieces {
                self.write_runs(words, keys, piece);
            }
        });
        let starts = elements_mut::<i64>(&mut counts);
        for place in 0..starts.len() {
            let end = starts.get(place + 1).copied().unwrap_or(count as i64);
            starts[place] = end - starts[place];
        }
        let inverse = match order.filter(|_| self.beside.inverse) {
            None => groups,
            Some(order) => {
                let mut inverse = room::<i64>(self.op, count)?;
                let to = elements_mut::<i64>(&mut inverse);
                for (place, group) in order.iter().zip(elements::<i64>(&groups)) {
                    to[*place as usize] = *group;
                }
                inverse
            }
        };
        Ok(Uniques {
            values,
            inverse,
            counts,
        })
    }

    fn write_runs(&self, words: &[W], keys: &[W], piece: &mut Piece<'_, W>) {
        // What is written behind the last start is overwritten or left out: no branch to guess.
        let words = &words[piece.start..];
        let mut found = 0;
        self.visit(keys, piece.start, |place, is_start| {
            if let Some(value) = piece.values.get_mut(found) {
                *value = words[place];
            }
            found += usize::from(is_start);
        });
        if !piece.starts.is_empty() {
            let mut found = 0;
            self.visit(keys, piece.start, |place, is_start| {
                if let Some(start) = piece.starts.get_mut(found) {
                    *start = (piece.start + place) as i64;
                }
                found += usize::from(is_start);
            });
        }
        if !piece.groups.is_empty() {
            let mut found = piece.before as i64 - 1;
            self.visit(keys, piece.start, |place, is_start| {
                found += i64::from(is_start);
                piece.groups[place] = found;
            });
        }
    }

    /// The values, and how often they occur, from keys in order.
    fn sort_keys(&self, words: &[W]) -> Result<Uniques, Error> {
        let mut ordered = room::<W>(self.op, words.len())?;
        sort_keys(self.way, words, elements_mut(&mut ordered));
        let ordered = elements(&ordered);
        let mut found = self.runs(ordered, ordered, None)?;
        self.words_of_keys(words, elements_mut(&mut found.values));
        Ok(found)
    }

    /// Keys in order become the words they are of: zeros the first there is, NaN all of them.
    fn words_of_keys(&self, words: &[W], keys: &mut [W]) {
        let mut unknown = words.iter().filter(|word| self.way.key(**word) == W::MAX);
        for key in keys {
            *key = match self.way.word_of(*key) {
                Some(word) => word,
                None if self.has_nan && *key == W::MAX => *unknown.next().unwrap_or(key),
                None => {
                    let first = words.iter().find(|word| self.way.key(**word) == *key);
                    *first.unwrap_or(key)
                }
            };
        }
    }

    /// Words of few bits, of which each has a count.
    fn count_codes(&self, words: &[W]) -> Result<Uniques, Error> {
        let codes = 1_usize << W::BITS.min(16);
        let keys = self.keys(words)?;
        let keys: &[W] = elements(&keys);
        // Pieces with a table of their own, which is small beside them.
        let each = words.len().div_ceil(8).max(8 * codes);
        let tables = parallel::try_map(words.len().div_ceil(each), |piece| {
            let mut counts = Buffer::zeroed(self.op, codes * size_of::<u64>())?;
            let table = elements_mut::<u64>(&mut counts);
            for key in &keys[piece * each..words.len().min((piece + 1) * each)] {
                table[key.wide() as usize % codes] += 1;
            }
            Ok(counts)
        })?;
        let mut places = Buffer::zeroed(self.op, codes * size_of::<u64>())?;
        let places = elements_mut::<u64>(&mut places);
        for table in &tables {
            for (place, count) in places.iter_mut().zip(elements::<u64>(table)) {
                *place += count;
            }
        }
        let is_nan = |code: usize| self.has_nan && code + 1 == codes;
        let groups = |code: usize, count: u64| if is_nan(code) { count } else { count.min(1) };
        let each = places.iter().enumerate();
        let total: u64 = each.map(|(code, count)| groups(code, *count)).sum();
        let total = total as usize;
        let mut values = room::<W>(self.op, total)?;
        let mut counts = room::<i64>(self.op, if self.beside.counts { total } else { 0 })?;
        let (to, count_to) = (
            elements_mut::<W>(&mut values),
            elements_mut::<i64>(&mut counts),
        );
        let mut before = 0;
        for (code, place) in places.iter_mut().enumerate() {
            let count = std::mem::replace(place, before as u64);
            let here = groups(code, count) as usize;
            let now = before..before + here;
            to[now.clone()].fill(W::narrow(code as u64));
            if let Some(counts) = count_to.get_mut(now) {
                counts.fill(if is_nan(code) { 1 } else { count as i64 });
            }
            before += here;
        }
        self.words_of_keys(words, to);
        let mut inverse = room::<i64>(self.op, if self.beside.inverse { words.len() } else { 0 })?;
        for (group, key) in elements_mut::<i64>(&mut inverse).iter_mut().zip(keys) {
            let code = key.wide() as usize % codes;
            *group = places[code] as i64;
            places[code] += u64::from(is_nan(code));
        }
        Ok(Uniques {
            values,
            inverse,
            counts,
        })
    }
}
