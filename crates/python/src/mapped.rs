//! Files as memory, on the word of the program that says `mmap=True`.
#![allow(unsafe_code, reason = "files that others may change")]

use std::path::Path;

use allotrope_io::{Error, Value};

/// What a file holds, as views of it.
pub(crate) fn load(path: &Path) -> Result<Value, Error> {
    // SAFETY: that nothing writes to the file while its tensors exist is what `mmap=True` promises: the
    // documentation of `load` asks for it, as NumPy's `memmap` does.
    unsafe { allotrope_io::load_mapped(path) }
}
