//! Compiled shaders on disk, where the driver hands them out: one file for each adapter and driver.
//!
//! The file is only a help: one that is missing, cut short, of another version or changed is ignored,
//! and one that cannot be written is not written.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::driver;

/// What files begin with; the digit is the version of what follows.
const MAGIC: &[u8; 8] = b"alpipes1";
/// Files are not written more often than this.
const PAUSE: Duration = Duration::from_secs(2);
/// More bytes than these are no cache of ours.
const MOST: usize = 256 << 20;

/// The cache of a device.
pub(crate) struct Cache {
    pub(crate) pipelines: wgpu::PipelineCache,
    path: PathBuf,
    /// Shaders that were compiled since the file was written.
    unsaved: usize,
    written: Option<Instant>,
}

/// FNV-1a: files are damaged by chance, and wgpu and the driver look for themselves.
fn checksum(bytes: &[u8]) -> u64 {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// The folder of a variable, or below one that the system names; nothing where it is switched off.
fn folder() -> Option<PathBuf> {
    if let Some(given) = std::env::var_os("ALLOTROPE_GPU_CACHE") {
        let is_off = given.is_empty() || given == "off" || given == "0";
        return (!is_off).then(|| PathBuf::from(given));
    }
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let caches = if cfg!(windows) {
        variable("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        variable("HOME").map(|home| home.join("Library/Caches"))
    } else {
        let home = || variable("HOME").map(|home| home.join(".cache"));
        variable("XDG_CACHE_HOME").or_else(home)
    };
    caches
        .filter(|path| path.is_absolute())
        .map(|path| path.join("allotrope"))
}

/// The name of the file: adapter, driver, and our own version.
fn file_name(info: &wgpu::AdapterInfo) -> Option<String> {
    let key = wgpu::util::pipeline_cache_key(info)?;
    let driver = format!("{} {} {}", info.name, info.driver, info.driver_info);
    let (version, sum) = (env!("CARGO_PKG_VERSION"), checksum(driver.as_bytes()));
    Some(format!("{key}-{sum:016x}-{version}.bin"))
}

/// What a file holds, if it is one of ours and whole.
fn unwrapped(bytes: &[u8]) -> Option<&[u8]> {
    let (magic, rest) = bytes.split_first_chunk::<8>()?;
    let (sum, data) = rest.split_first_chunk::<8>()?;
    let is_whole = magic == MAGIC && u64::from_le_bytes(*sum) == checksum(data);
    is_whole.then_some(data)
}

fn read(path: &Path) -> Option<Vec<u8>> {
    let size = std::fs::metadata(path).ok()?.len();
    if size > MOST as u64 {
        return None;
    }
    std::fs::read(path).ok()
}

impl Cache {
    /// The cache of a device, of what its file holds; nothing where there can be none.
    pub(crate) fn open(device: &wgpu::Device, info: &wgpu::AdapterInfo) -> Option<Self> {
        if !device.features().contains(wgpu::Features::PIPELINE_CACHE) {
            return None;
        }
        let path = folder()?.join(file_name(info)?);
        let bytes = read(&path).unwrap_or_default();
        Some(Self {
            pipelines: driver::pipeline_cache(device, unwrapped(&bytes)),
            path,
            unsaved: 0,
            written: None,
        })
    }

    /// Notes that a shader was compiled.
    pub(crate) fn note(&mut self) {
        self.unsaved += 1;
    }

    /// Writes the file if there is something new, and not too often.
    pub(crate) fn save(&mut self) {
        let is_early = self.written.is_some_and(|at| at.elapsed() < PAUSE);
        if self.unsaved == 0 || is_early {
            return;
        }
        self.unsaved = 0;
        self.written = Some(Instant::now());
        if let Some(data) = self.pipelines.get_data() {
            write(&self.path, &data).ok();
        }
    }
}

/// Writes a file whole or not at all.
fn write(path: &Path, data: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let unfinished = path.with_extension(format!("{}.tmp", std::process::id()));
    let head = [*MAGIC, checksum(data).to_le_bytes()];
    let written = std::fs::write(&unfinished, [head.as_flattened(), data].concat());
    let moved = written.and_then(|()| std::fs::rename(&unfinished, path));
    if moved.is_err() {
        std::fs::remove_file(&unfinished).ok();
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_files_are_read() {
        let data = b"some words of a driver";
        let sum = checksum(data).to_le_bytes();
        let file = [&MAGIC[..], &sum, data].concat();
        assert_eq!(unwrapped(&file), Some(&data[..]));
        for end in 0..file.len() {
            assert_eq!(unwrapped(&file[..end]), None, "{end}");
        }
        for at in 0..file.len() {
            let mut damaged = file.clone();
            damaged[at] ^= 4;
            assert_eq!(unwrapped(&damaged), None, "{at}");
        }
    }
}
