//! Errors about values: nothing is read at the call, and the next reading raises what the CPU does.

use allotrope_conformance::refusal::{self, Case, floats, integers};
use allotrope_dtype::{DType, Error, ErrorKind, Notify, scoped_demotion, scoped_fallback};
use allotrope_op::Backend;
use allotrope_tensor::{Edges, Tensor};

use crate::devices::{Tested, devices, devices_for};

/// A way to read, which raises.
type Reading<'a> = (&'a str, &'a dyn Fn(&Tensor) -> Result<(), Error>);

/// A device with all features and one with none: levels are alike in integers.
fn with_and_without_features() -> impl Iterator<Item = &'static Tested> {
    let places = devices_for(&[DType::I64], false, 0);
    places.into_iter().map(|place| &devices()[place])
}

fn check(device: &Tested, case: &Case) {
    let Case {
        what,
        operands,
        work,
    } = case;
    let want = work(operands).err();
    let moved = operands.iter().map(|x| x.to_backend(device.gpu).unwrap());
    let moved: Vec<Tensor> = moved.collect();
    let readings: [Reading<'_>; 3] = [
        ("to_bytes", &|x| x.to_bytes().map(drop)),
        ("finish", &|_| device.gpu.finish()),
        ("synchronize", &|x| x.device().synchronize()),
    ];
    for (reading, read) in readings {
        let what = format!("{what} on {} by {reading}", device.name);
        // Whoever reads hands over what is recorded first.
        device.gpu.finish().unwrap();
        let submits = device.gpu.submits()[0];
        let got = work(&moved).unwrap_or_else(|error| panic!("{what}: {error} at the call"));
        assert_eq!(device.gpu.submits()[0], submits, "{what} reads at the call");
        assert_eq!(read(&got).err(), want, "{what}");
        // It is raised once; whatever came out is there.
        device.gpu.finish().unwrap();
        assert!(got.to_bytes().is_ok(), "{what}");
    }
}

/// All cases on all devices.
fn check_all(cases: &[Case]) {
    let _demoted = scoped_demotion(Notify::Silent);
    let _hosted = scoped_fallback(Notify::Silent);
    for device in with_and_without_features() {
        let _alone = device.alone();
        for case in cases {
            check(device, case);
        }
    }
}

#[test]
fn indices_and_divisors_are_checked_without_waiting() {
    check_all(&refusal::indices().unwrap());
}

#[test]
fn every_integer_dtype_is_checked() {
    check_all(&refusal::dtypes().unwrap());
}

#[test]
fn losses_read_nothing() {
    check_all(&refusal::losses().unwrap());
}

#[test]
fn numbers_of_errors_are_those_of_the_cpu() {
    let _hosted = scoped_fallback(Notify::Silent);
    for device in with_and_without_features() {
        let _alone = device.alone();
        let there = |x: &Tensor| x.to_backend(device.gpu).unwrap();
        let bins = integers(&[0, -2, 5, -3]).unwrap();
        let here = bins.bincount(None, 0).unwrap_err();
        let got = there(&bins).bincount(None, 0);
        assert_eq!(got.and_then(|x| x.to_bytes()).unwrap_err(), here);
        let x = floats(&[0.5, 0.25, -1.0]).unwrap();
        let edges = floats(&[0.0, 2.0, 1.5]).unwrap();
        let here = x.histogram(Edges::Given(&edges), None, false).err();
        let got = there(&x).histogram(Edges::Given(&there(&edges)), None, false);
        assert_eq!(got.and_then(|(hist, _)| hist.to_bytes()).err(), here);
    }
}

#[test]
fn the_first_fault_of_several_is_raised() {
    for device in with_and_without_features() {
        let _alone = device.alone();
        let there = |x: Tensor| x.to_backend(device.gpu).unwrap();
        let x = there(floats(&[1.0, 2.0]).unwrap());
        let (rows, fine) = (
            there(integers(&[5]).unwrap()),
            there(integers(&[1]).unwrap()),
        );
        let first = x.index_select(0, &rows).unwrap();
        let _second = rows.remainder(&rows.sub(&rows).unwrap()).unwrap();
        let fault = x.add(1).unwrap().to_vec::<f32>().unwrap_err();
        assert_eq!(
            (fault.op(), fault.kind()),
            ("index_select", ErrorKind::Index)
        );
        assert_eq!(x.to_vec::<f32>().unwrap(), [1.0, 2.0]);
        // Indices that were refused led to an element all the same.
        assert_eq!(first.to_vec::<f32>().unwrap(), [1.0]);
        // More checks than wait at a time, of which one refuses, each way around.
        for wrong in [0, 100, 299] {
            for k in 0..300 {
                let rows = if k == wrong { &rows } else { &fine };
                let _ = x.index_select(0, rows).unwrap();
            }
            let fault = device.gpu.finish().unwrap_err();
            assert_eq!(fault.kind(), ErrorKind::Index, "{wrong}");
            assert!(device.gpu.finish().is_ok());
        }
        // Many elements: the first of those that are wrong is told.
        let count = 1_000_003;
        let mut places = vec![1_i64; count];
        (places[70_001], places[900_000]) = (-9, 7);
        let places = there(Tensor::from_slice(&places, &[count]).unwrap());
        let _ = x.index_select(0, &places).unwrap();
        let text = device.gpu.finish().unwrap_err().to_string();
        assert!(text.contains("-9"), "{text}");
    }
}

#[test]
fn a_fault_is_raised_to_those_whom_it_concerns() {
    for device in with_and_without_features() {
        let _alone = device.alone();
        refusal::heard_by_those_concerned(device.gpu).unwrap();
    }
}

#[test]
fn an_empty_dimension_is_refused_at_the_call() {
    for device in with_and_without_features() {
        let _alone = device.alone();
        let empty = Tensor::zeros(&[0, 3], DType::F32).unwrap();
        let rows = integers(&[0]).unwrap();
        let here = empty.index_select(0, &rows).unwrap_err();
        let there = |x: &Tensor| x.to_backend(device.gpu).unwrap();
        let got = there(&empty).index_select(0, &there(&rows)).unwrap_err();
        assert_eq!(got, here);
    }
}
