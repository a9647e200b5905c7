//! `prelu`: numbers below zero times a slope, of all or of their channel.

use allotrope_dtype::{Error, Problem};

use crate::Tensor;

impl Tensor {
    /// The number, or a weight times it below 0: one weight for all, or one per channel, which is
    /// dimension 1.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[-1.0, -1.0]])?;
    /// assert_eq!(x.prelu(&Tensor::new([0.5, 0.25])?)?, Tensor::new([[-0.5, -0.25]])?);
    /// assert_eq!(
    ///     x.prelu(&Tensor::new([0.5, 0.25, 0.1])?).unwrap_err().to_string(),
    ///     "prelu: wrong shape of weight: [3]; accepted is [1] or [2], the number of channels"
    /// );
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for any other number of weights, otherwise as [`leaky_relu`](Self::leaky_relu).
    pub fn prelu(&self, weight: &Self) -> Result<Self, Error> {
        let result = self.leaky_relu(&self.prelu_slopes(weight)?);
        result.map_err(|error| error.in_op("prelu"))
    }

    /// The weights of [`prelu`](Self::prelu) as they are broadcast to this tensor.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let (x, weight) = (Tensor::ones((4, 3, 5), DType::F32)?, Tensor::ones(3, DType::F32)?);
    /// assert_eq!(x.prelu_slopes(&weight)?.shape(), [3, 1]);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`prelu`](Self::prelu).
    pub fn prelu_slopes(&self, weight: &Self) -> Result<Self, Error> {
        let channels = self.shape().get(1).copied().unwrap_or(1);
        match weight.rank() {
            0 => Ok(weight.clone()),
            1 if weight.count() == 1 => weight.reshape(()),
            1 if weight.count() == channels => {
                let mut sizes = vec![1; self.rank() - 1];
                sizes[0] = -1;
                weight.reshape(sizes)
            }
            _ => {
                let problem = Problem::WrongShape {
                    what: "weight",
                    given: weight.shape().to_vec(),
                    accepted: format!("[1] or [{channels}], the number of channels"),
                };
                Err(Error::new("prelu", problem))
            }
        }
    }
}
