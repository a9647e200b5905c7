//! THE table of structured operations: those that are neither elementwise nor reductions.
//!
//! A row says which dtypes an operation accepts, which dtype comes out, what autocast does, and in
//! one sentence what the result is. The file of the operation in `tensor/src/ops/` asks its row for
//! the dtype of the result; the support page, `al.support()` and autocast read the same rows.
//!
//! | file | rows |
//! |---|---|
//! | [`matrix`] | matrix products |
//! | [`movement`] | elements that change places |
//! | [`indexing`] | elements chosen by indices and masks |
//! | [`order`] | sorting, scans, counting |
//! | [`neural`] | layers as functions |
//! | [`convolution`] | windows over grids: convolution, pooling, interpolation |
//! | [`linalg`] | decompositions and solutions |
//! | [`fft`] | Fourier transforms |

use allotrope_dtype::{DType, Error, Set};

use crate::table::{Autocast, Outcome};

/// Rows, each a constant, and the list of them all.
macro_rules! structured {
    ($($constant:ident, $name:literal, $outcome:ident, $autocast:ident, $accepted:ident, $doc:literal;)*) => {
        $(
            #[doc = $doc]
            pub const $constant: crate::structured::Structured = crate::structured::Structured {
                name: $name,
                outcome: crate::table::Outcome::$outcome,
                autocast: crate::table::Autocast::$autocast,
                accepted: allotrope_dtype::Set::$accepted,
                doc: $doc,
            };
        )*

        /// Every row of this file.
        pub const ALL: &[crate::structured::Structured] = &[$($constant),*];
    };
}

pub mod convolution;
pub mod fft;
pub mod indexing;
pub mod linalg;
pub mod matrix;
pub mod movement;
pub mod neural;
pub mod order;

/// Operations without a gradient whose result would have the dtype for one, and why.
const WITHOUT_GRADIENT: &[(&str, &str)] = &[
    ("histc", "counts do not vary"),
    (
        "histogram",
        "counts do not vary; the sums of weights have a gradient",
    ),
];

/// What the table says of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Structured {
    /// The name in Python, with that of its module if it is neither the package nor `nn.functional`:
    /// `linalg.solve`.
    pub name: &'static str,
    /// Which dtype comes out.
    pub outcome: Outcome,
    /// What becomes of half precision under autocast.
    pub autocast: Autocast,
    /// The dtypes that are accepted, after promotion of the operands.
    pub accepted: Set,
    /// One sentence on the result.
    pub doc: &'static str,
}

impl Structured {
    /// Every row, family by family.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        let families = [
            matrix::ALL,
            movement::ALL,
            indexing::ALL,
            order::ALL,
            neural::ALL,
            convolution::ALL,
            linalg::ALL,
            fft::ALL,
        ];
        families.into_iter().flatten()
    }

    /// The row of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<&'static Self> {
        Self::all().find(|row| row.name == name)
    }

    /// The dtype of the result for operands whose common dtype this is.
    ///
    /// # Errors
    /// A dtype error outside the accepted set.
    pub fn result_dtype(&self, dtype: DType) -> Result<DType, Error> {
        self.outcome.result(self.name, self.accepted, dtype)
    }

    /// Why the operation has no gradient; `None` if it has one.
    #[must_use]
    pub fn without_gradient(&self) -> Option<&'static str> {
        let listed = WITHOUT_GRADIENT.iter().find(|(name, _)| *name == self.name);
        listed.map(|(_, reason)| *reason).or(match self.outcome {
            Outcome::Index => Some("places and counts do not vary"),
            Outcome::Truth => Some("a truth value does not vary"),
            _ => None,
        })
    }
}
