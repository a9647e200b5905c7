//! Random numbers: known answers, distributions, and the same numbers for any number of threads.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use allotrope_cpu::kernel::random::{
    Chances, Moments, Stream, bernoulli, blocks_of, integers, normal, permutation, uniform,
};
use allotrope_cpu::{Buffer, parallel::CHUNK};
use allotrope_dtype::{
    CastOptions, DType, Element, Level, Set, bf16, c64, c128, cast_bytes, f8e4m3fn, philox4x32,
};

const STREAM: Stream = Stream {
    seed: (1 << 40) + 7,
    offset: 5,
};

/// What a kernel writes, as elements.
fn drawn<T: Element>(count: usize, fill: impl FnOnce(DType, &mut [u8])) -> Vec<T> {
    bytes(T::DTYPE, count, fill).elements::<T>().to_vec()
}

fn bytes(dtype: DType, count: usize, fill: impl FnOnce(DType, &mut [u8])) -> Buffer {
    let mut buffer = Buffer::zeroed("test", count * dtype.itemsize()).unwrap();
    fill(dtype, &mut buffer);
    buffer
}

/// The values of elements of any real dtype.
fn values(dtype: DType, bytes: &[u8]) -> Vec<f64> {
    let mut wide = vec![0.0_f64; bytes.len() / dtype.itemsize()];
    let target = bytemuck::cast_slice_mut(&mut wide);
    cast_bytes(dtype, bytes, DType::F64, target, CastOptions::default()).unwrap();
    wide
}

fn between(low: f64, high: f64) -> impl FnOnce(DType, &mut [u8]) {
    move |dtype, target| uniform(Level::current(), STREAM, (low, high), dtype, target)
}

fn standard(dtype: DType, target: &mut [u8]) {
    normal(
        Level::current(),
        STREAM,
        Moments::All(0.0, 1.0),
        dtype,
        target,
    );
}

/// The word of an element in a lane, by the definition.
fn word(stream: Stream, i: usize, lane: u32) -> u32 {
    let block = stream.offset.wrapping_add(i as u64 / 4);
    let key = [stream.seed as u32, (stream.seed >> 32) as u32];
    philox4x32([block as u32, (block >> 32) as u32, lane, 1], key)[i % 4]
}

fn wide(stream: Stream, i: usize, lane: u32) -> u64 {
    u64::from(word(stream, i, lane)) << 32 | u64::from(word(stream, i, lane + 2))
}

// Made by a Python program of a few lines from the words of Philox, which shares no code with this.
const FRACTIONS: [f64; 6] = [
    0.17912507980570858,
    0.14002951021768462,
    0.4522864435179962,
    0.8731878394256959,
    0.4235793498009207,
    0.2758573843340384,
];
const NORMALS: [f64; 6] = [
    1.181867494852181,
    1.4291714801349382,
    0.880552167079904,
    -0.9008368506129902,
    -0.21201496587952776,
    1.2934753518641373,
];

#[test]
fn known_answers() {
    assert_eq!(drawn::<f64>(6, between(0.0, 1.0)), FRACTIONS);
    let floor = |x: &f64| (x * f64::from(1 << 24)).floor() / f64::from(1 << 24);
    let want: Vec<f64> = FRACTIONS.iter().map(floor).collect();
    let got = drawn::<f32>(6, between(0.0, 1.0));
    assert_eq!(got.iter().map(|x| f64::from(*x)).collect::<Vec<_>>(), want);
    for (got, want) in drawn::<f32>(6, standard).iter().zip(NORMALS) {
        assert!((f64::from(*got) - want).abs() < 1e-6, "{got} {want}");
    }
    for (got, want) in drawn::<f64>(6, standard).iter().zip(NORMALS) {
        assert!((got - want).abs() < 1e-6, "{got} {want}");
    }
    let digits = drawn::<u8>(6, |dtype, target| {
        integers(Level::current(), STREAM, 0, 10, dtype, target)
    });
    assert_eq!(digits, [1, 1, 4, 8, 4, 2]);
    let one_half = |dtype, target: &mut [u8]| {
        bernoulli(Level::current(), STREAM, Chances::All(0.3), dtype, target)
    };
    assert_eq!(drawn::<i8>(6, one_half), [1, 1, 0, 0, 0, 1]);
    assert_eq!(
        (blocks_of(0), blocks_of(1), blocks_of(4), blocks_of(5)),
        (0, 1, 1, 2)
    );
}

