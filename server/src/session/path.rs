//! Where somebody goes after signing in: only ever to a page of this desk.

/// A path that is longer is not followed.
const PATH_BYTES_MAX: usize = 2_048;

/// Where everybody lands who wanted nowhere else.
pub(crate) const HOME: &str = "/";

/// The path, where it leads to a page of this desk; else [`HOME`].
///
/// Browsers read `//host`, `/\host` and the like as another host, and leave tabs and line ends out before they read, so
/// everything but plain visible ASCII is refused.
pub(crate) fn local(path: &str) -> &str {
    let is_plain = path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    let is_rooted = path.starts_with('/') && !path.starts_with("//");
    if is_plain && is_rooted && path.len() <= PATH_BYTES_MAX { path } else { HOME }
}

/// The path of a page with parameters.
pub(crate) fn with_parameters(page: &str, parameters: &[(&str, &str)]) -> String {
    // Texts only: nothing that could fail to be written.
    let written = serde_urlencoded::to_string(parameters).unwrap_or_default();
    if written.is_empty() { page.to_owned() } else { format!("{page}?{written}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_this_desk_is_followed() {
        for path in ["/", "/operations", "/operations?state=unknown&tz=UTC", "/operations/0192%20x#payload", "/a//b"] {
            assert_eq!(local(path), path);
        }
    }

    #[test]
    fn nothing_else_is() {
        let long = format!("/{}", "a".repeat(PATH_BYTES_MAX));
        for path in [
            "",
            "operations",
            "//evil.test",
            "///evil.test",
            "/\\evil.test",
            "\\\\evil.test",
            "/operations\\..\\x",
            "https://evil.test",
            "https:evil.test",
            "javascript:alert(1)",
            " /operations",
            "/\t/evil.test",
            "/\n/evil.test",
            "/\r\nset-cookie: a=b",
            "\u{0}/operations",
            "/\u{a0}",
            "/ä",
            long.as_str(),
        ] {
            assert_eq!(local(path), HOME, "{path:?}");
        }
    }

    #[test]
    fn parameters_are_escaped() {
        assert_eq!(with_parameters("/login", &[]), "/login");
        assert_eq!(
            with_parameters("/login", &[("refused", "rate"), ("next", "/operations?a=b&c=d")]),
            "/login?refused=rate&next=%2Foperations%3Fa%3Db%26c%3Dd"
        );
    }
}
