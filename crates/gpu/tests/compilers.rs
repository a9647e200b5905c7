//! Shaders are accepted by compilers that are not naga, where their commands are installed: `tint`, the
//! browsers' other front end, takes the text; `spirv-val` the strict SPIR-V. No device is needed.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use allotrope_dtype::DType;
use allotrope_gpu::{shaders, spirv};
use allotrope_op::{Op, Program, Signature, Slot};

/// The rows in these dtypes.
fn programs(dtypes: &[DType]) -> Vec<Program> {
    let mut programs = Vec::new();
    for &op in Op::ALL {
        for &dtype in dtypes {
            let inputs = match op.row().signature {
                Signature::Select => vec![DType::Bool, dtype, dtype],
                Signature::Logic => vec![DType::Bool; op.arity()],
                _ => vec![dtype; op.arity()],
            };
            let mut program = Program::new(&inputs);
            let slots: Vec<Slot> = (0..inputs.len() as Slot).collect();
            let result = program.apply(op, &slots);
            program.output(result);
            if program.is_valid() {
                programs.push(program);
            }
        }
    }
    programs
}

/// A folder of its own, if the command is there.
fn folder(command: &str) -> Option<PathBuf> {
    if Command::new(command).arg("--help").output().is_err() {
        eprintln!("skipped: no {command}");
        return None;
    }
    let folder = std::env::temp_dir().join(format!("allotrope-{command}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    Some(folder)
}

/// Fails if the command does not accept a file.
fn check(command: &str, arguments: &[&str], file: &Path, text: &str) {
    let done = Command::new(command).args(arguments).arg(file).output();
    let done = done.unwrap();
    let said = [done.stdout, done.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(done.status.success(), "{command}: {said}\n{text}");
}

#[test]
fn tint_accepts_the_texts() {
    let Some(folder) = folder("tint") else {
        return;
    };
    // float64 and int64 are not in the language: those devices have them as pairs of words.
    let (file, made) = (folder.join("shader.wgsl"), folder.join("made.wgsl"));
    let made = made.to_string_lossy();
    let arguments = ["--format", "wgsl", "-o", &made];
    for program in programs(&DType::ALL) {
        for text in shaders(&program, false).unwrap() {
            std::fs::write(&file, &text).unwrap();
            check("tint", &arguments, &file, &text);
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn spirv_val_accepts_the_strict_ones() {
    let Some(folder) = folder("spirv-val") else {
        return;
    };
    let file = folder.join("shader.spv");
    let dtypes = [
        DType::F32,
        DType::F64,
        DType::I64,
        DType::F16,
        DType::BF16,
        DType::C64,
    ];
    for program in programs(&dtypes) {
        for wide in [true, false] {
            for text in shaders(&program, wide).unwrap() {
                let words = spirv(&text, wide).unwrap_or_else(|error| panic!("{error}\n{text}"));
                std::fs::write(&file, bytemuck::cast_slice(&words)).unwrap();
                let target = ["--target-env", "vulkan1.2"];
                check("spirv-val", &target, &file, &text);
            }
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}
