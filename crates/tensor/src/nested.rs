//! Tensors written down as numbers, arrays and vectors of Rust.

use crate::host::Buffer;
use allotrope_dtype::{Element, Error, Nested};

use crate::Tensor;
use crate::create::room;

const OP: &str = "tensor";

impl Tensor {
    /// A tensor of numbers as they are written down: a number, or an array, slice or vector of any
    /// depth, which is the number of dimensions. The dtype is that of the numbers.
    ///
    /// Literals are Rust's: `1.0` is float64 and `1` is int32, unless a suffix says otherwise.
    ///
    /// ```
    /// use allotrope_tensor::{DType, Tensor};
    /// let x = Tensor::new([[1.0_f32, 2.0, 3.0], [4.0, 5.0, 6.0]])?;
    /// assert_eq!((x.dtype(), x.shape().to_string().as_str()), (DType::F32, "[2, 3]"));
    /// let rows = vec![vec![true], vec![false]];
    /// assert_eq!(Tensor::new(rows)?.dtype(), DType::Bool);
    /// assert_eq!(Tensor::new(0.5)?.rank(), 0);
    /// assert_eq!(
    ///     Tensor::new(vec![vec![1, 2], vec![3]]).unwrap_err().to_string(),
    ///     "tensor: lists of different lengths: 2 and 1; all must be equal"
    /// );
    /// # Ok::<(), allotrope_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value error if vectors of one depth have different lengths; a memory error.
    pub fn new<N: Nested>(data: N) -> Result<Self, Error> {
        Self::from_items(OP, &[data], &[])
    }

    /// A tensor of numbers, arrays or vectors, as many as the sizes multiply to.
    pub(crate) fn from_items<N: Nested>(
        op: &'static str,
        items: &[N],
        sizes: &[usize],
    ) -> Result<Self, Error> {
        let dtype = N::Element::DTYPE;
        let sizes = [sizes, &N::sizes(op, items)?].concat();
        let (shape, bytes) = room(op, &sizes, dtype)?;
        let mut buffer = Buffer::for_overwrite(op, bytes)?;
        let mut written = 0;
        N::visit(items, &mut |piece| {
            let bytes: &[u8] = bytemuck::cast_slice(piece);
            buffer[written..written + bytes.len()].copy_from_slice(bytes);
            written += bytes.len();
        });
        Ok(Self::from_buffer(buffer, shape, dtype))
    }
}

macro_rules! try_from_data {
    ($([$($parameters:tt)*] $data:ty;)*) => {$(
        /// As [`Tensor::new`].
        impl<A: Nested, $($parameters)*> TryFrom<$data> for Tensor {
            type Error = Error;
            fn try_from(data: $data) -> Result<Self, Error> {
                Self::new(data)
            }
        }
    )*};
}
try_from_data! {
    [] Vec<A>;
    [] &Vec<A>;
    [] &[A];
    [const N: usize] [A; N];
    [const N: usize] &[A; N];
}
