//! The nearest number of a narrow dtype to what a function of one number is, for every number there is.

use allotrope_dtype::{DType, Error, Level, WeakScalar};
use allotrope_op::{Argument, Op, Program, infer};

use crate::accuracy;
use crate::arrange::{Arranged, Arrangement};
use crate::cast;
use crate::cell::run_program;
use crate::column::{Column, is_same};
use crate::double::{Double, HALF_LN_TAU};
use crate::oracle::{is_defined, real, to_float};
use crate::precise::Precise;

/// A function of one number: a row, and its parameters as they are by default.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// The row.
    pub op: Op,
    /// The operands after the first.
    pub parameters: &'static [f64],
}

/// Every function of one number that makes a float of a float.
#[must_use]
pub fn functions() -> Vec<Function> {
    let with_parameters = |op: Op| {
        let parameters: Option<&'static [f64]> = match op {
            Op::LeakyRelu => Some(&[0.01]),
            Op::Elu | Op::Celu => Some(&[1.0]),
            Op::Softplus => Some(&[1.0, 20.0]),
            Op::Softshrink | Op::Hardshrink => Some(&[0.5]),
            Op::Hardtanh => Some(&[-1.0, 1.0]),
            Op::Threshold => Some(&[0.5, -2.0]),
            _ if op.arity() == 1 => Some(&[]),
            _ => None,
        };
        parameters.map(|parameters| Function { op, parameters })
    };
    accuracy::functions()
        .into_iter()
        .filter_map(with_parameters)
        .collect()
}

/// The float dtypes that are computed in float32.
pub fn dtypes() -> impl Iterator<Item = DType> {
    let is_narrow = |dtype: &DType| dtype.is_floating_point() && dtype.compute() != *dtype;
    DType::ALL.into_iter().filter(is_narrow)
}

/// Every number of a dtype, in the order of the codes.
///
/// # Errors
/// None but those of a column.
pub fn codes(dtype: DType) -> Result<Column, Error> {
    let codes = 0..1_u32 << (8 * dtype.itemsize());
    let bytes = codes.flat_map(|code| code.to_le_bytes()[..dtype.itemsize()].to_vec());
    Column::from_bytes(dtype, bytes.collect())
}

impl Function {
    /// The nearest numbers, ties to even, to what the function makes of values; `None` where there is no
    /// one right answer.
    ///
    /// # Errors
    /// An answer that more digits are needed for, in words.
    pub fn answers(&self, operands: &Column) -> Result<Vec<Option<f64>>, String> {
        let values = operands.values.iter().copied();
        values
            .map(|value| self.answer(to_float(value), operands.dtype))
            .collect()
    }

    fn answer(&self, x: f64, dtype: DType) -> Result<Option<f64>, String> {
        let nearest = |y: f64| match cast::answer(WeakScalar::Float(y), dtype) {
            WeakScalar::Float(y) => y,
            _ => f64::NAN,
        };
        let args = |x: f64| -> Vec<f64> { [&[x], self.parameters].concat() };
        if !is_defined(self.op, &args(x)) {
            return Ok(None);
        }
        if let Some(y) = self.dyadic(x) {
            return Ok(Some(nearest(y)));
        }
        if let Some(y) = self.far(x) {
            return Ok(Some(nearest(round_to_odd(y))));
        }
        let plain = real::<f64>(self.op, &args(x));
        // What the reference of float64 may be off by, with a lot to spare.
        let off = plain.abs() * libm::exp2(-30.0) + self.cancelled();
        let same = nearest(plain - off).to_bits() == nearest(plain + off).to_bits();
        if plain == 0.0 || !plain.is_finite() || same {
            return Ok(Some(nearest(plain)));
        }
        let wide: Vec<Double> = args(x).into_iter().map(Double::of).collect();
        let exact = real(self.op, &wide);
        let y = round_to_odd(exact);
        // An error of 2⁻⁹⁵ must not decide. What is less is none: sums of one and next to nothing are exact.
        let off = exact.lo.abs() / exact.hi.abs();
        let is_noise = off != 0.0 && (1e-33..1e-27).contains(&off);
        if is_noise && nearest(exact.hi) != nearest(y) || !exact.hi.is_finite() {
            return Err(format!("{} of {x:e}: {exact:?}", self.op.name()));
        }
        Ok(Some(nearest(y)))
    }

