//! Dtypes in files of other formats: by their names.

use std::fmt;

use ::serde::de::{Deserialize, Deserializer, Error, Visitor};
use ::serde::ser::{Serialize, Serializer};

use crate::DType;

/// By its name.
///
/// ```
/// use allotrope_dtype::DType;
/// assert_eq!(serde_json::to_string(&DType::BF16).unwrap(), "\"bfloat16\"");
/// assert_eq!(serde_json::from_str::<DType>("\"half\"").unwrap(), DType::F16);
/// ```
impl Serialize for DType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Of any of its names.
impl<'de> Deserialize<'de> for DType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;
        impl Visitor<'_> for Name {
            type Value = DType;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a dtype")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<DType, E> {
                name.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Name)
    }
}
