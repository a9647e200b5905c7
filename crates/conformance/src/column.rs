//! Operands: values of one dtype, and their bytes.

use allotrope_dtype::{DType, Error, Problem, Scalar, WeakScalar};

/// Values that a dtype holds exactly, with the bytes of each.
#[derive(Clone, Debug)]
pub struct Column {
    /// The dtype.
    pub dtype: DType,
    /// The values, of the kind of the dtype.
    pub values: Vec<WeakScalar>,
    /// Their bytes.
    pub bytes: Vec<u8>,
}

impl Column {
    /// Values rounded to a dtype.
    ///
    /// # Errors
    /// An overflow error for an integer out of range, a dtype error for a value of a higher kind.
    pub fn new(dtype: DType, values: impl IntoIterator<Item = WeakScalar>) -> Result<Self, Error> {
        let mut bytes = Vec::new();
        for value in values {
            let element = Scalar::new(value, dtype)?.to_bytes();
            bytes.extend_from_slice(&element[..dtype.itemsize()]);
        }
        Self::from_bytes(dtype, bytes)
    }

    /// The values that bytes are.
    ///
    /// # Errors
    /// A value error for an incomplete element.
    pub fn from_bytes(dtype: DType, bytes: Vec<u8>) -> Result<Self, Error> {
        let values = bytes
            .chunks(dtype.itemsize())
            .map(|element| Scalar::from_bytes(dtype, element).map(Scalar::value));
        let values = values.collect::<Result<Vec<_>, Error>>()?;
        Ok(Self {
            dtype,
            values,
            bytes,
        })
    }

    /// The same values in another dtype of their kind, wider or narrower.
    ///
    /// # Errors
    /// A value error if that does not hold them all.
    pub fn moved(&self, dtype: DType) -> Result<Self, Error> {
        if dtype == self.dtype {
            return Ok(self.clone());
        }
        let moved = Self::new(dtype, self.values.iter().copied())?;
        match self
            .values
            .iter()
            .zip(&moved.values)
            .find(|(a, b)| !is_same(**a, **b))
        {
            None => Ok(moved),
            Some((value, _)) => {
                let (value, what, accepted) =
                    (format!("{value:?}"), "value", "what the dtype holds");
                let index = None;
                Err(Error::new(
                    "moved",
                    Problem::OutOfRange {
                        what,
                        index,
                        value,
                        accepted,
                    },
                ))
            }
        }
    }

    /// Every so manieth value, so that about as many as asked for are left.
    ///
    /// # Errors
    /// None but those of a column.
    pub fn thinned(&self, count: usize) -> Result<Self, Error> {
        let step = (self.len() / count.max(1)).max(1) | 1;
        let places = (0..self.len()).step_by(step);
        let bytes = places.flat_map(|place| self.element(place).to_vec());
        Self::from_bytes(self.dtype, bytes.collect())
    }

    /// The number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The bytes of as many elements, the values being repeated.
    #[must_use]
    pub fn repeated(&self, count: usize) -> Vec<u8> {
        repeat(&self.bytes, count * self.dtype.itemsize())
    }

    /// The bytes of one value.
    #[must_use]
    pub fn element(&self, index: usize) -> &[u8] {
        let size = self.dtype.itemsize();
        &self.bytes[index * size..(index + 1) * size]
    }
}

/// Whether two values are one: NaN is, zeros of different signs are not.
#[must_use]
pub fn is_same(a: WeakScalar, b: WeakScalar) -> bool {
    let same = |a: f64, b: f64| a.is_nan() && b.is_nan() || a.to_bits() == b.to_bits();
    match (a, b) {
        (WeakScalar::Float(a), WeakScalar::Float(b)) => same(a, b),
        (WeakScalar::Complex(a), WeakScalar::Complex(b)) => same(a.re, b.re) && same(a.im, b.im),
        (a, b) => a == b,
    }
}

/// As many bytes, the given ones being repeated.
#[must_use]
pub fn repeat(bytes: &[u8], length: usize) -> Vec<u8> {
    let mut out = bytes.repeat(length.div_ceil(bytes.len().max(1)));
    out.truncate(length);
    out
}
