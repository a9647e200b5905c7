//! Archives, which npz files are: read if stored or deflated, written stored.

use allotrope_cpu::memory::{try_push, try_vec, try_with_capacity};
use std::io::{self, Write};
use std::ops::Range;

use allotrope_dtype::Error;
use allotrope_tensor::Tensor;
use miniz_oxide::inflate::decompress_slice_iter_to_slice;

use crate::atomic::Failure;
use crate::source::Source;
use crate::{npy, safetensors};

/// What a file or the list of an archive without files begins with.
pub(crate) const MAGICS: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];
const LOCAL: &[u8] = b"PK\x03\x04";
const CENTRAL: &[u8] = b"PK\x01\x02";
const END: &[u8] = b"PK\x05\x06";
const WIDE_END: &[u8] = b"PK\x06\x06";
const WIDE_LOCATOR: &[u8] = b"PK\x06\x07";
/// The bytes of the end record, without its comment of at most 65535 bytes.
const END_BYTES: u64 = 22;
/// What the first byte of a file is a multiple of: arrays can be read where they lie.
const ALIGNMENT: u64 = 64;
/// What fields of 32 bits say if the number is elsewhere.
const ELSEWHERE: u64 = u32::MAX as u64;

/// Bytes that a deflated one stands for at the most: 258 by two bits, which are one in 1032.
const MOST_UNPACKED: u64 = 1032;

/// A file of an archive.
pub(crate) struct Entry {
    pub(crate) name: String,
    is_deflated: bool,
    check: u32,
    packed: u64,
    unpacked: u64,
    /// Where its own header lies.
    header: u64,
}

/// Little-endian numbers in a row.
struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    fn number(&mut self, bytes: usize) -> Option<u64> {
        let taken = self.take(bytes)?;
        Some(
            taken
                .iter()
                .rev()
                .fold(0, |number, byte| number << 8 | u64::from(*byte)),
        )
    }
}

/// The files of an archive, which do not overlap.
pub(crate) fn files(source: &Source<'_>) -> Result<Vec<Entry>, Error> {
    let entries = list(source)?;
    // Files that share bytes could be a thousand times as large as the archive.
    let packed = entries
        .iter()
        .try_fold(0_u64, |sum, e| sum.checked_add(e.packed));
    if packed.is_none_or(|packed| packed > source.len()) {
        return Err(source.damaged("files that overlap"));
    }
    Ok(entries)
}

/// Reads the arrays of an archive by their names.
pub(crate) fn read(
    source: &Source<'_>,
    entries: Vec<Entry>,
) -> Result<Vec<(String, Tensor)>, Error> {
    let mut arrays: Vec<(String, Tensor)> = try_with_capacity(source.op(), entries.len())?;
    let mut seen = std::collections::HashSet::new();
    for entry in entries {
        let Some(name) = entry.name.strip_suffix(".npy") else {
            let reason = format!(
                "a file {:?} that is no array; npz has .npy files",
                entry.name
            );
            return Err(source.damaged(reason));
        };
        if !seen.insert(name.to_owned()) {
            return Err(source.damaged(format!("two files {:?}", entry.name)));
        }
        let tensor = read_entry(source, &entry)?;
        arrays.push((name.to_owned(), tensor));
    }
    Ok(arrays)
}

/// Where the bytes of a file are that is not compressed.
pub(crate) fn stored(source: &Source<'_>, entry: &Entry) -> Result<Range<u64>, Error> {
    if entry.is_deflated || entry.packed != entry.unpacked {
        return Err(source.damaged(format!("a compressed file {:?}", entry.name)));
    }
    place(source, entry)
}

/// Where the packed bytes of a file are.
fn place(source: &Source<'_>, entry: &Entry) -> Result<Range<u64>, Error> {
    let damaged = |what: &str| source.damaged(format!("{what} of {:?}", entry.name));
    let end = entry.header.checked_add(30);
    let head = source.bytes(entry.header..end.ok_or_else(|| damaged("no header"))?)?;
    let mut fields = Fields { rest: &head };
    let is_local = fields.take(4) == Some(LOCAL);
    fields.take(22);
    let lengths = fields.number(2).zip(fields.number(2));
    let Some((name, extra)) = lengths.filter(|_| is_local) else {
        return Err(damaged("no header"));
    };
    let start = entry.header + 30 + name + extra;
    let end = start
        .checked_add(entry.packed)
        .filter(|end| *end <= source.len());
    Ok(start..end.ok_or_else(|| damaged("bytes beyond the end"))?)
}

