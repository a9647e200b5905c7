//! The source of the extension module as declarations: modules, functions, classes and constants, with
//! macros expanded.
//!
//! | file | what is in it |
//! |---|---|
//! | `mod` | the tree of modules, and what paths mean in it |
//! | `expand` | macros |
//! | `registration` | which function is added to which Python module |
//! | `signature` | a function as Python sees it |

pub(crate) mod expand;
pub(crate) mod registration;
pub(crate) mod signature;

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use expand::{Macro, Macros};
use proc_macro2::TokenStream;
use syn::{Attribute, Ident, Item, ItemConst, ItemFn, ItemImpl, Type, UseTree};

/// A module of the source.
#[derive(Default)]
pub(crate) struct Module {
    pub(crate) functions: BTreeMap<String, ItemFn>,
    /// What `use` brings in: the name here, and the path.
    uses: Vec<(String, Vec<String>)>,
    /// The modules whose names are all brought in.
    globs: Vec<Vec<String>>,
    /// The macros that are seen at its end.
    pub(crate) macros: Macros,
}

/// A crate, read.
#[derive(Default)]
pub(crate) struct Source {
    /// By path, such as `ops::neural::functions`.
    pub(crate) modules: BTreeMap<String, Module>,
    pub(crate) classes: Vec<(Ident, Vec<Attribute>)>,
    pub(crate) methods: Vec<ItemImpl>,
    pub(crate) constants: HashMap<String, ItemConst>,
    /// Other names of types.
    pub(crate) aliases: HashMap<String, Type>,
    /// Names and bases of `create_exception!`.
    pub(crate) exceptions: Vec<(String, String)>,
}

impl Source {
    /// Reads a crate from its root file, with macros of other crates.
    pub(crate) fn read(root: &Path, macros: Macros) -> Result<Self, String> {
        let mut source = Self::default();
        let folder = root.parent().unwrap_or(root);
        source.read_file(root, folder, Vec::new(), macros)?;
        Ok(source)
    }

    /// Reads a file; gives the macros that are seen at its end.
    fn read_file(
        &mut self,
        file: &Path,
        folder: &Path,
        path: Vec<String>,
        macros: Macros,
    ) -> Result<Macros, String> {
        let items = parse_file(file)?;
        self.read_items(items, folder, path, macros)
            .map_err(|error| format!("{}: {error}", file.display()))
    }

    fn read_items(
        &mut self,
        items: Vec<Item>,
        folder: &Path,
        path: Vec<String>,
        macros: Macros,
    ) -> Result<Macros, String> {
        let mut module = Module {
            macros,
            ..Module::default()
        };
        self.add_items(items, folder, &path, &mut module)?;
        let macros = module.macros.clone();
        self.modules.insert(path.join("::"), module);
        Ok(macros)
    }

