//! Python's types of Rust's: THE table. What Rust takes as any object has the type that its name says.

use std::collections::HashMap;

use syn::{GenericArgument, PathArguments, Type};

use crate::source::Source;
use crate::source::last_segment;

/// What objects that Rust takes without a name for their type are, by the argument's name, or by the
/// function's or class's and the argument's; and names that are accepted where Rust takes any text.
#[rustfmt::skip]
const ARGUMENTS: &[(&str, &str)] = &[
    ("other", "_Operand"),
    ("memory_format", "_memory_format"),
    ("_from_bytes.dtype", "_DTypeLike"),
    ("infer_dtype.data", "Any"),
    ("obj", "Any"),
    ("tensordot.dims", "_Int | tuple[_Ints, _Ints] | Tensor"),
    ("tensordot.axes", "_Int | tuple[_Ints, _Ints] | Tensor"),
    ("spacing", "_Operand | Sequence[_Operand]"),
    ("bins", "_Int | _Operand"),
    ("index_put.indices", "Sequence[_Operand]"),
    ("max.dim", "_Dims | Tensor"),
    ("min.dim", "_Dims | Tensor"),
    ("*tensors", "_Operand"),
    ("*matrices", "_Operand"),
    ("*operands", "Any"),
    ("*sizes", "_Ints"),
    ("*arguments", "_Ints"),
    ("*shapes", "_Ints"),
    ("*sizes_or_dtype", "_Ints | _DTypeLike"),
    ("*bounds", "_Int"),
    ("*bounds_and_size", "_Ints"),
    ("*args", "Any"),
    ("*_exception", "Any"),
    ("*_error", "Any"),
    ("to.*arguments", "Any"),
    ("equation", "str | _Operand"),
    ("result_type.*operands", "Any"),
    ("params", "Sequence[Tensor]"),
    ("_write_all.targets", "Any"),
    ("_write_all.values", "Any"),
    ("category", "Any"),
    ("args", "tuple[Any, ...]"),
    ("kind", "_Kind | tuple[_Kind, ...]"),
    ("object", "Any"),
    ("device", "str"),
    ("check_dtype.value", "Any"),
    ("get_dtype.object", "Any"),
    ("__contains__.dtype", "object"),
    ("__array__.dtype", "Any"),
    ("array", "Any"),
    ("__getitem__.key", "_Index"),
    ("__setitem__.key", "_Index"),
    ("distance_function", "Callable[[Tensor, Tensor], Tensor]"),
    ("hook", "Callable[..., Any]"),
    ("register_hook.hook", "Callable[[Tensor], Tensor | None]"),
    ("register_post_accumulate_grad_hook.hook", "Callable[[Tensor], None]"),
    ("inputs", "Tensor | Sequence[Tensor]"),
    ("from_dlpack.x", "Any"),
    ("method", "Any"),
    ("__eq__.other", "object"),
    ("__ne__.other", "object"),
    ("memo", "Any"),
    ("modulo", "None"),
    ("_modulo", "None"),
    ("closure", "Any"),
    ("param", "Any"),
    ("function", "Any"),
    ("__call__.function", "Callable[..., Any]"),
    ("grad_outputs", "Any"),
    ("grad_tensors", "Any"),
    ("outputs", "Any"),
    ("parameters", "Any"),
    ("_key", "Any"),
    ("derivative", "Any"),
    ("frame", "Any"),
    ("options", "Any"),
    ("rounding_mode", "Literal[\"trunc\", \"floor\"]"),
    ("approximate", "Literal[\"none\", \"tanh\"]"),
    ("reduction", "_Reduction"),
    ("policy", "_Policy"),
    ("set_fallback.policy", "_Notify"),
    ("set_demotion.policy", "_Notify"),
    ("fallback.policy", "_Notify"),
    ("demotion.policy", "_Notify"),
    ("set_overflow.policy", "_OverflowPolicy"),
    ("overflow.policy", "_OverflowPolicy"),
    ("set_matmul_precision.matmul", "_MatmulPrecision"),
    ("precision.matmul", "_MatmulPrecision"),
    ("casting", "_Casting"),
    ("overflow", "_Overflow"),
    ("rounding", "_Rounding"),
    ("float64", "_Float64"),
    ("side", "Literal[\"left\", \"right\"]"),
    ("norm", "_Norm"),
    ("scatter.reduce", "Literal[\"add\", \"multiply\"]"),
    ("scatter_reduce.reduce", "_IndexReduction"),
    ("index_reduce.reduce", "_IndexReduction"),
    ("nonlinearity", "_Nonlinearity"),
];

