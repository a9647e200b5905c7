//! Tensors on a second device, whose memory the CPU cannot read: the same results, which stay there.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod contraction;
mod convolution;
mod fourier;
mod linalg;
mod order;
mod random;
mod rowwise;
mod window;

use allotrope_cpu::CPU;
use allotrope_dtype::{
    CastOptions, DType, Error, ErrorKind, Family, Numeric, Overflow, Problem, scoped_default_dtype,
};
use allotrope_op::{Backend, Op, Slice};
use allotrope_tensor::{
    BagMode, Bags, Device, Generator, Index, Options, PadMode, Tensor, take_transfers,
};
use allotrope_testing::{APART, NARROW, take_calls};

type Outcome = Result<Tensor, Error>;

fn there(x: &Tensor) -> Tensor {
    x.to_backend(&APART).unwrap()
}

/// Numbers of both signs in two dimensions.
fn numbers(dtype: DType) -> Tensor {
    let x = Tensor::arange(-30, 30, 1, DType::I64).unwrap();
    let x = x.mul(0.37).unwrap().to(dtype).unwrap();
    x.reshape(&[6, 10]).unwrap()
}

fn indices(places: &[i64]) -> Tensor {
    Tensor::from_slice(places, &[places.len()]).unwrap()
}

/// Checks that work on tensors of both devices gives the same, on the device of the tensors.
fn check(what: &str, operands: &[&Tensor], work: impl Fn(&[Tensor]) -> Outcome) {
    let here: Vec<Tensor> = operands.iter().map(|x| (*x).clone()).collect();
    let moved: Vec<Tensor> = operands.iter().map(|x| there(x)).collect();
    match (work(&here), work(&moved)) {
        (Ok(want), Ok(got)) => {
            assert_eq!(want.backend().name(), "cpu", "{what}");
            assert_eq!(got.backend().name(), "apart", "{what}");
            assert_eq!(got.dtype(), want.dtype(), "{what}");
            assert_eq!(got.shape(), want.shape(), "{what}");
            assert_eq!(
                got.to_bytes().unwrap(),
                want.to_bytes().unwrap(),
                "{what}: {got} instead of {want}"
            );
        }
        (want, got) => assert_eq!(got.unwrap_err(), want.unwrap_err(), "{what}"),
    }
}

/// Checks work on one tensor of several dtypes, as it is and turned.
fn check_all(what: &str, work: impl Fn(&Tensor) -> Outcome) {
    for dtype in [DType::F32, DType::BF16, DType::I32, DType::C64] {
        let x = numbers(dtype);
        check(what, &[&x], |x| work(&x[0]));
        check(what, &[&x], |x| work(&x[0].transpose(0, 1)?));
        check(what, &[&x], |x| work(&x[0].flip(&[1])?));
    }
}

#[test]
fn values_are_equal_there_and_not_lent() {
    let x = numbers(DType::F32);
    let y = there(&x);
    assert_eq!(y, there(&x));
    assert_ne!(y, there(&(&x + 1)));
    assert_eq!(
        (2.0 * &y).i((1, ..3)).unwrap(),
        there(&(2.0 * &x)).i((1, ..3)).unwrap()
    );
    let refused = y.as_slice::<f32>().unwrap_err();
    assert_eq!(
        (refused.op(), refused.kind()),
        ("as_slice", ErrorKind::Device)
    );
}

#[test]
#[should_panic(expected = "eq: operands on two devices: cpu and apart; one device is accepted")]
fn equality_of_two_devices_is_refused() {
    let x = numbers(DType::F32);
    assert_eq!(x, there(&x));
}

