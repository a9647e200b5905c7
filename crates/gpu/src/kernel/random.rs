//! Draws with the CPU's bits: the same words of Philox 4x32-10 for each element, and the same
//! arithmetic, in which no multiply-add is fused.

use std::fmt::Write;

use allotrope_dtype::{DType, Error, Scalar};
use allotrope_op::elementary::Elementary;
use allotrope_op::wgsl::{Expression, Float, Function, WideIntegers, print_module_with};
use allotrope_op::{Draw, Stream, Target};

use super::{Window, header};
use crate::codec::{Cell, number};
use crate::device::Gpu;

/// The words of the generator. The numbers before those of a draw are the key and the first block.
fn words() -> String {
    let [seed, seed_high, block, block_high] = [0, 1, 2, 3].map(|k| number(header(1) + k));
    format!(
        "fn product(a: u32, b: u32) -> vec2<u32> {{
    let a0 = a & 0xffffu;
    let a1 = a >> 16u;
    let b0 = b & 0xffffu;
    let b1 = b >> 16u;
    let low = a0 * b0;
    let middle = a1 * b0 + (low >> 16u);
    let other = a0 * b1 + (middle & 0xffffu);
    return vec2<u32>((other << 16u) | (low & 0xffffu), a1 * b1 + (middle >> 16u) + (other >> 16u));
}}
fn random(i: u32, lane: u32) -> u32 {{
    let low = {block} + (i >> 2u);
    var c = vec4<u32>(low, {block_high} + u32(low < {block}), lane, 1u);
    var k = vec2<u32>({seed}, {seed_high});
    for (var round = 0u; round < 10u; round++) {{
        let p = product(0xD2511F53u, c.x);
        let q = product(0xCD9E8D57u, c.z);
        c = vec4<u32>(q.y ^ c.y ^ k.x, q.x, p.y ^ c.w ^ k.y, p.x);
        k += vec2<u32>(0x9E3779B9u, 0xBB67AE85u);
    }}
    return c[i & 3u];
}}
"
    )
}

/// Functions of the float that numbers, or parts of them, are drawn in.
struct Part {
    float: &'static str,
    word: &'static str,
    /// How a float is kept from the algebra of compilers.
    keep: &'static str,
    is_wide: bool,
}

const SINGLE: Part = Part {
    float: "f32",
    word: "u32",
    keep: "bitcast<f32>(min(bitcast<u32>(x), 0xfffffffeu))",
    is_wide: false,
};

const DOUBLE: Part = Part {
    float: "f64",
    word: "u64",
    keep: "bitcast<f64>(min(bitcast<u64>(x), 0xfffffffffffffffelu))",
    is_wide: true,
};

/// The part of a number of a dtype that the device stores.
fn part_of(dtype: DType) -> Part {
    match dtype.compute() {
        DType::F64 | DType::C128 => DOUBLE,
        _ => SINGLE,
    }
}

impl Part {
    /// `bits`: the random bits of an element in a lane; `keep`; `fraction`: the upper bits as a
    /// fraction below one; `told`: a number that the dispatch is told, by its place.
    fn text(&self) -> String {
        let Self {
            float, word, keep, ..
        } = self;
        let (bits, fraction) = if self.is_wide {
            (
                "(u64(random(i, lane)) << 32u) | u64(random(i, lane + 2u))",
                "f64(bits >> 11u) * bitcast<f64>(0x3ca0000000000000lu)",
            )
        } else {
            (
                "random(i, lane)",
                "f32(bits >> 8u) * bitcast<f32>(0x33800000u)",
            )
        };
        format!(
            "fn keep(x: {float}) -> {float} {{ return {keep}; }}\n\
             fn bits_of(i: u32, lane: u32) -> {word} {{ return {bits}; }}\n\
             fn fraction(bits: {word}) -> {float} {{ return {fraction}; }}\n"
        )
    }

    /// A number that the dispatch is told, the `k`-th.
    fn told(&self, k: usize) -> String {
        let first = header(1) + 4;
        if self.is_wide {
            let (low, high) = (number(first + 2 * k), number(first + 2 * k + 1));
            format!("bitcast<f64>(u64({low}) | (u64({high}) << 32u))")
        } else {
            format!("bitcast<f32>({})", number(first + k))
        }
    }

