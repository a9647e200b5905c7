//! The most memory that operations hold: their results and a bounded room, whatever the sizes.
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    reason = "a test fails by panicking, and counts what is allocated"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use allotrope_cpu::{release_kept, watch_pages};
use allotrope_dtype::DType;
use allotrope_op::Slice;
use allotrope_tensor::{
    AttentionOptions, Beside, ConvolutionOptions, Distribution, Edges, Generator, Index, Padding,
    QuantileInterpolation, SignalWindow, Tensor,
};

/// Bytes that are allocated, above some start since pages from before they were counted are given back,
/// and the most that were since the last reset.
static NOW: AtomicUsize = AtomicUsize::new(1 << 40);
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
    watch_pages(|change| {
        // Two's complement: what is given back is taken away.
        let change = change as usize;
        let now = NOW
            .fetch_add(change, Ordering::Relaxed)
            .wrapping_add(change);
        PEAK.fetch_max(now, Ordering::Relaxed);
    });
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
    // Threads of the test before may give back the last of theirs meanwhile.
    assert!(held + MEGABYTE / 4 >= results, "{name} holds {held} bytes");
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

#[test]
fn draws_need_no_list_of_their_parameters() {
    let _alone = ALONE.lock();
    // As float64, each list of parameters would be 16 MB.
    let x = numbers(&[1024, 2048], DType::F16).add(1).unwrap();
    let row = x.select(0, 0).unwrap();
    let seeded = Generator::new(0);
    let room = 10 * MEGABYTE;
    for law in [
        Distribution::Exponential,
        Distribution::Poisson,
        Distribution::ChiSquare,
    ] {
        check(law.name(), room, || {
            let drawn = Tensor::sample(law, &[(&x).into()], None, None, Some(&seeded));
            vec![drawn.unwrap()]
        });
    }
    check("laplace", 2 * room, || {
        let given = [(&row).into(), (&x).into()];
        let drawn = Tensor::sample(Distribution::Laplace, &given, None, None, Some(&seeded));
        vec![drawn.unwrap()]
    });
    check("normal", room, || {
        vec![Tensor::normal_each(&row, &x, Some(&seeded)).unwrap()]
    });
    check("dirichlet", 2 * room, || {
        vec![x.dirichlet(Some(&seeded)).unwrap()]
    });
    let chances = x.div(8).unwrap();
    check("bernoulli", room, || {
        vec![chances.bernoulli(Some(&seeded)).unwrap()]
    });
    for weights in [x.clone(), x.reshape(&[2, -1]).unwrap()] {
        for replacement in [true, false] {
            check("multinomial", room, || {
                vec![weights.multinomial(3, replacement, Some(&seeded)).unwrap()]
            });
        }
    }
    check("randperm", MEGABYTE, || {
        vec![Tensor::randperm(1 << 20, DType::I64, Some(&seeded)).unwrap()]
    });
}

#[test]
fn selection_needs_no_list_of_the_line() {
    let _alone = ALONE.lock();
    // Keys and places would be 16 MB.
    let x = numbers(&[1 << 21], DType::F32);
    let half = Tensor::from_slice(&[0.3_f64, 0.5], &[2]).unwrap();
    let room = 2 * MEGABYTE;
    let quantile = |x: &Tensor, dim| {
        let found = x.quantile(&half, dim, false, QuantileInterpolation::Linear);
        vec![found.unwrap()]
    };
    check("median", room, || vec![x.median_of_all().unwrap()]);
    check("kthvalue", room, || {
        let (value, place) = x.kthvalue(77, 0, false).unwrap();
        vec![value, place]
    });
    check("quantile", room, || quantile(&x, None));
    check("argmax", 3 * MEGABYTE, || {
        vec![x.argmax(None, false).unwrap()]
    });
    check("histogram", 4 * MEGABYTE, || {
        vec![x.histogram(Edges::Count(10, None), None, false).unwrap().0]
    });
    let rows = x.reshape(&[2048, 1024]).unwrap();
    check("quantile of rows", 8 * MEGABYTE, || {
        quantile(&rows, Some(1))
    });
    // The keys are 8 MB, and sorted where they are; with places they would be 40.
    check("unique", 12 * MEGABYTE, || {
        vec![x.unique_with(None, Beside::default()).unwrap().values]
    });
}

#[test]
fn integrals_need_no_list_of_areas() {
    let _alone = ALONE.lock();
    // As float64, each list would be 8 MB.
    let x = numbers(&[1 << 20], DType::F32);
    for points in [None, Some(&x)] {
        check("trapezoid", MEGABYTE, || {
            vec![x.trapezoid(points, 0.5, 0).unwrap()]
        });
        check("cumulative_trapezoid", MEGABYTE, || {
            vec![x.cumulative_trapezoid(points, 0.5, 0).unwrap()]
        });
    }
    check("isclose", MEGABYTE, || {
        vec![x.is_close_to(&x, 1e-5, 1e-8, true).unwrap()]
    });
}

#[test]
fn numbers_in_a_row_are_made_in_their_dtype() {
    let _alone = ALONE.lock();
    check("linspace", MEGABYTE, || {
        vec![Tensor::linspace(0, 1, 1 << 20, DType::F16).unwrap()]
    });
    check("window", MEGABYTE, || {
        let window = SignalWindow::Bartlett;
        vec![Tensor::signal_window(window, 1 << 20, true, DType::F16).unwrap()]
    });
}
