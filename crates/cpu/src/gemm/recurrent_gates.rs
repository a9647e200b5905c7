//! What a step of a recurrence does with its gates, in place. Each loop writes to few lines, since more
//! than the compiler tells apart is not made vectors of.

use std::ops::{Add, Mul, Sub};

use allotrope_op::Number;
use allotrope_op::table::formula::{self, FloatMap};
use allotrope_op::task::Recurrence;

use super::micro::Micro;
use crate::simd::Body;

/// A float with the functions of gates: those of the rows of their names.
pub(super) trait Gate:
    Micro + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + PartialOrd
{
    const ZERO: Self;
    const ONE: Self;
    fn sigmoid<const FUSED: bool>(self) -> Self;
    fn tanh<const FUSED: bool>(self) -> Self;
    fn relu<const FUSED: bool>(self) -> Self;
}

macro_rules! gate {
    ($($T:ident)*) => {$(
        impl Gate for $T {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            #[inline(always)]
            fn sigmoid<const FUSED: bool>(self) -> Self {
                formula::Sigmoid::call([Number::<$T, FUSED>(self)]).0
            }
            #[inline(always)]
            fn tanh<const FUSED: bool>(self) -> Self {
                formula::Tanh::call([Number::<$T, FUSED>(self)]).0
            }
            #[inline(always)]
            fn relu<const FUSED: bool>(self) -> Self {
                formula::Relu::call([Number::<$T, FUSED>(self)]).0
            }
        }
    )*};
}
gate! { f32 f64 }

/// Some units of all rows of a step. Matrices that have all units have `hidden` of them per row.
pub(super) struct Forward<'a, T> {
    pub(super) kind: Recurrence,
    /// `[4, rows, wide]`: the gates before their functions, then after them. Of
    /// [`Recurrence::Gru`] the hidden state's products, then reset, update, those of the third, and new.
    pub(super) sums: &'a mut [T],
    /// `[rows, gates * hidden]`, where the products of the input stand apart.
    pub(super) products: &'a [T],
    /// The former hidden state and the new one.
    pub(super) former: &'a [T],
    pub(super) new: &'a mut [T],
    /// The cell, the former and then the new one.
    pub(super) cell: &'a mut [T],
    pub(super) hidden: usize,
    pub(super) wide: usize,
    /// The first unit and how many there are, at most `wide`.
    pub(super) first: usize,
    pub(super) count: usize,
}

impl<T: Gate> Body for Forward<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Self {
            kind,
            sums,
            products,
            former,
            new,
            cell,
            hidden,
            wide,
            first,
            count,
        } = self;
        let size = sums.len() / 4;
        let rows = size / wide;
        let unit = |row: usize| row * hidden + first..row * hidden + first + count;
        let of_sums = |row: usize| row * wide..row * wide + count;
        match kind {
            Recurrence::RnnTanh | Recurrence::RnnRelu => {
                let sums = &mut sums[..size];
                if kind == Recurrence::RnnTanh {
                    sums.iter_mut().for_each(|x| *x = x.tanh::<FUSED>());
                } else {
                    sums.iter_mut().for_each(|x| *x = x.relu::<FUSED>());
                }
                for row in 0..rows {
                    new[unit(row)].copy_from_slice(&sums[of_sums(row)]);
                }
            }
            Recurrence::Lstm => {
                let (input_forget, rest) = sums.split_at_mut(2 * size);
                let (candidate, out) = rest.split_at_mut(size);
                let sigmoid = |x: &mut T| *x = x.sigmoid::<FUSED>();
                input_forget.iter_mut().for_each(sigmoid);
                candidate.iter_mut().for_each(|x| *x = x.tanh::<FUSED>());
                out.iter_mut().for_each(sigmoid);
                let (input, forget) = input_forget.split_at(size);
                for row in 0..rows {
                    let place = of_sums(row);
                    let gates = input[place.clone()].iter().zip(&forget[place.clone()]);
                    let gates = gates.zip(&candidate[place.clone()]);
                    for (cell, ((i, f), g)) in cell[unit(row)].iter_mut().zip(gates) {
                        *cell = *f * *cell + *i * *g;
                    }
                    let states = cell[unit(row)].iter().zip(&out[place]);
                    for (new, (cell, o)) in new[unit(row)].iter_mut().zip(states) {
                        *new = *o * cell.tanh::<FUSED>();
                    }
                }
            }
            Recurrence::Gru => {
                let (gates, rest) = sums.split_at_mut(2 * size);
                let (part, candidate) = rest.split_at_mut(size);
                let product = |gate: usize, row: usize| {
                    let start = (row * 3 + gate) * hidden + first;
                    &products[start..start + count]
                };
                for (gate, gates) in gates.chunks_exact_mut(size).enumerate() {
                    for row in 0..rows {
                        let sums = gates[of_sums(row)].iter_mut();
                        sums.zip(product(gate, row)).for_each(|(x, y)| *x = *y + *x);
                    }
                }
                gates.iter_mut().for_each(|x| *x = x.sigmoid::<FUSED>());
                let (reset, update) = gates.split_at(size);
                for row in 0..rows {
                    let place = of_sums(row);
                    let parts = reset[place.clone()].iter().zip(&part[place.clone()]);
                    let parts = parts.zip(product(2, row));
                    for (to, ((r, part), x)) in candidate[place].iter_mut().zip(parts) {
                        *to = *x + *r * *part;
                    }
                }
                candidate.iter_mut().for_each(|x| *x = x.tanh::<FUSED>());
                for row in 0..rows {
                    let place = of_sums(row);
                    let gates = update[place.clone()].iter().zip(&candidate[place]);
                    let states = gates.zip(&former[unit(row)]);
                    for (to, ((z, n), former)) in new[unit(row)].iter_mut().zip(states) {
                        *to = (*former - *n) * *z + *n;
                    }
                }
            }
        }
    }
}