    /// The words of such numbers.
    fn words(&self, numbers: &[f64]) -> Vec<u32> {
        let words = |x: &f64| {
            if self.is_wide {
                let bits = x.to_bits();
                vec![bits as u32, (bits >> 32) as u32]
            } else {
                vec![(*x as f32).to_bits()]
            }
        };
        numbers.iter().flat_map(words).collect()
    }
}

/// The functions `ln`, `sine` and `cosine`, nothing in them fused.
fn angles<T: Float>() -> Option<Vec<(&'static str, Function)>>
where
    Expression<T>: Elementary,
    [Expression<T>; 1]: allotrope_op::wgsl::Arguments,
{
    Some(vec![
        (
            "ln",
            Function::record(|[x]: [Expression<T>; 1]| x.log()).unfused()?,
        ),
        (
            "sine",
            Function::record(|[x]: [Expression<T>; 1]| x.sin_near()).unfused()?,
        ),
        (
            "cosine",
            Function::record(|[x]: [Expression<T>; 1]| x.cos_near()).unfused()?,
        ),
    ])
}

/// The text of `value` for numbers between two bounds: low, the width and the last below the upper.
pub(crate) fn uniform(dtype: DType, integers: WideIntegers) -> Option<String> {
    let part = part_of(dtype);
    let [low, width, last] = [0, 1, 2].map(|k| part.told(k));
    let mut text = words() + &part.text();
    let float = part.float;
    write!(
        text,
        "fn between(i: u32, lane: u32) -> {float} {{\n    \
         let x = keep(keep(fraction(bits_of(i, lane)) * {width}) + {low});\n    \
         return select(x, {last}, x > {last});\n}}\n"
    )
    .ok();
    let name = Cell::Of(dtype).type_name(integers);
    let body = if dtype.is_complex() {
        format!("{name}(between(i, 0u), between(i, 1u))")
    } else if dtype.compute() == dtype {
        "between(i, 0u)".to_owned()
    } else {
        text += &floor_text(dtype)?;
        let encode = Function::of_cast(DType::F32, dtype)?;
        text = print_module_with(integers, [("encode", &encode)]) + &text;
        "encode(floored(between(i, 0u)))".to_owned()
    };
    writeln!(text, "fn value(i: u32) -> {name} {{ return {body}; }}").ok();
    Some(text)
}

/// The function `floored`: the largest number of a narrow float that is not above a float32.
fn floor_text(dtype: DType) -> Option<String> {
    let format = dtype.format()?;
    let dropped = (1_u32 << 23_u32.saturating_sub(format.mantissa_bits)) - 1;
    let power = |exponent: i32| format!("bitcast<f32>({:#x}u)", ((exponent + 127) as u32) << 23);
    let subnormal = if format.exponent_bits >= 8 {
        // With the exponents of float32, subnormals drop the same digits as all others.
        String::new()
    } else {
        let exponent = format.quantum_exponent();
        let (least, quantum, per) = (
            power(format.min_exponent()),
            power(exponent),
            power(-exponent),
        );
        format!(
            "    let steps = keep(x * {per});\n    \
             let near = keep(keep(steps + 12582912.0f) - 12582912.0f);\n    \
             let whole = select(near, near - 1.0f, near > steps);\n    \
             if (abs(x) < {least}) {{ return whole * {quantum}; }}\n"
        )
    };
    Some(format!(
        "fn floored(x: f32) -> f32 {{\n{subnormal}    \
         let bits = bitcast<u32>(x);\n    \
         let up = select(0u, {dropped}u, bits >= 0x80000000u);\n    \
         return bitcast<f32>((bits + up) & ~{dropped}u);\n}}\n"
    ))
}

/// The text of `value` for normal numbers: mean and deviation, by Box and Muller.
pub(crate) fn normal(dtype: DType, integers: WideIntegers) -> Option<String> {
    let part = part_of(dtype);
    let Part { float, word, .. } = part;
    let [mean, deviation] = [0, 1].map(|k| part.told(k));
    let mut functions = if part.is_wide {
        angles::<f64>()?
    } else {
        angles::<f32>()?
    };
    let narrow = dtype.compute() != dtype;
    if narrow {
        functions.push(("encode", Function::of_cast(DType::F32, dtype)?));
    }
    let functions: Vec<(&str, &Function)> = functions.iter().map(|(n, f)| (*n, f)).collect();
    let mut text = print_module_with(integers, functions) + &words() + &part.text();
    let (fraction, angle) = if part.is_wide {
        let half_turn = std::f64::consts::PI / (1_u64 << 52) as f64;
        (
            "keep(f64(radius) * bitcast<f64>(0x3bf0000000000000lu)) + bitcast<f64>(0x3be0000000000000lu)".to_owned(),
            format!(
                "f64(bitcast<i64>(angle) >> 11u) * bitcast<f64>({:#x}lu)",
                half_turn.to_bits()
            ),
        )
    } else {
        let half_turn = std::f32::consts::PI / (1_u32 << 23) as f32;
        (
            "keep(nearest(radius) * bitcast<f32>(0x2f800000u)) + bitcast<f32>(0x2f000000u)"
                .to_owned(),
            format!(
                "f32(bitcast<i32>(angle) >> 8u) * bitcast<f32>({:#x}u)",
                half_turn.to_bits()
            ),
        )
    };
    let scale = if dtype.is_complex() { "-1.0" } else { "-2.0" };
    let suffix = if part.is_wide { "lf" } else { "f" };
    write!(
        text,
        "fn nearest(x: u32) -> f32 {{
    let zeros = countLeadingZeros(x);
    let top = x << (zeros & 31u);
    let dropped = top & 0xffu;
    let kept = top >> 8u;
    let up = u32(dropped > 128u || (dropped == 128u && (kept & 1u) == 1u));
    return select(bitcast<f32>(kept + up + ((157u - zeros) << 23u)), 0.0f, x == 0u);
}}
fn pair(radius: {word}, angle: {word}) -> vec2<{float}> {{
    let u = keep({fraction});
    let size = keep(sqrt(keep(ln(u) * ({scale}{suffix}))));
    let turn = keep({angle});
    return vec2<{float}>(keep(size * cosine(turn)), keep(size * sine(turn)));
}}
"
    )
    .ok();
    let name = Cell::Of(dtype).type_name(integers);
    let scaled = |x: &str| format!("keep({x} * {deviation})");
    if dtype.is_complex() {
        write!(
            text,
            "fn value(i: u32) -> {name} {{\n    \
             let p = pair(bits_of(i, 0u), bits_of(i, 1u));\n    \
             return {name}({} + {mean}, {});\n}}\n",
            scaled("p.x"),
            scaled("p.y")
        )
        .ok();
    } else {
        let x = format!("keep({} + {mean})", scaled("x"));
        let result = if narrow { format!("encode({x})") } else { x };
        write!(
            text,
            "fn value(i: u32) -> {name} {{\n    \
             let p = pair(bits_of(i & ~1u, 0u), bits_of(i | 1u, 0u));\n    \
             let x = select(p.x, p.y, (i & 1u) == 1u);\n    \
             return {result};\n}}\n"
        )
        .ok();
    }
    Some(text)
}

