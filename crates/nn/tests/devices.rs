//! Networks on a second device, whose memory the CPU cannot read: made there or moved there they take the
//! CPU's steps, and nothing but their batches comes from the CPU.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail"
)]

use std::sync::{Mutex, MutexGuard, PoisonError};

use allotrope_dtype::{Notify, set_fallback};
use allotrope_nn::optim::{
    Adam, AdamOptions, AdamW, AdamWOptions, Algorithm, OptimizerOf, Precision, RMSprop,
    RMSpropOptions, SGD, SGDOptions,
};
use allotrope_nn::{
    BatchNorm1d, BatchNormOptions, DType, Device, Embedding, EmbeddingOptions, Error, Layer,
    LayerNorm, Linear, LinearOptions, Module, NormOptions, Parameter, Prelu, StateDict, Tensor,
};
use allotrope_op::Backend;
use allotrope_tensor::{Generator, LossReduction, take_transfers};
use allotrope_testing::APART;

fn apart() -> Device {
    Device::from(&APART as &dyn Backend)
}

#[derive(Module)]
struct Classifier {
    table: Embedding,
    hidden: Linear,
    norm: LayerNorm,
    batch: BatchNorm1d,
    slopes: Prelu,
    out: Linear,
}

impl Classifier {
    fn new(dtype: DType, device: Device) -> Result<Self, Error> {
        let linear = LinearOptions {
            dtype,
            device,
            ..LinearOptions::default()
        };
        let norm = NormOptions {
            dtype,
            device,
            ..NormOptions::default()
        };
        let batch = BatchNormOptions {
            dtype,
            device,
            ..BatchNormOptions::default()
        };
        let rows = EmbeddingOptions {
            dtype,
            device,
            padding_idx: Some(0),
            ..EmbeddingOptions::default()
        };
        Ok(Self {
            table: Embedding::with(9, 6, rows)?,
            hidden: Linear::with(6, 8, linear)?,
            norm: LayerNorm::with(&[8], norm)?,
            batch: BatchNorm1d::with(8, batch)?,
            slopes: Prelu::with(8, 0.25, (dtype, device))?,
            out: Linear::with(8, 3, linear)?,
        })
    }

    fn loss(&self, words: &Tensor, classes: &Tensor) -> Result<Tensor, Error> {
        let x = self.table.forward(words)?.mean(Some(&[1]), false, None)?;
        let x = self.norm.forward(&self.hidden.forward(&x)?)?;
        let x = self.slopes.forward(&self.batch.forward(&x)?)?;
        let scores = self.out.forward(&x)?;
        scores.cross_entropy(classes, None, -100, LossReduction::Mean, 0.0)
    }

    fn is_on(&self, device: Device) -> bool {
        self.state_dict().values().all(|x| x.device() == device)
    }
}

/// Words and classes of four sentences.
fn batch(number: i64) -> (Tensor, Tensor) {
    let words = Tensor::arange(number, number + 20, 1, DType::I64).unwrap();
    let words = words.remainder(9).unwrap().reshape(&[4, 5]).unwrap();
    let classes = Tensor::arange(number, number + 4, 1, DType::I64).unwrap();
    (words, classes.remainder(3).unwrap())
}

fn train<O: Algorithm + Clone>(
    net: &Classifier,
    optimizer: &mut OptimizerOf<O>,
    device: Device,
    is_moved: bool,
) -> Result<(), Error> {
    for number in 0..3 {
        let (words, classes) = batch(number);
        let (words, classes) = (words.to_device(device)?, classes.to_device(device)?);
        take_transfers();
        net.zero_grad()?;
        net.loss(&words, &classes)?.backward()?;
        for parameter in net.parameters() {
            assert_eq!(parameter.grad().expect("a gradient").device(), device);
        }
        optimizer.step()?;
        // State follows parameters that were moved by its first step there.
        let moved = take_transfers();
        assert!(moved.is_empty() || is_moved && number == 0, "{moved:?}");
    }
    Ok(())
}

