//! Scopes of a setting: those that a thread's own guards open, and those that a flow of control brings
//! along, such as a task of an event loop, which shares its thread with others.
//!
//! Scopes are numbered in the order in which they begin, over all threads and flows: of those that a
//! thread is inside of, the last one to begin decides.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A scope of a setting: later ones are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScopeId(u64);

impl ScopeId {
    /// The number of a scope that begins now.
    #[must_use]
    pub fn begin() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// As a number, for bindings.
    #[must_use]
    pub fn to_bits(self) -> u64 {
        self.0
    }

    /// The scope with this number.
    #[must_use]
    pub fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

/// The scopes of one setting that a flow of control is inside of, outermost first. It never changes:
/// flows that come of one another share it, and go on from it in different directions.
#[derive(Clone, Debug)]
pub struct Flow<T>(Option<Arc<[(ScopeId, T)]>>);

impl<T> Default for Flow<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Flow<T> {
    /// The scopes, outermost first.
    #[must_use]
    pub fn scopes(&self) -> &[(ScopeId, T)] {
        self.0.as_deref().unwrap_or(&[])
    }

    /// Whether the flow is in no scope.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.scopes().is_empty()
    }
}

impl<T: Clone> Flow<T> {
    /// The same within one more scope, which begins now.
    #[must_use]
    pub fn entered(&self, value: T) -> (Self, ScopeId) {
        let id = ScopeId::begin();
        let all = self.scopes().iter().cloned().chain([(id, value)]);
        (Self(Some(all.collect())), id)
    }

    /// The same without a scope, wherever it stands; `None` if the flow is not inside it.
    #[must_use]
    pub fn left(&self, id: ScopeId) -> Option<Self> {
        self.scopes().iter().find(|(scope, _)| *scope == id)?;
        if self.scopes().len() == 1 {
            return Some(Self(None));
        }
        let others = self.scopes().iter().filter(|(scope, _)| *scope != id);
        Some(Self(Some(others.cloned().collect())))
    }

    /// The same with another value of the innermost scope; as it is in no scope.
    #[must_use]
    pub fn changed(&self, value: T) -> Self {
        let Some(((id, _), others)) = self.scopes().split_last() else {
            return self.clone();
        };
        let all = others.iter().cloned().chain([(*id, value)]);
        Self(Some(all.collect()))
    }
}

/// The scopes of one setting that a thread is inside of.
#[derive(Debug)]
pub struct ScopeStack<T> {
    own: Vec<(ScopeId, T)>,
    flow: Flow<T>,
}

impl<T> Default for ScopeStack<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> ScopeStack<T> {
    /// No scopes.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            own: Vec::new(),
            flow: Flow(None),
        }
    }

    /// The value of the innermost scope.
    #[must_use]
    pub fn innermost(&self) -> Option<&T> {
        self.inside_out().next()
    }

    /// All values, that of the innermost scope first.
    pub fn inside_out(&self) -> impl Iterator<Item = &T> {
        let (mut own, mut flow) = (self.own.as_slice(), self.flow.scopes());
        std::iter::from_fn(move || {
            let taken = match (own.last(), flow.last()) {
                (Some((one, _)), Some((other, _))) if one < other => &mut flow,
                (None, _) => &mut flow,
                _ => &mut own,
            };
            let ((_, value), others) = taken.split_last()?;
            *taken = others;
            Some(value)
        })
    }

    /// Whether the thread is in no scope.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.own.is_empty() && self.flow.is_empty()
    }

    /// Opens a scope of the thread's own.
    pub fn push(&mut self, value: T) -> ScopeId {
        let id = ScopeId::begin();
        self.own.push((id, value));
        id
    }

    /// Ends a scope of the thread's own wherever it stands: those inside it stay as they are.
    pub fn remove(&mut self, id: ScopeId) -> Option<T> {
        let place = self.own.iter().rposition(|(scope, _)| *scope == id)?;
        Some(self.own.remove(place).1)
    }

    /// The value of the innermost scope, if that is one of the thread's own.
    pub fn own_mut(&mut self) -> Option<&mut T> {
        let flow = self.flow.scopes().last().map(|(id, _)| *id);
        let (id, value) = self.own.last_mut()?;
        (Some(*id) > flow).then_some(value)
    }

    /// Goes on with another flow of control, and gives the former one.
    pub fn resume(&mut self, flow: Flow<T>) -> Flow<T> {
        std::mem::replace(&mut self.flow, flow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_scope_to_begin_decides_whoever_opened_it() {
        let mut stack = ScopeStack::new();
        let first = stack.push('a');
        let (flow, second) = Flow::default().entered('b');
        stack.resume(flow.clone());
        assert_eq!(stack.innermost(), Some(&'b'));
        let third = stack.push('c');
        assert_eq!(stack.inside_out().collect::<String>(), "cba");
        assert_eq!(stack.own_mut(), Some(&mut 'c'));
        let former = stack.resume(Flow::default());
        assert_eq!(former.scopes(), flow.scopes());
        assert_eq!(stack.inside_out().collect::<String>(), "ca");
        stack.resume(flow.changed('x'));
        assert_eq!(stack.remove(third), Some('c'));
        assert_eq!(stack.own_mut(), None);
        assert_eq!(stack.inside_out().collect::<String>(), "xa");
        assert_eq!(stack.remove(second), None);
        assert_eq!(stack.remove(first), Some('a'));
        stack.resume(Flow::default());
        assert!(stack.is_empty() && stack.innermost().is_none());
    }

    #[test]
    fn flows_go_on_from_one_another_in_different_directions() {
        let (outer, first) = Flow::default().entered(1);
        let (one, _) = outer.entered(2);
        let (other, second) = outer.entered(3);
        let values = |flow: &Flow<i32>| -> Vec<i32> {
            flow.scopes().iter().map(|(_, value)| *value).collect()
        };
        assert_eq!(values(&one), [1, 2]);
        assert_eq!(values(&other.left(first).unwrap()), [3]);
        assert_eq!(values(&other.changed(4)), [1, 4]);
        assert!(one.left(second).is_none());
        assert!(outer.left(first).unwrap().is_empty());
        assert!(Flow::default().changed(5).is_empty());
    }
}
