//! Examples of the elementwise rows, for the docstrings of everything that is made of a row: its
//! operands, and what comes out. `python/tests/test_documentation.py` runs each in every form.
//!
//! They are Python's, and stand with Python's other documentation rather than in the rows. Docstrings of
//! an extension are literals, so they are macros. Other operations have theirs in their documentation.

use pyo3::prelude::*;

/// Operands with commas between them.
macro_rules! listed {
    () => { "" };
    ($first:literal $(, $rest:literal)*) => { concat!($first $(, ", ", $rest)*) };
}

/// A call of a row: as a method, as a function of the package or as one of `nn.functional`.
macro_rules! called {
    (method $name:ident $first:literal $(, $rest:literal)*) => {
        concat!(">>> ", $first, ".", stringify!($name), "(", listed!($($rest),*), ")")
    };
    (function $name:ident $($operand:literal),+) => {
        concat!(">>> al.", stringify!($name), "(", listed!($($operand),+), ")")
    };
    (functional $name:ident $($operand:literal),+) => {
        concat!(">>> al.nn.functional.", stringify!($name), "(", listed!($($operand),+), ")")
    };
}

/// Calls and their results.
macro_rules! shown {
    ($as:ident $name:ident [$($operand:literal),+] $result:literal $(, [$($other:literal),+] $more:literal)*) => {
        concat!(called!($as $name $($operand),+), "\n", $result $(, "\n", called!($as $name $($other),+), "\n", $more)*)
    };
}

