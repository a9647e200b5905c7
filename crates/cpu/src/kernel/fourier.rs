//! Fourier transforms of lines: consecutive elements, as many as the transform is long.
//!
//! Plans are rustfft's, of any length, and kept for reuse; lines are shared out over threads in
//! fixed blocks, each with the workspace of one line.

use std::sync::{Arc, Mutex, PoisonError};

use allotrope_dtype::{DType, Element, c64, c128};
use realfft::num_complex::Complex;
use realfft::{ComplexToReal, FftNum, RealFftPlanner, RealToComplex};
use rustfft::{Fft, FftDirection, FftPlanner};

use crate::parallel::{self, CHUNK};

/// The sign of the exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// `exp(-2πi jk / n)`.
    Forward,
    /// `exp(2πi jk / n)`.
    Inverse,
}

/// How many lengths a planner may have seen before it starts again.
const KEEP_LENGTHS: usize = 64;
/// The longest transform whose plan is kept.
const KEEP_LONGEST: usize = 1 << 20;

/// The planners of a precision.
pub struct Plans<T: FftNum> {
    complex: FftPlanner<T>,
    real: RealFftPlanner<T>,
    lengths: usize,
}

/// f32 or f64.
trait Precision: FftNum + Element {
    /// The complex number of this precision.
    type Pair: Element;

    /// Where plans of this precision are kept.
    fn plans() -> &'static Mutex<Option<Plans<Self>>>;

    /// A factor in this precision.
    fn of(value: f64) -> Self;
}

macro_rules! precision {
    ($($real:ident $complex:ident)*) => {$(
        impl Precision for $real {
            type Pair = $complex;

            fn plans() -> &'static Mutex<Option<Plans<Self>>> {
                static PLANS: Mutex<Option<Plans<$real>>> = Mutex::new(None);
                &PLANS
            }

            fn of(value: f64) -> Self {
                value as Self
            }
        }
    )*};
}
precision!(f32 c64 f64 c128);

/// Makes a plan of a length with the planners that are kept.
fn plan<T: Precision, P>(length: usize, make: impl FnOnce(&mut Plans<T>) -> P) -> P {
    let fresh = || Plans {
        complex: FftPlanner::new(),
        real: RealFftPlanner::new(),
        lengths: 0,
    };
    if length > KEEP_LONGEST {
        return make(&mut fresh());
    }
    let mut kept = T::plans().lock().unwrap_or_else(PoisonError::into_inner);
    let plans = kept.get_or_insert_with(fresh);
    if plans.lengths > KEEP_LENGTHS {
        *plans = fresh();
    }
    plans.lengths += 1;
    make(plans)
}

/// Transforms lines of complex64 or complex128 in place, and multiplies by a factor.
pub fn transform(dtype: DType, lines: &mut [u8], length: usize, direction: Direction, scale: f64) {
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
) {
    let direction = match direction {
        Direction::Forward => FftDirection::Forward,
        Direction::Inverse => FftDirection::Inverse,
    };
    let plan: Arc<dyn Fft<T>> =
        plan::<T, _>(length, |plans| plans.complex.plan_fft(length, direction));
    for_each_lines(lines, length, |_, block| {
        let mut workspace = zeros(plan.get_inplace_scratch_len());
        plan.process_with_scratch(block, &mut workspace);
        multiply(block, scale);
    });
}

/// Transforms lines of float32 or float64 forward into lines of complex numbers, each of which has
/// either the first half of the spectrum, `length / 2 + 1` numbers, or all of it. `conjugate` gives
/// the inverse transform.
pub fn transform_real(
    dtype: DType,
    from: &[u8],
    to: &mut [u8],
    length: usize,
    whole: bool,
    conjugate: bool,
    scale: f64,
) {
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
            );
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
            );
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
) {
    let half = length / 2 + 1;
    let width = if whole { length } else { half };
    let plan: Arc<dyn RealToComplex<T>> =
        plan::<T, _>(length, |plans| plans.real.plan_fft_forward(length));
    for_each_lines(to, width, |first, block| {
        let mut line = plan.make_input_vec();
        let mut spectrum = plan.make_output_vec();
        let mut workspace = plan.make_scratch_vec();
        for (number, out) in block.chunks_exact_mut(width).enumerate() {
            let start = (first + number) * length;
            line.copy_from_slice(&from[start..start + length]);
            // The sizes are the plan's own, so that nothing can be wrong with them.
            let _ = plan.process_with_scratch(&mut line, &mut spectrum, &mut workspace);
            out[..half].copy_from_slice(&spectrum);
            for place in half..width {
                out[place] = spectrum[length - place].conj();
            }
            if conjugate {
                out.iter_mut().for_each(|value| *value = value.conj());
            }
        }
        multiply(block, scale);
    });
}

/// Transforms lines of the first half of a spectrum, `length / 2 + 1` complex numbers, back into
/// lines of float32 or float64. `conjugate` gives the forward transform of such a half.
pub fn transform_to_real(
    dtype: DType,
    from: &[u8],
    to: &mut [u8],
    length: usize,
    conjugate: bool,
    scale: f64,
) {
    match dtype {
        DType::F32 => {
            let to = bytemuck::cast_slice_mut(to);
            lines_to_real::<f32>(bytemuck::cast_slice(from), to, length, conjugate, scale);
        }
        _ => {
            let to = bytemuck::cast_slice_mut(to);
            lines_to_real::<f64>(bytemuck::cast_slice(from), to, length, conjugate, scale);
        }
    }
}

fn lines_to_real<T: Precision>(
    from: &[Complex<T>],
    to: &mut [T],
    length: usize,
    conjugate: bool,
    scale: f64,
) {
    let half = length / 2 + 1;
    let plan: Arc<dyn ComplexToReal<T>> =
        plan::<T, _>(length, |plans| plans.real.plan_fft_inverse(length));
    for_each_lines(to, length, |first, block| {
        let mut spectrum = plan.make_input_vec();
        let mut workspace = plan.make_scratch_vec();
        for (number, out) in block.chunks_exact_mut(length).enumerate() {
            let start = (first + number) * half;
            spectrum.copy_from_slice(&from[start..start + half]);
            if conjugate {
                spectrum.iter_mut().for_each(|value| *value = value.conj());
            }
            // What a real signal has no place for is left out, as every other library does.
            if let Some(constant) = spectrum.first_mut() {
                constant.im = T::of(0.0);
            }
            if let Some(fastest) = spectrum.last_mut().filter(|_| length.is_multiple_of(2)) {
                fastest.im = T::of(0.0);
            }
            let _ = plan.process_with_scratch(&mut spectrum, out, &mut workspace);
        }
        if scale != 1.0 {
            let scale = T::of(scale);
            block.iter_mut().for_each(|value| *value = *value * scale);
        }
    });
}

/// Calls `work` with the number of its first line and a block of lines.
fn for_each_lines<T: Send>(
    lines: &mut [T],
    width: usize,
    work: impl Fn(usize, &mut [T]) + Send + Sync,
) {
    let together = (CHUNK / width.max(1)).max(1);
    parallel::for_each_block(lines, together * width, |block, lines| {
        work(block * together, lines);
    });
}

fn multiply<T: Precision>(values: &mut [Complex<T>], scale: f64) {
    if scale != 1.0 {
        let scale = T::of(scale);
        values.iter_mut().for_each(|value| *value = *value * scale);
    }
}

fn zeros<T: Precision>(count: usize) -> Vec<Complex<T>> {
    vec![Complex::new(T::of(0.0), T::of(0.0)); count]
}
