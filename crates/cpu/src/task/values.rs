//! Tasks of `allotrope_op::task::values`.

use allotrope_dtype::Error;
use allotrope_op::task::{Results, Values};

use super::Call;

pub(super) fn perform(_call: &Call<'_>, _task: &Values<'_>) -> Result<Option<Results>, Error> {
    Ok(None)
}
