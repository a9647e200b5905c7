//! First values of parameters: torch's `nn.init`, written once for both languages.
//!
//! Every function writes over the elements of a place and records nothing, so that leaves which require
//! a gradient are written, too. Numbers are drawn from a generator, or from that of the process; narrow
//! floats are rounded from float32 draws, as everywhere. A place without elements stays as it is.

use allotrope_dtype::{DType, Error, Problem, Set, WeakScalar};
use allotrope_op::compute_dtype;
use allotrope_tensor::linalg::{QrMode, qr};
use allotrope_tensor::{Distribution, Generator, Tensor, Written, no_grad};

use crate::Place;

/// Writes what a function makes of the value that is there.
fn overwrite(
    op: &'static str,
    place: &impl Place,
    make: impl Fn(&Tensor) -> Result<Tensor, Error>,
) -> Result<Written, Error> {
    let _off = no_grad();
    let written = place.place().update(op, |value| {
        let value = value.detach();
        match value.count() {
            0 => Ok(value),
            _ => make(&value),
        }
    });
    written.map_err(|error: Error| error.in_op(op))
}

/// Numbers from `low` to below `high`, evenly.
///
/// ```
/// use allotrope_nn::{Linear, init};
/// let weight = Linear::new(3, 2)?.weight;
/// init::uniform_(&weight, 2.0, 3.0, None)?;
/// assert!(weight.value().min_all()?.to_scalar::<f32>()? >= 2.0);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
///
/// # Errors
/// A dtype error for integers and bool, a value error for bounds in the wrong order or beyond the dtype.
pub fn uniform_(
    place: &impl Place,
    low: f64,
    high: f64,
    generator: Option<&Generator>,
) -> Result<Written, Error> {
    overwrite("uniform_", place, |x| x.uniform_like(low, high, generator))
}

/// Normal numbers.
///
/// ```
/// use allotrope_nn::{Linear, init};
/// let weight = Linear::new(3, 2)?.weight;
/// init::normal_(&weight, 0.0, 0.02, None)?;
/// assert!(weight.value().abs()?.max_all()?.to_scalar::<f32>()? < 1.0);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
///
/// # Errors
/// A dtype error for integers and bool, a value error for a negative deviation.
pub fn normal_(
    place: &impl Place,
    mean: f64,
    std: f64,
    generator: Option<&Generator>,
) -> Result<Written, Error> {
    overwrite("normal_", place, |x| x.normal_like(mean, std, generator))
}

/// Normal numbers between two bounds: what lies beyond them is drawn again.
///
/// ```
/// use allotrope_nn::{Linear, init};
/// let weight = Linear::new(3, 2)?.weight;
/// init::trunc_normal_(&weight, 0.0, 1.0, -0.5, 0.5, None)?;
/// assert!(weight.value().abs()?.max_all()?.to_scalar::<f32>()? <= 0.5);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
///
/// # Errors
/// A dtype error for anything but floats, a value error for bounds in the wrong order or a deviation
/// that is not above zero.
pub fn trunc_normal_(
    place: &impl Place,
    mean: f64,
    std: f64,
    low: f64,
    high: f64,
    generator: Option<&Generator>,
) -> Result<Written, Error> {
    overwrite("trunc_normal_", place, |x| {
        let parameters = [mean.into(), std.into(), low.into(), high.into()];
        x.sample_like(Distribution::TruncatedNormal, &parameters, generator)
    })
}

/// One number everywhere.
///
/// ```
/// use allotrope_nn::{Linear, init};
/// let weight = Linear::new(3, 2)?.weight;
/// init::constant_(&weight, 0.5)?;
/// assert_eq!(weight.value().to_vec::<f32>()?, [0.5; 6]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
///
/// # Errors
/// An overflow error for a number that the dtype does not hold.
pub fn constant_(place: &impl Place, value: impl Into<WeakScalar>) -> Result<Written, Error> {
    let value = value.into();
    overwrite("constant_", place, |x| x.full_like(value))
}

