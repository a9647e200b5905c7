//! Rows: windows over grids.

structured! {}
