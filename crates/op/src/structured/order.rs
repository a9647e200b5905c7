//! Rows: sorting, scans, counting.

structured! {}
