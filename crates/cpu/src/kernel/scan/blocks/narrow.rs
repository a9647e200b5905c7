//! Blocks as two vectors of four.
#![allow(unsafe_code, reason = "vector instructions for a detected level")]

use std::arch::x86_64::*;

use crate::kernel::prefix::LEFT_OUT;

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
