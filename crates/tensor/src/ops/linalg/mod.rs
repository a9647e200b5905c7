//! Linear algebra over batches of matrices: the last two dimensions are rows and columns, those
//! before them are matrices beside each other, which broadcast.
//!
//! | file | what is in it |
//! |---|---|
//! | `batch` | the beginning of a call, operands laid out for the kernels, results |
//! | `solve` | solutions, inverses, determinants |
//! | `lu` | elimination, whole and taken apart |
//! | `cholesky` | triangular roots of positive definite matrices |
//! | `qr` | QR and products of reflections |
//! | `eig_svd` | eigenvalues and singular values |
//! | `lstsq` | pseudo-inverses, least squares, rank, condition |
//! | `norm` | norms of vectors and matrices |
//! | `power` | powers and exponentials |
//! | `vector` | products of vectors |
//! | `tensorsolve` | equations between tensors |
//! | `gradient` | gradients of solutions, inverses, determinants, exponentials |
//! | `factor_gradient` | gradients of triangles and bases |
//! | `eig_svd_gradient` | gradients of eigenvalues and singular values |
//!
//! float32, float64 and their complex numbers are computed in; floats of 8 and 16 bits in float32,
//! with one rounding at the end; integers count as the default float. A matrix without an answer is
//! an error of the kind [`LinearAlgebra`](allotrope_dtype::ErrorKind::LinearAlgebra), which names
//! the first such matrix of a batch.

mod batch;
mod cholesky;
mod eig_svd;
mod eig_svd_gradient;
mod factor_gradient;
mod gradient;
mod lstsq;
mod lu;
mod norm;
mod power;
mod qr;
mod solve;
mod tensorsolve;
mod vector;

pub use cholesky::{cholesky, cholesky_ex, cholesky_inverse, cholesky_solve};
pub use eig_svd::{Triangle, eig, eigh, eigvals, eigvalsh, svd, svdvals};
pub use lstsq::{LeastSquares, Tolerance, cond, lstsq, matrix_rank, pinv};
pub use lu::{lu, lu_factor, lu_factor_ex, lu_solve, lu_unpack};
pub use norm::{Order, matrix_norm, norm, vector_norm};
pub use power::{matrix_exp, matrix_power};
pub use qr::{QrMode, householder_product, qr};
pub use solve::{det, inv, inv_ex, slogdet, solve, solve_ex, solve_triangular};
pub use tensorsolve::{tensorinv, tensorsolve};
pub use vector::{cross, vecdot};
