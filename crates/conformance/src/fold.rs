//! What every reduction means, in order and without rounding.

use allotrope_dtype::{DType, WeakScalar};
use allotrope_op::Reduction;

use crate::double::Double;
use crate::oracle::{Exact, Pair, is_true, to_float};
use crate::precise::Precise;

/// What a reduction takes beside the numbers.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// What variances take from the count.
    pub correction: f64,
    /// The order of norms.
    pub p: f64,
    /// What deviations and powers are computed in.
    pub way: Way,
}

/// What deviations and powers are computed in, before they are summed up.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// The distance of 1 from the next number.
    pub eps: f64,
    /// Roundings that a number sees at least.
    pub roundings: f64,
    /// Roundings that come with each number: of a sum that is formed in the same dtype.
    pub each: f64,
}

impl Way {
    /// In float64.
    pub const FLOAT64: Self = Self {
        eps: f64::EPSILON,
        roundings: ROUNDINGS,
        each: 2.0,
    };
    /// In float32, where a device has no float64; sums are formed in two of them.
    pub const FLOAT32: Self = Self {
        eps: f32::EPSILON as f64,
        roundings: 8.0,
        each: 0.0,
    };
}

/// An answer, and how many halves of a unit in the last place of the compute dtype may be missing
/// of a magnitude that numbers had on the way.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// The answer.
    pub value: Exact,
    /// The magnitude.
    pub size: f64,
}

/// Roundings that a number sees in the compute dtype before it is added to a wider sum: rows are
/// widened after 128 of them, runs after fewer.
pub const ROUNDINGS: f64 = 128.0;

fn pair(value: WeakScalar) -> Pair<Double> {
    match value {
        WeakScalar::Complex(z) => Pair::new(Double::new(z.re), Double::new(z.im)),
        other => Pair::new(Double::new(to_float(other)), Double::new(0.0)),
    }
}

fn integer(value: WeakScalar) -> i128 {
    match value {
        WeakScalar::Bool(value) => value.into(),
        WeakScalar::Int(value) => value,
        other => to_float(other) as i128,
    }
}

/// A sum of real numbers; of infinities and NaN, what float64 says.
fn total(values: impl Iterator<Item = Double> + Clone) -> Double {
    if values.clone().all(|x| x.hi.is_finite()) {
        values.fold(Double::new(0.0), |sum, x| sum + x)
    } else {
        Double::new(values.fold(0.0, |sum, x| sum + x.hi))
    }
}

fn sum(values: &[Pair<Double>]) -> Pair<Double> {
    Pair::new(
        total(values.iter().map(|z| z.re)),
        total(values.iter().map(|z| z.im)),
    )
}

/// The sum of squared distances from the mean.
fn scatter(values: &[Pair<Double>]) -> Double {
    let (sum, count) = (sum(values), Double::new(values.len() as f64));
    let mean = Pair::new(sum.re / count, sum.im / count);
    let squares = values.iter().map(|z| {
        let away = *z - mean;
        away.re * away.re + away.im * away.im
    });
    total(squares)
}

