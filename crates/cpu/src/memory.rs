//! Vectors whose length depends on data: made fallibly, so that a lack of memory is an error.
//!
//! | instead of | stands |
//! |---|---|
//! | `vec![value; len]` | [`try_vec`] |
//! | `Vec::with_capacity(len)` | [`try_with_capacity`] |
//! | `items.resize(len, value)` | [`try_resize`] |
//! | `items.collect()` | [`try_collect`] |
//! | `items.to_vec()` | [`try_to_vec`] |
//! | a call of a crate that allocates so much | [`probe`] before it |
//!
//! What depends on ranks, operands and threads alone may be allocated as everywhere.

use allotrope_dtype::{Error, Problem};

use crate::reserve::is_memory_short;

/// An empty vector with room for `capacity` items.
///
/// # Errors
/// A memory error if there is not enough of it.
pub fn try_with_capacity<T>(op: &'static str, capacity: usize) -> Result<Vec<T>, Error> {
    let mut items = Vec::new();
    try_reserve(op, &mut items, capacity)?;
    Ok(items)
}

/// Makes room for exactly so many items more.
///
/// # Errors
/// A memory error if there is not enough of it.
pub fn try_reserve<T>(op: &'static str, items: &mut Vec<T>, more: usize) -> Result<(), Error> {
    if more <= items.capacity() - items.len() {
        return Ok(());
    }
    if !is_memory_short() {
        if items.try_reserve_exact(more).is_ok() {
            return Ok(());
        }
        // What is kept for reuse may be what is missing.
        crate::buffer::release_kept();
        if items.try_reserve_exact(more).is_ok() {
            return Ok(());
        }
    }
    Err(out_of_memory::<T>(op, more))
}

/// Appends an item, where there is memory for it.
///
/// # Errors
/// A memory error if there is not enough of it.
pub fn try_push<T>(op: &'static str, items: &mut Vec<T>, item: T) -> Result<(), Error> {
    if items.len() == items.capacity() {
        try_reserve(op, items, items.len().max(4))?;
    }
    items.push(item);
    Ok(())
}

/// `len` times the same value.
///
/// ```
/// assert_eq!(allotrope_cpu::memory::try_vec("doc", 3, 1.5)?, [1.5; 3]);
/// assert!(allotrope_cpu::memory::try_vec("doc", usize::MAX, 0_u64).is_err());
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
///
/// # Errors
/// A memory error if there is not enough of it.
pub fn try_vec<T: Clone>(op: &'static str, len: usize, value: T) -> Result<Vec<T>, Error> {
    let mut items = try_with_capacity(op, len)?;
    items.resize(len, value);
    Ok(items)
}

/// Makes a list so long: what is new has the value, what is too much is left out.
///
/// # Errors
/// A memory error if there is not enough of it.
pub fn try_resize<T: Clone>(
    op: &'static str,
    items: &mut Vec<T>,
    len: usize,
    value: T,
) -> Result<(), Error> {
    try_reserve(op, items, len.saturating_sub(items.len()))?;
    items.resize(len, value);
    Ok(())
}

/// The items of an iterator, in order.
///
/// ```
/// assert_eq!(allotrope_cpu::memory::try_collect("doc", (0..3).map(|i| i * i))?, [0, 1, 4]);
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
///
/// # Errors
/// A memory error if there is not enough of it.
pub fn try_collect<T>(
    op: &'static str,
    items: impl IntoIterator<Item = T>,
) -> Result<Vec<T>, Error> {
    let items = items.into_iter();
    let (least, most) = items.size_hint();
    let mut list = try_with_capacity(op, least)?;
    // A loop of pushes would look at the room for every item.
    if most == Some(least) {
        list.extend(items);
        return Ok(list);
    }
    for item in items {
        try_push(op, &mut list, item)?;
    }
    Ok(list)
}

/// A vector of the same items.
///
/// # Errors
/// A memory error if there is not enough of it.
pub fn try_to_vec<T: Clone>(op: &'static str, items: &[T]) -> Result<Vec<T>, Error> {
    let mut list = try_with_capacity(op, items.len())?;
    list.extend_from_slice(items);
    Ok(list)
}

/// Nothing, if the system has so much memory right now: for what a crate is about to allocate, which
/// would end the process.
///
/// # Errors
/// A memory error if there is not enough of it.
pub fn probe(op: &'static str, bytes: usize) -> Result<(), Error> {
    let room = try_with_capacity::<u8>(op, bytes)?;
    // A compiler may leave out an allocation that nobody uses, and take it for granted.
    drop(std::hint::black_box(room));
    Ok(())
}

/// An error, if memory is so short that small things have come from the [`Reserve`](crate::Reserve):
/// for what grows by small things alone.
///
/// # Errors
/// A memory error if there is not enough of it.
#[inline]
pub fn check(op: &'static str) -> Result<(), Error> {
    if is_memory_short() {
        return Err(out_of_memory::<u8>(op, 0));
    }
    Ok(())
}

#[cold]
fn out_of_memory<T>(op: &'static str, count: usize) -> Error {
    let bytes = count.saturating_mul(size_of::<T>());
    Error::new(op, Problem::OutOfMemory { bytes })
}
