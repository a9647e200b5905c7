//! Normalization over layers, groups, instances and batches.

use allotrope_dtype::{DType, Error, Problem, default_dtype};
use allotrope_tensor::{BatchNormOptions as Operands, Device, Options, Tensor};

use super::{ones, value, zeros};
use crate::parameter::wide;
use crate::{Buffer, Layer, Module, Parameter, Training};

/// How numbers of each sample are normalised.
///
/// ```
/// use allotrope_nn::{DType, LayerNorm, Module, NormOptions};
/// let options = NormOptions { dtype: DType::F64, ..Default::default() };
/// assert_eq!(LayerNorm::with(&[4], options)?.num_parameters(), 8);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct NormOptions {
    /// What is added to the variance.
    pub eps: f64,
    /// Whether results are multiplied by a weight.
    pub affine: bool,
    /// Whether a bias is added to what has a weight.
    pub bias: bool,
    /// The dtype of the parameters.
    pub dtype: DType,
    /// The device of the same.
    pub device: Device,
}

impl Default for NormOptions {
    fn default() -> Self {
        Self {
            eps: 1e-5,
            affine: true,
            bias: true,
            dtype: default_dtype(),
            device: Device::cpu(),
        }
    }
}

impl NormOptions {
    fn parameters(&self, sizes: &[usize]) -> Result<(Option<Parameter>, Option<Parameter>), Error> {
        let place = (self.dtype, self.device);
        let weight = self.affine.then(|| ones(sizes, place)).transpose()?;
        let bias = (self.affine && self.bias).then(|| zeros(sizes, place));
        Ok((weight, bias.transpose()?))
    }
}

/// Layer normalization over the last dimensions: mean 0 and variance 1, then a weight and a bias.
///
/// `y = (x - E[x]) / sqrt(Var[x] + eps) * weight + bias`
///
/// ```
/// use allotrope_nn::{Layer, LayerNorm, Tensor};
/// let x = Tensor::new([[1.0_f32, 3.0]])?;
/// let y = LayerNorm::new(&[2])?.forward(&x)?;
/// assert!(y.allclose(&Tensor::new([[-1.0_f32, 1.0]])?, 0.0, 1e-4, false)?);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct LayerNorm {
    /// The sizes of the last dimensions.
    pub normalized_shape: Vec<usize>,
    /// A factor for each place.
    pub weight: Option<Parameter>,
    /// A summand for each place.
    pub bias: Option<Parameter>,
    /// What is added to the variance.
    pub eps: f64,
}

impl LayerNorm {
    /// A layer over dimensions of these sizes.
    ///
    /// # Errors
    /// A memory error.
    pub fn new(normalized_shape: &[usize]) -> Result<Self, Error> {
        Self::with(normalized_shape, NormOptions::default())
    }

    /// A layer with options.
    ///
    /// # Errors
    /// A dtype error for a dtype without gradients, a memory error.
    pub fn with(normalized_shape: &[usize], options: NormOptions) -> Result<Self, Error> {
        let (weight, bias) = options.parameters(normalized_shape)?;
        Ok(Self {
            normalized_shape: normalized_shape.to_vec(),
            weight,
            bias,
            eps: options.eps,
        })
    }
}

impl Layer for LayerNorm {
    fn forward(&self, input: &Tensor) -> Result<Tensor, Error> {
        let (weight, bias) = (value(self.weight.as_ref()), value(self.bias.as_ref()));
        input.layer_norm(
            &self.normalized_shape,
            weight.as_ref(),
            bias.as_ref(),
            self.eps,
        )
    }
}

/// Root mean square normalization over the last dimensions.
///
/// `y = x / sqrt(E[x²] + eps) * weight`
///
/// ```
/// use allotrope_nn::{Layer, RmsNorm, Tensor};
/// let x = Tensor::new([[3.0_f32, 3.0]])?;
/// let y = RmsNorm::new(&[2])?.forward(&x)?;
/// assert!(y.allclose(&Tensor::new([[1.0_f32, 1.0]])?, 0.0, 1e-4, false)?);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct RmsNorm {
    /// The sizes of the last dimensions.
    pub normalized_shape: Vec<usize>,
    /// A factor for each place.
    pub weight: Option<Parameter>,
    /// What is added to the mean; none is the epsilon of the dtype.
    pub eps: Option<f64>,
}

