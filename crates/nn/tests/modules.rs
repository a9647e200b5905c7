//! The walk over modules, their state dicts and files, and a short training.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use allotrope_nn::*;
use allotrope_tensor::{Family, no_grad};

#[derive(Module)]
struct Attention {
    qkv: Linear,
    #[module(name = "proj")]
    out: Linear,
    heads: usize,
}

#[derive(Module)]
enum Head {
    Small(Linear),
    Large {
        hidden: Linear,
        out: Linear,
    },
    #[allow(dead_code, reason = "a variant without fields")]
    None,
}

/// Nothing that could be walked.
#[derive(Clone, Copy)]
struct Opaque;

#[derive(Module)]
struct Block {
    attn: Attention,
    mlp: Option<Linear>,
    nothing: Option<Linear>,
    layers: Vec<(Linear, LayerNorm)>,
    scale: Parameter,
    mean: Buffer,
    dropout: f64,
    name: String,
    experts: HashMap<String, Linear>,
    by_size: BTreeMap<usize, Box<Linear>>,
    head: Head,
    #[module(flatten)]
    inner: Inner,
    #[module(skip)]
    #[allow(dead_code, reason = "skipped")]
    cache: Opaque,
}

#[derive(Module)]
struct Inner {
    r#type: Parameter,
    drop: Dropout,
}

#[derive(Module)]
struct Wrapped<T>(T, [Linear; 2]);

fn parameter(sizes: &[usize]) -> Parameter {
    Parameter::new(Tensor::ones(sizes, DType::F32).unwrap()).unwrap()
}

fn block(head: Head) -> Result<Block, Error> {
    Ok(Block {
        attn: Attention {
            qkv: Linear::new(2, 6)?,
            out: Linear::with(
                2,
                2,
                LinearOptions {
                    bias: false,
                    ..LinearOptions::default()
                },
            )?,
            heads: 1,
        },
        mlp: Some(Linear::new(2, 2)?),
        nothing: None,
        layers: vec![(Linear::new(2, 2)?, LayerNorm::new(&[2])?)],
        scale: parameter(&[2]),
        mean: Buffer::new(Tensor::zeros(&[2], DType::F32)?).keep_dtype(),
        dropout: 0.5,
        name: "block".to_owned(),
        experts: ["b", "a"]
            .into_iter()
            .map(|name| Ok((name.to_owned(), Linear::new(1, 1)?)))
            .collect::<Result<_, Error>>()?,
        by_size: [(3, Box::new(Linear::new(3, 1)?))].into(),
        head,
        inner: Inner {
            r#type: parameter(&[1]),
            drop: Dropout::new(0.5)?,
        },
        cache: Opaque,
    })
}

fn names(module: &impl Module) -> Vec<String> {
    module
        .named_parameters()
        .into_iter()
        .map(|(name, _)| name)
        .collect()
}

#[test]
fn paths_are_those_of_fields() -> Result<(), Error> {
    let large = Head::Large {
        hidden: Linear::new(2, 3)?,
        out: Linear::new(3, 1)?,
    };
    let block = block(large)?;
    assert_eq!(
        (block.attn.heads, block.dropout, &*block.name),
        (1, 0.5, "block")
    );
    assert_eq!(
        names(&block),
        [
            "attn.qkv.weight",
            "attn.qkv.bias",
            "attn.proj.weight",
            "mlp.weight",
            "mlp.bias",
            "layers.0.0.weight",
            "layers.0.0.bias",
            "layers.0.1.weight",
            "layers.0.1.bias",
            "scale",
            "experts.a.weight",
            "experts.a.bias",
            "experts.b.weight",
            "experts.b.bias",
            "by_size.3.weight",
            "by_size.3.bias",
            "head.hidden.weight",
            "head.hidden.bias",
            "head.out.weight",
            "head.out.bias",
            "type",
        ]
    );
    let buffers: Vec<String> = block
        .named_buffers()
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(buffers, ["mean"]);
    let small = self::block(Head::Small(Linear::new(2, 1)?))?;
    assert!(names(&small).contains(&"head.0.weight".to_owned()));
    let wrapped = Wrapped(Linear::new(1, 1)?, [Linear::new(1, 1)?, Linear::new(1, 1)?]);
    assert_eq!(
        names(&wrapped)[2..],
        ["1.0.weight", "1.0.bias", "1.1.weight", "1.1.bias"]
    );
    Ok(())
}

