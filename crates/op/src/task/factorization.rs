//! Decompositions and solutions of matrices.
//!
//! Every input is contiguous and has the sizes of the batch in front, which all inputs of a task
//! share: behind them are the rows and columns of a matrix `[m, n]`, the elements of a vector `[n]`, or
//! nothing for one number to each matrix. Unless said otherwise inputs have the dtype that is
//! computed in: float32, float64, complex64 or complex128.
//!
//! Outputs have the batch in front, too, and the dtype that is asked for: numbers are rounded to it
//! once, `real` ones to the real dtype of its width. A matrix without an answer is an error of the
//! kind [`LinearAlgebra`](allotrope_dtype::ErrorKind::LinearAlgebra), which names the first of a batch.

use allotrope_dtype::Error;

/// Work on each matrix of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Factorization {
    /// Reads `A [n, n]`, its lower triangle alone; writes the lower triangle `L` with `A = L Lᴴ`, and an
    /// int32 for each matrix: the first row without a root, counted from 1, or 0.
    Cholesky {
        /// A row without a root is no error.
        reports: bool,
    },
    /// Reads `L [n, n]` and `B [n, k]`; writes the `X [n, k]` of `L Lᴴ X = B`.
    CholeskySolve,
    /// Reads `A [m, n]`; writes `P [m, m]`, `L [m, min]` and `U [min, n]` with `A = P L U`.
    Lu {
        /// Looks for the largest pivot.
        pivot: bool,
    },
    /// Reads `A [m, n]`; writes both triangles in one `[m, n]`, and in int32 `[min]` the row that each
    /// row was exchanged with in turn, counted from 1.
    LuFactor {
        /// Looks for the largest pivot.
        pivot: bool,
    },
    /// Reads the triangles `[n, n]`, the rows exchanged `[n]` and `B [n, k]`; writes the `X [n, k]` of
    /// `A X = B`.
    LuSolve {
        /// The conjugate transpose of `A` instead.
        adjoint: bool,
    },
    /// Reads in int64 `[k]` the row that each row was exchanged with in turn, counted from 1; writes in
    /// int64 `[rows]` where each row came from. A row out of range is an index error.
    RowOrder {
        /// The number of rows.
        rows: usize,
    },
    /// Reads `A [n, n]` and `B [n, k]`; writes the `X [n, k]` of `A X = B`, and an int32 for each matrix:
    /// the first pivot that is zero, counted from 1, or 0.
    Solve {
        /// A pivot that is zero is no error.
        reports: bool,
    },
    /// Reads `A [n, n]`; writes its inverse, and an int32 as [`Solve`](Self::Solve) does.
    Inv {
        /// A pivot that is zero is no error.
        reports: bool,
    },
    /// Reads a triangle `A [n, n]` and `B [n, k]`; writes the `X [n, k]` of `A X = B`.
    SolveTriangular {
        /// The upper triangle is read, else the lower one.
        upper: bool,
        /// The diagonal counts as ones.
        unitriangular: bool,
    },
    /// Reads `A [n, n]`; writes its determinant.
    Det,
    /// Reads `A [n, n]`; writes the sign of its determinant and the real logarithm of its magnitude.
    Slogdet,
    /// Reads `A [m, n]`; writes `Q` and `R` of the sizes of the mode.
    Qr {
        /// How much of them is wanted.
        mode: QrMode,
    },
    /// Reads vectors `[m, n]`, below the diagonal, and `τ [k]`; writes the first columns `[m, n]` of the
    /// product of the reflections `I - τ v vᴴ`.
    HouseholderProduct,
    /// Reads a Hermitian `A [n, n]`; writes its real eigenvalues `[n]` from the least, and the vectors
    /// `[n, n]` as columns if they are wanted.
    Eigh {
        /// The triangle that is read.
        triangle: Triangle,
        /// Whether the vectors are wanted.
        vectors: bool,
    },
    /// Reads `A [n, n]`; writes its complex eigenvalues `[n]`, and the vectors `[n, n]` as columns if
    /// they are wanted.
    Eig {
        /// Whether the vectors are wanted.
        vectors: bool,
    },
    /// Reads `A [m, n]`; writes its real singular values `[min]` from the greatest, and if vectors are
    /// wanted, the left ones as columns and the right ones as rows.
    Svd {
        /// Which vectors are wanted.
        vectors: SingularVectors,
    },
    /// Reads `A [m, n]`, and for each matrix the absolute and the relative tolerance below which a
    /// singular value counts as zero; writes the pseudo-inverse `[n, m]`.
    Pinv {
        /// The matrices are Hermitian, and the lower triangle is read.
        hermitian: bool,
    },
    /// Reads `A [m, n]`, `B [m, k]` and both tolerances, as [`Pinv`](Self::Pinv); writes the `X [n, k]`
    /// of least norm for which `A X - B` is least, the real sums of squares `[k]` that are left, the
    /// rank in int64, and the real singular values `[min]`.
    Lstsq,
    /// Reads `A [n, n]`; writes its exponential.
    MatrixExp,
    /// Reads `A [n, n]`; writes a power of it.
    MatrixPower {
        /// The exponent; that of an inverse is negative.
        exponent: i64,
    },
}

/// How much of `Q` and `R` is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QrMode {
    /// As many columns of `Q` as `A` has rows or columns, whichever is less.
    #[default]
    Reduced,
    /// A square `Q`.
    Complete,
    /// `R` alone, as in the reduced mode; `Q` is empty.
    R,
}

impl QrMode {
    /// The mode of a name.
    ///
    /// # Errors
    /// A value error for an unknown name.
    pub fn parse(op: &'static str, name: &str) -> Result<Self, Error> {
        match name {
            "reduced" => Ok(Self::Reduced),
            "complete" => Ok(Self::Complete),
            "r" => Ok(Self::R),
            _ => {
                let accepted = ["reduced", "complete", "r"];
                Err(Error::unknown_option(op, "mode", name, &accepted))
            }
        }
    }

    /// The columns of `Q` and the rows of `R` for matrices of so many rows and columns.
    #[must_use]
    pub fn sizes(self, rows: usize, columns: usize) -> [usize; 2] {
        let inner = rows.min(columns);
        match self {
            Self::Reduced => [inner, inner],
            Self::Complete => [rows, rows],
            Self::R => [0, inner],
        }
    }
}

/// Which triangle of a Hermitian matrix is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Triangle {
    /// The lower one.
    #[default]
    Lower,
    /// The upper one.
    Upper,
}

impl Triangle {
    /// The triangle of a letter, `L` or `U`.
    ///
    /// # Errors
    /// A value error for any other.
    pub fn parse(op: &'static str, name: &str) -> Result<Self, Error> {
        match name {
            "L" | "l" => Ok(Self::Lower),
            "U" | "u" => Ok(Self::Upper),
            _ => Err(Error::unknown_option(op, "triangle", name, &["L", "U"])),
        }
    }
}

/// Which singular vectors are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SingularVectors {
    /// None.
    None,
    /// One for each singular value.
    Reduced,
    /// Whole bases.
    Full,
}

impl SingularVectors {
    /// How many left and right vectors matrices of so many rows and columns have.
    #[must_use]
    pub fn sizes(self, rows: usize, columns: usize) -> [usize; 2] {
        match self {
            Self::None => [0, 0],
            Self::Reduced => [rows.min(columns); 2],
            Self::Full => [rows, columns],
        }
    }
}
