//! Blocks as vectors of eight.
#![allow(unsafe_code, reason = "vector instructions for a detected level")]

use std::arch::x86_64::*;

use crate::kernel::prefix::LEFT_OUT;

#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2")]
pub(super) fn add_floats<const ODD: bool>(carry: f64, items: &[f32], out: &mut [f32]) -> f64 {
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
        if ODD {
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
