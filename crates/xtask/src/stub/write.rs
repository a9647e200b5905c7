//! Declarations as lines of a stub.

use std::collections::HashMap;

use allotrope_op::{IN_PLACE, Op, VIEWED_IN_PLACE};
use syn::{Expr, ImplItem, Type};

use super::is_called;
use super::lists::texts;
use super::overloads::{self, Change};
use super::types::{Place, Types};
use crate::source::signature::{Declaration, Kind, Parameter, Role, is_internal, option_of};
use crate::source::{Source, last_segment};

/// A class: its names, the Python module it says it is of, whether others may inherit from it.
#[derive(Clone)]
pub(crate) struct Class {
    pub(crate) rust: String,
    pub(crate) python: String,
    pub(crate) module: String,
    is_final: bool,
    compares: bool,
}

pub(crate) struct Writer<'a> {
    pub(super) source: &'a Source,
    types: Types<'a>,
    /// The classes of results with named fields.
    pub(crate) named: Vec<(String, Vec<String>)>,
}

/// Classes that functions of the package give, although none of its names is theirs.
const GIVEN: &[&str] = &["GradFn", "RemovableHandle"];

/// What is said of in-place forms beside what their methods give.
const IN_PLACE_DOC: &str = " In place.";

/// Comparisons, which are one method in Rust.
const COMPARISONS: [&str; 6] = ["__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"];

impl<'a> Writer<'a> {
    pub(crate) fn new(source: &'a Source) -> Result<Self, String> {
        let mut writer = Self {
            source,
            types: Types {
                source,
                classes: HashMap::new(),
                named: Vec::new(),
            },
            named: Vec::new(),
        };
        let classes = writer.classes()?.into_iter();
        writer.types.classes = classes.map(|class| (class.rust, class.python)).collect();
        for row in writer.rows("CLASSES") {
            let fields = match row.get(1) {
                Some(Expr::Path(path)) => writer.constant(&last_segment(&path.path)),
                Some(fields) => texts(fields),
                None => Vec::new(),
            };
            let name = row.first().map(texts).unwrap_or_default().concat();
            writer.types.named.push(name.clone());
            writer.named.push((name, fields));
        }
        Ok(writer)
    }

    /// The classes of the source.
    pub(crate) fn classes(&self) -> Result<Vec<Class>, String> {
        let classes = self.source.classes.iter().map(|(ident, attributes)| {
            let rust = ident.to_string();
            let option = |key| option_of(attributes, "pyclass", key);
            Class {
                python: option("name").unwrap_or_else(|| rust.clone()),
                module: option("module").unwrap_or_default(),
                is_final: option("subclass").is_none(),
                compares: option("eq").is_some(),
                rust,
            }
        });
        Ok(classes.collect())
    }

    /// Whether functions of the package give objects of a class that it has no name for.
    pub(crate) fn is_given(&self, class: &Class) -> bool {
        GIVEN.contains(&class.python.as_str())
    }

    /// A function, or its overloads, as lines.
    pub(crate) fn function(&self, owner: &str, function: &Declaration) -> Result<String, String> {
        self.define(owner, function, "", None)
    }

    /// A class with all its methods.
    pub(crate) fn class(&self, class: &Class, is_exported: bool) -> Result<String, String> {
        let mut text = String::new();
        text += match class.is_final {
            true => "@final\n",
            false => "@disjoint_base\n",
        };
        if !is_exported {
            text += "@type_check_only\n";
        }
        text += &format!("class {}:\n", class.python);
        let empty = text.len();
        if class.compares {
            text += "    def __eq__(self, other: object, /) -> builtins.bool: ...\n";
            text += "    def __hash__(self) -> builtins.int: ...\n";
        }
        let methods = self.methods(class)?.into_iter();
        let added = |method: &Declaration| class.python == "Tensor" && is_added(&method.name);
        for method in methods.filter(|method| !added(method)) {
            text += &self.method(class, &method)?;
        }
        if text.len() == empty {
            text = format!("{} ...\n", text.trim_end());
        }
        Ok(text)
    }

    /// The methods of a class; properties before what sets them.
    fn methods(&self, class: &Class) -> Result<Vec<Declaration>, String> {
        let mut methods = Vec::new();
        for block in &self.source.methods {
            let is_own = matches!(&*block.self_ty, Type::Path(path) if last_segment(&path.path) == class.rust);
            for item in block.items.iter().filter(|_| is_own) {
                let ImplItem::Fn(method) = item else {
                    continue;
                };
                if is_internal(&method.attrs, &method.sig.ident.to_string()) {
                    continue;
                }
                methods.push(Declaration::read(&method.attrs, &method.sig, true)?);
            }
        }
        let setters: Vec<_> = methods
            .extract_if(.., |method| method.role == Role::Setter)
            .collect();
        for setter in setters {
            let getter = methods.iter().position(|method| method.name == setter.name);
            methods.insert(getter.map_or(methods.len(), |place| place + 1), setter);
        }
        Ok(methods)
    }

