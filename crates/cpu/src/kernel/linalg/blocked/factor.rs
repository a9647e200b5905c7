//! Orthogonal bases by reflections, and least squares from them.

use faer::dyn_stack::MemStack;
use faer::linalg::householder::{
    apply_block_householder_sequence_on_the_left_in_place_scratch,
    apply_block_householder_sequence_on_the_left_in_place_with_conj,
    apply_block_householder_sequence_transpose_on_the_left_in_place_scratch,
    apply_block_householder_sequence_transpose_on_the_left_in_place_with_conj,
};
use faer::linalg::qr::no_pivoting::factor::{
    QrParams, qr_in_place, qr_in_place_scratch, recommended_block_size,
};
use faer::linalg::triangular_solve::solve_upper_triangular_in_place;
use faer::traits::ComplexField;
use faer::{Conj, Par, Spec};

use super::super::batch::Failure;
use super::aside::Stop;
use super::columns::Columns;
use super::{spectra, try_scratch};

/// `Q` and `R`, whose rows are as many as the lesser of the sizes.
pub(in super::super) type Factors<T> = (Vec<T>, Vec<T>);
/// Singular values, and the solution where none of them is seen to be zero.
pub(in super::super) type Solved<T> = (Vec<T>, Option<Vec<T>>);

/// A matrix after its reflections.
struct Reflected<T> {
    /// `R`, and the vectors of the reflections below its diagonal.
    matrix: Columns<T>,
    coefficients: Columns<T>,
    /// The lesser of the sizes.
    inner: usize,
    block: usize,
    is_full: bool,
}

impl<T: ComplexField + Copy> Reflected<T> {
    fn new(a: &[T], rows: usize, columns: usize) -> Result<Self, Failure> {
        let inner = rows.min(columns);
        let block = recommended_block_size::<T>(rows, columns);
        let params = Spec::<QrParams, T>::default();
        let request = qr_in_place_scratch::<T>(rows, columns, block, Par::Seq, params);
        let mut scratch = try_scratch(request)?;
        let mut matrix = Columns::from_row_major(a, rows, columns)?;
        let mut coefficients = Columns::zeros(block, inner)?;
        let found = qr_in_place(
            matrix.as_mut(),
            coefficients.as_mut(),
            Par::Seq,
            MemStack::new(&mut scratch),
            params,
        );
        Ok(Self {
            matrix,
            coefficients,
            inner,
            block,
            is_full: found.rank == inner,
        })
    }

    /// `R`, row-major.
    fn triangle(&self, columns: usize) -> Result<Vec<T>, Failure> {
        let mut r = self.matrix.to_row_major(self.inner)?;
        for (i, row) in r.chunks_exact_mut(columns).enumerate() {
            row[..i].fill(T::zero_impl());
        }
        Ok(r)
    }
}

/// [`super::Blocked::qr`]
pub(super) fn qr<T: ComplexField + Copy>(
    a: &[T],
    [rows, columns]: [usize; 2],
    basis: usize,
    stop: &Stop,
) -> Result<Option<Factors<T>>, Failure> {
    let reflected = Reflected::new(a, rows, columns)?;
    stop.check()?;
    if !reflected.is_full {
        return Ok(None);
    }
    let r = reflected.triangle(columns)?;
    if basis == 0 {
        return Ok(Some((Vec::new(), r)));
    }
    let request = apply_block_householder_sequence_on_the_left_in_place_scratch::<T>(
        rows,
        reflected.block,
        basis,
    );
    let mut scratch = try_scratch(request)?;
    let mut q = Columns::identity(rows, basis)?;
    apply_block_householder_sequence_on_the_left_in_place_with_conj(
        reflected.matrix.as_ref().subcols(0, reflected.inner),
        reflected.coefficients.as_ref(),
        Conj::No,
        q.as_mut(),
        Par::Seq,
        MemStack::new(&mut scratch),
    );
    Ok(Some((q.to_row_major(rows)?, r)))
}

/// [`super::Blocked::lstsq`]
pub(super) fn lstsq<T: ComplexField + Copy>(
    a: &[T],
    b: &[T],
    [rows, columns, width]: [usize; 3],
    stop: &Stop,
) -> Result<Solved<T>, Failure> {
    let reflected = Reflected::new(a, rows, columns)?;
    stop.check()?;
    let r = reflected.triangle(columns)?;
    let (values, ..) = spectra::svd(&r, [columns, columns], [0, 0], stop)?;
    drop(r);
    if !reflected.is_full {
        return Ok((values, None));
    }
    let request = apply_block_householder_sequence_transpose_on_the_left_in_place_scratch::<T>(
        rows,
        reflected.block,
        width,
    );
    let mut scratch = try_scratch(request)?;
    let mut y = Columns::from_row_major(b, rows, width)?;
    apply_block_householder_sequence_transpose_on_the_left_in_place_with_conj(
        reflected.matrix.as_ref(),
        reflected.coefficients.as_ref(),
        Conj::Yes,
        y.as_mut(),
        Par::Seq,
        MemStack::new(&mut scratch),
    );
    solve_upper_triangular_in_place(
        reflected.matrix.as_ref().subrows(0, columns),
        y.as_mut().subrows_mut(0, columns),
        Par::Seq,
    );
    Ok((values, Some(y.to_row_major(columns)?)))
}
