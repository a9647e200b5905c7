//! The shader of every row and every template in every dtype is accepted by the compiler, with and without integers and
//! floats of 64 bits: no device is needed.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeSet;

use allotrope_dtype::DType;
use allotrope_gpu::{shaders, template_shaders};
use allotrope_op::{Op, Program, Signature, Slot};
use naga::valid::{Capabilities, ValidationFlags, Validator};

fn validate(program: &Program) {
    for wide in [true, false] {
        let texts = shaders(program, wide).unwrap();
        assert!(!texts.is_empty());
        for text in texts {
            validate_text(&text, wide);
        }
    }
}

fn validate_text(text: &str, wide: bool) {
    // Conversions of float16 are in the language, and every backend that is used has them.
    let mut capabilities = Capabilities::SHADER_FLOAT16_IN_FLOAT32;
    capabilities.set(Capabilities::FLOAT64 | Capabilities::SHADER_INT64, wide);
    let module = naga::front::wgsl::parse_str(text)
        .unwrap_or_else(|error| panic!("{}\n{text}", error.emit_to_string(text)));
    let result = Validator::new(ValidationFlags::all(), capabilities).validate(&module);
    result.unwrap_or_else(|error| panic!("{}\n{text}", error.emit_to_string(text)));
}

#[test]
fn templates_are_accepted() {
    let mut kinds = BTreeSet::new();
    for dtype in DType::ALL {
        for wide in [true, false] {
            for (what, text) in template_shaders(dtype, wide).unwrap() {
                validate_text(&text, wide);
                kinds.insert(what);
            }
        }
    }
    assert!(kinds.len() > 600, "{}", kinds.len());
}

#[test]
fn rows_are_accepted() {
    let mut count = 0;
    for &op in Op::ALL {
        for dtype in DType::ALL {
            let dtypes = match op.row().signature {
                Signature::Select => vec![DType::Bool, dtype, dtype],
                Signature::Logic => vec![DType::Bool; op.arity()],
                _ => vec![dtype; op.arity()],
            };
            let mut program = Program::new(&dtypes);
            let slots: Vec<Slot> = (0..dtypes.len() as Slot).collect();
            let result = program.apply(op, &slots);
            program.output(result);
            if program.is_valid() {
                validate(&program);
                count += 1;
            }
        }
    }
    assert!(count > 800, "{count}");
}

#[test]
fn casts_are_accepted() {
    for from in DType::ALL {
        for to in DType::ALL {
            if from.is_complex() && !(to.is_complex() || to == DType::Bool) {
                continue;
            }
            let mut program = Program::new(&[from]);
            let result = program.convert(0, to);
            program.output(result);
            validate(&program);
        }
    }
}