#[test]
fn elements_go_there_and_come_back() {
    let x = numbers(DType::F16);
    let y = there(&x);
    assert!(y.contiguous_bytes().is_none());
    assert_eq!((y.address(), y.is_foreign()), (0, false));
    assert_eq!(y.to_string().replace(", device='apart'", ""), x.to_string());
    assert_eq!(y.to_bytes().unwrap(), x.to_bytes().unwrap());
    let back = y.to_backend(&CPU).unwrap();
    assert_eq!(back.contiguous_bytes(), x.contiguous_bytes());
    let turned = y.transpose(0, 1).unwrap();
    let want = x.transpose(0, 1).unwrap();
    assert_eq!(turned.to_bytes().unwrap(), want.to_bytes().unwrap());
    assert_eq!(
        y.select(0, 3).unwrap().select(0, 2).unwrap().item(),
        x.select(0, 3).unwrap().select(0, 2).unwrap().item()
    );
    assert!(y.to_backend(&APART).unwrap().shares_storage_with(&y));
    APART.finish().unwrap();
}

#[test]
fn rows_and_programs_run_there() {
    take_calls();
    check_all("neg", Tensor::neg);
    let calls = take_calls();
    assert!(calls["apply"] >= 2 && calls["run"] >= 2, "{calls:?}");
    check_all("exp", Tensor::exp);
    check_all("abs", Tensor::abs);
    check_all("mul by a number", |x| x.mul(1.5));
    check_all("eq", |x| x.eq(x));
    check_all("floor_divide", |x| x.floor_divide(0));
    check_all("where", |x| {
        Tensor::apply(Op::Where, &[(&x.ne(x)?).into(), 1.into(), x.into()])
    });
    let (x, y) = (numbers(DType::F32), numbers(DType::BF16));
    check("mixed add", &[&x, &y], |x| x[0].add(&x[1]));
    check("broadcast", &[&x, &y], |x| x[0].mul(&x[1].select(0, 2)?));
}

#[test]
fn views_copies_and_casts_work_there() {
    check_all("contiguous", Tensor::contiguous);
    check_all("copied", Tensor::copied);
    check_all("reshape", |x| x.reshape(&[4, -1]));
    check_all("expand", |x| x.unsqueeze(0)?.expand(&[2, 6, 10]));
    check_all("to", |x| x.to(DType::C128));
    check_all("to bool", |x| x.to(DType::Bool));
    let range = Slice {
        start: Some(1),
        stop: Some(6),
        step: 2,
    };
    check_all("slice", |x| x.slice(0, range));
    let x = numbers(DType::F32);
    let saturate = CastOptions::overflow(Overflow::Saturate);
    let raise = CastOptions::overflow(Overflow::Raise);
    check("saturate", &[&x], |x| {
        x[0].mul(100)?.to_with(DType::I8, saturate)
    });
    check("raise", &[&x], |x| x[0].mul(100)?.to_with(DType::I8, raise));
    check("view_dtype", &[&x], |x| x[0].view_dtype(DType::U8));
    take_calls();
    check_all("zeros_like", Tensor::zeros_like);
    check_all("full_like", |x| x.full_like(3));
    assert!(take_calls()["fill"] > 0);
}

#[test]
fn elements_are_put_together_there() {
    take_calls();
    check_all("cat", |x| Tensor::cat(&[x, x], 0));
    check_all("stack", |x| Tensor::stack(&[x, x], -1));
    check_all("cat of two dtypes", |x| {
        Tensor::cat(&[x, &x.to(DType::C128)?], 0)
    });
    check_all("cat of two dtypes, inside", |x| {
        Tensor::cat(&[x, &x.to(DType::C128)?], 1)
    });
    check_all("block_diag", |x| Tensor::block_diag(&[x, x]));
    check_all("roll", |x| x.roll(&[2, -3], &[0, 1]));
    check_all("pad", |x| x.pad(&[1, 2], PadMode::Constant(7.into())));
    check_all("reflected", |x| {
        x.unsqueeze(0)?.pad(&[1, 2], PadMode::Reflect)
    });
    assert!(take_calls()["assemble"] > 0);
    check_all("tril", |x| x.tril(1));
    check_all("repeat", |x| x.repeat(&[2, 3]));
    check_all("diag_embed", |x| x.diag_embed(1, 0, -1));
    check_all("diff", |x| x.diff(1, 0, Some(x), None));
    let calls = take_calls();
    assert!(calls["keep_band"] > 0 && calls["place"] > 0, "{calls:?}");
}

