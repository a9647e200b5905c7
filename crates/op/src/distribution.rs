//! THE table of distributions: names, parameters and what these may be.

/// What a parameter of a [`Distribution`] may be.
#[derive(Clone, Copy, Debug)]
pub struct DistributionParameter {
    /// Its name in Python.
    pub name: &'static str,
    /// The accepted values in words.
    pub accepted: &'static str,
    /// Whether a value is accepted.
    pub holds: fn(f64) -> bool,
}

const FINITE: fn(f64) -> bool = f64::is_finite;
const POSITIVE: fn(f64) -> bool = |x| x > 0.0 && x.is_finite();
const NOT_NEGATIVE: fn(f64) -> bool = |x| x >= 0.0 && x.is_finite();
const NUMBER: fn(f64) -> bool = |x| !x.is_nan();
const PROBABILITY: fn(f64) -> bool = |x| (0.0..=1.0).contains(&x);
const CHANCE: fn(f64) -> bool = |x| x > 0.0 && x <= 1.0;
const COUNT: fn(f64) -> bool = |x| (0.0..=9_007_199_254_740_992.0).contains(&x) && x.floor() == x;

/// Rows as an enum and what it says of itself.
macro_rules! distributions {
    ($($row:ident $name:literal $values:ident [$($parameter:literal $accepted:literal $holds:ident),*] $doc:literal;)*) => {
        /// A distribution of single numbers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Distribution {
            $(#[doc = $doc] $row),*
        }

        impl Distribution {
            /// Every distribution.
            pub const ALL: &[Self] = &[$(Self::$row),*];

            /// The name in Python.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$row => $name),* }
            }

            /// The parameters, in order.
            #[must_use]
            pub fn parameters(self) -> &'static [DistributionParameter] {
                match self {
                    $(Self::$row => &[$(DistributionParameter { name: $parameter, accepted: $accepted, holds: $holds }),*]),*
                }
            }

            /// Whether all numbers are integers, so that integer dtypes hold them.
            #[must_use]
            pub fn is_integer(self) -> bool {
                match self { $(Self::$row => distributions!(@ $values)),* }
            }
        }
    };
    (@ int) => { true };
    (@ real) => { false };
}
distributions! {
    Exponential "exponential" real ["rate" "numbers above 0" POSITIVE]
        "The time to the next of events that come at this rate.";
    Laplace "laplace" real ["loc" "finite numbers" FINITE, "scale" "0 and above" NOT_NEGATIVE]
        "Exponential to both sides of `loc`.";
    Cauchy "cauchy" real ["median" "finite numbers" FINITE, "sigma" "numbers above 0" POSITIVE]
        "The ratio of two normal numbers, times `sigma`, from `median` on.";
    LogNormal "log_normal" real ["mean" "finite numbers" FINITE, "std" "0 and above" NOT_NEGATIVE]
        "The exponential of normal numbers.";
    Geometric "geometric" int ["p" "numbers above 0 and up to 1" CHANCE]
        "The trials to the first success, which count from 1.";
    Gamma "gamma" real ["shape" "0 and above" NOT_NEGATIVE, "rate" "numbers above 0" POSITIVE]
        "The time to the `shape`-th of events that come at this rate.";
    Beta "beta" real ["a" "numbers above 0" POSITIVE, "b" "numbers above 0" POSITIVE]
        "The share of one of two gamma numbers.";
    ChiSquare "chi2" real ["df" "numbers above 0" POSITIVE]
        "The sum of `df` squares of normal numbers.";
    StudentT "student_t" real ["df" "numbers above 0" POSITIVE]
        "A normal number by the root of a mean of `df` squares of others.";
    Poisson "poisson" int ["rate" "0 and above" NOT_NEGATIVE]
        "The events in a unit of time, which come at this rate.";
    Binomial "binomial" int ["count" "integers from 0 to 2^53" COUNT, "prob" "0 to 1" PROBABILITY]
        "The successes of so many trials.";
    TruncatedNormal "truncated_normal" real [
        "mean" "finite numbers" FINITE, "std" "numbers above 0" POSITIVE,
        "a" "numbers" NUMBER, "b" "numbers" NUMBER
    ] "Normal numbers between two bounds.";
}
