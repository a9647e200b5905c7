//! The memory that variables share, and whose history a write belongs to.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::thread::ThreadId;
use std::time::Duration;

use allotrope_dtype::{DType, Error};
use allotrope_op::{Layout, Shared};

use crate::Tensor;
use crate::autograd::History;
use crate::fork::{Gate, enter_detached};

/// What a thread does while another one writes; the first one set stays.
static PAUSE: OnceLock<fn()> = OnceLock::new();

/// Sets what a thread does while it waits for another one's write, such as to let an interpreter run
/// others; it is called until the write is done. The first one stays.
pub fn set_pause(pause: fn()) {
    // A second one is ignored: there is one interpreter.
    let _ = PAUSE.set(pause);
}

/// Attempts before a thread that waits lets others run.
const ATTEMPTS: usize = 100;

fn pause(attempt: usize) {
    match PAUSE.get() {
        _ if attempt < ATTEMPTS => std::hint::spin_loop(),
        Some(pause) => pause(),
        None => std::thread::sleep(Duration::from_micros(20)),
    }
}

/// What a lock holds, and what keeps the process from forking meanwhile.
#[derive(Debug)]
pub(crate) struct Guard<'a, T> {
    // Let go before the gate is left.
    held: MutexGuard<'a, T>,
    _gate: Option<Gate>,
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.held
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.held
    }
}

/// A lock that is waited for without keeping an interpreter from others.
#[inline]
pub(crate) fn acquire<T>(mutex: &Mutex<T>) -> Guard<'_, T> {
    let gate = enter_detached();
    match mutex.try_lock() {
        Ok(held) => Guard { held, _gate: gate },
        Err(_) => wait(mutex, gate),
    }
}

#[cold]
fn wait<T>(mutex: &Mutex<T>, gate: Option<Gate>) -> Guard<'_, T> {
    for attempt in 0.. {
        let held = match mutex.try_lock() {
            Ok(held) => held,
            // A panic elsewhere cannot leave a value half changed.
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                pause(attempt);
                continue;
            }
        };
        return Guard { held, _gate: gate };
    }
    let held = mutex.lock().unwrap_or_else(PoisonError::into_inner);
    Guard { held, _gate: gate }
}

/// Memory that variables share.
#[derive(Debug)]
pub(super) struct Storage {
    contents: Mutex<Contents>,
}

#[derive(Debug)]
pub(super) struct Contents {
    /// Replaced by a copy of the same length where a value holds it.
    pub(super) memory: Shared,
    /// The dtype that the memory was made for.
    dtype: DType,
    /// The thread that is writing a piece at a time.
    writer: Option<ThreadId>,
}

impl Storage {
    pub(super) fn new(tensor: &Tensor) -> Arc<Self> {
        let contents = Mutex::new(Contents {
            memory: tensor.shared_memory(),
            dtype: tensor.dtype(),
            writer: None,
        });
        Arc::new(Self { contents })
    }

    /// The contents, once no other thread is in the middle of a write.
    pub(super) fn lock(&self) -> Guard<'_, Contents> {
        for attempt in 0.. {
            let contents = acquire(&self.contents);
            match contents.writer {
                Some(writer) if writer != std::thread::current().id() => drop(contents),
                _ => return contents,
            }
            pause(attempt);
        }
        acquire(&self.contents)
    }

    /// Keeps other threads out while this one writes a piece at a time; nothing if it does so already.
    pub(super) fn begin(self: &Arc<Self>) -> Option<Session> {
        let mut contents = self.lock();
        if contents.writer.is_some() {
            return None;
        }
        contents.writer = Some(std::thread::current().id());
        Some(Session(Arc::clone(self)))
    }
}

/// A write of a piece at a time, which ends with it.
pub(super) struct Session(Arc<Storage>);

impl Drop for Session {
    fn drop(&mut self) {
        self.0.lock().writer = None;
    }
}

impl Contents {
    /// Makes sure that no value holds the memory and that it may be written to: else a copy takes its
    /// place. Whether memory of someone else was copied.
    pub(super) fn make_own(&mut self, op: &'static str) -> Result<bool, Error> {
        let is_own = Arc::get_mut(&mut self.memory).is_some_and(|own| own.is_writable());
        if is_own {
            return Ok(false);
        }
        let was_foreign = self.memory.is_foreign();
        self.memory = self.copied(op)?;
        Ok(was_foreign)
    }

    /// A copy of the whole memory.
    pub(super) fn copied(&self, op: &'static str) -> Result<Shared, Error> {
        // Bytes are the CPU's; other devices copy what they store.
        let dtype = match self.memory.host() {
            Some(_) => DType::U8,
            None => self.dtype,
        };
        let count = dtype.count_in(self.memory.len());
        let all = Layout::contiguous(allotrope_op::Shape::new(op, &[count])?);
        let whole = Tensor::from_parts(Arc::clone(&self.memory), all, dtype);
        Ok(whole.detach().copied()?.shared_memory())
    }
}

/// The tensor that gradients are recorded for: a variable and those of its views that gradients go
/// through.
#[derive(Debug)]
pub(super) struct Base {
    pub(super) layout: Layout,
    pub(super) dtype: DType,
    history: Mutex<Option<History>>,
    /// How often a recorded write has given it another history.
    generation: AtomicU64,
}

impl Base {
    pub(super) fn new(layout: Layout, dtype: DType, history: Option<History>) -> Arc<Self> {
        Arc::new(Self {
            layout,
            dtype,
            history: Mutex::new(history),
            generation: AtomicU64::new(0),
        })
    }

    /// The history now, and how often it was rewritten.
    pub(super) fn history(&self) -> (Option<History>, u64) {
        let history = acquire(&self.history);
        (history.clone(), self.generation.load(Ordering::Relaxed))
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    /// Another history, as by `requires_grad_`: views keep theirs. How often it was rewritten so far.
    pub(super) fn set_history(&self, history: Option<History>) -> u64 {
        *acquire(&self.history) = history;
        self.generation()
    }

    /// The history after a recorded write, which views take over when they are next looked at.
    pub(super) fn rewrite(&self, history: Option<History>) -> u64 {
        let mut own = acquire(&self.history);
        *own = history;
        self.generation.fetch_add(1, Ordering::Relaxed) + 1
    }
}
