//! Shaders whose arithmetic the driver's compiler is told to leave alone: naga's SPIR-V, with what
//! WGSL has no words for.
//!
//! | added | what it forbids |
//! |---|---|
//! | `NoContraction` on every float operation | products and sums in one rounding, other orders |
//! | `SignedZeroInfNanPreserve` | that there are no NaN, no infinities, one zero |
//! | `DenormPreserve` | that subnormal numbers are zero |
//! | `RoundingModeRTE` | other roundings than to nearest |
//! | `FUnordNotEqual` for naga's `FOrdNotEqual` | that NaN equals NaN |

use std::collections::BTreeSet;

use naga::back::pipeline_constants::process_overrides;
use naga::back::spv;
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{Capabilities, ValidationFlags, Validator};

use crate::pipeline::Shader;

/// How a driver lets floats be controlled: float32 and float64 each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Controls {
    /// NaN, infinities and both zeros can be kept.
    pub(crate) preserve: [bool; 2],
    /// Subnormal numbers can be kept.
    pub(crate) subnormals: [bool; 2],
    /// Rounding to nearest can be asked for.
    pub(crate) nearest: [bool; 2],
    /// Subnormal numbers may be kept in one width and not in the other.
    pub(crate) subnormals_apart: bool,
    /// The same for rounding.
    pub(crate) nearest_apart: bool,
}

/// SPIR-V that naga wrote of a module that it validated, for the bindings of a shader.
#[derive(Debug)]
pub(crate) struct Words(Vec<u32>);

impl Words {
    /// The words.
    pub(crate) fn get(&self) -> &[u32] {
        &self.0
    }
}

/// A shader in SPIR-V, as strict as the driver can be told, for a device that may have float64, int64
/// and conversions of float16.
pub(crate) fn compile(
    shader: &Shader,
    controls: Controls,
    [float64, int64]: [bool; 2],
    halves: bool,
) -> Result<Words, String> {
    let text = &shader.text;
    let module = naga::front::wgsl::parse_str(text).map_err(|error| error.emit_to_string(text))?;
    let mut capabilities = Capabilities::SHADER_FLOAT16_IN_FLOAT32;
    capabilities.set(Capabilities::FLOAT64, float64);
    capabilities.set(Capabilities::SHADER_INT64, int64);
    let mut validator = Validator::new(ValidationFlags::all(), capabilities);
    let info = validator.validate(&module);
    let info = info.map_err(|error| error.emit_to_string(text))?;
    check_bindings(&module, shader)?;
    let options = spv::Options {
        lang_version: (1, 3),
        flags: spv::WriterFlags::empty(),
        bounds_check_policies: BoundsCheckPolicies {
            index: BoundsCheckPolicy::Restrict,
            buffer: BoundsCheckPolicy::Restrict,
            image_load: BoundsCheckPolicy::Restrict,
            binding_array: BoundsCheckPolicy::Restrict,
        },
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::None,
        ..Default::default()
    };
    let entry = spv::PipelineOptions {
        shader_stage: naga::ShaderStage::Compute,
        entry_point: "main".to_owned(),
    };
    let constants = shader.constants(halves);
    let constants = constants.map(|(name, value)| (name.to_owned(), value));
    let constants = constants.into_iter().collect();
    let made = process_overrides(&module, &info, None, &constants);
    let (module, info) = made.map_err(|error| error.to_string())?;
    let words = spv::write_vec(&module, &info, &options, Some(&entry));
    let words = words.map_err(|error| error.to_string())?;
    Ok(Words(restrict(&words, controls)))
}

/// The SPIR-V of a text that binds what it declares, for a driver that can be told everything: what a
/// check without a device validates.
///
/// # Errors
/// Why naga refuses the text.
#[doc(hidden)]
pub fn spirv(text: &str, wide: bool) -> Result<Vec<u32>, String> {
    let shader = Shader {
        text: text.to_owned(),
        reads: text.matches("var<storage, read>").count(),
        writes: text.matches("var<storage, read_write>").count(),
    };
    let all = Controls {
        preserve: [true; 2],
        subnormals: [true; 2],
        nearest: [true; 2],
        subnormals_apart: true,
        nearest_apart: true,
    };
    compile(&shader, all, [wide; 2], wide).map(|words| words.0)
}

