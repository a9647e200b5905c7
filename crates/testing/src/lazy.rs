//! Values that are made when they are first asked for.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use allotrope_dtype::{Error, Problem};

type Work<T> = Box<dyn FnOnce() -> Result<T, Error> + Send>;

/// A value, or the work that makes it.
pub(crate) struct Lazy<T> {
    value: OnceLock<Result<T, Error>>,
    work: Mutex<Option<Work<T>>>,
}

impl<T> Lazy<T> {
    /// A value that is there.
    pub(crate) fn ready(value: T) -> Arc<Self> {
        Arc::new(Self {
            value: OnceLock::from(Ok(value)),
            work: Mutex::new(None),
        })
    }

    /// A value that is made when it is asked for.
    pub(crate) fn pending(work: impl FnOnce() -> Result<T, Error> + Send + 'static) -> Arc<Self> {
        Arc::new(Self {
            value: OnceLock::new(),
            work: Mutex::new(Some(Box::new(work))),
        })
    }

    /// The value; a fault of its work, or of work that it was made of, is raised whenever it is
    /// asked for.
    pub(crate) fn get(&self) -> Result<&T, Error> {
        let made = self.value.get_or_init(|| {
            let work = self
                .work
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            match work {
                Some(work) => work(),
                // Work that unwound left nothing.
                None => Err(Error::new(
                    "apart",
                    Problem::DeviceFailure {
                        device: crate::KIND,
                        reason: "its work was given up".to_owned(),
                    },
                )),
            }
        });
        made.as_ref().map_err(Clone::clone)
    }
}

impl<T> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_ready = self.value.get().is_some();
        f.write_str(if is_ready { "ready" } else { "pending" })
    }
}
