//! Short programs over contiguous inputs, sixteen bytes at a time: a thread reads and writes whole
//! vectors of words, which is what memory gives fastest.

use std::fmt::Write;

use allotrope_op::wgsl::{Function, WideIntegers, print_module_with};

use super::{header, packed};
use crate::codec::{Cell, constant, constant_len, number};
use crate::lower::Lowered;
use crate::pipeline::Shader;

/// Statements that are written out for all elements of a thread, at most.
const MOST_STATEMENTS: usize = 400;
/// Vectors that a thread reads of one input, at most.
const MOST_VECTORS: usize = 4;
/// Threads of a group. They have little to do, and share what a group costs.
pub(crate) const GROUP: usize = 128;

const PARTS: [&str; 4] = ["x", "y", "z", "w"];

/// How an input of such a program is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Walk {
    /// One element for all.
    Scalar,
    /// One after the other, from a vector on.
    Contiguous,
}

/// Elements that a thread makes; nothing where a program does better with one at a time.
pub(crate) fn elements(lowered: &Lowered, walks: &[Walk]) -> Option<usize> {
    let program = &lowered.program;
    let inputs = program.input_dtypes().iter().zip(walks);
    let inputs = inputs.filter(|(_, walk)| **walk == Walk::Contiguous);
    let sizes = inputs.map(|(dtype, _)| dtype.itemsize());
    let sizes = sizes.chain(program.output_dtypes().map(|dtype| dtype.itemsize()));
    // bounded: the inputs and outputs of a program.
    let sizes: Vec<usize> = sizes.collect();
    let (least, most) = (*sizes.iter().min()?, *sizes.iter().max()?);
    let elements = 16 / least;
    let is_short = elements * program.steps().len() <= MOST_STATEMENTS;
    (elements * most / 16 <= MOST_VECTORS && is_short).then_some(elements)
}

/// The bits of element `e` in vectors that are called by a name and their number.
fn bits(name: &str, size: usize, e: usize) -> String {
    let byte = e * size;
    let vector = format!("{name}_{}", byte / 16);
    let part = PARTS[byte % 16 / 4];
    match size {
        1 => format!("(({vector}.{part} >> {}u) & 0xffu)", byte % 4 * 8),
        2 => format!("(({vector}.{part} >> {}u) & 0xffffu)", byte % 4 * 8),
        4 => format!("{vector}.{part}"),
        8 if byte.is_multiple_of(16) => format!("{vector}.xy"),
        8 => format!("{vector}.zw"),
        _ => vector,
    }
}