#[test]
fn folds_run_there() {
    take_calls();
    check_all("sum", |x| x.sum(None, false, None));
    check_all("sum along", |x| x.sum(Some(&[0]), true, Some(DType::C128)));
    check_all("prod", |x| x.prod(Some(&[1]), false, None));
    check_all("mean", |x| x.mean(Some(&[0]), false, None));
    check_all("var", |x| x.var(Some(&[1]), 1.0, false));
    check_all("amax", |x| x.amax(None, false));
    check_all("argmax", |x| x.argmax(Some(0), false));
    check_all("any", |x| x.any(Some(&[0]), false));
    check_all("norm", |x| x.norm(3.0, Some(&[1]), false));
    check_all("logsumexp", |x| x.logsumexp(Some(&[1]), false));
    check_all("cumsum", |x| x.cumsum(0, None));
    check_all("cumprod", |x| x.cumprod(1, None));
    check_all("cumulative_sum", |x| {
        x.select(0, 1)?.cumulative_sum(None, None, true)
    });
    let calls = take_calls();
    assert!(calls["reduce"] > 0 && calls["scan"] > 0, "{calls:?}");
    let x = numbers(DType::F64);
    assert!(there(&x).equal(&there(&x)).unwrap());
}

#[test]
fn elements_are_chosen_there() {
    let rows = indices(&[2, -1, 0, 2]);
    let mask = numbers(DType::F32).gt(3).unwrap();
    take_calls();
    for dtype in [DType::F32, DType::BF16, DType::I32, DType::C64, DType::Bool] {
        let x = numbers(dtype);
        check("index_select", &[&x, &rows], |x| {
            x[0].index_select(0, &x[1])
        });
        check("take", &[&x, &rows], |x| x[0].take(&x[1], None));
        check("gather", &[&x, &rows], |x| {
            x[0].gather(1, &x[1].unsqueeze(1)?)
        });
        check("index", &[&x, &rows], |x| {
            x[0].flip(&[1])?.index(&[Index::Array(x[1].clone())])
        });
        check("index inside", &[&x, &rows], |x| {
            let all = Index::Range(Slice::ALL);
            x[0].flip(&[0])?.index(&[all, Index::Array(x[1].clone())])
        });
        check("index by two", &[&x, &rows], |x| {
            x[0].index(&[Index::Array(x[1].clone()), Index::At(3)])
        });
        check("index by a mask", &[&x, &mask], |x| {
            x[0].index(&[Index::Array(x[1].clone())])
        });
        check("masked_select", &[&x, &mask], |x| x[0].masked_select(&x[1]));
        check("masked_fill", &[&x, &mask], |x| {
            x[0].masked_fill(&x[1], false)
        });
        check("masked_scatter", &[&x, &mask], |x| {
            x[0].masked_scatter(&x[1], &x[0].flip(&[0])?)
        });
        check("argwhere", &[&x], |x| x[0].argwhere());
        check("scatter", &[&x, &rows], |x| {
            x[0].scatter(0, &x[1].unsqueeze(1)?, true)
        });
        check("index_add", &[&x, &rows], |x| {
            x[0].index_add(0, &x[1], &x[0].narrow(0, 0, 4)?, 2)
        });
        check("index_put", &[&x, &rows], |x| {
            x[0].index_put(&[Index::Array(x[1].clone())], true, true)
        });
        check("assign", &[&x, &rows], |x| {
            let mut changed = x[0].clone();
            changed.assign(&[Index::Array(x[1].clone())], &x[0].narrow(0, 0, 4)?)?;
            changed.assign(&[Index::At(1)], true)?;
            Ok(changed)
        });
    }
    let calls = take_calls();
    for method in ["pick", "put", "compress", "coordinates", "place"] {
        assert!(calls.contains_key(method), "{method} of {calls:?}");
    }
}

#[test]
fn bags_between_offsets_are_the_same_there() {
    let (table, index) = (numbers(DType::F32), indices(&[2, 0, 5, 1, 1, 3]));
    for (offsets, include_last_offset) in [
        (indices(&[0, 2, 2, 5]), false),
        (indices(&[0, 0, 3, 6]), true),
        (indices(&[0, 6]), false),
    ] {
        for mode in [BagMode::Sum, BagMode::Mean, BagMode::Max] {
            check("embedding_bag", &[&table, &index, &offsets], |x| {
                let bags = Bags {
                    offsets: Some(&x[2]),
                    include_last_offset,
                    mode,
                    ..Bags::default()
                };
                x[0].embedding_bag(&x[1], bags)
            });
        }
    }
}

