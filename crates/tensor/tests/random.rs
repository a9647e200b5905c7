//! Random tensors: every dtype, generators, and what is refused.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use allotrope_dtype::{Bool8, DType, Error, ErrorKind, Set, WeakScalar, bf16, c64};
use allotrope_tensor::{Generator, Tensor};
use insta::assert_snapshot;

fn message<T>(result: Result<T, Error>) -> String {
    match result {
        Ok(_) => "no error".to_owned(),
        Err(error) => format!("{:?}: {error}", error.kind()),
    }
}

fn values(x: &Tensor) -> Vec<f64> {
    x.to(DType::F64).unwrap().to_vec().unwrap()
}

#[test]
fn every_dtype_is_honoured_or_refused() {
    let generator = Generator::new(1);
    let g = Some(&generator);
    for dtype in DType::ALL {
        let is_inexact = Set::Inexact.contains(dtype);
        for drawn in [
            Tensor::rand(&[5, 7], dtype, g),
            Tensor::uniform(&[5, 7], -0.5, 0.5, dtype, g),
            Tensor::randn(&[5, 7], dtype, g),
            Tensor::normal(&[5, 7], 1.0, 2.0, dtype, g),
        ] {
            match drawn {
                Ok(x) => {
                    assert!(is_inexact && x.dtype() == dtype && x.shape()[..] == [5, 7]);
                }
                Err(error) => assert!(!is_inexact && error.kind() == ErrorKind::Dtype, "{error}"),
            }
        }
        let x = Tensor::randint(0, 2, &[100], dtype, g);
        assert_eq!(x.is_ok(), !dtype.is_complex());
        if let Ok(x) = x {
            assert_eq!(x.dtype(), dtype);
            let x = values(&x);
            assert!(
                x.contains(&0.0) && x.contains(&1.0) && x.iter().all(|x| [0.0, 1.0].contains(x))
            );
        }
        let order = Tensor::randperm(2, dtype, g).unwrap();
        assert_eq!((order.dtype(), order.count()), (dtype, 2));
        let trial = order.bernoulli_like(0.5, g).unwrap();
        assert_eq!((trial.dtype(), trial.count()), (dtype, 2));
        let p = Tensor::full(&[2], 0.5, DType::F32).unwrap();
        assert_eq!(order.bernoulli_like_each(&p, g).unwrap().dtype(), dtype);
        let ones = Tensor::ones(&[3], dtype).unwrap().bernoulli(g);
        assert_eq!(ones.is_ok(), dtype.is_floating_point());
    }
}

#[test]
fn draws_advance_by_a_quarter_of_their_elements() {
    let generator = Generator::new(9);
    let g = Some(&generator);
    let advance = |draw: &dyn Fn()| {
        let before = generator.offset();
        draw();
        generator.offset() - before
    };
    for dtype in Set::Inexact.members() {
        assert_eq!(advance(&|| drop(Tensor::rand(&[9], dtype, g).unwrap())), 3);
        assert_eq!(
            advance(&|| drop(Tensor::randn(&[2, 4], dtype, g).unwrap())),
            2
        );
    }
    assert_eq!(
        advance(&|| drop(Tensor::randperm(5, DType::I64, g).unwrap())),
        2
    );
    assert_eq!(
        advance(&|| drop(Tensor::randint(0, 9, &[1], DType::U8, g).unwrap())),
        1
    );
    assert_eq!(
        advance(&|| drop(Tensor::rand(&[0], DType::F32, g).unwrap())),
        0
    );
    let refused = || drop(Tensor::randint(9, 0, &[8], DType::U8, g).unwrap_err());
    assert_eq!(advance(&refused), 0);
    let huge = || drop(Tensor::rand(&[1 << 60], DType::F32, g).unwrap_err());
    assert_eq!(advance(&huge), 0);
}

#[test]
fn generators_go_where_they_are_told() {
    let generator = Generator::new(42);
    let draw = || {
        Tensor::randn(&[6], DType::F32, Some(&generator))
            .unwrap()
            .to_vec::<f32>()
            .unwrap()
    };
    let first = draw();
    let state = generator.state().unwrap();
    let copy = generator.clone();
    let second = draw();
    assert_ne!(first, second);
    let from_copy = Tensor::randn(&[6], DType::F32, Some(&copy)).unwrap();
    assert_eq!(from_copy.to_vec::<f32>().unwrap(), second);
    generator.set_state(&state).unwrap();
    assert_eq!(draw(), second);
    generator.manual_seed(42);
    assert_eq!(
        (generator.initial_seed(), generator.offset(), draw()),
        (42, 0, first)
    );
    generator.set_offset(2);
    assert_eq!(draw(), second);
    let (a, b) = (generator.seed(), generator.seed());
    assert!(a != b && generator.initial_seed() == b && generator.offset() == 0);
    // Without a seed every generator starts from the system's entropy.
    let unseeded = || Generator::default().initial_seed();
    assert!(unseeded() != unseeded());
    assert_eq!(
        state.to_vec::<u8>().unwrap()[..9],
        [42, 0, 0, 0, 0, 0, 0, 0, 2]
    );
}

