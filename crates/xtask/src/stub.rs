//! The Python type stubs: signatures from the templates, constants and options from the tables.

use allotrope_dtype::{Casting, DType, Family, Overflow, Policy};
use allotrope_op::{IN_PLACE, Op, VIEWED_IN_PLACE, for_each_activation};

/// The text of `python/allotrope/__init__.pyi`.
pub(crate) fn python_stub() -> String {
    include_str!("../templates/__init__.pyi")
        .replace("{{policies}}", &literals(Policy::ALL.map(Policy::name)))
        .replace("{{castings}}", &literals(Casting::ALL.map(Casting::name)))
        .replace(
            "{{overflows}}",
            &literals(Overflow::ALL.map(Overflow::name)),
        )
        .replace("{{methods}}\n", &methods())
        .replace("{{functions}}\n", &functions())
        .replace(
            "{{structured methods}}\n",
            &STRUCTURED.map(|[methods, _, _]| methods).concat(),
        )
        .replace(
            "{{structured functions}}\n",
            &STRUCTURED.map(|[_, functions, _]| functions).concat(),
        )
        .replace("{{constants}}", &constants())
}

/// The text of `python/allotrope/nn/functional.pyi`.
pub(crate) fn functional_stub() -> String {
    let families = STRUCTURED.map(|[_, _, functional]| functional).concat();
    include_str!("../templates/functional.pyi")
        .replace("{{functional}}\n", &families)
        .replace("{{activations}}\n", &activations())
}

/// The methods and functions of structured operations, and the functions of `nn.functional`, family
/// by family.
const STRUCTURED: [[&str; 3]; 8] = [
    [
        include_str!("../templates/structured/matrix.methods.pyi"),
        include_str!("../templates/structured/matrix.functions.pyi"),
        include_str!("../templates/structured/matrix.functional.pyi"),
    ],
    [
        include_str!("../templates/structured/movement.methods.pyi"),
        include_str!("../templates/structured/movement.functions.pyi"),
        include_str!("../templates/structured/movement.functional.pyi"),
    ],
    [
        include_str!("../templates/structured/indexing.methods.pyi"),
        include_str!("../templates/structured/indexing.functions.pyi"),
        include_str!("../templates/structured/indexing.functional.pyi"),
    ],
    [
        include_str!("../templates/structured/order.methods.pyi"),
        include_str!("../templates/structured/order.functions.pyi"),
        include_str!("../templates/structured/order.functional.pyi"),
    ],
    [
        include_str!("../templates/structured/neural.methods.pyi"),
        include_str!("../templates/structured/neural.functions.pyi"),
        include_str!("../templates/structured/neural.functional.pyi"),
    ],
    [
        include_str!("../templates/structured/convolution.methods.pyi"),
        include_str!("../templates/structured/convolution.functions.pyi"),
        include_str!("../templates/structured/convolution.functional.pyi"),
    ],
    [
        include_str!("../templates/structured/random.methods.pyi"),
        include_str!("../templates/structured/random.functions.pyi"),
        include_str!("../templates/structured/random.functional.pyi"),
    ],
    [
        include_str!("../templates/structured/files.methods.pyi"),
        include_str!("../templates/structured/files.functions.pyi"),
        include_str!("../templates/structured/files.functional.pyi"),
    ],
];

/// Rows that the template spells out, since they are called with options.
fn is_spelled_out(op: Op) -> bool {
    let optioned = [
        Op::Add,
        Op::Sub,
        Op::Div,
        Op::Round,
        Op::Logit,
        Op::Gelu,
        Op::GeluTanh,
        Op::RealPart,
        Op::ImagPart,
    ];
    op.arity() > 2
        || op.row().operands.iter().any(|name| LATER.contains(name))
        || optioned.contains(&op)
}

/// Second operands that are options in Python.
const LATER: [&str; 3] = ["slope", "alpha", "lambda"];

/// The rows that are called with their operands alone.
fn plain_rows() -> impl Iterator<Item = Op> {
    Op::ALL.iter().copied().filter(|op| !is_spelled_out(*op))
}

/// The second operand of a row, by torch's name for it.
fn second(op: Op) -> &'static str {
    match op {
        Op::Pow => ", exponent: _Operand",
        Op::Heaviside => ", values: _Operand",
        _ if op.arity() == 2 => ", other: _Operand",
        _ => "",
    }
}

/// Rows as methods, and all of them as in-place spellings.
fn methods() -> String {
    let plain = plain_rows()
        .map(|op| format!("    def {}(self{}) -> Tensor: ...\n", op.name(), second(op)));
    let attributes = [Op::RealPart, Op::ImagPart, Op::GeluTanh, Op::NextafterIn];
    let in_place = Op::ALL
        .iter()
        .filter(|op| !attributes.contains(op))
        .map(|op| op.name())
        .chain(IN_PLACE.iter().copied())
        .chain(VIEWED_IN_PLACE.iter().copied())
        .map(|name| format!("    def {name}_(self, *args: Any, **options: Any) -> Self: ...\n"));
    plain.chain(in_place).collect()
}

/// Rows as functions.
fn functions() -> String {
    let plain = plain_rows().map(|op| {
        format!(
            "def {}(input: _Operand{}) -> Tensor: ...\n",
            op.name(),
            second(op)
        )
    });
    plain.collect()
}

/// Activations without options, with torch's way to change their operand.
fn activations() -> String {
    macro_rules! names {
        ($({ $variant:ident, $name:ident, ($($operand:ident),*) $($row:tt)* })*) => {
            [$(Op::$variant),*]
        };
    }
    let rows = for_each_activation!((names)).into_iter();
    let plain = rows.filter(|op| op.arity() == 1 && !is_spelled_out(*op));
    let line = |op: Op| {
        format!(
            "def {}(input: _Operand, inplace: bool = False) -> Tensor: ...\n",
            op.name()
        )
    };
    plain.map(line).collect()
}

/// Names as string literals.
fn literals<const N: usize>(names: [&str; N]) -> String {
    names.map(|name| format!("\"{name}\"")).join(", ")
}

/// One line per name of a dtype or family.
fn constants() -> String {
    let dtypes = DType::ALL.into_iter().flat_map(|dtype| {
        let aliases = dtype.descriptor().aliases.iter().copied();
        std::iter::once(dtype.name())
            .chain(aliases)
            .map(|name| (name, "dtype"))
    });
    let families = Family::ALL
        .into_iter()
        .map(|family| (family.name(), "Family"));
    let lines = dtypes
        .chain(families)
        .map(|(name, class)| format!("{name}: Final[{class}]"));
    lines.collect::<Vec<_>>().join("\n")
}
