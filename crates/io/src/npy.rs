//! NumPy's format of one array: magic bytes, a header that is a Python dict, the elements.
//!
//! NumPy writes bfloat16 and the 8-bit floats as `<V2` and `<V1`, plain bytes. So does this, with the
//! dtype's name in a comment behind the dict, which NumPy skips: `numpy.load(path).view(dtype)` reads
//! such a file, and [`read`] knows the dtype. Without a comment `V2` is bfloat16, the only dtype of
//! two bytes that is not NumPy's own, and `V1` is refused. NumPy writes float8_e5m2 as `<f1`, which it
//! cannot read itself; here it is read.

use std::io::Write;

use allotrope_dtype::{DType, Error, Kind, NumpySource, Problem};
use allotrope_tensor::Tensor;

use crate::atomic::Failure;
use crate::json::Parsed;
use crate::safetensors::write_elements;
use crate::source::Source;
use crate::value::MOST_DIMENSIONS;

pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";
/// The header's end is a multiple of this, so that elements are aligned where they lie.
const ALIGNMENT: usize = 64;
/// The longest header that is read.
const LONGEST_HEADER: u64 = 1 << 20;

/// The letter of a kind in NumPy's type strings; `V` for what is not NumPy's own.
fn letter(dtype: DType) -> char {
    if dtype.descriptor().numpy == NumpySource::MlDtypes {
        return 'V';
    }
    match dtype.kind() {
        Kind::Bool => 'b',
        Kind::Signed => 'i',
        Kind::Unsigned => 'u',
        Kind::Float => 'f',
        Kind::Complex => 'c',
    }
}

/// The bytes before the elements.
pub(crate) fn header(tensor: &Tensor) -> Vec<u8> {
    let dtype = tensor.dtype();
    let (letter, width) = (letter(dtype), dtype.itemsize());
    // As NumPy writes it: no byte order for its own dtypes of one byte.
    let order = if width == 1 && letter != 'V' {
        '|'
    } else {
        '<'
    };
    let mut shape = String::new();
    for size in tensor.shape().iter() {
        shape.push_str(&format!("{size}, "));
    }
    let shape = match tensor.rank() {
        1 => shape.trim_end(),
        _ => shape.trim_end_matches(", "),
    };
    let mut text = format!(
        "{{'descr': '{order}{letter}{width}', 'fortran_order': False, 'shape': ({shape}), }}"
    );
    if letter == 'V' {
        text.push_str(&format!(" # {dtype}"));
    }
    let fixed = MAGIC.len() + 4;
    let length = (fixed + text.len() + 1).next_multiple_of(ALIGNMENT) - fixed;
    text.extend(std::iter::repeat_n(' ', length - 1 - text.len()));
    text.push('\n');
    // 64 sizes of 20 digits fit the two bytes of version 1.
    // bounded: a header.
    let mut header = [MAGIC, &[1, 0], &(length as u16).to_le_bytes()].concat();
    header.extend_from_slice(text.as_bytes());
    header
}

/// Writes a tensor.
pub(crate) fn write(
    op: &'static str,
    tensor: &Tensor,
    writer: &mut dyn Write,
) -> Result<(), Failure<Error>> {
    check(op, tensor).map_err(Failure::Content)?;
    writer.write_all(&header(tensor)).map_err(Failure::System)?;
    write_elements(op, tensor, writer)
}

/// Refuses what NumPy has no array for.
pub(crate) fn check(op: &'static str, tensor: &Tensor) -> Result<(), Error> {
    if tensor.rank() > MOST_DIMENSIONS {
        let problem = Problem::NotSaved {
            given: format!("a tensor of {} dimensions", tensor.rank()),
            accepted: "64 dimensions are accepted",
        };
        return Err(Error::new(op, problem));
    }
    Ok(())
}

/// What a header says.
struct Header {
    /// Byte order, letter and width.
    descr: String,
    is_column_major: bool,
    sizes: Vec<usize>,
    /// What is written behind it.
    comment: String,
}

/// Reads a tensor that fills a part of the bytes.
pub(crate) fn read(source: &Source<'_>, start: u64, end: u64) -> Result<Tensor, Error> {
    let short = || source.damaged("no end of the header of an array");
    let head = source.bytes(start..end.min(start + 12))?;
    if !head.starts_with(MAGIC) {
        return Err(source.damaged("no array: the first bytes are not those of npy"));
    }
    let (length, fixed) = match head[MAGIC.len()..] {
        [1, 0, a, b, ..] => (u64::from(u16::from_le_bytes([a, b])), 10),
        [2 | 3, 0, a, b, c, d] => (u64::from(u32::from_le_bytes([a, b, c, d])), 12),
        [1..=3, 0, ..] | [] | [_] => return Err(short()),
        [major, minor, ..] => {
            let version = format!("npy of version {major}.{minor}; 1.0, 2.0 and 3.0 are read");
            return Err(source.damaged(version));
        }
    };
    let first = start + fixed + length;
    if length > LONGEST_HEADER || first > end {
        return Err(source.damaged(format!("a header of {length} bytes")));
    }
    let text = source.bytes(start + fixed..first)?;
    // Version 1 is Latin-1, but nothing beyond ASCII has a meaning here.
    let Ok(text) = std::str::from_utf8(&text) else {
        return Err(source.damaged("the header is not text"));
    };
    let header = parse(text).map_err(|reason| source.damaged(reason))?;
    let (dtype, is_swapped) = element(source, &header)?;
    let bytes = source.bytes_of(&header.sizes, dtype)? as u64;
    if first + bytes > end {
        return Err(source.damaged(format!(
            "{} bytes of elements, but {dtype} of {:?} has {bytes}",
            end - first,
            header.sizes
        )));
    }
    let mut sizes = header.sizes;
    if header.is_column_major {
        sizes.reverse();
    }
    let tensor = if is_swapped {
        let part = dtype.to_real().itemsize();
        let mut bytes = source.bytes(first..first + bytes)?.into_owned();
        bytes.chunks_exact_mut(part).for_each(<[u8]>::reverse);
        Tensor::from_bytes(&bytes, &sizes, dtype).map_err(|error| error.in_op(source.op()))?
    } else {
        source.tensor(first, &sizes, dtype)?
    };
    if header.is_column_major {
        let axes: Vec<isize> = (0..sizes.len() as isize).rev().collect();
        return tensor
            .permute(&axes)
            .map_err(|error| error.in_op(source.op()));
    }
    Ok(tensor)
}