    fn method(&self, class: &Class, method: &Declaration) -> Result<String, String> {
        let owner = class.python.as_str();
        let result = |method: &Declaration| self.result(owner, method);
        let name = &method.name;
        match method.role {
            Role::Getter => Ok(format!(
                "    @property\n    def {name}(self) -> {}: {}\n",
                result(method)?,
                docstring(&method.doc)
            )),
            Role::Setter => {
                let value = method
                    .parameters
                    .first()
                    .ok_or("a setter without a value")?;
                let python = self.argument(owner, method, value)?;
                Ok(format!(
                    "    @{name}.setter\n    def {name}(self, {}: {python}) -> None: ...\n",
                    value.name
                ))
            }
            Role::Value => Ok(format!("    {name}: {}\n", result(method)?)),
            _ if name == "__richcmp__" => {
                let lines = COMPARISONS.map(|name| {
                    let ignored = match name {
                        "__eq__" | "__ne__" => "  # type: ignore[override]",
                        _ => "",
                    };
                    format!("    def {name}(self, other: _Operand, /) -> Tensor: ...{ignored}\n")
                });
                Ok(lines.concat())
            }
            // Python takes the object for what the operator gives.
            _ if name.starts_with("__i") && method.parameters.len() <= 2 && is_nothing(method) => {
                // Its slot has no third argument.
                let ignored = if name == "__ipow__" {
                    "  # type: ignore[misc]"
                } else {
                    ""
                };
                Ok(format!(
                    "    def {name}(self, other: _Operand, /) -> Self: ...{ignored}\n"
                ))
            }
            _ => self.define(owner, method, "    ", None),
        }
    }

    /// The in-place forms, the copies and the synonyms of methods.
    pub(crate) fn other_methods(&self, class: &Class) -> Result<String, String> {
        let methods = self.methods(class)?;
        let find = |name: &str| {
            let mut found = methods.iter().filter(|method| is_called(method));
            found.find(|method| method.name == name)
        };
        let mut text = String::new();
        for name in self.names("COPYING_METHODS") {
            let mut copied = find(&name)
                .ok_or_else(|| format!("no method {name}"))?
                .clone();
            copied.name = format!("{name}_copy");
            text += &self.define(&class.python, &copied, "    ", None)?;
        }
        let mut in_place = Vec::new();
        let rows = Op::ALL.iter().map(|op| op.name());
        for name in rows
            .chain(IN_PLACE.iter().copied())
            .chain(VIEWED_IN_PLACE.iter().copied())
        {
            let Some(method) = find(name) else {
                continue;
            };
            let mut form = method.clone();
            form.name = format!("{name}_");
            form.doc += IN_PLACE_DOC;
            text += &self.define(&class.python, &form, "    ", Some("Self"))?;
            in_place.push(name);
        }
        for (name, original) in self.pairs("SYNONYMS") {
            text += &format!("    {name} = {original}\n");
            let method = find(&original).filter(|_| in_place.contains(&original.as_str()));
            if let Some(method) = method {
                let mut form = method.clone();
                form.name = format!("{name}_");
                form.doc += IN_PLACE_DOC;
                text += &self.define(&class.python, &form, "    ", Some("Self"))?;
            }
        }
        Ok(text)
    }

    /// The function that copies what a view of a tensor gives.
    pub(crate) fn copied(&self, name: &str) -> Result<Declaration, String> {
        let classes = self.classes()?;
        let class = classes.iter().find(|class| class.python == "Tensor");
        let methods = self.methods(class.ok_or("no class Tensor")?)?;
        let method = methods.iter().find(|method| method.name == name);
        let mut copied = method.ok_or_else(|| format!("no method {name}"))?.clone();
        copied.name = format!("{name}_copy");
        copied.role = Role::Function;
        let rust = syn::parse_str("Operand").map_err(|error| error.to_string())?;
        let input = Parameter {
            // As the method says, whose signature it has.
            name: "self".to_owned(),
            kind: Kind::Positional,
            default: None,
            rust,
        };
        copied.parameters.insert(0, input);
        copied.positional_only = 1;
        let result = &copied.result;
        if quote::quote!(#result).to_string().contains("Self") {
            copied.result = syn::parse_str("PyTensor").ok();
        }
        Ok(copied)
    }

    fn result(&self, owner: &str, function: &Declaration) -> Result<String, String> {
        let place = Place {
            owner,
            function: &function.name,
            argument: None,
        };
        match (&function.result, self.types.said(place)) {
            (_, Some(said)) => Ok(said.to_owned()),
            (None, None) => Ok("None".to_owned()),
            (Some(rust), None) => self.types.python(rust, place),
        }
    }

