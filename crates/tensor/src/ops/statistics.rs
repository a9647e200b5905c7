//! Sums and means without NaN, covariances, and parts scaled to a norm.

use allotrope_dtype::{DType, Error, Set};
use allotrope_op::Fold;
use allotrope_op::structured::Structured;
use allotrope_op::structured::order::{CORRCOEF, COV, NANMEAN, NANSUM, RENORM};
use allotrope_op::task::values::Refusal;
use allotrope_op::{Builder, Program, normalize_axis};

use super::operands::{Working, conjugate, out_of_range, refuse, signed, wrong_shape};
use crate::Tensor;
use crate::call::Call;
use crate::elementwise::evaluate_one;
use crate::reduce::Plan;
use crate::transfer::gathered;

impl Tensor {
    /// The sum along axes, or of everything, of what is not NaN; 0 of nothing.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::from_slice(&[1.0_f32, f32::NAN, 2.0], &[3])?;
    /// assert_eq!(x.nansum(None, false, None)?.to_vec::<f32>()?, [3.0]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error for complex numbers, an index error for an axis out of range, a memory error.
    pub fn nansum(
        &self,
        axes: Option<&[isize]>,
        keepdim: bool,
        dtype: Option<DType>,
    ) -> Result<Self, Error> {
        let result = Call::begin(&NANSUM, &[self])?.result;
        let result = self.nan_result(&NANSUM, dtype, result)?;
        if !self.dtype().is_floating_point() {
            let total = self.sum(axes, keepdim, dtype);
            return total.map_err(|error| error.in_op(NANSUM.name));
        }
        let plan = Plan::new(NANSUM.name, self, axes)?;
        plan.finish(self.known_sum(&NANSUM, &plan, dtype)?.to(result)?, keepdim)
    }

    /// The mean along axes, or of everything, of what is not NaN; NaN of nothing.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([1.0, f64::NAN, 3.0])?;
    /// assert_eq!(x.nanmean(None, false, None)?.to_scalar::<f64>()?, 2.0);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`nansum`](Self::nansum); a dtype error if `dtype` is an integer.
    pub fn nanmean(
        &self,
        axes: Option<&[isize]>,
        keepdim: bool,
        dtype: Option<DType>,
    ) -> Result<Self, Error> {
        let op = NANMEAN.name;
        let result = Call::begin(&NANMEAN, &[self])?.result;
        if let Some(dtype) = dtype.filter(|d| !Set::Inexact.contains(*d)) {
            return Err(Error::not_in_set(op, dtype, Set::Inexact, None));
        }
        let result = self.nan_result(&NANMEAN, dtype, result)?;
        if !self.dtype().is_floating_point() {
            let mean = self.mean(axes, keepdim, dtype);
            return mean.map_err(|error| error.in_op(op));
        }
        let plan = Plan::new(op, self, axes)?;
        let total = self.known_sum(&NANMEAN, &plan, dtype)?;
        let builder = Builder::new(&[self.dtype()]);
        let x = builder.input(0).to(self.working_float());
        let is_known = x.isnan().pick(x.zero(), x.one());
        let program = builder.finish(&[is_known]);
        let known = plan.fold(op, Fold::Sum, &program, &[&self.detach()], self.shape())?;
        plan.finish(total.div(&known)?.to(result)?, keepdim)
    }

    fn nan_result(
        &self,
        row: &Structured,
        asked: Option<DType>,
        usual: DType,
    ) -> Result<DType, Error> {
        match asked {
            None => Ok(usual),
            Some(dtype) => self.check_cast(row.name, dtype).map(|()| dtype),
        }
    }

    /// The sum of what is not NaN, wide.
    fn known_sum(
        &self,
        row: &Structured,
        plan: &Plan,
        dtype: Option<DType>,
    ) -> Result<Self, Error> {
        let through = dtype.unwrap_or(self.dtype());
        let program = known(self.dtype(), through, Fold::Sum.item(through));
        plan.fold(row.name, Fold::Sum, &program, &[self], self.shape())
    }

