//! Bytes on their way up and down, a part at a time, so that what they pass through stays small.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use allotrope_dtype::{DType, Error};
use allotrope_op::{Askers, Shared};

use crate::device::Gpu;
use crate::memory::Block;

/// The bytes of a part: a multiple of every element's.
const PART: usize = 32 << 20;

/// How long a device that has done its work may take to hand its memory over, and how often it is
/// asked.
const PATIENCE: Duration = Duration::from_secs(60);
const MOMENT: Duration = Duration::from_millis(5);

impl Gpu {
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
        let part = PART / stored.itemsize();
        for (k, bytes) in bytes.chunks(part * dtype.itemsize()).enumerate() {
            self.write_part(op, [dtype, stored], bytes, block, k * PART)?;
        }
        Ok(())
    }

    /// Writes elements to a block from a byte of it on.
    fn write_part(
        &self,
        op: &'static str,
        [dtype, stored]: [DType; 2],
        bytes: &[u8],
        block: &Block,
        start: usize,
    ) -> Result<(), Error> {
        let size = bytes.len() / dtype.itemsize() * stored.itemsize();
        let Some(buffer) = block.buffer.get().filter(|_| size > 0) else {
            return Ok(());
        };
        let padded = size.next_multiple_of(4) as u64;
        let staging = self.staging(op, padded, wgpu::BufferUsages::COPY_SRC)?;
        let mapped = staging.get_mapped_range_mut(..);
        let mut room = mapped.map_err(|error| self.fault(op, error))?;
        if stored == dtype {
            room.slice(..size).copy_from_slice(bytes);
        } else {
            let mut converted = try_bytes(op, size)?;
            narrow(bytes, &mut converted);
            room.slice(..size).copy_from_slice(&converted);
        }
        drop(room);
        staging.unmap();
        block.lineage.add(Askers::this_thread());
        self.record(op, |encoder| {
            encoder.copy_buffer_to_buffer(&staging, 0, buffer, start as u64, padded);
        })?;
        self.note_staged(op, padded)
    }

    /// A buffer that the CPU can write to or read from.
    fn staging(
        &self,
        op: &'static str,
        size: u64,
        usage: wgpu::BufferUsages,
    ) -> Result<wgpu::Buffer, Error> {
        let made = self.scoped(|| {
            self.device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size,
                usage,
                mapped_at_creation: usage == wgpu::BufferUsages::COPY_SRC,
            })
        });
        let staging = made.map_err(|error| self.refused(op, size as usize, error))?;
        // A lost device makes buffers that are none, and says nothing.
        self.check(op)?;
        Ok(staging)
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
        if bytes.is_empty() {
            return self.check(op);
        }
        let part = PART / stored.itemsize();
        let start = first * stored.itemsize();
        for (k, bytes) in bytes.chunks_mut(part * dtype.itemsize()).enumerate() {
            let start = start + k * PART;
            if stored == dtype {
                self.read(op, block, start, bytes)?;
                continue;
            }
            let mut narrow = try_bytes(op, bytes.len() / dtype.itemsize() * stored.itemsize())?;
            self.read(op, block, start, &mut narrow)?;
            widen(&narrow, bytes);
        }
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
        let padded = ((start + bytes.len()).next_multiple_of(4) - first) as u64;
        let usage = wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ;
        let staging = self.staging(op, padded, usage)?;
        self.record(op, |encoder| {
            encoder.copy_buffer_to_buffer(buffer, first as u64, &staging, 0, padded);
        })?;
        self.submit(op)?;
        let view = self.mapped(op, &staging)?;
        // Only now: a device that is lost may leave old bytes behind, and no word of it.
        self.check(op)?;
        let skipped = start - first;
        bytes.copy_from_slice(&view[skipped..skipped + bytes.len()]);
        Ok(())
    }

    /// The bytes of a buffer once all work is done. Whether they are there is asked of the buffer:
    /// the word of it may be with another thread that waited for the device, and come late.
    fn mapped(&self, op: &'static str, staging: &wgpu::Buffer) -> Result<wgpu::BufferView, Error> {
        let (send, receive) = channel();
        staging.map_async(wgpu::MapMode::Read, .., move |result| {
            send.send(result).ok();
        });
        let start = Instant::now();
        loop {
            self.wait_for_device(op)?;
            let refused = match staging.get_mapped_range(..) {
                Ok(view) => return Ok(view),
                Err(error) => error,
            };
            if let Ok(Err(error)) = receive.recv_timeout(MOMENT) {
                return Err(self.fault(op, error));
            }
            if start.elapsed() > PATIENCE {
                return Err(self.fault(op, format_args!("it does not answer ({refused})")));
            }
        }
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
