//! Every layer against torch's recorded answers: results, gradients, running numbers; and in every
//! float dtype a gradient for every parameter.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

use std::collections::BTreeMap;
use std::path::Path;

use allotrope_dtype::{Notify, set_fallback};
use allotrope_io::{Key, Value, load};
use allotrope_nn::*;
use allotrope_op::Backend;
use allotrope_tensor::{BagMode, Edge, Interpolation, LossReduction, PadMode};
use allotrope_testing::APART;

type Outcome = Result<Vec<Tensor>, Error>;
type Call = Box<dyn Fn(&[Tensor]) -> Outcome>;

/// A module and what is done with inputs.
struct Case {
    module: Box<dyn Module>,
    call: Call,
}

/// A layer of one input.
fn layer(layer: impl Layer + 'static) -> Case {
    let layer = std::rc::Rc::new(layer);
    Case {
        module: Box::new(layer.clone()),
        call: Box::new(move |inputs| Ok(vec![layer.forward(&inputs[0])?])),
    }
}

/// A module with another signature.
fn other<M: Module + 'static>(
    module: M,
    call: impl Fn(&M, &[Tensor]) -> Outcome + 'static,
) -> Case {
    let module = std::rc::Rc::new(module);
    Case {
        module: Box::new(module.clone()),
        call: Box::new(move |inputs| call(&module, inputs)),
    }
}

fn attention(module: MultiheadAttention, is_masked: bool) -> Case {
    other(module, move |m, x| {
        let pairs = x[0].new_ones(&[5, 5], DType::Bool)?.triu(1)?;
        let keys = [[false; 5], [false, false, false, true, true]];
        let keys = Tensor::new(keys)?.to_device(x[0].device())?;
        let arguments = AttentionArguments {
            attn_mask: is_masked.then_some(&pairs),
            key_padding_mask: is_masked.then_some(&keys),
            need_weights: true,
            is_causal: false,
        };
        let of = |i: usize| x.get(i).unwrap_or(&x[0]);
        let with = m.forward(of(0), of(1), of(2), arguments)?;
        // Weights that are not wanted are never formed.
        let without = AttentionArguments {
            need_weights: false,
            ..arguments
        };
        let without = m.forward(of(0), of(1), of(2), without)?;
        if x[0].dtype() == DType::F64 {
            close(
                "attention without weights",
                &without.output,
                &with.output,
                1e-12,
            );
        }
        Ok(vec![without.output, with.weights.unwrap()])
    })
}

fn transformer(is_second: bool, dtype: DType, device: Device) -> TransformerOptions {
    TransformerOptions {
        dim_feedforward: 16,
        dropout: 0.0,
        activation: if is_second {
            Between::Gelu
        } else {
            Between::Relu
        },
        norm_first: is_second,
        batch_first: is_second,
        dtype,
        device,
        ..TransformerOptions::default()
    }
}

