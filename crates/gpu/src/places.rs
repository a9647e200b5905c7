//! Where the elements of views lie, as a shader computes it from the number of an element.
//!
//! Sizes and strides are numbers that a dispatch is told, so that one shader serves all shapes of a
//! rank.

use std::fmt::Write;

use allotrope_op::{Layout, Nest, Shape};

use crate::codec::number;

/// How one view is walked.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Walk {
    /// One element for all.
    Scalar,
    /// One after the other.
    Contiguous,
    /// By strides, outermost first.
    Strided(Vec<u32>),
}

/// The places of the elements of several views of one shape, in row-major order of that.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    sizes: Vec<u32>,
    views: Vec<(u32, Walk)>,
}

impl Places {
    /// The places for layouts of a shape whose offsets count from where the shader sees the buffer.
    pub(crate) fn new(shape: &Shape, layouts: &[&Layout]) -> Self {
        let order = Layout::contiguous(shape.clone());
        let mut operands = vec![&order];
        operands.extend(layouts);
        let nest = Nest::new(shape, &operands);
        let loops = nest.loops();
        let views: Vec<(u32, Walk)> = (1..operands.len())
            .map(|k| {
                let strides: Vec<isize> = loops.iter().map(|l| l.strides[k]).collect();
                let in_order = loops.iter().all(|l| l.strides[k] == l.strides[0]);
                let walk = if strides.iter().all(|stride| *stride == 0) {
                    Walk::Scalar
                } else if in_order {
                    Walk::Contiguous
                } else {
                    // Two's complement: places are found modulo 2^32.
                    Walk::Strided(strides.iter().map(|stride| *stride as u32).collect())
                };
                (nest.offsets()[k] as u32, walk)
            })
            .collect();
        let is_strided = |(_, walk): &(u32, Walk)| matches!(walk, Walk::Strided(_));
        let sizes = if views.iter().any(is_strided) {
            loops.iter().map(|l| l.count as u32).collect()
        } else {
            Vec::new()
        };
        Self { sizes, views }
    }

    /// Where each view begins and whether its elements lie one after the other, if each has one
    /// element for all or does so.
    pub(crate) fn simple(&self) -> Option<Vec<(u32, bool)>> {
        let simple = |(offset, walk): &(u32, Walk)| match walk {
            Walk::Scalar => Some((*offset, false)),
            Walk::Contiguous => Some((*offset, true)),
            Walk::Strided(_) => None,
        };
        self.views.iter().map(simple).collect()
    }

    /// What the text depends on.
    pub(crate) fn key(&self) -> String {
        let letters = self.views.iter().map(|(_, walk)| match walk {
            Walk::Scalar => 's',
            Walk::Contiguous => 'c',
            Walk::Strided(_) => 'v',
        });
        format!("{}{}", self.sizes.len(), letters.collect::<String>())
    }

    /// The numbers that a dispatch is told.
    pub(crate) fn numbers(&self, numbers: &mut Vec<u32>) {
        numbers.extend_from_slice(&self.sizes);
        for (offset, walk) in &self.views {
            numbers.push(*offset);
            if let Walk::Strided(strides) = walk {
                numbers.extend_from_slice(strides);
            }
        }
    }

    /// Functions `place0`, `place1` … from the number of an element to its place in each view; their
    /// numbers begin at `first`. Gives the number after the last.
    pub(crate) fn text(&self, first: usize, text: &mut String) -> usize {
        let rank = self.sizes.len();
        let mut next = first + rank;
        for (k, (_, walk)) in self.views.iter().enumerate() {
            let offset = number(next);
            next += 1;
            let body = match walk {
                Walk::Scalar => format!("    return {offset};\n"),
                Walk::Contiguous => format!("    return {offset} + i;\n"),
                Walk::Strided(_) => {
                    let mut body = format!("    var rest = i;\n    var place = {offset};\n");
                    for dim in (0..rank).rev() {
                        let (size, stride) = (number(first + dim), number(next + dim));
                        // What is left for the outermost loop is its count.
                        let count = if dim == 0 {
                            "rest".to_owned()
                        } else {
                            format!("(rest % {size})")
                        };
                        writeln!(body, "    place += {count} * {stride};").ok();
                        if dim > 0 {
                            writeln!(body, "    rest /= {size};").ok();
                        }
                    }
                    next += rank;
                    body + "    return place;\n"
                }
            };
            write!(text, "fn place{k}(i: u32) -> u32 {{\n{body}}}\n").ok();
        }
        next
    }
}
