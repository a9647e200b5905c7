//! THE dtype table. Every list of dtypes in Rust, Python, tests and docs is an expansion of it.
//!
//! A new dtype is one row here, plus a format line in [`minifloat`](crate::minifloat) if it is a
//! new 8-bit float, plus a line in [`promote`](crate::promote) if the set rules do not place it.

/// Hands every row of the dtype table to a callback macro.
///
/// `for_each_dtype!((callback) args…)` expands to `callback! { args… { row } { row } … }`, where a
/// row is `Variant, type, kind, compute type, bits, float format, "name", [aliases], dlpack code,
/// safetensors, numpy, triton, wgsl`.
///
/// | column | meaning |
/// |---|---|
/// | kind | a [`Kind`](crate::Kind) variant, which is also the name of the narrowest set trait |
/// | compute | the type that arithmetic happens in; storage is decoded to it and encoded from it |
/// | format | the [`Format`](crate::Format) of a float, or of a complex number's components |
/// | aliases | other spellings, accepted as strings and exported to Python |
/// | numpy | `Native` or `MlDtypes`: which package knows the name |
/// | triton | the attribute of `triton.language` |
/// | wgsl | the WGSL scalar type, where the language or its 64-bit extensions have one |
///
/// # Examples
/// ```
/// macro_rules! count {
///     ($({ $($row:tt)* })*) => { [$(stringify!($($row)*)),*].len() };
/// }
/// assert_eq!(allotrope_dtype::for_each_dtype!((count)), allotrope_dtype::DType::COUNT);
/// ```
#[macro_export]
macro_rules! for_each_dtype {
    (($($callback:tt)+) $($args:tt)*) => {
        $($callback)+! { $($args)*
            // variant    type                kind      compute        bits format      name               aliases                             dl safetensors          numpy     triton               wgsl
            { Bool,       $crate::Bool8,      Bool,     $crate::Bool8,   8, [],         "bool",            ["Bool"],                           6, Some("BOOL"),        Native,   Some("int1"),        Some("bool") }
            { I8,         i8,                 Signed,   i8,              8, [],         "int8",            ["i8", "Int8"],                     0, Some("I8"),          Native,   Some("int8"),        None }
            { I16,        i16,                Signed,   i16,            16, [],         "int16",           ["i16", "short", "Int16"],          0, Some("I16"),         Native,   Some("int16"),       None }
            { I32,        i32,                Signed,   i32,            32, [],         "int32",           ["i32", "int", "Int32"],            0, Some("I32"),         Native,   Some("int32"),       Some("i32") }
            { I64,        i64,                Signed,   i64,            64, [],         "int64",           ["i64", "long", "Int64"],           0, Some("I64"),         Native,   Some("int64"),       Some("i64") }
            { U8,         u8,                 Unsigned, u8,              8, [],         "uint8",           ["u8", "UInt8"],                    1, Some("U8"),          Native,   Some("uint8"),       None }
            { U16,        u16,                Unsigned, u16,            16, [],         "uint16",          ["u16", "UInt16"],                  1, Some("U16"),         Native,   Some("uint16"),      None }
            { U32,        u32,                Unsigned, u32,            32, [],         "uint32",          ["u32", "UInt32"],                  1, Some("U32"),         Native,   Some("uint32"),      Some("u32") }
            { U64,        u64,                Unsigned, u64,            64, [],         "uint64",          ["u64", "UInt64"],                  1, Some("U64"),         Native,   Some("uint64"),      Some("u64") }
            { F8E4M3Fn,   $crate::f8e4m3fn,   Float,    f32,             8, [E4M3Fn],   "float8_e4m3fn",   ["f8e4m3fn", "Float8E4M3Fn"],      10, Some("F8_E4M3"),     MlDtypes, Some("float8e4nv"),  None }
            { F8E5M2,     $crate::f8e5m2,     Float,    f32,             8, [E5M2],     "float8_e5m2",     ["f8e5m2", "Float8E5M2"],          12, Some("F8_E5M2"),     MlDtypes, Some("float8e5"),    None }
            { F8E4M3Fnuz, $crate::f8e4m3fnuz, Float,    f32,             8, [E4M3Fnuz], "float8_e4m3fnuz", ["f8e4m3fnuz", "Float8E4M3Fnuz"],  11, Some("F8_E4M3FNUZ"), MlDtypes, Some("float8e4b8"),  None }
            { F8E5M2Fnuz, $crate::f8e5m2fnuz, Float,    f32,             8, [E5M2Fnuz], "float8_e5m2fnuz", ["f8e5m2fnuz", "Float8E5M2Fnuz"],  13, Some("F8_E5M2FNUZ"), MlDtypes, Some("float8e5b16"), None }
            { F16,        $crate::f16,        Float,    f32,            16, [Binary16], "float16",         ["f16", "half", "Float16"],         2, Some("F16"),         Native,   Some("float16"),     Some("f16") }
            { BF16,       $crate::bf16,       Float,    f32,            16, [Bfloat16], "bfloat16",        ["bf16", "BFloat16"],               4, Some("BF16"),        MlDtypes, Some("bfloat16"),    None }
            { F32,        f32,                Float,    f32,            32, [Binary32], "float32",         ["f32", "float", "Float32"],        2, Some("F32"),         Native,   Some("float32"),     Some("f32") }
            { F64,        f64,                Float,    f64,            64, [Binary64], "float64",         ["f64", "double", "Float64"],       2, Some("F64"),         Native,   Some("float64"),     Some("f64") }
            { C64,        $crate::c64,        Complex,  $crate::c64,    64, [Binary32], "complex64",       ["c64", "cfloat", "Complex64"],     5, Some("C64"),         Native,   None,                None }
            { C128,       $crate::c128,       Complex,  $crate::c128,  128, [Binary64], "complex128",      ["c128", "cdouble", "Complex128"],  5, None,                Native,   None,                None }
        }
    };
}
