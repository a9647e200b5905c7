//! The book's generated pages, as Markdown.

use allotrope_dtype::{Capabilities, DType, Family, NumpySource, Policy, default_dtype};
use allotrope_op::{Autocast, Op, Structured, Support, support, supported_names, without_gradient};

/// The page of all dtypes.
pub(crate) fn dtype_page() -> String {
    include_str!("../templates/dtypes.md")
        .replace("{{dtypes}}\n", &dtype_table())
        .replace("{{floats}}\n", &float_table())
        .replace("{{integers}}\n", &integer_table())
        .replace("{{interop}}\n", &interop_table())
        .replace("{{families}}\n", &family_table())
}

/// The page of all promotion policies.
pub(crate) fn promotion_page() -> String {
    let sections = Policy::ALL.map(|policy| {
        let table = promotion_table(policy);
        format!("## {policy}\n\n{}\n\n{table}", describe(policy))
    });
    include_str!("../templates/promotion.md").replace("{{policies}}\n", &sections.join("\n"))
}

fn dtype_table() -> String {
    let rows = DType::ALL.into_iter().map(|dtype| {
        vec![
            code(dtype.name()),
            dtype.kind().name().to_owned(),
            dtype.bits().to_string(),
            code(dtype.compute().name()),
            Capabilities::CPU.of(dtype).name().to_owned(),
            dtype
                .descriptor()
                .aliases
                .iter()
                .copied()
                .map(code)
                .collect::<Vec<_>>()
                .join(" "),
        ]
    });
    markdown(
        &[
            "dtype",
            "kind",
            "bits",
            "computes in",
            "on the CPU",
            "aliases",
        ],
        rows,
    )
}

fn float_table() -> String {
    let infos = DType::ALL
        .into_iter()
        .filter(|dtype| dtype.is_floating_point());
    let rows = infos.filter_map(|dtype| dtype.finfo().ok()).map(|info| {
        vec![
            code(info.dtype.name()),
            format!("{:e}", info.eps),
            format!("{:e}", info.max),
            format!("{:e}", info.smallest_normal),
            format!("{:e}", info.smallest_subnormal),
            yes_or_no(info.has_inf),
            yes_or_no(info.has_nan),
            yes_or_no(info.has_negative_zero),
        ]
    });
    let header = [
        "dtype",
        "eps",
        "max",
        "smallest normal",
        "smallest subnormal",
        "inf",
        "nan",
        "-0",
    ];
    markdown(&header, rows)
}

fn integer_table() -> String {
    let rows = DType::ALL
        .into_iter()
        .filter_map(|dtype| dtype.iinfo().ok())
        .map(|info| {
            vec![
                code(info.dtype.name()),
                info.min.to_string(),
                info.max.to_string(),
            ]
        });
    markdown(&["dtype", "min", "max"], rows)
}

fn interop_table() -> String {
    let rows = DType::ALL.into_iter().map(|dtype| {
        let row = dtype.descriptor();
        let numpy = match row.numpy {
            NumpySource::Native => format!("numpy.{}", row.name),
            NumpySource::MlDtypes => format!("ml_dtypes.{}", row.name),
        };
        vec![
            code(row.name),
            code(&numpy),
            format!("{}, {} bits", row.dlpack_code, row.bits),
            row.safetensors_name.map(code).unwrap_or_default(),
            row.triton_name.map(code).unwrap_or_default(),
            row.wgsl_name.map(code).unwrap_or_default(),
        ]
    });
    markdown(
        &[
            "dtype",
            "NumPy",
            "DLPack",
            "safetensors",
            "triton.language",
            "WGSL",
        ],
        rows,
    )
}

fn family_table() -> String {
    let rows = Family::ALL.into_iter().map(|family| {
        let of = |data| {
            code(
                family
                    .resolve(data, default_dtype(), &Capabilities::CPU)
                    .name(),
            )
        };
        let members = family.members().map(|dtype| code(dtype.name()));
        vec![
            code(family.name()),
            members.collect::<Vec<_>>().join(" "),
            of(None),
            of(Some(DType::I32)),
            of(Some(DType::F64)),
        ]
    });
    markdown(
        &[
            "family",
            "members",
            "without data",
            "of int32",
            "of float64",
        ],
        rows,
    )
}

fn promotion_table(policy: Policy) -> String {
    let names = DType::ALL.map(DType::name);
    let header: Vec<&str> = std::iter::once("").chain(names).collect();
    let rows = DType::ALL.into_iter().map(|lhs| {
        let answers = DType::ALL
            .into_iter()
            .map(|rhs| promotion_cell(policy, lhs, rhs));
        std::iter::once(format!("**{lhs}**"))
            .chain(answers)
            .collect()
    });
    markdown(&header, rows)
}

