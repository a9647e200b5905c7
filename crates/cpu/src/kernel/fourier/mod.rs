//! Fourier transforms of lines: consecutive elements, as many as the transform is long.
//!
//! Plans of any length are kept for reuse; lines are shared out over threads in fixed blocks, each
//! with the workspace of one line.
//!
//! | file | what is in it |
//! |---|---|
//! | `layout` | lines laid out: cut, padded |
//! | `plan` | the transforms of a length: rustfft's, and what makes them real |

mod layout;
mod plan;
#[cfg(test)]
mod tests;

use allotrope_dtype::{DType, Error};
use allotrope_op::task::fourier::Direction;
use rustfft::FftDirection;
use rustfft::num_complex::Complex;

use crate::memory::try_vec;
use crate::parallel::{self, CHUNK};
pub(crate) use layout::Lines;
use plan::Precision;
pub(crate) use plan::{PlanGuards, lock_plans};

/// Transforms lines of complex64 or complex128 in place, and multiplies by a factor.
///
/// # Errors
/// A memory error.
pub(crate) fn transform(
    dtype: DType,
    lines: &mut [u8],
    length: usize,
    direction: Direction,
    scale: f64,
) -> Result<(), Error> {
    match dtype {
        DType::C64 => {
            complex_lines::<f32>(bytemuck::cast_slice_mut(lines), length, direction, scale)
        }
        _ => complex_lines::<f64>(bytemuck::cast_slice_mut(lines), length, direction, scale),
    }
}

fn complex_lines<T: Precision>(
    lines: &mut [Complex<T>],
    length: usize,
    direction: Direction,
    scale: f64,
) -> Result<(), Error> {
    let direction = match direction {
        Direction::Forward => FftDirection::Forward,
        Direction::Inverse => FftDirection::Inverse,
    };
    let plan = plan::complex::<T>(length, direction)?;
    for_each_lines(lines, length, |_, block| {
        let mut workspace = zeros(plan.workspace())?;
        plan.run(block, &mut workspace);
        multiply(block, scale);
        Ok(())
    })
}

/// Transforms lines of float32 or float64 forward into lines of complex numbers, each of which has
/// either the first half of the spectrum, `length / 2 + 1` numbers, or all of it. `conjugate` gives
/// the inverse transform.
///
/// # Errors
/// A memory error.
pub(crate) fn transform_real(
    dtype: DType,
    from: &[u8],
    to: &mut [u8],
    length: usize,
    whole: bool,
    conjugate: bool,
    scale: f64,
) -> Result<(), Error> {
    match dtype {
        DType::F32 => {
            let to = bytemuck::cast_slice_mut(to);
            real_lines::<f32>(
                bytemuck::cast_slice(from),
                to,
                length,
                whole,
                conjugate,
                scale,
            )
        }
        _ => {
            let to = bytemuck::cast_slice_mut(to);
            real_lines::<f64>(
                bytemuck::cast_slice(from),
                to,
                length,
                whole,
                conjugate,
                scale,
            )
        }
    }
}

fn real_lines<T: Precision>(
    from: &[T],
    to: &mut [Complex<T>],
    length: usize,
    whole: bool,
    conjugate: bool,
    scale: f64,
) -> Result<(), Error> {
    let half = length / 2 + 1;
    let width = if whole { length } else { half };
    let plan = plan::real::<T>(length, FftDirection::Forward)?;
    for_each_lines(to, width, |first, block| {
        let mut workspace = zeros(plan.workspace())?;
        for (number, out) in block.chunks_exact_mut(width).enumerate() {
            let start = (first + number) * length;
            let (spectrum, rest) = out.split_at_mut(half);
            plan.forward(&from[start..start + length], spectrum, &mut workspace);
            for (place, out) in (half..).zip(rest) {
                *out = spectrum[length - place].conj();
            }
            if conjugate {
                out.iter_mut().for_each(|value| *value = value.conj());
            }
        }
        multiply(block, scale);
        Ok(())
    })
}

/// Transforms lines of the first half of a spectrum, `length / 2 + 1` complex numbers, back into
/// lines of float32 or float64. `conjugate` gives the forward transform of such a half.
///
/// # Errors
/// A memory error.
pub(crate) fn transform_to_real(
    dtype: DType,
    from: &[u8],
    to: &mut [u8],
    length: usize,
    conjugate: bool,
    scale: f64,
) -> Result<(), Error> {
    match dtype {
        DType::F32 => {
            let to = bytemuck::cast_slice_mut(to);
            lines_to_real::<f32>(bytemuck::cast_slice(from), to, length, conjugate, scale)
        }
        _ => {
            let to = bytemuck::cast_slice_mut(to);
            lines_to_real::<f64>(bytemuck::cast_slice(from), to, length, conjugate, scale)
        }
    }
}

fn lines_to_real<T: Precision>(
    from: &[Complex<T>],
    to: &mut [T],
    length: usize,
    conjugate: bool,
    scale: f64,
) -> Result<(), Error> {
    let half = length / 2 + 1;
    let plan = plan::real::<T>(length, FftDirection::Inverse)?;
    for_each_lines(to, length, |first, block| {
        let mut spectrum = zeros(half)?;
        let mut workspace = zeros(plan.workspace())?;
        for (number, out) in block.chunks_exact_mut(length).enumerate() {
            let start = (first + number) * half;
            spectrum.copy_from_slice(&from[start..start + half]);
            if conjugate {
                spectrum.iter_mut().for_each(|value| *value = value.conj());
            }
            // What a real signal has no place for is left out, as every other library does.
            spectrum[0].im = T::of(0.0);
            plan.inverse(&mut spectrum, out, &mut workspace);
        }
        if scale != 1.0 {
            let scale = T::of(scale);
            block.iter_mut().for_each(|value| *value = *value * scale);
        }
        Ok(())
    })
}

/// Calls `work` with the number of its first line and a block of lines.
fn for_each_lines<T: Send>(
    lines: &mut [T],
    width: usize,
    work: impl Fn(usize, &mut [T]) -> Result<(), Error> + Send + Sync,
) -> Result<(), Error> {
    let together = (CHUNK / width.max(1)).max(1);
    parallel::try_for_each_part(lines, together * width, |block, lines| {
        work(block * together, lines)
    })
}

fn multiply<T: Precision>(values: &mut [Complex<T>], scale: f64) {
    if scale != 1.0 {
        let scale = T::of(scale);
        values.iter_mut().for_each(|value| *value = *value * scale);
    }
}

fn zeros<T: Precision>(count: usize) -> Result<Vec<Complex<T>>, Error> {
    try_vec("fft", count, Complex::new(T::of(0.0), T::of(0.0)))
}
