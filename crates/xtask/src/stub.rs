//! The Python type stub: signatures from the template, constants and options from the tables.

use allotrope_dtype::{Casting, DType, Family, Overflow, Policy};
use allotrope_op::{Op, Structured};

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
            &STRUCTURED.map(|[methods, _]| methods).concat(),
        )
        .replace(
            "{{structured functions}}\n",
            &STRUCTURED.map(|[_, functions]| functions).concat(),
        )
        .replace("{{constants}}", &constants())
}

/// The methods and functions of structured operations, family by family.
const STRUCTURED: [[&str; 2]; 8] = [
    [
        include_str!("../templates/structured/matrix.methods.pyi"),
        include_str!("../templates/structured/matrix.functions.pyi"),
    ],
    [
        include_str!("../templates/structured/movement.methods.pyi"),
        include_str!("../templates/structured/movement.functions.pyi"),
    ],
    [
        include_str!("../templates/structured/indexing.methods.pyi"),
        include_str!("../templates/structured/indexing.functions.pyi"),
    ],
    [
        include_str!("../templates/structured/order.methods.pyi"),
        include_str!("../templates/structured/order.functions.pyi"),
    ],
    [
        include_str!("../templates/structured/neural.methods.pyi"),
        include_str!("../templates/structured/neural.functions.pyi"),
    ],
    [
        include_str!("../templates/structured/convolution.methods.pyi"),
        include_str!("../templates/structured/convolution.functions.pyi"),
    ],
    [
        include_str!("../templates/structured/random.methods.pyi"),
        include_str!("../templates/structured/random.functions.pyi"),
    ],
    [
        include_str!("../templates/structured/files.methods.pyi"),
        include_str!("../templates/structured/files.functions.pyi"),
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

/// Rows as methods, and all of them as in-place spellings.
fn methods() -> String {
    let plain = plain_rows().map(|op| {
        let other = if op.arity() == 2 {
            ", other: _Operand"
        } else {
            ""
        };
        format!("    def {}(self{other}) -> Tensor: ...\n", op.name())
    });
    let attributes = [Op::RealPart, Op::ImagPart, Op::GeluTanh, Op::NextafterIn];
    let in_place = Op::ALL
        .iter()
        .filter(|op| !attributes.contains(op))
        .map(|op| op.name())
        .chain(Structured::in_place())
        .map(|name| format!("    def {name}_(self, *args: Any, **options: Any) -> Self: ...\n"));
    plain.chain(in_place).collect()
}

/// Rows as functions.
fn functions() -> String {
    let plain = plain_rows().map(|op| {
        let other = if op.arity() == 2 {
            ", other: _Operand"
        } else {
            ""
        };
        format!(
            "def {}(input: _Operand{other}, /) -> Tensor: ...\n",
            op.name()
        )
    });
    plain.collect()
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
