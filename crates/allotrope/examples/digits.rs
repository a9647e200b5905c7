//! Handwritten digits told apart by a small network, in the dtype that is asked for.
//!
//! `cargo run --release --example digits -- [--dtype float32|float64|bfloat16|float16] [--amp]
//! [--epochs 20] [--steps 1000] [--batch 64] [--data digits.npz]`

use std::io::Write;
use std::path::PathBuf;

use allotrope::prelude::*;
use nn::{CrossEntropyLoss, Dropout, Linear, Relu, Sequential};
use optim::{AdamW, AdamWOptions};

struct Arguments {
    dtype: DType,
    amp: bool,
    epochs: usize,
    steps: usize,
    batch: usize,
    data: PathBuf,
}

/// What a program of this kind fails with: the library's errors, and those of reading arguments.
type Outcome<T> = std::result::Result<T, Box<dyn std::error::Error>>;

impl Arguments {
    fn read() -> Outcome<Self> {
        let mut read = Self {
            dtype: DType::F32,
            amp: false,
            epochs: 20,
            steps: usize::MAX,
            batch: 64,
            data: PathBuf::from(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../examples/data/digits.npz"
            )),
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(name) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{name} needs a value"));
            match &*name {
                "--dtype" => read.dtype = value()?.parse()?,
                "--amp" => read.amp = true,
                "--epochs" => read.epochs = value()?.parse()?,
                "--steps" => read.steps = value()?.parse()?,
                "--batch" => read.batch = value()?.parse::<usize>()?.max(1),
                "--data" => read.data = value()?.into(),
                _ => {
                    return Err(format!("unknown argument {name}; accepted are --dtype, --amp, --epochs, --steps, --batch and --data").into());
                }
            }
        }
        Ok(read)
    }
}

/// Images as rows of numbers from 0 to 1, and their labels.
fn read_data(arguments: &Arguments) -> Outcome<(Tensor, Tensor)> {
    let file = load(&arguments.data)?;
    let array = |name: &str| -> Outcome<Tensor> {
        let value = file
            .get(name)
            .ok_or(format!("no array '{name}' in the file"))?;
        Ok(value.clone().try_into()?)
    };
    let images = array("images")?.to(DType::F32)?.div(16)?;
    Ok((images.flatten(1, -1)?, array("labels")?.to(DType::I64)?))
}

/// The share of images that are told right.
fn accuracy(net: &impl Layer, images: &Tensor, labels: &Tensor) -> Result<f64> {
    let _off = no_grad();
    net.eval();
    let right = net.forward(images)?.argmax(Some(1), false)?.eq(labels)?;
    net.train();
    right.to(DType::F64)?.mean(None, false, None)?.to_scalar()
}

fn main() -> Outcome<()> {
    let arguments = Arguments::read()?;
    manual_seed(1);
    let (images, labels) = read_data(&arguments)?;
    let count = labels.count();
    let order = Tensor::randperm(count, DType::I64, None)?;
    let (images, labels) = (
        images.index_select(0, &order)?,
        labels.index_select(0, &order)?,
    );
    let tests = count / 5;
    let trained = count - tests;
    // With autocast parameters stay float32, and products are in the lower dtype.
    let dtype = if arguments.amp {
        DType::F32
    } else {
        arguments.dtype
    };
    let images = images.to(dtype)?;
    let part = |start: usize, length: usize| -> Result<(Tensor, Tensor)> {
        let start = start as isize;
        Ok((
            images.narrow(0, start, length)?,
            labels.narrow(0, start, length)?,
        ))
    };
    let (test_images, test_labels) = part(trained, tests)?;

    let net = Sequential::new()
        .add(Linear::new(64, 128)?)
        .add(Relu)
        .add(Dropout::new(0.1)?)
        .add(Linear::new(128, 10)?);
    net.to(dtype)?;
    println!("{} parameters in {dtype}", net.num_parameters());
    let options = AdamWOptions {
        lr: 3e-3,
        ..AdamWOptions::default()
    };
    let mut optimizer = AdamW::new(net.parameters(), options)?;
    let is_scaled = arguments.amp && arguments.dtype == DType::F16;
    let mut scaler = amp::GradScaler::new(amp::ScalerOptions {
        enabled: is_scaled,
        ..amp::ScalerOptions::default()
    });
    let loss_of = CrossEntropyLoss::default();
    let mut taken = 0;
    for epoch in 1..=arguments.epochs {
        let (mut sum, mut steps) = (0.0, 0);
        for start in (0..trained).step_by(arguments.batch) {
            if taken == arguments.steps {
                break;
            }
            let (x, y) = part(start, arguments.batch.min(trained - start))?;
            optimizer.zero_grad()?;
            let loss = {
                let _cast = match arguments.amp {
                    true => Some(amp::autocast(arguments.dtype, true)?),
                    false => None,
                };
                loss_of.forward(&net.forward(&x)?, &y)?
            };
            scaler.scale(&loss)?.backward()?;
            if is_scaled {
                let values: Vec<Tensor> = net.parameters().iter().map(Parameter::value).collect();
                scaler.unscale(0, &values.iter().collect::<Vec<_>>())?;
                drop(values);
                scaler.step(0, &[], || optimizer.step())?;
                scaler.update(None)?;
            } else {
                optimizer.step()?;
            }
            sum += loss.to(DType::F64)?.to_scalar::<f64>()?;
            (steps, taken) = (steps + 1, taken + 1);
        }
        if steps == 0 {
            break;
        }
        let right = accuracy(&net, &test_images, &test_labels)?;
        print!(
            "\repoch {epoch:3} of {}: loss {:.4}, test accuracy {right:.4}",
            arguments.epochs,
            sum / f64::from(steps)
        );
        std::io::stdout().flush()?;
    }
    println!(
        "\ntest accuracy {:.4}",
        accuracy(&net, &test_images, &test_labels)?
    );
    Ok(())
}