/// The text of `value` for integers: the first, how many, and whether they are all of 64 bits.
pub(crate) fn integer(dtype: DType, integers: WideIntegers) -> Option<String> {
    let first = header(1) + 4;
    let [low, low_high, count, count_high, is_all] = [0, 1, 2, 3, 4].map(|k| number(first + k));
    let cast = Function::of_cast(DType::I64, dtype)?;
    let mut text = print_module_with(integers, [("encode", &cast)]) + &words();
    let name = Cell::Of(dtype).type_name(integers);
    let join = Cell::Of(DType::I64).decode("sum", integers);
    write!(
        text,
        "fn upper_half(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {{
    let low = product(a.x, b.x);
    let left = product(a.x, b.y);
    let right = product(a.y, b.x);
    let high = product(a.y, b.y);
    let middle = low.y + left.x;
    let carry = u32(middle < low.y);
    let second = middle + right.x;
    let more = carry + u32(second < middle);
    let x = high.x + left.y;
    let c0 = u32(x < high.x);
    let y = x + right.y;
    let c1 = u32(y < x);
    let z = y + more;
    let c2 = u32(z < y);
    return vec2<u32>(z, high.y + c0 + c1 + c2);
}}
fn value(i: u32) -> {name} {{
    let bits = vec2<u32>(random(i, 2u), random(i, 0u));
    let found = select(upper_half(bits, vec2<u32>({count}, {count_high})), bits, {is_all} != 0u);
    let x = found.x + {low};
    let sum = vec2<u32>(x, found.y + {low_high} + u32(x < found.x));
    return encode({join});
}}
"
    )
    .ok();
    Some(text)
}

