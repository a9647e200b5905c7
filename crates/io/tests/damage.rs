//! Damaged files: every one is an error of its kind or a value, never a panic, never much memory.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use allotrope_dtype::{DType, ErrorKind};
use allotrope_io::{Format, Key, Value, load_bytes, write};
use allotrope_tensor::Tensor;

/// A generator of Weyl and of Steele, Lea and Flood (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() % count.max(1) as u64) as usize
    }
}

fn samples(format: Format) -> Vec<Vec<u8>> {
    let tensor = |dtype, sizes: &[usize]| Value::Tensor(Tensor::ones(sizes, dtype).unwrap());
    let text = |name: &str| Key::Text(name.to_owned());
    let values = match format {
        Format::Npy => DType::ALL
            .into_iter()
            .map(|dtype| tensor(dtype, &[2, 3]))
            .collect(),
        Format::Npz => vec![Value::Dict(vec![
            (text("a"), tensor(DType::F32, &[2])),
            (text("b"), tensor(DType::BF16, &[])),
        ])],
        Format::Safetensors => vec![
            tensor(DType::C128, &[2]),
            Value::Dict(vec![
                (text("weight"), tensor(DType::F32, &[2, 3])),
                (text("bias"), tensor(DType::BF16, &[3])),
                (text("empty"), tensor(DType::I64, &[0, 3])),
            ]),
            Value::Dict(vec![
                (
                    Key::Int(1),
                    Value::List(vec![tensor(DType::U8, &[3]), Value::None]),
                ),
                (
                    text("x"),
                    Value::Tuple(vec![Value::Float(0.5), Value::Complex(1.0, 2.0)]),
                ),
            ]),
        ],
    };
    let written = values.iter().map(|value| {
        let mut bytes = Vec::new();
        write(value, format, &[], &mut bytes).unwrap();
        bytes
    });
    written.collect()
}

/// Words that mean something to the parsers, and numbers at the ends of their ranges.
const TOKENS: [&str; 32] = [
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    ",",
    ":",
    "\"",
    "'",
    "\\",
    "\\u",
    "\\ud83d",
    "-1",
    "1e9",
    "0",
    "18446744073709551615",
    "18446744073709551616",
    "9223372036854775807",
    "4294967296",
    "F32",
    "dtype",
    "shape",
    "data_offsets",
    "__metadata__",
    "allotrope",
    "<V2",
    ">f8",
    "|O",
    "True",
    "null",
    "\u{FFFD}",
];

/// One to four changes of a file.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(4) {
        let place = random.below(bytes.len());
        match random.below(9) {
            0 => bytes.truncate(place),
            1 if !bytes.is_empty() => bytes[place] = random.next() as u8,
            2 if !bytes.is_empty() => bytes[place] ^= 1 << random.below(8),
            3 => {
                let end = (place + random.below(40)).min(bytes.len());
                bytes.drain(place..end);
            }
            4 => {
                let token = TOKENS[random.below(TOKENS.len())];
                bytes.splice(place..place, token.bytes());
            }
            5 => {
                let token = TOKENS[random.below(TOKENS.len())].as_bytes();
                let end = (place + token.len()).min(bytes.len());
                bytes[place..end].copy_from_slice(&token[..end - place]);
            }
            6 => {
                let end = (place + random.below(60)).min(bytes.len());
                let part = bytes[place..end].to_vec();
                let at = random.below(bytes.len());
                bytes.splice(at..at, part);
            }
            7 => {
                // A number in the text becomes another.
                let digit = bytes.iter().skip(place).position(u8::is_ascii_digit);
                if let Some(found) = digit {
                    bytes[place + found] = b'0' + random.below(10) as u8;
                }
            }
            _ => {
                // The length of the header stays true, so that the text is reached.
                if bytes.len() >= 8 && bytes[8..].starts_with(b"{") {
                    let last = bytes[8..].iter().rposition(|byte| *byte == b'}');
                    let length = last.map_or(1, |last| last as u64 + 1);
                    bytes[..8].copy_from_slice(&length.to_le_bytes());
                }
            }
        }
    }
}

/// Files that torch wrote.
fn torch_files() -> Vec<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/torch");
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    names.retain(|path| path.extension().is_some_and(|end| end == "pt"));
    names.sort();
    names
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect()
}

/// Loads many damaged files; how many of them were refused.
fn count_refused(samples: &[Vec<u8>], count: usize) -> usize {
    let mut random = Random(20_240_501);
    let mut refused = 0;
    for i in 0..count {
        let mut bytes = samples[i % samples.len()].clone();
        damage(&mut bytes, &mut random);
        match load_bytes(&bytes) {
            Ok(_) => {}
            Err(error) => {
                let kind = error.kind();
                let is_worded = matches!(kind, ErrorKind::File | ErrorKind::Dtype);
                assert!(is_worded, "{kind:?}: {error}");
                assert!(error.to_string().starts_with("load: "), "{error}");
                refused += 1;
            }
        }
    }
    refused
}