    /// The covariances of the rows of a matrix, whose columns are observations, or the variance of a
    /// vector: sums of products of distances from the mean over the count minus `correction`. An
    /// observation counts `fweights` times, and by `aweights`, whose dtype is promoted with that of
    /// the numbers.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::from_slice(&[0.0_f32, 1.0, 2.0, 2.0, 1.0, 0.0], &[2, 3])?;
    /// assert_eq!(x.cov(1.0, None, None)?.to_vec::<f32>()?, [1.0, -1.0, -1.0, 1.0]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error for weights of a wrong kind, a value error for more than two dimensions or
    /// weights that do not fit or are negative, a memory error.
    pub fn cov(
        &self,
        correction: f64,
        fweights: Option<&Self>,
        aweights: Option<&Self>,
    ) -> Result<Self, Error> {
        if let Some((x, fweights, aweights)) = gathered((self, fweights, aweights))? {
            return x.cov(correction, fweights.as_ref(), aweights.as_ref());
        }
        let tensors: Vec<&Self> = [self].into_iter().chain(aweights).collect();
        let working = Working::of(&COV, &tensors)?;
        let covariances = self.wide_cov(&COV, working, correction, fweights, aweights)?;
        covariances.to(working.result)
    }

    /// The correlations of the rows of a matrix: their covariances, divided by the deviations of
    /// both, within 1 of zero.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])?;
    /// let wanted = Tensor::new([[1.0, -1.0], [-1.0, 1.0]])?;
    /// assert!(x.corrcoef()?.allclose(&wanted, 1e-12, 0.0, false)?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for more than two dimensions, a memory error.
    pub fn corrcoef(&self) -> Result<Self, Error> {
        let working = Working::of(&CORRCOEF, &[self])?;
        let covariances = self.wide_cov(&CORRCOEF, working, 1.0, None, None)?;
        if covariances.rank() == 0 {
            return covariances.div(&covariances)?.to(working.result);
        }
        let variances = covariances.diagonal(0, 0, 1)?;
        let variances = if variances.dtype().is_complex() {
            variances.real()?
        } else {
            variances
        };
        let deviations = variances.sqrt()?;
        let shares = covariances.div(&deviations.unsqueeze(1)?)?;
        let shares = shares.div(&deviations.unsqueeze(0)?)?;
        if shares.dtype().is_complex() {
            let part = |part: Self| part.clamp(-1.0, 1.0);
            let within = part(shares.real()?)?.complex(&part(shares.imag()?)?)?;
            return within.to(working.result);
        }
        shares.clamp(-1.0, 1.0)?.to(working.result)
    }

    /// Covariances in float64 or complex128.
    fn wide_cov(
        &self,
        row: &Structured,
        working: Working,
        correction: f64,
        fweights: Option<&Self>,
        aweights: Option<&Self>,
    ) -> Result<Self, Error> {
        let op = row.name;
        if self.rank() > 2 {
            return Err(wrong_shape(
                op,
                "input",
                self,
                "one of up to two dimensions",
            ));
        }
        let rows = match self.rank() {
            2 => self.clone(),
            _ => self.reshape(&signed(&[1, self.count()]))?,
        };
        let rows = rows.to(working.result)?;
        let wide = rows.working_float();
        let (is_single, count) = (rows.shape()[0] == 1, rows.shape()[1]);
        let weights = weights(op, count, fweights, aweights, wide.to_real())?;
        let (mean, norm) = match &weights {
            None => {
                let norm = (count as f64 - correction).max(0.0);
                (
                    rows.mean(Some(&[1]), true, Some(wide))?,
                    self.new_full(&[], norm, wide.to_real())?,
                )
            }
            Some(weights) => {
                let total = weights.sum(None, false, None)?;
                let mean = rows
                    .to(wide)?
                    .mul(weights)?
                    .sum(Some(&[1]), true, None)?
                    .div(&total)?;
                let norm = match aweights {
                    Some(aweights) if correction != 0.0 => {
                        let squares = weights.mul(&aweights.to(wide.to_real())?)?;
                        let part = squares.sum(None, false, None)?.div(&total)?;
                        total.sub(&part.mul(correction)?)?
                    }
                    _ => total.sub(correction)?,
                };
                (mean, norm.maximum(0.0)?)
            }
        };
        // Wide numbers exist as distances and as their products, and not a third time.
        let builder = Builder::new(&[rows.dtype(), wide]);
        let program = builder.finish(&[builder.input(0).to(wide) - builder.input(1)]);
        let away = evaluate_one(op, &program, &[&rows, &mean])?;
        let weighted = match &weights {
            None => away.clone(),
            Some(weights) => away.mul(weights)?,
        };
        let products = weighted.matmul(&conjugate(&away)?.transpose(0, 1)?)?;
        drop((away, weighted));
        let covariances = products.div(&norm)?;
        if is_single {
            return covariances.reshape(&[]);
        }
        Ok(covariances)
    }