#[test]
fn complex_numbers_take_the_second_lane() {
    let fraction = |bits: u32| (bits >> 8) as f32 / (1 << 24) as f32;
    let got = drawn::<c64>(1030, between(0.0, 1.0));
    let wide_got = drawn::<c128>(1030, between(0.0, 1.0));
    for (i, (z, w)) in got.iter().zip(&wide_got).enumerate() {
        assert_eq!(z.re, fraction(word(STREAM, i, 0)));
        assert_eq!(z.im, fraction(word(STREAM, i, 1)));
        assert_eq!(
            w.im,
            (wide(STREAM, i, 1) >> 11) as f64 / (1_u64 << 53) as f64
        );
    }
    for (z, w) in drawn::<c64>(9, standard)
        .iter()
        .zip(drawn::<c128>(9, standard))
    {
        assert!((f64::from(z.re) - w.re).abs() < 1e-6 && (f64::from(z.im) - w.im).abs() < 1e-6);
    }
}

/// Every function in every dtype, at a level.
fn draw_everything(level: Level, count: usize) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let probabilities: Vec<f64> = (0..count).map(|i| (i % 7) as f64 / 6.0).collect();
    let means: Vec<f64> = (0..count).map(|i| i as f64).collect();
    for dtype in DType::ALL {
        let mut add = |fill: &dyn Fn(DType, &mut [u8])| {
            all.push(bytes(dtype, count, fill).to_vec());
        };
        if Set::Inexact.contains(dtype) {
            add(&|dtype, target| uniform(level, STREAM, (-1.0, 0.5), dtype, target));
            let each = Moments::Each(&means, &probabilities);
            for moments in [Moments::All(0.5, 2.0), each] {
                add(&|dtype, target| normal(level, STREAM, moments, dtype, target));
            }
        }
        add(&|dtype, target| integers(level, STREAM, 0, 2, dtype, target));
        for chances in [Chances::All(0.3), Chances::Each(&probabilities)] {
            add(&|dtype, target| bernoulli(level, STREAM, chances, dtype, target));
        }
    }
    let wide = |dtype, target: &mut [u8]| integers(level, STREAM, 0, 1 << 64, dtype, target);
    all.push(bytes(DType::U64, count, wide).to_vec());
    let mut order = vec![0; count];
    permutation(level, STREAM, &mut order);
    all.push(bytemuck::cast_slice(&order).to_vec());
    all
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let draw = || draw_everything(Level::current(), 3 * CHUNK + 5);
    let alone = pool(1).unwrap().install(draw);
    for threads in [2, 7] {
        let together = pool(threads).unwrap().install(draw);
        assert!(together == alone, "{threads} threads");
    }
}

#[test]
fn the_instruction_set_changes_nothing() {
    for count in [1, 37, 5000] {
        let baseline = draw_everything(Level::Scalar, count);
        for level in Level::available() {
            assert!(
                draw_everything(level, count) == baseline,
                "{level}, {count}"
            );
        }
    }
}

