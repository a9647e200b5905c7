//! Recurrent networks against torch's recorded answers.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

use std::path::Path;

use allotrope_io::{load, load_metadata};
use allotrope_nn::rnn::{Recurrence, RecurrentOptions, recurrent};
use allotrope_nn::{DType, Error, Tensor};

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
