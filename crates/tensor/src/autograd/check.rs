//! Gradients checked against differences of results.

use allotrope_dtype::{DType, Error, GradientProblem, WeakScalar, c128};

use super::engine::{BackwardOptions, grad};
use super::mode::{enable_grad, no_grad};
use crate::{Generator, Tensor};

/// How far a gradient may be from what differences say.
#[derive(Clone, Copy, Debug)]
pub struct GradcheckOptions {
    /// How far apart the points of a difference are, by half.
    pub eps: f64,
    /// The distance that is allowed whatever the size.
    pub atol: f64,
    /// The distance that is allowed in proportion to the size.
    pub rtol: f64,
    /// The seed of the gradients that are sent back.
    pub seed: u64,
}

impl Default for GradcheckOptions {
    fn default() -> Self {
        Self {
            eps: 1e-6,
            atol: 1e-5,
            rtol: 1e-3,
            seed: 0,
        }
    }
}

/// A function of tensors, as the checks take it.
pub type Checked<'f> = &'f dyn Fn(&[Tensor]) -> Result<Vec<Tensor>, Error>;

/// Checks the gradients of a function against differences of its results, for random gradients of
/// the results. Inputs that require a gradient should be float64 or complex128; others stay fixed.
///
/// ```
/// use allotrope_dtype::DType;
/// use allotrope_tensor::{GradcheckOptions, Tensor, gradcheck};
/// let x = Tensor::linspace(-1.0, 1.0, 5, DType::F64)?.requires_grad_(true)?;
/// gradcheck(&|x| Ok(vec![x[0].tanh()?]), &[x], GradcheckOptions::default())?;
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
///
/// # Errors
/// A gradient error that names the first element that differs, and what the function fails with.
pub fn gradcheck(
    function: Checked<'_>,
    inputs: &[Tensor],
    options: GradcheckOptions,
) -> Result<(), Error> {
    if check(function, inputs, options)? {
        return Ok(());
    }
    let problem = GradientProblem::NotRecorded { through: None };
    Err(Error::new("gradcheck", problem.into()))
}

/// [`gradcheck`]; false if no result has a gradient to check.
fn check(
    function: Checked<'_>,
    inputs: &[Tensor],
    options: GradcheckOptions,
) -> Result<bool, Error> {
    let generator = Generator::new(options.seed);
    let _mode = enable_grad();
    let inputs: Vec<Tensor> = inputs.iter().map(as_leaf).collect::<Result<_, _>>()?;
    let results = function(&inputs)?;
    let gradients = random_gradients(&results, &generator)?;
    let wanted: Vec<&Tensor> = inputs.iter().filter(|x| x.requires_grad()).collect();
    if !gradients.iter().any(Option::is_some) {
        return Ok(false);
    }
    let found = gradients_of(&results, &wanted, &gradients, BackwardOptions::default())?;
    let _off = no_grad();
    let plain: Vec<Tensor> = inputs.iter().map(Tensor::detach).collect();
    let mut found = found.into_iter();
    for (index, input) in inputs.iter().enumerate() {
        if !input.requires_grad() {
            continue;
        }
        let gradient = match found.next().flatten() {
            Some(gradient) => gradient,
            None => input.zeros_like()?,
        };
        let expected = differences(function, &plain, index, &gradients, options.eps)?;
        compare(index, &numbers(&gradient)?, &expected, options)?;
    }
    Ok(true)
}

/// Checks the gradients of the gradients of a function, as [`gradcheck`] does those of the function.
///
/// ```
/// use allotrope_tensor::{Tensor, gradgradcheck};
/// let x = Tensor::new([0.5, 2.0])?.requires_grad_(true)?;
/// gradgradcheck(&|x| Ok(vec![x[0].exp()?]), &[x], Default::default())?;
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// As [`gradcheck`].
pub fn gradgradcheck(
    function: Checked<'_>,
    inputs: &[Tensor],
    options: GradcheckOptions,
) -> Result<(), Error> {
    let generator = Generator::new(options.seed.wrapping_add(1));
    let _mode = enable_grad();
    let mut all: Vec<Tensor> = inputs.iter().map(as_leaf).collect::<Result<_, _>>()?;
    let required: Vec<bool> = all.iter().map(Tensor::requires_grad).collect();
    let gradients = random_gradients(&function(&all)?, &generator)?;
    for gradient in gradients.iter().flatten() {
        all.push(gradient.clone().requires_grad_(true)?);
    }
    let first_order = |all: &[Tensor]| -> Result<Vec<Tensor>, Error> {
        let _mode = enable_grad();
        let (inputs, given) = all.split_at(required.len());
        let inputs = inputs.iter().zip(&required).map(|(input, required)| {
            // Between the points of a difference they come without a history.
            if *required && !input.requires_grad() {
                input.clone().requires_grad_(true)
            } else {
                Ok(input.clone())
            }
        });
        let inputs = inputs.collect::<Result<Vec<Tensor>, Error>>()?;
        let results = function(&inputs)?;
        let wanted: Vec<&Tensor> = inputs.iter().filter(|x| x.requires_grad()).collect();
        let mut given = given.iter();
        let each = gradients
            .iter()
            .map(|g| g.as_ref().and_then(|_| given.next().cloned()));
        let options = BackwardOptions {
            retain_graph: true,
            create_graph: true,
        };
        let found = gradients_of(&results, &wanted, &each.collect::<Vec<_>>(), options)?;
        let found = found
            .into_iter()
            .zip(&wanted)
            .map(|(gradient, input)| match gradient {
                Some(gradient) => Ok(gradient),
                None => input.zeros_like(),
            });
        found.collect()
    };
    // Gradients that are the same everywhere have none.
    check(&first_order, &all, options).map(drop)
}

