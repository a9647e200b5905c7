//! Special functions that are compositions of rows: derivatives of `digamma`, orthogonal polynomials.

use allotrope_dtype::{DType, Error, Problem, Set, WeakScalar};
use allotrope_op::{Builder, Op, Var, compute_dtype, float_of};
use smallvec::SmallVec;

use crate::call::common_dtype;
use crate::elementwise::evaluate;
use crate::transfer::gathered;
use crate::{Operand, Tensor};

/// The greatest order of `polygamma`, whose factorial float64 holds.
const MOST_ORDER: usize = 170;
/// The greatest order of which float32 has the factor and what it multiplies at once.
const MOST_ORDER_32: usize = 5;
/// The greatest degree of a polynomial.
const MOST_DEGREE: usize = 10_000;
/// Degrees that one program climbs.
const AT_ONCE: usize = 24;

/// A family of orthogonal polynomials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Polynomial {
    /// Chebyshev's of the first kind, `cos(n arccos x)`.
    ChebyshevT,
    /// Chebyshev's of the second kind.
    ChebyshevU,
    /// Chebyshev's of the third kind.
    ChebyshevV,
    /// Chebyshev's of the fourth kind.
    ChebyshevW,
    /// The first kind of `2x - 1`.
    ShiftedChebyshevT,
    /// The second kind of `2x - 1`.
    ShiftedChebyshevU,
    /// The third kind of `2x - 1`.
    ShiftedChebyshevV,
    /// The fourth kind of `2x - 1`.
    ShiftedChebyshevW,
    /// Hermite's, the physicists'.
    HermiteH,
    /// Hermite's, the statisticians'.
    HermiteHe,
    /// Laguerre's.
    LaguerreL,
    /// Legendre's.
    LegendreP,
}

impl Polynomial {
    /// The polynomial of degree 1; that of degree 0 is 1.
    fn first(self, x: Var<'_>) -> Var<'_> {
        match self {
            Self::ChebyshevT | Self::HermiteHe | Self::LegendreP => x,
            Self::ChebyshevU | Self::HermiteH => x + x,
            Self::ChebyshevV => x + x - 1.0,
            Self::ChebyshevW => x + x + 1.0,
            Self::ShiftedChebyshevT => x + x - 1.0,
            Self::ShiftedChebyshevU => x * 4.0 - 2.0,
            Self::ShiftedChebyshevV => x * 4.0 - 3.0,
            Self::ShiftedChebyshevW => x * 4.0 - 1.0,
            Self::LaguerreL => 1.0 - x,
        }
    }

    /// The polynomial of degree `k + 1`, given those of `k` and `k - 1`.
    fn next<'b>(self, k: usize, x: Var<'b>, now: Var<'b>, before: Var<'b>) -> Var<'b> {
        let k = k as f64;
        match self {
            Self::ChebyshevT | Self::ChebyshevU | Self::ChebyshevV | Self::ChebyshevW => {
                (x + x) * now - before
            }
            Self::ShiftedChebyshevT
            | Self::ShiftedChebyshevU
            | Self::ShiftedChebyshevV
            | Self::ShiftedChebyshevW => (x * 4.0 - 2.0) * now - before,
            Self::HermiteH => (x * now - before * k) * 2.0,
            Self::HermiteHe => x * now - before * k,
            Self::LaguerreL => ((2.0 * k + 1.0 - x) * now - before * k) / (k + 1.0),
            Self::LegendreP => (x * now * (2.0 * k + 1.0) - before * k) / (k + 1.0),
        }
    }
}

