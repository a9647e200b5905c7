//! Rows: decompositions and solutions.

structured! {
    SOLVE,               "linalg.solve",               Average,   Float32, Element, "The `X` of `A X = B`.";
    SOLVE_EX,            "linalg.solve_ex",            Average,   Float32, Element, "The `X` of `A X = B`, and the first pivot that is zero.";
    INV,                 "linalg.inv",                 Average,   Float32, Element, "The inverse of a square matrix.";
    INV_EX,              "linalg.inv_ex",              Average,   Float32, Element, "The inverse of a square matrix, and the first pivot that is zero.";
    DET,                 "linalg.det",                 Average,   Float32, Element, "The determinant of a square matrix.";
    SLOGDET,             "linalg.slogdet",             Average,   Float32, Element, "The sign of the determinant, and the logarithm of its magnitude.";
    LU,                  "linalg.lu",                  Average,   Float32, Element, "`A = P L U`: a permutation, a lower and an upper triangle.";
    LU_FACTOR,           "linalg.lu_factor",           Average,   Float32, Element, "Both triangles of `A = P L U` in one matrix, and the rows exchanged.";
    LU_FACTOR_EX,        "linalg.lu_factor_ex",        Average,   Float32, Element, "What `lu_factor` gives, and the first pivot that is zero.";
    LU_UNPACK,           "lu_unpack",                  Average,   Float32, Element, "The permutation and the triangles from what `lu_factor` gives.";
    LU_SOLVE,            "linalg.lu_solve",            Average,   Float32, Element, "The `X` of `A X = B` from what `lu_factor` gives.";
    SOLVE_TRIANGULAR,    "linalg.solve_triangular",    Average,   Float32, Element, "The `X` of `A X = B` for a triangular `A`.";
    CHOLESKY,            "linalg.cholesky",            Average,   Float32, Element, "The triangular root of a positive definite matrix.";
    CHOLESKY_EX,         "linalg.cholesky_ex",         Average,   Float32, Element, "The triangular root, and the first row without one.";
    CHOLESKY_SOLVE,      "cholesky_solve",             Average,   Float32, Element, "The `X` of `A X = B` from the triangular root of `A`.";
    CHOLESKY_INVERSE,    "cholesky_inverse",           Average,   Float32, Element, "The inverse of `A` from its triangular root.";
    QR,                  "linalg.qr",                  Average,   Float32, Element, "`A = Q R`: orthonormal columns and an upper triangle.";
    HOUSEHOLDER_PRODUCT, "linalg.householder_product", Average,   Float32, Element, "The first columns of a product of reflections.";
    EIGH,                "linalg.eigh",                Average,   Float32, Element, "Eigenvalues from the least, and eigenvectors, of a Hermitian matrix.";
    EIGVALSH,            "linalg.eigvalsh",            Magnitude, Float32, Element, "Eigenvalues of a Hermitian matrix, from the least.";
    EIG,                 "linalg.eig",                 Spectrum,  Float32, Element, "Eigenvalues and eigenvectors of a square matrix.";
    EIGVALS,             "linalg.eigvals",             Spectrum,  Float32, Element, "Eigenvalues of a square matrix.";
    SVD,                 "linalg.svd",                 Average,   Float32, Element, "`A = U diag(S) Vh`, singular values from the greatest.";
    SVDVALS,             "linalg.svdvals",             Magnitude, Float32, Element, "Singular values from the greatest.";
    PINV,                "linalg.pinv",                Average,   Float32, Element, "Moore and Penrose's inverse.";
    LSTSQ,               "linalg.lstsq",               Average,   Float32, Element, "The `X` for which `A X - B` is least.";
    MATRIX_RANK,         "linalg.matrix_rank",         Index,     Float32, Element, "How many singular values are above a tolerance.";
    COND,                "linalg.cond",                Magnitude, Float32, Element, "The norm of a matrix times that of its inverse.";
    MATRIX_NORM,         "linalg.matrix_norm",         Magnitude, Float32, Element, "A norm of matrices.";
    VECTOR_NORM,         "linalg.vector_norm",         Magnitude, Float32, Element, "A norm of vectors.";
    NORM,                "linalg.norm",                Magnitude, Float32, Element, "A norm of vectors or matrices.";
    MATRIX_POWER,        "linalg.matrix_power",        Element,   Float32, Element, "A square matrix times itself, or its inverse, so many times.";
    MATRIX_EXP,          "linalg.matrix_exp",          Average,   Float32, Element, "The exponential of a square matrix.";
    CROSS,               "linalg.cross",               Element,   Keep,    Number,  "The vector product of vectors of three elements.";
    VECDOT,              "linalg.vecdot",              Element,   Lower,   Number,  "The sum of products of conjugated elements with others, along a dimension.";
    TENSORSOLVE,         "linalg.tensorsolve",         Average,   Float32, Element, "The `X` of `tensordot(A, X) = B`.";
    TENSORINV,           "linalg.tensorinv",           Average,   Float32, Element, "The inverse of `tensordot` with `A`.";
}
