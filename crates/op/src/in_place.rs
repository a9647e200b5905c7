//! What is also spelled with an underscore, which gives a tensor a new value: every row of the
//! elementwise table, and these.

use crate::structured::{indexing, matrix, movement, order};

/// Structured operations and compositions of rows. What they give keeps the shape of the tensor.
pub const IN_PLACE: &[&str] = &[
    indexing::SCATTER.name,
    indexing::SCATTER_ADD.name,
    indexing::SCATTER_REDUCE.name,
    indexing::INDEX_ADD.name,
    indexing::INDEX_COPY.name,
    indexing::INDEX_FILL.name,
    indexing::INDEX_PUT.name,
    indexing::INDEX_REDUCE.name,
    indexing::MASKED_FILL.name,
    indexing::MASKED_SCATTER.name,
    indexing::PUT.name,
    matrix::ADDBMM.name,
    matrix::ADDMM.name,
    matrix::ADDMV.name,
    matrix::ADDR.name,
    matrix::BADDBMM.name,
    movement::TRIL.name,
    movement::TRIU.name,
    order::CUMPROD.name,
    order::CUMSUM.name,
    order::RENORM.name,
    "clamp_max",
    "clamp_min",
    "conj_physical",
    "float_power",
    "polygamma",
];

/// Views. The tensor takes their shape, too.
pub const VIEWED_IN_PLACE: &[&str] = &[
    "squeeze",
    "swapaxes",
    "swapdims",
    "t",
    "transpose",
    "unsqueeze",
];
