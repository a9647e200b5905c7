//! Running totals down columns: how many threads there are, and so how columns are cut, changes no
//! bit.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use allotrope_cpu::Input;
use allotrope_cpu::kernel::{Scan, scan};
use allotrope_dtype::{DType, Element};
use allotrope_op::{Layout, Program, Shape};

const SIZES: [usize; 3] = [2, 300, 401];

/// The bytes of the prefixes along the middle, on so many threads.
fn prefixes<T: Element>(items: &[T], to: DType, threads: usize) -> Vec<u8> {
    let mut program = Program::new(&[T::DTYPE]);
    let item = program.convert(0, Scan::Sum.item(T::DTYPE));
    program.output(item);
    let layout = Layout::contiguous(Shape::new("cumsum", &SIZES).unwrap());
    let bytes = bytemuck::cast_slice(items);
    let inputs = [Input {
        bytes,
        layout: &layout,
    }];
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let work = || {
        scan(Scan::Sum, &program, &inputs, SIZES, to)
            .unwrap()
            .to_vec()
    };
    pool.unwrap().install(work)
}

/// Numbers of all magnitudes.
fn numbers() -> Vec<f64> {
    let count = SIZES.iter().product::<usize>() as u32;
    let number = |i: u32| {
        let bits = i.wrapping_mul(0x9E37_79B9);
        f64::from(bits.cast_signed()) * f64::from(bits % 61).exp2() * 1e-9
    };
    (0..count).map(number).collect()
}

/// With 64 threads there are too few columns for each, and totals come first.
fn check<T: Element>(items: &[T], to: DType) {
    let expected = prefixes(items, to, 64);
    for threads in [1, 2, 3] {
        assert_eq!(prefixes(items, to, threads), expected, "{to} on {threads}");
    }
}

#[test]
fn floats() {
    let mut wide = numbers();
    let narrow: Vec<f32> = wide.iter().map(|x| *x as f32).collect();
    check(&narrow, DType::F32);
    check(&narrow, DType::BF16);
    check(&wide, DType::F64);
    // The total of a segment is beyond the numbers, all prefixes before it are not.
    wide[40 * SIZES[2] + 5] = f64::MAX;
    wide[41 * SIZES[2] + 5] = f64::MAX;
    check(&wide, DType::F64);
}

#[test]
fn integers() {
    let items: Vec<i32> = numbers().iter().map(|x| *x as i64 as i32).collect();
    check(&items, DType::I64);
    let bytes = prefixes(&items, DType::I64, 2);
    let words = bytes.as_chunks().0.iter();
    let sums: Vec<i64> = words.map(|word| i64::from_ne_bytes(*word)).collect();
    let [_, scanned, inner] = SIZES;
    for (place, sum) in sums.iter().enumerate() {
        let before = if place / inner % scanned == 0 {
            0
        } else {
            sums[place - inner]
        };
        assert_eq!(*sum, before + i64::from(items[place]), "at {place}");
    }
}
