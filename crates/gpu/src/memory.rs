//! The memory of tensors: buffers from a pool with a budget.

use std::any::Any;
use std::collections::HashMap;
use std::sync::MutexGuard;

use allotrope_dtype::{DType, Error};
use allotrope_op::{Backend, Lineage, Memory};

use crate::device::{Gpu, lock};
use crate::error::{failed, gone, out_of_memory};
pub(crate) use crate::transfer::{narrow, try_bytes};

/// Buffers that tensors have given back, and how much there is of all.
#[derive(Debug)]
pub(crate) struct Pool {
    free: HashMap<u64, Vec<wgpu::Buffer>>,
    /// The bytes of free buffers.
    free_bytes: u64,
    /// The bytes of all buffers, free ones among them.
    bytes: u64,
    budget: u64,
    /// The most bytes that tensors have had.
    peak: u64,
    /// How many buffers tensors have.
    count: usize,
}

/// Free bytes beyond these are given back to the driver.
const MOST_FREE: u64 = 512 << 20;

impl Pool {
    pub(crate) fn new(budget: u64) -> Self {
        Self {
            free: HashMap::new(),
            free_bytes: 0,
            bytes: 0,
            budget,
            peak: 0,
            count: 0,
        }
    }

    /// Forgets the free buffers.
    fn clear(&mut self) {
        self.free.clear();
        self.bytes -= self.free_bytes;
        self.free_bytes = 0;
    }

    pub(crate) fn used(&self) -> u64 {
        self.bytes - self.free_bytes
    }

    /// How many buffers tensors have.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Counts a buffer that a tensor gets.
    fn lend(&mut self) {
        self.count += 1;
        self.peak = self.peak.max(self.used());
    }
}

/// The size of the buffer for so many bytes: one of eight between powers of two, so that buffers
/// serve again.
fn size_class(bytes: u64) -> u64 {
    let step = (bytes.next_power_of_two() / 16).max(256);
    bytes.max(1).next_multiple_of(step)
}

/// The memory of a tensor.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) gpu: &'static Gpu,
    pub(crate) buffer: Buffer,
    /// The bytes of the elements in their own dtype, whatever is stored.
    len: usize,
    /// The bytes that are stored; what lies behind them in the buffer is nobody's.
    pub(crate) stored: usize,
    /// Who had a part in the elements.
    pub(crate) lineage: Lineage,
}

/// A buffer that goes back to the pool.
#[derive(Debug)]
pub(crate) struct Buffer {
    gpu: &'static Gpu,
    buffer: Option<wgpu::Buffer>,
    size: u64,
}

impl Buffer {
    /// The buffer of wgpu.
    pub(crate) fn get(&self) -> Option<&wgpu::Buffer> {
        self.buffer.as_ref()
    }

    /// How many bytes it has; more than what was asked for.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let Some(buffer) = self.buffer.take() else {
            return;
        };
        if !self.gpu.is_at_home() {
            // Another process: its driver is not ours to talk to.
            std::mem::forget(buffer);
            return;
        }
        let mut pool = lock(&self.gpu.pool);
        pool.count -= 1;
        if self.gpu.is_lost() || pool.free_bytes + self.size > MOST_FREE {
            pool.bytes -= self.size;
            return;
        }
        pool.free_bytes += self.size;
        pool.free.entry(self.size).or_default().push(buffer);
    }
}

impl Memory for Block {
    fn backend(&self) -> &'static dyn Backend {
        self.gpu
    }

    fn len(&self) -> usize {
        self.len
    }

    fn host(&self) -> Option<&[u8]> {
        None
    }

    fn host_mut(&mut self) -> Option<&mut [u8]> {
        None
    }
}

impl Gpu {
    /// The bytes that tensors take.
    #[must_use]
    pub fn memory_allocated(&self) -> u64 {
        lock(&self.pool).used()
    }

    /// The most bytes that tensors have taken at once.
    #[must_use]
    pub fn max_memory_allocated(&self) -> u64 {
        lock(&self.pool).peak
    }

    /// Counts the most bytes from now on.
    pub fn reset_peak(&self) {
        let mut pool = lock(&self.pool);
        pool.peak = pool.used();
    }

