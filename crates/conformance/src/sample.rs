//! Which operands a row is tested with: its domain, special values, extremes.

use allotrope_dtype::{DType, Error, Kind, WeakScalar, c128};
use allotrope_op::{Cell, Op, Signature};

use crate::column::Column;
use crate::oracle::has_parameters;

/// Random numbers that are the same in every run (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A sequence of its own for a row and a dtype.
    #[must_use]
    pub fn new(op: Op, dtype: DType) -> Self {
        Self::seeded((op as u64) << 8 | dtype as u64)
    }

    /// The sequence of a seed.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        let mut random = Self(seed);
        random.bits();
        random
    }

    /// 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (f64::EPSILON / 2.0)
    }

    /// A number below a bound.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound as u64) as usize
    }

    /// One of several.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// A number of a domain: anywhere in it, or of any smaller magnitude that it has.
pub fn within(random: &mut Random, (least, most): (f64, f64)) -> f64 {
    let even = least + (most - least) * random.unit();
    if least >= 0.0 && least > most * 1e-3 || random.bits().is_multiple_of(2) {
        return even;
    }
    let small = even * libm::exp2(-60.0 * random.unit() * random.unit());
    if (least..=most).contains(&small) {
        small
    } else {
        even
    }
}

/// As many operands of any magnitude; of 8 and 16 bits all numbers, of 8 bits all pairs of them.
/// Parameters keep to their domain.
///
/// # Errors
/// None but those of a column.
pub fn everywhere(op: Op, dtype: DType, count: usize) -> Result<Vec<Column>, Error> {
    let mut random = Random::new(op, dtype);
    let (arity, size) = (op.arity(), dtype.itemsize());
    let bits = dtype.bits() as usize;
    let codes = 1_usize << (bits * arity).min(16);
    let is_exhaustive = bits * arity <= 16;
    let count = if is_exhaustive { codes } else { count };
    let column = |operand: usize| {
        if operand > 0 && has_parameters(op) {
            return Ok(domain(op, dtype, count)?.swap_remove(operand));
        }
        let mut bytes = Vec::with_capacity(count * size);
        for index in 0..count {
            let code = match is_exhaustive {
                true => (index >> (bits * operand)) as u64,
                false => random.bits(),
            };
            bytes.extend_from_slice(&code.to_le_bytes()[..size]);
        }
        Column::from_bytes(dtype, bytes)
    };
    (0..arity).map(column).collect()
}

/// The special values of a float dtype.
#[must_use]
pub fn specials(dtype: DType) -> Vec<f64> {
    let Ok(limits) = dtype.finfo() else {
        return vec![0.0, 1.0];
    };
    let positive = [
        0.0,
        f64::INFINITY,
        1.0,
        2.0,
        0.5,
        limits.max,
        limits.smallest_normal,
        limits.smallest_subnormal,
        limits.smallest_normal - limits.smallest_subnormal,
    ];
    let mut all: Vec<f64> = positive.iter().flat_map(|x| [*x, -*x]).collect();
    all.push(f64::NAN);
    all
}

/// Operands within the domain of a row, as many as asked for.
///
/// # Errors
/// None but those of a column.
pub fn domain(op: Op, dtype: DType, count: usize) -> Result<Vec<Column>, Error> {
    let row = op.row();
    let mut random = Random::new(op, dtype);
    let mut rows: Vec<Vec<WeakScalar>> = Vec::new();
    while rows.len() < count {
        let candidate = (0..op.arity()).map(|operand| {
            let bounds = row.domain[operand];
            match dtype_of(op, dtype, operand).kind() {
                Kind::Bool => WeakScalar::Bool(random.bits().is_multiple_of(2)),
                Kind::Signed | Kind::Unsigned => {
                    WeakScalar::Int(integer(&mut random, op, dtype, operand))
                }
                Kind::Float => {
                    let ends = rows.len() < 2;
                    let end = [bounds.0, bounds.1][rows.len().min(1)];
                    WeakScalar::Float(if ends {
                        end
                    } else {
                        within(&mut random, bounds)
                    })
                }
                Kind::Complex => {
                    let height = bounds.0.abs().max(bounds.1.abs());
                    let re = within(&mut random, bounds);
                    let im = within(&mut random, (-height, height));
                    WeakScalar::Complex(c128::new(re, im))
                }
            }
        });
        let candidate: Vec<WeakScalar> = candidate.collect();
        if is_answered(op, &candidate) {
            rows.push(candidate);
        }
    }
    columns(op, dtype, &rows)
}

