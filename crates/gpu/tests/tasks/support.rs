//! Devices under test, tensors to test with, and how results are compared.

use std::sync::OnceLock;

use allotrope_cpu::CPU;
use allotrope_dtype::{DType, Error};
use allotrope_gpu::{Features, Gpu, Options, open};
use allotrope_op::Backend;
use allotrope_tensor::{BackwardOptions, Notify, Tensor, grad, scoped_fallback};

/// A device with all features and one with none; those that there are.
pub(crate) fn devices() -> Vec<&'static Gpu> {
    static ALL: OnceLock<Vec<&'static Gpu>> = OnceLock::new();
    let found = ALL.get_or_init(|| {
        let options = |features| Options {
            software: true,
            features,
            ..Options::default()
        };
        let open = |features| match open(options(features)) {
            Ok(gpu) => Some(gpu),
            Err(error) => {
                eprintln!("skipped: {error}");
                None
            }
        };
        [Features::All, Features::Portable]
            .into_iter()
            .filter_map(open)
            .collect()
    });
    found.clone()
}

/// The float dtypes.
pub(crate) fn floats() -> impl Iterator<Item = DType> {
    DType::ALL.into_iter().filter(|d| d.is_floating_point())
}

/// Numbers between -2 and 2 without an order, the same each time.
pub(crate) fn numbers(dtype: DType, shape: &[usize]) -> Tensor {
    let count: usize = shape.iter().product();
    let mut state = 88_172_645_463_325_252_u64 ^ count as u64;
    let values: Vec<f64> = (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f64 / f64::from(1 << 22) - 2.0
        })
        .collect();
    let x = Tensor::from_slice(&values, shape).unwrap();
    match dtype {
        d if d.is_floating_point() || d.is_complex() => x.to(d).unwrap(),
        DType::Bool => x.gt(0).unwrap(),
        d if d.is_signed() => x.mul(13).unwrap().floor().unwrap().to(d).unwrap(),
        d => {
            let x = x.add(2).unwrap().mul(13).unwrap();
            x.floor().unwrap().to(d).unwrap()
        }
    }
}

/// Fails unless both have the same dtype, shape and numbers: to units of the last place of a float
/// around one, or of the number itself where that is larger.
pub(crate) fn assert_near(what: &str, gpu: &Gpu, got: &Tensor, want: &Tensor, units: f64) {
    assert_eq!(got.backend().name(), "gpu", "{what}");
    assert_eq!(got.dtype(), want.dtype(), "{what}");
    assert_eq!(got.shape(), want.shape(), "{what}");
    let dtype = got.dtype();
    let got = got.to_backend(&CPU).unwrap();
    if !dtype.is_floating_point() && !dtype.is_complex() {
        let (a, b) = (got.to_bytes().unwrap(), want.to_bytes().unwrap());
        assert_eq!(a, b, "{what} {dtype} {gpu:?}\n{got}\n{want}");
        return;
    }
    let stored = gpu.capabilities().storage(dtype).to_real();
    let digits = stored.format().map_or(2, |format| format.mantissa_bits);
    let unit = f64::powi(2.0, -(digits as i32)) * units;
    let wide = |x: &Tensor| -> Vec<f64> {
        let wide = if dtype.is_complex() {
            DType::C128
        } else {
            DType::F64
        };
        let bytes = x
            .to(wide)
            .unwrap()
            .contiguous()
            .unwrap()
            .to_bytes()
            .unwrap();
        let numbers = bytes.chunks_exact(8);
        numbers
            .map(|b| f64::from_ne_bytes(b.try_into().unwrap()))
            .collect()
    };
    for (i, (a, b)) in wide(&got).iter().zip(wide(want)).enumerate() {
        let is_near = (a - b).abs() <= unit * b.abs().max(1.0);
        let is_same = *a == b || a.is_nan() && b.is_nan();
        assert!(
            is_near || is_same,
            "{what} {dtype} {gpu:?} at {i}: {a} instead of {b}"
        );
    }
}

/// Work on tensors gives the same on both, and none of it is hosted.
pub(crate) fn check(
    what: &str,
    tensors: &[&Tensor],
    units: f64,
    work: impl Fn(&[Tensor]) -> Result<Tensor, Error>,
) {
    check_all(what, tensors, units, |x| Ok(vec![work(x)?]));
}

/// The same for several results.
pub(crate) fn check_all(
    what: &str,
    tensors: &[&Tensor],
    units: f64,
    work: impl Fn(&[Tensor]) -> Result<Vec<Tensor>, Error>,
) {
    for gpu in devices() {
        // What the device stores narrower is narrower for both.
        let there: Vec<Tensor> = tensors.iter().map(|x| x.to_backend(gpu).unwrap()).collect();
        let here: Vec<Tensor> = there.iter().map(|x| x.to_backend(&CPU).unwrap()).collect();
        let got = {
            let _scope = scoped_fallback(Notify::Error);
            work(&there).unwrap_or_else(|error| panic!("{what} {gpu:?}: {error}"))
        };
        for (got, want) in got.iter().zip(work(&here).unwrap()) {
            assert_near(what, gpu, got, &want, units);
        }
    }
}

/// The same for the gradients of all tensors.
pub(crate) fn check_gradients(
    what: &str,
    tensors: &[&Tensor],
    units: f64,
    work: impl Fn(&[Tensor]) -> Result<Tensor, Error>,
) {
    check_all(what, tensors, units, |x| {
        let leaves: Vec<Tensor> = x
            .iter()
            .map(|x| x.clone().requires_grad_(true))
            .collect::<Result<_, Error>>()?;
        let made = work(&leaves)?;
        // A gradient that is not the same everywhere.
        let weights = made.detach().mul(0.5)?.add(1)?.to(made.dtype())?;
        let inputs: Vec<&Tensor> = leaves.iter().collect();
        let options = BackwardOptions::default();
        let all = grad(&[&made], &inputs, &[Some(&weights)], options, false)?;
        Ok(all.into_iter().flatten().collect())
    });
}
