//! People at the desk and their roles.

use crate::id::PersonId;
use crate::token::Reach;

/// An address has at most this many characters (RFC 5321, section 4.5.3.1.3 less the brackets).
pub const EMAIL_CHARACTERS_MAX: usize = 254;

/// A password has at least this many characters.
pub const PASSWORD_CHARACTERS_MIN: usize = 12;

/// A password has at most this many bytes: hashing is paid by the server.
pub const PASSWORD_BYTES_MAX: usize = 1_024;

/// What a person may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Looks.
    Viewer,
    /// Claims, looks up, adds evidence, decides what is unknown or in conflict.
    Operator,
    /// Sets rules, approves amendments, signs periods.
    Finance,
    /// Manages users, tokens and destinations.
    Admin,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 4] = [Self::Viewer, Self::Operator, Self::Finance, Self::Admin];

    /// The name in every interface.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Finance => "finance",
            Self::Admin => "admin",
        }
    }

    /// The role with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == name)
    }

    /// Whether the role decides uncertain outcomes. Separate from administration by intent; an administrator of a small team
    /// may do it too.
    pub const fn may_resolve(self) -> bool {
        match self {
            Self::Operator | Self::Admin => true,
            Self::Viewer | Self::Finance => false,
        }
    }

    /// Whether the role manages people and tokens.
    pub const fn may_administer(self) -> bool {
        match self {
            Self::Admin => true,
            Self::Viewer | Self::Operator | Self::Finance => false,
        }
    }
}

/// Somebody who signs in at the desk.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Person {
    /// The id.
    pub id: PersonId,
    /// The address, in lower case.
    pub email: String,
    /// The role.
    pub role: Role,
    /// The companies within reach (workflows are not limited for people).
    pub reach: Reach,
}
