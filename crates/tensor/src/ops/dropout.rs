//! Dropout: random elements or channels that give way to a constant.
//!
//! Which ones depends on the seed, the offset and the index alone, so that every device drops the
//! same.

use allotrope_dtype::{DType, Error};
use allotrope_op::structured::neural::{
    ALPHA_DROPOUT, DROPOUT, DROPOUT1D, DROPOUT2D, DROPOUT3D, FEATURE_ALPHA_DROPOUT,
};
use allotrope_op::{Builder, Structured};

use super::operands::{Working, out_of_range, wrong_shape};
use crate::elementwise::evaluate_one;
use crate::{Generator, Tensor};

/// The lower bound of `selu`.
const SELU_BOUND: f64 = -1.758_099_340_847_376_6;

/// What is dropped together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// Single elements.
    Element,
    /// All elements of a channel of an item.
    Channel,
}

impl Tensor {
    /// Zeros with probability `p`, and the other numbers divided by `1 - p`.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_tensor::{Generator, Tensor};
    /// let x = Tensor::ones(&[1000], DType::F32)?;
    /// let y = x.dropout(0.5, Some(&Generator::new(0)))?;
    /// assert!(y.to_vec::<f32>()?.iter().all(|y| *y == 0.0 || *y == 2.0));
    /// # Ok::<(), allotrope_dtype::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for a probability outside 0 to 1, a memory error.
    pub fn dropout(&self, p: f64, generator: Option<&Generator>) -> Result<Self, Error> {
        self.drop_units(&DROPOUT, Unit::Element, p, generator)
    }

    /// Zeros in the place of whole channels of `[N, C, L]` or `[C, L]`, each with probability `p`.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Generator, Tensor};
    /// let x = Tensor::ones((2, 3, 4), DType::F32)?.dropout1d(0.5, Some(&Generator::new(0)))?;
    /// assert_eq!(x.amax(Some(&[2]), false)?, x.amin(Some(&[2]), false)?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`dropout`](Self::dropout); a value error for another number of dimensions.
    pub fn dropout1d(&self, p: f64, generator: Option<&Generator>) -> Result<Self, Error> {
        self.drop_channels(&DROPOUT1D, 1, p, generator)
    }

    /// Zeros in the place of whole channels of `[N, C, H, W]` or `[C, H, W]`; of other shapes from two
    /// dimensions on the second are the channels, as torch has it.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Generator, Tensor};
    /// let x = Tensor::ones((2, 3, 4, 4), DType::F32)?.dropout2d(0.5, Some(&Generator::new(0)))?;
    /// assert_eq!(x.amax(Some(&[2, 3]), false)?, x.amin(Some(&[2, 3]), false)?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`dropout1d`](Self::dropout1d), for less than two dimensions.
    pub fn dropout2d(&self, p: f64, generator: Option<&Generator>) -> Result<Self, Error> {
        self.drop_channels(&DROPOUT2D, 2, p, generator)
    }

    /// Zeros in the place of whole channels of `[N, C, D, H, W]` or `[C, D, H, W]`; of other shapes as
    /// [`dropout2d`](Self::dropout2d).
    ///
    /// ```
    /// use allotrope_tensor::{DType, Generator, Tensor};
    /// let x = Tensor::ones((2, 3, 2, 2, 2), DType::F32)?.dropout3d(0.5, Some(&Generator::new(0)))?;
    /// assert_eq!(x.amax(Some(&[2, 3, 4]), false)?, x.amin(Some(&[2, 3, 4]), false)?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`dropout2d`](Self::dropout2d).
    pub fn dropout3d(&self, p: f64, generator: Option<&Generator>) -> Result<Self, Error> {
        self.drop_channels(&DROPOUT3D, 3, p, generator)
    }

