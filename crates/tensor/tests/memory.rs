//! The most memory that operations hold: their results and a bounded room, whatever the sizes.
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    reason = "a test fails by panicking, and counts what is allocated"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use allotrope_cpu::release_kept;
use allotrope_dtype::DType;
use allotrope_op::Slice;
use allotrope_tensor::{AttentionOptions, ConvolutionOptions, Index, Padding, Tensor};

/// Bytes that are allocated, and the most that were since the last reset.
static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: all memory is the system's, with the layout that the caller gives; counting allocates
// nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const MEGABYTE: usize = 1 << 20;
/// One operation at a time: all tests share the counters.
static ALONE: Mutex<()> = Mutex::new(());

/// Asserts that on two threads an operation holds no more than its results and `room` bytes.
fn check(name: &str, room: usize, run: impl Fn() -> Vec<Tensor> + Send + Sync) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
    let (results, held) = pool.unwrap().install(|| {
        // What threads and tables need once is not the operation's.
        drop(run());
        release_kept();
        let before = NOW.load(Ordering::Relaxed);
        PEAK.store(before, Ordering::Relaxed);
        let results = run();
        (results, PEAK.load(Ordering::Relaxed) - before)
    });
    let size = |tensor: &Tensor| tensor.count() * tensor.dtype().itemsize();
    let results: usize = results.iter().map(size).sum();
    assert!(held >= results, "{name} holds {held} bytes");
    assert!(
        held <= results + room,
        "{name} holds {held} bytes, its results {results}, and may have {room} more"
    );
}

fn numbers(sizes: &[isize], dtype: DType) -> Tensor {
    let count: isize = sizes.iter().product();
    let line = Tensor::arange(0, count as i64, 1, DType::I64).unwrap();
    let line = line.remainder(7).unwrap().to(dtype).unwrap();
    line.reshape(sizes).unwrap()
}

#[test]
fn products_need_no_converted_factors() {
    let _alone = ALONE.lock();
    // As float32, each factor of the narrow dtypes would be 4 or 8 MB.
    let x = numbers(&[1024, 2048], DType::F32);
    let y = numbers(&[2048, 1024], DType::F32);
    check("float32", 4 * MEGABYTE, || vec![x.matmul(&y).unwrap()]);
    let (x, y) = (x.to(DType::BF16).unwrap(), y.to(DType::I8).unwrap());
    check("bfloat16 by int8", 8 * MEGABYTE, || {
        vec![x.matmul(&y).unwrap()]
    });
}

#[test]
fn convolution_needs_no_matrix_of_windows() {
    let _alone = ALONE.lock();
    for dtype in [DType::F32, DType::BF16, DType::I8] {
        // Nine numbers for each of the image's would be 19, 9 and 5 MB.
        let image = numbers(&[2, 64, 64, 64], dtype);
        let weight = numbers(&[32, 64, 3, 3], dtype);
        let options = ConvolutionOptions {
            padding: Padding::Each(&[1]),
            ..ConvolutionOptions::default()
        };
        check(dtype.name(), 4 * MEGABYTE, || {
            vec![image.conv2d(&weight, None, &options).unwrap()]
        });
    }
}

#[test]
fn attention_needs_no_matrix_of_products() {
    let _alone = ALONE.lock();
    // All products would be 64 MB.
    let heads = numbers(&[4, 2048, 32], DType::F32);
    check("attention", 4 * MEGABYTE, || {
        let options = AttentionOptions::default();
        vec![
            heads
                .scaled_dot_product_attention(&heads, &heads, options)
                .unwrap(),
        ]
    });
}

#[test]
fn a_sort_needs_one_list_of_keys_and_places_beside_its_results() {
    let _alone = ALONE.lock();
    for dtype in [DType::F32, DType::I64, DType::U8] {
        let x = numbers(&[1 << 20], dtype);
        // Pairs of 64 bits lie once in the places and once beside them, wider ones twice beside
        // them; and half as much again for counts and for rounded sizes of blocks.
        let pairs = if dtype.itemsize() <= 4 { 8 } else { 2 * 16 };
        let room = x.count() * pairs * 3 / 2;
        check(dtype.name(), room, || {
            let (values, places) = x.sort(0, false).unwrap();
            vec![values, places]
        });
    }
}

#[test]
fn assignment_needs_no_list_of_all_places() {
    let _alone = ALONE.lock();
    let x = numbers(&[1024, 1024], DType::U8);
    let rows = numbers(&[16], DType::I64);
    // A list of the places of all elements would be 8 MB.
    let keys = [
        vec![Index::Array(rows.clone())],
        vec![Index::Range(Slice::ALL), Index::Array(rows.clone())],
        vec![Index::Array(rows.clone()), Index::Array(rows)],
    ];
    for key in keys {
        check("assign", MEGABYTE / 4, || {
            let mut copy = x.clone();
            copy.assign(&key, 3).unwrap();
            vec![copy]
        });
        check("index_put", MEGABYTE / 4, || {
            vec![x.index_put(&key, 3, true).unwrap()]
        });
    }
}
