//! Containers as names and metadata of a safetensors file.
//!
//! A dict of tensors by text needs nothing: its keys are the names of the tensors. Anything else is
//! described in JSON under `"tree"` (see [`Notes`]): a value is an object of one member,
//! `{"tensor": name}`, `{"dict": [[key, value], …]}`, `{"list": […]}`, `{"tuple": […]}`,
//! `{"none": true}`, `{"bool": true}`, `{"int": 3}`, `{"float": "0.1"}`, `{"complex": ["1.0", "2.0"]}`
//! or `{"text": "…"}`; a key is a string or an integer. Tensors are named by the keys on the way to
//! them, joined by dots.
//!
//! [`Notes`]: crate::safetensors

use std::collections::{HashMap, HashSet};

use allotrope_dtype::{Error, Problem};
use allotrope_tensor::Tensor;

use crate::json::{Parsed, Reader, push_list, push_string};
use crate::value::{DEEPEST, Key, Value};

/// The name that no tensor has: the format's own.
pub(crate) const RESERVED: &str = "__metadata__";

/// The tensors of a value by unique names, and its description if the names alone do not give it.
pub(crate) struct Flat<'a> {
    pub(crate) tensors: Vec<(String, &'a Tensor)>,
    pub(crate) tree: Option<String>,
}

/// Gives the tensors of a value names.
pub(crate) fn flatten<'a>(op: &'static str, value: &'a Value) -> Result<Flat<'a>, Error> {
    if let Some(tensors) = named_tensors(value) {
        let tensors = tensors.map(|(name, tensor)| (name.to_owned(), tensor));
        return Ok(Flat {
            tensors: tensors.collect(),
            tree: None,
        });
    }
    let mut writer = Writer {
        op,
        tensors: Vec::new(),
        taken: HashSet::from([RESERVED.to_owned()]),
        tree: String::new(),
    };
    writer.push(value, "", 0)?;
    Ok(Flat {
        tensors: writer.tensors,
        tree: Some(writer.tree),
    })
}

/// The tensors of a dict that has nothing else, by text.
pub(crate) fn named_tensors(value: &Value) -> Option<impl Iterator<Item = (&str, &Tensor)>> {
    let Value::Dict(items) = value else {
        return None;
    };
    let is_plain = |(key, value): &(Key, Value)| matches!((key, value), (Key::Text(name), Value::Tensor(_)) if name != RESERVED);
    let keys: HashSet<&Key> = items.iter().map(|(key, _)| key).collect();
    let is_flat = keys.len() == items.len() && items.iter().all(is_plain);
    is_flat.then(|| {
        items.iter().filter_map(|item| match item {
            (Key::Text(name), Value::Tensor(tensor)) => Some((name.as_str(), tensor)),
            _ => None,
        })
    })
}

struct Writer<'a> {
    op: &'static str,
    tensors: Vec<(String, &'a Tensor)>,
    taken: HashSet<String>,
    tree: String,
}

impl<'a> Writer<'a> {
    fn push(&mut self, value: &'a Value, path: &str, depth: usize) -> Result<(), Error> {
        if depth > DEEPEST {
            let problem = Problem::NotSaved {
                given: format!("containers nested more than {DEEPEST} deep"),
                accepted: "fewer levels are accepted",
            };
            return Err(Error::new(self.op, problem));
        }
        let kind = match value {
            Value::Tensor(_) => "tensor",
            Value::Dict(_) => "dict",
            Value::List(_) => "list",
            Value::Tuple(_) => "tuple",
            Value::None => "none",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Float(_) => "float",
            Value::Complex(..) => "complex",
            Value::Text(_) => "text",
        };
        self.tree.push_str(&format!("{{\"{kind}\":"));
        match value {
            Value::Tensor(tensor) => {
                let name = self.name(path);
                push_string(&mut self.tree, &name);
                self.tensors.push((name, tensor));
            }
            Value::Dict(items) => self.push_items(items, |writer, (key, value)| {
                writer.tree.push('[');
                let step = match key {
                    Key::Text(text) => {
                        push_string(&mut writer.tree, text);
                        text.clone()
                    }
                    Key::Int(integer) => {
                        writer.tree.push_str(&integer.to_string());
                        integer.to_string()
                    }
                };
                writer.tree.push(',');
                writer.push(value, &join(path, &step), depth + 1)?;
                writer.tree.push(']');
                Ok(())
            })?,
            Value::List(items) | Value::Tuple(items) => {
                let mut place = 0;
                self.push_items(items, |writer, value| {
                    let step = place.to_string();
                    place += 1;
                    writer.push(value, &join(path, &step), depth + 1)
                })?;
            }
            Value::None => self.tree.push_str("true"),
            Value::Bool(truth) => self.tree.push_str(&truth.to_string()),
            Value::Int(integer) => self.tree.push_str(&integer.to_string()),
            Value::Float(number) => self.tree.push_str(&format!("\"{number:?}\"")),
            Value::Complex(re, im) => self.tree.push_str(&format!("[\"{re:?}\",\"{im:?}\"]")),
            Value::Text(text) => push_string(&mut self.tree, text),
        }
        self.tree.push('}');
        Ok(())
    }

