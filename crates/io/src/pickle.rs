//! Pickles as data: a reader of Python's pickle protocol that builds containers, numbers, text and what
//! `torch` makes of a few names, and runs nothing.
//!
//! A pickle is a program for a stack machine. What it may call is what its reader knows by name; any other
//! call is refused, by its name. Containers are shared as the pickle shares them, and copied out at the end
//! only as far as the file is long.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use allotrope_tensor::Tensor;

/// What a reader of pickles knows.
pub(crate) trait World {
    /// What is kept elsewhere under an identity.
    fn load(&mut self, identity: &Object) -> Result<Object, String>;

    /// What calling something by its name gives; `None` if it is not known.
    fn call(&mut self, name: &Name, arguments: &[Object]) -> Option<Result<Object, String>>;
}

/// A module and what it is named there.
pub(crate) type Name = (Rc<str>, Rc<str>);
/// Objects that are filled after they were made.
pub(crate) type Shared<T> = Rc<RefCell<T>>;

/// What stands on the stack.
#[derive(Clone, Debug)]
pub(crate) enum Object {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(Rc<str>),
    /// Bytes, which no value is.
    Bytes,
    Tuple(Rc<[Object]>),
    List(Shared<Vec<Object>>),
    Dict(Shared<Vec<(Object, Object)>>),
    /// A class or function, which is only named.
    Name(Name),
    /// What was made of a name and arguments.
    Tensor(Tensor),
    /// The key and the dtype's name of a storage, and its elements or bytes.
    Storage(Rc<(Rc<str>, Rc<str>, u64)>),
}

impl Object {
    pub(crate) fn text(&self) -> Option<&Rc<str>> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn whole(&self) -> Option<i128> {
        match self {
            Self::Int(number) => Some(*number),
            _ => None,
        }
    }

    pub(crate) fn tuple(&self) -> Option<&[Self]> {
        match self {
            Self::Tuple(items) => Some(items),
            _ => None,
        }
    }

    /// Sizes and strides, as tuples or lists have them.
    pub(crate) fn numbers(&self) -> Option<Vec<i128>> {
        match self {
            Self::Tuple(items) => items.iter().map(Self::whole).collect(),
            Self::List(items) => items.borrow().iter().map(Self::whole).collect(),
            _ => None,
        }
    }

    pub(crate) fn dict() -> Self {
        Self::Dict(Shared::default())
    }
}

/// Reads the pickle that bytes begin with, and says what is to be made of it; also how many bytes it takes.
pub(crate) fn read<T>(
    bytes: &[u8],
    world: &mut dyn World,
    finish: impl FnOnce(&Object) -> Result<T, String>,
) -> Result<(T, usize), String> {
    let mut machine = Machine {
        bytes,
        place: 0,
        stack: Vec::new(),
        marks: Vec::new(),
        memo: HashMap::new(),
        made: Vec::new(),
        world,
    };
    let object = machine.run()?;
    let finished = finish(&object);
    // It must not outlive the list of what was made.
    drop(object);
    Ok((finished?, machine.place))
}

struct Machine<'a> {
    bytes: &'a [u8],
    place: usize,
    stack: Vec<Object>,
    /// How high the stack was at each mark.
    marks: Vec<usize>,
    memo: HashMap<u64, Object>,
    /// All containers, from inner to outer ones: dropped one by one, however deep they lie in each other.
    made: Vec<Object>,
    world: &'a mut dyn World,
}

impl Drop for Machine<'_> {
    fn drop(&mut self) {
        for object in &self.made {
            match object {
                Object::List(items) => items.borrow_mut().clear(),
                Object::Dict(items) => items.borrow_mut().clear(),
                _ => {}
            }
        }
        self.stack.clear();
        self.memo.clear();
        while self.made.pop().is_some() {}
    }
}

/// What a pickle that ends early is called.
const SHORT: &str = "a pickle that ends early";
const EMPTY: &str = "a pickle that takes what it has not put";

