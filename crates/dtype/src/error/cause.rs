//! Errors of programs themselves: their own words, and errors of other libraries.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::sync::Arc;

use super::{Error, Problem};

/// The error of another library that an [`Error`] was made of.
///
/// ```
/// use allotrope_dtype::{Error, Problem};
/// let error = Error::wrap("x".parse::<u8>().unwrap_err());
/// let Problem::Other { cause: Some(cause), .. } = error.problem() else { unreachable!() };
/// assert!(cause.error().is::<std::num::ParseIntError>());
/// ```
#[derive(Clone)]
pub struct Cause(Arc<dyn StdError + Send + Sync>);

impl Cause {
    /// The error itself.
    #[must_use]
    pub fn error(&self) -> &(dyn StdError + 'static) {
        &*self.0
    }

    /// Whether the system refused a file.
    pub(super) fn is_file(&self) -> bool {
        self.0.is::<io::Error>()
    }
}

/// Whether it is the same error, not only one of the same words.
impl PartialEq for Cause {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Error {
    /// An error in the words of a program, of a layer or a loss of its own.
    ///
    /// ```
    /// use allotrope_dtype::{Error, ErrorKind};
    /// let error = Error::other("no labels in this batch").hint("drop it");
    /// assert_eq!(error.to_string(), "no labels in this batch (hint: drop it)");
    /// assert_eq!(error.kind(), ErrorKind::Other);
    /// ```
    #[cold]
    #[must_use]
    pub fn other(text: impl Into<String>) -> Self {
        let (text, cause) = (text.into(), None);
        Self::new("", Problem::Other { text, cause })
    }

    /// The error of another library, which is its [`source`](std::error::Error::source). That of a file
    /// that the system refuses is of the kind [`File`](super::ErrorKind::File).
    ///
    /// There is no `From` of such errors: with a second one closures that end in `Ok(…)` and use `?`
    /// would have to name their error.
    ///
    /// ```
    /// use std::error::Error as _;
    /// use allotrope_dtype::Error;
    ///
    /// fn labels(line: &str) -> Result<Vec<u8>, Error> {
    ///     line.split(' ').map(|word| word.parse().map_err(Error::wrap)).collect()
    /// }
    /// let error = labels("3 x").unwrap_err();
    /// assert_eq!(error.to_string(), "invalid digit found in string");
    /// assert!(error.source().unwrap().is::<std::num::ParseIntError>());
    /// ```
    #[cold]
    #[must_use]
    pub fn wrap(error: impl StdError + Send + Sync + 'static) -> Self {
        let (text, cause) = (error.to_string(), Some(Cause(Arc::new(error))));
        Self::new("", Problem::Other { text, cause })
    }
}
