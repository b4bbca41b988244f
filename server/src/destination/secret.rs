//! The headers of a destination, with the secrets that `env:` and `file:` stand for.

use guard::destination::Destination;
use http::{HeaderMap, HeaderName, HeaderValue};

/// Why a header of a destination cannot be sent. Never holds the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderFault {
    /// The header.
    pub header: String,
    /// What is wrong and how to mend it.
    pub message: String,
}

/// The headers of every request to a destination. Their values are marked as sensitive: they show themselves to no log.
///
/// # Errors
/// Every header whose value cannot be read here, or is none that can be sent.
pub fn headers(destination: &Destination) -> Result<HeaderMap, Vec<HeaderFault>> {
    let mut map = HeaderMap::with_capacity(destination.headers.len());
    let mut faults = Vec::new();
    for (header, value) in &destination.headers {
        match header_value(value).and_then(|value| Ok((header_name(header)?, value))) {
            Ok((name, value)) => _ = map.insert(name, value),
            Err(message) => faults.push(HeaderFault { header: header.clone(), message }),
        }
    }
    if faults.is_empty() { Ok(map) } else { Err(faults) }
}

fn header_name(name: &str) -> Result<HeaderName, String> {
    HeaderName::from_bytes(name.as_bytes()).map_err(|_| "is no name of a header".to_owned())
}

fn header_value(written: &str) -> Result<HeaderValue, String> {
    let text = reveal(written)?;
    let mut value = HeaderValue::try_from(text)
        .map_err(|_| format!("{} holds characters that no header can carry", source(written)))?;
    value.set_sensitive(true);
    Ok(value)
}

/// Where a value comes from, in words that show no secret.
fn source(written: &str) -> String {
    if let Some(name) = written.strip_prefix("env:") {
        return format!("the environment variable {name}");
    }
    written.strip_prefix("file:").map_or_else(|| "the value".to_owned(), |path| format!("the file {path}"))
}

/// The text that a value stands for, without white space around it.
///
/// # Errors
/// Why it cannot be read here; the value is in no message.
pub(crate) fn reveal(written: &str) -> Result<String, String> {
    if let Some(name) = written.strip_prefix("env:") {
        return match std::env::var(name) {
            Ok(secret) if !secret.trim().is_empty() => Ok(secret.trim().to_owned()),
            Ok(_) => Err(format!("the environment variable {name} is empty; set it where the server is started")),
            Err(std::env::VarError::NotPresent) => {
                Err(format!("the environment variable {name} is not set; set it where the server is started"))
            }
            Err(std::env::VarError::NotUnicode(_)) => Err(format!("the environment variable {name} is not UTF-8")),
        };
    }
    let Some(path) = written.strip_prefix("file:") else { return Ok(written.to_owned()) };
    match std::fs::read_to_string(path) {
        Ok(secret) if !secret.trim().is_empty() => Ok(secret.trim().to_owned()),
        Ok(_) => Err(format!("the file {path} is empty; write the secret into it")),
        Err(error) => Err(format!("the file {path} cannot be read: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn destination(value: &str) -> Destination {
        let text = format!(
            "name = \"ledger\"\nbase_url = \"http://ledger.example\"\nheaders = {{ Authorization = {value:?} }}"
        );
        toml::from_str(&text).unwrap()
    }

    #[test]
    fn a_secret_shows_itself_to_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        std::fs::write(&path, "Bearer s3cret\n").unwrap();
        let map = headers(&destination(&format!("file:{}", path.display()))).unwrap();
        assert_eq!(map["authorization"], "Bearer s3cret", "without the line's end");
        assert!(!format!("{map:?}").contains("s3cret"), "{map:?}");
    }

    #[test]
    fn what_cannot_be_sent_is_told_without_its_value() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        std::fs::write(&path, "s3cret\nof two lines").unwrap();
        let faults = headers(&destination(&format!("file:{}", path.display()))).unwrap_err();
        assert_eq!(faults[0].header, "Authorization");
        assert_eq!(faults[0].message, format!("the file {} holds characters that no header can carry", path.display()));
        let faults = headers(&destination("env:ONCEOVER_TEST_OF_NO_SUCH_VARIABLE")).unwrap_err();
        insta::assert_snapshot!(faults[0].message, @"the environment variable ONCEOVER_TEST_OF_NO_SUCH_VARIABLE is not set; set it where the server is started");
    }
}
