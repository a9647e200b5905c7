//! Elements that change places, by width.
//!
//! | file | what is in it |
//! |---|---|
//! | `view` | from one layout to another |
//! | `assemble` | a tensor put together of pieces |
//! | `band` | matrices without what is beyond a diagonal |
//! | `col2im` | windows added up where they overlap |
//! | `steps` | the loops of a copy |
//! | `transpose` | rows that become columns |

mod assemble;
mod band;
mod col2im;
mod steps;
mod transpose;
mod view;

pub use assemble::assemble;
pub use band::keep_band;
pub(crate) use col2im::col2im;
pub use view::copy_view;
