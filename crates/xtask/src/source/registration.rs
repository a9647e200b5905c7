//! Which function is added to which Python module: what the registering functions say, followed from
//! `#[pymodule]` on.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use proc_macro2::TokenTree;
use syn::visit::{self, Visit};
use syn::{Block, Expr, FnArg, ItemFn, Lit, Pat, Stmt};

use super::{Source, expand, has_attribute, last_segment};

/// What a Python module has: by Python's name, where the function is in the source.
#[derive(Default)]
pub(crate) struct Exports {
    pub(crate) functions: Vec<(String, String)>,
    pub(crate) classes: BTreeSet<String>,
    pub(crate) values: BTreeSet<String>,
}

/// The exports of each Python module, by the last part of its name; the extension itself is `_core`.
pub(crate) type Registrations = BTreeMap<String, Exports>;

/// The module of the source with the attribute `#[pymodule]`.
const CORE: &str = "core";

/// Follows the registrations of a crate.
pub(crate) fn follow(source: &Source) -> Result<Registrations, String> {
    let mut found = Registrations::new();
    let core = source.modules.get(CORE).ok_or("no module `core`")?;
    for (_, path) in &core.uses {
        if path.first().is_some_and(|first| first == "pyo3") {
            continue;
        }
        let own = found.entry("_core".to_owned()).or_default();
        match source.resolve(CORE, path) {
            Some(function) => own.functions.push(function),
            None => drop(own.classes.insert(path.last().cloned().unwrap_or_default())),
        }
    }
    let init = core.functions.iter();
    let mut init = init.filter(|(_, function)| has_attribute(&function.attrs, "pymodule_init"));
    let (name, _) = init.next().ok_or("no function with #[pymodule_init]")?;
    let mut walk = Walk {
        source,
        module: CORE.to_owned(),
        places: HashMap::new(),
        found: &mut found,
        error: None,
    };
    walk.enter(CORE, name, "_core");
    match walk.error {
        Some(error) => Err(error),
        None => Ok(found),
    }
}

struct Walk<'a> {
    source: &'a Source,
    /// The module of the source whose function is read.
    module: String,
    /// The Python modules that variables stand for.
    places: HashMap<String, String>,
    found: &'a mut Registrations,
    error: Option<String>,
}

impl Walk<'_> {
    /// Reads a function that is given a Python module.
    fn enter(&mut self, module: &str, name: &str, place: &str) {
        let Some(function) = self.source.function(module, name) else {
            return;
        };
        let Some(parameter) = module_parameter(function) else {
            return;
        };
        let mut inner = Walk {
            source: self.source,
            module: module.to_owned(),
            places: HashMap::from([(parameter, place.to_owned())]),
            found: self.found,
            error: self.error.take(),
        };
        inner.visit_block(&function.block);
        self.error = inner.error;
    }

    /// The Python module that an expression is.
    fn place(&self, value: &Expr) -> Option<String> {
        match value {
            Expr::Path(path) => self.places.get(&last_segment(&path.path)).cloned(),
            Expr::Reference(inner) => self.place(&inner.expr),
            Expr::Try(inner) => self.place(&inner.expr),
            Expr::Paren(inner) => self.place(&inner.expr),
            Expr::Call(call) => {
                let Expr::Path(function) = &*call.func else {
                    return None;
                };
                let name = last_segment(&function.path);
                let is_new = name == "new" || name == "add_namespace";
                let named = call.args.iter().filter(|_| is_new).find_map(literal);
                named.map(|name| name.rsplit('.').next().unwrap_or(&name).to_owned())
            }
            _ => None,
        }
    }

    fn fail(&mut self, error: String) {
        self.error.get_or_insert(error);
    }

    fn expand_here(&mut self, invoked: &syn::Macro) {
        let name = last_segment(&invoked.path);
        let Some(module) = self.source.modules.get(&self.module) else {
            return;
        };
        match expand(&module.macros, &name, invoked.tokens.clone()) {
            Ok(Some(written)) => match syn::parse::Parser::parse2(Block::parse_within, written) {
                Ok(statements) => statements.iter().for_each(|line| self.visit_stmt(line)),
                Err(error) => self.fail(format!("{name}!: {error}")),
            },
            Ok(None) => {}
            Err(error) => self.fail(error),
        }
    }
}

