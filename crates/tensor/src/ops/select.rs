//! A few elements of each line by their rank, without sorting the rest.

use allotrope_dtype::{Error, Kind, Problem};
use allotrope_op::structured::Structured;
use allotrope_op::structured::order::{KTHVALUE, MEDIAN, MODE, NANMEDIAN, TOPK};
use allotrope_op::task::Order;
use allotrope_op::task::order::Rank;

use super::axis_view::{AxisView, remember_places};
use crate::Tensor;
use crate::call::Call;

impl Tensor {
    /// The `k` greatest (or least) elements along `dim`, and their places; of equals the earliest.
    /// In order if `sorted`. NaN is the greatest.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let (values, places) = Tensor::new([1, 3, 2])?.topk(2, 0, true, true)?;
    /// assert_eq!((values, places), (Tensor::new([3, 2])?, Tensor::new([1_i64, 2])?));
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for a `k` beyond the size, a dtype error for complex numbers, an index error
    /// for a dimension out of range, a memory error.
    pub fn topk(
        &self,
        k: usize,
        dim: isize,
        largest: bool,
        sorted: bool,
    ) -> Result<(Self, Self), Error> {
        Call::begin(&TOPK, &[self])?;
        let lines = AxisView::new(TOPK.name, self, dim)?;
        if k > lines.length() {
            return Err(bad_rank(
                TOPK.name,
                k as isize,
                "0 up to the size of the dimension",
            ));
        }
        let (values, places) = lines.choose(Order::Topk { k, largest, sorted }, k)?;
        let values = remember_places(values, TOPK.name, self, dim, &places, true)?;
        Ok((values, places))
    }

    /// The greatest element along `dim`, and its place; of equals the first, to which the whole gradient
    /// goes. [`amax`](Self::amax) spreads it over equals.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::from_slice(&[1_u8, 3, 3], &[3])?;
    /// let (greatest, place) = x.max_dim(0, false)?;
    /// assert_eq!(greatest.to_vec::<u8>()?, [3]);
    /// assert_eq!(place.to_vec::<i64>()?, [1]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`amax`](Self::amax).
    pub fn max_dim(&self, dim: isize, keepdim: bool) -> Result<(Self, Self), Error> {
        let op = "max";
        let values = self.detach().amax(Some(&[dim]), keepdim);
        let values = values.map_err(|error| error.in_op(op))?;
        let places = self.argmax(Some(dim), keepdim)?;
        let values = remember_places(values, op, self, dim, &places, keepdim)?;
        Ok((values, places))
    }