/// Ones.
///
/// ```
/// use allotrope_nn::{Linear, init};
/// let weight = Linear::new(3, 2)?.weight;
/// init::ones_(&weight)?;
/// assert_eq!(weight.value().to_vec::<f32>()?, [1.0; 6]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
///
/// # Errors
/// A memory error.
pub fn ones_(place: &impl Place) -> Result<Written, Error> {
    overwrite("ones_", place, Tensor::ones_like)
}

/// Zeros.
///
/// ```
/// use allotrope_nn::{Linear, init};
/// let weight = Linear::new(3, 2)?.weight;
/// init::zeros_(&weight)?;
/// assert_eq!(weight.value().to_vec::<f32>()?, [0.0; 6]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
///
/// # Errors
/// A memory error.
pub fn zeros_(place: &impl Place) -> Result<Written, Error> {
    overwrite("zeros_", place, Tensor::zeros_like)
}

/// The identity: ones on the diagonal of a matrix.
///
/// ```
/// use allotrope_nn::{Linear, init};
/// let weight = Linear::new(2, 2)?.weight;
/// init::eye_(&weight)?;
/// assert_eq!(weight.value().to_vec::<f32>()?, [1.0, 0.0, 0.0, 1.0]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
///
/// # Errors
/// A value error for anything but a matrix.
pub fn eye_(place: &impl Place) -> Result<Written, Error> {
    let op = "eye_";
    let (rows, columns) = matrix_sizes(op, &place.place().value())?;
    overwrite(op, place, |x| x.new_eye(rows, columns, x.dtype()))
}

/// Filters that hand channels on: a one in the middle of each group's diagonal.
///
/// ```
/// use allotrope_nn::{Conv1d, DType, Tensor, init};
/// let conv = Conv1d::new(2, 2, 3)?;
/// init::dirac_(&conv.weight, 1)?;
/// let x = Tensor::ones((1, 2, 5), DType::F32)?;
/// assert_eq!(conv.weight.value().i((.., .., 1))?, Tensor::eye(2, 2, x.dtype())?);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
///
/// # Errors
/// A value error for anything but filters of 3 to 5 dimensions whose number the groups divide.
pub fn dirac_(place: &impl Place, groups: usize) -> Result<Written, Error> {
    let op = "dirac_";
    let value = place.place().value();
    let shape = value.shape().to_vec();
    let (filters, channels, window) = match &shape[..] {
        [filters, channels, window @ ..] if (1..=3).contains(&window.len()) => {
            (*filters, *channels, window.to_vec())
        }
        _ => return Err(wrong_rank(op, shape, "3, 4 or 5 are")),
    };
    if groups == 0 || filters % groups != 0 {
        let problem = Problem::NotMultiple {
            what: "the number of filters",
            given: filters,
            of: groups,
        };
        return Err(Error::new(op, problem));
    }
    let (per_group, size) = (filters / groups, window.iter().product::<usize>());
    let middle = window.iter().fold(0, |at, length| at * length + length / 2);
    overwrite(op, place, |x| {
        let mut ones = vec![0_u8; x.count()];
        for filter in 0..filters {
            let channel = filter % per_group;
            if channel < channels
                && let Some(one) = ones.get_mut((filter * channels + channel) * size + middle)
            {
                *one = 1;
            }
        }
        Tensor::from_vec(ones, x.shape())?.to(x.dtype())
    })
}

/// Glorot's uniform numbers: variance `gain² · 2 / (fan_in + fan_out)`.
///
/// ```
/// use allotrope_nn::{Linear, init};
/// let weight = Linear::new(3, 3)?.weight;
/// init::xavier_uniform_(&weight, 1.0, None)?;
/// assert!(weight.value().abs()?.max_all()?.to_scalar::<f32>()? <= 1.0);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
///
/// # Errors
/// A value error for fewer than two dimensions, and as [`uniform_`].
pub fn xavier_uniform_(
    place: &impl Place,
    gain: f64,
    generator: Option<&Generator>,
) -> Result<Written, Error> {
    let op = "xavier_uniform_";
    let bound = glorot(op, place, gain)? * 3.0_f64.sqrt();
    overwrite(op, place, |x| x.uniform_like(-bound, bound, generator))
}

