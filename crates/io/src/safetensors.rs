//! The format safetensors: eight bytes with the length of a header, the header in JSON, the elements.
//!
//! What the format has no word for stands in the metadata under `"allotrope"`, as JSON:
//! `{"version": 1, "dtypes": {name: dtype}, "tree": …}`. complex128 is stored as `F64` with a last
//! dimension of two parts, so that every reader opens the file, and named in `"dtypes"`; see
//! `tree` for `"tree"`. Neither is there if it is not needed.
//!
//! The header is in the order of the names given; the elements lie in the order of their widths, from
//! byte 64 k on, so that all are aligned where they lie.

use std::collections::{HashMap, HashSet};
use std::io::Write;

use allotrope_dtype::{DType, Error, Problem};
use allotrope_tensor::Tensor;

use crate::atomic::Failure;
use crate::json::{Parsed, Reader, push_list, push_string};
use crate::source::Source;
use crate::tree::{self, RESERVED, push_texts};
use crate::value::{Key, MOST_DIMENSIONS, Value};

/// The longest header that is read; the format's limit.
const LONGEST_HEADER: u64 = 100_000_000;
/// What the first element's place is a multiple of.
const ALIGNMENT: usize = 64;
/// Our entry in the metadata, and the version of what stands there.
const NOTES: &str = "allotrope";
const VERSION: u64 = 1;

/// The dtype that elements are stored as, and how many of them make one element.
fn stored(dtype: DType) -> Option<(&'static str, bool)> {
    match dtype.descriptor().safetensors_name {
        Some(name) => Some((name, false)),
        None => {
            let part = dtype.to_real();
            let name = part.descriptor().safetensors_name?;
            (part != dtype).then_some((name, true))
        }
    }
}

/// Writes a value and metadata.
pub(crate) fn write(
    op: &'static str,
    value: &Value,
    metadata: &[(String, String)],
    writer: &mut dyn Write,
) -> Result<(), Failure<Error>> {
    let refuse = |given: String, accepted| {
        Failure::Content(Error::new(op, Problem::NotSaved { given, accepted }))
    };
    if metadata.iter().any(|(key, _)| key == NOTES) {
        let given = format!("metadata under {NOTES:?}");
        return Err(refuse(given, "any other name is accepted"));
    }
    let flat = tree::flatten(op, value).map_err(Failure::Content)?;
    let mut order: Vec<usize> = (0..flat.tensors.len()).collect();
    let width = |tensor: &Tensor| tensor.dtype().alignment();
    order.sort_by_key(|i| std::cmp::Reverse(width(flat.tensors[*i].1)));
    let mut offsets = vec![(0, 0); order.len()];
    let mut end = 0_usize;
    for i in &order {
        let tensor = flat.tensors[*i].1;
        let start = end;
        let bytes = tensor.dtype().bytes_for(tensor.count());
        end = bytes
            .and_then(|bytes| end.checked_add(bytes))
            .ok_or_else(|| {
                refuse(
                    "more bytes than a file holds".to_owned(),
                    "less is accepted",
                )
            })?;
        offsets[*i] = (start, end);
        if tensor.rank() > MOST_DIMENSIONS {
            let given = format!("a tensor of {} dimensions", tensor.rank());
            return Err(refuse(given, "64 dimensions are accepted"));
        }
    }
    let header = header(&flat.tensors, &offsets, metadata, flat.tree.as_deref())
        .map_err(|dtype| refuse(format!("elements of {dtype}"), "other dtypes are accepted"))?;
    if header.len() as u64 > LONGEST_HEADER {
        let given = format!("names and metadata of {} bytes", header.len());
        return Err(refuse(given, "100000000 bytes are accepted"));
    }
    let system = Failure::System;
    let length = (header.len() as u64).to_le_bytes();
    writer.write_all(&length).map_err(system)?;
    writer.write_all(header.as_bytes()).map_err(system)?;
    for i in order {
        write_elements(op, flat.tensors[i].1, writer)?;
    }
    Ok(())
}

/// Writes elements in row-major order.
pub(crate) fn write_elements(
    op: &'static str,
    tensor: &Tensor,
    writer: &mut dyn Write,
) -> Result<(), Failure<Error>> {
    let tensor = tensor
        .contiguous()
        .map_err(|error| Failure::Content(error.in_op(op)))?;
    match tensor.contiguous_bytes() {
        Some(bytes) => writer.write_all(bytes).map_err(Failure::System),
        None => {
            let bytes = tensor
                .to_bytes()
                .map_err(|error| Failure::Content(error.in_op(op)))?;
            writer.write_all(&bytes).map_err(Failure::System)
        }
    }
}

