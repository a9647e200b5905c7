//! Sums of products: matrix products, attention, distances of rows.
//!
//! Operands are lists of matrices: `batch…` stands for dimensions of the same sizes in all of them,
//! along which a matrix that serves several has a stride of zero.

use allotrope_dtype::{DType, WeakScalar};

/// A sum of products.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Contraction {
    /// `alpha (a @ b) + beta c`, rounded once. Reads `a` of `[batch…, m, k]`, `b` of `[batch…, k, n]`
    /// and, if there is a `beta`, `c` of `[batch…, m, n]` in the dtype of the output; writes
    /// `[batch…, m, n]`.
    MatrixProduct(MatrixProduct),
    /// `softmax(scale q @ kᵀ + mask) @ v`. Reads queries `[batch…, l, e]`, keys `[batch…, s, e]`,
    /// values `[batch…, s, v]` and, if there is one, a mask `[batch…, l, s]`: bool, true for what
    /// counts, or floats that are added. Writes `[batch…, l, v]`; a query that sees nothing gives zero.
    Attention(Attention),
    /// The Euclidean distance of every row from every other. Reads `[batch…, p, m]` and
    /// `[batch…, r, m]`, float32 or float64 as the output is; writes `[batch…, p, r]`.
    Distances,
}

/// How matrices are multiplied.
#[derive(Clone, Copy, Debug)]
pub struct MatrixProduct {
    /// What the factors are converted to.
    pub common: DType,
    /// What products are summed in: 8- and 16-bit floats in float32. Integers wrap in it, bool is
    /// true if any of the products is.
    pub sum: DType,
    /// What products are multiplied by.
    pub alpha: WeakScalar,
    /// What the third operand is multiplied by; without it there is none.
    pub beta: Option<WeakScalar>,
    /// Whether units of the processor that round in a way of their own may be used.
    pub fast: bool,
}

/// How queries meet keys.
#[derive(Clone, Copy, Debug)]
pub struct Attention {
    /// The float dtype that operands are converted to; weights and sums are float32, or float64.
    pub common: DType,
    /// What products are multiplied by.
    pub scale: f64,
    /// Whether query `i` sees the keys up to `i` only.
    pub causal: bool,
    /// Whether there is a mask.
    pub mask: bool,
}
