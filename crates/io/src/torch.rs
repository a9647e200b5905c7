//! What `torch.save` writes: a pickle of containers, whose tensors are views of storages beside it.
//!
//! Since 1.6 a file is an archive with `data.pkl` and a file for each storage; before, pickles followed by
//! the bytes of all storages. The pickle is read as data (see [`pickle`]): a call of anything
//! but what rebuilds tensors and dicts is refused by its name. Attributes of dicts, such as the versions of
//! a state dict's modules, are left out.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use allotrope_dtype::{DType, Error, ErrorKind};
use allotrope_tensor::Tensor;

use crate::pickle::{self, Name, Object, World};
use crate::source::Source;
use crate::value::{Key, Value};
use crate::zip::{self, Entry};

/// What files of before 1.6 begin with: the pickle of a number.
pub(crate) const LEGACY: &[u8] = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.";
/// The pickle of an archive.
const PICKLE: &str = "data.pkl";
/// Containers in containers that are read.
const DEEPEST: usize = 100;
/// The least room for what stands beside tensors, which is else as long as the pickle.
const LEAST: usize = 1 << 12;

/// Whether an archive is one of torch's.
pub(crate) fn is_archive(entries: &[Entry]) -> bool {
    pickle_of(entries).is_some()
}

/// The pickle of an archive and the folder that all of its files are in.
fn pickle_of(entries: &[Entry]) -> Option<(&Entry, &str)> {
    entries.iter().find_map(|entry| {
        let folder = entry.name.strip_suffix(PICKLE)?;
        (folder.is_empty() || folder.ends_with('/')).then_some((entry, folder))
    })
}

/// Reads an archive.
pub(crate) fn read_archive(source: &Source<'_>, entries: &[Entry]) -> Result<Value, Error> {
    let Some((entry, folder)) = pickle_of(entries) else {
        return Err(source.damaged("no data.pkl"));
    };
    let find = |name: &str| {
        let mut all = entries.iter();
        all.find(|entry| entry.name.strip_prefix(folder) == Some(name))
    };
    if let Some(order) = find("byteorder")
        && *source.bytes(zip::stored(source, order)?)? != *b"little"
    {
        return Err(source.damaged("big-endian storages; little-endian ones are read"));
    }
    let mut storages = HashMap::new();
    for entry in entries {
        let name = entry.name.strip_prefix(folder);
        if let Some(key) = name.and_then(|name| name.strip_prefix("data/")) {
            storages.insert(key.to_owned(), zip::stored(source, entry)?);
        }
    }
    let bytes = source.bytes(zip::stored(source, entry)?)?;
    read_pickle(source, &bytes, storages).map(|(value, _)| value)
}

/// Reads a file of before 1.6: a magic number, the protocol, a description of the machine, the pickle, the
/// keys of all storages, and these one after the other, each behind the number of its elements.
pub(crate) fn read_legacy(source: &Source<'_>) -> Result<Value, Error> {
    let damaged = |what: String| source.damaged(what);
    let bytes = source.bytes(LEGACY.len() as u64..source.len())?;
    let mut place = 0;
    let mut first = Sizes::default();
    for part in ["protocol", "machine"] {
        let rest = &bytes[place..];
        let read = pickle::read(rest, &mut first, |object| {
            let is_big = part == "machine" && is_big_endian(object);
            match (part, object.whole()) {
                ("protocol", version) if version != Some(1001) => {
                    Err("another protocol than 1001".to_owned())
                }
                _ if is_big => Err("big-endian storages; little-endian ones are read".to_owned()),
                _ => Ok(()),
            }
        });
        place += read.map_err(damaged)?.1;
    }
    let start = place;
    place += pickle::read(&bytes[place..], &mut first, |_| Ok(()))
        .map_err(damaged)?
        .1;
    let keys = |object: &Object| match object {
        Object::List(keys) => {
            let keys = keys.borrow();
            let keys = keys.iter().map(|key| key.text().map(ToString::to_string));
            keys.collect::<Option<Vec<_>>>()
                .ok_or_else(|| "keys that are no text".to_owned())
        }
        _ => Err("no list of storages".to_owned()),
    };
    let (keys, length) = pickle::read(&bytes[place..], &mut first, keys).map_err(damaged)?;
    place += length;
    let mut storages = HashMap::new();
    for key in keys {
        let Some((dtype, count)) = first.0.get(key.as_str()) else {
            return Err(source.damaged(format!("a storage {key:?} that no tensor has")));
        };
        let head: Option<[u8; 8]> = bytes
            .get(place..place + 8)
            .and_then(|head| head.try_into().ok());
        if head.map(u64::from_le_bytes) != Some(*count) {
            return Err(source.damaged(format!("another length of storage {key:?}")));
        }
        let begin = (LEGACY.len() + place + 8) as u64;
        let end = count
            .checked_mul(dtype.itemsize() as u64)
            .and_then(|size| size.checked_add(begin));
        let end = end.filter(|end| *end <= source.len());
        let Some(end) = end else {
            return Err(source.damaged(format!("a storage {key:?} beyond its end")));
        };
        place = end as usize - LEGACY.len();
        storages.insert(key, begin..end);
    }
    read_pickle(source, &bytes[start..], storages).map(|(value, _)| value)
}

