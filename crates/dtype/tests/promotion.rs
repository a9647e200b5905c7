//! Promotion against the answers of other libraries, cell by cell, and the laws of the lattice.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod reference;

use allotrope_dtype::{DType, Kind, Operand, Policy, ScalarKind, explain_promotion};
use reference::{known, oracle};

/// Every row of a table of pairs: left, right and what the library answers.
fn pairs(name: &str) -> Vec<(DType, DType, String)> {
    let rows: Vec<_> = oracle(name)
        .into_iter()
        .map(|row| {
            (
                known(&row[0]).unwrap(),
                known(&row[1]).unwrap(),
                row[2].clone(),
            )
        })
        .collect();
    assert_eq!(
        rows.len(),
        DType::COUNT * DType::COUNT,
        "{name} covers every ordered pair"
    );
    rows
}

fn assert_equals_oracle(policy: Policy, table: &str) {
    for (lhs, rhs, want) in pairs(table) {
        let want = known(&want);
        assert_eq!(policy.promote(lhs, rhs), want, "{policy}: {lhs} with {rhs}");
        assert_eq!(
            policy.join([lhs, rhs]),
            want,
            "{policy}: join of {lhs} and {rhs}"
        );
    }
}

#[test]
fn torch_equals_its_oracle() {
    assert_equals_oracle(Policy::Torch, "promotion_torch.csv");
}

#[test]
fn numpy_equals_its_oracle() {
    assert_equals_oracle(Policy::Numpy, "promotion_numpy.csv");
}

#[test]
fn jax_equals_its_oracle() {
    assert_equals_oracle(Policy::Jax, "promotion_jax.csv");
}

#[test]
fn strict_equals_the_strict_mode_of_jax() {
    // No differences to list: both refuse every pair of different dtypes and nothing else.
    assert_equals_oracle(Policy::Strict, "promotion_jax_strict.csv");
}

#[test]
fn torch_zero_dim_rule_equals_its_oracle() {
    for (dimensioned, zero_dim, want) in pairs("promotion_torch_zero_dim.csv") {
        let operands = [Operand::Array(dimensioned), Operand::ZeroDim(zero_dim)];
        let got = Policy::Torch.result_type("add", &operands, DType::F32).ok();
        // torch's half complex dtypes do not exist here: those cells are refused, never widened.
        let missing = ["complex32", "bcomplex32"].contains(&want.as_str());
        assert_eq!(got, known(&want), "{dimensioned} with 0-d {zero_dim}");
        assert!(
            got.is_some() || missing || want == "error",
            "{dimensioned} with 0-d {zero_dim}"
        );
    }
}

#[test]
fn other_policies_do_not_tell_zero_dim_tensors_apart() {
    for policy in Policy::ALL.into_iter().filter(|p| *p != Policy::Torch) {
        for lhs in DType::ALL {
            for rhs in DType::ALL {
                let zero_dim = [Operand::Array(lhs), Operand::ZeroDim(rhs)];
                let array = [Operand::Array(lhs), Operand::Array(rhs)];
                let result = |operands| policy.result_type("add", operands, DType::F32).ok();
                assert_eq!(
                    result(&zero_dim),
                    result(&array),
                    "{policy}: {lhs} with {rhs}"
                );
            }
        }
    }
}

#[test]
fn scalars_equal_their_oracle() {
    let kinds = [
        ("bool", ScalarKind::Bool),
        ("int", ScalarKind::Int),
        ("float", ScalarKind::Float),
        ("complex", ScalarKind::Complex),
    ];
    let rows = oracle("promotion_scalar.csv");
    assert_eq!(rows.len(), DType::COUNT * kinds.len());
    for row in rows {
        let dtype = known(&row[0]).unwrap();
        let (_, kind) = kinds.into_iter().find(|(name, _)| *name == row[1]).unwrap();
        for (policy, want) in [Policy::Torch, Policy::Numpy, Policy::Jax]
            .into_iter()
            .zip(&row[2..])
        {
            let got = policy.promote_scalar(dtype, kind, DType::F32);
            assert_eq!(
                got,
                known(want),
                "{policy}: {dtype} with a {} scalar",
                row[1]
            );
        }
    }
}

#[test]
fn standard_agrees_with_torch_wherever_torch_answers() {
    for (lhs, rhs, want) in pairs("promotion_torch.csv") {
        if let Some(want) = known(&want) {
            assert_eq!(
                Policy::Standard.promote(lhs, rhs),
                Some(want),
                "{lhs} with {rhs}"
            );
        }
    }
}