impl RmsNorm {
    /// A layer over dimensions of these sizes.
    ///
    /// # Errors
    /// A memory error.
    pub fn new(normalized_shape: &[usize]) -> Result<Self, Error> {
        Self::with(normalized_shape, None, default_dtype())
    }

    /// A layer with another epsilon, of a dtype, or of one on a device.
    ///
    /// # Errors
    /// A dtype error for a dtype without gradients, a memory error.
    pub fn with(
        normalized_shape: &[usize],
        eps: Option<f64>,
        options: impl Into<Options>,
    ) -> Result<Self, Error> {
        let weight = Some(ones(normalized_shape, options)?);
        let normalized_shape = normalized_shape.to_vec();
        Ok(Self {
            normalized_shape,
            weight,
            eps,
        })
    }
}

impl Layer for RmsNorm {
    fn forward(&self, input: &Tensor) -> Result<Tensor, Error> {
        let weight = value(self.weight.as_ref());
        input.rms_norm(&self.normalized_shape, weight.as_ref(), self.eps)
    }
}

/// Group normalization: mean 0 and variance 1 of groups of channels, then a weight and a bias per
/// channel.
///
/// `y = (x - E[x]) / sqrt(Var[x] + eps) * weight + bias`
///
/// ```
/// use allotrope_nn::{DType, GroupNorm, Layer, Tensor};
/// let y = GroupNorm::new(2, 4)?.forward(&Tensor::ones((3, 4, 5), DType::F32)?)?;
/// assert_eq!(y.shape(), [3, 4, 5]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct GroupNorm {
    /// How many groups.
    pub num_groups: usize,
    /// A factor per channel.
    pub weight: Option<Parameter>,
    /// A summand per channel.
    pub bias: Option<Parameter>,
    /// What is added to the variance.
    pub eps: f64,
}

impl GroupNorm {
    /// A layer of so many groups of channels.
    ///
    /// # Errors
    /// A value error for channels that the groups do not divide, a memory error.
    pub fn new(num_groups: usize, channels: usize) -> Result<Self, Error> {
        Self::with(num_groups, channels, NormOptions::default())
    }

    /// A layer with options.
    ///
    /// # Errors
    /// As [`new`](Self::new); a dtype error for a dtype without gradients.
    pub fn with(num_groups: usize, channels: usize, options: NormOptions) -> Result<Self, Error> {
        if num_groups == 0 || !channels.is_multiple_of(num_groups) {
            let problem = Problem::NotMultiple {
                what: "the number of channels",
                given: channels,
                of: num_groups,
            };
            return Err(Error::new("group_norm", problem));
        }
        let (weight, bias) = options.parameters(&[channels])?;
        Ok(Self {
            num_groups,
            weight,
            bias,
            eps: options.eps,
        })
    }
}

impl Layer for GroupNorm {
    fn forward(&self, input: &Tensor) -> Result<Tensor, Error> {
        let (weight, bias) = (value(self.weight.as_ref()), value(self.bias.as_ref()));
        input.group_norm(self.num_groups, weight.as_ref(), bias.as_ref(), self.eps)
    }
}

/// How channels are normalised over a batch, or over each sample.
///
/// ```
/// use allotrope_nn::{BatchNorm1d, BatchNormOptions, Module};
/// let options = BatchNormOptions { track_running_stats: false, ..Default::default() };
/// assert!(BatchNorm1d::with(4, options)?.named_buffers().is_empty());
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BatchNormOptions {
    /// What is added to the variance.
    pub eps: f64,
    /// The share of a batch in the running numbers; none makes these the mean of all batches.
    pub momentum: Option<f64>,
    /// Whether there are a weight and a bias per channel.
    pub affine: bool,
    /// Whether running numbers are kept, and used when this is not training.
    pub track_running_stats: bool,
    /// The dtype of parameters; running numbers are float32 or wider.
    pub dtype: DType,
    /// The device of the same.
    pub device: Device,
}

