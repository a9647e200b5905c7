//! Products against plain sums over indices.

use allotrope_dtype::{DType, Element, Level, bf16, c64, c128, f8e4m3fn, f16};
use proptest::prelude::*;

use super::{Coefficient, Factor, Matrix, Output, Product, Rows, multiply, multiply_at};

/// A small whole number in every dtype: sums are exact.
trait Small: Element {
    fn small(value: i64) -> Self;
    fn large(self) -> i64;
}

macro_rules! small {
    ($($T:ty: |$v:ident| $make:expr, |$x:ident| $read:expr;)*) => {$(
        impl Small for $T {
            fn small($v: i64) -> Self { $make }
            fn large(self) -> i64 { let $x = self; $read }
        }
    )*};
}
small! {
    f32: |v| v as f32, |x| x as i64;
    f64: |v| v as f64, |x| x as i64;
    f16: |v| f16::from_f32(v as f32), |x| x.to_f32() as i64;
    bf16: |v| bf16::from_f32(v as f32), |x| x.to_f32() as i64;
    f8e4m3fn: |v| f8e4m3fn::from_f32(v as f32), |x| x.to_f32() as i64;
    c64: |v| c64::new(v as f32, -v as f32 - 1.0), |x| x.re as i64 * 1000 + x.im as i64;
    c128: |v| c128::new(v as f64, -v as f64 - 1.0), |x| x.re as i64 * 1000 + x.im as i64;
    i8: |v| v as i8, |x| i64::from(x);
    i16: |v| (v * 1001) as i16, |x| i64::from(x);
    i32: |v| (v * 123_456_789) as i32, |x| i64::from(x);
    i64: |v| v * 1_234_567_890_123, |x| x;
    u16: |v| (v * 20_000) as u16, |x| i64::from(x);
    u32: |v| (v * 123_456_789) as u32, |x| i64::from(x);
}

/// `[rows, columns]` elements in some order of memory.
struct Made<T> {
    elements: Vec<T>,
    row_stride: isize,
    column_stride: isize,
    offset: usize,
}

impl<T: Small> Made<T> {
    fn new(rows: usize, columns: usize, order: usize, seed: i64) -> Self {
        let (r, c) = (rows as isize, columns as isize);
        let (row_stride, column_stride, offset) = match order {
            0 => (c, 1, 0),
            1 => (1, r, 0),
            2 => (-c, 1, (rows.max(1) - 1) * columns),
            3 => (2 * c, 2, 0),
            4 => (0, 1, 0),
            _ => (1, -r, columns.max(1).saturating_sub(1) * rows),
        };
        let count = 2 * rows * columns + columns + 1;
        let elements = (0..count as i64).map(|i| T::small((i * 7 + seed) % 5 - 2));
        Self {
            elements: elements.collect(),
            row_stride,
            column_stride,
            offset,
        }
    }

    fn factor(&self) -> Factor<'_> {
        Factor::Stored(Matrix {
            dtype: T::DTYPE,
            bytes: bytemuck::cast_slice(&self.elements),
            row_stride: self.row_stride,
            column_stride: self.column_stride,
        })
    }

    fn at(&self, row: usize, column: usize) -> T {
        let place = self.offset as isize
            + row as isize * self.row_stride
            + column as isize * self.column_stride;
        self.elements[place as usize]
    }
}

fn check<T: Small, R: Small>(
    sizes: [usize; 3],
    orders: [usize; 2],
    dtypes: [DType; 2],
    add: impl Fn(R, T, T) -> R,
) {
    let [m, k, n] = sizes;
    let a = Made::<T>::new(m, k, orders[0], 3);
    let b = Made::<T>::new(k, n, orders[1], 1);
    let expected: Vec<i64> = (0..m * n)
        .map(|place| {
            let (i, j) = (place / n, place % n);
            (0..k)
                .fold(R::zeroed(), |sum, l| add(sum, a.at(i, l), b.at(l, j)))
                .large()
        })
        .collect();
    for level in Level::available() {
        let offsets = [(a.offset, b.offset)];
        let mut product = Product::new(sizes, a.factor(), b.factor(), &offsets, dtypes[0]);
        product.sum = dtypes[1];
        let mut out = vec![R::small(1); m * n];
        let bytes = bytemuck::cast_slice_mut(&mut out);
        multiply_at(
            level,
            "matmul",
            &product,
            Output::contiguous(R::DTYPE, bytes, m, n),
        )
        .unwrap();
        let got: Vec<i64> = out.iter().map(|x| x.large()).collect();
        assert_eq!(
            got,
            expected,
            "{sizes:?} {orders:?} {} at {level}",
            T::DTYPE
        );
    }
}

