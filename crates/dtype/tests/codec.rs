//! Slice casts at every SIMD level, length, size and alignment.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod reference;

use allotrope_dtype::{CastOptions, Level, cast_bytes_at, dispatch};
use reference::casting::{aligned, cast_at, castable_pairs, interesting_bytes};

#[test]
fn every_level_gives_the_same_bits_for_every_pair() {
    for (from, to) in castable_pairs() {
        let src = interesting_bytes(from);
        let plain = cast_at(Level::Scalar, from, &src, to, CastOptions::default()).unwrap();
        for level in Level::available() {
            let got = cast_at(level, from, &src, to, CastOptions::default()).unwrap();
            let differs = got.iter().zip(&plain).position(|(a, b)| a != b);
            assert!(
                differs.is_none(),
                "{from} -> {to} at {level}: element {:?}",
                differs.map(|i| i / to.itemsize())
            );
        }
    }
}

#[test]
fn every_level_handles_every_tail_length() {
    for (from, to) in castable_pairs() {
        let all = interesting_bytes(from);
        let whole = cast_at(
            Level::Scalar,
            from,
            &all[..256 * from.itemsize()],
            to,
            CastOptions::default(),
        );
        let whole = whole.unwrap();
        for level in Level::available() {
            for len in 0..=130 {
                let src = &all[..len * from.itemsize()];
                let got = cast_at(level, from, src, to, CastOptions::default()).unwrap();
                assert_eq!(
                    got,
                    whole[..len * to.itemsize()],
                    "{from} -> {to} at {level}, {len}"
                );
            }
        }
    }
}

#[test]
fn elements_need_no_more_alignment_than_their_type() {
    for (from, to) in castable_pairs() {
        let alignment = |dtype| dispatch!(dtype, |T| align_of::<T>());
        let pattern = &interesting_bytes(from)[..200 * from.itemsize()];
        let want = cast_at(Level::Scalar, from, pattern, to, CastOptions::default()).unwrap();
        let (mut source, mut target) = (aligned(4096), aligned(4096));
        let source: &mut [u8] = bytemuck::cast_slice_mut(&mut source);
        let target: &mut [u8] = bytemuck::cast_slice_mut(&mut target);
        let src = &mut source[alignment(from)..][..pattern.len()];
        src.copy_from_slice(pattern);
        for level in Level::available() {
            let dst = &mut target[alignment(to)..][..want.len()];
            cast_bytes_at(level, from, src, to, dst, CastOptions::default()).unwrap();
            assert_eq!(dst, want, "{from} -> {to} at {level}");
        }
    }
}

#[test]
fn large_casts_equal_small_ones_at_every_level_and_alignment() {
    // Above the size from which results are streamed past the caches, with an odd tail.
    for (from, to) in castable_pairs() {
        let elements = (9 << 20) / to.itemsize() + 37;
        let pattern = interesting_bytes(from);
        let count = pattern.len() / from.itemsize();
        let expected = cast_at(Level::Scalar, from, &pattern, to, CastOptions::default()).unwrap();
        let mut source = aligned(elements * from.itemsize() + 16);
        let source: &mut [u8] = bytemuck::cast_slice_mut(&mut source);
        for offset in [0, 8] {
            let source = &mut source[offset..offset + elements * from.itemsize()];
            for chunk in source.chunks_mut(pattern.len()) {
                chunk.copy_from_slice(&pattern[..chunk.len()]);
            }
            let mut target = aligned(elements * to.itemsize() + 16);
            let target: &mut [u8] = bytemuck::cast_slice_mut(&mut target);
            let target = &mut target[offset..offset + elements * to.itemsize()];
            for level in Level::available() {
                target.fill(0xAA);
                let options = CastOptions::default();
                cast_bytes_at(level, from, source, to, target, options).unwrap();
                for (i, chunk) in target.chunks(count * to.itemsize()).enumerate() {
                    assert!(
                        chunk == &expected[..chunk.len()],
                        "{from} -> {to} at {level}: block {i}"
                    );
                }
            }
        }
    }
}
