//! Rows over complex numbers that take many steps: the formula is recorded once, and run step by step
//! over tiles in the first-level cache.
//!
//! Compiled into one loop each, ten of these rows took 0.4 MB: here they share the loops of their
//! steps, and elementary functions are the rows over floats with all that makes those fast.
//!
//! | file | what is in it |
//! |---|---|
//! | `record` | the lane that writes down what a formula does |
//! | `recipe` | what was written down, made ready |
//! | `tile` | a step over a tile |

mod recipe;
mod record;
#[cfg(test)]
mod tests;
mod tile;

use std::cell::RefCell;
use std::sync::OnceLock;

use allotrope_dtype::Level;
use allotrope_op::table::formula::ComplexMap;
use allotrope_op::{Complex, Op};

use self::recipe::{Recipe, Task};
use self::record::{Float, Step, Value, steps_of};
use self::tile::{LINE, Room, Word};

/// Recipes of a width by row, without fused multiply-add and with it.
type Recipes<W> = [[OnceLock<Box<Recipe<W>>>; 2]; Op::ALL.len()];

/// Memory for the rooms, kept by each thread.
type Memory<W> = RefCell<Vec<Room<W>>>;

/// A part of complex numbers that are computed in steps.
pub(super) trait Part: Float + 'static {
    /// Its bits.
    type Word: Word;
    fn recipes() -> &'static Recipes<Self::Word>;
    fn with_memory(work: impl FnOnce(&mut Vec<Room<Self::Word>>));
}

macro_rules! impl_part {
    ($($float:ty, $word:ty;)*) => {$(
        impl Part for $float {
            type Word = $word;

            fn recipes() -> &'static Recipes<$word> {
                static RECIPES: Recipes<$word> =
                    [const { [const { OnceLock::new() }; 2] }; Op::ALL.len()];
                &RECIPES
            }

            fn with_memory(work: impl FnOnce(&mut Vec<Room<$word>>)) {
                thread_local! {
                    static MEMORY: Memory<$word> = const { RefCell::new(Vec::new()) };
                }
                MEMORY.with_borrow_mut(work);
            }
        }
    )*};
}
impl_part! {
    f32, u32;
    f64, u64;
}

/// The steps of a row, and the results among them.
type Recorded = (Vec<Step>, [u16; 2]);

fn record<T: Part, F: ComplexMap<N>, const N: usize>() -> Recorded {
    steps_of(|| {
        let args = std::array::from_fn(|operand| {
            let part = |half: usize| Value::part((2 * operand + half) as u8);
            Complex::new(part(0), part(1))
        });
        let result: Complex<Value<T>> = F::call(args);
        [result.re.step, result.im.step]
    })
}

/// Runs a row, the table's with that number, over slices of complex numbers.
pub(super) fn run<T: Part, F: ComplexMap<N>, const N: usize>(
    op: usize,
    level: Level,
    args: &[&[u8]],
    out: &mut [u8],
) {
    run_recorded::<T>(op, record::<T, F, N>, level, args, out);
}

fn run_recorded<T: Part>(
    op: usize,
    record: fn() -> Recorded,
    level: Level,
    args: &[&[u8]],
    out: &mut [u8],
) {
    let fused = usize::from(level > Level::Scalar);
    let recipe = T::recipes()[op][fused].get_or_init(|| {
        let (steps, results) = record();
        Box::new(Recipe::new(level, &steps, results))
    });
    T::with_memory(|rooms| run_tiles(level, recipe, rooms, args, out));
}

fn run_tiles<W: Word>(
    level: Level,
    recipe: &Recipe<W>,
    rooms: &mut Vec<Room<W>>,
    args: &[&[u8]],
    out: &mut [u8],
) {
    let most = W::LINES;
    if rooms.len() < recipe.rooms {
        rooms.resize_with(recipe.rooms, Room::new);
    }
    let out: &mut [[W; 2]] = bytemuck::cast_slice_mut(out);
    for (tile, out) in out.chunks_mut(most * LINE).enumerate() {
        let start = tile * most * LINE;
        let lines = out.len().div_ceil(LINE);
        for order in &recipe.orders {
            let index = usize::from(order.room);
            let mut room = std::mem::take(&mut rooms[index]);
            if let Task::Part(number) = order.task {
                let values: &[[W; 2]] = bytemuck::cast_slice(args[usize::from(number / 2)]);
                let values = &values[start..start + out.len()];
                tile::take_part(
                    level,
                    values,
                    number % 2 == 1,
                    &mut room.lines_mut()[..lines],
                );
            } else {
                let from = order.from.map(|from| recipe.place(rooms, from));
                tile::perform(level, order.task, from, &mut room.lines_mut()[..lines]);
            }
            rooms[index] = room;
        }
        let parts = recipe.results.map(|result| recipe.place(rooms, result));
        tile::join_parts(level, parts, out);
    }
}
