//! `rrelu`: numbers below 0 become random parts of themselves.

use allotrope_dtype::Error;
use allotrope_op::Builder;
use allotrope_op::structured::neural::RRELU;

use super::operands::{Working, out_of_range};
use crate::elementwise::evaluate_one;
use crate::{Generator, Tensor};

impl Tensor {
    /// The number, or below 0 a part of it: a random one from `lower` to `upper` for each in
    /// `training`, else their mean.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([-1.0, 2.0])?;
    /// assert_eq!(x.rrelu(0.25, 0.75, false, None)?, Tensor::new([-0.5, 2.0])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error for complex numbers, a value error for bounds in the wrong order, a memory
    /// error.
    pub fn rrelu(
        &self,
        lower: f64,
        upper: f64,
        training: bool,
        generator: Option<&Generator>,
    ) -> Result<Self, Error> {
        let op = RRELU.name;
        let working = Working::of(&RRELU, &[self])?;
        if !(lower <= upper && lower.is_finite() && upper.is_finite()) {
            let bounds = format!("{lower:?} to {upper:?}");
            let accepted = "a finite lower bound and one that is not below it";
            return Err(out_of_range(op, "bounds", bounds, accepted));
        }
        let dtypes = [self.dtype(), working.compute];
        let builder = Builder::new(&dtypes[..if training { 2 } else { 1 }]);
        let x = working.read(builder.input(0));
        let part = if training {
            builder.input(1)
        } else {
            x.lit(f64::midpoint(lower, upper))
        };
        let value = x.gt(x.zero()).pick(x, x * part);
        let program = builder.finish(&[value.to(working.result)]);
        if !training {
            return evaluate_one(op, &program, &[self]);
        }
        let wide = self.new_zeros(&[], working.wide(self).compute)?;
        let parts = wide
            .expand(self.shape())?
            .uniform_like(lower, upper, generator);
        let parts = parts
            .map_err(|error| error.in_op(op))?
            .to(working.compute)?;
        evaluate_one(op, &program, &[self, &parts])
    }
}
