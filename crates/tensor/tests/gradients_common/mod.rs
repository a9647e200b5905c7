//! What tests of gradients share.
#![allow(dead_code, reason = "every test file uses a part of it")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use allotrope_dtype::{DType, Error, c128};
use allotrope_op::Shape;
use allotrope_tensor::{
    BackwardOptions, Checked, Generator, GradcheckOptions, Tensor, grad, gradcheck, gradgradcheck,
};

/// Random numbers of an interval, float64.
pub(crate) fn uniform(sizes: &[usize], low: f64, high: f64, seed: u64) -> Tensor {
    let (shape, generator) = (Shape::new("test", sizes).unwrap(), Generator::new(seed));
    let drawn = Tensor::rand(&shape, DType::F64, Some(&generator)).unwrap();
    drawn.mul(high - low).unwrap().add(low).unwrap()
}

/// A leaf of random numbers between -2 and 2.
pub(crate) fn leaf(sizes: &[usize], seed: u64) -> Tensor {
    let drawn = uniform(sizes, -2.0, 2.0, seed);
    drawn.requires_grad_(true).unwrap()
}

/// A leaf of random complex numbers.
pub(crate) fn complex_leaf(sizes: &[usize], seed: u64) -> Tensor {
    let (re, im) = (
        uniform(sizes, -1.5, 1.5, seed),
        uniform(sizes, -1.5, 1.5, seed + 99),
    );
    let unit = Tensor::full(&[], c128::new(0.0, 1.0), DType::C128).unwrap();
    let im = im.to(DType::C128).unwrap().mul(&unit).unwrap();
    re.add(&im).unwrap().requires_grad_(true).unwrap()
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
