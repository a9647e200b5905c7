//! Data → dtype: what a constructor without a dtype would choose.

use allotrope_dtype::{
    DType, Error, Float64Inference, Operand, Problem, Scalar, ScalarKind, WeakScalar,
    float64_inference,
};
use pyo3::prelude::*;

use crate::convert;
use crate::create::as_list;
use crate::dtype::{PyDType, wrap};
use crate::error::{describe_int, nested_too_deeply, raise, wrong_object};
use crate::scopes::{default_dtype, promotion};
use crate::settings::parse_inference;

const OP: &str = "infer_dtype";
/// No tensor has more dimensions, and a list that contains itself must end somewhere.
pub(crate) const DEEPEST: usize = 64;
/// How many elements are read between two looks at Ctrl-C.
const SIGNAL_INTERVAL: usize = 1 << 16;

/// The dtype that data would have without one being given.
///
/// bool → bool, int → int64, float and [] → the default dtype, complex → its complex; arrays and
/// NumPy scalars keep theirs; lists take the widest kind. float64="default" maps float64 arrays
/// to the default dtype, float64="keep" does not; None follows `set_inference`.
///
/// >>> al.infer_dtype([1, 2.5])
/// allotrope.float32
#[pyfunction]
#[pyo3(signature = (data, float64=None))]
pub(crate) fn infer_dtype(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    float64: Option<&str>,
) -> PyResult<Py<PyDType>> {
    wrap(py, infer(OP, data, float64)?)
}

/// The dtype that data would have; `float64` as in `infer_dtype`.
pub(crate) fn infer(
    op: &'static str,
    data: &Bound<'_, PyAny>,
    float64: Option<&str>,
) -> PyResult<DType> {
    let float64 =
        float64.map_or_else(|| Ok(float64_inference()), |name| parse_inference(op, name))?;
    let mut leaves = Leaves {
        op,
        float64,
        operands: Vec::new(),
        extremes: None,
        beyond: None,
        read: 0,
    };
    leaves.read(data, 0)?;
    leaves.common_dtype()
}

/// What was found in nested lists, as far as it decides the dtype.
struct Leaves {
    /// Who asks, for the errors.
    op: &'static str,
    float64: Float64Inference,
    /// The distinct operands.
    operands: Vec<Operand>,
    /// The least and the greatest Python int.
    extremes: Option<(i128, i128)>,
    /// A Python int beyond even that, in words.
    beyond: Option<String>,
    read: usize,
}

impl Leaves {
    fn read(&mut self, data: &Bound<'_, PyAny>, depth: usize) -> PyResult<()> {
        self.read += 1;
        if self.read.is_multiple_of(SIGNAL_INTERVAL) {
            data.py().check_signals()?;
        }
        if let Some(kind) = convert::plain_scalar_kind(data) {
            return self.read_scalar(data, kind);
        }
        if let Some(list) = as_list(data)? {
            self.check_depth(depth)?;
            return list.iter().try_for_each(|item| self.read(&item, depth + 1));
        }
        if let Some(dtype) = convert::dtype_attribute(self.op, data)? {
            self.add(Operand::Array(map_float64(self.float64, dtype)));
            return Ok(());
        }
        match convert::scalar_kind(data) {
            Some(kind) => self.read_scalar(data, kind),
            None => Err(wrong_object(
                self.op,
                "not data",
                data,
                "numbers, arrays and nested lists of them",
            )),
        }
    }

    fn read_scalar(&mut self, value: &Bound<'_, PyAny>, kind: ScalarKind) -> PyResult<()> {
        self.add(Operand::Scalar(kind));
        if kind != ScalarKind::Int {
            return Ok(());
        }
        match value
            .extract::<i64>()
            .map(i128::from)
            .or_else(|_| value.extract::<i128>())
        {
            Ok(value) => {
                let (least, greatest) = self.extremes.unwrap_or((value, value));
                self.extremes = Some((least.min(value), greatest.max(value)));
            }
            Err(_) => self.beyond = Some(describe_int(value)),
        }
        Ok(())
    }

    fn check_depth(&self, depth: usize) -> PyResult<()> {
        if depth < DEEPEST {
            Ok(())
        } else {
            Err(nested_too_deeply(self.op, DEEPEST))
        }
    }

    fn add(&mut self, operand: Operand) {
        if !self.operands.contains(&operand) {
            self.operands.push(operand);
        }
    }

    /// The dtype that holds all that was read.
    fn common_dtype(self) -> PyResult<DType> {
        if self.operands.is_empty() {
            return Ok(default_dtype());
        }
        let dtype = promotion()
            .result_type(self.op, &self.operands, default_dtype())
            .map_err(raise)?;
        if let (true, Some(value)) = (dtype.is_integer(), self.beyond) {
            let problem = Problem::ScalarOverflow { value, dtype };
            return Err(raise(Error::new(self.op, problem).hint("dtype=float64")));
        }
        if let Some((least, greatest)) = self.extremes {
            for value in [least, greatest] {
                Scalar::new(WeakScalar::Int(value), dtype).map_err(|error| {
                    raise(error.in_op(self.op).hint(dtype_hint(least, greatest)))
                })?;
            }
        }
        Ok(dtype)
    }
}

/// The dtype that an array of a dtype is read as.
pub(crate) fn keep_or_default(dtype: DType) -> DType {
    map_float64(float64_inference(), dtype)
}

fn map_float64(float64: Float64Inference, dtype: DType) -> DType {
    match float64 {
        Float64Inference::Default if dtype == DType::F64 => default_dtype(),
        _ => dtype,
    }
}

/// The narrowest integer dtype that holds both ends, else float64.
fn dtype_hint(least: i128, greatest: i128) -> String {
    let holds = |dtype: &DType| {
        let fits = |value| Scalar::new(WeakScalar::Int(value), *dtype).is_ok();
        dtype.is_integer() && fits(least) && fits(greatest)
    };
    let narrowest = DType::ALL
        .into_iter()
        .filter(holds)
        .min_by_key(|dtype| dtype.bits());
    format!("dtype={}", narrowest.unwrap_or(DType::F64))
}
