//! The dtype that a result is to have: what `dtype=` of an operation asks for. A family's is that of
//! the operands, and what it gives stays bit-free.

use allotrope_dtype::{DType, Error, Kind, Operand};
use allotrope_tensor::{Device, Options, Tensor};
use pyo3::prelude::*;

use crate::arguments::DTypeOrFamily;
use crate::convert;
use crate::error::raise;
use crate::scopes::{default_dtype, promotion};

/// What a result is to be, if anything is said.
#[derive(Clone, Copy, Default)]
pub(crate) struct Wanted(Option<Options>);

impl Wanted {
    /// What is said of a result; of a family it is the dtype for that of some data, if there is any.
    pub(crate) fn new(
        op: &'static str,
        dtype: Option<DTypeOrFamily>,
        device: Device,
        data: impl FnOnce() -> PyResult<Option<DType>>,
    ) -> PyResult<Self> {
        let Some(dtype) = dtype.filter(|dtype| !dtype.is_none()) else {
            return Ok(Self(None));
        };
        let numeric = convert::to_numeric(op, dtype)?;
        let data = match numeric.is_family() {
            true => data()?,
            false => None,
        };
        Ok(Self(Some(Options::of_data(numeric, data, device))))
    }

    /// Of an operation whose result is like its operand.
    pub(crate) fn like(
        op: &'static str,
        dtype: Option<DTypeOrFamily>,
        x: &Tensor,
    ) -> PyResult<Self> {
        Self::new(op, dtype, x.device(), || Ok(Some(width(x))))
    }

    /// Of sums and products along a dimension, which are as wide as without a dtype: integers have 64
    /// bits.
    pub(crate) fn total(
        op: &'static str,
        dtype: Option<DTypeOrFamily>,
        x: &Tensor,
    ) -> PyResult<Self> {
        let wide = match width(x).kind() {
            Kind::Bool | Kind::Signed => DType::I64,
            Kind::Unsigned => DType::U64,
            Kind::Float | Kind::Complex => width(x),
        };
        Self::new(op, dtype, x.device(), || Ok(Some(wide)))
    }

    /// Of an operation of several operands, which meet in a common dtype.
    pub(crate) fn common(
        op: &'static str,
        dtype: Option<DTypeOrFamily>,
        operands: &[&Tensor],
    ) -> PyResult<Self> {
        let fixed = operands.iter().find(|x| !x.is_device_free());
        let device = fixed.or(operands.first()).map(|x| x.device());
        Self::new(op, dtype, device.unwrap_or_else(Device::cpu), || {
            // bounded: as many as the caller has.
            let dtypes: Vec<_> = operands.iter().map(|x| Operand::Array(width(x))).collect();
            let common = promotion().result_type(op, &dtypes, default_dtype());
            common.map(Some).map_err(raise)
        })
    }

    /// The exact dtype here.
    pub(crate) fn dtype(self) -> Option<DType> {
        self.0.map(|options| options.dtype)
    }

    /// Does work for this dtype, and makes the result bit-free or exact, as was asked for.
    pub(crate) fn run(
        self,
        work: impl FnOnce(Option<DType>) -> Result<Tensor, Error>,
    ) -> Result<Tensor, Error> {
        let result = work(self.dtype())?;
        let Some(options) = self.0 else {
            return Ok(result);
        };
        // A norm of complex numbers is real.
        let own = result.dtype();
        let width = match own == options.dtype {
            true => options.width,
            false => options.width.map(|_| own),
        };
        Ok(result.with_width(width))
    }
}

/// What is said of a product: the dtype of its result, and the one in which it is summed.
#[derive(Clone, Copy)]
pub(crate) struct Product {
    result: Wanted,
    sums: Wanted,
}

impl Product {
    pub(crate) fn of(
        op: &'static str,
        dtype: Option<DTypeOrFamily>,
        acc_dtype: Option<DTypeOrFamily>,
        operands: &[&Tensor],
    ) -> PyResult<Self> {
        Ok(Self {
            result: Wanted::common(op, dtype, operands)?,
            sums: Wanted::common(op, acc_dtype, operands)?,
        })
    }

    /// As [`Wanted::run`]; without a dtype of its own the result has that of the sums.
    pub(crate) fn run(
        self,
        work: impl FnOnce(Option<DType>, Option<DType>) -> Result<Tensor, Error>,
    ) -> Result<Tensor, Error> {
        let decides = Wanted(self.result.0.or(self.sums.0));
        decides.run(|_| work(self.result.dtype(), self.sums.dtype()))
    }
}

/// The dtype of a tensor where every dtype is stored.
fn width(x: &Tensor) -> DType {
    x.width().unwrap_or(x.dtype())
}
