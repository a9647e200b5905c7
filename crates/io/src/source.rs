//! Bytes to read tensors from: a file, its mapping, or memory.
//!
//! Every range is checked here: no header makes a reader allocate more than the file has bytes
//! (deflated archives: a thousand times that).

use allotrope_cpu::memory::try_vec;
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use allotrope_cpu::Buffer;
use allotrope_dtype::{DType, Error, ErrorKind, Problem};
use allotrope_tensor::{ForeignLayout, Tensor};

use crate::mmap::Mapping;
use crate::value::MOST_DIMENSIONS;

/// Where bytes come from, and what they are called in errors.
pub(crate) struct Source<'a> {
    op: &'static str,
    name: String,
    content: Content<'a>,
    len: u64,
}

enum Content<'a> {
    File(File),
    Mapped(Mapping),
    Memory(&'a [u8]),
}

impl<'a> Source<'a> {
    /// A file that is read.
    pub(crate) fn open(op: &'static str, path: &Path) -> Result<Self, Error> {
        Self::open_as(op, path, |file, _| Ok(Content::File(file)))
    }

    /// A file as memory, if it has bytes: the system maps no empty ones.
    pub(crate) fn open_mapped(
        op: &'static str,
        path: &Path,
        map: impl FnOnce(&File) -> io::Result<Mapping>,
    ) -> Result<Self, Error> {
        Self::open_as(op, path, |file, len| match len {
            0 => Ok(Content::File(file)),
            _ => map(&file).map(Content::Mapped),
        })
    }

    fn open_as(
        op: &'static str,
        path: &Path,
        content: impl FnOnce(File, u64) -> io::Result<Content<'a>>,
    ) -> Result<Self, Error> {
        let name = path.display().to_string();
        let open = || {
            let file = File::open(path)?;
            let metadata = file.metadata()?;
            if metadata.is_dir() {
                return Err(io::Error::from(io::ErrorKind::IsADirectory));
            }
            Ok((content(file, metadata.len())?, metadata.len()))
        };
        match open() {
            Ok((content, len)) => Ok(Self {
                op,
                name,
                content,
                len,
            }),
            Err(error) => Err(no_access(op, &name, &error)),
        }
    }

    /// Bytes in memory.
    pub(crate) fn of_bytes(op: &'static str, name: &str, bytes: &'a [u8]) -> Self {
        Self {
            op,
            name: name.to_owned(),
            content: Content::Memory(bytes),
            len: bytes.len() as u64,
        }
    }