    /// The least element along `dim`, and its place, as [`max_dim`](Self::max_dim).
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let (values, places) = Tensor::new([[3, 1]])?.min_dim(1, false)?;
    /// assert_eq!((values, places), (Tensor::new([1])?, Tensor::new([1_i64])?));
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`amin`](Self::amin).
    pub fn min_dim(&self, dim: isize, keepdim: bool) -> Result<(Self, Self), Error> {
        let op = "min";
        let values = self.detach().amin(Some(&[dim]), keepdim);
        let values = values.map_err(|error| error.in_op(op))?;
        let places = self.argmin(Some(dim), keepdim)?;
        let values = remember_places(values, op, self, dim, &places, keepdim)?;
        Ok((values, places))
    }

    /// The `k`-th least element along `dim`, counted from 1, and its place.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let (value, place) = Tensor::new([30, 10, 20])?.kthvalue(2, 0, false)?;
    /// assert_eq!((value.to_scalar::<i32>()?, place.to_scalar::<i64>()?), (20, 2));
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for a `k` that is 0 or beyond the size, a dtype error for complex numbers, an
    /// index error for a dimension out of range, a memory error.
    pub fn kthvalue(&self, k: isize, dim: isize, keepdim: bool) -> Result<(Self, Self), Error> {
        Call::begin(&KTHVALUE, &[self])?;
        let lines = AxisView::new(KTHVALUE.name, self, dim)?;
        if k < 1 || k as usize > lines.length() {
            return Err(bad_rank(
                KTHVALUE.name,
                k,
                "1 up to the size of the dimension",
            ));
        }
        let task = Order::Nth(Rank::Place(k as usize - 1));
        self.chosen(&KTHVALUE, &lines, task, dim, keepdim)
    }

    /// The middle element along `dim` in order, and its place. Of an even number of elements it is
    /// the lower of the two in the middle, so that it is one of them in every dtype; NaN if there is
    /// one.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::from_slice(&[4_u8, 1, 3, 2], &[4])?;
    /// assert_eq!(x.median(0, false)?.0.to_vec::<u8>()?, [2]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for no elements, a dtype error for complex numbers, an index error for a
    /// dimension out of range, a memory error.
    pub fn median(&self, dim: isize, keepdim: bool) -> Result<(Self, Self), Error> {
        self.middle(&MEDIAN, Rank::Median, dim, keepdim)
    }

    /// The middle element along `dim` of those that are not NaN, as [`median`](Self::median); NaN
    /// if there are no others.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let (value, place) = Tensor::new([f64::NAN, 3.0, 1.0, 2.0])?.nanmedian(0, false)?;
    /// assert_eq!((value.to_scalar::<f64>()?, place.to_scalar::<i64>()?), (2.0, 3));
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`median`](Self::median).
    pub fn nanmedian(&self, dim: isize, keepdim: bool) -> Result<(Self, Self), Error> {
        self.middle(&NANMEDIAN, Rank::NanMedian, dim, keepdim)
    }

    /// The [`median`](Self::median) of all elements; NaN of no floats.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// assert_eq!(Tensor::new([[3, 1, 2]])?.median_of_all()?.to_scalar::<i32>()?, 2);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for no integers, a dtype error for complex numbers, a memory error.
    pub fn median_of_all(&self) -> Result<Self, Error> {
        self.middle_of_all(&MEDIAN, Rank::Median)
    }

    /// The [`nanmedian`](Self::nanmedian) of all elements; NaN of no floats.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([f64::NAN, 3.0, 1.0, 2.0])?;
    /// assert_eq!(x.nanmedian_of_all()?.to_scalar::<f64>()?, 2.0);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`median_of_all`](Self::median_of_all).
    pub fn nanmedian_of_all(&self) -> Result<Self, Error> {
        self.middle_of_all(&NANMEDIAN, Rank::NanMedian)
    }

    fn middle(
        &self,
        row: &Structured,
        rank: Rank,
        dim: isize,
        keepdim: bool,
    ) -> Result<(Self, Self), Error> {
        Call::begin(row, &[self])?;
        self.one_of_lines(row, Order::Nth(rank), dim, keepdim)
    }

    fn middle_of_all(&self, row: &Structured, rank: Rank) -> Result<Self, Error> {
        Call::begin(row, &[self])?;
        if self.count() == 0 && self.dtype().kind() == Kind::Float {
            return self.new_full(&[], f64::NAN, self.dtype());
        }
        let flat = self.ravel()?;
        Ok(flat.one_of_lines(row, Order::Nth(rank), 0, false)?.0)
    }

    /// The one element that a task chooses from every line, which must have some.
    fn one_of_lines(
        &self,
        row: &Structured,
        task: Order,
        dim: isize,
        keepdim: bool,
    ) -> Result<(Self, Self), Error> {
        let lines = AxisView::new(row.name, self, dim)?;
        lines.need_elements()?;
        self.chosen(row, &lines, task, dim, keepdim)
    }

    fn chosen(
        &self,
        row: &Structured,
        lines: &AxisView,
        task: Order,
        dim: isize,
        keepdim: bool,
    ) -> Result<(Self, Self), Error> {
        let (values, places) = lines.choose_one(task, keepdim)?;
        let values = remember_places(values, row.name, self, dim, &places, keepdim)?;
        Ok((values, places))
    }

    /// The most frequent element along `dim`, the least of several, and its last place. Each NaN is
    /// unlike any other.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let (value, _) = Tensor::new([3, 1, 3])?.mode(0, false)?;
    /// assert_eq!(value.to_scalar::<i32>()?, 3);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`median`](Self::median).
    pub fn mode(&self, dim: isize, keepdim: bool) -> Result<(Self, Self), Error> {
        Call::begin(&MODE, &[self])?;
        self.one_of_lines(&MODE, Order::Mode, dim, keepdim)
    }
}

#[cold]
fn bad_rank(op: &'static str, k: isize, accepted: &'static str) -> Error {
    let problem = Problem::OutOfRange {
        what: "k",
        index: None,
        value: k.to_string(),
        accepted,
    };
    Error::new(op, problem)
}