/// Glorot's normal numbers: variance `gain² · 2 / (fan_in + fan_out)`.
///
/// ```
/// use allotrope_nn::{Linear, init};
/// let weight = Linear::new(300, 300)?.weight;
/// init::xavier_normal_(&weight, 1.0, None)?;
/// assert!((weight.value().std_all()?.to_scalar::<f64>()? - (1.0_f64 / 300.0).sqrt()).abs() < 1e-3);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
///
/// # Errors
/// A value error for fewer than two dimensions, and as [`normal_`].
pub fn xavier_normal_(
    place: &impl Place,
    gain: f64,
    generator: Option<&Generator>,
) -> Result<Written, Error> {
    let op = "xavier_normal_";
    let std = glorot(op, place, gain)?;
    overwrite(op, place, |x| x.normal_like(0.0, std, generator))
}

fn glorot(op: &'static str, place: &impl Place, gain: f64) -> Result<f64, Error> {
    let (inputs, outputs) = fans_of(op, place.place().value().shape())?;
    Ok(gain * (2.0 / (inputs + outputs).max(1) as f64).sqrt())
}

/// He's uniform numbers: variance `gain² / fan`, with the gain of what follows.
///
/// ```
/// use allotrope_nn::{Linear, Relu, init};
/// let weight = Linear::new(6, 3)?.weight;
/// init::kaiming_uniform_(&weight, init::Nonlinearity::Relu, init::Fan::In, None)?;
/// assert!(weight.value().abs()?.max_all()?.to_scalar::<f32>()? <= 1.0);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
///
/// # Errors
/// A value error for fewer than two dimensions, and as [`uniform_`].
pub fn kaiming_uniform_(
    place: &impl Place,
    nonlinearity: Nonlinearity,
    fan: Fan,
    generator: Option<&Generator>,
) -> Result<Written, Error> {
    let op = "kaiming_uniform_";
    let bound = he(op, place, nonlinearity, fan)? * 3.0_f64.sqrt();
    overwrite(op, place, |x| x.uniform_like(-bound, bound, generator))
}

/// He's normal numbers: variance `gain² / fan`, with the gain of what follows.
///
/// ```
/// use allotrope_nn::{Linear, Relu, init};
/// let weight = Linear::new(300, 300)?.weight;
/// init::kaiming_normal_(&weight, init::Nonlinearity::Relu, init::Fan::In, None)?;
/// assert!((weight.value().std_all()?.to_scalar::<f64>()? - (2.0_f64 / 300.0).sqrt()).abs() < 1e-3);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
///
/// # Errors
/// A value error for fewer than two dimensions, and as [`normal_`].
pub fn kaiming_normal_(
    place: &impl Place,
    nonlinearity: Nonlinearity,
    fan: Fan,
    generator: Option<&Generator>,
) -> Result<Written, Error> {
    let op = "kaiming_normal_";
    let std = he(op, place, nonlinearity, fan)?;
    overwrite(op, place, |x| x.normal_like(0.0, std, generator))
}

fn he(
    op: &'static str,
    place: &impl Place,
    nonlinearity: Nonlinearity,
    fan: Fan,
) -> Result<f64, Error> {
    let (inputs, outputs) = fans_of(op, place.place().value().shape())?;
    let fan = match fan {
        Fan::In => inputs,
        Fan::Out => outputs,
    };
    Ok(nonlinearity.gain() / (fan.max(1) as f64).sqrt())
}

