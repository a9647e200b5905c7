//! Running totals and extremes along a dimension.

use allotrope_dtype::{DType, Error, Problem, Set, default_dtype};
use allotrope_op::structured::Structured;
use allotrope_op::structured::order::{
    CUMMAX, CUMMIN, CUMPROD, CUMSUM, CUMULATIVE_PROD, CUMULATIVE_SUM, LOGCUMSUMEXP,
};
use allotrope_op::task::Order;
use allotrope_op::{Program, Scan, View, normalize_axis};

use super::axis_view::{AxisView, remember_places};
use super::difference::join_along;
use super::scan_gradient::remember_scan;
use crate::Tensor;
use crate::call::Call;
use crate::device::common_backend;
use crate::elementwise::evaluate_one;
use crate::overflow::{self, Shadow};
use crate::reduce::reading;

/// Elements inside the scanned dimension from which rows are added to rows.
const ROWS_FROM: usize = 16;

impl Tensor {
    /// The sum of the elements up to each one along `dim`. Integers accumulate in 64 bits, floats
    /// in float64, and every result is rounded once.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::full(&[4], 100, DType::I8)?;
    /// assert_eq!(x.cumsum(0, None)?.to_vec::<i64>()?, [100, 200, 300, 400]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for a dimension out of range, a dtype error for a cast that `dtype` has no
    /// way for, a memory error.
    pub fn cumsum(&self, dim: isize, dtype: Option<DType>) -> Result<Self, Error> {
        self.scanned(&CUMSUM, Scan::Sum, dim, dtype)
    }

    /// The product of the elements up to each one along `dim`.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// assert_eq!(Tensor::new([1.0, 2.0, 3.0])?.cumprod(0, None)?, Tensor::new([1.0, 2.0, 6.0])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`cumsum`](Self::cumsum).
    pub fn cumprod(&self, dim: isize, dtype: Option<DType>) -> Result<Self, Error> {
        self.scanned(&CUMPROD, Scan::Prod, dim, dtype)
    }

    /// `log(Σ eˣ)` of the elements up to each one along `dim`, without overflow: `logaddexp` one after
    /// the other, also for the imaginary part of complex numbers.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([0.0, f64::NEG_INFINITY])?;
    /// assert_eq!(x.logcumsumexp(0)?, Tensor::new([0.0, 0.0])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for a dimension out of range, a memory error.
    pub fn logcumsumexp(&self, dim: isize) -> Result<Self, Error> {
        self.scanned(&LOGCUMSUMEXP, Scan::LogSumExp, dim, None)
    }

    /// [`cumsum`](Self::cumsum) by the array API's rules: the axis may only be left out of a tensor
    /// with one, and `include_initial` puts a 0 before the sums.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([1.0, 2.0])?;
    /// assert_eq!(x.cumulative_sum(None, None, true)?, Tensor::new([0.0, 1.0, 3.0])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`cumsum`](Self::cumsum); a value error without an axis for several dimensions.
    pub fn cumulative_sum(
        &self,
        axis: Option<isize>,
        dtype: Option<DType>,
        include_initial: bool,
    ) -> Result<Self, Error> {
        self.cumulative(&CUMULATIVE_SUM, Scan::Sum, axis, dtype, include_initial)
    }

    /// [`cumprod`](Self::cumprod) by the array API's rules, with a 1 before the products.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([2.0, 3.0])?;
    /// assert_eq!(x.cumulative_prod(None, None, true)?, Tensor::new([1.0, 2.0, 6.0])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`cumulative_sum`](Self::cumulative_sum).
    pub fn cumulative_prod(
        &self,
        axis: Option<isize>,
        dtype: Option<DType>,
        include_initial: bool,
    ) -> Result<Self, Error> {
        self.cumulative(&CUMULATIVE_PROD, Scan::Prod, axis, dtype, include_initial)
    }

    fn cumulative(
        &self,
        row: &Structured,
        scan: Scan,
        axis: Option<isize>,
        dtype: Option<DType>,
        include_initial: bool,
    ) -> Result<Self, Error> {
        let rank = self.rank();
        let axis = match axis {
            None if rank != 1 => {
                let problem = Problem::WrongAxisCount { given: 0, rank: 1 };
                return Err(Error::new(row.name, problem));
            }
            axis => normalize_axis(row.name, axis.unwrap_or(0), rank)?,
        };
        let sums = self.scanned(row, scan, axis as isize, dtype)?;
        if !include_initial {
            return Ok(sums);
        }
        let mut sizes = self.shape().to_vec();
        sizes[axis] = 1;
        let initial = match scan {
            Scan::Prod => sums.new_ones(&sizes, sums.dtype())?,
            _ => sums.new_zeros(&sizes, sums.dtype())?,
        };
        join_along(row.name, &[&initial, &sums], axis)
    }

