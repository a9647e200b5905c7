//! The wording of every error, as snapshots.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use allotrope_dtype::{
    CastOptions, DType, Error, ErrorKind, Family, Nested, Operand, Overflow, Policy, Problem,
    Rounding, Scalar, ScalarKind, WeakScalar, c64, cast_bytes, cast_slice, f16, set_default_dtype,
};
use insta::assert_snapshot;

fn message<T>(result: Result<T, Error>) -> String {
    match result {
        Ok(_) => "no error".to_owned(),
        Err(error) => format!("{:?}: {error}", error.kind()),
    }
}

/// One snapshot of several messages, a line each.
macro_rules! assert_messages {
    ($($message:expr),* $(,)?) => {
        assert_snapshot!([$($message),*].join("\n"))
    };
}

#[test]
fn unknown_names() {
    assert_messages!(
        message("floatt32".parse::<DType>()),
        message("".parse::<DType>()),
        message("Floaty".parse::<Family>()),
        message("numpyy".parse::<Policy>()),
        message("clamp".parse::<Overflow>()),
        message(Rounding::parse("up", 0)),
        message("safe".parse::<allotrope_dtype::Casting>()),
    );
}

#[test]
fn wrong_dtypes() {
    let family = Problem::NotExact {
        given: Family::Complex,
    };
    assert_messages!(
        message(DType::I64.finfo()),
        message(DType::F32.iinfo()),
        message(DType::Bool.iinfo()),
        message(set_default_dtype(DType::C64)),
        message::<()>(Err(Error::new("finfo", family).hint("complex64"))),
    );
}

#[test]
fn numbers_out_of_scalars() {
    let complex = Scalar::from(c64::new(1.0, 0.0));
    assert_messages!(
        message(i64::try_from(Scalar::from(1.5))),
        message(f32::try_from(Scalar::from(0.1))),
        message(u8::try_from(Scalar::from(-1))),
        message(i32::try_from(Scalar::from(f64::NAN))),
        message(f16::try_from(WeakScalar::from(1 << 20))),
        message(bool::try_from(Scalar::from(2_u8))),
        message(f64::try_from(complex)),
        message(usize::try_from(WeakScalar::from(-1))),
    );
}

#[test]
fn data_and_memory() {
    let given = "a dict";
    let (shape, strides) = (vec![2, 3], vec![1, 2]);
    assert_messages!(
        message(<Vec<Vec<i32>>>::sizes(
            "tensor",
            &[vec![vec![1, 2], vec![3]]]
        )),
        message::<()>(Err(Error::new(
            "as_slice",
            Problem::NotContiguous { shape, strides }
        )
        .hint("x.contiguous()"))),
        message::<()>(Err(Error::new("load", Problem::NotATensor { given }))),
    );
}

#[test]
fn refused_promotions() {
    let pair = |policy: Policy, a, b| message(policy.promote_types("add", a, b));
    assert_messages!(
        pair(Policy::Standard, DType::I8, DType::U64),
        pair(Policy::Strict, DType::I32, DType::F32),
        pair(Policy::Strict, DType::I64, DType::U64),
        pair(Policy::Exact, DType::I32, DType::F32),
        pair(Policy::Exact, DType::I64, DType::F32),
        pair(Policy::Exact, DType::I8, DType::U64),
        pair(Policy::Torch, DType::Bool, DType::U16),
        pair(Policy::Numpy, DType::F16, DType::BF16),
        pair(Policy::Jax, DType::F8E5M2, DType::F32),
    );
}

#[test]
fn refused_operands() {
    let result = |policy: Policy, operands: &[Operand]| {
        message(policy.result_type("result_type", operands, DType::F32))
    };
    let float = Operand::Scalar(ScalarKind::Float);
    let complex = Operand::Scalar(ScalarKind::Complex);
    let zero_dim = [Operand::Array(DType::BF16), Operand::ZeroDim(DType::C64)];
    assert_messages!(
        result(Policy::Standard, &[]),
        result(
            Policy::Standard,
            &[DType::U64, DType::I8, DType::I16].map(Operand::Array)
        ),
        result(Policy::Strict, &[Operand::Array(DType::I32), float]),
        result(Policy::Exact, &[Operand::Array(DType::I64), float]),
        result(Policy::Torch, &[Operand::Array(DType::F16), complex]),
        result(Policy::Torch, &zero_dim),
    );
}

#[test]
fn bad_scalars() {
    assert_messages!(
        message(Scalar::new(300, DType::I8)),
        message(Scalar::new(-1, DType::U64)),
        message(Scalar::new(i128::MAX, DType::I64)),
        message(Scalar::new(1.5, DType::I32)),
        message(Scalar::new(
            WeakScalar::Complex(num_complex_i()),
            DType::F32
        )),
    );
}