#[test]
fn indices_of_triangles_are_made_there() {
    type Make = fn(usize, usize, isize, Options) -> Outcome;
    let makes: [Make; 2] = [
        |rows, columns, offset, options| Tensor::tril_indices(rows, columns, offset, options),
        |rows, columns, offset, options| Tensor::triu_indices(rows, columns, offset, options),
    ];
    take_transfers();
    for make in makes {
        for (rows, columns) in [(4, 4), (3, 6), (6, 3), (1, 5), (0, 2), (2, 0)] {
            for offset in [-9, -2, -1, 0, 1, 2, 5, isize::MIN, isize::MAX] {
                let here = make(rows, columns, offset, DType::I64.into()).unwrap();
                let device = Device::from(&APART as &dyn Backend);
                let there = make(rows, columns, offset, (DType::I64, device).into()).unwrap();
                let moved = take_transfers();
                assert!(moved.is_empty(), "{moved:?}");
                assert_eq!(there.shape(), here.shape());
                let got = there.to_vec::<i64>().unwrap();
                assert_eq!(
                    got,
                    here.to_vec::<i64>().unwrap(),
                    "{rows} {columns} {offset}"
                );
                take_transfers();
            }
        }
    }
}

#[test]
fn random_numbers_are_the_same_there() {
    let draw = |what: &str, work: &dyn Fn(&Tensor, &Generator) -> Outcome| {
        check(what, &[&numbers(DType::BF16)], |x| {
            work(&x[0], &Generator::new(7))
        });
    };
    draw("uniform", &|x, g| x.uniform_like(-1.0, 2.0, Some(g)));
    draw("normal", &|x, g| x.normal_like(1.0, 2.0, Some(g)));
    draw("random", &|x, g| x.random_like(None, Some(9), Some(g)));
    draw("bernoulli", &|x, g| x.bernoulli_like(0.25, Some(g)));
    draw("dropout", &|x, g| x.dropout(0.5, Some(g)));
}

#[test]
fn gradients_stay_there() {
    let gradient = |x: &Tensor| -> Outcome {
        let x = x.detach().requires_grad_(true)?;
        let y = x.tanh()?.mul(&x)?.select(0, 1)?.sum(None, false, None)?;
        y.backward()?;
        Ok(x.grad().unwrap_or_else(|| panic!("a gradient")))
    };
    check("backward", &[&numbers(DType::F32)], |x| gradient(&x[0]));
    // Across devices each gradient is where its tensor is.
    let x = numbers(DType::F32).requires_grad_(true).unwrap();
    let y = there(&x).exp().unwrap().sum(None, false, None).unwrap();
    y.backward().unwrap();
    let got = x.grad().unwrap_or_else(|| panic!("a gradient"));
    assert_eq!(got.backend().name(), "cpu");
    assert_eq!(
        got.to_bytes().unwrap(),
        x.exp().unwrap().to_bytes().unwrap()
    );
}

