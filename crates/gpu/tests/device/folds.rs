//! Reductions and scans: integers and extremes bit for bit, sums of floats to the last place.

use allotrope_cpu::CPU;
use allotrope_dtype::DType;
use allotrope_gpu::Gpu;
use allotrope_op::{Backend, Fold, Program, Scan, Shape};

use crate::support::{Pair, alone, assert_same, cast, devices, narrowed, numbers, read, stored};

const SIZES: [[usize; 3]; 8] = [
    [1, 5, 1],
    [3, 1, 4],
    [4, 300, 1],
    [2, 129, 7],
    [1, 70_000, 1],
    [1, 1000, 5],
    [5000, 9, 1],
    [3, 0, 2],
];

/// A program that makes items of a dtype.
fn items(from: DType, to: DType) -> Program {
    let mut program = Program::new(&[from]);
    let item = program.convert(0, to);
    program.output(item);
    program
}

/// Numbers without NaN and infinities, of moderate size.
fn plain(gpu: &Gpu, dtype: DType, count: usize) -> Pair {
    let mut state = 12345_u32;
    let values: Vec<f64> = (0..count * 2)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from((state >> 8) as i32 - (1 << 23)) / f64::from(1 << 22)
        })
        .collect();
    let parts = if dtype.is_complex() { 2 } else { 1 };
    let bytes: Vec<u8> = values[..count * parts]
        .iter()
        .flat_map(|x| x.to_ne_bytes())
        .collect();
    let bytes = cast(DType::F64, &bytes, dtype.to_real());
    Pair::new(gpu, dtype, &[count], &bytes)
}

fn close(what: &str, dtype: DType, made: &[u8], expected: &[u8], tolerance: f64) {
    for (i, (a, b)) in numbers(dtype, made)
        .iter()
        .zip(numbers(dtype, expected))
        .enumerate()
    {
        let is_close =
            (a - b).abs() <= tolerance * b.abs().max(1e-30) || *a == b || a.is_nan() && b.is_nan();
        assert!(is_close, "{what} {dtype} at {i}: gpu {a}, cpu {b}");
    }
}

