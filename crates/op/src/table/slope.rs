//! Gradients of activations, times that of the result, as one formula: what their derivative makes step
//! by step.

use super::formula::{FloatMap, Sigmoid};
use super::math::{GELU_CUBIC, GELU_SLOPE};
use crate::elementary::Elementary;

/// The same bits as the steps.
pub struct ReluSlope;
/// The same bits as the steps.
pub struct SiluSlope;
/// The same bits as the steps.
pub struct GeluTanhSlope;
/// Of one exponential instead of two.
pub struct GeluSlope;

impl FloatMap<2> for ReluSlope {
    #[inline(always)]
    fn call<L: Elementary>([x, g]: [L; 2]) -> L {
        let zero = L::lit(0.0);
        g * L::select(zero.lt(x), L::lit(1.0), zero)
    }
}

impl FloatMap<2> for SiluSlope {
    #[inline(always)]
    fn call<L: Elementary>([x, g]: [L; 2]) -> L {
        let (s, one) = (Sigmoid::call([x]), L::lit(1.0));
        g * (s * (x * (one - s) + one))
    }
}

impl FloatMap<2> for GeluTanhSlope {
    #[inline(always)]
    fn call<L: Elementary>([x, g]: [L; 2]) -> L {
        let (z, one) = (x * x, L::lit(1.0));
        let inner = x * (z * L::lit(GELU_SLOPE * GELU_CUBIC) + L::lit(GELU_SLOPE));
        let slope = z * L::lit(3.0 * GELU_SLOPE * GELU_CUBIC) + L::lit(GELU_SLOPE);
        let s = Sigmoid::call([inner]);
        g * (s + x * s * (one - s) * slope)
    }
}

impl FloatMap<2> for GeluSlope {
    #[inline(always)]
    fn call<L: Elementary>([x, g]: [L; 2]) -> L {
        g * x.gelu_slope()
    }
}
