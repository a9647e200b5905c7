//! Reductions: many numbers become one, along any axes.

use allotrope_dtype::{DType, Error, Kind, Policy, ScalarKind, Set, default_dtype, promotion};

use super::Autocast;

/// The float that integers and bool become in an operation that computes in floats.
///
/// # Errors
/// A dtype error under a policy that does not convert them, or not without loss.
pub fn float_of(op: &'static str, dtype: DType) -> Result<DType, Error> {
    let policy = promotion();
    let float = policy.promote_scalar(dtype, ScalarKind::Float, default_dtype());
    float.ok_or_else(|| {
        let hint = match policy {
            Policy::Exact => "x.to(float64)".to_owned(),
            _ => format!("x.to({})", default_dtype()),
        };
        Error::not_in_set(op, dtype, Set::Inexact, Some(&hint))
    })
}

/// Which dtype a reduction or a structured operation gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The dtype itself; int64 or uint64 for integers, int64 for bool.
    Total,
    /// The dtype itself; the default float for integers and bool.
    Average,
    /// The same, but float32 for narrower floats, whose numbers counts soon exceed.
    Tally,
    /// As `Average`, but real.
    Magnitude,
    /// The dtype itself.
    Element,
    /// An int64: a place or a count.
    Index,
    /// A bool.
    Truth,
    /// The complex dtype of the same width; that of the default float for integers and bool.
    Spectrum,
}

impl Outcome {
    /// The dtype of the result of an operation that accepts a set.
    pub(crate) fn result(
        self,
        op: &'static str,
        accepted: Set,
        dtype: DType,
    ) -> Result<DType, Error> {
        if !accepted.contains(dtype) {
            let hint = dtype.is_complex().then_some("x.real or x.abs()");
            return Err(Error::not_in_set(op, dtype, accepted, hint));
        }
        let result = self.of(dtype);
        if Set::Inexact.contains(result) && !Set::Inexact.contains(dtype) {
            // A policy that converts nothing unasked says so here.
            float_of(op, dtype)?;
        }
        Ok(result)
    }

    /// The dtype of the result for a dtype that is accepted.
    #[must_use]
    pub fn of(self, dtype: DType) -> DType {
        let inexact = Set::Inexact.contains(dtype);
        match (self, dtype.kind()) {
            (Self::Element, _) => dtype,
            (Self::Index, _) => DType::I64,
            (Self::Truth, _) => DType::Bool,
            (Self::Total, Kind::Bool | Kind::Signed) => DType::I64,
            (Self::Total, Kind::Unsigned) => DType::U64,
            (Self::Tally, _) => match Self::Average.of(dtype) {
                float if float.bits() < 32 => DType::F32,
                float => float,
            },
            (Self::Average | Self::Magnitude | Self::Spectrum, _) if !inexact => {
                let float = default_dtype();
                match self {
                    Self::Spectrum => float.to_complex(),
                    _ => float,
                }
            }
            (Self::Magnitude, _) => dtype.to_real(),
            (Self::Spectrum, _) => dtype.to_complex(),
            (Self::Total | Self::Average, _) => dtype,
        }
    }
}

/// Hands every reduction to a callback macro, as
/// `{ Variant, name, outcome, autocast, accepted set, "doc" }`.
#[macro_export]
macro_rules! for_each_reduction {
    (($($callback:tt)+) $($args:tt)*) => {
        $($callback)+! { $($args)*
            { Sum,          sum,           Total,     Float32, Element, "The sum." }
            { Prod,         prod,          Total,     Float32, Element, "The product." }
            { Mean,         mean,          Average,   Keep,    Element, "The mean." }
            { Var,          var,           Magnitude, Float32, Element, "The variance; `correction` is taken from the count, 1 for a sample." }
            { Std,          std,           Magnitude, Float32, Element, "The standard deviation, the root of the variance." }
            { Amax,         amax,          Element,   Keep,    Real,    "The greatest; NaN if there is one." }
            { Amin,         amin,          Element,   Keep,    Real,    "The least; NaN if there is one." }
            { Argmax,       argmax,        Index,     Keep,    Real,    "The place of the greatest, the first of equals; that of the first NaN." }
            { Argmin,       argmin,        Index,     Keep,    Real,    "The place of the least, the first of equals; that of the first NaN." }
            { Any,          any,           Truth,     Keep,    Element, "Whether one is not zero." }
            { All,          all,           Truth,     Keep,    Element, "Whether none is zero." }
            { CountNonzero, count_nonzero, Index,     Keep,    Element, "How many are not zero." }
            { Norm,         norm,          Magnitude, Float32, Element, "The norm of order `p`: the root of the sum of magnitudes to that power." }
            { Logsumexp,    logsumexp,     Average,   Float32, Element, "The logarithm of the sum of exponentials, without overflow." }
        }
    };
}

macro_rules! define_reductions {
    ($({ $variant:ident, $name:ident, $outcome:ident, $autocast:ident, $set:ident, $doc:literal })*) => {
        /// A reduction: a row of the table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Reduction {
            $(#[doc = $doc] $variant,)*
        }

        impl Reduction {
            /// Every reduction, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The name in Rust and Python.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => stringify!($name)),* }
            }

            /// One sentence on the result.
            #[must_use]
            pub const fn doc(self) -> &'static str {
                match self { $(Self::$variant => $doc),* }
            }

            /// Which dtype comes out.
            #[must_use]
            pub const fn outcome(self) -> Outcome {
                match self { $(Self::$variant => Outcome::$outcome),* }
            }

            /// What becomes of half precision under autocast.
            #[must_use]
            pub const fn autocast(self) -> Autocast {
                match self { $(Self::$variant => Autocast::$autocast),* }
            }

            /// The dtypes that are accepted.
            #[must_use]
            pub const fn accepted(self) -> Set {
                match self { $(Self::$variant => Set::$set),* }
            }
        }
    };
}
for_each_reduction!((define_reductions));

impl Reduction {
    /// The dtype of the result.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_op::Reduction;
    /// assert_eq!(Reduction::Sum.result_dtype(DType::U8)?, DType::U64);
    /// assert_eq!(Reduction::Norm.result_dtype(DType::C64)?, DType::F32);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error outside the accepted set.
    pub fn result_dtype(self, dtype: DType) -> Result<DType, Error> {
        self.outcome().result(self.name(), self.accepted(), dtype)
    }
}
