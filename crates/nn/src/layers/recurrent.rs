//! Recurrent networks and their cells.

use allotrope_dtype::{DType, Error, Problem, default_dtype};
use allotrope_tensor::{Device, Options, Tensor};

use super::{root_share, uniform, value};
use crate::rnn::{Recurrence, Recurrent, RecurrentOptions, recurrent, recurrent_cell};
use crate::{Module, Parameter, Training, Visit, Walk};

/// Initial states: the hidden ones, and the cells of a long short-term memory.
///
/// ```
/// use allotrope_nn::{DType, Layer, Lstm, States, Tensor};
/// let (h, c) = (Tensor::zeros((1, 2, 4), DType::F32)?, Tensor::zeros((1, 2, 4), DType::F32)?);
/// let initial: States<'_> = (&h, Some(&c));
/// let states = Lstm::new(3, 4)?.forward(&Tensor::ones((5, 2, 3), DType::F32)?, Some(initial))?;
/// assert_eq!(states.output.shape(), [5, 2, 4]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
pub type States<'a> = (&'a Tensor, Option<&'a Tensor>);

/// How a recurrent network is made.
///
/// ```
/// use allotrope_nn::{DType, Gru, Layer, RnnOptions, Tensor};
/// let options = RnnOptions { bidirectional: true, batch_first: true, ..Default::default() };
/// let states = Gru::with(3, 4, options)?.forward(&Tensor::ones((2, 5, 3), DType::F32)?, None)?;
/// assert_eq!(states.output.shape(), [2, 5, 8]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RnnOptions {
    /// Layers, each over the results of the one before.
    pub num_layers: usize,
    /// Whether there are biases.
    pub bias: bool,
    /// Whether the first dimension of sequences is the batch, not time.
    pub batch_first: bool,
    /// The share of results that is dropped between layers in training.
    pub dropout: f64,
    /// Whether sequences are also read from their ends.
    pub bidirectional: bool,
    /// The size that hidden states of a long short-term memory are projected to; 0 for none.
    pub proj_size: usize,
    /// Whether a plain network has relu in the place of tanh.
    pub relu: bool,
    /// The dtype of the parameters.
    pub dtype: DType,
    /// The device of the same.
    pub device: Device,
}

impl Default for RnnOptions {
    fn default() -> Self {
        Self {
            num_layers: 1,
            bias: true,
            batch_first: false,
            dropout: 0.0,
            bidirectional: false,
            proj_size: 0,
            relu: false,
            dtype: default_dtype(),
            device: Device::cpu(),
        }
    }
}

/// The parameters of all layers by torch's names, in its order.
#[derive(Clone, Debug)]
struct Layers {
    named: Vec<(String, Parameter)>,
    training: Training,
    options: RnnOptions,
    kind: Recurrence,
}

impl Visit for Layers {
    fn visit(&self, walk: &mut Walk<'_>) {
        for (name, parameter) in &self.named {
            walk.field(name, parameter);
        }
        self.training.visit(walk);
    }
}

impl Layers {
    fn new(
        kind: Recurrence,
        features: usize,
        hidden: usize,
        options: RnnOptions,
    ) -> Result<Self, Error> {
        let is_projected = options.proj_size > 0;
        if is_projected && (!kind.has_cell() || options.proj_size >= hidden) {
            let problem = Problem::OutOfRange {
                what: "proj_size",
                index: None,
                value: options.proj_size.to_string(),
                accepted: "sizes below the hidden one, of a long short-term memory,",
            };
            return Err(Error::new(kind.name(), problem));
        }
        let out = if is_projected {
            options.proj_size
        } else {
            hidden
        };
        let directions = 1 + usize::from(options.bidirectional);
        let (rows, bound) = (kind.gates() * hidden, root_share(hidden));
        let mut named = Vec::new();
        for layer in 0..options.num_layers {
            let inputs = if layer == 0 {
                features
            } else {
                out * directions
            };
            for suffix in ["", "_reverse"].into_iter().take(directions) {
                let mut add = |name: &str, sizes: &[usize]| {
                    let parameter = uniform(sizes, bound, (options.dtype, options.device))?;
                    named.push((format!("{name}_l{layer}{suffix}"), parameter));
                    Ok::<(), Error>(())
                };
                add("weight_ih", &[rows, inputs])?;
                add("weight_hh", &[rows, out])?;
                if options.bias {
                    add("bias_ih", &[rows])?;
                    add("bias_hh", &[rows])?;
                }
                if is_projected {
                    add("weight_hr", &[out, hidden])?;
                }
            }
        }
        Ok(Self {
            named,
            training: Training::default(),
            options,
            kind,
        })
    }

    fn forward(
        &self,
        input: &Tensor,
        batch_sizes: Option<&[usize]>,
        initial: Option<States<'_>>,
    ) -> Result<Recurrent, Error> {
        let parameters: Vec<Tensor> = self.named.iter().map(|(_, p)| p.value()).collect();
        let options = RecurrentOptions {
            num_layers: self.options.num_layers,
            has_biases: self.options.bias,
            bidirectional: self.options.bidirectional,
            batch_first: self.options.batch_first,
            dropout: self.options.dropout,
            train: self.training.is_on(),
            generator: None,
        };
        recurrent(self.kind, input, batch_sizes, initial, &parameters, options)
    }
}

