//! Bytes that start at a cache line, and bytes that someone else owns. Large blocks are kept for
//! reuse: a page fault on each fresh page costs more than an addition of its elements.
//!
//! Blocks from 8 KiB on are kept, up to 512 MiB, and given back when memory runs out; a thread gets
//! those first that it dropped itself, which its core has in its caches. Blocks of 2 MiB and more
//! start at a huge page and ask the system for such pages.
#![allow(unsafe_code, reason = "allocation with an alignment, foreign memory")]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use allotrope_dtype::{DType, Element, Error, Problem};

use crate::reserve::is_memory_short;

/// The alignment of every buffer: a cache line, and the widest vector.
const ALIGNMENT: usize = 64;
/// Blocks of at least this many bytes start at a huge page.
const HUGE_PAGE: usize = 2 << 20;
/// Blocks of at least this many bytes are kept: to zero 32 KB takes a twentieth of a product of 128 by
/// 128, and below the allocator is as fast.
const KEEP_FROM: usize = 8 << 10;
/// At most this many blocks are kept, since they are looked through,
const KEEP_BLOCKS: usize = 512;
/// and this many bytes in all.
const KEEP_AT_MOST: usize = 512 << 20;
/// Blocks of at most this many bytes are kept by the thread that drops them: all that no list is for,
const SMALL: usize = KEEP_FROM - 1;
/// at most this many of them.
const KEEP_SMALL: usize = 32;

/// An owned block of initialised bytes, aligned to 64.
///
/// ```
/// use allotrope_cpu::Buffer;
/// let mut buffer = Buffer::zeroed("zeros", 12)?;
/// buffer.elements_mut::<f32>()[1] = 2.5;
/// assert_eq!(buffer.elements::<f32>(), [0.0, 2.5, 0.0]);
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
pub struct Buffer {
    block: Block,
    len: usize,
}

impl Buffer {
    /// No bytes.
    #[must_use]
    pub fn empty() -> Self {
        let (block, len) = (Block::empty(), 0);
        Self { block, len }
    }

    /// `len` bytes of zero.
    ///
    /// # Errors
    /// A memory error if there is not enough of it.
    pub fn zeroed(op: &'static str, len: usize) -> Result<Self, Error> {
        let (mut buffer, is_fresh) = Self::take(op, len)?;
        if !is_fresh {
            buffer.fill(0);
        }
        Ok(buffer)
    }

    /// Room for so many elements, of unknown values.
    ///
    /// # Errors
    /// A memory error, also for more bytes than there are addresses.
    pub fn for_elements(op: &'static str, dtype: DType, count: usize) -> Result<Self, Error> {
        let bytes = dtype.bytes_for(count);
        let problem = Problem::OutOfMemory { bytes: usize::MAX };
        Self::for_overwrite(op, bytes.ok_or_else(|| Error::new(op, problem))?)
    }

    /// `len` bytes whose values mean nothing and are about to be written.
    ///
    /// # Errors
    /// A memory error if there is not enough of it.
    pub fn for_overwrite(op: &'static str, len: usize) -> Result<Self, Error> {
        Ok(Self::take(op, len)?.0)
    }

    /// A block of at least `len` bytes, and whether it comes zeroed from the system.
    fn take(op: &'static str, len: usize) -> Result<(Self, bool), Error> {
        let size = block_size(len);
        if is_memory_short() {
            return Err(Error::new(op, Problem::OutOfMemory { bytes: len }));
        }
        if let Some(block) = size.and_then(take_kept) {
            return Ok((Self { block, len }, false));
        }
        let block = size.and_then(Block::allocate);
        let block = block.or_else(|| {
            // What is kept may be what is missing.
            release_kept();
            size.and_then(Block::allocate)
        });
        match block {
            Some(block) => Ok((Self { block, len }, true)),
            None => Err(Error::new(op, Problem::OutOfMemory { bytes: len })),
        }
    }

    /// The bytes as elements; a remainder shorter than one is left out.
    #[must_use]
    pub fn elements<T: Element>(&self) -> &[T] {
        let whole = self.len / size_of::<T>() * size_of::<T>();
        bytemuck::cast_slice(&self[..whole])
    }