fn assert_close(what: &str, here: &StateDict, there: &StateDict, tolerance: f64) {
    assert!(here.keys().eq(there.keys()), "{what}");
    for (name, x) in here {
        let [x, y] = [x, &there[name]].map(|x| {
            let x = x.to_device(Device::cpu()).unwrap();
            x.to(DType::F64).unwrap()
        });
        let away = x.sub(&y).unwrap().abs().unwrap();
        let room = x.abs().unwrap().add(1.0).unwrap().mul(tolerance).unwrap();
        let fits = away.le(&room).unwrap().all(None, false).unwrap();
        assert!(fits.to_scalar::<bool>().unwrap(), "{what}: {name}: {x} {y}");
    }
}

/// Trains a network here, one that was made there, and one that was moved there.
fn compare<O: Algorithm + Clone>(
    what: &str,
    dtype: DType,
    make: impl Fn(Vec<Parameter>) -> Result<OptimizerOf<O>, Error>,
) {
    set_fallback(Notify::Silent);
    let here = Classifier::new(dtype, Device::cpu()).unwrap();
    let [made, moved] = [apart(), Device::cpu()].map(|device| {
        let net = Classifier::new(dtype, device).unwrap();
        assert!(net.is_on(device), "{what}");
        let report = net.load_state_dict(&here.state_dict(), true);
        report.unwrap();
        assert!(net.is_on(device), "{what}");
        net
    });
    // An optimizer that was made before goes on with what is there.
    let mut of_moved = make(moved.parameters()).unwrap();
    moved.to_device(apart()).unwrap();
    let (mut of_here, mut of_made) = (
        make(here.parameters()).unwrap(),
        make(made.parameters()).unwrap(),
    );
    train(&here, &mut of_here, Device::cpu(), false).unwrap();
    train(&made, &mut of_made, apart(), false).unwrap();
    train(&moved, &mut of_moved, apart(), false).unwrap();
    assert!(made.is_on(apart()) && moved.is_on(apart()), "{what}");
    // What of the dtype's last digits rounding in another order is worth.
    let tolerance = match dtype {
        DType::F64 => 1e-9,
        _ => 2e-2,
    };
    assert_close(what, &here.state_dict(), &made.state_dict(), tolerance);
    assert_close(what, &made.state_dict(), &moved.state_dict(), 0.0);
    made.to_device(Device::cpu()).unwrap();
    assert!(made.is_on(Device::cpu()), "{what}");
    train(&made, &mut of_made, Device::cpu(), true).unwrap();
    train(&here, &mut of_here, Device::cpu(), false).unwrap();
    assert_close(what, &here.state_dict(), &made.state_dict(), tolerance);
}

/// First values are drawn from the generator of the process: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn networks_take_the_same_steps_there() {
    let _guard = alone();
    compare("SGD", DType::F64, |parameters| {
        let options = SGDOptions {
            lr: 0.05,
            momentum: 0.9,
            ..SGDOptions::default()
        };
        SGD::new(parameters, options)
    });
    compare("AdamW", DType::F64, |parameters| {
        AdamW::new(parameters, AdamWOptions::default())
    });
    compare("RMSprop", DType::F64, |parameters| {
        RMSprop::new(parameters, RMSpropOptions::default())
    });
    compare("Adam with masters", DType::BF16, |parameters| {
        let precision = Precision {
            master_weights: true,
            ..Precision::default()
        };
        Adam::with_precision(parameters, AdamOptions::default(), precision)
    });
}

#[test]
fn first_values_are_the_same_there() {
    let _guard = alone();
    for dtype in [DType::F32, DType::BF16] {
        let [here, there] = [Device::cpu(), apart()].map(|device| {
            Generator::of_process().manual_seed(3);
            Classifier::new(dtype, device).unwrap().state_dict()
        });
        assert_close("first values", &here, &there, 0.0);
    }
}

#[test]
fn gradients_follow_their_parameter() {
    let weight = Parameter::new(Tensor::ones(&[2], DType::F32).unwrap()).unwrap();
    let add_up = || weight.value().sum(None, false, None)?.backward();
    add_up().unwrap();
    weight.to_device(apart()).unwrap();
    weight.to(DType::BF16).unwrap();
    let grad = weight.grad().unwrap();
    assert_eq!((grad.device(), grad.dtype()), (apart(), DType::BF16));
    add_up().unwrap();
    let grad = weight.grad().unwrap().to(DType::F32).unwrap();
    assert_eq!(grad.to_vec::<f32>().unwrap(), [2.0, 2.0]);
}