macro_rules! products {
    ($($name:ident: $T:ty, |$sum:ident, $a:ident, $b:ident| $add:expr;)*) => {
        proptest! {
            #![proptest_config(ProptestConfig::with_cases(40))]
            $(#[test]
            fn $name(m in 0..40_usize, k in 0..20_usize, n in 0..70_usize, x in 0..6_usize, y in 0..6_usize) {
                let dtype = <$T>::DTYPE;
                check::<$T, $T>([m, k, n], [x, y], [dtype, dtype], |$sum, $a, $b| $add);
            })*
        }
    };
}
products! {
    float32: f32, |sum, a, b| sum + a * b;
    float64: f64, |sum, a, b| sum + a * b;
    float16: f16, |sum, a, b| sum + a * b;
    bfloat16: bf16, |sum, a, b| sum + a * b;
    complex64: c64, |sum, a, b| sum + a * b;
    complex128: c128, |sum, a, b| sum + a * b;
    int8: i8, |sum, a, b| sum.wrapping_add(a.wrapping_mul(b));
    int16: i16, |sum, a, b| sum.wrapping_add(a.wrapping_mul(b));
    int32: i32, |sum, a, b| sum.wrapping_add(a.wrapping_mul(b));
    int64: i64, |sum, a, b| sum.wrapping_add(a.wrapping_mul(b));
    uint16: u16, |sum, a, b| sum.wrapping_add(a.wrapping_mul(b));
    uint32: u32, |sum, a, b| sum.wrapping_add(a.wrapping_mul(b));
}

#[test]
fn several_stretches_and_blocks() {
    for sizes in [[500, 700, 40], [30, 1300, 1100], [130, 520, 90]] {
        check::<f32, f32>(sizes, [0, 0], [DType::F32; 2], |sum, a, b| sum + a * b);
        check::<f32, f32>(sizes, [1, 1], [DType::F32; 2], |sum, a, b| sum + a * b);
        check::<i8, i32>(sizes, [0, 1], [DType::I8, DType::I32], |sum, a, b| {
            sum + i32::from(a) * i32::from(b)
        });
        check::<f8e4m3fn, f32>(sizes, [1, 0], [DType::F8E4M3Fn, DType::F32], |sum, a, b| {
            sum + a.to_f32() * b.to_f32()
        });
    }
}

#[test]
fn sums_of_unsigned_halves_are_whole() {
    let add = |sum: i32, a: u16, b: u16| sum.wrapping_add(i32::from(a).wrapping_mul(i32::from(b)));
    check::<u16, i32>([5, 9, 7], [0, 0], [DType::U16, DType::I32], add);
}

