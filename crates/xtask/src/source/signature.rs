//! A function as Python sees it: name, parameters with their kinds and defaults, documentation.

use proc_macro2::{TokenStream, TokenTree};
use syn::{Attribute, Expr, FnArg, Lit, Pat, ReturnType, Signature, Type};

use super::{has_attribute, last_segment};

/// How an argument is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Positional,
    /// `*name`.
    Rest,
    /// Behind `*`.
    Keyword,
    /// `**name`.
    Keywords,
}

#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// Python's text of the default.
    pub(crate) default: Option<String>,
    pub(crate) rust: Type,
}

/// How a method is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Function,
    Method,
    Static,
    Class,
    New,
    Getter,
    Setter,
    /// A value of the class.
    Value,
}

#[derive(Clone, Debug)]
pub(crate) struct Declaration {
    pub(crate) name: String,
    pub(crate) role: Role,
    pub(crate) parameters: Vec<Parameter>,
    /// How many of them are given by place alone.
    pub(crate) positional_only: usize,
    pub(crate) result: Option<Type>,
    /// The first paragraph of the documentation.
    pub(crate) doc: String,
}

impl Declaration {
    /// What attributes and a Rust signature declare.
    pub(crate) fn read(
        attributes: &[Attribute],
        signature: &Signature,
        is_method: bool,
    ) -> Result<Self, String> {
        let mut name = signature.ident.to_string();
        let mut role = match is_method {
            true => Role::Method,
            false => Role::Function,
        };
        let mut declared = None;
        for attribute in attributes {
            let kind = last_segment(attribute.path());
            match kind.as_str() {
                "pyo3" | "pyfunction" => {
                    for (key, value) in options(attribute) {
                        match key.as_str() {
                            "name" => name = value.to_string().trim_matches('"').to_owned(),
                            "signature" => declared = Some(value),
                            _ => {}
                        }
                    }
                }
                "getter" | "setter" => {
                    role = match kind.as_str() {
                        "getter" => Role::Getter,
                        _ => Role::Setter,
                    };
                    if let syn::Meta::List(list) = &attribute.meta {
                        name = list.tokens.to_string();
                    }
                }
                "new" => role = Role::New,
                "staticmethod" => role = Role::Static,
                "classmethod" if role != Role::New => role = Role::Class,
                "classattr" => role = Role::Value,
                _ => {}
            }
        }
        if role == Role::Setter {
            name = name.trim_start_matches("set_").to_owned();
        }
        let given = inputs(signature, role);
        let (parameters, positional_only) = match declared {
            Some(tokens) => declared_parameters(&name, tokens, &given)?,
            None => (plain_parameters(given), 0),
        };
        let result = match &signature.output {
            ReturnType::Default => None,
            ReturnType::Type(_, result) => Some((**result).clone()),
        };
        Ok(Self {
            name,
            role,
            parameters,
            positional_only,
            result,
            doc: first_paragraph(attributes),
        })
    }
}

/// The first paragraph of what attributes document, as one line.
pub(crate) fn first_paragraph(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| {
        let syn::Meta::NameValue(pair) = &attribute.meta else {
            return None;
        };
        match &pair.value {
            Expr::Lit(value) if pair.path.is_ident("doc") => match &value.lit {
                Lit::Str(text) => Some(text.value().trim().to_owned()),
                _ => None,
            },
            _ => None,
        }
    });
    let lines = lines.take_while(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ")
}

/// The options of an attribute: `#[pyo3(name = "where", signature = (x))]`.
pub(crate) fn options(attribute: &Attribute) -> Vec<(String, TokenStream)> {
    let syn::Meta::List(list) = &attribute.meta else {
        return Vec::new();
    };
    let parts = split(list.tokens.clone());
    let options = parts.into_iter().filter_map(|part| {
        let mut tokens = part.into_iter();
        let name = tokens.next()?.to_string();
        tokens.next();
        let mut rest = tokens.peekable();
        match rest.peek() {
            Some(TokenTree::Group(group)) => Some((name, group.stream())),
            _ => Some((name, rest.collect())),
        }
    });
    options.collect()
}

