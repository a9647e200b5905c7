//! Recurrent networks against torch's recorded answers, and kernels against single steps.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

use std::path::Path;

use allotrope_dtype::{Notify, set_fallback};
use allotrope_io::{load, load_metadata};
use allotrope_nn::rnn::{Recurrence, RecurrentOptions, recurrent};
use allotrope_nn::{DType, Device, Error, Tensor};
use allotrope_op::Backend;
use allotrope_tensor::set_thread_count;
use allotrope_testing::APART;

#[test]
fn results_and_gradients_are_torchs() -> Result<(), Error> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/recurrent.safetensors");
    let answers = load(&path)?;
    let answer = |name: String| {
        answers
            .get(&name)
            .cloned()
            .map(Tensor::try_from)
            .transpose()
    };
    let mut cases = 0;
    for (name, words) in load_metadata(&path)? {
        let word = |key: &str| {
            let mut words = words.split(' ').filter_map(|word| word.split_once('='));
            words
                .find(|(name, _)| *name == key)
                .map(|(_, value)| value.to_owned())
        };
        let is = |key: &str, value: &str| word(key).as_deref() == Some(value);
        let Some(kind) = word("kind") else { continue };
        let kind = match &*kind {
            "LSTM" => Recurrence::Lstm,
            "GRU" => Recurrence::Gru,
            _ if is("nonlinearity", "relu") => Recurrence::RnnRelu,
            _ => Recurrence::RnnTanh,
        };
        let leaf = |part: &str| -> Result<Option<Tensor>, Error> {
            let value = answer(format!("{name}/{part}"))?;
            value.map(|value| value.requires_grad_(true)).transpose()
        };
        let input = leaf("input")?.unwrap();
        let (hidden, cell) = (leaf("h0")?, leaf("c0")?);
        let mut parameters = Vec::new();
        while let Some(parameter) = leaf(&format!("parameter.{}", parameters.len()))? {
            parameters.push(parameter);
        }
        let sizes = answer(format!("{name}/batch_sizes"))?;
        let sizes: Option<Vec<usize>> = match sizes {
            Some(sizes) => Some(
                sizes
                    .to_vec::<i64>()?
                    .into_iter()
                    .map(|size| size as usize)
                    .collect(),
            ),
            None => None,
        };
        let options = RecurrentOptions {
            num_layers: word("num_layers").map_or(1, |layers| layers.parse().unwrap()),
            has_biases: !is("bias", "False"),
            bidirectional: is("bidirectional", "True"),
            batch_first: is("batch_first", "True"),
            ..RecurrentOptions::default()
        };
        let initial = hidden.as_ref().map(|hidden| (hidden, cell.as_ref()));
        let result = recurrent(
            kind,
            &input,
            sizes.as_deref(),
            initial,
            &parameters,
            options,
        )?;
        let results = [
            Some(("output", &result.output)),
            Some(("hn", &result.hidden)),
            result.cell.as_ref().map(|cell| ("cn", cell)),
        ];
        let mut loss = Tensor::zeros(&[], DType::F64)?;
        for (place, (part, value)) in results.into_iter().flatten().enumerate() {
            let expected = answer(format!("{name}/{part}"))?.unwrap();
            assert!(
                value.detach().allclose(&expected, 1e-9, 1e-11, false)?,
                "{name}/{part}"
            );
            loss = loss.add(&value.square()?.sum_all()?.mul(place as f64 + 1.0)?)?;
        }
        loss.backward()?;
        let leaves = [
            ("input".to_owned(), Some(&input)),
            ("h0".to_owned(), hidden.as_ref()),
            ("c0".to_owned(), cell.as_ref()),
        ];
        let numbered = parameters
            .iter()
            .enumerate()
            .map(|(i, p)| (format!("parameter.{i}"), Some(p)));
        for (part, leaf) in leaves.into_iter().chain(numbered) {
            let Some(leaf) = leaf else { continue };
            let expected = answer(format!("{name}/grad/{part}"))?.unwrap();
            assert!(
                leaf.grad()
                    .unwrap()
                    .allclose(&expected, 1e-9, 1e-11, false)?,
                "{name}/grad/{part}"
            );
        }
        cases += 1;
    }
    assert_eq!(cases, 14);
    Ok(())
}

