//! People at the desk and their roles.

use crate::id::PersonId;
use crate::refusal::Refusal;
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

    /// Whether the role proposes amendments, and takes proposals back.
    pub const fn may_propose(self) -> bool {
        match self {
            Self::Operator | Self::Finance | Self::Admin => true,
            Self::Viewer => false,
        }
    }

    /// Whether the role approves and rejects amendments and the rules of amendments.
    pub const fn may_approve(self) -> bool {
        match self {
            Self::Finance => true,
            Self::Viewer | Self::Operator | Self::Admin => false,
        }
    }

    /// Whether the role signs periods.
    pub const fn may_sign(self) -> bool {
        self.may_approve()
    }

    /// Whether the role adds evidence; what it means is for those who decide.
    pub const fn may_add_evidence(self) -> bool {
        match self {
            Self::Operator | Self::Finance | Self::Admin => true,
            Self::Viewer => false,
        }
    }

    /// Whether the role hands in the destination's records for reconciliation.
    pub const fn may_reconcile(self) -> bool {
        match self {
            Self::Operator | Self::Finance | Self::Admin => true,
            Self::Viewer => false,
        }
    }

    /// Whether the role may open what a workflow marks as sensitive.
    pub const fn may_open_sensitive(self) -> bool {
        match self {
            Self::Operator | Self::Finance | Self::Admin => true,
            Self::Viewer => false,
        }
    }

    /// Whether the role places and lifts legal holds, and has content erased.
    pub const fn may_erase(self) -> bool {
        match self {
            Self::Finance | Self::Admin => true,
            Self::Viewer | Self::Operator => false,
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

/// Whether a text looks like an address: something on both sides of one `@`, without white space.
pub fn is_address(text: &str) -> bool {
    let halves =
        text.split_once('@').filter(|(name, host)| !name.is_empty() && !host.is_empty() && !host.contains('@'));
    let is_plain = !text.chars().any(|character| character.is_whitespace() || character.is_control());
    halves.is_some() && is_plain && text.chars().count() <= EMAIL_CHARACTERS_MAX
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

/// Checks a new password's length. What it is made of is the person's business (NIST SP 800-63B, section 3.1.1.2).
///
/// # Errors
/// [`Refusal::InvalidField`] of `password`.
pub fn check_password(password: &str) -> Result<(), Refusal> {
    if password.chars().count() < PASSWORD_CHARACTERS_MIN {
        return Err(Refusal::field("password", format!("has under {PASSWORD_CHARACTERS_MIN} characters")));
    }
    if password.len() > PASSWORD_BYTES_MAX {
        return Err(Refusal::field("password", format!("has over {PASSWORD_BYTES_MAX} bytes")));
    }
    Ok(())
}

/// A password from sixteen random bytes: 26 letters and digits (130 bits, of which 128 are random), in groups so that it can be
/// read out. Letters that look like digits are left out (Crockford's base 32).
pub fn password_from(random: [u8; 16]) -> String {
    const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    const CHARACTERS: u32 = 26;
    const GROUP: u32 = 7;
    let bits = u128::from_be_bytes(random);
    let mut text = String::with_capacity(32);
    for place in 0..CHARACTERS {
        if place > 0 && place % GROUP == 0 {
            text.push('-');
        }
        let five_bits = usize::try_from((bits >> (5 * place)) & 31).unwrap_or_default();
        text.push(char::from(DIGITS[five_bits]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_password_passes_its_own_check() {
        assert_eq!(password_from([0xFF; 16]), "zzzzzzz-zzzzzzz-zzzzzzz-zzzz7");
        assert_eq!(password_from([0; 16]), "0000000-0000000-0000000-00000");
        assert_eq!(check_password(&password_from([7; 16])), Ok(()));
        assert!(check_password("short").is_err() && check_password(&"x".repeat(1_025)).is_err());
    }
}
