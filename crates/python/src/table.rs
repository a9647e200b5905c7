//! Tables to print: the dtypes, and the promotion of every pair.

use std::collections::HashMap;

use allotrope_dtype::{DType, Error, NumpySource, Policy};
use allotrope_op::{Structured, supported_names, without_gradient};
use allotrope_tensor::{Device, Way, ways_of};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::DTypeLike;
use crate::convert;
use crate::device::device_named;
use crate::error::raise;
use crate::promotion::policy_or_current;

/// A table whose repr is its text.
#[pyclass(name = "Table", module = "allotrope", frozen)]
pub(crate) struct Table {
    text: String,
}

#[pymethods]
impl Table {
    fn __repr__(&self) -> &str {
        &self.text
    }
}

/// The dtypes with what the table says of each; print it.
///
/// >>> print(al.dtype_table())
/// dtype            short       kind              bits  compute ...
/// bool             bool        bool              8     bool ...
/// int8             i8          signed integer    8     int8 ...
/// ...
#[pyfunction]
pub(crate) fn dtype_table() -> Table {
    let header = [
        "dtype",
        "short",
        "kind",
        "bits",
        "compute",
        "eps",
        "max",
        "numpy",
        "dlpack",
        "safetensors",
        "wgsl",
    ];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    rows.extend(DType::ALL.into_iter().map(|dtype| {
        let row = dtype.descriptor();
        let package = match row.numpy {
            NumpySource::Native => "numpy",
            NumpySource::MlDtypes => "ml_dtypes",
        };
        let (eps, max) = match (dtype.finfo(), dtype.integer_range()) {
            (Ok(info), _) => (format!("{:.3e}", info.eps), format!("{:.5e}", info.max)),
            (Err(_), Some((_, max))) => (String::new(), max.to_string()),
            (Err(_), None) => (String::new(), String::new()),
        };
        vec![
            row.name.to_owned(),
            short_name(dtype).to_owned(),
            row.kind.name().to_owned(),
            row.bits.to_string(),
            row.compute.to_string(),
            eps,
            max,
            package.to_owned(),
            row.dlpack_code.to_string(),
            row.safetensors_name.unwrap_or_default().to_owned(),
            row.wgsl_name.unwrap_or_default().to_owned(),
        ]
    }));
    Table { text: align(&rows) }
}

/// The common dtype of every pair under a policy, by default the one in force; print it.
///
/// A row ends at the dtype itself, so each column begins with its name; `-` is a refusal.
///
/// >>> print(al.promotion_table())
/// standard promotion
/// bool        bool
/// i8          i8          i8
/// i16         i16         i16   i16
/// ...
#[pyfunction]
#[pyo3(signature = (policy=None))]
pub(crate) fn promotion_table(policy: Option<&str>) -> PyResult<Table> {
    let policy = policy_or_current("promotion_table", policy)?;
    let rows: Vec<_> = DType::ALL
        .into_iter()
        .map(|lhs| promotion_row(policy, lhs))
        .collect();
    Ok(Table {
        text: format!("{policy} promotion\n{}", align(&rows)),
    })
}

/// A dtype, and its promotions with all dtypes up to itself.
fn promotion_row(policy: Policy, lhs: DType) -> Vec<String> {
    let earlier = DType::ALL.into_iter().filter(|rhs| *rhs <= lhs);
    let answers = earlier.map(|rhs| policy.promote(lhs, rhs).map_or("-", short_name));
    std::iter::once(short_name(lhs))
        .chain(answers)
        .map(str::to_owned)
        .collect()
}

/// The shortest name; the first of them in the table's order.
fn short_name(dtype: DType) -> &'static str {
    let aliases = dtype.descriptor().aliases.iter().copied();
    aliases.fold(dtype.name(), |best, name| {
        if name.len() < best.len() { name } else { best }
    })
}

