//! Tasks of `allotrope_op::task::contraction`.

use allotrope_dtype::Error;
use allotrope_op::task::{Contraction, Results};

use super::Call;

pub(super) fn perform(_call: &Call<'_>, _task: &Contraction<'_>) -> Result<Option<Results>, Error> {
    Ok(None)
}
