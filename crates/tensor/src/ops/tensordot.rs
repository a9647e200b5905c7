//! Products along other dimensions than the last ones: `tensordot`, `inner`, `outer`, `kron`, and
//! `multi_dot` of several matrices.

use allotrope_dtype::{DType, Error, Problem};
use allotrope_op::normalize_axes;
use allotrope_op::structured::Structured;
use allotrope_op::structured::matrix::{INNER, KRON, MULTI_DOT, OUTER, TENSORDOT};

use super::contraction::{Dtypes, check_rank, in_common, inner_mismatch, multiply_matrices};
use crate::Tensor;
use crate::transfer::gathered;

impl Tensor {
    /// The sums of products along pairs of dimensions of two tensors. The result has the other
    /// dimensions of the first, then those of the second. A size of one stands for any other.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let (x, y) = (Tensor::ones(&[2, 3, 4], DType::I32)?, Tensor::ones(&[4, 3, 5], DType::I32)?);
    /// let z = x.tensordot(&y, &[1, 2], &[1, 0], None, None)?;
    /// assert_eq!(z.shape().to_string(), "[2, 5]");
    /// assert_eq!(z.to_vec::<i32>()?, [12; 10]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error if the dimensions do not pair up, an index error for one out of range, a dtype
    /// error where promotion refuses, a memory error.
    pub fn tensordot(
        &self,
        other: &Self,
        dims: &[isize],
        other_dims: &[isize],
        dtype: Option<DType>,
        acc_dtype: Option<DType>,
    ) -> Result<Self, Error> {
        if let Some((x, other)) = gathered((self, other))? {
            return x.tensordot(&other, dims, other_dims, dtype, acc_dtype);
        }
        let spread = |x: &Self, dims: &[isize], by: &Self, by_dims: &[isize]| {
            x.spread_along(TENSORDOT.name, dims, by, by_dims)
        };
        let a = spread(self, dims, other, other_dims)?;
        let b = spread(other, other_dims, self, dims)?;
        a.contract(&TENSORDOT, &b, dims, other_dims, dtype, acc_dtype)
    }

    /// Dimensions of size one in the sizes of those of another tensor that they are paired with.
    fn spread_along(
        &self,
        op: &'static str,
        dims: &[isize],
        other: &Self,
        other_dims: &[isize],
    ) -> Result<Self, Error> {
        let own = normalize_axes(op, dims, self.rank())?;
        let paired = normalize_axes(op, other_dims, other.rank())?;
        let mut sizes = self.shape().to_vec();
        for (dim, other_dim) in own.iter().zip(&paired) {
            if sizes[*dim] == 1 {
                sizes[*dim] = other.shape()[*other_dim];
            }
        }
        match sizes == self.shape()[..] {
            true => Ok(self.clone()),
            false => self.expand(&sizes),
        }
    }

    fn contract(
        &self,
        row: &Structured,
        other: &Self,
        dims: &[isize],
        other_dims: &[isize],
        dtype: Option<DType>,
        acc_dtype: Option<DType>,
    ) -> Result<Self, Error> {
        let op = row.name;
        let dtypes = Dtypes::new(row, &[self, other], dtype, acc_dtype)?;
        if dims.len() != other_dims.len() {
            let problem = Problem::LengthMismatch {
                from: dims.len(),
                to: other_dims.len(),
            };
            return Err(Error::new(op, problem));
        }
        let dims = normalize_axes(op, dims, self.rank())?;
        let other_dims = normalize_axes(op, other_dims, other.rank())?;
        for (a, b) in dims.iter().zip(&other_dims) {
            let inner = (self.shape()[*a], other.shape()[*b]);
            if inner.0 != inner.1 {
                return Err(inner_mismatch(op, self, other, inner));
            }
        }
        let rest = |rank: usize, used: &[usize]| -> Vec<usize> {
            (0..rank).filter(|dim| !used.contains(dim)).collect()
        };
        let (rest_a, rest_b) = (rest(self.rank(), &dims), rest(other.rank(), &other_dims));
        let order = |first: &[usize], second: &[usize]| -> Vec<isize> {
            first.iter().chain(second).map(|d| *d as isize).collect()
        };
        let size = |tensor: &Self, dims: &[usize]| -> isize {
            dims.iter()
                .map(|dim| tensor.shape()[*dim] as isize)
                .product()
        };
        let (m, k, n) = (size(self, &rest_a), size(self, &dims), size(other, &rest_b));
        let a = self.permute(&order(&rest_a, &dims))?.reshape(&[m, k])?;
        let b = other.permute(&order(&other_dims, &rest_b))?;
        let b = b.reshape(&[k, n])?;
        let sizes = rest_a.iter().map(|dim| self.shape()[*dim] as isize);
        let sizes = sizes.chain(rest_b.iter().map(|dim| other.shape()[*dim] as isize));
        let sizes: Vec<isize> = sizes.collect();
        if dims.is_empty() {
            // Products that nothing is added to keep a zero's sign.
            let [a, b] = [a, b].map(|factor| factor.to(dtypes.common)?.to(dtypes.sum));
            let product = a?.mul(&b?).map_err(|error| error.in_op(op))?;
            return product.to(dtypes.result)?.reshape(&sizes);
        }
        multiply_matrices(op, &a, &b, dtypes, None)?.reshape(&sizes)
    }