/// A matrix with orthonormal rows or columns, whichever are fewer, times a gain. Dimensions after the
/// first are one.
///
/// ```
/// use allotrope_nn::{DType, Linear, Tensor, init};
/// let weight = Linear::new(3, 3)?.weight;
/// init::orthogonal_(&weight, 1.0, None)?;
/// let product = weight.value().matmul(&weight.value().t()?)?;
/// assert!(product.allclose(&Tensor::eye(3, 3, DType::F32)?, 0.0, 1e-5, false)?);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
///
/// # Errors
/// A value error for fewer than two dimensions, a dtype error for integers and bool.
pub fn orthogonal_(
    place: &impl Place,
    gain: f64,
    generator: Option<&Generator>,
) -> Result<Written, Error> {
    let op = "orthogonal_";
    let shape = place.place().value().shape().to_vec();
    let [rows, rest @ ..] = &shape[..] else {
        return Err(too_few(op, 0));
    };
    if rest.is_empty() {
        return Err(too_few(op, 1));
    }
    let (rows, columns) = (*rows, rest.iter().product::<usize>());
    overwrite(op, place, |x| {
        let dtype = x.dtype();
        if !Set::Inexact.contains(dtype) {
            return Err(Error::not_in_set(op, dtype, Set::Inexact, None));
        }
        let sizes = [rows.max(columns), rows.min(columns)];
        let drawn = Tensor::randn(&sizes, compute_dtype(dtype), generator)?;
        let (q, r) = qr(&drawn, QrMode::Reduced)?;
        // With this sign the result is uniform among all such matrices.
        let sign = r.diagonal(0, 0, 1)?.sign()?;
        let q = q.mul(&sign)?.mul(gain)?;
        let q = if rows < columns {
            q.transpose(0, 1)?
        } else {
            q
        };
        q.contiguous()?.reshape_as(x)
    })
}

/// Normal numbers of which a share, the same in each column of a matrix, is zero.
///
/// ```
/// use allotrope_nn::{Linear, init};
/// let weight = Linear::new(3, 4)?.weight;
/// init::sparse_(&weight, 0.5, 0.01, None)?;
/// assert_eq!(weight.value().count_nonzero(None, false)?.to_scalar::<i64>()?, 6);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
///
/// # Errors
/// A value error for anything but a matrix or for a share beyond 0 to 1, and as [`normal_`].
pub fn sparse_(
    place: &impl Place,
    sparsity: f64,
    std: f64,
    generator: Option<&Generator>,
) -> Result<Written, Error> {
    let op = "sparse_";
    let (rows, columns) = matrix_sizes(op, &place.place().value())?;
    if !(0.0..=1.0).contains(&sparsity) {
        let problem = Problem::OutOfRange {
            what: "sparsity",
            index: None,
            value: format!("{sparsity:?}"),
            accepted: "0 to 1",
        };
        return Err(Error::new(op, problem));
    }
    let zeros = (sparsity * rows as f64).ceil() as usize;
    overwrite(op, place, |x| {
        let drawn = x.normal_like(0.0, std, generator)?;
        let keys = Tensor::rand(&[rows, columns], DType::F64, generator)?;
        let chosen = keys.argsort(0, false)?.narrow(0, 0, zeros.min(rows))?;
        drawn.scatter(0, &chosen, 0)
    })
}

/// Which of the two counts of a weight the variance of results is kept by.
///
/// ```
/// use allotrope_nn::init;
/// assert_eq!(init::Fan::parse("kaiming_normal_", "fan_in")?, init::Fan::In);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fan {
    /// How many inputs an output is made of, which keeps the variance on the way forward.
    #[default]
    In,
    /// How many outputs an input goes to, which keeps it on the way back.
    Out,
}

