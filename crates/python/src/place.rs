//! What an object of Python holds from the moment it is made (unsafe).
//!
//! CPython 3.11 makes the dict of an object after the object itself, and without memory for it drops
//! the object as it is: all zeros. What it holds must be nothing then.
#![allow(
    unsafe_code,
    reason = "memory that the interpreter clears, and may drop before it is written"
)]

use std::mem::MaybeUninit;
use std::ops::Deref;

/// A value, or nothing where all bytes are zero.
#[repr(C)]
pub(crate) struct Place<T> {
    /// False is the byte zero.
    is_made: bool,
    value: MaybeUninit<T>,
}

impl<T> Place<T> {
    #[inline]
    pub(crate) fn new(value: T) -> Self {
        Self {
            is_made: true,
            value: MaybeUninit::new(value),
        }
    }
}

impl<T> Deref for Place<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: made with a value; Python calls nothing but the drop of what it has not made.
        unsafe { self.value.assume_init_ref() }
    }
}

impl<T> Drop for Place<T> {
    fn drop(&mut self) {
        if self.is_made {
            // SAFETY: made with a value, which is dropped once, here.
            unsafe { self.value.assume_init_drop() }
        }
    }
}
