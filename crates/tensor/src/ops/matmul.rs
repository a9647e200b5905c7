//! `matmul` and its kin: products of matrices and vectors.

use allotrope_dtype::{DType, Error, Problem, Scalar, WeakScalar};
use allotrope_op::structured::Structured;
use allotrope_op::structured::matrix::{
    ADDBMM, ADDMM, ADDMV, ADDR, BADDBMM, BMM, DOT, MATMUL, MM, MV, VDOT,
};
use allotrope_op::{Dims, Layout, Shape};

use super::contraction::{Addend, Dtypes, check_rank, inner_mismatch, multiply_matrices};
use super::operands::conjugate;
use crate::Tensor;
use crate::transfer::gathered;

impl Tensor {
    /// The product of two matrices, of vectors with them, or of each pair of several: dimensions
    /// before the last two are broadcast. Operands are promoted to a common dtype; halves are summed
    /// in float32 and rounded once, integers wrap, bool is true where any pair of factors is.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let ones = Tensor::ones(&[1, 4096], DType::F16)?;
    /// let product = ones.matmul(&ones.t()?)?;
    /// assert_eq!(product.to(DType::F64)?.to_vec::<f64>()?, [4096.0]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for shapes that do not fit, a dtype error where promotion refuses, a memory
    /// error.
    pub fn matmul(&self, other: &Self) -> Result<Self, Error> {
        self.matmul_in(other, None, None)
    }

    /// [`matmul`](Self::matmul) with the dtype of the result and that of sums. Sums without a dtype
    /// of their own are formed in one that holds the operands and the result; a result without one
    /// has that of the sums.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::full(&[2, 2], 100, DType::I8)?;
    /// assert_eq!(x.matmul(&x)?.to_vec::<i8>()?, [32; 4]);
    /// let wide = x.matmul_in(&x, None, Some(DType::I32))?;
    /// assert_eq!(wide.to_vec::<i32>()?, [20_000; 4]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`matmul`](Self::matmul); a dtype error for a cast without a meaning.
    pub fn matmul_in(
        &self,
        other: &Self,
        dtype: Option<DType>,
        acc_dtype: Option<DType>,
    ) -> Result<Self, Error> {
        if let Some((x, other)) = gathered((self, other))? {
            return x.matmul_in(&other, dtype, acc_dtype);
        }
        let op = MATMUL.name;
        for tensor in [self, other] {
            if tensor.rank() == 0 {
                let problem = Problem::WrongRank {
                    what: "an operand",
                    shape: Vec::new(),
                    accepted: "1 and more are",
                };
                return Err(Error::new(op, problem).hint("mul"));
            }
        }
        let dtypes = Dtypes::new(&MATMUL, &[self, other], dtype, acc_dtype)?;
        let row = self.rank() == 1;
        let column = other.rank() == 1;
        let a = if row {
            self.unsqueeze(0)?
        } else {
            self.clone()
        };
        let b = if column {
            other.unsqueeze(1)?
        } else {
            other.clone()
        };
        let inner = (a.shape()[a.rank() - 1], b.shape()[b.rank() - 2]);
        if inner.0 != inner.1 {
            return Err(inner_mismatch(op, self, other, inner));
        }
        let product = multiply_matrices(op, &a, &b, dtypes, None)?;
        if (row || column) && !product.requires_grad() {
            // New elements in order: both dimensions go at once.
            let rank = product.rank();
            let (outer, sizes) = product.shape().split_at(rank - 2);
            let left = [(row, sizes[0]), (column, sizes[1])].into_iter();
            let left = left.filter_map(|(is_new, size)| (!is_new).then_some(size));
            let sizes: Dims<usize> = outer.iter().copied().chain(left).collect();
            let layout = Layout::contiguous(Shape::new(op, &sizes)?);
            return Ok(product.with_layout(layout));
        }
        let product = if column {
            product.squeeze(Some(&[-1]))?
        } else {
            product
        };
        match (row, column) {
            (true, true) => product.squeeze(Some(&[0])),
            (true, false) => product.squeeze(Some(&[-2])),
            _ => Ok(product),
        }
    }