/// What functions give that give any object in Rust.
#[rustfmt::skip]
const RESULTS: &[(&str, &str)] = &[
    ("unique", "Any"), ("unique_consecutive", "Any"), 
    ("item", "Any"), ("tolist", "Any"), ("numpy", "Any"), ("__array__", "Any"), ("__buffer__", "memoryview"),
    ("__complex__", "builtins.complex"), ("__int__", "builtins.int"), ("__float__", "builtins.float"),
    ("__index__", "builtins.int"), ("__format__", "str"), ("__deepcopy__", "Self"), ("Tensor.__reduce__", "tuple[Any, ...]"), ("Generator.__reduce__", "tuple[Any, ...]"),
    ("_from_tensor", "Self"), ("numpy_dtype", "Any"), ("dtype.aliases", "tuple[str, ...]"),
    ("Family.members", "tuple[_dtype, ...]"), ("Tensor.shape", "Size"), ("Tensor.device", "_Device"), ("Generator.device", "_Device"),
    ("Tensor.numeric", "_dtype | Family"), ("Devices.__getitem__", "_Device"), ("Devices.__iter__", "Iterator[_Device]"),
    ("Tensor.__iter__", "Iterator[Tensor]"), ("broadcast_shapes", "Size"),
    ("unravel_index", "tuple[Tensor, ...]"), ("cast", "Any"), ("load", "Any"), ("support", "Any"),
    ("atleast_1d", "Any"), ("atleast_2d", "Any"), ("atleast_3d", "Any"), ("load_metadata", "dict[str, str]"),
    ("__dlpack__", "CapsuleType"), ("supports", "_Support"), ("dtype.__eq__", "builtins.bool"),
    ("dtype.__ne__", "builtins.bool"), ("__array_ufunc__", "None"),
    ("_named_fields", "dict[str, tuple[str, ...]]"),
    ("__reduce_ex__", "tuple[Any, ...]"), ("grad_fn", "Any"), ("gradient", "tuple[Tensor, ...]"),
    ("split_with_sizes", "tuple[Tensor, ...]"), ("_check_device_name", "Any"), ("_keep", "Any"),
    ("policies", "list[_Policy]"), ("get_promotion", "_Policy"), ("get_fallback", "_Notify"),
    ("get_demotion", "_Notify"), ("get_overflow", "_OverflowPolicy"),
    ("get_matmul_precision", "_MatmulPrecision"), ("__call__", "Callable[..., Any]"), ("get_default_device", "_Device"),
];

/// What Rust's types are, by their names.
#[rustfmt::skip]
const TYPES: &[(&str, &str, &str)] = &[
    // name, as an argument, as a result
    // Names of `arguments.rs` for objects.
    ("Operand",       "_Operand",        "_Operand"),
    ("TensorObject",  "Tensor",          "Tensor"),
    ("Out",           "Tensor",          "Tensor"),
    ("TensorList",    "Sequence[_Operand] | Tensor", ""),
    ("Data",          "_Data",           ""),
    ("Number",        "_Number",         ""),
    ("Real",          "_Float",          ""),
    ("Integer",       "_Int",            ""),
    ("Ints",          "_Ints",           ""),
    ("Dims",          "_Dims",           ""),
    ("OutputSize",    "_OutputSize",     ""),
    ("SizesOrName",   "_Padding",        ""),
    ("Floats",        "_Floats",         ""),
    ("NormOrder",     "_Order",          ""),
    ("DTypeLike",     "_DTypeLike",      ""),
    ("DTypeOf",       "_DTypeLike | _HasDType", ""),
    ("DTypeOrFamily", "_DTypeLike | Family", ""),
    ("Format",        "_memory_format",  ""),
    ("FilePath",      "_Path",           ""),
    ("Int",          "_Int",            "builtins.int"),
    ("Clamped",      "_Int",            "builtins.int"),
    ("Modulo",       "_Int",            "builtins.int"),
    ("Unsigned",     "_Int",            "builtins.int"),
    ("usize",        "_Int",            "builtins.int"),
    ("isize",        "_Int",            "builtins.int"),
    ("u8",           "_Int",            "builtins.int"),
    ("u32",          "_Int",            "builtins.int"),
    ("i32",          "_Int",            "builtins.int"),
    ("u64",          "_Int",            "builtins.int"),
    ("i64",          "_Int",            "builtins.int"),
    ("i128",         "_Int",            "builtins.int"),
    ("f64",          "_Float",          "builtins.float"),
    ("bool",         "builtins.bool",   "builtins.bool"),
    ("str",          "str",             "str"),
    ("String",       "str",             "str"),
    ("PyString",     "str",             "str"),
    ("PyBytes",      "builtins.bytes",  "builtins.bytes"),
    ("PyDict",       "dict[str, Any]",  "dict[str, Any]"),
    ("Properties",   "dict[str, Any]",  "dict[str, Any]"),
    ("PyTuple",      "tuple[Any, ...]", "tuple[Any, ...]"),
    ("PyType",       "type[Any]",       "type[Any]"),
    ("PyList",       "list[Any]",       "list[Any]"),
    ("PyCapsule",    "CapsuleType",     "CapsuleType"),
    ("PyIterator",   "Iterator[Any]",   "Iterator[Any]"),
    ("Parts",        "tuple[Tensor, ...]", "tuple[Tensor, ...]"),
    ("OneOrTwo",     "Any",             "Any"),
    ("Tensor",       "Tensor",          "Tensor"),
    ("DeviceCode",   "tuple[builtins.int, builtins.int]", "tuple[builtins.int, builtins.int]"),
];

