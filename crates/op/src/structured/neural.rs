//! Rows: layers as functions.

structured! {}