fn read_entry(source: &Source<'_>, entry: &Entry) -> Result<Tensor, Error> {
    let damaged = |what: &str| source.damaged(format!("{what} of {:?}", entry.name));
    let Range { start, end } = place(source, entry)?;
    if !entry.is_deflated {
        if entry.packed != entry.unpacked {
            return Err(damaged("two lengths"));
        }
        // A mapping is not read before its elements are used.
        if !source.is_mapped() && crc32fast::hash(&source.bytes(start..end)?) != entry.check {
            return Err(damaged("another checksum"));
        }
        return npy::read(source, start, end);
    }
    let limit = usize::try_from(entry.unpacked).map_err(|_| damaged("too many bytes"))?;
    if entry.unpacked / MOST_UNPACKED > entry.packed {
        return Err(damaged("more bytes than so few stand for"));
    }
    let packed = source.bytes(start..end)?;
    let mut unpacked = try_vec(source.op(), limit, 0_u8)?;
    let packed = std::iter::once(&packed[..]);
    let length = decompress_slice_iter_to_slice(&mut unpacked, packed, false, true);
    let length = length.map_err(|_| damaged("damaged compression"))?;
    if length != limit || crc32fast::hash(&unpacked) != entry.check {
        return Err(damaged("another checksum or length"));
    }
    let inner = Source::of_bytes(source.op(), source.name(), &unpacked);
    npy::read(&inner, 0, inner.len())
}

/// The files of an archive, by the list at its end.
fn list(source: &Source<'_>) -> Result<Vec<Entry>, Error> {
    let none = || source.damaged("no end of an archive");
    let from = source.len().saturating_sub(END_BYTES + 65_535);
    let tail = source.bytes(from..source.len())?;
    let place = (0..tail.len().saturating_sub(END_BYTES as usize - 1))
        .rev()
        .find(|place| tail[*place..].starts_with(END))
        .ok_or_else(none)?;
    let mut fields = Fields {
        rest: &tail[place + 12..],
    };
    let (length, start) = fields.number(4).zip(fields.number(4)).ok_or_else(none)?;
    let (length, start) = if length == ELSEWHERE || start == ELSEWHERE {
        wide_end(source, from + place as u64).ok_or_else(none)?
    } else {
        (length, start)
    };
    let end = start.checked_add(length).ok_or_else(none)?;
    let bytes = source.bytes(start..end)?;
    let mut fields = Fields { rest: &bytes };
    let mut entries = Vec::new();
    while !fields.rest.is_empty() {
        let entry = read_central(&mut fields);
        let entry = entry.ok_or_else(|| source.damaged("a damaged list of files"))?;
        let entry = entry.map_err(|what| source.damaged(what))?;
        try_push(source.op(), &mut entries, entry)?;
    }
    Ok(entries)
}

/// Length and start of the list, from the records of archives beyond 4 GiB.
fn wide_end(source: &Source<'_>, end: u64) -> Option<(u64, u64)> {
    let locator = source.bytes(end.checked_sub(20)?..end).ok()?;
    let mut fields = Fields { rest: &locator };
    let is_locator = fields.take(8)?.starts_with(WIDE_LOCATOR);
    let start = fields.number(8).filter(|_| is_locator)?;
    let record = source.bytes(start..start.checked_add(56)?).ok()?;
    let mut fields = Fields { rest: &record };
    let is_record = fields.take(40)?.starts_with(WIDE_END);
    fields.number(8).zip(fields.number(8)).filter(|_| is_record)
}

/// One file of the list; an inner error names what is not read.
fn read_central(fields: &mut Fields<'_>) -> Option<Result<Entry, String>> {
    if fields.take(4)? != CENTRAL {
        return None;
    }
    fields.take(4)?;
    let (flags, method) = (fields.number(2)?, fields.number(2)?);
    fields.take(4)?;
    let check = fields.number(4)? as u32;
    let (mut packed, mut unpacked) = (fields.number(4)?, fields.number(4)?);
    let lengths = [fields.number(2)?, fields.number(2)?, fields.number(2)?];
    fields.take(8)?;
    let mut header = fields.number(4)?;
    let [name, extra, comment] = lengths.map(|length| length as usize);
    let name = String::from_utf8(fields.take(name)?.to_vec());
    let mut extra = Fields {
        rest: fields.take(extra)?,
    };
    fields.take(comment)?;
    let Ok(name) = name else {
        return Some(Err("a name that is not UTF-8".to_owned()));
    };
    while !extra.rest.is_empty() {
        let (kind, length) = (extra.number(2)?, extra.number(2)? as usize);
        let mut field = Fields {
            rest: extra.take(length)?,
        };
        if kind == 1 {
            for number in [&mut unpacked, &mut packed, &mut header] {
                if *number == ELSEWHERE {
                    *number = field.number(8)?;
                }
            }
        }
    }
    if flags & 1 != 0 {
        return Some(Err(format!("an encrypted file {name:?}")));
    }
    if method != 0 && method != 8 {
        return Some(Err(format!("a file {name:?} of compression {method}")));
    }
    Some(Ok(Entry {
        name,
        is_deflated: method == 8,
        check,
        packed,
        unpacked,
        header,
    }))
}

/// Counts and checks what it passes on.
struct Counting<'a> {
    writer: &'a mut dyn Write,
    count: u64,
    check: crc32fast::Hasher,
}

impl Write for Counting<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.writer.write(bytes)?;
        self.count += written as u64;
        self.check.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// Passes elements on to a checksum alone.
struct Checking(crc32fast::Hasher);

