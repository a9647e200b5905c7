//! Every type in a public signature comes from the crate that has the signature: whoever depends on
//! one crate can name all it speaks of.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Types with the names of numbers.
const NUMBERS: [&str; 4] = ["f16", "bf16", "c64", "c128"];

/// The files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let files = paths.flat_map(|path| match path.is_dir() {
        true => sources(&path),
        false => vec![path],
    });
    files.collect()
}

/// Without comments and the module of tests.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// The names that a tree of imports gives, with the crate that it starts with.
fn imported(tree: &str, origin: &str, names: &mut BTreeMap<String, String>) {
    let tree = tree.trim();
    let (path, group) = match tree.split_once('{') {
        Some((path, group)) => (path, group.strip_suffix('}').unwrap_or(group)),
        None => ("", tree),
    };
    let origin = if origin.is_empty() { path } else { origin };
    if tree.contains('{') {
        let (mut depth, mut start) = (0, 0);
        for (place, letter) in group.char_indices().chain([(group.len(), ',')]) {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    imported(&group[start..place], origin, names);
                    start = place + 1;
                }
                _ => {}
            }
        }
    } else if !tree.is_empty() {
        let origin = if origin.is_empty() { tree } else { origin };
        let name = tree.rsplit([':', ' ']).next().unwrap_or(tree);
        names.insert(name.to_owned(), origin.to_owned());
    }
}

/// What statements that start with a word import.
fn imports(code: &str, start: &str) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for statement in code.split(';') {
        let place = statement.rfind(&format!("\n{start}"));
        if let Some(place) = place {
            imported(&statement[place + 1 + start.len()..], "", &mut names);
        }
    }
    names
}

/// The text of public functions up to their bodies, and of public fields.
fn signatures(code: &str) -> Vec<&str> {
    let functions = code.split("pub fn ").skip(1);
    let functions = functions.map(|text| text.split('{').next().unwrap_or_default());
    let fields = code.lines().map(str::trim);
    let fields = fields.filter(|line| line.starts_with("pub ") && line.contains(": "));
    functions.chain(fields).collect()
}

fn missing_exports(crate_folder: &Path) -> BTreeSet<String> {
    let folder = crate_folder.join("src");
    let exported = imports(&code(&folder.join("lib.rs")), "pub use ");
    let mut missing = BTreeSet::new();
    for path in sources(&folder) {
        let code = code(&path);
        let mut names = imports(&code, "use ");
        names.retain(|name, origin| {
            let is_type = name.starts_with(char::is_uppercase) || NUMBERS.contains(&name.as_str());
            is_type && origin.starts_with("allotrope_") && !exported.contains_key(name)
        });
        for signature in signatures(&code) {
            let words = signature.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
            let found =
                words.filter(|word| names.contains_key(*word) || word.starts_with("allotrope_"));
            missing.extend(found.map(|word| format!("{word} in {}", path.display())));
        }
    }
    missing
}

#[test]
fn signatures_name_what_is_exported() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for crate_folder in [root.to_path_buf(), root.join("../io")] {
        let missing = missing_exports(&crate_folder);
        assert!(missing.is_empty(), "export from lib.rs: {missing:#?}");
    }
}
