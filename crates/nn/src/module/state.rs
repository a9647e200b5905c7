//! Values of a module by names: state dicts, files, and whether they fit.

use std::collections::BTreeMap;
use std::path::Path;

use allotrope_dtype::{Casting, Error, Problem, can_cast};
use allotrope_io::{Key, Value};
use allotrope_tensor::{Tensor, Variable};

use super::visit::{Visit, Visitor, Walk};
use crate::{Buffer, Parameter};

const OP: &str = "load_state_dict";

/// Values by the paths of the places they are for.
///
/// ```
/// use allotrope_nn::{Linear, Module, StateDict};
/// let state: StateDict = Linear::new(3, 2)?.state_dict();
/// assert_eq!(state["weight"].shape(), [2, 3]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
pub type StateDict = BTreeMap<String, Tensor>;

/// What did not meet when values were loaded.
///
/// ```
/// use allotrope_nn::{Linear, LinearOptions, Module};
/// let (one, other) = (Linear::new(3, 2)?, Linear::with(3, 2, LinearOptions { bias: false, ..Default::default() })?);
/// let report = one.load_state_dict(&other.state_dict(), false)?;
/// assert_eq!((report.missing, report.unexpected), (vec!["bias".to_owned()], vec![]));
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Places that have no value, and keep theirs.
    pub missing: Vec<String>,
    /// Values that have no place.
    pub unexpected: Vec<String>,
}

/// A place that values are saved of.
enum Saved {
    Parameter(Parameter),
    Buffer(Buffer),
}

impl Saved {
    fn variable(&self) -> &Variable {
        match self {
            Self::Parameter(parameter) => parameter.variable(),
            Self::Buffer(buffer) => buffer.variable(),
        }
    }
}

/// Places by their paths, in the order of fields.
#[derive(Default)]
struct Places(Vec<(String, Saved)>);

impl Visitor for Places {
    fn parameter(&mut self, path: &str, parameter: &Parameter) {
        self.0
            .push((path.to_owned(), Saved::Parameter(parameter.clone())));
    }

    fn buffer(&mut self, path: &str, buffer: &Buffer) {
        if buffer.is_persistent() {
            self.0
                .push((path.to_owned(), Saved::Buffer(buffer.clone())));
        }
    }
}

fn places(module: &(impl Visit + ?Sized)) -> Vec<(String, Saved)> {
    let mut places = Places::default();
    module.visit(&mut Walk::new(&mut places));
    places.0
}

pub(super) fn collect(module: &(impl Visit + ?Sized)) -> StateDict {
    let places = places(module).into_iter();
    places
        .map(|(path, place)| (path, place.variable().value().detach()))
        .collect()
}

pub(super) fn load(
    module: &(impl Visit + ?Sized),
    state: &StateDict,
    strict: bool,
) -> Result<Report, Error> {
    let places = places(module);
    let mut report = Report::default();
    let (mut wrong, mut fitting) = (Vec::new(), Vec::new());
    for (path, place) in &places {
        let Some(given) = state.get(path) else {
            report.missing.push(path.clone());
            continue;
        };
        let now = place.variable().value();
        if given.shape() != now.shape() {
            let (given, own) = (given.shape().to_vec(), now.shape().to_vec());
            wrong.push(format!("'{path}' is {given:?}, not {own:?}"));
        } else if !can_cast(given.dtype(), now.dtype(), Casting::SameKind) {
            wrong.push(format!(
                "'{path}' is {}, not {}",
                given.dtype(),
                now.dtype()
            ));
        } else {
            let value = given.detach().to(now.dtype())?;
            fitting.push((place, value.to_device(now.device())?));
        }
    }
    let is_known = |name: &&String| places.iter().any(|(path, _)| path == *name);
    report.unexpected = state
        .keys()
        .filter(|name| !is_known(name))
        .cloned()
        .collect();
    let is_whole = report.missing.is_empty() && report.unexpected.is_empty();
    if !wrong.is_empty() || strict && !is_whole {
        let quoted = |names: &[String]| names.iter().map(|name| format!("'{name}'")).collect();
        let problem = Problem::StateMismatch {
            missing: if strict {
                quoted(&report.missing)
            } else {
                vec![]
            },
            unexpected: if strict {
                quoted(&report.unexpected)
            } else {
                vec![]
            },
            wrong,
        };
        return Err(Error::new(OP, problem));
    }
    let writes = fitting.into_iter();
    let writes: Vec<_> = writes
        .map(|(place, value)| (place.variable(), value))
        .collect();
    Variable::write_all(OP, &writes)?;
    Ok(report)
}

pub(super) fn save(module: &(impl Visit + ?Sized), path: &Path) -> Result<(), Error> {
    allotrope_io::save(&collect(module).into(), path, &[])
}

pub(super) fn read(module: &(impl Visit + ?Sized), path: &Path) -> Result<(), Error> {
    let state = flat(allotrope_io::load(path)?)?;
    load(module, &state, true)?;
    Ok(())
}

/// The tensors of a file by names.
fn flat(value: Value) -> Result<StateDict, Error> {
    let Value::Dict(items) = value else {
        let given = "something else than tensors by names";
        return Err(Error::new("load", Problem::NotATensor { given }));
    };
    let items = items.into_iter().map(|(key, value)| {
        let name = match key {
            Key::Text(name) => name,
            Key::Int(number) => number.to_string(),
        };
        Ok((name, Tensor::try_from(value)?))
    });
    items.collect()
}

/// That what is walked is what is saved.
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_places_are_saved_under_both_names() -> Result<(), Error> {
        let shared = Parameter::new(Tensor::new([1.0, 2.0])?)?;
        let pair = (shared.clone(), shared);
        let mut seen = 0;
        super::super::visit::each_parameter(&pair, &mut |_, _| seen += 1);
        assert_eq!(seen, 2);
        assert_eq!(collect(&pair).keys().collect::<Vec<_>>(), ["0", "1"]);
        Ok(())
    }
}
