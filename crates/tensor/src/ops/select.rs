//! A few elements of each line by their rank, without sorting the rest.

use allotrope_cpu::kernel::sort::{Rank, mode, nth, topk};
use allotrope_dtype::{DType, Error, Kind, Problem};
use allotrope_op::structured::Structured;
use allotrope_op::structured::order::{KTHVALUE, MEDIAN, MODE, NANMEDIAN, TOPK};

use super::axis_view::{AxisView, remember_places};
use crate::Tensor;
use crate::call;

impl Tensor {
    /// The `k` greatest (or least) elements along `dim`, and their places; of equals the earliest.
    /// In order if `sorted`. NaN is the greatest.
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
        let dtype = call::result_dtype(&TOPK, self.dtype())?;
        let lines = AxisView::new(TOPK.name, self, dim)?;
        let length = lines.length();
        if k > length {
            return Err(bad_rank(
                TOPK.name,
                k as isize,
                "0 up to the size of the dimension",
            ));
        }
        let mut values = lines.room(k, dtype)?;
        let mut places = lines.room(k, DType::I64)?;
        let (bytes, to) = (lines.bytes(), places.elements_mut());
        topk(dtype, bytes, length, k, largest, sorted, &mut values, to)?;
        let values = lines.finish(values, k, dtype)?;
        let places = lines.finish(places, k, DType::I64)?;
        let values = remember_places(values, TOPK.name, self, dim, &places, true)?;
        Ok((values, places))
    }

    /// The `k`-th least element along `dim`, counted from 1, and its place.
    ///
    /// # Errors
    /// A value error for a `k` that is 0 or beyond the size, a dtype error for complex numbers, an
    /// index error for a dimension out of range, a memory error.
    pub fn kthvalue(&self, k: isize, dim: isize, keepdim: bool) -> Result<(Self, Self), Error> {
        call::result_dtype(&KTHVALUE, self.dtype())?;
        let lines = AxisView::new(KTHVALUE.name, self, dim)?;
        if k < 1 || k as usize > lines.length() {
            return Err(bad_rank(
                KTHVALUE.name,
                k,
                "1 up to the size of the dimension",
            ));
        }
        self.ranked(&KTHVALUE, &lines, Rank::Place(k as usize - 1), dim, keepdim)
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
    /// # Errors
    /// As [`median`](Self::median).
    pub fn nanmedian(&self, dim: isize, keepdim: bool) -> Result<(Self, Self), Error> {
        self.middle(&NANMEDIAN, Rank::NanMedian, dim, keepdim)
    }

    /// The [`median`](Self::median) of all elements; NaN of no floats.
    ///
    /// # Errors
    /// A value error for no integers, a dtype error for complex numbers, a memory error.
    pub fn median_of_all(&self) -> Result<Self, Error> {
        self.middle_of_all(&MEDIAN, Rank::Median)
    }

    /// The [`nanmedian`](Self::nanmedian) of all elements; NaN of no floats.
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
        call::result_dtype(row, self.dtype())?;
        let lines = AxisView::new(row.name, self, dim)?;
        lines.need_elements()?;
        self.ranked(row, &lines, rank, dim, keepdim)
    }

    fn middle_of_all(&self, row: &Structured, rank: Rank) -> Result<Self, Error> {
        call::result_dtype(row, self.dtype())?;
        if self.count() == 0 && self.dtype().kind() == Kind::Float {
            return Self::full(&[], f64::NAN, self.dtype());
        }
        Ok(self.ravel()?.middle(row, rank, 0, false)?.0)
    }

    fn ranked(
        &self,
        row: &Structured,
        lines: &AxisView,
        rank: Rank,
        dim: isize,
        keepdim: bool,
    ) -> Result<(Self, Self), Error> {
        let dtype = self.dtype();
        let mut values = lines.room(1, dtype)?;
        let mut places = lines.room(1, DType::I64)?;
        let (bytes, to) = (lines.bytes(), places.elements_mut());
        nth(dtype, bytes, lines.length(), rank, &mut values, to)?;
        let values = lines.finish_one(values, dtype, keepdim)?;
        let places = lines.finish_one(places, DType::I64, keepdim)?;
        let values = remember_places(values, row.name, self, dim, &places, keepdim)?;
        Ok((values, places))
    }

    /// The most frequent element along `dim`, the least of several, and its last place. Each NaN is
    /// unlike any other.
    ///
    /// # Errors
    /// As [`median`](Self::median).
    pub fn mode(&self, dim: isize, keepdim: bool) -> Result<(Self, Self), Error> {
        let dtype = call::result_dtype(&MODE, self.dtype())?;
        let lines = AxisView::new(MODE.name, self, dim)?;
        lines.need_elements()?;
        let mut values = lines.room(1, dtype)?;
        let mut places = lines.room(1, DType::I64)?;
        let (bytes, to) = (lines.bytes(), places.elements_mut());
        mode(dtype, bytes, lines.length(), &mut values, to)?;
        let values = lines.finish_one(values, dtype, keepdim)?;
        let places = lines.finish_one(places, DType::I64, keepdim)?;
        let values = remember_places(values, MODE.name, self, dim, &places, keepdim)?;
        Ok((values, places))
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