fn case(name: &str, dtype: DType, device: Device) -> Result<Case, Error> {
    let linear = |bias: bool| LinearOptions {
        bias,
        dtype,
        device,
    };
    let batch = BatchNormOptions {
        dtype,
        device,
        ..BatchNormOptions::default()
    };
    let norm = NormOptions {
        dtype,
        device,
        ..NormOptions::default()
    };
    let heads = MultiheadAttentionOptions {
        dtype,
        device,
        ..MultiheadAttentionOptions::default()
    };
    let rows = EmbeddingOptions {
        dtype,
        device,
        ..EmbeddingOptions::default()
    };
    let mean = LossReduction::Mean;
    let own = AttentionArguments::default();
    Ok(match name {
        "linear" => layer(Linear::with(3, 4, linear(true))?),
        "linear_plain" => layer(Linear::with(3, 4, linear(false))?),
        "bilinear" => other(Bilinear::with(3, 4, 2, linear(true))?, |m, x| {
            Ok(vec![m.forward(&x[0], &x[1])?])
        }),
        "conv1d" => layer(Conv1d::with(
            4,
            6,
            3,
            ConvOptions {
                stride: [2],
                padding: 1.into(),
                groups: 2,
                dtype,
                device,
                ..ConvOptions::default()
            },
        )?),
        "conv2d" => layer(Conv2d::with(
            3,
            4,
            [3, 2],
            ConvOptions {
                padding: ConvPadding::Same,
                dilation: [2; 2],
                dtype,
                device,
                ..ConvOptions::default()
            },
        )?),
        "conv2d_reflect" => layer(Conv2d::with(
            3,
            4,
            3,
            ConvOptions {
                padding: 1.into(),
                padding_mode: Edge::Reflect,
                dtype,
                device,
                ..ConvOptions::default()
            },
        )?),
        "conv3d" => layer(Conv3d::with(
            2,
            3,
            2,
            ConvOptions {
                bias: false,
                dtype,
                device,
                ..ConvOptions::default()
            },
        )?),
        "conv_transpose1d" => layer(ConvTranspose1d::with(
            4,
            6,
            3,
            ConvTransposeOptions {
                stride: [2],
                output_padding: [1],
                groups: 2,
                dtype,
                device,
                ..ConvTransposeOptions::default()
            },
        )?),
        "conv_transpose2d" => layer(ConvTranspose2d::with(
            3,
            2,
            3,
            ConvTransposeOptions {
                stride: [2; 2],
                padding: [1; 2],
                dtype,
                device,
                ..ConvTransposeOptions::default()
            },
        )?),
        "conv_transpose3d" => layer(ConvTranspose3d::with(
            2,
            3,
            2,
            ConvTransposeOptions {
                dilation: [2; 3],
                dtype,
                device,
                ..ConvTransposeOptions::default()
            },
        )?),
        "max_pool2d" => layer(MaxPool2d::with(
            3,
            PoolOptions {
                stride: Some([2; 2]),
                padding: [1; 2],
                ..PoolOptions::default()
            },
        )),
        "avg_pool1d" => layer(AvgPool1d::with(
            3,
            PoolOptions {
                stride: Some([2]),
                padding: [1],
                ceil_mode: true,
                ..PoolOptions::default()
            },
        )),
        "avg_pool2d" => layer(AvgPool2d::with(
            2,
            PoolOptions {
                count_include_pad: false,
                padding: [1; 2],
                ..PoolOptions::default()
            },
        )),
        "lp_pool2d" => layer(LpPool2d::new(2.0, 2)),
        "adaptive_avg_pool2d" => layer(AdaptiveAvgPool2d::new([2, 3])),
        "adaptive_max_pool1d" => layer(AdaptiveMaxPool1d::new(3)),
        "layer_norm" => layer(LayerNorm::with(&[3, 4], norm)?),
        "rms_norm" => layer(RmsNorm::with(&[4], None, (dtype, device))?),
        "group_norm" => layer(GroupNorm::with(2, 6, norm)?),
        "instance_norm2d" => layer(InstanceNorm2d::with(
            3,
            BatchNormOptions {
                track_running_stats: false,
                ..batch
            },
        )?),
        "batch_norm1d" => layer(BatchNorm1d::with(3, batch)?),
        "batch_norm2d" => layer(BatchNorm2d::with(3, batch)?),
        "batch_norm2d_cumulative" => layer(BatchNorm2d::with(
            3,
            BatchNormOptions {
                momentum: None,
                ..batch
            },
        )?),
        "batch_norm3d_eval" => {
            let case = layer(BatchNorm3d::with(2, batch)?);
            case.module.eval();
            case
        }
        "embedding" => layer(Embedding::with(
            7,
            3,
            EmbeddingOptions {
                padding_idx: Some(2),
                ..rows
            },
        )?),
        "embedding_bag" => {
            let options = EmbeddingBagOptions {
                mode: BagMode::Sum,
                embedding: rows,
                ..EmbeddingBagOptions::default()
            };
            other(EmbeddingBag::with(7, 3, options)?, |m, x| {
                Ok(vec![m.forward(&x[0], None, None)?])
            })
        }
        "prelu" => layer(Prelu::with(3, 0.25, (dtype, device))?),
        "attention" => attention(
            MultiheadAttention::with(
                8,
                2,
                MultiheadAttentionOptions {
                    batch_first: true,
                    ..heads
                },
            )?,
            false,
        ),
        "attention_masked" => attention(
            MultiheadAttention::with(
                8,
                2,
                MultiheadAttentionOptions {
                    batch_first: true,
                    ..heads
                },
            )?,
            true,
        ),
        "attention_cross" => attention(
            MultiheadAttention::with(
                8,
                2,
                MultiheadAttentionOptions {
                    kdim: Some(6),
                    vdim: Some(4),
                    ..heads
                },
            )?,
            false,
        ),
        "attention_plain" => attention(
            MultiheadAttention::with(
                8,
                4,
                MultiheadAttentionOptions {
                    bias: false,
                    ..heads
                },
            )?,
            false,
        ),
        "encoder_layer" => layer(TransformerEncoderLayer::with(
            8,
            2,
            transformer(false, dtype, device),
        )?),
        "encoder_layer_first" => layer(TransformerEncoderLayer::with(
            8,
            2,
            transformer(true, dtype, device),
        )?),
        "decoder_layer" => other(
            TransformerDecoderLayer::with(8, 2, transformer(false, dtype, device))?,
            move |m, x| Ok(vec![m.forward(&x[0], &x[1], own, own)?]),
        ),
        "encoder" => layer(TransformerEncoder::new(
            8,
            2,
            2,
            transformer(false, dtype, device),
        )?),
        "decoder" => other(
            TransformerDecoder::new(8, 2, 2, transformer(false, dtype, device))?,
            move |m, x| Ok(vec![m.forward(&x[0], &x[1], own, own)?]),
        ),
        "transformer" => other(
            Transformer::new(8, 2, (2, 1), transformer(false, dtype, device))?,
            move |m, x| Ok(vec![m.forward(&x[0], &x[1], own, own, own)?]),
        ),
        "sequential" => layer(
            Sequential::new()
                .add(Linear::with(4, 8, linear(true))?)
                .add(Tanh)
                .add(Linear::with(8, 3, linear(true))?),
        ),
        "lstm_cell" => other(LstmCell::with(3, 4, true, (dtype, device))?, |m, x| {
            let (hidden, cell) = m.forward(&x[0], Some((&x[1], Some(&x[2]))))?;
            Ok(vec![hidden, cell.unwrap()])
        }),
        "gru_cell" => other(GruCell::with(3, 4, true, (dtype, device))?, |m, x| {
            Ok(vec![m.forward(&x[0], Some((&x[1], None)))?.0])
        }),
        "rnn_cell" => other(RnnCell::with(3, 4, true, (dtype, device))?, |m, x| {
            Ok(vec![m.forward(&x[0], Some((&x[1], None)))?.0])
        }),
        "lstm" => {
            let options = RnnOptions {
                num_layers: 2,
                bidirectional: true,
                dtype,
                device,
                ..RnnOptions::default()
            };
            other(Lstm::with(3, 4, options)?, |m, x| {
                let result = m.forward(&x[0], None)?;
                Ok(vec![result.output, result.hidden, result.cell.unwrap()])
            })
        }
        "upsample" => layer(Upsample {
            mode: Interpolation::Linear,
            align_corners: true,
            ..Upsample::by_factors(&[2.0])
        }),
        "pixel_shuffle" => layer(PixelShuffle::new(2)),
        "reflection_pad" => layer(Pad::with(&[1, 2, 0, 1], PadMode::Reflect)),
        "zero_pad" => layer(Pad::zeros(&[1, 0, 2, 1])),
        "flatten" => layer(Flatten::default()),
        "relu" => layer(Relu),
        "relu6" => layer(Relu6),
        "leaky_relu" => layer(LeakyRelu::default()),
        "elu" => layer(Elu::default()),
        "selu" => layer(Selu),
        "celu" => layer(Celu::default()),
        "gelu" => layer(Gelu),
        "gelu_tanh" => layer(GeluTanh),
        "silu" => layer(Silu),
        "mish" => layer(Mish),
        "softplus" => layer(Softplus::default()),
        "softsign" => layer(Softsign),
        "softshrink" => layer(Softshrink::default()),
        "hardshrink" => layer(Hardshrink::default()),
        "tanhshrink" => layer(Tanhshrink),
        "hardtanh" => layer(Hardtanh::default()),
        "hardswish" => layer(Hardswish),
        "hardsigmoid" => layer(Hardsigmoid),
        "tanh" => layer(Tanh),
        "sigmoid" => layer(Sigmoid),
        "log_sigmoid" => layer(LogSigmoid),
        "threshold" => layer(Threshold {
            threshold: 0.5,
            value: -1.0,
        }),
        "softmax" => layer(Softmax::new(1)),
        "log_softmax" => layer(LogSoftmax::new(0)),
        "softmin" => layer(Softmin::new(-1)),
        "glu" => layer(Glu::new(1)),
        "cross_entropy" => other(
            CrossEntropyLoss {
                label_smoothing: 0.1,
                ..CrossEntropyLoss::default()
            },
            |m, x| Ok(vec![m.forward(&x[0], &x[1])?]),
        ),
        "nll" => other(NllLoss::default(), |m, x| {
            Ok(vec![m.forward(&x[0], &x[1])?])
        }),
        "mse" => other(MseLoss { reduction: mean }, |m, x| {
            Ok(vec![m.forward(&x[0], &x[1])?])
        }),
        "l1" => other(L1Loss::default(), |m, x| Ok(vec![m.forward(&x[0], &x[1])?])),
        "smooth_l1" => other(
            SmoothL1Loss {
                beta: 0.5,
                reduction: mean,
            },
            |m, x| Ok(vec![m.forward(&x[0], &x[1])?]),
        ),
        "huber" => other(
            HuberLoss {
                delta: 0.5,
                reduction: mean,
            },
            |m, x| Ok(vec![m.forward(&x[0], &x[1])?]),
        ),
        "bce_with_logits" => other(BceWithLogitsLoss::default(), |m, x| {
            Ok(vec![m.forward(&x[0], &x[1])?])
        }),
        "kl_div" => other(KlDivLoss::default(), |m, x| {
            Ok(vec![m.forward(&x[0], &x[1])?])
        }),
        "soft_margin" => other(SoftMarginLoss::default(), |m, x| {
            Ok(vec![m.forward(&x[0], &x[1])?])
        }),
        "hinge_embedding" => other(HingeEmbeddingLoss::default(), |m, x| {
            Ok(vec![m.forward(&x[0], &x[1])?])
        }),
        "triplet" => other(TripletMarginLoss::default(), |m, x| {
            Ok(vec![m.forward(&x[0], &x[1], &x[2])?])
        }),
        "cosine_embedding" => other(
            CosineEmbeddingLoss {
                margin: 0.1,
                reduction: mean,
            },
            |m, x| Ok(vec![m.forward(&x[0], &x[1], &x[2])?]),
        ),
        "margin_ranking" => other(
            MarginRankingLoss {
                margin: 0.1,
                reduction: mean,
            },
            |m, x| Ok(vec![m.forward(&x[0], &x[1], &x[2])?]),
        ),
        _ => panic!("no layer is called {name}"),
    })
}

