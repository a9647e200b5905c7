//! Errors about values on a device that queues its work: nothing is read at the call, and the next
//! reading raises what the check noted. The CPU raises at the call.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::sync::{Mutex, MutexGuard, PoisonError};

use allotrope_conformance::refusal::{self, Case};
use allotrope_dtype::{DType, Error, ErrorKind};
use allotrope_op::Backend;
use allotrope_tensor::{BagMode, Bags, Device, Edges, QuantileInterpolation, Tensor};
use allotrope_testing::{APART, NARROW, take_calls};

/// What is read is counted for the whole process: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

fn there(x: &Tensor) -> Tensor {
    x.to_backend(&APART).unwrap()
}

fn integers(values: &[i64]) -> Tensor {
    refusal::integers(values).unwrap()
}

fn floats(values: &[f32]) -> Tensor {
    refusal::floats(values).unwrap()
}

/// Checks that work reads nothing at the call, and that what it refuses is raised by each way to read.
fn check(what: &str, operands: &[Tensor], work: impl Fn(&[Tensor]) -> Result<Tensor, Error>) {
    let want = work(operands).err();
    let moved: Vec<Tensor> = operands.iter().map(there).collect();
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

fn check_case(case: &Case) {
    check(case.what, &case.operands, case.work);
}

#[test]
fn indices_and_divisors_are_checked_without_waiting() {
    let _guard = alone();
    refusal::indices().unwrap().iter().for_each(check_case);
}

#[test]
fn every_integer_dtype_is_checked() {
    let _guard = alone();
    refusal::dtypes().unwrap().iter().for_each(check_case);
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
        check("masked_scatter", &[x.clone(), mask.clone()], |x| {
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
            let operands = [&x, &index, &offsets].map(Tensor::clone);
            check("embedding_bag", &operands, |x| {
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
    refusal::losses().unwrap().iter().for_each(check_case);
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
fn a_fault_is_raised_to_those_whom_it_concerns() {
    let _guard = alone();
    refusal::heard_by_those_concerned(&APART).unwrap();
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
