//! The references themselves, against vectors of 60 digits and other libraries.

use allotrope_conformance::double::Double;
use allotrope_conformance::oracle::{Exact, answer, real};
use allotrope_conformance::sample;
use allotrope_dtype::{DType, WeakScalar, c128};
use allotrope_op::Op;

/// The vectors of a file: name, arguments, answer.
fn vectors(text: &'static str) -> impl Iterator<Item = (&'static str, Vec<f64>, Double)> {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let mut words = line.split(',');
            let name = words.next().unwrap();
            let bits = words.map(|word| f64::from_bits(u64::from_str_radix(word, 16).unwrap()));
            let mut numbers: Vec<f64> = bits.collect();
            let lo = numbers.pop().unwrap();
            let hi = numbers.pop().unwrap();
            (name, numbers, Double::pair(hi, lo))
        })
}

#[test]
fn doubles_have_their_digits() {
    let files = [
        include_str!("../../../op/tests/elementary_f64.csv"),
        include_str!("../../../op/tests/special_f64.csv"),
    ];
    let mut worst = std::collections::BTreeMap::new();
    for (name, args, want) in files.into_iter().flat_map(vectors) {
        let op = Op::from_name(name).unwrap();
        // The reference squares its arguments, and has no range to spare at either end.
        let ordinary = |x: f64, most: f64| x.abs() > 1e-280 && x.abs() < most;
        if !args.iter().all(|x| ordinary(*x, 1e150)) || !ordinary(want.hi, 1e300) {
            continue;
        }
        let wide: Vec<Double> = args.iter().map(|x| Double::new(*x)).collect();
        let got = real(op, &wide);
        let scale = want
            .hi
            .abs()
            .max(allotrope_conformance::oracle::scale(op, DType::F64, &args));
        let error = (got - want).hi.abs() / scale;
        let entry = worst
            .entry(name)
            .or_insert((0.0_f64, args.clone(), got, want));
        if error > entry.0 || error.is_nan() {
            *entry = (error, args, got, want);
        }
    }
    // Far below the last place of float64, at 2⁻⁵³. Shares of Γ are exponentials of terms as great as their
    // arguments, times a logarithm.
    for (name, (error, args, got, want)) in worst {
        let most = match name.starts_with("igamma") {
            true => args
                .iter()
                .fold(2e-25, |most, x| x.abs().mul_add(1e-30, most)),
            false => 2e-25,
        };
        assert!(error < most, "{name}{args:?}: {error:e}: {got:?} {want:?}");
    }
}

#[test]
fn complex_references_agree_with_num_complex() {
    type Function = fn(c128) -> c128;
    let functions: [(Op, Function); 18] = [
        (Op::Exp, |z| z.exp()),
        (Op::Log, |z| z.ln()),
        (Op::Log2, |z| z.log2()),
        (Op::Log10, |z| z.log10()),
        (Op::Sqrt, |z| z.sqrt()),
        (Op::Sin, |z| z.sin()),
        (Op::Cos, |z| z.cos()),
        (Op::Tan, |z| z.tan()),
        (Op::Asin, |z| z.asin()),
        (Op::Acos, |z| z.acos()),
        (Op::Atan, |z| z.atan()),
        (Op::Sinh, |z| z.sinh()),
        (Op::Cosh, |z| z.cosh()),
        (Op::Tanh, |z| z.tanh()),
        (Op::Asinh, |z| z.asinh()),
        (Op::Acosh, |z| z.acosh()),
        (Op::Atanh, |z| z.atanh()),
        (Op::Reciprocal, |z| z.inv()),
    ];
    for (op, function) in functions {
        for value in &sample::domain(op, DType::C128, 200).unwrap()[0].values {
            let WeakScalar::Complex(z) = *value else {
                panic!("{value:?} is not complex");
            };
            let Some(Exact::Complex(got)) = answer(op, DType::C128, &[*value]) else {
                panic!("{} has no answer", op.name());
            };
            let (got, want) = (c128::new(got.re.hi, got.im.hi), function(z));
            // num-complex cancels near zeros.
            let error = (got - want).norm() / want.norm().max(1e-3);
            assert!(error < 1e-9, "{}({z}): {got}, {want}", op.name());
        }
    }
}
