//! What a formula recorded, made ready: constants computed, kernels looked up, rooms given out.

use allotrope_dtype::Level;

use super::record::{Action, NONE, Step};
use super::tile::{self, LINE, Line, Place, Room, Word};
use crate::kernel::elementwise::{self, Kernel};

/// Where a value lies.
#[derive(Clone, Copy)]
pub(super) enum Source {
    Constant(u16),
    Room(u16),
}

/// What fills a room.
#[derive(Clone, Copy)]
pub(super) enum Task {
    /// The part of an operand.
    Part(u8),
    /// A constant everywhere, for those that cannot read it as such.
    Spread,
    /// One operation.
    Plain(Action),
    /// The kernel of a row, with the number of its operands.
    Row(Kernel, usize),
}

/// A step that happens to every tile.
pub(super) struct Order {
    pub(super) task: Task,
    pub(super) from: [Source; 3],
    /// The room that it fills, which is none of those that it reads.
    pub(super) room: u16,
}

/// All that happens to a tile.
pub(crate) struct Recipe<W> {
    pub(super) orders: Vec<Order>,
    pub(super) constants: Vec<Line<W>>,
    pub(super) rooms: usize,
    /// The real part of the result and the imaginary one.
    pub(super) results: [Source; 2],
}

/// Rooms that are free, and how many there are.
#[derive(Default)]
struct Rooms {
    free: Vec<u16>,
    count: u16,
}

impl Rooms {
    fn take(&mut self) -> u16 {
        self.free.pop().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        })
    }
}

/// For each step the last one that reads it; itself if none does, and the end if it is a result.
fn last_readers(steps: &[Step], results: [u16; 2]) -> Vec<usize> {
    let mut last: Vec<usize> = (0..steps.len()).collect();
    for result in results {
        last[usize::from(result)] = steps.len();
    }
    for (index, step) in steps.iter().enumerate().rev() {
        if last[index] == index {
            continue;
        }
        for from in operands(step) {
            last[from] = last[from].max(index);
        }
    }
    last
}

fn operands(step: &Step) -> impl Iterator<Item = usize> {
    let some = step.from.into_iter().take_while(|from| *from != NONE);
    some.map(usize::from)
}

impl<W: Word> Recipe<W> {
    /// The recipe for what was recorded, for one level: constants depend on it.
    pub(super) fn new(level: Level, steps: &[Step], results: [u16; 2]) -> Self {
        let last = last_readers(steps, results);
        let mut recipe = Self {
            orders: Vec::new(),
            constants: Vec::new(),
            rooms: 0,
            results: [Source::Constant(0); 2],
        };
        let mut rooms = Rooms::default();
        let mut sources = vec![Source::Constant(0); steps.len()];
        for (index, step) in steps.iter().enumerate() {
            if last[index] == index {
                continue;
            }
            let mut from = [Source::Constant(0); 3];
            let mut arity = 0;
            for (place, operand) in from.iter_mut().zip(operands(step)) {
                *place = sources[operand];
                arity += 1;
            }
            let task = match step.action {
                Action::Part(number) => Task::Part(number),
                Action::Row(op) => match elementwise::find(op, W::DTYPE) {
                    Some(kernel) => Task::Row(kernel, arity),
                    None => Task::Plain(step.action),
                },
                action => Task::Plain(action),
            };
            let used = &from[..arity];
            let is_constant = |source: &Source| matches!(source, Source::Constant(_));
            if !matches!(task, Task::Part(_)) && used.iter().all(is_constant) {
                let line = recipe.constant(level, step, task, from);
                recipe.constants.push(line);
                sources[index] = Source::Constant((recipe.constants.len() - 1) as u16);
                continue;
            }
            let mut lent = Vec::new();
            if matches!(task, Task::Row(..)) {
                for source in from[..arity].iter_mut().filter(|from| is_constant(from)) {
                    let room = rooms.take();
                    recipe.orders.push(Order {
                        task: Task::Spread,
                        from: [*source; 3],
                        room,
                    });
                    *source = Source::Room(room);
                    lent.push(room);
                }
            }
            let room = rooms.take();
            recipe.orders.push(Order { task, from, room });
            sources[index] = Source::Room(room);
            rooms.free.append(&mut lent);
            let mut ended: Vec<usize> =
                operands(step).filter(|from| last[*from] == index).collect();
            ended.sort_unstable();
            ended.dedup();
            for from in ended {
                if let Source::Room(room) = sources[from] {
                    rooms.free.push(room);
                }
            }
        }
        recipe.rooms = rooms.count.into();
        recipe.results = results.map(|result| sources[usize::from(result)]);
        recipe
    }

    /// The value of a step whose operands are constants.
    fn constant(&self, level: Level, step: &Step, task: Task, from: [Source; 3]) -> Line<W> {
        if step.action == Action::Constant {
            return [W::cut(step.bits); _];
        }
        let places = from.map(|from| self.place(&[], from));
        let mut out = [[W::default(); LINE]];
        tile::perform(level, task, places, &mut out);
        out[0]
    }

    /// Where a step finds a value.
    pub(super) fn place<'a>(&'a self, rooms: &'a [Room<W>], source: Source) -> Place<'a, W> {
        match source {
            Source::Constant(index) => Place::same(self.constants.get(usize::from(index))),
            Source::Room(room) => Place::tile(rooms[usize::from(room)].lines()),
        }
    }
}
