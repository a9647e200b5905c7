//! What the tests of gradients of structured operations share.

pub(crate) mod matrices;

use allotrope_dtype::{DType, Error, Set, c128};
use allotrope_op::Shape;
use allotrope_tensor::{
    BackwardOptions, Checked, Generator, GradcheckOptions, Tensor, grad, gradcheck, gradgradcheck,
};

pub(crate) type Function = fn(&[Tensor]) -> Result<Vec<Tensor>, Error>;

pub(crate) fn uniform(sizes: &[usize], low: f64, high: f64, seed: u64) -> Tensor {
    let shape = Shape::new("test", sizes).unwrap();
    let drawn = Tensor::rand(&shape, DType::F64, Some(&Generator::new(seed))).unwrap();
    drawn.mul(high - low).unwrap().add(low).unwrap()
}

/// A leaf of random float64.
pub(crate) fn leaf(sizes: &[usize], seed: u64) -> Tensor {
    let x = uniform(sizes, -2.0, 2.0, seed);
    x.requires_grad_(true).unwrap()
}

/// A leaf of random complex128.
pub(crate) fn complex_leaf(sizes: &[usize], seed: u64) -> Tensor {
    let re = uniform(sizes, -1.5, 1.5, seed);
    let im = uniform(sizes, -1.5, 1.5, seed + 99);
    let unit = Tensor::full(&[], c128::new(0.0, 1.0), DType::C128).unwrap();
    let im = im.to(DType::C128).unwrap().mul(&unit).unwrap();
    re.add(&im).unwrap().requires_grad_(true).unwrap()
}

pub(crate) fn integers(values: &[i64], sizes: &[usize]) -> Tensor {
    Tensor::from_slice(values, sizes).unwrap()
}

/// Checks first and second gradients of a function, and of its squares, so that the second ones are
/// not zero for linear functions.
pub(crate) fn check(
    what: &str,
    function: impl Fn(&[Tensor]) -> Result<Vec<Tensor>, Error>,
    inputs: &[Tensor],
) {
    let options = GradcheckOptions::default();
    gradcheck(&function, inputs, options).unwrap_or_else(|error| panic!("{what}: {error}"));
    let squared = |x: &[Tensor]| {
        let results = function(x)?;
        let inexact = results.iter().filter(|y| Set::Inexact.contains(y.dtype()));
        inexact.map(|y| y.mul(y)).collect()
    };
    gradgradcheck(&squared, inputs, options)
        .unwrap_or_else(|error| panic!("{what}, twice: {error}"));
}

/// Checks functions of one leaf of these sizes, of real and complex numbers.
pub(crate) fn check_all(sizes: &[usize], cases: &[(&str, Function)]) {
    for (what, function) in cases {
        check(what, function, &[leaf(sizes, 1)]);
        check(what, function, &[complex_leaf(sizes, 2)]);
    }
}

/// Checks functions of one leaf of these sizes, of real numbers.
pub(crate) fn check_real(sizes: &[usize], cases: &[(&str, Function)]) {
    for (what, function) in cases {
        check(what, function, &[leaf(sizes, 3)]);
    }
}

fn gradients(function: Checked<'_>, inputs: &[Tensor], dtype: DType) -> Result<Vec<Tensor>, Error> {
    let leaves = inputs
        .iter()
        .map(|x| x.detach().to(dtype)?.requires_grad_(true));
    let leaves = leaves.collect::<Result<Vec<Tensor>, Error>>()?;
    let results = function(&leaves)?;
    let generator = Generator::new(5);
    let weights = results.iter().map(|y| {
        let weight = Tensor::rand(y.shape(), DType::F32, Some(&generator))?;
        // Numbers that every dtype holds.
        weight.mul(8.0)?.floor()?.sub(3.5)?.to(y.dtype())
    });
    let weights = weights.collect::<Result<Vec<Tensor>, Error>>()?;
    let (results, weights): (Vec<&Tensor>, Vec<Option<&Tensor>>) =
        results.iter().zip(weights.iter().map(Some)).unzip();
    let leaves: Vec<&Tensor> = leaves.iter().collect();
    let found = grad(
        &results,
        &leaves,
        &weights,
        BackwardOptions::default(),
        false,
    )?;
    Ok(found.into_iter().flatten().collect())
}

