//! Writes the files that are expansions of the tables: `cargo run -p xtask -- generate [--check]`.
//!
//! | file | what is in it |
//! |---|---|
//! | `stub` | `python/allotrope/__init__.pyi` |
//! | `book` | the generated pages of the book |
//! | `templates/` | their hand-written parts, with `{{placeholders}}` |

mod book;
mod stub;

use std::path::Path;
use std::process::ExitCode;
use std::{fs, io};

const USAGE: &str = "usage: cargo run -p xtask -- generate [--check]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["generate"] => write_files(),
        ["generate", "--check"] => check_files(),
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
fn generated_files() -> [(&'static str, String); 4] {
    [
        ("python/allotrope/__init__.pyi", stub::python_stub()),
        ("book/src/dtypes.md", book::dtype_page()),
        ("book/src/promotion.md", book::promotion_page()),
        ("book/src/support.md", book::support_page()),
    ]
}

fn write_files() -> Result<(), String> {
    for (path, text) in generated_files() {
        let file = root().join(path);
        let written = match file.parent() {
            Some(folder) => fs::create_dir_all(folder).and_then(|()| fs::write(&file, text)),
            None => Err(io::ErrorKind::NotFound.into()),
        };
        written.map_err(|error| format!("{path}: {error}"))?;
    }
    Ok(())
}

fn check_files() -> Result<(), String> {
    let differs = |(path, text): &(&'static str, String)| {
        fs::read_to_string(root().join(path)).ok().as_ref() != Some(text)
    };
    let stale = generated_files()
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
