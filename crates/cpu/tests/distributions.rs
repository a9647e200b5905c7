//! Distributions: the same bits at every level, whatever the threads, from any place of a draw.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use allotrope_cpu::kernel::random::{
    Given, Numbers, Stream, choose, choose_different, dirichlet, sample,
};
use allotrope_dtype::{DType, Level};
use allotrope_op::{Distribution, Layout, Shape};

const STREAM: Stream = Stream {
    seed: 42,
    offset: u64::MAX - 1000,
};

/// Values that every law accepts, small and large.
fn parameters(law: Distribution) -> [Vec<f64>; 2] {
    let count = law.parameters().len();
    let accepted = |candidates: &[f64]| {
        let pick = |parameter: &allotrope_op::DistributionParameter| {
            let mut found = candidates.iter().copied();
            found.find(|value| (parameter.holds)(*value)).unwrap()
        };
        law.parameters().iter().map(pick).collect::<Vec<f64>>()
    };
    match (law, count) {
        (Distribution::TruncatedNormal, _) => [vec![0.0, 1.0, -1.0, 2.0], vec![0.0, 1.0, 3.0, 9.0]],
        (Distribution::Binomial, _) => [vec![5.0, 0.3], vec![1000.0, 0.6]],
        _ => [accepted(&[0.4, 0.9]), accepted(&[30.0, 0.9])],
    }
}

fn levels() -> impl Iterator<Item = Level> {
    Level::available()
}

fn draw(law: Distribution, values: &[f64], level: Level, count: usize, stream: Stream) -> Vec<f64> {
    let numbers: Vec<Numbers<'_>> = values.iter().map(|value| Numbers::All(*value)).collect();
    let mut drawn = vec![0.0_f64; count];
    let bytes = bytemuck::cast_slice_mut(&mut drawn);
    sample(level, stream, law, &numbers, DType::F64, bytes);
    drawn
}

#[test]
fn every_level_gives_the_same_bits() {
    for law in Distribution::ALL {
        for values in parameters(*law) {
            let want = draw(*law, &values, Level::Scalar, 70_001, STREAM);
            for level in levels() {
                let given = draw(*law, &values, level, 70_001, STREAM);
                let bits = |x: &[f64]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&given), bits(&want), "{law:?} {level:?}");
            }
        }
    }
}

#[test]
fn an_element_depends_on_its_place_alone() {
    for law in Distribution::ALL {
        for values in parameters(*law) {
            let level = Level::current();
            let whole = draw(*law, &values, level, 70_000, STREAM);
            for first in [0, 4, 2048, 69_996] {
                let stream = Stream {
                    offset: STREAM.offset.wrapping_add(first as u64 / 4),
                    ..STREAM
                };
                let part = draw(*law, &values, level, 3, stream);
                assert_eq!(part, whole[first..first + 3], "{law:?} from {first}");
            }
        }
    }
}

#[test]
fn parameters_of_each_element_are_those_of_all() {
    for law in Distribution::ALL {
        for values in parameters(*law) {
            let count = 5000;
            let each: Vec<Vec<f64>> = values.iter().map(|value| vec![*value; count]).collect();
            let numbers: Vec<Numbers<'_>> = each.iter().map(|each| Numbers::Each(each)).collect();
            let mut drawn = vec![0.0_f64; count];
            let bytes = bytemuck::cast_slice_mut(&mut drawn);
            sample(Level::current(), STREAM, *law, &numbers, DType::F64, bytes);
            assert_eq!(
                drawn,
                draw(*law, &values, Level::current(), count, STREAM),
                "{law:?}"
            );
        }
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let work = || {
        let gamma = draw(
            Distribution::Gamma,
            &[0.7, 1.0],
            Level::current(),
            100_000,
            STREAM,
        );
        let mut shares = vec![0.0; 99_999];
        dirichlet(Level::current(), STREAM, &vec![0.5; 99_999], 3, &mut shares);
        // Short rows, and one that is too long for all of its sums to be kept.
        let weights: Vec<f64> = (0..900_000).map(|i| f64::from(i % 7)).collect();
        let (bytes, level) = (bytemuck::cast_slice(&weights), Level::current());
        let chosen = [30, 900_000].map(|size| {
            let shape = Shape::new("test", &[900_000 / size, size]).unwrap();
            let given = Given::new(level, DType::F64, bytes, &Layout::contiguous(shape));
            let (mut some, mut different) = (vec![0; 60_000], vec![0; 30_000]);
            choose(
                level,
                STREAM,
                &given,
                size,
                &mut some,
                60_000 * size / 900_000,
            )
            .unwrap();
            let count = 30_000 * size / 900_000;
            choose_different(level, STREAM, &given, size, &mut different, count).unwrap();
            (some, different)
        });
        (gamma, shares, chosen)
    };
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.unwrap().install(work)
    };
    let one = with(1);
    assert!(one == with(2) && one == with(7));
}
