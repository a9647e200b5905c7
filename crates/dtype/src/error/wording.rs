//! Parts of messages: lists of names, ranges, and the name that was probably meant.

use std::borrow::Cow;

use crate::{DType, Family, Policy};

/// How much of an unknown name a message repeats.
pub(super) const LONGEST_NAME: usize = 40;

/// How much of a path or an equation a message repeats.
pub(super) const LONGEST_PATH: usize = 300;

/// How many of several numbers a message repeats.
const MOST_NUMBERS: usize = 32;

/// A text as it was given, or its beginning.
pub(super) fn brief(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// Numbers as they were given, or the first of them and how many there are.
pub(super) fn brief_list(numbers: &[usize]) -> String {
    match numbers.get(..MOST_NUMBERS) {
        Some(first) if numbers.len() > MOST_NUMBERS => {
            let first: Vec<String> = first.iter().map(ToString::to_string).collect();
            format!("[{}, …] ({} in all)", first.join(", "), numbers.len())
        }
        _ => format!("{numbers:?}"),
    }
}

/// How many names of a kind a message repeats.
const MOST_NAMES: usize = 8;

/// What does not fit a module, by kind, and the first of each.
pub(super) fn misfits(missing: &[String], unexpected: &[String], wrong: &[String]) -> String {
    let kinds = [
        ("missing", missing),
        ("unexpected", unexpected),
        ("wrong", wrong),
    ];
    let some = kinds.iter().filter(|(_, names)| !names.is_empty());
    let parts = some.map(|(kind, names)| {
        let first: Vec<&str> = names.iter().take(MOST_NAMES).map(String::as_str).collect();
        let rest = match names.len().saturating_sub(MOST_NAMES) {
            0 => String::new(),
            rest => format!(" and {rest} more"),
        };
        format!("{kind} {}{rest}", first.join(", "))
    });
    parts.collect::<Vec<_>>().join(" · ")
}

/// Where an element is, as Python writes its index; nothing for a single one.
pub(super) fn at(index: &[usize]) -> String {
    match index {
        [] => String::new(),
        [only] => format!(" at index ({only},)"),
        several => {
            let several: Vec<String> = several.iter().map(ToString::to_string).collect();
            format!(" at index ({})", several.join(", "))
        }
    }
}

/// What results of a dtype may be.
pub(super) fn held(dtype: DType, is_nan: bool) -> String {
    match is_nan {
        true => "operands with an answer are accepted".to_owned(),
        false => format!("{dtype} holds {}", range(dtype)),
    }
}

/// The canonical names, separated by commas.
pub(super) fn list(dtypes: impl Iterator<Item = DType>) -> String {
    dtypes.map(DType::name).collect::<Vec<_>>().join(", ")
}

/// Every canonical name and the families.
pub(super) fn names() -> String {
    let families = Family::ALL.map(Family::name).join(", ");
    format!(
        "{}, {families} and aliases such as f32",
        list(DType::ALL.into_iter())
    )
}

/// The values that a dtype holds, in words.
pub(super) fn range(dtype: DType) -> String {
    match (dtype.integer_range(), dtype.format()) {
        (Some((min, max)), _) => format!("{min} to {max}"),
        (None, Some(format)) => {
            let max = format.decode(format.max_code());
            if max < 1e6 {
                format!("{} to {max}", -max)
            } else {
                format!("{:e} to {max:e}", -max)
            }
        }
        (None, None) => String::new(),
    }
}

/// The integers that a float dtype holds without a gap, in words.
pub(super) fn exact_range(dtype: DType) -> String {
    let limit = dtype.exact_integers();
    format!("from {} to {limit}", -limit)
}

/// The axes that a tensor has, in words.
pub(super) fn axes(rank: usize) -> String {
    match rank {
        0 => "a tensor of 0 dimensions has no axes".to_owned(),
        _ => format!(
            "a tensor of {rank} dimensions has axes -{rank} to {}",
            rank - 1
        ),
    }
}

/// Why a policy refuses a pair.
pub(super) fn refusal(policy: Policy, lhs: DType, rhs: DType) -> String {
    match policy {
        Policy::Strict => format!("strict promotion: {lhs} and {rhs} differ"),
        Policy::Exact => match Policy::Standard.promote(lhs, rhs) {
            Some(common) => {
                let lost = if lhs.fits_in(common) { rhs } else { lhs };
                format!("exact promotion: {lhs} and {rhs}: {common} does not hold every {lost}")
            }
            None => format!("exact promotion: {lhs} and {rhs}: no integer dtype holds both"),
        },
        Policy::Standard => {
            format!("no common dtype: {lhs} and {rhs}; no integer dtype holds both")
        }
        Policy::Torch | Policy::Numpy | Policy::Jax => {
            format!("{policy} promotion: {lhs} and {rhs} have no common dtype")
        }
    }
}

/// The accepted name with the smallest edit distance, if it is near enough to be a typing error.
pub(super) fn nearest_name(given: &str) -> Option<&'static str> {
    let given = given.to_lowercase();
    let canonical = DType::ALL.into_iter().map(DType::name);
    let aliases = DType::ALL
        .into_iter()
        .flat_map(|d| d.descriptor().aliases.iter().copied());
    canonical
        .chain(Family::ALL.map(Family::name))
        .chain(aliases)
        .map(|name| (edit_distance(&given, &name.to_lowercase()), name))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, name)| *distance <= 2 && *distance * 2 < name.len())
        .map(|(_, name)| name)
}

/// Levenshtein distance of two strings.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replace = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// Where in a tensor, if it was one.
pub(super) fn at_index(index: Option<usize>) -> String {
    index.map_or_else(String::new, |index| format!(" at index {index}"))
}

/// Where sizes must be equal.
pub(super) fn outside(dim: Option<usize>) -> String {
    match dim {
        Some(dim) => format!("sizes must be equal but for dimension {dim}"),
        None => "sizes must be equal".to_owned(),
    }
}

/// What images, filters and groups that do not fit are.
pub(super) fn filters(
    input: &[usize],
    weight: &[usize],
    groups: usize,
    taken: Option<usize>,
) -> String {
    let both = format!("images {input:?} with filters {weight:?}");
    match taken {
        None => format!(
            "{both}; one dimension of filters, one of channels and the window's are accepted"
        ),
        Some(taken) if groups == 1 => format!("{both}, which take {taken}"),
        Some(taken) => format!(
            "{both} in {groups} groups, which take {taken}; \
             sizes of channels and filters must be multiples of the groups"
        ),
    }
}