impl Default for BatchNormOptions {
    fn default() -> Self {
        Self {
            eps: 1e-5,
            momentum: Some(0.1),
            affine: true,
            track_running_stats: true,
            dtype: default_dtype(),
            device: Device::cpu(),
        }
    }
}

/// What layers over batches and over instances share.
#[derive(Clone, Debug, Module)]
struct Channels {
    weight: Option<Parameter>,
    bias: Option<Parameter>,
    running_mean: Option<Buffer>,
    running_var: Option<Buffer>,
    num_batches_tracked: Option<Buffer>,
    training: Training,
    #[module(skip)]
    options: BatchNormOptions,
}

impl Channels {
    fn new(channels: usize, options: BatchNormOptions) -> Result<Self, Error> {
        let (sizes, place) = ([channels], Options::from((options.dtype, options.device)));
        let parameter = |make: fn(&[usize], Options) -> Result<Parameter, Error>| {
            options.affine.then(|| make(&sizes, place)).transpose()
        };
        let buffer = |value: Result<Tensor, Error>| match options.track_running_stats {
            true => value.map(|value| Some(Buffer::new(value).keep_wide())),
            false => Ok(None),
        };
        let statistics = Options::from((wide(options.dtype), options.device));
        Ok(Self {
            weight: parameter(ones)?,
            bias: parameter(zeros)?,
            running_mean: buffer(Tensor::zeros(&sizes, statistics))?,
            running_var: buffer(Tensor::ones(&sizes, statistics))?,
            num_batches_tracked: buffer(Tensor::zeros(&[], (DType::I64, options.device)))?,
            training: Training::default(),
            options,
        })
    }

    fn forward(&self, input: &Tensor, is_batch: bool) -> Result<Tensor, Error> {
        let (weight, bias) = (value(self.weight.as_ref()), value(self.bias.as_ref()));
        let running = self.running_mean.as_ref().zip(self.running_var.as_ref());
        let values = running.map(|(mean, var)| (mean.value(), var.value()));
        let is_training = self.training.is_on();
        let (mut momentum, mut counted) = (self.options.momentum, None);
        if is_training && let Some(tracked) = &self.num_batches_tracked {
            let count = tracked.value().add(1)?;
            // Only the mean over all batches needs to know how many there were.
            if momentum.is_none() {
                momentum = Some(1.0 / count.to_scalar::<i64>()? as f64);
            }
            counted = Some((tracked, count));
        }
        let operands = Operands {
            running: values.as_ref().map(|(mean, var)| (mean, var)),
            weight: weight.as_ref(),
            bias: bias.as_ref(),
            training: is_training || values.is_none(),
            momentum: momentum.unwrap_or(0.0),
            eps: self.options.eps,
        };
        let result = match is_batch {
            true => input.batch_norm(operands)?,
            false => input.instance_norm(operands)?,
        };
        if let (true, Some((mean, var)), Some(new)) = (is_training, running, result.running) {
            let new_mean = new.0.to(mean.value().dtype())?;
            var.set(new.1.to(var.value().dtype())?);
            mean.set(new_mean);
        }
        if let Some((tracked, count)) = counted {
            tracked.set(count);
        }
        Ok(result.output)
    }
}

#[cold]
fn wrong_rank(op: &'static str, input: &Tensor, accepted: &'static str) -> Error {
    let problem = Problem::WrongRank {
        what: "the input",
        shape: input.shape().to_vec(),
        accepted,
    };
    Error::new(op, problem)
}

