//! Sizes and the like as torch's methods, constructors like a tensor, and questions about one.

use allotrope_dtype::Kind;
use allotrope_op::normalize_axis;
use allotrope_tensor::{Device, Tensor};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arguments::{
    DTypeOrFamily, Data, Format, Int, Ints, Number, Operand, either, sizes as read_sizes,
};
use crate::cast;
use crate::compose::adjoint_of;
use crate::create::{self, as_leaf, number_of, operand, placed, resolve, resolve_like};
use crate::device::{device_named, device_or_cpu};
use crate::error::raise;
use crate::interchange::convert_data;
use crate::size;
use crate::tensor::{PyTensor, made, wrap};

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

/// A constructor of the tensor's dtype, per row.
macro_rules! new_tensors {
    ($($(#[doc = $doc:literal])* $name:ident $plain:ident;)*) => {
        #[pymethods]
        impl PyTensor {$(
            $(#[doc = $doc])*
            #[pyo3(signature = (*sizes, size=None, dtype=None, device=None, requires_grad=false))]
            fn $name(
                &self,
                sizes: &Bound<'_, PyTuple>,
                size: Option<Ints>,
                dtype: Option<DTypeOrFamily>,
                device: Option<&str>,
                requires_grad: bool,
            ) -> PyResult<Self> {
                const OP: &str = stringify!($name);
                let options = resolve_like(OP, dtype, device, &self.tensor())?;
                let made = Tensor::$plain(&read_sizes(OP, sizes, size)?, options);
                as_leaf(wrap(made.map_err(|error| error.in_op(OP))), requires_grad)
            }
        )*}
    };
}
new_tensors! {
    /// All zero, in this tensor's dtype if none is given.
    ///
    /// >>> al.ones(1, dtype="int8").new_zeros(2)
    /// tensor([0, 0], dtype=int8)
    new_zeros zeros;
    /// All one, in this tensor's dtype if none is given.
    ///
    /// >>> al.zeros(1, dtype="int8").new_ones((2,))
    /// tensor([1, 1], dtype=int8)
    new_ones ones;
    /// Elements of unknown values, in this tensor's dtype if none is given.
    ///
    /// >>> al.zeros(1).new_empty(2, 3).shape
    /// (2, 3)
    new_empty empty;
}

/// Questions that other libraries' tensors may answer with yes, per row.
macro_rules! never {
    ($($(#[doc = $doc:literal])* $name:ident;)*) => {
        #[pymethods]
        impl PyTensor {$(
            $(#[doc = $doc])*
            #[getter]
            #[allow(clippy::unused_self, reason = "a Python attribute")]
            fn $name(&self) -> bool {
                false
            }
        )*}
    };
}
never! {
    /// Whether the tensor stores zeros as nothing: no tensor here does.
    ///
    /// >>> al.zeros(1).is_sparse
    /// False
    is_sparse;
    /// Whether the tensor stores zeros as nothing, row by row: no tensor here does.
    ///
    /// >>> al.zeros(1).is_sparse_csr
    /// False
    is_sparse_csr;
    /// Whether the tensor has scales of torch's quantized tensors: no tensor here has.
    ///
    /// >>> al.zeros(1).is_quantized
    /// False
    is_quantized;
    /// Whether the tensor has rows of several lengths: no tensor here has.
    ///
    /// >>> al.zeros(1).is_nested
    /// False
    is_nested;
    /// Whether the tensor is in a layout of oneDNN's own: no tensor here is.
    ///
    /// >>> al.zeros(1).is_mkldnn
    /// False
    is_mkldnn;
    /// Whether the tensor is on a device of Intel's: no tensor here is.
    ///
    /// >>> al.zeros(1).is_xpu
    /// False
    is_xpu;
    /// Whether the tensor is on a device of Apple's Metal: no tensor here is.
    ///
    /// >>> al.zeros(1).is_mps
    /// False
    is_mps;
    /// Whether the tensor is on a device of Habana's: no tensor here is.
    ///
    /// >>> al.zeros(1).is_hpu
    /// False
    is_hpu;
    /// Whether the tensor is on a device of XLA: no tensor here is.
    ///
    /// >>> al.zeros(1).is_xla
    /// False
    is_xla;
    /// Whether the tensor is on a device of Graphcore's: no tensor here is.
    ///
    /// >>> al.zeros(1).is_ipu
    /// False
    is_ipu;
    /// Whether the tensor is on a device of Vulkan: no tensor here is.
    ///
    /// >>> al.zeros(1).is_vulkan
    /// False
    is_vulkan;
    /// Whether the tensor is on a device of Meta's: no tensor here is.
    ///
    /// >>> al.zeros(1).is_mtia
    /// False
    is_mtia;
    /// Whether the tensor is on a device of Microsoft's: no tensor here is.
    ///
    /// >>> al.zeros(1).is_maia
    /// False
    is_maia;
}

#[pymethods]
impl PyTensor {
    /// The sizes of the dimensions, or that of one.
    ///
    /// >>> al.zeros(2, 3).size(), al.zeros(2, 3).size(-1)
    /// ((2, 3), 3)
    #[pyo3(signature = (dim=None, *, axis=None))]
    fn size<'py>(
        &self,
        py: Python<'py>,
        dim: Option<Int>,
        axis: Option<Int>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let tensor = self.tensor();
        match either("size", dim, axis)? {
            None => Ok(size::wrap(py, tensor.shape())?.into_any()),
            Some(Int(dim)) => {
                let dim = normalize_axis("size", dim, tensor.rank()).map_err(raise)?;
                Ok(tensor.shape()[dim].into_pyobject(py)?.into_any())
            }
        }
    }

    /// The number of dimensions.
    ///
    /// >>> al.zeros(2, 3).dim()
    /// 2
    fn dim(&self) -> usize {
        self.tensor().rank()
    }

    /// The number of dimensions.
    ///
    /// >>> al.zeros(2, 3).ndimension()
    /// 2
    fn ndimension(&self) -> usize {
        self.tensor().rank()
    }

    /// The number of elements.
    ///
    /// >>> al.zeros(2, 3).nelement()
    /// 6
    fn nelement(&self) -> usize {
        self.tensor().count()
    }

    /// The bytes of an element.
    ///
    /// >>> al.zeros(2, dtype="bfloat16").element_size()
    /// 2
    fn element_size(&self) -> usize {
        self.tensor().dtype().itemsize()
    }

    /// The bytes of an element.
    ///
    /// >>> al.zeros(2, dtype="bfloat16").itemsize
    /// 2
    #[getter]
    fn itemsize(&self) -> usize {
        self.tensor().dtype().itemsize()
    }

    /// The bytes of all elements.
    ///
    /// >>> al.zeros(2, 3, dtype="bfloat16").nbytes
    /// 12
    #[getter]
    fn nbytes(&self) -> usize {
        self.tensor().byte_count()
    }

    /// The last two dimensions exchanged, and complex numbers conjugated.
    ///
    /// >>> al.tensor([[1 + 2j, 3]]).mH
    /// tensor([[1.-2.j],
    ///         [3.-0.j]])
    #[getter(mH)]
    fn matrix_adjoint(&self) -> PyResult<Self> {
        self.see(|x| made(adjoint_of(x)))
    }

    /// A matrix with its dimensions exchanged, and complex numbers conjugated.
    ///
    /// >>> al.tensor([[1 + 2j, 3]]).H
    /// tensor([[1.-2.j],
    ///         [3.-0.j]])
    #[getter(H)]
    fn whole_adjoint(&self) -> PyResult<Self> {
        self.see(|x| {
            made(match x.rank() {
                0 => Ok(x.clone()),
                _ => adjoint_of(x),
            })
        })
    }

    /// Whether a conjugation is put off: it never is.
    ///
    /// >>> al.ones(1, dtype="complex64").conj().is_conj()
    /// False
    #[allow(clippy::unused_self, reason = "a Python method")]
    fn is_conj(&self) -> bool {
        false
    }

    /// Whether a negation is put off: it never is.
    ///
    /// >>> al.ones(1).neg().is_neg()
    /// False
    #[allow(clippy::unused_self, reason = "a Python method")]
    fn is_neg(&self) -> bool {
        false
    }

    /// Whether the dtype is a float.
    ///
    /// >>> al.ones(1).is_floating_point()
    /// True
    fn is_floating_point(&self) -> bool {
        self.tensor().dtype().is_floating_point()
    }

    /// Whether the dtype is complex.
    ///
    /// >>> al.ones(1).is_complex()
    /// False
    fn is_complex(&self) -> bool {
        self.tensor().dtype().is_complex()
    }

    /// Whether the dtype has negative numbers.
    ///
    /// >>> al.ones(1, dtype="uint8").is_signed()
    /// False
    fn is_signed(&self) -> bool {
        !matches!(self.tensor().dtype().kind(), Kind::Bool | Kind::Unsigned)
    }

    /// Whether this is another tensor with the same shape.
    ///
    /// >>> al.zeros(2).is_same_size(al.ones(2))
    /// True
    fn is_same_size(&self, other: Operand) -> PyResult<bool> {
        Ok(self.tensor().shape() == operand("is_same_size", other)?.shape())
    }

    /// Whether the elements are on the CPU.
    ///
    /// >>> al.zeros(1).is_cpu
    /// True
    #[getter]
    fn is_cpu(&self) -> bool {
        self.tensor().device() == Device::cpu()
    }

    /// Whether the elements are on a GPU of CUDA.
    ///
    /// >>> al.zeros(1).is_cuda
    /// False
    #[getter]
    #[allow(clippy::unused_self, reason = "a Python attribute")]
    fn is_cuda(&self) -> bool {
        false
    }

    /// Whether the tensor is on the device `meta`, which has shapes and dtypes alone.
    ///
    /// >>> al.zeros(1).is_meta, al.zeros(1, device="meta").is_meta
    /// (False, True)
    #[getter]
    fn is_meta(&self) -> bool {
        self.tensor().device() == Device::meta()
    }

    /// The elements on the CPU: the tensor itself if they are there.
    ///
    /// >>> al.ones(1).cpu()
    /// tensor([1.])
    #[pyo3(signature = (memory_format=None))]
    fn cpu<'py>(
        this: &Bound<'py, Self>,
        memory_format: Option<Format>,
    ) -> PyResult<Bound<'py, Self>> {
        cast::move_to("cpu", this, Device::cpu(), memory_format)
    }

    /// The elements on the first GPU, or on another by its number.
    ///
    /// >>> al.ones(1).gpu().device  # doctest: +GPU
    /// device(type='gpu')
    #[pyo3(signature = (device=None, non_blocking=false, memory_format=None))]
    fn gpu<'py>(
        this: &Bound<'py, Self>,
        device: Option<u32>,
        non_blocking: bool,
        memory_format: Option<Format>,
    ) -> PyResult<Bound<'py, Self>> {
        let _ = non_blocking;
        let device = Device::new("gpu", device.unwrap_or(0));
        let device = device.map_err(|error| raise(error.in_op("gpu")))?;
        cast::move_to("gpu", this, device, memory_format)
    }

    /// Refused: a GPU of any maker is "gpu".
    ///
    /// >>> al.ones(1).cuda()
    /// Traceback (most recent call last):
    ///     ...
    /// RuntimeError: cuda: no such device: 'cuda'; available are ...
    #[pyo3(signature = (device=None, non_blocking=false, memory_format=None))]
    fn cuda<'py>(
        this: &Bound<'py, Self>,
        device: Option<u32>,
        non_blocking: bool,
        memory_format: Option<Format>,
    ) -> PyResult<Bound<'py, Self>> {
        let _ = non_blocking;
        let named = device.map_or_else(|| "cuda".to_owned(), |device| format!("cuda:{device}"));
        cast::move_to("cuda", this, device_named("cuda", &named)?, memory_format)
    }

    /// The tensor itself: its memory is what devices read from.
    ///
    /// >>> x = al.ones(2)
    /// >>> x.pin_memory() is x
    /// True
    #[pyo3(signature = (device=None))]
    fn pin_memory<'py>(this: Bound<'py, Self>, device: Option<&str>) -> PyResult<Bound<'py, Self>> {
        device_or_cpu("pin_memory", device)?;
        Ok(this)
    }

    /// Whether the memory was set aside for moves to a device; there is no such memory.
    ///
    /// >>> al.ones(2).is_pinned()
    /// False
    #[pyo3(signature = (device=None))]
    #[allow(clippy::unused_self, reason = "a Python method")]
    fn is_pinned(&self, device: Option<&str>) -> PyResult<bool> {
        device_or_cpu("is_pinned", device)?;
        Ok(false)
    }

    /// The elements without a history. A change of them in place is a change of this tensor that is
    /// not recorded.
    ///
    /// >>> w = al.ones(2, requires_grad=True)
    /// >>> w.data -= 0.5
    /// >>> w
    /// tensor([0.5000, 0.5000], requires_grad=True)
    #[getter]
    fn data(&self) -> PyResult<Self> {
        made(self.variable().detach()).map(Self::from)
    }

    #[setter(data)]
    fn set_data(&self, value: &Bound<'_, Self>) -> PyResult<()> {
        made(self.variable().set_data(value.get().variable()))
    }

    /// The address of the first element.
    ///
    /// >>> x = al.zeros(2)
    /// >>> x[1:].data_ptr() - x.data_ptr()
    /// 4
    fn data_ptr(&self) -> usize {
        self.tensor().address()
    }

    /// Where the first element is among those of the memory.
    ///
    /// >>> al.zeros(3)[1:].storage_offset()
    /// 1
    fn storage_offset(&self) -> usize {
        self.tensor().layout().offset()
    }

    /// All of one value, in this tensor's dtype if none is given.
    ///
    /// >>> al.ones(1, dtype="int8").new_full((2,), 7)
    /// tensor([7, 7], dtype=int8)
    #[pyo3(signature = (size, fill_value, dtype=None, device=None, requires_grad=false))]
    fn new_full(
        &self,
        size: Ints,
        fill_value: Number,
        dtype: Option<DTypeOrFamily>,
        device: Option<&str>,
        requires_grad: bool,
    ) -> PyResult<Self> {
        const OP: &str = "new_full";
        let options = resolve_like(OP, dtype, device, &self.tensor())?;
        let sizes = read_sizes(OP, &PyTuple::empty(size.py()), Some(size))?;
        let value = number_of(OP, fill_value, options.dtype)?;
        let made = Tensor::full(&sizes, value, options).map_err(|error| error.in_op(OP));
        as_leaf(wrap(made), requires_grad)
    }

    /// A tensor of data, in this tensor's dtype if none is given.
    ///
    /// >>> al.ones(1, dtype="int8").new_tensor([1, 2])
    /// tensor([1, 2], dtype=int8)
    #[pyo3(signature = (data, *, dtype=None, device=None, requires_grad=false))]
    fn new_tensor(
        &self,
        data: Data,
        dtype: Option<DTypeOrFamily>,
        device: Option<&str>,
        requires_grad: bool,
    ) -> PyResult<Self> {
        const OP: &str = "new_tensor";
        let options = resolve_like(OP, dtype, device, &self.tensor())?;
        // The data's own memory, which is read once: by the cast, or by the copy.
        let at = (!data.is_instance_of::<Self>()).then_some("cpu");
        let data = convert_data(OP, data, None, at, None)?.tensor().detach();
        let made = match data.dtype() == options.dtype {
            true => data.copied(),
            false => data.to(options.dtype),
        };
        as_leaf(Ok(placed(OP, made, options)?.into()), requires_grad)
    }
}

