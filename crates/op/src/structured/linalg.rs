//! Rows: decompositions and solutions.

structured! {}
