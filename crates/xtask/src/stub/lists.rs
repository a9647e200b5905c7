//! Constant lists of the source: synonyms, fields of results.

use syn::{Expr, Lit};

use super::write::Writer;

impl Writer<'_> {
    /// A constant list of texts.
    pub(super) fn constant(&self, name: &str) -> Vec<String> {
        let constant = self.source.constants.get(name);
        constant
            .map(|constant| texts(&constant.expr))
            .unwrap_or_default()
    }

    /// A constant list of tuples.
    pub(super) fn rows(&self, name: &str) -> Vec<Vec<Expr>> {
        let Some(constant) = self.source.constants.get(name) else {
            return Vec::new();
        };
        let rows = items(&constant.expr).into_iter();
        let rows = rows.map(|row| match row {
            Expr::Tuple(row) => row.elems.iter().cloned().collect(),
            row => vec![row.clone()],
        });
        rows.collect()
    }

    pub(crate) fn names(&self, constant: &str) -> Vec<String> {
        self.constant(constant)
    }

    pub(crate) fn pairs(&self, constant: &str) -> Vec<(String, String)> {
        let rows = self.rows(constant).into_iter();
        let rows = rows.map(|row| row.iter().flat_map(texts).collect::<Vec<_>>());
        rows.filter_map(|row| match row.as_slice() {
            [name, original, ..] => Some((name.clone(), original.clone())),
            _ => None,
        })
        .collect()
    }

    pub(crate) fn triples(&self, constant: &str) -> Vec<(String, String, String)> {
        let rows = self.rows(constant).into_iter();
        let rows = rows.map(|row| row.iter().flat_map(texts).collect::<Vec<_>>());
        rows.filter_map(|row| match row.as_slice() {
            [name, original, option] => Some((name.clone(), original.clone(), option.clone())),
            _ => None,
        })
        .collect()
    }
}

/// The items of `&[…]`.
fn items(list: &Expr) -> Vec<&Expr> {
    match list {
        Expr::Reference(inner) => items(&inner.expr),
        Expr::Array(list) => list.elems.iter().collect(),
        _ => Vec::new(),
    }
}

/// The text that an expression is, or those of its items.
pub(super) fn texts(list: &Expr) -> Vec<String> {
    match list {
        Expr::Lit(value) => match &value.lit {
            Lit::Str(text) => vec![text.value()],
            _ => Vec::new(),
        },
        list => items(list).into_iter().flat_map(texts).collect(),
    }
}
