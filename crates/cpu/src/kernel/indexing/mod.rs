//! Elements chosen by indices and masks. Indices are int64, checked and not negative, and have a
//! layout of their own: one index may serve a whole row.
//!
//! | file | what is in it |
//! |---|---|
//! | `indices` | the range of indices, and negative ones counted from the end |
//! | `gather` | elements read from where indices say |
//! | `scatter` | elements written, added, … to where indices say |
//! | `mask` | elements where a mask is true |
//! | `search` | places in sorted sequences, and membership |
//! | `embedding_bag` | sums of rows at lists of places |
//! | `count` | how many elements fall into each bin |

mod count;
mod embedding_bag;
mod gather;
mod indices;
mod mask;
mod scatter;
mod search;

pub(crate) use count::{Bins, count_bins, count_indices};
pub(crate) use embedding_bag::{BagRows, add_bags};
pub(crate) use gather::gather;
pub(crate) use indices::{Places, index_range, wrap_in_place, wrap_negative};
pub(crate) use mask::{Mask, expand_true, fill_true, true_coordinates, true_elements};
pub(crate) use scatter::scatter;
pub(crate) use search::{find_bins, pairs, search, sort_keys, which_belong, which_equal};