fn is_big_endian(machine: &Object) -> bool {
    let Object::Dict(items) = machine else {
        return false;
    };
    let items = items.borrow();
    let mut items = items.iter();
    items.any(|(key, value)| {
        let is_order = key.text().is_some_and(|key| **key == *"little_endian");
        is_order && matches!(value, Object::Bool(false))
    })
}

fn read_pickle(
    source: &Source<'_>,
    bytes: &[u8],
    storages: HashMap<String, std::ops::Range<u64>>,
) -> Result<(Value, usize), Error> {
    let mut torch = Torch {
        source,
        storages,
        known: HashMap::new(),
        failure: None,
    };
    let mut room = bytes.len() + LEAST;
    let read = pickle::read(bytes, &mut torch, |object| to_value(object, 0, &mut room));
    match (read, torch.failure) {
        (Err(_), Some(failure)) => Err(failure),
        (read, _) => read.map_err(|what| source.damaged(what)),
    }
}

/// The sizes of storages, as a first reading finds them.
#[derive(Default)]
struct Sizes(HashMap<String, (DType, u64)>);

impl World for Sizes {
    fn load(&mut self, identity: &Object) -> Result<Object, String> {
        let storage = storage(identity)?;
        if let Object::Storage(storage) = &storage {
            let dtype = dtype_of_storage(&storage.1)?;
            self.0.insert(storage.0.to_string(), (dtype, storage.2));
        }
        Ok(storage)
    }

    fn call(&mut self, name: &Name, _: &[Object]) -> Option<Result<Object, String>> {
        // Dicts are filled, whatever else is made is not looked at.
        Some(Ok(match (&*name.0, &*name.1) {
            ("collections", "OrderedDict") => Object::dict(),
            _ => Object::None,
        }))
    }
}

/// The storage that an identity names: its key, its class, and how many elements it has.
fn storage(identity: &Object) -> Result<Object, String> {
    let parts = identity.tuple().ok_or("an object that is kept elsewhere")?;
    let (Some(Object::Name(class)), Some(key), Some(count)) = (
        parts.get(1),
        parts.get(2).and_then(Object::text),
        parts.get(4).and_then(Object::whole),
    ) else {
        return Err("a storage without class, key and length".to_owned());
    };
    if parts[0].text().is_none_or(|kind| **kind != *"storage") {
        return Err("an object that is kept elsewhere".to_owned());
    }
    if parts
        .get(5)
        .is_some_and(|view| !matches!(view, Object::None))
    {
        return Err("a storage that is a part of another".to_owned());
    }
    let count = u64::try_from(count).map_err(|_| "a storage of a length below zero")?;
    Ok(Object::Storage(Rc::new((
        Rc::clone(key),
        Rc::clone(&class.1),
        count,
    ))))
}

