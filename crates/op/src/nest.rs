//! The loops that visit several layouts of one shape together, as few as possible.

use smallvec::SmallVec;

use crate::shape::{Dims, sort_few_by_key};
use crate::{Layout, Shape};

/// One loop: how often, and how far each operand moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The number of iterations.
    pub count: usize,
    /// The stride of each operand, in elements.
    pub strides: SmallVec<[isize; 4]>,
}

/// A loop nest over several operands, outermost loop first.
///
/// Dimensions of size one are dropped; loops are ordered by how far they move the first operand;
/// neighbours are joined where every operand steps through both evenly. Contiguous operands of any
/// rank become one loop. The order of visits is free, since elementwise work does not depend on it.
///
/// ```
/// use allotrope_op::{Layout, Nest, Shape};
/// let shape = Shape::new("add", &[4, 5, 6])?;
/// let layout = Layout::contiguous(shape.clone());
/// let turned = layout.permute("permute", &[2, 0, 1])?;
/// assert_eq!(Nest::new(turned.shape(), &[&turned, &turned]).loops().len(), 1);
/// # Ok::<(), allotrope_op::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nest {
    loops: Dims<Loop>,
    offsets: SmallVec<[usize; 4]>,
    count: usize,
}

impl Nest {
    /// The nest over `shape`, to which every operand has been broadcast.
    #[must_use]
    pub fn new(shape: &Shape, operands: &[&Layout]) -> Self {
        // Beside a size of zero the others may be too large to multiply.
        let rank = if shape.count() == 0 { 0 } else { shape.rank() };
        let mut loops: Dims<Loop> = (0..rank)
            .filter(|dim| shape[*dim] != 1)
            .map(|dim| Loop {
                count: shape[dim],
                strides: operands
                    .iter()
                    .map(|layout| layout.strides()[dim])
                    .collect(),
            })
            .collect();
        // Stable, so that row-major order stays as it is; broadcast operands have no say.
        sort_few_by_key(&mut loops, |l| {
            let leading = l.strides.iter().find(|stride| **stride != 0);
            std::cmp::Reverse(leading.map_or(usize::MAX, |stride| stride.unsigned_abs()))
        });
        let mut joined: Dims<Loop> = Dims::new();
        for inner in loops {
            match joined.last_mut() {
                Some(outer) if steps_evenly(outer, &inner) => {
                    outer.count *= inner.count;
                    outer.strides = inner.strides;
                }
                _ => joined.push(inner),
            }
        }
        let offsets = operands.iter().map(|layout| layout.offset()).collect();
        Self {
            loops: joined,
            offsets,
            count: shape.count(),
        }
    }

    /// The loops, outermost first. None: one element, or no elements at all.
    #[must_use]
    pub fn loops(&self) -> &[Loop] {
        &self.loops
    }

    /// Where each operand starts.
    #[must_use]
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The number of elements visited.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The innermost loop; one iteration where there are no loops.
    #[must_use]
    pub fn inner(&self) -> Loop {
        self.loops.last().cloned().unwrap_or_else(|| Loop {
            count: self.count.min(1),
            strides: SmallVec::from_elem(0, self.offsets.len()),
        })
    }

    /// Calls `visit` with the places of all operands at the start of each run of the inner loop.
    pub fn for_each_run(&self, visit: impl FnMut(&[usize])) {
        self.for_each_block(1, visit);
    }

    /// Calls `visit` with the places of all operands wherever the innermost `depth` loops begin.
    pub fn for_each_block(&self, depth: usize, mut visit: impl FnMut(&[usize])) {
        if self.count == 0 {
            return;
        }
        let outer = &self.loops[..self.loops.len().saturating_sub(depth)];
        let mut counters: Dims<usize> = SmallVec::from_elem(0, outer.len());
        let mut places: SmallVec<[isize; 4]> = self.offsets.iter().map(|o| *o as isize).collect();
        loop {
            let starts: SmallVec<[usize; 4]> = places.iter().map(|p| *p as usize).collect();
            visit(&starts);
            // An odometer: the innermost of the outer loops turns first.
            let mut dim = outer.len();
            loop {
                if dim == 0 {
                    return;
                }
                dim -= 1;
                counters[dim] += 1;
                let turned = counters[dim] == outer[dim].count;
                let back = if turned {
                    outer[dim].count as isize - 1
                } else {
                    -1
                };
                for (place, stride) in places.iter_mut().zip(&outer[dim].strides) {
                    *place -= back * stride;
                }
                if !turned {
                    break;
                }
                counters[dim] = 0;
            }
        }
    }
}

/// Whether one step of the outer loop is a whole turn of the inner one, for every operand.
fn steps_evenly(outer: &Loop, inner: &Loop) -> bool {
    outer
        .strides
        .iter()
        .zip(&inner.strides)
        .all(|(outer, stride)| *outer == stride * inner.count as isize)
}
