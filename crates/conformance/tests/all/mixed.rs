//! Operands of two dtypes: every pair through a few rows of each sort.

use allotrope_conformance::cell::working_dtype;
use allotrope_conformance::column::Column;
use allotrope_conformance::report::Report;
use allotrope_conformance::sample::{Random, extremes};
use allotrope_dtype::{
    DType, ErrorKind, Operand as Promoted, Policy, ScalarKind, WeakScalar, default_dtype,
    scoped_promotion,
};
use allotrope_op::{Cell, Op, Signature};
use allotrope_tensor::{Operand, Tensor};

/// Numbers where dtypes begin to differ, and their neighbours.
fn column(dtype: DType, seed: u64) -> Column {
    let edges = [8, 11, 15, 16, 24, 31, 32, 53, 63, 64, 65].map(|bits| 1_i128 << bits);
    let near = edges.iter().flat_map(|edge| [edge - 1, *edge, edge + 1]);
    let near: Vec<i128> = near.chain(-3..=3).flat_map(|x| [x, -x]).collect();
    let mut values: Vec<WeakScalar> = match dtype.integer_range() {
        Some(_) if dtype == DType::Bool => [true, false].map(WeakScalar::Bool).to_vec(),
        Some((least, most)) => {
            let held = near.iter().filter(|x| (least..=most).contains(x));
            held.map(|x| WeakScalar::Int(*x)).collect()
        }
        None => {
            let special = extremes(Op::Positive, dtype.to_real()).unwrap();
            let near = near.iter().map(|x| WeakScalar::Float(*x as f64));
            near.chain(special[0].values.iter().copied()).collect()
        }
    };
    // In an order of its own, so that every value meets many others.
    let mut random = Random::seeded(seed);
    let shuffled = (0..400).map(|_| {
        let value = random.pick(&values);
        match value {
            WeakScalar::Float(re) if dtype.is_complex() => {
                let im = if random.bits().is_multiple_of(4) {
                    1.0
                } else {
                    0.0
                };
                WeakScalar::Complex(allotrope_dtype::c128::new(re, im))
            }
            other => other,
        }
    });
    values = shuffled.collect();
    Column::new(dtype, values).unwrap()
}

fn tensor(column: &Column) -> Tensor {
    Tensor::from_bytes(&column.bytes, &[column.len()], column.dtype).unwrap()
}

/// Positive exponents: integers have no answer to others.
fn exponents(dtype: DType) -> Tensor {
    let values = (0..400).map(|i| match dtype {
        DType::Bool => WeakScalar::Bool(i % 2 == 0),
        _ => WeakScalar::Int(i % 7),
    });
    tensor(&Column::new(dtype, values).unwrap())
}

fn same_bits(what: String, got: &Tensor, want: &Tensor) {
    assert_eq!(got.dtype(), want.dtype(), "{what}");
    let mut report = Report::new(what);
    let size = got.dtype().itemsize();
    let (got, want) = (got.to_bytes().unwrap(), want.to_bytes().unwrap());
    report.compare_bytes(&got, &want, size);
    assert!(report.is_good(), "{report}");
}

/// Under strict promotion truth values are no numbers.
fn refuses_truth(policy: Policy, op: Op, dtype: DType) -> bool {
    let is_arithmetic = matches!(op, Op::Add | Op::Mul | Op::Pow);
    policy == Policy::Strict && dtype == DType::Bool && is_arithmetic
}

/// A row on two dtypes: the common dtype and the bits of casting first, or the dtype error.
fn check_arithmetic(policy: Policy, op: Op) {
    let _scope = scoped_promotion(policy);
    let mut cells = 0;
    for a in DType::ALL {
        let x = tensor(&column(a, 1));
        for b in DType::ALL {
            let y = match op {
                Op::Pow => exponents(b),
                _ => tensor(&column(b, 2)),
            };
            let what = format!("{} {a} {b} under {policy}", op.name());
            let condition = tensor(&column(DType::Bool, 3));
            let apply = |x: &Tensor, y: &Tensor| match op.row().signature {
                Signature::Select => {
                    let operands = [(&condition).into(), x.into(), y.into()];
                    Tensor::apply(op, &operands)
                }
                _ => Tensor::apply(op, &[x.into(), y.into()]),
            };
            let got = apply(&x, &y);
            let operands = [Promoted::Array(a), Promoted::Array(b)];
            let common = policy.result_type(op.name(), &operands, default_dtype());
            let accepts = |dtype: &DType| match op.row().cell(dtype.kind()) {
                _ if refuses_truth(policy, op, *dtype) => false,
                Cell::Refuse => false,
                // Some policies make no float of an integer.
                Cell::Promote => {
                    let float = policy.promote_scalar(*dtype, ScalarKind::Float, default_dtype());
                    float.is_some()
                }
                _ => true,
            };
            match common.ok().filter(accepts) {
                Some(common) => {
                    let want = apply(&x.to(common).unwrap(), &y.to(common).unwrap());
                    same_bits(what, &got.unwrap(), &want.unwrap());
                }
                None => {
                    let kind = got.err().map(|error| error.kind());
                    assert_eq!(kind, Some(ErrorKind::Dtype), "{what}");
                }
            }
            cells += 1;
        }
    }
    assert_eq!(cells, DType::COUNT * DType::COUNT);
}

