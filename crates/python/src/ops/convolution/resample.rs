//! Grids of another size, with torch's signatures.

use allotrope_tensor::{Interpolation, InterpolationOptions, Resized};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::{Any, sizes_or_none};
use crate::arguments::{Floats, Ints, Operand, floats};
use crate::create::operand;
use crate::error::{raise, wrong_object};
use crate::operand::run;
use crate::tensor::PyTensor;

/// A mode by its name, and how many dimensions its grids must have, if that is part of the name.
fn find_mode(op: &'static str, mode: &str) -> PyResult<(Interpolation, Option<usize>)> {
    Ok(match mode {
        "nearest" => (Interpolation::Nearest, None),
        "nearest-exact" => (Interpolation::NearestExact, None),
        "area" => (Interpolation::Area, None),
        "linear" => (Interpolation::Linear, Some(1)),
        "bilinear" => (Interpolation::Linear, Some(2)),
        "trilinear" => (Interpolation::Linear, Some(3)),
        "bicubic" => (Interpolation::Cubic, Some(2)),
        _ => {
            let problem = allotrope_dtype::Problem::UnknownOption {
                what: "mode",
                given: mode.to_owned(),
                accepted: "'nearest', 'nearest-exact', 'linear', 'bilinear', 'bicubic', \
                           'trilinear', 'area'"
                    .to_owned(),
            };
            return Err(raise(allotrope_dtype::Error::new(op, problem)));
        }
    })
}

/// Factors, one or several.
fn factors(op: &str, object: Option<Any<'_, '_>>) -> PyResult<Option<Vec<f64>>> {
    let Some(object) = object else {
        return Ok(None);
    };
    let refuse = || wrong_object(op, "not a factor", object, "numbers and sequences of them");
    floats(op, object)?.ok_or_else(refuse).map(Some)
}

/// The grids [batch, channels, grid] in another size, or a number of times as large. "nearest" and
/// "nearest-exact" choose elements, and the dtype stays; the other modes blend them, and make the
/// default float of integers and bool, as mean and avg_pool do.
///
/// >>> x = al.tensor([[[0, 10]]], dtype="uint8")
/// >>> al.nn.functional.interpolate(x, 4)
/// tensor([[[ 0,  0, 10, 10]]], dtype=uint8)
/// >>> al.nn.functional.interpolate(x, scale_factor=2, mode="linear", align_corners=True)
/// tensor([[[ 0.0000,  3.3333,  6.6667, 10.0000]]])
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "torch's signature")]
#[pyo3(signature = (input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=false))]
fn interpolate(
    py: Python<'_>,
    input: Operand,
    size: Option<Ints>,
    scale_factor: Option<Floats>,
    mode: &str,
    align_corners: Option<bool>,
    recompute_scale_factor: Option<bool>,
    antialias: bool,
) -> PyResult<PyTensor> {
    let op = "interpolate";
    let refuse = |text: &str| Err(PyValueError::new_err(format!("{op}: {text}")));
    let x = operand(op, input)?;
    let (kind, rank) = find_mode(op, mode)?;
    let is_blend = matches!(kind, Interpolation::Linear | Interpolation::Cubic);
    if align_corners.is_some() && !is_blend {
        return refuse(&format!(
            "align_corners does not apply: mode '{mode}'; linear and cubic modes are accepted"
        ));
    }
    if antialias && !matches!(mode, "bilinear" | "bicubic") {
        return refuse(&format!(
            "antialias does not apply: mode '{mode}'; 'bilinear' and 'bicubic' are accepted"
        ));
    }
    if let Some(rank) = rank.filter(|rank| x.rank() != rank + 2) {
        return refuse(&format!(
            "number of dimensions out of range: {}; mode '{mode}' takes {}",
            x.rank(),
            rank + 2
        ));
    }
    let factors = factors(op, scale_factor)?;
    let sizes = sizes_or_none(op, size)?;
    let resized = match (&factors, size.is_some()) {
        (None, true) if recompute_scale_factor != Some(true) => Resized::Sizes(&sizes),
        (Some(factors), false) => Resized::Factors {
            factors,
            recompute: recompute_scale_factor.unwrap_or(false),
        },
        (None, true) => {
            return refuse("recompute_scale_factor does not apply: size; scale_factor is accepted");
        }
        _ => return refuse("one of size and scale_factor is needed"),
    };
    let options = InterpolationOptions {
        align_corners: align_corners.unwrap_or(false),
        antialias,
    };
    run(py, usize::MAX, || x.interpolate(kind, resized, options))
}

/// The same as interpolate, under its older name.
///
/// >>> al.nn.functional.upsample(al.ones(1, 1, 2), scale_factor=2).shape
/// (1, 1, 4)
#[pyfunction]
#[pyo3(signature = (input, size=None, scale_factor=None, mode="nearest", align_corners=None))]
fn upsample(
    py: Python<'_>,
    input: Operand,
    size: Option<Ints>,
    scale_factor: Option<Floats>,
    mode: &str,
    align_corners: Option<bool>,
) -> PyResult<PyTensor> {
    interpolate(
        py,
        input,
        size,
        scale_factor,
        mode,
        align_corners,
        None,
        false,
    )
}

/// The nearest elements of grids of another size.
///
/// >>> al.nn.functional.upsample_nearest(al.tensor([[[1, 2]]]), scale_factor=2)
/// tensor([[[1, 1, 2, 2]]])
#[pyfunction]
#[pyo3(signature = (input, size=None, scale_factor=None))]
fn upsample_nearest(
    py: Python<'_>,
    input: Operand,
    size: Option<Ints>,
    scale_factor: Option<Floats>,
) -> PyResult<PyTensor> {
    interpolate(py, input, size, scale_factor, "nearest", None, None, false)
}

/// Images of another size whose corners stay where they are, blended by distance.
///
/// >>> x = al.tensor([[[[1., 3.]]]])
/// >>> al.nn.functional.upsample_bilinear(x, (1, 3))
/// tensor([[[[1., 2., 3.]]]])
#[pyfunction]
#[pyo3(signature = (input, size=None, scale_factor=None))]
fn upsample_bilinear(
    py: Python<'_>,
    input: Operand,
    size: Option<Ints>,
    scale_factor: Option<Floats>,
) -> PyResult<PyTensor> {
    interpolate(
        py,
        input,
        size,
        scale_factor,
        "bilinear",
        Some(true),
        None,
        false,
    )
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    add!(module, interpolate upsample upsample_nearest upsample_bilinear);
    Ok(())
}