#[test]
fn draws_without_a_generator_take_that_of_the_process() {
    // The only test that uses it, since tests share the process.
    let process = Generator::of_process();
    process.manual_seed(5);
    let x = Tensor::rand(&[4], DType::F64, None).unwrap();
    assert_eq!((process.initial_seed(), process.offset()), (5, 1));
    let own = Tensor::rand(&[4], DType::F64, Some(&Generator::new(5))).unwrap();
    assert_eq!(values(&x), values(&own));
    // A place of the thread's own stands in for it, in this thread alone.
    assert_eq!(Generator::swap_place_of_thread(Some((9, 2))), None);
    let own = Generator::new(9);
    own.set_offset(2);
    let x = Tensor::rand(&[4], DType::F64, None).unwrap();
    assert_eq!(
        values(&x),
        values(&Tensor::rand(&[4], DType::F64, Some(&own)).unwrap())
    );
    let elsewhere = std::thread::spawn(|| Generator::of_process().offset());
    assert_eq!((process.offset(), elsewhere.join().unwrap()), (3, 1));
    assert_eq!(own.initial_seed(), Generator::of_process().initial_seed());
    assert_eq!(Generator::swap_place_of_thread(None), Some((9, 3)));
    assert_eq!((process.initial_seed(), process.offset()), (5, 1));
}

#[test]
fn integers_fill_their_range_and_stay_in_it() {
    let g = Generator::new(3);
    for dtype in Set::Integer.members() {
        let (least, most) = dtype.integer_range().unwrap();
        let x = Tensor::randint(least, most + 1, &[4096], dtype, Some(&g)).unwrap();
        let bytes = x.to_bytes().unwrap();
        // Every bit takes both values.
        let ones: Vec<u8> = (0..dtype.itemsize())
            .map(|b| {
                bytes
                    .iter()
                    .skip(b)
                    .step_by(dtype.itemsize())
                    .fold(0, |or, byte| or | byte)
            })
            .collect();
        assert!(ones.iter().all(|byte| *byte == 0xFF), "{dtype}");
        let edge = Tensor::randint(most, most + 1, &[3], dtype, Some(&g)).unwrap();
        let item = edge.select(0, 0).unwrap().item().unwrap().value();
        assert_eq!(item, WeakScalar::Int(most));
    }
    for dtype in Set::Float.members() {
        let limit = dtype.exact_integers();
        let x = Tensor::randint(-limit, limit + 1, &[4096], dtype, Some(&g)).unwrap();
        let x = values(&x);
        assert!(
            x.iter().all(|x| x.trunc() == *x && x.abs() <= limit as f64),
            "{dtype}"
        );
        assert!(x.iter().any(|x| *x < 0.0) && x.iter().any(|x| *x > limit as f64 / 2.0));
    }
}

#[test]
fn random_like_covers_what_the_dtype_holds() {
    let g = Generator::new(8);
    for dtype in Set::Real.members() {
        let x = Tensor::zeros(&[2048], dtype).unwrap();
        let most = dtype
            .integer_range()
            .map_or(dtype.exact_integers(), |(_, most)| most) as f64;
        let drawn = values(&x.random_like(None, None, Some(&g)).unwrap());
        assert!(drawn.iter().all(|x| (0.0..=most).contains(x)), "{dtype}");
        assert!(drawn.iter().any(|x| *x > 0.9 * most) && drawn.iter().any(|x| *x < 0.2 * most));
    }
    let x = Tensor::zeros(&[100], DType::I8).unwrap();
    let low = values(&x.random_like(Some(-3), None, Some(&g)).unwrap());
    assert!(low.iter().all(|x| *x >= -3.0) && low.iter().any(|x| *x > 60.0));
    let both = values(&x.random_like(Some(-3), Some(-1), Some(&g)).unwrap());
    assert!(both.iter().all(|x| [-3.0, -2.0].contains(x)));
}

