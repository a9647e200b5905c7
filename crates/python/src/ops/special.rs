//! Special functions that are compositions: derivatives of `digamma`, orthogonal polynomials.

use allotrope_tensor::{Polynomial, Tensor, polynomial};
use pyo3::prelude::*;

use crate::arguments::{Clamped, Operand, Out};
use crate::create::operand as tensor_of;
use crate::in_place::{Delivered, deliver};
use crate::operand::{self, run};
use crate::tensor::PyTensor;

/// A function per family: documentation, name, and the family.
macro_rules! polynomials {
    ($($(#[doc = $doc:literal])* $name:ident $family:ident;)*) => {
        $(
            $(#[doc = $doc])*
            #[pyfunction]
            #[pyo3(signature = (input, n, *, out=None))]
            fn $name<'py>(
                py: Python<'py>,
                input: Operand<'_, 'py>,
                n: Operand<'_, 'py>,
                out: Option<Out<'_, 'py>>,
            ) -> PyResult<Delivered<'py, PyTensor>> {
                let op = stringify!($name);
                let (x, n) = (operand::read(op, input)?, operand::read_other(op, n)?);
                let count = operand::count(&x).max(operand::count(&n));
                let (x, n) = (x.as_operand(), n.as_operand());
                let found = run(py, count, || polynomial(op, Polynomial::$family, x, n))?;
                deliver(py, op, found, out)
            }
        )*

        /// Adds them all.
        pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add_function(wrap_pyfunction!($name, module)?)?;)*
            module.add_function(wrap_pyfunction!(polygamma, module)?)
        }
    };
}

polynomials! {
    /// Chebyshev's polynomial of the first kind, of degree n, by its recurrence. Degrees are cut to whole numbers; of negative ones it is 0.
    ///
    /// >>> al.special.chebyshev_polynomial_t(al.tensor(0.5), 2)
    /// tensor(-0.5000)
    chebyshev_polynomial_t ChebyshevT;

    /// Chebyshev's polynomial of the second kind, of degree n, by its recurrence. Degrees are cut to whole numbers; of negative ones it is 0.
    ///
    /// >>> al.special.chebyshev_polynomial_u(al.tensor(0.5), 2)
    /// tensor(0.)
    chebyshev_polynomial_u ChebyshevU;

    /// Chebyshev's polynomial of the third kind, of degree n, by its recurrence. Degrees are cut to whole numbers; of negative ones it is 0.
    ///
    /// >>> al.special.chebyshev_polynomial_v(al.tensor(0.5), 2)
    /// tensor(-1.)
    chebyshev_polynomial_v ChebyshevV;

    /// Chebyshev's polynomial of the fourth kind, of degree n, by its recurrence. Degrees are cut to whole numbers; of negative ones it is 0.
    ///
    /// >>> al.special.chebyshev_polynomial_w(al.tensor(0.5), 2)
    /// tensor(1.)
    chebyshev_polynomial_w ChebyshevW;

    /// The physicists' polynomial of Hermite, of degree n, by its recurrence. Degrees are cut to whole numbers; of negative ones it is 0.
    ///
    /// >>> al.special.hermite_polynomial_h(al.tensor(0.5), 2)
    /// tensor(-1.)
    hermite_polynomial_h HermiteH;

    /// The statisticians' polynomial of Hermite, of degree n, by its recurrence. Degrees are cut to whole numbers; of negative ones it is 0.
    ///
    /// >>> al.special.hermite_polynomial_he(al.tensor(0.5), 2)
    /// tensor(-0.7500)
    hermite_polynomial_he HermiteHe;

    /// Laguerre's polynomial, of degree n, by its recurrence. Degrees are cut to whole numbers; of negative ones it is 0.
    ///
    /// >>> al.special.laguerre_polynomial_l(al.tensor(0.5), 2)
    /// tensor(0.1250)
    laguerre_polynomial_l LaguerreL;

    /// Legendre's polynomial, of degree n, by its recurrence. Degrees are cut to whole numbers; of negative ones it is 0.
    ///
    /// >>> al.special.legendre_polynomial_p(al.tensor(0.5), 2)
    /// tensor(-0.1250)
    legendre_polynomial_p LegendreP;

    /// Chebyshev's polynomial of the first kind of 2x - 1, of degree n, by its recurrence. Degrees are cut to whole numbers; of negative ones it is 0.
    ///
    /// >>> al.special.shifted_chebyshev_polynomial_t(al.tensor(0.5), 2)
    /// tensor(-1.)
    shifted_chebyshev_polynomial_t ShiftedChebyshevT;

    /// Chebyshev's polynomial of the second kind of 2x - 1, of degree n, by its recurrence. Degrees are cut to whole numbers; of negative ones it is 0.
    ///
    /// >>> al.special.shifted_chebyshev_polynomial_u(al.tensor(0.5), 2)
    /// tensor(-1.)
    shifted_chebyshev_polynomial_u ShiftedChebyshevU;

    /// Chebyshev's polynomial of the third kind of 2x - 1, of degree n, by its recurrence. Degrees are cut to whole numbers; of negative ones it is 0.
    ///
    /// >>> al.special.shifted_chebyshev_polynomial_v(al.tensor(0.5), 2)
    /// tensor(-1.)
    shifted_chebyshev_polynomial_v ShiftedChebyshevV;

    /// Chebyshev's polynomial of the fourth kind of 2x - 1, of degree n, by its recurrence. Degrees are cut to whole numbers; of negative ones it is 0.
    ///
    /// >>> al.special.shifted_chebyshev_polynomial_w(al.tensor(0.5), 2)
    /// tensor(-1.)
    shifted_chebyshev_polynomial_w ShiftedChebyshevW;
}

fn derivative(py: Python<'_>, x: &Tensor, n: Clamped) -> PyResult<PyTensor> {
    // One that is too great is refused as such.
    let order = usize::try_from(n.0).unwrap_or(usize::MAX);
    run(py, x.count(), || x.polygamma(order))
}

/// The derivative of order n of the digamma function.
///
/// >>> al.special.polygamma(1, al.tensor(1.0))
/// tensor(1.6449)
#[pyfunction]
#[pyo3(signature = (n, input, *, out=None))]
fn polygamma<'py>(
    py: Python<'py>,
    n: Clamped,
    input: Operand<'_, 'py>,
    out: Option<Out<'_, 'py>>,
) -> PyResult<Delivered<'py, PyTensor>> {
    let x = tensor_of("polygamma", input)?;
    deliver(py, "polygamma", derivative(py, &x, n)?, out)
}

#[pymethods]
impl PyTensor {
    /// The derivative of order n of the digamma function.
    ///
    /// >>> al.tensor(1.0).polygamma(1)
    /// tensor(1.6449)
    #[pyo3(name = "polygamma")]
    fn polygamma_method(&self, py: Python<'_>, n: Clamped) -> PyResult<Self> {
        derivative(py, &self.tensor(), n)
    }
}
