//! Complex rows with sines against their formulas without the look ahead.

use allotrope_dtype::Level;

use super::*;

/// Parts of any magnitude: below the limit, just below it, beyond it, and those without a number.
fn parts(count: usize, greatest: f64) -> Vec<f64> {
    let mut state = 7_u64;
    let mut bits = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state >> 40
    };
    let mut part = || {
        let magnitude = greatest * (-f64::from(bits() as u32 % 40)).exp2();
        (bits() as f64 / f64::from(1 << 24) - 0.5) * 2.0 * magnitude
    };
    (0..count).map(|_| part()).collect()
}

fn check<T: Pair, F: ComplexMap<N>, const N: usize>(row: &str, numbers: &[Vec<f64>]) {
    for numbers in numbers {
        let floats: Vec<f32> = numbers.iter().map(|x| *x as f32).collect();
        let bytes: &[u8] = match size_of::<T>() {
            8 => bytemuck::cast_slice(&floats),
            _ => bytemuck::cast_slice(numbers),
        };
        let args: Vec<&[u8]> = bytes.chunks(bytes.len() / N).collect();
        for level in Level::available() {
            let mut found = vec![0_u8; args[0].len()];
            let mut expected = found.clone();
            complex_map::<T, F, N, true>(level, &args, &mut found);
            complex_map::<T, F, N, false>(level, &args, &mut expected);
            // NaN is NaN, whatever its bits.
            let bits = |bytes: Vec<u8>| -> Vec<u64> {
                let bits = |x: f64| if x.is_nan() { 0 } else { x.to_bits() };
                let singles = || bytes.as_chunks().0.iter().map(|x| f32::from_le_bytes(*x));
                let doubles = || bytes.as_chunks().0.iter().map(|x| f64::from_le_bytes(*x));
                match size_of::<T>() {
                    8 => singles().map(|x| bits(f64::from(x))).collect(),
                    _ => doubles().map(bits).collect(),
                }
            };
            let (found, expected) = (bits(found), bits(expected));
            let place = found.iter().zip(&expected).position(|(a, b)| a != b);
            assert_eq!(place, None, "{row} of {} bytes at {level}", size_of::<T>());
        }
    }
}

#[test]
fn rows_with_sines_have_the_same_bits_near_zero_and_far() {
    const COUNT: usize = 2 * 2 * (64 * 40 + 13);
    macro_rules! rows {
        ($($row:ident $n:literal)*) => {$(
            const { assert!(has_sines(Op::$row)) };
            for (place, limit) in near::LIMITS.into_iter().enumerate() {
                let mut numbers = vec![
                    parts(COUNT, 4.0),
                    parts(COUNT, 300.0),
                    parts(COUNT, limit),
                    parts(COUNT, limit * 64.0),
                ];
                let mut odd = parts(COUNT, 4.0);
                for (i, x) in odd.iter_mut().enumerate().filter(|(i, _)| i % 97 == 0) {
                    *x = [f64::NAN, f64::INFINITY, -0.0, 1e30][i / 97 % 4];
                }
                numbers.push(odd);
                if place == 0 {
                    check::<c64, formula::$row, $n>(stringify!($row), &numbers);
                } else {
                    check::<c128, formula::$row, $n>(stringify!($row), &numbers);
                }
            }
        )*};
    }
    rows!(Cos 1 Cosh 1 Exp 1 Exp2 1 Expm1 1 Ldexp 2 Logaddexp 2 Sigmoid 1 Silu 1 Sin 1 Sinc 1 Sinh 1);
    rows!(Tan 1 Tanh 1 Tanhshrink 1);
}
