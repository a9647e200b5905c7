//! Tasks of `allotrope_op::task::order`.

use allotrope_dtype::Error;
use allotrope_op::task::{Order, Results};

use super::Call;

pub(super) fn perform(_call: &Call<'_>, _task: &Order<'_>) -> Result<Option<Results>, Error> {
    Ok(None)
}
