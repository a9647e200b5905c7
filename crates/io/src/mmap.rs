//! Files as memory.
#![allow(unsafe_code, reason = "memory that the system maps")]

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use allotrope_cpu::Foreign;
use memmap2::Mmap;

/// A file as memory to read, which exists as long as a part of it is in use.
pub(crate) struct Mapping {
    map: Arc<Mmap>,
}

impl Mapping {
    /// Maps a whole file.
    pub(crate) fn new(file: &File) -> io::Result<Self> {
        // SAFETY: the mapping is private and only read. That nobody cuts the file short or writes to
        // it meanwhile is asked of the user, as with NumPy's memmap: `load` says so.
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
