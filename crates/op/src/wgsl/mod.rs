//! The second reading of a formula: as the text of a shader in WGSL.
//!
//! | file | what is in it |
//! |---|---|
//! | `scalar` | [`Type`]: the types of WGSL; which Rust types live in them; constants |
//! | `operation` | [`Operation`]: what is done to values, and how it is written |
//! | `arena` | the statements of a recording, each once |
//! | `expression` | [`Expression`]: a value that is recorded instead of computed |
//! | `float` | arithmetic of floats that no compiler simplifies |
//! | `convert` | numbers in another type |
//! | `lane` | expressions as lanes |
//! | `whole` | expressions as integers and truth values of formulas |
//! | `value` | [`Value`], [`Arguments`]: what functions take and return |
//! | `function` | [`Function`]: a recording, and its value for given arguments |
//! | `row` | the rows of the op tables as functions |
//! | `cast` | casts between dtypes as functions |
//! | `codec` | floats narrower than float32 as their codes |
//! | `program` | programs as functions |
//! | `print` | the text of a function |
//! | `helper` | [`Helper`]: functions with loops or choices, which printed ones call |
//! | `wide` | [`WideIntegers`]: integers of 64 bits as pairs of words |
//! | `evaluate` | what operations are worth on constants |

mod arena;
mod cast;
mod codec;
mod convert;
mod evaluate;
mod expression;
mod float;
mod function;
mod helper;
mod lane;
mod operation;
mod print;
mod program;
mod row;
mod scalar;
mod value;
mod whole;
mod wide;

pub use arena::{Node, Statement};
pub use cast::cast_name;
pub use expression::Expression;
pub use function::Function;
pub use helper::{Helper, Routine};
pub use operation::Operation;
pub use print::{NATIVE_FLOAT16, print_module, print_module_with};
pub use program::print_program;
pub use row::row_name;
pub use scalar::{Bitwise, Float, Integer, Literal, Numeric, Scalar, Type, Word};
pub use value::{Arguments, Value, ValueType};
pub use wide::{PAIRS, WideIntegers};
