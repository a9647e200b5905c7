//! Modules: structs whose parameters and buffers are found by the names of their fields.
//!
//! | file | what is in it |
//! |---|---|
//! | `mod` | [`Module`] and [`Layer`]: what a network can do |
//! | `visit` | [`Visit`]: the walk over places, which `#[derive(Module)]` writes |
//! | `state` | values by names: state dicts, files, and whether they fit |

mod state;
mod visit;

use std::path::Path;

use allotrope_dtype::{Capabilities, DType, Error, Family, Numeric, Set, default_dtype};
use allotrope_tensor::{Device, Tensor};

pub use state::{Report, StateDict};
pub use visit::{Training, Visit, Visitor, Walk};

use crate::{Buffer, Parameter};

/// A part of a network. `#[derive(Module)]` makes one of any struct or enum of modules, parameters,
/// buffers and containers of them.
///
/// ```
/// use allotrope_nn::{DType, Layer, Linear, Module, Parameter, Tensor};
///
/// #[derive(Module)]
/// struct Block {
///     layers: Vec<Linear>,
///     scale: Parameter,
///     dropout: f64,
/// }
///
/// let block = Block {
///     layers: vec![Linear::new(4, 8)?, Linear::new(8, 4)?],
///     scale: Parameter::new(Tensor::ones(&[4], DType::F32)?)?,
///     dropout: 0.1,
/// };
/// let names: Vec<String> = block.named_parameters().into_iter().map(|(name, _)| name).collect();
/// assert_eq!(names, ["layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias", "scale"]);
/// assert_eq!(block.num_parameters(), 4 * 8 + 8 + 8 * 4 + 4 + 4);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
///
/// Fields of plain types (numbers, text, dtypes) are no part of the walk. Other types have to say so with
/// `#[module(skip)]`: a weight that nobody trains is an error of the compiler. A tensor that is kept but
/// not trained is a [`Buffer`], since modules are moved and loaded behind a shared reference, and a
/// `Tensor` never changes.
///
/// ```
/// use std::{ops::Range, path::PathBuf};
/// use allotrope_nn::{Buffer, DType, Module, Tensor};
///
/// #[derive(Module)]
/// struct Scaled {
///     mean: Buffer,
///     #[module(skip)]
///     columns: Range<usize>,
///     #[module(skip)]
///     source: PathBuf,
/// }
///
/// let mean = Buffer::from(Tensor::zeros(3, DType::F32)?).keep_dtype();
/// let scaled = Scaled { mean, columns: 0..3, source: "numbers.npy".into() };
/// scaled.to(DType::F16)?;
/// assert_eq!(scaled.state_dict()["mean"].dtype(), DType::F32);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
///
/// ```compile_fail
/// use allotrope_nn::{Module, Tensor};
/// #[derive(Module)]
/// struct Forgotten {
///     weight: Tensor,
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no module",
    note = "derive it: #[derive(Module)]"
)]
pub trait Module: Visit {
    /// The parameters by the path of fields that leads to them; one that is shared has its first.
    fn named_parameters(&self) -> Vec<(String, Parameter)> {
        let mut found: Vec<(String, Parameter)> = Vec::new();
        visit::each_parameter(self, &mut |path, parameter| {
            if !found.iter().any(|(_, known)| known.is(parameter)) {
                found.push((path.to_owned(), parameter.clone()));
            }
        });
        found
    }

    /// The parameters, each once.
    fn parameters(&self) -> Vec<Parameter> {
        let named = self.named_parameters().into_iter();
        named.map(|(_, parameter)| parameter).collect()
    }

    /// The buffers by the path of fields that leads to them; one that is shared has its first.
    fn named_buffers(&self) -> Vec<(String, Buffer)> {
        let mut found: Vec<(String, Buffer)> = Vec::new();
        visit::each_buffer(self, &mut |path, buffer| {
            if !found.iter().any(|(_, known)| known.is(buffer)) {
                found.push((path.to_owned(), buffer.clone()));
            }
        });
        found
    }

    /// How many numbers are trained or could be.
    fn num_parameters(&self) -> usize {
        let parameters = self.parameters();
        parameters
            .iter()
            .map(|parameter| parameter.value().count())
            .sum()
    }

    /// The values of parameters and buffers by their paths: what [`save`](Self::save) writes, and the
    /// names that Python and torch have for the same network.
    fn state_dict(&self) -> StateDict {
        state::collect(self)
    }

    /// Takes the values of a state dict, converted to the dtypes that are there. Nothing is written
    /// unless all of it fits; with `strict` that includes that every place has a value and every value
    /// a place.
    ///
    /// # Errors
    /// A value error that names what is missing, unexpected, or of another shape or a higher kind.
    fn load_state_dict(&self, state: &StateDict, strict: bool) -> Result<Report, Error> {
        state::load(self, state, strict)
    }

    /// Writes the state dict to a safetensors file, which Python and torch read as well.
    ///
    /// # Errors
    /// A file error if the system refuses.
    fn save(&self, path: impl AsRef<Path>) -> Result<(), Error>
    where
        Self: Sized,
    {
        state::save(self, path.as_ref())
    }

