//! Eigenvalues and singular values with their vectors.

use allotrope_dtype::c128;
use faer::diag::{DiagMut, DiagRef};
use faer::dyn_stack::MemStack;
use faer::linalg::evd::{
    ComputeEigenvectors, EvdParams, SelfAdjointEvdParams, evd_cplx, evd_real, evd_scratch,
    self_adjoint_evd_scratch, tridiag::tridiag_in_place, tridiagonal_self_adjoint_evd,
};
use faer::linalg::householder::apply_block_householder_sequence_on_the_left_in_place_with_conj;
use faer::linalg::qr::no_pivoting::factor::recommended_block_size;
use faer::linalg::svd::{self, ComputeSvdVectors, SvdParams, svd_scratch};
use faer::traits::ComplexField;
use faer::{Conj, MatRef, Par, Spec};

use super::super::batch::Failure;
use super::super::scratch::{try_collect, try_vec};
use super::aside::{Stop, aside};
use super::columns::{Columns, transpose};
use super::try_scratch;

/// Eigenvalues, and the row-major matrix whose columns are eigenvectors, which may be left out.
pub(in super::super) type Spectrum<T> = (Vec<T>, Vec<T>);
/// Singular values, `U` and `Vᴴ`.
pub(in super::super) type Singular<T> = (Vec<T>, Vec<T>, Vec<T>);

fn computes(wants_vectors: bool) -> ComputeEigenvectors {
    match wants_vectors {
        true => ComputeEigenvectors::Yes,
        false => ComputeEigenvectors::No,
    }
}

/// [`super::Blocked::eigh`], in the three stages that faer's own function has.
pub(super) fn eigh<T: ComplexField + Copy>(
    a: &[T],
    n: usize,
    wants_vectors: bool,
    stop: &Stop,
) -> Result<Spectrum<T>, Failure> {
    let params = Spec::<SelfAdjointEvdParams, T>::default();
    let computes = computes(wants_vectors);
    let request = self_adjoint_evd_scratch::<T>(n, computes, Par::Seq, params);
    let mut scratch = try_scratch(request)?;
    let stack = MemStack::new(&mut scratch);
    let mut form = Columns::from_row_major(a, n, n)?;
    let mut coefficients = Columns::zeros(recommended_block_size::<T>(n, n), n - 1)?;
    tridiag_in_place(
        form.as_mut(),
        coefficients.as_mut(),
        Par::Seq,
        stack,
        params.config.tridiag.into(),
    );
    stop.check()?;
    let form = form.as_ref();
    let diagonal: Vec<T> = try_collect((0..n).map(|i| form[(i, i)]))?;
    let below = |i: usize| match i + 1 < n {
        true => form[(i + 1, i)],
        false => T::zero_impl(),
    };
    let below: Vec<T> = try_collect((0..n).map(below))?;
    let mut values = try_vec(n, T::zero_impl())?;
    let size = if wants_vectors { n } else { 0 };
    let mut vectors = Columns::zeros(size, size)?;
    tridiagonal_self_adjoint_evd(
        DiagRef::from_slice(&diagonal),
        DiagRef::from_slice(&below),
        DiagMut::from_slice_mut(&mut values),
        wants_vectors.then(|| vectors.as_mut()),
        Par::Seq,
        stack,
        params,
    )
    .map_err(|_| Failure::NoConvergence)?;
    stop.check()?;
    if wants_vectors {
        apply_block_householder_sequence_on_the_left_in_place_with_conj(
            form.submatrix(1, 0, n - 1, n - 1),
            coefficients.as_ref(),
            Conj::No,
            vectors.as_mut().subrows_mut(1, n - 1),
            Par::Seq,
            stack,
        );
    }
    Ok((values, vectors.to_row_major(size)?))
}

/// [`super::Blocked::svd`]
pub(super) fn svd<T: ComplexField + Copy>(
    a: &[T],
    [rows, columns]: [usize; 2],
    bases: [usize; 2],
    stop: &Stop,
) -> Result<Singular<T>, Failure> {
    let inner = rows.min(columns);
    let params = Spec::<SvdParams, T>::default();
    let computes = |basis: usize| match basis {
        0 => ComputeSvdVectors::No,
        basis if basis == inner => ComputeSvdVectors::Thin,
        _ => ComputeSvdVectors::Full,
    };
    let wanted = bases.map(computes);
    let request = svd_scratch::<T>(rows, columns, wanted[0], wanted[1], Par::Seq, params);
    let mut scratch = try_scratch(request)?;
    let mut values = try_vec(inner, T::zero_impl())?;
    let size = |lines, basis| if basis > 0 { lines } else { 0 };
    let mut u = Columns::zeros(size(rows, bases[0]), bases[0])?;
    let mut v = Columns::zeros(size(columns, bases[1]), bases[1])?;
    svd::svd(
        MatRef::from_row_major_slice(a, rows, columns),
        DiagMut::from_slice_mut(&mut values),
        (bases[0] > 0).then(|| u.as_mut()),
        (bases[1] > 0).then(|| v.as_mut()),
        Par::Seq,
        MemStack::new(&mut scratch),
        params,
    )
    .map_err(|_| Failure::NoConvergence)?;
    drop(scratch);
    stop.check()?;
    let right = try_collect(v.elements().iter().map(T::conj_impl))?;
    Ok((values, u.to_row_major(size(rows, bases[0]))?, right))
}

