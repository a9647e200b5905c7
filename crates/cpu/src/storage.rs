//! The bytes of a tensor: its own, or someone else's.

use std::ops::Deref;
use std::sync::Arc;

use allotrope_op::{Backend, Memory, Shared};

use crate::{Buffer, CPU, Foreign};

/// Bytes to read. Only a buffer can be written to: foreign memory has no way to it.
#[derive(Debug)]
pub enum Storage {
    /// Memory of our own.
    Owned(Buffer),
    /// Memory that someone else owns.
    Foreign(Foreign),
}

impl Storage {
    /// The buffer, to write to; `None` if the memory is someone else's.
    pub fn owned_mut(&mut self) -> Option<&mut Buffer> {
        match self {
            Self::Owned(buffer) => Some(buffer),
            Self::Foreign(_) => None,
        }
    }

    /// The bytes as memory that tensors share.
    #[must_use]
    pub fn share(self) -> Shared {
        Arc::new(self)
    }
}

impl Memory for Storage {
    fn backend(&self) -> &'static dyn Backend {
        &CPU
    }

    fn len(&self) -> usize {
        <[u8]>::len(self)
    }

    fn host(&self) -> Option<&[u8]> {
        Some(self)
    }

    fn host_mut(&mut self) -> Option<&mut [u8]> {
        match self {
            Self::Owned(buffer) => Some(&mut buffer[..]),
            Self::Foreign(memory) => memory.bytes_mut(),
        }
    }

    fn is_foreign(&self) -> bool {
        matches!(self, Self::Foreign(_))
    }

    fn is_writable(&self) -> bool {
        match self {
            Self::Owned(_) => true,
            Self::Foreign(memory) => memory.is_writable(),
        }
    }

    fn again(&self) -> Option<Shared> {
        match self {
            Self::Owned(_) => None,
            Self::Foreign(memory) => Some(Self::Foreign(memory.again()).share()),
        }
    }
}

impl Deref for Storage {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Owned(buffer) => buffer,
            Self::Foreign(memory) => memory,
        }
    }
}

impl From<Buffer> for Storage {
    fn from(buffer: Buffer) -> Self {
        Self::Owned(buffer)
    }
}

impl From<Foreign> for Storage {
    fn from(memory: Foreign) -> Self {
        Self::Foreign(memory)
    }
}
