//! Transforms of one length, made once and kept.
//!
//! Complex transforms are rustfft's; the real ones, which it has none of, are made of them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use allotrope_dtype::{Element, Error, Level, c64, c128};
use bytemuck::Pod;
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection, FftNum, FftPlannerScalar};

use crate::memory::probe;

#[cfg(not(target_arch = "x86_64"))]
use rustfft::FftPlanner as VectorPlanner;
#[cfg(target_arch = "x86_64")]
use rustfft::FftPlannerAvx as VectorPlanner;

/// How many transforms are kept before it starts again.
const KEEP: usize = 64;
/// The longest transform that is kept.
const KEEP_LONGEST: usize = 1 << 20;

/// Numbers per number of a length that making a transform takes at the most: that of a prime length
/// is a convolution of twice the length and more, with its own factors and theirs.
const MAKING: usize = 16;

/// `exp(∓2πi k / n)`
pub(super) fn root<T: FftNum>(k: usize, n: usize, direction: FftDirection) -> Complex<T> {
    let angle = 2.0 * std::f64::consts::PI * (k % n) as f64 / n as f64;
    let sine = match direction {
        FftDirection::Forward => -angle.sin(),
        FftDirection::Inverse => angle.sin(),
    };
    let of = |value| T::from_f64(value).unwrap_or_else(T::zero);
    Complex::new(of(angle.cos()), of(sine))
}

/// What makes complex transforms.
pub(super) enum Planner<T: FftNum> {
    /// By the vectors of this CPU.
    Vectors(VectorPlanner<T>),
    /// By the baseline of the architecture.
    Scalar(FftPlannerScalar<T>),
}

impl<T: FftNum> Planner<T> {
    /// The planner for a level.
    pub(super) fn new(level: Level) -> Self {
        #[cfg(target_arch = "x86_64")]
        let vectors = level.avx2().and_then(|_| VectorPlanner::new().ok());
        #[cfg(not(target_arch = "x86_64"))]
        let vectors = (level == Level::detected()).then(VectorPlanner::new);
        vectors.map_or_else(|| Self::Scalar(FftPlannerScalar::new()), Self::Vectors)
    }

    fn plan(&mut self, length: usize, direction: FftDirection) -> Arc<dyn Fft<T>> {
        match self {
            Self::Vectors(planner) => planner.plan_fft(length, direction),
            Self::Scalar(planner) => planner.plan_fft(length, direction),
        }
    }
}

/// A complex transform of one length.
pub(super) struct Transform<T>(Arc<dyn Fft<T>>);

impl<T: FftNum> Transform<T> {
    pub(super) fn new(planner: &mut Planner<T>, length: usize, direction: FftDirection) -> Self {
        Self(planner.plan(length, direction))
    }

    /// The numbers that a call needs beside its own.
    pub(super) fn workspace(&self) -> usize {
        self.0.get_inplace_scratch_len()
    }

    /// Transforms lines in place.
    pub(super) fn run(&self, lines: &mut [Complex<T>], workspace: &mut [Complex<T>]) {
        self.0.process_with_scratch(lines, workspace);
    }
}

/// A transform between real numbers and the first half of a spectrum, of one length.
///
/// An even number of real numbers is half as many complex ones, whose spectrum is taken apart.
pub(crate) struct RealTransform<T> {
    length: usize,
    inner: Transform<T>,
    /// `exp(-2πi k / length)`
    roots: Vec<Complex<T>>,
}

impl<T: FftNum + Pod> RealTransform<T> {
    pub(super) fn new(planner: &mut Planner<T>, length: usize, direction: FftDirection) -> Self {
        let is_even = length.is_multiple_of(2);
        let own = if is_even { length / 2 } else { length };
        let count = if is_even { length / 4 + 1 } else { 0 };
        Self {
            length,
            inner: Transform::new(planner, own, direction),
            roots: (0..count)
                .map(|k| root(k, length, FftDirection::Forward))
                .collect(),
        }
    }

    /// The numbers that a call needs beside its own.
    pub(super) fn workspace(&self) -> usize {
        self.inner.workspace() + self.whole()
    }

    /// The numbers of an odd length as complex ones.
    fn whole(&self) -> usize {
        if self.roots.is_empty() {
            self.length
        } else {
            0
        }
    }

    /// The first half of the spectrum of real numbers, `length / 2 + 1` numbers.
    pub(super) fn forward(
        &self,
        line: &[T],
        spectrum: &mut [Complex<T>],
        workspace: &mut [Complex<T>],
    ) {
        let zero = T::zero();
        let (whole, workspace) = workspace.split_at_mut(self.whole());
        if self.roots.is_empty() {
            for (number, x) in whole.iter_mut().zip(line) {
                *number = Complex::new(*x, zero);
            }
            self.inner.run(whole, workspace);
            spectrum.copy_from_slice(&whole[..spectrum.len()]);
            spectrum[0].im = zero;
            return;
        }
        let half = self.length / 2;
        for (number, [re, im]) in spectrum.iter_mut().zip(line.as_chunks::<2>().0) {
            *number = Complex::new(*re, *im);
        }
        self.inner.run(&mut spectrum[..half], workspace);
        let constant = spectrum[0];
        spectrum[0] = Complex::new(constant.re + constant.im, zero);
        spectrum[half] = Complex::new(constant.re - constant.im, zero);
        let part = T::one() / (T::one() + T::one());
        for (a, b, root) in pairs(&mut spectrum[1..half], &self.roots) {
            let (x, y) = (*a, b.conj());
            let (even, odd) = ((x + y) * part, (x - y) * part * root);
            let odd = Complex::new(odd.im, -odd.re);
            (*a, *b) = (even + odd, (even - odd).conj());
        }
        if half.is_multiple_of(2) {
            spectrum[half / 2] = spectrum[half / 2].conj();
        }
    }