#[test]
fn operands_on_two_devices_are_refused() {
    let (x, y) = (numbers(DType::F32), there(&numbers(DType::F32)));
    let (rows, mask) = (indices(&[0, 1]), x.gt(0).unwrap());
    let results: [(&str, Outcome); 9] = [
        ("add", x.add(&y)),
        ("add", y.add(&x)),
        ("add", y.add(&x.to(DType::BF16).unwrap())),
        ("cat", Tensor::cat(&[&x, &y], 0)),
        ("index_select", x.index_select(0, &there(&rows))),
        ("index", x.index(&[Index::Array(there(&rows))])),
        ("masked_select", x.masked_select(&there(&mask))),
        ("masked_scatter", y.masked_scatter(&there(&mask), &x)),
        ("scatter_add", {
            let index = there(&rows).unsqueeze(1).unwrap();
            y.scatter_add(
                0,
                &index,
                &x.narrow(0, 0, 2).unwrap().narrow(1, 0, 1).unwrap(),
            )
        }),
    ];
    for (op, result) in results {
        let error = result.unwrap_err();
        assert_eq!(error.op(), op, "{error}");
        assert_eq!(error.kind(), ErrorKind::Device, "{error}");
        let problem = matches!(error.problem(), Problem::DevicesDiffer { .. });
        assert!(problem, "{error}");
    }
    let mut z = y.clone();
    let error = z.assign(&[Index::At(0)], &x.select(0, 0).unwrap());
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Device);
    assert_eq!(z.to_bytes().unwrap(), x.to_bytes().unwrap());
    assert_eq!(
        x.add(&y).unwrap_err().to_string(),
        "add: operands on two devices: cpu and apart; one device is accepted"
    );
}

#[test]
fn work_that_waits_sees_what_was_there() {
    // Work that waits is done once, and what it read is kept for it.
    let mut x = there(&numbers(DType::F32));
    let before = x.add(1).unwrap();
    x.assign(&[Index::At(0)], 7.0).unwrap();
    let after = x.add(1).unwrap();
    let plain = numbers(DType::F32).add(1).unwrap();
    assert_eq!(before.to_bytes().unwrap(), plain.to_bytes().unwrap());
    assert_eq!(
        after.select(0, 0).unwrap().to_vec::<f32>().unwrap(),
        [8.0; 10]
    );
}

#[test]
fn a_device_that_stores_narrower_keeps_the_logical_dtype() {
    let x = Tensor::from_slice(&[1.0 + 1e-12, 1e300, 0.1], &[3]).unwrap();
    let y = x.to_backend(&NARROW).unwrap();
    assert_eq!((y.dtype(), y.storage_dtype()), (DType::F64, DType::F32));
    let back = y.to_backend(&CPU).unwrap();
    let want = [1.0, f64::INFINITY, f64::from(0.1_f32)];
    assert_eq!(back.to_vec::<f64>().unwrap(), want);
    let sum = y.add(&y).unwrap();
    assert_eq!((sum.dtype(), sum.storage_dtype()), (DType::F64, DType::F32));
    assert_eq!(sum.softmax(0, None).unwrap().dtype(), DType::F64);
    // Integers are stored as they are.
    let z = Tensor::from_slice(&[i64::MAX], &[1]).unwrap();
    assert_eq!(
        z.to_backend(&NARROW).unwrap().to_vec::<i64>().unwrap(),
        [i64::MAX]
    );
}

