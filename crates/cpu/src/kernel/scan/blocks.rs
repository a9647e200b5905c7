//! Running sums of blocks of eight by instructions of their own: neighbours are added first, then
//! pairs, then fours, then what precedes the block.
//!
//! The compiler makes a loop of that for each level, which takes twice as long: it finds no shuffle
//! of eight numbers.
#![allow(unsafe_code, reason = "vector instructions for a detected level")]

use allotrope_dtype::Level;

/// The sums of float32 in float64, after `carry`, of the whole blocks among the items; gives the
/// last one, or nothing where the level has no vectors. Sums that are `odd` keep an odd last bit where
/// something is lost. Sums of magnitudes below `exact` lose nothing as float32 either.
#[inline]
pub(crate) fn add_floats(
    level: Level,
    odd: bool,
    exact: f32,
    carry: f64,
    items: &[f32],
    out: &mut [f32],
) -> Option<f64> {
    #[cfg(target_arch = "x86_64")]
    if level >= Level::Avx2 {
        let (mut carry, mut done) = (carry, 0);
        if exact > 0.0 {
            // SAFETY: a level is only handed out when the CPU has its features, and each has those
            // of the levels below.
            (carry, done) = unsafe { narrow::add_exactly(exact, carry, items, out) };
        }
        let (items, out) = (&items[done..], &mut out[done..]);
        return Some(match (level, odd) {
            // SAFETY: as above.
            (Level::Avx512, _) => unsafe { wide::add_floats(odd, carry, items, out) },
            // SAFETY: as above.
            (_, true) => unsafe { narrow::add_floats::<true>(carry, items, out) },
            // SAFETY: as above.
            (_, false) => unsafe { narrow::add_floats::<false>(carry, items, out) },
        });
    }
    let _ = (level, odd, exact, carry, items, out);
    None
}

/// The same of integers, which wrap and lose nothing.
#[inline]
pub(crate) fn add_integers(
    level: Level,
    _odd: bool,
    _exact: f32,
    carry: i64,
    items: &[i64],
    out: &mut [i64],
) -> Option<i64> {
    #[cfg(target_arch = "x86_64")]
    if level >= Level::Avx2 {
        return Some(match level {
            // SAFETY: a level is only handed out when the CPU has its features.
            Level::Avx512 => unsafe { wide::add_integers(carry, items, out) },
            // SAFETY: as above.
            _ => unsafe { narrow::add_integers(carry, items, out) },
        });
    }
    let _ = (level, carry, items, out);
    None
}

/// Blocks as vectors of eight.
#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::*;

    use crate::kernel::prefix::LEFT_OUT;

    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2")]
    pub(super) fn add_floats(odd: bool, carry: f64, items: &[f32], out: &mut [f32]) -> f64 {
        // What every number can be added to and stays itself.
        let nothing = _mm512_castpd_si512(_mm512_set1_pd(-0.0));
        let left_out = _mm512_set1_epi64(LEFT_OUT.cast_signed());
        let last = _mm512_set1_epi64(7);
        let mut carry = _mm512_set1_pd(carry);
        let (blocks, to) = (items.as_chunks::<8>().0, out.as_chunks_mut::<8>().0);
        for (block, to) in blocks.iter().zip(to) {
            // SAFETY: 32 readable bytes; the load has no alignment requirement.
            let ones = _mm512_cvtps_pd(unsafe { _mm256_loadu_ps(block.as_ptr()) });
            let before = _mm512_alignr_epi64::<7>(_mm512_castpd_si512(ones), nothing);
            let twos = _mm512_add_pd(_mm512_castsi512_pd(before), ones);
            let before = _mm512_alignr_epi64::<6>(_mm512_castpd_si512(twos), nothing);
            let fours = _mm512_add_pd(_mm512_castsi512_pd(before), twos);
            let before = _mm512_alignr_epi64::<4>(_mm512_castpd_si512(fours), nothing);
            let all = _mm512_add_pd(_mm512_castsi512_pd(before), fours);
            let mut sums = _mm512_add_pd(carry, all);
            carry = _mm512_add_pd(carry, _mm512_permutexvar_pd(last, all));
            if odd {
                let bits = _mm512_castpd_si512(sums);
                // A carry out of digits that are left out reaches the last one that is kept.
                let carried = _mm512_add_epi64(_mm512_and_si512(bits, left_out), left_out);
                // Bits of either, without those that are left out.
                let kept = _mm512_ternarylogic_epi64::<0x54>(carried, bits, left_out);
                sums = _mm512_castsi512_pd(kept);
            }
            let sums = _mm512_cvtpd_ps(sums);
            // SAFETY: 32 writable bytes; the store has no alignment requirement.
            unsafe { _mm256_storeu_ps(to.as_mut_ptr(), sums) };
        }
        _mm512_cvtsd_f64(carry)
    }

    #[target_feature(enable = "avx512f")]
    pub(super) fn add_integers(carry: i64, items: &[i64], out: &mut [i64]) -> i64 {
        let nothing = _mm512_setzero_si512();
        let last = _mm512_set1_epi64(7);
        let mut carry = _mm512_set1_epi64(carry);
        let (blocks, to) = (items.as_chunks::<8>().0, out.as_chunks_mut::<8>().0);
        for (block, to) in blocks.iter().zip(to) {
            // SAFETY: 64 readable bytes; the load has no alignment requirement.
            let ones = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
            let twos = _mm512_add_epi64(_mm512_alignr_epi64::<7>(ones, nothing), ones);
            let fours = _mm512_add_epi64(_mm512_alignr_epi64::<6>(twos, nothing), twos);
            let all = _mm512_add_epi64(_mm512_alignr_epi64::<4>(fours, nothing), fours);
            let sums = _mm512_add_epi64(carry, all);
            // SAFETY: 64 writable bytes; the store has no alignment requirement.
            unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), sums) };
            carry = _mm512_add_epi64(carry, _mm512_permutexvar_epi64(last, all));
        }
        _mm_cvtsi128_si64(_mm512_castsi512_si128(carry))
    }
}