    fn argument(
        &self,
        owner: &str,
        function: &Declaration,
        parameter: &Parameter,
    ) -> Result<String, String> {
        let argument = match parameter.kind {
            Kind::Rest => format!("*{}", parameter.name),
            Kind::Keywords => return Ok("Any".to_owned()),
            _ => parameter.name.clone(),
        };
        // An in-place form has the arguments of the method, unless it is one of its own.
        let own = Place {
            owner,
            function: &function.name,
            argument: Some(&argument),
        };
        self.types.python(&parameter.rust, own)
    }

    /// One line per form of a function.
    fn define(
        &self,
        owner: &str,
        function: &Declaration,
        indent: &str,
        result: Option<&str>,
    ) -> Result<String, String> {
        let forms = overloads::forms(owner, &function.name).filter(|_| result.is_none());
        let Some(forms) = forms else {
            let result = match (result, function.name.ends_with("_with_indices")) {
                (Some(result), _) => result.to_owned(),
                (None, true) => "tuple[Tensor, Tensor]".to_owned(),
                (None, false) => self.result(owner, function)?,
            };
            return self.line(owner, function, indent, &result, &[]);
        };
        let mut text = String::new();
        for (changes, result) in forms {
            let result = result.replace("{name}", &function.name);
            text += &format!("{indent}@overload\n");
            text += &self.line(owner, function, indent, &result, changes)?;
        }
        Ok(text)
    }

    fn line(
        &self,
        owner: &str,
        function: &Declaration,
        indent: &str,
        result: &str,
        changes: &[(&str, Change)],
    ) -> Result<String, String> {
        let name = &function.name;
        let is_special = name.starts_with("__") && name.ends_with("__");
        let (decorator, first, result) = match function.role {
            Role::Function => ("", "", result),
            Role::Static => ("@staticmethod\n", "", result),
            Role::Class => ("@classmethod\n", "cls", result),
            Role::New => ("", "cls", "Self"),
            _ => ("", "self", result),
        };
        let name = if function.role == Role::New {
            "__new__"
        } else {
            name
        };
        let mut parts: Vec<String> = Vec::new();
        parts.extend((!first.is_empty()).then(|| first.to_owned()));
        let (mut has_default, mut is_keyword, mut has_star) = (false, false, false);
        for (place, parameter) in function.parameters.iter().enumerate() {
            let change = changes.iter().find(|(name, _)| *name == parameter.name);
            let change = change.map(|(_, change)| *change);
            let python = match change {
                Some(Change::Given(python) | Change::Is(python)) => python.to_owned(),
                None if parameter.name == "out" && !result.starts_with("Tensor") => {
                    "tuple[Tensor, ...] | None".to_owned()
                }
                None => self.argument(owner, function, parameter)?,
            };
            let nothing = "None".to_owned();
            let default = parameter
                .default
                .as_ref()
                .or((python == "None").then_some(&nothing));
            let default = default.filter(|_| !matches!(change, Some(Change::Given(_))));
            // A word of Python's own is no name of an argument.
            let is_reserved = parameter.name == "from";
            let spelled = if is_reserved {
                "from_"
            } else {
                &parameter.name
            };
            let given = format!("{spelled}: {python}");
            let given = default.map_or(given.clone(), |default| format!("{given} = {default}"));
            match parameter.kind {
                Kind::Rest => {
                    parts.push(format!("*{given}"));
                    has_star = true;
                }
                Kind::Keywords => parts.push(format!("**{given}")),
                kind => {
                    is_keyword |= kind == Kind::Keyword || (has_default && default.is_none());
                    if is_keyword && !has_star {
                        parts.push("*".to_owned());
                        has_star = true;
                    }
                    has_default |= default.is_some();
                    parts.push(given);
                }
            }
            if place + 1 == function.positional_only || is_reserved {
                parts.push("/".to_owned());
            }
        }
        let takes_keywords = function
            .parameters
            .iter()
            .any(|parameter| parameter.kind != Kind::Positional);
        if is_special
            && function.role == Role::Method
            && !function.parameters.is_empty()
            && !takes_keywords
        {
            parts.push("/".to_owned());
        }
        let decorator = match decorator {
            "" => String::new(),
            decorator => format!("{indent}{decorator}"),
        };
        Ok(format!(
            "{decorator}{indent}def {name}({}) -> {result}: {}\n",
            parts.join(", "),
            docstring(&function.doc),
        ))
    }
}

/// The body of a function in a stub: editors show it.
fn docstring(doc: &str) -> String {
    match doc {
        "" => "...".to_owned(),
        doc if doc.contains('\\') => format!("r\"\"\"{doc}\"\"\""),
        doc => format!("\"\"\"{doc}\"\"\""),
    }
}

/// Whether Python gives tensors a member of its own by a name.
fn is_added(name: &str) -> bool {
    super::ADDED.contains(&format!("def {name}("))
}

/// Whether a method gives nothing.
fn is_nothing(method: &Declaration) -> bool {
    let result = &method.result;
    quote::quote!(#result).to_string().replace(' ', "") == "PyResult<()>"
}
