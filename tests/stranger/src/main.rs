//! What a program that knows ndarray, candle or burn writes, with its own error type, its own layers and
//! the arrays of other crates. `make test-rust` runs it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use allotrope::bf16;
use allotrope::prelude::*;
use anyhow::{Context, ensure};
use nn::{Sequential, func};
use optim::{Adam, AdamOptions, Optimizer, SGD, SGDOptions};

fn main() -> anyhow::Result<()> {
    numbers()?;
    shapes()?;
    elements()?;
    arrays()?;
    formats()?;
    networks()?;
    errors()
}

/// Numbers on either side of every operator, owned or borrowed.
fn numbers() -> anyhow::Result<()> {
    let x = Tensor::new([1.0_f32, 2.0])?;
    for (made, wanted) in [
        (2.0 * &x, [2.0, 4.0]),
        (2.0 * x.clone(), [2.0, 4.0]),
        (1 - &x, [0.0, -1.0]),
        (&x / 2.0, [0.5, 1.0]),
        (x.clone() / 2, [0.5, 1.0]),
        (&x + &x, [2.0, 4.0]),
        (x.clone() - &x * 3_u8, [-2.0, -4.0]),
        (-&x, [-1.0, -2.0]),
        (&x % 2, [1.0, 0.0]),
        (bf16::from_f32(0.5) * &x, [0.5, 1.0]),
        (x.pow(2)? + x.square()? - x.pow(0.5)?.pow(2.0)?, [1.0, 6.0]),
    ] {
        ensure!(
            made.allclose(&Tensor::new(wanted)?.to(made.dtype())?, 1e-6, 1e-6, false)?,
            "{made}"
        );
        ensure!(made.dtype() == DType::F32);
    }
    let mut y = x.clone();
    y += 1;
    y *= &x;
    y -= x.clone();
    let place = &mut y;
    *place /= 2.0;
    ensure!(y == Tensor::new([0.5_f32, 2.0])? && x == Tensor::new([1.0_f32, 2.0])?);
    ensure!(!Tensor::new([true, false])? == Tensor::new([false, true])?);
    ensure!((Tensor::new([6_u8])? & 3 | 8) == Tensor::new([10_u8])?);
    Ok(())
}

/// Sizes as they are written down elsewhere, and parts.
fn shapes() -> anyhow::Result<()> {
    let device = Device::cpu();
    let x = Tensor::arange(0, 24, 1, (DType::F32, device))?.reshape((2, 3, 4))?;
    let (batch, width) = (x.shape()[0], x.shape()[2]);
    ensure!(x.reshape((batch, ()))?.shape() == [2, 12]);
    ensure!(x.reshape((-1, width))?.shape() == [6, 4]);
    ensure!(x.reshape(&[4, -1])?.reshape(x.shape())? == x);
    for y in [
        Tensor::zeros((batch, 3), DType::F16)?,
        Tensor::ones([batch, 3], DType::F16)?,
        Tensor::full(vec![batch, 3], 7, DType::F16)?,
        Tensor::rand((batch, 3), DType::F16, None)?,
        Tensor::randn(&[batch, 3], DType::F16, None)?,
    ] {
        ensure!(y.shape() == [2, 3]);
    }
    ensure!(x.i((.., 1..3, -1))?.shape() == [2, 2]);
    ensure!(x.narrow(1, 1, 2)?.shape() == [2, 2, 4] && x.i(1)?.shape() == [3, 4]);
    ensure!(x.sum_axis(0)?.shape() == [3, 4] && x.sum_keepdim(0)?.shape() == [1, 3, 4]);
    ensure!(x.max_keepdim(-1)?.shape() == [2, 3, 1] && x.mean_axis(1)?.shape() == [2, 4]);
    ensure!(x.argmax_axis(2)?.to_vec2::<i64>()? == [[3, 3, 3], [3, 3, 3]]);
    ensure!(x.var_all()?.to_scalar::<f32>()? == 50.0);
    Ok(())
}

