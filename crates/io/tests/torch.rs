//! Files that torch wrote (`tests/torch/make.py`), and pickles that no torch wrote.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]
#![allow(unsafe_code, reason = "maps files that nobody writes to")]

use std::path::PathBuf;

use allotrope_dtype::{CastOptions, DType, ErrorKind};
use allotrope_io::{Key, Value, load, load_bytes, load_mapped};
use allotrope_tensor::{Shape, Tensor};

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/torch")
        .join(name)
}

fn read(name: &str) -> Value {
    let read = load(path(name)).unwrap();
    // SAFETY: nobody writes to the files of this folder.
    let mapped = unsafe { load_mapped(path(name)) }.unwrap();
    assert_eq!(read, mapped, "mapped");
    assert_eq!(
        read,
        load_bytes(&std::fs::read(path(name)).unwrap()).unwrap(),
        "bytes"
    );
    read
}

/// What make.py writes: whole numbers below five in turns.
fn numbers(dtype: DType, sizes: &[usize]) -> Tensor {
    let count = sizes.iter().product::<usize>() as i64;
    let numbers: Vec<i64> = (0..count).map(|number| number % 5).collect();
    let numbers = Tensor::new(numbers)
        .unwrap()
        .reshape(Shape::new("reshape", sizes).unwrap())
        .unwrap();
    numbers.to_with(dtype, CastOptions::default()).unwrap()
}

fn tensor(value: &Value, name: &str) -> Tensor {
    Tensor::try_from(value.get(name).unwrap().clone()).unwrap()
}

#[test]
fn every_dtype() {
    let Value::Dict(items) = read("dtypes.pt") else {
        panic!("no dict");
    };
    assert_eq!(items.len(), 19);
    for (key, value) in items {
        let Key::Text(name) = key else {
            panic!("{key:?}");
        };
        let got = Tensor::try_from(value).unwrap();
        let dtype: DType = name.parse().unwrap();
        assert_eq!(got.dtype(), dtype);
        assert_eq!(got, numbers(dtype, &[2, 3]), "{name}");
    }
}

#[test]
fn views_and_what_stands_beside_them() {
    for name in ["mixed.pt", "mixed_legacy.pt", "protocol_4.pt"] {
        let value = read(name);
        let base = numbers(DType::F32, &[6, 4]);
        assert_eq!(tensor(&value, "base"), base);
        assert_eq!(tensor(&value, "turned"), base.transpose(0, 1).unwrap());
        assert_eq!(tensor(&value, "row"), base.i(2).unwrap());
        assert_eq!(tensor(&value, "same").shape(), [2, 6, 4]);
        assert_eq!(tensor(&value, "same").i(1).unwrap(), base);
        let steps = tensor(&value, "steps");
        assert_eq!(
            steps.to_vec::<f32>().unwrap(),
            [1.0, 2.0, 4.0, 0.0, 2.0, 3.0]
        );
        assert_eq!(tensor(&value, "empty").shape(), [0, 3]);
        assert_eq!(tensor(&value, "single"), Tensor::new(7_i16).unwrap());
        let parameter = tensor(&value, "parameter");
        assert!(parameter.requires_grad());
        assert_eq!(parameter.detach(), numbers(DType::F32, &[3]));
        assert!(!tensor(&value, "base").requires_grad());
        let beside = [
            ("epoch", Value::Int(12)),
            ("rate", Value::Float(0.125)),
            ("name", Value::Text("résumé".into())),
            ("done", Value::Bool(false)),
            ("none", Value::None),
            ("large", Value::Int(1 << 80)),
            ("size", Value::Tuple(vec![Value::Int(2), Value::Int(3)])),
        ];
        for (key, want) in beside {
            assert_eq!(value.get(key), Some(&want), "{name}: {key}");
        }
        let inner = Value::Dict(vec![(Key::Int(3), Value::Int(-4))]);
        let list = Value::List(vec![Value::Int(2), inner]);
        assert_eq!(
            value.get("pair"),
            Some(&Value::Tuple(vec![Value::Int(1), list]))
        );
    }
    assert_eq!(
        read("tensor.pt"),
        Value::Tensor(numbers(DType::F32, &[6, 4]))
    );
}