    /// How much terms that cancel may be off.
    fn cancelled(&self) -> f64 {
        match self.op {
            Op::Lgamma | Op::Digamma | Op::Logit => libm::exp2(-44.0),
            _ => 0.0,
        }
    }

    /// Results that the wide numbers have no exact way to, and that may lie between two numbers.
    fn dyadic(&self, x: f64) -> Option<f64> {
        match self.op {
            Op::Exp2 if x == libm::rint(x) => Some(libm::exp2(x)),
            Op::Log2 if x > 0.0 && x.is_finite() => {
                let exponent = libm::ilogb(x);
                (libm::ldexp(1.0, exponent) == x).then_some(f64::from(exponent))
            }
            _ => None,
        }
    }

    /// Results that are a number and so little more that even wide numbers do not tell.
    fn far(&self, x: f64) -> Option<Double> {
        let size = x.abs();
        match self.op {
            // x - 1 + 2 e^(-2x) - …
            Op::Tanhshrink if (30.0..1e15).contains(&size) => {
                let more = (2.0 * libm::exp(-2.0 * size)).max(f64::MIN_POSITIVE);
                let y = Double::pair(size - 1.0, more);
                Some(if x < 0.0 { -y } else { y })
            }
            // -x²/2 - ln(|x| √(2π)) - …
            Op::LogNdtr if x < -1e6 && x.is_finite() => {
                let log = libm::log(size) + HALF_LN_TAU.hi;
                let square = size * size * 0.5;
                // Of numbers of so few digits the square is exact.
                Some(Double::pair(-square, -log))
            }
            _ => None,
        }
    }

    /// The function of numbers of a dtype, as a program.
    ///
    /// # Errors
    /// A dtype error where the row refuses the dtype.
    pub fn program(&self, dtype: DType) -> Result<Program, Error> {
        let tensor = Argument::Tensor {
            dtype,
            is_zero_dim: false,
        };
        let numbers = self.parameters.iter().copied();
        let numbers = numbers.map(|x| Argument::Scalar(WeakScalar::Float(x)));
        let arguments: Vec<Argument> = std::iter::once(tensor).chain(numbers).collect();
        infer(self.op, &arguments)
    }

    /// The places of results that are not the nearest numbers.
    #[must_use]
    pub fn misrounded(&self, results: &Column, answers: &[Option<f64>]) -> Vec<usize> {
        let wrong = results.values.iter().zip(answers).enumerate();
        let wrong = wrong.filter(|(_, (got, want))| {
            want.is_some_and(|want| !is_same(**got, WeakScalar::Float(want)))
        });
        wrong.map(|(place, _)| place).collect()
    }
}

/// The first output of a program of values that lie in memory in some way, by the kernels of a level.
///
/// # Errors
/// A memory error.
pub fn run(
    program: &Program,
    operands: &Column,
    level: Level,
    arrangement: Arrangement,
) -> Result<Column, Error> {
    let sizes = [operands.len() / 16, 16];
    let arranged = Arranged::matrix(arrangement, operands, sizes)?;
    let mut outputs = run_program(level, program, arranged.shape(), &[arranged.input()])?;
    Column::from_bytes(operands.dtype, outputs.remove(0))
}

/// A float64 that is rounded to fewer digits as the sum of both parts is.
fn round_to_odd(x: Double) -> f64 {
    if x.lo == 0.0 {
        return x.hi;
    }
    let inward = (x.lo < 0.0) != (x.hi < 0.0);
    f64::from_bits((x.hi.to_bits() - u64::from(inward)) | 1)
}
