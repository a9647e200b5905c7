//! From files to values.

use std::path::Path;

use allotrope_dtype::Error;

use crate::source::Source;
use crate::value::{Key, Value};
use crate::{npy, safetensors, torch, zip};

pub(crate) const OP: &str = "load";
/// What bytes without a path are called in errors.
const NAMELESS: &str = "bytes";

/// Reads a file that [`save`](crate::save()) wrote, any other of the three formats, or one that
/// `torch.save` wrote: which one is told by its first bytes. A safetensors file of someone else's is a
/// dict of its tensors by names, as is an npz file; an npy file is a tensor.
/// [`load_mapped`](crate::load_mapped) reads a large file as it is used.
///
/// A file of torch's is a pickle, which is read as data: containers, numbers, text and tensors. One that
/// would call anything else is refused by the name of that.
///
/// ```
/// use allotrope_io::{load, save};
/// use allotrope_tensor::Tensor;
/// let path = std::env::temp_dir().join(format!("io-load-{}.npy", std::process::id()));
/// save(&Tensor::new([1_u8, 2])?.into(), &path, &[])?;
/// assert_eq!(Tensor::try_from(load(&path)?)?, Tensor::new([1_u8, 2])?);
/// # std::fs::remove_file(path).ok();
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// A file error if the system refuses or the file is damaged, a dtype error for elements that no
/// dtype here has, a memory error.
pub fn load(path: impl AsRef<Path>) -> Result<Value, Error> {
    read(&Source::open(OP, path.as_ref())?)
}

/// Reads the bytes of a file.
///
/// ```
/// use allotrope_io::{Format, load_bytes, write};
/// use allotrope_tensor::Tensor;
/// let mut bytes = Vec::new();
/// write(&Tensor::new([1_u8, 2])?.into(), Format::Npy, &[], &mut bytes)?;
/// assert_eq!(Tensor::try_from(load_bytes(&bytes)?)?, Tensor::new([1_u8, 2])?);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// As [`load`].
pub fn load_bytes(bytes: &[u8]) -> Result<Value, Error> {
    read(&Source::of_bytes(OP, NAMELESS, bytes))
}

/// The metadata of a safetensors file; npy and npz files have none.
///
/// ```
/// use allotrope_io::{load_metadata, save};
/// use allotrope_tensor::Tensor;
/// let path = std::env::temp_dir().join(format!("io-meta-{}.safetensors", std::process::id()));
/// save(&Tensor::new([1])?.into(), &path, &[("step".to_owned(), "7".to_owned())])?;
/// assert_eq!(load_metadata(&path)?, [("step".to_owned(), "7".to_owned())]);
/// # std::fs::remove_file(path).ok();
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// As [`load`].
pub fn load_metadata(path: impl AsRef<Path>) -> Result<Vec<(String, String)>, Error> {
    read_metadata(&Source::open("load_metadata", path.as_ref())?)
}

/// The metadata of the bytes of a file.
///
/// ```
/// use allotrope_io::{Format, load_metadata_bytes, write};
/// use allotrope_tensor::Tensor;
/// let mut bytes = Vec::new();
/// let metadata = [("step".to_owned(), "7".to_owned())];
/// write(&Tensor::new([1])?.into(), Format::Safetensors, &metadata, &mut bytes)?;
/// assert_eq!(load_metadata_bytes(&bytes)?, metadata);
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// As [`load`].
pub fn load_metadata_bytes(bytes: &[u8]) -> Result<Vec<(String, String)>, Error> {
    read_metadata(&Source::of_bytes("load_metadata", NAMELESS, bytes))
}

enum Kind {
    Npy,
    /// An npz file, or one of torch's.
    Archive,
    /// A file of torch's from before 1.6.
    Legacy,
    Safetensors,
}

fn kind(source: &Source<'_>) -> Result<Kind, Error> {
    let first = source.bytes(0..source.len().min(8))?;
    Ok(if first.starts_with(npy::MAGIC) {
        Kind::Npy
    } else if zip::MAGICS.iter().any(|magic| first.starts_with(magic)) {
        Kind::Archive
    } else if !first.is_empty() && torch::LEGACY.starts_with(&first) && first.len() == 8 {
        Kind::Legacy
    } else {
        Kind::Safetensors
    })
}

pub(crate) fn read(source: &Source<'_>) -> Result<Value, Error> {
    match kind(source)? {
        Kind::Npy => npy::read(source, 0, source.len()).map(Value::Tensor),
        Kind::Legacy => torch::read_legacy(source),
        Kind::Archive => {
            let entries = zip::files(source)?;
            if torch::is_archive(&entries) {
                return torch::read_archive(source, &entries);
            }
            let named = |(name, tensor)| (Key::Text(name), Value::Tensor(tensor));
            let arrays = zip::read(source, entries)?.into_iter();
            Ok(Value::Dict(arrays.map(named).collect()))
        }
        Kind::Safetensors => safetensors::read(source),
    }
}

fn read_metadata(source: &Source<'_>) -> Result<Vec<(String, String)>, Error> {
    match kind(source)? {
        Kind::Npy | Kind::Archive | Kind::Legacy => Ok(Vec::new()),
        Kind::Safetensors => safetensors::read_metadata(source),
    }
}