    fn scanned(
        &self,
        row: &Structured,
        kind: Scan,
        dim: isize,
        dtype: Option<DType>,
    ) -> Result<Self, Error> {
        let op = row.name;
        let usual = Call::begin(row, &[self])?.result;
        let result = dtype.unwrap_or(usual);
        let through = match kind {
            Scan::LogSumExp if !Set::Inexact.contains(self.dtype()) => default_dtype(),
            _ => dtype.unwrap_or(self.dtype()),
        };
        self.check_cast(op, through)?;
        let dim = normalize_axis(op, dim, self.rank().max(1))?;
        if self.rank() == 0 {
            let line = self.reshape(&[1])?;
            return line.scanned(row, kind, 0, dtype)?.reshape(&[]);
        }
        let size = |sizes: &[usize]| sizes.iter().product::<usize>();
        let inner = size(&self.shape()[dim + 1..]);
        if (2..ROWS_FROM).contains(&inner) {
            let moved = self.movedim(&[dim as isize], &[-1])?;
            let scanned = moved.scanned(row, kind, -1, dtype)?;
            return scanned.movedim(&[-1], &[dim as isize])?.contiguous();
        }
        let sizes = [size(&self.shape()[..dim]), self.shape()[dim], inner];
        let program = reading(self.dtype(), through, kind.item(through));
        let x = self.contiguous()?;
        let (backend, input) = (x.backend(), x.view_of());
        let scanned = if overflow::is_watched() {
            watched(op, kind, &program, &x, sizes)?.to_in(op, result)?
        } else {
            let memory = backend.scan(op, kind, &program, &[input], sizes, result)?;
            Self::from_memory_of(memory, self.shape().clone(), result)
        };
        remember_scan(scanned, op, kind, self, through, dim)
    }

    /// The greatest element up to each one along `dim`, and its place, the latest of equals; from
    /// the first NaN on, NaN.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let (values, places) = Tensor::new([1, 3, 2])?.cummax(0)?;
    /// assert_eq!((values, places), (Tensor::new([1, 3, 3])?, Tensor::new([0_i64, 1, 1])?));
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error for complex numbers, an index error for a dimension out of range, a memory
    /// error.
    pub fn cummax(&self, dim: isize) -> Result<(Self, Self), Error> {
        self.running(&CUMMAX, true, dim)
    }

    /// The least element up to each one along `dim`, and its place; as [`cummax`](Self::cummax).
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let (values, places) = Tensor::new([3, 1, 2])?.cummin(0)?;
    /// assert_eq!((values, places), (Tensor::new([3, 1, 1])?, Tensor::new([0_i64, 1, 1])?));
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`cummax`](Self::cummax).
    pub fn cummin(&self, dim: isize) -> Result<(Self, Self), Error> {
        self.running(&CUMMIN, false, dim)
    }

    fn running(&self, row: &Structured, greatest: bool, dim: isize) -> Result<(Self, Self), Error> {
        Call::begin(row, &[self])?;
        let lines = AxisView::new(row.name, self, dim)?;
        let (values, places) = lines.choose(Order::Cummax { greatest }, lines.length())?;
        let values = remember_places(values, row.name, self, dim, &places, true)?;
        Ok((values, places))
    }
}

/// Running totals of what a program makes of a contiguous tensor, unrounded, by the policy of overflow.
fn watched(
    op: &'static str,
    kind: Scan,
    program: &Program,
    x: &Tensor,
    sizes: [usize; 3],
) -> Result<Tensor, Error> {
    let x = x.detach();
    let shape = x.shape().clone();
    let scan = |kind: Scan, program: &Program, x: &Tensor, to: DType| {
        let memory = x
            .backend()
            .scan(op, kind, program, &[x.view_of()], sizes, to)?;
        Ok::<_, Error>(Tensor::from_memory_of(memory, shape.clone(), to))
    };
    if overflow::narrows(program) {
        let items = evaluate_one(op, program, &[&x])?;
        let plain = reading(items.dtype(), items.dtype(), items.dtype());
        return watched(op, kind, &plain, &items, sizes);
    }
    let item = program.output_dtypes().next().unwrap_or(DType::Bool);
    if item.is_integer() {
        let result = scan(kind, program, &x, item)?;
        let wide = overflow::in_float64(program);
        let truth = scan(kind, &wide, &x.on_cpu(op)?, DType::F64)?;
        let shadow = Shadow {
            op,
            truth: &truth,
            bits: item.bits(),
            hidden: &[],
        };
        return shadow.settle(result);
    }
    let result = scan(kind, program, &x, x.backend().wide(item))?;
    let finite = {
        let _quiet = overflow::quiet();
        if overflow::is_finite(op, &result)? {
            return Ok(result);
        }
        let finite = evaluate_one(op, &overflow::finite_program(x.dtype()), &[&x])?;
        let odd = finite.logical_not()?.to(DType::I64)?;
        let count = reading(DType::I64, DType::I64, DType::I64);
        scan(Scan::Sum, &count, &odd, DType::I64)?.eq(0)?
    };
    overflow::settle_floats(op, result, Some(&finite), &[])
}

/// Running sums along a dimension of what a program makes of inputs of one shape, not recorded.
pub(super) fn scan_lines(
    op: &'static str,
    program: &Program,
    inputs: &[&Tensor],
    dim: usize,
    result: DType,
) -> Result<Tensor, Error> {
    let shape = inputs[0].shape();
    let size = |sizes: &[usize]| sizes.iter().product::<usize>();
    let sizes = [size(&shape[..dim]), shape[dim], size(&shape[dim + 1..])];
    if overflow::is_watched() && Set::Inexact.contains(result) {
        let items = evaluate_one(op, program, inputs)?.detach();
        let plain = reading(items.dtype(), items.dtype(), items.dtype());
        return watched(op, Scan::Sum, &plain, &items, sizes)?.to_in(op, result);
    }
    let views: Vec<View<'_>> = inputs.iter().map(|input| input.view_of()).collect();
    let backend = common_backend(op, inputs)?;
    let memory = backend.scan(op, Scan::Sum, program, &views, sizes, result)?;
    Ok(Tensor::from_memory_of(memory, shape.clone(), result))
}