#[test]
fn training_is_switched_everywhere() -> Result<(), Error> {
    let block = block(Head::None)?;
    let x = Tensor::ones(&[1000], DType::F32)?;
    assert!(block.inner.drop.training.is_on());
    // Its sum may be the same by chance.
    assert_ne!(block.inner.drop.forward(&x)?, x);
    block.eval();
    assert_eq!(block.inner.drop.forward(&x)?, x);
    block.train();
    assert!(block.inner.drop.training.is_on());
    Ok(())
}

#[test]
fn shared_parameters_are_one() -> Result<(), Error> {
    let first = Linear::new(3, 3)?;
    let tied = (first.clone(), first);
    assert_eq!(tied.num_parameters(), 12);
    assert_eq!(tied.state_dict().len(), 4);
    Ok(())
}

#[test]
fn dtypes_change_where_they_may() -> Result<(), Error> {
    let block = block(Head::None)?;
    let handle = block.scale.clone();
    block.to(DType::BF16)?;
    assert!(
        block
            .parameters()
            .iter()
            .all(|p| p.value().dtype() == DType::BF16)
    );
    assert_eq!(handle.value().dtype(), DType::BF16);
    assert_eq!(block.mean.value().dtype(), DType::F32);
    block.to(Family::Float)?;
    assert_eq!(handle.value().dtype(), DType::BF16);
    assert!(block.to(DType::I64).is_err());
    let norm = BatchNorm1d::new(2)?;
    norm.to(DType::F64)?;
    let dtypes: Vec<DType> = norm
        .named_buffers()
        .iter()
        .map(|(_, b)| b.value().dtype())
        .collect();
    assert_eq!(dtypes, [DType::F64, DType::F64, DType::I64]);
    Ok(())
}

#[test]
fn state_dicts_are_checked_before_anything_is_written() -> Result<(), Error> {
    let layer = Linear::new(2, 2)?;
    let before = layer.state_dict();
    let mut given: StateDict = [
        ("weight".to_owned(), Tensor::ones(&[2, 2], DType::F64)?),
        ("bias".to_owned(), Tensor::ones(&[3], DType::F32)?),
        ("scale".to_owned(), Tensor::ones(&[3], DType::F32)?),
    ]
    .into();
    let error = layer.load_state_dict(&given, true).unwrap_err().to_string();
    assert_eq!(
        error,
        "load_state_dict: values that do not fit the module: unexpected 'scale' · \
                       wrong 'bias' is [3], not [2]; all of its names and shapes are accepted"
    );
    assert_eq!(layer.state_dict(), before);
    given.remove("bias");
    let error = layer.load_state_dict(&given, true).unwrap_err().to_string();
    assert!(
        error.contains("missing 'bias' · unexpected 'scale'"),
        "{error}"
    );
    assert_eq!(layer.state_dict(), before);
    let report = layer.load_state_dict(&given, false)?;
    assert_eq!(
        report,
        Report {
            missing: vec!["bias".to_owned()],
            unexpected: vec!["scale".to_owned()]
        }
    );
    assert_eq!(
        layer.weight.value().detach(),
        Tensor::ones(&[2, 2], DType::F32)?
    );
    assert!(layer.weight.requires_grad());
    given.insert("weight".to_owned(), Tensor::ones(&[2, 2], DType::C64)?);
    let error = layer
        .load_state_dict(&given, false)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("'weight' is complex64, not float32"),
        "{error}"
    );
    Ok(())
}

fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("allotrope-nn-{}-{name}", std::process::id()))
}

#[test]
fn files_bring_every_dtype_back() -> Result<(), Error> {
    let path = temporary("weights.safetensors");
    for dtype in DType::ALL
        .into_iter()
        .filter(|dtype| dtype.is_floating_point())
    {
        let options = LinearOptions {
            dtype,
            ..LinearOptions::default()
        };
        let (one, other) = (Linear::with(3, 2, options)?, Linear::with(3, 2, options)?);
        one.save(&path)?;
        other.load(&path)?;
        assert_eq!(one.state_dict(), other.state_dict());
    }
    assert!(Linear::new(4, 2)?.load(&path).is_err());
    std::fs::remove_file(path).unwrap();
    assert!(Linear::new(4, 2)?.load(temporary("none")).is_err());
    Ok(())
}

