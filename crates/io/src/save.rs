//! From values to files.

use std::io::Write;
use std::path::Path;

use allotrope_cpu::memory::probe;
use allotrope_dtype::{Error, Problem};

use crate::atomic::{self, Failure};
use crate::source::no_access;
use crate::tree::named_tensors;
use crate::value::Value;
use crate::{npy, safetensors, zip};

const OP: &str = "save";

/// What a file is written as.
///
/// ```
/// use allotrope_io::Format;
/// assert_eq!(Format::of_path("x.npz"), Format::Npz);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Any value, with metadata.
    Safetensors,
    /// One tensor.
    Npy,
    /// Tensors by names.
    Npz,
}

impl Format {
    /// The format that the end of a name asks for: npy and npz by theirs, safetensors otherwise.
    #[must_use]
    pub fn of_path(path: impl AsRef<Path>) -> Self {
        match path.as_ref().extension().and_then(|end| end.to_str()) {
            Some("npy") => Self::Npy,
            Some("npz") => Self::Npz,
            _ => Self::Safetensors,
        }
    }
}

/// Writes a value to a file, in the format that the path asks for.
///
/// The file is replaced as a whole: an error, or the end of the process at any moment, leaves the old
/// one as it was. Every dtype comes back exactly.
///
/// ```
/// use allotrope_io::{load, save};
/// use allotrope_tensor::Tensor;
/// let path = std::env::temp_dir().join(format!("io-save-{}.npy", std::process::id()));
/// save(&Tensor::new([1_u8, 2])?.into(), &path, &[])?;
/// assert_eq!(Tensor::try_from(load(&path)?)?, Tensor::new([1_u8, 2])?);
/// # std::fs::remove_file(path).ok();
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// A file error if the system refuses, a value error for what the format has no place for (metadata
/// or containers in npy files, the metadata key `allotrope`), a memory error.
pub fn save(
    value: &Value,
    path: impl AsRef<Path>,
    metadata: &[(String, String)],
) -> Result<(), Error> {
    let path = path.as_ref();
    probe(OP, atomic::TOGETHER)?;
    let written = atomic::replace(path, |writer| {
        write_as(Format::of_path(path), value, metadata, writer)
    });
    written.map_err(|failure| match failure {
        Failure::System(error) => no_access(OP, &path.display().to_string(), &error),
        Failure::Content(error) => error,
    })
}

/// Writes a value as a file of a format would have it.
///
/// ```
/// use allotrope_io::{Format, write};
/// use allotrope_tensor::Tensor;
/// let mut bytes = Vec::new();
/// write(&Tensor::new([1_u8, 2])?.into(), Format::Npy, &[], &mut bytes)?;
/// assert!(bytes.starts_with(b"\x93NUMPY"));
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Errors
/// As [`save`].
pub fn write(
    value: &Value,
    format: Format,
    metadata: &[(String, String)],
    writer: &mut dyn Write,
) -> Result<(), Error> {
    write_as(format, value, metadata, writer).map_err(|failure| match failure {
        Failure::System(error) => no_access(OP, "the writer", &error),
        Failure::Content(error) => error,
    })
}

fn write_as(
    format: Format,
    value: &Value,
    metadata: &[(String, String)],
    writer: &mut dyn Write,
) -> Result<(), Failure<Error>> {
    let refuse = |given: &str, accepted| {
        let given = given.to_owned();
        Err(Failure::Content(Error::new(
            OP,
            Problem::NotSaved { given, accepted },
        )))
    };
    if format == Format::Safetensors {
        return safetensors::write(OP, value, metadata, writer);
    }
    if !metadata.is_empty() {
        return refuse(
            "metadata in an npy or npz file",
            "safetensors files have metadata",
        );
    }
    if format == Format::Npz {
        return match named_tensors(value) {
            Some(arrays) => zip::write(OP, arrays, writer),
            None => refuse(
                "something else than a dict of tensors by names in an npz file",
                "safetensors files hold nested containers",
            ),
        };
    }
    match value {
        Value::Tensor(tensor) => npy::write(OP, tensor, writer),
        _ => refuse(
            "something else than one tensor in an npy file",
            "npz files hold a dict of tensors",
        ),
    }
}
