//! Expands `macro_rules!` macros as the compiler does, as far as rows need it: what a macro declares
//! is read from its expansion, so that a new macro needs nothing here.

use std::collections::HashMap;
use std::rc::Rc;

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};

/// A macro: pairs of what is matched and what is written.
#[derive(Debug)]
pub(crate) struct Macro {
    arms: Vec<(Vec<Matcher>, Vec<TokenTree>)>,
}

/// The macros that a place in the source sees, by name.
pub(crate) type Macros = HashMap<String, Rc<Macro>>;

#[derive(Debug)]
enum Matcher {
    Token(TokenTree),
    Group(Delimiter, Vec<Matcher>),
    Fragment {
        name: String,
        kind: String,
    },
    Repeat {
        inner: Vec<Matcher>,
        separator: Option<TokenTree>,
        at_most_one: bool,
    },
}

/// What a variable stands for: tokens, or one binding per repetition.
#[derive(Clone, Debug)]
enum Binding {
    One(Vec<TokenTree>),
    Many(Vec<Binding>),
}

type Bindings = HashMap<String, Binding>;

impl Macro {
    /// The macro that the tokens after `macro_rules! name` define.
    pub(crate) fn parse(body: TokenStream) -> Result<Self, String> {
        let tokens: Vec<TokenTree> = body.into_iter().collect();
        let groups = tokens.iter().filter_map(|token| match token {
            TokenTree::Group(group) => Some(group.stream().into_iter().collect::<Vec<_>>()),
            _ => None,
        });
        let groups: Vec<_> = groups.collect();
        let arms = groups.chunks_exact(2).map(|arm| match arm {
            [pattern, body] => Ok((matchers(pattern)?, body.clone())),
            _ => Err("an arm without a body".to_owned()),
        });
        Ok(Self {
            arms: arms.collect::<Result<_, String>>()?,
        })
    }

    /// What the first arm that matches writes.
    pub(crate) fn expand(&self, input: TokenStream) -> Result<TokenStream, String> {
        let input: Vec<TokenTree> = input.into_iter().collect();
        for (pattern, body) in &self.arms {
            let mut bindings = Bindings::new();
            if match_all(pattern, &input, &mut bindings) == Some(input.len()) {
                let mut written = Vec::new();
                transcribe(body, &bindings, &mut written)?;
                return Ok(written.into_iter().collect());
            }
        }
        Err("no arm matches".to_owned())
    }
}

fn is_punct(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

/// The patterns that tokens are.
fn matchers(tokens: &[TokenTree]) -> Result<Vec<Matcher>, String> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match (token, tokens.get(at)) {
            (token, Some(TokenTree::Ident(name))) if is_punct(Some(token), '$') => {
                let Some(TokenTree::Ident(kind)) = tokens.get(at + 2) else {
                    return Err(format!("${name} has no kind"));
                };
                found.push(Matcher::Fragment {
                    name: name.to_string(),
                    kind: kind.to_string(),
                });
                at += 3;
            }
            (token, Some(TokenTree::Group(group))) if is_punct(Some(token), '$') => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                let (separator, operator, length) = repetition(&tokens[at + 1..])?;
                found.push(Matcher::Repeat {
                    inner: matchers(&inner)?,
                    separator,
                    at_most_one: operator == '?',
                });
                at += 1 + length;
            }
            (TokenTree::Group(group), _) => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                found.push(Matcher::Group(group.delimiter(), matchers(&inner)?));
            }
            (token, _) => found.push(Matcher::Token(token.clone())),
        }
    }
    Ok(found)
}

/// The separator and the operator behind `$(…)`, and how many tokens they are.
fn repetition(tokens: &[TokenTree]) -> Result<(Option<TokenTree>, char, usize), String> {
    let operator = |token: Option<&TokenTree>| match token {
        Some(TokenTree::Punct(punct)) if "*+?".contains(punct.as_char()) => Some(punct.as_char()),
        _ => None,
    };
    if let Some(found) = operator(tokens.first()) {
        return Ok((None, found, 1));
    }
    match (tokens.first(), operator(tokens.get(1))) {
        (Some(separator), Some(found)) => Ok((Some(separator.clone()), found, 2)),
        _ => Err("a repetition without an operator".to_owned()),
    }
}

