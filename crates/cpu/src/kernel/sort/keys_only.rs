//! Keys in order without their places, in the room of their results alone.

use super::key::{Way, Word};
use crate::interrupt::Watch;
use crate::parallel::{self, CHUNK};

/// Bits that tell a bin of neighbouring keys.
const TOP: u32 = 12;
/// Keys that are read at once.
const BLOCK: usize = 512;

/// Writes the keys of words in order: those of each bin next to each other, where they are sorted in
/// the cache. Every thread reads all words and keeps those of its bins.
pub(super) fn sort_keys<W: Word>(way: &Way<W>, words: &[W], out: &mut [W]) {
    let count = words.len();
    if count <= CHUNK {
        way.keys(words, out);
        return sort_few(out, &mut Vec::new());
    }
    let visit = |start: usize, end: usize, work: &mut dyn FnMut(&[W])| {
        let (mut keys, mut watch) = ([W::MAX; BLOCK], Watch::new());
        for words in words[start..end].chunks(BLOCK) {
            watch.check();
            let keys = &mut keys[..words.len()];
            way.keys(words, keys);
            work(keys);
        }
    };
    let part = count.div_ceil(64).max(CHUNK);
    let parts = count.div_ceil(part);
    let end = |index: usize| count.min((index + 1) * part);
    let bounds = parallel::map(parts, |index| {
        let mut bounds = (W::MAX, W::narrow(0));
        visit(index * part, end(index), &mut |keys| {
            for key in keys {
                bounds = (bounds.0.min(*key), bounds.1.max(*key));
            }
        });
        bounds
    });
    let (least, most) = bounds.iter().fold((W::MAX, W::narrow(0)), |all, part| {
        (all.0.min(part.0), all.1.max(part.1))
    });
    let width = 64 - most.less(least).wide().leading_zeros();
    let shift = width.saturating_sub(TOP);
    let bin = |key: W| (key.less(least).wide() >> shift) as usize;
    let counts = parallel::map(parts, |index| {
        // bounded: a count for each of a few thousand bins.
        let mut counts = vec![0_usize; 1 << TOP];
        visit(index * part, end(index), &mut |keys| {
            keys.iter().for_each(|key| counts[bin(*key)] += 1);
        });
        counts
    });
    let sizes = (0..1_usize << TOP).map(|bin| counts.iter().map(|counts| counts[bin]).sum());
    let sizes: Vec<usize> = sizes.collect();
    // Bins of about as many keys for each thread.
    let each = count.div_ceil(crate::parallel::thread_count());
    let mut shares: Vec<(usize, &[usize], &mut [W])> = Vec::new();
    let (mut first, mut rest) = (0, out);
    while first < sizes.len() {
        let (mut last, mut keys) = (first, 0);
        while last < sizes.len() && (keys == 0 || keys + sizes[last] <= each) {
            keys += sizes[last];
            last += 1;
        }
        let (now, later) = rest.split_at_mut(keys);
        shares.push((first, &sizes[first..last], now));
        (first, rest) = (last, later);
    }
    parallel::for_each_part(&mut shares, 1, |_, shares| {
        for (first, sizes, out) in shares {
            let mut next: Vec<usize> = Vec::with_capacity(sizes.len());
            next.extend(sizes.iter().scan(0, |end, size| {
                let start = *end;
                *end += size;
                Some(start)
            }));
            visit(0, count, &mut |keys| {
                for key in keys {
                    if let Some(place) = next.get_mut(bin(*key).wrapping_sub(*first)) {
                        out[*place] = *key;
                        *place += 1;
                    }
                }
            });
            let (mut start, mut room, mut watch) = (0, Vec::new(), Watch::new());
            for end in next {
                watch.check();
                sort_few(&mut out[start..end], &mut room);
                start = end;
            }
        }
    });
}

/// Keys in order, by way of wide ones: those are sorted elsewhere too.
fn sort_few<W: Word>(keys: &mut [W], room: &mut Vec<u64>) {
    // A bin of one key needs no room.
    if keys.iter().all(|key| *key == keys[0]) {
        return;
    }
    room.clear();
    room.extend(keys.iter().map(|key| key.wide()));
    room.sort_unstable();
    for (key, wide) in keys.iter_mut().zip(room) {
        *key = W::narrow(*wide);
    }
}
