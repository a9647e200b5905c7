//! Where the values of a tile lie, and how long it is.

use allotrope_op::Slot;
use smallvec::SmallVec;

use super::{Action, LINE, Plan, Reader};

/// The most elements of a tile.
const LONGEST_TILE: usize = 2048;
/// The fewest: below, calls cost more than the elements.
const SHORTEST_TILE: usize = 1024;
/// The fewest passes over a tile during which memory is asked for the next one.
const LOOK_AHEAD_FROM: usize = 8;
/// Bytes that the values of a tile may take together.
const TILE_BYTES: usize = 32 << 10;

impl Plan<'_> {
    /// As many elements as the values of a tile have room for; all of them if nothing is stored.
    ///
    /// A value that nothing reads any more leaves its room to a later one, so that long programs stay
    /// in the first-level cache.
    pub(super) fn choose_tile(&mut self) {
        let dtypes = self.program.dtypes();
        let last_reads = self.last_reads();
        let mut rooms = Rooms::default();
        self.offsets = SmallVec::from_elem(0, dtypes.len());
        // What stays is written before the first tile, so that no room of it was another's before.
        for (slot, dtype) in dtypes.iter().enumerate() {
            if self.is_stored(slot) && self.stays(slot) {
                self.offsets[slot] = rooms.take(dtype.itemsize());
            }
        }
        for (slot, dtype) in dtypes.iter().enumerate() {
            if self.is_stored(slot) && !self.stays(slot) {
                self.offsets[slot] = rooms.take(dtype.itemsize());
            }
            let Some(step) = slot.checked_sub(self.readers.len()) else {
                continue;
            };
            for (read, last) in last_reads.iter().enumerate().take(slot) {
                if *last == step && self.is_stored(read) {
                    rooms.leave(dtypes[read].itemsize(), self.offsets[read]);
                }
            }
        }
        if rooms.total == 0 {
            return;
        }
        let tile = (TILE_BYTES / rooms.total).next_power_of_two() / 2;
        self.tile = tile.clamp(SHORTEST_TILE, LONGEST_TILE);
        // Tiles start at cache lines, since their length is a multiple of one.
        for offset in &mut self.offsets {
            *offset *= self.tile;
        }
        self.scratch = rooms.total * self.tile;
    }

    /// Spreads the reads of a tile over the steps of the one before, where those are many: tiles of
    /// an input lie in different pages, where no prefetcher of the CPU follows. Measured on the way
    /// back through 20 functions, which reads 15 tensors: 0.88 of the time.
    pub(super) fn look_ahead(&mut self) {
        let is_pass = |action: &&Action| !matches!(action, Action::Absorbed | Action::Constant(_));
        let passes = self.actions.iter().filter(is_pass).count();
        if passes < LOOK_AHEAD_FROM || self.tile == usize::MAX {
            return;
        }
        let inputs = self.readers.iter().zip(self.program.input_dtypes());
        let bytes = inputs.map(|(reader, dtype)| match reader {
            Reader::Direct(_) => dtype.itemsize(),
            _ => 0,
        });
        let lines = bytes.sum::<usize>() * self.tile / LINE;
        self.lines_ahead = lines.div_ceil(passes);
    }

    /// Whether a value is the same in every tile.
    fn stays(&self, slot: usize) -> bool {
        match slot.checked_sub(self.readers.len()) {
            None => matches!(self.readers[slot], Reader::Same(_)),
            Some(step) => matches!(self.actions[step], Action::Constant(_)),
        }
    }

    /// The step that reads each value last; none of them for what stays from tile to tile, and for
    /// what comes out.
    fn last_reads(&self) -> SmallVec<[usize; 16]> {
        let mut reads = SmallVec::from_elem(usize::MAX, self.program.dtypes().len());
        for (step, action) in self.actions.iter().enumerate() {
            for slot in action.operands() {
                reads[usize::from(*slot)] = step;
            }
        }
        for (slot, read) in reads.iter_mut().enumerate() {
            if self.stays(slot) || self.program.outputs().contains(&(slot as Slot)) {
                *read = usize::MAX;
            }
        }
        reads
    }
}

/// Rooms of values in the scratch memory, in bytes per element.
#[derive(Default)]
struct Rooms {
    /// The width and place of those that have been left.
    free: SmallVec<[(usize, usize); 4]>,
    total: usize,
}

impl Rooms {
    /// The room that was left last, which is the warmest, or one at the end.
    fn take(&mut self, width: usize) -> usize {
        match self.free.iter().rposition(|(free, _)| *free == width) {
            Some(place) => self.free.remove(place).1,
            None => {
                self.total += width;
                self.total - width
            }
        }
    }

    fn leave(&mut self, width: usize, place: usize) {
        self.free.push((width, place));
    }
}
