//! Elements as arguments and results of printed functions.

use allotrope_dtype::DType;
use allotrope_op::wgsl::{Literal, ValueType};

/// The components of an element with these bytes.
pub(crate) fn read(dtype: DType, bytes: &[u8]) -> Vec<Literal> {
    let ValueType {
        component: kind, ..
    } = ValueType::of_dtype(dtype);
    let parts = bytes.chunks_exact(dtype.to_real().itemsize());
    let literal = |part: &[u8]| {
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        let bits = u64::from_le_bytes(word);
        let bits = match dtype {
            DType::I8 => u64::from(bits as i8 as u32),
            DType::I16 => u64::from(bits as i16 as u32),
            _ => bits,
        };
        Literal { kind, bits }
    };
    parts.map(literal).collect()
}

/// Whether a component is NaN.
pub(crate) fn is_nan(dtype: DType, x: &Literal) -> bool {
    let format = dtype.format();
    format.is_some_and(|format| format.decode(x.bits).is_nan())
}

/// Whether both are the same value of a dtype, where NaN equals NaN.
pub(crate) fn are_same(dtype: DType, a: &[Literal], b: &[Literal]) -> bool {
    let is_same = |(a, b): (&Literal, &Literal)| {
        a == b || a.kind == b.kind && is_nan(dtype, a) && is_nan(dtype, b)
    };
    a.len() == b.len() && a.iter().zip(b).all(is_same)
}