/// The gradients of inputs, of the results that have a gradient.
fn gradients_of(
    results: &[Tensor],
    wanted: &[&Tensor],
    gradients: &[Option<Tensor>],
    options: BackwardOptions,
) -> Result<Vec<Option<Tensor>>, Error> {
    let pairs = results.iter().zip(gradients);
    let (results, gradients): (Vec<&Tensor>, Vec<Option<&Tensor>>) = pairs
        .filter_map(|(result, gradient)| gradient.as_ref().map(|g| (result, Some(g))))
        .unzip();
    grad(&results, wanted, &gradients, options, true)
}

/// A random gradient for each result that one can come back from.
fn random_gradients(
    results: &[Tensor],
    generator: &Generator,
) -> Result<Vec<Option<Tensor>>, Error> {
    let draw = |result: &Tensor| {
        let random = || Tensor::randn(result.shape(), result.dtype(), Some(generator));
        result.requires_grad().then(random).transpose()
    };
    results.iter().map(draw).collect()
}

/// A leaf of the same value, if it requires a gradient.
fn as_leaf(x: &Tensor) -> Result<Tensor, Error> {
    x.detach().requires_grad_(x.requires_grad())
}

/// Every element as a complex number.
fn numbers(x: &Tensor) -> Result<Vec<c128>, Error> {
    x.to(DType::C128)?.to_vec::<c128>()
}

/// `Re Σ conj(g) y`, whose gradient is what comes back for `g`.
fn weighted(results: &[Tensor], gradients: &[Option<Tensor>]) -> Result<f64, Error> {
    let mut total = 0.0;
    for (result, gradient) in results.iter().zip(gradients) {
        if let Some(gradient) = gradient {
            let pairs = numbers(result)?.into_iter().zip(numbers(gradient)?);
            total += pairs.map(|(y, g)| (g.conj() * y).re).sum::<f64>();
        }
    }
    Ok(total)
}

/// The gradient of one input, by central differences.
fn differences(
    function: Checked<'_>,
    inputs: &[Tensor],
    index: usize,
    gradients: &[Option<Tensor>],
    eps: f64,
) -> Result<Vec<c128>, Error> {
    let input = &inputs[index];
    let dtype = input.dtype();
    let values = numbers(input)?;
    let at = |place: usize, away: c128| -> Result<f64, Error> {
        let mut moved = values.clone();
        moved[place] += away;
        let tensor = input.new_from_slice(&moved, input.shape())?;
        let tensor = if dtype.is_complex() {
            tensor.to(dtype)?
        } else {
            tensor.real()?.to(dtype)?
        };
        let mut all = inputs.to_vec();
        all[index] = tensor;
        weighted(&function(&all)?, gradients)
    };
    let slope = |place: usize, step: c128| -> Result<f64, Error> {
        Ok((at(place, step)? - at(place, -step)?) / (2.0 * eps))
    };
    let each = (0..values.len()).map(|place| {
        let re = slope(place, c128::new(eps, 0.0))?;
        let im = if dtype.is_complex() {
            slope(place, c128::new(0.0, eps))?
        } else {
            0.0
        };
        Ok(c128::new(re, im))
    });
    each.collect()
}

fn compare(
    input: usize,
    found: &[c128],
    expected: &[c128],
    options: GradcheckOptions,
) -> Result<(), Error> {
    for (element, (found, expected)) in found.iter().zip(expected).enumerate() {
        let near = (found - expected).norm() <= options.atol + options.rtol * expected.norm();
        if !near {
            let problem = GradientProblem::Mismatch {
                input,
                element,
                found: WeakScalar::Complex(*found).to_string(),
                expected: WeakScalar::Complex(*expected).to_string(),
            };
            return Err(Error::new("gradcheck", problem.into()));
        }
    }
    Ok(())
}
