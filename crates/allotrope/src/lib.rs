//! A tensor library built around one unified dtype system: one dependency for all of it.
//!
//! It needs Rust 1.95. `cargo run --release --example digits` trains a network that reads digits,
//! `--example gpt` a small GPT; the book (`book/src` in the repository) has a guide for Rust and a
//! page for those who come from candle, burn or ndarray.
//!
//! | feature | what it adds |
//! |---|---|
//! | `gpu` | GPUs of every maker, through Vulkan, Metal and DX12 |
//! | `ndarray` | `ArrayD`, `Array2` and views from and to tensors |
//! | `nalgebra` | `DMatrix`, `DVector` and views |
//! | `faer` | `Mat`, `MatRef` |
//! | `serde` | dtypes, shapes, tensors and state dicts in all formats of serde |
//!
//! None is on by default.
//!
//! # A first tensor
//! A [`Tensor`] is an immutable value of one dtype: elements, sizes, a layout. Views share its memory.
//!
//! ```
//! use allotrope::prelude::*;
//!
//! let x = Tensor::new([[1.0_f32, 2.0, 3.0], [4.0, 5.0, 6.0]])?;
//! let y = 2.0 * &x.i((.., 1..))? - 1;
//! assert_eq!(y, Tensor::new([[3.0_f32, 5.0], [9.0, 11.0]])?);
//! assert_eq!(x.matmul(&x.t()?)?.shape().to_vec(), [2, 2]);
//! # Ok::<(), Error>(())
//! ```
//!
//! # Dtypes, and what becomes of them when they meet
//! There are 19: bool, integers of 8 to 64 bits, floats of 8 to 64, complex numbers. Every operation
//! takes every dtype that it has a meaning for, and all promote by one table. Narrow floats are computed
//! in float32 and rounded once. Nothing is lost silently: a number that does not fit is an error.
//!
//! ```
//! use allotrope::prelude::*;
//!
//! let bytes = Tensor::arange(0, 3, 1, DType::U8)?;
//! let halves = Tensor::ones(3, DType::BF16)?;
//! assert_eq!((&bytes + &halves).dtype(), DType::BF16);
//! assert_eq!((&bytes + 1).dtype(), DType::U8);
//! assert_eq!(bytes.exp()?.dtype(), DType::F32);
//! assert!(bytes.add(256).is_err());
//!
//! let _strict = allotrope::scoped_promotion(allotrope::Policy::Strict);
//! assert!(bytes.add(&halves).is_err());
//! # Ok::<(), Error>(())
//! ```
//!
//! # Gradients
//! What is computed from a leaf that requires a gradient remembers how. Gradients have the dtype of their
//! leaf, and gradients of their own if asked for.
//!
//! ```
//! use allotrope::prelude::*;
//!
//! let x = Tensor::arange(0, 3, 1, DType::F64)?.requires_grad_(true)?;
//! x.square()?.sum_all()?.backward()?;
//! assert_eq!(x.grad(), Some(Tensor::new([0.0_f64, 2.0, 4.0])?));
//!
//! let _off = no_grad();
//! assert!(!x.exp()?.requires_grad());
//! # Ok::<(), Error>(())
//! ```
//!
//! # A network, trained
//! `#[derive(Module)]` finds parameters by the names of fields; an optimizer shares them.
//!
//! ```
//! use allotrope::prelude::*;
//! use optim::{AdamW, AdamWOptions};
//!
//! #[derive(Module)]
//! struct Net {
//!     first: nn::Linear,
//!     second: nn::Linear,
//! }
//!
//! impl Layer for Net {
//!     fn forward(&self, x: &Tensor) -> Result<Tensor> {
//!         self.second.forward(&self.first.forward(x)?.tanh()?)
//!     }
//! }
//!
//! manual_seed(7);
//! let net = Net { first: nn::Linear::new(2, 16)?, second: nn::Linear::new(16, 1)? };
//! let mut optimizer = AdamW::new(net.parameters(), AdamWOptions { lr: 0.05, ..Default::default() })?;
//! let x = Tensor::uniform((64, 2), -1.0, 1.0, DType::F32, None)?;
//! let target = x.select(1, 0)?.mul(&x.select(1, 1)?)?.unsqueeze(1)?;
//! let mut last = f32::INFINITY;
//! for _ in 0..100 {
//!     optimizer.zero_grad()?;
//!     let loss = net.forward(&x)?.mse_loss(&target, LossReduction::Mean)?;
//!     loss.backward()?;
//!     optimizer.step()?;
//!     last = loss.to_scalar()?;
//! }
//! assert!(last < 0.05, "{last}");
//! # Ok::<(), Error>(())
//! ```
//!
//! In mixed precision products are computed in the lower dtype while a guard lives, and parameters stay
//! what they are: `let _cast = amp::autocast(DType::BF16, true)?;`.
//!
//! # Saving and loading
//! Files are safetensors, the same as Python's and torch's; npy and npz by their names. Every dtype comes
//! back exactly.
//!
//! ```
//! use allotrope::prelude::*;
//!
//! let path = std::env::temp_dir().join(format!("front-door-{}.safetensors", std::process::id()));
//! let (one, other) = (nn::Linear::new(3, 2)?, nn::Linear::new(3, 2)?);
//! one.save(&path)?;
//! other.load(&path)?;
//! assert_eq!(one.state_dict(), other.state_dict());
//!
//! save([("x", Tensor::ones(2, DType::F16)?)], &path)?;
//! assert!(load(&path)?.get("x").is_some());
//! # std::fs::remove_file(path).ok();
//! # Ok::<(), Error>(())
//! ```
//!
//! # Where things are
//! | module | what is in it |
//! |---|---|
//! | [`prelude`] | what most programs need |
//! | the crate itself | [`Tensor`], [`DType`] and all that their signatures name |
//! | [`nn`] | modules, layers, losses, initialisers |
//! | [`optim`] | optimizers and learning rates |
//! | [`amp`] | mixed precision |
//! | [`io`] | files in detail: metadata, mapping, containers |
//! | [`linalg`], [`fft`] | linear algebra, Fourier transforms |
//! | `gpu` | GPUs of every maker, with the feature of that name |
//!
//! # Devices
//! A [`Device`] is a value: constructors take it with a dtype, `to_device` moves tensors and modules.
//! What a device has no kernel for the CPU computes for it, and says so once; a dtype that a device stores
//! narrower stays what it is, and what is lost is named ([`set_notice_sink`], [`scoped_fallback`],
//! [`scoped_demotion`]); [`scoped_overflow`] says what becomes of results that leave their range, and
//! [`scoped_matmul_precision`] whether a processor's own bfloat16 units may multiply.
//!
//! ```
//! use allotrope::prelude::*;
//!
//! let device: Device = "cpu".parse()?;
//! let x = Tensor::ones((2, 3), (DType::F32, device))?;
//! let layer = nn::Linear::new(3, 2)?;
//! layer.to_device(device)?;
//! assert_eq!(layer.forward(&x)?.device(), device);
//! # Ok::<(), Error>(())
//! ```
#![forbid(unsafe_code)]