/// The dtype of a class of storages; untyped ones are bytes.
fn dtype_of_storage(class: &str) -> Result<DType, String> {
    Ok(match class {
        "UntypedStorage" | "ByteStorage" => DType::U8,
        "FloatStorage" => DType::F32,
        "DoubleStorage" => DType::F64,
        "HalfStorage" => DType::F16,
        "BFloat16Storage" => DType::BF16,
        "CharStorage" => DType::I8,
        "ShortStorage" => DType::I16,
        "IntStorage" => DType::I32,
        "LongStorage" => DType::I64,
        "BoolStorage" => DType::Bool,
        "ComplexFloatStorage" => DType::C64,
        "ComplexDoubleStorage" => DType::C128,
        _ => {
            return Err(format!(
                "a storage of class {class}, which no dtype here is"
            ));
        }
    })
}

/// What a pickle of torch's calls and refers to.
struct Torch<'a, 's> {
    source: &'a Source<'s>,
    /// Where the bytes of each storage are.
    storages: HashMap<String, std::ops::Range<u64>>,
    /// Storages that were read, by key and dtype: views share them.
    known: HashMap<(String, DType), Tensor>,
    /// An error of its own kind, such as a lack of memory.
    failure: Option<Error>,
}

impl World for Torch<'_, '_> {
    fn load(&mut self, identity: &Object) -> Result<Object, String> {
        storage(identity)
    }

    fn call(
        &mut self,
        (module, name): &Name,
        arguments: &[Object],
    ) -> Option<Result<Object, String>> {
        match (&**module, &**name, arguments) {
            ("collections", "OrderedDict", []) => Some(Ok(Object::dict())),
            ("torch", "Size", [sizes]) => Some(Ok(sizes.clone())),
            ("torch._utils", "_rebuild_parameter", [Object::Tensor(data), required, ..]) => {
                Some(self.leaf(data.clone(), required))
            }
            ("torch._utils", "_rebuild_tensor", [storage, offset, sizes, strides]) => Some(
                self.rebuild(storage, None, [offset, sizes, strides])
                    .map(Object::Tensor),
            ),
            (
                "torch._utils",
                "_rebuild_tensor_v2",
                [storage, offset, sizes, strides, required, hooks, rest @ ..],
            ) => Some(
                nothing_else(hooks, rest)
                    .and_then(|()| self.rebuild(storage, None, [offset, sizes, strides]))
                    .and_then(|tensor| self.leaf(tensor, required)),
            ),
            (
                "torch._utils",
                "_rebuild_tensor_v3",
                [
                    storage,
                    offset,
                    sizes,
                    strides,
                    required,
                    hooks,
                    Object::Name(dtype),
                    rest @ ..,
                ],
            ) if &*dtype.0 == "torch" => Some(
                nothing_else(hooks, rest)
                    .and_then(|()| self.rebuild(storage, Some(&dtype.1), [offset, sizes, strides]))
                    .and_then(|tensor| self.leaf(tensor, required)),
            ),
            _ => None,
        }
    }
}

/// Refuses hooks, and what is beside a tensor's elements.
fn nothing_else(hooks: &Object, rest: &[Object]) -> Result<(), String> {
    let is_empty = |object: &Object| match object {
        Object::None => true,
        Object::Dict(items) => items.borrow().is_empty(),
        _ => false,
    };
    match is_empty(hooks) && rest.iter().all(is_empty) {
        true => Ok(()),
        false => {
            Err("a tensor with hooks, or one that is conjugated or negated when it is read".into())
        }
    }
}

impl Torch<'_, '_> {
    fn leaf(&mut self, tensor: Tensor, required: &Object) -> Result<Object, String> {
        if !matches!(required, Object::Bool(true)) {
            return Ok(Object::Tensor(tensor));
        }
        let leaf = tensor.requires_grad_(true);
        leaf.map(Object::Tensor).map_err(|error| self.fail(error))
    }

