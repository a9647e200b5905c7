//! Decompositions and solutions of dense matrices, written once for float32, float64 and the complex
//! numbers of both. Matrices are row-major.
//!
//! Elimination, Cholesky's roots and reflections work in blocks of columns and update the rest by a
//! product. Matrices of up to 12 rows are eliminated row by row, without memory of their own up to
//! 64 elements. A batch is shared out over threads by matrices, a large matrix by rows.
//!
//! | file | what is in it |
//! |---|---|
//! | `field` | `Field`: what is computed with |
//! | `product` | the loops that all spend their time in, compiled for each level |
//! | `scratch` | room for matrices while they are worked on, made fallibly |
//! | `batch` | [`MatrixWork`]: what is done with every matrix of a batch |
//! | `blocked` | decompositions from 64 rows and columns on, by the crate `faer` |
//! | `triangular` | solutions of triangular systems |
//! | `lu` | Gaussian elimination, and what follows from it |
//! | `cholesky` | triangular roots of positive definite matrices |
//! | `reflect` | Householder's reflections, one by one and in blocks |
//! | `qr` | orthogonal bases |
//! | `rotate` | Givens' rotations, collected and applied to many rows at a time |
//! | `symmetric` | eigenvalues and eigenvectors of Hermitian matrices |
//! | `bidiagonal` | what a matrix is reduced to on the way to its singular values |
//! | `singular` | singular values and vectors, and pseudo-inverses |
//! | `least_squares` | solutions that are nearest |
//! | `schur`, `general` | eigenvalues and eigenvectors of any square matrix |
//! | `exponential` | the exponential of a matrix, and powers |

mod batch;
mod bidiagonal;
mod blocked;
mod cholesky;
mod exponential;
mod field;
mod general;
mod least_squares;
mod lu;
mod product;
mod qr;
mod reflect;
mod rotate;
mod schur;
mod scratch;
mod singular;
mod symmetric;
mod triangular;

pub(crate) use batch::{Failure, Matrices, MatrixWork, Results, run_batch};
pub(crate) use cholesky::{Cholesky, CholeskySolve};
pub(crate) use exponential::{Exponential, Power};
pub(crate) use general::Eigen;
pub(crate) use least_squares::LeastSquares;
pub(crate) use lu::order_rows;
pub(crate) use lu::{Determinant, Lu, LuParts, LuSolve, Solve};
pub(crate) use qr::{HouseholderProduct, Qr};
pub(crate) use singular::{PseudoInverse, Svd};
pub(crate) use symmetric::SelfAdjoint;
pub(crate) use triangular::SolveTriangular;
