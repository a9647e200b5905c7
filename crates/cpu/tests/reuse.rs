//! What becomes of dropped memory. Alone in its process: other tests would take the blocks.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use allotrope_cpu::{Buffer, release_kept};
use allotrope_dtype::ErrorKind;

#[test]
fn a_dropped_block_is_used_again_until_memory_runs_out() {
    let len = 3 << 20;
    let first = Buffer::zeroed("zeros", len).unwrap();
    let address = first.as_ptr().addr();
    drop(first);
    // A slightly smaller request shares the block size.
    let second = Buffer::zeroed("zeros", len - 100).unwrap();
    assert_eq!(second.as_ptr().addr(), address);
    for bytes in [1_usize << 60, usize::MAX - 100, usize::MAX] {
        let error = Buffer::zeroed("zeros", bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Memory);
        assert_eq!(
            error.to_string(),
            format!("zeros: out of memory: {bytes} bytes")
        );
    }
    assert!(second.iter().all(|byte| *byte == 0));
    drop(second);
    release_kept();
    assert_eq!(Buffer::zeroed("zeros", len).unwrap().len(), len);
}
