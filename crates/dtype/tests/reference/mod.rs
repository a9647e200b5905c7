//! Independent answers: oracle tables from other libraries, and rounding by looking at all codes.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test file is a crate that uses a part"
)]

pub mod casting;

use std::path::PathBuf;

use allotrope_dtype::{DType, FloatFormat};

/// The rows of an oracle table, without its head. Quoted fields keep their commas.
pub fn oracle(name: &str) -> Vec<Vec<String>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/oracle")
        .join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.lines().skip(1).map(split_fields).collect()
}

fn split_fields(line: &str) -> Vec<String> {
    let (mut fields, mut quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            _ => fields.last_mut().unwrap().push(c),
        }
    }
    fields
}

/// The dtype with this canonical name; `None` for `error` and for dtypes of other libraries.
pub fn known(name: &str) -> Option<DType> {
    DType::ALL.into_iter().find(|d| d.name() == name)
}

/// Rounds by walking through all codes of a format in ascending order.
///
/// Inputs must ascend. The only arithmetic is the midpoint of two neighbouring values, which
/// float64 holds exactly: nothing here resembles the code under test.
pub struct Walk {
    format: FloatFormat,
    code: u64,
    /// Halfway to the next code.
    midpoint: f64,
}

impl Walk {
    pub fn new(format: FloatFormat) -> Self {
        let mut walk = Self {
            format,
            code: 0,
            midpoint: 0.0,
        };
        walk.midpoint = walk.midpoint_after(0);
        walk
    }

    /// The value of a code; one past the largest, the number that would come next.
    fn value(&self, code: u64) -> f64 {
        let max = self.format.max_code();
        if code <= max {
            self.format.decode(code)
        } else {
            2.0 * self.format.decode(max) - self.format.decode(max - 1)
        }
    }

    fn midpoint_after(&self, code: u64) -> f64 {
        (self.value(code) + self.value(code + 1)) / 2.0
    }

    /// The code of a non-negative number; `None` if it is beyond the range.
    pub fn code(&mut self, x: f64) -> Option<u64> {
        while self.code <= self.format.max_code() {
            if x < self.midpoint || x == self.midpoint && self.code.is_multiple_of(2) {
                return Some(self.code);
            }
            self.code += 1;
            self.midpoint = self.midpoint_after(self.code);
        }
        None
    }
}

/// Every float dtype narrower than float32.
pub fn narrow_floats() -> impl Iterator<Item = (DType, FloatFormat)> {
    DType::ALL
        .into_iter()
        .filter(|d| d.is_floating_point() && d.bits() < 32)
        .map(|d| (d, d.format().unwrap()))
}

/// float32 numbers in ascending order: for each exponent, every midpoint and value of a format
/// with so many mantissa bits, and their neighbours.
pub fn dense_sample(mantissa_bits: u32) -> Vec<f32> {
    let step = 1_u32 << (23 - mantissa_bits - 1);
    let mut bits: Vec<u32> = (0..=0x7F80_0000 / step)
        .flat_map(|k| [(k * step).saturating_sub(1), k * step, k * step + 1])
        .filter(|b| *b <= 0x7F80_0000)
        .collect();
    bits.dedup();
    bits.into_iter().map(f32::from_bits).collect()
}
