//! Settings of the process: from flags, then the environment, then the configuration file's `[server]`, then the defaults.

use std::num::NonZeroU32;

use guard::call::{CALL_DAYS_DEFAULT, CALL_DAYS_MAX};
use tracing_subscriber::EnvFilter;

use crate::config::ServerTable;
use crate::state::{BATCH_BYTES_MAX_DEFAULT, BODY_BYTES_MAX_DEFAULT, REQUESTS_PER_SECOND_DEFAULT};

/// The database where none is named.
pub const DATABASE_DEFAULT: &str = "sqlite://./data/onceover.db";

/// Where the server listens where nothing is said.
pub const LISTEN_DEFAULT: &str = "127.0.0.1:8080";

/// What is logged where nothing is said.
pub const LOG_DEFAULT: &str = "info";

/// No body may be allowed to be longer, in bytes: it is held in memory.
pub const BODY_BYTES_BOUND: usize = 256 * 1024 * 1024;

/// How many connections are served at once where nothing is said. Each may hold a body in memory.
pub const CONNECTIONS_MAX_DEFAULT: u32 = 4_096;

/// How what happens is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people on a terminal, JSON otherwise.
    Auto,
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

impl LogFormat {
    /// Every format.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Text, Self::Json];

    /// The name in flags, environment and file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Text => "text",
            Self::Json => "json",
        }
    }

    /// The format with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == name)
    }
}

/// Every setting, as it is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `sqlite://PATH` or `postgres://…`; may hold a password.
    pub database: String,
    /// `ADDRESS:PORT`.
    pub listen: String,
    /// The address under which people and automations reach the server, without a slash at its end; left out: where it listens.
    pub public_url: Option<String>,
    /// How many reverse proxies stand before the server.
    pub trusted_proxies: u32,
    /// Whether `/metrics` answers without a token.
    pub metrics_open: bool,
    /// The greatest body of a request, in bytes.
    pub payload_bytes_max: usize,
    /// The greatest body of a batch, in bytes.
    pub batch_bytes_max: usize,
    /// How often one token may ask per second.
    pub requests_per_second: NonZeroU32,
    /// How many connections are served at once.
    pub connections_max: u32,
    /// For how many days calls of the API are kept; 0: none is.
    pub call_days: u32,
    /// What is logged: directives of `tracing`.
    pub log: String,
    /// How it is logged.
    pub log_format: LogFormat,
}

impl Settings {
    /// What is in force, given what was said; the first that says something wins.
    ///
    /// # Errors
    /// The key that cannot be so, and why.
    pub fn resolve(said: &[ServerTable]) -> Result<Self, (&'static str, String)> {
        let texts = |of: fn(&ServerTable) -> &Option<String>| said.iter().find_map(|said| of(said).clone());
        let sizes = |of: fn(&ServerTable) -> Option<usize>| said.iter().find_map(of);
        let numbers = |of: fn(&ServerTable) -> Option<u32>| said.iter().find_map(of);
        let log_format = texts(|said| &said.log_format);
        let settings = Self {
            database: texts(|said| &said.database).unwrap_or_else(|| DATABASE_DEFAULT.to_owned()),
            listen: texts(|said| &said.listen).unwrap_or_else(|| LISTEN_DEFAULT.to_owned()),
            public_url: texts(|said| &said.public_url).map(|url| url.trim_end_matches('/').to_owned()),
            trusted_proxies: numbers(|said| said.trusted_proxies).unwrap_or(0),
            metrics_open: said.iter().find_map(|said| said.metrics_open).unwrap_or(false),
            payload_bytes_max: sizes(|said| said.payload_bytes_max).unwrap_or(BODY_BYTES_MAX_DEFAULT),
            batch_bytes_max: sizes(|said| said.batch_bytes_max).unwrap_or(BATCH_BYTES_MAX_DEFAULT),
            requests_per_second: match numbers(|said| said.requests_per_second) {
                None => REQUESTS_PER_SECOND_DEFAULT,
                Some(number) => above_zero("requests_per_second", number)?,
            },
            connections_max: numbers(|said| said.connections_max).unwrap_or(CONNECTIONS_MAX_DEFAULT),
            call_days: numbers(|said| said.call_days).unwrap_or(CALL_DAYS_DEFAULT),
            log: texts(|said| &said.log).unwrap_or_else(|| LOG_DEFAULT.to_owned()),
            log_format: match log_format {
                None => LogFormat::Auto,
                Some(name) => LogFormat::parse(&name).ok_or_else(|| {
                    let known = LogFormat::ALL.map(LogFormat::as_str).join(", ");
                    ("log_format", format!("{name:?} is not possible; write one of: {known}"))
                })?,
            },
        };
        settings.validate()?;
        Ok(settings)
    }