#[test]
fn an_element_depends_on_its_place_in_the_stream_alone() {
    let later = |elements: u64| Stream {
        offset: STREAM.offset + elements / 4,
        ..STREAM
    };
    for count in [1, 2, 3, 4, 511, 512, 513, CHUNK + 3] {
        let long = drawn::<f32>(CHUNK + 64, standard);
        assert_eq!(drawn::<f32>(count, standard), long[..count]);
        let start = 36;
        let tail = drawn::<f32>(count.min(CHUNK), |dtype, target| {
            normal(
                Level::current(),
                later(start),
                Moments::All(0.0, 1.0),
                dtype,
                target,
            );
        });
        assert_eq!(tail, long[start as usize..][..tail.len()]);
    }
    // The counter passes the end of its words, and of its range, without a repetition.
    for offset in [u64::from(u32::MAX) - 1, u64::MAX - 1] {
        let stream = Stream { seed: 3, offset };
        let bits = |i| (word(stream, i, 0) >> 8) as f32 / (1 << 24) as f32;
        let got = drawn::<f32>(32, |dtype, target| {
            uniform(Level::current(), stream, (0.0, 1.0), dtype, target)
        });
        assert_eq!(got, (0..32).map(bits).collect::<Vec<_>>());
    }
}

#[test]
fn narrow_floats_are_rounded_down_from_float32_and_never_reach_the_bound() {
    let count = 1 << 18;
    for dtype in Set::Float.members().filter(|dtype| dtype.bits() <= 16) {
        let format = dtype.format().unwrap();
        let mut numbers: Vec<f64> = (0..=format.max_code()).map(|c| format.decode(c)).collect();
        numbers.extend(numbers.clone().iter().map(|x| -x));
        numbers.sort_by(f64::total_cmp);
        for (low, high) in [(0.0, 1.0), (-1.0, 1.0), (0.25, 0.5), (-2.0, -0.125)] {
            let wide = drawn::<f32>(count, between(low, high));
            let narrow = values(dtype, &bytes(dtype, count, between(low, high)));
            for (x, y) in wide.iter().zip(narrow) {
                let above = numbers.partition_point(|number| *number <= f64::from(*x));
                assert_eq!(y, numbers[above - 1], "{dtype} of {x}");
                assert!((low..high).contains(&y), "{dtype}: {y}");
            }
        }
    }
    assert_eq!(drawn::<bf16>(1, between(0.5, 0.5)), [bf16::from_f32(0.5)]);
    // One step wide: every number between rounds to an end, and only the lower one is left.
    let next = 1.0_f32.next_up();
    let step = drawn::<f32>(1000, between(1.0, f64::from(next)));
    assert_eq!(step, [1.0; 1000]);
}

/// Mean, variance, skewness and excess kurtosis.
fn moments(x: &[f64]) -> [f64; 4] {
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    let central = |power| x.iter().map(|x| (x - mean).powi(power)).sum::<f64>() / n;
    let variance = central(2);
    let deviation = variance.sqrt();
    [
        mean,
        variance,
        central(3) / deviation.powi(3),
        central(4) / variance.powi(2) - 3.0,
    ]
}

fn assert_moments(x: &[f64], want: [f64; 4], tolerance: f64, what: &str) {
    for (got, want) in moments(x).into_iter().zip(want) {
        assert!((got - want).abs() < tolerance, "{what}: {:?}", moments(x));
    }
}

#[test]
fn moments_are_those_of_the_distribution() {
    let count = 1 << 19;
    for dtype in Set::Float.members() {
        let name = dtype.name();
        // Narrow floats have their own share: rounding down by half a step on average.
        let eps = dtype.finfo().unwrap().eps;
        let x = values(dtype, &bytes(dtype, count, between(0.0, 1.0)));
        assert_moments(&x, [0.5, 1.0 / 12.0, 0.0, -1.2], 0.01 + eps / 2.0, name);
        let x = values(dtype, &bytes(dtype, count, standard));
        assert_moments(&x, [0.0, 1.0, 0.0, 0.0], 0.02 + eps / 8.0, name);
        let fill = |dtype, target: &mut [u8]| {
            normal(
                Level::current(),
                STREAM,
                Moments::All(-3.0, 0.5),
                dtype,
                target,
            )
        };
        let x = values(dtype, &bytes(dtype, count, fill));
        assert_moments(&x, [-3.0, 0.25, 0.0, 0.0], 0.02 + eps / 4.0, name);
    }
    let z = drawn::<c128>(count, |dtype, target| {
        normal(
            Level::current(),
            STREAM,
            Moments::All(2.0, 3.0),
            dtype,
            target,
        )
    });
    let (re, im): (Vec<f64>, Vec<f64>) = z.iter().map(|z| (z.re, z.im)).unzip();
    assert_moments(&re, [2.0, 4.5, 0.0, 0.0], 0.03, "real part");
    assert_moments(&im, [0.0, 4.5, 0.0, 0.0], 0.03, "imaginary part");
}

