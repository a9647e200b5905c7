//! Room for matrices while they are worked on: [`crate::memory`], with failures of this family.

use super::batch::Failure;
use crate::memory;

const OP: &str = "linalg";

pub(super) fn try_vec<T: Clone>(len: usize, value: T) -> Result<Vec<T>, Failure> {
    Ok(memory::try_vec(OP, len, value)?)
}

pub(super) fn try_with_capacity<T>(capacity: usize) -> Result<Vec<T>, Failure> {
    Ok(memory::try_with_capacity(OP, capacity)?)
}

pub(super) fn try_collect<T>(items: impl IntoIterator<Item = T>) -> Result<Vec<T>, Failure> {
    Ok(memory::try_collect(OP, items)?)
}

/// [`try_collect`] of items whose number only the caller knows.
pub(super) fn try_collect_all<T>(
    count: usize,
    items: impl IntoIterator<Item = T>,
) -> Result<Vec<T>, Failure> {
    let mut list = try_with_capacity(count)?;
    list.extend(items.into_iter().take(count));
    Ok(list)
}

pub(super) fn try_to_vec<T: Clone>(items: &[T]) -> Result<Vec<T>, Failure> {
    Ok(memory::try_to_vec(OP, items)?)
}

/// Fails if so much could not be allocated now.
pub(super) fn probe(bytes: usize) -> Result<(), Failure> {
    Ok(memory::probe(OP, bytes)?)
}

/// Fails if memory is short.
pub(super) fn check_memory() -> Result<(), Failure> {
    Ok(memory::check(OP)?)
}
