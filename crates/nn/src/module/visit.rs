//! The walk over the places of a module.

use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use allotrope_dtype::{DType, Family};
use allotrope_tensor::{BagMode, Edge, Interpolation, LossReduction};

use super::Module;
use crate::{Buffer, Parameter};

/// What can be a field of a module: its places are visited by their paths.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of a module",
    label = "neither a module, a parameter, a buffer nor a plain value",
    note = "derive it: #[derive(Module)]; a tensor is a `Parameter` or a `Buffer`",
    note = "what is no part of the module is marked #[module(skip)]"
)]
pub trait Visit {
    /// Shows every place to the walk.
    fn visit(&self, walk: &mut Walk<'_>);
}

/// What sees the places of a module.
///
/// ```
/// use allotrope_nn::{Linear, Parameter, Visit, Visitor, Walk};
/// struct Sizes(usize);
/// impl Visitor for Sizes {
///     fn parameter(&mut self, _: &str, parameter: &Parameter) {
///         self.0 += parameter.value().byte_count();
///     }
/// }
/// let mut sizes = Sizes(0);
/// Linear::new(3, 2)?.visit(&mut Walk::new(&mut sizes));
/// assert_eq!(sizes.0, 32);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
pub trait Visitor {
    /// A parameter, and the path to it.
    fn parameter(&mut self, _path: &str, _parameter: &Parameter) {}

    /// A buffer, and the path to it.
    fn buffer(&mut self, _path: &str, _buffer: &Buffer) {}

    /// Whether a module is being trained.
    fn training(&mut self, _training: &Training) {}
}

/// A walk: a visitor, and the path to where it is.
pub struct Walk<'a> {
    path: String,
    visitor: &'a mut dyn Visitor,
}

impl fmt::Debug for Walk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Walk")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl<'a> Walk<'a> {
    /// A walk that begins at a module.
    pub fn new(visitor: &'a mut dyn Visitor) -> Self {
        let path = String::new();
        Self { path, visitor }
    }

    /// Visits a field or an item.
    pub fn field(&mut self, name: impl Display, value: &(impl Visit + ?Sized)) {
        let before = self.path.len();
        if before > 0 {
            self.path.push('.');
        }
        self.path.push_str(&name.to_string());
        value.visit(self);
        self.path.truncate(before);
    }
}

/// Whether a module is being trained: a field of those that behave differently then.
///
/// ```
/// use allotrope_nn::{Dropout, Module};
/// let layer = Dropout::new(0.5)?;
/// assert!(layer.training.is_on());
/// layer.eval();
/// assert!(!layer.training.is_on());
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Debug)]
pub struct Training(AtomicBool);

impl Training {
    /// Whether this is training.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Default for Training {
    /// A new module is being trained, as in torch.
    fn default() -> Self {
        Self(AtomicBool::new(true))
    }
}

impl Clone for Training {
    fn clone(&self) -> Self {
        Self(AtomicBool::new(self.is_on()))
    }
}

impl Visit for Training {
    fn visit(&self, walk: &mut Walk<'_>) {
        walk.visitor.training(self);
    }
}

impl Visit for Parameter {
    fn visit(&self, walk: &mut Walk<'_>) {
        walk.visitor.parameter(&walk.path, self);
    }
}

impl Visit for Buffer {
    fn visit(&self, walk: &mut Walk<'_>) {
        walk.visitor.buffer(&walk.path, self);
    }
}

