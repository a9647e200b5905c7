//! Writes the files that are expansions of the tables: `cargo run -p xtask -- generate [--check]`.
//!
//! The page of measured errors takes longer than all others together, and the whole library:
//! `cargo run -p xtask --features accuracy -- generate --accuracy`. A test of the conformance crate
//! checks it.
//!
//! | file | what is in it |
//! |---|---|
//! | `source/` | what the source of the extension module declares |
//! | `stub/` | the Python stubs |
//! | `book` | the generated pages of the book |
//! | `templates/` | their hand-written parts, with `{{placeholders}}` |

mod book;
mod source;
mod stub;

use std::path::Path;
use std::process::ExitCode;
use std::{fs, io};

const USAGE: &str = "usage: cargo run -p xtask [--features accuracy] -- \
                     generate [--check | --accuracy]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["generate"] => write_files(),
        ["generate", "--check"] => check_files(),
        #[cfg(feature = "accuracy")]
        ["generate", "--accuracy"] => write_accuracy(),
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// Every generated file: its path from the project's root, and its text.
fn generated_files() -> Result<Vec<(&'static str, String)>, String> {
    let mut files = stub::stubs(root())?;
    files.extend([
        ("book/src/dtypes.md", book::dtype_page()),
        ("book/src/promotion.md", book::promotion_page()),
        ("book/src/support.md", book::support_page()),
    ]);
    Ok(files)
}

fn write_files() -> Result<(), String> {
    let files = generated_files()?;
    files
        .iter()
        .try_for_each(|(path, text)| write_file(path, text))
}

fn write_file(path: &str, text: &str) -> Result<(), String> {
    let file = root().join(path);
    let written = match file.parent() {
        Some(folder) => fs::create_dir_all(folder).and_then(|()| fs::write(&file, text)),
        None => Err(io::ErrorKind::NotFound.into()),
    };
    written.map_err(|error| format!("{path}: {error}"))
}

#[cfg(feature = "accuracy")]
fn write_accuracy() -> Result<(), String> {
    use allotrope_conformance::accuracy::{self, Errors};
    let measured = accuracy::functions().into_iter().map(Errors::measure);
    let measured = measured.collect::<Result<Vec<_>, _>>();
    let measured = measured.map_err(|error| error.to_string())?;
    write_file(accuracy::PATH, &accuracy::page(&measured))
}

fn check_files() -> Result<(), String> {
    let differs = |(path, text): &(&'static str, String)| {
        fs::read_to_string(root().join(path)).ok().as_ref() != Some(text)
    };
    let stale = generated_files()?
        .into_iter()
        .filter(differs)
        .map(|(path, _)| path);
    let stale: Vec<&str> = stale.collect();
    if stale.is_empty() {
        return Ok(());
    }
    Err(format!(
        "out of date: {} (hint: cargo run -p xtask -- generate)",
        stale.join(", ")
    ))
}

/// The project's root.
fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}