/// The header with the white space that aligns what follows; a dtype that the format cannot store.
fn header(
    tensors: &[(String, &Tensor)],
    offsets: &[(usize, usize)],
    metadata: &[(String, String)],
    tree: Option<&str>,
) -> Result<String, DType> {
    let mut others = Vec::new();
    let mut entries = Vec::new();
    for ((name, tensor), (start, end)) in tensors.iter().zip(offsets) {
        let (dtype, in_parts) = stored(tensor.dtype()).ok_or(tensor.dtype())?;
        let mut sizes = tensor.shape().to_vec();
        if in_parts {
            sizes.push(2);
            others.push((name.as_str(), tensor.dtype().name()));
        }
        let entry = format!(
            "{{\"dtype\":\"{dtype}\",\"shape\":{sizes:?},\"data_offsets\":[{start},{end}]}}"
        );
        entries.push((name.as_str(), entry));
    }
    let mut metadata: Vec<(&str, &str)> = metadata
        .iter()
        .map(|(key, text)| (key.as_str(), text.as_str()))
        .collect();
    let mut notes = format!("{{\"version\":{VERSION}");
    if !others.is_empty() || tree.is_some() {
        if !others.is_empty() {
            notes.push_str(",\"dtypes\":");
            push_texts(&mut notes, others);
        }
        if let Some(tree) = tree {
            notes.push_str(",\"tree\":");
            push_string(&mut notes, tree);
        }
        notes.push('}');
        metadata.push((NOTES, &notes));
    }
    if !metadata.is_empty() {
        let mut texts = String::new();
        push_texts(&mut texts, metadata);
        entries.insert(0, (RESERVED, texts));
    }
    let mut header = String::new();
    push_list(&mut header, ['{', '}'], entries, |header, (name, entry)| {
        push_string(header, name);
        header.push(':');
        header.push_str(&entry);
    });
    let length = (header.len() + 8).next_multiple_of(ALIGNMENT) - 8;
    header.extend(std::iter::repeat_n(' ', length - header.len()));
    Ok(header)
}

/// What a header says of one tensor.
struct Entry {
    name: String,
    dtype: String,
    sizes: Vec<usize>,
    start: u64,
    end: u64,
}

/// What a header says.
#[derive(Default)]
struct Header {
    entries: Vec<Entry>,
    metadata: Vec<(String, String)>,
    /// Where the elements begin.
    start: u64,
}

/// Reads the value of a file.
pub(crate) fn read(source: &Source<'_>) -> Result<Value, Error> {
    let header = read_header(source)?;
    let notes = header.metadata.iter().find(|(key, _)| key == NOTES);
    let notes = match notes {
        Some((_, text)) => Notes::read(text).map_err(|reason| source.damaged(reason))?,
        None => Notes::default(),
    };
    let names: HashSet<&str> = header
        .entries
        .iter()
        .map(|entry| entry.name.as_str())
        .collect();
    if let Some(name) = notes
        .dtypes
        .keys()
        .find(|name| !names.contains(name.as_str()))
    {
        return Err(source.damaged(format!("a dtype of {name:?}, which is not there")));
    }
    let mut tensors = Vec::with_capacity(header.entries.len());
    for entry in header.entries {
        let dtype = notes.dtypes.get(&entry.name);
        let tensor = read_tensor(source, header.start, &entry, dtype)?;
        tensors.push((entry.name, tensor));
    }
    match notes.tree {
        Some(tree) => {
            let tensors = tensors.into_iter().collect();
            tree::unflatten(&tree, &tensors).map_err(|reason| source.damaged(reason))
        }
        None => {
            let named = |(name, tensor)| (Key::Text(name), Value::Tensor(tensor));
            Ok(Value::Dict(tensors.into_iter().map(named).collect()))
        }
    }
}

/// Reads the metadata of a file, but for ours.
pub(crate) fn read_metadata(source: &Source<'_>) -> Result<Vec<(String, String)>, Error> {
    let mut metadata = read_header(source)?.metadata;
    metadata.retain(|(key, _)| key != NOTES);
    Ok(metadata)
}

fn read_tensor(
    source: &Source<'_>,
    start: u64,
    entry: &Entry,
    noted: Option<&DType>,
) -> Result<Tensor, Error> {
    let Entry { name, dtype, .. } = entry;
    let Some(own) = DType::from_safetensors(dtype) else {
        return Err(source.unknown_dtype(format!("{dtype} of {name:?}")));
    };
    let mut sizes = &entry.sizes[..];
    let mut element = own;
    if let Some(noted) = noted {
        let parts = sizes.split_last();
        match (stored(*noted), parts) {
            (Some((stored, true)), Some((2, others))) if stored == dtype => {
                (sizes, element) = (others, *noted);
            }
            _ => {
                let reason = format!("{name:?} is {dtype} of {sizes:?}, which is no {noted}");
                return Err(source.damaged(reason));
            }
        }
    }
    let bytes = source.bytes_of(sizes, element)? as u64;
    if entry.end - entry.start != bytes {
        return Err(source.damaged(format!(
            "{name:?} has {} bytes, but {dtype} of {:?} has {bytes}",
            entry.end - entry.start,
            entry.sizes
        )));
    }
    source.tensor(start + entry.start, sizes, element)
}