    /// The real numbers of such a half, which may be overwritten, times the length. The first number, and
    /// the last of an even length, are taken as real.
    pub(super) fn inverse(
        &self,
        spectrum: &mut [Complex<T>],
        line: &mut [T],
        workspace: &mut [Complex<T>],
    ) {
        let (whole, workspace) = workspace.split_at_mut(self.whole());
        if self.roots.is_empty() {
            for (k, number) in whole.iter_mut().enumerate() {
                *number = match spectrum.get(k) {
                    Some(value) => *value,
                    None => spectrum[self.length - k].conj(),
                };
            }
            self.inner.run(whole, workspace);
            for (x, number) in line.iter_mut().zip(whole) {
                *x = number.re;
            }
            return;
        }
        let half = self.length / 2;
        let numbers: &mut [Complex<T>] = bytemuck::cast_slice_mut(line);
        let (first, last) = (spectrum[0].re, spectrum[half].re);
        numbers[0] = Complex::new(first + last, first - last);
        if half.is_multiple_of(2) {
            let middle = spectrum[half / 2].conj();
            numbers[half / 2] = middle + middle;
        }
        let places = pairs(&mut numbers[1..], &self.roots);
        for ((to_a, to_b, root), (a, b, _)) in
            places.zip(pairs(&mut spectrum[1..half], &self.roots))
        {
            let (x, y) = (*a, b.conj());
            let (even, odd) = (x + y, (x - y) * root.conj());
            let odd = Complex::new(-odd.im, odd.re);
            (*to_a, *to_b) = (even + odd, (even - odd).conj());
        }
        self.inner.run(numbers, workspace);
    }
}

/// The numbers of a spectrum after its first that mirror each other, with the roots of the former.
fn pairs<'a, T>(
    spectrum: &'a mut [Complex<T>],
    roots: &'a [Complex<T>],
) -> impl Iterator<Item = (&'a mut Complex<T>, &'a mut Complex<T>, &'a Complex<T>)> {
    let (low, high) = spectrum.split_at_mut(spectrum.len() / 2);
    let mirrored = low.iter_mut().zip(high.iter_mut().rev());
    mirrored.zip(&roots[1..]).map(|((a, b), root)| (a, b, root))
}

/// What is kept of one precision.
pub(crate) struct Plans<T: FftNum> {
    planner: Planner<T>,
    complex: Vec<(usize, FftDirection, Arc<Transform<T>>)>,
    real: Vec<(usize, FftDirection, Arc<RealTransform<T>>)>,
}

impl<T: FftNum> Plans<T> {
    fn new() -> Self {
        Self {
            planner: Planner::new(Level::current()),
            complex: Vec::new(),
            real: Vec::new(),
        }
    }
}

/// f32 or f64.
pub(super) trait Precision: FftNum + Element {
    /// The complex number of this precision.
    type Pair: Element;

    /// Where transforms of this precision are kept.
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

/// The transforms that are kept, in the hands of this thread.
pub(crate) type PlanGuards = (
    MutexGuard<'static, Option<Plans<f32>>>,
    MutexGuard<'static, Option<Plans<f64>>>,
);

/// Keeps others from the transforms that are kept.
pub(crate) fn lock_plans() -> PlanGuards {
    fn lock<T: Precision>() -> MutexGuard<'static, Option<Plans<T>>> {
        T::plans().lock().unwrap_or_else(PoisonError::into_inner)
    }
    (lock(), lock())
}

/// The complex transform of a length.
pub(super) fn complex<T: Precision>(
    length: usize,
    direction: FftDirection,
) -> Result<Arc<Transform<T>>, Error> {
    with_plans(length, |plans| {
        let planner = &mut plans.planner;
        kept::<T, _>(&mut plans.complex, length, direction, || {
            Transform::new(planner, length, direction)
        })
    })
}

/// The real transform of a length: forward from real numbers, inverse to them.
pub(super) fn real<T: Precision>(
    length: usize,
    direction: FftDirection,
) -> Result<Arc<RealTransform<T>>, Error> {
    with_plans(length, |plans| {
        let planner = &mut plans.planner;
        kept::<T, _>(&mut plans.real, length, direction, || {
            RealTransform::new(planner, length, direction)
        })
    })
}

fn with_plans<T: Precision, P>(
    length: usize,
    make: impl FnOnce(&mut Plans<T>) -> Result<P, Error>,
) -> Result<P, Error> {
    if length > KEEP_LONGEST {
        return make(&mut Plans::new());
    }
    let mut kept = T::plans().lock().unwrap_or_else(PoisonError::into_inner);
    let plans = kept.get_or_insert_with(Plans::new);
    if plans.complex.len() + plans.real.len() >= KEEP {
        *plans = Plans::new();
    }
    make(plans)
}

fn kept<T, P>(
    list: &mut Vec<(usize, FftDirection, Arc<P>)>,
    length: usize,
    direction: FftDirection,
    make: impl FnOnce() -> P,
) -> Result<Arc<P>, Error> {
    let is_this = |(l, d, _): &&(usize, FftDirection, Arc<P>)| *l == length && *d == direction;
    if let Some((_, _, plan)) = list.iter().find(is_this) {
        return Ok(plan.clone());
    }
    probe(
        "fft",
        length.saturating_mul(MAKING * size_of::<Complex<T>>()),
    )?;
    let plan = Arc::new(make());
    list.push((length, direction, plan.clone()));
    Ok(plan)
}
