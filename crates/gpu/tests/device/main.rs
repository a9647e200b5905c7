//! The device against the CPU: movement, indices, folds and draws, faults, and what drivers are known to
//! get wrong. With all features of the adapter, and with none. Rows, casts and reductions are held to
//! independent references in `tests/conformance`.
//!
//! Without an adapter the tests say so and pass.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod draws;
mod faults;
mod folds;
mod functions;
mod indices;
mod levels;
mod movement;
mod pitfalls;
mod processes;
mod rows;
mod support;

/// The tests that the table of pitfalls names are there.
#[test]
fn pitfalls_have_their_tests() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = std::fs::read_to_string(root.join("../../docs/notes/gpu.md")).unwrap();
    let rows = table
        .lines()
        .filter(|line| line.matches(" | ").count() == 2);
    let mut count = 0;
    for row in rows.filter(|line| line.contains("::")) {
        for name in row.split('`').filter(|part| part.contains("::")) {
            let (file, test) = name.split_once("::").unwrap();
            let texts = ["device", "conformance"].map(|folder| {
                let path = root.join(format!("tests/{folder}/{file}.rs"));
                std::fs::read_to_string(path).unwrap_or_default()
            });
            let text = texts.concat();
            let is_there = text.contains(&format!("#[test]\nfn {test}()"))
                || text.contains(&format!(")]\nfn {test}()"));
            assert!(is_there, "{name}");
            count += 1;
        }
    }
    assert!(count > 30, "{count}");
}