    /// Takes the values of a file that [`save`](Self::save), Python or torch wrote; all must fit.
    ///
    /// # Errors
    /// A file error if the file cannot be read, and as [`load_state_dict`](Self::load_state_dict).
    fn load(&self, path: impl AsRef<Path>) -> Result<(), Error>
    where
        Self: Sized,
    {
        state::read(self, path.as_ref())
    }

    /// Converts floats to a float dtype, and complex numbers to that of the same parts: parameters and
    /// buffers, but for those that keep theirs. A family leaves its members as they are. Integers stay.
    ///
    /// # Errors
    /// A dtype error for a dtype that no parameter can have, a memory error.
    fn to(&self, dtype: impl Into<Numeric>) -> Result<(), Error>
    where
        Self: Sized,
    {
        let dtype = dtype.into();
        check("to", dtype)?;
        // All is made before anything is changed.
        let (parameters, buffers) = (self.named_parameters(), self.named_buffers());
        let (mut moved, mut values) = (Vec::new(), Vec::new());
        for (_, parameter) in &parameters {
            let now = parameter.value().dtype();
            moved.extend(parameter.in_dtype(converted(dtype, now))?);
        }
        for (_, buffer) in &buffers {
            values.push((buffer, buffer.value().to(buffer.converted(dtype))?));
        }
        for moved in moved {
            moved.take_place()?;
        }
        for (buffer, value) in values {
            if value.dtype() != buffer.value().dtype() {
                buffer.set(value);
            }
        }
        Ok(())
    }

    /// Moves parameters and buffers to a device; optimizers made before go on with what is there.
    ///
    /// # Errors
    /// As [`Tensor::to_device`].
    fn to_device(&self, device: impl Into<Device>) -> Result<(), Error>
    where
        Self: Sized,
    {
        let device = device.into();
        let (parameters, buffers) = (self.named_parameters(), self.named_buffers());
        let (mut moved, mut values) = (Vec::new(), Vec::new());
        for (_, parameter) in &parameters {
            moved.extend(parameter.on_device(device)?);
        }
        for (_, buffer) in &buffers {
            let now = buffer.value();
            if now.device() != device {
                values.push((buffer, now.to_device(device)?));
            }
        }
        for moved in moved {
            moved.take_place()?;
        }
        for (buffer, value) in values {
            buffer.set(value);
        }
        Ok(())
    }

    /// Trains all parameters, or leaves them as they are.
    ///
    /// # Errors
    /// As [`Tensor::requires_grad_`].
    fn requires_grad_(&self, required: bool) -> Result<(), Error> {
        let parameters = self.parameters();
        parameters
            .iter()
            .try_for_each(|p| p.requires_grad_(required))
    }

    /// Forgets the gradients of all parameters.
    ///
    /// # Errors
    /// As [`Parameter::zero_grad`].
    fn zero_grad(&self) -> Result<(), Error> {
        self.parameters().iter().try_for_each(Parameter::zero_grad)
    }

    /// Makes this training: dropout drops, and batches are measured.
    fn train(&self) {
        visit::set_training(self, true);
    }

    /// Makes this evaluation.
    fn eval(&self) {
        visit::set_training(self, false);
    }
}

/// A module that makes one tensor of another.
///
/// ```
/// use allotrope_nn::{Error, Layer, Relu, Tensor};
/// fn twice(layer: &impl Layer, x: &Tensor) -> Result<Tensor, Error> {
///     layer.forward(&layer.forward(x)?)
/// }
/// assert_eq!(twice(&Relu, &Tensor::new([-1.0])?)?, Tensor::new([0.0])?);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
pub trait Layer: Module {
    /// The result for an input.
    ///
    /// # Errors
    /// As the operations that it is made of.
    fn forward(&self, input: &Tensor) -> Result<Tensor, Error>;
}

impl<T: Layer + ?Sized> Layer for Box<T> {
    fn forward(&self, input: &Tensor) -> Result<Tensor, Error> {
        (**self).forward(input)
    }
}

/// Nothing hands its input on.
impl<T: Layer> Layer for Option<T> {
    fn forward(&self, input: &Tensor) -> Result<Tensor, Error> {
        match self {
            Some(layer) => layer.forward(input),
            None => Ok(input.clone()),
        }
    }
}

/// Refuses a dtype that no parameter can have.
fn check(op: &'static str, wanted: Numeric) -> Result<(), Error> {
    let dtype = converted(wanted, default_dtype());
    match Set::Inexact.contains(dtype) {
        true => Ok(()),
        false => Err(Error::not_in_set(op, dtype, Set::Inexact, None)),
    }
}

/// What becomes of a dtype: integers and bool stay.
pub(crate) fn converted(wanted: Numeric, dtype: DType) -> DType {
    if !Set::Inexact.contains(dtype) {
        return dtype;
    }
    match wanted {
        Numeric::Exact(wanted) if dtype.is_complex() => wanted.to_complex(),
        Numeric::Exact(wanted) => wanted,
        Numeric::Family(Family::Float) => dtype,
        Numeric::Family(family) => family.resolve(Some(dtype), default_dtype(), &Capabilities::CPU),
    }
}
