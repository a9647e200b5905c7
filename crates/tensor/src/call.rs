//! The one beginning of a call: what operands meet in, what comes out, where it is computed, what
//! autocast says, and the trace of it all. Every reduction and structured operation begins here, once.

use allotrope_dtype::{DType, Error, Operand as Promoted, Policy, Set, default_dtype, promotion};
use allotrope_op::{Autocast, Backend, Reduction, Structured, compute_dtype};
use smallvec::SmallVec;

use crate::amp::{cast_result, is_autocast_enabled};
use crate::device::common_backend;
use crate::trace::{is_tracing, result_chosen};
use crate::{Operand, Tensor};

/// A row of the tables of reductions and structured operations.
pub(crate) trait Tabled {
    /// The name of the operation.
    fn name(&self) -> &'static str;
    /// What autocast does with it.
    fn autocast(&self) -> Autocast;
    /// The dtype of the result for operands of a common dtype.
    fn result_dtype(&self, common: DType) -> Result<DType, Error>;
}

impl Tabled for Structured {
    fn name(&self) -> &'static str {
        self.name
    }

    fn autocast(&self) -> Autocast {
        self.autocast
    }

    fn result_dtype(&self, common: DType) -> Result<DType, Error> {
        Self::result_dtype(self, common)
    }
}

impl Tabled for Reduction {
    fn name(&self) -> &'static str {
        Self::name(*self)
    }

    fn autocast(&self) -> Autocast {
        Self::autocast(*self)
    }

    fn result_dtype(&self, common: DType) -> Result<DType, Error> {
        Self::result_dtype(*self, common)
    }
}

/// What a row says of a call, before autocast had its say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question {
    /// The name of the operation.
    pub(crate) name: &'static str,
    /// What its row says of autocast.
    pub(crate) autocast: Autocast,
    /// The common dtype of the operands.
    pub(crate) common: DType,
    /// The dtype that its row gives the result.
    pub(crate) result: DType,
}

/// A call of an operation: what was decided of it.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "each operation asks for what it needs")]
pub(crate) struct Call {
    /// The name of the operation.
    pub(crate) op: &'static str,
    /// What the operands meet in.
    pub(crate) common: DType,
    /// What is computed in.
    pub(crate) compute: DType,
    /// What comes out.
    pub(crate) result: DType,
    /// Where it is computed.
    pub(crate) backend: &'static dyn Backend,
}

#[allow(dead_code, reason = "each operation asks for what it needs")]
impl Call {
    /// Begins a call of a row on tensors: once for each call, since it is what the trace shows.
    pub(crate) fn begin(row: &impl Tabled, tensors: &[&Tensor]) -> Result<Self, Error> {
        let (common, result) = match *tensors {
            // One meets nobody.
            [only] => {
                let common = only.dtype();
                (common, result_among(row, common, &[only.into()])?)
            }
            _ => meet(row, tensors.iter().copied())?,
        };
        Ok(Self {
            op: row.name(),
            common,
            compute: compute_dtype(result),
            result,
            backend: common_backend(row.name(), tensors)?,
        })
    }

    /// The dtype that sums are formed in on the device.
    pub(crate) fn wide(&self) -> DType {
        self.backend.wide(self.compute)
    }
}

/// The dtype that a call of a row on operands of a common dtype gives: that of the row, or what
/// autocast makes of it. A trace shows the call.
///
/// # Errors
/// A dtype error outside the accepted set.
pub(crate) fn result_dtype(row: &impl Tabled, common: DType) -> Result<DType, Error> {
    result_among(row, common, &[])
}

/// [`result_dtype`] of operands by the policy in force. A trace shows what they were.
///
/// # Errors
/// As [`common_dtype`] and [`result_dtype`].
pub(crate) fn result_of<'a>(
    row: &impl Tabled,
    operands: impl IntoIterator<Item = impl Into<Operand<'a>>>,
) -> Result<DType, Error> {
    meet(row, operands).map(|(_, result)| result)
}

/// What operands meet in, and what a call of a row gives of it. A trace shows what they were.
///
/// # Errors
/// As [`result_of`].
pub(crate) fn meet<'a>(
    row: &impl Tabled,
    operands: impl IntoIterator<Item = impl Into<Operand<'a>>>,
) -> Result<(DType, DType), Error> {
    let operands: SmallVec<[Operand<'_>; 4]> = operands.into_iter().map(Into::into).collect();
    let common = common_dtype(row.name(), operands.iter().copied())?;
    Ok((common, result_among(row, common, &operands)?))
}

/// [`result_dtype`] of operands whose common dtype is known. A trace shows what they were.
///
/// # Errors
/// As [`result_dtype`].
pub(crate) fn result_among(
    row: &impl Tabled,
    common: DType,
    operands: &[Operand<'_>],
) -> Result<DType, Error> {
    let (question, result) = ask(row, common)?;
    if is_tracing() {
        result_chosen(question, operands, result);
    }
    Ok(result)
}

/// [`result_dtype`] for what is no call: no trace shows it.
///
/// # Errors
/// As [`result_dtype`].
pub(crate) fn expected_dtype(row: &impl Tabled, common: DType) -> Result<DType, Error> {
    ask(row, common).map(|(_, result)| result)
}

fn ask(row: &impl Tabled, common: DType) -> Result<(Question, DType), Error> {
    let question = Question {
        name: row.name(),
        autocast: row.autocast(),
        common,
        result: row.result_dtype(common)?,
    };
    let result = if is_autocast_enabled() {
        cast_result(question)
    } else {
        question.result
    };
    Ok((question, result))
}

/// The dtype that operands meet in, by the policy in force.
///
/// # Errors
/// A dtype error if they do not meet.
pub(crate) fn common_dtype<'a>(
    op: &'static str,
    operands: impl IntoIterator<Item = impl Into<Operand<'a>>>,
) -> Result<DType, Error> {
    let operands: SmallVec<[Promoted; 4]> = operands
        .into_iter()
        .map(|operand| match operand.into() {
            Operand::Tensor(tensor) if tensor.rank() == 0 => Promoted::ZeroDim(tensor.dtype()),
            Operand::Tensor(tensor) => Promoted::Array(tensor.dtype()),
            Operand::Scalar(value) => Promoted::Scalar(value.kind()),
        })
        .collect();
    promotion().result_type(op, &operands, default_dtype())
}

/// The dtype that factors meet in: arithmetic on bool is refused by the strict policy.
///
/// # Errors
/// As [`common_dtype`].
pub(crate) fn common_number<'a>(
    op: &'static str,
    operands: impl IntoIterator<Item = impl Into<Operand<'a>>>,
) -> Result<DType, Error> {
    let common = common_dtype(op, operands)?;
    if common == DType::Bool && promotion() == Policy::Strict {
        let hint = Some("x.to(int64)");
        return Err(Error::not_in_set(op, common, Set::Number, hint));
    }
    Ok(common)
}