    fn add_items(
        &mut self,
        items: Vec<Item>,
        folder: &Path,
        path: &[String],
        module: &mut Module,
    ) -> Result<(), String> {
        for item in items {
            match item {
                Item::Fn(function) => {
                    let name = function.sig.ident.to_string();
                    module.functions.insert(name, function);
                }
                Item::Struct(class) if has_attribute(&class.attrs, "pyclass") => {
                    self.classes.push((class.ident, class.attrs));
                }
                Item::Enum(class) if has_attribute(&class.attrs, "pyclass") => {
                    self.classes.push((class.ident, class.attrs));
                }
                Item::Impl(methods) if has_attribute(&methods.attrs, "pymethods") => {
                    self.methods.push(methods);
                }
                Item::Const(constant) => {
                    self.constants.insert(constant.ident.to_string(), constant);
                }
                Item::Type(alias) => {
                    self.aliases.insert(alias.ident.to_string(), *alias.ty);
                }
                Item::Use(item) => add_uses(&item.tree, &[], module),
                Item::Mod(child) if !has_attribute(&child.attrs, "cfg") => {
                    let name = child.ident.to_string();
                    let own = [path, std::slice::from_ref(&name)].concat();
                    let macros = module.macros.clone();
                    let seen = match child.content {
                        Some((_, items)) => {
                            self.read_items(items, &folder.join(&name), own, macros)?
                        }
                        None => {
                            let file = module_file(folder, &name)?;
                            self.read_file(&file, &folder.join(&name), own, macros)?
                        }
                    };
                    if has_attribute(&child.attrs, "macro_use") {
                        module.macros = seen;
                    }
                }
                Item::Macro(item) => {
                    let name = last_segment(&item.mac.path);
                    match (&item.ident, name.as_str()) {
                        (Some(ident), "macro_rules") => {
                            let parsed = Macro::parse(item.mac.tokens)?;
                            module.macros.insert(ident.to_string(), Rc::new(parsed));
                        }
                        (_, "create_exception") => self.add_exception(item.mac.tokens),
                        _ => {
                            if let Some(written) = expand(&module.macros, &name, item.mac.tokens)? {
                                let file = syn::parse2::<syn::File>(written);
                                let file = file.map_err(|error| format!("{name}!: {error}"))?;
                                self.add_items(file.items, folder, path, module)?;
                            }
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn add_exception(&mut self, tokens: TokenStream) {
        let words = tokens.to_string();
        let mut words = words.split(',').map(|word| word.trim().to_owned());
        if let (Some(_), Some(name), Some(base)) = (words.next(), words.next(), words.next()) {
            let base = base.trim_start_matches("Py").to_owned();
            self.exceptions.push((name, base));
        }
    }

    /// The function that a path means in a module: the module it is in, and its name there.
    pub(crate) fn resolve(&self, module: &str, path: &[String]) -> Option<(String, String)> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => return self.resolve("", rest),
            "self" => return self.resolve(module, rest),
            "super" => return self.resolve(parent(module), rest),
            _ => {}
        }
        let here = self.modules.get(module)?;
        if rest.is_empty() && here.functions.contains_key(first) {
            return Some((module.to_owned(), first.clone()));
        }
        let child = if module.is_empty() {
            first.clone()
        } else {
            format!("{module}::{first}")
        };
        if !rest.is_empty() && self.modules.contains_key(&child) {
            return self.resolve(&child, rest);
        }
        let brought = here.uses.iter().filter(|(name, _)| name == first);
        let brought = brought.map(|(_, path)| [path, rest].concat());
        let globs = here.globs.iter().map(|glob| [glob, path].concat());
        let mut paths = brought.chain(globs).filter(|found| found != path);
        paths.find_map(|path| self.resolve(module, &path))
    }

    /// A function, by where it is.
    pub(crate) fn function(&self, module: &str, name: &str) -> Option<&ItemFn> {
        self.modules.get(module)?.functions.get(name)
    }
}

/// The macros that files define at their top: those of the op tables.
pub(crate) fn read_macros(files: &[PathBuf]) -> Result<Macros, String> {
    let mut macros = Macros::new();
    for file in files {
        for item in parse_file(file)? {
            if let Item::Macro(item) = item
                && let Some(name) = item.ident
            {
                macros.insert(name.to_string(), Rc::new(Macro::parse(item.mac.tokens)?));
            }
        }
    }
    Ok(macros)
}

/// What a macro writes; nothing if it is not one of the source.
pub(crate) fn expand(
    macros: &Macros,
    name: &str,
    tokens: TokenStream,
) -> Result<Option<TokenStream>, String> {
    let Some(found) = macros.get(name) else {
        return Ok(None);
    };
    let written = found.expand(tokens);
    written
        .map(Some)
        .map_err(|error| format!("{name}!: {error}"))
}

fn parse_file(file: &Path) -> Result<Vec<Item>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let text = fs::read_to_string(file).map_err(|error| failed(&error))?;
    let parsed = syn::parse_file(&text).map_err(|error| failed(&error))?;
    Ok(parsed.items)
}

/// The file of a module.
fn module_file(folder: &Path, name: &str) -> Result<PathBuf, String> {
    let files = [
        folder.join(format!("{name}.rs")),
        folder.join(name).join("mod.rs"),
    ];
    let found = files.into_iter().find(|file| file.exists());
    found.ok_or_else(|| format!("no file for the module {name} in {}", folder.display()))
}

fn add_uses(tree: &UseTree, path: &[String], module: &mut Module) {
    let joined = |name: &syn::Ident| [path, &[name.to_string()]].concat();
    match tree {
        UseTree::Path(tree) => add_uses(&tree.tree, &joined(&tree.ident), module),
        UseTree::Name(name) => match path.last() {
            Some(last) if name.ident == "self" => module.uses.push((last.clone(), path.to_vec())),
            _ => module
                .uses
                .push((name.ident.to_string(), joined(&name.ident))),
        },
        UseTree::Rename(name) => {
            let path = joined(&name.ident);
            module.uses.push((name.rename.to_string(), path));
        }
        // Other crates have none of our functions.
        UseTree::Glob(_) => {
            let is_own = |first: &String| matches!(first.as_str(), "crate" | "self" | "super");
            if path.first().is_some_and(is_own) {
                module.globs.push(path.to_vec());
            }
        }
        UseTree::Group(group) => {
            for tree in &group.items {
                add_uses(tree, path, module);
            }
        }
    }
}

fn parent(module: &str) -> &str {
    module.rsplit_once("::").map_or("", |(parent, _)| parent)
}

pub(crate) fn last_segment(path: &syn::Path) -> String {
    let last = path.segments.last();
    last.map_or_else(String::new, |segment| segment.ident.to_string())
}

pub(crate) fn has_attribute(attributes: &[Attribute], name: &str) -> bool {
    attributes
        .iter()
        .any(|attribute| last_segment(attribute.path()) == name)
}
