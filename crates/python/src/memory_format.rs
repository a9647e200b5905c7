//! Memory formats: torch's names for the order of dimensions in memory.

use allotrope_tensor::Tensor;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::{raise, wrong_object};

/// An order of dimensions in memory: contiguous_format (row-major), preserve_format (as it comes),
/// channels_last (channels of `[N, C, H, W]` side by side) or channels_last_3d (of `[N, C, D, H, W]`).
///
/// >>> x = al.zeros(1, 3, 2, 2).contiguous(memory_format=al.channels_last)
/// >>> x.shape, x.stride()
/// ((1, 3, 2, 2), (12, 1, 6, 3))
#[pyclass(frozen, eq, hash, name = "memory_format", module = "allotrope")]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct MemoryFormat(&'static str);

/// Every format.
const FORMATS: [&str; 4] = [
    "contiguous_format",
    "preserve_format",
    "channels_last",
    "channels_last_3d",
];

#[pymethods]
impl MemoryFormat {
    fn __repr__(&self) -> String {
        format!("allotrope.{}", self.0)
    }

    fn __reduce__(&self) -> &'static str {
        self.0
    }
}

impl MemoryFormat {
    /// What an argument says; nothing is row-major.
    fn read(op: &'static str, object: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(object) = object.filter(|object| !object.is_none()) else {
            return Ok(Self(FORMATS[0]));
        };
        let format = object.cast::<Self>().map(|format| *format.get());
        format.map_err(|_| {
            let accepted = "contiguous_format, preserve_format, channels_last and channels_last_3d";
            wrong_object(op, "not a memory format", object, accepted)
        })
    }

    /// The dimensions in the order of memory, where that is not theirs.
    fn order(self) -> Option<&'static [isize]> {
        match self.0 {
            "channels_last" => Some(&[0, 2, 3, 1]),
            "channels_last_3d" => Some(&[0, 2, 3, 4, 1]),
            _ => None,
        }
    }
}

/// A tensor whose elements lie as a format says. Row-major is what operations give anyway: a tensor
/// that is not asked for channels at the end stays as it is.
pub(crate) fn arrange(
    op: &'static str,
    tensor: Tensor,
    format: Option<&Bound<'_, PyAny>>,
) -> PyResult<Tensor> {
    let format = MemoryFormat::read(op, format)?;
    let Some(order) = format.order() else {
        return Ok(tensor);
    };
    if tensor.rank() != order.len() {
        return Err(PyValueError::new_err(format!(
            "{op}: wrong number of dimensions: {}; memory_format={} takes {}",
            tensor.rank(),
            format.0,
            order.len()
        )));
    }
    let back: Vec<isize> = (0..order.len() as isize)
        .filter_map(|dim| order.iter().position(|place| *place == dim))
        .map(|place| place as isize)
        .collect();
    let ordered = tensor.permute(order).and_then(|x| x.contiguous());
    ordered.and_then(|x| x.permute(&back)).map_err(raise)
}

/// Whether the elements of a tensor lie as a format says, without gaps.
pub(crate) fn is_arranged(
    op: &'static str,
    tensor: &Tensor,
    format: Option<&Bound<'_, PyAny>>,
) -> PyResult<bool> {
    match MemoryFormat::read(op, format)?.order() {
        None => Ok(tensor.is_contiguous()),
        Some(order) if tensor.rank() != order.len() => Ok(false),
        Some(order) => Ok(tensor.permute(order).map_err(raise)?.is_contiguous()),
    }
}

/// Adds the class and its values.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<MemoryFormat>()?;
    for name in FORMATS {
        module.add(name, MemoryFormat(name))?;
    }
    Ok(())
}
