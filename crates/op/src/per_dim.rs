//! A number per dimension, as shapes and layouts keep it.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::shape::Dims;

/// How many dimensions take no allocation.
const FEW: usize = 4;

/// A rank of few dimensions, as wide as a number: whole words are moved faster than words and bytes.
#[derive(Clone, Copy)]
#[repr(usize)]
pub(crate) enum Rank {
    Zero,
    One,
    Two,
    Three,
    Four,
}

impl Rank {
    const ALL: [Self; FEW + 1] = [Self::Zero, Self::One, Self::Two, Self::Three, Self::Four];
}

/// A number per dimension: few in place, more behind a pointer that copies share. It is small, so that
/// a tensor is moved without a call, and copied as it is; lists that grow are [`Dims`].
#[derive(Clone)]
pub(crate) enum PerDim<T> {
    Few { rank: Rank, numbers: [T; FEW] },
    Many(Arc<[T]>),
}

impl<T: Copy + Default> PerDim<T> {
    #[inline]
    pub(crate) fn new(given: &[T]) -> Self {
        let mut numbers = [T::default(); FEW];
        match Rank::ALL.get(given.len()) {
            Some(rank) => {
                for (place, number) in numbers.iter_mut().zip(given) {
                    *place = *number;
                }
                let rank = *rank;
                Self::Few { rank, numbers }
            }
            None => Self::Many(given.into()),
        }
    }

    /// The numbers without one of them.
    #[inline]
    pub(crate) fn remove(&mut self, place: usize) {
        match self {
            Self::Few { rank, numbers } if place < *rank as usize => {
                let last = *rank as usize - 1;
                numbers.copy_within(place + 1..=last, place);
                numbers[last] = T::default();
                *rank = Rank::ALL[last];
            }
            _ => self.change(|numbers| {
                numbers.remove(place);
            }),
        }
    }

    /// The numbers as a list, changed.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut Dims<T>)) {
        let mut numbers = Dims::from_slice(self);
        change(&mut numbers);
        *self = Self::new(&numbers);
    }
}

impl<T: Copy + Default> Default for PerDim<T> {
    fn default() -> Self {
        Self::new(&[])
    }
}

impl<T> Deref for PerDim<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Self::Few { rank, numbers } => &numbers[..*rank as usize],
            Self::Many(numbers) => numbers,
        }
    }
}

impl<T: Copy> DerefMut for PerDim<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::Few { rank, numbers } => &mut numbers[..*rank as usize],
            Self::Many(numbers) => Arc::make_mut(numbers),
        }
    }
}

impl<T: PartialEq> PartialEq for PerDim<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for PerDim<T> {}

impl<T: Hash> Hash for PerDim<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<T: fmt::Debug> fmt::Debug for PerDim<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::PerDim;

    #[test]
    fn numbers_are_kept_whatever_their_count() {
        for rank in 0..9 {
            let given: Vec<isize> = (0..rank).map(|dim| dim * 3 - 7).collect();
            let mut kept = PerDim::new(&given);
            let copy = kept.clone();
            assert_eq!(kept[..], given[..]);
            kept.change(|numbers| numbers.push(5));
            assert_eq!((kept.len(), kept.last()), (given.len() + 1, Some(&5)));
            kept[0] = 9;
            assert_eq!((kept[0], &copy[..]), (9, &given[..]));
            assert_ne!(kept, copy);
        }
    }
}