macro_rules! batch_norms {
    ($($ranks:pat, $accepted:literal, $name:ident;)*) => {$(
        #[doc = concat!("Batch normalization: channels brought to mean 0 and variance 1 over the batch; of ranks ", $accepted, " accepted.")]
        ///
        /// `y = (x - E[x]) / sqrt(Var[x] + eps) * weight + bias`
        ///
        /// In training mean and variance are the batch's, and running ones follow them; else these are used.
        #[doc = concat!("\n```\nuse allotrope_nn::{Module, ", stringify!($name), "};\nlet layer = ", stringify!($name), "::new(4)?;\nassert_eq!((layer.num_parameters(), layer.named_buffers().len()), (8, 3));\n# Ok::<(), allotrope_nn::Error>(())\n```")]
        #[derive(Clone, Debug, Module)]
        pub struct $name {
            #[module(flatten)]
            channels: Channels,
        }

        impl $name {
            /// A layer of so many channels.
            ///
            /// # Errors
            /// A memory error.
            pub fn new(channels: usize) -> Result<Self, Error> {
                Self::with(channels, BatchNormOptions::default())
            }

            /// A layer with options.
            ///
            /// # Errors
            /// A dtype error for a dtype without gradients, a memory error.
            pub fn with(channels: usize, options: BatchNormOptions) -> Result<Self, Error> {
                let channels = Channels::new(channels, options)?;
                Ok(Self { channels })
            }
        }

        impl Layer for $name {
            fn forward(&self, input: &Tensor) -> Result<Tensor, Error> {
                match input.rank() {
                    $ranks => self.channels.forward(input, true),
                    _ => Err(wrong_rank("batch_norm", input, $accepted)),
                }
            }
        }
    )*};
}
batch_norms! {
    2 | 3, "2 and 3 are", BatchNorm1d;
    4, "4 are", BatchNorm2d;
    5, "5 are", BatchNorm3d;
}

macro_rules! instance_norms {
    ($($rank:literal, $accepted:literal, $name:ident;)*) => {$(
        #[doc = concat!("Instance normalization: channels of each sample brought to mean 0 and variance 1; of ranks ", $accepted, " accepted.")]
        ///
        /// `y = (x - E[x]) / sqrt(Var[x] + eps) * weight + bias`
        ///
        /// Without options there are neither parameters nor running numbers, as in torch.
        #[doc = concat!("\n```\nuse allotrope_nn::{Module, ", stringify!($name), "};\nlet layer = ", stringify!($name), "::new(4)?;\nassert_eq!((layer.num_parameters(), layer.named_buffers().len()), (0, 0));\n# Ok::<(), allotrope_nn::Error>(())\n```")]
        #[derive(Clone, Debug, Module)]
        pub struct $name {
            #[module(flatten)]
            channels: Channels,
        }

        impl $name {
            /// A layer of so many channels, without parameters.
            ///
            /// # Errors
            /// A memory error.
            pub fn new(channels: usize) -> Result<Self, Error> {
                let plain = BatchNormOptions { affine: false, track_running_stats: false, ..BatchNormOptions::default() };
                Self::with(channels, plain)
            }

            /// A layer with options.
            ///
            /// # Errors
            /// A dtype error for a dtype without gradients, a memory error.
            pub fn with(channels: usize, options: BatchNormOptions) -> Result<Self, Error> {
                let channels = Channels::new(channels, options)?;
                Ok(Self { channels })
            }
        }

        impl Layer for $name {
            fn forward(&self, input: &Tensor) -> Result<Tensor, Error> {
                match input.rank() {
                    $rank => self.channels.forward(input, false),
                    rank if rank + 1 == $rank => {
                        let result = self.channels.forward(&input.unsqueeze(0)?, false)?;
                        result.squeeze(Some(&[0]))
                    }
                    _ => Err(wrong_rank("instance_norm", input, $accepted)),
                }
            }
        }
    )*};
}
instance_norms! {
    3, "2 and 3 are", InstanceNorm1d;
    4, "3 and 4 are", InstanceNorm2d;
    5, "4 and 5 are", InstanceNorm3d;
}
