//! One element of a long line by its rank: digits of keys are counted, so that no list is made of
//! the line, and all threads read it.

use crate::parallel;

use super::key::Pair;

/// Bits of a digit: its counters stay in the first-level cache.
const DIGIT: u32 = 11;
/// Keys that are read at once.
pub(super) const BLOCK: usize = 512;
/// Elements that are rather compared than counted.
const FEW: usize = 4 << 10;

/// The keys of a line.
pub(super) struct LongLine<'a> {
    pub(super) count: usize,
    /// The width of the keys.
    pub(super) bits: u32,
    /// Writes the keys from a place on, at most [`BLOCK`].
    pub(super) read: &'a (dyn Fn(usize, &mut [u64]) + Sync),
}

impl LongLine<'_> {
    /// What `work` makes of each of a few parts; it is called with blocks of keys and their places.
    fn map<R: Default + Send>(&self, work: &(dyn Fn(&mut R, usize, &[u64]) + Sync)) -> Vec<R> {
        let part = self.count.div_ceil(64).max(parallel::CHUNK);
        parallel::map(self.count.div_ceil(part), |index| {
            let mut result = R::default();
            let mut keys = [0; BLOCK];
            let end = self.count.min((index + 1) * part);
            for start in (index * part..end).step_by(BLOCK) {
                let keys = &mut keys[..BLOCK.min(end - start)];
                (self.read)(start, keys);
                work(&mut result, start, keys);
            }
            result
        })
    }

    /// How many keys are less than one.
    pub(super) fn below(&self, most: u64) -> usize {
        let parts = self.map(&|count: &mut usize, _, keys| {
            *count += keys.iter().filter(|key| **key < most).count();
        });
        parts.iter().sum()
    }

    /// The key that `index` others precede, and its place; of equal keys the earlier comes first.
    pub(super) fn at(&self, index: usize) -> Option<(u64, usize)> {
        let (mut top, mut prefix) = (self.bits, 0);
        let (mut less, mut here) = (0, self.count);
        while here > FEW && top > 0 {
            let digit = DIGIT.min(top);
            let shift = top - digit;
            let parts = self.map(&|counts: &mut Vec<usize>, _, keys| {
                // bounded: a count for each digit.
                counts.resize(1 << DIGIT, 0);
                for key in keys {
                    if key >> (top - 1) >> 1 == prefix {
                        counts[(key >> shift) as usize & ((1 << digit) - 1)] += 1;
                    }
                }
            });
            for value in 0..1 << digit {
                here = parts.iter().map(|counts| counts[value]).sum();
                if index < less + here {
                    prefix = prefix << digit | value as u64;
                    break;
                }
                less += here;
            }
            top = shift;
        }
        let wanted = index - less;
        if top > 0 {
            let found = self.map(&|found: &mut Vec<u128>, start, keys| {
                let pairs = keys.iter().zip(start..);
                let pairs = pairs.filter(|(key, _)| **key >> (top - 1) >> 1 == prefix);
                found.extend(pairs.map(|(key, place)| u128::new(*key, place)));
            });
            // bounded: `FEW` keys.
            let mut found = found.concat();
            // Memory of others may have changed since keys were counted.
            let last = found.len().checked_sub(1)?;
            let pair = *found.select_nth_unstable(wanted.min(last)).1;
            return Some((pair.key(), pair.place()));
        }
        // Many are equal to it: the one that as many precede.
        let counts = self.map(&|places: &mut (usize, Option<usize>), start, keys| {
            places.1 = places.1.or(Some(start));
            places.0 += keys.iter().filter(|key| **key == prefix).count();
        });
        let mut wanted = wanted;
        for (count, start) in counts {
            if wanted < count {
                return self.nth(prefix, start?, wanted);
            }
            wanted -= count;
        }
        None
    }

    /// Where a key is from a place on, after so many others like it.
    fn nth(&self, wanted: u64, start: usize, mut others: usize) -> Option<(u64, usize)> {
        let mut keys = [0; BLOCK];
        for start in (start..self.count).step_by(BLOCK) {
            let keys = &mut keys[..BLOCK.min(self.count - start)];
            (self.read)(start, keys);
            for (key, place) in keys.iter().zip(start..) {
                if *key == wanted {
                    if others == 0 {
                        return Some((wanted, place));
                    }
                    others -= 1;
                }
            }
        }
        None
    }
}
