//! Primitives that the CPU does for the device are reported as hosted operations are.

use std::sync::Mutex;

use allotrope_dtype::{DType, Error, ErrorKind, Notify, scoped_demotion, scoped_fallback};
use allotrope_tensor::{
    Device, DeviceProvider, IndexReduction, Notice, Tensor, Trace, TraceFlow, forget_notices,
    hosted_operations, register_devices, set_notice_sink,
};

use crate::devices::{Tested, devices, devices_for};

/// What was said.
static SAID: Mutex<Vec<Notice>> = Mutex::new(Vec::new());

fn keep(notice: &Notice) -> Result<(), Error> {
    SAID.lock().unwrap().push(notice.clone());
    Ok(())
}

fn said(op: &str) -> usize {
    let said = SAID.lock().unwrap();
    let is_of = |notice: &&Notice| matches!(notice, Notice::Hosted { op: of, .. } if *of == op);
    said.iter().filter(is_of).count()
}

fn counted(device: &Tested, op: &str) -> u64 {
    let all = hosted_operations(Device::from(
        device.gpu as &'static dyn allotrope_op::Backend,
    ));
    all.iter()
        .find(|(name, _)| *name == op)
        .map_or(0, |(_, n)| *n)
}

/// A primitive that no device of ours has: elements put to places by products of complex numbers.
fn scattered(device: &Tested) -> Result<Tensor, Error> {
    let ones = Tensor::ones(&[3], DType::C64)?.to_backend(device.gpu)?;
    let places = Tensor::from_slice(&[0_i64, 0, 2], &[3])?.to_backend(device.gpu)?;
    ones.scatter_reduce(0, &places, &ones, IndexReduction::Prod, true)
}

#[test]
fn hosted_primitives_are_reported() {
    register_devices(DeviceProvider {
        kind: allotrope_gpu::KIND,
        count: allotrope_gpu::count,
        find: allotrope_gpu::find,
        report_hosted: allotrope_gpu::report_hosted,
    });
    set_notice_sink(keep);
    let _demoted = scoped_demotion(Notify::Silent);
    for place in devices_for(&[DType::F64], false, 0) {
        let device = &devices()[place];
        let _alone = device.alone();
        let op = "scatter_reduce";
        {
            let _refused = scoped_fallback(Notify::Error);
            let error = scattered(device).unwrap_err();
            assert_eq!((error.op(), error.kind()), (op, ErrorKind::Device));
        }
        let before = counted(device, op);
        {
            let _silent = scoped_fallback(Notify::Silent);
            let spoken = said(op);
            scattered(device).unwrap();
            assert_eq!((counted(device, op), said(op)), (before + 1, spoken));
            // Traces say where it was computed.
            let (trace, mut flow) = (Trace::default(), TraceFlow::default());
            let id = flow.enter(trace.clone());
            flow.resume();
            scattered(device).unwrap();
            flow.leave(id);
            flow.resume();
            let traced = trace.take();
            let is_hosted = |entry: &allotrope_tensor::TracedOperation| {
                entry.op == op && entry.hosted.is_some_and(|device| device.kind() == "gpu")
            };
            assert!(
                traced.iter().any(|(entry, _)| is_hosted(entry)),
                "{traced:?}"
            );
        }
        {
            let _warned = scoped_fallback(Notify::Warn);
            forget_notices();
            let spoken = said(op);
            scattered(device).unwrap();
            scattered(device).unwrap();
            assert_eq!(said(op), spoken + 1);
        }
        // What the device does itself is not.
        let _refused = scoped_fallback(Notify::Error);
        let x = Tensor::ones(&[3], DType::F32).unwrap();
        let x = x.to_backend(device.gpu).unwrap();
        x.sum(None, false, None).unwrap();
        // Products of floats need the range of float64.
        let product = x.prod(None, false, None).err().map(|error| error.kind());
        let is_demoted = device.stored(DType::F64) != DType::F64;
        assert_eq!(product, is_demoted.then_some(ErrorKind::Device));
    }
}
