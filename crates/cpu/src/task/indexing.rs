//! Tasks of `allotrope_op::task::indexing`.

use allotrope_dtype::Error;
use allotrope_op::task::{Indexing, Results};

use super::Call;

pub(super) fn perform(_call: &Call<'_>, _task: &Indexing<'_>) -> Result<Option<Results>, Error> {
    Ok(None)
}