#[test]
fn gradients_are_forgotten_and_frozen() -> Result<(), Error> {
    let net = Sequential::new()
        .add(Linear::new(2, 2)?)
        .add(Linear::new(2, 1)?);
    let x = Tensor::ones(&[3, 2], DType::F32)?;
    net.forward(&x)?.sum_all()?.backward()?;
    assert!(net.parameters().iter().all(|p| p.grad().is_some()));
    net.zero_grad()?;
    assert!(net.parameters().iter().all(|p| p.grad().is_none()));
    net.requires_grad_(false)?;
    assert!(!net.forward(&x)?.requires_grad());
    Ok(())
}

#[test]
fn first_values_are_torchs() -> Result<(), Error> {
    let spread = |parameter: &Parameter| -> Result<(f64, f64), Error> {
        let value = parameter.value().detach().to(DType::F64)?;
        Ok((
            value.abs()?.amax(None, false)?.to_scalar()?,
            value.std(None, 1.0, false)?.to_scalar()?,
        ))
    };
    let near = |(most, deviation): (f64, f64), bound: f64| {
        assert!(most <= bound * 1.000_001, "{most} {bound}");
        assert!(
            (deviation * 3.0_f64.sqrt() / bound - 1.0).abs() < 0.1,
            "{deviation} {bound}"
        );
    };
    near(spread(&Linear::new(100, 400)?.weight)?, 0.1);
    near(spread(Linear::new(100, 4000)?.bias.as_ref().unwrap())?, 0.1);
    near(spread(&Conv2d::new(4, 100, 5)?.weight)?, 0.1);
    near(spread(&ConvTranspose2d::new(100, 4, 5)?.weight)?, 0.1);
    near(spread(&Lstm::new(7, 100)?.parameters()[1])?, 0.1);
    let attention = MultiheadAttention::new(60, 2)?;
    near(
        spread(attention.in_proj_weight.as_ref().unwrap())?,
        (6.0_f64 / 240.0).sqrt(),
    );
    assert_eq!(
        spread(attention.out_proj.bias.as_ref().unwrap())?,
        (0.0, 0.0)
    );
    let table = Embedding::with(
        500,
        20,
        EmbeddingOptions {
            padding_idx: Some(3),
            ..EmbeddingOptions::default()
        },
    )?;
    assert!((spread(&table.weight)?.1 - 1.0).abs() < 0.05);
    assert_eq!(
        table.weight.value().detach().select(0, 3)?,
        Tensor::zeros(&[20], DType::F32)?
    );
    Ok(())
}

/// One step against the gradient.
fn descend(net: &impl Module, rate: f64) -> Result<(), Error> {
    let _off = no_grad();
    for parameter in net.parameters() {
        let Some(gradient) = parameter.grad() else {
            continue;
        };
        let step = gradient.mul(rate)?;
        parameter
            .variable()
            .update("descend", |value| value.detach().sub(&step))?;
    }
    net.zero_grad()
}

#[test]
fn a_network_learns_in_every_trainable_dtype() -> Result<(), Error> {
    for dtype in [DType::F64, DType::F32, DType::BF16, DType::F16] {
        let generator = allotrope_tensor::Generator::new(7);
        let net = Sequential::new()
            .add(Linear::new(2, 16)?)
            .add(Tanh)
            .add(Linear::new(16, 1)?);
        for parameter in net.parameters() {
            init::uniform_(&parameter, -0.7, 0.7, Some(&generator))?;
        }
        net.to(dtype)?;
        let x = Tensor::uniform(&[64, 2], -1.0, 1.0, dtype, Some(&generator))?;
        let y = x.select(1, 0)?.mul(&x.select(1, 1)?)?.unsqueeze(1)?;
        let loss = || MseLoss::default().forward(&net.forward(&x)?, &y);
        let first = loss()?.to(DType::F64)?.to_scalar::<f64>()?;
        for _ in 0..600 {
            loss()?.backward()?;
            descend(&net, 0.1)?;
        }
        let last = loss()?.to(DType::F64)?.to_scalar::<f64>()?;
        // The variance of what is to be learned is a ninth.
        assert!(last < 0.05, "{dtype}: {first} to {last}");
    }
    Ok(())
}
