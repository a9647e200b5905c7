//! The memory of tensors: buffers from a pool with a budget, and bytes on their way up and down.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use allotrope_dtype::{DType, Error};
use allotrope_op::{Backend, Memory, Shared};

use crate::device::{Gpu, lock};
use crate::error::{failed, out_of_memory};

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
        }
    }

    /// Forgets the free buffers.
    fn clear(&mut self) {
        self.free.clear();
        self.bytes -= self.free_bytes;
        self.free_bytes = 0;
    }

    fn used(&self) -> u64 {
        self.bytes - self.free_bytes
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
            pool.peak = pool.peak.max(pool.used());
            return Ok(Buffer {
                gpu: self,
                buffer: Some(buffer),
                size,
            });
        }
        if pool.bytes.saturating_add(size) > pool.budget {
            pool.clear();
            drop(pool);
            // The driver keeps buffers until the work that needs them is done.
            self.finish_work(op)?;
            pool = lock(&self.pool);
        }
        if pool.bytes.saturating_add(size) > pool.budget {
            return Err(out_of_memory(op, bytes));
        }
        let usage = wgpu::BufferUsages::STORAGE
            | wgpu::BufferUsages::COPY_SRC
            | wgpu::BufferUsages::COPY_DST;
        let made = self.scoped(|| {
            self.device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size,
                usage,
                mapped_at_creation: false,
            })
        });
        let buffer = made.map_err(|error| self.refused(op, bytes, error))?;
        pool.bytes += size;
        pool.peak = pool.peak.max(pool.used());
        Ok(Buffer {
            gpu: self,
            buffer: Some(buffer),
            size,
        })
    }

    /// What the device has against a buffer.
    fn refused(&self, op: &'static str, bytes: usize, error: wgpu::Error) -> Error {
        match error {
            wgpu::Error::OutOfMemory { .. } => out_of_memory(op, bytes),
            other => failed(op, self.name, other.to_string()),
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
        })
    }

    /// The memory of a view, which must be of this device.
    pub(crate) fn own<'a>(
        &self,
        op: &'static str,
        memory: &'a dyn Memory,
    ) -> Result<&'a Block, Error> {
        let block = (memory as &dyn Any).downcast_ref::<Block>();
        let block = block.filter(|block| std::ptr::eq(block.gpu, self));
        block.ok_or_else(|| failed(op, self.name, "the memory is of another device"))
    }

    /// Elements of the CPU in memory of the device.
    pub(crate) fn put_up(
        &'static self,
        op: &'static str,
        dtype: DType,
        bytes: &[u8],
    ) -> Result<Shared, Error> {
        let block = self.block(op, dtype, bytes.len() / dtype.itemsize())?;
        self.write_all(op, dtype, bytes, &block)?;
        Ok(Arc::new(block))
    }

    /// Writes elements of the CPU over all of a block's.
    pub(crate) fn write_all(
        &self,
        op: &'static str,
        dtype: DType,
        bytes: &[u8],
        block: &Block,
    ) -> Result<(), Error> {
        let stored = self.capabilities.storage(dtype);
        let size = bytes.len() / dtype.itemsize() * stored.itemsize();
        if size == 0 {
            return Ok(());
        }
        let padded = size.next_multiple_of(4) as u64;
        let made = self.scoped(|| {
            self.device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size: padded,
                usage: wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: true,
            })
        });
        let staging = made.map_err(|error| self.refused(op, size, error))?;
        let mapped = staging.get_mapped_range_mut(..);
        let mut room = mapped.map_err(|error| failed(op, self.name, error.to_string()))?;
        if stored == dtype {
            room.slice(..size).copy_from_slice(bytes);
        } else {
            let mut converted = try_bytes(op, size)?;
            narrow(bytes, &mut converted);
            room.slice(..size).copy_from_slice(&converted);
        }
        drop(room);
        staging.unmap();
        let Some(buffer) = block.buffer.get() else {
            return Ok(());
        };
        self.record(op, |encoder| {
            encoder.copy_buffer_to_buffer(&staging, 0, buffer, 0, padded);
        })
    }

    /// Writes elements from one on, which lie one after the other, to bytes of the CPU.
    pub(crate) fn bring_down(
        &self,
        op: &'static str,
        dtype: DType,
        block: &Block,
        first: usize,
        bytes: &mut [u8],
    ) -> Result<(), Error> {
        let stored = self.capabilities.storage(dtype);
        let count = bytes.len() / dtype.itemsize();
        if count == 0 {
            return self.check(op);
        }
        if stored == dtype {
            return self.read(op, block, first * stored.itemsize(), bytes);
        }
        let mut narrow = try_bytes(op, count * stored.itemsize())?;
        self.read(op, block, first * stored.itemsize(), &mut narrow)?;
        widen(&narrow, bytes);
        Ok(())
    }

    /// Waits for all work and copies bytes of a block from a place on.
    fn read(
        &self,
        op: &'static str,
        block: &Block,
        start: usize,
        bytes: &mut [u8],
    ) -> Result<(), Error> {
        let Some(buffer) = block.buffer.get() else {
            return Ok(());
        };
        let first = start / 4 * 4;
        let padded = (start + bytes.len()).next_multiple_of(4) - first;
        let made = self.scoped(|| {
            self.device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size: padded as u64,
                usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
                mapped_at_creation: false,
            })
        });
        let staging = made.map_err(|error| self.refused(op, padded, error))?;
        self.record(op, |encoder| {
            encoder.copy_buffer_to_buffer(buffer, first as u64, &staging, 0, padded as u64);
        })?;
        self.submit(op)?;
        let (send, receive) = std::sync::mpsc::channel();
        staging.map_async(wgpu::MapMode::Read, .., move |result| {
            send.send(result).ok();
        });
        self.wait_for_device(op)?;
        let answer = receive.recv().map_err(|_| self.silent(op))?;
        answer.map_err(|error| failed(op, self.name, error.to_string()))?;
        // Only now: a device that is lost may leave old bytes behind, and no word of it.
        self.check(op)?;
        let mapped = staging.get_mapped_range(..);
        let view = mapped.map_err(|error| failed(op, self.name, error.to_string()))?;
        let skipped = start - first;
        bytes.copy_from_slice(&view[skipped..skipped + bytes.len()]);
        Ok(())
    }

    #[cold]
    fn silent(&self, op: &'static str) -> Error {
        failed(op, self.name, "it does not answer")
    }
}

/// Zeros, as many as there is memory for.
pub(crate) fn try_bytes(op: &'static str, count: usize) -> Result<Vec<u8>, Error> {
    allotrope_cpu::memory::try_vec(op, count, 0_u8)
}

/// Numbers of float64, or parts of complex128, as float32: what a device stores that has no wider.
pub(crate) fn narrow(from: &[u8], to: &mut [u8]) {
    let (from, _) = from.as_chunks::<8>();
    for (to, from) in to.as_chunks_mut::<4>().0.iter_mut().zip(from) {
        *to = (f64::from_ne_bytes(*from) as f32).to_ne_bytes();
    }
}

/// The way back, which is exact.
pub(crate) fn widen(from: &[u8], to: &mut [u8]) {
    let (from, _) = from.as_chunks::<4>();
    for (to, from) in to.as_chunks_mut::<8>().0.iter_mut().zip(from) {
        *to = f64::from(f32::from_ne_bytes(*from)).to_ne_bytes();
    }
}
