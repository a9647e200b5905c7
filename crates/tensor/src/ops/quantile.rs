//! Elements at fractions of the order along a dimension.

use std::str::FromStr;

use allotrope_cpu::kernel::sort::sort;
use allotrope_dtype::{DType, Error, Problem};
use allotrope_op::structured::Structured;
use allotrope_op::structured::order::{NANQUANTILE, QUANTILE};

use super::lines::Lines;
use crate::{Index, Tensor};

/// What stands between two neighbours in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QuantileInterpolation {
    /// The point as far between them as the fraction is.
    #[default]
    Linear,
    /// The lower one.
    Lower,
    /// The higher one.
    Higher,
    /// The point halfway.
    Midpoint,
    /// The nearer one; of both the one with the even place.
    Nearest,
}

impl FromStr for QuantileInterpolation {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Ok(match name {
            "linear" => Self::Linear,
            "lower" => Self::Lower,
            "higher" => Self::Higher,
            "midpoint" => Self::Midpoint,
            "nearest" => Self::Nearest,
            _ => {
                let problem = Problem::UnknownOption {
                    what: "interpolation",
                    given: name.to_owned(),
                    accepted: "linear, lower, higher, midpoint, nearest".to_owned(),
                };
                return Err(Error::new(QUANTILE.name, problem));
            }
        })
    }
}

impl Tensor {
    /// The elements at fractions `q` of the order along `dim`, or of everything; NaN where there is
    /// one. Several fractions are the first dimension of the result. Interpolated in float64, and
    /// rounded once to the dtype; of integers to the default float.
    ///
    /// ```
    /// use allotrope_tensor::{QuantileInterpolation, Tensor};
    /// let x = Tensor::from_slice(&[4.0_f32, 1.0, 3.0, 2.0], &[4])?;
    /// let half = Tensor::from_slice(&[0.5_f64], &[])?;
    /// let middle = x.quantile(&half, None, false, QuantileInterpolation::Linear)?;
    /// assert_eq!(middle.to_vec::<f32>()?, [2.5]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for no elements, for fractions beyond 0 and 1 or of several dimensions, a dtype
    /// error for complex numbers, an index error for a dimension out of range, a memory error.
    pub fn quantile(
        &self,
        q: &Self,
        dim: Option<isize>,
        keepdim: bool,
        interpolation: QuantileInterpolation,
    ) -> Result<Self, Error> {
        self.fractions(&QUANTILE, q, dim, keepdim, interpolation)
    }

    /// [`quantile`](Self::quantile) of the elements that are not NaN.
    ///
    /// # Errors
    /// As [`quantile`](Self::quantile).
    pub fn nanquantile(
        &self,
        q: &Self,
        dim: Option<isize>,
        keepdim: bool,
        interpolation: QuantileInterpolation,
    ) -> Result<Self, Error> {
        self.fractions(&NANQUANTILE, q, dim, keepdim, interpolation)
    }

    fn fractions(
        &self,
        row: &Structured,
        q: &Self,
        dim: Option<isize>,
        keepdim: bool,
        interpolation: QuantileInterpolation,
    ) -> Result<Self, Error> {
        let op = row.name;
        let result = row.result(self.dtype())?;
        let fractions = read_fractions(op, q)?;
        let Some(dim) = dim else {
            let flat = self.ravel()?;
            let found = flat.fractions(row, q, Some(0), false, interpolation)?;
            if !keepdim {
                return Ok(found);
            }
            let sizes: Vec<isize> = q.shape().iter().map(|size| *size as isize).collect();
            return found.reshape(&[sizes, vec![1; self.rank()]].concat());
        };
        let lines = Lines::new(op, self, dim)?;
        lines.need_elements()?;
        let (length, count) = (lines.length(), lines.count());
        let mut sorted = lines.room(length, self.dtype())?;
        sort(
            self.dtype(),
            lines.bytes(),
            length,
            false,
            &mut sorted,
            &mut [],
        )?;
        let sizes = [count as isize, length as isize];
        let sorted = lines.finish_flat(sorted, self.dtype())?.reshape(&sizes)?;
        let numbers = sorted.eq(&sorted)?.sum(Some(&[1]), false, None)?;
        let numbers = numbers.to_vec::<i64>()?;
        // The places of the neighbours, and how far between them.
        let (mut low, mut high, mut shares) = (Vec::new(), Vec::new(), Vec::new());
        for fraction in &fractions {
            for (line, numbers) in numbers.iter().enumerate() {
                let whole = *numbers as usize == length;
                let rank = if *numbers > 0 && (whole || row == &NANQUANTILE) {
                    fraction * (numbers - 1) as f64
                } else {
                    (length - 1) as f64
                };
                let start = line * length;
                low.push((start + rank.floor() as usize) as i64);
                high.push((start + rank.ceil() as usize) as i64);
                shares.push((rank - rank.floor(), rank));
            }
        }
        let flat = sorted.ravel()?;
        let pick = |places: &[i64]| -> Result<Vec<f64>, Error> {
            let places = Self::from_slice(places, &[places.len()])?;
            flat.index(&[Index::Array(places)])?
                .to(DType::F64)?
                .to_vec()
        };
        let (low, high) = (pick(&low)?, pick(&high)?);
        let between = low
            .iter()
            .zip(&high)
            .zip(&shares)
            .map(|((low, high), (share, rank))| {
                let is_low = match interpolation {
                    // Equal infinities have no distance.
                    QuantileInterpolation::Linear if *share > 0.0 && low != high => {
                        return low + (high - low) * share;
                    }
                    QuantileInterpolation::Midpoint if *share > 0.0 && low != high => {
                        return low + (high - low) * 0.5;
                    }
                    QuantileInterpolation::Higher => false,
                    QuantileInterpolation::Nearest => rank.round_ties_even() == rank.floor(),
                    _ => true,
                };
                if is_low { *low } else { *high }
            });
        let values: Vec<f64> = between.collect();
        let found = Self::from_slice(&values, &[fractions.len(), count])?.to(result)?;
        // Back to the shape without the dimension, the fractions before it.
        let mut sizes = lines.kept_sizes(keepdim);
        if q.rank() == 1 {
            sizes.insert(0, fractions.len() as isize);
        }
        found.reshape(&sizes)
    }
}

fn read_fractions(op: &'static str, q: &Tensor) -> Result<Vec<f64>, Error> {
    if q.rank() > 1 {
        let (given, most) = (q.rank(), 1);
        return Err(Error::new(op, Problem::TooManyDimensions { given, most }));
    }
    let fractions: Vec<f64> = q
        .to(DType::F64)
        .map_err(|error| error.in_op(op))?
        .to_vec()?;
    if let Some(index) = fractions.iter().position(|q| !(0.0..=1.0).contains(q)) {
        let problem = Problem::OutOfRange {
            what: "q",
            index: (q.rank() > 0).then_some(index),
            value: fractions[index].to_string(),
            accepted: "fractions from 0 to 1",
        };
        return Err(Error::new(op, problem));
    }
    Ok(fractions)
}