macro_rules! arithmetic {
    ($($name:ident $op:ident;)*) => {$(
        #[test]
        fn $name() {
            for policy in Policy::ALL {
                check_arithmetic(policy, Op::$op);
            }
        }
    )*};
}
arithmetic! {
    add_promotes Add;
    mul_promotes Mul;
    div_promotes Div;
    pow_promotes Pow;
    maximum_promotes Maximum;
    where_promotes Where;
}

/// A real number without rounding.
#[derive(Clone, Copy)]
enum Real {
    Int(i128),
    Float(f64),
}

impl Real {
    fn compare(self, other: Self) -> Option<std::cmp::Ordering> {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(&b)),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(&b),
            (Self::Float(_), Self::Int(_)) => other.compare(self).map(std::cmp::Ordering::reverse),
            (Self::Int(a), Self::Float(b)) => {
                if b.is_nan() {
                    return None;
                }
                // Beyond all integers; below, the whole part is one, and the rest breaks ties.
                if b.abs() > 1e30 {
                    return 0.0.partial_cmp(&b);
                }
                let whole = a.cmp(&(b.trunc() as i128));
                Some(whole.then_with(|| 0.0.partial_cmp(&b.fract()).unwrap()))
            }
        }
    }
}

/// The parts of a value.
fn parts(value: WeakScalar) -> (Real, f64) {
    match value {
        WeakScalar::Bool(value) => (Real::Int(value.into()), 0.0),
        WeakScalar::Int(value) => (Real::Int(value), 0.0),
        WeakScalar::Float(value) => (Real::Float(value), 0.0),
        WeakScalar::Complex(value) => (Real::Float(value.re), value.im),
    }
}

#[test]
fn comparisons_are_exact() {
    for a in DType::ALL {
        for b in DType::ALL {
            let (p, q) = (column(a, 1), column(b, 2));
            let (x, y) = (tensor(&p), tensor(&q));
            for op in [Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge] {
                let got = Tensor::apply(op, &[(&x).into(), (&y).into()]);
                let ordered = !matches!(op, Op::Eq | Op::Ne);
                if ordered && (a.is_complex() || b.is_complex()) {
                    assert_eq!(got.err().map(|e| e.kind()), Some(ErrorKind::Dtype));
                    continue;
                }
                let got = got.unwrap().to_bytes().unwrap();
                for (i, (left, right)) in p.values.iter().zip(&q.values).enumerate() {
                    let ((re, im), (other_re, other_im)) = (parts(*left), parts(*right));
                    let order = re.compare(other_re);
                    let equal = order.is_some_and(|o| o.is_eq()) && im == other_im;
                    let want = match op {
                        Op::Eq => equal,
                        Op::Ne => !equal,
                        Op::Lt => order.is_some_and(|o| o.is_lt()),
                        Op::Le => order.is_some_and(|o| o.is_le()),
                        Op::Gt => order.is_some_and(|o| o.is_gt()),
                        _ => order.is_some_and(|o| o.is_ge()),
                    };
                    let name = op.name();
                    assert_eq!(
                        got[i],
                        u8::from(want),
                        "{left:?} {name} {right:?} ({a}, {b})"
                    );
                }
            }
        }
    }
}

#[test]
fn scalars_take_the_dtype_they_fit() {
    let scalars = [
        (WeakScalar::Bool(true), ScalarKind::Bool),
        (WeakScalar::Int(3), ScalarKind::Int),
        (WeakScalar::Float(0.3), ScalarKind::Float),
        (
            WeakScalar::Complex(allotrope_dtype::c128::new(0.3, 2.0)),
            ScalarKind::Complex,
        ),
    ];
    for policy in Policy::ALL {
        let _scope = scoped_promotion(policy);
        for dtype in DType::ALL {
            let x = tensor(&column(dtype, 1));
            for (scalar, kind) in scalars {
                for op in [Op::Add, Op::Mul, Op::Maximum, Op::Div] {
                    let got = Tensor::apply(op, &[(&x).into(), Operand::Scalar(scalar)]);
                    let what = format!("{} {dtype} {scalar} under {policy}", op.name());
                    let operands = [Promoted::Array(dtype), Promoted::Scalar(kind)];
                    let common = policy.result_type(op.name(), &operands, default_dtype());
                    let common = common.ok().filter(|d| working_dtype(op, *d).is_some());
                    let common = common.filter(|d| !refuses_truth(policy, op, *d));
                    let Some(common) = common else {
                        let kind = got.err().map(|error| error.kind());
                        assert_eq!(kind, Some(ErrorKind::Dtype), "{what}");
                        continue;
                    };
                    // Division makes a float first, and the scalar one with it.
                    if op == Op::Div && !allotrope_dtype::Set::Inexact.contains(common) {
                        continue;
                    }
                    let full = Tensor::full(&[x.count()], scalar, common).unwrap();
                    let cast = x.to(common).unwrap();
                    let want = Tensor::apply(op, &[(&cast).into(), (&full).into()]);
                    same_bits(what, &got.unwrap(), &want.unwrap());
                }
            }
        }
    }
}