fn num_complex_i() -> allotrope_dtype::c128 {
    allotrope_dtype::c128::new(0.0, 1.0)
}

#[test]
fn refused_casts() {
    let raise = CastOptions::overflow(Overflow::Raise);
    let wrap = CastOptions::overflow(Overflow::Wrap);
    let ieee = CastOptions::overflow(Overflow::Ieee);
    let stochastic = CastOptions::rounding(Rounding::Stochastic { seed: 0, offset: 0 });
    let mut floats = [0.0_f32; 2];
    let mut bytes = [0_u8; 2];
    let complex = [allotrope_dtype::c64::new(1.0, 2.0); 2];
    let odd = cast_bytes(
        DType::F32,
        &[0; 7],
        DType::U8,
        &mut [0; 2],
        CastOptions::default(),
    );
    assert_messages!(
        message(cast_slice(&[1.0_f32, f32::NAN], &mut bytes, raise)),
        message(cast_slice(&[1_i64, -7], &mut bytes, raise)),
        message(cast_slice(&[1.0, 1e300], &mut floats, raise)),
        message(cast_slice(&[1.0, 1e300], &mut floats, wrap)),
        message(cast_slice(&[1.0_f32, 2.0], &mut bytes, ieee)),
        message(cast_slice(&[1_i32, 2], &mut bytes, ieee)),
        message(cast_slice(&[1.0_f32, 2.0], &mut bytes, stochastic)),
        message(cast_slice(&complex, &mut floats, CastOptions::default())),
        message(cast_slice(
            &[1.0_f32; 3],
            &mut floats,
            CastOptions::default()
        )),
        message(odd),
    );
}

#[test]
fn refused_arguments() {
    let refuse = |op, problem| message::<()>(Err(Error::new(op, problem)));
    let out_of_range = |index, value: f64| Problem::OutOfRange {
        what: "probability",
        index,
        value: format!("{value:?}"),
        accepted: "0 to 1",
    };
    let empty = Problem::EmptyInterval {
        low: "7".to_owned(),
        high: "3".to_owned(),
    };
    let wide = Problem::WideInterval {
        low: -3e38,
        high: 3e38,
        dtype: DType::F32,
    };
    let inexact = |value, dtype| Problem::InexactInteger { value, dtype };
    let state = Problem::BadState {
        dtype: DType::F32,
        shape: vec![2, 3],
    };
    let sizes = Problem::SplitMismatch {
        sizes: vec![1, 2],
        dim: 0,
        size: 5,
    };
    let part = Problem::PartOutOfRange {
        start: -7,
        length: 3,
        dim: 1,
        size: 4,
    };
    let dimensions = Problem::TooManyDimensions { given: 3, most: 2 };
    let few = Problem::TooFewDimensions { given: 1, least: 2 };
    let shapes = |dim| Problem::ShapesDiffer {
        lhs: vec![2, 3],
        rhs: vec![2, 4],
        dim,
    };
    let multiple = Problem::NotMultiple {
        what: "the number of channels",
        given: 6,
        of: 4,
    };
    let shape = Problem::WrongShape {
        what: "index",
        given: vec![4, 2],
        accepted: "sizes of at most [3, 2] but for dimension 1".to_owned(),
    };
    let weight = Problem::WrongShape {
        what: "weight",
        given: vec![2],
        accepted: "[4]".to_owned(),
    };
    assert_messages!(
        refuse("randint", empty),
        refuse("uniform", wide),
        refuse("randint", inexact(300, DType::F8E5M2)),
        refuse("randperm", inexact(1 << 60, DType::F64)),
        refuse("bernoulli", out_of_range(None, 1.5)),
        refuse("bernoulli", out_of_range(Some(3), f64::NAN)),
        refuse("set_state", state),
        refuse("split", sizes),
        refuse("narrow", part),
        refuse("t", dimensions),
        refuse("tril", few),
        refuse("cat", shapes(Some(0))),
        refuse("stack", shapes(None)),
        refuse("channel_shuffle", multiple),
        refuse("gather", shape),
        refuse("layer_norm", weight),
    );
}

#[test]
fn refused_filters() {
    let filters = |weight: &[usize], groups: usize, taken| {
        let (input, weight) = (vec![1, 3, 8, 8], weight.to_vec());
        let problem = Problem::BadFilters {
            input,
            weight,
            groups,
            taken,
        };
        message::<()>(Err(Error::new("conv2d", problem)))
    };
    assert_messages!(
        filters(&[4, 2, 3, 3], 1, Some(2)),
        filters(&[4, 2, 3, 3], 2, Some(4)),
        filters(&[4, 2, 3], 1, None),
    );
}