/// The answer for a pair, bold where it is not the standard one.
fn promotion_cell(policy: Policy, lhs: DType, rhs: DType) -> String {
    let answer = policy.promote(lhs, rhs);
    let text = answer.map_or("-", DType::name);
    if answer == Policy::Standard.promote(lhs, rhs) {
        text.to_owned()
    } else {
        format!("**{text}**")
    }
}

/// What a policy is for.
fn describe(policy: Policy) -> &'static str {
    match policy {
        Policy::Standard => {
            "The default: PyTorch's answers, with its holes filled in. An unsigned and a signed \
             integer meet in the next wider signed one, two different float8 formats or a float8 \
             and an integer in bfloat16, a float8 and float16 in float32; uint64 with a signed \
             integer is refused, because no integer dtype holds both."
        }
        Policy::Strict => {
            "Operands must have one dtype; Python scalars of the same or a lower kind are allowed. \
             For code that must never convert."
        }
        Policy::Exact => {
            "The standard answer where it represents every value of both operands; anything else \
             is refused. Nothing is ever rounded."
        }
        Policy::Torch => {
            "PyTorch's own answers. Here alone a 0-d array counts only if its kind is higher than \
             that of the arrays with dimensions."
        }
        Policy::Numpy => "NumPy's own answers, with ml_dtypes installed.",
        Policy::Jax => "JAX's own answers, with 64-bit types enabled.",
    }
}

/// A Markdown table with a line feed at its end.
fn markdown(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let header: Vec<String> = header.iter().map(|cell| (*cell).to_owned()).collect();
    let rule = vec!["---".to_owned(); header.len()];
    let rows = rows.map(|row| line(&row));
    [line(&header), line(&rule)]
        .into_iter()
        .chain(rows)
        .collect()
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

fn yes_or_no(answer: bool) -> String {
    if answer { "yes" } else { "no" }.to_owned()
}

/// The page of operations and dtypes.
pub(crate) fn support_page() -> String {
    let header = std::iter::once("operation").chain(DType::ALL.map(DType::name));
    let header: Vec<&str> = header.collect();
    let rows = supported_names().map(|name| {
        let cells = DType::ALL
            .into_iter()
            .map(|dtype| match support(name, dtype) {
                Some(Support::Computes) => "yes".to_owned(),
                Some(Support::Promotes) => "promotes".to_owned(),
                Some(Support::Undefined) | None => "–".to_owned(),
            });
        std::iter::once(code(name)).chain(cells).collect::<Vec<_>>()
    });
    let docs = Op::ALL.iter().map(|op| {
        let row = op.row();
        let operands = row.operands.join(", ");
        let autocast = autocast_name(row.autocast);
        vec![
            format!("`{}({operands})`", row.name),
            row.doc.to_owned(),
            yes_or_no(row.is_differentiable),
            autocast.to_owned(),
        ]
    });
    let structured = Structured::all().map(|row| {
        let autocast = autocast_name(row.autocast);
        let derivative = yes_or_no(row.without_gradient().is_none());
        vec![
            code(row.name),
            row.doc.to_owned(),
            derivative,
            autocast.to_owned(),
        ]
    });
    let without = supported_names().filter_map(|name| {
        let reason = without_gradient(name)?;
        Some(vec![code(name), reason.to_owned()])
    });
    let total = supported_names().count() * DType::COUNT;
    let undefined = supported_names().flat_map(|name| DType::ALL.map(|d| support(name, d)));
    let undefined = undefined.filter(|s| *s == Some(Support::Undefined)).count();
    include_str!("../templates/support.md")
        .replace("{{total}}", &total.to_string())
        .replace("{{undefined}}", &undefined.to_string())
        .replace("{{support}}\n", &markdown(&header, rows))
        .replace(
            "{{operations}}\n",
            &markdown(&["operation", "result", "derivative", "autocast"], docs),
        )
        .replace(
            "{{structured}}\n",
            &markdown(
                &["operation", "result", "derivative", "autocast"],
                structured,
            ),
        )
        .replace(
            "{{without_gradient}}\n",
            &markdown(&["operation", "why"], without),
        )
}

/// One word on what autocast does.
fn autocast_name(autocast: Autocast) -> &'static str {
    match autocast {
        Autocast::Keep => "keeps",
        Autocast::Float32 => "float32",
        Autocast::Widest => "widest",
        Autocast::Lower => "lower",
    }
}
