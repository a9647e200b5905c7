//! Places of a module: what is trained, and what is kept beside it.

use std::sync::Arc;

use allotrope_dtype::Numeric;
use allotrope_tensor::{DType, Device, Error, Tensor, Variable};

use crate::module::converted;

/// A tensor of a module that is trained: a place that the module and its optimizer share, so that
/// whatever becomes of it (a step, a cast, a loaded value) is seen by both.
///
/// ```
/// use allotrope_nn::{DType, Parameter, Tensor};
/// let weight = Parameter::new(Tensor::ones(&[3], DType::F32)?)?;
/// (weight.value() * 2).sum_all()?.backward()?;
/// assert_eq!(weight.grad().unwrap().to_vec::<f32>()?, [2.0; 3]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Parameter {
    place: Arc<Variable>,
}

impl Parameter {
    /// A parameter with a first value, which collects gradients.
    ///
    /// # Errors
    /// A gradient error for a dtype without gradients.
    pub fn new(value: Tensor) -> Result<Self, Error> {
        let place = Variable::new(value.detach().requires_grad_(true)?);
        let place = Arc::new(place);
        Ok(Self { place })
    }

    /// The value now, which later steps do not change; gradients come back through it.
    #[must_use]
    pub fn value(&self) -> Tensor {
        self.place.value()
    }

    /// What is written to.
    #[must_use]
    pub fn variable(&self) -> &Variable {
        &self.place
    }

    /// Another value, of any shape and dtype that has gradients; the gradient is forgotten if it no
    /// longer fits.
    ///
    /// # Errors
    /// A gradient error for a dtype without gradients, a memory error.
    pub fn set(&self, value: Tensor) -> Result<(), Error> {
        self.place.set_data(&Variable::new(value.detach()))
    }

    /// The value in another dtype from now on, and its gradient.
    ///
    /// # Errors
    /// As [`Tensor::to`] and [`set`](Self::set).
    pub fn to(&self, dtype: DType) -> Result<(), Error> {
        match self.in_dtype(dtype)? {
            Some(moved) => moved.take_place(),
            None => Ok(()),
        }
    }

    /// What the parameter would be in another dtype.
    pub(crate) fn in_dtype(&self, dtype: DType) -> Result<Option<Moved<'_>>, Error> {
        let value = self.value().detach();
        match value.dtype() == dtype {
            true => Ok(None),
            false => self.moved(value.to(dtype)?).map(Some),
        }
    }

    /// The value on another device from now on, and its gradient.
    ///
    /// # Errors
    /// As [`Tensor::to_device`] and [`set`](Self::set).
    pub fn to_device(&self, device: impl Into<Device>) -> Result<(), Error> {
        match self.on_device(device.into())? {
            Some(moved) => moved.take_place(),
            None => Ok(()),
        }
    }

    /// What the parameter would be on another device.
    pub(crate) fn on_device(&self, device: Device) -> Result<Option<Moved<'_>>, Error> {
        let value = self.value().detach();
        match value.device() == device {
            true => Ok(None),
            false => self.moved(value.to_device(device)?).map(Some),
        }
    }

    /// The same numbers elsewhere or in another dtype: the gradient follows.
    fn moved(&self, value: Tensor) -> Result<Moved<'_>, Error> {
        let gradient = self.grad().map(|gradient| {
            let moved = gradient.detach().to_device(value.device())?;
            moved.to(value.dtype())
        });
        let gradient = gradient.transpose()?;
        Ok(Moved {
            parameter: self,
            value,
            gradient,
        })
    }

    /// Whether gradients are collected.
    #[must_use]
    pub fn requires_grad(&self) -> bool {
        self.value().requires_grad()
    }

    /// Trains the parameter, or leaves it as it is.
    ///
    /// # Errors
    /// As [`Tensor::requires_grad_`].
    pub fn requires_grad_(&self, required: bool) -> Result<(), Error> {
        self.place.requires_grad_(required)
    }

    /// The gradient that was added up.
    #[must_use]
    pub fn grad(&self) -> Option<Tensor> {
        self.value().grad()
    }

    /// Forgets the gradient.
    ///
    /// # Errors
    /// None that can be reached: there is always room for nothing.
    pub fn zero_grad(&self) -> Result<(), Error> {
        self.value().set_grad(None)
    }

    /// Whether two are the same place, as of tied weights.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.place, &other.place)
    }
}

