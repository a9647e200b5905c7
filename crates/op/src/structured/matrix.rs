//! Rows: matrix products.

structured! {}
