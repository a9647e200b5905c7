//! Reductions of everything, or along one axis, without options.

use allotrope_dtype::Error;

use crate::Tensor;

macro_rules! short_forms {
    ($($(#[doc = $doc:literal])* $all:ident $one:ident $kept:ident: $method:ident($($option:tt)*);)*) => {$(
        impl Tensor {
            $(#[doc = $doc])*
            pub fn $all(&self) -> Result<Self, Error> {
                let result = short_forms!(@ self $method None, false; $($option)*);
                result.map_err(|error| error.in_op(stringify!($all)))
            }

            #[doc = concat!("As [`", stringify!($all), "`](Self::", stringify!($all), "), along one axis, which disappears; see the example there.")]
            ///
            /// # Errors
            #[doc = concat!("As [`", stringify!($method), "`](Self::", stringify!($method), ").")]
            pub fn $one(&self, axis: isize) -> Result<Self, Error> {
                let result = short_forms!(@ self $method Some(axis), false; $($option)*);
                result.map_err(|error| error.in_op(stringify!($one)))
            }

            #[doc = concat!("As [`", stringify!($one), "`](Self::", stringify!($one), "), and the axis stays with a size of one.")]
            ///
            /// ```
            /// use allotrope_tensor::Tensor;
            /// let x = Tensor::new([[1.0, 2.0], [4.0, 3.0]])?;
            #[doc = concat!("assert_eq!(x.", stringify!($kept), "(1)?.squeeze(None)?, x.", stringify!($one), "(1)?);")]
            /// # Ok::<(), allotrope_tensor::Error>(())
            /// ```
            ///
            /// # Errors
            #[doc = concat!("As [`", stringify!($method), "`](Self::", stringify!($method), ").")]
            pub fn $kept(&self, axis: isize) -> Result<Self, Error> {
                let result = short_forms!(@ self $method Some(axis), true; $($option)*);
                result.map_err(|error| error.in_op(stringify!($kept)))
            }
        }
    )*};
    (@ $this:ident $method:ident $axis:expr, $keepdim:literal; one axis) => {
        $this.$method($axis, $keepdim)
    };
    (@ $this:ident $method:ident $axis:expr, $keepdim:literal; correction) => {
        $this.$method($axis.map(|axis: isize| [axis]).as_ref().map(|axes| &axes[..]), 1.0, $keepdim)
    };
    (@ $this:ident $method:ident $axis:expr, $keepdim:literal; $($option:expr)?) => {
        $this.$method($axis.map(|axis: isize| [axis]).as_ref().map(|axes| &axes[..]), $keepdim $(, $option)?)
    };
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
    sum_all sum_axis sum_keepdim: sum(None);
    /// The product of all elements, a tensor without dimensions. [`prod`](Self::prod) has options.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[1.0, 2.0], [3.0, 4.0]])?;
    /// assert_eq!(x.prod_all()?.to_scalar::<f64>()?, 24.0);
    /// assert_eq!(x.prod_axis(0)?, Tensor::new([3.0, 8.0])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A memory error.
    prod_all prod_axis prod_keepdim: prod(None);
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
    mean_all mean_axis mean_keepdim: mean(None);
    /// The unbiased variance of all elements, a tensor without dimensions. [`var`](Self::var) has options.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[1.0, 2.0], [3.0, 6.0]])?;
    /// assert_eq!(x.var_all()?.to_scalar::<f64>()?, 14.0 / 3.0);
    /// assert_eq!(x.var_axis(0)?, Tensor::new([2.0, 8.0])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A memory error.
    var_all var_axis var_keepdim: var(correction);
    /// The unbiased standard deviation of all elements, a tensor without dimensions.
    /// [`std`](Self::std) has options.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[1.0, 2.0], [3.0, 10.0]])?;
    /// assert_eq!(x.std_axis(0)?.square()?.round()?, Tensor::new([2.0, 32.0])?);
    /// assert_eq!(x.i((.., 0))?.std_all()?.to_scalar::<f64>()?, 2.0_f64.sqrt());
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A memory error.
    std_all std_axis std_keepdim: std(correction);
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
    max_all max_axis max_keepdim: amax();
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
    min_all min_axis min_keepdim: amin();
    /// The place of the greatest element in the flattened tensor, the first of equals, as int64.
    /// [`argmax`](Self::argmax) has options.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[1, 2], [4, 3]])?;
    /// assert_eq!(x.argmax_all()?.to_scalar::<i64>()?, 2);
    /// assert_eq!(x.argmax_axis(1)?, Tensor::new([1_i64, 0])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`max_all`](Self::max_all).
    argmax_all argmax_axis argmax_keepdim: argmax(one axis);
    /// The place of the least element in the flattened tensor, the first of equals, as int64.
    /// [`argmin`](Self::argmin) has options.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[1, 2], [4, 3]])?;
    /// assert_eq!(x.argmin_all()?.to_scalar::<i64>()?, 0);
    /// assert_eq!(x.argmin_axis(0)?, Tensor::new([0_i64, 0])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`max_all`](Self::max_all).
    argmin_all argmin_axis argmin_keepdim: argmin(one axis);
}