#[test]
fn refused_memory() {
    let refuse = |problem| message::<()>(Err(Error::new("from_dlpack", problem)));
    assert_messages!(
        refuse(Problem::CopyNeeded {
            reason: "the strides are not whole elements".to_owned()
        }),
        refuse(Problem::MalformedTensor {
            reason: "a size is negative".to_owned()
        }),
        refuse(Problem::UnknownDLPackType { code: 17, bits: 4 }),
        refuse(Problem::VectorElements { lanes: 4 }),
        refuse(Problem::ForeignDevice {
            given: "CUDA 0".to_owned(),
            available: "cpu".to_owned(),
        }),
    );
}

#[test]
fn overflowed_results() {
    let overflowed = |dtype, is_nan, index: &[usize], given: &str| {
        let index = index.to_vec();
        let given = given.to_owned();
        let problem = Problem::Overflowed {
            dtype,
            is_nan,
            index,
            given,
        };
        message::<()>(Err(Error::new("add", problem)))
    };
    assert_messages!(
        overflowed(DType::I8, false, &[3], "100 + 100"),
        overflowed(DType::U64, false, &[0, 2], "the result is about 3e20"),
        overflowed(DType::F16, false, &[], "60000.0 * 2.0 is inf"),
        overflowed(DType::F32, true, &[1], "log(-1.0) is nan"),
    );
}

#[test]
fn refused_devices() {
    let refuse = |op, problem| message::<()>(Err(Error::new(op, problem)));
    let given = "gpu";
    assert_messages!(
        refuse(
            "add",
            Problem::DevicesDiffer {
                lhs: "cpu".to_owned(),
                rhs: "gpu:1".to_owned(),
            }
        ),
        refuse(
            "sort",
            Problem::HostedRefused {
                device: "gpu".to_owned(),
            }
        ),
        refuse(
            "to",
            Problem::DemotionRefused {
                device: "gpu".to_owned(),
                dtype: DType::F64,
                storage: DType::F32,
            }
        ),
        message::<()>(Err(
            Error::new("fft", Problem::NotOnDevice { given }).hint("x.to(\"cpu\")")
        )),
        refuse("item", Problem::NoValues { given: "meta" }),
        refuse(
            "exp",
            Problem::DeviceFailure {
                device: "gpu",
                reason: "it was removed".to_owned(),
            }
        ),
    );
}

#[test]
fn refused_files() {
    let refuse = |op, problem| message::<()>(Err(Error::new(op, problem)));
    let path = || "model.safetensors".to_owned();
    assert_messages!(
        refuse(
            "load",
            Problem::FileAccess {
                path: path(),
                cause: std::io::ErrorKind::NotFound,
                reason: "No such file or directory (os error 2)".to_owned(),
            }
        ),
        refuse(
            "load",
            Problem::DamagedFile {
                path: path(),
                reason: "the header has 9 bytes, the file 8".to_owned(),
            }
        ),
        refuse(
            "load",
            Problem::UnknownFileDType {
                path: path(),
                given: "F6_E2M3 of 'weight'".to_owned(),
            }
        ),
        refuse(
            "save",
            Problem::NotSaved {
                given: "metadata in an .npy file".to_owned(),
                accepted: "safetensors files have metadata",
            }
        ),
        refuse(
            "load_state_dict",
            Problem::StateMismatch {
                missing: (0..10).map(|i| format!("'layers.{i}.bias'")).collect(),
                unexpected: vec![],
                wrong: vec!["'head.weight' is [2, 3], not [3, 3]".to_owned()],
            }
        ),
    );
}

#[test]
fn refused_products() {
    let refuse = |op, problem| message::<()>(Err(Error::new(op, problem)));
    let inner = Problem::InnerMismatch {
        lhs: vec![2, 3],
        rhs: vec![4, 5],
        inner: (3, 4),
    };
    let rank = Problem::WrongRank {
        what: "the second operand",
        shape: vec![3],
        accepted: "2 are",
    };
    let equation = Problem::BadEquation {
        equation: "i->j".to_owned(),
        reason: "no operand has 'j'".to_owned(),
    };
    let shapes = Problem::ShapesDoNotFit {
        what: "lists of matrices",
        shapes: vec![vec![2, 1, 1], vec![3, 1, 1]],
        accepted: "lists of one length are",
    };
    assert_messages!(
        refuse("matmul", inner),
        refuse("mm", rank),
        refuse("einsum", equation),
        refuse("bmm", shapes),
    );
}

