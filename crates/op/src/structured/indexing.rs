//! Rows: elements chosen by indices and masks.

structured! {}
