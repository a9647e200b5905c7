//! Complex numbers and their parts: `complex`, `polar`, `view_as_real`, `view_as_complex`.

use allotrope_dtype::{DType, Error, Set, WeakScalar, c128};
use smallvec::smallvec;

use super::operands::wrong_shape;
use crate::autograd::is_recorded;
use crate::call;
use crate::transfer::gathered;
use crate::{Index, Tensor};

impl Tensor {
    /// Complex numbers of real and imaginary parts, which are broadcast together and promoted; every
    /// bit of both stays.
    ///
    /// ```
    /// use allotrope_dtype::c64;
    /// use allotrope_tensor::Tensor;
    /// let re = Tensor::from_slice(&[1.0_f32], &[1])?;
    /// assert_eq!(re.complex(&re)?.to_vec::<c64>()?, [c64::new(1.0, 1.0)]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error where promotion refuses, a value error for shapes that do not broadcast, a
    /// memory error.
    pub fn complex(&self, imag: &Self) -> Result<Self, Error> {
        if let Some((x, imag)) = gathered((self, imag))? {
            return x.complex(&imag);
        }
        let joined = join_parts(&self.detach(), &imag.detach());
        let joined = joined.map_err(|error| error.in_op("complex"))?;
        if !is_recorded(&[self, imag]) {
            return Ok(joined.inherit(&[self, imag]));
        }
        joined.with_rule("complex", &[self, imag], |pass| {
            let gradient = pass.gradient()?;
            Ok(smallvec![
                pass.give(0, || gradient.real())?,
                pass.give(1, || gradient.imag())?,
            ])
        })
    }

    /// Complex numbers of magnitudes and angles, as [`complex`](Self::complex).
    ///
    /// ```
    /// use allotrope_tensor::{Tensor, c128};
    /// let x = Tensor::new([2.0])?.polar(&Tensor::new([0.0])?)?;
    /// assert_eq!(x, Tensor::new([c128::new(2.0, 0.0)])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`complex`](Self::complex); a dtype error unless both are floats.
    pub fn polar(&self, angle: &Self) -> Result<Self, Error> {
        if let Some((x, angle)) = gathered((self, angle))? {
            return x.polar(&angle);
        }
        let op = "polar";
        for part in [self, angle] {
            if !part.dtype().is_floating_point() {
                return Err(Error::not_in_set(op, part.dtype(), Set::Float, None));
            }
        }
        // Rounded once: products of halves are formed in float32, and what meets before it turns.
        let common = call::common_dtype(op, [self, angle])?;
        let wide = |x: &Self| x.to(common)?.to(common.compute());
        let (size, angle) = (wide(self)?, wide(angle)?);
        let parts = [size.mul(&angle.cos()?)?, size.mul(&angle.sin()?)?];
        parts[0].complex(&parts[1]).map_err(|error| error.in_op(op))
    }

    /// The real parts where they lie, a view; real numbers are their own.
    ///
    /// ```
    /// use allotrope_tensor::{Tensor, c64};
    /// let x = Tensor::new([c64::new(1.0, 2.0)])?;
    /// assert_eq!(x.real_view()?, Tensor::new([1.0_f32])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// None that a user can cause.
    pub fn real_view(&self) -> Result<Self, Error> {
        if self.dtype().is_complex() {
            return self.view_as_real()?.select(-1, 0);
        }
        Ok(self.clone())
    }

    /// The imaginary parts where they lie, a view; zeros for real numbers.
    ///
    /// ```
    /// use allotrope_tensor::{Tensor, c64};
    /// let x = Tensor::new([c64::new(1.0, 2.0)])?;
    /// assert_eq!(x.imag_view()?, Tensor::new([2.0_f32])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A memory error.
    pub fn imag_view(&self) -> Result<Self, Error> {
        if self.dtype().is_complex() {
            return self.view_as_real()?.select(-1, 1);
        }
        self.imag()
    }

    /// The real and imaginary parts of complex numbers along a new last dimension of two, a view.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::ones(&[1], DType::C64)?;
    /// assert_eq!(x.view_as_real()?.to_vec::<f32>()?, [1.0, 0.0]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error for real numbers, a memory error.
    pub fn view_as_real(&self) -> Result<Self, Error> {
        let op = "view_as_real";
        if !self.dtype().is_complex() {
            let (set, hint) = (Set::Complex, Some("x.to(complex64)"));
            return Err(Error::not_in_set(op, self.dtype(), set, hint));
        }
        let plain = self.detach().unsqueeze(-1)?;
        let parts = plain.view_dtype(self.dtype().to_real())?;
        parts.with_rule(op, &[self], |pass| {
            let gradient = pass.gradient()?;
            Ok(smallvec![Some(together(&gradient)?)])
        })
    }

    /// Complex numbers of the pairs along the last dimension: a view where they lie side by side,
    /// else a copy.
    ///
    /// ```
    /// use allotrope_tensor::{Tensor, c64};
    /// let x = Tensor::new([[1.0_f32, 2.0]])?;
    /// assert_eq!(x.view_as_complex()?, Tensor::new([c64::new(1.0, 2.0)])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error unless the parts are float32 or float64, a value error unless the last dimension
    /// has two, a memory error.
    pub fn view_as_complex(&self) -> Result<Self, Error> {
        let op = "view_as_complex";
        let dtype = self.dtype();
        if !matches!(dtype, DType::F32 | DType::F64) {
            let hint = Some("x.to(float32)");
            return Err(Error::not_in_set(op, dtype, Set::Float, hint));
        }
        if self.shape().last() != Some(&2) {
            return Err(wrong_shape(op, "input", self, "one that ends in 2"));
        }
        let plain = self.detach();
        let numbers = match plain.view_dtype(dtype.to_complex()) {
            Ok(view) => view,
            Err(_) => plain
                .contiguous()?
                .copied()?
                .view_dtype(dtype.to_complex())?,
        };
        numbers
            .squeeze(Some(&[-1]))?
            .with_rule(op, &[self], |pass| {
                Ok(smallvec![Some(pass.gradient()?.view_as_real()?)])
            })
    }
}

/// Pairs along the last dimension as complex numbers.
fn together(pairs: &Tensor) -> Result<Tensor, Error> {
    pairs.select(-1, 0)?.complex(&pairs.select(-1, 1)?)
}

/// The parts side by side, read as complex numbers: `re + i im` would lose infinities and -0.
fn join_parts(re: &Tensor, im: &Tensor) -> Result<Tensor, Error> {
    let unit = WeakScalar::Complex(c128::new(0.0, 1.0));
    let sum = im.mul(unit)?.add(re)?;
    let (dtype, rank) = (sum.dtype(), sum.rank() as isize);
    let mut sizes = sum.shape().to_vec();
    sizes.push(2);
    let mut parts = sum.new_zeros(&sizes, dtype.to_real())?;
    for (place, part) in [re, im].into_iter().enumerate() {
        let key = [Index::Ellipsis, Index::At(place as isize)];
        parts.assign(&key, &part.to(dtype.to_real())?)?;
    }
    parts.view_dtype(dtype)?.squeeze(Some(&[rank]))
}
