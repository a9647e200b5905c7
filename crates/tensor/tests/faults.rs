//! Errors about values on a device that queues its work: nothing is read at the call, and the next
//! reading raises what the check noted. The CPU raises at the call.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::sync::{Mutex, MutexGuard, PoisonError};

use allotrope_dtype::{DType, Error, ErrorKind};
use allotrope_op::Backend;
use allotrope_tensor::{
    BagMode, Bags, Device, Edges, Index, LossReduction, QuantileInterpolation, Tensor,
};
use allotrope_testing::{APART, NARROW, take_calls};

type Outcome = Result<Tensor, Error>;

/// Faults are of the device, whoever reads: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

fn there(x: &Tensor) -> Tensor {
    x.to_backend(&APART).unwrap()
}

fn integers(values: &[i64]) -> Tensor {
    Tensor::from_slice(values, &[values.len()]).unwrap()
}

fn floats(values: &[f32]) -> Tensor {
    Tensor::from_slice(values, &[values.len()]).unwrap()
}

/// Checks that work reads nothing at the call, and that what it refuses is raised by each way to read.
fn check(what: &str, operands: &[&Tensor], work: impl Fn(&[Tensor]) -> Outcome) {
    let here: Vec<Tensor> = operands.iter().map(|x| (*x).clone()).collect();
    let want = work(&here).err();
    let moved: Vec<Tensor> = operands.iter().map(|x| there(x)).collect();
    type Reading<'a> = (&'a str, &'a dyn Fn(&Tensor) -> Result<(), Error>);
    let readings: [Reading<'_>; 4] = [
        ("to_bytes", &|x| x.to_bytes().map(drop)),
        ("finish", &|_| APART.finish()),
        ("synchronize", &|x| x.device().synchronize()),
        ("another tensor", &|_| moved[0].to_bytes().map(drop)),
    ];
    for (reading, read) in readings {
        take_calls();
        let got = work(&moved).unwrap_or_else(|error| panic!("{what}: {error} at the call"));
        let calls = take_calls();
        for method in ["download", "finish", "compress", "coordinates"] {
            assert!(!calls.contains_key(method), "{what}: {calls:?}");
        }
        let is_checked = want.is_none() || calls.contains_key("check");
        assert!(is_checked, "{what}: {calls:?}");
        assert_eq!(read(&got).err(), want, "{what} by {reading}");
        // It is raised once; whatever came out is there.
        APART.finish().unwrap();
        assert!(got.to_bytes().is_ok(), "{what}");
    }
}

#[test]
fn indices_and_divisors_are_checked_without_waiting() {
    let _guard = alone();
    let x = Tensor::arange(0, 60, 1, DType::F32).unwrap();
    let x = x.reshape(&[6, 10]).unwrap();
    let whole = integers(&[7, -7, 3, 1]);
    for (rows, divisors) in [
        (integers(&[2, -1, 0, 5]), integers(&[2, 3, -1, 1])),
        (integers(&[2, -7, 0, 6]), integers(&[2, 0, -1, 0])),
    ] {
        check("index_select", &[&x, &rows], |x| {
            x[0].index_select(0, &x[1])
        });
        check("take", &[&x, &rows.add(59).unwrap()], |x| {
            x[0].take(&x[1], None)
        });
        check("gather", &[&x, &rows], |x| {
            x[0].gather(0, &x[1].unsqueeze(1)?)
        });
        check("index", &[&x, &rows], |x| {
            x[0].index(&[Index::Array(x[1].clone())])
        });
        check("index by int8", &[&x, &rows.to(DType::I8).unwrap()], |x| {
            x[0].index(&[Index::Array(x[1].flip(&[0])?)])
        });
        check("scatter", &[&x, &rows], |x| {
            x[0].scatter(0, &x[1].unsqueeze(1)?, 7)
        });
        check("index_add", &[&x, &rows], |x| {
            x[0].index_add(0, &x[1], &x[0].narrow(0, 0, 4)?, 2)
        });
        check("assign", &[&x, &rows], |x| {
            let mut changed = x[0].clone();
            changed.assign(&[Index::Array(x[1].clone())], 1)?;
            Ok(changed)
        });
        check("one_hot", &[&rows], |x| x[0].one_hot(Some(6), DType::I64));
        check("remainder", &[&whole, &divisors], |x| x[0].remainder(&x[1]));
        check("floor_divide", &[&whole, &divisors], |x| {
            x[0].floor_divide(&x[1].select(0, 1)?)
        });
        check("pow", &[&whole, &divisors.abs().unwrap()], |x| {
            x[0].pow(&x[1])
        });
    }
    check("pow", &[&whole, &whole], |x| x[0].pow(&x[1]));
}

