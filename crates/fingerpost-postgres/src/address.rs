//! Which database, and which atlas in it?
//!
//! `postgres://user:password@host:port/database?atlas=NAME&schema=NAME&sslmode=...`: what PostgreSQL's own
//! tools understand, and two words of ours. Whatever is printed of an address has no password in it.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// The atlas, and the schema, where none is named.
const DEFAULT: &str = "fingerpost";

/// A name in PostgreSQL is at most this long.
const LONGEST: usize = 63;

/// Where PostgreSQL listens, unless it is told otherwise.
const STANDARD_PORT: u16 = 5432;

/// How long a server may take to be reached.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// After this long without a sign of life a connection counts as lost.
const SILENT_FOR: Duration = Duration::from_secs(10);

/// Where an atlas is, in a database.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    pub(crate) config: Config,
    pub(crate) tls: TlsMode,
    /// Certificates that count, where not the machine's own do.
    pub(crate) roots: Option<PathBuf>,
    pub(crate) atlas: String,
    pub(crate) schema: String,
}

/// How much is asked of a connection, in the words of `sslmode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TlsMode {
    Disable,
    /// Hidden from listeners, if the server can.
    Prefer,
    /// Hidden from listeners.
    Require,
    /// The server's certificate must be good, too,
    VerifyCa,
    /// and be for its name.
    VerifyFull,
}

/// Why an address means nothing. It is never repeated: it may have a password in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the address of the database cannot be used: {why}")]
pub struct AddressError {
    why: String,
}

impl AddressError {
    fn new(why: impl Into<String>) -> Self {
        Self { why: why.into() }
    }
}

impl Address {
    /// Is this text meant as one?
    pub fn is_meant(text: &str) -> bool {
        let scheme = text.split_once("://").map(|(scheme, _)| scheme);
        scheme.is_some_and(|scheme| {
            ["postgres", "postgresql"].iter().any(|known| scheme.eq_ignore_ascii_case(known))
        })
    }

    /// The name of the atlas.
    pub fn atlas(&self) -> &str {
        &self.atlas
    }

    /// Does it carry a password?
    pub fn has_password(&self) -> bool {
        self.config.get_password().is_some()
    }

    /// With this password, where it carries none: one that others can read (from the list of processes, or a
    /// file of settings) is better left out of it.
    #[must_use]
    pub fn with_password(mut self, password: Option<&str>) -> Self {
        if let (Some(password), false) = (password, self.has_password()) {
            self.config.password(password);
        }
        self
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        if !Self::is_meant(text) {
            return Err(AddressError::new("it does not begin with postgres://"));
        }
        let (base, query) = text.split_once('?').unwrap_or((text, ""));
        let (_, rest) = base.split_once("://").unwrap_or_default();
        let base = format!("postgres://{rest}");
        let (mut atlas, mut schema) = (DEFAULT.to_owned(), DEFAULT.to_owned());
        let (mut tls, mut roots, mut others) = (None, None, Vec::new());
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let decoded = percent_decode_str(value).decode_utf8();
            let value = decoded.map_err(|_| AddressError::new(format!("{name} is not UTF-8")))?;
            match name {
                "atlas" => atlas = value.into_owned(),
                "schema" => schema = value.into_owned(),
                "sslmode" => tls = Some(tls_mode(&value)?),
                // `system` is the machine's own certificates, which count anyway.
                "sslrootcert" if value == "system" => tls = tls.or(Some(TlsMode::VerifyFull)),
                "sslrootcert" => roots = Some(PathBuf::from(&*value)),
                _ => others.push(pair),
            }
        }
        let base = if others.is_empty() { base } else { format!("{base}?{}", others.join("&")) };
        // What it says names the parts, not what is in them.
        let config = base.parse::<Config>().map_err(|error| {
            let why = std::error::Error::source(&error)
                .map_or_else(|| error.to_string(), ToString::to_string);
            AddressError::new(why)
        })?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(AddressError::new("it names no host"));
        }
        name("atlas", &atlas, |c| !c.is_control())?;
        name("schema", &schema, |c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')?;
        let tls = match (tls.unwrap_or(TlsMode::Prefer), &roots) {
            // Certificates are named to be looked at.
            (TlsMode::Prefer | TlsMode::Require, Some(_)) => TlsMode::VerifyCa,
            (tls, _) => tls,
        };
        Ok(Self { config: settled(config, tls), tls, roots, atlas, schema })
    }
}