/// The polynomial of a family and of degree `n` at `x`, by its recurrence: the work is elements times
/// degrees. Degrees are cut to whole numbers; of negative ones the polynomial is 0. Integers give the
/// default float; 8- and 16-bit floats are computed in float32 and rounded once.
///
/// ```
/// use allotrope_tensor::{Polynomial, Tensor, polynomial};
/// let x = Tensor::from_slice(&[0.5_f32, 1.0], &[2])?;
/// let y = polynomial("legendre_polynomial_p", Polynomial::LegendreP, &x, 2)?;
/// assert_eq!(y.to_vec::<f32>()?, [-0.125, 1.0]);
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
///
/// # Errors
/// A dtype error for complex numbers or where promotion refuses, a value error for degrees above
/// 10,000 or shapes that do not broadcast, a memory error.
pub fn polynomial<'a>(
    op: &'static str,
    family: Polynomial,
    x: impl Into<Operand<'a>>,
    n: impl Into<Operand<'a>>,
) -> Result<Tensor, Error> {
    let (x, n) = (x.into(), n.into());
    if let (Operand::Tensor(x), Operand::Tensor(n)) = (x, n)
        && let Some((x, n)) = gathered((x, n))?
    {
        return polynomial(op, family, &x, &n);
    }
    let common = common_dtype(op, [x, n])?;
    if common.is_complex() {
        return Err(Error::not_in_set(op, common, Set::Real, None));
    }
    let result = float_of(op, common)?;
    let compute = compute_dtype(result);
    let wide = match x {
        Operand::Tensor(x) => x.to(result)?.to(compute)?,
        Operand::Scalar(number) => match n {
            Operand::Tensor(n) => n.new_full(&[], number, compute)?,
            Operand::Scalar(_) => Tensor::free_scalar(number, compute)?,
        },
    };
    let found = match n {
        Operand::Scalar(n) => of_degree(op, family, &wide, n)?,
        Operand::Tensor(n) => of_degrees(op, family, &wide, &n.detach().to(compute)?.trunc()?)?,
    };
    Ok(found.to(result)?.inherit_from(&[x, n]))
}

/// Refuses a degree that is too great.
fn checked(op: &'static str, degree: f64) -> Result<usize, Error> {
    if degree <= MOST_DEGREE as f64 {
        return Ok(degree.max(0.0) as usize);
    }
    let problem = Problem::OutOfRange {
        what: "n",
        index: None,
        value: degree.to_string(),
        accepted: "degrees up to 10000",
    };
    Err(Error::new(op, problem))
}

fn of_degree(
    op: &'static str,
    family: Polynomial,
    x: &Tensor,
    n: WeakScalar,
) -> Result<Tensor, Error> {
    let n = match n {
        WeakScalar::Bool(n) => n.into(),
        WeakScalar::Int(n) => n as f64,
        WeakScalar::Float(n) => n.trunc(),
        WeakScalar::Complex(n) => n.re.trunc(),
    };
    if n.is_nan() || n < 1.0 {
        // What is not a number stays one.
        let constant = if n < 0.0 { 0.0 } else { n * 0.0 + 1.0 };
        let program = formula(&[x.dtype()], |v| [v[0].lit(constant)]);
        return first_of(op, evaluate(op, &program, &[x])?);
    }
    let degree = checked(op, n)?;
    let program = formula(&[x.dtype()], |v| [v[0].one(), family.first(v[0])]);
    let mut pair = evaluate(op, &program, &[x])?;
    for from in (1..degree).step_by(AT_ONCE) {
        let steps = from..degree.min(from + AT_ONCE);
        let program = formula(&[x.dtype(); 3], |v| {
            let climb = |(before, now), k| (now, family.next(k, v[0], now, before));
            let (before, now) = steps.fold((v[1], v[2]), climb);
            [before, now]
        });
        pair = evaluate(op, &program, &[x, &pair[0], &pair[1]])?;
    }
    pair.reverse();
    first_of(op, pair)
}