    /// The product of two matrices.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[1, 2], [3, 4]])?;
    /// assert_eq!(x.mm(&x, None, None)?, Tensor::new([[7, 10], [15, 22]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`matmul`](Self::matmul); a value error for anything but two dimensions.
    pub fn mm(
        &self,
        other: &Self,
        dtype: Option<DType>,
        acc_dtype: Option<DType>,
    ) -> Result<Self, Error> {
        if let Some((x, other)) = gathered((self, other))? {
            return x.mm(&other, dtype, acc_dtype);
        }
        self.exact_product(&MM, other, [2, 2], dtype, acc_dtype)
    }

    /// The product of each pair of two lists of matrices.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let x = Tensor::ones((5, 2, 3), DType::F32)?;
    /// assert_eq!(x.bmm(&Tensor::ones((5, 3, 4), DType::F32)?, None, None)?.shape(), [5, 2, 4]);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`matmul`](Self::matmul); a value error for anything but three dimensions, or lists of
    /// different lengths.
    pub fn bmm(
        &self,
        other: &Self,
        dtype: Option<DType>,
        acc_dtype: Option<DType>,
    ) -> Result<Self, Error> {
        if let Some((x, other)) = gathered((self, other))? {
            return x.bmm(&other, dtype, acc_dtype);
        }
        self.exact_product(&BMM, other, [3, 3], dtype, acc_dtype)
    }

    /// The product of a matrix and a vector.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[1.0, 2.0], [3.0, 4.0]])?;
    /// assert_eq!(x.mv(&Tensor::new([1.0, 10.0])?, None, None)?, Tensor::new([21.0, 43.0])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`matmul`](Self::matmul); a value error for anything but a matrix and a vector.
    pub fn mv(
        &self,
        other: &Self,
        dtype: Option<DType>,
        acc_dtype: Option<DType>,
    ) -> Result<Self, Error> {
        if let Some((x, other)) = gathered((self, other))? {
            return x.mv(&other, dtype, acc_dtype);
        }
        self.exact_product(&MV, other, [2, 1], dtype, acc_dtype)
    }

    /// The sum of the products of two vectors.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([1.0, 2.0])?;
    /// assert_eq!(x.dot(&Tensor::new([3.0, 4.0])?, None, None)?.to_scalar::<f64>()?, 11.0);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`matmul`](Self::matmul); a value error for anything but vectors of one length.
    pub fn dot(
        &self,
        other: &Self,
        dtype: Option<DType>,
        acc_dtype: Option<DType>,
    ) -> Result<Self, Error> {
        if let Some((x, other)) = gathered((self, other))? {
            return x.dot(&other, dtype, acc_dtype);
        }
        self.exact_product(&DOT, other, [1, 1], dtype, acc_dtype)
    }

    /// The sum of the products of two vectors, of which the first is conjugated.
    ///
    /// ```
    /// use allotrope_dtype::c64;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::from_slice(&[c64::new(0.0, 2.0)], &[1])?;
    /// assert_eq!(x.vdot(&x, None, None)?.to_vec::<c64>()?, [c64::new(4.0, 0.0)]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`dot`](Self::dot).
    pub fn vdot(
        &self,
        other: &Self,
        dtype: Option<DType>,
        acc_dtype: Option<DType>,
    ) -> Result<Self, Error> {
        if let Some((x, other)) = gathered((self, other))? {
            return x.vdot(&other, dtype, acc_dtype);
        }
        conjugate(self)?.exact_product(&VDOT, other, [1, 1], dtype, acc_dtype)
    }

    /// A product of operands that must have these numbers of dimensions.
    fn exact_product(
        &self,
        row: &Structured,
        other: &Self,
        ranks: [usize; 2],
        dtype: Option<DType>,
        acc_dtype: Option<DType>,
    ) -> Result<Self, Error> {
        let op = row.name;
        let dtypes = Dtypes::new(row, &[self, other], dtype, acc_dtype)?;
        check_rank(op, "the first operand", self, ranks[0])?;
        check_rank(op, "the second operand", other, ranks[1])?;
        check_fits(op, self, other)?;
        let a = if ranks[0] == 1 {
            self.unsqueeze(0)?
        } else {
            self.clone()
        };
        let b = if ranks[1] == 1 {
            other.unsqueeze(1)?
        } else {
            other.clone()
        };
        let product = multiply_matrices(op, &a, &b, dtypes, None)?;
        match ranks {
            [2, 1] => product.squeeze(Some(&[1])),
            [1, 1] => product.squeeze(Some(&[0, 1])),
            _ => Ok(product),
        }
    }

