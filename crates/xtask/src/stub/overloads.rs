//! Functions whose result depends on what they are given.

/// What becomes of a parameter in one of the forms.
#[derive(Clone, Copy)]
pub(crate) enum Change {
    /// It is given, and of this type.
    Given(&'static str),
    /// It may be given, and is of this type.
    Is(&'static str),
}

use Change::{Given, Is};

/// A form: the changes, and the result.
type Form = (&'static [(&'static str, Change)], &'static str);

const ALL: Form = (
    &[
        ("dim", Is("None")),
        ("axis", Is("None")),
        ("other", Is("None")),
    ],
    "Tensor",
);
const ALONG_DIM: Form = (
    &[
        ("dim", Given("builtins.int")),
        ("axis", Is("None")),
        ("other", Is("None")),
    ],
    "return_types.{name}",
);
const ALONG_AXIS: Form = (
    &[
        ("dim", Is("None")),
        ("axis", Given("builtins.int")),
        ("other", Is("None")),
    ],
    "return_types.{name}",
);
const OF_TWO: Form = (
    &[
        ("dim", Given("Tensor")),
        ("axis", Is("None")),
        ("other", Is("None")),
    ],
    "Tensor",
);
const OF_ANOTHER: Form = (
    &[
        ("dim", Is("None")),
        ("axis", Is("None")),
        ("other", Given("Tensor")),
    ],
    "Tensor",
);
const EXTREME: &[Form] = &[ALL, ALONG_DIM, ALONG_AXIS, OF_TWO, OF_ANOTHER];
const MIDDLE: &[Form] = &[ALL, ALONG_DIM, ALONG_AXIS];
const POOL: &[Form] = &[
    (&[("return_indices", Is("Literal[False]"))], "Tensor"),
    (
        &[("return_indices", Given("Literal[True]"))],
        "tuple[Tensor, Tensor]",
    ),
];

const OVERLOADS: &[(&str, &[Form])] = &[
    ("max", EXTREME),
    ("min", EXTREME),
    ("median", MIDDLE),
    ("nanmedian", MIDDLE),
    (
        "nonzero",
        &[
            (&[("as_tuple", Is("Literal[False]"))], "Tensor"),
            (
                &[("as_tuple", Given("Literal[True]"))],
                "tuple[Tensor, ...]",
            ),
        ],
    ),
    (
        "allotrope.where",
        &[
            (
                &[("input", Is("None")), ("other", Is("None"))],
                "tuple[Tensor, ...]",
            ),
            (
                &[("input", Given("_Operand")), ("other", Given("_Operand"))],
                "Tensor",
            ),
        ],
    ),
    (
        "stride",
        &[
            (&[("dim", Is("None"))], "tuple[builtins.int, ...]"),
            (&[("dim", Given("_Int"))], "builtins.int"),
        ],
    ),
    (
        "type",
        &[
            (&[("dtype", Is("None"))], "builtins.str"),
            (
                &[(
                    "dtype",
                    Given("dtype | builtins.str | builtins.type[Any] | _ForeignDType | Family"),
                )],
                "Tensor",
            ),
        ],
    ),
    ("max_pool1d", POOL),
    ("max_pool2d", POOL),
    ("max_pool3d", POOL),
    ("adaptive_max_pool1d", POOL),
    ("adaptive_max_pool2d", POOL),
    ("adaptive_max_pool3d", POOL),
    ("fractional_max_pool2d", POOL),
    ("fractional_max_pool3d", POOL),
];

/// The forms of a function, if it has several.
pub(crate) fn forms(owner: &str, function: &str) -> Option<&'static [Form]> {
    let own = format!("{owner}.{function}");
    let found = OVERLOADS
        .iter()
        .find(|(name, _)| *name == function || *name == own);
    found.map(|(_, forms)| *forms)
}