/// Elements in and out.
fn elements() -> anyhow::Result<()> {
    let x: Tensor = (0..6).map(|i| i as f32 / 2.0).collect();
    let x = x.reshape((2, 3))?;
    ensure!(x.to_vec2::<f32>()? == [[0.0, 0.5, 1.0], [1.5, 2.0, 2.5]]);
    ensure!(Vec::<f32>::try_from(&x)?.len() == 6 && x.as_slice::<f32>()?[5] == 2.5);
    ensure!(x.reshape((1, 2, 3))?.to_vec3::<f32>()?.len() == 1);
    let mut y = x.clone();
    y.as_mut_slice::<f32>()?
        .iter_mut()
        .for_each(|value| *value += 1.0);
    ensure!(y == &x + 1);
    ensure!(format!("{:.2}", y.i(0)?) == "tensor([1.00, 1.50, 2.00])");
    ensure!(std::mem::take(&mut y) == &x + 1 && y.count() == 0);
    let rows: Tensor = vec![vec![true, false], vec![false, true]]
        .into_iter()
        .collect();
    ensure!(rows.shape() == [2, 2] && rows.dtype() == DType::Bool);
    let read: Result<Tensor, _> = "3 1 4".split(' ').map(str::parse::<i64>).collect();
    ensure!(read?.sum_all()?.to_scalar::<i64>()? == 8);
    Ok(())
}

/// Arrays and matrices of other crates, both ways.
fn arrays() -> anyhow::Result<()> {
    let x = Tensor::new([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])?;

    let a: ndarray::Array2<f64> = (&x).try_into()?;
    ensure!(a == ndarray::array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]] && Tensor::try_from(&a)? == x);
    ensure!(
        Tensor::try_from(a.slice(ndarray::s![.., ..;-2]))?
            == Tensor::new([[3.0, 1.0], [6.0, 4.0]])?
    );
    ensure!(Tensor::try_from(a.into_dyn().reversed_axes())? == x.t()?);
    let view: ndarray::ArrayViewD<f64> = (&x).try_into()?;
    ensure!(view.sum() == 21.0);
    let error = ndarray::Array1::<f64>::try_from(&x)
        .unwrap_err()
        .to_string();
    ensure!(
        error.starts_with("ndarray: wrong number of dimensions"),
        "{error}"
    );
    let halves = ndarray::Array1::from(vec![bf16::from_f32(0.5); 3]);
    ensure!(Tensor::try_from(halves)?.dtype() == DType::BF16);
    let truth: ndarray::Array1<bool> = Tensor::new([true, false])?.try_into()?;
    ensure!(truth.to_vec() == [true, false]);
    ensure!(ndarray::Array1::<f32>::try_from(&x).is_err());

    let m: nalgebra::DMatrix<f64> = (&x).try_into()?;
    ensure!(m[(1, 0)] == 4.0 && Tensor::try_from(&m)? == x);
    ensure!(Tensor::try_from(m.columns(1, 2))? == x.i((.., 1..))?);
    let v: nalgebra::DVector<f64> = (&x.i(1)?).try_into()?;
    ensure!(Tensor::try_from(&v)? == x.i(1)? && Tensor::try_from(v.transpose())? == x.i(1)?);
    ensure!(nalgebra::DVector::<f64>::try_from(&x).is_err());

    let m: faer::Mat<f64> = (&x).try_into()?;
    ensure!(
        m[(1, 2)] == 6.0
            && Tensor::try_from(&m)? == x
            && Tensor::try_from(m.transpose())? == x.t()?
    );
    Ok(())
}

/// Tensors and state dicts in formats for people and for machines.
fn formats() -> anyhow::Result<()> {
    let narrow = Tensor::new([0.1, f64::NEG_INFINITY, f64::NAN])?.to(DType::F8E5M2)?;
    let state = BTreeMap::from([
        ("narrow".to_owned(), narrow.clone()),
        ("empty".to_owned(), Tensor::zeros((0, 3), DType::I64)?),
        ("turned".to_owned(), Tensor::new([[1_i16, 2], [3, 4]])?.t()?),
    ]);
    let text = serde_json::to_string(&state)?;
    let bytes = postcard::to_stdvec(&state)?;
    let same = |other: &BTreeMap<String, Tensor>| -> anyhow::Result<()> {
        for ((name, x), (other, y)) in state.iter().zip(other) {
            ensure!(name == other && x.dtype() == y.dtype() && x.shape() == y.shape());
            ensure!(x.to_bytes()? == y.to_bytes()?, "{name}");
        }
        Ok(())
    };
    same(&serde_json::from_str(&text)?)?;
    same(&postcard::from_bytes(&bytes)?)?;
    for (place, _) in text.char_indices() {
        ensure!(serde_json::from_str::<BTreeMap<String, Tensor>>(&text[..place]).is_err());
    }
    for cut in 0..bytes.len() {
        ensure!(postcard::from_bytes::<BTreeMap<String, Tensor>>(&bytes[..cut]).is_err());
    }
    for bad in [
        r#"{"dtype":"float33","shape":[1],"data":"00"}"#,
        r#"{"dtype":"int8","shape":[2],"data":"00"}"#,
        r#"{"dtype":"int8","shape":[1],"data":"0g"}"#,
        r#"{"dtype":"int8","shape":[1],"data":"000"}"#,
        r#"{"dtype":"int8","shape":[4294967296,4294967296],"data":""}"#,
        r#"{"dtype":"int8","shape":[1]}"#,
        r#"{"dtype":"int8","dtype":"int8","shape":[1],"data":"00"}"#,
        r#"{"dtype":"int8","shape":[1],"data":"00","device":"cpu"}"#,
    ] {
        ensure!(serde_json::from_str::<Tensor>(bad).is_err(), "{bad}");
    }
    ensure!(serde_json::from_str::<DType>("\"half\"")? == DType::F16);

    let (one, other) = (nn::Linear::new(3, 2)?, nn::Linear::new(3, 2)?);
    let state = serde_json::to_string(&one.state_dict())?;
    other.load_state_dict(&serde_json::from_str(&state)?, true)?;
    ensure!(one.state_dict() == other.state_dict());
    Ok(())
}