    /// The bytes as elements, to write to.
    pub fn elements_mut<T: Element>(&mut self) -> &mut [T] {
        let whole = self.len / size_of::<T>() * size_of::<T>();
        bytemuck::cast_slice_mut(&mut self[..whole])
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the block owns at least `len` initialised bytes, borrowed as long as `self`.
        unsafe { std::slice::from_raw_parts(self.block.start.as_ptr(), self.len) }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the exclusive borrow of `self` makes it the only access.
        unsafe { std::slice::from_raw_parts_mut(self.block.start.as_ptr(), self.len) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let block = std::mem::replace(&mut self.block, Block::empty());
        if block.size <= SMALL {
            keep_small(block);
        } else {
            lock_kept().keep(block);
        }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes)", self.len)
    }
}

/// Bytes in memory that someone else owns, kept there by an owner. They can only be read.
///
/// The address has whatever alignment its owner gave it.
///
/// ```
/// use allotrope_cpu::Foreign;
/// let owner = std::sync::Arc::new([1_u8, 2, 3]);
/// // SAFETY: the array lives as long as its `Arc`, and nothing writes to it.
/// let bytes = unsafe { Foreign::new((&raw const *owner).cast(), 3, owner.clone()) };
/// assert_eq!(bytes[..], [1, 2, 3]);
/// drop(bytes);
/// assert_eq!(std::sync::Arc::strong_count(&owner), 1);
/// ```
pub struct Foreign {
    start: *mut u8,
    len: usize,
    is_writable: bool,
    /// Dropped with the last use of the bytes, on whatever thread that is.
    owner: Arc<dyn Any + Send + Sync>,
}

impl Foreign {
    /// The `len` bytes at `start`, for as long as `owner` is not dropped.
    ///
    /// # Safety
    /// Until `owner` is dropped, `start` must not be null and point to `len` initialised bytes that
    /// may be read from any thread. Whoever else can write to them must not do so during a read.
    pub unsafe fn new(start: *const u8, len: usize, owner: impl Any + Send + Sync) -> Self {
        Self {
            start: start.cast_mut(),
            len,
            is_writable: false,
            owner: Arc::new(owner),
        }
    }

    /// The same, of bytes that are to be written to where they are.
    ///
    /// # Safety
    /// As for [`new`](Self::new); and the bytes may be written to from any thread, which nobody else
    /// may read or write meanwhile.
    pub unsafe fn new_writable(start: *mut u8, len: usize, owner: impl Any + Send + Sync) -> Self {
        Self {
            start,
            len,
            is_writable: true,
            owner: Arc::new(owner),
        }
    }

    /// The same bytes once more, to be read: whoever holds them sees what is written to them.
    pub(crate) fn again(&self) -> Self {
        Self {
            start: self.start,
            len: self.len,
            is_writable: false,
            owner: Arc::clone(&self.owner),
        }
    }

    pub(crate) fn is_writable(&self) -> bool {
        self.is_writable
    }

    /// The bytes to write to, if they were handed over for it.
    pub(crate) fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        if !self.is_writable {
            return None;
        }
        // SAFETY: `new_writable` was promised `len` writable bytes for as long as the owner is here.
        Some(unsafe { std::slice::from_raw_parts_mut(self.start, self.len) })
    }
}

// SAFETY: the owner may cross threads, and the bytes may be read, and written where that was promised,
// from any.
unsafe impl Send for Foreign {}
// SAFETY: shared access only reads.
unsafe impl Sync for Foreign {}

impl Deref for Foreign {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `new` was promised `len` readable bytes for as long as the owner is here.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Foreign({} bytes)", self.len)
    }
}

thread_local! {
    /// Small blocks that wait for reuse by this thread: aligned allocation takes longer than the
    /// work on them.
    static KEPT_SMALL: RefCell<Vec<Block>> = const { RefCell::new(Vec::new()) };
}

/// A block of exactly this size that waits for reuse.
fn take_kept(size: usize) -> Option<Block> {
    if size > SMALL {
        return lock_kept().take(size);
    }
    let take = |kept: &RefCell<Vec<Block>>| {
        let mut kept = kept.borrow_mut();
        let place = kept.iter().rposition(|block| block.size == size)?;
        Some(kept.swap_remove(place))
    };
    // Not while the thread ends.
    KEPT_SMALL.try_with(take).ok().flatten()
}

