//! Elements chosen by indices and masks. Indices are int64, checked and not negative, and have a
//! layout of their own: one index may serve a whole row.
//!
//! | file | what is in it |
//! |---|---|
//! | `places` | the range of indices, and negative ones counted from the end |
//! | `pick` | elements read from where indices say |
//! | `put` | elements written, added, … to where indices say |
//! | `mask` | elements where a mask is true |
//! | `search` | places in sorted sequences, and membership |
//! | `bags` | sums of rows at lists of places |
//! | `count` | how many elements fall into each bin |

mod bags;
mod count;
mod mask;
mod pick;
mod places;
mod put;
mod search;

pub use bags::{BagRows, add_bags};
pub use count::{Bins, count_bins, count_indices};
pub use mask::{Mask, expand_true, fill_true, true_coordinates, true_elements};
pub use pick::pick;
pub use places::{Places, index_range, wrap_negative};
pub use put::put;
pub use search::{KEYS, find_bins, pairs, search, sort_keys, which_belong, which_equal};
