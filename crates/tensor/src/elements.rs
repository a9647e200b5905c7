//! Elements as Rust has them: borrowed, in vectors, or one of them.

use allotrope_dtype::{DType, Element, Error, Problem, Scalar, WithDType};

use crate::Tensor;

impl Tensor {
    /// Row-major elements of a vector.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let squares: Vec<i64> = (0..6).map(|i| i * i).collect();
    /// let x = Tensor::from_vec(squares, &[2, 3])?;
    /// assert_eq!(x, Tensor::new([[0_i64, 1, 4], [9, 16, 25]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error if the sizes do not multiply to the length; a memory error.
    pub fn from_vec<T: WithDType>(elements: Vec<T>, sizes: &[usize]) -> Result<Self, Error> {
        Self::from_slice(&elements, sizes).map_err(|error| error.in_op("from_vec"))
    }

    /// Row-major elements of a vector of floats of 32 bits, as [`from_vec`](Self::from_vec): numbers
    /// without a suffix are float32 here.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let weights = Tensor::from_f32(vec![0.5, -0.3, 0.8], &[3])?;
    /// assert_eq!(weights.as_f32_slice()?, [0.5, -0.3, 0.8]);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`from_vec`](Self::from_vec).
    pub fn from_f32(elements: Vec<f32>, sizes: &[usize]) -> Result<Self, Error> {
        Self::from_vec(elements, sizes).map_err(|error| error.in_op("from_f32"))
    }

    /// The elements in row-major order, borrowed where they lie.
    ///
    /// Functions over any element type read and make tensors with it:
    /// ```
    /// use allotrope_tensor::{Element, Error, Tensor};
    ///
    /// fn reversed<T: Element>(x: &Tensor) -> Result<Tensor, Error> {
    ///     let elements: Vec<T> = x.as_slice::<T>()?.iter().rev().copied().collect();
    ///     Tensor::from_vec(elements, x.shape())
    /// }
    /// let x = Tensor::new([[1_u8, 2], [3, 4]])?;
    /// assert_eq!(reversed::<u8>(&x)?, Tensor::new([[4_u8, 3], [2, 1]])?);
    /// assert_eq!(
    ///     x.as_slice::<f32>().unwrap_err().to_string(),
    ///     "as_slice: wrong element type: float32; the tensor has uint8 (hint: x.to(float32))"
    /// );
    /// assert_eq!(
    ///     x.t()?.as_slice::<u8>().unwrap_err().to_string(),
    ///     "as_slice: not contiguous: [2, 2] with strides [1, 2]; \
    ///      row-major elements are accepted (hint: x.contiguous())"
    /// );
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error unless `T` is the tensor's element type, a value error if the elements do not lie
    /// in row-major order without gaps or hold truth values that are other bytes than Rust's, a device
    /// error if the CPU cannot read them.
    pub fn as_slice<T: WithDType>(&self) -> Result<&[T], Error> {
        let op = "as_slice";
        self.check_element(op, T::Element::DTYPE)?;
        if !self.is_contiguous() {
            let (shape, strides) = (self.shape().to_vec(), self.layout().strides().to_vec());
            let problem = Problem::NotContiguous { shape, strides };
            return Err(Error::new(op, problem).hint("x.contiguous()"));
        }
        let bytes = self.ordered_bytes(op)?;
        if bytes.is_empty() {
            return Ok(&[]);
        }
        bytemuck::checked::try_cast_slice(bytes).map_err(|error| {
            let (dtype, reason) = (self.dtype(), error.to_string());
            Error::new(op, Problem::BadBuffer { dtype, reason })
        })
    }

    /// The floats of 32 bits in row-major order, borrowed where they lie.
    ///
    /// # Errors
    /// As [`as_slice`](Self::as_slice), of which it is the most common case.
    pub fn as_f32_slice(&self) -> Result<&[f32], Error> {
        self.as_slice().map_err(|error| error.in_op("as_f32_slice"))
    }

    /// The value of a tensor with one element as a number of Rust, which must be exactly that value:
    /// the type need not be that of the tensor.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[1_u8, 2], [3, 4]])?;
    /// assert_eq!(x.sum_all()?.to_scalar::<f64>()?, 10.0);
    /// assert_eq!(x.i((1, 0))?.to_scalar::<usize>()?, 3);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error for any other number of elements; otherwise as [`Scalar::to_exact`].
    pub fn to_scalar<T: TryFrom<Scalar, Error = Error>>(&self) -> Result<T, Error> {
        let scalar = self.item();
        let number = scalar.and_then(T::try_from);
        number.map_err(|error| error.in_op("to_scalar"))
    }

    /// Refuses a Rust type other than the tensor's.
    pub(crate) fn check_element(&self, op: &'static str, given: DType) -> Result<(), Error> {
        let dtype = self.dtype();
        if given == dtype {
            return Ok(());
        }
        let problem = Problem::WrongElement { given, dtype };
        Err(Error::new(op, problem).hint(format!("x.to({given})")))
    }
}

/// The elements in row-major order, as [`Tensor::to_vec`].
///
/// ```
/// use allotrope_tensor::{DType, Tensor};
/// let x = Tensor::arange(0, 3, 1, DType::F32)?;
/// let elements: Vec<f32> = (&x).try_into()?;
/// assert_eq!(elements, [0.0, 1.0, 2.0]);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
impl<T: WithDType> TryFrom<&Tensor> for Vec<T> {
    type Error = Error;
    fn try_from(tensor: &Tensor) -> Result<Self, Error> {
        tensor.to_vec()
    }
}

/// The elements in row-major order, as [`Tensor::to_vec`].
impl<T: WithDType> TryFrom<Tensor> for Vec<T> {
    type Error = Error;
    fn try_from(tensor: Tensor) -> Result<Self, Error> {
        tensor.to_vec()
    }
}
