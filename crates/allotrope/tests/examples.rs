//! Everything that the front door shows has an example, which the documentation tests run.
//!
//! A function or method has its own; those of a type that has one are shown beside it, but for the methods
//! of `Tensor`. A type is also shown where the code of another item's example names it. What has none
//! stands in a list, with the reason.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The crates that the front door hands on.
const CRATES: [&str; 4] = ["allotrope", "io", "nn", "tensor"];

/// What needs no example, and why. A name stands for what is of that type, too.
const EXCEPTIONS: &[(&str, &[&str])] = &[
    (
        "what bindings of other languages and devices are made with, which no program of Rust calls",
        &[
            "AutocastFlow",
            "AutocastSetting",
            "Condition",
            "HookPlace",
            "HostedReport",
            "DeviceProvider",
            "ModeFlow",
            "Operands",
            "RowOperand",
            "Tensor::backend",
            "Tensor::check_after_hook",
            "Tensor::for_readers",
            "Tensor::from_foreign",
            "Tensor::from_memory",
            "Tensor::grad_variable",
            "Tensor::history_only",
            "Tensor::hook_place",
            "Tensor::is_written_elsewhere",
            "Tensor::kron_in",
            "Tensor::outer_in",
            "Tensor::sample_like",
            "Tensor::sample_on",
            "Tensor::set_grad_variable",
            "Tensor::to_backend",
            "Tensor::width",
            "TracedOperation",
            "Transfer",
            "Undivided",
            "after_fork",
            "autocast_setting",
            "before_fork",
            "check_names",
            "check_number",
            "fftfreq_on",
            "lasting_name",
            "perform_task",
            "record_function",
            "register_devices",
            "rfftfreq_on",
            "set_autocast_dtype",
            "set_autocast_enabled",
            "set_locator",
            "set_pause",
            "take_transfers",
            "trace_cast",
            "trace_value",
            "undivided",
        ],
    ),
    (
        "scopes and hooks: the functions that make them have the examples",
        &[
            "AfterHook",
            "AnomalyMode",
            "AutocastGuard",
            "GradMode",
            "Hook",
            "Mode",
            "mode",
            "TraceGuard",
            "Tensor::register_after_hook",
            "Tensor::remove_after_hook",
        ],
    ),
    (
        "a GPU, which a machine may not have: the book's page of devices",
        &[
            "register",
            "is_available",
            "device_count",
            "device",
            "properties",
        ],
    ),
    (
        "reports on hosted operations, of devices other than the CPU",
        &[
            "NoticeSink",
            "Way",
            "forget_notices",
            "hosted_operations",
            "ways_of",
        ],
    ),
    (
        "steps of optimizers one by one, for those who write an algorithm; the module `optim` shows them used",
        &[
            "AdjustLr",
            "Algorithm",
            "Cycle",
            "CycleScheduler",
            "Group",
            "GroupState",
            "Item",
            "LBFGSOptions::check",
            "LBFGSState",
            "LineSearch",
            "Moment",
            "NamedSchedule",
            "Numbers",
            "OptionKind",
            "OptionValue",
            "PlateauMode",
            "Schedule",
            "Slot",
            "StateValue",
            "TensorUpdate",
            "TensorsUpdated",
            "ThresholdMode",
            "Update",
            "Updated",
            "initial_state",
            "lbfgs_step",
            "number",
            "restart_after",
            "restart_at",
            "schedule",
            "step",
            "swa_rate",
            "widened",
        ],
    ),
    (
        "types of arguments and results that functions with examples name",
        &[
            "Between",
            "Checked",
            "CheckedRewrite",
            "Func",
            "InterpolationOptions",
            "Key",
            "Link",
            "ScalerReport",
            "ScalerState",
            "Written",
            "apply_function",
            "istft",
            "recurrent_cell",
        ],
    ),
];

/// A public item: where it is, what it is of, its name, and whether there is an example.
struct Item {
    file: String,
    is_type: bool,
    owner: Option<String>,
    name: String,
    has_example: bool,
}

impl Item {
    fn path(&self) -> String {
        match &self.owner {
            Some(owner) => format!("{owner}::{}", self.name),
            None => self.name.clone(),
        }
    }
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = paths
        .flat_map(|path| match path.is_dir() {
            true => sources(&path),
            false => vec![path],
        })
        .collect();
    files.sort();
    files
}

/// The identifier that a text begins with.
fn identifier(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'));
    &text[..end.unwrap_or(text.len())]
}

