//! Other names of what is declared elsewhere: the package and the stubs are made from these lists.

use pyo3::prelude::*;

/// Functions and methods by NumPy's and the array API's names, and by torch's own second ones.
#[rustfmt::skip]
const SYNONYMS: &[(&str, &str)] = &[
    ("absolute",        "abs"),
    ("arccos",          "acos"),
    ("arccosh",         "acosh"),
    ("arcsin",          "asin"),
    ("arcsinh",         "asinh"),
    ("arctan",          "atan"),
    ("arctan2",         "atan2"),
    ("arctanh",         "atanh"),
    ("bitwise_invert",  "bitwise_not"),
    ("clip",            "clamp"),
    ("conjugate",       "conj"),
    ("divide",          "div"),
    ("expit",           "sigmoid"),
    ("fix",             "trunc"),
    ("greater",         "gt"),
    ("greater_equal",   "ge"),
    ("less",            "lt"),
    ("less_equal",      "le"),
    ("multiply",        "mul"),
    ("negative",        "neg"),
    ("not_equal",       "ne"),
    ("power",           "pow"),
    ("sgn",             "sign"),
    ("subtract",        "sub"),
    ("take_along_axis", "take_along_dim"),
    ("trapz",           "trapezoid"),
    ("true_divide",     "div"),
];

/// Functions of `nn.functional` that torch has in its package too.
const FUNCTIONAL: &[&str] = &[
    "alpha_dropout",
    "bilinear",
    "channel_shuffle",
    "dropout",
    "feature_alpha_dropout",
    "pixel_shuffle",
    "pixel_unshuffle",
];

/// Views that torch has as copies too, under a name that ends in `_copy`.
const COPIES: &[&str] = &[
    "detach",
    "diagonal",
    "expand",
    "narrow",
    "permute",
    "select",
    "squeeze",
    "t",
    "transpose",
    "unbind",
    "unfold",
    "unsqueeze",
    "view",
    "split",
    "as_strided",
    "split_with_sizes",
    "view_as_complex",
    "view_as_real",
];

/// Those whose copies are methods, too.
const COPYING_METHODS: &[&str] = &["diagonal", "expand", "narrow"];

/// The functions of `special`, and those of the package that they are.
#[rustfmt::skip]
const SPECIAL: &[(&str, &str)] = &[
    ("chebyshev_polynomial_t",          "chebyshev_polynomial_t"),
    ("chebyshev_polynomial_u",          "chebyshev_polynomial_u"),
    ("chebyshev_polynomial_v",          "chebyshev_polynomial_v"),
    ("chebyshev_polynomial_w",          "chebyshev_polynomial_w"),
    ("digamma",                         "digamma"),
    ("entr",                            "entr"),
    ("erf",                             "erf"),
    ("erfc",                            "erfc"),
    ("erfcx",                           "erfcx"),
    ("erfinv",                          "erfinv"),
    ("exp2",                            "exp2"),
    ("expit",                           "sigmoid"),
    ("expm1",                           "expm1"),
    ("gammainc",                        "igamma"),
    ("gammaincc",                       "igammac"),
    ("gammaln",                         "lgamma"),
    ("hermite_polynomial_h",            "hermite_polynomial_h"),
    ("hermite_polynomial_he",           "hermite_polynomial_he"),
    ("i0",                              "i0"),
    ("i0e",                             "i0e"),
    ("i1",                              "i1"),
    ("i1e",                             "i1e"),
    ("laguerre_polynomial_l",           "laguerre_polynomial_l"),
    ("legendre_polynomial_p",           "legendre_polynomial_p"),
    ("log1p",                           "log1p"),
    ("log_ndtr",                        "log_ndtr"),
    ("log_softmax",                     "log_softmax"),
    ("logit",                           "logit"),
    ("logsumexp",                       "logsumexp"),
    ("modified_bessel_i0",              "i0"),
    ("modified_bessel_i1",              "i1"),
    ("ndtr",                            "ndtr"),
    ("polygamma",                       "polygamma"),
    ("psi",                             "digamma"),
    ("round",                           "round"),
    ("shifted_chebyshev_polynomial_t",  "shifted_chebyshev_polynomial_t"),
    ("shifted_chebyshev_polynomial_u",  "shifted_chebyshev_polynomial_u"),
    ("shifted_chebyshev_polynomial_v",  "shifted_chebyshev_polynomial_v"),
    ("shifted_chebyshev_polynomial_w",  "shifted_chebyshev_polynomial_w"),
    ("sinc",                            "sinc"),
    ("softmax",                         "softmax"),
    ("xlog1py",                         "xlog1py"),
    ("xlogy",                           "xlogy"),
    ("zeta",                            "zeta"),
];

/// Functions of `nn.functional` with an option that torch has under a name of their own, too: that
/// name, the function and the option, which is true.
#[rustfmt::skip]
const SPELLINGS: &[(&str, &str, &str)] = &[
    ("celu_",                              "celu",                  "inplace"),
    ("elu_",                               "elu",                   "inplace"),
    ("hardtanh_",                          "hardtanh",              "inplace"),
    ("leaky_relu_",                        "leaky_relu",            "inplace"),
    ("relu_",                              "relu",                  "inplace"),
    ("rrelu_",                             "rrelu",                 "inplace"),
    ("selu_",                              "selu",                  "inplace"),
    ("threshold_",                         "threshold",             "inplace"),
    ("max_pool1d_with_indices",            "max_pool1d",            "return_indices"),
    ("max_pool2d_with_indices",            "max_pool2d",            "return_indices"),
    ("max_pool3d_with_indices",            "max_pool3d",            "return_indices"),
    ("adaptive_max_pool1d_with_indices",   "adaptive_max_pool1d",   "return_indices"),
    ("adaptive_max_pool2d_with_indices",   "adaptive_max_pool2d",   "return_indices"),
    ("adaptive_max_pool3d_with_indices",   "adaptive_max_pool3d",   "return_indices"),
    ("fractional_max_pool2d_with_indices", "fractional_max_pool2d", "return_indices"),
    ("fractional_max_pool3d_with_indices", "fractional_max_pool3d", "return_indices"),
];

/// Functions of `nn.init` that torch had without the underscore.
const OLD_INIT: &[&str] = &[
    "constant",
    "dirac",
    "eye",
    "kaiming_normal",
    "kaiming_uniform",
    "normal",
    "orthogonal",
    "sparse",
    "uniform",
    "xavier_normal",
    "xavier_uniform",
];

type Pairs = &'static [(&'static str, &'static str)];
type Names = &'static [&'static str];

/// The lists of the package: synonyms, functions of `nn.functional`.
#[pyfunction]
pub(crate) fn _other_names() -> (Pairs, Names) {
    (SYNONYMS, FUNCTIONAL)
}

/// The views that are copied by functions, and by methods.
#[pyfunction]
pub(crate) fn _copied_views() -> (Names, Names) {
    (COPIES, COPYING_METHODS)
}

/// The list of `special`.
#[pyfunction]
pub(crate) fn _special_names() -> Pairs {
    SPECIAL
}

/// The list of `nn.functional`.
#[pyfunction]
pub(crate) fn _spellings() -> &'static [(&'static str, &'static str, &'static str)] {
    SPELLINGS
}

/// The list of `nn.init`.
#[pyfunction]
pub(crate) fn _old_init_names() -> Names {
    OLD_INIT
}