/// Results and gradients in float64, computed on a device.
fn numbers_on(
    device: Device,
    kind: Recurrence,
    dtype: DType,
    [inputs, hidden]: [usize; 2],
    sizes: &[usize],
) -> Result<Vec<Vec<f64>>, Error> {
    // Numbers of a row that has nothing in common with a recurrence, small ones first.
    let leaf = |shape: &[usize], seed: usize| {
        let count: usize = shape.iter().product();
        let number = |i: usize| (((i * 7919 + seed * 104_729) % 1009) as f64 / 504.5 - 1.0) * 0.4;
        let numbers: Vec<f64> = (0..count).map(number).collect();
        Tensor::from_slice(&numbers, shape)?
            .to(dtype)?
            .to_device(device)?
            .requires_grad_(true)
    };
    let (rows, batch, gates) = (sizes.iter().sum(), sizes[0], kind.gates() * hidden);
    let mut parameters = Vec::new();
    for direction in 0..2 {
        for (part, shape) in [
            vec![gates, inputs],
            vec![gates, hidden],
            vec![gates],
            vec![gates],
        ]
        .iter()
        .enumerate()
        {
            parameters.push(leaf(shape, 10 * direction + part)?);
        }
    }
    let input = leaf(&[rows, inputs], 31)?;
    let [first, cell] = [
        leaf(&[2, batch, hidden], 32)?,
        leaf(&[2, batch, hidden], 33)?,
    ];
    let options = RecurrentOptions {
        bidirectional: true,
        ..RecurrentOptions::default()
    };
    let cell = kind.has_cell().then_some(cell);
    let initial = Some((&first, cell.as_ref()));
    let result = recurrent(kind, &input, Some(sizes), initial, &parameters, options)?;
    let results = [
        Some(&result.output),
        Some(&result.hidden),
        result.cell.as_ref(),
    ];
    let mut loss = Tensor::zeros(&[], (DType::F64, device))?;
    let mut found = Vec::new();
    for result in results.into_iter().flatten() {
        let wide = result.to(DType::F64)?;
        found.push(
            wide.detach()
                .to_device(Device::cpu())?
                .contiguous()?
                .to_vec()?,
        );
        loss = loss.add(&wide.square()?.sum_all()?)?;
    }
    loss.backward()?;
    for leaf in parameters.iter().chain([&input, &first]).chain(&cell) {
        let gradient = leaf
            .grad()
            .unwrap()
            .to(DType::F64)?
            .to_device(Device::cpu())?;
        found.push(gradient.contiguous()?.to_vec()?);
    }
    Ok(found)
}

/// Whether numbers differ by little beside the greatest of them.
fn is_near(found: &[f64], expected: &[f64]) -> bool {
    let most = expected.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    let mut pairs = found.iter().zip(expected);
    pairs.all(|(found, expected)| (found - expected).abs() <= 1e-3 * most)
}

#[test]
fn kernels_give_the_bits_of_the_steps_one_by_one() -> Result<(), Error> {
    set_fallback(Notify::Silent);
    let apart = Device::from(&APART as &dyn Backend);
    let kinds = [
        Recurrence::RnnTanh,
        Recurrence::RnnRelu,
        Recurrence::Lstm,
        Recurrence::Gru,
    ];
    let dtypes = [
        DType::F32,
        DType::F64,
        DType::BF16,
        DType::F16,
        DType::F8E4M3Fn,
    ];
    let shapes: [(_, &[usize]); 3] = [
        ([3, 5], &[4, 4, 2, 1]),
        // More units than a tile has columns, more steps of a sum than a pass has.
        ([7, 300], &[3, 3]),
        // More rows than a thread takes at a time.
        ([4, 33], &[60, 51, 50]),
    ];
    for kind in kinds {
        for dtype in dtypes {
            for (widths, sizes) in shapes {
                let expected = numbers_on(apart, kind, dtype, widths, sizes)?;
                let mut first = None;
                for threads in [1, 2, 7] {
                    set_thread_count(threads);
                    let found = numbers_on(Device::cpu(), kind, dtype, widths, sizes)?;
                    let first = first.get_or_insert_with(|| found.clone());
                    assert!(*first == found, "{kind:?} {dtype} on {threads} threads");
                }
                for (place, (found, expected)) in first.iter().flatten().zip(&expected).enumerate()
                {
                    // Gates that are saved as narrow floats are rounded from float32: a few lie at a tie.
                    let is_tie = dtype.itemsize() < 4 && place >= 2 && is_near(found, expected);
                    let what = format!("{kind:?} {dtype} {widths:?} {place}");
                    assert!(found == expected || is_tie, "{what}");
                }
                set_thread_count(0);
            }
        }
    }
    Ok(())
}