/// Eigenvalues of a real square matrix, and eigenvectors as columns, if wanted. Those of
/// a pair are neighbours, the one with the positive imaginary part first.
pub(in super::super) fn eig_real(
    a: Vec<f64>,
    n: usize,
    wants_vectors: bool,
) -> Result<Spectrum<c128>, Failure> {
    aside(n, move |stop| {
        let params = Spec::<EvdParams, f64>::default();
        let computes = computes(wants_vectors);
        let request = evd_scratch::<f64>(n, ComputeEigenvectors::No, computes, Par::Seq, params);
        let mut scratch = try_scratch(request)?;
        let (mut re, mut im) = (try_vec(n, 0.0)?, try_vec(n, 0.0)?);
        let size = if wants_vectors { n } else { 0 };
        let mut vectors = Columns::zeros(size, size)?;
        evd_real(
            MatRef::from_row_major_slice(&a, n, n),
            DiagMut::from_slice_mut(&mut re),
            DiagMut::from_slice_mut(&mut im),
            None,
            wants_vectors.then(|| vectors.as_mut()),
            Par::Seq,
            MemStack::new(&mut scratch),
            params,
        )
        .map_err(|_| Failure::NoConvergence)?;
        drop(scratch);
        stop.check()?;
        let values = re.iter().zip(&im).map(|(re, im)| c128::new(*re, *im));
        let mut values: Vec<c128> = try_collect(values)?;
        let vectors = vectors.elements();
        let mut turned: Vec<c128> = try_collect(vectors.iter().map(|x| c128::new(*x, 0.0)))?;
        let mut k = 0;
        while k < n {
            let is_pair = im[k] != 0.0 && k + 1 < n;
            if is_pair {
                values[k].im = im[k].abs();
                values[k + 1] = values[k].conj();
            }
            let columns = turned.get_mut(k * n..);
            let Some(columns) = columns.filter(|_| wants_vectors) else {
                k += if is_pair { 2 } else { 1 };
                continue;
            };
            let (first, after) = columns.split_at_mut(n);
            if is_pair {
                for (re, im_part) in first.iter_mut().zip(after.iter()) {
                    re.im = im[k].signum() * im_part.re;
                }
                normalize(first);
                for (second, first) in after.iter_mut().zip(first.iter()) {
                    *second = first.conj();
                }
                k += 1;
            } else {
                normalize(first);
                first.iter_mut().for_each(|x| x.im = 0.0);
            }
            k += 1;
        }
        row_major(values, &turned, size)
    })
}

/// Makes a vector one of norm one whose largest element is real.
fn normalize(vector: &mut [c128]) {
    let mut largest = c128::new(0.0, 0.0);
    for x in vector.iter() {
        if x.norm_sqr() > largest.norm_sqr() {
            largest = *x;
        }
    }
    let size = largest.norm();
    let squares = vector.iter().map(|x| (x / size).norm_sqr());
    let factor = largest.conj() / size / (size * squares.sum::<f64>().sqrt());
    vector.iter_mut().for_each(|x| *x *= factor);
}

/// [`eig_real`] of a complex matrix.
pub(in super::super) fn eig_complex(
    a: Vec<c128>,
    n: usize,
    wants_vectors: bool,
) -> Result<Spectrum<c128>, Failure> {
    aside(n, move |stop| {
        let params = Spec::<EvdParams, c128>::default();
        let computes = computes(wants_vectors);
        let request = evd_scratch::<c128>(n, ComputeEigenvectors::No, computes, Par::Seq, params);
        let mut scratch = try_scratch(request)?;
        let mut values = try_vec(n, c128::new(0.0, 0.0))?;
        let size = if wants_vectors { n } else { 0 };
        let mut vectors = Columns::zeros(size, size)?;
        evd_cplx(
            MatRef::from_row_major_slice(&a, n, n),
            DiagMut::from_slice_mut(&mut values),
            None,
            wants_vectors.then(|| vectors.as_mut()),
            Par::Seq,
            MemStack::new(&mut scratch),
            params,
        )
        .map_err(|_| Failure::NoConvergence)?;
        drop(scratch);
        stop.check()?;
        for vector in vectors.elements_mut().chunks_exact_mut(n) {
            normalize(vector);
        }
        row_major(values, vectors.elements(), size)
    })
}

/// Values, and columns as a row-major matrix.
fn row_major(values: Vec<c128>, columns: &[c128], n: usize) -> Result<Spectrum<c128>, Failure> {
    // faer does not say whether its iteration ended.
    if !values.iter().all(|value| value.is_finite()) {
        return Err(Failure::NoConvergence);
    }
    let mut vectors = try_vec(columns.len(), c128::new(0.0, 0.0))?;
    transpose(columns, n, &mut vectors, n);
    Ok((values, vectors))
}
