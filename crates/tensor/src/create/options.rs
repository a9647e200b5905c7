//! What a new tensor is to be.

use allotrope_dtype::{Capabilities, DType, Error, Family, Numeric, default_dtype};
use allotrope_op::Backend;

use crate::device::Device;
use crate::{Tensor, notice};

/// What a new tensor is to be: its dtype, and where it is. Of a family, whose width is the device's to
/// choose, it is the device's best.
///
/// ```
/// use allotrope_tensor::{Device, DType, Family, Options};
/// assert_eq!(Options::from(DType::F32).device, Device::cpu());
/// assert_eq!(Options::from((DType::F32, Device::cpu())).dtype, DType::F32);
/// assert_eq!(Options::from(Family::Int).dtype, DType::I64);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The dtype.
    pub dtype: DType,
    /// The device.
    pub device: Device,
    /// Of a family, whose dtype may change with the device: the one where every dtype is stored.
    pub width: Option<DType>,
}

impl Options {
    /// What to make of a dtype or family, on a device.
    #[must_use]
    pub fn new(numeric: impl Into<Numeric>, device: Device) -> Self {
        Self::of_data(numeric, None, device)
    }

    /// What to make of a dtype or family, on a device, for data that has a dtype of its own.
    #[must_use]
    pub fn of_data(numeric: impl Into<Numeric>, data: Option<DType>, device: Device) -> Self {
        let numeric = numeric.into();
        let resolve = |on: &Capabilities| numeric.resolve(data, default_dtype(), on);
        let width = numeric.is_family().then(|| resolve(&Capabilities::CPU));
        Self {
            dtype: resolve(device.capabilities()),
            device,
            width,
        }
    }

    /// Reports a dtype that the device stores narrower, before a tensor of it is made, by the policy of
    /// [`demotion`](allotrope_dtype::demotion).
    ///
    /// # Errors
    /// A device error if the policy is one, and what takes notices raises.
    pub fn check(self, op: &'static str) -> Result<Self, Error> {
        notice::stored(op, self.dtype, self.device)?;
        Ok(self)
    }

    /// A tensor of the dtype, made on the CPU, as these options want it.
    ///
    /// # Errors
    /// As [`Tensor::to_device`].
    pub fn place(self, tensor: Tensor) -> Result<Tensor, Error> {
        self.finish(tensor).to_device(self.device)
    }

    /// A new tensor, made by a device.
    pub(crate) fn make(
        self,
        op: &'static str,
        make: impl FnOnce(&'static dyn Backend, DType) -> Result<Tensor, Error>,
    ) -> Result<Tensor, Error> {
        self.check(op)?;
        let made = make(self.device.backend(), self.dtype)?;
        Ok(self.finish(made))
    }

    /// A new tensor as these options want it.
    pub(crate) fn finish(self, tensor: Tensor) -> Tensor {
        match self.width {
            None => tensor,
            width => tensor.with_width(width),
        }
    }
}

impl Default for Options {
    /// The default dtype on the CPU.
    fn default() -> Self {
        default_dtype().into()
    }
}

impl From<DType> for Options {
    fn from(dtype: DType) -> Self {
        Self {
            dtype,
            device: Device::cpu(),
            width: None,
        }
    }
}

impl From<Family> for Options {
    fn from(family: Family) -> Self {
        Self::new(family, Device::cpu())
    }
}

impl From<Device> for Options {
    /// The default dtype on a device.
    fn from(device: Device) -> Self {
        Self::new(default_dtype(), device)
    }
}

impl<N: Into<Numeric>, D: Into<Device>> From<(N, D)> for Options {
    fn from((numeric, device): (N, D)) -> Self {
        Self::new(numeric, device.into())
    }
}
