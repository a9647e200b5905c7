//! Transforms in plain arithmetic, for CPUs whose vectors rustfft has no code for.

use rustfft::num_complex::Complex;
use rustfft::{FftDirection, FftNum};

use super::plan::root;

/// The factors that have a pass; lengths with others are convolved.
const FACTORS: [usize; 7] = [4, 2, 3, 5, 7, 11, 13];

/// A transform of one length.
pub(super) struct Plain<T> {
    length: usize,
    passes: Vec<Pass<T>>,
    chirp: Option<Box<Chirp<T>>>,
}

/// Butterflies of one size over all numbers: those of `size * rest` become `rest` of their own.
struct Pass<T> {
    size: usize,
    rest: usize,
    /// The roots of unity of a butterfly.
    roots: Vec<Complex<T>>,
    /// What output `j` of butterfly `p` is multiplied by, at `p * size + j`.
    factors: Vec<Complex<T>>,
}

impl<T: FftNum> Plain<T> {
    pub(super) fn new(length: usize, direction: FftDirection) -> Self {
        let (mut passes, mut left) = (Vec::new(), length.max(1));
        for size in FACTORS {
            while left.is_multiple_of(size) {
                let (whole, rest) = (left, left / size);
                let factor = |place| root(place / size * (place % size), whole, direction);
                passes.push(Pass {
                    size,
                    rest,
                    roots: (0..size).map(|k| root(k, size, direction)).collect(),
                    factors: (0..whole).map(factor).collect(),
                });
                left = rest;
            }
        }
        let chirp = (left > 1).then(|| Box::new(Chirp::new(length, direction)));
        Self {
            length,
            passes,
            chirp,
        }
    }

    /// The numbers that a call needs beside its own.
    pub(super) fn workspace(&self) -> usize {
        match &self.chirp {
            Some(chirp) => 2 * chirp.inner.length,
            None => self.length,
        }
    }

    pub(super) fn run(&self, lines: &mut [Complex<T>], workspace: &mut [Complex<T>]) {
        for line in lines.chunks_exact_mut(self.length.max(1)) {
            self.run_line(line, workspace);
        }
    }

    fn run_line(&self, line: &mut [Complex<T>], workspace: &mut [Complex<T>]) {
        if let Some(chirp) = &self.chirp {
            return chirp.run(line, workspace);
        }
        let (mut from, mut to) = (line, &mut workspace[..self.length]);
        let mut columns = 1;
        for pass in &self.passes {
            pass.run(from, to, columns);
            columns *= pass.size;
            std::mem::swap(&mut from, &mut to);
        }
        if self.passes.len() % 2 == 1 {
            to.copy_from_slice(from);
        }
    }
}

impl<T: FftNum> Pass<T> {
    fn run(&self, from: &[Complex<T>], to: &mut [Complex<T>], columns: usize) {
        let apart = self.rest * columns;
        let butterflies = to.chunks_exact_mut(self.size * columns);
        for ((p, to), factors) in butterflies.enumerate().zip(self.factors.chunks(self.size)) {
            for q in 0..columns {
                let x = |k: usize| from[k * apart + p * columns + q];
                if self.size == 4 {
                    let (a, b) = (x(0) + x(2), x(0) - x(2));
                    let (c, d) = (x(1) + x(3), (x(1) - x(3)) * self.roots[1]);
                    for (j, y) in [a + c, b + d, a - c, b - d].into_iter().enumerate() {
                        to[j * columns + q] = y * factors[j];
                    }
                    continue;
                }
                for (j, factor) in factors.iter().enumerate() {
                    let terms = (1..self.size).map(|k| x(k) * self.roots[j * k % self.size]);
                    let sum = terms.fold(x(0), |sum, term| sum + term);
                    to[j * columns + q] = sum * *factor;
                }
            }
        }
    }
}

/// A transform as a convolution with a chirp, after Bluestein, by transforms of a power of two.
struct Chirp<T> {
    inner: Plain<T>,
    /// `exp(∓πi j² / n)`
    chirp: Vec<Complex<T>>,
    /// The transform of its conjugate, forwards and backwards from zero.
    response: Vec<Complex<T>>,
}

impl<T: FftNum> Chirp<T> {
    fn new(length: usize, direction: FftDirection) -> Self {
        let inner = Plain::new((2 * length - 1).next_power_of_two(), FftDirection::Forward);
        let turns = |j: usize| (j as u128 * j as u128 % (2 * length as u128)) as usize;
        let chirp: Vec<Complex<T>> = (0..length)
            .map(|j| root(turns(j), 2 * length, direction))
            .collect();
        // bounded: no more than was probed before a transform is made.
        let mut response = vec![Complex::new(T::zero(), T::zero()); inner.length];
        for (j, value) in chirp.iter().enumerate() {
            response[j] = value.conj();
            response[(inner.length - j) % inner.length] = value.conj();
        }
        let mut workspace = response.clone();
        inner.run(&mut response, &mut workspace);
        Self {
            inner,
            chirp,
            response,
        }
    }

    fn run(&self, line: &mut [Complex<T>], workspace: &mut [Complex<T>]) {
        let (numbers, workspace) = workspace.split_at_mut(self.inner.length);
        numbers.fill(Complex::new(T::zero(), T::zero()));
        for ((number, x), chirp) in numbers.iter_mut().zip(line.iter()).zip(&self.chirp) {
            *number = *x * chirp;
        }
        self.inner.run(numbers, workspace);
        // The way back is the way there between conjugates.
        for (number, response) in numbers.iter_mut().zip(&self.response) {
            *number = (*number * response).conj();
        }
        self.inner.run(numbers, workspace);
        let scale = T::one() / T::from_usize(self.inner.length).unwrap_or_else(T::one);
        for ((x, number), chirp) in line.iter_mut().zip(numbers.iter()).zip(&self.chirp) {
            *x = number.conj() * chirp * scale;
        }
    }
}