#[test]
fn draws_like_a_tensor_have_its_shape_and_dtype() {
    let g = Generator::new(4);
    // A view: its strides must not matter.
    let x = Tensor::zeros(&[3, 4], DType::BF16)
        .unwrap()
        .transpose(0, 1)
        .unwrap();
    let u = x.uniform_like(2.0, 4.0, Some(&g)).unwrap();
    assert_eq!(
        (u.shape().to_string().as_str(), u.dtype()),
        ("[4, 3]", DType::BF16)
    );
    assert!(
        u.to_vec::<bf16>()
            .unwrap()
            .iter()
            .all(|x| (2.0..4.0).contains(&x.to_f32()))
    );
    let n = x.normal_like(100.0, 0.0, Some(&g)).unwrap();
    assert!(values(&n).iter().all(|x| *x == 100.0));
    let p = Tensor::from_slice(&[0.0_f64, 1.0, 0.0], &[3]).unwrap();
    let trial = x.bernoulli_like_each(&p, Some(&g)).unwrap();
    assert_eq!(values(&trial)[..6], [0.0, 1.0, 0.0, 0.0, 1.0, 0.0]);
    let truth = Tensor::ones(&[2], DType::Bool)
        .unwrap()
        .bernoulli_like(1.0, Some(&g))
        .unwrap();
    assert!(truth.to_vec::<Bool8>().unwrap().iter().all(|b| b.get()));
    let z = Tensor::zeros(&[1], DType::C64)
        .unwrap()
        .normal_like(1.0, 0.0, Some(&g))
        .unwrap();
    assert_eq!(z.to_vec::<c64>().unwrap(), [c64::new(1.0, 0.0)]);
}

#[test]
fn bad_arguments_are_worded_errors() {
    let g = Generator::new(0);
    let g = Some(&g);
    let x = Tensor::zeros(&[2, 3], DType::F32).unwrap();
    let p = Tensor::from_slice(&[0.5_f32, 1.5], &[2]).unwrap();
    let negative = Tensor::from_slice(&[1.0_f32, -2.0, 0.0], &[3]).unwrap();
    let whole = Tensor::ones(&[3], DType::I32).unwrap();
    let lines = [
        message(Tensor::rand(&[2], DType::I64, g)),
        message(Tensor::randn(&[2], DType::Bool, g)),
        message(Tensor::rand(&[usize::MAX, 2], DType::F32, g)),
        message(Tensor::rand(&[1 << 60], DType::F32, g)),
        message(Tensor::uniform(&[2], 1.0, 0.0, DType::F32, g)),
        message(Tensor::uniform(&[2], f64::NAN, 0.0, DType::F32, g)),
        message(Tensor::uniform(&[2], 0.0, 1e9, DType::F16, g)),
        message(Tensor::uniform(&[2], 0.0, f64::INFINITY, DType::F64, g)),
        message(Tensor::uniform(&[2], -3e38, 3e38, DType::F32, g)),
        message(Tensor::uniform(&[2], -1e308, 1e308, DType::C128, g)),
        message(Tensor::normal(&[2], 0.0, -1.0, DType::F32, g)),
        message(Tensor::normal(&[2], 0.0, f64::NAN, DType::F32, g)),
        message(Tensor::normal_each(&x, &negative, g)),
        message(Tensor::normal_each(&whole, &whole, g)),
        message(Tensor::normal_each(&x, &p, g)),
        message(Tensor::randint(5, 5, &[2], DType::I64, g)),
        message(Tensor::randint(0, 257, &[2], DType::U8, g)),
        message(Tensor::randint(-1, 5, &[2], DType::U64, g)),
        message(Tensor::randint(0, 3, &[2], DType::Bool, g)),
        message(Tensor::randint(0, 300, &[2], DType::F8E4M3Fn, g)),
        message(Tensor::randint(i128::MIN, i128::MAX, &[2], DType::F64, g)),
        message(Tensor::randint(0, 3, &[2], DType::C64, g)),
        message(Tensor::randperm(300, DType::U8, g)),
        message(Tensor::randperm(300, DType::BF16, g)),
        message(Tensor::randperm(1 << 60, DType::I64, g)),
        message(p.bernoulli(g)),
        message(whole.bernoulli(g)),
        message(x.bernoulli_like(-0.5, g)),
        message(x.bernoulli_like(f64::NAN, g)),
        message(x.bernoulli_like_each(&p, g)),
        message(x.random_like(Some(5), Some(1), g)),
        message(Generator::new(0).set_state(&x)),
        message(Generator::new(0).set_state(&Tensor::zeros(&[8], DType::U8).unwrap())),
    ];
    assert_snapshot!(lines.join("\n"));
}