/// The header of a file, whose offsets are those of bytes that follow each other up to the end.
fn read_header(source: &Source<'_>) -> Result<Header, Error> {
    let length: [u8; 8] = match source.bytes(0..8)?.as_ref().try_into() {
        Ok(length) => length,
        Err(_) => return Err(source.damaged("no length of a header")),
    };
    // What a pickle of any protocol since 2 begins with, and a header of some lengths too.
    let is_like_pickle = matches!(length, [0x80, 2..=5, ..]);
    let length = u64::from_le_bytes(length);
    if length > LONGEST_HEADER || length + 8 > source.len() {
        if is_like_pickle {
            return Err(source.pickled());
        }
        return Err(source.damaged(format!(
            "a header of {length} bytes, in {} bytes in all; no safetensors, npy or npz",
            source.len()
        )));
    }
    let text = source.bytes(8..8 + length)?;
    let Ok(text) = std::str::from_utf8(&text) else {
        return Err(source.damaged("the header is not UTF-8"));
    };
    let mut header = parse(text).map_err(|reason| source.damaged(reason))?;
    header.start = 8 + length;
    let mut ranges: Vec<(u64, u64, &str)> = header
        .entries
        .iter()
        .map(|entry| (entry.start, entry.end, entry.name.as_str()))
        .collect();
    ranges.sort_unstable();
    let mut place = 0;
    for (start, end, name) in ranges {
        if start != place || end < start {
            return Err(source.damaged(format!(
                "{name:?} has bytes {start} to {end}, but byte {place} is the next"
            )));
        }
        place = end;
    }
    if place != source.len() - header.start {
        return Err(source.damaged(format!(
            "{} bytes of elements, but tensors of {place} bytes",
            source.len() - header.start
        )));
    }
    Ok(header)
}

fn parse(text: &str) -> Parsed<Header> {
    let mut header = Header::default();
    let mut reader = Reader::new(text);
    reader.object(|reader, name| {
        if name == RESERVED {
            return reader.object(|reader, key| {
                header.metadata.push((key, reader.string()?));
                Ok(())
            });
        }
        header.entries.push(parse_entry(reader, name)?);
        Ok(())
    })?;
    reader.end()?;
    Ok(header)
}

fn parse_entry(reader: &mut Reader<'_>, name: String) -> Parsed<Entry> {
    let (mut dtype, mut sizes, mut offsets) = (None, None, None);
    reader.object(|reader, key| {
        match key.as_str() {
            "dtype" => dtype = Some(reader.string()?),
            "shape" => {
                let mut read = Vec::new();
                reader.array(|reader| {
                    let size = usize::try_from(reader.unsigned()?);
                    read.push(size.map_err(|_| reader.refuse("too large a size"))?);
                    if read.len() > MOST_DIMENSIONS {
                        return Err(reader.refuse("more than 64 dimensions"));
                    }
                    Ok(())
                })?;
                sizes = Some(read);
            }
            "data_offsets" => {
                let mut read = Vec::new();
                reader.array(|reader| {
                    read.push(reader.unsigned()?);
                    if read.len() > 2 {
                        return Err(reader.refuse("more than two offsets"));
                    }
                    Ok(())
                })?;
                offsets = match read[..] {
                    [start, end] => Some((start, end)),
                    _ => return Err(reader.refuse("fewer than two offsets")),
                };
            }
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    match (dtype, sizes, offsets) {
        (Some(dtype), Some(sizes), Some((start, end))) => Ok(Entry {
            name,
            dtype,
            sizes,
            start,
            end,
        }),
        _ => Err(format!("{name:?} lacks a dtype, a shape or offsets")),
    }
}

/// Our entry in the metadata.
#[derive(Default)]
struct Notes {
    dtypes: HashMap<String, DType>,
    tree: Option<String>,
}

impl Notes {
    fn read(text: &str) -> Parsed<Self> {
        let mut notes = Self::default();
        let mut version = None;
        let mut reader = Reader::new(text);
        reader.object(|reader, key| {
            match key.as_str() {
                "version" => version = Some(reader.unsigned()?),
                "dtypes" => reader.object(|reader, name| {
                    let dtype = reader.string()?.parse::<DType>();
                    notes
                        .dtypes
                        .insert(name, dtype.map_err(|error| error.to_string())?);
                    Ok(())
                })?,
                "tree" => notes.tree = Some(reader.string()?),
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        reader.end()?;
        match version {
            Some(VERSION) => Ok(notes),
            Some(later) => Err(format!("notes of version {later}; {VERSION} is read")),
            None => Err("notes without a version".to_owned()),
        }
    }
}