impl Machine<'_> {
    fn run(&mut self) -> Result<Object, String> {
        loop {
            match self.byte()? {
                b'.' => return self.pop(),
                0x80 => {
                    let version = self.byte()?;
                    if version > 5 {
                        return Err(format!("a pickle of protocol {version}; 0 to 5 are read"));
                    }
                }
                // The length of what follows is no news.
                0x95 => drop(self.take(8)?),
                b'(' => self.marks.push(self.stack.len()),
                b'0' => drop(self.pop()?),
                b'1' => drop(self.since_mark()?),
                b'2' => {
                    let top = self.top()?.clone();
                    self.stack.push(top);
                }
                b'N' => self.stack.push(Object::None),
                0x88 => self.stack.push(Object::Bool(true)),
                0x89 => self.stack.push(Object::Bool(false)),
                b'}' => self.put(Object::dict()),
                b']' => self.put(Object::List(Shared::default())),
                b')' => self.put(Object::Tuple(Rc::new([]))),
                0x85 => self.tuple(1)?,
                0x86 => self.tuple(2)?,
                0x87 => self.tuple(3)?,
                b't' => {
                    let items = self.since_mark()?;
                    self.put(Object::Tuple(items.into()));
                }
                b'l' => {
                    let items = self.since_mark()?;
                    self.put(Object::List(Rc::new(RefCell::new(items))));
                }
                b'd' => {
                    let items = pairs(self.since_mark()?)?;
                    self.put(Object::Dict(Rc::new(RefCell::new(items))));
                }
                b'a' => {
                    let item = self.pop()?;
                    self.append(vec![item])?;
                }
                b'e' => {
                    let items = self.since_mark()?;
                    self.append(items)?;
                }
                b's' => {
                    let value = self.pop()?;
                    let key = self.pop()?;
                    self.set(vec![key, value])?;
                }
                b'u' => {
                    let items = self.since_mark()?;
                    self.set(items)?;
                }
                b'J' => {
                    let number = self.number(4)? as u32 as i32;
                    self.stack.push(Object::Int(number.into()));
                }
                b'K' => self.whole(1)?,
                b'M' => self.whole(2)?,
                0x8a => {
                    let length = self.number(1)?;
                    self.long(length)?;
                }
                0x8b => {
                    let length = self.number(4)?;
                    self.long(length)?;
                }
                b'I' => match self.line()? {
                    "00" => self.stack.push(Object::Bool(false)),
                    "01" => self.stack.push(Object::Bool(true)),
                    text => {
                        let number = text.parse().map_err(|_| format!("a number {text:?}"))?;
                        self.stack.push(Object::Int(number));
                    }
                },
                b'L' => {
                    let text = self.line()?.trim_end_matches('L');
                    let number = text.parse().map_err(|_| format!("a number {text:?}"))?;
                    self.stack.push(Object::Int(number));
                }
                b'F' => {
                    let text = self.line()?;
                    let number = text.parse().map_err(|_| format!("a number {text:?}"))?;
                    self.stack.push(Object::Float(number));
                }
                b'G' => {
                    let bytes: [u8; 8] = self.take(8)?.try_into().map_err(|_| SHORT)?;
                    self.stack.push(Object::Float(f64::from_be_bytes(bytes)));
                }
                b'X' => self.text(4)?,
                0x8c => self.text(1)?,
                0x8d => self.text(8)?,
                // Text of Python 2, whose bytes are taken for UTF-8.
                b'T' => self.text(4)?,
                b'U' => self.text(1)?,
                b'V' => {
                    let text = self.line()?.into();
                    self.stack.push(Object::Text(text));
                }
                b'B' => self.raw(4)?,
                b'C' => self.raw(1)?,
                0x8e => self.raw(8)?,
                b'c' => {
                    let name = (self.line()?.into(), self.line()?.into());
                    self.stack.push(Object::Name(name));
                }
                0x93 => {
                    let (name, module) = (self.pop()?, self.pop()?);
                    let name = module.text().zip(name.text());
                    let (module, name) = name.ok_or("a name that is no text")?;
                    let name = (Rc::clone(module), Rc::clone(name));
                    self.stack.push(Object::Name(name));
                }
                b'R' | 0x81 => {
                    let (arguments, function) = (self.pop()?, self.pop()?);
                    let made = self.call(&function, &arguments)?;
                    self.put(made);
                }
                b'b' => {
                    // Attributes of a dict, such as the versions of a state dict's modules.
                    let state = self.pop()?;
                    if !matches!((self.top()?, state), (Object::Dict(_), Object::Dict(_))) {
                        return Err("attributes of something that is no dict".into());
                    }
                }
                b'Q' => {
                    let identity = self.pop()?;
                    let object = self.world.load(&identity)?;
                    self.stack.push(object);
                }
                b'q' => self.remember(1)?,
                b'r' => self.remember(4)?,
                0x94 => {
                    let (number, top) = (self.memo.len() as u64, self.top()?.clone());
                    self.memo.insert(number, top);
                }
                b'p' => {
                    let (number, top) = (self.line_number()?, self.top()?.clone());
                    self.memo.insert(number, top);
                }
                b'h' => self.recall(1)?,
                b'j' => self.recall(4)?,
                b'g' => {
                    let number = self.line_number()?;
                    self.recall_number(number)?;
                }
                code => return Err(format!("a pickle with the instruction {code:#04x}")),
            }
        }
    }

    fn call(&mut self, function: &Object, arguments: &Object) -> Result<Object, String> {
        let Object::Name(name) = function else {
            return Err("a call of something that has no name".into());
        };
        let arguments = arguments.tuple().ok_or("a call without arguments")?;
        let refused = || {
            let (module, name) = name;
            Err(format!(
                "a call of {module}.{name}; tensors, dicts, lists, tuples, numbers and text are read"
            ))
        };
        self.world.call(name, arguments).unwrap_or_else(refused)
    }

    /// Puts what may hold others on the stack.
    fn put(&mut self, object: Object) {
        self.made.push(object.clone());
        self.stack.push(object);
    }

    fn take(&mut self, count: usize) -> Result<&[u8], String> {
        let end = self.place.checked_add(count).ok_or(SHORT)?;
        let taken = self.bytes.get(self.place..end).ok_or(SHORT)?;
        self.place = end;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, String> {
        Ok(self.take(1)?[0])
    }

    /// A little-endian number of so many bytes.
    fn number(&mut self, bytes: usize) -> Result<u64, String> {
        let taken = self.take(bytes)?.iter().rev();
        Ok(taken.fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn length(&mut self, bytes: usize) -> Result<usize, String> {
        usize::try_from(self.number(bytes)?).map_err(|_| SHORT.into())
    }

    fn whole(&mut self, bytes: usize) -> Result<(), String> {
        let number = self.number(bytes)?;
        self.stack.push(Object::Int(number.into()));
        Ok(())
    }

    /// An integer of two's complement.
    fn long(&mut self, length: u64) -> Result<(), String> {
        if length > 16 {
            return Err(format!("an integer of {length} bytes; up to 16 are read"));
        }
        let bytes = self.take(length as usize)?;
        let fill = if bytes.last().is_some_and(|last| *last > 127) {
            0xFF
        } else {
            0
        };
        let mut number = [fill; 16];
        number[..bytes.len()].copy_from_slice(bytes);
        self.stack.push(Object::Int(i128::from_le_bytes(number)));
        Ok(())
    }

    fn text(&mut self, bytes: usize) -> Result<(), String> {
        let length = self.length(bytes)?;
        let text = std::str::from_utf8(self.take(length)?);
        let text = text.map_err(|_| "text that is not UTF-8")?.into();
        self.stack.push(Object::Text(text));
        Ok(())
    }

    fn raw(&mut self, bytes: usize) -> Result<(), String> {
        let length = self.length(bytes)?;
        self.take(length)?;
        self.stack.push(Object::Bytes);
        Ok(())
    }

    fn line(&mut self) -> Result<&str, String> {
        let rest = &self.bytes[self.place..];
        let length = rest.iter().position(|byte| *byte == b'\n').ok_or(SHORT)?;
        self.place += length + 1;
        std::str::from_utf8(&rest[..length]).map_err(|_| "text that is not UTF-8".into())
    }

    fn line_number(&mut self) -> Result<u64, String> {
        self.line()?
            .parse()
            .map_err(|_| "a place that is no number".into())
    }

    fn floor(&self) -> usize {
        self.marks.last().copied().unwrap_or(0)
    }

    fn pop(&mut self) -> Result<Object, String> {
        match self.stack.len() > self.floor() {
            true => self.stack.pop().ok_or_else(|| EMPTY.into()),
            false => Err(EMPTY.into()),
        }
    }

    fn top(&self) -> Result<&Object, String> {
        self.stack.last().ok_or_else(|| EMPTY.into())
    }

    fn since_mark(&mut self) -> Result<Vec<Object>, String> {
        let mark = self.marks.pop().ok_or(EMPTY)?;
        match mark <= self.stack.len() {
            true => Ok(self.stack.split_off(mark)),
            false => Err(EMPTY.into()),
        }
    }

    fn tuple(&mut self, count: usize) -> Result<(), String> {
        let first = self
            .stack
            .len()
            .checked_sub(count)
            .filter(|first| *first >= self.floor());
        let items = self.stack.split_off(first.ok_or(EMPTY)?);
        self.put(Object::Tuple(items.into()));
        Ok(())
    }

    fn append(&mut self, items: Vec<Object>) -> Result<(), String> {
        match self.top()? {
            Object::List(list) => list.borrow_mut().extend(items),
            _ => return Err("items of something that is no list".into()),
        }
        Ok(())
    }

    fn set(&mut self, items: Vec<Object>) -> Result<(), String> {
        match self.top()? {
            Object::Dict(dict) => dict.borrow_mut().extend(pairs(items)?),
            _ => return Err("items of something that is no dict".into()),
        }
        Ok(())
    }

    fn remember(&mut self, bytes: usize) -> Result<(), String> {
        let (number, top) = (self.number(bytes)?, self.top()?.clone());
        self.memo.insert(number, top);
        Ok(())
    }

    fn recall(&mut self, bytes: usize) -> Result<(), String> {
        let number = self.number(bytes)?;
        self.recall_number(number)
    }

    fn recall_number(&mut self, number: u64) -> Result<(), String> {
        let object = self
            .memo
            .get(&number)
            .ok_or("a place that nothing was put in")?;
        self.stack.push(object.clone());
        Ok(())
    }
}

fn pairs(items: Vec<Object>) -> Result<Vec<(Object, Object)>, String> {
    let mut items = items.into_iter();
    let mut pairs = Vec::new();
    while let Some(key) = items.next() {
        pairs.push((key, items.next().ok_or("a key without a value")?));
    }
    Ok(pairs)
}