    /// `beta * self + alpha * (a @ b)` of matrices, rounded once; with a `beta` of zero the tensor
    /// is not read.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let (x, one) = (Tensor::new([[1.0, 2.0], [3.0, 4.0]])?, Tensor::eye(2, 2, DType::F64)?);
    /// assert_eq!(one.addmm(&x, &one, 10, 1)?, Tensor::new([[11.0, 2.0], [3.0, 14.0]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`mm`](Self::mm); a value error if the tensor does not broadcast to the product.
    pub fn addmm(
        &self,
        a: &Self,
        b: &Self,
        beta: impl Into<WeakScalar>,
        alpha: impl Into<WeakScalar>,
    ) -> Result<Self, Error> {
        if let Some((x, a, b)) = gathered((self, a, b))? {
            return x.addmm(&a, &b, beta, alpha);
        }
        self.added_product(&ADDMM, a, b, [2, 2], beta.into(), alpha.into())
    }

    /// `beta * self + alpha * (a @ b)` of a matrix and a vector.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let (x, y) = (Tensor::new([[1.0, 2.0], [3.0, 4.0]])?, Tensor::new([1.0, 0.0])?);
    /// assert_eq!(y.addmv(&x, &y, 10, 1)?, Tensor::new([11.0, 3.0])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`mv`](Self::mv); a value error if the tensor does not broadcast to the product.
    pub fn addmv(
        &self,
        a: &Self,
        b: &Self,
        beta: impl Into<WeakScalar>,
        alpha: impl Into<WeakScalar>,
    ) -> Result<Self, Error> {
        if let Some((x, a, b)) = gathered((self, a, b))? {
            return x.addmv(&a, &b, beta, alpha);
        }
        self.added_product(&ADDMV, a, b, [2, 1], beta.into(), alpha.into())
    }

    /// `beta * self + alpha * (a @ b)` of lists of matrices.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let (x, zero) = (Tensor::ones((5, 2, 2), DType::F32)?, Tensor::zeros((5, 2, 2), DType::F32)?);
    /// assert_eq!(zero.baddbmm(&x, &x, 1, 1)?, x.bmm(&x, None, None)?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`bmm`](Self::bmm); a value error if the tensor does not broadcast to the product.
    pub fn baddbmm(
        &self,
        a: &Self,
        b: &Self,
        beta: impl Into<WeakScalar>,
        alpha: impl Into<WeakScalar>,
    ) -> Result<Self, Error> {
        if let Some((x, a, b)) = gathered((self, a, b))? {
            return x.baddbmm(&a, &b, beta, alpha);
        }
        self.added_product(&BADDBMM, a, b, [3, 3], beta.into(), alpha.into())
    }

    /// `beta * self + alpha * Σ (a[i] @ b[i])` of lists of matrices.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let (x, zero) = (Tensor::ones((5, 2, 2), DType::F32)?, Tensor::zeros((2, 2), DType::F32)?);
    /// assert_eq!(zero.addbmm(&x, &x, 1, 1)?, x.bmm(&x, None, None)?.sum_axis(0)?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`bmm`](Self::bmm); a value error if the tensor does not broadcast to the sum.
    pub fn addbmm(
        &self,
        a: &Self,
        b: &Self,
        beta: impl Into<WeakScalar>,
        alpha: impl Into<WeakScalar>,
    ) -> Result<Self, Error> {
        if let Some((x, a, b)) = gathered((self, a, b))? {
            return x.addbmm(&a, &b, beta, alpha);
        }
        let op = ADDBMM.name;
        check_rank(op, "the first factor", a, 3)?;
        check_rank(op, "the second factor", b, 3)?;
        check_fits(op, a, b)?;
        // The sum over pairs and the sums of their products are one: a wide product.
        let (rows, columns) = (a.shape()[1], b.shape()[2]);
        let depth = a.shape()[0] * a.shape()[2];
        let a = a
            .transpose(0, 1)?
            .reshape(&[rows as isize, depth as isize])?;
        let b = b.reshape(&[depth as isize, columns as isize])?;
        self.added_product(&ADDBMM, &a, &b, [2, 2], beta.into(), alpha.into())
    }

