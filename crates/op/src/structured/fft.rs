//! Rows: Fourier transforms.

structured! {}