/// All units of all rows of a step, on the way back.
pub(super) struct Backward<'a, T> {
    pub(super) kind: Recurrence,
    /// `[rows, regions * hidden]`: what was saved, then the gradients of the gates. Of
    /// [`Recurrence::Gru`] those of the products of the input, then the hidden state's part of the
    /// third; of plain ones the new hidden state, then its gradient.
    pub(super) gates: &'a mut [T],
    /// The gradient of the new hidden state, then what of it goes to the former one by another way.
    pub(super) gradient: &'a mut [T],
    /// The hidden state or the cell that the step began with.
    pub(super) former: &'a [T],
    /// The new cell, which becomes its tangent; and the gradient of it, then of the former one.
    pub(super) cell: &'a mut [T],
    pub(super) for_cell: &'a mut [T],
    pub(super) hidden: usize,
}

impl<T: Gate> Body for Backward<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let (kind, hidden, one) = (self.kind, self.hidden, T::ONE);
        let regions = kind.saved().max(1);
        self.cell.iter_mut().for_each(|x| *x = x.tanh::<FUSED>());
        let rows = self.gates.chunks_exact_mut(regions * hidden);
        let gradients = self.gradient.chunks_exact_mut(hidden);
        for (row, (gates, gradient)) in rows.zip(gradients).enumerate() {
            let own = row * hidden..(row + 1) * hidden;
            let (first, rest) = gates.split_at_mut(hidden);
            match kind {
                Recurrence::RnnTanh => {
                    for (h, g) in first.iter_mut().zip(&*gradient) {
                        *h = *g * (one - *h * *h);
                    }
                }
                Recurrence::RnnRelu => {
                    for (h, g) in first.iter_mut().zip(&*gradient) {
                        *h = if *h > T::ZERO { *g } else { T::ZERO };
                    }
                }
                Recurrence::Lstm => {
                    let (forget, rest) = rest.split_at_mut(hidden);
                    let (candidate, out) = rest.split_at_mut(hidden);
                    let tangent = &self.cell[own.clone()];
                    let for_cell = &mut self.for_cell[own.clone()];
                    let states = gradient.iter().zip(tangent);
                    for (d, (o, (g, t))) in for_cell.iter_mut().zip(out.iter().zip(states.clone()))
                    {
                        *d = *d + *g * *o * (one - *t * *t);
                    }
                    for (o, (g, t)) in out.iter_mut().zip(states) {
                        *o = *g * *t * *o * (one - *o);
                    }
                    let inputs = first.iter_mut().zip(candidate).zip(&*for_cell);
                    for ((i, g), d) in inputs {
                        let for_input = *d * *g * *i * (one - *i);
                        *g = *d * *i * (one - *g * *g);
                        *i = for_input;
                    }
                    let cells = for_cell.iter_mut().zip(&self.former[own]);
                    for (f, (d, former)) in forget.iter_mut().zip(cells) {
                        let carried = *d * *f;
                        *f = *d * *former * *f * (one - *f);
                        *d = carried;
                    }
                }
                Recurrence::Gru => {
                    let (update, rest) = rest.split_at_mut(hidden);
                    let (new, part) = rest.split_at_mut(hidden);
                    let gates = update.iter_mut().zip(new.iter_mut());
                    let states = gradient.iter_mut().zip(&self.former[own]);
                    for ((z, n), (g, former)) in gates.zip(states) {
                        let for_new = *g * (one - *z) * (one - *n * *n);
                        let for_update = *g * (*former - *n) * *z * (one - *z);
                        *g = *g * *z;
                        (*n, *z) = (for_new, for_update);
                    }
                    for ((r, part), n) in first.iter_mut().zip(part).zip(&*new) {
                        let for_reset = *n * *part * *r * (one - *r);
                        *part = *n * *r;
                        *r = for_reset;
                    }
                }
            }
        }
    }
}
