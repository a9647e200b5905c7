//! Elements, stored otherwise than the CPU would: every byte inverted, and in the dtype that the
//! device stores.

use std::any::Any;
use std::sync::Arc;

use allotrope_cpu::CPU;
use allotrope_dtype::{CastOptions, DType, Error, Problem, cast_bytes};
use allotrope_op::{Askers, Backend, Memory, Shared};

use crate::backend::Apart;
use crate::lazy::Lazy;

/// How many results may wait for each other.
const DEEPEST: u32 = 32;

/// Memory of the device.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) device: &'static Apart,
    /// Inverted bytes of elements of the stored dtype.
    stored: Arc<Lazy<Vec<u8>>>,
    /// The dtype that the elements were written in.
    dtype: DType,
    /// Bytes of the elements in that dtype.
    len: usize,
    /// How long the chain of pending work is that ends here.
    depth: u32,
    /// Who had a part in the elements.
    askers: Askers,
}

impl Memory for Block {
    fn backend(&self) -> &'static dyn Backend {
        self.device
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

impl Block {
    /// Elements that are there.
    pub(crate) fn ready(device: &'static Apart, dtype: DType, bytes: &[u8]) -> Result<Self, Error> {
        Ok(Self {
            device,
            stored: Lazy::ready(device.store(dtype, bytes)?),
            dtype,
            len: bytes.len(),
            depth: 0,
            askers: Askers::this_thread(),
        })
    }

    /// Elements, so many bytes in their dtype, that work makes in memory of the CPU when someone
    /// reads them; it reads `inputs`.
    pub(crate) fn pending(
        device: &'static Apart,
        dtype: DType,
        len: usize,
        inputs: &[&Self],
        work: impl FnOnce() -> Result<Shared, Error> + Send + 'static,
    ) -> Result<Self, Error> {
        let own = Askers::this_thread();
        let askers = inputs.iter().fold(own, |all, block| all.and(block.askers));
        let depth = inputs.iter().map(|block| block.depth).max().unwrap_or(0) + 1;
        let stored = Lazy::pending(move || {
            let made = work()?;
            device.store(dtype, &made.on_host("apart")?[..len])
        });
        let depth = if depth > DEEPEST {
            // Faults are raised by whoever reads.
            let _ = stored.get();
            0
        } else {
            depth
        };
        Ok(Self {
            device,
            stored,
            dtype,
            len,
            depth,
            askers,
        })
    }

    /// The block behind memory, which must be of the device.
    pub(crate) fn of(memory: &dyn Memory) -> Result<&Self, Error> {
        let block = (memory as &dyn Any).downcast_ref::<Self>();
        block.ok_or_else(|| not_here(memory.backend().name()))
    }

    /// The block behind memory to write to.
    pub(crate) fn of_mut(memory: &mut dyn Memory) -> Result<&mut Self, Error> {
        let name = memory.backend().name();
        let block = (memory as &mut dyn Any).downcast_mut::<Self>();
        block.ok_or_else(|| not_here(name))
    }

    /// A copy of the elements in memory of the CPU.
    pub(crate) fn fetch(&self) -> Result<Shared, Error> {
        let bytes = self
            .device
            .restore(self.dtype, self.stored.get()?, self.len)?;
        CPU.upload("apart", DType::U8, &bytes)
    }

    /// Refuses to read elements that are stored in another dtype than the one they are read in.
    pub(crate) fn check(&self, dtype: DType) -> Result<(), Error> {
        let stores = |dtype| self.device.storage(dtype);
        let is_exact = |dtype| stores(dtype) == dtype;
        if dtype == self.dtype || is_exact(dtype) && is_exact(self.dtype) {
            return Ok(());
        }
        let reason = format!("{} read as {dtype}", self.dtype);
        let device = crate::KIND;
        Err(Error::new(
            "apart",
            Problem::DeviceFailure { device, reason },
        ))
    }

    /// Who had a part in the elements.
    pub(crate) fn askers(&self) -> Askers {
        self.askers
    }

    /// The dtype that the elements were written in.
    pub(crate) fn dtype(&self) -> DType {
        self.dtype
    }
}

impl Apart {
    fn storage(&self, dtype: DType) -> DType {
        self.capabilities().storage(dtype)
    }

    fn store(&self, dtype: DType, bytes: &[u8]) -> Result<Vec<u8>, Error> {
        let stored = self.storage(dtype);
        if stored == dtype {
            return Ok(inverted(bytes));
        }
        // The CPU's memory is aligned for every dtype.
        let from = CPU.upload("apart", dtype, bytes)?;
        let count = bytes.len() / dtype.itemsize();
        let mut to = allotrope_cpu::Buffer::for_elements("apart", stored, count)?;
        cast_bytes(
            dtype,
            from.on_host("apart")?,
            stored,
            &mut to,
            CastOptions::default(),
        )?;
        Ok(inverted(&to))
    }

    fn restore(&self, dtype: DType, stored: &[u8], len: usize) -> Result<Vec<u8>, Error> {
        let bytes = inverted(stored);
        let from = self.storage(dtype);
        if from == dtype {
            return Ok(bytes);
        }
        let bytes = CPU.upload("apart", from, &bytes)?;
        let mut to = allotrope_cpu::Buffer::for_overwrite("apart", len)?;
        cast_bytes(
            from,
            bytes.on_host("apart")?,
            dtype,
            &mut to,
            CastOptions::default(),
        )?;
        Ok(to.to_vec())
    }
}

fn inverted(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| !byte).collect()
}

#[cold]
fn not_here(given: &'static str) -> Error {
    let [lhs, rhs] = [crate::KIND, given].map(str::to_owned);
    Error::new("apart", Problem::DevicesDiffer { lhs, rhs })
}