    /// The lower bound of `selu` in the place of random numbers, all scaled and moved so that mean 0
    /// and variance 1 stay.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Generator, Tensor};
    /// let x = Tensor::randn(1000, DType::F32, Some(&Generator::new(0)))?;
    /// let y = x.alpha_dropout(0.2, Some(&Generator::new(1)))?;
    /// assert!((y.std_all()?.to_scalar::<f32>()? - 1.0).abs() < 0.2);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`dropout`](Self::dropout).
    pub fn alpha_dropout(&self, p: f64, generator: Option<&Generator>) -> Result<Self, Error> {
        self.drop_units(&ALPHA_DROPOUT, Unit::Element, p, generator)
    }

    /// [`alpha_dropout`](Self::alpha_dropout) of whole channels (dimension 1).
    ///
    /// ```
    /// use allotrope_tensor::{DType, Generator, Tensor};
    /// let x = Tensor::ones((2, 3, 4), DType::F32)?.feature_alpha_dropout(0.5, Some(&Generator::new(0)))?;
    /// assert_eq!(x.amax(Some(&[2]), false)?, x.amin(Some(&[2]), false)?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`dropout`](Self::dropout); a value error for less than two dimensions, unless nothing or
    /// everything is dropped.
    pub fn feature_alpha_dropout(
        &self,
        p: f64,
        generator: Option<&Generator>,
    ) -> Result<Self, Error> {
        self.drop_units(&FEATURE_ALPHA_DROPOUT, Unit::Channel, p, generator)
    }

    fn drop_channels(
        &self,
        row: &Structured,
        spatial: usize,
        p: f64,
        generator: Option<&Generator>,
    ) -> Result<Self, Error> {
        if self.rank() == spatial + 1 {
            let batch = self.unsqueeze(0)?;
            return batch
                .drop_channels(row, spatial, p, generator)?
                .select(0, 0);
        }
        let is_taken = spatial > 1 && self.rank() > 1;
        if self.rank() != spatial + 2 && !is_taken {
            let accepted = format!("one of {} or {} dimensions", spatial + 1, spatial + 2);
            return Err(wrong_shape(row.name, "input", self, accepted));
        }
        self.drop_units(row, Unit::Channel, p, generator)
    }

    fn drop_units(
        &self,
        row: &Structured,
        unit: Unit,
        p: f64,
        generator: Option<&Generator>,
    ) -> Result<Self, Error> {
        let op = row.name;
        let working = Working::of(row, &[self])?;
        if !(0.0..=1.0).contains(&p) {
            return Err(out_of_range(op, "probability", format!("{p:?}"), "0 to 1"));
        }
        let mut sizes = self.shape().to_vec();
        if unit == Unit::Channel {
            // Where nothing or everything is dropped, no channel is chosen.
            let chooses = p > 0.0 && p < 1.0;
            if self.rank() < 2 && chooses {
                return Err(wrong_shape(
                    op,
                    "input",
                    self,
                    "one of two or more dimensions",
                ));
            }
            sizes.iter_mut().skip(2).for_each(|size| *size = 1);
        }
        let kept = Self::bernoulli_of(op, &sizes, 1.0 - p, DType::Bool, generator, self.backend())?;
        let is_alpha = [ALPHA_DROPOUT, FEATURE_ALPHA_DROPOUT].contains(row);
        let builder = Builder::new(&[self.dtype(), DType::Bool]);
        let x = working.read(builder.input(0));
        let [scale, shift, dropped] = if is_alpha {
            let scale = ((1.0 - p) * (1.0 + p * SELU_BOUND * SELU_BOUND))
                .sqrt()
                .recip();
            // All are dropped: there is nothing whose variance could be kept.
            let scale = if scale.is_finite() { scale } else { 0.0 };
            let shift = -scale * SELU_BOUND * p;
            [scale, shift, SELU_BOUND * scale + shift]
        } else {
            // Nothing stays if all are dropped, and an infinity would reach the gradient.
            let scale = if p < 1.0 { (1.0 - p).recip() } else { 0.0 };
            [scale, 0.0, 0.0]
        };
        let staying = if is_alpha {
            x * scale + shift
        } else {
            x * scale
        };
        let value = builder.input(1).pick(staying, x.lit(dropped));
        let program = builder.finish(&[value.to(working.result)]);
        evaluate_one(op, &program, &[self, &kept])
    }
}