#[test]
fn standard_fills_in_what_torch_leaves_open() {
    let float8 = |d: DType| d.is_floating_point() && d.bits() == 8;
    let promote = |a, b| Policy::Standard.promote(a, b);
    for a in DType::ALL {
        assert_eq!(promote(DType::Bool, a), Some(a));
        for b in DType::ALL.into_iter().filter(|b| *b != a) {
            match (a.kind(), b.kind()) {
                (Kind::Signed, Kind::Unsigned) if b.bits() == 64 => assert_eq!(promote(a, b), None),
                (Kind::Signed, Kind::Unsigned) => {
                    let result = promote(a, b).unwrap();
                    assert_eq!(result.kind(), Kind::Signed);
                    assert_eq!(result.bits(), a.bits().max(2 * b.bits()), "{a} with {b}");
                }
                (Kind::Unsigned, Kind::Complex) => assert_eq!(promote(a, b), Some(b)),
                _ if float8(a) && (float8(b) || b.is_integer()) => {
                    assert_eq!(promote(a, b), Some(DType::BF16), "{a} with {b}");
                }
                _ if float8(a) && b == DType::F16 => assert_eq!(promote(a, b), Some(DType::F32)),
                _ if float8(a) && b.is_floating_point() => assert_eq!(promote(a, b), Some(b)),
                _ => {}
            }
        }
    }
}

#[test]
fn every_policy_is_commutative_and_idempotent() {
    for policy in Policy::ALL {
        for a in DType::ALL {
            assert_eq!(policy.promote(a, a), Some(a), "{policy}: {a}");
            for b in DType::ALL {
                assert_eq!(
                    policy.promote(a, b),
                    policy.promote(b, a),
                    "{policy}: {a} with {b}"
                );
            }
        }
    }
}