/// Types that hold no places.
macro_rules! plain {
    ($($type:ty),* $(,)?) => {$(
        impl Visit for $type {
            fn visit(&self, _: &mut Walk<'_>) {}
        }
    )*};
}
plain! {
    (), bool, char, f32, f64, i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize,
    String, &str, DType, Family, BagMode, Edge, Interpolation, LossReduction,
}

impl<T: ?Sized> Visit for PhantomData<T> {
    fn visit(&self, _: &mut Walk<'_>) {}
}

impl<T: Visit> Visit for Option<T> {
    fn visit(&self, walk: &mut Walk<'_>) {
        if let Some(value) = self {
            value.visit(walk);
        }
    }
}
impl<T: Module> Module for Option<T> {}

/// What is behind a pointer.
macro_rules! pointers {
    ($($pointer:ident),*) => {$(
        impl<T: Visit + ?Sized> Visit for $pointer<T> {
            fn visit(&self, walk: &mut Walk<'_>) {
                (**self).visit(walk);
            }
        }
        impl<T: Module + ?Sized> Module for $pointer<T> {}
    )*};
}
pointers!(Box, Rc, Arc);

impl<T: Visit> Visit for [T] {
    fn visit(&self, walk: &mut Walk<'_>) {
        for (index, item) in self.iter().enumerate() {
            walk.field(index, item);
        }
    }
}

impl<T: Visit> Visit for Vec<T> {
    fn visit(&self, walk: &mut Walk<'_>) {
        self.as_slice().visit(walk);
    }
}
impl<T: Module> Module for Vec<T> {}

impl<T: Visit, const COUNT: usize> Visit for [T; COUNT] {
    fn visit(&self, walk: &mut Walk<'_>) {
        self.as_slice().visit(walk);
    }
}
impl<T: Module, const COUNT: usize> Module for [T; COUNT] {}

impl<K: Display, T: Visit> Visit for BTreeMap<K, T> {
    fn visit(&self, walk: &mut Walk<'_>) {
        for (key, item) in self {
            walk.field(key, item);
        }
    }
}
impl<K: Display, T: Module> Module for BTreeMap<K, T> {}

/// In the order of keys, so that two walks are the same.
impl<K: Display, T: Visit, S> Visit for HashMap<K, T, S> {
    fn visit(&self, walk: &mut Walk<'_>) {
        let mut items: Vec<(String, &T)> = self
            .iter()
            .map(|(key, item)| (key.to_string(), item))
            .collect();
        items.sort_by(|one, other| one.0.cmp(&other.0));
        for (key, item) in items {
            walk.field(key, item);
        }
    }
}
impl<K: Display, T: Module, S> Module for HashMap<K, T, S> {}

macro_rules! tuples {
    ($(($($type:ident $place:tt),+);)*) => {$(
        impl<$($type: Visit),+> Visit for ($($type,)+) {
            fn visit(&self, walk: &mut Walk<'_>) {
                $(walk.field($place, &self.$place);)+
            }
        }
        impl<$($type: Module),+> Module for ($($type,)+) {}
    )*};
}
tuples! {
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
}

/// Shows every parameter with its path, a shared one at each.
pub(super) fn each_parameter(
    module: &(impl Visit + ?Sized),
    see: &mut dyn FnMut(&str, &Parameter),
) {
    struct Seen<'a>(&'a mut dyn FnMut(&str, &Parameter));
    impl Visitor for Seen<'_> {
        fn parameter(&mut self, path: &str, parameter: &Parameter) {
            (self.0)(path, parameter);
        }
    }
    module.visit(&mut Walk::new(&mut Seen(see)));
}

/// Shows every buffer with its path, a shared one at each.
pub(super) fn each_buffer(module: &(impl Visit + ?Sized), see: &mut dyn FnMut(&str, &Buffer)) {
    struct Seen<'a>(&'a mut dyn FnMut(&str, &Buffer));
    impl Visitor for Seen<'_> {
        fn buffer(&mut self, path: &str, buffer: &Buffer) {
            (self.0)(path, buffer);
        }
    }
    module.visit(&mut Walk::new(&mut Seen(see)));
}

/// Makes it training or evaluation everywhere.
pub(super) fn set_training(module: &(impl Visit + ?Sized), on: bool) {
    struct Switch(bool);
    impl Visitor for Switch {
        fn training(&mut self, training: &Training) {
            training.0.store(self.0, Ordering::Relaxed);
        }
    }
    module.visit(&mut Walk::new(&mut Switch(on)));
}
