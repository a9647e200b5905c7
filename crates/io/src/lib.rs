//! Tensors in files: safetensors, NumPy's npy and npz, and torch's files, which are read.
//!
//! | file | what is in it |
//! |---|---|
//! | `value` | [`Value`]: what a file holds, a tensor or containers of tensors and numbers |
//! | `save`, `load` | [`save()`] and [`load()`]: the format by the name, or by the first bytes |
//! | `safetensors` | the format safetensors |
//! | `tree` | containers as names and metadata of a safetensors file |
//! | `npy` | NumPy's format of one array |
//! | `zip` | archives, which npz files and torch's are |
//! | `torch`, `pickle` | what `torch.save` writes, read without running it |
//! | `json` | the JSON of headers |
//! | `source` | bytes to read tensors from: a file, its mapping, or memory |
//! | `mmap` | [`load_mapped`]: files as memory (unsafe) |
//! | `atomic` | files that are replaced as a whole or not at all |
//!
//! No file makes a reader panic, or allocate more than a fixed multiple of the file's own length.
//!
//! ```
//! use allotrope_io::{DType, Tensor, Value, load, save};
//!
//! let path = std::env::temp_dir().join(format!("doc-{}.safetensors", std::process::id()));
//! let x = Tensor::arange(0, 3, 1, DType::BF16)?;
//! save(&x.clone().into(), &path, &[])?;
//! assert_eq!(Tensor::try_from(load(&path)?)?, x);
//!
//! save(&Value::from([("x", x)]), &path, &[])?;
//! assert!(load(&path)?.get("x").is_some());
//! # std::fs::remove_file(path).ok();
//! # Ok::<(), allotrope_io::Error>(())
//! ```
#![deny(unsafe_code)]

mod atomic;
mod json;
mod load;
mod mmap;
mod npy;
mod pickle;
mod safetensors;
mod save;
mod source;
mod torch;
mod tree;
mod value;
mod zip;

pub use allotrope_tensor::{DType, Device, Error, ErrorKind, Problem, Tensor};
pub use load::{load, load_bytes, load_metadata, load_metadata_bytes};
pub use mmap::load_mapped;
pub use save::{Format, save, write};
pub use value::{Key, Value};