use std::path::Path;

#[cfg(feature = "gpu")]
pub mod gpu;

pub use allotrope_io as io;
pub use allotrope_io::Value;
pub use allotrope_nn as nn;
pub use allotrope_nn::optim;
// Parameters and buffers of networks, not those of distributions and of memory.
pub use allotrope_nn::{Buffer, Layer, Module, Parameter};
pub use allotrope_tensor as tensor;
pub use allotrope_tensor::*;

/// What fails with an [`Error`] of this library.
///
/// ```
/// fn first(x: &allotrope::Tensor) -> allotrope::Result<f64> {
///     x.i(0)?.to_scalar()
/// }
/// assert_eq!(first(&allotrope::Tensor::new([3.0])?)?, 3.0);
/// # Ok::<(), allotrope::Error>(())
/// ```
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What most programs need: `use allotrope::prelude::*;`.
pub mod prelude {
    pub use crate::{
        Buffer, DType, Device, Error, Family, Generator, Layer, LossReduction, Module, Parameter,
        Result, Tensor, Value, amp, enable_grad, io, load, manual_seed, nn, no_grad, optim, save,
    };
}

/// Mixed precision: products in a lower dtype, and losses scaled so that gradients do not vanish.
pub mod amp {
    pub use allotrope_tensor::{
        Autocast, AutocastGuard, GradScaler, ScalerOptions, ScalerReport, ScalerState, autocast,
        autocast_policies, is_autocast_enabled,
    };
}

/// Writes a tensor, or tensors by names, to a file in the format that the path asks for.
///
/// ```
/// use allotrope::prelude::*;
/// let path = std::env::temp_dir().join(format!("save-{}.npy", std::process::id()));
/// save(Tensor::new([1_u8, 2])?, &path)?;
/// assert_eq!(Tensor::try_from(load(&path)?)?, Tensor::new([1_u8, 2])?);
/// # std::fs::remove_file(path).ok();
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
/// As [`io::save`].
pub fn save(value: impl Into<Value>, path: impl AsRef<Path>) -> Result<()> {
    io::save(&value.into(), path, &[])
}

/// Reads a file: a tensor, or tensors by names.
///
/// ```
/// use allotrope::prelude::*;
/// let path = std::env::temp_dir().join(format!("load-{}.safetensors", std::process::id()));
/// save([("x", Tensor::new([1_u8, 2])?)], &path)?;
/// assert!(load(&path)?.get("x").is_some());
/// # std::fs::remove_file(path).ok();
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
/// As [`io::load`].
pub fn load(path: impl AsRef<Path>) -> Result<Value> {
    io::load(path)
}

/// Goes to the start of a seed's sequence, for all draws without a generator of their own.
///
/// ```
/// use allotrope::prelude::*;
/// # let draw = || Tensor::rand(4, DType::F64, Some(&Generator::new(7)));
/// manual_seed(7);
/// let x = Tensor::rand(4, DType::F64, None)?;
/// # assert_eq!(x, draw()?);
/// # Ok::<(), Error>(())
/// ```
pub fn manual_seed(seed: u64) {
    Generator::of_process().manual_seed(seed);
}

/// The Rust of the project's first page and of the book, which compiles and runs.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../book/src/introduction.md")]
    struct Introduction;
    #[doc = include_str!("../../../book/src/rust.md")]
    struct Guide;
    #[doc = include_str!("../../../book/src/from_rust.md")]
    struct FromRust;
}