#[test]
fn normal_numbers_follow_their_curve_and_each_other_not() {
    let count = 1 << 19;
    for x in [
        drawn::<f64>(count, standard),
        drawn::<f32>(count, standard)
            .into_iter()
            .map(f64::from)
            .collect(),
    ] {
        let below = |limit: f64| x.iter().filter(|x| **x < limit).count() as f64 / count as f64;
        // The normal distribution function at these places, from tables.
        for (limit, want) in [
            (-3.0, 0.001349898),
            (-1.0, 0.158655254),
            (-0.1, 0.460172163),
            (0.0, 0.5),
            (0.5, 0.691462461),
            (2.0, 0.977249868),
            (4.0, 0.999968329),
        ] {
            let tolerance = 5.0 * (want * (1.0 - want) / count as f64).sqrt();
            assert!(
                (below(limit) - want).abs() < tolerance,
                "{limit}: {}",
                below(limit)
            );
        }
        for lag in 1..9 {
            let correlation = |power: i32| {
                let mean = x.iter().map(|x| x.powi(power)).sum::<f64>() / count as f64;
                let products = x.iter().zip(&x[lag..]);
                let sum: f64 = products
                    .map(|(a, b)| (a.powi(power) - mean) * (b.powi(power) - mean))
                    .sum();
                sum / count as f64
            };
            assert!(
                correlation(1).abs() < 5.0 / (count as f64).sqrt(),
                "lag {lag}"
            );
            assert!(
                correlation(2).abs() < 12.0 / (count as f64).sqrt(),
                "lag {lag}, squares"
            );
        }
    }
}

#[test]
fn integers_are_the_upper_half_of_a_product() {
    for (low, count) in [
        (0, 1),
        (-3, 7),
        (0, 1 << 32),
        (-5, (1 << 32) + 1),
        (i128::from(i64::MIN), 1_u128 << 64),
        (0, (1_u128 << 63) + 12345),
    ] {
        let got = drawn::<i64>(1027, |dtype, target| {
            integers(Level::current(), STREAM, low, count, dtype, target)
        });
        for (i, got) in got.into_iter().enumerate() {
            let product = u128::from(wide(STREAM, i, 0)) * count;
            assert_eq!(
                i128::from(got),
                low + (product >> 64) as i128,
                "{low} {count}"
            );
        }
    }
    let top = drawn::<u64>(9, |dtype, target| {
        integers(Level::current(), STREAM, 0, 1 << 64, dtype, target)
    });
    assert_eq!(top, (0..9).map(|i| wide(STREAM, i, 0)).collect::<Vec<_>>());
    let small = drawn::<f8e4m3fn>(4096, |dtype, target| {
        integers(Level::current(), STREAM, -16, 33, dtype, target)
    });
    for value in -16..=16 {
        assert!(small.iter().any(|x| x.to_f32() == value as f32), "{value}");
    }
}

#[test]
fn integers_are_equally_frequent() {
    let (count, sides) = (1_usize << 20, 100);
    for dtype in Set::Integer.members() {
        let fill =
            |dtype, target: &mut [u8]| integers(Level::current(), STREAM, 3, sides, dtype, target);
        let mut frequency = vec![0_u32; sides as usize];
        for x in values(dtype, &bytes(dtype, count, fill)) {
            frequency[x as usize - 3] += 1;
        }
        let expected = count as f64 / sides as f64;
        let squares = frequency.iter().map(|f| (f64::from(*f) - expected).powi(2));
        let chi = squares.sum::<f64>() / expected;
        // 99 degrees of freedom: five deviations around the mean.
        assert!(
            (chi - 99.0).abs() < 5.0 * (2.0_f64 * 99.0).sqrt(),
            "{dtype}: {chi}"
        );
    }
}