    /// A view of a storage, in the dtype of its class or in one that is named.
    fn rebuild(
        &mut self,
        storage: &Object,
        dtype: Option<&str>,
        numbers: [&Object; 3],
    ) -> Result<Tensor, String> {
        let Object::Storage(storage) = storage else {
            return Err("a tensor of no storage".to_owned());
        };
        let (key, class, count) = &**storage;
        let own = dtype_of_storage(class)?;
        let dtype = match dtype {
            None => own,
            Some(name) => name
                .parse()
                .map_err(|_| format!("a tensor of dtype torch.{name}"))?,
        };
        let [offset, sizes, strides] = numbers;
        let whole = |number: i128| usize::try_from(number).ok();
        let offset = offset.whole().and_then(whole);
        let all = |object: &Object| -> Option<Vec<usize>> {
            object.numbers()?.into_iter().map(whole).collect()
        };
        let (Some(offset), Some(sizes), Some(strides)) = (offset, all(sizes), all(strides)) else {
            return Err("a tensor without offset, sizes and strides".to_owned());
        };
        // bounded: as many as the pickle has numbers.
        let strides: Vec<isize> = strides.into_iter().map(|stride| stride as isize).collect();
        let base = self.base(key, dtype, count.saturating_mul(own.itemsize() as u64))?;
        let view = base.as_strided(&sizes, &strides, Some(offset));
        view.map_err(|error| format!("a tensor beyond storage {key:?}: {}", self.fail(error)))
    }

    /// All elements of a storage.
    fn base(&mut self, key: &str, dtype: DType, bytes: u64) -> Result<Tensor, String> {
        let name = (key.to_owned(), dtype);
        if let Some(known) = self.known.get(&name) {
            return Ok(known.clone());
        }
        let range = self
            .storages
            .get(key)
            .ok_or_else(|| format!("no storage {key:?}"))?;
        if range.end - range.start != bytes {
            let length = range.end - range.start;
            return Err(format!(
                "a storage {key:?} of {length} bytes; the pickle says {bytes}"
            ));
        }
        let count = usize::try_from(bytes).map_err(|_| "too many bytes")? / dtype.itemsize();
        let read = self.source.tensor(range.start, &[count], dtype);
        let tensor = read.map_err(|error| self.fail(error))?;
        self.known.insert(name, tensor.clone());
        Ok(tensor)
    }

    /// What an error says; one of memory or of the system is kept as it is.
    fn fail(&mut self, error: Error) -> String {
        let text = error.to_string();
        if matches!(error.kind(), ErrorKind::Memory | ErrorKind::File) {
            self.failure = Some(error);
        }
        text
    }
}

/// Takes the room that a copy needs.
fn pay(room: &mut usize, size: usize) -> Result<(), String> {
    let rest = room.checked_sub(size);
    *room = rest.ok_or("containers that hold others too often")?;
    Ok(())
}

/// What a pickle holds as values. What it shares is copied, up to as much as the file is long.
fn to_value(object: &Object, depth: usize, room: &mut usize) -> Result<Value, String> {
    if depth > DEEPEST {
        return Err("containers nested too deeply, or in themselves".to_owned());
    }
    pay(room, 1)?;
    let mut all = |items: &[Object]| -> Result<Vec<Value>, String> {
        items
            .iter()
            .map(|item| to_value(item, depth + 1, room))
            .collect()
    };
    Ok(match object {
        Object::None => Value::None,
        Object::Bool(truth) => Value::Bool(*truth),
        Object::Int(number) => Value::Int(*number),
        Object::Float(number) => Value::Float(*number),
        Object::Text(text) => {
            pay(room, text.len())?;
            Value::Text(text.to_string())
        }
        Object::Tensor(tensor) => Value::Tensor(tensor.clone()),
        Object::Tuple(items) => Value::Tuple(all(items)?),
        Object::List(items) => Value::List(all(&items.borrow())?),
        Object::Dict(items) => {
            let (mut dict, mut seen) = (Vec::new(), HashSet::new());
            for (key, value) in items.borrow().iter() {
                let key = match key {
                    Object::Text(text) => Key::Text(text.to_string()),
                    Object::Int(number) => Key::Int(*number),
                    _ => return Err("a key that is neither text nor an integer".to_owned()),
                };
                if let Key::Text(text) = &key {
                    pay(room, text.len())?;
                }
                if !seen.insert(key.clone()) {
                    return Err(format!("two keys {key:?}"));
                }
                dict.push((key, to_value(value, depth + 1, room)?));
            }
            Value::Dict(dict)
        }
        Object::Bytes => return Err("bytes, which are neither text nor a tensor".to_owned()),
        Object::Storage(_) => return Err("a storage without a tensor".to_owned()),
        Object::Name((module, name)) => {
            return Err(format!(
                "{module}.{name}; tensors, dicts, lists, tuples, numbers and text are read"
            ));
        }
    })
}