    fn push_items<T>(
        &mut self,
        items: &'a [T],
        mut push: impl FnMut(&mut Self, &'a T) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.tree.push('[');
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                self.tree.push(',');
            }
            push(self, item)?;
        }
        self.tree.push(']');
        Ok(())
    }

    /// The path as a name, with a number behind it if it is taken.
    fn name(&mut self, path: &str) -> String {
        let path = if path.is_empty() { "tensor" } else { path };
        let mut name = path.to_owned();
        let mut number = 1;
        while !self.taken.insert(name.clone()) {
            number += 1;
            name = format!("{path}#{number}");
        }
        name
    }
}

fn join(path: &str, step: &str) -> String {
    if path.is_empty() {
        step.to_owned()
    } else {
        format!("{path}.{step}")
    }
}

/// The value that a tree describes, of tensors by their names.
pub(crate) fn unflatten(tree: &str, tensors: &HashMap<String, Tensor>) -> Parsed<Value> {
    let mut reader = Reader::new(tree);
    let mut used = HashSet::new();
    let value = read(&mut reader, tensors, &mut used, 0)?;
    reader.end()?;
    match tensors.keys().find(|name| !used.contains(*name)) {
        Some(name) => Err(format!("the tensor {name:?} is not in the tree")),
        None => Ok(value),
    }
}

fn read(
    reader: &mut Reader<'_>,
    tensors: &HashMap<String, Tensor>,
    used: &mut HashSet<String>,
    depth: usize,
) -> Parsed<Value> {
    if depth > DEEPEST {
        return Err(reader.refuse("too many levels"));
    }
    let mut value = None;
    reader.object(|reader, kind| {
        if value.is_some() {
            return Err(reader.refuse("a second member"));
        }
        let float = |reader: &mut Reader<'_>| {
            let text = reader.string()?;
            text.parse::<f64>().map_err(|_| reader.refuse("no float"))
        };
        value = Some(match kind.as_str() {
            "tensor" => {
                let name = reader.string()?;
                let tensor = tensors.get(&name);
                let tensor = tensor.ok_or_else(|| reader.refuse("an unknown tensor"))?;
                used.insert(name);
                Value::Tensor(tensor.clone())
            }
            "dict" => Value::Dict(read_dict(reader, tensors, used, depth)?),
            "list" | "tuple" => {
                let mut items = Vec::new();
                reader.array(|reader| {
                    items.push(read(reader, tensors, used, depth + 1)?);
                    Ok(())
                })?;
                if kind == "list" {
                    Value::List(items)
                } else {
                    Value::Tuple(items)
                }
            }
            "none" => {
                reader.bool()?;
                Value::None
            }
            "bool" => Value::Bool(reader.bool()?),
            "int" => Value::Int(reader.integer()?),
            "float" => Value::Float(float(reader)?),
            "complex" => {
                let mut parts = Vec::new();
                reader.array(|reader| {
                    parts.push(float(reader)?);
                    Ok(())
                })?;
                match parts[..] {
                    [re, im] => Value::Complex(re, im),
                    _ => return Err(reader.refuse("a complex number of other than two parts")),
                }
            }
            "text" => Value::Text(reader.string()?),
            _ => return Err(reader.refuse("an unknown kind of value")),
        });
        Ok(())
    })?;
    value.ok_or_else(|| reader.refuse("no kind of value"))
}

fn read_dict(
    reader: &mut Reader<'_>,
    tensors: &HashMap<String, Tensor>,
    used: &mut HashSet<String>,
    depth: usize,
) -> Parsed<Vec<(Key, Value)>> {
    let (mut items, mut keys) = (Vec::new(), HashSet::new());
    reader.array(|reader| {
        let (mut key, mut value) = (None, None);
        reader.array(|reader| {
            if key.is_none() {
                key = Some(match reader.peek() {
                    Some(b'"') => Key::Text(reader.string()?),
                    _ => Key::Int(reader.integer()?),
                });
            } else if value.is_none() {
                value = Some(read(reader, tensors, used, depth + 1)?);
            } else {
                return Err(reader.refuse("more than a key and a value"));
            }
            Ok(())
        })?;
        let (Some(key), Some(value)) = (key, value) else {
            return Err(reader.refuse("less than a key and a value"));
        };
        if !keys.insert(key.clone()) {
            return Err(reader.refuse("a key a second time"));
        }
        items.push((key, value));
        Ok(())
    })?;
    Ok(items)
}

/// Appends names with a text each, as an object.
pub(crate) fn push_texts<'t>(
    target: &mut String,
    texts: impl IntoIterator<Item = (&'t str, &'t str)>,
) {
    push_list(target, ['{', '}'], texts, |target, (name, text)| {
        push_string(target, name);
        target.push(':');
        push_string(target, text);
    });
}
