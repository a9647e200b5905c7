//! The greatest error of every float function, measured, as a page of the book.
//!
//! Measured with the kernels of the lowest level, so that the page is the same on every x86-64
//! machine; the tests hold all levels to the same bounds.

use allotrope_dtype::{DType, Error, Level};
use allotrope_op::{Cell as Rule, Op, Signature};

use crate::arrange::{Arranged, Arrangement};
use crate::cell::Cell;
use crate::column::Column;
use crate::distance::real_ulps;
use crate::double::Double;
use crate::oracle::{self, Exact, to_float};
use crate::sample;

/// Where the page is, from the project's root.
pub const PATH: &str = "book/src/accuracy.md";

/// How many numbers of a domain or of all numbers are tried.
const SAMPLES_32: usize = 40_000;
const SAMPLES_64: usize = 1_500;
const SAMPLES_NARROW: usize = 10_000;

const HEAD: &str = "\
# Accuracy

The greatest error of every float function, in units in the last place of the exact result: 0.5 is
the best that rounding allows. *Bound* is what every result of float32 and float64 keeps within the
domain, on every device and at every SIMD level. *Anywhere* are numbers of any magnitude, signs and
special values included; parameters of activations keep to their domain. Results of 16 and 8 bits
are computed in float32 and rounded once: of them every number has been tried, and every pair of
two 8-bit numbers; of functions of more operands, random ones.

Of functions of one number none of these results is misrounded: in float16, bfloat16 and the 8-bit
floats each is the number nearest to the exact value, of two the even one, with parameters as they
are by default, at every SIMD level of the CPU. Where float32 lies too near the middle of two numbers
to tell, the result is computed once more in float64.

Measured on x86-64 without SIMD and fused multiply-add, against 106-bit and float64 references that
share no code with the functions. Errors of `lgamma` and `digamma` are in units of one where the
result is smaller, those of `logaddexp` and `logaddexp2` in units of the larger of the two terms
that they add. Where a factor is subnormal, `silu`, `mish`, `gelu` and `gelu_tanh` are measured in
units of the product. Beyond its domain the error of `gelu_tanh` also grows by the argument of its
logistic function, which is not counted here.

| function | domain | bound | float32 | anywhere | float64 | anywhere | float16 | bfloat16 | float8 |
|---|---|---|---|---|---|---|---|---|---|
";

/// The rows that make a float of floats.
#[must_use]
pub fn functions() -> Vec<Op> {
    let is_function = |op: &Op| {
        let row = op.row();
        let number = matches!(row.signature, Signature::Map | Signature::Real);
        // nextafter_in is a part of nextafter.
        number && row.float == Rule::Formula && *op != Op::NextafterIn
    };
    Op::ALL.iter().copied().filter(is_function).collect()
}

/// The greatest errors of one row, in units in the last place.
#[derive(Clone, Copy, Debug)]
pub struct Errors {
    /// The row.
    pub op: Op,
    /// Of float32 and float64 within the domain.
    pub domain: [f64; 2],
    /// Of float32 and float64 anywhere; `None` for functions of more than two numbers.
    pub anywhere: [Option<f64>; 2],
    /// Of float16, bfloat16 and the 8-bit floats.
    pub narrow: [f64; 3],
}

impl Errors {
    /// The errors of a row at the lowest level.
    ///
    /// # Errors
    /// A memory error.
    pub fn measure(op: Op) -> Result<Self, Error> {
        let float8 = DType::ALL
            .into_iter()
            .filter(|dtype| dtype.is_floating_point() && dtype.bits() == 8)
            .map(|dtype| narrow(op, dtype))
            .try_fold(0.0, |most: f64, error| Ok(most.max(error?)))?;
        Ok(Self {
            op,
            domain: [
                in_domain(op, DType::F32, SAMPLES_32, Level::Scalar)?,
                in_domain(op, DType::F64, SAMPLES_64, Level::Scalar)?,
            ],
            anywhere: [
                anywhere(op, DType::F32, SAMPLES_32)?,
                anywhere(op, DType::F64, SAMPLES_64)?,
            ],
            narrow: [narrow(op, DType::F16)?, narrow(op, DType::BF16)?, float8],
        })
    }