/// What was recorded, by case and name.
fn recorded() -> BTreeMap<String, StateDict> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/layers.safetensors");
    let Value::Dict(items) = load(path).unwrap() else {
        panic!("a dict");
    };
    let mut cases: BTreeMap<String, StateDict> = BTreeMap::new();
    for (key, value) in items {
        let Key::Text(key) = key else { panic!("text") };
        let (case, name) = key.split_once('/').unwrap();
        let tensor = Tensor::try_from(value).unwrap();
        cases
            .entry(case.to_owned())
            .or_default()
            .insert(name.to_owned(), tensor);
    }
    cases
}

/// What stands below a name, in order.
fn below(answers: &StateDict, prefix: &str) -> StateDict {
    let own = answers.iter().filter_map(|(name, tensor)| {
        let rest = name.strip_prefix(prefix)?.strip_prefix('/')?;
        Some((rest.to_owned(), tensor.clone()))
    });
    own.collect()
}

fn close(what: &str, found: &Tensor, expected: &Tensor, tolerance: f64) {
    assert_eq!(found.shape(), expected.shape(), "{what}");
    let [found, expected] = [found, expected].map(|x| x.detach().to_device(Device::cpu()).unwrap());
    let distance = found.sub(&expected).unwrap().abs().unwrap();
    let room = expected
        .abs()
        .unwrap()
        .mul(tolerance)
        .unwrap()
        .add(tolerance)
        .unwrap();
    let fits = distance.le(&room).unwrap().all(None, false).unwrap();
    assert!(
        fits.to_scalar::<bool>().unwrap(),
        "{what}:\n{found}\n{expected}"
    );
}

