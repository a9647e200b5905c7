//! The greatest or least element so far: its number for every element, by keys.
//!
//! Lines are cut into segments: the best of each, the best before each, then every prefix.

use allotrope_dtype::{DType, Error};

use super::header;
use super::run::Part;
use super::sort::{KeySize, Sorted, compare_text, each_thread};
use crate::codec::number;
use crate::device::Gpu;
use crate::pipeline::Shader;

/// Segments of all lines together, at most, and elements of one, at least.
const SEGMENTS: usize = 8192;
const LEAST: usize = 64;

/// What the three passes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    /// The best of each segment.
    Totals,
    /// The best before each segment.
    Starts,
    /// The best up to each element.
    Prefixes,
}

/// The shader of a pass. With `down` all keys are one less, so that the least is the greatest.
pub(crate) fn shader(pass: Pass, words: usize, down: bool) -> Shader {
    let [length, segments, segment] = [0, 1, 2].map(|k| number(header(1) + k));
    let mut text = compare_text(words, "in0");
    let (kind, less) = match words {
        1 => ("u32", "k - 1u"),
        _ => (
            "vec2<u32>",
            "vec2<u32>(k.x - 1u, k.y - select(0u, 1u, k.x == 0u))",
        ),
    };
    let less = if down { less } else { "k" };
    text += &format!(
        "fn own(i: u32) -> {kind} {{ let k = key(i); return {less}; }}\n\
         fn better(i: u32, best: u32) -> u32 {{ \
         return select(i, best, is_less(own(i), own(best))); }}\n"
    );
    let part = format!(
        "    let base = t / {segments} * {length};\n    \
         let first = base + t % {segments} * {segment};\n    \
         let last = min(first + {segment}, base + {length});\n    var best = first;\n"
    );
    let body = match pass {
        Pass::Totals => format!(
            "{part}    for (var i = first + 1u; i < last; i++) {{ best = better(i, best); }}\n    \
             out0[t] = best;\n"
        ),
        Pass::Starts => format!(
            "    let line = t * {segments};\n    var best = in1[line];\n    \
             for (var s = 0u; s < {segments}; s++) {{\n        \
             out0[line + s] = best;\n        best = better(in1[line + s], best);\n    }}\n"
        ),
        Pass::Prefixes => format!(
            "{part}    if (first > base) {{ best = better(first, in1[t]); }}\n    \
             for (var i = first; i < last; i++) {{\n        \
             best = better(i, best);\n        out0[i] = best;\n    }}\n"
        ),
    };
    let reads = if pass == Pass::Totals { 1 } else { 2 };
    each_thread(reads, header(1) + 3, &text, &body)
}

impl Gpu {
    /// The number of the greatest or least element of its line up to each element, the latest of
    /// equals.
    pub(crate) fn best_so_far(
        &'static self,
        op: &'static str,
        dtype: DType,
        part: &Part<'_>,
        [lines, length]: [usize; 2],
        greatest: bool,
    ) -> Result<Option<Sorted>, Error> {
        let stored = self.capabilities.storage(dtype);
        let (size, count) = (KeySize::of(stored), lines * length);
        let Some(keys) = self.keys(op, dtype, part, !greatest)? else {
            return Ok(None);
        };
        let words = size.words;
        let down = stored.is_floating_point() && !greatest;
        let segment = length.div_ceil((SEGMENTS / lines).max(1)).max(LEAST);
        let segments = length.div_ceil(segment);
        let [totals, starts] = [
            self.block(op, DType::U32, lines * segments)?,
            self.block(op, DType::U32, lines * segments)?,
        ];
        let order = self.block(op, DType::U32, count)?;
        let bounds = [
            self.bind_words(&keys, count * words),
            self.bind_words(&totals, lines * segments),
            self.bind_words(&starts, lines * segments),
            self.bind_words(&order, count),
        ];
        let [Some(by), Some(totals), Some(starts), Some(to)] = bounds else {
            return Ok(None);
        };
        let numbers = [length, segments, segment].map(|n| n as u32);
        let passes = [
            (Pass::Totals, vec![by, totals], lines * segments),
            (Pass::Starts, vec![by, totals, starts], lines),
            (Pass::Prefixes, vec![by, starts, to], lines * segments),
        ];
        for (pass, bounds, threads) in passes {
            let key = format!("cummax {pass:?} {words} {down}");
            self.launch_each(op, &key, &bounds, threads, &numbers, || {
                Some(shader(pass, words, down))
            })?;
        }
        Ok(Some(Sorted { keys, order, size }))
    }
}