#[test]
fn reductions() {
    let _alone = alone();
    for gpu in devices() {
        for dtype in DType::ALL {
            for fold in [Fold::Sum, Fold::Prod, Fold::Max, Fold::Min] {
                if dtype.is_complex() && matches!(fold, Fold::Max | Fold::Min) {
                    continue;
                }
                let item = fold.item(dtype.compute());
                let program = items(dtype, item);
                for sizes in SIZES {
                    let count: usize = sizes.iter().product();
                    if fold == Fold::Prod && count > 5000 {
                        continue;
                    }
                    let is_float = dtype.is_floating_point() || dtype.is_complex();
                    let x = if is_float {
                        plain(gpu, dtype, count)
                    } else {
                        Pair::sample(gpu, dtype, &[count], 21)
                    };
                    let to = if is_float { dtype } else { item };
                    let shape = x.layout.shape();
                    let made = gpu
                        .reduce("sum", fold, &program, shape, &[x.on_gpu()], sizes, to)
                        .unwrap();
                    let expected = CPU
                        .reduce("sum", fold, &program, shape, &[x.on_cpu()], sizes, to)
                        .unwrap();
                    let lines = sizes[0] * sizes[2];
                    let expected = narrowed(gpu, to, &read(&expected, to, lines));
                    let made = read(&made, to, lines);
                    let what = format!("{fold:?} {sizes:?} {gpu:?}");
                    if !is_float || matches!(fold, Fold::Max | Fold::Min) {
                        assert_same(&what, to, &made, &expected);
                        continue;
                    }
                    let digits = match stored(gpu, to).to_real() {
                        DType::F64 => 48,
                        DType::F32 => 22,
                        d => d.format().map_or(2, |f| f.mantissa_bits as i32),
                    };
                    // Sums near zero keep the error of their terms, and the CPU's lanes theirs.
                    let unit = f64::powi(2.0, -digits);
                    if fold == Fold::Prod {
                        // Each factor of float64 rounds; those of float32 are held in more.
                        let factors = if to.to_real() == DType::F64 {
                            sizes[1] as f64 / 16.0
                        } else {
                            0.0
                        };
                        close(&what, to, &made, &expected, (4.0 + factors) * unit);
                        continue;
                    }
                    let (a, b) = (numbers(to, &made), numbers(to, &expected));
                    for i in 0..a.len() {
                        let near = unit * (b[i].abs() + 1.0 + 0.5 * sizes[1] as f64);
                        let is_same = a[i] == b[i] || a[i].is_nan() && b[i].is_nan();
                        assert!(
                            is_same || (a[i] - b[i]).abs() <= near,
                            "{what} {to} at {i}: {} {}",
                            a[i],
                            b[i]
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn extremes_of_floats_tell_nan() {
    let _alone = alone();
    for gpu in devices() {
        for dtype in [DType::F32, DType::F64, DType::BF16] {
            for fold in [Fold::Max, Fold::Min, Fold::Sum] {
                let x = Pair::sample(gpu, dtype, &[10, 40], 22);
                let item = fold.item(dtype.compute());
                let program = items(dtype, item);
                let sizes = [10, 40, 1];
                let shape = x.layout.shape();
                let made = gpu
                    .reduce("max", fold, &program, shape, &[x.on_gpu()], sizes, dtype)
                    .unwrap();
                let expected = CPU
                    .reduce("max", fold, &program, shape, &[x.on_cpu()], sizes, dtype)
                    .unwrap();
                close(
                    "nan",
                    dtype,
                    &read(&made, dtype, 10),
                    &read(&expected, dtype, 10),
                    1e-2,
                );
            }
        }
    }
}

#[test]
fn sums_do_not_lose_what_is_small() {
    let _alone = alone();
    for gpu in devices() {
        // One large number and a million small ones, each below half of its last place.
        let count = 1 << 20;
        let mut values = vec![0.25_f32; count];
        values[0] = 16_777_216.0;
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_ne_bytes()).collect();
        let x = Pair::new(gpu, DType::F32, &[count], &bytes);
        let program = items(DType::F32, DType::F32);
        let shape = Shape::new("sum", &[count]).unwrap();
        let made = gpu
            .reduce(
                "sum",
                Fold::Sum,
                &program,
                &shape,
                &[x.on_gpu()],
                [1, count, 1],
                DType::F32,
            )
            .unwrap();
        let sum = numbers(DType::F32, &read(&made, DType::F32, 1))[0];
        assert_eq!(
            sum,
            f64::from((16_777_216.0 + 0.25 * (count - 1) as f64) as f32)
        );
    }
}

#[test]
fn scans() {
    let _alone = alone();
    for gpu in devices() {
        for dtype in DType::ALL {
            for scan in [Scan::Sum, Scan::Prod, Scan::LogSumExp] {
                if scan == Scan::LogSumExp && (dtype.is_complex() || !dtype.is_floating_point()) {
                    continue;
                }
                let item = scan.item(dtype.compute());
                let program = items(dtype, item);
                for sizes in SIZES {
                    let count: usize = sizes.iter().product();
                    let is_float = dtype.is_floating_point() || dtype.is_complex();
                    if is_float && scan == Scan::Prod && sizes[1] > 20 {
                        continue;
                    }
                    let x = if is_float {
                        plain(gpu, dtype, count)
                    } else {
                        Pair::sample(gpu, dtype, &[count], 23)
                    };
                    let to = if is_float { dtype } else { item };
                    let made = gpu
                        .scan("cumsum", scan, &program, &[x.on_gpu()], sizes, to)
                        .unwrap();
                    let expected = CPU
                        .scan("cumsum", scan, &program, &[x.on_cpu()], sizes, to)
                        .unwrap();
                    let (made, expected) = (read(&made, to, count), read(&expected, to, count));
                    let what = format!("{scan:?} {sizes:?} {gpu:?}");
                    if !is_float {
                        assert_same(&what, to, &made, &expected);
                        continue;
                    }
                    let digits = match stored(gpu, to).to_real() {
                        DType::F64 => 40,
                        DType::F32 => 17,
                        d => d.format().map_or(2, |f| f.mantissa_bits as i32),
                    };
                    // Prefixes near zero keep the error of their terms.
                    let (a, b) = (numbers(to, &made), numbers(to, &expected));
                    for i in 0..a.len() {
                        let near = f64::powi(2.0, -digits) * b[i].abs().max(0.1);
                        let is_same = a[i] == b[i] || a[i].is_nan() && b[i].is_nan();
                        assert!(
                            is_same || (a[i] - b[i]).abs() <= near,
                            "{what} {dtype} at {i}: {} {}",
                            a[i],
                            b[i]
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn results_depend_on_the_sizes_alone() {
    let _alone = alone();
    let all: Vec<Vec<u8>> = devices()
        .into_iter()
        .map(|gpu| {
            let x = plain(gpu, DType::F32, 100_000);
            let program = items(DType::F32, DType::F32);
            let shape = x.layout.shape();
            let runs: Vec<Vec<u8>> = (0..3)
                .map(|_| {
                    let made = gpu
                        .reduce(
                            "sum",
                            Fold::Sum,
                            &program,
                            shape,
                            &[x.on_gpu()],
                            [10, 10_000, 1],
                            DType::F32,
                        )
                        .unwrap();
                    read(&made, DType::F32, 10)
                })
                .collect();
            assert!(runs.iter().all(|run| *run == runs[0]));
            runs[0].clone()
        })
        .collect();
    // Two float32 hold as much of these sums as one float64.
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]));
}