    /// The sums of products along the last dimensions; with a tensor without dimensions the
    /// products themselves.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[1.0, 2.0]])?;
    /// assert_eq!(x.inner(&Tensor::new([3.0, 4.0])?, None, None)?, Tensor::new([11.0])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error if the last sizes differ, a dtype error where promotion refuses, a memory
    /// error.
    pub fn inner(
        &self,
        other: &Self,
        dtype: Option<DType>,
        acc_dtype: Option<DType>,
    ) -> Result<Self, Error> {
        if let Some((x, other)) = gathered((self, other))? {
            return x.inner(&other, dtype, acc_dtype);
        }
        let dims: &[isize] = if self.rank() == 0 || other.rank() == 0 {
            &[]
        } else {
            &[-1]
        };
        self.contract(&INNER, other, dims, dims, dtype, acc_dtype)
    }

    /// The products of each element of a vector with each of another.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([1, 2])?;
    /// assert_eq!(x.outer(&Tensor::new([3, 4])?)?, Tensor::new([[3, 4], [6, 8]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for anything but vectors, a dtype error where promotion refuses, a memory
    /// error.
    pub fn outer(&self, other: &Self) -> Result<Self, Error> {
        self.outer_in(other, None, None)
    }

    /// [`outer`](Self::outer) with the dtypes of the result and of the products.
    ///
    /// # Errors
    /// As [`outer`](Self::outer); a dtype error for a cast without a meaning.
    pub fn outer_in(
        &self,
        other: &Self,
        dtype: Option<DType>,
        acc_dtype: Option<DType>,
    ) -> Result<Self, Error> {
        if let Some((x, other)) = gathered((self, other))? {
            return x.outer_in(&other, dtype, acc_dtype);
        }
        check_rank(OUTER.name, "the first operand", self, 1)?;
        check_rank(OUTER.name, "the second operand", other, 1)?;
        self.contract(&OUTER, other, &[], &[], dtype, acc_dtype)
    }

    /// The products of each element of a tensor with the whole of another, side by side.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::arange(1, 3, 1, DType::I8)?.kron(&Tensor::ones(&[2], DType::I8)?)?;
    /// assert_eq!(x.to_vec::<i8>()?, [1, 1, 2, 2]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error where promotion refuses, a value error for a result that is too large, a memory
    /// error.
    pub fn kron(&self, other: &Self) -> Result<Self, Error> {
        self.kron_in(other, None, None)
    }

    /// [`kron`](Self::kron) with the dtypes of the result and of the products.
    ///
    /// # Errors
    /// As [`kron`](Self::kron); a dtype error for a cast without a meaning.
    pub fn kron_in(
        &self,
        other: &Self,
        dtype: Option<DType>,
        acc_dtype: Option<DType>,
    ) -> Result<Self, Error> {
        if let Some((x, other)) = gathered((self, other))? {
            return x.kron_in(&other, dtype, acc_dtype);
        }
        let rank = self.rank().max(other.rank());
        // Sizes with ones in front, then x0 y0 x1 y1 … of the outer product side by side.
        let padded = |tensor: &Self| -> Vec<isize> {
            let missing = rank - tensor.rank();
            let sizes = tensor.shape().iter().map(|size| *size as isize);
            std::iter::repeat_n(1, missing).chain(sizes).collect()
        };
        let (sizes_a, sizes_b) = (padded(self), padded(other));
        let a = self.reshape(&sizes_a)?;
        let b = other.reshape(&sizes_b)?;
        let product = a.contract(&KRON, &b, &[], &[], dtype, acc_dtype)?;
        let order: Vec<isize> = (0..rank)
            .flat_map(|d| [d, rank + d])
            .map(|d| d as isize)
            .collect();
        let sizes: Vec<isize> = sizes_a
            .iter()
            .zip(&sizes_b)
            .map(|(a, b)| a.saturating_mul(*b))
            .collect();
        product.permute(&order)?.reshape(&sizes)
    }
}

