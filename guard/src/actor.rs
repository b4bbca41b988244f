//! Who did it.

use std::fmt;
use std::str::FromStr;

/// Who caused an entry of the trail. Written `token:NAME`, `token:NAME/WORKER`, `person:EMAIL`, `system:sweeper`,
/// `system:recovery`, `system:schedule`, `system:command-line` or `system:first-start`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Actor {
    /// An automation with its token.
    Token {
        /// The token's name.
        name: String,
        /// The worker, as it names itself.
        worker: Option<String>,
    },
    /// A person at the desk.
    Person {
        /// The address under which the person signs in.
        email: String,
    },
    /// The guard noticed that a lease ended.
    Sweeper,
    /// The guard looked at the destination.
    Recovery,
    /// The configuration says that it is done every so many hours.
    Schedule,
    /// Somebody with access to the machine used the command line.
    CommandLine,
    /// Whoever held the one-time link of the first start.
    FirstStart,
}

/// A text that names no actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("names no actor")]
pub struct NotAnActor;

impl fmt::Display for Actor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Token { name, worker: None } => write!(formatter, "token:{name}"),
            Self::Token { name, worker: Some(worker) } => write!(formatter, "token:{name}/{worker}"),
            Self::Person { email } => write!(formatter, "person:{email}"),
            Self::Sweeper => formatter.write_str("system:sweeper"),
            Self::Recovery => formatter.write_str("system:recovery"),
            Self::Schedule => formatter.write_str("system:schedule"),
            Self::CommandLine => formatter.write_str("system:command-line"),
            Self::FirstStart => formatter.write_str("system:first-start"),
        }
    }
}

impl FromStr for Actor {
    type Err = NotAnActor;

    /// Reads what [`fmt::Display`] wrote; a token's name holds no `/`, so the first one starts the worker.
    fn from_str(text: &str) -> Result<Self, NotAnActor> {
        let (kind, name) = text.split_once(':').ok_or(NotAnActor)?;
        match (kind, name) {
            ("token", name) => Ok(match name.split_once('/') {
                Some((name, worker)) => Self::Token { name: name.to_owned(), worker: Some(worker.to_owned()) },
                None => Self::Token { name: name.to_owned(), worker: None },
            }),
            ("person", email) => Ok(Self::Person { email: email.to_owned() }),
            ("system", "sweeper") => Ok(Self::Sweeper),
            ("system", "recovery") => Ok(Self::Recovery),
            ("system", "schedule") => Ok(Self::Schedule),
            ("system", "command-line") => Ok(Self::CommandLine),
            ("system", "first-start") => Ok(Self::FirstStart),
            _ => Err(NotAnActor),
        }
    }
}

impl serde::Serialize for Actor {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Actor {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_actor_survives_its_text() {
        let worker = |worker: Option<&str>| Actor::Token { name: "billing".into(), worker: worker.map(Into::into) };
        let person = Actor::Person { email: "ada@example.test".into() };
        let system = [Actor::Sweeper, Actor::Recovery, Actor::Schedule, Actor::CommandLine, Actor::FirstStart];
        for actor in [worker(None), worker(Some("w/1:x")), person].into_iter().chain(system) {
            assert_eq!(actor.to_string().parse(), Ok(actor));
        }
        assert_eq!("system:else".parse::<Actor>(), Err(NotAnActor));
    }
}