macro_rules! networks {
    ($($doc:literal $name:ident |$options:ident| $kind:expr;)*) => {$(
        #[doc = $doc]
        #[doc = concat!("\n```\nuse allotrope_nn::{DType, Tensor, ", stringify!($name), "};\nlet states = ", stringify!($name), "::new(3, 4)?.forward(&Tensor::ones((5, 2, 3), DType::F32)?, None)?;\nassert_eq!(states.output.shape(), [5, 2, 4]);\n# Ok::<(), allotrope_nn::Error>(())\n```")]
        #[derive(Clone, Debug, Module)]
        pub struct $name {
            #[module(flatten)]
            layers: Layers,
        }

        impl $name {
            /// A network of one layer.
            ///
            /// # Errors
            /// A memory error.
            pub fn new(features: usize, hidden: usize) -> Result<Self, Error> {
                Self::with(features, hidden, RnnOptions::default())
            }

            /// A network with options.
            ///
            /// # Errors
            /// A value error for a projection that there cannot be, a memory error.
            pub fn with(features: usize, hidden: usize, options: RnnOptions) -> Result<Self, Error> {
                let $options = options;
                let layers = Layers::new($kind, features, hidden, options)?;
                Ok(Self { layers })
            }

            /// The states over sequences `[time, batch, features]`, or as the options say.
            ///
            /// # Errors
            /// As [`recurrent`].
            pub fn forward(&self, input: &Tensor, initial: Option<States<'_>>) -> Result<Recurrent, Error> {
                self.layers.forward(input, None, initial)
            }

            /// The states over packed sequences: rows of data, and how many belong to each step.
            ///
            /// # Errors
            /// As [`recurrent`].
            pub fn forward_packed(
                &self,
                data: &Tensor,
                batch_sizes: &[usize],
                initial: Option<States<'_>>,
            ) -> Result<Recurrent, Error> {
                self.layers.forward(data, Some(batch_sizes), initial)
            }
        }
    )*};
}
networks! {
    "A recurrent network: `h' = tanh(W x + b + U h + c)`." Rnn |options| match options.relu {
        true => Recurrence::RnnRelu,
        false => Recurrence::RnnTanh,
    };
    "A long short-term memory (LSTM)." Lstm |_options| Recurrence::Lstm;
    "A network of gated recurrent units (GRU)." Gru |_options| Recurrence::Gru;
}

macro_rules! cells {
    ($($doc:literal $name:ident $kind:expr;)*) => {$(
        #[doc = $doc]
        #[doc = concat!("\n```\nuse allotrope_nn::{DType, Tensor, ", stringify!($name), "};\nlet (hidden, _) = ", stringify!($name), "::new(3, 4)?.forward(&Tensor::ones((2, 3), DType::F32)?, None)?;\nassert_eq!(hidden.shape(), [2, 4]);\n# Ok::<(), allotrope_nn::Error>(())\n```")]
        #[derive(Clone, Debug, Module)]
        pub struct $name {
            /// `[gates * hidden, features]`.
            pub weight_ih: Parameter,
            /// `[gates * hidden, hidden]`.
            pub weight_hh: Parameter,
            /// `[gates * hidden]`.
            pub bias_ih: Option<Parameter>,
            /// `[gates * hidden]`.
            pub bias_hh: Option<Parameter>,
        }

        impl $name {
            /// A cell with biases.
            ///
            /// # Errors
            /// A memory error.
            pub fn new(features: usize, hidden: usize) -> Result<Self, Error> {
                Self::with(features, hidden, true, default_dtype())
            }

            /// A cell with biases or without, of a dtype, or of one on a device.
            ///
            /// # Errors
            /// A dtype error for a dtype without gradients, a memory error.
            pub fn with(
                features: usize,
                hidden: usize,
                bias: bool,
                options: impl Into<Options>,
            ) -> Result<Self, Error> {
                let place = options.into();
                let (rows, bound) = ($kind.gates() * hidden, root_share(hidden));
                let summand = || bias.then(|| uniform(&[rows], bound, place)).transpose();
                Ok(Self {
                    weight_ih: uniform(&[rows, features], bound, place)?,
                    weight_hh: uniform(&[rows, hidden], bound, place)?,
                    bias_ih: summand()?,
                    bias_hh: summand()?,
                })
            }

            /// The states after a step: the hidden one, and the cell's if there is one.
            ///
            /// # Errors
            /// As [`recurrent_cell`].
            pub fn forward(
                &self,
                input: &Tensor,
                initial: Option<States<'_>>,
            ) -> Result<(Tensor, Option<Tensor>), Error> {
                let weights = (self.weight_ih.value(), self.weight_hh.value());
                let biases = value(self.bias_ih.as_ref()).zip(value(self.bias_hh.as_ref()));
                let biases = biases.as_ref().map(|(one, other)| (one, other));
                recurrent_cell($kind, input, initial, (&weights.0, &weights.1), biases)
            }
        }
    )*};
}
cells! {
    "One step of a recurrent network." RnnCell Recurrence::RnnTanh;
    "One step of a long short-term memory (LSTM)." LstmCell Recurrence::Lstm;
    "One step of gated recurrent units (GRU)." GruCell Recurrence::Gru;
}
