//! Files that are replaced as a whole or not at all.
//!
//! A file that is being written has a temporary name. Its writer holds a lock on it, which the system
//! takes away when the process ends, however it does: who gets the lock knows that the writer is gone,
//! also where the folder is shared with other machines, and removes what it has left.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Bytes that are handed to the system together.
pub(crate) const TOGETHER: usize = 256 << 10;

/// How temporary names begin,
const START: &str = ".allotrope-";
/// and how they end. Between stand the number of the process and that of the file.
const END: &str = ".tmp";

/// How long a folder is left alone after it was swept: to list a large one takes a while.
const PAUSE: Duration = Duration::from_secs(10);

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
    // First, since the disk may be full of what others have left.
    sweep(folder_of(&target));
    let temporary = Temporary::beside(&target).map_err(Failure::System)?;
    // bounded: its room was asked for by the caller.
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
        if target.file_name().is_none() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            // Short, whatever the target's name: a long one could not have anything added.
            let path =
                target.with_file_name(format!("{START}{}-{number}{END}", std::process::id()));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => {
                    let temporary = Self {
                        path,
                        file,
                        is_kept: false,
                    };
                    if temporary.is_claimed() {
                        return Ok(temporary);
                    }
                    // Its name may be somebody else's by now.
                    temporary.keep();
                }
                // Left by a process that had this number and was killed.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Locks the file; false if somebody who swept took it for one that was left.
    fn is_claimed(&self) -> bool {
        match self.file.try_lock() {
            Ok(()) => is_at(&self.file, &self.path),
            Err(fs::TryLockError::WouldBlock) => false,
            // A system without locks: then nobody sweeps either.
            Err(fs::TryLockError::Error(_)) => true,
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

/// Removes temporary files of a folder whose writers are gone. What cannot be looked at stays.
fn sweep(folder: &Path) {
    static LAST: Mutex<Option<(PathBuf, Instant)>> = Mutex::new(None);
    // Somebody else sweeps, or the process was forked meanwhile: there is a next time.
    let Ok(mut last) = LAST.try_lock() else {
        return;
    };
    let now = Instant::now();
    if let Some((swept, then)) = &*last
        && swept == folder
        && now.duration_since(*then) < PAUSE
    {
        return;
    }
    *last = Some((folder.to_owned(), now));
    drop(last);
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        if is_temporary(&entry.file_name()) && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            remove_if_left(&entry.path());
        }
    }
}

/// Whether a name is one that [`Temporary`] gives.
fn is_temporary(name: &OsStr) -> bool {
    let numbers = name
        .to_str()
        .and_then(|name| name.strip_prefix(START)?.strip_suffix(END)?.split_once('-'));
    let is_number =
        |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    numbers.is_some_and(|(process, number)| is_number(process) && is_number(number))
}

/// Removes a temporary file unless its writer holds it.
fn remove_if_left(path: &Path) {
    let Ok(file) = OpenOptions::new().write(true).open(path) else {
        return;
    };
    // With the lock, nobody else renames or removes what has this name: a writer that has finished in
    // the meantime has taken it along, and the name is gone or another's.
    if file.try_lock().is_ok() && is_at(&file, path) {
        // It stays until the next time.
        let _ = fs::remove_file(path);
    }
}

/// Whether an open file still has this name.
fn is_at(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
        let there = fs::symlink_metadata(path).map(identity).ok();
        there.is_some() && there == file.metadata().map(identity).ok()
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        path.exists()
    }
}

/// The folder that a file is in.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Puts the new name on the disk.
fn sync_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    File::open(folder_of(path))?.sync_all()?;
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_temporary_names_are_swept() {
        for ours in [
            ".allotrope-1-0.tmp",
            ".allotrope-4194304-18446744073709551615.tmp",
        ] {
            assert!(is_temporary(OsStr::new(ours)), "{ours}");
        }
        for other in [
            ".allotrope-1.tmp",
            ".allotrope--1.tmp",
            ".allotrope-1-.tmp",
            ".allotrope-1-2-3.tmp",
            ".allotrope-1-x.tmp",
            "allotrope-1-2.tmp",
            ".allotrope-1-2.tmp~",
            ".x.1-2.tmp",
            "",
        ] {
            assert!(!is_temporary(OsStr::new(other)), "{other}");
        }
    }

    #[test]
    fn what_is_held_stays_and_what_is_left_goes() {
        let folder = std::env::temp_dir().join(format!("sweep-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let held = Temporary::beside(&folder.join("x")).unwrap();
        let left = folder.join(".allotrope-1-77.tmp");
        fs::write(&left, b"left").unwrap();
        for path in [&held.path, &left] {
            remove_if_left(path);
        }
        assert!(held.path.exists() && !left.exists());
        let path = held.path.clone();
        drop(held);
        assert!(!path.exists());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_name_that_was_taken_away_is_not_claimed() {
        let folder = std::env::temp_dir().join(format!("claim-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let temporary = Temporary::beside(&folder.join("x")).unwrap();
        assert!(temporary.is_claimed());
        fs::remove_file(&temporary.path).unwrap();
        assert!(!temporary.is_claimed());
        temporary.keep();
        fs::remove_dir_all(folder).unwrap();
    }
}