/// The same for a degree of each element; the polynomials of all degrees up to the greatest are met.
fn of_degrees(
    op: &'static str,
    family: Polynomial,
    x: &Tensor,
    n: &Tensor,
) -> Result<Tensor, Error> {
    let greatest = match n.count() {
        0 => 0.0,
        _ => {
            let known = n.isnan()?.where_(0.0, n)?;
            match known.amax(None, false)?.to(DType::F64)?.item()?.value() {
                WeakScalar::Float(greatest) => greatest,
                _ => 0.0,
            }
        }
    };
    let degree = checked(op, greatest)?;
    let dtypes = [x.dtype(); 5];
    let program = formula(&dtypes[..2], |v| {
        let (x, n) = (v[0], v[1]);
        let first = family.first(x);
        let of_zero = n.lt(n.zero()).pick(n.zero(), n * 0.0 + 1.0);
        let found = n.ge(n.one()).pick(first, of_zero);
        [x.one(), first, found]
    });
    let mut state = evaluate(op, &program, &[x, n])?;
    for from in (1..degree).step_by(AT_ONCE) {
        let steps = from..degree.min(from + AT_ONCE);
        let program = formula(&dtypes, |v| {
            let (x, n) = (v[0], v[1]);
            let climb = |(before, now, found), k| {
                let next = family.next(k, x, now, before);
                (now, next, n.gt(n.lit(k as f64)).pick(next, found))
            };
            let (before, now, found) = steps.fold((v[2], v[3], v[4]), climb);
            [before, now, found]
        });
        state = evaluate(op, &program, &[x, n, &state[0], &state[1], &state[2]])?;
    }
    state.reverse();
    first_of(op, state)
}

/// The program of a formula over operands in the dtypes that they have.
fn formula<const OUTPUTS: usize>(
    dtypes: &[DType],
    formula: impl for<'b> FnOnce(&[Var<'b>]) -> [Var<'b>; OUTPUTS],
) -> allotrope_op::Program {
    let builder = Builder::new(dtypes);
    let operands: SmallVec<[Var<'_>; 5]> = (0..dtypes.len()).map(|i| builder.input(i)).collect();
    let results = formula(&operands);
    builder.finish(&results)
}

fn first_of(op: &'static str, tensors: Vec<Tensor>) -> Result<Tensor, Error> {
    let problem = Problem::LengthMismatch { from: 0, to: 1 };
    let first = tensors.into_iter().next();
    first.ok_or_else(|| Error::new(op, problem))
}

impl Tensor {
    /// The derivative of order `n` of the digamma function, `(-1)ⁿ⁺¹ n! ζ(n + 1, x)`; of order 0 the
    /// function itself. Orders above 5 are computed in float64, where the factor and what it multiplies
    /// have room.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::from_slice(&[1.0_f64], &[1])?;
    /// assert!((x.polygamma(1)?.to_vec::<f64>()?[0] - 1.6449340668482264).abs() < 1e-15);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error for complex numbers, a value error for orders above 170, a memory error.
    pub fn polygamma(&self, n: usize) -> Result<Self, Error> {
        let op = "polygamma";
        if n > MOST_ORDER {
            let problem = Problem::OutOfRange {
                what: "n",
                index: None,
                value: n.to_string(),
                accepted: "orders from 0 to 170",
            };
            return Err(Error::new(op, problem));
        }
        if n == 0 {
            return self.digamma().map_err(|error| error.in_op(op));
        }
        let common = self.dtype();
        if common.is_complex() {
            return Err(Error::not_in_set(op, common, Set::Real, None));
        }
        let result = float_of(op, common)?;
        let wide = match n > MOST_ORDER_32 {
            true => DType::F64,
            false => compute_dtype(result),
        };
        let factorial: f64 = (1..=n).map(|k| k as f64).product();
        let factor = if n % 2 == 1 { factorial } else { -factorial };
        let order = WeakScalar::Float(n as f64 + 1.0);
        let q = self.to(result)?.to(wide)?;
        let sums = Self::apply(Op::Zeta, &[order.into(), (&q).into()]);
        let sums = sums.map_err(|error| error.in_op(op))?;
        sums.mul(factor)?.to(result)
    }
}
