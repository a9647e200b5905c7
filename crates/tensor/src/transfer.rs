//! Tensors from one device to another, and what becomes of dtypes that one of them stores narrower.

use std::cell::RefCell;
use std::ops::Deref;

use allotrope_dtype::{CastOptions, DType, Error, Overflow, Problem, Scalar, WeakScalar};
use allotrope_op::{Backend, Hosting, Layout, Shape, Shared, View};
use smallvec::{SmallVec, smallvec};

use crate::Tensor;
use crate::device::Device;
use crate::elementwise::room;
use crate::host::{Buffer, CPU, Storage};
use crate::notice;

/// Elements that were moved between the CPU and another device, for what no hosted operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// `upload`, `download`, or `check` for what the CPU looks at where a device has no kernel for a check.
    pub way: &'static str,
    /// What they were moved for.
    pub op: &'static str,
    /// How many bytes.
    pub bytes: usize,
}

thread_local! {
    /// Nothing is noted where nobody has asked.
    static TRANSFERS: RefCell<Option<Vec<Transfer>>> = const { RefCell::new(None) };
}

/// What this thread has moved outside of hosted operations since it last asked; from the first time on
/// it is noted.
pub fn take_transfers() -> Vec<Transfer> {
    TRANSFERS.replace(Some(Vec::new())).unwrap_or_default()
}

fn moved(way: &'static str, op: &'static str, backend: &dyn Backend, bytes: usize) {
    if bytes == 0 || Hosting::is_now() || backend.id() == CPU.id() {
        return;
    }
    TRANSFERS.with_borrow_mut(|noted| {
        if let Some(noted) = noted {
            noted.push(Transfer { way, op, bytes });
        }
    });
}

/// Elements that the CPU has, in memory of a device.
pub(crate) fn upload(
    backend: &dyn Backend,
    op: &'static str,
    dtype: DType,
    bytes: &[u8],
) -> Result<Shared, Error> {
    moved("upload", op, backend, bytes.len());
    backend.upload(op, dtype, bytes)
}

/// Writes elements of a device to bytes that hold exactly them.
pub(crate) fn download(
    way: &'static str,
    op: &'static str,
    dtype: DType,
    from: View<'_>,
    bytes: &mut [u8],
) -> Result<(), Error> {
    let backend = from.memory.backend();
    moved(way, op, backend, bytes.len());
    backend.download(op, dtype, from, bytes)
}

/// Bytes of elements, aligned for their dtype: where a tensor has them, or copied.
pub(crate) enum Bytes<'a> {
    InPlace(&'a [u8]),
    Copied(Buffer),
}

impl Deref for Bytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::InPlace(bytes) => bytes,
            Self::Copied(buffer) => buffer,
        }
    }
}

impl Tensor {
    /// The device that the tensor is on.
    ///
    /// ```
    /// use allotrope_tensor::{Device, Tensor};
    /// assert_eq!(Tensor::new([1])?.device(), Device::cpu());
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    #[must_use]
    pub fn device(&self) -> Device {
        self.backend().into()
    }

    /// The dtype in which the device stores the elements: a narrower one than the tensor's where a
    /// device without it must demote, else the same.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// assert_eq!(Tensor::new([1.0])?.storage_dtype(), DType::F64);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    #[must_use]
    pub fn storage_dtype(&self) -> DType {
        self.backend().capabilities().storage(self.dtype())
    }

