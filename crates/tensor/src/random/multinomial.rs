//! Indices drawn by weights.

use allotrope_dtype::{DType, Error};
use allotrope_op::Shape;
use allotrope_op::task::Sampling;

use super::parameters::{last_size, real};
use super::{Place, draw_by_task};
use crate::{Generator, Tensor};

impl Tensor {
    /// Indices into the last dimension, drawn by the weights that stand there, which need not sum up
    /// to one: int64, `count` of them in its place. Without replacement no index is drawn twice, and
    /// they are in the order of the draws.
    ///
    /// ```
    /// use allotrope_tensor::{Generator, Tensor};
    /// let weights = Tensor::from_slice(&[0.0_f32, 1.0, 0.0, 2.0], &[2, 2])?;
    /// let x = weights.multinomial(3, true, Some(&Generator::new(0)))?;
    /// assert_eq!(x.to_vec::<i64>()?, [1; 6]);
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error for complex weights, an index error without dimensions, a value error for
    /// weights that are negative, infinite or NaN, and for more indices than there are positive
    /// weights; a memory error.
    pub fn multinomial(
        &self,
        count: usize,
        replacement: bool,
        generator: Option<&Generator>,
    ) -> Result<Self, Error> {
        let op = "multinomial";
        last_size(op, self)?;
        let weights = real(op, self, self.shape())?;
        let mut sizes = self.shape().to_vec();
        if let Some(last) = sizes.last_mut() {
            *last = count;
        }
        let shape = Shape::new(op, &sizes)?;
        let taken = match (shape.count(), replacement) {
            (0, _) => 0,
            (indices, true) => indices,
            (_, false) => self.count(),
        };
        let place = Place::take(generator, taken);
        let task = Sampling::Multinomial {
            samples: count,
            replacement,
            stream: place.stream,
        };
        draw_by_task(
            self.backend(),
            op,
            place,
            task,
            &[&weights],
            DType::I64,
            shape,
        )
    }
}