/// What a reduction makes of numbers of a dtype, given the dtype of its result.
#[must_use]
pub fn answer(
    reduction: Reduction,
    dtype: DType,
    result: DType,
    values: &[WeakScalar],
    options: Options,
) -> Answer {
    let pairs: Vec<Pair<Double>> = values.iter().map(|x| pair(*x)).collect();
    let size = |z: &Pair<Double>| z.re.hi.abs() + z.im.hi.abs();
    let sum_of_sizes = pairs.iter().map(size).sum::<f64>();
    let exact = |value: Exact| Answer { value, size: 0.0 };
    let inexact = |z: Pair<Double>, size: f64| Answer {
        value: if result.is_complex() {
            Exact::Complex(z)
        } else {
            Exact::Real(z.re)
        },
        size,
    };
    let real = |x: Double, size: f64| Answer {
        value: Exact::Real(x),
        size,
    };
    let count = values.len() as f64;
    match reduction {
        Reduction::Sum if result.is_integer() => {
            let sum = values.iter().map(|x| integer(*x)).sum::<i128>();
            exact(Exact::Int(wrap(sum, result)))
        }
        Reduction::Prod if result.is_integer() => {
            let product = values
                .iter()
                .map(|x| integer(*x))
                .fold(1_i128, i128::wrapping_mul);
            exact(Exact::Int(wrap(product, result)))
        }
        Reduction::Sum => inexact(sum(&pairs), sum_of_sizes),
        Reduction::Prod => {
            let one = Pair::new(Double::new(1.0), Double::new(0.0));
            let product = pairs.iter().fold(one, |product, z| product * *z);
            inexact(product, product.abs().hi)
        }
        Reduction::Mean => {
            let mean = if dtype.is_integer() || dtype == DType::Bool {
                let sum = values.iter().map(|x| integer(*x)).sum::<i128>();
                let high = sum as f64;
                let sum = Double::new(high) + Double::new((sum - high as i128) as f64);
                Pair::new(sum, Double::new(0.0))
            } else {
                sum(&pairs)
            };
            let over = |sum: Double| match sum.hi.is_finite() && count > 0.0 {
                true => sum / Double::new(count),
                false => Double::new(sum.hi / count),
            };
            inexact(
                Pair::new(over(mean.re), over(mean.im)),
                sum_of_sizes / count,
            )
        }
        Reduction::Var | Reduction::Std => {
            let freedom = (count - options.correction).max(0.0);
            let variance = scatter(&pairs) / Double::new(freedom);
            let variance = if freedom == 0.0 {
                Double::new(scatter(&pairs).hi / freedom)
            } else {
                variance
            };
            // A rounded mean is off by so much, and the variance by its square.
            let off = 2.0 * options.way.eps * sum_of_sizes / count;
            let mut missing = off * off * count / freedom;
            if dtype.is_integer() && dtype.bits() >= 32 && options.way.eps > f64::EPSILON {
                // So are the numbers, of which few are beside their mean.
                missing += 2.0 * off * libm::sqrt(variance.hi);
            }
            let rounding = options.way.roundings * options.way.eps / 2.0;
            match reduction {
                Reduction::Var => real(variance, variance.hi + missing / rounding),
                _ => {
                    let deviation = variance.sqrt();
                    real(deviation, deviation.hi + missing.sqrt() / rounding)
                }
            }
        }
        Reduction::Amax | Reduction::Amin => {
            exact(itself(values[place(values, reduction == Reduction::Amax)]))
        }
        Reduction::Argmax | Reduction::Argmin => {
            let place = place(values, reduction == Reduction::Argmax);
            exact(Exact::Int(place as i128))
        }
        Reduction::Any => exact(Exact::Truth(values.iter().any(|x| is_true(*x)))),
        Reduction::All => exact(Exact::Truth(values.iter().all(|x| is_true(*x)))),
        Reduction::CountNonzero => {
            let count = values.iter().filter(|x| is_true(**x)).count();
            exact(Exact::Int(count as i128))
        }
        Reduction::Norm => {
            let sizes = pairs.iter().map(|z| match z.im.hi {
                0.0 => z.re.abs(),
                _ => z.abs(),
            });
            let norm = norm(&sizes.collect::<Vec<_>>(), values, options.p);
            real(norm, norm.hi)
        }
        Reduction::Logsumexp => {
            let most =
                sizes_of(&pairs).fold(
                    f64::NEG_INFINITY,
                    |a, b| {
                        if b > a || b.is_nan() { b } else { a }
                    },
                );
            let most = Pair::new(Double::new(most), Double::new(0.0));
            if !most.re.hi.is_finite() {
                return inexact(most, 0.0);
            }
            let terms: Vec<Pair<Double>> = pairs.iter().map(|z| (*z - most).exp()).collect();
            let sum = sum(&terms);
            // The error of the sum, beside which its terms may be large, is that of its logarithm.
            let sizes = terms.iter().map(|z| z.abs().hi).sum::<f64>();
            inexact(sum.ln() + most, sizes / sum.abs().hi)
        }
    }
}

fn sizes_of(pairs: &[Pair<Double>]) -> impl Iterator<Item = f64> {
    pairs.iter().map(|z| z.re.hi)
}

fn norm(sizes: &[Double], values: &[WeakScalar], p: f64) -> Double {
    match p {
        0.0 => Double::new(values.iter().filter(|x| is_true(**x)).count() as f64),
        1.0 => total(sizes.iter().copied()),
        2.0 => total(sizes.iter().map(|x| *x * *x)).sqrt(),
        f64::INFINITY => Double::new(sizes.iter().map(|x| x.hi).fold(0.0, f64::max)),
        f64::NEG_INFINITY => Double::new(sizes.iter().map(|x| x.hi).fold(f64::INFINITY, f64::min)),
        _ => {
            let power = |x: &Double| match x.hi {
                0.0 => Double::new(libm::pow(0.0, p)),
                _ => x.pow(Double::new(p)),
            };
            let sum = total(sizes.iter().map(power));
            if sum.hi == 0.0 || !sum.hi.is_finite() {
                Double::new(libm::pow(sum.hi, 1.0 / p))
            } else {
                sum.pow(Double::new(1.0) / Double::new(p))
            }
        }
    }
}

/// The first place of NaN, else of the extreme.
fn place(values: &[WeakScalar], greatest: bool) -> usize {
    let key = |x: WeakScalar| match x {
        WeakScalar::Bool(x) => (f64::from(x), i128::from(x)),
        WeakScalar::Int(x) => (0.0, x),
        other => (to_float(other), 0),
    };
    let mut best = 0;
    for (i, value) in values.iter().enumerate() {
        let (new, old) = (key(*value), key(values[best]));
        if old.0.is_nan() {
            return best;
        }
        let better = if greatest { new > old } else { new < old };
        if better || new.0.is_nan() {
            best = i;
        }
    }
    best
}

fn itself(value: WeakScalar) -> Exact {
    match value {
        WeakScalar::Bool(value) => Exact::Truth(value),
        WeakScalar::Int(value) => Exact::Int(value),
        other => Exact::Real(Double::new(to_float(other))),
    }
}

/// A number modulo 2⁶⁴.
fn wrap(value: i128, dtype: DType) -> i128 {
    match dtype {
        DType::U64 => i128::from(value as u64),
        _ => i128::from(value as i64),
    }
}