    /// The tensor with each part along `dim` whose norm of order `p` is above `maxnorm` scaled down
    /// to it.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::from_slice(&[3.0_f64, 4.0, 0.6, 0.8], &[2, 2])?;
    /// let y = x.renorm(2.0, 0, 1.0)?.to_vec::<f64>()?;
    /// assert!((y[0] - 0.6).abs() < 1e-6 && y[2] == 0.6);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// An index error for a dimension out of range, a value error for less than two dimensions, an
    /// order that is not positive or a negative norm, a memory error.
    pub fn renorm(&self, p: f64, dim: isize, maxnorm: f64) -> Result<Self, Error> {
        /// What torch adds to a norm that it divides by.
        const LEAST: f64 = 1e-7;
        let op = RENORM.name;
        let working = Working::of(&RENORM, &[self])?;
        let axis = normalize_axis(op, dim, self.rank())?;
        if self.rank() < 2 {
            return Err(wrong_shape(
                op,
                "input",
                self,
                "one of two or more dimensions",
            ));
        }
        if p.is_nan() || p <= 0.0 {
            return Err(out_of_range(op, "p", p, "above 0"));
        }
        if maxnorm.is_nan() || maxnorm < 0.0 {
            return Err(out_of_range(op, "maxnorm", maxnorm, "0 and above"));
        }
        if self.count() == 0 {
            return self.to(working.result);
        }
        // bounded: one per dimension.
        let others = (0..self.rank()).filter(|other| *other != axis);
        // bounded: one per dimension.
        let others: Vec<isize> = others.map(|other| other as isize).collect();
        let numbers = self.to(working.result)?.to(working.compute)?;
        let norms = numbers.norm(p, Some(&others), true)?;
        let builder = Builder::new(&[working.compute, norms.dtype()]);
        let (x, norm) = (builder.input(0), builder.input(1));
        let scale = (norm.lit(maxnorm) / (norm + LEAST)).to(working.compute);
        let value = norm.gt(norm.lit(maxnorm)).pick(x * scale, x);
        let program = builder.finish(&[value.to(working.result)]);
        evaluate_one(op, &program, &[&numbers, &norms])
    }
}

/// What is not NaN, and zero for what is.
fn known(from: DType, through: DType, item: DType) -> Program {
    let builder = Builder::new(&[from]);
    let x = builder.input(0);
    let is_unknown = x.to(from.compute()).isnan();
    let x = x.to(through).to(item);
    let known = is_unknown.pick(x.zero(), x);
    builder.finish(&[known])
}

/// The weights of observations in float64.
fn weights(
    op: &'static str,
    count: usize,
    fweights: Option<&Tensor>,
    aweights: Option<&Tensor>,
    wide: DType,
) -> Result<Option<Tensor>, Error> {
    let mut product: Option<Tensor> = None;
    for (what, weights, set) in [
        ("fweights", fweights, Set::Integer),
        ("aweights", aweights, Set::Float),
    ] {
        let Some(weights) = weights else { continue };
        if !set.contains(weights.dtype()) {
            return Err(Error::not_in_set(op, weights.dtype(), set, None));
        }
        if weights.shape()[..] != [count] {
            return Err(wrong_shape(op, what, weights, format!("[{count}]")));
        }
        let refusal = Refusal {
            what,
            value: Some("a negative number"),
            first: None,
            accepted: "0 and above",
        };
        let is_negative = weights.detach().lt(0)?.any(None, false)?;
        refuse(op, refusal, &is_negative, None)?;
        let weights = weights.to(wide)?;
        product = Some(match product {
            None => weights,
            Some(product) => product.mul(&weights)?,
        });
    }
    Ok(product)
}
