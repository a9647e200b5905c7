//! One sentence that says which rule gave a promotion's result.

use super::Policy;
use crate::{DType, Kind};

/// Says in one sentence what the policy answers for two dtypes, and by which rule.
///
/// ```
/// use allotrope_dtype::{DType, Policy, explain_promotion};
/// assert_eq!(
///     explain_promotion(Policy::Standard, DType::I8, DType::U8),
///     "int8 with uint8 is int16: the narrowest signed integer that holds both."
/// );
/// ```
#[must_use]
pub fn explain_promotion(policy: Policy, lhs: DType, rhs: DType) -> String {
    match policy.promote(lhs, rhs) {
        Some(result) => {
            format!(
                "{lhs} with {rhs} is {result}: {}.",
                reason(policy, lhs, rhs, result)
            )
        }
        None => format!(
            "{lhs} with {rhs} is refused: {}.",
            refusal_reason(policy, lhs, rhs)
        ),
    }
}

fn reason(policy: Policy, lhs: DType, rhs: DType, result: DType) -> String {
    if lhs == rhs {
        return "both operands have that dtype".to_owned();
    }
    match policy {
        Policy::Standard => standard_reason(lhs, rhs, result).to_owned(),
        Policy::Exact => {
            format!(
                "{}, and no value is lost",
                standard_reason(lhs, rhs, result)
            )
        }
        Policy::Strict => "both operands have that dtype".to_owned(),
        Policy::Torch | Policy::Numpy | Policy::Jax => match Policy::Standard.promote(lhs, rhs) {
            Some(standard) if standard == result => {
                format!(
                    "{policy} agrees with the standard table: {}",
                    standard_reason(lhs, rhs, result)
                )
            }
            Some(standard) => format!("{policy}'s own answer; the standard table says {standard}"),
            None => format!("{policy}'s own answer; the standard table refuses the pair"),
        },
    }
}

/// The rule of the standard table for two different dtypes.
fn standard_reason(lhs: DType, rhs: DType, result: DType) -> &'static str {
    let is_float8 = |d: DType| d.is_floating_point() && d.bits() == 8;
    let either = |test: &dyn Fn(DType) -> bool| test(lhs) || test(rhs);
    let both = |test: &dyn Fn(DType) -> bool| test(lhs) && test(rhs);
    if either(&|d| d.kind() == Kind::Bool) {
        "bool promotes to anything"
    } else if both(&DType::is_integer) {
        match (lhs.kind() == rhs.kind(), result == lhs || result == rhs) {
            (true, _) => "the wider of two integers of one kind",
            (false, true) => "the signed integer already holds the unsigned one",
            (false, false) => "the narrowest signed integer that holds both",
        }
    } else if either(&DType::is_complex) {
        if both(&DType::is_complex) {
            "the wider of two complex dtypes"
        } else if either(&DType::is_integer) {
            "an integer takes the complex dtype, whatever its width"
        } else {
            "the narrowest complex dtype whose components hold the float"
        }
    } else if both(&is_float8) {
        "two 8-bit float formats meet in bfloat16, which holds both exactly"
    } else if either(&is_float8) && either(&DType::is_integer) {
        "an integer and an 8-bit float meet in bfloat16"
    } else if either(&DType::is_integer) {
        "an integer takes the float's dtype, whatever its width"
    } else if result == lhs || result == rhs {
        "the wider of two floats"
    } else {
        "the narrowest float that holds both formats"
    }
}

fn refusal_reason(policy: Policy, lhs: DType, rhs: DType) -> String {
    let standard = Policy::Standard.promote(lhs, rhs);
    match (policy, standard) {
        (Policy::Strict, _) => "strict promotion wants one dtype; cast one operand".to_owned(),
        (Policy::Exact, Some(common)) => {
            let lost = if lhs.fits_in(common) { rhs } else { lhs };
            format!("{common} does not hold every value of {lost}")
        }
        (Policy::Standard | Policy::Exact, _) => {
            "no integer dtype holds both; cast one operand".to_owned()
        }
        (peer, Some(common)) => format!("{peer} has no answer; the standard table says {common}"),
        (peer, None) => format!("neither {peer} nor the standard table has an answer"),
    }
}