/// Operands among the special values of a row: all combinations of two, or many of more.
///
/// # Errors
/// None but those of a column.
pub fn extremes(op: Op, dtype: DType) -> Result<Vec<Column>, Error> {
    let mut random = Random::new(op, dtype);
    let values: Vec<WeakScalar> = match dtype.kind() {
        Kind::Bool => vec![WeakScalar::Bool(false), WeakScalar::Bool(true)],
        Kind::Signed | Kind::Unsigned => {
            let (least, most) = dtype.integer_range().unwrap_or((0, 1));
            let near = (-3..=8).chain([least, least + 1, most - 1, most, most / 2, most / 2 + 1]);
            let held = near.filter(|x| (least..=most).contains(x));
            held.map(WeakScalar::Int).collect()
        }
        Kind::Float | Kind::Complex => {
            let values = specials(dtype.to_real()).into_iter();
            values.map(WeakScalar::Float).collect()
        }
    };
    let truths = [WeakScalar::Bool(false), WeakScalar::Bool(true)];
    // Of several numbers that are multiplied, extremes leave the range on the way.
    let moderate: Vec<WeakScalar> = values
        .iter()
        .copied()
        .filter(|value| match value {
            WeakScalar::Float(x) => !x.is_finite() || *x == 0.0 || (0.1..9.0).contains(&x.abs()),
            WeakScalar::Int(x) => x.abs() < 9 || dtype.compute() == dtype && op == Op::Addcmul,
            _ => true,
        })
        .collect();
    let parameters: Vec<Vec<WeakScalar>> = domain(op, dtype, 4)?
        .into_iter()
        .map(|column| column.values)
        .collect();
    let of = |operand: usize| match dtype_of(op, dtype, operand) {
        DType::Bool => &truths[..],
        _ if has_parameters(op) && operand > 0 => &parameters[operand][..],
        _ if matches!(op, Op::Lerp | Op::Addcmul | Op::Addcdiv) => &moderate[..],
        _ => &values[..],
    };
    let arity = op.arity();
    let total: usize = (0..arity).map(|operand| of(operand).len()).product();
    let rows = (0..total.min(2000)).map(|index| {
        let mut left = if total <= 2000 {
            index
        } else {
            random.below(total)
        };
        let row = (0..arity).map(|operand| {
            let choices = of(operand);
            let value = choices[left % choices.len()];
            left /= choices.len();
            value
        });
        row.collect::<Vec<_>>()
    });
    let rows: Vec<_> = rows.filter(|row| is_answered(op, row)).collect();
    columns(op, dtype, &rows)
}

/// The dtype of an operand, all others being of `dtype`: a choice has a condition.
#[must_use]
pub fn dtype_of(op: Op, dtype: DType, operand: usize) -> DType {
    if op.row().signature == Signature::Select && operand == 0 {
        DType::Bool
    } else {
        dtype
    }
}

/// An integer for an operand: of the domain where the row computes in floats, else any.
fn integer(random: &mut Random, op: Op, dtype: DType, operand: usize) -> i128 {
    let (least, most) = dtype.integer_range().unwrap_or((0, 1));
    let row = op.row();
    if row.cell(dtype.kind()) == Cell::Promote {
        let (low, high) = row.domain[operand];
        let value = libm::rint(low + (high - low) * random.unit()) as i128;
        return value.clamp(least, most);
    }
    let small = (random.below(40) as i128 - 12).clamp(least, most);
    match op {
        Op::LeftShift | Op::RightShift if operand == 1 => {
            (random.below(dtype.bits() as usize + 4) as i128 - 2).clamp(least, most)
        }
        Op::Pow if operand == 1 => small.max(0),
        _ if random.bits().is_multiple_of(2) => small,
        _ => {
            let free = 128 - dtype.bits();
            let bits = i128::from(random.bits()) << free;
            if dtype.is_signed() {
                bits >> free
            } else {
                ((bits as u128) >> free) as i128
            }
        }
    }
}

/// Whether integers have an answer: a divisor is not zero, an exponent not below it.
fn is_answered(op: Op, row: &[WeakScalar]) -> bool {
    let (Op::FloorDivide | Op::TruncDivide | Op::Remainder | Op::Fmod | Op::Pow) = op else {
        return true;
    };
    match row[1] {
        WeakScalar::Int(value) if op == Op::Pow => value >= 0,
        WeakScalar::Int(value) => value != 0,
        WeakScalar::Bool(value) => op == Op::Pow || value,
        _ => true,
    }
}

fn columns(op: Op, dtype: DType, rows: &[Vec<WeakScalar>]) -> Result<Vec<Column>, Error> {
    let column = |operand: usize| {
        let values = rows.iter().map(|row| row[operand]);
        Column::new(dtype_of(op, dtype, operand), values)
    };
    (0..op.arity()).map(column).collect()
}
