//! Lines of elements in order: sorted, selected, counted.
//!
//! | file | what is in it |
//! |---|---|
//! | `key` | keys of unsigned integers, whose order is that of the values |
//! | `radix` | pairs of key and place in order, digit by digit |
//! | `keys_only` | keys in order without places |
//! | `unique` | one of each element |
//! | `select` | a few of a line without sorting it; the most frequent |
//! | `nth` | one of a long line, by counting |
//! | `cummax` | the greatest or least so far |
//! | `extreme` | the place of the greatest or least |
//! | `quantile` | numbers at fractions of the order |
//!
//! A line is a contiguous run of `length` elements. Results are values and places in the line;
//! where one of them is not wanted its slice is empty. They are unique, whatever way they are found:
//! of equal elements the earlier comes first.

mod cummax;
mod extreme;
mod key;
mod keys_only;
mod nth;
mod quantile;
mod radix;
mod select;
mod unique;

use crate::memory::{probe, try_vec, try_with_capacity};
use std::cmp::Ordering;

use allotrope_dtype::{DType, Error, Problem};
use rayon::prelude::*;

use crate::Buffer;
use crate::interrupt::Caller;
use crate::parallel::{self, CHUNK};
use key::{Pair, Way, Word};

pub(crate) use cummax::cummax;
pub(crate) use extreme::extreme;
pub(crate) use quantile::{Neighbours, Quantile};
use select::count_numbers;
pub(crate) use select::{mode, nth, topk};
pub(crate) use unique::unique;

/// Runs an expression with the word of a real dtype.
macro_rules! with_word {
    ($dtype:expr, |$word:ident| $body:expr) => {
        match $dtype.itemsize() {
            1 => {
                type $word = u8;
                $body
            }
            2 => {
                type $word = u16;
                $body
            }
            4 => {
                type $word = u32;
                $body
            }
            _ => {
                type $word = u64;
                $body
            }
        }
    };
}
use with_word;

/// Each line sorted: values and places, with NaN as the greatest.
///
/// Slices must be aligned for the dtype, which must be real, and hold whole lines.
///
/// # Errors
/// A memory error.
pub(crate) fn sort(
    dtype: DType,
    src: &[u8],
    length: usize,
    descending: bool,
    values: &mut [u8],
    places: &mut [i64],
) -> Result<(), Error> {
    with_word!(dtype, |W| {
        let way = Way::<W>::new(dtype, descending);
        let (src, values) = (bytemuck::cast_slice(src), words_mut(values));
        if W::BITS == 8 && length >= COUNTED {
            let keys = keys_of_codes(&way);
            for_each_line(src, [length; 2], values, places, |_, line, v, p| {
                sort_codes(&keys, line, v, p);
                Ok(())
            })
        } else if W::BITS == 64 || is_long(length) {
            sort_lines::<W, u128>(&way, src, length, values, places)
        } else {
            sort_lines::<W, u64>(&way, src, length, values, places)
        }
    })
}

/// Bytes as words; none, wherever they are, as none.
fn words_mut<W: Word>(bytes: &mut [u8]) -> &mut [W] {
    if bytes.is_empty() {
        &mut []
    } else {
        bytemuck::cast_slice_mut(bytes)
    }
}

/// Bytes of a line from which they are counted.
const COUNTED: usize = 64;

/// Memory that work on one line after the other reuses.
#[derive(Default)]
struct Room(Option<Buffer>);

impl Room {
    /// Room for so many pairs.
    fn take<P: Pair>(&mut self, count: usize) -> Result<&mut [P], Error> {
        let bytes = count.checked_mul(size_of::<P>());
        let bytes =
            bytes.ok_or_else(|| Error::new("sort", Problem::OutOfMemory { bytes: usize::MAX }))?;
        let kept = self.0.take().filter(|buffer| buffer.len() >= bytes);
        let buffer = match kept {
            Some(buffer) => buffer,
            None => Buffer::for_overwrite("sort", bytes)?,
        };
        Ok(bytemuck::cast_slice_mut(
            &mut self.0.insert(buffer)[..bytes],
        ))
    }
}

/// Whether places need more than 32 bits.
fn is_long(length: usize) -> bool {
    length > u32::MAX as usize
}

fn sort_lines<W: Word, P: Pair>(
    way: &Way<W>,
    src: &[W],
    length: usize,
    values: &mut [W],
    places: &mut [i64],
) -> Result<(), Error> {
    for_each_line(
        src,
        [length; 2],
        values,
        places,
        |room, line, values, places| {
            if line.len() > radix::MANY {
                return radix::sort_long::<W, P>(way, line, values, places);
            }
            with_sorted::<W, P>(way, room, line, |sorted| {
                radix::write(way, line, sorted, values, places);
            })
        },
    )
}

/// A line's pairs in order.
fn with_sorted<W: Word, P: Pair>(
    way: &Way<W>,
    room: &mut Room,
    line: &[W],
    then: impl FnOnce(&[P]),
) -> Result<(), Error> {
    let room = room.take::<P>(2 * line.len())?;
    let (pairs, other) = room.split_at_mut(line.len());
    way.pair(line, 0, pairs);
    then(radix::sort_pairs::<W, P>(pairs, other));
    Ok(())
}