impl Write for Checking {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes arrays by their names, stored and aligned.
pub(crate) fn write<'t>(
    op: &'static str,
    arrays: impl Iterator<Item = (&'t str, &'t Tensor)>,
    writer: &mut dyn Write,
) -> Result<(), Failure<Error>> {
    let mut writer = Counting {
        writer,
        count: 0,
        check: crc32fast::Hasher::new(),
    };
    let (mut list, mut files) = (Vec::new(), 0_u64);
    for (name, tensor) in arrays {
        npy::check(op, tensor).map_err(Failure::Content)?;
        let name = format!("{name}.npy");
        let head = npy::header(tensor);
        let length = head.len() as u64 + tensor.byte_count() as u64;
        // The checksum stands before the elements, so they are read twice.
        let mut checking = Checking(crc32fast::Hasher::new());
        checking.0.update(&head);
        safetensors::write_elements(op, tensor, &mut checking)?;
        let check = checking.0.finalize();
        let start = writer.count;
        let record = local_record(&name, check, length, start).ok_or_else(|| too_long(op))?;
        let system = Failure::System;
        writer.write_all(&record).map_err(system)?;
        writer.write_all(&head).map_err(system)?;
        safetensors::write_elements(op, tensor, &mut writer)?;
        list.extend(central_record(&name, check, length, start));
        files += 1;
    }
    let start = writer.count;
    list.extend(end_records(files, list.len() as u64, start));
    writer.write_all(&list).map_err(Failure::System)
}

#[cold]
fn too_long(op: &'static str) -> Failure<Error> {
    let problem = allotrope_dtype::Problem::NotSaved {
        given: "a name of more than 65535 bytes".to_owned(),
        accepted: "shorter names are accepted",
    };
    Failure::Content(Error::new(op, problem))
}

/// A number of 32 bits, or the word that it is elsewhere.
fn narrow(number: u64) -> [u8; 4] {
    (number.min(ELSEWHERE) as u32).to_le_bytes()
}

/// What the two records of a file share: version 4.5, UTF-8, stored, the first day of 1980.
fn shared_fields(check: u32, length: u64, name: &str, extra: usize) -> Vec<u8> {
    let mut fields = vec![45, 0, 0, 8, 0, 0, 0, 0, 33, 0];
    fields.extend(check.to_le_bytes());
    fields.extend(narrow(length));
    fields.extend(narrow(length));
    fields.extend((name.len() as u16).to_le_bytes());
    fields.extend((extra as u16).to_le_bytes());
    fields
}

/// The record before a file, padded so that the file is aligned; `None` for too long a name.
fn local_record(name: &str, check: u32, length: u64, start: u64) -> Option<Vec<u8>> {
    u16::try_from(name.len()).ok()?;
    let mut extra = Vec::new();
    if length >= ELSEWHERE {
        extra.extend([1, 0, 16, 0]);
        extra.extend(length.to_le_bytes());
        extra.extend(length.to_le_bytes());
    }
    // A field without a meaning, of a header and zeros.
    let end = start + 30 + (name.len() + extra.len()) as u64 + 4;
    let padding = (end.next_multiple_of(ALIGNMENT) - end) as u16;
    extra.extend([0x35, 0xD9]);
    extra.extend(padding.to_le_bytes());
    extra.extend(std::iter::repeat_n(0, usize::from(padding)));
    let shared = shared_fields(check, length, name, extra.len());
    Some([LOCAL, &shared, name.as_bytes(), &extra].concat())
}

/// The record of a file in the list.
fn central_record(name: &str, check: u32, length: u64, start: u64) -> Vec<u8> {
    let mut wide = Vec::new();
    if length >= ELSEWHERE {
        wide.extend(length.to_le_bytes());
        wide.extend(length.to_le_bytes());
    }
    if start >= ELSEWHERE {
        wide.extend(start.to_le_bytes());
    }
    let mut extra = Vec::new();
    if !wide.is_empty() {
        extra.extend([1, 0, wide.len() as u8, 0]);
        extra.extend(wide);
    }
    let shared = shared_fields(check, length, name, extra.len());
    // bounded: a record.
    let mut record = [CENTRAL, &[45, 0], &shared, &[0; 10]].concat();
    record.extend(narrow(start));
    record.extend_from_slice(name.as_bytes());
    record.extend(extra);
    record
}

/// The records at the end, of large archives too.
fn end_records(files: u64, length: u64, start: u64) -> Vec<u8> {
    // bounded: a record.
    let mut records = Vec::new();
    if files >= 0xFFFF || length >= ELSEWHERE || start >= ELSEWHERE {
        records.extend_from_slice(WIDE_END);
        records.extend(44_u64.to_le_bytes());
        records.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        for number in [files, files, length, start] {
            records.extend(number.to_le_bytes());
        }
        records.extend_from_slice(WIDE_LOCATOR);
        records.extend([0; 4]);
        records.extend((start + length).to_le_bytes());
        records.extend(1_u32.to_le_bytes());
    }
    records.extend_from_slice(END);
    records.extend([0; 4]);
    let count = (files.min(0xFFFF) as u16).to_le_bytes();
    records.extend(count);
    records.extend(count);
    records.extend(narrow(length));
    records.extend(narrow(start));
    records.extend([0; 2]);
    records
}