/// The text of `value` for ones of a probability: the limit, whether it is certain, and a one.
pub(crate) fn trial(cell: Cell) -> String {
    let first = header(1) + 4;
    let [low, high, is_certain] = [0, 1, 2].map(|k| number(first + k));
    let name = cell.type_name(WideIntegers::Pairs);
    let one: Vec<String> = (0..cell.size().div_ceil(4))
        .map(|k| number(first + 3 + k))
        .collect();
    let one = one.join(", ");
    format!(
        "{}fn value(i: u32) -> {name} {{\n    \
         let bits = random(i, 0u);\n    \
         var is_one = bits < {high} || {is_certain} != 0u;\n    \
         if (bits == {high} && {low} > 0u) {{ is_one = is_one || random(i, 2u) < {low}; }}\n    \
         return select({name}(), {name}({one}), is_one);\n}}\n",
        words()
    )
}

impl Gpu {
    /// Fills a target with random numbers; whether the device has the bits of the CPU for them, and may
    /// see the target.
    pub(crate) fn draw_numbers(
        &'static self,
        op: &'static str,
        dtype: DType,
        draw: Draw,
        stream: Stream,
        target: &Target<'_>,
    ) -> Result<bool, Error> {
        let block = self.own(op, &*target.memory)?;
        let stored = self.capabilities.storage(dtype);
        let (seed, offset) = (stream.seed, stream.offset);
        let halves = |word: u64| [word as u32, (word >> 32) as u32];
        let mut numbers = [halves(seed), halves(offset)].concat();
        let part = part_of(stored);
        let integers = self.integers;
        let mut cell = Cell::Of(stored);
        let (key, text): (&str, Box<dyn FnOnce() -> Option<String>>) = match draw {
            Draw::Uniform(low, high) => {
                let bounds = if part.is_wide {
                    let last = if low < high { high.next_down() } else { high };
                    [low, high - low, last]
                } else {
                    let (low, high) = (low as f32, high as f32);
                    let last = if low < high { high.next_down() } else { high };
                    [low, high - low, last].map(f64::from)
                };
                numbers.extend(part.words(&bounds));
                ("uniform", Box::new(move || uniform(stored, integers)))
            }
            Draw::Normal(mean, deviation) => {
                let is_exact = if part.is_wide {
                    self.numerics.exact64
                } else {
                    self.numerics.exact
                };
                if !is_exact {
                    return Ok(false);
                }
                numbers.extend(part.words(&[mean, deviation]));
                ("normal", Box::new(move || normal(stored, integers)))
            }
            Draw::Integers(low, count) => {
                numbers.extend(halves(low as u64));
                numbers.extend(halves(count as u64));
                numbers.push(u32::from(count > u128::from(u64::MAX)));
                ("integers", Box::new(move || integer(stored, integers)))
            }
            Draw::Bernoulli(chance) => {
                // As many as the product with 2^64 is, which stops at the last integer.
                let limit = (chance * 18_446_744_073_709_551_616.0) as u64;
                numbers.extend(halves(limit));
                numbers.push(u32::from(chance >= 1.0));
                let one = Scalar::new(true, stored)?.to_bytes();
                let word = |w: &[u8]| w.iter().rev().fold(0, |bits, b| bits << 8 | u32::from(*b));
                numbers.extend(one.chunks_exact(4).map(word));
                cell = Cell::Raw(stored.itemsize());
                ("bernoulli", Box::new(move || Some(trial(cell))))
            }
        };
        let window = Window {
            block,
            cell,
            start: target.start,
        };
        let key = format!("{key} {}", stored.name());
        self.launch(op, &key, &[], &[window], target.count, &numbers, text)
    }
}
