//! Functions of one number are correctly rounded in narrow floats.

use allotrope_conformance::arrange::Arrangement;
use allotrope_conformance::rounding::{self, Function};
use allotrope_dtype::{DType, Level};
use allotrope_op::{Op, Program};
use rayon::prelude::*;

/// A function alone, and in a longer program, whose first output it is.
fn programs(function: &Function, dtype: DType) -> [Program; 2] {
    let alone = function.program(dtype).unwrap();
    let mut longer = alone.clone();
    let result = longer.convert(alone.outputs()[0], dtype.compute());
    let other = longer.apply(Op::Neg, &[result]);
    let other = longer.convert(other, dtype);
    longer.output(other);
    [alone, longer]
}

/// The results that are not the nearest numbers, in words.
fn misrounded(function: &Function, dtype: DType) -> Vec<String> {
    let codes = rounding::codes(dtype).unwrap();
    let answers = function.answers(&codes).unwrap();
    let [alone, longer] = programs(function, dtype);
    let ways = [
        ("alone", &alone, Arrangement::Contiguous),
        ("alone", &alone, Arrangement::Transposed),
        ("in a program", &longer, Arrangement::Contiguous),
    ];
    let all = Level::available().flat_map(|level| ways.map(|way| (level, way)));
    let wrong = all.filter_map(|(level, (name, program, arrangement))| {
        let results = rounding::run(program, &codes, level, arrangement).unwrap();
        let places = function.misrounded(&results, &answers);
        let first = *places.first()?;
        let (x, got, want) = (codes.values[first], results.values[first], answers[first]);
        let (op, count) = (function.op.name(), places.len());
        Some(format!(
            "{op} {dtype} {name}, {arrangement:?} at {level}: {count}, first {got:?} for {want:?} of {x:?}"
        ))
    });
    wrong.collect()
}

#[test]
fn every_result_in_narrow_floats_is_the_nearest() {
    let functions = rounding::functions();
    let wrong = functions
        .par_iter()
        .flat_map_iter(|function| rounding::dtypes().flat_map(|dtype| misrounded(function, dtype)));
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "misrounded:\n{}", wrong.join("\n"));
}