#[test]
fn a_checkpoint_of_both_forms() {
    assert_eq!(read("checkpoint.pt"), read("checkpoint_legacy.pt"));
    let value = read("checkpoint.pt");
    let model = value.get("model").unwrap();
    assert_eq!(
        tensor(model, "1.num_batches_tracked"),
        Tensor::new(1_i64).unwrap()
    );
    assert_eq!(tensor(model, "0.weight").shape(), [2, 3]);
    let groups = value
        .get("optimizer")
        .and_then(|state| state.get("param_groups"));
    let Some(Value::List(groups)) = groups else {
        panic!("no groups");
    };
    assert_eq!(groups[0].get("lr"), Some(&Value::Float(0.5)));
}

#[test]
fn what_would_run_is_refused_by_its_name() {
    let cases = [
        ("danger.pt", "a call of posix.system"),
        ("danger_legacy.pt", "a call of posix.system"),
        (
            "module.pt",
            "a call of torch.nn.modules.container.Sequential",
        ),
        ("plain.pkl", "a pickle; files of torch.save"),
    ];
    for (name, words) in cases {
        let error = load(path(name)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::File);
        assert!(error.to_string().contains(words), "{name}: {error}");
    }
}

/// A file of before 1.6 around a pickle, without storages.
fn around(pickle: &[u8]) -> Vec<u8> {
    let magic = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.";
    [
        &magic[..],
        b"\x80\x02M\xe9\x03.",
        b"\x80\x02}.",
        pickle,
        b"\x80\x02].",
    ]
    .concat()
}

#[test]
fn pickles_that_no_torch_wrote() {
    assert_eq!(
        load_bytes(&around(b"\x80\x02K\x07.")).unwrap(),
        Value::Int(7)
    );
    let nested = [&b"]".repeat(100_000)[..], &b"a".repeat(99_999), b"."].concat();
    let tuples = [b"N", &b"\x85".repeat(100_000)[..], b"."].concat();
    // A list of two references to a list of two references …
    let mut doubled = b"]q\x00K\x01a".to_vec();
    for level in 0..60_u8 {
        doubled.extend([b']', b'q', level + 1, b'h', level, b'a', b'h', level, b'a']);
    }
    doubled.push(b'.');
    // Filled from the outermost on, so that none knows how deep it is.
    let mut outside_in = b"]q\x00".to_vec();
    for level in 0..60_000_u32 {
        let (outer, inner) = (level.to_le_bytes(), (level + 1).to_le_bytes());
        outside_in.extend([&b"j"[..], &outer, b"]r", &inner, b"a0"].concat());
    }
    outside_in.push(b'.');
    let cases: [(&[u8], &str); 14] = [
        (&nested, "nested too deeply"),
        (&tuples, "nested too deeply"),
        (&doubled, "hold others too often"),
        (&outside_in, "nested too deeply"),
        (b"]q\x00h\x00a.", "in themselves"),
        (b"N", "ends early"),
        (b"0.", "takes what it has not put"),
        (b"(0.", "takes what it has not put"),
        (b"h\x05.", "nothing was put in"),
        (b"\x80\x09N.", "protocol 9"),
        (b"\x8a\x20aaaa.", "an integer of 32 bytes"),
        (
            b"cbuiltins\neval\n(X\x01\x00\x00\x001tR.",
            "a call of builtins.eval",
        ),
        (b"cos\nsystem\n.", "os.system"),
        (b"}(K\x01K\x02K\x01K\x03u.", "two keys"),
    ];
    for (pickle, words) in cases {
        let error = load_bytes(&around(pickle)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::File, "{error}");
        assert!(
            error.to_string().contains(words),
            "{error}\n  should say: {words}"
        );
    }
}