/// Rows of cells as text in columns. The last cell of a row does not widen its column.
pub(crate) fn align(rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = Vec::new();
    for row in rows {
        for (column, cell) in row.iter().enumerate().take(row.len().saturating_sub(1)) {
            widths.resize(widths.len().max(column + 1), 0);
            if let Some(width) = widths.get_mut(column) {
                *width = cell.chars().count().max(*width);
            }
        }
    }
    let lines = rows.iter().map(|row| {
        let padded = row.iter().enumerate().map(|(column, cell)| {
            let width = widths.get(column).copied().unwrap_or(0);
            format!("{cell:width$}")
        });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// What operations do with dtypes: "computes", "promotes" (to the default float, or int64) or
/// "undefined", which is a TypeError. Without arguments the whole table, to print; of an operation a
/// dict by dtype; of both one word.
///
/// >>> al.support("exp", al.int32)
/// 'promotes'
///
/// With a device: by operation, or of one, how it comes to results there: "native" (a kernel of its own),
/// "composed" (of other operations) or "hosted" (by the CPU). A small call of each shows it, once.
#[pyfunction]
#[pyo3(signature = (op=None, dtype=None, *, device=None))]
pub(crate) fn support<'py>(
    py: Python<'py>,
    op: Option<&str>,
    dtype: Option<DTypeLike<'_, 'py>>,
    device: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(device) = device {
        return support_on(py, device_named("support", device)?, op);
    }
    let answer = |op: &str, dtype: DType| {
        let known = allotrope_op::support(op, dtype);
        known.ok_or_else(|| {
            let names: Vec<&str> = allotrope_op::supported_names().collect();
            raise(Error::unknown_option("support", "operation", op, &names))
        })
    };
    match (op, dtype) {
        (Some(op), Some(dtype)) => {
            let dtype = convert::to_dtype("support", dtype)?;
            Ok(answer(op, dtype)?.name().into_pyobject(py)?.into_any())
        }
        (Some(op), None) => {
            let answers = PyDict::new(py);
            for dtype in DType::ALL {
                answers.set_item(dtype.name(), answer(op, dtype)?.name())?;
            }
            Ok(answers.into_any())
        }
        (None, _) => {
            let dtypes = match dtype {
                Some(dtype) => vec![convert::to_dtype("support", dtype)?],
                None => DType::ALL.to_vec(),
            };
            let header = dtypes.iter().map(|dtype| short_name(*dtype));
            let mut rows = vec![
                std::iter::once("operation")
                    .chain(header)
                    .map(str::to_owned)
                    .collect::<Vec<_>>(),
            ];
            for name in allotrope_op::supported_names() {
                let mut row = vec![name.to_owned()];
                for dtype in &dtypes {
                    row.push(answer(name, *dtype)?.name().to_owned());
                }
                rows.push(row);
            }
            let text = align(&rows);
            Ok(Py::new(py, Table { text })?.into_bound(py).into_any())
        }
    }
}

/// How a device comes to the results of operations, or of one.
fn support_on<'py>(
    py: Python<'py>,
    device: Device,
    op: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(op) = op
        && !supported_names().any(|name| name == op)
    {
        let names: Vec<&str> = supported_names().collect();
        return Err(raise(Error::unknown_option(
            "support",
            "operation",
            op,
            &names,
        )));
    }
    // Rows, reductions and scans are what every device has; the CPU has all.
    let asked = |name: &str| op.is_none_or(|op| op == name);
    let probed: Vec<&str> = match device == Device::cpu() {
        true => Vec::new(),
        false => Structured::all()
            .map(|row| row.name)
            .filter(|name| asked(name))
            .collect(),
    };
    let probes = PyModule::import(py, intern!(py, "allotrope._probes"))?;
    let ways = probes.getattr(intern!(py, "ways"))?;
    let known = ways.call1((device.to_string(), probed))?;
    let answers = PyDict::new(py);
    for name in supported_names().filter(|name| asked(name)) {
        match known.get_item(name) {
            Ok(way) => answers.set_item(name, way)?,
            Err(_) => answers.set_item(name, Way::Native.name())?,
        }
    }
    match op {
        Some(op) => answers.as_any().get_item(op),
        None => Ok(answers.into_any()),
    }
}

/// How a device came to the results of the structured operations that it was asked for so far.
#[pyfunction]
pub(crate) fn _ways(device: &str) -> PyResult<HashMap<&'static str, &'static str>> {
    let ways = ways_of(device_named("support", device)?);
    Ok(ways.into_iter().map(|(op, way)| (op, way.name())).collect())
}

/// The names of the structured operations, as `support` knows them.
#[pyfunction]
pub(crate) fn _structured_operations() -> Vec<&'static str> {
    allotrope_op::Structured::all()
        .map(|row| row.name)
        .collect()
}

/// Why operations have no gradient, by name; those that are not named have one.
#[pyfunction]
pub(crate) fn _without_gradient() -> HashMap<&'static str, &'static str> {
    let reason = |name| Some((name, without_gradient(name)?));
    supported_names().filter_map(reason).collect()
}
