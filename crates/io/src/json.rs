//! The JSON of headers: a reader that builds nothing, and strings to write.

use std::collections::HashSet;
use std::fmt::Write;

/// What is read, or why it cannot be.
pub(crate) type Parsed<T> = Result<T, String>;

/// Arrays and objects within each other: a dict of a saved value is three of them.
const DEEPEST: usize = 4 * crate::value::DEEPEST;

/// Reads a text from left to right; the caller says what it expects.
pub(crate) struct Reader<'a> {
    text: &'a str,
    place: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            text,
            place: 0,
            depth: 0,
        }
    }

    /// The next character that is not white space, which stays.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.place..];
        let blank = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        self.place += rest.iter().take_while(blank).count();
        self.text.as_bytes().get(self.place).copied()
    }

    /// An object, whose members the caller reads by their names.
    pub(crate) fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, String) -> Parsed<()>,
    ) -> Parsed<()> {
        let mut seen = HashSet::new();
        self.items(b'{', b'}', |reader| {
            let name = reader.string()?;
            if !seen.insert(name.clone()) {
                return Err(reader.refuse(&format!("the name {name:?} a second time")));
            }
            reader.expect(b':')?;
            member(reader, name)
        })
    }

    /// An array, whose items the caller reads.
    pub(crate) fn array(&mut self, item: impl FnMut(&mut Self) -> Parsed<()>) -> Parsed<()> {
        self.items(b'[', b']', item)
    }

    fn items(
        &mut self,
        open: u8,
        close: u8,
        mut item: impl FnMut(&mut Self) -> Parsed<()>,
    ) -> Parsed<()> {
        self.expect(open)?;
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.refuse("too many levels"));
        }
        if self.peek() == Some(close) {
            self.place += 1;
            self.depth -= 1;
            return Ok(());
        }
        loop {
            item(self)?;
            match self.peek() {
                Some(b',') => self.place += 1,
                _ => {
                    self.expect(close)?;
                    self.depth -= 1;
                    return Ok(());
                }
            }
        }
    }

    pub(crate) fn string(&mut self) -> Parsed<String> {
        self.expect(b'"')?;
        let mut string = String::new();
        loop {
            let rest = &self.text[self.place..];
            let plain = rest.find(|c: char| c == '"' || c == '\\' || c < ' ');
            let plain = plain.ok_or_else(|| self.refuse("a string without an end"))?;
            string.push_str(&rest[..plain]);
            self.place += plain + 1;
            match rest.as_bytes()[plain] {
                b'"' => return Ok(string),
                b'\\' => string.push(self.escape()?),
                _ => return Err(self.refuse("a control character in a string")),
            }
        }
    }

    /// The character that an escape stands for; the backslash is behind.
    fn escape(&mut self) -> Parsed<char> {
        let kind = self.text.as_bytes().get(self.place).copied();
        self.place += 1;
        let character = match kind {
            Some(b'n') => '\n',
            Some(b't') => '\t',
            Some(b'r') => '\r',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(plain @ (b'"' | b'\\' | b'/')) => char::from(plain),
            Some(b'u') => {
                let first = self.code_unit()?;
                let mut units = vec![first];
                if (0xD800..0xDC00).contains(&first) && self.text[self.place..].starts_with("\\u") {
                    self.place += 2;
                    units.push(self.code_unit()?);
                }
                let mut decoded = char::decode_utf16(units);
                match (decoded.next(), decoded.next()) {
                    (Some(Ok(character)), None) => character,
                    _ => return Err(self.refuse("half a surrogate pair")),
                }
            }
            // The place may be within a character now; nothing is read after an error.
            _ => return Err("an unknown escape in a string".to_owned()),
        };
        Ok(character)
    }

    fn code_unit(&mut self) -> Parsed<u16> {
        let digits = self.text.get(self.place..self.place + 4);
        let is_hex = |digits: &&str| digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let unit = digits
            .filter(is_hex)
            .and_then(|digits| u16::from_str_radix(digits, 16).ok());
        self.place += 4;
        unit.ok_or_else(|| "an escape without four digits".to_owned())
    }

    /// The letters and digits of a number or of `true`, `false` and `null`.
    fn word(&mut self) -> &'a str {
        self.peek();
        let rest = &self.text[self.place..];
        let is_other = |c: char| !c.is_ascii_alphanumeric() && !matches!(c, '+' | '-' | '.');
        let word = &rest[..rest.find(is_other).unwrap_or(rest.len())];
        self.place += word.len();
        word
    }

    /// An integer from zero on.
    pub(crate) fn unsigned(&mut self) -> Parsed<u64> {
        let word = self.word();
        let is_plain = word.bytes().all(|byte| byte.is_ascii_digit());
        let number = word.parse().ok().filter(|_| is_plain);
        number.ok_or_else(|| self.refuse("no integer from 0 to 2^64 - 1"))
    }

    pub(crate) fn integer(&mut self) -> Parsed<i128> {
        let word = self.word();
        word.parse().map_err(|_| self.refuse("no integer"))
    }

    pub(crate) fn bool(&mut self) -> Parsed<bool> {
        let word = self.word();
        word.parse().map_err(|_| self.refuse("no truth value"))
    }

    /// Reads past a value of any kind.
    pub(crate) fn skip(&mut self) -> Parsed<()> {
        match self.peek() {
            Some(b'{') => self.object(|reader, _| reader.skip()),
            Some(b'[') => self.array(Self::skip),
            Some(b'"') => self.string().map(drop),
            _ => {
                let word = self.word();
                let is_number =
                    word.parse::<f64>().is_ok() && word.bytes().any(|byte| byte.is_ascii_digit());
                if is_number || matches!(word, "true" | "false" | "null") {
                    Ok(())
                } else {
                    Err(self.refuse("no value"))
                }
            }
        }
    }

    /// Expects nothing but white space.
    pub(crate) fn end(&mut self) -> Parsed<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.refuse("more than one value")),
        }
    }

    fn expect(&mut self, byte: u8) -> Parsed<()> {
        if self.peek() == Some(byte) {
            self.place += 1;
            return Ok(());
        }
        Err(self.refuse(&format!("no {:?}", char::from(byte))))
    }

    #[cold]
    pub(crate) fn refuse(&self, what: &str) -> String {
        format!("{what} at byte {} of the JSON", self.place)
    }
}

/// Appends a string with its quotes.
pub(crate) fn push_string(target: &mut String, string: &str) {
    target.push('"');
    for character in string.chars() {
        match character {
            '"' => target.push_str("\\\""),
            '\\' => target.push_str("\\\\"),
            control if control < ' ' => {
                // Writing to a string never fails.
                let _ = write!(target, "\\u{:04x}", u32::from(control));
            }
            other => target.push(other),
        }
    }
    target.push('"');
}

/// Appends items between brackets, separated by commas.
pub(crate) fn push_list<T>(
    target: &mut String,
    brackets: [char; 2],
    items: impl IntoIterator<Item = T>,
    mut push: impl FnMut(&mut String, T),
) {
    target.push(brackets[0]);
    for (i, item) in items.into_iter().enumerate() {
        if i > 0 {
            target.push(',');
        }
        push(target, item);
    }
    target.push(brackets[1]);
}
