//! Running totals down columns: how many threads there are, and so how columns are cut, changes no
//! bit.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use allotrope_cpu::Input;
use allotrope_cpu::kernel::{Scan, scan};
use allotrope_dtype::{DType, E4M3Fn, E4M3Fnuz, E5M2, E5M2Fnuz, Element, F8, Format};
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
        let got = prefixes(items, to, threads);
        let bad = got
            .iter()
            .zip(&expected)
            .position(|(got, want)| got != want);
        let place = bad.map(|byte| byte / to.itemsize());
        let both = bad.map(|byte| (got[byte], expected[byte]));
        assert_eq!(place, None, "{to} on {threads}: {both:?}");
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

/// Sums of 8-bit floats are float32 as long as that loses nothing: columns of one line stay below, in
/// the other they go beyond it and come back, and some have NaN or infinities on the way.
fn check_bytes<F: Format>()
where
    F8<F>: Element,
{
    let [_, scanned, inner] = SIZES;
    let count = SIZES.iter().product::<usize>() as u32;
    let item = |i: u32| {
        let (place, random) = (i as usize, (i.wrapping_mul(0x9E37_79B9) >> 24) as u8);
        let (row, column) = (place / inner % scanned, place % inner);
        let code = match (place / (scanned * inner), column % 8) {
            (0, 3) => 0x80,
            (0, _) => random & 0xCF,
            // Large numbers, up and then down again, with the smallest between on the way up.
            (_, 0) if row % 4 == 3 || row / 4 == scanned / 8 => u8::from(row < scanned / 2),
            (_, 0) if row < scanned / 2 => 0x7B,
            (_, 0) => 0xFB,
            // Of two NaN with different signs either may be kept.
            (_, 1) if row > 250 && random & 0x7F > 0x7B => random & 0x7F,
            (_, 1) if row > 250 => random,
            _ => random & 0xBF,
        };
        // NaN where zero has no sign.
        let is_nan = code == 0x80 && !F::FORMAT.has_negative_zero() && column % 8 != 1;
        F8::<F>::from_bits(if is_nan { 0 } else { code })
    };
    let items: Vec<F8<F>> = (0..count).map(item).collect();
    check(&items, F8::<F>::DTYPE);
}

#[test]
fn bytes() {
    check_bytes::<E4M3Fn>();
    check_bytes::<E5M2>();
    check_bytes::<E4M3Fnuz>();
    check_bytes::<E5M2Fnuz>();
}
