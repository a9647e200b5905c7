//! The first mismatches of a cell in words.

use std::fmt;

use allotrope_dtype::WeakScalar;

use crate::column::{Column, is_same};
use crate::oracle::Exact;

/// How many mismatches are told.
const TOLD: usize = 5;

/// What became of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Report {
    what: String,
    lines: Vec<String>,
    wrong: usize,
    compared: usize,
    /// The greatest distance, in units in the last place.
    pub worst: f64,
}

impl Report {
    /// A report without a mismatch.
    #[must_use]
    pub fn new(what: String) -> Self {
        Self {
            what,
            ..Self::default()
        }
    }

    /// Counts a result, and tells it if it is too far from the answer.
    pub fn compare(
        &mut self,
        index: usize,
        args: &[WeakScalar],
        got: WeakScalar,
        want: Exact,
        ulps: f64,
        allowed: f64,
    ) {
        self.compared += 1;
        self.worst = self.worst.max(ulps);
        if ulps <= allowed {
            return;
        }
        let args: Vec<String> = args.iter().map(|arg| format!("{arg:?}")).collect();
        self.fail(format!(
            "at {index}: ({}) got {got:?}, want {want:?}, {ulps:.3} ulp off, {allowed:.3} allowed",
            args.join(", ")
        ));
    }

    /// Counts a result that must be a value, and tells it if it is not.
    pub fn compare_values(
        &mut self,
        index: usize,
        arg: WeakScalar,
        got: WeakScalar,
        want: WeakScalar,
    ) {
        self.compared += 1;
        if !is_same(got, want) {
            self.fail(format!("at {index}: {arg:?} got {got:?}, want {want:?}"));
        }
    }

    /// Counts a mismatch.
    pub fn fail(&mut self, line: String) {
        self.wrong += 1;
        if self.lines.len() < TOLD {
            self.lines.push(line);
        }
    }

    /// Compares bytes that must be the same.
    pub fn compare_bytes(&mut self, got: &[u8], want: &[u8], size: usize) {
        self.compared += got.len() / size;
        if got == want {
            return;
        }
        if got.len() != want.len() {
            self.fail(format!("{} bytes, not {}", got.len(), want.len()));
        }
        let pairs = got.chunks(size).zip(want.chunks(size)).enumerate();
        for (index, (got, want)) in pairs.filter(|(_, (got, want))| got != want) {
            self.fail(format!(
                "at {index}: got bytes {got:02x?}, want {want:02x?}"
            ));
        }
    }

    /// Compares values that must be the same; any NaN is one.
    pub fn compare_columns(&mut self, got: &Column, want: &Column) {
        if got.len() != want.len() {
            self.fail(format!("{} values, not {}", got.len(), want.len()));
        }
        let pairs = got.values.iter().zip(&want.values).enumerate();
        for (index, (got, want)) in pairs {
            self.compared += 1;
            if !is_same(*got, *want) {
                self.fail(format!("at {index}: got {got:?}, want {want:?}"));
            }
        }
    }

    /// Whether nothing was wrong.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.wrong == 0
    }

    /// How many results were compared.
    #[must_use]
    pub fn compared(&self) -> usize {
        self.compared
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: {} of {} differ",
            self.what, self.wrong, self.compared
        )?;
        self.lines
            .iter()
            .try_for_each(|line| writeln!(f, "  {line}"))
    }
}