    fn validate(&self) -> Result<(), (&'static str, String)> {
        let is_database = ["sqlite://", "postgres://", "postgresql://"]
            .iter()
            .any(|scheme| self.database.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty()));
        if !is_database {
            let message = "names no database that Onceover knows; write sqlite://PATH or postgres://USER@HOST/NAME";
            return Err(("database", message.to_owned()));
        }
        let port = self.listen.rsplit_once(':').filter(|(host, _)| !host.is_empty());
        if port.is_none_or(|(_, port)| port.parse::<u16>().is_err()) {
            let message = format!(
                "{:?} is no ADDRESS:PORT; it looks like 127.0.0.1:8080, [::]:8080 or localhost:8080",
                self.listen
            );
            return Err(("listen", message));
        }
        if let Some(url) = &self.public_url {
            let host = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
            let is_address = host
                .is_some_and(|host| !host.is_empty() && !host.starts_with('/') && !host.contains(['?', '#', '@', ' ']));
            if !is_address {
                let message = format!(
                    "{url:?} is no address of a site; it looks like https://onceover.example, without a user or a query"
                );
                return Err(("public_url", message));
            }
        }
        for (key, bytes) in [("payload_bytes_max", self.payload_bytes_max), ("batch_bytes_max", self.batch_bytes_max)] {
            if !(1..=BODY_BYTES_BOUND).contains(&bytes) {
                return Err((key, format!("is {bytes}; write 1 to {BODY_BYTES_BOUND} bytes")));
            }
        }
        above_zero("connections_max", self.connections_max)?;
        if self.call_days > CALL_DAYS_MAX {
            return Err(("call_days", format!("is {}; write 0 to {CALL_DAYS_MAX} days", self.call_days)));
        }
        if let Err(error) = EnvFilter::builder().parse(&self.log) {
            return Err((
                "log",
                format!("{:?} is no filter ({error}); it looks like info or info,server=debug", self.log),
            ));
        }
        Ok(())
    }

    /// Every setting as the table `[server]` says it, with passwords masked.
    pub fn to_table(&self) -> ServerTable {
        ServerTable {
            database: Some(without_password(&self.database)),
            listen: Some(self.listen.clone()),
            public_url: self.public_url.clone(),
            trusted_proxies: Some(self.trusted_proxies),
            metrics_open: Some(self.metrics_open),
            payload_bytes_max: Some(self.payload_bytes_max),
            batch_bytes_max: Some(self.batch_bytes_max),
            requests_per_second: Some(self.requests_per_second.get()),
            connections_max: Some(self.connections_max),
            call_days: Some(self.call_days),
            log: Some(self.log.clone()),
            log_format: Some(self.log_format.as_str().to_owned()),
        }
    }
}

/// Checks what a table `[server]` says, on its own.
///
/// # Errors
/// The key that cannot be so, and why.
pub fn check(table: &ServerTable) -> Result<(), (&'static str, String)> {
    Settings::resolve(std::slice::from_ref(table)).map(drop)
}

fn above_zero(key: &'static str, number: u32) -> Result<NonZeroU32, (&'static str, String)> {
    NonZeroU32::new(number).ok_or_else(|| (key, "is 0; nothing would be answered, so write 1 or more".to_owned()))
}

/// A database URL fit to be shown: a password in it, or in its parameters, is masked.
pub fn without_password(url: &str) -> String {
    const MASK: &str = "********";
    let Some((scheme, rest)) = url.split_once("://") else { return MASK.to_owned() };
    if scheme == "sqlite" {
        return url.to_owned();
    }
    let (address, parameters) = rest.split_once('?').map_or((rest, None), |(address, after)| (address, Some(after)));
    // A password may hold an "@" that was not escaped: the last one ends it.
    let address = match address.rsplit_once('@') {
        Some((who, host)) => match who.split_once(':') {
            Some((user, _)) => format!("{user}:{MASK}@{host}"),
            None => format!("{who}@{host}"),
        },
        None => address.to_owned(),
    };
    let parameters = parameters.map(|parameters| {
        let shown = parameters.split('&').map(|parameter| match parameter.split_once('=') {
            Some((name, _)) if name.contains("password") => format!("{name}={MASK}"),
            Some(_) | None => parameter.to_owned(),
        });
        format!("?{}", shown.collect::<Vec<_>>().join("&"))
    });
    format!("{scheme}://{address}{}", parameters.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listen(address: &str) -> ServerTable {
        ServerTable { listen: Some(address.to_owned()), ..ServerTable::default() }
    }

    #[test]
    fn the_first_that_says_something_wins() {
        let file = ServerTable { metrics_open: Some(true), ..listen("[::]:80") };
        let settings = Settings::resolve(&[listen("127.0.0.1:0"), file.clone()]).unwrap();
        assert_eq!((settings.listen.as_str(), settings.metrics_open), ("127.0.0.1:0", true));
        assert_eq!(Settings::resolve(&[ServerTable::default(), file]).unwrap().listen, "[::]:80");
        assert_eq!(Settings::resolve(&[]).unwrap().listen, LISTEN_DEFAULT);
    }

    #[test]
    fn what_is_in_force_is_told_as_a_table_that_means_the_same() {
        let settings = Settings::resolve(&[listen("localhost:8081")]).unwrap();
        assert_eq!(Settings::resolve(&[settings.to_table()]).unwrap(), settings);
    }

    #[test]
    fn a_password_is_not_shown() {
        let shown = [
            "postgres://ada@db/onceover",
            "postgres://ada:se:cr@et@db:5432/onceover?sslmode=require&password=secret",
            "sqlite://./data/a@b.db",
            "secret",
        ];
        assert_eq!(
            shown.map(without_password),
            [
                "postgres://ada@db/onceover",
                "postgres://ada:********@db:5432/onceover?sslmode=require&password=********",
                "sqlite://./data/a@b.db",
                "********",
            ]
        );
    }
}
