//! Tasks of `allotrope_op::task::window`.

use allotrope_dtype::Error;
use allotrope_op::task::{Results, Window};

use super::Call;

pub(super) fn perform(_call: &Call<'_>, _task: &Window<'_>) -> Result<Option<Results>, Error> {
    Ok(None)
}