/// Numbers at the ends of 16 bits, alone or with one that is beyond: modulo 2^32 it is all the same.
#[test]
fn integers_of_16_bits_among_32() {
    let sizes @ [m, k, n] = [17, 300, 35];
    let numbers = |count: usize| -> Vec<i32> {
        let number = |i: usize| [-(1 << 15), (1 << 15) - 1, i as i32 % 321, -1][i % 7 % 4];
        (0..count).map(number).collect()
    };
    for last in [0, 1 << 15, -(1 << 15) - 1, i32::MIN] {
        let (mut a, b) = (numbers(m * k), numbers(k * n));
        a[m * k - 1] = last;
        let product = |i: usize, j: usize, l: usize| a[i * k + l].wrapping_mul(b[l * n + j]);
        let sum = |i, j| (0..k).fold(0_i32, |sum, l| sum.wrapping_add(product(i, j, l)));
        let expected: Vec<i32> = (0..m * n).map(|place| sum(place / n, place % n)).collect();
        for (dtype, level) in [DType::I32, DType::U32]
            .into_iter()
            .flat_map(|dtype| Level::available().map(move |level| (dtype, level)))
        {
            let factor = |numbers, width: usize| {
                Factor::Stored(Matrix {
                    dtype,
                    bytes: bytemuck::cast_slice::<i32, u8>(numbers),
                    row_stride: width as isize,
                    column_stride: 1,
                })
            };
            let product = Product::new(sizes, factor(&a, k), factor(&b, n), &[(0, 0)], dtype);
            let mut out = vec![7_i32; m * n];
            let output = Output::contiguous(dtype, bytemuck::cast_slice_mut(&mut out), m, n);
            multiply_at(level, "matmul", &product, output).unwrap();
            assert_eq!(out, expected, "{dtype} with {last} at {level}");
        }
    }
}

#[test]
fn coefficients_and_gaps() {
    let a = [1.0_f32, 2.0];
    let factor = |row_stride, column_stride| {
        Factor::Stored(Matrix {
            dtype: DType::F32,
            bytes: bytemuck::cast_slice(&a),
            row_stride,
            column_stride,
        })
    };
    // Two outer products, into the first two of three columns.
    let offsets = [(0, 0), (0, 0)];
    let mut product = Product::new([2, 1, 2], factor(1, 1), factor(1, 1), &offsets, DType::F32);
    product.alpha = Coefficient {
        number: c128::new(2.0, 0.0),
        whole: 2,
    };
    product.beta = Coefficient {
        number: c128::new(-1.0, 0.0),
        whole: -1,
    };
    let mut out = [10.0_f32; 12];
    let output = Output {
        dtype: DType::F32,
        bytes: bytemuck::cast_slice_mut(&mut out),
        offset: 1,
        row_stride: 3,
        batch_stride: 5,
    };
    multiply_at(Level::current(), "matmul", &product, output).unwrap();
    let x = 10.0;
    assert_eq!(
        out,
        [x, -8.0, -6.0, x, -6.0, -2.0, -8.0, -6.0, x, -6.0, -2.0, x]
    );
}

#[test]
fn many_small_products() {
    for [m, k, n] in [[3, 3, 3], [1, 2, 1], [7, 5, 9], [4, 64, 2], [16, 1, 8]] {
        let count = 5;
        let small = |i: usize| f64::small((i * 7) as i64 % 5 - 2);
        let a: Vec<f64> = (0..count * m * k).map(small).collect();
        let b: Vec<f64> = (3..count * k * n + 3).map(small).collect();
        let offsets: Vec<(usize, usize)> = (0..count).map(|i| (i * m * k, i * k * n)).collect();
        let factor = |elements, row_stride, column_stride| {
            Factor::Stored(Matrix {
                dtype: DType::F64,
                bytes: bytemuck::cast_slice(elements),
                row_stride,
                column_stride,
            })
        };
        // The left factors are stored by columns.
        let left = factor(&a, 1, m as isize);
        let right = factor(&b, n as isize, 1);
        let mut product = Product::new([m, k, n], left, right, &offsets, DType::F64);
        product.beta = Coefficient::ONE;
        for level in Level::available() {
            let mut out = vec![1.0; count * m * n];
            let bytes = bytemuck::cast_slice_mut(&mut out);
            let output = Output::contiguous(DType::F64, bytes, m, n);
            multiply_at(level, "matmul", &product, output).unwrap();
            for (place, got) in out.into_iter().enumerate() {
                let (batch, i, j) = (place / (m * n), place / n % m, place % n);
                let products =
                    (0..k).map(|l| a[(batch * k + l) * m + i] * b[(batch * k + l) * n + j]);
                assert_eq!(got, 1.0 + products.sum::<f64>(), "{m} {k} {n} at {level}");
            }
        }
    }
}

/// A matrix of its row numbers.
struct Numbers;