/// The product of several matrices in the order that takes the fewest multiplications. The first may
/// be a row and the last a column, given as vectors.
///
/// ```
/// use allotrope_dtype::DType;
/// use allotrope_tensor::{Tensor, multi_dot};
/// let ones = |sizes: &[usize]| Tensor::ones(sizes, DType::F32);
/// let x = multi_dot(&[&ones(&[2, 3])?, &ones(&[3, 4])?, &ones(&[4])?])?;
/// assert_eq!(x.to_vec::<f32>()?, [12.0; 2]);
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
///
/// # Errors
/// As [`Tensor::matmul`]; a value error for fewer than two tensors or other numbers of dimensions.
pub fn multi_dot(tensors: &[&Tensor]) -> Result<Tensor, Error> {
    let op = MULTI_DOT.name;
    let [first, .., last] = tensors else {
        return Err(Error::new(op, Problem::NoOperands).hint("two tensors and more"));
    };
    if let Some(moved) = gathered(tensors)? {
        // bounded: the operands.
        return multi_dot(&moved.iter().collect::<Vec<_>>());
    }
    let dtypes = Dtypes::new(&MULTI_DOT, tensors, None, None)?;
    let mut matrices = in_common(tensors, dtypes)?;
    let dtypes = dtypes.of_converted();
    let (is_row, is_column) = (first.rank() == 1, last.rank() == 1);
    if is_row {
        matrices[0] = matrices[0].unsqueeze(0)?;
    }
    if is_column {
        let place = matrices.len() - 1;
        matrices[place] = matrices[place].unsqueeze(1)?;
    }
    for matrix in &matrices {
        check_rank(op, "a factor", matrix, 2)?;
    }
    for pair in matrices.windows(2) {
        let inner = (pair[0].shape()[1], pair[1].shape()[0]);
        if inner.0 != inner.1 {
            return Err(inner_mismatch(op, &pair[0], &pair[1], inner));
        }
    }
    let cuts = cheapest_cuts(&matrices);
    let product = multiply_range(&matrices, &cuts, 0, matrices.len() - 1, dtypes)?;
    let product = product.to(dtypes.result)?;
    let product = if is_column {
        product.squeeze(Some(&[1]))?
    } else {
        product
    };
    if is_row {
        product.squeeze(Some(&[0]))
    } else {
        Ok(product)
    }
}

/// Where to cut each range of factors in two.
fn cheapest_cuts(matrices: &[Tensor]) -> Vec<Vec<usize>> {
    let count = matrices.len();
    let rows = matrices.iter().map(|matrix| matrix.shape()[0]);
    let columns = matrices.last().map(|matrix| matrix.shape()[1]);
    let sizes: Vec<f64> = rows.chain(columns).map(|size| size as f64).collect();
    // bounded: as many as the caller lists matrices.
    let mut cost = vec![vec![0.0; count]; count];
    // bounded: as many as the caller lists matrices.
    let mut cuts = vec![vec![0; count]; count];
    for length in 1..count {
        for start in 0..count - length {
            let end = start + length;
            let price = |cut: usize| {
                let whole = sizes[start] * sizes[cut + 1] * sizes[end + 1];
                cost[start][cut] + cost[cut + 1][end] + whole
            };
            let best = (start..end).min_by(|a, b| price(*a).total_cmp(&price(*b)));
            let best = best.unwrap_or(start);
            cost[start][end] = price(best);
            cuts[start][end] = best;
        }
    }
    cuts
}

fn multiply_range(
    matrices: &[Tensor],
    cuts: &[Vec<usize>],
    start: usize,
    end: usize,
    dtypes: Dtypes,
) -> Result<Tensor, Error> {
    if start == end {
        return Ok(matrices[start].clone());
    }
    let cut = cuts[start][end];
    let a = multiply_range(matrices, cuts, start, cut, dtypes)?;
    let b = multiply_range(matrices, cuts, cut + 1, end, dtypes)?;
    // Products of halves stay in float32 until the last one.
    let whole = start == 0 && end + 1 == matrices.len();
    let dtypes = if whole { dtypes } else { dtypes.unrounded() };
    multiply_matrices(MULTI_DOT.name, &a, &b, dtypes, None)
}
