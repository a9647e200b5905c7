//! Calls with random arguments, right and wrong: an answer or a worded error, never a panic.

use allotrope_conformance::sample::Random;
use allotrope_dtype::{CastOptions, DType, Error, ErrorKind, Overflow, Rounding, WeakScalar, c128};
use allotrope_op::{Op, Slice};
use allotrope_tensor::{Index, Operand, Tensor};
use proptest::prelude::*;

/// A size that is small, or so large that no memory holds it.
fn size(random: &mut Random) -> usize {
    match random.below(12) {
        0 => usize::MAX - random.below(2),
        1 => 1 << (62 + random.below(2)),
        n => n / 2,
    }
}

fn sizes(random: &mut Random) -> Vec<usize> {
    (0..random.below(5)).map(|_| size(random)).collect()
}

/// An axis or index, mostly near zero.
fn index(random: &mut Random) -> isize {
    match random.below(12) {
        0 => isize::MAX,
        1 => isize::MIN,
        2 => -(random.below(100) as isize),
        n => n as isize - 6,
    }
}

fn indices(random: &mut Random) -> Vec<isize> {
    (0..random.below(5)).map(|_| index(random)).collect()
}

fn dtype(random: &mut Random) -> DType {
    random.pick(&DType::ALL)
}

fn slice(random: &mut Random) -> Slice {
    let bound = |random: &mut Random| (random.below(3) > 0).then(|| index(random));
    Slice {
        start: bound(random),
        stop: bound(random),
        step: index(random),
    }
}

fn scalar(random: &mut Random) -> WeakScalar {
    let float = [0.0, -1.5, 2.0, f64::NAN, f64::INFINITY, 1e300];
    match random.below(5) {
        0 => WeakScalar::Bool(random.below(2) == 0),
        1 => WeakScalar::Int(random.below(7) as i128 - 3),
        2 => WeakScalar::Int((random.bits() as i128) << random.below(60)),
        3 => WeakScalar::Float(random.pick(&float)),
        _ => WeakScalar::Complex(c128::new(random.pick(&float), random.pick(&float))),
    }
}

/// A tensor of any dtype, small, with any bits.
fn tensor(random: &mut Random) -> Tensor {
    let dtype = dtype(random);
    let sizes: Vec<usize> = (0..random.below(4)).map(|_| random.below(5)).collect();
    let count = sizes.iter().product::<usize>() * dtype.itemsize();
    let bytes: Vec<u8> = (0..count).map(|_| random.bits() as u8 & 0x47).collect();
    Tensor::from_bytes(&bytes, &sizes, dtype).unwrap()
}

/// Another tensor made of one.
fn view(x: &Tensor, random: &mut Random) -> Result<Tensor, Error> {
    match random.below(17) {
        0 => x.reshape(&indices(random)),
        1 => x.flatten(index(random), index(random)),
        2 => x.transpose(index(random), index(random)),
        3 => x.permute(&indices(random)),
        4 => x.expand(&sizes(random)),
        5 => x.unsqueeze(index(random)),
        6 => {
            let axes = indices(random);
            x.squeeze((random.below(2) == 0).then_some(&axes[..]))
        }
        7 => x.select(index(random), index(random)),
        8 => x.slice(index(random), slice(random)),
        9 => x.flip(&indices(random)),
        10 => x.unfold(index(random), size(random), size(random)),
        11 => x.view_dtype(dtype(random)),
        12 => x.to(dtype(random)),
        13 => {
            let overflow = random.pick(&Overflow::ALL);
            let rounding = random.pick(&[
                Rounding::Nearest,
                Rounding::Zero,
                Rounding::Stochastic { seed: 7, offset: 3 },
            ]);
            let options = CastOptions {
                rounding,
                ..CastOptions::overflow(overflow)
            };
            x.to_with(dtype(random), options)
        }
        14 => x.index(&key(random)),
        15 => x.copied(),
        _ => x.contiguous(),
    }
}

fn key(random: &mut Random) -> Vec<Index> {
    let item = |random: &mut Random| match random.below(6) {
        0 => Index::NewAxis,
        1 => Index::Ellipsis,
        2 => Index::Array(tensor(random)),
        3 => Index::Range(slice(random)),
        _ => Index::At(index(random)),
    };
    (0..random.below(5)).map(|_| item(random)).collect()
}

/// Something computed of a tensor.
fn compute(x: &Tensor, random: &mut Random) -> Result<Tensor, Error> {
    let axes = indices(random);
    let axes = (random.below(3) > 0).then_some(&axes[..]);
    let keepdim = random.below(2) == 0;
    let wanted = (random.below(3) == 0).then(|| dtype(random));
    let axis = (random.below(2) == 0).then(|| index(random));
    let float = random.pick(&[0.0, 1.0, 2.0, -1.0, 2.5, f64::INFINITY, f64::NAN]);
    match random.below(20) {
        0 => x.sum(axes, keepdim, wanted),
        1 => x.prod(axes, keepdim, wanted),
        2 => x.mean(axes, keepdim, wanted),
        3 => x.var(axes, float, keepdim),
        4 => x.std(axes, float, keepdim),
        5 => x.amax(axes, keepdim),
        6 => x.amin(axes, keepdim),
        7 => x.argmax(axis, keepdim),
        8 => x.argmin(axis, keepdim),
        9 => x.any(axes, keepdim),
        10 => x.all(axes, keepdim),
        11 => x.count_nonzero(axes, keepdim),
        12 => x.norm(float, axes, keepdim),
        13 => x.logsumexp(axes, keepdim),
        _ => {
            let op = random.pick(Op::ALL);
            let others: Vec<Tensor> = (0..4).map(|_| tensor(random)).collect();
            let mut operands = vec![Operand::Tensor(x)];
            // Now and then too many or too few.
            let count = match random.below(20) {
                0 => random.below(6),
                _ => op.arity(),
            };
            while operands.len() < count {
                let other = &others[operands.len() % others.len()];
                operands.push(match random.below(3) {
                    0 => Operand::Scalar(scalar(random)),
                    1 => Operand::Tensor(x),
                    _ => Operand::Tensor(other),
                });
            }
            operands.truncate(count.max(1));
            if random.below(3) == 0 {
                operands.rotate_left(1);
            }
            Tensor::apply(op, &operands)
        }
    }
}