/// Types as Python has them.
pub(crate) struct Types<'a> {
    pub(crate) source: &'a Source,
    /// Python's names of classes of the source.
    pub(crate) classes: HashMap<String, String>,
    /// The classes of results with named fields.
    pub(crate) named: Vec<String>,
}

/// Where a type stands: the function, its class or module, and the argument if it is one.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) owner: &'a str,
    pub(crate) function: &'a str,
    pub(crate) argument: Option<&'a str>,
}

impl Types<'_> {
    /// The Python type of a Rust type in its place.
    pub(crate) fn python(&self, rust: &Type, place: Place<'_>) -> Result<String, String> {
        let is_text =
            |rust: &Type| matches!(rust, Type::Path(path) if last_segment(&path.path) == "str");
        match rust {
            Type::Reference(inner) if is_text(&inner.elem) && place.argument.is_some() => {
                Ok(self.named_type(place).unwrap_or_else(|_| "str".to_owned()))
            }
            Type::Reference(inner) => self.python(&inner.elem, place),
            Type::Paren(inner) => self.python(&inner.elem, place),
            Type::Group(inner) => self.python(&inner.elem, place),
            Type::Tuple(types) if types.elems.is_empty() => Ok("None".to_owned()),
            Type::Tuple(types) => {
                let types = types.elems.iter().map(|inner| self.python(inner, place));
                let types = types.collect::<Result<Vec<_>, _>>()?;
                Ok(format!("tuple[{}]", types.join(", ")))
            }
            Type::Slice(inner) if is_u8(&inner.elem) => Ok("builtins.bytes".to_owned()),
            Type::Slice(inner) => Ok(sequence(&self.python(&inner.elem, place)?, place)),
            Type::Array(inner) => Ok(sequence(&self.python(&inner.elem, place)?, place)),
            // `<Vec<Tensor> as Seen>::Object`.
            Type::Path(path) if path.qself.is_some() => match &path.qself {
                Some(own) if is_list(&own.ty) => Ok("tuple[Tensor, ...]".to_owned()),
                _ => Ok("Tensor".to_owned()),
            },
            Type::Path(path) => self.python_path(&path.path, place),
            _ => Err(unknown(rust, place)),
        }
    }

    fn python_path(&self, path: &syn::Path, place: Place<'_>) -> Result<String, String> {
        let name = last_segment(path);
        let inner = path
            .segments
            .last()
            .map(|last| type_arguments(&last.arguments));
        let inner = inner.unwrap_or_default();
        let is_argument = place.argument.is_some();
        match (name.as_str(), inner.as_slice()) {
            ("Option", [inner]) => {
                let inner = self.python(inner, place)?;
                let accepts_none =
                    inner == "Any" || inner.ends_with("None") || inner.contains("_DTypeLike");
                Ok(if accepts_none && is_argument || inner == "Any" {
                    inner
                } else {
                    format!("{inner} | None")
                })
            }
            ("Bound" | "Py", [inner]) if is_self(inner) && gives_itself(place) => {
                Ok("Self".to_owned())
            }
            (
                "Bound" | "Borrowed" | "Py" | "PyRef" | "PyResult" | "Result" | "Delivered",
                [inner, ..],
            ) => self.python(inner, place),
            ("Vec", [inner]) => Ok(sequence(&self.python(inner, place)?, place)),
            ("HashMap", [key, value]) => {
                let (key, value) = (self.python(key, place)?, self.python(value, place)?);
                Ok(format!("dict[{key}, {value}]"))
            }
            ("PyAny", _) => self.named_type(place),
            ("PyTuple", _) if place.argument.is_some() => self.named_type(place),
            ("PyTuple" | "PyIterator" | "PyDict", _)
                if !is_argument && self.said(place).is_some() =>
            {
                self.named_type(place)
            }
            ("Self", _) => Ok(hidden(place.owner)),
            _ => {
                let row = TYPES.iter().find(|(rust, ..)| *rust == name);
                let class = self.classes.get(&name);
                match (class, row, self.source.aliases.get(&name)) {
                    (Some(class), ..) => Ok(hidden(class)),
                    (_, Some((_, argument, _)), _) if is_argument => Ok((*argument).to_owned()),
                    (_, Some((_, _, result)), _) => Ok((*result).to_owned()),
                    (_, _, Some(alias)) => self.python(alias, place),
                    _ => Err(unknown(
                        &path.segments.last().map(|last| last.ident.to_string()),
                        place,
                    )),
                }
            }
        }
    }

    /// What the tables say of an object that is of any type in Rust.
    pub(crate) fn said(&self, place: Place<'_>) -> Option<&'static str> {
        let Place {
            owner,
            function,
            argument,
        } = place;
        let (table, keys) = match argument {
            Some(argument) => {
                let plain = argument.trim_start_matches('*');
                let keys = vec![
                    format!("{owner}.{plain}"),
                    format!("{function}.{argument}"),
                    // In-place forms have the arguments of the method.
                    format!("{}.{argument}", function.trim_end_matches('_')),
                    argument.to_owned(),
                ];
                (ARGUMENTS, keys)
            }
            None => (
                RESULTS,
                vec![format!("{owner}.{function}"), function.to_owned()],
            ),
        };
        let mut found = keys
            .iter()
            .filter_map(|key| table.iter().find(|(own, _)| own == key));
        found.next().map(|(_, python)| *python)
    }

    fn named_type(&self, place: Place<'_>) -> Result<String, String> {
        if let Some(said) = self.said(place) {
            return Ok(said.to_owned());
        }
        if place.argument.is_none() {
            let name = match place.owner {
                "linalg" => format!("linalg_{}", place.function),
                _ => place.function.to_owned(),
            };
            if self.named.contains(&name) {
                return Ok(format!("return_types.{name}"));
            }
            // Operators give what is not implemented to the other operand.
            if place.owner == "Tensor" && place.function.starts_with("__") {
                return Ok("Tensor".to_owned());
            }
        }
        Err(unknown(&"an object", place))
    }
}