#[test]
fn refused_matrices() {
    let refuse = |problem| message::<()>(Err(Error::new("linalg.solve", problem)));
    let (shape, rhs) = (vec![2, 3], vec![4]);
    let lhs = shape.clone();
    let (index, none) = (Some(7), None);
    assert_messages!(
        refuse(Problem::NotAMatrix { shape: rhs.clone() }),
        refuse(Problem::NotSquare { shape }),
        refuse(Problem::SizesDoNotFit { lhs, rhs }),
        refuse(Problem::SingularMatrix { index, pivot: 2 }),
        refuse(Problem::SingularMatrix {
            index: none,
            pivot: 2
        }),
        refuse(Problem::NotPositiveDefinite { index, row: 1 }),
        refuse(Problem::NotFinite { index }),
        refuse(Problem::NoConvergence { index: none }),
    );
}

#[test]
fn refused_gradients() {
    use allotrope_dtype::GradientProblem as Gradient;
    let refuse = |problem: Gradient| message::<()>(Err(Error::new("backward", problem.into())));
    let (given, expected) = (vec![2], vec![3]);
    let (what, index, dtype) = ("operand", 1, DType::I64);
    let not_finite = |origin: Option<&str>| Gradient::NotFinite {
        found: "NaN",
        what: "gradient",
        through: "sqrt",
        origin: origin.map(str::to_owned),
    };
    assert_messages!(
        refuse(Gradient::NotDifferentiable { dtype }),
        refuse(Gradient::NotRecorded { through: None }),
        refuse(Gradient::NotRecorded {
            through: Some("floor")
        }),
        refuse(Gradient::NotSingle {
            shape: given.clone()
        }),
        refuse(Gradient::Freed { through: "exp" }),
        refuse(Gradient::InferenceMode),
        refuse(Gradient::WrongShape {
            what,
            index,
            given,
            expected
        }),
        refuse(Gradient::WrongDType {
            what,
            index,
            given: dtype,
            expected: DType::F32
        }),
        refuse(Gradient::WrongCount {
            given: 1,
            expected: 2
        }),
        refuse(Gradient::Unused { index }),
        refuse(Gradient::LeafChanged),
        refuse(Gradient::UnrecordedView),
        refuse(Gradient::NotLeaf {
            wanted: "no gradient"
        }),
        refuse(not_finite(Some("train.py:12"))),
        refuse(not_finite(None)),
        refuse(Gradient::Mismatch {
            input: 0,
            element: 3,
            found: "1".to_owned(),
            expected: "2".to_owned()
        }),
        refuse(Gradient::Callback {
            message: "lost".to_owned()
        }),
        refuse(Gradient::WrongAutocast {
            given: DType::I8,
            accepted: vec![DType::BF16, DType::F16]
        }),
        refuse(Gradient::ScalerOrder {
            what: "update needs a step or unscale_ before it"
        }),
    );
}

#[test]
fn refused_writes() {
    let refuse = |op, problem| message::<()>(Err(Error::new(op, problem)));
    assert_messages!(
        refuse(
            "add",
            Problem::HigherKind {
                given: DType::F32,
                target: DType::I64
            }
        ),
        refuse(
            "mul",
            Problem::ShapeChanged {
                given: vec![2, 3],
                target: vec![3]
            }
        ),
        refuse(
            "fill_",
            Problem::SharedElements {
                shape: vec![3, 2],
                strides: vec![1, 0]
            }
        ),
        refuse(
            "view",
            Problem::NoView {
                strides: vec![1, 3],
                from: vec![3, 2],
                to: vec![6]
            }
        ),
    );
}

#[test]
fn errors_of_programs_themselves() {
    use std::error::Error as _;
    let other = Error::other("no labels").in_op("checkpoint");
    assert_eq!((other.op(), other.to_string().as_str()), ("", "no labels"));
    assert!(other.source().is_none() && other == Error::other("no labels"));
    assert_eq!(other.kind(), ErrorKind::Other);

    let refused = || std::io::Error::new(std::io::ErrorKind::NotFound, "gone");
    let file = Error::wrap(refused());
    assert_eq!(
        (file.kind(), file.to_string().as_str()),
        (ErrorKind::File, "gone")
    );
    let source = file
        .source()
        .and_then(|source| source.downcast_ref::<std::io::Error>());
    assert_eq!(
        source.map(std::io::Error::kind),
        Some(std::io::ErrorKind::NotFound)
    );
    // Two refusals are two errors; a copy is the same one.
    assert!(file == file.clone() && file != Error::wrap(refused()));

    // What `anyhow` and threads want of an error.
    fn kept<E: std::error::Error + Send + Sync + 'static>(error: E) -> Box<dyn std::error::Error> {
        Box::new(error)
    }
    assert_eq!(kept(file).to_string(), "gone");
}
