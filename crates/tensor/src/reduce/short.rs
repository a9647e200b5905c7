//! Reductions of everything, or along one axis, without options.

use allotrope_dtype::Error;

use crate::Tensor;

macro_rules! short_forms {
    ($($(#[doc = $doc:literal])* $all:ident $one:ident $method:ident($($option:expr),*);)*) => {$(
        impl Tensor {
            $(#[doc = $doc])*
            pub fn $all(&self) -> Result<Self, Error> {
                let result = self.$method(None, false $(, $option)*);
                result.map_err(|error| error.in_op(stringify!($all)))
            }

            #[doc = concat!("As [`", stringify!($all), "`](Self::", stringify!($all), "), along one axis, which disappears.")]
            ///
            /// # Errors
            #[doc = concat!("As [`", stringify!($method), "`](Self::", stringify!($method), ").")]
            pub fn $one(&self, axis: isize) -> Result<Self, Error> {
                let result = self.$method(Some(&[axis]), false $(, $option)*);
                result.map_err(|error| error.in_op(stringify!($one)))
            }
        }
    )*};
}
short_forms! {
    /// The sum of all elements, a tensor without dimensions. [`sum`](Self::sum) has options.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[1.0, 2.0], [3.0, 4.0]])?;
    /// assert_eq!(x.sum_all()?.to_scalar::<f64>()?, 10.0);
    /// assert_eq!(x.sum_axis(0)?, Tensor::new([4.0, 6.0])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A memory error.
    sum_all sum_axis sum(None);
    /// The mean of all elements, a tensor without dimensions; NaN of nothing. [`mean`](Self::mean) has
    /// options.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[1.0, 2.0], [3.0, 4.0]])?;
    /// assert_eq!(x.mean_all()?.to_scalar::<f64>()?, 2.5);
    /// assert_eq!(x.mean_axis(-1)?, Tensor::new([1.5, 3.5])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A memory error.
    mean_all mean_axis mean(None);
    /// The greatest element, a tensor without dimensions. [`amax`](Self::amax) has options.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[1, 2], [4, 3]])?;
    /// assert_eq!(x.max_all()?.to_scalar::<i32>()?, 4);
    /// assert_eq!(x.max_axis(0)?, Tensor::new([4, 3])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error for complex numbers, a value error for no elements, a memory error.
    max_all max_axis amax();
    /// The least element, a tensor without dimensions. [`amin`](Self::amin) has options.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[1, 2], [4, 3]])?;
    /// assert_eq!(x.min_all()?.to_scalar::<i32>()?, 1);
    /// assert_eq!(x.min_axis(1)?, Tensor::new([1, 3])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`max_all`](Self::max_all).
    min_all min_axis amin();
}