/// The shader of a program whose inputs are walked so, each in its own buffer number; nothing if the
/// program is too long to write out.
pub(crate) fn shader(
    lowered: &Lowered,
    walks: &[Walk],
    buffers: &[usize],
    reads: &[Walk],
    elements: usize,
    integers: WideIntegers,
) -> Option<Shader> {
    let program = &lowered.program;
    let function = Function::of_program(program)?;
    let packed = packed::size(program);
    if packed.is_none() && function.len() * elements > MOST_STATEMENTS {
        return None;
    }
    let outputs: Vec<Cell> = program.output_dtypes().map(Cell::Of).collect();
    let first = header(outputs.len());
    let mut next = first + walks.len();
    let mut constants = Vec::new();
    for scalar in &lowered.constants {
        constants.push(constant(scalar.dtype(), next, integers));
        next += constant_len(scalar.dtype());
    }
    let mut text = format!(
        "@group(0) @binding(0) var<uniform> P: array<vec4<u32>, {}>;\n",
        next.div_ceil(4)
    );
    for (k, walk) in reads.iter().enumerate() {
        let kind = match walk {
            Walk::Scalar => "u32",
            Walk::Contiguous => "vec4<u32>",
        };
        let binding = k + 1;
        writeln!(
            text,
            "@group(0) @binding({binding}) var<storage, read> in{k}: array<{kind}>;"
        )
        .ok();
    }
    for k in 0..outputs.len() {
        let binding = reads.len() + k + 1;
        writeln!(
            text,
            "@group(0) @binding({binding}) var<storage, read_write> out{k}: array<vec4<u32>>;"
        )
        .ok();
    }
    if packed.is_none() {
        text += &print_module_with(integers, [("program", &function)]);
    }
    write!(
        text,
        "@compute @workgroup_size({GROUP})\n\
         fn main(@builtin(global_invocation_id) id: vec3<u32>) {{\n    \
         let thread = id.x + id.y * {};\n    \
         if (thread * {elements}u >= {}) {{ return; }}\n",
        number(2),
        number(0)
    )
    .ok();
    let dtypes = program.input_dtypes();
    for (k, ((walk, buffer), dtype)) in walks.iter().zip(buffers).zip(dtypes).enumerate() {
        let offset = number(first + k);
        match walk {
            Walk::Scalar => {
                writeln!(text, "    let p{k} = {offset};").ok();
                let load =
                    Cell::Of(*dtype).load(&format!("in{buffer}"), &format!("p{k}"), integers);
                writeln!(text, "    let s{k} = {load};").ok();
            }
            Walk::Contiguous => {
                let vectors = elements * dtype.itemsize() / 16;
                for j in 0..vectors {
                    let place = format!("{offset} + thread * {vectors}u + {j}u");
                    writeln!(text, "    let a{k}_{j} = in{buffer}[{place}];").ok();
                }
            }
        }
    }
    if let Some(size) = packed {
        let mut inputs = Vec::new();
        for (k, (walk, dtype)) in walks.iter().zip(dtypes).enumerate() {
            inputs.push(match walk {
                Walk::Contiguous => format!("a{k}_0"),
                Walk::Scalar => {
                    let code = Cell::Of(*dtype).encode(&format!("s{k}"), integers);
                    packed::splat(&code, size)
                }
            });
        }
        for (value, scalar) in constants.iter().zip(&lowered.constants) {
            let code = Cell::Of(scalar.dtype()).encode(value, integers);
            inputs.push(packed::splat(&code, size));
        }
        let (lines, results) = packed::lines(program, size, &inputs)?;
        text += &lines;
        for (k, result) in results.iter().enumerate() {
            writeln!(text, "    out{k}[{} + thread] = {result};", number(3 + k)).ok();
        }
        text += "}\n";
        return Some(Shader {
            text,
            reads: reads.len(),
            writes: outputs.len(),
        });
    }
    for e in 0..elements {
        let mut arguments: Vec<String> = Vec::new();
        for (k, (walk, dtype)) in walks.iter().zip(dtypes).enumerate() {
            arguments.push(match walk {
                Walk::Scalar => format!("s{k}"),
                Walk::Contiguous => {
                    let words = bits(&format!("a{k}"), dtype.itemsize(), e);
                    Cell::Of(*dtype).decode(&words, integers)
                }
            });
        }
        arguments.extend(constants.iter().cloned());
        let arguments = arguments.join(", ");
        writeln!(text, "    let v{e} = program({arguments});").ok();
    }
    for (k, cell) in outputs.iter().enumerate() {
        let size = cell.size();
        let value = |e: usize| match outputs.len() {
            1 => format!("v{e}"),
            _ => format!("v{e}.r{k}"),
        };
        let vectors = elements * size / 16;
        let per_vector = 16 / size;
        for j in 0..vectors {
            let codes = (0..per_vector).map(|e| cell.encode(&value(j * per_vector + e), integers));
            let codes: Vec<String> = codes.collect();
            let words: Vec<String> = match size {
                1 | 2 => codes
                    .chunks(4 / size)
                    .map(|codes| {
                        let shifted = codes.iter().enumerate();
                        let shifted = shifted.map(|(i, c)| format!("({c} << {}u)", i * size * 8));
                        shifted.collect::<Vec<String>>().join(" | ")
                    })
                    .collect(),
                _ => codes,
            };
            let place = format!("{} + thread * {vectors}u + {j}u", number(3 + k));
            let words = words.join(", ");
            writeln!(text, "    out{k}[{place}] = vec4<u32>({words});").ok();
        }
    }
    text += "}\n";
    Some(Shader {
        text,
        reads: reads.len(),
        writes: outputs.len(),
    })
}
