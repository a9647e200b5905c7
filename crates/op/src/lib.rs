//! What can be computed, device-neutral: the geometry of tensors, the operations and their programs.
//!
//! | file | what is in it |
//! |---|---|
//! | `shape` | [`Shape`]: sizes, broadcasting, axis arithmetic |
//! | `serde` | shapes as lists of sizes, with the feature of that name |
//! | `layout` | [`Layout`]: strides and offset, and every view as a change of them |
//! | `per_dim` | a number per dimension, as both keep it |
//! | `range` | ranges of Rust as [`Slice`]s |
//! | `nest` | [`Nest`]: the loops that visit several layouts together, as few as possible |
//! | `lane` | [`Lane`]: the primitives that elementary functions are written in |
//! | [`elementary`] | exp, log, sin and their kin, over [`Lane`] |
//! | [`complex`] | the same for complex numbers, as pairs of lanes |
//! | `checked`, `lost` | integers that know whether they left their width, and what is told of them |
//! | `whole` | [`Whole`]: integers as formulas see them |
//! | [`table`] | THE op tables: one row per elementwise operation |
//! | [`structured`] | THE table of operations that are neither elementwise nor reductions |
//! | `program` | [`Program`]: rows in a sequence, with the dtype of each value |
//! | `build` | [`Builder`]: programs written as formulas over variables |
//! | `derivative` | [`gradients`]: the derivative of every row |
//! | `differentiate` | [`differentiate()`]: the derivative of whole programs, and programs put together |
//! | `infer` | [`infer()`]: which dtypes an operation computes in, as a program |
//! | `in_place` | what is also spelled with an underscore |
//! | `support` | [`support()`]: which operations work on which dtypes |
//! | `compare` | comparisons that are exact whatever the dtypes |
//! | `distribution` | [`Distribution`]: THE table of distributions |
//! | `backend` | [`Backend`]: what every device does, and the [`Memory`] it does it in |
//! | `fault` | [`Faults`]: errors about values, from the check that found them to the next reading |
//! | `hosting` | [`Hosting`]: whether the CPU does the work of another device now |
//! | `meta` | [`META`]: a device without memory, of shapes and dtypes alone |
//! | `work` | what a backend is told beside programs: [`Fold`], [`Piece`], [`Put`] and their kin |
//! | [`task`] | work that has a kernel of its own, which a device performs or declines |
//! | [`wgsl`] | all these functions as the text of a shader |
#![forbid(unsafe_code)]

#[macro_use]
pub mod table;

mod backend;
mod build;
mod checked;
mod compare;
pub mod complex;
mod compose;
mod derivative;
mod differentiate;
mod distribution;
pub mod elementary;
mod fault;
mod hosting;
mod in_place;
mod infer;
mod lane;
mod layout;
mod lost;
mod meta;
mod nest;
mod per_dim;
mod program;
mod range;
#[cfg(feature = "serde")]
mod serde;
mod shape;
pub mod structured;
mod support;
pub mod task;
pub mod wgsl;
mod whole;
mod work;

pub use allotrope_dtype::{Error, ErrorKind, Problem};
pub use backend::{Backend, DeviceId, Memory, Origin, Rewrite, Shared, Target, View, Watched};
pub use build::{Builder, Var};
pub use checked::{Checked, exact};
pub use complex::Complex;
pub use derivative::gradients;
pub use differentiate::{Differential, Needs, Read, differentiate, without_derivative};
pub use distribution::{Distribution, DistributionParameter};
pub use fault::{Askers, Faults, Lineage};
pub use hosting::Hosting;
pub use in_place::{IN_PLACE, VIEWED_IN_PLACE};
pub use infer::{Argument, infer, number_beside};
pub use lane::{Lane, LaneBits, Number};
pub use layout::{Layout, Slice};
pub use lost::{Lost, is_nan};
pub use meta::{META, Meta};
pub use nest::{Loop, Nest};
pub use program::{MAX_ARITY, Program, Slot, Step, compute_dtype};
pub use shape::{
    Dims, MAX_DIMS, Shape, normalize_axes, normalize_axes_or_none, normalize_axis, sizes_around,
    sort_few_by_key,
};
pub use structured::Structured;
pub use support::{Support, support, supported_names, without_gradient};
pub use table::{Autocast, Cell, Op, Outcome, Reduction, Row, Signature, float_of};
pub use whole::{Mask, Whole};
pub use work::{Band, Combine, Draw, Fold, Piece, Put, Scan, Stream, blocks_of};