/// The number of elements.
///
/// >>> al.numel(al.zeros(2, 3))
/// 6
#[pyfunction]
fn numel(input: Operand) -> PyResult<usize> {
    Ok(operand("numel", input)?.count())
}

/// Whether an object is a tensor.
///
/// >>> al.is_tensor(al.zeros(1)), al.is_tensor(1)
/// (True, False)
#[pyfunction]
fn is_tensor(obj: Any<'_, '_>) -> bool {
    obj.is_instance_of::<PyTensor>()
}

/// Whether the one element of a tensor is not zero.
///
/// >>> al.is_nonzero(al.tensor([0.5]))
/// True
#[pyfunction]
fn is_nonzero(input: Operand) -> PyResult<bool> {
    PyTensor::from(operand("is_nonzero", input)?).is_nonzero()
}

#[pymethods]
impl PyTensor {
    /// Whether the one element is not zero.
    ///
    /// >>> al.tensor([0.5]).is_nonzero()
    /// True
    fn is_nonzero(&self) -> PyResult<bool> {
        let value = self.tensor().item();
        let value = value.map_err(|error| raise(error.in_op("is_nonzero")))?;
        Ok(create::is_nonzero(value.value()))
    }
}

/// A number as a tensor without dimensions, of the default float if no dtype is given.
///
/// >>> al.scalar_tensor(2)
/// tensor(2.)
#[pyfunction]
#[pyo3(signature = (s, *, dtype=None, device=None, requires_grad=false))]
fn scalar_tensor(
    s: Number,
    dtype: Option<DTypeOrFamily>,
    device: Option<&str>,
    requires_grad: bool,
) -> PyResult<PyTensor> {
    const OP: &str = "scalar_tensor";
    let options = resolve(OP, dtype, device, || Ok(None))?;
    let made = Tensor::full(&[], create::number_of(OP, s, options.dtype)?, options);
    as_leaf(wrap(made.map_err(|error| error.in_op(OP))), requires_grad)
}

/// The elements of a tensor without a history.
///
/// >>> al.detach(al.ones(1, requires_grad=True)).requires_grad
/// False
#[pyfunction]
fn detach(input: Operand) -> PyResult<PyTensor> {
    match input.cast::<PyTensor>() {
        Ok(tensor) => made(tensor.get().variable().detach()).map(PyTensor::from),
        Err(_) => Ok(operand("detach", input)?.detach().into()),
    }
}

/// Adds the functions of the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    add!(module, numel is_tensor is_nonzero scalar_tensor detach);
    Ok(())
}
