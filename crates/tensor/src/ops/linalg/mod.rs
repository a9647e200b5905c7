//! Linear algebra over batches of matrices: the last two dimensions are rows and columns, those
//! before them are matrices beside each other, which broadcast.
//!
//! | file | what is in it |
//! |---|---|
//! | `batch` | operands laid out for the kernels, results, and what failures say |
//! | `solve` | solutions, inverses, determinants, elimination |
//! | `unpack` | eliminations taken apart |
//! | `cholesky` | triangular roots of positive definite matrices |
//! | `orthogonal` | QR and products of reflections |
//! | `spectrum` | eigenvalues and singular values |
//! | `approximate` | pseudo-inverses, least squares, rank, condition |
//! | `norm` | norms of vectors and matrices |
//! | `power` | powers and exponentials |
//! | `vector` | products of vectors |
//! | `multilinear` | equations between tensors |
//! | `gradient` | gradients of solutions, inverses, determinants, exponentials |
//! | `factor_gradient` | gradients of triangles and bases |
//! | `spectrum_gradient` | gradients of eigenvalues and singular values |
//!
//! float32, float64 and their complex numbers are computed in; floats of 8 and 16 bits in float32,
//! with one rounding at the end; integers count as the default float. A matrix without an answer is
//! an error of the kind [`LinearAlgebra`](allotrope_dtype::ErrorKind::LinearAlgebra), which names
//! the first such matrix of a batch.

mod approximate;
mod batch;
mod cholesky;
mod factor_gradient;
mod gradient;
mod multilinear;
mod norm;
mod orthogonal;
mod power;
mod solve;
mod spectrum;
mod spectrum_gradient;
mod unpack;
mod vector;

pub use approximate::{LeastSquares, Tolerance, cond, lstsq, matrix_rank, pinv};
pub use cholesky::{cholesky, cholesky_ex, cholesky_inverse, cholesky_solve};
pub use multilinear::{tensorinv, tensorsolve};
pub use norm::{Order, matrix_norm, norm, vector_norm};
pub use orthogonal::{QrMode, householder_product, qr};
pub use power::{matrix_exp, matrix_power};
pub use solve::{
    det, inv, inv_ex, lu, lu_factor, lu_solve, slogdet, solve, solve_ex, solve_triangular,
};
pub use spectrum::{Triangle, eig, eigh, eigvals, eigvalsh, svd, svdvals};
pub use unpack::{lu_factor_ex, lu_unpack};
pub use vector::{cross, vecdot};