/// How many tokens the patterns match from the first on; `None` if they do not.
fn match_all(pattern: &[Matcher], input: &[TokenTree], bindings: &mut Bindings) -> Option<usize> {
    let mut at = 0;
    for matcher in pattern {
        at += match_one(matcher, &input[at..], bindings)?;
    }
    Some(at)
}

fn match_one(matcher: &Matcher, input: &[TokenTree], bindings: &mut Bindings) -> Option<usize> {
    match matcher {
        Matcher::Token(wanted) => {
            let given = input.first()?;
            let is_group = matches!(given, TokenTree::Group(_));
            (!is_group && given.to_string() == wanted.to_string()).then_some(1)
        }
        Matcher::Group(delimiter, inner) => {
            let TokenTree::Group(group) = input.first()? else {
                return None;
            };
            let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
            let is_whole = group.delimiter() == *delimiter
                && match_all(inner, &tokens, bindings)? == tokens.len();
            is_whole.then_some(1)
        }
        Matcher::Fragment { name, kind } => {
            let length = fragment(kind, input)?;
            bindings.insert(name.clone(), Binding::One(input[..length].to_vec()));
            Some(length)
        }
        Matcher::Repeat {
            inner,
            separator,
            at_most_one,
        } => {
            let mut rounds: Vec<Bindings> = Vec::new();
            let mut at = 0;
            while at < input.len() && !(*at_most_one && rounds.len() == 1) {
                let mut start = at;
                if let Some(separator) = separator.as_ref().filter(|_| !rounds.is_empty()) {
                    if input[at].to_string() != separator.to_string() {
                        break;
                    }
                    start += 1;
                }
                let mut round = Bindings::new();
                match match_all(inner, &input[start..], &mut round) {
                    Some(length) if length > 0 => at = start + length,
                    _ => break,
                }
                rounds.push(round);
            }
            for name in names(inner) {
                let found = rounds.iter().filter_map(|round| round.get(&name).cloned());
                let found = Binding::Many(found.collect());
                bindings.insert(name, found);
            }
            Some(at)
        }
    }
}

/// The variables of patterns.
fn names(pattern: &[Matcher]) -> Vec<String> {
    let found = pattern.iter().flat_map(|matcher| match matcher {
        Matcher::Token(_) => Vec::new(),
        Matcher::Fragment { name, .. } => vec![name.clone()],
        Matcher::Group(_, inner) | Matcher::Repeat { inner, .. } => names(inner),
    });
    found.collect()
}

/// How many tokens a fragment of a kind takes. Types and expressions end where what may follow them
/// begins: rows have no comma within one that is not in brackets.
fn fragment(kind: &str, input: &[TokenTree]) -> Option<usize> {
    let ends_at = |ends: &str| {
        let mut depth = 0_usize;
        let end = input
            .iter()
            .enumerate()
            .position(|(at, token)| match token {
                TokenTree::Punct(punct) => match punct.as_char() {
                    '<' => {
                        depth += 1;
                        false
                    }
                    '>' if depth > 0 => {
                        depth -= 1;
                        false
                    }
                    found => depth == 0 && at > 0 && ends.contains(found),
                },
                _ => false,
            });
        end.unwrap_or(input.len())
    };
    let first = input.first()?;
    match kind {
        "ident" => matches!(first, TokenTree::Ident(_)).then_some(1),
        "literal" => match first {
            TokenTree::Literal(_) => Some(1),
            TokenTree::Ident(word) => (word == "true" || word == "false").then_some(1),
            first => (is_punct(Some(first), '-')
                && matches!(input.get(1), Some(TokenTree::Literal(_))))
            .then_some(2),
        },
        "tt" => Some(1),
        "ty" | "path" => Some(ends_at(",;|={")),
        "expr" => {
            let end = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if ",;".contains(punct.as_char()));
            Some(input.iter().position(end).unwrap_or(input.len()))
        }
        _ => None,
    }
}

