//! The one-byte boolean.

use std::fmt;

/// A boolean stored in one byte, where any non-zero byte is true.
///
/// Rust's `bool` has two valid bit patterns; bytes that come from files and other libraries have
/// 256, so tensors store this type instead.
#[repr(transparent)]
#[derive(Clone, Copy, Default)]
pub struct Bool8(u8);

impl Bool8 {
    /// False, stored as 0.
    pub const FALSE: Self = Self(0);
    /// True, stored as 1.
    pub const TRUE: Self = Self(1);

    /// The boolean of a stored byte.
    #[must_use]
    pub const fn from_byte(byte: u8) -> Self {
        Self(byte)
    }

    /// The truth value.
    #[must_use]
    pub const fn get(self) -> bool {
        self.0 != 0
    }
}

impl From<bool> for Bool8 {
    fn from(value: bool) -> Self {
        Self(u8::from(value))
    }
}

impl From<Bool8> for bool {
    fn from(value: Bool8) -> Self {
        value.get()
    }
}

/// Equality of truth values, not of bytes.
impl PartialEq for Bool8 {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Bool8 {}

impl PartialEq<bool> for Bool8 {
    fn eq(&self, other: &bool) -> bool {
        self.get() == *other
    }
}

impl fmt::Debug for Bool8 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.get(), f)
    }
}

impl fmt::Display for Bool8 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.get(), f)
    }
}