/// Blocks as two vectors of four.
#[cfg(target_arch = "x86_64")]
mod narrow {
    use std::arch::x86_64::*;

    use crate::kernel::prefix::LEFT_OUT;

    /// Items that are added before it is known whether sums stayed exact.
    const TRIED: usize = 256;

    /// Sums that float32 has room for, as far as all of them are below `exact`: the last one, and how
    /// many items it has.
    #[target_feature(enable = "avx2")]
    pub(super) fn add_exactly(
        exact: f32,
        carry: f64,
        items: &[f32],
        out: &mut [f32],
    ) -> (f64, usize) {
        // What every number can be added to and stays itself.
        let nothing = _mm256_castps_si256(_mm256_set1_ps(-0.0));
        let sign = _mm256_set1_epi32(i32::MIN);
        let last = _mm256_set1_epi32(7);
        let (mut carry, mut done) = (carry, 0);
        for (items, out) in items.chunks(TRIED).zip(out.chunks_mut(TRIED)) {
            if carry.abs() >= f64::from(exact) {
                break;
            }
            let mut sum = _mm256_set1_ps(carry as f32);
            // Magnitudes are ordered as their bits are, and NaN is above all.
            let (mut most, mut most_of_items) = (_mm256_setzero_si256(), _mm256_setzero_si256());
            let (blocks, to) = (items.as_chunks::<8>().0, out.as_chunks_mut::<8>().0);
            for (block, to) in blocks.iter().zip(to) {
                // SAFETY: 32 readable bytes; the load has no alignment requirement.
                let a = unsafe { _mm256_loadu_si256(block.as_ptr().cast()) };
                most_of_items = _mm256_max_epu32(most_of_items, _mm256_andnot_si256(sign, a));
                // Each number with the one before it, then with the two, then with the four.
                let before = _mm256_permute2x128_si256::<0x02>(a, nothing);
                let a = add(a, _mm256_alignr_epi8::<12>(a, before));
                let before = _mm256_permute2x128_si256::<0x02>(a, nothing);
                let a = add(a, _mm256_alignr_epi8::<8>(a, before));
                let a = add(a, _mm256_permute2x128_si256::<0x02>(a, nothing));
                let sums = _mm256_add_ps(sum, _mm256_castsi256_ps(a));
                let total = _mm256_permutevar8x32_epi32(a, last);
                sum = _mm256_add_ps(sum, _mm256_castsi256_ps(total));
                most = _mm256_max_epu32(most, _mm256_andnot_si256(sign, _mm256_castps_si256(sums)));
                // SAFETY: 32 writable bytes; the store has no alignment requirement.
                unsafe { _mm256_storeu_ps(to.as_mut_ptr(), sums) };
            }
            // Windows of up to eight items are exact too.
            let is_exact = all_below(most, exact) && all_below(most_of_items, exact / 8.0);
            if !is_exact {
                break;
            }
            carry = f64::from(_mm256_cvtss_f32(sum));
            done += blocks.len() * 8;
        }
        (carry, done)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn add(a: __m256i, b: __m256i) -> __m256i {
        let sum = _mm256_add_ps(_mm256_castsi256_ps(b), _mm256_castsi256_ps(a));
        _mm256_castps_si256(sum)
    }

    /// Whether all magnitudes are below a limit.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn all_below(magnitudes: __m256i, limit: f32) -> bool {
        let limit = _mm256_castps_si256(_mm256_set1_ps(limit));
        _mm256_movemask_epi8(_mm256_cmpgt_epi32(limit, magnitudes)) == -1
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn add_floats<const ODD: bool>(carry: f64, items: &[f32], out: &mut [f32]) -> f64 {
        let mut carry = _mm256_set1_pd(carry);
        let (blocks, to) = (items.as_chunks::<8>().0, out.as_chunks_mut::<8>().0);
        for (block, to) in blocks.iter().zip(to) {
            // SAFETY: 32 readable bytes; the load has no alignment requirement.
            let block = unsafe { _mm256_loadu_ps(block.as_ptr()) };
            let sums = add_block::<ODD>(&mut carry, block);
            // SAFETY: 32 writable bytes; the store has no alignment requirement.
            unsafe { _mm256_storeu_ps(to.as_mut_ptr(), sums) };
        }
        _mm256_cvtsd_f64(carry)
    }

    /// The sums of a block after `carry`, which becomes the last of them.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn add_block<const ODD: bool>(carry: &mut __m256d, block: __m256) -> __m256 {
        // What every number can be added to and stays itself.
        let nothing = _mm256_set1_pd(-0.0);
        let a = _mm256_cvtps_pd(_mm256_castps256_ps128(block));
        let b = _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(block));
        // The halves next to each other, from which all that comes before is taken.
        let (first, middle) = (
            _mm256_permute2f128_pd::<0x02>(a, nothing),
            _mm256_permute2f128_pd::<0x21>(a, b),
        );
        let a = _mm256_add_pd(_mm256_shuffle_pd::<0b0101>(first, a), a);
        let b = _mm256_add_pd(_mm256_shuffle_pd::<0b0101>(middle, b), b);
        let (first, middle) = (
            _mm256_permute2f128_pd::<0x02>(a, nothing),
            _mm256_permute2f128_pd::<0x21>(a, b),
        );
        let (a, b) = (_mm256_add_pd(first, a), _mm256_add_pd(middle, b));
        let b = _mm256_add_pd(a, b);
        let sums = [_mm256_add_pd(*carry, a), _mm256_add_pd(*carry, b)];
        *carry = _mm256_add_pd(*carry, _mm256_permute4x64_pd::<0xFF>(b));
        let [low, high] = sums.map(|sums| if ODD { odd(sums) } else { sums });
        _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn odd(sums: __m256d) -> __m256d {
        let left_out = _mm256_set1_epi64x(LEFT_OUT.cast_signed());
        let bits = _mm256_castpd_si256(sums);
        // A carry out of digits that are left out reaches the last one that is kept.
        let carried = _mm256_add_epi64(_mm256_and_si256(bits, left_out), left_out);
        let either = _mm256_or_si256(carried, bits);
        _mm256_castsi256_pd(_mm256_andnot_si256(left_out, either))
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn add_integers(carry: i64, items: &[i64], out: &mut [i64]) -> i64 {
        let nothing = _mm256_setzero_si256();
        let mut carry = _mm256_set1_epi64x(carry);
        let (blocks, to) = (items.as_chunks::<8>().0, out.as_chunks_mut::<8>().0);
        for (block, to) in blocks.iter().zip(to) {
            let (block, to) = (block.as_chunks::<4>().0, to.as_chunks_mut::<4>().0);
            // SAFETY: 32 readable bytes each; the load has no alignment requirement.
            let [a, b] = [0, 1].map(|i| unsafe { _mm256_loadu_si256(block[i].as_ptr().cast()) });
            let (first, middle) = (
                _mm256_permute2x128_si256::<0x02>(a, nothing),
                _mm256_permute2x128_si256::<0x21>(a, b),
            );
            let a = _mm256_add_epi64(_mm256_alignr_epi8::<8>(a, first), a);
            let b = _mm256_add_epi64(_mm256_alignr_epi8::<8>(b, middle), b);
            let (first, middle) = (
                _mm256_permute2x128_si256::<0x02>(a, nothing),
                _mm256_permute2x128_si256::<0x21>(a, b),
            );
            let (a, b) = (_mm256_add_epi64(first, a), _mm256_add_epi64(middle, b));
            let b = _mm256_add_epi64(a, b);
            let sums = [_mm256_add_epi64(carry, a), _mm256_add_epi64(carry, b)];
            carry = _mm256_add_epi64(carry, _mm256_permute4x64_epi64::<0xFF>(b));
            for (to, sums) in to.iter_mut().zip(sums) {
                // SAFETY: 32 writable bytes; the store has no alignment requirement.
                unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), sums) };
            }
        }
        _mm_cvtsi128_si64(_mm256_castsi256_si128(carry))
    }
}