impl Fan {
    /// The count of a name.
    ///
    /// # Errors
    /// A value error for a name that there is not.
    pub fn parse(op: &'static str, name: &str) -> Result<Self, Error> {
        match name {
            "fan_in" => Ok(Self::In),
            "fan_out" => Ok(Self::Out),
            _ => Err(Error::unknown_option(
                op,
                "mode",
                name,
                &["fan_in", "fan_out"],
            )),
        }
    }
}

/// What follows a layer, as far as the variance of its results is concerned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Nonlinearity {
    /// Nothing, or a convolution.
    Linear,
    /// The sigmoid, or logistic function.
    Sigmoid,
    /// The hyperbolic tangent.
    Tanh,
    /// The rectified linear unit.
    Relu,
    /// The leaky rectified linear unit, of a slope.
    LeakyRelu(f64),
    /// The scaled exponential linear unit.
    Selu,
}

/// The names of nonlinearities, as torch spells them.
const NONLINEARITIES: [&str; 12] = [
    "linear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "sigmoid",
    "tanh",
    "relu",
    "leaky_relu",
    "selu",
];

impl Nonlinearity {
    /// The nonlinearity of a name, with the slope of a leaky one: 0.01 if none is given.
    ///
    /// # Errors
    /// A value error for a name that there is not.
    pub fn parse(op: &'static str, name: &str, slope: Option<f64>) -> Result<Self, Error> {
        match name {
            "sigmoid" => Ok(Self::Sigmoid),
            "tanh" => Ok(Self::Tanh),
            "relu" => Ok(Self::Relu),
            "leaky_relu" => Ok(Self::LeakyRelu(slope.unwrap_or(0.01))),
            "selu" => Ok(Self::Selu),
            _ if NONLINEARITIES.contains(&name) => Ok(Self::Linear),
            _ => Err(Error::unknown_option(
                op,
                "nonlinearity",
                name,
                &NONLINEARITIES,
            )),
        }
    }

    /// What weights before it are multiplied by, so that it keeps the variance: torch's
    /// `calculate_gain`.
    ///
    /// ```
    /// use allotrope_nn::init::Nonlinearity;
    /// assert_eq!(Nonlinearity::Relu.gain(), 2.0_f64.sqrt());
    /// ```
    #[must_use]
    pub fn gain(self) -> f64 {
        match self {
            Self::Linear | Self::Sigmoid => 1.0,
            Self::Tanh => 5.0 / 3.0,
            Self::Relu => 2.0_f64.sqrt(),
            Self::LeakyRelu(slope) => (2.0 / (1.0 + slope * slope)).sqrt(),
            Self::Selu => 0.75,
        }
    }
}

/// How many inputs an output of a weight is made of, and how many outputs an input goes to.
///
/// ```
/// use allotrope_nn::init::fans;
/// assert_eq!(fans(&[8, 3, 5, 5])?, (75, 200));
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
///
/// # Errors
/// A value error for fewer than two dimensions.
pub fn fans(shape: &[usize]) -> Result<(usize, usize), Error> {
    fans_of("fans", shape)
}

fn fans_of(op: &'static str, shape: &[usize]) -> Result<(usize, usize), Error> {
    let [outputs, inputs, window @ ..] = shape else {
        return Err(too_few(op, shape.len()));
    };
    let window: usize = window.iter().product();
    Ok((inputs * window, outputs * window))
}

#[cold]
fn too_few(op: &'static str, given: usize) -> Error {
    Error::new(op, Problem::TooFewDimensions { given, least: 2 })
}

#[cold]
fn wrong_rank(op: &'static str, shape: Vec<usize>, accepted: &'static str) -> Error {
    let what = "a tensor";
    let problem = Problem::WrongRank {
        what,
        shape,
        accepted,
    };
    Error::new(op, problem)
}

fn matrix_sizes(op: &'static str, value: &Tensor) -> Result<(usize, usize), Error> {
    match value.shape().to_vec()[..] {
        [rows, columns] => Ok((rows, columns)),
        ref shape => Err(wrong_rank(op, shape.to_vec(), "2 are")),
    }
}