/// Writes the tokens of a body with variables replaced.
fn transcribe(
    body: &[TokenTree],
    bindings: &Bindings,
    written: &mut Vec<TokenTree>,
) -> Result<(), String> {
    let mut at = 0;
    while let Some(token) = body.get(at) {
        at += 1;
        match (token, body.get(at)) {
            (token, Some(TokenTree::Ident(name))) if is_punct(Some(token), '$') => {
                at += 1;
                match bindings.get(&name.to_string()) {
                    Some(Binding::One(tokens)) => written.extend(tokens.iter().cloned()),
                    Some(Binding::Many(_)) => return Err(format!("${name} is not repeated")),
                    None if name == "crate" => {
                        let name = Ident::new("crate", Span::call_site());
                        written.push(name.into());
                    }
                    None => return Err(format!("${name} is unknown")),
                }
            }
            (token, Some(TokenTree::Group(group))) if is_punct(Some(token), '$') => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                let (separator, _, length) = repetition(&body[at + 1..])?;
                at += 1 + length;
                repeat(&inner, separator.as_ref(), bindings, written)?;
            }
            (TokenTree::Group(group), _) => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                let mut replaced = Vec::new();
                transcribe(&inner, bindings, &mut replaced)?;
                let group = Group::new(group.delimiter(), replaced.into_iter().collect());
                written.push(group.into());
            }
            (token, _) => written.push(token.clone()),
        }
    }
    Ok(())
}

/// Writes a repetition once for each binding of the variables in it.
fn repeat(
    inner: &[TokenTree],
    separator: Option<&TokenTree>,
    bindings: &Bindings,
    written: &mut Vec<TokenTree>,
) -> Result<(), String> {
    let mut used = Vec::new();
    variables(inner, &mut used);
    let mut rounds = None;
    for name in &used {
        if let Some(Binding::Many(found)) = bindings.get(name) {
            rounds = Some(rounds.map_or(found.len(), |rounds: usize| rounds.max(found.len())));
        }
    }
    let rounds = rounds.ok_or("a repetition without variables")?;
    for round in 0..rounds {
        let mut own = Bindings::new();
        for name in &used {
            let binding = match bindings.get(name) {
                Some(Binding::Many(found)) => found
                    .get(round)
                    .ok_or_else(|| format!("${name} is short"))?,
                Some(binding) => binding,
                None => continue,
            };
            own.insert(name.clone(), binding.clone());
        }
        if let Some(separator) = separator.filter(|_| round > 0) {
            written.push(separator.clone());
        }
        transcribe(inner, &own, written)?;
    }
    Ok(())
}

/// The variables that tokens mention.
fn variables(tokens: &[TokenTree], found: &mut Vec<String>) {
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                variables(&inner, found);
            }
            TokenTree::Ident(name) if at > 0 && is_punct(tokens.get(at - 1), '$') => {
                found.push(name.to_string());
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(body: &str, input: &str) -> Result<String, String> {
        let parse = |text: &str| -> Result<TokenStream, String> {
            text.parse().map_err(|error| format!("{error}"))
        };
        let written = Macro::parse(parse(body)?)?.expand(parse(input)?)?;
        Ok(written.to_string().replace(' ', ""))
    }

    #[test]
    fn rows_repeat_what_they_hold() {
        let body = "($($name:ident[$($argument:ident: $type:ty),*] $body:expr;)*) => \
                    { $(fn $name($($argument: $type),*) { $body })* }";
        let rows = "f[a: Option<&str>, b: u8] g(a, b); h[] 1;";
        let written = "fnf(a:Option<&str>,b:u8){g(a,b)}fnh(){1}";
        assert_eq!(expanded(body, rows).as_deref(), Ok(written));
    }

    #[test]
    fn the_first_arm_that_matches_is_written() {
        let body = "(@ $x:ident) => { first $x }; ($($x:tt)*) => { $($x),* }";
        assert_eq!(expanded(body, "@ a").as_deref(), Ok("firsta"));
        assert_eq!(expanded(body, "@ 1 b").as_deref(), Ok("@,1,b"));
        assert_eq!(expanded("(a) => {}", "b"), Err("no arm matches".to_owned()));
    }

    #[test]
    fn what_may_be_missing_is_written_where_it_is_there() {
        let body =
            "($($name:ident $(as $python:literal)?;)*) => { $([$($python,)? stringify!($name)])* }";
        let written = "[\"std\",stringify!(deviation)][stringify!(var)]";
        assert_eq!(
            expanded(body, "deviation as \"std\"; var;").as_deref(),
            Ok(written)
        );
    }
}
