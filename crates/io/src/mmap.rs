//! Files as memory.
#![allow(unsafe_code, reason = "memory that the system maps")]

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use allotrope_cpu::Foreign;
use allotrope_dtype::Error;
use memmap2::Mmap;

use crate::load::{self, read};
use crate::source::Source;
use crate::value::Value;

/// What [`load`](crate::load()) reads, as views of the file, which is read as they are used. What lies
/// at an address that its dtype does not allow is copied, and checksums of npz files are not looked at.
///
/// ```
/// use allotrope_io::{load_mapped, save};
/// use allotrope_tensor::Tensor;
/// let path = std::env::temp_dir().join(format!("io-map-{}.npy", std::process::id()));
/// save(&Tensor::new([1_u8, 2])?.into(), &path, &[])?;
/// // SAFETY: nobody else knows the file.
/// let x = Tensor::try_from(unsafe { load_mapped(&path) }?)?;
/// assert!(x.is_foreign());
/// assert_eq!(x, Tensor::new([1_u8, 2])?);
/// # std::fs::remove_file(path).ok();
/// # Ok::<(), allotrope_tensor::Error>(())
/// ```
///
/// # Safety
/// Nobody, in this process or another, writes to the file or cuts it short as long as a tensor of it
/// exists. To replace it, as [`save`](crate::save()) does, or to remove its name is no change of it.
///
/// # Errors
/// As [`load`](crate::load()).
pub unsafe fn load_mapped(path: impl AsRef<Path>) -> Result<Value, Error> {
    // SAFETY: the file is left alone, as promised to this function.
    let map = |file: &File| unsafe { Mapping::new(file) };
    read(&Source::open_mapped(load::OP, path.as_ref(), map)?)
}

/// A file as memory to read, which exists as long as a part of it is in use.
pub(crate) struct Mapping {
    map: Arc<Mmap>,
}

impl Mapping {
    /// Maps a whole file.
    ///
    /// # Safety
    /// Nobody writes to the file or cuts it short as long as the mapping or a part of it exists.
    unsafe fn new(file: &File) -> io::Result<Self> {
        // SAFETY: the mapping is only read, and the file is left alone, as promised to this function.
        let map = unsafe { Mmap::map(file) }?;
        Ok(Self { map: Arc::new(map) })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// A part of the file, which keeps the mapping.
    pub(crate) fn part(&self, range: Range<usize>) -> Option<Foreign> {
        let part = self.map.get(range)?;
        // SAFETY: the bytes lie in the mapping, which the owner keeps, and which is only read.
        Some(unsafe { Foreign::new(part.as_ptr(), part.len(), Arc::clone(&self.map)) })
    }
}