#[test]
fn a_bit_free_tensor_has_its_width_again_where_that_is_stored() {
    let narrow = Device::from(&NARROW as &'static dyn Backend);
    let home = |x: &Tensor| x.to_device(Device::cpu()).unwrap();
    let x = Tensor::from_slice(&[1.5, 0.1], &[2]).unwrap();
    let x = x.with_bit_free(true);
    let y = x.to_device(narrow).unwrap();
    assert_eq!((y.dtype(), y.width()), (DType::F32, Some(DType::F64)));
    assert_eq!(home(&y).to_vec::<f64>().unwrap(), [1.5, f64::from(0.1_f32)]);
    // What is computed of it has the width that it would have had on the CPU.
    let half = Tensor::ones(&[2], DType::F16).unwrap().with_bit_free(true);
    let half = half.to_device(narrow).unwrap();
    let made = [
        y.add(1).unwrap(),
        y.mul(&half).unwrap(),
        y.exp().unwrap(),
        y.sum(None, false, None).unwrap(),
        y.softmax(0, None).unwrap(),
        y.narrow(0, 0, 1).unwrap(),
        Tensor::cat(&[&y, &half], 0).unwrap(),
        y.new_zeros(&[2], DType::F32).unwrap(),
    ];
    for made in &made {
        assert_eq!(made.dtype(), DType::F32, "{made}");
        assert_eq!(home(made).dtype(), DType::F64, "{made}");
        assert_eq!(home(made).numeric(), Numeric::Family(Family::Float));
    }
    // Data that was no wider, and what is exact, stays.
    assert_eq!(
        (half.dtype(), home(&half).dtype()),
        (DType::F16, DType::F16)
    );
    assert_eq!(home(&y.argmax(None, false).unwrap()).dtype(), DType::I64);
    let exact = Tensor::ones(&[2], (DType::F32, narrow)).unwrap();
    assert_eq!(home(&y.add(&exact).unwrap()).dtype(), DType::F32);
    // So it is with what was made there.
    let made = Tensor::ones(&[2], (Family::Float, narrow)).unwrap();
    assert_eq!(
        (made.dtype(), home(&made).dtype()),
        (DType::F32, DType::F32)
    );
    let _scope = scoped_default_dtype(DType::F64).unwrap();
    let made = Tensor::ones(&[2], (Family::Float, narrow)).unwrap();
    assert_eq!(
        (made.dtype(), home(&made).dtype()),
        (DType::F32, DType::F64)
    );
}

#[test]
fn gradients_cross_the_way_home_of_a_bit_free_tensor() {
    let narrow = Device::from(&NARROW as &'static dyn Backend);
    let x = Tensor::from_slice(&[1.5, 0.25], &[2]).unwrap();
    let x = x.with_bit_free(true).to_device(narrow).unwrap();
    let x = x.requires_grad_(true).unwrap();
    let y = x.to_device(Device::cpu()).unwrap();
    y.mul(&y)
        .unwrap()
        .sum(None, false, None)
        .unwrap()
        .backward()
        .unwrap();
    let grad = x.grad().unwrap();
    assert_eq!((grad.dtype(), grad.device()), (DType::F32, narrow));
    assert_eq!(grad.to_vec::<f32>().unwrap(), [3.0, 0.5]);
}

#[test]
fn a_gradient_of_another_device_is_refused() {
    let x = numbers(DType::F32).requires_grad_(true).unwrap();
    let error = x.set_grad(Some(there(&numbers(DType::F32)))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Device);
}

#[test]
fn constants_and_intermediates_stay_there() {
    let x = there(&numbers(DType::F32)).requires_grad_(true).unwrap();
    let rows = there(&indices(&[2, -1, 0, 2]));
    let works: [(&str, &dyn Fn() -> Outcome); 12] = [
        ("eye", &|| x.new_eye(5, 7, DType::BF16)),
        ("arange", &|| x.new_arange(-3, 40, 2, DType::I16)),
        ("arange of floats", &|| x.new_arange(9, 0, -1, DType::F64)),
        ("softmax", &|| x.softmax(1, None)),
        ("cat", &|| Tensor::cat(&[&x, &x], 0)),
        ("index_select", &|| x.index_select(0, &rows)),
        ("argmax", &|| x.argmax(None, false)),
        ("cumsum", &|| x.cumsum(1, None)),
        ("tril", &|| x.tril(1)),
        ("mean", &|| x.mean(Some(&[0]), false, None)),
        ("pad", &|| x.pad(&[1, 2], PadMode::Constant(7.into()))),
        ("diag_embed", &|| x.diag_embed(1, 0, -1)),
    ];
    for (what, work) in works {
        take_transfers();
        let made = work().unwrap();
        if made.requires_grad() {
            made.sum(None, false, None).unwrap().backward().unwrap();
        }
        let moved = take_transfers();
        assert!(
            moved.iter().all(|each| each.bytes <= 8),
            "{what}: {moved:?}"
        );
    }
    for (rows, columns) in [(3, 5), (5, 3), (4, 4), (0, 2)] {
        let want = Tensor::eye(rows, columns, DType::I32).unwrap();
        let got = x.new_eye(rows, columns, DType::I32).unwrap();
        assert_eq!(got.to_bytes().unwrap(), want.to_bytes().unwrap());
    }
    for dtype in [DType::U64, DType::I8, DType::F16, DType::C64] {
        let want = Tensor::arange(7, 100, 3, dtype).unwrap();
        let got = x.new_arange(7, 100, 3, dtype).unwrap();
        assert_eq!(got.to_bytes().unwrap(), want.to_bytes().unwrap(), "{dtype}");
    }
}
