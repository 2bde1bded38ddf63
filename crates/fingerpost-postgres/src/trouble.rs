//! What went wrong between us and the database, and is it worth another try?

use std::error::Error as _;
use std::io::{self, ErrorKind};

use deadpool_postgres::PoolError;
use tokio_postgres::error::SqlState;

/// Why the database did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    /// It answered that it will not, or could not be asked.
    #[error("{}", told(.0))]
    Database(#[from] tokio_postgres::Error),
    /// No connection was free or could be made in time.
    #[error("no connection to the database came about in time")]
    NoConnection,
    /// It did not answer in time.
    #[error("the database did not answer within {0} s")]
    Silent(u64),
    /// The node's own disk failed.
    #[error(transparent)]
    Disk(#[from] io::Error),
    /// What came is not what was kept.
    #[error("{0} did not come as it was kept")]
    Garbled(String),
    /// The tables are of a later version of us.
    #[error(
        "its tables are of version {found}, and this fingerpost knows versions up to {known}: use a newer fingerpost"
    )]
    Newer {
        /// Which version they are of.
        found: i32,
        /// The last one that we know.
        known: i32,
    },
    /// The tables are of an earlier version, and whoever only reads changes nothing.
    #[error(
        "its tables are of version {found}, and this fingerpost needs version {known}: `fingerpost compile` by whoever may write to it brings them there"
    )]
    Older {
        /// Which version they are of.
        found: i32,
        /// The one that we need.
        known: i32,
    },
}

impl From<PoolError> for Trouble {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Backend(error) => Self::Database(error),
            _ => Self::NoConnection,
        }
    }
}

impl Trouble {
    /// Is it the connection or the server's being away, which pass?
    pub(crate) fn passes(&self) -> bool {
        let error = match self {
            Self::NoConnection | Self::Silent(_) => return true,
            Self::Database(error) => error,
            _ => return false,
        };
        let Some(code) = error.code() else {
            // Without an answer of the database it is the way there.
            let is_io = |error: &(dyn std::error::Error + 'static)| error.is::<io::Error>();
            let timeout = error.to_string().contains("timeout");
            return error.is_closed() || timeout || error.source().is_some_and(is_io);
        };
        let passing = [
            SqlState::ADMIN_SHUTDOWN,
            SqlState::CRASH_SHUTDOWN,
            SqlState::CANNOT_CONNECT_NOW,
            SqlState::TOO_MANY_CONNECTIONS,
            SqlState::T_R_SERIALIZATION_FAILURE,
            SqlState::T_R_DEADLOCK_DETECTED,
            SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
        ];
        passing.contains(code) || code.code().starts_with("08")
    }

    /// Has the database said something, if only no? Then it is there.
    pub(crate) fn is_answer(&self) -> bool {
        !self.passes()
            && matches!(self, Self::Database(_) | Self::Newer { .. } | Self::Older { .. })
    }

    /// Is it in the database's own words?
    pub(crate) fn is_said(&self) -> bool {
        matches!(self, Self::Database(error) if error.code().is_some())
    }

    /// As the system would say it: what may not be written at all is known by its kind.
    pub(crate) fn into_io(self) -> io::Error {
        let kind = match &self {
            Self::Disk(error) => error.kind(),
            Self::NoConnection | Self::Silent(_) => ErrorKind::TimedOut,
            Self::Database(error) => match error.code().map(SqlState::code) {
                // No right to, a server that only reads, no room.
                Some("42501") => ErrorKind::PermissionDenied,
                Some("25006") => ErrorKind::ReadOnlyFilesystem,
                Some("53100") => ErrorKind::StorageFull,
                Some(_) => ErrorKind::Other,
                None => ErrorKind::NotConnected,
            },
            _ => ErrorKind::Other,
        };
        io::Error::new(kind, self)
    }
}

/// In full, in one line: what it is, and what is behind it. An address is not part of it.
fn told(error: &tokio_postgres::Error) -> String {
    if let Some(answer) = error.as_db_error() {
        return format!("{}: {} ({})", answer.severity(), answer.message(), answer.code().code());
    }
    let mut told = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        told = format!("{told}: {error}");
        cause = error.source();
    }
    told
}