/// The inputs as leaves; those with recorded gradients want theirs.
fn inputs(answers: &StateDict, dtype: DType, device: Device) -> Vec<Tensor> {
    let wanted = below(answers, "grad_input");
    let inputs = below(answers, "input").into_iter().map(|(name, x)| {
        let x = x.to_device(device).unwrap();
        if !x.dtype().is_floating_point() {
            return x;
        }
        let x = x.to(dtype).unwrap();
        x.requires_grad_(wanted.contains_key(&name)).unwrap()
    });
    inputs.collect()
}

#[test]
fn results_and_gradients_are_torchs() {
    every_answer_is_torchs(Device::cpu());
}

#[test]
fn they_are_on_a_second_device() {
    set_fallback(Notify::Silent);
    every_answer_is_torchs(apart());
}

/// A device whose memory the CPU cannot read.
fn apart() -> Device {
    Device::from(&APART as &dyn Backend)
}

fn every_answer_is_torchs(device: Device) {
    for (name, answers) in recorded() {
        let case = case(&name, DType::F64, device).unwrap();
        let places = case.module.named_parameters().into_iter();
        for (path, parameter) in places {
            assert_eq!(parameter.value().device(), device, "{name}/{path}");
        }
        let report = case.module.load_state_dict(&below(&answers, "state"), true);
        report.unwrap_or_else(|error| panic!("{name}: {error}"));
        let inputs = inputs(&answers, DType::F64, device);
        let results = (case.call)(&inputs).unwrap_or_else(|error| panic!("{name}: {error}"));
        let expected = below(&answers, "output");
        assert_eq!(results.len(), expected.len(), "{name}");
        let mut loss = Tensor::zeros(&[], (DType::F64, device)).unwrap();
        for (result, (place, expected)) in results.iter().zip(&expected) {
            close(&format!("{name}/output/{place}"), result, expected, 1e-10);
            assert_eq!(result.device(), device, "{name}");
            let weights = &answers[&format!("weights/{place}")];
            let weights = weights.to_device(device).unwrap();
            loss = loss
                .add(&result.mul(&weights).unwrap().sum_all().unwrap())
                .unwrap();
        }
        loss.backward().unwrap();
        // torch has a sixth of float32 there.
        let tolerance = if name == "hardsigmoid" { 1e-7 } else { 1e-9 };
        for (place, expected) in below(&answers, "grad_input") {
            let x = &inputs[place.parse::<usize>().unwrap()];
            close(
                &format!("{name}/grad_input/{place}"),
                &x.grad().unwrap(),
                &expected,
                tolerance,
            );
        }
        let gradients = below(&answers, "grad");
        let parameters = case.module.named_parameters();
        assert_eq!(parameters.len(), gradients.len(), "{name}");
        for (path, parameter) in parameters {
            close(
                &format!("{name}/grad/{path}"),
                &parameter.grad().unwrap(),
                &gradients[&path],
                1e-9,
            );
        }
        let after = below(&answers, "after");
        assert_eq!(case.module.named_buffers().len(), after.len(), "{name}");
        for (path, buffer) in case.module.named_buffers() {
            assert_eq!(buffer.value().device(), device, "{name}/{path}");
            close(
                &format!("{name}/after/{path}"),
                &buffer.value(),
                &after[&path],
                1e-12,
            );
        }
    }
}