/// Checks that gradients in narrow floats have their dtype, and are as near to those in float64 as
/// some roundings allow.
pub(crate) fn check_narrow(
    what: &str,
    function: impl Fn(&[Tensor]) -> Result<Vec<Tensor>, Error>,
    inputs: &[Tensor],
) {
    // Halves are computed in float32, and have only the roundings of what they are given.
    for (dtype, tolerance) in [
        (DType::F32, 32.0 * f64::from(f32::EPSILON)),
        (DType::F16, 4.0 / 1024.0),
        (DType::BF16, 4.0 / 128.0),
    ] {
        let rounded: Vec<Tensor> = inputs
            .iter()
            .map(|x| x.detach().to(dtype).unwrap())
            .collect();
        let wide = gradients(&function, &rounded, DType::F64).unwrap();
        let narrow = gradients(&function, &rounded, dtype).unwrap();
        assert_eq!(wide.len(), inputs.len(), "{what}");
        for (wide, narrow) in wide.iter().zip(&narrow) {
            assert_eq!(narrow.dtype(), dtype, "{what}");
            assert_eq!(narrow.shape(), wide.shape(), "{what}");
            let wide = wide.to_vec::<f64>().unwrap();
            let narrow = narrow.to(DType::F64).unwrap().to_vec::<f64>().unwrap();
            let greatest = wide.iter().fold(0.0, |most: f64, g| most.max(g.abs()));
            assert!(greatest > 0.0, "{what}");
            for (wide, narrow) in wide.iter().zip(&narrow) {
                let distance = (wide - narrow).abs();
                assert!(
                    distance <= tolerance * greatest,
                    "{what} in {dtype}: {narrow} for {wide}"
                );
            }
        }
    }
}

/// Checks gradients and their gradients against differences.
pub(crate) fn check_both(function: Checked<'_>, inputs: &[Tensor], what: &str) {
    let options = GradcheckOptions::default();
    gradcheck(function, inputs, options).unwrap_or_else(|error| panic!("{what}: {error}"));
    gradgradcheck(function, inputs, options)
        .unwrap_or_else(|error| panic!("{what}, twice: {error}"));
    // Every gradient is linear in the one that comes back: it has a gradient itself.
    let result = function(inputs).unwrap().remove(0);
    let given = uniform(result.shape(), -1.0, 1.0, 55).to(result.dtype());
    let given = given.unwrap().requires_grad_(true).unwrap();
    let options = BackwardOptions {
        create_graph: true,
        ..BackwardOptions::default()
    };
    let required: Vec<&Tensor> = inputs.iter().filter(|x| x.requires_grad()).collect();
    let found = grad(&[&result], &required, &[Some(&given)], options, true).unwrap();
    let is_recorded = |found: &Option<Tensor>| found.as_ref().is_some_and(Tensor::requires_grad);
    assert!(found.iter().all(is_recorded), "{what}: not recorded");
}

/// The gradient that comes back to an input for one of a result.
pub(crate) fn gradient_of(result: &Tensor, input: &Tensor, gradient: &Tensor) -> Tensor {
    let options = BackwardOptions::default();
    let found = grad(&[result], &[input], &[Some(gradient)], options, false).unwrap();
    found.into_iter().next().flatten().unwrap()
}

/// Checks that gradients in narrower floats have their dtype and are near those in float64.
pub(crate) fn close_in_every_float(
    what: &str,
    inputs: &[Tensor],
    function: &dyn Fn(&[Tensor]) -> Result<Tensor, Error>,
) {
    for (dtype, eps) in [(DType::F32, 2e-5), (DType::F16, 6e-3), (DType::BF16, 5e-2)] {
        // Both start from the rounded numbers.
        let narrow: Vec<Tensor> = inputs
            .iter()
            .map(|x| x.detach().to(dtype).unwrap().requires_grad_(true).unwrap())
            .collect();
        let wide: Vec<Tensor> = narrow
            .iter()
            .map(|x| {
                x.detach()
                    .to(DType::F64)
                    .unwrap()
                    .requires_grad_(true)
                    .unwrap()
            })
            .collect();
        let result = function(&narrow).unwrap();
        let given = uniform(result.shape(), -1.0, 1.0, 77).to(dtype).unwrap();
        let all = |x: &[Tensor], given: &Tensor| {
            let result = function(x).unwrap();
            let inputs: Vec<&Tensor> = x.iter().collect();
            let options = BackwardOptions::default();
            grad(&[&result], &inputs, &[Some(given)], options, false).unwrap()
        };
        let found = all(&narrow, &given);
        let expected = all(&wide, &given.to(DType::F64).unwrap());
        for (index, (found, expected)) in found.into_iter().zip(expected).enumerate() {
            let (found, expected) = (found.unwrap(), expected.unwrap());
            assert_eq!(found.dtype(), dtype, "{what}, input {index}");
            let away = found
                .to(DType::F64)
                .unwrap()
                .sub(&expected)
                .unwrap()
                .abs()
                .unwrap();
            let away = away.amax(None, false).unwrap().to_vec::<f64>().unwrap()[0];
            let size = expected.abs().unwrap().amax(None, false).unwrap();
            let size = size.to_vec::<f64>().unwrap()[0];
            assert!(
                away <= eps * size.max(1.0),
                "{what} of {dtype}, input {index}: {away}"
            );
        }
    }
}