    /// The number of bytes.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// What the bytes are called in errors.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The operation that reads.
    pub(crate) fn op(&self) -> &'static str {
        self.op
    }

    /// Whether bytes are read from a mapping.
    pub(crate) fn is_mapped(&self) -> bool {
        matches!(self.content, Content::Mapped(_))
    }

    /// The error of contents that contradict themselves.
    #[cold]
    pub(crate) fn damaged(&self, reason: impl Into<String>) -> Error {
        let problem = Problem::DamagedFile {
            path: self.name.clone(),
            reason: reason.into(),
        };
        Error::new(self.op, problem)
    }

    /// The error of a pickle that torch did not write.
    #[cold]
    pub(crate) fn pickled(&self) -> Error {
        self.damaged("a pickle; files of torch.save, safetensors, npy and npz are read")
            .hint("in Python: torch.save(…, path) or safetensors.torch.save_file(…, path)")
    }

    /// The error of elements that no dtype reads.
    #[cold]
    pub(crate) fn unknown_dtype(&self, given: String) -> Error {
        let path = self.name.clone();
        Error::new(self.op, Problem::UnknownFileDType { path, given })
    }

    /// A part of the bytes; an error if it ends beyond them.
    pub(crate) fn bytes(&self, range: Range<u64>) -> Result<Cow<'_, [u8]>, Error> {
        let places = self.check(&range)?;
        match &self.content {
            Content::Mapped(mapping) => Ok(Cow::Borrowed(&mapping.bytes()[places])),
            Content::Memory(bytes) => Ok(Cow::Borrowed(&bytes[places])),
            Content::File(_) => {
                let mut bytes = try_vec(self.op, places.len(), 0)?;
                self.read_into(range.start, &mut bytes)?;
                Ok(Cow::Owned(bytes))
            }
        }
    }

    /// Row-major elements that begin at a byte: of the mapping where their address fits the dtype,
    /// else copied.
    pub(crate) fn tensor(
        &self,
        start: u64,
        sizes: &[usize],
        dtype: DType,
    ) -> Result<Tensor, Error> {
        let bytes = self.bytes_of(sizes, dtype)?;
        let end = start.checked_add(bytes as u64);
        let range = start..end.ok_or_else(|| self.damaged("a tensor beyond its end"))?;
        let places = self.check(&range)?;
        let made = match &self.content {
            Content::Memory(all) => Tensor::from_bytes(&all[places], sizes, dtype),
            Content::Mapped(mapping) if bytes > 0 => {
                let mut strides = vec![0; sizes.len()];
                let mut stride = dtype.itemsize() as isize;
                for (place, size) in strides.iter_mut().zip(sizes).rev() {
                    *place = stride;
                    stride *= *size as isize;
                }
                let layout = ForeignLayout::new(self.op, sizes, &strides, dtype)?;
                let part = mapping.part(places);
                let part = part.ok_or_else(|| self.damaged("a tensor beyond its end"))?;
                Tensor::from_foreign(part, &layout, None)
            }
            Content::Mapped(_) => Tensor::zeros(sizes, dtype),
            Content::File(_) => {
                let mut buffer = Buffer::for_overwrite(self.op, bytes)?;
                self.read_into(start, &mut buffer)?;
                Tensor::from_memory(buffer, sizes, dtype)
            }
        };
        made.map_err(|error| match error.kind() {
            ErrorKind::Memory => error.in_op(self.op),
            _ => self.damaged(error.to_string()),
        })
    }

    /// The bytes of a tensor, which may not be more than there are.
    pub(crate) fn bytes_of(&self, sizes: &[usize], dtype: DType) -> Result<usize, Error> {
        if sizes.len() > MOST_DIMENSIONS {
            let reason = format!("{} dimensions; {MOST_DIMENSIONS} are read", sizes.len());
            return Err(self.damaged(reason));
        }
        // Sizes beside a zero count too: no tensor has them.
        let mut shown = sizes.iter().map(|size| (*size).max(1));
        let count = shown.try_fold(1, usize::checked_mul);
        let room = count.and_then(|count| dtype.bytes_for(count));
        match room {
            Some(room) if isize::try_from(room).is_ok() => {
                Ok(if sizes.contains(&0) { 0 } else { room })
            }
            _ => Err(self.damaged(format!("sizes {sizes:?} that no memory holds"))),
        }
    }

    /// A range as places in memory, if it lies within the bytes.
    fn check(&self, range: &Range<u64>) -> Result<Range<usize>, Error> {
        let places = usize::try_from(range.start)
            .ok()
            .zip(usize::try_from(range.end).ok());
        match places {
            Some((start, end)) if start <= end && range.end <= self.len => Ok(start..end),
            _ => Err(self.damaged(format!(
                "{} bytes, but bytes {} to {} are needed",
                self.len, range.start, range.end
            ))),
        }
    }

    fn read_into(&self, start: u64, target: &mut [u8]) -> Result<(), Error> {
        let Content::File(file) = &self.content else {
            return Ok(());
        };
        let mut file = file;
        let read = file
            .seek(SeekFrom::Start(start))
            .and_then(|_| file.read_exact(target));
        read.map_err(|error| no_access(self.op, &self.name, &error))
    }
}

/// The error of what the system refuses.
#[cold]
pub(crate) fn no_access(op: &'static str, path: &str, error: &io::Error) -> Error {
    let problem = Problem::FileAccess {
        path: path.to_owned(),
        cause: error.kind(),
        reason: error.to_string(),
    };
    Error::new(op, problem)
}
