//! Rows that become columns in registers, by interleaving.
#![allow(
    unsafe_code,
    reason = "loads and stores of whole vectors, code for a detected instruction set"
)]

use super::Avx512;

/// Vectors of elements of `SIZE` bytes with rows and columns exchanged: as many rows as there are
/// vectors, one after the other, are columns before.
///
/// Each round interleaves row `i` of the first half with row `i` of the second, and after as many
/// rounds as `COUNT` has binary digits below its own every element is in its place. At most eight rows:
/// more do not stay in registers.
#[inline(always)]
pub(crate) fn turn_rows<const SIZE: usize, const COUNT: usize>(
    mut rows: [[u8; 16]; COUNT],
) -> [[u8; 16]; COUNT] {
    const { assert!(COUNT <= 8) };
    // Written out: a loop of rounds has its rows in memory, three times as slow.
    if COUNT > 1 {
        rows = interleave_halves::<SIZE, COUNT>(rows);
    }
    if COUNT > 2 {
        rows = interleave_halves::<SIZE, COUNT>(rows);
    }
    if COUNT > 4 {
        rows = interleave_halves::<SIZE, COUNT>(rows);
    }
    rows
}

/// A round of [`turn_rows`].
#[inline(always)]
fn interleave_halves<const SIZE: usize, const COUNT: usize>(
    before: [[u8; 16]; COUNT],
) -> [[u8; 16]; COUNT] {
    let mut rows = before;
    for i in 0..COUNT / 2 {
        (rows[2 * i], rows[2 * i + 1]) = interleave::<SIZE>(before[i], before[i + COUNT / 2]);
    }
    rows
}

/// Writes the columns of sixteen lines of bytes as rows, to columns from `place` on.
#[inline(always)]
pub(crate) fn turn_lines(
    wide: Avx512,
    lines: [&[u8; 64]; 16],
    rows: &mut [[u8; 64]; 64],
    place: usize,
) {
    let _ = wide;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the CPU has the instructions.
    unsafe {
        x86::turn_lines(lines, rows, place);
    }
    #[cfg(not(target_arch = "x86_64"))]
    for (i, row) in rows.iter_mut().enumerate() {
        for (to, line) in row[place..].iter_mut().zip(lines) {
            *to = line[i];
        }
    }
}

/// The elements of two vectors in turns: those of the lower halves, then those of the upper.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn interleave<const SIZE: usize>(a: [u8; 16], b: [u8; 16]) -> ([u8; 16], [u8; 16]) {
    // SAFETY: SSE2 is part of the x86-64 baseline.
    unsafe { x86::interleave::<SIZE>(a, b) }
}

/// The elements of two vectors in turns: those of the lower halves, then those of the upper.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn interleave<const SIZE: usize>(a: [u8; 16], b: [u8; 16]) -> ([u8; 16], [u8; 16]) {
    let (mut low, mut high) = ([0; 16], [0; 16]);
    for (half, out) in [&mut low, &mut high].into_iter().enumerate() {
        for (i, pair) in out.chunks_exact_mut(2 * SIZE).enumerate() {
            let place = half * 8 + i * SIZE;
            pair[..SIZE].copy_from_slice(&a[place..place + SIZE]);
            pair[SIZE..].copy_from_slice(&b[place..place + SIZE]);
        }
    }
    (low, high)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    #[inline]
    #[target_feature(enable = "sse2")]
    pub(super) fn interleave<const SIZE: usize>(a: [u8; 16], b: [u8; 16]) -> ([u8; 16], [u8; 16]) {
        // SAFETY: 16 readable bytes; the load has no alignment requirement.
        let a = unsafe { _mm_loadu_si128(a.as_ptr().cast()) };
        // SAFETY: as above.
        let b = unsafe { _mm_loadu_si128(b.as_ptr().cast()) };
        let (first, second) = match SIZE {
            1 => (_mm_unpacklo_epi8(a, b), _mm_unpackhi_epi8(a, b)),
            2 => (_mm_unpacklo_epi16(a, b), _mm_unpackhi_epi16(a, b)),
            4 => (_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b)),
            _ => (_mm_unpacklo_epi64(a, b), _mm_unpackhi_epi64(a, b)),
        };
        let (mut low, mut high) = ([0; 16], [0; 16]);
        // SAFETY: 16 writable bytes; the store has no alignment requirement.
        unsafe { _mm_storeu_si128(low.as_mut_ptr().cast(), first) };
        // SAFETY: as above.
        unsafe { _mm_storeu_si128(high.as_mut_ptr().cast(), second) };
        (low, high)
    }

    /// Four blocks of 16 by 16 bytes side by side: rounds as in `turn_rows`, in each quarter of a line.
    /// Written out, as there: loops over so many vectors have them in memory.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn turn_lines(lines: [&[u8; 64]; 16], rows: &mut [[u8; 64]; 64], place: usize) {
        macro_rules! each {
            ($($i:literal)*) => {
                // SAFETY: 64 readable bytes; the load has no alignment requirement.
                let vectors = [$(unsafe { _mm512_loadu_si512(lines[$i].as_ptr().cast()) }),*];
                let vectors = interleave_lines(interleave_lines(vectors));
                let vectors = interleave_lines(interleave_lines(vectors));
                $(
                    let v = vectors[$i];
                    write(&mut rows[$i], place, _mm512_castsi512_si128(v));
                    write(&mut rows[16 + $i], place, _mm512_extracti32x4_epi32::<1>(v));
                    write(&mut rows[32 + $i], place, _mm512_extracti32x4_epi32::<2>(v));
                    write(&mut rows[48 + $i], place, _mm512_extracti32x4_epi32::<3>(v));
                )*
            };
        }
        each!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    }

    /// A round of [`turn_lines`].
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn interleave_lines(v: [__m512i; 16]) -> [__m512i; 16] {
        macro_rules! pairs {
            ($($low:literal $high:literal),*) => {
                [$(
                    _mm512_unpacklo_epi8(v[$low], v[$high]),
                    _mm512_unpackhi_epi8(v[$low], v[$high]),
                )*]
            };
        }
        pairs!(0 8, 1 9, 2 10, 3 11, 4 12, 5 13, 6 14, 7 15)
    }

    /// Writes a quarter of a line.
    #[inline]
    #[target_feature(enable = "sse2")]
    fn write(line: &mut [u8; 64], place: usize, quarter: __m128i) {
        let to = &mut line[place..place + 16];
        // SAFETY: 16 writable bytes; the store has no alignment requirement.
        unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), quarter) };
    }
}