#[test]
fn every_integer_dtype_is_checked() {
    let _guard = alone();
    let x = Tensor::arange(0, 6, 1, DType::F32).unwrap();
    for dtype in [DType::I8, DType::U8, DType::I32, DType::I64, DType::U64] {
        for places in [integers(&[1, -7, 9]), integers(&[-1, 3])] {
            let places = places.to(dtype).unwrap();
            check("index_select", &[&x, &places], |x| {
                x[0].index_select(0, &x[1])
            });
            check("turned", &[&x, &places], |x| {
                x[0].take(&x[1].flip(&[0])?, None)
            });
        }
        let numbers = integers(&[3, 2, 0, 5, -3, 1]).reshape(&[2, 3]).unwrap();
        let numbers = numbers.to(dtype).unwrap();
        check("zeros", &[&numbers], |x| {
            x[0].remainder(&x[0].transpose(0, 1)?.reshape(&[2, 3])?)
        });
        check("exponents", &[&numbers], |x| x[0].pow(&x[0]));
        check("one exponent", &[&numbers], |x| {
            x[0].pow(&x[0].select(0, 1)?.select(0, 1)?)
        });
    }
    // The greatest is read for the size; what is wrong with the others is not.
    let bins = integers(&[0, -2]);
    let here = bins.bincount(None, 0).unwrap_err();
    let got = there(&bins).bincount(None, 0).unwrap();
    assert_eq!(got.to_bytes().unwrap_err(), here);
}

#[test]
fn masks_and_bags_read_nothing() {
    let _guard = alone();
    let x = Tensor::arange(0, 12, 1, DType::F32).unwrap();
    let x = x.reshape(&[4, 3]).unwrap();
    let mask = x.gt(5).unwrap();
    for count in [6, 5, 1] {
        check("masked_scatter", &[&x, &mask], |x| {
            let source = x[0].ravel()?.narrow(0, 0, count)?;
            x[0].masked_scatter(&x[1], &source)
        });
    }
    let index = integers(&[2, 0, 3, 1, 1]);
    for (offsets, include_last_offset) in [
        (integers(&[0, 2, 2]), false),
        (integers(&[0, 2, 5]), true),
        (integers(&[0, 2, 1]), false),
        (integers(&[0, 2, 6]), false),
        (integers(&[1, 2]), false),
        (integers(&[0, -2]), false),
        (integers(&[0, 2, 4]), true),
    ] {
        for mode in [BagMode::Sum, BagMode::Mean, BagMode::Max] {
            check("embedding_bag", &[&x, &index, &offsets], |x| {
                let offsets = Some(&x[2]);
                let bags = Bags {
                    offsets,
                    include_last_offset,
                    mode,
                    ..Bags::default()
                };
                x[0].embedding_bag(&x[1], bags)
            });
        }
    }
}

