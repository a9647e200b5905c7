//! Memory that someone else owns: read as it is, kept alive, given back exactly once.
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, and borrows memory"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use allotrope_cpu::{Buffer, Foreign, Storage};

/// Bytes that count how often they are given back.
struct Owner {
    bytes: Vec<u8>,
    returned: Arc<AtomicUsize>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.returned.fetch_add(1, Ordering::SeqCst);
    }
}

/// The bytes `skip..` of 0 to 99, and the count of their returns.
fn borrow(skip: usize) -> (Foreign, Arc<AtomicUsize>) {
    let returned = Arc::new(AtomicUsize::new(0));
    let owner = Owner {
        bytes: (0..100).collect(),
        returned: Arc::clone(&returned),
    };
    let rest = &owner.bytes[skip..];
    let (start, len) = (rest.as_ptr(), rest.len());
    // SAFETY: moving the owner does not move the bytes of its vector, and nothing writes to them.
    let memory = unsafe { Foreign::new(start, len, owner) };
    (memory, returned)
}

#[test]
fn the_bytes_are_those_of_the_owner_at_any_address() {
    for skip in [0, 1, 7, 64, 100] {
        let (memory, returned) = borrow(skip);
        let storage = Storage::from(memory);
        assert!(storage.iter().copied().eq(skip as u8..100));
        assert_eq!(returned.load(Ordering::SeqCst), 0);
        drop(storage);
        assert_eq!(returned.load(Ordering::SeqCst), 1);
    }
}

#[test]
fn only_owned_bytes_can_be_written_to() {
    let mut foreign = Storage::from(borrow(0).0);
    assert!(foreign.owned_mut().is_none());
    let mut owned = Storage::from(Buffer::zeroed("zeros", 3).unwrap());
    owned.owned_mut().unwrap()[1] = 5;
    assert_eq!(owned[..], [0, 5, 0]);
}

#[test]
fn the_last_of_many_threads_gives_the_memory_back() {
    for _ in 0..50 {
        let (memory, returned) = borrow(3);
        let shared = Arc::new(Storage::from(memory));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let mine = Arc::clone(&shared);
                std::thread::spawn(move || {
                    let sum: usize = mine.iter().map(|byte| usize::from(*byte)).sum();
                    assert_eq!(sum, (3..100).sum::<usize>());
                })
            })
            .collect();
        drop(shared);
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(returned.load(Ordering::SeqCst), 1);
    }
}
