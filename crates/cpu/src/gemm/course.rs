//! Where a kernel finds the columns of each step.
#![allow(
    unsafe_code,
    reason = "reads of a list without a check in the innermost loop"
)]

/// Where the columns of each step are, from the first ones on.
pub(super) trait Course: Copy {
    /// The farthest of so many steps.
    fn farthest(self, steps: usize) -> usize;

    /// How far those of a step are.
    ///
    /// # Safety
    /// The course must have the step.
    unsafe fn place(self, step: usize) -> usize;
}

/// Evenly apart.
#[derive(Clone, Copy)]
pub(super) struct Even(pub(super) usize);

impl Course for Even {
    #[inline(always)]
    fn farthest(self, steps: usize) -> usize {
        steps.saturating_sub(1) * self.0
    }

    #[inline(always)]
    unsafe fn place(self, step: usize) -> usize {
        step * self.0
    }
}

/// Anywhere.
#[derive(Clone, Copy)]
pub(super) struct Listed<'a>(pub(super) &'a Places);

impl Course for Listed<'_> {
    #[inline(always)]
    fn farthest(self, steps: usize) -> usize {
        assert!(steps <= self.0.list.len());
        self.0.farthest
    }

    #[inline(always)]
    unsafe fn place(self, step: usize) -> usize {
        // SAFETY: the caller has the step.
        unsafe { *self.0.list.get_unchecked(step) }
    }
}

/// Where columns are, step by step.
pub(super) struct Places {
    list: Vec<usize>,
    farthest: usize,
}

impl Places {
    /// As listed.
    pub(super) fn new(list: Vec<usize>) -> Self {
        let farthest = list.iter().copied().max().unwrap_or(0);
        Self { list, farthest }
    }

    /// The farthest of all.
    pub(super) fn farthest(&self) -> usize {
        self.farthest
    }
}