/// The dtype of a header, and whether its bytes are in the other order.
fn element(source: &Source<'_>, header: &Header) -> Result<(DType, bool), Error> {
    let descr = &header.descr;
    let unknown = || source.unknown_dtype(format!("'{descr}'"));
    let mut characters = descr.chars();
    let (order, kind) = match (characters.next(), characters.next()) {
        (Some(order @ ('<' | '>' | '|' | '=')), Some(kind)) => (order, kind),
        _ => return Err(unknown()),
    };
    let width = characters.as_str();
    let is_alike = |dtype: &DType| {
        let is_named = letter(*dtype) == kind || (*dtype == DType::F8E5M2 && kind == 'f');
        is_named && width == dtype.itemsize().to_string()
    };
    let mut alike = DType::ALL.into_iter().filter(is_alike);
    let noted = header.comment.parse::<DType>().ok().filter(is_alike);
    let dtype = match (noted, alike.next(), alike.next()) {
        (Some(noted), ..) => noted,
        (None, Some(only), None) => only,
        (None, Some(_), Some(_)) => {
            let hint = "al.from_numpy(numpy.load(path).view(ml_dtypes.float8_e4m3fn))";
            return Err(unknown().hint(hint));
        }
        _ => return Err(unknown()),
    };
    let is_swapped = order == '>' && dtype.itemsize() > 1;
    if is_swapped && kind == 'V' {
        return Err(unknown());
    }
    Ok((dtype, is_swapped))
}

/// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`, and a comment behind it.
fn parse(text: &str) -> Parsed<Header> {
    let mut scanner = Scanner { rest: text };
    let (mut descr, mut order, mut sizes) = (None, None, None);
    scanner.expect('{')?;
    while !scanner.eat('}') {
        let key = scanner.string()?;
        scanner.expect(':')?;
        let is_repeated = match key {
            "descr" => descr.replace(scanner.string()?.to_owned()).is_some(),
            "fortran_order" => order.replace(scanner.truth()?).is_some(),
            "shape" => sizes.replace(scanner.sizes()?).is_some(),
            _ => {
                return Err(format!(
                    "the header of the array has an unknown key {key:?}"
                ));
            }
        };
        if is_repeated {
            return Err(format!("the header of the array has {key:?} twice"));
        }
        if !scanner.eat(',') {
            scanner.expect('}')?;
            break;
        }
    }
    let comment = match scanner.rest.trim().strip_prefix('#') {
        Some(comment) => comment.trim().to_owned(),
        None if scanner.rest.trim().is_empty() => String::new(),
        None => return Err("the header of the array goes on behind its dict".to_owned()),
    };
    match (descr, order, sizes) {
        (Some(descr), Some(is_column_major), Some(sizes)) => Ok(Header {
            descr,
            is_column_major,
            sizes,
            comment,
        }),
        _ => Err("the header of the array lacks descr, fortran_order or shape".to_owned()),
    }
}

/// Reads Python's literals from left to right.
struct Scanner<'a> {
    rest: &'a str,
}

impl<'a> Scanner<'a> {
    fn eat(&mut self, character: char) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(character) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, character: char) -> Parsed<()> {
        if self.eat(character) {
            Ok(())
        } else {
            Err(format!("the header of the array lacks {character:?}"))
        }
    }

    fn string(&mut self) -> Parsed<&'a str> {
        let quote = if self.eat('\'') { '\'' } else { '"' };
        if quote == '"' {
            self.expect('"').map_err(|_| {
                "elements that are not single numbers, or a damaged header".to_owned()
            })?;
        }
        let (string, rest) = self
            .rest
            .split_once(quote)
            .ok_or("the header of the array has a string without an end")?;
        self.rest = rest;
        Ok(string)
    }

    fn word(&mut self) -> &'a str {
        self.rest = self.rest.trim_start();
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric());
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        word
    }

    fn truth(&mut self) -> Parsed<bool> {
        match self.word() {
            "True" => Ok(true),
            "False" => Ok(false),
            _ => Err("fortran_order is neither True nor False".to_owned()),
        }
    }

    fn sizes(&mut self) -> Parsed<Vec<usize>> {
        let mut sizes = Vec::new();
        self.expect('(')?;
        while !self.eat(')') {
            // Python 2 wrote an L behind long integers.
            let word = self.word();
            let digits = word.strip_suffix('L').unwrap_or(word);
            let size = digits.parse().ok();
            sizes.push(size.ok_or("the shape of the array has something else than sizes")?);
            if sizes.len() > MOST_DIMENSIONS {
                return Err("more than 64 dimensions".to_owned());
            }
            if !self.eat(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(sizes)
    }
}