#[test]
fn every_parameter_has_a_gradient_in_every_float_dtype() {
    let floats = DType::ALL
        .into_iter()
        .filter(|dtype| dtype.is_floating_point());
    for dtype in floats {
        for (name, answers) in recorded() {
            let case = case(&name, dtype, Device::cpu()).unwrap();
            let parameters = case.module.named_parameters();
            if parameters.is_empty() || name.starts_with("attention_masked") {
                continue;
            }
            case.module
                .load_state_dict(&below(&answers, "state"), true)
                .unwrap();
            let results = (case.call)(&inputs(&answers, dtype, Device::cpu()));
            let results = results.unwrap_or_else(|error| panic!("{name} in {dtype}: {error}"));
            let mut loss = Tensor::zeros(&[], DType::F32).unwrap();
            for (place, result) in results.iter().enumerate() {
                assert_eq!(result.dtype(), dtype, "{name}");
                let wide = result.to(DType::F32).unwrap();
                let weights = answers[&format!("weights/{place}")].to(DType::F32).unwrap();
                loss = loss
                    .add(&wide.mul(&weights).unwrap().sum_all().unwrap())
                    .unwrap();
            }
            loss.backward().unwrap();
            for (path, parameter) in parameters {
                let gradient = parameter
                    .grad()
                    .unwrap_or_else(|| panic!("{name}/{path} in {dtype}"));
                assert_eq!(gradient.dtype(), dtype, "{name}/{path}");
                let some = gradient.ne(0).unwrap().any(None, false).unwrap();
                assert!(
                    some.to_scalar::<bool>().unwrap(),
                    "{name}/{path} in {dtype}"
                );
            }
        }
    }
}