/// The example of a row. The first call is one that can be made in place, too; where the dtype of the
/// result is not what one thinks, there is a second.
#[rustfmt::skip]
macro_rules! example {
    ($as:ident abs)                 => { shown!($as abs ["al.tensor([-1.5, 2.0])"] "tensor([1.5000, 2.0000])", ["al.tensor([3 + 4j])"] "tensor([5.])") };
    ($as:ident neg)                 => { shown!($as neg ["al.tensor([1, -2])"] "tensor([-1,  2])") };
    ($as:ident positive)            => { shown!($as positive ["al.tensor([1, -2])"] "tensor([ 1, -2])") };
    ($as:ident sign)                => { shown!($as sign ["al.tensor([-3.0, 0.0, 5.0])"] "tensor([-1.,  0.,  1.])") };
    ($as:ident conj)                => { shown!($as conj ["al.tensor([1 + 2j])"] "tensor([1.-2.j])") };
    ($as:ident angle)               => { shown!($as angle ["al.tensor([1.0, -1.0])"] "tensor([0.0000, 3.1416])", ["al.tensor([1j])"] "tensor([1.5708])") };
    ($as:ident square)              => { shown!($as square ["al.tensor([-2, 3])"] "tensor([4, 9])") };
    ($as:ident reciprocal)          => { shown!($as reciprocal ["al.tensor([2.0, -4.0])"] "tensor([ 0.5000, -0.2500])", ["al.tensor([2, 5])"] "tensor([0.5000, 0.2000])") };
    ($as:ident sqrt)                => { shown!($as sqrt ["al.tensor([4.0, 2.0])"] "tensor([2.0000, 1.4142])", ["al.tensor([4, 9])"] "tensor([2., 3.])") };
    ($as:ident rsqrt)               => { shown!($as rsqrt ["al.tensor([4.0, 0.25])"] "tensor([0.5000, 2.0000])") };
    ($as:ident cbrt)                => { shown!($as cbrt ["al.tensor([8.0, -27.0])"] "tensor([ 2., -3.])") };
    ($as:ident exp)                 => { shown!($as exp ["al.tensor([0.0, 1.0])"] "tensor([1.0000, 2.7183])", ["al.tensor([0, 1])"] "tensor([1.0000, 2.7183])") };
    ($as:ident exp2)                => { shown!($as exp2 ["al.tensor([3.0, -1.0])"] "tensor([8.0000, 0.5000])") };
    ($as:ident expm1)               => { shown!($as expm1 ["al.tensor([1.0, 1e-8])"] "tensor([1.7183e+00, 1.0000e-08])") };
    ($as:ident log)                 => { shown!($as log ["al.tensor([1.0, 10.0])"] "tensor([0.0000, 2.3026])", ["al.tensor([0.0, -1.0])"] "tensor([-inf,  nan])") };
    ($as:ident log2)                => { shown!($as log2 ["al.tensor([8.0, 0.5])"] "tensor([ 3., -1.])") };
    ($as:ident log10)               => { shown!($as log10 ["al.tensor([1000.0, 0.01])"] "tensor([ 3., -2.])") };
    ($as:ident log1p)               => { shown!($as log1p ["al.tensor([1.0, 1e-8])"] "tensor([6.9315e-01, 1.0000e-08])") };
    ($as:ident sin)                 => { shown!($as sin ["al.tensor([0.0, 1.0])"] "tensor([0.0000, 0.8415])") };
    ($as:ident cos)                 => { shown!($as cos ["al.tensor([0.0, 1.0])"] "tensor([1.0000, 0.5403])") };
    ($as:ident tan)                 => { shown!($as tan ["al.tensor([0.0, 1.0])"] "tensor([0.0000, 1.5574])") };
    ($as:ident asin)                => { shown!($as asin ["al.tensor([0.5, 1.0, 2.0])"] "tensor([0.5236, 1.5708,    nan])") };
    ($as:ident acos)                => { shown!($as acos ["al.tensor([0.5, 1.0, 2.0])"] "tensor([1.0472, 0.0000,    nan])") };
    ($as:ident atan)                => { shown!($as atan ["al.tensor([1.0, -al.inf])"] "tensor([ 0.7854, -1.5708])") };
    ($as:ident sinh)                => { shown!($as sinh ["al.tensor([0.0, 1.0])"] "tensor([0.0000, 1.1752])") };
    ($as:ident cosh)                => { shown!($as cosh ["al.tensor([0.0, 1.0])"] "tensor([1.0000, 1.5431])") };
    ($as:ident tanh)                => { shown!($as tanh ["al.tensor([0.0, 1.0, al.inf])"] "tensor([0.0000, 0.7616, 1.0000])") };
    ($as:ident asinh)               => { shown!($as asinh ["al.tensor([0.0, 1.0])"] "tensor([0.0000, 0.8814])") };
    ($as:ident acosh)               => { shown!($as acosh ["al.tensor([1.0, 2.0])"] "tensor([0.0000, 1.3170])") };
    ($as:ident atanh)               => { shown!($as atanh ["al.tensor([0.5, 1.0])"] "tensor([0.5493,    inf])") };
    ($as:ident sinc)                => { shown!($as sinc ["al.tensor([0.0, 0.5, 1.5])"] "tensor([ 1.0000,  0.6366, -0.2122])") };
    ($as:ident deg2rad)             => { shown!($as deg2rad ["al.tensor([90.0, 180.0])"] "tensor([1.5708, 3.1416])") };
    ($as:ident rad2deg)             => { shown!($as rad2deg ["al.tensor([al.pi, 1.0])"] "tensor([180.0000,  57.2958])") };
    ($as:ident erf)                 => { shown!($as erf ["al.tensor([0.0, 1.0])"] "tensor([0.0000, 0.8427])") };
    ($as:ident erfc)                => { shown!($as erfc ["al.tensor([0.0, 1.0, 9.0])"] "tensor([1.0000e+00, 1.5730e-01, 4.1370e-37])") };
    ($as:ident erfinv)              => { shown!($as erfinv ["al.tensor([0.0, 0.5, 1.0])"] "tensor([0.0000, 0.4769,    inf])") };
    ($as:ident erfcx)               => { shown!($as erfcx ["al.tensor([0.0, 1.0, 100.0])"] "tensor([1.0000, 0.4276, 0.0056])") };
    ($as:ident ndtr)                => { shown!($as ndtr ["al.tensor([0.0, 1.96])"] "tensor([0.5000, 0.9750])") };
    ($as:ident log_ndtr)            => { shown!($as log_ndtr ["al.tensor([0.0, -20.0])"] "tensor([  -0.6931, -203.9172])") };
    ($as:ident entr)                => { shown!($as entr ["al.tensor([0.5, 0.0, -1.0])"] "tensor([0.3466, 0.0000,   -inf])") };
    ($as:ident i0)                  => { shown!($as i0 ["al.tensor([0.0, 1.0])"] "tensor([1.0000, 1.2661])") };
    ($as:ident i0e)                 => { shown!($as i0e ["al.tensor([0.0, 1.0, 100.0])"] "tensor([1.0000, 0.4658, 0.0399])") };
    ($as:ident i1)                  => { shown!($as i1 ["al.tensor([0.0, 1.0])"] "tensor([0.0000, 0.5652])") };
    ($as:ident i1e)                 => { shown!($as i1e ["al.tensor([0.0, 1.0, 100.0])"] "tensor([0.0000, 0.2079, 0.0397])") };
    ($as:ident lgamma)              => { shown!($as lgamma ["al.tensor([1.0, 5.0])"] "tensor([0.0000, 3.1781])") };
    ($as:ident igamma)              => { shown!($as igamma ["al.tensor([1.0, 2.0])", "al.tensor([2.0, 2.0])"] "tensor([0.8647, 0.5940])") };
    ($as:ident igammac)             => { shown!($as igammac ["al.tensor([1.0, 2.0])", "al.tensor([2.0, 2.0])"] "tensor([0.1353, 0.4060])") };
    ($as:ident zeta)                => { shown!($as zeta ["al.tensor([2.0, 4.0])", "1.0"] "tensor([1.6449, 1.0823])") };
    ($as:ident digamma)             => { shown!($as digamma ["al.tensor([1.0, 2.0])"] "tensor([-0.5772,  0.4228])") };
    ($as:ident sigmoid)             => { shown!($as sigmoid ["al.tensor([0.0, 2.0])"] "tensor([0.5000, 0.8808])", ["al.tensor([0, 2])"] "tensor([0.5000, 0.8808])") };
    ($as:ident log_sigmoid)         => { shown!($as log_sigmoid ["al.tensor([0.0, -100.0])"] "tensor([  -0.6931, -100.0000])") };
    ($as:ident floor)               => { shown!($as floor ["al.tensor([1.7, -1.2])"] "tensor([ 1., -2.])") };
    ($as:ident ceil)                => { shown!($as ceil ["al.tensor([1.2, -1.7])"] "tensor([ 2., -1.])") };
    ($as:ident trunc)               => { shown!($as trunc ["al.tensor([1.7, -1.7])"] "tensor([ 1., -1.])") };
    ($as:ident frac)                => { shown!($as frac ["al.tensor([1.75, -1.75])"] "tensor([ 0.7500, -0.7500])") };
    ($as:ident bitwise_not)         => { shown!($as bitwise_not ["al.tensor([0, 5])"] "tensor([-1, -6])", ["al.tensor([True, False])"] "tensor([False,  True])") };
    ($as:ident bitwise_count)       => { shown!($as bitwise_count ["al.tensor([7, 8, -1])"] "tensor([3, 1, 1])") };
    ($as:ident isnan)               => { shown!($as isnan ["al.tensor([1.0, al.nan])"] "tensor([False,  True])") };
    ($as:ident isinf)               => { shown!($as isinf ["al.tensor([1.0, -al.inf, al.nan])"] "tensor([False,  True, False])") };
    ($as:ident isfinite)            => { shown!($as isfinite ["al.tensor([1.0, al.inf, al.nan])"] "tensor([ True, False, False])") };
    ($as:ident isposinf)            => { shown!($as isposinf ["al.tensor([al.inf, -al.inf])"] "tensor([ True, False])") };
    ($as:ident isneginf)            => { shown!($as isneginf ["al.tensor([al.inf, -al.inf])"] "tensor([False,  True])") };
    ($as:ident isreal)              => { shown!($as isreal ["al.tensor([1 + 0j, 1 + 2j])"] "tensor([ True, False])") };
    ($as:ident signbit)             => { shown!($as signbit ["al.tensor([1.0, -0.0])"] "tensor([False,  True])") };
    ($as:ident logical_not)         => { shown!($as logical_not ["al.tensor([0, 2])"] "tensor([ True, False])") };
    ($as:ident relu)                => { shown!($as relu ["al.tensor([-1.0, 2.0, al.nan])"] "tensor([ 0.,  2., nan])") };
    ($as:ident relu6)               => { shown!($as relu6 ["al.tensor([-1.0, 2.0, 9.0])"] "tensor([0., 2., 6.])") };
    ($as:ident selu)                => { shown!($as selu ["al.tensor([-1.0, 2.0])"] "tensor([-1.1113,  2.1014])") };
    ($as:ident softsign)            => { shown!($as softsign ["al.tensor([-1.0, 3.0])"] "tensor([-0.5000,  0.7500])") };
    ($as:ident silu)                => { shown!($as silu ["al.tensor([-1.0, 2.0])"] "tensor([-0.2689,  1.7616])") };
    ($as:ident mish)                => { shown!($as mish ["al.tensor([-1.0, 2.0])"] "tensor([-0.3034,  1.9440])") };
    ($as:ident hardswish)           => { shown!($as hardswish ["al.tensor([-4.0, 1.0, 5.0])"] "tensor([-0.0000,  0.6667,  5.0000])") };
    ($as:ident hardsigmoid)         => { shown!($as hardsigmoid ["al.tensor([-4.0, 0.0, 5.0])"] "tensor([0.0000, 0.5000, 1.0000])") };
    ($as:ident tanhshrink)          => { shown!($as tanhshrink ["al.tensor([-1.0, 2.0])"] "tensor([-0.2384,  1.0360])") };
    ($as:ident mul)                 => { shown!($as mul ["al.tensor([2, 3])", "al.tensor([4, 5])"] "tensor([ 8, 15])", ["al.tensor([1, 2])", "0.5"] "tensor([0.5000, 1.0000])") };
    ($as:ident floor_divide)        => { shown!($as floor_divide ["al.tensor([7, -7])", "2"] "tensor([ 3, -4])") };
    ($as:ident trunc_divide)        => { shown!($as trunc_divide ["al.tensor([7, -7])", "2"] "tensor([ 3, -3])") };
    ($as:ident remainder)           => { shown!($as remainder ["al.tensor([7, -7])", "3"] "tensor([1, 2])") };
    ($as:ident fmod)                => { shown!($as fmod ["al.tensor([7, -7])", "3"] "tensor([ 1, -1])") };
    ($as:ident pow)                 => { shown!($as pow ["al.tensor([2, 3])", "2"] "tensor([4, 9])", ["al.tensor([2, 3])", "0.5"] "tensor([1.4142, 1.7321])") };
    ($as:ident maximum)             => { shown!($as maximum ["al.tensor([1.0, al.nan])", "al.tensor([2.0, 0.0])"] "tensor([ 2., nan])") };
    ($as:ident minimum)             => { shown!($as minimum ["al.tensor([1.0, al.nan])", "al.tensor([2.0, 0.0])"] "tensor([ 1., nan])") };
    ($as:ident fmax)                => { shown!($as fmax ["al.tensor([1.0, al.nan])", "al.tensor([2.0, 0.0])"] "tensor([2., 0.])") };
    ($as:ident fmin)                => { shown!($as fmin ["al.tensor([1.0, al.nan])", "al.tensor([2.0, 0.0])"] "tensor([1., 0.])") };
    ($as:ident atan2)               => { shown!($as atan2 ["al.tensor([1.0, -1.0])", "al.tensor([1.0, -1.0])"] "tensor([ 0.7854, -2.3562])") };
    ($as:ident hypot)               => { shown!($as hypot ["al.tensor([3.0, 5.0])", "al.tensor([4.0, 12.0])"] "tensor([ 5., 13.])") };
    ($as:ident copysign)            => { shown!($as copysign ["al.tensor([1.0, -2.0])", "-0.0"] "tensor([-1., -2.])") };
    ($as:ident nextafter)           => { shown!($as nextafter ["al.tensor([1.0], dtype=al.float16)", "2"] "tensor([1.0010], dtype=float16)") };
    ($as:ident logaddexp)           => { shown!($as logaddexp ["al.tensor([0.0, 1000.0])", "al.tensor([0.0, 1000.0])"] "tensor([6.9315e-01, 1.0007e+03])") };
    ($as:ident logaddexp2)          => { shown!($as logaddexp2 ["al.tensor([3.0, 5000.0])", "al.tensor([3.0, 5000.0])"] "tensor([4.0000e+00, 5.0010e+03])") };
    ($as:ident xlogy)               => { shown!($as xlogy ["al.tensor([0.0, 2.0])", "al.tensor([0.0, 3.0])"] "tensor([0.0000, 2.1972])") };
    ($as:ident xlog1py)             => { shown!($as xlog1py ["al.tensor([0.0, 2.0])", "al.tensor([-1.0, 3.0])"] "tensor([0.0000, 2.7726])") };
    ($as:ident heaviside)           => { shown!($as heaviside ["al.tensor([-1.5, 0.0, 2.0])", "al.tensor(0.5)"] "tensor([0.0000, 0.5000, 1.0000])") };
    ($as:ident ldexp)               => { shown!($as ldexp ["al.tensor([1.0, 3.0])", "al.tensor([4, -1])"] "tensor([16.0000,  1.5000])") };
    ($as:ident gcd)                 => { shown!($as gcd ["al.tensor([12, 18])", "8"] "tensor([4, 2])") };
    ($as:ident lcm)                 => { shown!($as lcm ["al.tensor([4, 6])", "10"] "tensor([20, 30])") };
    ($as:ident bitwise_and)         => { shown!($as bitwise_and ["al.tensor([6, 5])", "3"] "tensor([2, 1])") };
    ($as:ident bitwise_or)          => { shown!($as bitwise_or ["al.tensor([6, 5])", "3"] "tensor([7, 7])") };
    ($as:ident bitwise_xor)         => { shown!($as bitwise_xor ["al.tensor([6, 5])", "3"] "tensor([5, 6])") };
    ($as:ident bitwise_left_shift)  => { shown!($as bitwise_left_shift ["al.tensor([1, 3])", "2"] "tensor([ 4, 12])") };
    ($as:ident bitwise_right_shift) => { shown!($as bitwise_right_shift ["al.tensor([16, -16])", "2"] "tensor([ 4, -4])") };
    ($as:ident logical_and)         => { shown!($as logical_and ["al.tensor([0, 2])", "al.tensor([1, 1])"] "tensor([False,  True])") };
    ($as:ident logical_or)          => { shown!($as logical_or ["al.tensor([0, 2])", "al.tensor([0, 1])"] "tensor([False,  True])") };
    ($as:ident logical_xor)         => { shown!($as logical_xor ["al.tensor([0, 2])", "al.tensor([1, 1])"] "tensor([ True, False])") };
    ($as:ident eq)                  => { shown!($as eq ["al.tensor([1, 2])", "2"] "tensor([False,  True])") };
    ($as:ident ne)                  => { shown!($as ne ["al.tensor([1, 2])", "2"] "tensor([ True, False])") };
    ($as:ident lt)                  => { shown!($as lt ["al.tensor([1, 2, 3])", "2"] "tensor([ True, False, False])") };
    ($as:ident le)                  => { shown!($as le ["al.tensor([1, 2, 3])", "2"] "tensor([ True,  True, False])") };
    ($as:ident gt)                  => { shown!($as gt ["al.tensor([1, 2, 3])", "2"] "tensor([False, False,  True])") };
    ($as:ident ge)                  => { shown!($as ge ["al.tensor([1, 2, 3])", "2"] "tensor([False,  True,  True])") };
    // Rows with options that have defaults in `nn.functional`.
    ($as:ident leaky_relu) => { shown!($as leaky_relu ["al.tensor([-1.0, 2.0])"] "tensor([-0.0100,  2.0000])") };
    ($as:ident elu)        => { shown!($as elu ["al.tensor([-1.0, 2.0])"] "tensor([-0.6321,  2.0000])") };
    ($as:ident celu)       => { shown!($as celu ["al.tensor([-1.0, 2.0])", "2.0"] "tensor([-0.7869,  2.0000])") };
    ($as:ident threshold)  => { shown!($as threshold ["al.tensor([-1.0, 2.0])", "0.5", "9.0"] "tensor([9., 2.])") };
    ($as:ident hardtanh)   => { shown!($as hardtanh ["al.tensor([-3.0, 0.5, 3.0])"] "tensor([-1.0000,  0.5000,  1.0000])") };
    ($as:ident $name:ident) => { compile_error!(concat!("examples.rs has no example of ", stringify!($name))) };
}