impl Rows for Numbers {
    fn read(&self, batch: usize, row: usize, first: usize, out: &mut [u8]) {
        for (column, out) in bytemuck::cast_slice_mut::<u8, f32>(out)
            .iter_mut()
            .enumerate()
        {
            *out = (100 * batch + row * 10 + first + column) as f32;
        }
    }
}

#[test]
fn made_rows() {
    let one = [1.0_f32];
    let ones = Factor::Stored(Matrix {
        dtype: DType::F32,
        bytes: bytemuck::cast_slice(&one),
        row_stride: 0,
        column_stride: 0,
    });
    for transposed in [false, true] {
        let made = Factor::Made {
            dtype: DType::F32,
            rows: &Numbers,
            transposed,
        };
        let mut product = Product::new([1, 3, 2], ones, made, &[(0, 0), (0, 0)], DType::F32);
        let mut out = [0.0_f32; 4];
        let bytes = bytemuck::cast_slice_mut(&mut out);
        multiply_at(
            Level::current(),
            "matmul",
            &product,
            Output::contiguous(DType::F32, bytes, 1, 2),
        )
        .unwrap();
        let expected = if transposed {
            [3.0, 33.0]
        } else {
            [30.0, 33.0]
        };
        assert_eq!(
            out,
            [
                expected[0],
                expected[1],
                expected[0] + 300.0,
                expected[1] + 300.0
            ]
        );
        product = Product {
            rows: 2,
            columns: 1,
            a: made,
            b: ones,
            ..product
        };
        let bytes = bytemuck::cast_slice_mut(&mut out);
        multiply_at(
            Level::current(),
            "matmul",
            &product,
            Output::contiguous(DType::F32, bytes, 2, 1),
        )
        .unwrap();
        let expected = if transposed {
            [30.0, 33.0]
        } else {
            [3.0, 33.0]
        };
        assert_eq!(out[..2], expected);
    }
}

#[test]
fn truth_is_or_of_and() {
    let a = [1_u8, 0, 0, 0];
    let factor = Factor::Stored(Matrix {
        dtype: DType::Bool,
        bytes: &a,
        row_stride: 2,
        column_stride: 1,
    });
    let product = Product::new([2, 2, 2], factor, factor, &[(0, 0)], DType::Bool);
    let mut out = [7_u8; 4];
    multiply_at(
        Level::current(),
        "matmul",
        &product,
        Output::contiguous(DType::Bool, &mut out, 2, 2),
    )
    .unwrap();
    assert_eq!(out, [1, 0, 0, 0]);
}

/// Whether a call panics.
fn is_refused(call: impl FnOnce()) -> bool {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).is_err()
}

#[test]
fn strides_that_leave_the_numbers_are_refused() {
    const M: usize = 12;
    let elements = [1.0_f32; 1024];
    let matrix = |row_stride, column_stride| Matrix {
        dtype: DType::F32,
        bytes: bytemuck::cast_slice(&elements),
        row_stride,
        column_stride,
    };
    let plain = matrix(M as isize, 1);
    // Eleven times the first wraps to 6; two times others to 0 or just below.
    let strides = [
        0x1745_d174_5d17_45d2,
        isize::MAX,
        isize::MIN,
        1 << 62,
        -(1 << 62),
        -1,
        1024,
    ];
    for level in Level::available() {
        for stride in strides {
            for wild in [matrix(stride, 1), matrix(1, stride)] {
                for [a, b] in [[wild, plain], [plain, wild]] {
                    let [a, b] = [a, b].map(Factor::Stored);
                    let product = Product::new([M, M, M], a, b, &[(0, 0)], DType::F32);
                    let mut out = [0.0_f32; M * M];
                    let bytes = bytemuck::cast_slice_mut(&mut out);
                    let output = Output::contiguous(DType::F32, bytes, M, M);
                    let multiply = || multiply_at(level, "matmul", &product, output).unwrap();
                    assert!(is_refused(multiply), "{stride} at {level}");
                }
            }
        }
        for offset in [1024 - M * M + 1, usize::MAX, usize::MAX - 1024 + 1] {
            let factor = Factor::Stored(plain);
            let offsets = [(0, 0), (offset, 0)];
            let product = Product::new([M, M, M], factor, factor, &offsets, DType::F32);
            let mut out = [0.0_f32; 2 * M * M];
            let bytes = bytemuck::cast_slice_mut(&mut out);
            let output = Output::contiguous(DType::F32, bytes, M, M);
            let multiply = || multiply_at(level, "matmul", &product, output).unwrap();
            assert!(is_refused(multiply), "{offset} at {level}");
        }
    }
}