    /// Whether another tensor is on the same device.
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        let (here, there) = (self.backend(), other.backend());
        std::ptr::eq(here, there) || here.id() == there.id()
    }

    /// The same elements on another device, in row-major order; the tensor itself if it is there.
    ///
    /// A device that stores the dtype narrower keeps what of the values survives, by the policy of
    /// [`demotion`](allotrope_dtype::demotion); a tensor of a family takes the device's best width,
    /// up to that of its data.
    ///
    /// ```
    /// use allotrope_tensor::{Device, DType, Tensor};
    /// let x = Tensor::arange(0, 3, 1, DType::I64)?;
    /// assert!(x.to_device(Device::cpu())?.shares_storage_with(&x));
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A memory error of either device, a device error if one fails or demotion is one, an overflow
    /// error for an integer that the device cannot store.
    pub fn to_device(&self, device: impl Into<Device>) -> Result<Self, Error> {
        let device = device.into();
        if let Some(width) = self.width() {
            return self.fitted_to(device, width);
        }
        let storage = device.backend().capabilities().storage(self.dtype());
        if self.storage_dtype() == storage {
            return self.to_backend(device.backend());
        }
        self.demoted_to(device, storage)
    }

    /// [`to_device`](Self::to_device) where it stores another dtype than this tensor's device.
    #[cold]
    fn demoted_to(&self, device: Device, storage: DType) -> Result<Self, Error> {
        let dtype = self.dtype();
        if storage != dtype && self.device() != device {
            notice::stored("to", dtype, device)?;
        }
        self.to_backend(device.backend())
    }

    /// [`to_device`](Self::to_device) of a bit-free tensor, in what the device stores its width as.
    #[cold]
    fn fitted_to(&self, device: Device, width: DType) -> Result<Self, Error> {
        if self.device() == device {
            return Ok(self.clone());
        }
        let (backend, dtype) = (device.backend(), self.dtype());
        let storage = backend.capabilities().storage(width);
        if storage.bits() >= dtype.bits() {
            // What is wider there is moved as it is.
            let moved = self.to_backend(backend)?.to(storage)?;
            return Ok(moved.with_width(Some(width)));
        }
        let mut options = CastOptions::default();
        if dtype.is_integer() {
            options.overflow = Some(Overflow::Raise);
        }
        let narrower = self.to_with(storage, options);
        let narrower = narrower.map_err(|error| error.hint(stores(device, dtype, storage)))?;
        let moved = narrower.to_backend(backend)?;
        Ok(moved.with_width(Some(width)))
    }

    /// [`to_device`](Self::to_device) by its backend, without a notice.
    ///
    /// # Errors
    /// As [`to_device`](Self::to_device).
    pub fn to_backend(&self, backend: &'static dyn Backend) -> Result<Self, Error> {
        let (op, from) = ("to", self.backend());
        if from.id() == backend.id() {
            return Ok(self.clone());
        }
        let bytes = self.read(op)?;
        check_range(op, self.dtype(), &bytes, backend.into())?;
        let memory = upload(backend, op, self.dtype(), &bytes)?;
        let layout = Layout::contiguous(self.shape().clone());
        let moved = Self::from_parts(memory, layout, self.dtype());
        moved.with_rule(op, &[self], move |pass| {
            Ok(smallvec![Some(pass.gradient()?.to_backend(from)?)])
        })
    }

    /// The same elements on the device of another tensor: for what an operation makes for itself.
    pub(crate) fn beside(self, other: &Self) -> Result<Self, Error> {
        if self.is_beside(other) {
            Ok(self)
        } else {
            self.to_backend(other.backend())
        }
    }

    /// The bytes of the elements in row-major order: where they are, or copied to the CPU.
    pub(crate) fn read(&self, op: &'static str) -> Result<Bytes<'_>, Error> {
        match self.contiguous_bytes() {
            Some(bytes) => Ok(Bytes::InPlace(bytes)),
            None => {
                let mut buffer = room(op, self.shape(), self.dtype())?;
                download("download", op, self.dtype(), self.view_of(), &mut buffer)?;
                Ok(Bytes::Copied(buffer))
            }
        }
    }
}

/// Operands of one call: tensors, tensors that may be left out, several of them.
pub trait Operands: Copy {
    /// The same operands where they were moved to.
    type Moved;

    /// Shows every tensor, in order, and whether it is free.
    fn visit<'a>(self, see: &mut dyn FnMut(&'a Tensor, bool))
    where
        Self: 'a;

    /// The operands with those that are free on a device.
    ///
    /// # Errors
    /// What moving a tensor raises.
    fn follow(self, home: Device) -> Result<Self::Moved, Error>;
}

impl Operands for &Tensor {
    type Moved = Tensor;

    fn visit<'a>(self, see: &mut dyn FnMut(&'a Tensor, bool))
    where
        Self: 'a,
    {
        see(self, self.is_device_free());
    }

    fn follow(self, home: Device) -> Result<Tensor, Error> {
        match self.is_device_free() {
            true => self
                .to_device(home)
                .map(|moved| moved.with_device_free(false)),
            false => Ok(self.clone()),
        }
    }
}

impl Operands for Option<&Tensor> {
    type Moved = Option<Tensor>;

    fn visit<'a>(self, see: &mut dyn FnMut(&'a Tensor, bool))
    where
        Self: 'a,
    {
        if let Some(tensor) = self {
            tensor.visit(see);
        }
    }

    fn follow(self, home: Device) -> Result<Option<Tensor>, Error> {
        self.map(|tensor| tensor.follow(home)).transpose()
    }
}

impl Operands for &[&Tensor] {
    type Moved = SmallVec<[Tensor; 4]>;

    fn visit<'a>(self, see: &mut dyn FnMut(&'a Tensor, bool))
    where
        Self: 'a,
    {
        for tensor in self {
            tensor.visit(see);
        }
    }

    fn follow(self, home: Device) -> Result<Self::Moved, Error> {
        self.iter().map(|tensor| tensor.follow(home)).collect()
    }
}

/// Indices or a mask: on the CPU they are free, since they only choose.
#[derive(Clone, Copy)]
pub(crate) struct Chooser<'a>(pub(crate) &'a Tensor);

impl Chooser<'_> {
    fn is_free(self) -> bool {
        self.0.is_device_free() || self.0.device() == Device::cpu()
    }
}

