//! Generators: where a sequence of random draws stands.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use allotrope_dtype::{DType, Error, Problem};
use allotrope_op::{Stream, blocks_of};

use crate::{Tensor, fork};

/// A source of random numbers: a seed, and how much of its sequence has been used.
///
/// Philox 4x32-10, counter-based: element `i` of a draw depends on the seed, the offset and `i`
/// alone, on every device and for any number of threads. A draw of `n` elements advances the offset
/// by `⌈n / 4⌉`, whatever its dtype and distribution; one whose arguments are refused advances nothing.
///
/// ```
/// use allotrope_dtype::DType;
/// use allotrope_tensor::{Generator, Tensor};
/// let generator = Generator::new(42);
/// let x = Tensor::rand(&[2, 3], DType::F32, Some(&generator))?;
/// assert_eq!(generator.offset(), 2);
/// generator.manual_seed(42);
/// let again = Tensor::rand(&[2, 3], DType::F32, Some(&generator))?;
/// assert_eq!(x.to_vec::<f32>()?, again.to_vec::<f32>()?);
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
#[derive(Debug)]
pub struct Generator {
    stream: Mutex<Stream>,
}

impl Generator {
    /// A generator at the start of a seed's sequence.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self {
            stream: Mutex::new(Stream { seed, offset: 0 }),
        }
    }

    /// The generator of the process, which draws without one of their own use. It starts from an
    /// unpredictable seed.
    #[must_use]
    pub fn of_process() -> &'static Self {
        PROCESS.get_or_init(Self::default)
    }

    /// Gives this thread a place of its own in the sequence of a seed (seed and offset), which the
    /// generator of the process then stands at for it alone, or takes it away; the one it had.
    ///
    /// So that several threads prepare data with draws that do not depend on each other.
    ///
    /// ```
    /// use allotrope_tensor::Generator;
    /// let before = Generator::swap_place_of_thread(Some((7, 0)));
    /// assert_eq!(Generator::of_process().initial_seed(), 7);
    /// assert_eq!(Generator::swap_place_of_thread(before), Some((7, 0)));
    /// ```
    pub fn swap_place_of_thread(place: Option<(u64, u64)>) -> Option<(u64, u64)> {
        let stream = place.map(|(seed, offset)| Stream { seed, offset });
        let before = PLACE_OF_THREAD.replace(stream);
        before.map(|Stream { seed, offset }| (seed, offset))
    }

    /// Goes to the start of a seed's sequence.
    pub fn manual_seed(&self, seed: u64) {
        self.update(|stream| *stream = Stream { seed, offset: 0 });
    }

    /// Goes to the start of an unpredictable seed's sequence, and returns the seed.
    pub fn seed(&self) -> u64 {
        let seed = unpredictable_seed();
        self.manual_seed(seed);
        seed
    }

    /// The seed.
    #[must_use]
    pub fn initial_seed(&self) -> u64 {
        self.update(|stream| stream.seed)
    }

    /// How much of the sequence has been used, in blocks of four elements.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.update(|stream| stream.offset)
    }

    /// Goes to a place in the seed's sequence.
    pub fn set_offset(&self, offset: u64) {
        self.update(|stream| stream.offset = offset);
    }

    /// Seed and offset as 16 bytes, little-endian.
    ///
    /// # Errors
    /// A memory error.
    pub fn state(&self) -> Result<Tensor, Error> {
        let Stream { seed, offset } = self.update(|stream| *stream);
        // bounded: two numbers.
        Tensor::from_slice(&[seed.to_le_bytes(), offset.to_le_bytes()].concat(), &[16])
    }

    /// Goes to where a generator was when it gave this state.
    ///
    /// # Errors
    /// A value error unless it has the form of one.
    pub fn set_state(&self, state: &Tensor) -> Result<(), Error> {
        let refuse = || {
            let problem = Problem::BadState {
                dtype: state.dtype(),
                shape: state.shape().to_vec(),
            };
            Error::new("set_state", problem)
        };
        if state.dtype() != DType::U8 || state.rank() != 1 {
            return Err(refuse());
        }
        let bytes: [u8; 16] = state.to_bytes()?.try_into().map_err(|_| refuse())?;
        let [seed, offset] = bytemuck::cast::<_, [[u8; 8]; 2]>(bytes).map(u64::from_le_bytes);
        self.update(|stream| *stream = Stream { seed, offset });
        Ok(())
    }

    /// The place for a draw of so many elements, which is used up.
    pub(crate) fn take(&self, count: usize) -> Stream {
        self.update(|stream| {
            let place = *stream;
            stream.offset = place.offset.wrapping_add(blocks_of(count));
            place
        })
    }

    /// Gives back the place for a draw that was refused, unless another was taken since.
    pub(super) fn give_back(&self, place: Stream, count: usize) {
        self.update(|stream| {
            let offset = place.offset.wrapping_add(blocks_of(count));
            if *stream == (Stream { offset, ..place }) {
                *stream = place;
            }
        });
    }

    /// Reads or moves the place where this generator stands for this thread.
    fn update<T>(&self, act: impl FnOnce(&mut Stream) -> T) -> T {
        let is_of_process = PROCESS
            .get()
            .is_some_and(|process| std::ptr::eq(process, self));
        if let Some(mut stream) = PLACE_OF_THREAD.get().filter(|_| is_of_process) {
            let answer = act(&mut stream);
            PLACE_OF_THREAD.set(Some(stream));
            return answer;
        }
        let _gate = fork::enter_detached();
        // Nothing panics while it holds the lock, so the contents are whole.
        act(&mut self.stream.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The generator of the process.
static PROCESS: OnceLock<Generator> = OnceLock::new();

thread_local! {
    /// Where the generator of the process stands for this thread, if it has a place of its own.
    static PLACE_OF_THREAD: Cell<Option<Stream>> = const { Cell::new(None) };
}

/// A seed from the system's entropy.
fn unpredictable_seed() -> u64 {
    // The standard library seeds its hash maps from it, once for each thread: what counts is hashed.
    static SEEDS: AtomicU64 = AtomicU64::new(0);
    RandomState::new().hash_one(SEEDS.fetch_add(1, Ordering::Relaxed))
}

impl Default for Generator {
    /// A generator at the start of an unpredictable seed's sequence.
    fn default() -> Self {
        Self::new(unpredictable_seed())
    }
}

impl Clone for Generator {
    /// Another generator at the same place, which goes its own way from there.
    fn clone(&self) -> Self {
        Self {
            stream: Mutex::new(self.update(|stream| *stream)),
        }
    }
}