/// What the first call leaves in place of its operand, where that is not what it gives: truth values
/// become numbers.
#[rustfmt::skip]
const WRITTEN: &[(&str, &str)] = &[
    ("isnan",       "tensor([0., 1.])"),
    ("isinf",       "tensor([0., 1., 0.])"),
    ("isfinite",    "tensor([1., 0., 0.])"),
    ("isposinf",    "tensor([1., 0.])"),
    ("isneginf",    "tensor([0., 1.])"),
    ("isreal",      "tensor([1.+0.j, 0.+0.j])"),
    ("signbit",     "tensor([0., 1.])"),
    ("logical_not", "tensor([1, 0])"),
    ("logical_and", "tensor([0, 1])"),
    ("logical_or",  "tensor([0, 1])"),
    ("logical_xor", "tensor([1, 0])"),
    ("eq",          "tensor([0, 1])"),
    ("ne",          "tensor([1, 0])"),
    ("lt",          "tensor([1, 0, 0])"),
    ("le",          "tensor([1, 1, 0])"),
    ("gt",          "tensor([0, 0, 1])"),
    ("ge",          "tensor([0, 1, 1])"),
    ("isclose",     "tensor([1., 0.])"),
    // Where the dtype of the result is another one.
    ("cumsum",      "tensor([100, -56,  44], dtype=int8)"),
    ("float_power", "tensor([0.5000, 0.3333])"),
];

/// The results of in-place forms that differ from those of their methods.
#[pyfunction]
pub(crate) fn _written_results() -> &'static [(&'static str, &'static str)] {
    WRITTEN
}
