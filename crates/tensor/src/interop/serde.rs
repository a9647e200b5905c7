//! Tensors in all formats that serde has: dtype, shape and bytes, which are checked when they are read.
//!
//! In formats for people the bytes are hexadecimal digits, so that NaN, infinities and every narrow float
//! come back as they were; elsewhere they are bytes. Both are little-endian, in row-major order.

use std::fmt;

use ::serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use ::serde::ser::{Error as _, Serialize, SerializeStruct, Serializer};
use allotrope_dtype::DType;
use allotrope_op::Shape;

use crate::Tensor;
use crate::host::memory::try_to_vec;

const FIELDS: &[&str] = &["dtype", "shape", "data"];

/// Its value: a reader has it on the CPU, without a history. State dicts are maps of such.
///
/// ```
/// use allotrope_tensor::{DType, Tensor};
/// let x = Tensor::new([1.0, f64::NAN])?.to(DType::BF16)?;
/// let text = serde_json::to_string(&x).unwrap();
/// assert_eq!(text, r#"{"dtype":"bfloat16","shape":[2],"data":"803fc07f"}"#);
/// let back: Tensor = serde_json::from_str(&text).unwrap();
/// assert_eq!((back.dtype(), back.to_bytes()?), (DType::BF16, x.to_bytes()?));
/// assert!(serde_json::from_str::<Tensor>(&text.replace("[2]", "[3]")).is_err());
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
impl Serialize for Tensor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes = self.to_bytes().map_err(S::Error::custom)?;
        let mut fields = serializer.serialize_struct("Tensor", FIELDS.len())?;
        fields.serialize_field(FIELDS[0], &self.dtype())?;
        fields.serialize_field(FIELDS[1], self.shape())?;
        fields.serialize_field(FIELDS[2], &Data(bytes))?;
        fields.end()
    }
}

/// Of a dtype, a shape and as many bytes as they say.
impl<'de> Deserialize<'de> for Tensor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_struct("Tensor", FIELDS, Fields)
    }
}

/// The fields of a tensor, by names or in order.
struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Tensor;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a tensor: its dtype, shape and data")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut fields: A) -> Result<Tensor, A::Error> {
        let missing = |place| A::Error::invalid_length(place, &self);
        let dtype: DType = fields.next_element()?.ok_or_else(|| missing(0))?;
        let shape: Shape = fields.next_element()?.ok_or_else(|| missing(1))?;
        let Data(bytes) = fields.next_element()?.ok_or_else(|| missing(2))?;
        Tensor::from_bytes(&bytes, &shape, dtype).map_err(A::Error::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Tensor, A::Error> {
        let (mut dtype, mut shape, mut data) = (None, None, None);
        while let Some(name) = fields.next_key::<String>()? {
            let is_known = match name.as_str() {
                "dtype" => dtype.replace(fields.next_value::<DType>()?).is_some(),
                "shape" => shape.replace(fields.next_value::<Shape>()?).is_some(),
                "data" => data.replace(fields.next_value::<Data>()?).is_some(),
                _ => {
                    fields.next_value::<IgnoredAny>()?;
                    return Err(A::Error::unknown_field(&name, FIELDS));
                }
            };
            if is_known {
                return Err(A::Error::custom(format!("two fields '{name}'")));
            }
        }
        let dtype = dtype.ok_or_else(|| A::Error::missing_field(FIELDS[0]))?;
        let shape = shape.ok_or_else(|| A::Error::missing_field(FIELDS[1]))?;
        let Data(bytes) = data.ok_or_else(|| A::Error::missing_field(FIELDS[2]))?;
        Tensor::from_bytes(&bytes, &shape, dtype).map_err(A::Error::custom)
    }
}

/// Bytes, or their digits in formats for people.
struct Data(Vec<u8>);

impl Serialize for Data {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !serializer.is_human_readable() {
            return serializer.serialize_bytes(&self.0);
        }
        let digit = |digit: u8| char::from_digit(u32::from(digit), 16).unwrap_or_default();
        let digits = self
            .0
            .iter()
            .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
        serializer.serialize_str(&digits.collect::<String>())
    }
}

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_str(Digits)
        } else {
            deserializer.deserialize_byte_buf(Bytes)
        }
    }
}

struct Digits;

impl Visitor<'_> for Digits {
    type Value = Data;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("two hexadecimal digits for each byte")
    }

    fn visit_str<E: Error>(self, digits: &str) -> Result<Data, E> {
        let refuse = || E::invalid_value(::serde::de::Unexpected::Str("something else"), &self);
        let digit = |digit: u8| char::from(digit).to_digit(16).ok_or_else(refuse);
        let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
        if !rest.is_empty() {
            return Err(refuse());
        }
        let bytes = pairs
            .iter()
            .map(|[high, low]| Ok((digit(*high)? << 4 | digit(*low)?) as u8));
        bytes.collect::<Result<_, E>>().map(Data)
    }
}

struct Bytes;

impl<'de> Visitor<'de> for Bytes {
    type Value = Data;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes of a tensor")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Data, E> {
        let copy = try_to_vec("deserialize", bytes);
        copy.map(Data).map_err(E::custom)
    }

    fn visit_byte_buf<E: Error>(self, bytes: Vec<u8>) -> Result<Data, E> {
        Ok(Data(bytes))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Data, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = items.next_element()? {
            bytes.push(byte);
        }
        Ok(Data(bytes))
    }
}