fn keep_small(block: Block) {
    // A thread that ends keeps nothing.
    let _ = KEPT_SMALL.try_with(|kept| {
        let mut kept = kept.borrow_mut();
        if block.size > 0 {
            // The oldest makes room: sizes change with what a program does.
            if kept.len() >= KEEP_SMALL {
                kept.remove(0);
            }
            kept.push(block);
        }
    });
}

/// Bytes rounded up so that blocks of similar sizes can stand in for each other: to a cache line,
/// or from `KEEP_FROM` on to one of four sizes per power of two. `None` if no layout is that large.
fn block_size(len: usize) -> Option<usize> {
    let size = len.checked_next_multiple_of(ALIGNMENT)?;
    if size < KEEP_FROM {
        return Some(size);
    }
    size.checked_next_multiple_of(size.checked_next_power_of_two()? / 8)
}

/// An allocation of `size` bytes; size zero owns nothing.
struct Block {
    start: NonNull<u8>,
    size: usize,
}

// SAFETY: a block is plain memory with one owner.
unsafe impl Send for Block {}
// SAFETY: shared access only reads.
unsafe impl Sync for Block {}

impl Block {
    /// Owns nothing, at an address that is aligned all the same.
    fn empty() -> Self {
        #[repr(align(64))]
        struct Line;
        Self {
            start: NonNull::<Line>::dangling().cast(),
            size: 0,
        }
    }

    fn layout(size: usize) -> Option<Layout> {
        let alignment = if size < HUGE_PAGE {
            ALIGNMENT
        } else {
            HUGE_PAGE
        };
        Layout::from_size_align(size, alignment).ok()
    }

    /// Zeroed memory, in huge pages where it is large and the system has them.
    fn allocate(size: usize) -> Option<Self> {
        if size == 0 {
            return Some(Self::empty());
        }
        let layout = Self::layout(size)?;
        if size >= HUGE_PAGE {
            let start = map_pages(layout)?;
            watch(size as isize);
            ask_for_huge_pages(start, size);
            return Some(Self { start, size });
        }
        // SAFETY: the layout has a size other than zero.
        let start = unsafe { alloc_zeroed(layout) };
        NonNull::new(start).map(|start| Self { start, size })
    }
}

/// Who is told of pages, if anyone.
static WATCH: OnceLock<fn(isize)> = OnceLock::new();

/// Tells of pages that are taken from the system or given back, which no allocator sees: for tests that
/// count memory. The first one stays.
pub fn watch_pages(told: fn(isize)) {
    // A second one is ignored: a process is one test.
    let _ = WATCH.set(told);
}

fn watch(change: isize) {
    if let Some(told) = WATCH.get() {
        told(change);
    }
}