/// The key of each of 256 codes.
fn keys_of_codes<W: Word>(way: &Way<W>) -> [u8; 256] {
    let codes: [W; 256] = std::array::from_fn(|code| W::narrow(code as u64));
    let mut pairs = [0_u128; 256];
    way.pair(&codes, 0, &mut pairs);
    pairs.map(|pair| pair.key() as u8)
}

/// A line of bytes by counting.
fn sort_codes<W: Word>(keys: &[u8; 256], line: &[W], values: &mut [W], places: &mut [i64]) {
    let mut starts = [0_usize; 256];
    for word in line {
        starts[usize::from(keys[word.wide() as usize & 0xFF])] += 1;
    }
    let mut start = 0;
    for count in &mut starts {
        start += std::mem::replace(count, start);
    }
    let (has_values, has_places) = (!values.is_empty(), !places.is_empty());
    for (place, word) in line.iter().enumerate() {
        let to = &mut starts[usize::from(keys[word.wide() as usize & 0xFF])];
        if has_values {
            values[*to] = *word;
        }
        if has_places {
            places[*to] = place as i64;
        }
        *to += 1;
    }
}

/// Calls `work` with every line and its parts of the results, several lines to a piece of work.
/// The room is one per thread.
fn for_each_line<W: Word>(
    src: &[W],
    [length, results]: [usize; 2],
    mut values: &mut [W],
    mut places: &mut [i64],
    work: impl Fn(&mut Room, &[W], &mut [W], &mut [i64]) -> Result<(), Error> + Send + Sync,
) -> Result<(), Error> {
    if length == 0 || results == 0 {
        return Ok(());
    }
    let each = (CHUNK / 4 / length).max(1);
    let mut pieces = Vec::new();
    for src in src.chunks(each * length) {
        let now = src.len() / length * results;
        let (value, later_values) = values.split_at_mut(now.min(values.len()));
        let (place, later_places) = places.split_at_mut(now.min(places.len()));
        pieces.push((src, value, place));
        (values, places) = (later_values, later_places);
    }
    let one = |room: &mut Room, piece: &mut (&[W], &mut [W], &mut [i64])| {
        let (src, values, places) = piece;
        let (mut values, mut places) = (values.chunks_mut(results), places.chunks_mut(results));
        for line in src.chunks(length) {
            let values = values.next().unwrap_or_default();
            let places = places.next().unwrap_or_default();
            work(room, line, values, places)?;
        }
        Ok(())
    };
    if src.len() <= CHUNK || pieces.len() == 1 {
        let mut room = Room::default();
        pieces
            .iter_mut()
            .try_for_each(|piece| one(&mut room, piece))
    } else {
        parallel::try_for_each_item(&mut pieces, |room, _, piece| one(room, piece))
    }
}

/// Rows of `width` elements by which are equal.
pub(crate) struct Groups {
    /// The places of the rows, those of a group next to each other and in order.
    pub(crate) order: Vec<i64>,
    /// Where in `order` each group begins.
    pub(crate) starts: Vec<usize>,
}

/// Places in an order, of which this sees a pointer: the sort is compiled once and not per width.
fn sort_places(
    op: &'static str,
    places: &mut [i64],
    order: &(dyn Fn(&i64, &i64) -> Ordering + Sync),
) -> Result<(), Error> {
    // A stable sort has a copy of what it sorts.
    probe(op, size_of_val(places))?;
    let caller = Caller::current();
    let order = |a: &i64, b: &i64| {
        caller.check();
        order(a, b)
    };
    parallel::install(|has_threads| match has_threads {
        true => places.par_sort_by(order),
        false => places.sort_by(order),
    });
    Ok(())
}

/// Rows in groups of equals, in the order of their first elements, then their second ones and so
/// on; or as they are, if `sorted` is not asked for, so that only neighbours are a group. A row with
/// a NaN is like no other.
///
/// # Errors
/// A memory error.
pub(crate) fn unique_rows(
    op: &'static str,
    dtype: DType,
    src: &[u8],
    width: usize,
    rows: usize,
    sorted: bool,
) -> Result<Groups, Error> {
    let has_nan = key::Order::has_nan(dtype);
    let mut order = reserved(op, rows)?;
    order.extend(0..rows as i64);
    with_word!(dtype, |W| {
        let way = Way::<W>::new(dtype, false);
        let words: &[W] = bytemuck::cast_slice(src);
        let mut keys = try_vec(op, words.len(), W::narrow(0))?;
        way.keys(words, &mut keys);
        let row = |place: i64| &keys[place as usize * width..(place as usize + 1) * width];
        if sorted && width == 1 {
            sort(dtype, src, rows, false, &mut [], &mut order)?;
        } else if sorted {
            sort_places(op, &mut order, &|a, b| row(*a).cmp(row(*b)))?;
        }
        let is_equal = |a: i64, b: i64| row(a) == row(b) && !(has_nan && row(a).contains(&W::MAX));
        let mut starts = reserved(op, rows)?;
        starts.extend((0..rows).filter(|at| *at == 0 || !is_equal(order[*at - 1], order[*at])));
        Ok(Groups { order, starts })
    })
}

/// An empty list with room for so many.
fn reserved<T>(op: &'static str, count: usize) -> Result<Vec<T>, Error> {
    try_with_capacity(op, count)
}