#[test]
fn results_that_leave_the_numbers_are_refused() {
    let elements = [1.0_f32; 4];
    let factor = Factor::Stored(Matrix {
        dtype: DType::F32,
        bytes: bytemuck::cast_slice(&elements),
        row_stride: 2,
        column_stride: 1,
    });
    let wild = [
        // Two rows, the second of which would begin before the memory.
        [0, usize::MAX - 1, 4],
        [0, usize::MAX / 4 + 1, 4],
        [0, 2, usize::MAX - 3],
        [0, 2, usize::MAX / 4 + 1],
        [usize::MAX - 3, 2, 4],
        [1, 2, 4],
        [0, 1, 4],
        [0, 2, 3],
    ];
    for [offset, row_stride, batch_stride] in wild {
        let product = Product::new([2, 2, 2], factor, factor, &[(0, 0), (0, 0)], DType::F32);
        let mut out = [0.0_f32; 8];
        let output = Output {
            dtype: DType::F32,
            bytes: bytemuck::cast_slice_mut(&mut out),
            offset,
            row_stride,
            batch_stride,
        };
        let call = || multiply("matmul", &product, output).unwrap();
        assert!(is_refused(call), "{offset} {row_stride} {batch_stride}");
    }
}

/// Numbers that no sum of is exact.
trait Rough: Element {
    fn rough(value: f64) -> Self;
}

macro_rules! rough {
    ($($T:ty: |$v:ident| $make:expr;)*) => {$(
        impl Rough for $T {
            fn rough($v: f64) -> Self { $make }
        }
    )*};
}
rough! {
    f32: |v| v as f32;
    f64: |v| v;
    f16: |v| f16::from_f64(v);
    bf16: |v| bf16::from_f64(v);
    f8e4m3fn: |v| f8e4m3fn::from_f32(v as f32);
    c64: |v| c64::new(v as f32, (v * 1.7 - 0.3) as f32);
    c128: |v| c128::new(v, v * 1.7 - 0.3);
}

/// `[rows, columns]` elements with strides, of which every second row or column may be left out.
fn rough_factor<T: Rough>(
    numbers: &[T],
    [rows, columns]: [usize; 2],
    order: usize,
) -> (Factor<'_>, usize) {
    let (r, c) = (rows as isize, columns as isize);
    let (row_stride, column_stride, offset) = match order {
        0 => (c, 1, 0),
        1 => (1, r, 0),
        2 => (2 * c, 2, 1),
        3 => (-c, 1, (rows - 1) * columns),
        _ => (1, -r, (columns - 1) * rows),
    };
    let matrix = Matrix {
        dtype: T::DTYPE,
        bytes: bytemuck::cast_slice(numbers),
        row_stride,
        column_stride,
    };
    (Factor::Stored(matrix), offset)
}

/// The bits of a product.
fn bits<T: Rough, R: Rough>(
    level: Level,
    product: &Product<'_>,
    count: usize,
    coefficients: [f64; 2],
) -> Vec<u8> {
    let mut product = *product;
    let number = |x: f64| Coefficient {
        number: c128::new(x, 0.0),
        whole: 1,
    };
    [product.alpha, product.beta] = coefficients.map(number);
    let mut out = vec![R::rough(0.7); count];
    let (rows, columns) = (product.rows, product.columns);
    let output = Output::contiguous(R::DTYPE, bytemuck::cast_slice_mut(&mut out), rows, columns);
    multiply_at(level, "matmul", &product, output).unwrap();
    bytemuck::cast_slice(&out).to_vec()
}

