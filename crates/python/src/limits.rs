//! `finfo` and `iinfo`: the limits of a dtype.

use allotrope_dtype::{DType, FloatInfo, IntInfo};
use pyo3::prelude::*;

use crate::arguments::DTypeOf;
use crate::convert;
use crate::dtype::{PyDType, wrap};
use crate::error::raise;

/// The limits of a floating dtype, or of a complex dtype's components.
///
/// >>> al.finfo("float8_e4m3fn").max
/// 448.0
#[pyclass(name = "finfo", module = "allotrope", frozen)]
pub(crate) struct PyFloatInfo {
    info: FloatInfo,
}

impl PyFloatInfo {
    pub(crate) fn of(dtype: DType) -> PyResult<Self> {
        Ok(Self {
            info: dtype.finfo().map_err(raise)?,
        })
    }
}

#[pymethods]
impl PyFloatInfo {
    #[new]
    fn new(dtype: DTypeOf) -> PyResult<Self> {
        Self::of(convert::to_dtype_of("finfo", dtype)?)
    }

    /// The real dtype these limits belong to.
    ///
    /// >>> al.finfo(al.complex64).dtype
    /// allotrope.float32
    #[getter]
    fn dtype(&self, py: Python<'_>) -> PyResult<Py<PyDType>> {
        wrap(py, self.info.dtype)
    }

    /// Width in bits.
    ///
    /// >>> al.finfo(al.bfloat16).bits
    /// 16
    #[getter]
    fn bits(&self) -> u32 {
        self.info.bits
    }

    /// The distance from 1 to the next larger number.
    ///
    /// >>> al.finfo(al.bfloat16).eps
    /// 0.0078125
    #[getter]
    fn eps(&self) -> f64 {
        self.info.eps
    }

    /// The largest finite number.
    ///
    /// >>> al.finfo(al.float8_e4m3fn).max
    /// 448.0
    #[getter]
    fn max(&self) -> f64 {
        self.info.max
    }

    /// The smallest finite number.
    ///
    /// >>> al.finfo(al.float16).min
    /// -65504.0
    #[getter]
    fn min(&self) -> f64 {
        self.info.min
    }

    /// The smallest positive normal number, under torch's name.
    ///
    /// >>> al.finfo(al.float16).tiny
    /// 6.103515625e-05
    #[getter]
    fn tiny(&self) -> f64 {
        self.info.smallest_normal
    }

    /// The smallest positive normal number.
    ///
    /// >>> al.finfo(al.float16).smallest_normal
    /// 6.103515625e-05
    #[getter]
    fn smallest_normal(&self) -> f64 {
        self.info.smallest_normal
    }

    /// The smallest positive number.
    ///
    /// >>> al.finfo(al.float16).smallest_subnormal
    /// 5.960464477539063e-08
    #[getter]
    fn smallest_subnormal(&self) -> f64 {
        self.info.smallest_subnormal
    }

    /// Ten to the power of minus the decimal digits that survive a round trip.
    ///
    /// >>> al.finfo(al.float32).resolution
    /// 1e-06
    #[getter]
    fn resolution(&self) -> f64 {
        self.info.resolution
    }

    /// Whether infinities exist.
    ///
    /// >>> al.finfo(al.float8_e4m3fn).has_inf, al.finfo(al.float8_e5m2).has_inf
    /// (False, True)
    #[getter]
    fn has_inf(&self) -> bool {
        self.info.has_inf
    }

    /// Whether NaN exists.
    ///
    /// >>> al.finfo(al.float8_e4m3fn).has_nan
    /// True
    #[getter]
    fn has_nan(&self) -> bool {
        self.info.has_nan
    }

    /// Whether -0 is distinct from 0.
    ///
    /// >>> al.finfo(al.float8_e4m3fnuz).has_negative_zero
    /// False
    #[getter]
    fn has_negative_zero(&self) -> bool {
        self.info.has_negative_zero
    }

    fn __repr__(&self) -> String {
        let FloatInfo {
            dtype,
            bits,
            eps,
            max,
            smallest_normal,
            smallest_subnormal,
            ..
        } = self.info;
        format!(
            "finfo({dtype}, bits={bits}, eps={eps:e}, max={max:e}, \
             smallest_normal={smallest_normal:e}, smallest_subnormal={smallest_subnormal:e})"
        )
    }
}

/// The limits of an integer dtype.
///
/// >>> al.iinfo("uint64").max
/// 18446744073709551615
#[pyclass(name = "iinfo", module = "allotrope", frozen)]
pub(crate) struct PyIntInfo {
    info: IntInfo,
}

impl PyIntInfo {
    pub(crate) fn of(dtype: DType) -> PyResult<Self> {
        Ok(Self {
            info: dtype.iinfo().map_err(raise)?,
        })
    }
}

#[pymethods]
impl PyIntInfo {
    #[new]
    fn new(dtype: DTypeOf) -> PyResult<Self> {
        Self::of(convert::to_dtype_of("iinfo", dtype)?)
    }

    /// The integer dtype.
    ///
    /// >>> al.iinfo("int8").dtype
    /// allotrope.int8
    #[getter]
    fn dtype(&self, py: Python<'_>) -> PyResult<Py<PyDType>> {
        wrap(py, self.info.dtype)
    }

    /// Width in bits.
    ///
    /// >>> al.iinfo(al.int16).bits
    /// 16
    #[getter]
    fn bits(&self) -> u32 {
        self.info.bits
    }

    /// The largest value.
    ///
    /// >>> al.iinfo(al.uint64).max
    /// 18446744073709551615
    #[getter]
    fn max(&self) -> i128 {
        self.info.max
    }

    /// The smallest value.
    ///
    /// >>> al.iinfo(al.int8).min
    /// -128
    #[getter]
    fn min(&self) -> i128 {
        self.info.min
    }

    fn __repr__(&self) -> String {
        let IntInfo {
            dtype,
            bits,
            max,
            min,
        } = self.info;
        format!("iinfo({dtype}, bits={bits}, min={min}, max={max})")
    }
}