/// Fresh pages, which the system clears when they are touched, by whichever thread that is: the allocator
/// would clear what it aligns, at once and on this one.
#[cfg(all(target_os = "linux", not(miri)))]
fn map_pages(layout: Layout) -> Option<NonNull<u8>> {
    use libc::{MAP_ANONYMOUS, MAP_FAILED, MAP_PRIVATE, PROT_READ, PROT_WRITE, mmap};
    // Blocks of this size are whole pages, and so is what aligns them.
    let size = layout.size();
    let room = size.checked_add(layout.align())?;
    let (protection, flags) = (PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
    // SAFETY: asks for pages of its own, anywhere.
    let start = unsafe { mmap(std::ptr::null_mut(), room, protection, flags, -1, 0) };
    if start == MAP_FAILED {
        return None;
    }
    let start: *mut u8 = start.cast();
    let before = start.addr().wrapping_neg() % layout.align();
    let after = room - before - size;
    for (place, len) in [(0, before), (before + size, after)] {
        if len > 0 {
            // SAFETY: whole pages of those just mapped, on either side of the block.
            unsafe { libc::munmap(start.wrapping_add(place).cast(), len) };
        }
    }
    NonNull::new(start.wrapping_add(before))
}

/// Gives such pages back.
///
/// # Safety
/// They must be those of this layout, and nothing may use them any more.
#[cfg(all(target_os = "linux", not(miri)))]
unsafe fn unmap_pages(start: NonNull<u8>, layout: Layout) {
    // SAFETY: the caller's promise.
    unsafe { libc::munmap(start.as_ptr().cast(), layout.size()) };
}

/// Memory that the allocator clears.
#[cfg(any(not(target_os = "linux"), miri))]
fn map_pages(layout: Layout) -> Option<NonNull<u8>> {
    // SAFETY: blocks of pages have a size other than zero.
    NonNull::new(unsafe { alloc_zeroed(layout) })
}

/// Gives such memory back.
///
/// # Safety
/// It must be that of this layout, and nothing may use it any more.
#[cfg(any(not(target_os = "linux"), miri))]
unsafe fn unmap_pages(start: NonNull<u8>, layout: Layout) {
    // SAFETY: the caller's promise.
    unsafe { dealloc(start.as_ptr(), layout) };
}

/// Lets the system back whole huge pages of memory as such, before they are touched: the
/// translations of small ones do not fit the CPU. Measured: an addition of 16 M float32 takes 0.65
/// of the time.
fn ask_for_huge_pages(start: NonNull<u8>, size: usize) {
    // Miri has no advice to give.
    #[cfg(all(target_os = "linux", not(miri)))]
    // SAFETY: advice about memory that is ours and changes no byte of it; a system may refuse.
    let _ = unsafe { libc::madvise(start.as_ptr().cast(), size, libc::MADV_HUGEPAGE) };
    #[cfg(any(not(target_os = "linux"), miri))]
    let _ = (start, size);
}

impl Drop for Block {
    fn drop(&mut self) {
        match (self.size, Self::layout(self.size)) {
            (0, _) | (_, None) => {}
            (HUGE_PAGE.., Some(layout)) => {
                watch(-(self.size as isize));
                // SAFETY: `allocate` got these pages with the same layout, and nothing else frees them.
                unsafe { unmap_pages(self.start, layout) }
            }
            // SAFETY: as above.
            (_, Some(layout)) => unsafe { dealloc(self.start.as_ptr(), layout) },
        }
    }
}

/// Blocks that wait for reuse, each with the thread that dropped it.
pub(crate) struct Kept {
    blocks: Vec<(Block, usize)>,
    bytes: usize,
}

impl Kept {
    /// The most recently kept block of exactly this size, of this thread if it has one: that is the
    /// likeliest to be in the caches of its core.
    fn take(&mut self, size: usize) -> Option<Block> {
        let here = thread();
        let mut blocks = self.blocks.iter();
        let own = blocks.rposition(|(block, thread)| block.size == size && *thread == here);
        let any = || {
            self.blocks
                .iter()
                .rposition(|(block, _)| block.size == size)
        };
        let place = own.or_else(any)?;
        self.bytes -= size;
        Some(self.blocks.remove(place).0)
    }

    fn keep(&mut self, block: Block) {
        if block.size < KEEP_FROM || block.size > KEEP_AT_MOST {
            return;
        }
        self.bytes += block.size;
        self.blocks.push((block, thread()));
        while self.bytes > KEEP_AT_MOST {
            self.forget(0);
        }
        if self.blocks.len() > KEEP_BLOCKS {
            // The oldest of those that are soon made again.
            let is_small = |(block, _): &(Block, usize)| block.size < HUGE_PAGE;
            let place = self.blocks.iter().position(is_small);
            self.forget(place.unwrap_or(0));
        }
    }

    fn forget(&mut self, place: usize) {
        self.bytes -= self.blocks.remove(place).0.size;
    }
}

/// A number of this thread that no other living thread has.
fn thread() -> usize {
    thread_local! {
        static HERE: u8 = const { 0 };
    }
    // Not while the thread ends.
    let address = HERE.try_with(|here| (&raw const *here).addr());
    address.unwrap_or(0)
}

static KEPT: Mutex<Kept> = Mutex::new(Kept {
    blocks: Vec::new(),
    bytes: 0,
});

/// The memory that waits for reuse, in the hands of this thread.
pub(crate) type KeptGuard = std::sync::MutexGuard<'static, Kept>;

pub(crate) fn lock_kept() -> KeptGuard {
    // A panic elsewhere cannot leave the list half changed.
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives the memory that waits for reuse back to the system.
pub fn release_kept() {
    let released = std::mem::replace(
        &mut *lock_kept(),
        Kept {
            blocks: Vec::new(),
            bytes: 0,
        },
    );
    drop(released.blocks);
}
