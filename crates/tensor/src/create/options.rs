//! What a new tensor is to be.

use allotrope_dtype::{DType, Error, Family, Numeric, default_dtype};
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
    /// Whether the dtype is a device's choice of a family's, which may change with the device.
    pub is_bit_free: bool,
}

impl Options {
    /// What to make of a dtype or family, on a device.
    #[must_use]
    pub fn new(numeric: impl Into<Numeric>, device: Device) -> Self {
        let numeric = numeric.into();
        Self {
            dtype: numeric.resolve(None, default_dtype(), device.capabilities()),
            device,
            is_bit_free: numeric.is_family(),
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
        if self.is_bit_free {
            return tensor.with_bit_free(true);
        }
        tensor
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
            is_bit_free: false,
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
