//! Shapes in files of other formats: lists of sizes, which are checked when they are read.

use ::serde::de::{Deserialize, Deserializer, Error};
use ::serde::ser::{Serialize, Serializer};

use crate::Shape;

/// As a list of sizes.
///
/// ```
/// use allotrope_op::Shape;
/// let shape: Shape = serde_json::from_str("[2, 3]").unwrap();
/// assert_eq!((shape.count(), serde_json::to_string(&shape).unwrap().as_str()), (6, "[2,3]"));
/// assert!(serde_json::from_str::<Shape>("[9223372036854775807, 3]").is_err());
/// ```
impl Serialize for Shape {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

/// Of a list of sizes whose product fits.
impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let sizes = Vec::<usize>::deserialize(deserializer)?;
        Self::new("shape", &sizes).map_err(D::Error::custom)
    }
}
