//! Files that are replaced as a whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that are handed to the system together.
const TOGETHER: usize = 1 << 20;

/// What a writer may end with: the system's refusal, or an error of its own.
pub(crate) enum Failure<E> {
    /// The system's answer.
    System(io::Error),
    /// An error of what was to be written.
    Content(E),
}

/// Writes a file: under another name in the same folder, which becomes its own when everything is on
/// the disk. Whatever happens before, the old file is whole; after, the new one is.
///
/// What is not a plain file (a pipe, a device) is written to directly. A link stays, and what it
/// points to is replaced. Permissions stay too.
pub(crate) fn replace<E>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Failure<E>>,
) -> Result<(), Failure<E>> {
    let old = fs::metadata(path).ok();
    if let Some(old) = &old
        && !old.is_file()
    {
        let mut file = OpenOptions::new()
            .write(true)
            .open(path)
            .map_err(Failure::System)?;
        return write(&mut file);
    }
    let target = match &old {
        Some(_) => fs::canonicalize(path).map_err(Failure::System)?,
        None => path.to_owned(),
    };
    let temporary = Temporary::beside(&target).map_err(Failure::System)?;
    let mut writer = BufWriter::with_capacity(TOGETHER, &temporary.file);
    write(&mut writer)?;
    writer.flush().map_err(Failure::System)?;
    drop(writer);
    let finish = || {
        if let Some(old) = &old {
            temporary.file.set_permissions(old.permissions())?;
        }
        temporary.file.sync_all()?;
        fs::rename(&temporary.path, &target)?;
        sync_folder(&target)
    };
    finish().map_err(Failure::System)?;
    temporary.keep();
    Ok(())
}

/// A file of another name, removed unless it is kept.
struct Temporary {
    path: PathBuf,
    file: File,
    is_kept: bool,
}

impl Temporary {
    fn beside(target: &Path) -> io::Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let Some(name) = target.file_name() else {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        };
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let mut other = std::ffi::OsString::from(".");
            other.push(name);
            other.push(format!(".{}-{number}.tmp", std::process::id()));
            let path = target.with_file_name(other);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => {
                    let is_kept = false;
                    return Ok(Self {
                        path,
                        file,
                        is_kept,
                    });
                }
                // Left by a process that had this number and was killed.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.is_kept {
            // Nothing is lost if it stays.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Puts the new name on the disk.
fn sync_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        File::open(folder)?.sync_all()?;
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}
