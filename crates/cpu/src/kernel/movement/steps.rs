//! The loops of a copy from one layout to another, and the copy on one thread.
//!
//! The loops of two layouts are joined into as few as possible, forwards in the target; where each
//! turn of a loop has a range of the target to itself, threads share it by plain slices.

use allotrope_op::{Layout, sort_few_by_key};
use bytemuck::Pod;
use smallvec::SmallVec;

/// One loop: how often, and how far source and target move, in elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) count: usize,
    pub(super) from: isize,
    pub(super) to: isize,
}

/// Loops, outermost first.
pub(super) type Steps = SmallVec<[Step; 6]>;

/// The loops of a copy and where both sides start.
pub(super) struct Course {
    pub(super) steps: Steps,
    pub(super) from: isize,
    pub(super) to: usize,
}

impl Course {
    /// The loops from one layout to another of the same shape, which has elements: as few as
    /// possible, forwards in the target, its longest strides outermost.
    pub(super) fn new(from: &Layout, to: &Layout) -> Self {
        let mut steps = Steps::new();
        let (mut from_start, mut to_start) = (from.offset() as isize, to.offset() as isize);
        let strides = from.strides().iter().zip(to.strides());
        for (count, (from, to)) in from.shape().iter().zip(strides) {
            let last = *count as isize - 1;
            if last > 0 {
                let (mut from, mut to) = (*from, *to);
                if to < 0 {
                    from_start += last * from;
                    to_start += last * to;
                    (from, to) = (-from, -to);
                }
                let count = *count;
                steps.push(Step { count, from, to });
            }
        }
        // Row-major targets, the usual ones, are in order already.
        if !steps.is_sorted_by(|a, b| a.to >= b.to) {
            sort_few_by_key(&mut steps, |step| std::cmp::Reverse(step.to));
        }
        Self {
            steps: join(&steps),
            from: from_start,
            to: to_start as usize,
        }
    }

    /// Whether each turn of a loop has a range of the target to itself.
    pub(super) fn is_nested(&self) -> bool {
        let mut reach = 0;
        self.steps.iter().rev().all(|step| {
            let fits = step.to > reach;
            reach += (step.count as isize - 1) * step.to;
            fits
        })
    }
}

/// Neighbours that both sides step through evenly become one loop.
pub(super) fn join(steps: &[Step]) -> Steps {
    let mut joined = Steps::new();
    for inner in steps {
        let turn = inner.count as isize;
        match joined.last_mut() {
            Some(outer) if outer.from == inner.from * turn && outer.to == inner.to * turn => {
                let count = outer.count * inner.count;
                *outer = Step { count, ..*inner };
            }
            _ => joined.push(*inner),
        }
    }
    joined
}

/// The number of elements that loops visit.
pub(super) fn count(steps: &[Step]) -> usize {
    steps.iter().map(|step| step.count).product()
}

/// Copies what the loops visit, on this thread, to `dst` from place `to` on.
pub(super) fn copy_steps<W: Pod>(src: &[W], from: isize, dst: &mut [W], to: isize, steps: &[Step]) {
    match steps {
        [] => dst[to as usize] = src[from as usize],
        [run] => copy_run(src, from, &mut dst[to as usize..], run),
        // Every element several times.
        [each, run]
            if (run.from, run.to) == (0, 1)
                && each.from == 1
                && each.to == run.count as isize
                && run.count <= REPEATED =>
        {
            let (from, to) = (from as usize, to as usize);
            let src = &src[from..from + each.count];
            let dst = &mut dst[to..to + each.count * run.count];
            match run.count {
                2 => repeat_each::<W, 2>(src, dst),
                3 => repeat_each::<W, 3>(src, dst),
                4 => repeat_each::<W, 4>(src, dst),
                count => {
                    for (out, element) in dst.chunks_exact_mut(count).zip(src) {
                        out.iter_mut().for_each(|out| *out = *element);
                    }
                }
            }
        }
        // Short runs across the source: the other loop reads it in order.
        [outer, run] if run.count <= SHORT && outer.from == 1 => {
            for i in 0..run.count as isize {
                let to = (to + i * run.to) as usize;
                copy_run(src, from + i * run.from, &mut dst[to..], outer);
            }
        }
        [outer, run] if run.count <= SHORT => {
            for i in 0..outer.count as isize {
                let (mut from, mut to) = (from + i * outer.from, to + i * outer.to);
                for _ in 0..run.count {
                    dst[to as usize] = src[from as usize];
                    (from, to) = (from + run.from, to + run.to);
                }
            }
        }
        [outer, inner @ ..] => {
            for i in 0..outer.count as isize {
                copy_steps(src, from + i * outer.from, dst, to + i * outer.to, inner);
            }
        }
    }
}

/// Runs of at most so many elements are not worth the choice of a loop for each.
const SHORT: usize = 4;

/// Repetitions up to which a loop takes less than to fill a slice.
const REPEATED: usize = 16;

/// Every element `N` times: a number that the compiler knows becomes shuffles.
fn repeat_each<W: Pod, const N: usize>(src: &[W], dst: &mut [W]) {
    for (out, element) in dst.as_chunks_mut::<N>().0.iter_mut().zip(src) {
        *out = [*element; N];
    }
}

/// One loop, from its first elements on.
pub(super) fn copy_run<W: Pod>(src: &[W], from: isize, dst: &mut [W], run: &Step) {
    let start = from as usize;
    match (run.from, run.to) {
        (1, 1) => dst[..run.count].copy_from_slice(&src[start..start + run.count]),
        (0, 1) => dst[..run.count].fill(src[start]),
        (-1, 1) => {
            let backwards = src[start + 1 - run.count..=start].iter().rev();
            for (out, element) in dst[..run.count].iter_mut().zip(backwards) {
                *out = *element;
            }
        }
        (2, 1) => gather_every::<W, 2>(&src[start..], &mut dst[..run.count]),
        (3, 1) => gather_every::<W, 3>(&src[start..], &mut dst[..run.count]),
        (4, 1) => gather_every::<W, 4>(&src[start..], &mut dst[..run.count]),
        (2.., 1) => {
            let elements = src[start..].iter().step_by(run.from as usize);
            for (out, element) in dst[..run.count].iter_mut().zip(elements) {
                *out = *element;
            }
        }
        (1, 2..) => {
            let places = dst.iter_mut().step_by(run.to as usize);
            for (out, element) in places.zip(&src[start..start + run.count]) {
                *out = *element;
            }
        }
        _ => {
            let (mut from, mut to) = (from, 0);
            for _ in 0..run.count {
                dst[to as usize] = src[from as usize];
                (from, to) = (from + run.from, to + run.to);
            }
        }
    }
}

/// Every `N`th element: a stride that the compiler knows becomes shuffles.
fn gather_every<W: Pod, const N: usize>(src: &[W], dst: &mut [W]) {
    let (groups, rest) = src.as_chunks::<N>();
    let whole = groups.len().min(dst.len());
    let (now, last) = dst.split_at_mut(whole);
    for (out, group) in now.iter_mut().zip(groups) {
        *out = group[0];
    }
    if let ([out], [element, ..]) = (last, rest) {
        *out = *element;
    }
}