/// Tokens between commas.
fn split(tokens: TokenStream) -> Vec<Vec<TokenTree>> {
    let mut parts = vec![Vec::new()];
    for token in tokens {
        match (&token, parts.last_mut()) {
            (TokenTree::Punct(punct), _) if punct.as_char() == ',' => parts.push(Vec::new()),
            (_, Some(part)) => part.push(token),
            (_, None) => {}
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// The arguments of the Rust function that Python gives.
fn inputs(signature: &Signature, role: Role) -> Vec<(String, Type)> {
    let has_receiver = signature.receiver().is_some();
    let typed = signature.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(input) => match &*input.pat {
            Pat::Ident(name) => Some((name.ident.to_string(), (*input.ty).clone())),
            _ => None,
        },
        FnArg::Receiver(_) => None,
    });
    let is_class = |rust: &Type| quote::quote!(#rust).to_string().contains("PyType");
    let given = typed.filter(|(_, rust)| !is_named(rust, "Python"));
    let given = given.filter(|(_, rust)| !(role == Role::New && is_class(rust)));
    let takes_first = matches!(
        role,
        Role::Method | Role::Getter | Role::Setter | Role::Class
    );
    let skipped = usize::from(takes_first && !has_receiver);
    given.skip(skipped).collect()
}

/// Whether a type is one of this name, or a reference to it.
fn is_named(rust: &Type, name: &str) -> bool {
    match rust {
        Type::Reference(inner) => is_named(&inner.elem, name),
        Type::Path(path) => last_segment(&path.path) == name,
        _ => false,
    }
}

fn plain_parameters(given: Vec<(String, Type)>) -> Vec<Parameter> {
    let parameters = given.into_iter().map(|(name, rust)| Parameter {
        name,
        kind: Kind::Positional,
        default: None,
        rust,
    });
    parameters.collect()
}

/// The parameters that `signature = (…)` declares.
fn declared_parameters(
    function: &str,
    tokens: TokenStream,
    given: &[(String, Type)],
) -> Result<(Vec<Parameter>, usize), String> {
    let mut parameters: Vec<Parameter> = Vec::new();
    let mut positional_only = 0;
    let mut kind = Kind::Positional;
    for part in split(tokens) {
        let stars = part.iter().take_while(|token| token.to_string() == "*");
        let stars = stars.count();
        let text = |token: &TokenTree| token.to_string();
        let Some(name) = part.get(stars).map(text) else {
            kind = Kind::Keyword;
            continue;
        };
        if name == "/" {
            positional_only = parameters.len();
            continue;
        }
        let default = match part.get(stars + 2..) {
            Some(value) if !value.is_empty() => Some(value.iter().cloned().collect()),
            _ => None,
        };
        let found = given.iter().find(|(own, _)| *own == name);
        let (name, rust) = found
            .cloned()
            .ok_or_else(|| format!("{function}: no argument {name}"))?;
        parameters.push(Parameter {
            name,
            kind: match stars {
                0 => kind,
                1 => Kind::Rest,
                _ => Kind::Keywords,
            },
            default: default.map(python_default),
            rust,
        });
        if stars == 1 {
            kind = Kind::Keyword;
        }
    }
    Ok((parameters, positional_only))
}

/// Python's text of a default; `...` where it is none to pyo3, which a negative number is not either.
fn python_default(tokens: TokenStream) -> String {
    let parsed = syn::parse2::<Expr>(tokens);
    let text = parsed.ok().and_then(|value| python_value(&value));
    text.unwrap_or_else(|| "...".to_owned())
}

fn python_value(value: &Expr) -> Option<String> {
    match value {
        Expr::Lit(value) => match &value.lit {
            Lit::Str(text) => Some(format!("{:?}", text.value())),
            Lit::Bool(truth) => Some(if truth.value { "True" } else { "False" }.to_owned()),
            Lit::Int(number) => Some(number.base10_digits().to_owned()),
            Lit::Float(number) => Some(number.base10_digits().to_owned()),
            _ => None,
        },
        Expr::Path(path) if path.path.is_ident("None") => Some("None".to_owned()),
        _ => None,
    }
}

/// The names of the options of an attribute.
pub(crate) fn option_of(attributes: &[Attribute], attribute: &str, key: &str) -> Option<String> {
    let found = attributes
        .iter()
        .filter(|found| last_segment(found.path()) == attribute);
    let mut options = found.flat_map(options);
    let value = options.find(|(name, _)| name == key);
    value.map(|(_, value)| value.to_string().trim_matches('"').to_owned())
}

/// Whether a method is for the interpreter alone.
pub(crate) fn is_internal(attributes: &[Attribute], name: &str) -> bool {
    has_attribute(attributes, "cfg") || matches!(name, "__traverse__" | "__clear__")
}