/// The type that an `impl` is of.
fn implemented(line: &str) -> Option<String> {
    let mut rest = line.trim_start().strip_prefix("impl")?;
    if !rest.starts_with([' ', '<']) {
        return None;
    }
    if let Some((_, after)) = rest.split_once(" for ") {
        rest = after;
    } else if rest.starts_with('<') {
        let mut depth = 0;
        let end = rest.char_indices().find(|(_, c)| {
            depth += i32::from(*c == '<') - i32::from(*c == '>');
            depth == 0
        });
        rest = &rest[end?.0 + 1..];
    }
    Some(identifier(rest.trim_start_matches([' ', '&'])).to_owned())
}

/// The public items of a file, and the words in the code of its examples.
fn items(path: &Path, file: &str, words: &mut BTreeSet<String>) -> Vec<Item> {
    let text = fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap();
    let (mut found, mut owner) = (Vec::new(), None);
    let (mut has_example, mut in_code) = (false, false);
    for line in text.lines() {
        let code = line.trim_start();
        let doc = code.strip_prefix("///").or(code.strip_prefix("//!"));
        let attribute = code
            .strip_prefix("#[doc =")
            .or(code.strip_prefix("$(#[doc ="));
        if let Some(doc) = doc.or(attribute) {
            if doc.contains("```") || doc.contains("example!") {
                has_example = true;
                in_code = doc.trim_start().starts_with("```") && !in_code;
            }
            if in_code || attribute.is_some() {
                let is_word = |c: char| c.is_alphanumeric() || c == '_';
                words.extend(doc.split(|c| !is_word(c)).map(str::to_owned));
            }
            continue;
        }
        if code.starts_with("#[") || code.starts_with("reason =") {
            continue;
        }
        if let Some(name) = implemented(line) {
            owner = Some(name);
        }
        let public = code.strip_prefix("pub ").unwrap_or_default();
        let public = public.strip_prefix("const ").unwrap_or(public);
        let (kind, rest) = public.split_once(' ').unwrap_or_default();
        if ["fn", "struct", "enum", "trait", "type"].contains(&kind) {
            let is_method = kind == "fn" && line.starts_with(' ');
            found.push(Item {
                file: file.to_owned(),
                is_type: kind != "fn",
                owner: owner.clone().filter(|_| is_method),
                name: identifier(rest).to_owned(),
                // What a macro names may have its documentation from the rows below it.
                has_example: has_example || rest.starts_with('$') && text.contains("/// ```"),
            });
        }
        (has_example, in_code) = (false, false);
    }
    found
}

#[test]
fn every_public_item_has_an_example() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let (mut all, mut words) = (Vec::new(), BTreeSet::new());
    for name in CRATES {
        let root = crates.join(name).join("src");
        for path in sources(&root) {
            let file = path.strip_prefix(crates).unwrap().display().to_string();
            all.extend(items(&path, &file, &mut words));
        }
    }
    assert!(
        all.len() > 900,
        "only {} public items were found",
        all.len()
    );
    let mut types: BTreeMap<&str, bool> = BTreeMap::new();
    for item in all.iter().filter(|item| item.is_type) {
        let is_shown = item.has_example || words.contains(&item.name);
        *types.entry(&item.name).or_default() |= is_shown;
    }
    let mut excepted = BTreeSet::new();
    let mut bare = Vec::new();
    for item in all.iter().filter(|item| !item.has_example) {
        let is_shown = match &item.owner {
            Some(owner) => owner != "Tensor" && types.get(owner.as_str()) == Some(&true),
            None => item.is_type && types[item.name.as_str()],
        };
        if is_shown {
            continue;
        }
        let names = [
            Some(item.path()),
            item.owner.clone().filter(|owner| owner != "Tensor"),
        ];
        let listed = EXCEPTIONS.iter().flat_map(|(_, names)| *names);
        let listed = listed
            .copied()
            .find(|name| names.iter().flatten().any(|own| own == name));
        match listed {
            Some(name) => drop(excepted.insert(name)),
            None => bare.push(format!("{}: {}", item.file, item.path())),
        }
    }
    assert!(bare.is_empty(), "without an example:\n{}", bare.join("\n"));
    let listed: BTreeSet<&str> = EXCEPTIONS
        .iter()
        .flat_map(|(_, names)| *names)
        .copied()
        .collect();
    let stale: Vec<&&str> = listed.difference(&excepted).collect();
    assert!(
        stale.is_empty(),
        "listed, but with an example or gone: {stale:?}"
    );
}
