//! Buffers and movement between layouts.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use allotrope_cpu::{Buffer, kernel};
use allotrope_dtype::DType;
use allotrope_op::{Layout, Shape, Slice};
use proptest::prelude::*;

#[test]
fn buffers_are_aligned_and_zeroed_even_when_reused() {
    for len in [0, 1, 63, 64, 65, 100_000, 1 << 20, (1 << 20) + 1] {
        for _ in 0..3 {
            let mut buffer = Buffer::zeroed("zeros", len).unwrap();
            assert_eq!(buffer.len(), len);
            assert!(buffer.as_ptr().addr().is_multiple_of(64));
            assert!(buffer.iter().all(|byte| *byte == 0));
            buffer.fill(0xAB);
        }
        let buffer = Buffer::for_overwrite("add", len).unwrap();
        assert_eq!(buffer.elements::<u16>().len(), len / 2);
    }
}

#[test]
fn buffers_cross_threads() {
    let buffers: Vec<_> = (0..8)
        .map(|i| {
            std::thread::spawn(move || {
                let mut buffer = Buffer::zeroed("full", 200_000).unwrap();
                buffer.fill(i);
                buffer
            })
        })
        .map(|thread| thread.join().unwrap())
        .collect();
    for (i, buffer) in buffers.iter().enumerate() {
        assert!(buffer.iter().all(|byte| usize::from(*byte) == i));
    }
}

/// Every element of a layout by plain index arithmetic, in row-major order.
fn gather(width: usize, src: &[u8], layout: &Layout) -> Vec<u8> {
    let sizes = layout.shape();
    (0..sizes.count())
        .flat_map(|mut rest| {
            let mut index = vec![0; sizes.rank()];
            for (place, size) in index.iter_mut().zip(sizes.iter()).rev() {
                *place = rest % size;
                rest /= size;
            }
            let place = layout.place(&index) * width;
            src[place..place + width].to_vec()
        })
        .collect()
}

/// A dtype of every width and alignment.
fn one_per_word() -> [DType; 6] {
    [
        DType::Bool,
        DType::BF16,
        DType::F32,
        DType::I64,
        DType::C64,
        DType::C128,
    ]
}

fn check_copy(dtype: DType, layout: &Layout) {
    let width = dtype.itemsize();
    let extent = layout.extent().map_or(0, |(_, end)| end);
    let mut src = Buffer::zeroed("test", extent * width).unwrap();
    for (i, byte) in src.iter_mut().enumerate() {
        *byte = (i * 31 + i / 251) as u8;
    }
    let mut dst = Buffer::for_overwrite("test", layout.shape().count() * width).unwrap();
    kernel::copy(dtype, &src, layout, &mut dst);
    assert!(
        dst[..] == gather(width, &src, layout)[..],
        "{dtype}: {layout:?}"
    );
}

proptest! {
    #[test]
    fn copies_follow_the_layout(
        sizes in prop::collection::vec(1_usize..70, 1..4),
        order in any::<[u8; 3]>(),
        steps in prop::collection::vec(prop::sample::select(vec![1_isize, -1, 2, -3]), 3),
        broadcast in any::<bool>(),
    ) {
        let mut layout = Layout::contiguous(Shape::new("test", &sizes).unwrap());
        let rank = sizes.len();
        for (dim, step) in steps.iter().enumerate().take(rank) {
            let slice = Slice { step: *step, ..Slice::ALL };
            layout = layout.slice("test", dim as isize, slice).unwrap();
        }
        for (a, b) in order.iter().enumerate().take(rank) {
            layout = layout.transpose("test", a as isize, (usize::from(*b) % rank) as isize).unwrap();
        }
        if broadcast {
            let wide: Vec<usize> = [2].iter().chain(layout.shape().iter()).copied().collect();
            layout = layout.broadcast_to("test", &Shape::new("test", &wide).unwrap()).unwrap();
        }
        for dtype in one_per_word() {
            check_copy(dtype, &layout);
        }
    }
}

#[test]
fn large_copies_run_on_threads_and_agree() {
    let base = Layout::contiguous(Shape::new("test", &[300, 1000]).unwrap());
    let reversed = base
        .slice(
            "test",
            1,
            Slice {
                step: -1,
                ..Slice::ALL
            },
        )
        .unwrap();
    let column = base
        .slice(
            "test",
            1,
            Slice {
                stop: Some(1),
                ..Slice::ALL
            },
        )
        .unwrap();
    let spread = column
        .broadcast_to("test", &Shape::new("test", &[300, 1000]).unwrap())
        .unwrap();
    for layout in [
        base.clone(),
        base.transpose("test", 0, 1).unwrap(),
        reversed,
        spread,
    ] {
        check_copy(DType::F32, &layout);
        check_copy(DType::C128, &layout);
    }
}

#[test]
fn fills_every_element() {
    for dtype in one_per_word() {
        let width = dtype.itemsize();
        let element: Vec<u8> = (1..=width as u8).collect();
        for count in [0, 1, 7, 100_001] {
            let mut dst = Buffer::zeroed("full", count * width).unwrap();
            kernel::fill(dtype, &element, &mut dst);
            assert!(dst.chunks(width).all(|e| e == element));
        }
    }
}