    /// The line of the page.
    fn line(&self) -> String {
        let row = self.op.row();
        let domain = row
            .domain
            .iter()
            .map(|(least, most)| format!("{least} to {most}"));
        let domain: Vec<String> = domain.collect();
        let cells = [
            format!("`{}`", row.name),
            domain.join(", "),
            format!("{:.1}", row.ulp),
            show(Some(self.domain[0])),
            show(self.anywhere[0]),
            show(Some(self.domain[1])),
            show(self.anywhere[1]),
            show(Some(self.narrow[0])),
            show(Some(self.narrow[1])),
            show(Some(self.narrow[2])),
        ];
        format!("| {} |\n", cells.join(" | "))
    }
}

/// The page.
#[must_use]
pub fn page(errors: &[Errors]) -> String {
    let lines = errors.iter().map(Errors::line);
    std::iter::once(HEAD.to_owned()).chain(lines).collect()
}

/// An error rounded up, so that it is a bound of what was measured.
fn show(ulps: Option<f64>) -> String {
    match ulps {
        None => "-".to_owned(),
        // What the references themselves may be off.
        Some(ulps) => format!("{:.2}", (ulps * 100.0 - 1e-4).ceil().max(0.0) / 100.0),
    }
}

/// The greatest error within the domain of a row.
///
/// # Errors
/// A memory error.
pub fn in_domain(op: Op, dtype: DType, count: usize, level: Level) -> Result<f64, Error> {
    measure(op, dtype, &sample::domain(op, dtype, count)?, level, |_| {
        0.0
    })
}

/// The greatest error anywhere, for functions of one and two numbers.
fn anywhere(op: Op, dtype: DType, count: usize) -> Result<Option<f64>, Error> {
    if op.arity() > 2 && !oracle::has_parameters(op) {
        return Ok(None);
    }
    let on_top = |args: &[f64]| oracle::conditioning(op, args);
    let greatest = |operands: &[Column]| measure(op, dtype, operands, Level::Scalar, on_top);
    let random = greatest(&sample::everywhere(op, dtype, count)?)?;
    Ok(Some(random.max(greatest(&sample::extremes(op, dtype)?)?)))
}

/// The greatest error of a narrow dtype.
fn narrow(op: Op, dtype: DType) -> Result<f64, Error> {
    let error = anywhere(op, dtype, SAMPLES_NARROW)?;
    error.map_or_else(|| in_domain(op, dtype, SAMPLES_NARROW, Level::Scalar), Ok)
}

/// The greatest error of a row on operands, without what comes on top of its bound.
fn measure(
    op: Op,
    dtype: DType,
    operands: &[Column],
    level: Level,
    on_top: impl Fn(&[f64]) -> f64,
) -> Result<f64, Error> {
    let cell = Cell::new(op, dtype)?;
    let sizes = [1, operands[0].len()];
    let arranged = operands
        .iter()
        .map(|column| Arranged::matrix(Arrangement::Contiguous, column, sizes))
        .collect::<Result<Vec<_>, Error>>()?;
    let results = Column::from_bytes(dtype, cell.run(level, &arranged)?)?;
    let Some(format) = dtype.format() else {
        return Ok(0.0);
    };
    let mut worst = 0.0_f64;
    for (index, got) in results.values.iter().enumerate() {
        let args = operands.iter().map(|column| column.values[index]);
        let floats: Vec<f64> = args.map(to_float).collect();
        let Some(want) = reference(op, dtype, &floats) else {
            continue;
        };
        let scale = oracle::scale(op, dtype, &floats);
        let ulps = real_ulps(to_float(*got), want, format, scale);
        worst = worst.max(ulps - on_top(&floats));
    }
    Ok(worst)
}

/// The answer with as many digits as the dtype asks for.
fn reference(op: Op, dtype: DType, args: &[f64]) -> Option<Double> {
    // float64 has 29 bits more than float32, which the dense samples of it are content with.
    let digits = if dtype == DType::F32 {
        DType::BF16
    } else {
        dtype
    };
    let digits = match op {
        // These depend on the dtype itself.
        Op::Nextafter | Op::TruncDivide => dtype,
        _ => digits,
    };
    match oracle::answer_floats(op, digits, args) {
        Some(Exact::Real(want)) => Some(want),
        _ => None,
    }
}