/// What a parameter is to be: made before anything is changed.
pub(crate) struct Moved<'a> {
    parameter: &'a Parameter,
    value: Tensor,
    gradient: Option<Tensor>,
}

impl Moved<'_> {
    pub(crate) fn take_place(self) -> Result<(), Error> {
        self.parameter.set(self.value)?;
        match self.gradient {
            Some(_) => self.parameter.value().set_grad(self.gradient),
            None => Ok(()),
        }
    }
}

/// What a buffer keeps where a module is converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keeps {
    Nothing,
    Dtype,
    Width,
}

/// The real dtype of statistics beside numbers of a dtype: float32 or wider.
pub(crate) fn wide(dtype: DType) -> DType {
    match dtype.to_real() {
        DType::F64 => DType::F64,
        _ => DType::F32,
    }
}

/// A tensor of a module that is kept and saved but not trained, such as running statistics.
///
/// ```
/// use allotrope_nn::{Buffer, DType, Tensor};
/// let mean = Buffer::new(Tensor::zeros(&[3], DType::F32)?).keep_dtype();
/// assert!(mean.keeps_dtype() && mean.is_persistent());
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Buffer {
    place: Arc<Variable>,
    keeps: Keeps,
    is_persistent: bool,
}

impl Buffer {
    /// A buffer with a first value.
    #[must_use]
    pub fn new(value: Tensor) -> Self {
        Self {
            place: Arc::new(Variable::new(value.detach())),
            keeps: Keeps::Nothing,
            is_persistent: true,
        }
    }

    /// The same buffer, which keeps its dtype where a module is converted.
    #[must_use]
    pub fn keep_dtype(mut self) -> Self {
        self.keeps = Keeps::Dtype;
        self
    }

    /// The same buffer, which is real and float32 or wider where a module is converted: sums over many
    /// batches would stop moving in 8 or 16 bits.
    #[must_use]
    pub fn keep_wide(mut self) -> Self {
        self.keeps = Keeps::Width;
        self
    }

    /// The same buffer, which is no part of a state dict.
    #[must_use]
    pub fn not_persistent(mut self) -> Self {
        self.is_persistent = false;
        self
    }

    /// Whether it keeps its dtype where a module is converted.
    #[must_use]
    pub fn keeps_dtype(&self) -> bool {
        self.keeps == Keeps::Dtype
    }

    /// What becomes of the dtype where a module is converted to another one.
    pub(crate) fn converted(&self, wanted: Numeric) -> DType {
        let now = self.value().dtype();
        match (self.keeps, converted(wanted, now)) {
            (Keeps::Dtype, _) => now,
            (Keeps::Nothing, dtype) => dtype,
            (Keeps::Width, dtype) if dtype.is_floating_point() || dtype.is_complex() => wide(dtype),
            // Counts stay counts.
            (Keeps::Width, dtype) => dtype,
        }
    }

    /// Whether it is a part of a state dict.
    #[must_use]
    pub fn is_persistent(&self) -> bool {
        self.is_persistent
    }

    /// The value now.
    #[must_use]
    pub fn value(&self) -> Tensor {
        self.place.value()
    }

    /// What is written to.
    #[must_use]
    pub fn variable(&self) -> &Variable {
        &self.place
    }

    /// Another value, of any shape and dtype.
    pub fn set(&self, value: Tensor) {
        self.place.rebind(value.detach());
    }

    /// Whether two are the same place.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.place, &other.place)
    }
}

/// As [`Buffer::new`].
impl From<Tensor> for Buffer {
    fn from(value: Tensor) -> Self {
        Self::new(value)
    }
}

/// As [`Parameter::new`].
impl TryFrom<Tensor> for Parameter {
    type Error = Error;
    fn try_from(value: Tensor) -> Result<Self, Error> {
        Self::new(value)
    }
}

/// What has a place that is written to: a parameter, a buffer, a variable.
///
/// ```
/// use allotrope_nn::{DType, Parameter, Place, Tensor, init};
/// let weight = Parameter::new(Tensor::ones(2, DType::F32)?)?;
/// init::zeros_(&weight)?;
/// assert_eq!(weight.place().value().to_vec::<f32>()?, [0.0, 0.0]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
pub trait Place {
    /// What is written to.
    fn place(&self) -> &Variable;
}

impl Place for Variable {
    fn place(&self) -> &Variable {
        self
    }
}

impl Place for Parameter {
    fn place(&self) -> &Variable {
        self.variable()
    }
}

impl Place for Buffer {
    fn place(&self) -> &Variable {
        self.variable()
    }
}