impl Operands for Chooser<'_> {
    type Moved = Tensor;

    fn visit<'a>(self, see: &mut dyn FnMut(&'a Tensor, bool))
    where
        Self: 'a,
    {
        see(self.0, self.is_free());
    }

    fn follow(self, home: Device) -> Result<Tensor, Error> {
        match self.is_free() {
            true => self.0.clone().with_device_free(true).follow(home),
            false => Ok(self.0.clone()),
        }
    }
}

impl Operands for &[Tensor] {
    type Moved = SmallVec<[Tensor; 4]>;

    fn visit<'a>(self, see: &mut dyn FnMut(&'a Tensor, bool))
    where
        Self: 'a,
    {
        for tensor in self {
            tensor.visit(see);
        }
    }

    fn follow(self, home: Device) -> Result<Self::Moved, Error> {
        self.iter().map(|tensor| tensor.follow(home)).collect()
    }
}

macro_rules! tuples {
    ($(($($operand:ident),+);)+) => {$(
        impl<$($operand: Operands),+> Operands for ($($operand,)+) {
            type Moved = ($($operand::Moved,)+);

            fn visit<'a>(self, see: &mut dyn FnMut(&'a Tensor, bool))
            where
                Self: 'a,
            {
                #[allow(non_snake_case, reason = "operands are named as their types")]
                let ($($operand,)+) = self;
                $($operand.visit(see);)+
            }

            fn follow(self, home: Device) -> Result<Self::Moved, Error> {
                #[allow(non_snake_case, reason = "operands are named as their types")]
                let ($($operand,)+) = self;
                Ok(($($operand.follow(home)?,)+))
            }
        }
    )+};
}
tuples! {
    (A, B);
    (A, B, C);
    (A, B, C, D);
    (A, B, C, D, E);
}

/// The operands of a call with those that are free on the device of their partners; nothing if all are
/// where they belong. A call with several tensors begins with it, and goes on with what was moved.
///
/// ```
/// use allotrope_tensor::{DType, Tensor, gathered};
/// let (x, bias) = (Tensor::ones(&[2], DType::F32)?, None);
/// assert!(gathered((&x, &x, bias))?.is_none());
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
///
/// # Errors
/// What moving a tensor to another device raises.
pub fn gathered<O: Operands>(operands: O) -> Result<Option<O::Moved>, Error> {
    let (mut first, mut fixed) = (None, None);
    let (mut is_apart, mut any_free) = (false, false);
    operands.visit(&mut |tensor, is_free| {
        is_apart |= !tensor.is_beside(first.get_or_insert(tensor));
        any_free |= is_free;
        if !is_free && fixed.is_none() {
            fixed = Some(tensor);
        }
    });
    if !is_apart || !any_free {
        return Ok(None);
    }
    // Among free ones alone the first decides.
    let home = fixed.or(first).map(Tensor::device);
    home.map(|home| operands.follow(home)).transpose()
}

fn stores(device: Device, dtype: DType, storage: DType) -> String {
    format!("{device} stores {dtype} as {storage}")
}

/// Refuses integers that a device cannot store: they are never demoted out of range.
pub(crate) fn check_range(
    op: &'static str,
    dtype: DType,
    bytes: &[u8],
    device: Device,
) -> Result<(), Error> {
    let storage = device.backend().capabilities().storage(dtype);
    if storage == dtype || !dtype.is_integer() {
        return Ok(());
    }
    let Ok(range) = storage.iinfo() else {
        return Ok(());
    };
    let elements = bytes.chunks_exact(dtype.itemsize());
    for (index, element) in elements.enumerate() {
        let value = Scalar::from_bytes(dtype, element)?.value();
        match value {
            WeakScalar::Int(value) if value < range.min || value > range.max => {
                let problem = Problem::CastOverflow {
                    index,
                    value: value.to_string(),
                    from: dtype,
                    to: storage,
                };
                let hint = stores(device, dtype, storage);
                return Err(Error::new(op, problem).hint(hint));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The elements of a tensor in memory of the CPU, and the layout that they have there: of dimensions
/// that repeat the same elements, these once.
pub(crate) fn fetch(op: &'static str, tensor: &Tensor) -> Result<(Shared, Layout), Error> {
    let repeats = tensor.layout().strides().iter().map(|stride| *stride == 0);
    let sizes: SmallVec<[usize; 6]> = tensor
        .shape()
        .iter()
        .zip(repeats)
        .map(|(size, repeats)| if repeats { (*size).min(1) } else { *size })
        .collect();
    let once = Shape::new(op, &sizes)?;
    let mut narrowed = tensor.clone();
    for (dim, size) in once.iter().enumerate() {
        if *size != tensor.shape()[dim] {
            narrowed = narrowed.detach().narrow(dim as isize, 0, *size)?;
        }
    }
    let mut buffer = room(op, &once, tensor.dtype())?;
    // Tasks of the CPU are hosted, or check.
    download("check", op, tensor.dtype(), narrowed.view_of(), &mut buffer)?;
    let memory = Storage::Owned(buffer).share();
    let layout = Layout::contiguous(once).broadcast_to(op, tensor.shape())?;
    Ok((memory, layout))
}