#[test]
fn our_policies_are_associative_wherever_both_sides_are_defined() {
    for policy in [Policy::Standard, Policy::Strict, Policy::Exact] {
        for a in DType::ALL {
            for b in DType::ALL {
                for c in DType::ALL {
                    let left = policy.promote(a, b).and_then(|ab| policy.promote(ab, c));
                    let right = policy.promote(b, c).and_then(|bc| policy.promote(a, bc));
                    if let (Some(left), Some(right)) = (left, right) {
                        assert_eq!(left, right, "{policy}: {a}, {b}, {c}");
                        assert_eq!(
                            policy.join([a, b, c]),
                            Some(left),
                            "{policy}: {a}, {b}, {c}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn standard_is_total_but_for_uint64_with_signed_integers() {
    for a in DType::ALL {
        for b in DType::ALL {
            let refused = |a: DType, b: DType| a == DType::U64 && b.kind() == Kind::Signed;
            let want = refused(a, b) || refused(b, a);
            assert_eq!(
                Policy::Standard.promote(a, b).is_none(),
                want,
                "{a} with {b}"
            );
        }
    }
}

#[test]
fn a_set_is_joined_as_a_whole_so_that_order_never_matters() {
    let set = [DType::I8, DType::U64, DType::F16];
    assert_eq!(Policy::Standard.join(set), Some(DType::F16));
    for policy in Policy::ALL {
        for a in DType::ALL {
            for b in DType::ALL {
                for c in DType::ALL {
                    let join = policy.join([a, b, c]);
                    let operands = [c, a, b].map(Operand::Array);
                    assert_eq!(policy.join([b, c, a]), join);
                    assert_eq!(policy.result_type("add", &operands, DType::F32).ok(), join);
                }
            }
        }
    }
}

#[test]
fn exact_loses_no_value_and_never_differs_from_standard() {
    for a in DType::ALL {
        for b in DType::ALL {
            let standard = Policy::Standard.promote(a, b);
            let lossless = standard.filter(|common| a.fits_in(*common) && b.fits_in(*common));
            assert_eq!(Policy::Exact.promote(a, b), lossless, "{a} with {b}");
        }
    }
    assert_eq!(
        Policy::Exact.promote(DType::I16, DType::F32),
        Some(DType::F32)
    );
    assert_eq!(Policy::Exact.promote(DType::I32, DType::F32), None);
    assert_eq!(Policy::Exact.promote(DType::I16, DType::F16), None);
}

#[test]
fn fits_in_is_true_exactly_where_all_values_survive_the_round_trip() {
    use allotrope_dtype::{CastOptions, cast_bytes};
    // Enumerable sources: all codes there and back.
    for from in DType::ALL.into_iter().filter(|d| d.bits() <= 16) {
        let src: Vec<u8> = match from.bits() {
            8 => (0..=u8::MAX).collect(),
            _ => (0..=u16::MAX).flat_map(u16::to_le_bytes).collect(),
        };
        let count = src.len() / from.itemsize();
        for to in DType::ALL
            .into_iter()
            .filter(|d| !d.is_complex() && d.kind() != Kind::Bool)
        {
            let mut there = vec![0_u128; (count * to.itemsize()).div_ceil(16)];
            let there = &mut bytemuck::cast_slice_mut(&mut there)[..count * to.itemsize()];
            let mut back = vec![0_u128; src.len().div_ceil(16)];
            let back: &mut [u8] = &mut bytemuck::cast_slice_mut(&mut back)[..src.len()];
            let mut aligned = back.to_vec();
            aligned.copy_from_slice(&src);
            cast_bytes(from, &aligned, to, there, CastOptions::default()).unwrap();
            cast_bytes(to, there, from, back, CastOptions::default()).unwrap();
            let as_number = |bytes: &[u8]| -> Vec<f64> {
                let mut wide = vec![0.0_f64; count];
                let options = CastOptions::default();
                cast_bytes(
                    from,
                    bytes,
                    DType::F64,
                    bytemuck::cast_slice_mut(&mut wide),
                    options,
                )
                .unwrap();
                wide
            };
            // A wrapped integer comes back as it was: its value on the other side must be the same.
            let mut other = vec![0.0_f64; count];
            let options = CastOptions::default();
            cast_bytes(
                to,
                there,
                DType::F64,
                bytemuck::cast_slice_mut(&mut other),
                options,
            )
            .unwrap();
            let survives = as_number(&aligned)
                .iter()
                .zip(as_number(back))
                .zip(&other)
                .all(|((before, after), there)| {
                    before.is_nan() && after.is_nan() && there.is_nan()
                        || *before == after
                            && before == there
                            && before.is_sign_negative() == there.is_sign_negative()
                });
            assert_eq!(from.fits_in(to), survives, "{from} in {to}");
        }
    }
}

#[test]
fn scalars_alone_have_the_default_dtype_of_their_kind() {
    let result = |policy: Policy, kind| {
        policy
            .result_type("add", &[Operand::Scalar(kind)], DType::BF16)
            .unwrap()
    };
    assert_eq!(result(Policy::Standard, ScalarKind::Float), DType::BF16);
    assert_eq!(result(Policy::Torch, ScalarKind::Complex), DType::C64);
    for peer in [Policy::Numpy, Policy::Jax] {
        assert_eq!(result(peer, ScalarKind::Float), DType::F64);
        assert_eq!(result(peer, ScalarKind::Complex), DType::C128);
        assert_eq!(result(peer, ScalarKind::Int), DType::I64);
    }
}

#[test]
fn scalars_are_weak() {
    let promote = |dtype, kind| Policy::Standard.promote_scalar(dtype, kind, DType::BF16);
    assert_eq!(promote(DType::I8, ScalarKind::Int), Some(DType::I8));
    assert_eq!(promote(DType::I8, ScalarKind::Float), Some(DType::BF16));
    assert_eq!(promote(DType::Bool, ScalarKind::Int), Some(DType::I64));
    assert_eq!(promote(DType::F64, ScalarKind::Complex), Some(DType::C128));
    assert_eq!(promote(DType::F16, ScalarKind::Complex), Some(DType::C64));
    assert_eq!(promote(DType::U8, ScalarKind::Complex), Some(DType::C64));
    assert_eq!(
        promote(DType::F8E4M3Fn, ScalarKind::Float),
        Some(DType::F8E4M3Fn)
    );
    for kind in [
        ScalarKind::Bool,
        ScalarKind::Int,
        ScalarKind::Float,
        ScalarKind::Complex,
    ] {
        for dtype in DType::ALL {
            let strict = Policy::Strict.promote_scalar(dtype, kind, DType::F32);
            assert_eq!(strict.is_some(), kind <= ScalarKind::of(dtype), "{dtype}");
            let exact = Policy::Exact.promote_scalar(dtype, kind, DType::F32);
            assert!(exact.is_none_or(|wider| dtype.fits_in(wider)));
        }
    }
}

#[test]
fn explanations_name_the_result_and_end_in_one_sentence() {
    for policy in Policy::ALL {
        for a in DType::ALL {
            for b in DType::ALL {
                let text = explain_promotion(policy, a, b);
                let answer = policy.promote(a, b).map_or("refused", DType::name);
                assert!(
                    text.starts_with(&format!("{a} with {b} is {answer}: ")),
                    "{text}"
                );
                assert!(
                    text.ends_with('.') && text.matches(". ").count() == 0,
                    "{text}"
                );
            }
        }
    }
}
