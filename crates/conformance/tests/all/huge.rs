//! Sums and means of 2²⁴ narrow floats, within a unit in the last place of the exact ones.

use allotrope_conformance::distance::real_ulps;
use allotrope_conformance::double::Double;
use allotrope_conformance::sample::Random;
use allotrope_dtype::{DType, WeakScalar};
use allotrope_tensor::Tensor;

const COUNT: usize = 1 << 24;
const SIDE: usize = 1 << 12;

/// Random codes of a dtype whose magnitudes are within bounds.
fn codes(dtype: DType, (least, most): (f64, f64), signs: bool) -> Vec<u16> {
    let format = dtype.format().unwrap();
    let all = 0..1_u32 << dtype.bits();
    let fits = |code: &u32| {
        let value = format.decode(u64::from(*code));
        (least..most).contains(&value.abs()) && (signs || value > 0.0)
    };
    let chosen: Vec<u16> = all.filter(fits).map(|code| code as u16).collect();
    let mut random = Random::seeded(dtype as u64);
    let mut out = Vec::with_capacity(COUNT);
    while out.len() < COUNT {
        let bits = random.bits();
        for part in 0..4 {
            let share = (bits >> (16 * part)) as u16;
            out.push(chosen[(usize::from(share) * chosen.len()) >> 16]);
        }
    }
    out
}

/// Every value times 2⁴⁰ as an integer.
fn scaled(dtype: DType) -> Vec<i64> {
    let format = dtype.format().unwrap();
    let codes = 0..1_u64 << dtype.bits();
    codes
        .map(|code| (format.decode(code) * (1_u64 << 40) as f64) as i64)
        .collect()
}

fn tensor(codes: &[u16], dtype: DType, sizes: &[usize]) -> Tensor {
    let bytes: Vec<u8> = if dtype.itemsize() == 1 {
        codes.iter().map(|code| *code as u8).collect()
    } else {
        codes.iter().flat_map(|code| code.to_le_bytes()).collect()
    };
    Tensor::from_bytes(&bytes, sizes, dtype).unwrap()
}

/// An integer over 2⁴⁰ and over a count.
fn quotient(sum: i128, count: usize) -> Double {
    let high = sum as f64;
    let sum = Double::new(high) + Double::new((sum - high as i128) as f64);
    sum.scale(-40) / Double::new(count as f64)
}

fn check(what: &str, got: &Tensor, want: &[Double]) {
    let format = got.dtype().format().unwrap();
    let got = got.to(DType::F64).unwrap().to_vec::<f64>().unwrap();
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        let off = real_ulps(*got, *want, format, 0.0);
        assert!(
            off <= 1.0,
            "{what} at {i}: got {got}, want {want:?}, {off} ulp off"
        );
    }
}

/// Sums and means of everything, and along either side of a square.
fn check_dtype(dtype: DType, bounds: (f64, f64), signs: bool) {
    let what = format!("{dtype}, signs {signs}");
    let codes = codes(dtype, bounds, signs);
    let integers = scaled(dtype);
    let value = |code: &u16| i128::from(integers[usize::from(*code)]);
    let total: i128 = codes.iter().map(value).sum();
    let flat = tensor(&codes, dtype, &[COUNT]);
    check(
        &what,
        &flat.mean(None, false, None).unwrap(),
        &[quotient(total, COUNT)],
    );
    check(
        &what,
        &flat.sum(None, false, None).unwrap(),
        &[quotient(total, 1)],
    );

    let square = flat.reshape(&[SIDE as isize, SIDE as isize]).unwrap();
    let rows = codes
        .chunks(SIDE)
        .map(|row| row.iter().map(value).sum::<i128>());
    let rows: Vec<Double> = rows.map(|sum| quotient(sum, SIDE)).collect();
    check(&what, &square.mean(Some(&[1]), false, None).unwrap(), &rows);
    let mut columns = vec![0_i128; SIDE];
    for row in codes.chunks(SIDE) {
        for (sum, code) in columns.iter_mut().zip(row) {
            *sum += value(code);
        }
    }
    let columns: Vec<Double> = columns.iter().map(|sum| quotient(*sum, SIDE)).collect();
    check(
        &what,
        &square.mean(Some(&[0]), false, None).unwrap(),
        &columns,
    );
}

#[test]
fn float16() {
    check_dtype(DType::F16, (0.0, 0.001), false);
    check_dtype(DType::F16, (0.0, 4.0), true);
}

#[test]
fn bfloat16() {
    check_dtype(DType::BF16, (1e-3, 1e3), false);
    check_dtype(DType::BF16, (1e-3, 1e3), true);
}

#[test]
fn float8() {
    for dtype in DType::ALL
        .into_iter()
        .filter(|d| d.is_floating_point() && d.bits() == 8)
    {
        check_dtype(dtype, (0.0, 100.0), true);
    }
    check_dtype(DType::F8E5M2, (1e-4, 1.0), false);
}

#[test]
fn ones_are_counted() {
    for dtype in [DType::F16, DType::BF16, DType::F8E4M3Fn, DType::F32] {
        let ones = Tensor::ones(&[COUNT], dtype).unwrap();
        let sum = ones.sum(None, false, Some(DType::F64)).unwrap();
        assert_eq!(sum.item().unwrap().value(), WeakScalar::Float(COUNT as f64));
        let mean = ones.mean(None, false, None).unwrap();
        assert_eq!(
            mean.item().unwrap().value(),
            WeakScalar::Float(1.0),
            "{dtype}"
        );
    }
}
