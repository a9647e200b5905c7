//! Tensors in foreign memory: shared at its address, or copied where it cannot be read in place.
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, and borrows memory"
)]

use std::sync::Arc;

use allotrope_cpu::Foreign;
use allotrope_dtype::{DType, Error, ErrorKind};
use allotrope_tensor::{ForeignLayout, Tensor};

/// 512 bytes whose values are their places modulo 251, at a multiple of 16.
#[repr(align(16))]
struct Memory([u8; 512]);

fn memory() -> Arc<Memory> {
    Arc::new(Memory(std::array::from_fn(|i| (i % 251) as u8)))
}

/// The array whose first element is `first` bytes into the memory.
fn array(
    memory: &Arc<Memory>,
    first: usize,
    sizes: &[usize],
    strides: &[isize],
    dtype: DType,
    copy: Option<bool>,
) -> Result<Tensor, Error> {
    let layout = ForeignLayout::new("test", sizes, strides, dtype)?;
    let bytes = &memory.0[first - layout.bytes_before()..][..layout.bytes()];
    // SAFETY: the `Arc` keeps the array in its place, and nothing writes to it.
    let foreign = unsafe { Foreign::new(bytes.as_ptr(), bytes.len(), Arc::clone(memory)) };
    Tensor::from_foreign(foreign, &layout, copy)
}

/// The bytes of the elements in row-major order, by plain arithmetic.
fn gather(first: usize, sizes: &[usize], strides: &[isize], width: usize) -> Vec<u8> {
    let count: usize = sizes.iter().product();
    let element = |mut rest: usize| {
        let mut place = first as isize;
        for (size, stride) in sizes.iter().zip(strides).rev() {
            place += (rest % size) as isize * stride;
            rest /= size;
        }
        (0..width).map(move |byte| ((place as usize + byte) % 251) as u8)
    };
    (0..count).flat_map(element).collect()
}

#[test]
fn every_dtype_is_shared_or_copied_with_the_same_values() {
    let memory = memory();
    for dtype in DType::ALL {
        let (width, signed) = (dtype.itemsize(), dtype.itemsize() as isize);
        let cases: [(usize, &[usize], &[isize], bool); 9] = [
            (0, &[2, 3], &[3 * signed, signed], true),
            (0, &[3, 2], &[signed, 3 * signed], true),
            (width * 5, &[2, 3], &[-3 * signed, -signed], true),
            (width, &[4, 2], &[0, 2 * signed], true),
            (width * 2, &[], &[], true),
            (0, &[1, 2], &[7, signed], true),
            (0, &[2, 0, 3], &[1, 2, 3], true),
            (1, &[2, 3], &[3 * signed, signed], dtype.alignment() == 1),
            (0, &[2, 2], &[2 * signed + 1, signed], width == 1),
        ];
        for (first, sizes, strides, can_share) in cases {
            let want = gather(first, sizes, strides, width);
            let x = array(&memory, first, sizes, strides, dtype, None).unwrap();
            assert_eq!(x.to_bytes().unwrap(), want, "{dtype} {sizes:?} {strides:?}");
            assert_eq!(x.shape()[..], *sizes);
            let is_shared = x.address() == memory.0.as_ptr().addr() + first;
            assert_eq!(is_shared, can_share && x.count() > 0, "{dtype} {strides:?}");
            // Whatever is not shared does not hold on to the memory.
            assert_eq!(Arc::strong_count(&memory), 1 + usize::from(is_shared));
            drop(x);
            let copy = array(&memory, first, sizes, strides, dtype, Some(true)).unwrap();
            assert_eq!(copy.to_bytes().unwrap(), want);
            assert_eq!(Arc::strong_count(&memory), 1);
            let never = array(&memory, first, sizes, strides, dtype, Some(false));
            assert_eq!(never.is_ok(), can_share);
        }
    }
}

#[test]
fn refusals_are_worded() {
    let memory = memory();
    let message = |first, sizes: &[usize], strides: &[isize]| {
        let error = array(&memory, first, sizes, strides, DType::F32, Some(false)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Value);
        error.to_string()
    };
    let far = isize::MAX / 2;
    let beyond = "test: malformed tensor: elements beyond every address";
    assert_eq!(
        message(2, &[2], &[4]),
        "test: a copy is needed: the address is not a multiple of 4, as float32 needs it; \
         copy=False forbids it"
    );
    assert_eq!(
        message(0, &[2], &[6]),
        "test: a copy is needed: strides of [6] bytes are not whole elements of float32; \
         copy=False forbids it"
    );
    assert_eq!(
        message(0, &[2], &[]),
        "test: malformed tensor: 1 sizes and 0 strides"
    );
    assert_eq!(message(0, &[4], &[far]), beyond);
    assert_eq!(message(0, &[2, 2, 2], &[far, far, far]), beyond);
    assert_eq!(message(0, &[2, 2], &[far, -far - 8]), beyond);
    assert_eq!(message(0, &[4], &[isize::MIN]), beyond);
    let layout = ForeignLayout::new("test", &[2], &[4], DType::F32).unwrap();
    // SAFETY: the bytes are static.
    let short = unsafe { Foreign::new(b"short".as_ptr(), 5, ()) };
    let error = Tensor::from_foreign(short, &layout, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "test: malformed tensor: 5 bytes instead of 8"
    );
}

#[test]
fn views_keep_the_memory_and_the_last_thread_returns_it() {
    let memory = memory();
    let x = array(&memory, 0, &[4, 8], &[8, 1], DType::U8, None).unwrap();
    let row = x.select(0, 2).unwrap();
    drop(x);
    assert_eq!(Arc::strong_count(&memory), 2);
    let thread = std::thread::spawn(move || row.to_vec::<u8>().unwrap());
    assert_eq!(thread.join().unwrap(), (16..24).collect::<Vec<u8>>());
    assert_eq!(Arc::strong_count(&memory), 1);
}

#[test]
fn other_dtypes_are_seen_at_addresses_that_suit_them() {
    let memory = memory();
    for first in [0, 1, 2, 4] {
        for dtype in DType::ALL {
            let x = array(&memory, first, &[32], &[1], DType::U8, None).unwrap();
            let view = x.view_dtype(dtype).unwrap();
            assert!(view.address().is_multiple_of(dtype.alignment()));
            assert_eq!(view.to_bytes().unwrap(), x.to_bytes().unwrap());
            assert_eq!(
                view.shares_storage_with(&x),
                first.is_multiple_of(dtype.alignment())
            );
        }
    }
    // Complex numbers are aligned as their parts: 64-bit integers are not.
    let x = array(&memory, 4, &[2], &[8], DType::C64, Some(false)).unwrap();
    let bits = x.view_dtype(DType::I64).unwrap();
    assert_eq!(bits.to_bytes().unwrap(), x.to_bytes().unwrap());
}

#[test]
fn a_storage_that_ends_within_an_element_is_no_obstacle() {
    let x = Tensor::from_slice(&[0_u8, 0, 0x80, 0x3F, 1, 2], &[6]).unwrap();
    let x = x
        .slice(
            0,
            allotrope_op::Slice {
                stop: Some(4),
                ..allotrope_op::Slice::ALL
            },
        )
        .unwrap();
    let ones = x.view_dtype(DType::F32).unwrap().expand(&[3]).unwrap();
    assert_eq!(ones.to_vec::<f32>().unwrap(), [1.0; 3]);
}