/// A network with plain fields, a buffer, and layers made in a loop.
#[derive(Module)]
struct Net {
    layers: Sequential,
    mean: Buffer,
    #[module(skip)]
    columns: Range<usize>,
    #[module(skip)]
    source: PathBuf,
}

impl Net {
    fn new(sizes: &[usize]) -> Result<Self> {
        let mut layers = Sequential::new();
        for pair in sizes.windows(2) {
            layers.push(nn::Linear::new(pair[0], pair[1])?);
            layers.push(func(Tensor::tanh));
        }
        Ok(Self {
            layers,
            mean: Buffer::from(Tensor::zeros(sizes[0], DType::F32)?).keep_dtype(),
            columns: 0..sizes[0],
            source: "somewhere.npy".into(),
        })
    }
}

impl Layer for Net {
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        if input.shape().last() != Some(&self.columns.end) {
            return Err(Error::other(format!(
                "{}: other columns",
                self.source.display()
            )));
        }
        self.layers.forward(&(input - self.mean.value()))
    }
}

fn networks() -> anyhow::Result<()> {
    manual_seed(1);
    let net = Net::new(&[2, 8, 1])?;
    ensure!(net.layers.len() == 4 && net.layers[0].num_parameters() == 24);
    net.to(DType::BF16)?;
    ensure!(net.mean.value().dtype() == DType::F32);
    net.to(DType::F32)?;

    let mut optimizers: Vec<Box<dyn Optimizer>> = vec![
        Box::new(SGD::new(net.parameters(), SGDOptions::default())?),
        Box::new(Adam::new(net.parameters(), AdamOptions::default())?),
    ];
    let x = Tensor::uniform((64, 2), -1.0, 1.0, DType::F32, None)?;
    let target = x.prod_keepdim(1)?;
    let mut losses = Vec::new();
    for optimizer in &mut optimizers {
        optimizer.set_lr(0.03)?;
        for _ in 0..150 {
            optimizer.zero_grad()?;
            let loss = net.forward(&x)?.mse_loss(&target, LossReduction::Mean)?;
            loss.backward()?;
            optimizer.step()?;
            losses.push(loss.to_scalar::<f32>()?);
        }
        let state = optimizer.state_dict()?;
        optimizer.load_state_dict(&state)?;
        ensure!((optimizer.lr() - 0.03).abs() < 1e-12);
    }
    ensure!(losses[losses.len() - 1] < losses[0] / 4.0, "{losses:?}");

    let text = net
        .forward(&Tensor::ones((1, 3), DType::F32)?)
        .unwrap_err()
        .to_string();
    ensure!(text == "somewhere.npy: other columns", "{text}");
    Ok(())
}

/// Errors with `?` into `anyhow`, and errors of others within.
fn errors() -> anyhow::Result<()> {
    fn labels(path: &str) -> Result<Tensor> {
        let text = std::fs::read_to_string(path).map_err(Error::wrap)?;
        text.lines()
            .map(|line| line.parse::<u8>().map_err(Error::wrap))
            .collect()
    }
    let error = labels("no such file").context("labels").unwrap_err();
    let source = error
        .chain()
        .find_map(|error| error.downcast_ref::<std::io::Error>());
    ensure!(
        source.map(std::io::Error::kind) == Some(std::io::ErrorKind::NotFound),
        "{error:?}"
    );
    let ours = error.downcast_ref::<Error>().map(Error::kind);
    ensure!(ours == Some(allotrope::ErrorKind::File));
    std::thread::spawn(|| Tensor::zeros(1, DType::F32)?.reshape((7,)))
        .join()
        .expect("the thread ends")
        .expect_err("one element is not seven");
    Ok(())
}