/// The rows of three queries that attend to themselves, with and without other masks beside the causal
/// one: numbers of NumPy, which `python/tests/nn/test_both_languages.py` holds Python's layer to as well.
#[test]
fn causal_attention_beside_other_masks() -> Result<(), Error> {
    let inf = f32::INFINITY;
    let added = [[0.0, 1.0, 2.0], [0.5, 0.0, 1.0], [1.0, -1.0, 0.0f32]];
    let without = [[0.0, 0.0, 0.0], [-inf, 0.0, 0.0], [0.0, -inf, 0.0f32]];
    let cases = [
        (
            Some(added),
            false,
            [
                0.862_241_7,
                0.897_218_3,
                0.779_308_6,
                0.820_592_7,
                0.928_068_1,
                0.468_491_4,
            ],
        ),
        (
            Some(added),
            true,
            [1.0, 0.0, 0.448_407_6, 0.551_592_4, 0.928_068_1, 0.468_491_4],
        ),
        (Some(without), true, [1.0, 0.0, 0.0, 1.0, 1.0, 0.669_761_5]),
        (
            None,
            true,
            [1.0, 0.0, 0.330_238_5, 0.669_761_5, 0.751_744_9, 0.751_744_9],
        ),
    ];
    let options = MultiheadAttentionOptions {
        bias: false,
        batch_first: true,
        ..MultiheadAttentionOptions::default()
    };
    let layer = MultiheadAttention::with(2, 1, options)?;
    let one = Tensor::new([[1.0, 0.0], [0.0, 1.0f32]])?;
    layer.out_proj.weight.set(one.clone())?;
    layer
        .in_proj_weight
        .as_ref()
        .unwrap()
        .set(Tensor::cat(&[&one; 3], 0)?)?;
    let x = Tensor::new([[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0f32]]])?;
    for (mask, is_causal, wanted) in cases {
        let mask = mask.map(Tensor::new).transpose()?;
        for need_weights in [false, true] {
            let arguments = AttentionArguments {
                key_padding_mask: None,
                attn_mask: mask.as_ref(),
                is_causal,
                need_weights,
            };
            let output = layer.forward(&x, &x, &x, arguments)?.output;
            for (given, wanted) in output.to_vec::<f32>()?.iter().zip(wanted) {
                assert!(
                    (given - wanted).abs() < 1e-6,
                    "{given} {wanted} {is_causal} {need_weights}"
                );
            }
        }
    }
    Ok(())
}

/// Statistics are float32 or wider, whatever a network is made in or converted to.
#[test]
fn running_statistics_are_not_rounded_with_the_network() -> Result<(), Error> {
    let made = |dtype| {
        BatchNorm1d::with(
            1,
            BatchNormOptions {
                dtype,
                ..BatchNormOptions::default()
            },
        )
    };
    let statistics = |layer: &BatchNorm1d| {
        let state = layer.state_dict();
        let one = |name: &str| state[name].to(DType::F64)?.to_vec::<f64>();
        Ok::<_, Error>((
            state["running_mean"].dtype(),
            one("running_mean")?[0],
            one("running_var")?[0],
        ))
    };
    let converted = made(DType::F32)?;
    converted.to(DType::BF16)?;
    for layer in [converted, made(DType::BF16)?] {
        let x = Tensor::new([[1.0], [3.0f32]])?.to(DType::BF16)?;
        assert_eq!(layer.forward(&x)?.dtype(), DType::BF16);
        let (dtype, mean, var) = statistics(&layer)?;
        assert_eq!((dtype, mean as f32, var as f32), (DType::F32, 0.2, 1.1));
        layer.to(DType::F64)?;
        assert_eq!(statistics(&layer)?.0, DType::F64);
        layer.to(DType::F16)?;
        assert_eq!(statistics(&layer)?.0, DType::F32);
    }
    Ok(())
}
