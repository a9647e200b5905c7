//! Rows of truth values.

use allotrope_op::Op;

/// The answer to truth values: what the same row makes of the integers 0 and 1, where that is one
/// of them.
pub(super) fn answer(op: Op, a: &[bool]) -> bool {
    let x = a[0];
    let y = a.get(1).copied().unwrap_or(false);
    match op {
        Op::ImagPart | Op::IsNan | Op::IsInf | Op::IsPosInf | Op::IsNegInf | Op::Signbit => false,
        Op::IsFinite | Op::IsReal => true,
        Op::BitwiseNot | Op::LogicalNot => !x,
        Op::Add | Op::Maximum | Op::Fmax | Op::BitwiseOr | Op::LogicalOr | Op::Heaviside => {
            matches!((x, y), (true, _) | (_, true))
        }
        Op::Mul | Op::Minimum | Op::Fmin | Op::BitwiseAnd | Op::LogicalAnd => {
            matches!((x, y), (true, true))
        }
        Op::BitwiseXor | Op::LogicalXor | Op::Ne => matches!((x, y), (true, false) | (false, true)),
        Op::Eq => matches!((x, y), (true, true) | (false, false)),
        Op::Lt => matches!((x, y), (false, true)),
        Op::Gt => matches!((x, y), (true, false)),
        Op::Le => !matches!((x, y), (true, false)),
        Op::Ge => !matches!((x, y), (false, true)),
        Op::Clamp | Op::Hardtanh => u8::from(x).max(a[1].into()).min(a[2].into()) == 1,
        Op::Addcmul => u8::from(x) + u8::from(a[3]) * u8::from(a[1]) * u8::from(a[2]) > 0,
        _ => x,
    }
}