    /// The bytes that are held of the driver, for tensors and for those to come.
    #[must_use]
    pub fn memory_reserved(&self) -> u64 {
        lock(&self.pool).bytes
    }

    /// The bytes that tensors may take.
    #[must_use]
    pub fn memory_budget(&self) -> u64 {
        lock(&self.pool).budget
    }

    /// Gives buffers back to the driver that no tensor has.
    pub fn empty_cache(&self) {
        lock(&self.pool).clear();
    }

    /// A buffer of at least so many bytes, of unknown values.
    pub(crate) fn buffer(&'static self, op: &'static str, bytes: usize) -> Result<Buffer, Error> {
        self.check(op)?;
        let size = size_class(bytes as u64);
        if size > self.limits.max_buffer_size || size > 0xffff_ffff * 4 {
            return Err(out_of_memory(op, bytes));
        }
        let mut pool = lock(&self.pool);
        if let Some(buffer) = pool.free.get_mut(&size).and_then(Vec::pop) {
            pool.free_bytes -= size;
            pool.lend();
            return Ok(Buffer {
                gpu: self,
                buffer: Some(buffer),
                size,
            });
        }
        if pool.bytes.saturating_add(size) > pool.budget {
            pool = self.emptied(op, pool)?;
        }
        if pool.bytes.saturating_add(size) > pool.budget {
            return Err(out_of_memory(op, bytes));
        }
        let usage = wgpu::BufferUsages::STORAGE
            | wgpu::BufferUsages::COPY_SRC
            | wgpu::BufferUsages::COPY_DST;
        let make = || {
            self.scoped(|| {
                self.device.create_buffer(&wgpu::BufferDescriptor {
                    label: None,
                    size,
                    usage,
                    mapped_at_creation: false,
                })
            })
        };
        let mut made = make();
        if matches!(made, Err(wgpu::Error::OutOfMemory { .. })) && pool.free_bytes > 0 {
            pool = self.emptied(op, pool)?;
            made = make();
        }
        let buffer = match made {
            Ok(buffer) => buffer,
            Err(error) => {
                drop(pool);
                return Err(self.refused(op, bytes, error));
            }
        };
        pool.bytes += size;
        pool.lend();
        Ok(Buffer {
            gpu: self,
            buffer: Some(buffer),
            size,
        })
    }

    /// The pool without free buffers, which the driver keeps until the work that needs them is done.
    fn emptied<'a>(
        &'a self,
        op: &'static str,
        mut pool: MutexGuard<'a, Pool>,
    ) -> Result<MutexGuard<'a, Pool>, Error> {
        pool.clear();
        drop(pool);
        self.finish_work(op)?;
        Ok(lock(&self.pool))
    }

    /// What the device has against a buffer.
    pub(crate) fn refused(&self, op: &'static str, bytes: usize, error: wgpu::Error) -> Error {
        match error {
            wgpu::Error::OutOfMemory { .. } => out_of_memory(op, bytes),
            other => self.fault(op, other),
        }
    }

    /// Memory for elements, of unknown values.
    pub(crate) fn block(
        &'static self,
        op: &'static str,
        dtype: DType,
        count: usize,
    ) -> Result<Block, Error> {
        let too_many = || out_of_memory(op, usize::MAX);
        let len = count.checked_mul(dtype.itemsize()).ok_or_else(too_many)?;
        let stored = count * self.capabilities.storage(dtype).itemsize();
        Ok(Block {
            gpu: self,
            buffer: self.buffer(op, stored)?,
            len,
            stored,
            lineage: Lineage::new(),
        })
    }

    /// The memory of a view, which must be of this device.
    pub(crate) fn own<'a>(
        &self,
        op: &'static str,
        memory: &'a dyn Memory,
    ) -> Result<&'a Block, Error> {
        let other = || failed(op, self.name, "the memory is of another device");
        let block = (memory as &dyn Any).downcast_ref::<Block>();
        let block = block.ok_or_else(other)?;
        if std::ptr::eq(block.gpu, self) {
            Ok(block)
        } else if block.gpu.is_lost() {
            // The device was opened anew under the same name; the tensor is of the one before.
            Err(gone(op, block.gpu.name, block.len))
        } else {
            Err(other())
        }
    }
}