#[test]
fn trials_compare_64_bits_with_the_probability() {
    let count = 2048;
    // Probabilities whose first 32 bits are those of the element, so that every one is a tie.
    let tied: Vec<f64> = (0..count)
        .map(|i| {
            let bits = wide(STREAM, i, 0);
            let low = u64::from(word(STREAM, i + 1, 1));
            ((bits & !0xFFFF_FFFF | low) >> 11 << 11) as f64 / 18446744073709551616.0
        })
        .collect();
    let is_one = |i: usize, chance: f64| {
        u128::from(wide(STREAM, i, 0)) < (chance * 18446744073709551616.0) as u128
    };
    let got = drawn::<u8>(count, |dtype, target| {
        bernoulli(
            Level::current(),
            STREAM,
            Chances::Each(&tied),
            dtype,
            target,
        );
    });
    let want = tied
        .iter()
        .enumerate()
        .map(|(i, p)| u8::from(is_one(i, *p)));
    assert_eq!(got, want.collect::<Vec<_>>());
    assert!(got.contains(&0) && got.contains(&1));
    for chance in [0.0, 1e-300, 0.25, tied[1], 1.0 - f64::EPSILON, 1.0] {
        for dtype in DType::ALL {
            let got = bytes(dtype, count, |dtype, target| {
                bernoulli(
                    Level::current(),
                    STREAM,
                    Chances::All(chance),
                    dtype,
                    target,
                );
            });
            let step = dtype.itemsize();
            for (i, element) in got.chunks(step).enumerate() {
                assert_eq!(
                    element.iter().any(|b| *b != 0),
                    is_one(i, chance),
                    "{dtype} {chance}"
                );
            }
        }
    }
    let half = drawn::<f32>(1 << 20, |dtype, target| {
        bernoulli(Level::current(), STREAM, Chances::All(0.3), dtype, target);
    });
    let mean = half.iter().sum::<f32>() / (1 << 20) as f32;
    assert!((mean - 0.3).abs() < 0.003, "{mean}");
}

#[test]
fn permutations_have_every_number_once_and_every_order() {
    for count in [0, 1, 5, 1000, CHUNK + 1] {
        let mut order = vec![0; count];
        permutation(Level::current(), STREAM, &mut order);
        let fixed = order.iter().zip(0..).filter(|(a, b)| **a == *b).count();
        assert!(count < 10 || fixed < 10, "{fixed} of {count} stay");
        order.sort_unstable();
        assert_eq!(order, (0..count as i64).collect::<Vec<_>>());
    }
    let mut frequency = std::collections::HashMap::new();
    for offset in 0..24_000 {
        let mut order = [0; 4];
        permutation(Level::current(), Stream { seed: 1, offset }, &mut order);
        *frequency.entry(order).or_insert(0) += 1;
    }
    assert_eq!(frequency.len(), 24);
    assert!(
        frequency.values().all(|f| (840..1160).contains(f)),
        "{frequency:?}"
    );
}

#[test]
fn each_element_may_have_its_own_moments() {
    let means: Vec<f64> = (0..2000).map(f64::from).collect();
    let deviations: Vec<f64> = (0..2000).map(|i| f64::from(i % 3)).collect();
    let got = drawn::<f64>(2000, |dtype, target| {
        normal(
            Level::current(),
            STREAM,
            Moments::Each(&means, &deviations),
            dtype,
            target,
        );
    });
    for (i, (got, z)) in got.iter().zip(drawn::<f64>(2000, standard)).enumerate() {
        assert_eq!(*got, z * deviations[i] + means[i]);
    }
}
