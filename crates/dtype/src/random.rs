//! Philox 4x32-10: counter-based random numbers, the same for any number of threads.

/// The four random words of a counter under a key.
///
/// Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011), with ten rounds.
///
/// ```
/// // Known answer of the reference implementation for zero counter and key.
/// let words = allotrope_dtype::philox4x32([0; 4], [0; 2]);
/// assert_eq!(words, [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
/// ```
#[must_use]
#[inline(always)]
pub const fn philox4x32(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let [mut c0, mut c1, mut c2, mut c3] = counter;
    let [mut k0, mut k1] = key;
    let mut round = 0;
    while round < 10 {
        let p0 = 0xD251_1F53 * c0 as u64;
        let p1 = 0xCD9E_8D57 * c2 as u64;
        (c0, c1, c2, c3) = (
            (p1 >> 32) as u32 ^ c1 ^ k0,
            p1 as u32,
            (p0 >> 32) as u32 ^ c3 ^ k1,
            p0 as u32,
        );
        k0 = k0.wrapping_add(0x9E37_79B9);
        k1 = k1.wrapping_add(0xBB67_AE85);
        round += 1;
    }
    [c0, c1, c2, c3]
}

/// Consecutive words of a stream: word `i` is word `i % 4` of counter `i / 4`.
pub(crate) fn random_words(seed: u64, first: u64, words: &mut [u32]) {
    let key = [seed as u32, (seed >> 32) as u32];
    let block = |index: u64| {
        let counter = index / 4;
        philox4x32([counter as u32, (counter >> 32) as u32, 0, 0], key)
    };
    let mut index = first;
    let mut current = block(index);
    for word in words {
        if index.is_multiple_of(4) {
            current = block(index);
        }
        *word = current[(index % 4) as usize];
        index = index.wrapping_add(1);
    }
}

/// The same for many words, in a loop that becomes vectors; at most `4 (BLOCKS - 1)` of them.
#[inline(always)]
pub(crate) fn random_blocks<const BLOCKS: usize>(seed: u64, first: u64, words: &mut [u32]) {
    let key = [seed as u32, (seed >> 32) as u32];
    let lead = (first % 4) as usize;
    let mut columns = [[0_u32; BLOCKS]; 4];
    let [a, b, c, d] = columns.each_mut();
    for (i, (((a, b), c), d)) in a.iter_mut().zip(b).zip(c).zip(d).enumerate() {
        // Words are numbered modulo 2^64, and so are blocks modulo a quarter of that.
        let counter = (first / 4).wrapping_add(i as u64) & (u64::MAX / 4);
        [*a, *b, *c, *d] = philox4x32([counter as u32, (counter >> 32) as u32, 0, 0], key);
    }
    let mut all = [[0_u32; 4]; BLOCKS];
    for (i, four) in all.iter_mut().enumerate() {
        *four = [columns[0][i], columns[1][i], columns[2][i], columns[3][i]];
    }
    let count = words.len();
    words.copy_from_slice(&all.as_flattened()[lead..lead + count]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_the_words_one_by_one() {
        for first in [
            0,
            1,
            2,
            3,
            4,
            1 << 40,
            (1 << 34) - 5,
            u64::MAX - 7,
            u64::MAX,
        ] {
            let (mut some, mut all) = ([0; 61], [0; 61]);
            random_words(0x1234_5678_9ABC_DEF0, first, &mut some);
            random_blocks::<17>(0x1234_5678_9ABC_DEF0, first, &mut all);
            assert_eq!(some, all, "from {first} on");
        }
    }
}