impl<'ast> Visit<'ast> for Walk<'_> {
    fn visit_local(&mut self, local: &'ast syn::Local) {
        let pattern = match &local.pat {
            Pat::Type(typed) => &*typed.pat,
            pattern => pattern,
        };
        if let (Pat::Ident(name), Some(init)) = (pattern, &local.init)
            && let Some(place) = self.place(&init.expr)
        {
            self.places.insert(name.ident.to_string(), place);
        }
        visit::visit_local(self, local);
    }

    fn visit_stmt(&mut self, line: &'ast Stmt) {
        if let Stmt::Macro(invoked) = line {
            self.expand_here(&invoked.mac);
        }
        visit::visit_stmt(self, line);
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        visit::visit_expr_call(self, call);
        let place = call.args.iter().find_map(|argument| self.place(argument));
        if let (Expr::Path(function), Some(place)) = (&*call.func, place) {
            let segments = function.path.segments.iter();
            let path: Vec<String> = segments.map(|part| part.ident.to_string()).collect();
            if let Some((module, name)) = self.source.resolve(&self.module, &path) {
                self.enter(&module, &name, &place);
            }
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        visit::visit_expr_method_call(self, call);
        let Some(place) = self.place(&call.receiver) else {
            return;
        };
        let first = call.args.first();
        match call.method.to_string().as_str() {
            "add_function" => match first.and_then(wrapped_path) {
                Some(path) => match self.source.resolve(&self.module, &path) {
                    Some(function) => {
                        let exports = self.found.entry(place).or_default();
                        exports.functions.push(function);
                    }
                    None => self.fail(format!("{}: unknown: {}", self.module, path.join("::"))),
                },
                None => self.fail(format!("{}: add_function of something else", self.module)),
            },
            "add_class" => {
                let class = call.turbofish.as_ref().and_then(|types| types.args.first());
                if let Some(syn::GenericArgument::Type(syn::Type::Path(class))) = class {
                    let exports = self.found.entry(place).or_default();
                    exports.classes.insert(last_segment(&class.path));
                }
            }
            "add" => {
                if let Some(name) = first.and_then(literal) {
                    let exports = self.found.entry(place).or_default();
                    exports.values.insert(name);
                }
            }
            _ => {}
        }
    }
}

/// The text that an expression is.
fn literal(value: &Expr) -> Option<String> {
    match value {
        Expr::Reference(inner) => literal(&inner.expr),
        Expr::Lit(value) => match &value.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        // `&format!("allotrope.{path}")` names a variable.
        _ => None,
    }
}

/// The function in `wrap_pyfunction!(path, module)?`.
fn wrapped_path(value: &Expr) -> Option<Vec<String>> {
    let Expr::Try(value) = value else {
        return None;
    };
    let Expr::Macro(wrapped) = &*value.expr else {
        return None;
    };
    let tokens = wrapped.mac.tokens.clone().into_iter();
    let path = tokens.take_while(|token| token.to_string() != ",");
    let names = path.filter_map(|token| match token {
        TokenTree::Ident(name) => Some(name.to_string()),
        _ => None,
    });
    Some(names.collect())
}

/// The parameter of a function that is a Python module.
fn module_parameter(function: &ItemFn) -> Option<String> {
    function.sig.inputs.iter().find_map(|input| match input {
        FnArg::Typed(input) => match (&*input.pat, quote::quote!(#input).to_string()) {
            (Pat::Ident(name), text) if text.contains("PyModule") => Some(name.ident.to_string()),
            _ => None,
        },
        FnArg::Receiver(_) => None,
    })
}