/// A new tensor.
fn create(random: &mut Random) -> Result<Tensor, Error> {
    let (sizes, dtype) = (sizes(random), dtype(random));
    match random.below(5) {
        0 => Tensor::zeros(&sizes, dtype),
        1 => Tensor::ones(&sizes, dtype),
        2 => Tensor::full(&sizes, scalar(random), dtype),
        3 => Tensor::from_bytes(&[0; 24], &sizes, dtype),
        _ => {
            let end = WeakScalar::Int(random.below(50) as i128 - 25);
            let step = random.pick(&[
                WeakScalar::Int(0),
                WeakScalar::Int(2),
                WeakScalar::Int(-3),
                WeakScalar::Float(0.25),
                WeakScalar::Float(f64::NAN),
                WeakScalar::Float(-0.0),
            ]);
            Tensor::arange(scalar_start(random), end, step, dtype)
        }
    }
}

fn scalar_start(random: &mut Random) -> WeakScalar {
    match random.below(4) {
        0 => WeakScalar::Float(0.5),
        1 => WeakScalar::Bool(true),
        2 => WeakScalar::Float(f64::NAN),
        _ => WeakScalar::Int(random.below(9) as i128),
    }
}

/// `{op}: {what is wrong}`, in lower case.
fn is_worded(error: &Error) {
    let text = error.to_string();
    let (op, rest) = text.split_once(": ").unwrap_or(("", ""));
    assert!(
        !op.is_empty()
            && op
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'),
        "{text}"
    );
    assert!(rest.len() > 5 && !rest.ends_with(['.', ' ', ':']), "{text}");
}

/// Whether the elements can be looked at: an expanded view may have more than any memory.
fn is_small(x: &Tensor) -> bool {
    x.count() < 1 << 20
}

fn call(seed: u64) {
    let mut random = Random::seeded(seed);
    if let (0, Err(error)) = (random.below(8), create(&mut random.clone())) {
        is_worded(&error);
    }
    let mut x = tensor(&mut random);
    for _ in 0..6 {
        let result = if random.below(2) == 0 {
            view(&x, &mut random)
        } else {
            compute(&x, &mut random)
        };
        match result {
            Ok(next) if is_small(&next) => {
                assert!(next.to_string().len() > 6);
                let bytes = next.to_bytes().unwrap();
                assert_eq!(bytes.len(), next.count() * next.dtype().itemsize());
                assert_eq!(next.item().is_ok(), next.count() == 1);
                x = next;
            }
            Ok(_) => {}
            Err(error) => {
                is_worded(&error);
                assert_ne!(error.kind(), ErrorKind::Device);
            }
        }
    }
}

/// What random calls have found.
#[test]
fn nothing_is_too_empty() {
    let huge = Tensor::zeros(&[0], DType::F32).unwrap();
    let huge = huge.expand(&[1 << 62, 0]).unwrap();
    assert_eq!(
        huge.to_string(),
        "tensor([], size=[4611686018427387904, 0])"
    );
    assert_eq!(huge.copied().unwrap().count(), 0);
    assert_eq!(huge.sum(Some(&[1, 0]), false, None).unwrap().count(), 1);
    let turned = huge.transpose(0, 1).unwrap();
    assert!(turned.view_dtype(DType::U8).is_err());
    assert_eq!(turned.add(&turned).unwrap().count(), 0);
    let none = Tensor::zeros(&[3, 0], DType::F64).unwrap();
    assert_eq!(none.sum(Some(&[0]), false, None).unwrap().count(), 0);
    let row = none.select(0, 2).unwrap();
    assert_eq!(row.to_bytes().unwrap(), []);
    assert_eq!(
        row.sum(None, false, None).unwrap().to_vec::<f64>().unwrap(),
        [0.0]
    );
    // Bytes after the last whole element of the wider dtype.
    let bytes = Tensor::from_slice(&[1_u8, 0, 2, 0, 3], &[5]).unwrap();
    let pair = bytes
        .slice(
            0,
            Slice {
                stop: Some(4),
                ..Slice::ALL
            },
        )
        .unwrap();
    let wide = pair.view_dtype(DType::I16).unwrap().flip(&[0]).unwrap();
    assert_eq!(wide.to_vec::<i16>().unwrap(), [2, 1]);
    assert_eq!(wide.add(1).unwrap().to_vec::<i16>().unwrap(), [3, 2]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn never_panic(seed in any::<u64>()) {
        call(seed);
    }
}