    /// `beta * self + alpha * outer(a, b)` of vectors.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let (x, zero) = (Tensor::new([1.0, 2.0])?, Tensor::zeros((2, 2), DType::F64)?);
    /// assert_eq!(zero.addr(&x, &x, 1, 1)?, Tensor::new([[1.0, 2.0], [2.0, 4.0]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`outer`](Self::outer); a value error if the tensor does not broadcast to the products.
    pub fn addr(
        &self,
        a: &Self,
        b: &Self,
        beta: impl Into<WeakScalar>,
        alpha: impl Into<WeakScalar>,
    ) -> Result<Self, Error> {
        if let Some((x, a, b)) = gathered((self, a, b))? {
            return x.addr(&a, &b, beta, alpha);
        }
        check_rank(ADDR.name, "the first factor", a, 1)?;
        check_rank(ADDR.name, "the second factor", b, 1)?;
        let (a, b) = (a.unsqueeze(1)?, b.unsqueeze(0)?);
        self.added_product(&ADDR, &a, &b, [2, 2], beta.into(), alpha.into())
    }

    fn added_product(
        &self,
        row: &Structured,
        a: &Self,
        b: &Self,
        ranks: [usize; 2],
        beta: WeakScalar,
        alpha: WeakScalar,
    ) -> Result<Self, Error> {
        let op = row.name;
        let dtypes = Dtypes::new(row, &[self, a, b], None, None)?;
        for (name, value) in [("beta", beta), ("alpha", alpha)] {
            check_coefficient(op, name, value, dtypes.common)?;
        }
        check_rank(op, "the first factor", a, ranks[0])?;
        check_rank(op, "the second factor", b, ranks[1])?;
        check_fits(op, a, b)?;
        let is_vector = ranks[1] == 1;
        let (former, b) = if is_vector {
            (self.unsqueeze(-1)?, b.unsqueeze(1)?)
        } else {
            (self.clone(), b.clone())
        };
        let addend = Addend {
            former: &former,
            beta,
            alpha,
        };
        let product = multiply_matrices(op, a, &b, dtypes, Some(addend))?;
        if is_vector {
            product.squeeze(Some(&[1]))
        } else {
            Ok(product)
        }
    }
}

/// Refuses factors that cannot be multiplied.
fn check_fits(op: &'static str, a: &Tensor, b: &Tensor) -> Result<(), Error> {
    let inner = (
        a.shape()[a.rank() - 1],
        b.shape()[b.rank().saturating_sub(2)],
    );
    if inner.0 != inner.1 {
        return Err(inner_mismatch(op, a, b, inner));
    }
    if a.rank() == 3 && a.shape()[0] != b.shape()[0] {
        let problem = Problem::ShapesDoNotFit {
            what: "lists of matrices",
            shapes: vec![a.shape().to_vec(), b.shape().to_vec()],
            accepted: "lists of one length are",
        };
        return Err(Error::new(op, problem).hint("matmul, which broadcasts"));
    }
    Ok(())
}

/// Refuses a coefficient that the dtype does not hold, such as a fraction among integers.
fn check_coefficient(
    op: &'static str,
    what: &'static str,
    value: WeakScalar,
    dtype: DType,
) -> Result<(), Error> {
    use allotrope_dtype::ScalarKind;
    if dtype.is_integer() && value.kind() <= ScalarKind::Int {
        return Scalar::new(value, dtype)
            .map(drop)
            .map_err(|error| error.in_op(op));
    }
    if value.kind() <= ScalarKind::of(dtype) || dtype == DType::Bool && is_truth(value) {
        return Ok(());
    }
    let problem = Problem::OutOfRange {
        what,
        index: None,
        value: value.to_string(),
        accepted: match ScalarKind::of(dtype) {
            ScalarKind::Bool => "0 and 1",
            ScalarKind::Int => "integers",
            _ => "real numbers",
        },
    };
    Err(Error::new(op, problem))
}

fn is_truth(value: WeakScalar) -> bool {
    matches!(value, WeakScalar::Int(0 | 1) | WeakScalar::Bool(_))
}