/// An error unless the module's buffers are those that the layout has: no one else looks.
fn check_bindings(module: &naga::Module, shader: &Shader) -> Result<(), String> {
    for (_, variable) in module.global_variables.iter() {
        let Some(binding) = &variable.binding else {
            continue;
        };
        let place = binding.binding as usize;
        let is_there = binding.group == 0 && place <= shader.reads + shader.writes;
        let is_right = match variable.space {
            naga::AddressSpace::Uniform => place == 0,
            naga::AddressSpace::Storage { access } => {
                let writes = access.contains(naga::StorageAccess::STORE);
                place > 0 && writes == (place > shader.reads)
            }
            _ => false,
        };
        if !is_there || !is_right {
            return Err(format!("binding {place} is not as the layout has it"));
        }
    }
    Ok(())
}

/// Instructions by their numbers in the specification of SPIR-V.
mod code {
    pub(super) const EXTENSION: u32 = 10;
    pub(super) const ENTRY_POINT: u32 = 15;
    pub(super) const EXECUTION_MODE: u32 = 16;
    pub(super) const CAPABILITY: u32 = 17;
    pub(super) const TYPE_FLOAT: u32 = 22;
    pub(super) const DECORATE: u32 = 71;
    pub(super) const ORDERED_NOT_EQUAL: u32 = 182;
    pub(super) const UNORDERED_NOT_EQUAL: u32 = 183;
    pub(super) const EXECUTION_MODE_ID: u32 = 331;
    pub(super) const NO_CONTRACTION: u32 = 42;
    /// Negation, sum, difference, product, quotient, remainders, products of vectors and matrices.
    pub(super) const ARITHMETIC: [u32; 14] = [
        127, 129, 131, 133, 136, 140, 141, 142, 143, 144, 145, 146, 147, 148,
    ];
    /// Debug information, extensions, and whatever else comes before types.
    pub(super) const BEFORE_TYPES: [u32; 22] = [
        0, 2, 3, 4, 5, 6, 7, 8, 10, 11, 14, 15, 16, 17, 71, 72, 73, 74, 75, 330, 331, 332,
    ];
}

/// One of the modes: its capability, its number, and the widths that can have it.
type Mode = (u32, u32, [bool; 2]);

/// The modes for a module that has floats of these widths.
fn modes(controls: Controls, has: [bool; 2]) -> Vec<(Mode, u32)> {
    // Where one width cannot be told apart from the other, all that there are must be able to.
    let together = |can: [bool; 2], apart: bool| {
        let all = (0..2).all(|k| can[k] || !has[k]);
        can.map(|can| can && (apart || all))
    };
    let nearest = together(controls.nearest, controls.nearest_apart);
    let subnormals = together(controls.subnormals, controls.subnormals_apart);
    let all: [Mode; 3] = [
        (4464, 4459, subnormals),
        (4466, 4461, controls.preserve),
        (4467, 4462, nearest),
    ];
    let mut modes = Vec::new();
    for mode in all {
        for (k, width) in [32, 64].into_iter().enumerate() {
            if has[k] && mode.2[k] {
                modes.push((mode, width));
            }
        }
    }
    modes
}

/// The instructions of a module: their codes and their words.
fn instructions(words: &[u32]) -> impl Iterator<Item = (u32, &[u32])> {
    let mut rest = words.get(5..).unwrap_or_default();
    std::iter::from_fn(move || {
        let first = *rest.first()?;
        let (instruction, others) = rest.split_at_checked((first >> 16).max(1) as usize)?;
        rest = others;
        Some((first & 0xffff, instruction))
    })
}

