//! Every operation of Allotrope against independent references. For development only: the tests
//! are in `tests`, and this is what they share.
//!
//! | file | what is in it |
//! |---|---|
//! | [`double`], `turn`, `special` | numbers of twice the digits of float64, and functions of them |
//! | [`precise`] | what references are written in: those numbers, or float64 |
//! | [`oracle`] | the meaning of every row, said a second time |
//! | [`fold`] | the meaning of every reduction |
//! | [`cast`] | the meaning of every cast |
//! | `column` | operands: values of a dtype and their bytes |
//! | [`sample`] | which operands a row is tested with |
//! | [`arrange`] | layouts: transposed, sliced, reversed, broadcast … |
//! | [`cell`] | one row on operands of one dtype, at any level, on any device |
//! | [`reduction`] | one reduction of a tensor, on any device |
//! | [`rounding`] | functions of one number in narrow dtypes, for every number |
//! | [`refusal`] | operations that refuse values |
//! | [`distance`] | how far a result is from the answer, in units in the last place |
//! | [`report`] | the first mismatches in words |
//! | [`accuracy`] | the measured errors, as a page of the book |
#![forbid(unsafe_code)]

pub mod accuracy;
pub mod arrange;
pub mod cast;
pub mod cell;
pub mod column;
pub mod distance;
pub mod double;
pub mod fold;
pub mod oracle;
pub mod precise;
pub mod reduction;
pub mod refusal;
pub mod report;
pub mod rounding;
pub mod sample;
mod special;
mod turn;
