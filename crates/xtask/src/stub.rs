//! The Python type stub: signatures from the template, constants and options from the tables.

use allotrope_dtype::{Casting, DType, Family, Overflow, Policy};

/// The text of `python/allotrope/__init__.pyi`.
pub(crate) fn python_stub() -> String {
    include_str!("../templates/__init__.pyi")
        .replace("{{policies}}", &literals(Policy::ALL.map(Policy::name)))
        .replace("{{castings}}", &literals(Casting::ALL.map(Casting::name)))
        .replace(
            "{{overflows}}",
            &literals(Overflow::ALL.map(Overflow::name)),
        )
        .replace("{{constants}}", &constants())
}

/// Names as string literals.
fn literals<const N: usize>(names: [&str; N]) -> String {
    names.map(|name| format!("\"{name}\"")).join(", ")
}

/// One line per name of a dtype or family.
fn constants() -> String {
    let dtypes = DType::ALL.into_iter().flat_map(|dtype| {
        let aliases = dtype.descriptor().aliases.iter().copied();
        std::iter::once(dtype.name())
            .chain(aliases)
            .map(|name| (name, "dtype"))
    });
    let families = Family::ALL
        .into_iter()
        .map(|family| (family.name(), "Family"));
    let lines = dtypes
        .chain(families)
        .map(|(name, class)| format!("{name}: Final[{class}]"));
    lines.collect::<Vec<_>>().join("\n")
}
