//! A set of dtypes in one word, usable in const tables.

use crate::{DType, Kind};

/// A set of dtypes, one bit each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Mask(pub(super) u64);

impl Mask {
    pub(super) const EMPTY: Self = Self(0);

    pub(super) const fn of(dtypes: &[DType]) -> Self {
        let mut mask = Self::EMPTY;
        let mut index = 0;
        while index < dtypes.len() {
            mask = mask.with(dtypes[index]);
            index += 1;
        }
        mask
    }

    /// Every dtype of a kind and width; of every width if `bits` is 0.
    pub(super) const fn of_kind(kind: Kind, bits: u32) -> Self {
        let mut mask = Self::EMPTY;
        let mut index = 0;
        while index < DType::COUNT {
            let dtype = DType::ALL[index];
            if dtype.kind() as u8 == kind as u8 && (bits == 0 || dtype.bits() == bits) {
                mask = mask.with(dtype);
            }
            index += 1;
        }
        mask
    }

    pub(super) const fn with(self, dtype: DType) -> Self {
        Self(self.0 | 1 << dtype as u32)
    }

    pub(super) const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(super) const fn has(self, dtype: DType) -> bool {
        self.0 >> dtype as u32 & 1 == 1
    }

    pub(super) const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) fn members(self) -> impl Iterator<Item = DType> {
        DType::ALL.into_iter().filter(move |d| self.has(*d))
    }
}