/// A class whose name a property hides within classes.
fn hidden(class: &str) -> String {
    match class {
        "dtype" | "finfo" | "iinfo" | "memory_format" => format!("_{class}"),
        _ => class.to_owned(),
    }
}

/// Whether a method that gives an object of its class gives the one it is called on.
fn gives_itself(place: Place<'_>) -> bool {
    let name = place.function;
    place.argument.is_none() && (name.ends_with('_') || name.starts_with("__"))
}

fn is_self(rust: &Type) -> bool {
    matches!(rust, Type::Path(path) if path.path.is_ident("Self"))
}

fn unknown(rust: &dyn std::fmt::Debug, place: Place<'_>) -> String {
    let Place {
        owner,
        function,
        argument,
    } = place;
    let argument = argument.unwrap_or("its result");
    format!(
        "{owner}.{function}: {argument}: no Python type for {rust:?} (hint: a row in stub/types.rs)"
    )
}

fn sequence(inner: &str, place: Place<'_>) -> String {
    match place.argument {
        Some(_) => format!("Sequence[{inner}]"),
        None => format!("list[{inner}]"),
    }
}

fn is_u8(rust: &Type) -> bool {
    matches!(rust, Type::Path(path) if last_segment(&path.path) == "u8")
}

fn is_list(rust: &Type) -> bool {
    matches!(rust, Type::Path(path) if last_segment(&path.path) == "Vec")
}

/// The types in angle brackets.
fn type_arguments(arguments: &PathArguments) -> Vec<&Type> {
    let PathArguments::AngleBracketed(arguments) = arguments else {
        return Vec::new();
    };
    let types = arguments.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(rust) => Some(rust),
        _ => None,
    });
    types.collect()
}
