//! Elements as Rust has them: borrowed, in vectors, or one of them.

use allotrope_dtype::{DType, Element, Error, GradientProblem, Problem, Scalar, WithDType};

use crate::host::memory::try_with_capacity;
use crate::{IntoShape, Tensor};

impl Tensor {
    /// Row-major elements of a vector.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let squares: Vec<i64> = (0..6).map(|i| i * i).collect();
    /// let x = Tensor::from_vec(squares, (2, 3))?;
    /// assert_eq!(x, Tensor::new([[0_i64, 1, 4], [9, 16, 25]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error if the sizes do not multiply to the length; a memory error.
    pub fn from_vec<T: WithDType>(elements: Vec<T>, sizes: impl IntoShape) -> Result<Self, Error> {
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

    /// The elements in row-major order, to be written where they lie. Memory that views, clones or other
    /// values have is copied first, so that they keep what they are; elements in another order are put
    /// in it.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let mut x = Tensor::new([[1.0_f32, 2.0], [3.0, 4.0]])?;
    /// let before = x.clone();
    /// for value in x.as_mut_slice::<f32>()? {
    ///     *value = value.max(2.5);
    /// }
    /// assert_eq!(x, Tensor::new([[2.5_f32, 2.5], [3.0, 4.0]])?);
    /// assert_eq!(before, Tensor::new([[1.0_f32, 2.0], [3.0, 4.0]])?);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error unless `T` is the tensor's element type, a gradient error where a history would no
    /// longer be true, a device error if the CPU cannot write to them, a memory error.
    pub fn as_mut_slice<T: Element>(&mut self) -> Result<&mut [T], Error> {
        let op = "as_mut_slice";
        self.check_element(op, T::DTYPE)?;
        if self.requires_grad() {
            return Err(Error::new(op, GradientProblem::LeafChanged.into()).hint("x.detach()"));
        }
        if !self.is_contiguous() || !self.has_own_memory() {
            *self = self.copied()?;
        }
        let bytes = self.ordered_bytes_mut(op)?;
        if bytes.is_empty() {
            return Ok(&mut []);
        }
        bytemuck::try_cast_slice_mut(bytes).map_err(|error| {
            let (dtype, reason) = (T::DTYPE, error.to_string());
            Error::new(op, Problem::BadBuffer { dtype, reason })
        })
    }

    /// The rows of a matrix.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[1, 2, 3], [4, 5, 6]])?;
    /// assert_eq!(x.t()?.to_vec2::<i32>()?, [[1, 4], [2, 5], [3, 6]]);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype error unless `T` is the tensor's element type, a value error for another number of
    /// dimensions, a memory error.
    pub fn to_vec2<T: Element>(&self) -> Result<Vec<Vec<T>>, Error> {
        let op = "to_vec2";
        self.check_element(op, T::DTYPE)?;
        let [rows, _] = self.sizes_of(op, "2 are")?;
        let mut all = try_with_capacity(op, rows)?;
        for row in 0..rows as isize {
            all.push(self.select(0, row)?.to_vec()?);
        }
        Ok(all)
    }

    /// The matrices along the first dimension of three, each as its rows.
    ///
    /// ```
    /// use allotrope_tensor::Tensor;
    /// let x = Tensor::new([[[1, 2]], [[3, 4]]])?;
    /// assert_eq!(x.to_vec3::<i32>()?, [[[1, 2]], [[3, 4]]]);
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`to_vec2`](Self::to_vec2).
    pub fn to_vec3<T: Element>(&self) -> Result<Vec<Vec<Vec<T>>>, Error> {
        let op = "to_vec3";
        self.check_element(op, T::DTYPE)?;
        let [matrices, _, _] = self.sizes_of(op, "3 are")?;
        let mut all = try_with_capacity(op, matrices)?;
        for matrix in 0..matrices as isize {
            all.push(self.select(0, matrix)?.to_vec2()?);
        }
        Ok(all)
    }

    /// The sizes of so many dimensions.
    fn sizes_of<const RANK: usize>(
        &self,
        op: &'static str,
        accepted: &'static str,
    ) -> Result<[usize; RANK], Error> {
        <[usize; RANK]>::try_from(&**self.shape()).map_err(|_| {
            let (what, shape) = ("the tensor", self.shape().to_vec());
            let problem = Problem::WrongRank {
                what,
                shape,
                accepted,
            };
            Error::new(op, problem)
        })
    }

    /// The floats of 32 bits in row-major order, borrowed where they lie.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let x = Tensor::new([0.5_f32, 2.0])?;
    /// assert_eq!(x.as_f32_slice()?, [0.5, 2.0]);
    /// assert!(x.to(DType::F64)?.as_f32_slice().is_err());
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
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