#[test]
fn losses_read_nothing() {
    let _guard = alone();
    let x = floats(&[0.5, 0.25, -1.0, 2.0, 0.0, 1.0]);
    let x = x.reshape(&[3, 2]).unwrap();
    let y = floats(&[0.0, 1.0, 0.5, 1.0, 0.25, 1.0]);
    let y = y.reshape(&[3, 2]).unwrap();
    let mean = LossReduction::Mean;
    for target in [integers(&[1, -100, 0]), integers(&[1, 2, 0])] {
        check("cross_entropy", &[&x, &target], |x| {
            x[0].cross_entropy(&x[1], None, -100, mean, 0.0)
        });
        check("nll_loss", &[&x, &target], |x| {
            x[0].nll_loss(&x[1], None, -100, mean)
        });
    }
    for x in [&x, &y] {
        check("binary_cross_entropy", &[x, &y], |x| {
            x[0].binary_cross_entropy(&x[1], None, mean)
        });
        check("gaussian_nll_loss", &[&y, &y, x], |x| {
            x[0].gaussian_nll_loss(&x[1], &x[2], false, 1e-6, mean)
        });
    }
    let scores = Tensor::arange(0, 24, 1, DType::F64).unwrap();
    let scores = scores
        .reshape(&[4, 2, 3])
        .unwrap()
        .log_softmax(2, None)
        .unwrap();
    for target in [integers(&[1, 1, 2]), integers(&[1, 3, -1])] {
        check("ctc_loss", &[&scores, &target], |x| {
            x[0].ctc_loss(&x[1], &[4, 3], &[2, 1], 0, mean, false)
        });
    }
}

#[test]
fn other_checks_read_nothing() {
    let _guard = alone();
    let x = floats(&[0.5, 0.25, -1.0]);
    for edges in [floats(&[0.0, 1.0, 2.0]), floats(&[0.0, 2.0, 1.5])] {
        let here = x.histogram(Edges::Given(&edges), None, false).err();
        let got = there(&x).histogram(Edges::Given(&there(&edges)), None, false);
        let read = got.and_then(|(hist, _)| hist.to_bytes());
        assert_eq!(read.err(), here);
    }
    // The product is hosted, which reads; the error is the CPU's.
    for weights in [integers(&[1, 2, 3]), integers(&[1, -2, 3])] {
        let here = x.cov(1.0, Some(&weights), None).err();
        let got = there(&x).cov(1.0, Some(&there(&weights)), None);
        assert_eq!(got.and_then(|cov| cov.to_bytes()).err(), here);
    }
    for q in [floats(&[0.5, 1.0]), floats(&[0.5, 2.0])] {
        let here = x.quantile(&q, None, false, QuantileInterpolation::Linear);
        let got = there(&x).quantile(&there(&q), None, false, QuantileInterpolation::Linear);
        assert_eq!(got.and_then(|x| x.to_bytes()).err(), here.err());
    }
    take_calls();
    let place = there(&x).argmin(None, false).unwrap();
    assert!(!take_calls().contains_key("download"));
    assert_eq!(place.to_vec::<i64>().unwrap(), [2]);
}

#[test]
fn the_first_fault_of_several_is_raised() {
    let _guard = alone();
    let (x, rows) = (there(&floats(&[1.0, 2.0])), there(&integers(&[5])));
    let first = x.index_select(0, &rows).unwrap();
    let _second = rows.remainder(&rows.sub(&rows).unwrap()).unwrap();
    let fault = x.add(1).unwrap().to_vec::<f32>().unwrap_err();
    assert_eq!(
        (fault.op(), fault.kind()),
        ("index_select", ErrorKind::Index)
    );
    assert_eq!(x.to_vec::<f32>().unwrap(), [1.0, 2.0]);
    drop(first);
    // Many checks do not pile up, and devices keep their faults apart.
    for _ in 0..200 {
        let _ = x.index_select(0, &rows).unwrap();
    }
    let other = x.to_backend(&NARROW);
    assert_eq!(other.unwrap_err().kind(), ErrorKind::Index);
    assert!(Device::from(&APART as &dyn Backend).synchronize().is_ok());
}

#[test]
fn an_empty_dimension_is_refused_at_the_call() {
    let _guard = alone();
    let empty = Tensor::zeros(&[0, 3], DType::F32).unwrap();
    let rows = integers(&[0]);
    let here = empty.index_select(0, &rows).unwrap_err();
    let got = there(&empty).index_select(0, &there(&rows)).unwrap_err();
    assert_eq!(got, here);
}