fn tls_mode(value: &str) -> Result<TlsMode, AddressError> {
    Ok(match value {
        "disable" => TlsMode::Disable,
        "allow" | "prefer" => TlsMode::Prefer,
        "require" => TlsMode::Require,
        "verify-ca" => TlsMode::VerifyCa,
        "verify-full" => TlsMode::VerifyFull,
        _ => {
            let known = "disable, prefer, require, verify-ca or verify-full";
            return Err(AddressError::new(format!("sslmode is none of {known}")));
        }
    })
}

fn name(what: &str, name: &str, is_plain: fn(char) -> bool) -> Result<(), AddressError> {
    if name.is_empty() || name.len() > LONGEST || !name.chars().all(is_plain) {
        let rule = format!("the name of the {what} has 1 to {LONGEST} plain characters");
        return Err(AddressError::new(rule));
    }
    Ok(())
}

/// What was left open is set so that a lost connection is noticed.
fn settled(mut config: Config, tls: TlsMode) -> Config {
    config.ssl_mode(match tls {
        TlsMode::Disable => SslMode::Disable,
        TlsMode::Prefer => SslMode::Prefer,
        TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull => SslMode::Require,
    });
    if config.get_application_name().is_none() {
        config.application_name(DEFAULT);
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_WITHIN);
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(SILENT_FOR);
    }
    config.keepalives_idle(SILENT_FOR).keepalives_interval(SILENT_FOR / 2).keepalives_retries(3);
    config
}

/// Without user and password: what people and logs may see.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("postgres://")?;
        let ports = self.config.get_ports();
        for (at, host) in self.config.get_hosts().iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            match host {
                Host::Tcp(host) if host.contains(':') => write!(f, "{comma}[{host}]")?,
                Host::Tcp(host) => write!(f, "{comma}{host}")?,
                #[cfg(unix)]
                Host::Unix(path) => write!(f, "{comma}{}", path.display())?,
            }
            let port = ports.get(at).or(ports.first()).filter(|port| **port != STANDARD_PORT);
            if let Some(port) = port {
                write!(f, ":{port}")?;
            }
        }
        write!(f, "/{}?atlas={}", self.config.get_dbname().unwrap_or_default(), self.atlas)?;
        if self.schema != DEFAULT {
            write!(f, "&schema={}", self.schema)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        text.parse::<Address>()
            .map_or_else(|error| error.to_string(), |address| address.to_string())
    }

    #[test]
    fn an_address_says_where_and_never_with_what_password() {
        for (text, expected) in [
            ("postgres://me:secret@db:5433/skills", "postgres://db:5433/skills?atlas=fingerpost"),
            (
                "postgresql://db/skills?atlas=a%20b&schema=two",
                "postgres://db/skills?atlas=a b&schema=two",
            ),
            (
                "postgres://me:secret@a:1,b:2/x?target_session_attrs=read-write",
                "postgres://a:1,b:2/x?atlas=fingerpost",
            ),
        ] {
            assert_eq!(shown(text), expected);
            assert!(!format!("{:?}", text.parse::<Address>()).contains("secret"));
        }
    }

    #[test]
    fn what_cannot_be_used_is_told_without_repeating_it() {
        for (text, why) in [
            ("postgres:///skills", "names no host"),
            ("postgres://me:secret@db:port/x", "port"),
            ("postgres://me:secret@db/x?wrong=1", "wrong"),
            ("postgres://me:secret@db/x?sslmode=secret", "sslmode is none of"),
            ("postgres://me:secret@db/x?schema=secret;drop", "the name of the schema"),
            ("postgres://me:secret@db/x?atlas=", "the name of the atlas"),
        ] {
            let told = shown(text);
            assert!(told.contains(why) && !told.contains("secret"), "{text}: {told}");
        }
    }

    #[test]
    fn certificates_that_are_named_are_looked_at() {
        let tls = |query: &str| format!("postgres://db/x?{query}").parse::<Address>().unwrap().tls;
        assert_eq!(tls(""), TlsMode::Prefer);
        assert_eq!(tls("sslmode=require"), TlsMode::Require);
        assert_eq!(tls("sslmode=require&sslrootcert=ca.pem"), TlsMode::VerifyCa);
        assert_eq!(tls("sslrootcert=system"), TlsMode::VerifyFull);
        assert_eq!(tls("sslmode=verify-full"), TlsMode::VerifyFull);
    }

    #[test]
    fn a_password_from_elsewhere_counts_where_there_is_none() {
        let address = |text: &str| text.parse::<Address>().unwrap().with_password(Some("else"));
        assert_eq!(address("postgres://me@db/x").config.get_password(), Some(&b"else"[..]));
        assert_eq!(address("postgres://me:own@db/x").config.get_password(), Some(&b"own"[..]));
    }
}