/// The module with what keeps its arithmetic as it is written.
fn restrict(words: &[u32], controls: Controls) -> Vec<u32> {
    let word = |code: u32, count: u32| code | count << 16;
    let mut has = [false; 2];
    let mut entry = 0;
    let mut decorations = Vec::new();
    for (code, instruction) in instructions(words) {
        match (code, instruction) {
            (code::TYPE_FLOAT, [_, _, 32, ..]) => has[0] = true,
            (code::TYPE_FLOAT, [_, _, 64, ..]) => has[1] = true,
            (code::ENTRY_POINT, [_, _, id, ..]) => entry = *id,
            (code, [_, _, id, ..]) if code::ARITHMETIC.contains(&code) => {
                decorations.extend([word(code::DECORATE, 3), *id, code::NO_CONTRACTION]);
            }
            _ => (),
        }
    }
    let modes = modes(controls, has);
    let mut before = Vec::new();
    let capabilities: BTreeSet<u32> = modes.iter().map(|((needed, ..), _)| *needed).collect();
    for capability in capabilities {
        before.extend([word(code::CAPABILITY, 2), capability]);
    }
    if !modes.is_empty() {
        before.push(word(code::EXTENSION, 7));
        let name = b"SPV_KHR_float_controls\0\0".as_chunks::<4>().0;
        before.extend(name.iter().map(|four| u32::from_le_bytes(*four)));
    }
    let mut executions = Vec::new();
    for ((_, mode, _), width) in modes {
        executions.extend([word(code::EXECUTION_MODE, 4), entry, mode, width]);
    }
    let mut made = words.get(..5).unwrap_or_default().to_vec();
    let (mut before, mut executions) = (Some(before), Some(executions));
    let mut decorations = Some(decorations);
    let mut is_past_entry = false;
    for (code, instruction) in instructions(words) {
        let is_capability = code == code::CAPABILITY;
        made.extend(before.take_if(|_| !is_capability).into_iter().flatten());
        let is_entry = matches!(
            code,
            code::ENTRY_POINT | code::EXECUTION_MODE | code::EXECUTION_MODE_ID
        );
        let is_after = is_past_entry && !is_entry;
        made.extend(executions.take_if(|_| is_after).into_iter().flatten());
        is_past_entry |= is_entry;
        let is_type = !code::BEFORE_TYPES.contains(&code);
        made.extend(decorations.take_if(|_| is_type).into_iter().flatten());
        if let (code::ORDERED_NOT_EQUAL, [first, rest @ ..]) = (code, instruction) {
            made.push(first - code::ORDERED_NOT_EQUAL + code::UNORDERED_NOT_EQUAL);
            made.extend_from_slice(rest);
        } else {
            made.extend_from_slice(instruction);
        }
    }
    made
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    const TEXT: &str = "\
        @group(0) @binding(0) var<uniform> P: array<vec4<u32>, 1>;\n\
        @group(0) @binding(1) var<storage, read> in0: array<f32>;\n\
        @group(0) @binding(2) var<storage, read_write> out0: array<f32>;\n\
        @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {\n\
        let a = in0[id.x]; if (a != a) { out0[id.x] = (a + 1.0) * a - a; } }";

    fn shader(reads: usize) -> Shader {
        Shader {
            text: TEXT.to_owned(),
            reads,
            writes: 1,
        }
    }

    #[test]
    fn every_operation_is_decorated() {
        let all = Controls {
            preserve: [true; 2],
            subnormals: [true; 2],
            nearest: [true; 2],
            ..Controls::default()
        };
        let made = compile(&shader(1), all, [false; 2], false).unwrap();
        let codes: Vec<u32> = instructions(made.get()).map(|(code, _)| code).collect();
        let count = |wanted: u32| codes.iter().filter(|code| **code == wanted).count();
        assert_eq!(count(code::ORDERED_NOT_EQUAL), 0);
        assert_eq!(count(code::UNORDERED_NOT_EQUAL), 1);
        assert_eq!(count(code::EXECUTION_MODE), 4);
        let decorated = instructions(made.get())
            .filter(|(_, words)| words.get(2) == Some(&code::NO_CONTRACTION) && words.len() == 3);
        assert_eq!(decorated.count(), 3);
        // In the order that the specification asks for.
        let first = |wanted: u32| codes.iter().position(|code| *code == wanted).unwrap();
        assert!(first(code::CAPABILITY) < first(code::EXTENSION));
        assert!(first(code::EXTENSION) < first(code::ENTRY_POINT));
        assert!(first(code::EXECUTION_MODE) < first(code::DECORATE));
        let last = codes.iter().rposition(|code| *code == code::DECORATE);
        assert!(last.unwrap() < first(code::TYPE_FLOAT));
        // Nothing that the driver does not have.
        let made = compile(&shader(1), Controls::default(), [false; 2], false).unwrap();
        let codes: Vec<u32> = instructions(made.get()).map(|(code, _)| code).collect();
        assert!(!codes.contains(&code::EXTENSION) || codes.len() > 1);
        let modes = codes.iter().filter(|c| **c == code::EXECUTION_MODE);
        assert_eq!(modes.count(), 1);
    }

    #[test]
    fn widths_that_hang_together() {
        let narrow = Controls {
            nearest: [true, false],
            preserve: [true, false],
            ..Controls::default()
        };
        assert_eq!(modes(narrow, [true, false]).len(), 2);
        assert_eq!(modes(narrow, [true, true]).len(), 1);
        let apart = Controls {
            nearest_apart: true,
            ..narrow
        };
        assert_eq!(modes(apart, [true, true]).len(), 2);
    }

    #[test]
    fn bindings_are_those_of_the_layout() {
        assert!(compile(&shader(0), Controls::default(), [false; 2], false).is_err());
        assert!(compile(&shader(2), Controls::default(), [false; 2], false).is_err());
    }
}