/// Rows and columns alone have the bits that they have in the whole product, in every order of memory,
/// and so have products of two vectors.
fn check_alone<T: Rough, R: Rough>([m, k, n]: [usize; 3], coefficients: [f64; 2]) {
    let numbers = |count: usize, seed: u64| -> Vec<T> {
        let mut state = seed;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(seed);
            T::rough((state >> 40) as f64 / f64::from(1 << 23) - 1.0)
        };
        (0..count).map(|_| next()).collect()
    };
    let (a, b) = (numbers(2 * m * k + 2, 3), numbers(2 * k * n + 2, 5));
    let size = size_of::<R>();
    for level in Level::available() {
        for order in 0..25 {
            let (left, at) = rough_factor(&a, [m, k], order % 5);
            let (right, bt) = rough_factor(&b, [k, n], order / 5);
            let (Factor::Stored(rows), Factor::Stored(columns)) = (left, right) else {
                continue;
            };
            let whole = [(at, bt)];
            let whole = bits::<T, R>(
                level,
                &Product::new([m, k, n], left, right, &whole, T::DTYPE),
                m * n,
                coefficients,
            );
            let what = format!("{} {m} x {k} x {n}, {order} at {level}", T::DTYPE);
            let row_of = |i: usize| at.wrapping_add_signed(rows.row_stride * i as isize);
            let column_of = |j: usize| bt.wrapping_add_signed(columns.column_stride * j as isize);
            for i in [0, m - 1] {
                let offsets = [(row_of(i), bt)];
                let row = bits::<T, R>(
                    level,
                    &Product::new([1, k, n], left, right, &offsets, T::DTYPE),
                    n,
                    coefficients,
                );
                assert_eq!(row, whole[i * n * size..][..n * size], "row {i} of {what}");
            }
            for j in [0, n - 1] {
                let offsets = [(at, column_of(j))];
                let column = bits::<T, R>(
                    level,
                    &Product::new([m, k, 1], left, right, &offsets, T::DTYPE),
                    m,
                    coefficients,
                );
                let in_whole = whole.chunks_exact(size).skip(j).step_by(n).flatten();
                assert!(column.iter().eq(in_whole), "column {j} of {what}");
            }
            for even in [true, false] {
                let count = m.min(n);
                let diagonal: Vec<usize> = (0..count)
                    .map(|i| if even { i } else { i * i % count })
                    .collect();
                let offsets: Vec<_> = diagonal
                    .iter()
                    .map(|i| (row_of(*i), column_of(*i)))
                    .collect();
                let dots = bits::<T, R>(
                    level,
                    &Product::new([1, k, 1], left, right, &offsets, T::DTYPE),
                    count,
                    coefficients,
                );
                for (i, dot) in diagonal.into_iter().zip(dots.chunks_exact(size)) {
                    assert_eq!(
                        dot,
                        &whole[(i * n + i) * size..][..size],
                        "dot {i} of {what}"
                    );
                }
            }
        }
    }
}

#[test]
fn rows_and_columns_alone_have_the_bits_of_the_whole() {
    for sizes in [
        [3, 5, 40],
        [37, 70, 2],
        [20, 300, 67],
        [5, 1, 9],
        [2, 1100, 3],
    ] {
        check_alone::<f32, f32>(sizes, [1.0, 0.0]);
        check_alone::<f64, f64>(sizes, [1.0, 0.0]);
        check_alone::<c64, c64>(sizes, [1.0, 0.0]);
        check_alone::<bf16, bf16>(sizes, [1.0, 0.0]);
    }
    let sizes = [19, 300, 41];
    check_alone::<c128, c128>(sizes, [1.0, 0.0]);
    check_alone::<f16, f32>(sizes, [1.0, 1.0]);
    check_alone::<f8e4m3fn, bf16>(sizes, [0.3, 0.0]);
    check_alone::<f32, f32>(sizes, [0.3, 1.7]);
    check_alone::<c64, c64>(sizes, [0.3, 1.0]);
}
