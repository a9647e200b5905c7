//! The seam between tensors and devices, kept by reading the sources: who may name the CPU's crate,
//! and where constants may be made without a device.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::path::{Path, PathBuf};

/// The only files that name the crate of the CPU.
const OF_THE_CPU: [&str; 2] = ["device.rs", "host.rs"];

/// Where tensors are made of what is none. Everything else makes what it needs like an operand.
const ENTRANCES: [&str; 7] = [
    "collect.rs",
    "create",
    "elements.rs",
    "foreign.rs",
    "interop",
    "nested.rs",
    "random",
];

/// Constructors that make tensors on the CPU unless they are told otherwise.
const CONSTRUCTORS: [&str; 12] = [
    "zeros",
    "ones",
    "full",
    "empty",
    "eye",
    "arange",
    "linspace",
    "logspace",
    "from_slice",
    "from_bytes",
    "from_buffer",
    "from_memory",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Every line of code below the sources of this crate, with its file and number.
fn lines() -> Vec<(String, usize, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    assert!(files.len() > 50, "the sources are not where they were");
    let mut lines = Vec::new();
    for file in files {
        let name = file.strip_prefix(&root).unwrap().display().to_string();
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (number, line) in code.lines().enumerate() {
            let text = line.trim_start();
            if !text.starts_with("//") && !text.starts_with("#[doc") {
                lines.push((name.clone(), number + 1, line.to_owned()));
            }
        }
    }
    lines
}

#[test]
fn two_files_name_the_crate_of_the_cpu() {
    let others: Vec<String> = lines()
        .into_iter()
        .filter(|(file, _, line)| {
            line.contains("allotrope_cpu") && !OF_THE_CPU.contains(&file.as_str())
        })
        .map(|(file, number, line)| format!("{file}:{number}: {}", line.trim()))
        .collect();
    assert!(others.is_empty(), "{}", others.join("\n"));
}

#[test]
fn one_file_moves_elements() {
    // What is moved is counted there.
    let found: Vec<String> = lines()
        .into_iter()
        .filter(|(file, _, line)| {
            let moves = [".upload(", ".download("];
            file != "transfer.rs" && moves.iter().any(|call| line.contains(call))
        })
        .map(|(file, number, line)| format!("{file}:{number}: {}", line.trim()))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn operations_make_constants_like_an_operand() {
    let is_operation = |file: &str| {
        let first = file.split(['/', '\\']).next().unwrap_or_default();
        !ENTRANCES.contains(&first)
    };
    let makes = |line: &str| {
        CONSTRUCTORS.iter().any(|name| {
            [format!("Tensor::{name}("), format!("Self::{name}(")]
                .iter()
                .any(|call| line.contains(call.as_str()))
        })
    };
    let found: Vec<String> = lines()
        .into_iter()
        .filter(|(file, _, line)| is_operation(file) && makes(line))
        .map(|(file, number, line)| format!("{file}:{number}: {}", line.trim()))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}