#[test]
fn a_hundred_thousand_damaged_safetensors() {
    let refused = count_refused(&samples(Format::Safetensors), 100_000);
    assert!(refused > 60_000 && refused < 100_000, "{refused}");
}

#[test]
fn a_hundred_thousand_damaged_npy() {
    let refused = count_refused(&samples(Format::Npy), 100_000);
    assert!(refused > 50_000 && refused < 100_000, "{refused}");
}

#[test]
fn twenty_thousand_damaged_npz() {
    let refused = count_refused(&samples(Format::Npz), 100_000);
    assert!(refused > 50_000 && refused < 100_000, "{refused}");
}

#[test]
fn a_hundred_thousand_damaged_files_of_torch() {
    let refused = count_refused(&torch_files(), 100_000);
    assert!(refused > 50_000 && refused < 100_000, "{refused}");
}

fn safetensors_of(header: &str, elements: &[u8]) -> Vec<u8> {
    let length = (header.len() as u64).to_le_bytes();
    [&length, header.as_bytes(), elements].concat()
}

#[test]
fn every_lie_of_a_header_has_its_words() {
    let one = |entry: &str| safetensors_of(&format!("{{\"x\":{entry}}}"), &[0; 8]);
    let cases: [(Vec<u8>, &str); 22] = [
        (vec![], "0 bytes, but bytes 0 to 8 are needed"),
        (vec![0; 8], "no '{'"),
        (
            u64::MAX.to_le_bytes().to_vec(),
            "a header of 18446744073709551615 bytes",
        ),
        (
            100_000_000_u64.to_le_bytes().to_vec(),
            "a header of 100000000 bytes",
        ),
        (safetensors_of("{", &[]), "no '\"'"),
        (safetensors_of("{} {}", &[]), "more than one value"),
        (safetensors_of("[]", &[]), "no '{'"),
        (
            safetensors_of("{}", &[1]),
            "1 bytes of elements, but tensors of 0 bytes",
        ),
        (
            [&2_u64.to_le_bytes()[..], b"\xFF\xFE"].concat(),
            "not UTF-8",
        ),
        (
            one(r#"{"dtype":"F32","shape":[2],"data_offsets":[0,4]}"#),
            "but tensors of 4 bytes",
        ),
        (
            one(r#"{"dtype":"F32","shape":[3],"data_offsets":[0,8]}"#),
            "F32 of [3] has 12",
        ),
        (
            one(r#"{"dtype":"F32","shape":[2],"data_offsets":[4,8]}"#),
            "byte 0 is the next",
        ),
        (
            one(r#"{"dtype":"F32","shape":[2],"data_offsets":[8,0]}"#),
            "byte 0 is the next",
        ),
        (
            one(r#"{"dtype":"F32","shape":[2],"data_offsets":[0,8,8]}"#),
            "more than two offsets",
        ),
        (
            one(r#"{"dtype":"F32","shape":[2]}"#),
            "lacks a dtype, a shape or offsets",
        ),
        (
            one(r#"{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}"#),
            "no integer from 0",
        ),
        (
            one(r#"{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}"#),
            "that no memory holds",
        ),
        (
            one(r#"{"dtype":"U8","shape":[0,18446744073709551615],"data_offsets":[0,8]}"#),
            "that no memory holds",
        ),
        (
            one(r#"{"dtype":"F4","shape":[16],"data_offsets":[0,8]}"#),
            "F4 of \"x\"",
        ),
        (
            safetensors_of(
                r#"{"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}"#,
                &[0],
            ),
            "a second time",
        ),
        (
            safetensors_of(
                r#"{"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"y":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}"#,
                &[0; 3],
            ),
            "byte 2 is the next",
        ),
        (
            safetensors_of(r#"{"__metadata__":{"allotrope":"{\"version\":2}"}}"#, &[]),
            "notes of version 2",
        ),
    ];
    for (bytes, words) in cases {
        let message = load_bytes(&bytes).unwrap_err().to_string();
        assert!(message.contains(words), "{message}\n  should say: {words}");
    }
    let deep = "[".repeat(1_000_000);
    let message = load_bytes(&one(&format!("{{\"a\":{deep}"))).unwrap_err();
    assert!(message.to_string().contains("too many levels"), "{message}");
}

#[test]
fn archives_that_share_bytes_are_refused() {
    let bytes = samples(Format::Npz).remove(0);
    // The same file a hundred times in the list: more bytes than the archive has.
    let list = bytes.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
    let end = bytes.windows(4).position(|w| w == b"PK\x05\x06").unwrap();
    let entries = bytes[list..end].repeat(100);
    let mut bomb = [&bytes[..list], &entries, &bytes[end..]].concat();
    let length = (entries.len() as u32).to_le_bytes();
    let end = list + entries.len();
    bomb[end + 12..end + 16].copy_from_slice(&length);
    let message = load_bytes(&bomb).unwrap_err().to_string();
    assert!(message.contains("files that overlap"), "{message}");
}
